//! A crate in its own folder, as a third party would write it. One dev-dependency, a `[[test]]` entry and one
//! line of code suffice to run the suite for its plugin.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A codec whose type is also its configuration. `DECODE` is replaced by an expression that decodes a byte.
const SOURCE: &str = r##"//! Flips the bits of a key in every byte of a chunk.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output, Representation, Size};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("example.xor"), &create)
        .configuration::<Xor>()
        .about("Flips the bits of a key in every byte.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"name": "example.xor", "configuration": {"key": 165}}"#)];

#[derive(Debug, Deserialize)]
struct Xor {
    key: u8,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::BytesToBytes(Arc::new(creation.parse::<Xor>()?)))
}

impl BytesToBytesCodec for Xor {
    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(encoded.put(&decoded.iter().map(|byte| byte ^ self.key).collect::<Vec<u8>>())?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(decoded.put(&encoded.iter().map(|byte| DECODE).collect::<Vec<u8>>())?)
    }
}
"##;

/// Writes the crate to a folder outside of any workspace. Its name must be unique: with a duplicate name,
/// Cargo would reuse the program of the other crate.
fn third_party(name: &str, decode: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(ROOT).canonicalize().unwrap();
    let manifest = format!(
        "[package]\nname = '{name}'\nversion = '1.2.3'\nedition = '2024'\n\n\
         [dependencies]\nserde = {{ version = '1', features = ['derive'] }}\nzarr-spec.path = '{0}/zarr-spec'\n\n\
         [dev-dependencies]\nzarr-conformance.path = '{0}/conformance'\n\n\
         [[test]]\nname = 'conformance'\nharness = false\n",
        root.display()
    );
    let write = |file: &str, text: &str| {
        let file = folder.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("Cargo.toml", &manifest);
    write("src/lib.rs", &SOURCE.replace("DECODE", decode));
    let library = name.replace('-', "_");
    write("tests/conformance.rs", &format!("zarr_conformance::conformance_tests!({library});\n"));
    // Uses the versions that are already installed, so that nothing is downloaded.
    fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    folder
}

/// Runs `cargo test` in the folder; returns its output and whether it succeeded.
fn tested(folder: &TempDir, report: &str) -> (String, bool) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--offline", "--quiet", "--test", "conformance", "--", "--color", "never"]);
    cargo.current_dir(folder.path()).env("CARGO_TARGET_DIR", target).env("ZARR_CONFORMANCE_REPORT", report);
    let output = cargo.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&said).into_owned(), output.status.success())
}

/// Returns the outcome of a rule from the output: `ok`, `FAILED`, or the reason why it is ignored.
fn outcome<'s>(said: &'s str, rule: &str) -> &'s str {
    let start = format!("test codec `example.xor`: {rule} ");
    let line = said.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{rule}: {said}"));
    line.split_once("... ").unwrap().1
}

#[test]
fn one_dev_dependency_an_entry_and_a_line_produce_the_report() {
    let right = third_party("example-xor", "byte ^ self.key");
    let (said, is_well) = tested(&right, "report.txt");
    assert!(is_well, "{said}");
    assert!(said.contains("test result: ok. "), "{said}");
    let report = fs::read_to_string(right.path().join("report.txt")).unwrap();
    // L3 is not reached: there are no fixtures of other programs for this codec.
    assert!(report.starts_with("codec `example.xor`: L2 ("), "{report}");
    assert!(report.contains(" 0 failed, "), "{report}");

    let wrong = third_party("wrong-xor", "(byte ^ self.key) & 0x7f");
    let (said, is_well) = tested(&wrong, "report.html");
    assert!(!is_well, "{said}");
    for line in [
        "codec `example.xor`: L1 codec-round-trip",
        "(source: ",
        "- {\"name\": \"example.xor\", \"configuration\": {\"key\": 165}} in v3, ",
        "test result: FAILED. ",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    // Other rules still pass.
    assert_eq!((outcome(&said, "L0 identifiers"), outcome(&said, "L2 codec-truncated")), ("ok", "ok"));
    let report = fs::read_to_string(wrong.path().join("report.html")).unwrap();
    assert!(report.contains("<h3>codec `example.xor`: L1 <code>codec-round-trip</code></h3>"), "{report}");
    assert!(report.contains("cargo test --test conformance -- example.xor</code>"), "{report}");
}

#[test]
fn an_abort_fails_only_the_rule_in_which_it_happens() {
    let decode = "if encoded.len() == 3 { std::process::abort() } else { byte ^ self.key }";
    let folder = third_party("aborting-xor", decode);
    let (said, is_well) = tested(&folder, "report.txt");
    assert!(!is_well, "{said}");
    let (_, failures) = said.split_once("\nfailures:\n").unwrap();
    let (_, foreign) = failures.split_once("---- codec `example.xor`: L2 codec-foreign ----").unwrap();
    for part in ["- decoding 3 bytes, ", "it aborted the process (signal 6)"] {
        assert!(foreign.contains(part), "{part}: {said}");
    }
    assert_eq!(outcome(&said, "L4 codec-range"), "ok");
    assert!(said.contains("test result: FAILED. "), "{said}");
}
