//! Foreign text reaches the terminal in printable form only.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::thread;

use tempfile::TempDir;
use zarr_kit::json::{self, ParseOptions};
use zarr_kit::spec::{Object, Value};

use crate::support::{program, run};

/// A window title, a colour, a forged line, C1 controls, bidirectional controls and zero-width characters.
const PAYLOAD: &str =
    "\u{1b}]0;t\u{7}\u{1b}[31m\r\nerror: forged\u{7f}\u{85}\u{9b}31m\u{202e}\u{2066}\u{200b}\u{feff}";

const V3_ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int8",
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
    "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":0,
    "codecs":[{"name":"bytes"},{"name":"zstd","configuration":{"level":1,"checksum":false}}],
    "storage_transformers":[],"dimension_names":["x"],"attributes":{"unit":"m","more":{"of":["it"]}},
    "note":{"must_understand":false,"text":"t"}}"#;
const V3_TEXT: &str = r#"{"zarr_format":3,"node_type":"array","shape":[1],"data_type":"string",
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},
    "chunk_key_encoding":{"name":"v2","configuration":{"separator":"."}},"fill_value":"f",
    "codecs":[{"name":"vlen-utf8"}],"storage_transformers":[{"name":"example.around","configuration":{"a":"b"}}]}"#;
const V3_STRUCT: &str = r#"{"zarr_format":3,"node_type":"array","shape":[1],
    "data_type":{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int8"}]}},
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},
    "chunk_key_encoding":{"name":"default"},"fill_value":{"a":0},"codecs":[{"name":"bytes"}]}"#;
const V3_GROUP: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{"ome":{"version":"0.5"}},
    "consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{
    "a":{"zarr_format":3,"node_type":"group","attributes":{"b":"c"}}}}}"#;
const V2_ARRAY: &str = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<i2","fill_value":0,"order":"C",
    "filters":[{"id":"delta","dtype":"<i2"}],"compressor":{"id":"zlib","level":1},"dimension_separator":"."}"#;
const V2_STRUCT: &str = r#"{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":[["a","<i2"],["b","|S3"]],
    "fill_value":"AAAAAAA=","order":"C","filters":null,"compressor":null}"#;
const V2_GROUP: &str = r#"{"zarr_format":2}"#;
const V2_ATTRIBUTES: &str = r#"{"_ARRAY_DIMENSIONS":["x"],"unit":"m"}"#;
const V2_CONSOLIDATED: &str = r#"{"zarr_consolidated_format":1,"metadata":{".zgroup":{"zarr_format":2},
    "a/.zgroup":{"zarr_format":2},"a/.zattrs":{"b":"c"}}}"#;
const DRAFT_ROOT: &str = r#"{"zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0",
    "metadata_encoding":"https://purl.org/zarr/spec/protocol/core/3.0","metadata_key_suffix":".json","extensions":[]}"#;
const DRAFT_ARRAY: &str = r#"{"shape":[4],"data_type":"<i2","chunk_grid":{"type":"regular","chunk_shape":[2],
    "separator":"/"},"chunk_memory_layout":"C","compressor":{"codec":"https://purl.org/zarr/spec/codec/gzip/1.0",
    "configuration":{"level":1}},"fill_value":0,"extensions":[],"attributes":{"unit":"m"}}"#;
const DRAFT_GROUP: &str = r#"{"attributes":{"unit":"m"},"extensions":[]}"#;

/// The files of a hierarchy, and the file whose text is replaced.
struct Subject {
    files: &'static [(&'static str, &'static str)],
    changed: &'static str,
    /// The node that the document describes.
    node: &'static str,
}

const V3: &[(&str, &str)] =
    &[("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#), ("a/zarr.json", V3_ARRAY)];
const V2: &[(&str, &str)] = &[(".zgroup", V2_GROUP), ("a/.zarray", V2_ARRAY), ("a/.zattrs", V2_ATTRIBUTES)];
const DRAFT: &[(&str, &str)] = &[
    ("zarr.json", DRAFT_ROOT),
    ("meta/root/a.array.json", DRAFT_ARRAY),
    ("meta/root/g.group.json", DRAFT_GROUP),
];

#[test]
fn no_field_of_a_v3_document_reaches_the_terminal_unescaped() {
    let root = ("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
    let files = |document| -> &'static [(&str, &str)] { vec![root, ("a/zarr.json", document)].leak() };
    try_each(&[
        Subject { files: V3, changed: "a/zarr.json", node: "/a" },
        Subject { files: files(V3_TEXT), changed: "a/zarr.json", node: "/a" },
        Subject { files: files(V3_STRUCT), changed: "a/zarr.json", node: "/a" },
        Subject {
            files: &[("zarr.json", V3_GROUP), ("a/zarr.json", V3_ARRAY)],
            changed: "zarr.json",
            node: "/",
        },
    ]);
}

#[test]
fn no_field_of_a_v2_document_reaches_the_terminal_unescaped() {
    try_each(&[
        Subject { files: V2, changed: "a/.zarray", node: "/a" },
        Subject { files: V2, changed: "a/.zattrs", node: "/a" },
        Subject { files: V2, changed: ".zgroup", node: "/" },
        Subject {
            files: &[(".zgroup", V2_GROUP), ("a/.zarray", V2_STRUCT)],
            changed: "a/.zarray",
            node: "/a",
        },
        Subject {
            files: &[(".zgroup", V2_GROUP), (".zmetadata", V2_CONSOLIDATED), ("a/.zgroup", V2_GROUP)],
            changed: ".zmetadata",
            node: "/",
        },
    ]);
}

#[test]
fn no_field_of_a_draft_document_reaches_the_terminal_unescaped() {
    try_each(&[
        Subject { files: DRAFT, changed: "zarr.json", node: "/" },
        Subject { files: DRAFT, changed: "meta/root/a.array.json", node: "/a" },
        Subject { files: DRAFT, changed: "meta/root/g.group.json", node: "/g" },
    ]);
}

#[cfg(unix)]
#[test]
fn no_name_of_a_node_or_file_reaches_the_terminal_unescaped() {
    let folder = TempDir::new().unwrap();
    for (files, document) in [(V3, "zarr.json"), (V2, ".zarray"), (V2, ".zgroup"), (DRAFT, "zarr.json")] {
        let store = folder.path().join(PAYLOAD.replace('/', ""));
        write(&store, files);
        let text = files.iter().find(|(name, _)| name.ends_with(document)).unwrap().1;
        for name in [PAYLOAD.to_owned(), format!("__{PAYLOAD}")] {
            fs::create_dir_all(store.join(&name)).unwrap();
            fs::write(store.join(&name).join(document), text).unwrap();
        }
        let stored = format!("meta/root/{PAYLOAD}.array.json");
        fs::create_dir_all(store.join("meta/root")).unwrap();
        fs::write(store.join(stored), DRAFT_ARRAY).unwrap();
        for node in ["/", "/a", PAYLOAD] {
            try_verbs(&store, node, folder.path());
        }
        fs::remove_dir_all(&store).unwrap();
    }
}

#[test]
fn no_argument_reaches_the_terminal_unescaped() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("store");
    write(&store, V3);
    let store = store.to_str().unwrap();
    let option = format!("--{PAYLOAD}");
    for arguments in [
        &[PAYLOAD][..],
        &["tree", &option],
        &["tree", store, "--as", PAYLOAD],
        &["get", store, "/a", "--format", PAYLOAD],
        &["get", store, "/a", "--select", PAYLOAD],
        &["get", store, "/a", "-o", PAYLOAD],
        &["put", store, "/a", PAYLOAD],
        &["create", store, "/b", "--shape", PAYLOAD, "--dtype", "int8"],
        &["create", store, "/b", "--shape", "1", "--dtype", PAYLOAD],
        &["create", store, "/b", "--shape", "1", "--dtype", "int8", "--codec", PAYLOAD],
        &["create", store, "/b", "--shape", "1", "--dtype", "int8", "--fill", PAYLOAD],
        &["create", store, "/b", "--shape", "1", "--dtype", "int8", "--grid", PAYLOAD],
        &["attrs", store, "/a", "--set", PAYLOAD],
        &["attrs", store, "/a", "--unset", PAYLOAD],
        &["copy", store, PAYLOAD, "--format", PAYLOAD],
        &["copy", &format!("{PAYLOAD}://a"), "b"],
        &["pack", store, &format!("/nowhere{PAYLOAD}/a.zip")],
        &["clean", &format!("memory:{PAYLOAD}")],
        &["clean", store, "--older-than", PAYLOAD],
        &["plugins", "show", PAYLOAD],
        &["plugins", "why", PAYLOAD],
        &["plugins", "trust", PAYLOAD],
        &["plugins", "new", "codec", PAYLOAD],
        &["conformance", "format", PAYLOAD],
        &["conformance", "plugin", PAYLOAD],
        &["completions", PAYLOAD],
    ] {
        let output = program().args(arguments).current_dir(folder.path()).output().unwrap();
        check(&output, &format!("{arguments:?}"));
    }
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_utf_8_are_shown_in_printable_form() {
    use std::os::unix::ffi::OsStrExt;
    let argument = OsStr::from_bytes(b"a\xff\x1b[31m\xc2\x9b");
    for arguments in [&[argument][..], &[OsStr::new("tree"), argument]] {
        let output = program().args(arguments).output().unwrap();
        check(&output, "an argument that is not UTF-8");
        assert!(!output.status.success());
    }
}

#[test]
fn the_body_of_an_http_error_does_not_reach_the_terminal_unescaped() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/store", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { continue };
            let _request = connection.read(&mut [0; 4096]);
            let head =
                format!("HTTP/1.1 403 No\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", PAYLOAD.len());
            let _answer = connection.write_all(format!("{head}{PAYLOAD}").as_bytes());
        }
    });
    for verb in [&["tree", &url][..], &["info", &url], &["get", &url, "/a"]] {
        let output = run(verb);
        check(&output, &format!("{verb:?}"));
        assert_eq!(output.status.code(), Some(1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_field_of_a_plugin_manifest_reaches_the_terminal_unescaped() {
    let manifest = r#"{"manifest_version":1,"name":"odd","version":"1.0.0","license":"MIT","abi":{"major":2,"minor":0},
        "library":{"linux_amd64":{"path":"odd.so","sha256":"00"}},
        "provides":[{"kind":"codec","name":"example.odd","summary":"an odd codec","aliases":["odd"]}]}"#;
    let folder = TempDir::new().unwrap();
    let valid = parsed(manifest);
    for document in mutations(&valid) {
        let path = folder.path().join("odd.toml");
        fs::write(&path, toml(document.as_object().unwrap())).unwrap();
        for arguments in
            [&["plugins", "list"][..], &["plugins", "why", "example.odd"], &["plugins", "trust", "odd"]]
        {
            let output = program().args(arguments).env("ZARR_PLUGIN_PATH", folder.path()).output().unwrap();
            check(&output, &format!("{arguments:?} of {document}"));
        }
    }
}

/// Runs all verbs on hierarchies in which the payload replaces each string of a document in turn.
fn try_each(subjects: &[Subject]) {
    for subject in subjects {
        let (_, valid) = subject.files.iter().find(|(name, _)| *name == subject.changed).unwrap();
        let folder = TempDir::new().unwrap();
        let mutations = mutations(&parsed(valid));
        assert!(!mutations.is_empty());
        for document in mutations {
            let store = folder.path().join("store");
            write(&store, subject.files);
            fs::write(store.join(subject.changed), json::to_vec(&document).unwrap()).unwrap();
            try_verbs(&store, subject.node, folder.path());
            fs::remove_dir_all(&store).unwrap();
        }
    }
}

/// Runs the verbs that read, then the verbs that write.
fn try_verbs(store: &Path, node: &str, folder: &Path) {
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let store = store.to_str().unwrap();
    let copy = at("copy");
    let archive = at("archive.zip");
    let raw = at("raw");
    fs::write(&raw, [0; 8]).unwrap();
    for arguments in [
        &["tree", store][..],
        &["tree", store, "--json", "--strict"],
        &["info", store, node],
        &["info", store, node, "--json", "--compat"],
        &["get", store, node, "--format", "json"],
        &["get", store, node, "--format", "npy", "-o", &at("a.npy")],
        &["bench", store, node, "--seconds", "0"],
        &["attrs", store, node],
        &["copy", store, &copy, "--lossy"],
        &["copy", store, &copy, "--format", "v2", "--dry-run"],
        &["copy", store, &copy, "--format", "v3-draft", "--dry-run"],
        &["pack", store, &archive],
        &["consolidate", store],
        &["attrs", store, node, "--set", "n=1"],
        &["put", store, node, &raw],
        &["create", store, &format!("{node}/below"), "--shape", "1", "--dtype", "int8"],
        &["resize", store, node, "--shape", "3"],
        &["clean", store, "--older-than", "0s"],
        &["erase", store, node],
    ] {
        check(&run(arguments), &format!("{arguments:?}"));
    }
    let _none = fs::remove_dir_all(copy);
    let _none = fs::remove_file(archive);
}

/// Panics unless every character of the output is printable and the program did not panic.
#[track_caller]
fn check(output: &Output, what: &str) {
    for bytes in [&output.stdout, &output.stderr] {
        let text = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        let wrong = text.chars().find(|&one| is_dangerous(one));
        assert_eq!(wrong, None, "{what}: {text:?}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("error: forged")), "{what}: {text}");
    }
    assert!(matches!(output.status.code(), Some(0..=2)), "{what}: {output:?}");
}

fn is_dangerous(character: char) -> bool {
    matches!(character,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn write(store: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = store.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn parsed(text: &str) -> Value {
    json::parse(text.as_bytes(), &ParseOptions::default()).unwrap().value
}

/// Returns variants of the document: each string in turn replaced by the payload, the payload appended to each member
/// name, and one more member in each object.
fn mutations(value: &Value) -> Vec<Value> {
    match value {
        Value::String(_) => vec![Value::from(PAYLOAD)],
        Value::Array(elements) => {
            let changed = |at: usize| {
                mutations(&elements[at]).into_iter().map(move |element| {
                    let mut elements = elements.clone();
                    elements[at] = element;
                    Value::Array(elements)
                })
            };
            (0..elements.len()).flat_map(changed).collect()
        }
        Value::Object(members) => {
            let mut all = vec![with(members, PAYLOAD, Value::from(PAYLOAD))];
            for (name, member) in members {
                all.extend(mutations(member).into_iter().map(|member| with(members, name, member)));
                let mut renamed = members.clone();
                renamed.remove(name);
                all.push(with(&renamed, &format!("{name}{PAYLOAD}"), member.clone()));
            }
            all
        }
        _ => vec![Value::from(PAYLOAD)],
    }
}

fn with(members: &Object, name: &str, member: Value) -> Value {
    let mut members = members.clone();
    members.insert(name, member);
    Value::Object(members)
}

/// Formats an object as TOML with basic strings, which have the escapes of JSON except for DEL and above.
#[cfg(target_os = "linux")]
fn toml(members: &Object) -> String {
    let lines = members.iter().map(|(name, value)| format!("{} = {}\n", Value::from(name), inline(value)));
    lines.collect()
}

#[cfg(target_os = "linux")]
fn inline(value: &Value) -> String {
    match value {
        Value::Array(elements) => format!("[{}]", elements.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{} = {}", Value::from(name), inline(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        scalar => scalar.to_string(),
    }
}
