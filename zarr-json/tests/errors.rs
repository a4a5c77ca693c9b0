//! The messages of all errors of this crate, in the files of `tests/snapshots`.
//!
//! `UPDATE_EXPECT=1 cargo test -p zarr-json --test errors` rewrites them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use expect_test::expect_file;
use serde::{Deserialize, Serialize};
use zarr_json::{Limits, ParseErrorKind, ParseOptions, from_value, parse, to_value, to_vec};

const TEXTS: &[(&str, &[u8])] = &[
    ("an empty document", b" \n"),
    ("UTF-16", b"\xff\xfe{\0}\0"),
    ("a byte that is not UTF-8", b"{\"a\": \"\xff\"}"),
    ("an unfinished object", b"{\"a\": 1,\n \"b\""),
    ("an unfinished string", b"\"a"),
    ("a word", b"{\"a\": yes}"),
    ("single quotes", b"{'a': 1}"),
    ("a comma after the last member", b"{\"a\": 1,}"),
    ("a comment", b"{\"a\": 1 // one\n}"),
    ("two documents", b"{} {}"),
    ("a leading zero", b"[007]"),
    ("a plus sign", b"[+1]"),
    ("NaN", b"{\"fill_value\": NaN}"),
    ("a line break in a string", b"\"a\nb\""),
    ("an escape of C", b"\"\\x41\""),
    ("half of a surrogate pair", b"\"\\ud800\""),
];

/// A configuration of a codec.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    level: u8,
    #[serde(default)]
    endian: Option<Endian>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Endian {
    Little,
    Big,
}

#[test]
fn messages_about_values_are_in_the_snapshot() {
    let mut text = String::new();
    for document in [
        "[]",
        "{}",
        r#"{"level": "5"}"#,
        r#"{"level": 5.5}"#,
        r#"{"level": 256}"#,
        r#"{"level": -1}"#,
        r#"{"level": 1, "levle": 2}"#,
        r#"{"level": 1, "endian": "middle"}"#,
        r#"{"level": 1, "endian": 1}"#,
    ] {
        let value = parse(document.as_bytes(), &ParseOptions::default()).unwrap().value;
        let error = from_value::<Configuration>(&value).unwrap_err();
        writeln!(text, "{document}\n    {error}\n").unwrap();
    }
    let nan = to_value(&[1.5, f64::NAN]).unwrap_err();
    writeln!(text, "serializing [1.5, NaN]\n    {nan}\n").unwrap();
    let names = BTreeMap::from([(vec![1], 2)]);
    writeln!(text, "serializing a map with lists as names\n    {}\n", to_value(&names).unwrap_err()).unwrap();
    let options = ParseOptions { bare_non_finite: true, ..ParseOptions::default() };
    let parsed = parse(br#"{"fill_value": [0, NaN]}"#, &options).unwrap();
    writeln!(text, "writing {{\"fill_value\": [0, NaN]}}\n    {}", to_vec(&parsed.value).unwrap_err())
        .unwrap();
    expect_file!["snapshots/value_errors.txt"].assert_eq(&text);
}

#[test]
fn every_message_of_the_parser_is_in_the_snapshot() {
    let mut text = String::new();
    let mut kinds = BTreeSet::new();
    let mut add = |what: &str, error: zarr_json::ParseError| {
        writeln!(text, "{what}\n    {error}\n").unwrap();
        kinds.insert(number(&error.kind));
    };
    for (what, bytes) in TEXTS {
        add(what, parse(bytes, &ParseOptions::default()).unwrap_err());
    }
    let limited = |limits| ParseOptions { limits, ..ParseOptions::default() };
    let short = limited(Limits { bytes: 4, ..Limits::default() });
    add("a document that is too long", parse(b"[1, 2]", &short).unwrap_err());
    let flat = limited(Limits { depth: 2, ..Limits::default() });
    add("arrays that are nested too deep", parse(b"[[[1]]]", &flat).unwrap_err());
    let small = limited(Limits { bytes: 1 << 20, ..Limits::default() });
    let zeros = format!("[{}0]", "0,".repeat((1 << 19) - 2));
    add("values that need too much memory", parse(zeros.as_bytes(), &small).unwrap_err());
    let all: BTreeSet<u8> = (0..17).collect();
    assert_eq!(kinds, all, "the snapshot lacks a kind of error");
    expect_file!["snapshots/parse_errors.txt"].assert_eq(&text);
}

/// Returns a number for each kind of error, so that the test finds a kind without an example. A new kind panics here.
fn number(kind: &ParseErrorKind) -> u8 {
    match kind {
        ParseErrorKind::Empty => 0,
        ParseErrorKind::TooLong { .. } => 1,
        ParseErrorKind::WideText => 2,
        ParseErrorKind::InvalidUtf8 => 3,
        ParseErrorKind::TooMuchMemory(_) => 4,
        ParseErrorKind::TooDeep { .. } => 5,
        ParseErrorKind::UnexpectedEnd { .. } => 6,
        ParseErrorKind::UnexpectedCharacter { .. } => 7,
        ParseErrorKind::TrailingComma => 8,
        ParseErrorKind::Comment => 9,
        ParseErrorKind::AfterDocument => 10,
        ParseErrorKind::LeadingZero => 11,
        ParseErrorKind::PlusSign => 12,
        ParseErrorKind::BareNonFinite { .. } => 13,
        ParseErrorKind::ControlCharacter { .. } => 14,
        ParseErrorKind::InvalidEscape => 15,
        ParseErrorKind::LoneSurrogate => 16,
        other => panic!("no example of {other:?}"),
    }
}
