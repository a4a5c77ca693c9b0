//! `zarrctl` lists, reads and converts hierarchies that zarr-python wrote: to every format, and from the
//! draft back to v3. Independent programs read the results.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use zarr_interop::environment::run_script;
use zarr_interop::{Case, Packages, Writer, python, written, zarrctl};
use zarr_kit::convert::{conversion_losses, convert_metadata};
use zarr_kit::metadata::{ArrayMetadata, NodeMetadata, v2, v3};
use zarr_kit::spec::Reading;
use zarr_kit::{Format, Mode, Registry};

/// Messages of other programs about features that they do not support.
const UNSUPPORTED: &[(&str, &[&str])] = &[
    ("draft", &["is not known", "ValueError: a codec of ["]),
    (
        "tensorstore",
        &[
            "UnsupportedError",
            "Unsupported zarr dtype",
            "is not one of the supported data types",
            "Nested struct types and extension data types",
            // These messages are truncated after the name of the codec, so they do not contain the reason.
            "Error parsing object member \"name\": \"numcodecs.",
            "Error parsing object member \"id\": ",
            "filters are not supported",
            "Object includes extra members: \"checksum\"",
            "base64-encoded bytes, but received: \"",
            "Expected integer in the range [0, 9], but received: -1",
        ],
    ),
    ("zarr3", &[]),
    ("zarr2", &[]),
];

/// Stores that a format cannot represent, and a part of the error message.
const REFUSED: &[(&str, &str, &str)] = &[
    ("v2-geometries", "v3-draft", "contains the character ' '"),
    ("v2-pipelines", "v3", "`crc32c` of final v3 cannot have the checksum before the bytes"),
    ("v2-tree", "v3-draft", "is not a node name in v3-draft"),
    ("v2-types", "v3-draft", "contains the character '['"),
    ("v3-fills", "v3-draft", "is not a node name in v3-draft"),
    ("v3-nan-fills", "v2", "v2 cannot represent the NaN"),
    ("v3-tree", "v3-draft", "is not a node name in v3-draft"),
    ("v3-types", "v3-draft", "the format requires a scale factor of 1"),
];

fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

/// Runs the program, which must succeed, and returns its output.
fn printed(program: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = run(program, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Converts a store, or checks that the conversion fails as expected. A dry run must report the same losses.
fn copy(zarrctl: &Path, from: &Path, to: &Path, format: &str) {
    let arguments = ["copy", from.to_str().unwrap(), to.to_str().unwrap(), "--format", format];
    let rehearsed = run(zarrctl, &[&arguments[..], &["--dry-run"]].concat());
    assert!(!to.exists(), "{arguments:?} with --dry-run wrote something");
    let output = run(zarrctl, &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(rehearsed.status.code(), output.status.code(), "{arguments:?}: {said}");
    if output.status.success() {
        let told: Vec<_> =
            said.lines().skip_while(|line| !line.contains("the copy loses some metadata")).skip(1).collect();
        let rehearsed = String::from_utf8(rehearsed.stdout).unwrap();
        let wanted: Vec<_> = rehearsed.lines().skip(1).filter(|line| *line != "  nothing").collect();
        let told: Vec<_> = told.into_iter().filter(|line| line.starts_with("  ")).collect();
        assert_eq!(told, wanted, "{arguments:?}");
    }
    let store = from.file_stem().unwrap();
    match REFUSED.iter().find(|(refused, by, _)| *refused == store && *by == format) {
        Some((.., reason)) => {
            assert_eq!(output.status.code(), Some(1), "{arguments:?}");
            assert!(said.contains(reason), "{arguments:?}: {said}");
            assert!(!to.exists(), "{arguments:?} left something");
        }
        None => assert!(output.status.success(), "{arguments:?}: {said}"),
    }
}

/// Returns the cases of the stores that were converted to `format` below `folder`.
fn converted(cases: &[Value], source: &Path, folder: &Path, format: &str) -> Vec<Value> {
    let there = cases.iter().filter(|case| folder.join(case["store"].as_str().unwrap()).is_dir());
    let moved = there.map(|case| {
        let mut case = case.clone();
        if let Some(raw) = case["raw"].as_str() {
            case["raw"] = json!(source.join(raw));
        }
        case["store"] = json!(folder.join(case["store"].as_str().unwrap()));
        case["format"] = json!(if format == "v3-draft" { "v3-draft-b" } else { format });
        if case["case"].as_str().unwrap().starts_with("v3-dimension-names") {
            // In the older formats, the dimension names are an attribute, so the attributes differ.
            case.as_object_mut().unwrap().remove("attributes");
        }
        if format == "v2" && case["store"].as_str().unwrap().contains("v3-") && case["shape"] == json!([]) {
            // The copies of arrays without dimensions have an additional empty attribute for xarray, so the attributes
            // differ.
            case.as_object_mut().unwrap().remove("attributes");
        }
        let loses = ["f2-0x7e01", "f2-0x7c01", "f4-0x7f800001", "f8-0x7ff0000000000001"];
        if case["store"].as_str().unwrap().contains("v3-nan-fills")
            && loses.iter().any(|name| case["path"].as_str().unwrap().contains(name))
        {
            case["skip"] =
                json!({"zarr3": "loses such NaNs in fill values", "zarr2": "loses such NaNs in fill values"});
        }
        if format == "v2" && case["store"].as_str().unwrap().contains("v3-fills") {
            let path = case["path"].as_str().unwrap().trim_start_matches('/');
            if path.starts_with("bytes-") {
                case["skip"] = json!({"zarr2": "does not decode the base64 of fill values"});
            } else if ["c8--0.0_-0.0", "c16--0.0_-0.0"].iter().any(|name| path.starts_with(name)) {
                case["skip"] = json!({"zarr2": "adds the parts of complex fill values, which loses signs"});
            }
        }
        case
    });
    moved.collect()
}

/// Compares everything with another program. The program may refuse features that it is known not to support;
/// at least `least` nodes must be equal.
fn check(python: &Path, reader: &str, folder: &Path, cases: &[Value], least: usize) {
    let index = folder.join(format!("{reader}.json"));
    std::fs::write(&index, serde_json::to_vec(cases).unwrap()).unwrap();
    let arguments = [index.as_os_str(), "--reader".as_ref(), reader.as_ref(), "--allow-refused".as_ref()];
    let (output, good) = run_script(python, "read_check.py", &arguments);
    let (_, unsupported) = UNSUPPORTED.iter().find(|(name, _)| *name == reader).unwrap();
    let wrong = output.lines().filter(|line| {
        let is_refused = line.starts_with("refused: ");
        line.starts_with("different: ") || (is_refused && !unsupported.iter().any(|text| line.contains(text)))
    });
    let wrong: Vec<String> = wrong.map(|line| line.chars().take(400).collect()).take(20).collect();
    assert!(good && wrong.is_empty(), "{reader}:\n{}", wrong.join("\n"));
    let summary = output.lines().find(|line| line.contains(" equal, ")).unwrap();
    println!("{} read by {reader}: {summary}", folder.display());
    let equal: usize = summary.split(' ').nth(2).unwrap().parse().unwrap();
    assert!(equal >= least, "only {equal} nodes were read by {reader}");
}

#[test]
fn hierarchies_of_zarr_python_are_equal_after_conversion_to_every_format() {
    let (Some(source), Some(zarr3), Some(zarr2)) =
        (written(Writer::Zarr3), python(Packages::Zarr3), python(Packages::Zarr2))
    else {
        return;
    };
    let zarrctl = zarrctl();
    let cases: Vec<Value> =
        serde_json::from_slice(&std::fs::read(source.join("cases.json")).unwrap()).unwrap();
    let stores: BTreeSet<_> = cases.iter().map(|case| case["store"].as_str().unwrap()).collect();
    let target = tempfile::tempdir().unwrap();
    let folder = |name: &str| target.path().join(name);
    for format in ["v2", "v3", "v3-draft"] {
        std::fs::create_dir(folder(format)).unwrap();
        for store in &stores {
            copy(&zarrctl, &source.join(store), &folder(format).join(store), format);
        }
    }
    let cases_in = |name: &str, format| converted(&cases, &source, &folder(name), format);
    let v2 = cases_in("v2", "v2");
    let v3 = cases_in("v3", "v3");
    let draft = cases_in("v3-draft", "v3-draft");
    check(&zarr3, "zarr3", &folder("v2"), &v2, 1000);
    check(&zarr2, "zarr2", &folder("v2"), &v2, 1000);
    check(&zarr3, "tensorstore", &folder("v2"), &v2, 700);
    check(&zarr3, "zarr3", &folder("v3"), &v3, 1000);
    check(&zarr3, "tensorstore", &folder("v3"), &v3, 700);
    check(&zarr3, "draft", &folder("v3-draft"), &draft, 500);

    std::fs::create_dir(folder("v3-again")).unwrap();
    for store in &stores {
        let from = folder("v3-draft").join(store);
        if from.is_dir() {
            copy(&zarrctl, &from, &folder("v3-again").join(store), "v3");
        }
    }
    let again = cases_in("v3-again", "v3");
    assert!(!again.iter().any(|case| case["store"].as_str().unwrap().contains("v2-pipelines")));
    check(&zarr3, "zarr3", &folder("v3-again"), &again, 800);
    check(&zarr3, "tensorstore", &folder("v3-again"), &again, 400);
}

#[test]
fn zarrctl_lists_and_reads_hierarchies_of_zarr_python() {
    let Some(source) = written(Writer::Zarr3) else { return };
    let zarrctl = zarrctl();
    let cases = Case::all(&source, "cases.json");
    for name in ["v2-tree.zarr", "v3-tree.zarr", "v2-consolidated.zarr", "v3-consolidated.zarr"] {
        let store = source.join(name);
        let store = store.to_str().unwrap();
        let of_store = || cases.iter().filter(|case| case.store() == name);
        let listed: Value = serde_json::from_slice(&printed(&zarrctl, &["tree", store, "--json"])).unwrap();
        let listed: BTreeSet<_> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|node| (node["path"].as_str().unwrap().to_owned(), node["kind"] == "group"))
            .collect();
        let wanted: BTreeSet<_> = of_store().map(|case| (case.path().to_owned(), case.is_group())).collect();
        assert_eq!(listed, wanted, "{name}");
        for case in of_store().filter(|case| !case.is_group()) {
            let raw = printed(&zarrctl, &["get", store, case.path(), "--format", "raw"]);
            assert_eq!(raw, case.raw(&source).unwrap(), "{}", case.name());
        }
    }
    // These arrays have types whose raw form consists of more than the bytes of numbers.
    for case in
        cases.iter().filter(|case| ["v3-types.zarr", "v3-variable.zarr"].contains(&case.store())).step_by(9)
    {
        let store = source.join(case.store());
        let raw = printed(&zarrctl, &["get", store.to_str().unwrap(), case.path(), "--format", "raw"]);
        assert_eq!(raw, case.raw(&source).unwrap(), "{}", case.name());
    }
}

/// Returns the members of a document whose meaning is lost when an array is converted, with the reasons.
fn lost(source: &ArrayMetadata, target: Format) -> Vec<(String, String)> {
    let registry = Registry::linked().unwrap();
    let copy = convert_metadata(source, target, &registry).unwrap();
    let losses = conversion_losses(source, &copy, &registry);
    losses.into_iter().map(|loss| (loss.member, loss.reason)).collect()
}

fn v3(codecs: Value, more: Value) -> ArrayMetadata {
    let mut document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [4, 4, 4], "data_type": "int16", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2, 2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": codecs,
    });
    document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    match v3::parse_node(&parsed(&document), &Reading::new(Mode::Lenient)).unwrap() {
        NodeMetadata::Array(metadata) => *metadata,
        NodeMetadata::Group(_) => panic!("expected an array"),
    }
}

fn parsed(document: &Value) -> zarr_kit::spec::Value {
    zarr_kit::json::parse(document.to_string().as_bytes(), &Default::default()).unwrap().value
}

#[test]
fn conversion_loses_only_metadata_that_the_target_cannot_represent() {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let transpose = |order: Value| json!({"name": "transpose", "configuration": {"order": order}});
    let sharding = |codecs: Value, location: &str| {
        json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [1, 2, 2], "codecs": codecs, "index_location": location,
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        }}])
    };
    let nothing = json!({});
    let order = "the order of dimensions [1, 0, 2]; v2 supports only C and F, and the copy uses C";
    let apart = "their inner chunks are the chunks of the copy";
    for (codecs, more, target, wanted) in [
        (json!([bytes]), nothing.clone(), Format::V2, vec![]),
        (json!([transpose(json!([2, 1, 0])), bytes]), nothing.clone(), Format::V2, vec![]),
        (json!([transpose(json!([1, 0, 2])), bytes]), nothing.clone(), Format::V2, vec![("codecs", order)]),
        (json!([transpose(json!([1, 0, 2])), bytes]), nothing.clone(), Format::V3Draft, vec![]),
        (sharding(json!([bytes]), "end"), nothing.clone(), Format::V2, vec![("codecs", apart)]),
        (
            sharding(json!([transpose(json!([2, 1, 0])), bytes]), "end"),
            nothing.clone(),
            Format::V2,
            vec![("codecs", apart)],
        ),
        (sharding(json!([bytes]), "end"), nothing.clone(), Format::V3Draft, vec![]),
        (sharding(json!([bytes]), "start"), nothing.clone(), Format::V3Draft, vec![("codecs", apart)]),
        (
            json!([bytes]),
            json!({"x": {"name": "x", "must_understand": false}}),
            Format::V2,
            vec![("x", "may ignore")],
        ),
        (json!([bytes]), json!({"dimension_names": ["a", null, "b"]}), Format::V3Draft, vec![]),
        (
            json!([bytes]),
            json!({"dimension_names": ["a", null, "b"]}),
            Format::V2,
            vec![("dimension_names", "its attribute `_ARRAY_DIMENSIONS`")],
        ),
        (
            json!([bytes]),
            json!({"dimension_names": ["a", null, "b"], "attributes": {"_ARRAY_DIMENSIONS": ["z", "y", "x"], "n": 1}}),
            Format::V2,
            vec![("dimension_names", r#"of the copy stays ["z","y","x"]"#)],
        ),
    ] {
        let found = lost(&v3(codecs.clone(), more.clone()), target);
        let members: Vec<_> = found.iter().map(|(member, _)| member.as_str()).collect();
        let wanted_members: Vec<_> = wanted.iter().map(|(member, _)| *member).collect();
        assert_eq!(members, wanted_members, "{codecs} {more} in {target}: {found:?}");
        for ((_, reason), (_, part)) in found.iter().zip(wanted) {
            assert!(reason.contains(part), "{part} in {reason}");
        }
    }
}

#[test]
fn an_undefined_fill_value_is_lost_outside_of_v2() {
    let zarray = json!({"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": null,
        "fill_value": null, "order": "C", "filters": null});
    let zarray = v2::parse_array(&parsed(&zarray), None, &Reading::new(Mode::Strict)).unwrap();
    let found = lost(&zarray, Format::V3);
    assert_eq!(found[0].0, "fill_value");
    assert!(found.len() == 1 && found[0].1.contains("it is undefined; in the copy it is 0"), "{found:?}");
    assert_eq!(lost(&zarray, Format::V2), []);
}
