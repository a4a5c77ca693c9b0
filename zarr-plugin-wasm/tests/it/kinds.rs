//! Codecs of every kind, from `tests/kinds.c`, and the layout of the header's structs.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use zarr_conformance::types::UINT16;
use zarr_plugin::abi;
use zarr_plugin::host::{Loader, Lock, Manifest, Policy, Search};
use zarr_plugin_wasm as _;
use zarr_spec::output::Output;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, Creation, Format, Mode, Reading, Registry,
    Representation, Size, Value, json,
};

const HERE: &str = env!("CARGO_MANIFEST_DIR");
const LINKING: &str = "-Wl,--no-entry,--export=zarr_plugin_v2,--export-table,--growable-table";

/// Returns `clang` for WebAssembly. If it is not installed, prints that the test is skipped, or fails if `CI` is
/// `true`.
fn clang() -> Option<Command> {
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if runs("clang") && runs("wasm-ld") {
        let mut clang = Command::new("clang");
        clang.args(["--target=wasm32", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-mbulk-memory"]);
        clang.args(["-nostdlib", "-I"]).arg(format!("{HERE}/../zarr-plugin/include"));
        return Some(clang);
    }
    let reason = "WebAssembly: clang and wasm-ld (Debian packages clang and lld) are not installed";
    println!("SKIPPED: {reason}");
    if let Some(file) = std::env::var_os("ZARR_SKIPS") {
        let mut file = File::options().append(true).create(true).open(file).unwrap();
        writeln!(file, "SKIPPED: {reason}").unwrap();
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "{reason}, but tests must not be skipped if CI=true"
    );
    None
}

fn run(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a registry with the codecs.
fn kinds() -> Option<Registry> {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("kinds.wasm");
    let mut clang = clang()?;
    clang.args([LINKING, "-o"]).arg(&module).arg(format!("{HERE}/tests/kinds.c"));
    run(clang);
    let manifest = Manifest::of_library(&fs::read(&module).unwrap(), "kinds.wasm").unwrap();
    assert_eq!(manifest.library.keys().collect::<Vec<_>>(), ["wasm32"]);
    fs::write(folder.path().join("kinds.toml"), manifest.to_toml().unwrap()).unwrap();
    let mut registry = Registry::empty();
    let loader = Loader::new(&Search::nowhere().given(folder.path()), Policy::Any, Lock::default());
    assert_eq!(loader.register(&mut registry), []);
    // A registered library is opened at its first use. Opening it here allows removing the folder.
    loader.open(&loader.candidates()[0]).unwrap();
    Some(registry)
}

/// Returns the codec and its warnings.
fn create(
    registry: &Registry,
    name: &str,
    decoded: &Representation,
) -> (Result<Codec, CodecError>, Vec<String>) {
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.codecs().find(Format::V3, name, &reading).unwrap();
    let codec = (plugin.create)(&creation(registry, name, &reading), decoded);
    (codec, reading.take_warnings())
}

fn creation<'a>(registry: &'a Registry, name: &'a str, reading: &'a Reading) -> Creation<'a> {
    let format = Format::V3;
    Creation::new(name, &Value::Null, format, registry, reading)
}

fn array(shape: &[u64]) -> ArrayRepresentation {
    zarr_conformance::array(shape, UINT16)
}

#[test]
fn an_array_to_array_codec_describes_its_encoded_array() {
    let Some(registry) = kinds() else { return };
    let decoded = array(&[3, 4]);
    // Creates the codec by an alias.
    let (codec, warnings) = create(&registry, "example.level", &Representation::Array(decoded.clone()));
    assert_eq!(warnings, ["flat as it is"]);
    let Codec::ArrayToArray(codec) = codec.unwrap() else { panic!("another form") };
    for _ in 0..2 {
        let encoded = codec.encoded(&decoded).unwrap();
        assert_eq!(encoded.shape, [12]);
        assert_eq!((encoded.fill_value.bytes(), encoded.byte_order), (&[1, 0][..], ByteOrder::Big));
    }
    let elements: Vec<u8> = (0..24).collect();
    let mut encoded = Output::exactly(24);
    codec.encode(&decoded, &elements, &mut encoded).unwrap();
    assert_eq!(encoded.written()[..4], [1, 0, 3, 2]);
    let mut again = Output::exactly(24);
    codec.decode(&decoded, encoded.written(), &mut again).unwrap();
    assert_eq!(again.written(), elements);
    let error = codec.decode(&decoded, &elements[1..], &mut Output::exactly(24)).unwrap_err();
    assert!(error.to_string().contains("plugin kinds 1.0.0: it gives no reason"), "{error}");
    let (refused, _) = create(&registry, "example.flat", &Representation::Array(array(&[12])));
    let error = refused.unwrap_err();
    assert!(matches!(&error, CodecError::Unsupported(_)), "{error}");
    assert_eq!(error.to_string(), "plugin kinds 1.0.0: not of two dimensions");
}

#[test]
fn an_array_to_bytes_codec_declares_its_encoded_size() {
    let Some(registry) = kinds() else { return };
    let decoded = array(&[3, 4]);
    let (codec, _) = create(&registry, "example.turned", &Representation::Array(decoded.clone()));
    let Codec::ArrayToBytes(codec) = codec.unwrap() else { panic!("another form") };
    assert_eq!(codec.encoded_size(&decoded).unwrap(), Size::Exact(24));
    // The shape differs from the shape at creation, and the output exceeds the initial capacity.
    let large = array(&[300, 400]);
    assert_eq!(codec.encoded_size(&large).unwrap(), Size::Exact(240_000));
    let elements: Vec<u8> = (0..=255).cycle().take(240_000).collect();
    let mut encoded = Output::at_most(1 << 20);
    codec.encode(&large, &elements, &mut encoded).unwrap();
    let turned: Vec<u8> = elements.chunks(2).flat_map(|element| [element[1], element[0]]).collect();
    assert!(encoded.written() == turned);
    let mut again = Output::exactly(240_000);
    codec.decode(&large, &turned, &mut again).unwrap();
    assert!(again.written() == elements);
    let error = codec.encode(&large, &elements, &mut Output::at_most(239_999)).unwrap_err();
    assert!(error.to_string().contains("it gives no reason"), "{error}");
}

#[test]
fn a_checksum_is_a_value_that_the_host_verifies() {
    let Some(registry) = kinds() else { return };
    let (codec, _) = create(&registry, "example.sum", &Representation::Bytes(Size::Unknown));
    let Codec::Checksum(codec) = codec.unwrap() else { panic!("another form") };
    assert_eq!(codec.size(), 2);
    assert!(codec.at_start());
    let mut checksum = [0; 2];
    for (bytes, expected) in [([1, 2, 3], [6, 6]), ([1, 2, 4], [7, 7])] {
        codec.checksum(&bytes, &mut checksum).unwrap();
        assert_eq!(checksum, expected);
    }
}

#[test]
fn data_codecs_and_translated_configurations_reach_the_host() {
    let Some(registry) = kinds() else { return };
    let decoded = Representation::Array(array(&[3, 4]));
    let (codec, _) = create(&registry, "example.swap", &decoded);
    assert!(matches!(codec.unwrap(), Codec::Permutation(order) if order == [1, 0]));
    let reading = Reading::new(Mode::Strict);
    let translated = |name: &str| {
        let plugin = registry.codecs().find(Format::V3, name, &reading).unwrap();
        plugin.translate(&creation(&registry, name, &reading), &decoded, Format::V2).unwrap()
    };
    assert_eq!(Value::Object(translated("example.flat")), json!({"order": 2}));
    assert_eq!(Value::Object(translated("example.swap")), json!({}));
}

/// Each thread uses its own instance of the module.
#[test]
fn one_codec_serves_many_threads() {
    let Some(registry) = kinds() else { return };
    let (codec, _) = create(&registry, "example.sum", &Representation::Bytes(Size::Unknown));
    let Codec::Checksum(codec) = codec.unwrap() else { panic!("another form") };
    std::thread::scope(|scope| {
        for byte in 0..8u8 {
            let codec = &codec;
            scope.spawn(move || {
                for _ in 0..20 {
                    let mut checksum = [0; 2];
                    codec.checksum(&[byte], &mut checksum).unwrap();
                    assert_eq!(checksum, [byte, byte]);
                }
            });
        }
    });
}

/// The host's layout of the structs matches the layout of clang.
#[test]
fn the_structs_have_the_same_layout_in_c_and_in_the_host() {
    let Some(mut clang) = clang() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut program = String::from("#include \"zarr_plugin.h\"\n");
    for layout in abi::wasm32_layouts() {
        let name = layout.name;
        writeln!(program, "_Static_assert(sizeof({name}) == {}, \"{name}\");", layout.size).unwrap();
        for (member, bytes) in layout.members() {
            let text = format!("offsetof({name}, {member}) == {}", bytes.start);
            writeln!(program, "_Static_assert({text}, \"{name}.{member}\");").unwrap();
            let text = format!("sizeof((({name} *)0)->{member}) == {}", bytes.len());
            writeln!(program, "_Static_assert({text}, \"{name}.{member}\");").unwrap();
        }
    }
    let source: &Path = &folder.path().join("layout.c");
    fs::write(source, program).unwrap();
    clang.args(["-c", "-o"]).arg(folder.path().join("layout.o")).arg(source);
    run(clang);
}
