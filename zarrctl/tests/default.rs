//! A build without all features refuses the verbs, stores and plugins that it lacks, and names the command that runs a
//! build with all features.
#![cfg(not(feature = "full"))]
#![expect(clippy::unwrap_used, reason = "a failure to run the program is a failed test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The command that the program prints, without the arguments.
const FULL: &str = "cargo run --release -p zarrctl --features full -- ";

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zarrctl")).args(arguments).output().unwrap()
}

/// Returns the message of a refusal, which has to end with the command for `arguments`, as a shell reads them.
fn refused(status: i32, arguments: &[&str], typed: &str) -> String {
    let output = run(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{message}");
    assert!(message.ends_with(&format!(": {FULL}{typed}\n")), "{message}");
    message
}

#[test]
fn missing_verbs_and_stores_are_wrong_usage_with_the_command_that_adds_them() {
    let conformance = "conformance plugin zstd --level L1";
    refused(2, &["conformance", "plugin", "zstd", "--level", "L1"], conformance);
    refused(2, &["serve", "a.zarr", "--port", "0"], "serve a.zarr --port 0");
    let store = refused(2, &["tree", "s3://bucket/a b.zarr"], "tree 's3://bucket/a b.zarr'");
    assert!(store.contains("the store for `s3:` is not in this build"), "{store}");
    #[cfg(target_os = "linux")]
    refused(2, &["plugins", "probe", "xor.so"], "plugins probe xor.so");
}

#[cfg(all(target_os = "linux", not(feature = "dynamic")))]
#[test]
fn a_build_that_loads_no_plugins_has_the_verbs_for_them() {
    for arguments in [&["plugins", "why", "zstd"], &["plugins", "trust", "xor"]] {
        refused(2, arguments, &arguments.join(" "));
    }
}

#[test]
fn a_missing_codec_is_named_with_its_feature_and_the_command_that_adds_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a.zarr");
    let store = store.to_str().unwrap();
    let create = ["create", store, "/a", "--shape", "4", "--dtype", "uint8", "--codec", "zfp"];
    let message = refused(1, &create, &create.join(" "));
    assert!(message.contains("feature `codec-zfp` of crate `zarr-kit`"), "{message}");

    fs::create_dir_all(format!("{store}/a")).unwrap();
    fs::write(format!("{store}/zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    fs::write(format!("{store}/a/zarr.json"), ARRAY).unwrap();
    let get = ["get", store, "/a"];
    let message = refused(1, &get, &get.join(" "));
    assert!(message.contains("feature `codec-pcodec` of crate `zarr-kit`"), "{message}");

    let show = ["plugins", "show", "zfp"];
    let message = refused(1, &show, &show.join(" "));
    assert!(message.contains("feature `codec-zfp` of crate `zarr-kit`"), "{message}");
}

/// No build without the feature `proposals` has an extension that is still discussed.
#[test]
fn each_proposal_is_refused_with_the_feature_that_adds_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a.zarr");
    let store = store.to_str().unwrap();
    fs::create_dir_all(format!("{store}/a")).unwrap();
    fs::write(format!("{store}/zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    let [grid, data_type] = [r#""regular", "configuration": {"chunk_shape": [4]"#, r#""uint16""#];
    let [keys, codec] = [r#""default""#, r#""numcodecs.pcodec", "configuration": {}"#];
    let bytes = r#""bytes", "configuration": {"endian": "little"}"#;
    for (part, proposal, feature) in [
        (keys, r#""suffix", "configuration": {"suffix": ".tiff"}"#, "key-encoding-suffix"),
        (keys, r#""fanout", "configuration": {"max_children": 100}"#, "key-encoding-fanout"),
        (keys, r#""template", "configuration": {"template": "{0}"}"#, "key-encoding-template"),
        (data_type, r#"{"name": "optional", "configuration": {"name": "uint8"}}"#, "dtype-optional"),
        (
            data_type,
            r#"{"name": "ndarray", "configuration": {"dtype": "int32", "shape": [null]}}"#,
            "dtype-vlen-ndarray",
        ),
        (data_type, r#"{"name": "vlen-ndarray", "configuration": {}}"#, "dtype-vlen-ndarray"),
        (codec, r#""optional", "configuration": {}"#, "codec-optional"),
        (codec, r#""vlen-ndarray", "configuration": {}"#, "codec-vlen-ndarray"),
        (
            grid,
            r#""rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [4], "encoded_chunk_shapes": [5]"#,
            "proposals",
        ),
    ] {
        assert!(ARRAY.contains(part), "{part}");
        let document = ARRAY.replace(part, proposal);
        // Only the proposal is missing in this build.
        let document = if part == codec { document } else { document.replace(codec, bytes) };
        fs::write(format!("{store}/a/zarr.json"), document).unwrap();
        let output = run(&["get", store, "/a"]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("is not in this build"), "{proposal}: {message}");
        assert!(
            message.contains(&format!("feature `{feature}` of crate `zarr-kit` has it")),
            "{proposal}: {message}"
        );
    }
    let listed = String::from_utf8(run(&["plugins"]).stdout).unwrap();
    for name in ["suffix", "fanout", "template", "optional", "ndarray", "vlen-ndarray"] {
        assert!(
            listed.split_whitespace().all(|word| word.trim_end_matches(',') != name),
            "{name} in\n{listed}"
        );
        let message = String::from_utf8(run(&["plugins", "show", name]).stderr).unwrap();
        assert!(message.contains("is not in this build"), "{name}: {message}");
    }
}

/// The stored hierarchies of proposals, in the format suite, are refused with the features that read them.
#[test]
fn a_stored_hierarchy_of_a_proposal_names_a_feature() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/formats/v3");
    let mut count = 0;
    for entry in fs::read_dir(examples).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.starts_with("proposal-") {
            continue;
        }
        count += 1;
        let output = run(&["get", folder.to_str().unwrap(), "/"]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}: {message}");
        assert!(message.contains("is not in this build; feature `"), "{name}: {message}");
        assert!(message.contains("` of crate `zarr-kit` has it"), "{name}: {message}");
    }
    assert!(count > 20, "{count}");
}

const ARRAY: &str = r#"{
    "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint16", "fill_value": 0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
    "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "numcodecs.pcodec", "configuration": {}}]
}"#;

#[test]
fn the_demo_works() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["demo", folder.path().join("demo").to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
