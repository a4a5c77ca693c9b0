//! `runs.c` as a crate, as a native library and as a WebAssembly module.
#![cfg(all(target_os = "linux", target_endian = "little"))]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;
use zarr_conformance::suite::{Level, Report, suites_of};
use zarr_example_three_ways as _;
use zarr_plugin::host::{Loader, Lock, Manifest, Policy, Search};
use zarr_plugin_wasm as _;
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::output::Output;
use zarr_spec::{
    Codec, CodecError, Creation, Format, Mode, Reading, Registry, Representation, Size, Value, json,
};

const HERE: &str = env!("CARGO_MANIFEST_DIR");
const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../zarr-plugin/include");

/// The commands of the README.
const LIBRARY: &[&str] = &["cc", "-O2", "-shared", "-fPIC"];
const WEBASSEMBLY: &[&str] = &[
    "clang",
    "--target=wasm32",
    "-O2",
    "-mbulk-memory",
    "-nostdlib",
    "-Wl,--no-entry,--export=zarr_plugin_v2,--export-table,--growable-table",
];

/// Compiles `runs.c` to a new folder, and adds its manifest.
fn built(command: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("runs");
    let mut compiler = Command::new(command[0]);
    compiler.args(&command[1..]).args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", HEADERS]);
    let output = compiler.arg("-o").arg(&library).arg(format!("{HERE}/runs.c")).output().unwrap();
    assert!(output.status.success(), "{compiler:?}: {}", String::from_utf8_lossy(&output.stderr));
    let manifest = Manifest::of_library(&fs::read(&library).unwrap(), "runs").unwrap();
    fs::write(folder.path().join("runs.toml"), manifest.to_toml().unwrap()).unwrap();
    folder
}

/// Returns a registry with the codec that the command builds.
fn loaded(command: &[&str]) -> Registry {
    let folder = built(command);
    let loader = Loader::new(&Search::nowhere().given(folder.path()), Policy::Any, Lock::default());
    loader.open(&loader.candidates()[0]).unwrap();
    let mut registry = Registry::empty();
    assert_eq!(loader.register(&mut registry), []);
    registry
}

/// Returns whether a compiler for WebAssembly is installed. If not, prints that the test is skipped, and
/// fails if `CI` is `true`.
fn has_clang() -> bool {
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if runs("clang") && runs("wasm-ld") {
        return true;
    }
    let reason = "three ways: clang and wasm-ld (Debian packages clang and lld) are not installed";
    println!("SKIPPED: {reason}");
    if let Some(file) = std::env::var_os("ZARR_SKIPS") {
        let mut file = File::options().append(true).create(true).open(file).unwrap();
        writeln!(file, "SKIPPED: {reason}").unwrap();
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "{reason}, but CI=true does not allow skipped tests"
    );
    false
}

fn create(registry: &Registry, configuration: &Value) -> Result<Arc<dyn BytesToBytesCodec>, CodecError> {
    let reading = Reading::new(Mode::Strict);
    let format = Format::V3;
    let name = "example.runs";
    let creation = Creation::new(name, configuration, format, registry, &reading);
    let plugin = registry.codecs().find(format, name, &reading).unwrap();
    match (plugin.create)(&creation, &Representation::Bytes(Size::Unknown))? {
        Codec::BytesToBytes(codec) => Ok(codec),
        other => panic!("expected a bytes-to-bytes codec, found {other:?}"),
    }
}

/// Returns runs, noise, and bytes after the last element.
fn chunk(size: usize) -> Vec<u8> {
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    let mut chunk = Vec::new();
    while chunk.len() < size {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        let element = (noise >> 32).to_le_bytes();
        let run = if noise & 3 == 0 { 700 } else { (noise >> 2) & 7 };
        (0..run).for_each(|_| chunk.extend_from_slice(&element[..4]));
    }
    chunk.truncate(size);
    chunk
}

#[test]
fn all_builds_write_and_read_the_same_bytes() {
    if !has_clang() {
        return;
    }
    let registries = [Registry::linked().unwrap(), loaded(LIBRARY), loaded(WEBASSEMBLY)];
    for width in [1, 2, 4, 8u64] {
        let codecs = registries.each_ref().map(|it| create(it, &json!({"width": width})).unwrap());
        for size in [0, 1, 3, 4, 1000, 100_003] {
            let decoded = chunk(size);
            let encoded = codecs.each_ref().map(|codec| {
                let mut encoded = Output::at_most(4 << 20);
                codec.encode(&decoded, &mut encoded).unwrap();
                encoded.into_written()
            });
            assert!(encoded.iter().all(|it| *it == encoded[0]), "width {width}, {size} bytes");
            for codec in &codecs {
                let mut output = Output::exactly(size);
                codec.decode(&encoded[0], &mut output).unwrap();
                assert!(output.written() == decoded, "width {width}, {size} bytes");
            }
        }
        let sizes = codecs.each_ref().map(|codec| codec.encoded_size(Size::Exact(1001)));
        assert_eq!(sizes, [Size::AtMost(1001 + 1001 / width); 3]);
    }
}

#[test]
fn all_builds_refuse_the_same_input() {
    if !has_clang() {
        return;
    }
    for registry in [Registry::linked().unwrap(), loaded(LIBRARY), loaded(WEBASSEMBLY)] {
        for wrong in [json!({"width": 3}), json!({"width": 4, "more": 1}), json!({"widths": 4}), json!([])] {
            let error = create(&registry, &wrong).unwrap_err();
            assert!(matches!(error, CodecError::InvalidConfiguration(_)), "{wrong}: {error}");
        }
        let codec = create(&registry, &json!({"width": 4})).unwrap();
        let error = codec.decode(&[0, 1, 2, 3], &mut Output::at_most(100)).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
        let error = codec.decode(&[255, 1, 2, 3, 4], &mut Output::at_most(1023)).unwrap_err();
        assert!(matches!(error, CodecError::TooLarge(limit) if limit.limit == 1023), "{error}");
    }
}

/// `tests/conformance.rs` runs the suite for the crate.
#[test]
fn loaded_codecs_pass_the_conformance_suite() {
    if !has_clang() {
        return;
    }
    for command in [LIBRARY, WEBASSEMBLY] {
        let suites = suites_of(&loaded(command));
        let report = Report::of(&suites, Level::L4);
        let failures: Vec<_> = report.failures().map(|failure| format!("{failure:?}")).collect();
        assert!(suites.len() == 1 && failures.is_empty(), "{}: {}", command[0], failures.join("\n"));
    }
}

/// The README contains the commands that these tests run.
#[test]
fn the_readme_contains_the_commands() {
    let readme = fs::read_to_string(Path::new(HERE).join("README.md")).unwrap();
    let words: Vec<_> = readme.split_whitespace().filter(|word| *word != "\\").collect();
    for command in [LIBRARY, WEBASSEMBLY] {
        assert!(words.windows(command.len()).any(|part| part == command), "{command:?}");
    }
}
