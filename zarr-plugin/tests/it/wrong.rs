//! Plugins that do something wrong, and what becomes of them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use zarr_plugin::host::{Policy, Refusal, sha256};
use zarr_spec::{Codec, CodecError, Output, Registry, Representation, Size, Value, json};

use crate::built::{Installed, Manifest, XOR_C, cargo, in_c, in_rust, write_crate};
use crate::loaded::{create, create_in, extensions};

/// Why the one plugin that is installed cannot be opened.
fn refusal(installed: &Installed) -> Refusal {
    let loader = installed.loader(Policy::Any);
    loader.open(&loader.candidates()[0]).unwrap_err()
}

#[test]
fn another_major_version_is_refused_by_the_manifest_before_anything_is_opened() {
    let installed = Installed::new(b"no library at all", &Manifest { major: 2, ..XOR_C });
    assert_eq!(refusal(&installed), Refusal::AbiMajor(2));
}

#[test]
fn another_major_version_in_the_library_is_refused_whatever_its_manifest_says() {
    assert_eq!(refusal(&Installed::new(&in_c(&["MAJOR=2"]), &XOR_C)), Refusal::AbiMajor(2));
}

#[test]
fn a_newer_minor_version_is_used_as_far_as_it_is_known() {
    let installed = Installed::new(&in_c(&["MINOR=9", "NEWER"]), &XOR_C);
    let loader = installed.loader(Policy::Any);
    let library = loader.open(&loader.candidates()[0]).unwrap();
    assert_eq!((library.abi(), library.items().count()), ((1, 9), 1));
    let mut registry = Registry::empty();
    assert_eq!(loader.register(&mut registry), []);
    assert!(create(&registry, "example.xor", &json!({"key": 1})).is_ok());
}

#[test]
fn a_library_without_the_symbol_is_refused() {
    assert_eq!(refusal(&Installed::new(&in_c(&["NO_SYMBOL"]), &XOR_C)), Refusal::NoSymbol);
}

#[test]
fn a_library_that_is_cut_off_or_none_is_refused() {
    let whole = in_c(&[]);
    for bytes in [&whole[..whole.len() / 2], &whole[..100], &whole[..10], b"", b"text"] {
        let refusal = refusal(&Installed::new(bytes, &XOR_C));
        assert!(matches!(refusal, Refusal::Open(_)), "{refusal}");
    }
}

#[test]
fn absurd_sizes_are_refused_and_not_followed() {
    for (wrong, message) in [
        ("MANY_ITEMS", format!("it lists {} of something, and 4096 is the most", usize::MAX / 16)),
        ("TINY", "a struct says that it has 3 bytes".to_owned()),
        ("LONG_MESSAGE", format!("it returned a text of {} bytes", 1u64 << 60)),
    ] {
        assert_eq!(refusal(&Installed::new(&in_c(&[wrong]), &XOR_C)), Refusal::Failed(message));
    }
}

/// It says that it wrote more than there is room for, and changes what was lent.
#[test]
fn a_length_past_the_memory_that_was_lent_is_an_error() {
    let installed = Installed::new(&in_c(&["TOO_MUCH"]), &XOR_C);
    let mut registry = Registry::empty();
    assert_eq!(installed.loader(Policy::Any).register(&mut registry), []);
    let Codec::BytesToBytes(codec) = create(&registry, "example.xor", &json!({"key": 1})).unwrap() else {
        panic!("another form")
    };
    let mut output = Output::exactly(100);
    let error = codec.decode(&[0; 100], &mut output).unwrap_err().to_string();
    assert!(error.contains("it says that it wrote 1100 bytes, and there is room for 100"), "{error}");
    assert_eq!(output.written(), []);
}

#[test]
fn a_panic_in_any_callback_is_an_error_and_the_instance_is_not_used_again() {
    let (_installed, registry) = extensions();
    let made =
        |form: &str, place: &str| create(&registry, "example.panic", &json!({"form": form, "in": place}));
    let error = made("bytes to bytes", "create").unwrap_err().to_string();
    assert!(error.contains("plugin example-extensions 1.2.0 panicked: on purpose, in create"), "{error}");
    let panics_once = |place: &str, run: &dyn Fn() -> Result<(), CodecError>| {
        let error = run().unwrap_err().to_string();
        assert!(error.contains(&format!("panicked: on purpose, in {place}")), "{error}");
        let again = run().unwrap_err().to_string();
        assert!(again.contains("it panicked before and is not used again"), "{again}");
    };
    for place in ["encode", "decode", "decode_range"] {
        let Codec::BytesToBytes(codec) = made("bytes to bytes", place).unwrap() else {
            panic!("another form")
        };
        panics_once(place, &|| match place {
            "encode" => codec.encode(&[1], &mut Output::at_most(9)),
            "decode" => codec.decode(&[1], &mut Output::at_most(9)),
            _ => codec.decode_range(&[1], 0..1, &mut Output::at_most(9)),
        });
    }
    let Codec::Checksum(codec) = made("checksum", "checksum").unwrap() else { panic!("another form") };
    panics_once("checksum", &|| codec.checksum(&[1], &mut [0; 2]));
    // A size that cannot be had is unknown; what comes after says why.
    let Codec::BytesToBytes(codec) = made("bytes to bytes", "encoded_size").unwrap() else {
        panic!("another form")
    };
    assert_eq!(codec.encoded_size(Size::Exact(3)), Size::Unknown);
    assert!(codec.encode(&[1], &mut Output::at_most(9)).is_err());
    // Nobody can be told of a panic in the end.
    drop(made("bytes to bytes", "drop").unwrap());
}

#[test]
fn a_panic_in_codecs_of_arrays_is_an_error() {
    let (_installed, registry) = extensions();
    let reading = zarr_spec::Reading::new(zarr_spec::Mode::Strict);
    let document = zarr_spec::data_type::DataTypeDocument::named("example.uint12");
    let (data_type, byte_order) = registry.data_type(zarr_spec::Format::V3, &document, &reading).unwrap();
    let array = zarr_spec::ArrayRepresentation {
        shape: vec![1],
        data_type,
        fill_value: zarr_spec::FillValue::zero(2),
        byte_order,
    };
    let made = |form: &str, place: &str| {
        let configuration = json!({"form": form, "in": place});
        let name = (zarr_spec::Format::V3, "example.panic");
        create_in(&registry, name, &configuration, &Representation::Array(array.clone())).unwrap()
    };
    for place in ["encoded", "encode", "decode"] {
        let Codec::ArrayToArray(codec) = made("array to array", place) else { panic!("another form") };
        let error: CodecError = match place {
            "encoded" => codec.encoded(&array).unwrap_err(),
            "encode" => codec.encode(&array, &[1, 2], &mut Output::exactly(2)).unwrap_err(),
            _ => codec.decode(&array, &[1, 2], &mut Output::exactly(2)).unwrap_err(),
        };
        assert!(error.to_string().contains(&format!("panicked: on purpose, in {place}")), "{error}");
    }
    for place in ["encoded_size", "encode", "decode"] {
        let Codec::ArrayToBytes(codec) = made("array to bytes", place) else { panic!("another form") };
        let error: CodecError = match place {
            "encoded_size" => codec.encoded_size(&array).unwrap_err(),
            "encode" => codec.encode(&array, &[1, 2], &mut Output::exactly(2)).unwrap_err(),
            _ => codec.decode(&array, &[1, 2], &mut Output::exactly(2)).unwrap_err(),
        };
        assert!(error.to_string().contains(&format!("panicked: on purpose, in {place}")), "{error}");
    }
}

#[test]
fn a_plugin_that_would_abort_its_host_does_not_compile() {
    let folder = tempfile::tempdir().unwrap();
    write_crate(folder.path(), "[profile.dev]\npanic = 'abort'\n");
    let output = cargo(folder.path()).output().unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("a plugin must not be built with `panic = \"abort\"`"), "{message}");
}

#[test]
fn bytes_that_are_not_those_of_the_manifest_are_refused() {
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    let named = "0".repeat(64);
    installed.write_manifest(&XOR_C, &named);
    let found = sha256(&fs::read(installed.library()).unwrap());
    assert_eq!(refusal(&installed), Refusal::OtherBytes { named, found });
}

/// The hash is taken of the bytes that are loaded: a file that changes later changes nothing.
#[test]
fn a_library_that_is_overwritten_after_it_was_opened_goes_on_as_it_was() {
    let (installed, registry) = extensions();
    let codec = create(&registry, "example.xor", &json!({"key": 1})).unwrap();
    fs::write(installed.library(), vec![0; in_rust().len()]).unwrap();
    let Codec::BytesToBytes(codec) = codec else { panic!("another form") };
    let mut encoded = Output::at_most(1);
    codec.encode(&[2], &mut encoded).unwrap();
    assert_eq!(encoded.written(), [3]);
}

#[test]
fn what_others_may_write_is_refused() {
    let open = |path: &std::path::Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    let library = Installed::new(&in_c(&[]), &XOR_C);
    open(&library.library());
    assert_eq!(refusal(&library), Refusal::WritableByOthers(library.library().canonicalize().unwrap()));
    let manifest = Installed::new(&in_c(&[]), &XOR_C);
    open(&manifest.manifest());
    assert_eq!(refusal(&manifest), Refusal::WritableByOthers(manifest.manifest().canonicalize().unwrap()));
    let folder = Installed::new(&in_c(&[]), &XOR_C);
    open(folder.folder.path());
    assert_eq!(refusal(&folder), Refusal::WritableByOthers(folder.folder.path().canonicalize().unwrap()));
}

/// Only root can give a file away, so that nobody else runs the second half.
#[test]
fn a_library_of_another_user_is_refused() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    let loader = installed.loader(Policy::Any);
    assert!(loader.open(&loader.candidates()[0]).is_ok());
    if fs::metadata(installed.library()).unwrap().uid() == 0 {
        chown(installed.library(), Some(65_534), None).unwrap();
        let library = installed.library().canonicalize().unwrap();
        assert_eq!(refusal(&installed), Refusal::WritableByOthers(library));
    }
}

#[test]
fn a_path_that_leads_out_of_the_folder_is_refused() {
    let elsewhere = Installed::new(&in_c(&[]), &XOR_C);
    let absolute = elsewhere.library();
    for path in ["../libplugin.so", "sub/../../x.so", absolute.to_str().unwrap(), ""] {
        let installed = Installed::new(&in_c(&[]), &Manifest { path, ..XOR_C });
        assert_eq!(refusal(&installed), Refusal::LeadsOut(path.to_owned()));
    }
    let linked = Installed::new(&in_c(&[]), &XOR_C);
    fs::remove_file(linked.library()).unwrap();
    symlink(&absolute, linked.library()).unwrap();
    assert_eq!(refusal(&linked), Refusal::LeadsOut("libplugin.so".to_owned()));
}

#[test]
fn a_library_that_has_something_else_than_its_manifest_says_is_refused() {
    let more = format!("{}[[provides]]\nkind = 'codec'\nname = 'example.more'\n", XOR_C.provides);
    let provides = XOR_C.provides.replace("codec", "data_type");
    for (manifest, message) in [
        (Manifest { version: "1.3.0", ..XOR_C }, "the library is xor-c 1.2.0, and the manifest xor-c 1.3.0"),
        (
            Manifest { provides: &more, ..XOR_C },
            "the library has no codec with just the identifiers example.more",
        ),
        (
            Manifest { provides: &provides, ..XOR_C },
            "the library has no data type with just the identifiers example.xor",
        ),
    ] {
        let refusal = refusal(&Installed::new(&in_c(&[]), &manifest));
        assert_eq!(refusal, Refusal::Disagree(message.to_owned()));
    }
}

/// What is wrong with a library shows when something is created, with the name of the plugin.
#[test]
fn a_refusal_at_the_first_use_says_which_plugin_it_is() {
    let installed = Installed::new(b"no library", &XOR_C);
    let mut registry = Registry::empty();
    assert_eq!(installed.loader(Policy::Any).register(&mut registry), []);
    let error = create(&registry, "example.xor", &Value::Null).unwrap_err().to_string();
    assert!(error.starts_with("plugin xor-c 1.2.0 is not used: its library cannot be opened: "), "{error}");
}

/// The symbols of a library stay its own.
#[test]
fn a_library_built_in_rust_exports_the_entry_alone() {
    let installed = Installed::new(in_rust(), &XOR_C);
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(installed.library()).output().unwrap();
    let symbols = String::from_utf8_lossy(&output.stdout);
    let names: Vec<_> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(names, ["zarr_plugin_v1"]);
}
