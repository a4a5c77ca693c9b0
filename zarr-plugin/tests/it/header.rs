//! The header agrees with the Rust definitions.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use zarr_plugin::abi;

const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include/zarr_plugin.h");

/// `ZARR_PLUGIN_WRITE=1 cargo test -p zarr-plugin the_header` updates the file.
#[test]
fn the_header_is_generated_from_the_definitions() {
    if std::env::var_os("ZARR_PLUGIN_WRITE").is_some() {
        fs::write(HEADER, abi::header()).unwrap();
    }
    let stored = fs::read_to_string(HEADER).unwrap();
    assert!(stored == abi::header(), "include/zarr_plugin.h differs from src/abi.rs; see this test");
}

/// The layout of version 2.3 on 64-bit machines. A struct that begins with `struct_size` may grow at its end in a
/// minor version. Nothing else in this table may change.
#[cfg(target_pointer_width = "64")]
#[test]
fn structs_have_the_layout_of_version_2_3() {
    let expected = "\
        zarr_str 16: ptr 0 len 8\n\
        zarr_buf 32: ptr 0 len 8 owner 16 release 24\n\
        zarr_output 48: struct_size 0 start 8 len 16 capacity 24 limit 32 reserve 40\n\
        zarr_size 16: bytes 0 kind 8 reserved 12\n\
        zarr_unit 16: offset 0 size 8\n\
        zarr_byte_order 16: order 0 n_units 4 big_endian 8\n\
        zarr_array 128: struct_size 0 data_type_name 8 element_size 24 is_variable 32 reserved 36 \
        kind 40 unit_size 44 units 48 n_units 56 byte_order 64 fill_value 80 rank 96 shape 104 \
        data_type_vtable 112 data_type 120\n\
        zarr_creation 96: struct_size 0 format 8 mode 12 identifier 16 configuration_json 32 \
        type_name_json 48 document_size 64 warn 72 warn_context 80 lookup 88\n\
        zarr_lookup 40: struct_size 0 context 8 codec 16 translate 24 data_type 32\n\
        zarr_representation 40: struct_size 0 kind 8 rank 12 size 16 array 32\n\
        zarr_call 40: struct_size 0 max_out_bytes 8 threads 16 flags 20 cancelled 24 chains 32\n\
        zarr_chains 32: struct_size 0 context 8 encode 16 decode 24\n\
        zarr_codec_instance 80: struct_size 0 form 8 checksum_size 12 checksum_at_start 16 \
        n_chains 20 self 24 value 32 vtable 64 decodes_subsets 72 reserved 76\n\
        zarr_encoded_range 24: offset 0 bytes 8\n\
        zarr_encoded_subset 56: struct_size 0 start 8 shape 16 index 24 ranges 40 n_ranges 48\n\
        zarr_codec_vtable 112: struct_size 0 create 8 destroy 16 encoded_array 24 encoded_size 32 \
        encode 40 decode 48 checksum 56 translate 64 decode_range 72 chain 80 \
        index_range 88 subset_ranges 96 decode_subset 104\n\
        zarr_data_type_handle 16: vtable 0 self 8\n\
        zarr_data_type_vtable 96: struct_size 0 create 8 retain 16 release 24 describe 32 \
        document 40 fill_value 48 fill_value_json 56 print 64 check 72 settle 80 inner 88\n\
        zarr_chunk_grid_vtable 72: struct_size 0 create 8 destroy 16 chunk_range 24 chunk_of 32 \
        key_index 40 chunk_of_key 48 moved 56 padding 64\n\
        zarr_chunk_key_encoding_vtable 40: struct_size 0 create 8 destroy 16 encode 24 decode 32\n\
        zarr_metadata_encoding_vtable 40: struct_size 0 create 8 destroy 16 decode 24 encode 32\n\
        zarr_extension_vtable 16: struct_size 0 create 8\n\
        zarr_storage_transformer_vtable 32: struct_size 0 create 8 destroy 16 wrap 24\n\
        zarr_store_handle 16: vtable 0 self 8\n\
        zarr_byte_range 24: offset 0 size 8 kind 16 reserved 20\n\
        zarr_store_request 64: key 0 range 16 limit 40 expected 48 flags 56 reserved 60\n\
        zarr_get_result 48: struct_size 0 found 8 reserved 12 size 16 version 24 \
        version_capacity 32 version_len 40\n\
        zarr_partial_value 40: key 0 offset 16 bytes 24\n\
        zarr_list_sink 24: struct_size 0 context 8 add 16\n\
        zarr_store_vtable 192: struct_size 0 open 8 release 16 describe 24 get 32 size 40 \
        begin_batch 48 next_response 56 end_batch 64 set 72 set_partial_values 80 erase 88 \
        erase_values 96 erase_prefix 104 begin_listing 112 next_keys 120 end_listing 128 \
        list_dir 136 set_if 144 erase_if 152 lock 160 unlock 168 commit 176 array_document 184\n\
        zarr_item 144: struct_size 0 kind 8 reserved 12 context 16 uri 24 name 40 id 56 aliases \
        72 n_aliases 80 summary 88 examples_json 104 vtable 120 configuration_schema_json 128\n\
        zarr_plugin 96: struct_size 0 abi_major 8 abi_minor 10 reserved 12 name 16 version 32 \
        license 48 build 64 items 80 n_items 88\n\
        zarr_host 40: struct_size 0 abi_major 8 abi_minor 10 reserved 12 context 16 log 24 \
        get_interface 32\n";
    let mut found = String::new();
    for layout in abi::layouts() {
        write!(found, "{} {}:", layout.name, layout.size).unwrap();
        for (member, offset) in layout.members {
            write!(found, " {member} {offset}").unwrap();
        }
        found.push('\n');
    }
    assert_eq!(found, expected);
}

#[test]
fn structs_have_the_same_layout_in_c_and_in_rust() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = format!("#include \"{HEADER}\"\n");
    for layout in abi::layouts() {
        let name = layout.name;
        writeln!(program, "_Static_assert(sizeof({name}) == {}, \"{name}\");", layout.size).unwrap();
        for (member, offset) in layout.members {
            let text = format!("offsetof({name}, {member}) == {offset}");
            writeln!(program, "_Static_assert({text}, \"{name}.{member}\");").unwrap();
        }
    }
    let source = folder.path().join("layout.c");
    fs::write(&source, program).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "-o"]);
    let compiled = compiler.arg(folder.path().join("layout.o")).arg(&source).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}
