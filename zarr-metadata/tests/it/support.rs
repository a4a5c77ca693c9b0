//! Documents, and changes to them.

use zarr_json::ParseOptions;
use zarr_metadata::draft::{self, EntryPoint, Generation};
use zarr_metadata::{ArrayMetadata, DocumentError, GroupMetadata, NodeMetadata, v2, v3};
use zarr_spec::{Mode, Reading, Value};

pub(crate) const MODES: [Mode; 3] = [Mode::Strict, Mode::Lenient, Mode::Compatibility];

/// The array document that the requirements of v2 call `ZA`.
pub(crate) const ZA: &str = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<i4","compressor":null,
    "fill_value":0,"order":"C","filters":null}"#;

/// The entry point that the requirements of the draft call `EP`.
pub(crate) const EP: &str = r#"{"zarr_format":"https://purl.org/zarr/spec/core/3.0",
    "metadata_encoding":{"type":"json","metadata_key_suffix":".json"},"extensions":[]}"#;

/// The array document that the requirements of the draft call `ARR`.
pub(crate) const ARR: &str = r#"{"shape":[4],"data_type":"int32",
    "chunk_grid":{"type":"regular","chunk_shape":[2],"separator":"/"},
    "chunk_memory_layout":"C","fill_value":0,"extensions":[],"attributes":{},"codecs":[]}"#;

/// The array document that the requirements of final v3 call `AR`.
pub(crate) const AR: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int32",
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
    "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},
    "fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;

/// The group document that the requirements of final v3 call `GR`.
pub(crate) const GR: &str = r#"{"zarr_format":3,"node_type":"group"}"#;

pub(crate) fn json(text: &str) -> Value {
    match zarr_json::parse(text.as_bytes(), &ParseOptions::default()) {
        Ok(parsed) => parsed.value,
        Err(error) => panic!("{text}: {error}"),
    }
}

/// Returns `document` with these members set, each parsed from text.
pub(crate) fn with(document: &str, members: &[(&str, &str)]) -> Value {
    let mut value = json(document);
    for (name, text) in members {
        value.as_object_mut().unwrap().insert(*name, json(text));
    }
    value
}

/// Returns `document` without one of its members.
pub(crate) fn without(document: &str, member: &str) -> Value {
    let mut value = json(document);
    assert!(value.as_object_mut().unwrap().remove(member).is_some(), "{member}");
    value
}

/// A parsed document and the warnings.
pub(crate) type Outcome<T> = Result<(T, Vec<String>), DocumentError>;

pub(crate) fn read<T>(mode: Mode, parse: impl FnOnce(&Reading) -> Result<T, DocumentError>) -> Outcome<T> {
    let reading = Reading::new(mode);
    let parsed = parse(&reading)?;
    Ok((parsed, reading.take_warnings()))
}

pub(crate) fn v2_array(mode: Mode, document: &Value) -> Outcome<ArrayMetadata> {
    read(mode, |reading| v2::parse_array(document, None, reading))
}

pub(crate) fn v2_group(mode: Mode, document: &Value) -> Outcome<GroupMetadata> {
    read(mode, |reading| v2::parse_group(document, None, reading))
}

pub(crate) fn entry_point(mode: Mode, document: &Value) -> Outcome<EntryPoint> {
    read(mode, |reading| draft::parse_entry_point(document, reading))
}

pub(crate) fn draft_array(mode: Mode, document: &Value) -> Outcome<ArrayMetadata> {
    read(mode, |reading| draft::parse_array(document, Generation::B, reading))
}

pub(crate) fn older_array(mode: Mode, document: &Value) -> Outcome<ArrayMetadata> {
    read(mode, |reading| draft::parse_array(document, Generation::A, reading))
}

pub(crate) fn draft_group(mode: Mode, document: &Value) -> Outcome<GroupMetadata> {
    read(mode, |reading| draft::parse_group(document, reading))
}

pub(crate) fn v3_node(mode: Mode, document: &Value) -> Outcome<NodeMetadata> {
    read(mode, |reading| v3::parse_node(document, reading))
}

pub(crate) fn v3_array(mode: Mode, document: &Value) -> Outcome<ArrayMetadata> {
    v3_node(mode, document).map(|(node, warnings)| match node {
        NodeMetadata::Array(array) => (*array, warnings),
        NodeMetadata::Group(_) => panic!("a group"),
    })
}

pub(crate) fn v3_group(mode: Mode, document: &Value) -> Outcome<GroupMetadata> {
    v3_node(mode, document).map(|(node, warnings)| match node {
        NodeMetadata::Group(group) => (group, warnings),
        NodeMetadata::Array(_) => panic!("an array"),
    })
}

/// Checks that no mode reports a warning.
#[track_caller]
pub(crate) fn accepted<T>(parse: fn(Mode, &Value) -> Outcome<T>, document: &Value) -> T {
    let mut last = None;
    for mode in MODES {
        match parse(mode, document) {
            Ok((parsed, warnings)) => {
                assert_eq!(warnings, Vec::<String>::new(), "{mode:?}: {document:?}");
                last = Some(parsed);
            }
            Err(error) => panic!("{mode:?}: {document:?}: {error}"),
        }
    }
    last.unwrap()
}

/// Checks that every mode reports an error that contains `word`.
#[track_caller]
pub(crate) fn refused<T>(parse: fn(Mode, &Value) -> Outcome<T>, document: &Value, word: &str) {
    for mode in MODES {
        match parse(mode, document) {
            Ok(_) => panic!("{mode:?}: {document:?} was accepted"),
            Err(error) => assert!(error.to_string().contains(word), "{mode:?}: {document:?}: {error}"),
        }
    }
}

/// Checks for an error in strict mode and a warning in the others, both containing `word`.
#[track_caller]
pub(crate) fn tolerated<T>(parse: fn(Mode, &Value) -> Outcome<T>, document: &Value, word: &str) -> T {
    match parse(Mode::Strict, document) {
        Ok(_) => panic!("{document:?} was accepted in strict mode"),
        Err(error) => assert!(error.to_string().contains(word), "{document:?}: {error}"),
    }
    let mut last = None;
    for mode in [Mode::Lenient, Mode::Compatibility] {
        match parse(mode, document) {
            Ok((parsed, warnings)) => {
                assert!(warnings.iter().any(|warning| warning.contains(word)), "{mode:?}: {warnings:?}");
                last = Some(parsed);
            }
            Err(error) => panic!("{mode:?}: {document:?}: {error}"),
        }
    }
    last.unwrap()
}

/// Checks that every mode reports a warning that contains `word`.
#[track_caller]
pub(crate) fn warned<T>(parse: fn(Mode, &Value) -> Outcome<T>, document: &Value, word: &str) -> T {
    let mut last = None;
    for mode in MODES {
        match parse(mode, document) {
            Ok((parsed, warnings)) => {
                assert!(warnings.iter().any(|warning| warning.contains(word)), "{mode:?}: {warnings:?}");
                last = Some(parsed);
            }
            Err(error) => panic!("{mode:?}: {document:?}: {error}"),
        }
    }
    last.unwrap()
}

/// Checks that only compatibility mode accepts the document, with a warning.
#[track_caller]
pub(crate) fn compatible<T>(parse: fn(Mode, &Value) -> Outcome<T>, document: &Value, word: &str) -> T {
    for mode in [Mode::Strict, Mode::Lenient] {
        match parse(mode, document) {
            Ok(_) => panic!("{mode:?}: {document:?} was accepted"),
            Err(error) => assert!(error.to_string().contains(word), "{mode:?}: {document:?}: {error}"),
        }
    }
    match parse(Mode::Compatibility, document) {
        Ok((parsed, warnings)) => {
            assert!(warnings.iter().any(|warning| warning.contains(word)), "{warnings:?}");
            parsed
        }
        Err(error) => panic!("{document:?}: {error}"),
    }
}
