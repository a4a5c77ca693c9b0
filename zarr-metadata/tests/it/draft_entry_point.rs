//! The entry point of the draft, and distinguishing formats.

use zarr_metadata::draft::{self, EntryPoint, Generation};
use zarr_metadata::{Identified, identify};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{Format, Mode, NodePath, Value};

use crate::support::{
    AR, EP, GR, accepted, compatible, entry_point, json, refused, tolerated, v3_node, warned, with, without,
};

const OLDER: &str = r#"{"extensions":[],
    "metadata_encoding":"https://purl.org/zarr/spec/protocol/core/3.0","metadata_key_suffix":".json",
    "zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0"}"#;

/// Tests D3-META-02, D3-META-03, D3-VER-04.
#[test]
fn an_entry_point_has_three_members() {
    let parsed = accepted(entry_point, &json(EP));
    assert_eq!(parsed, EntryPoint::new());
    assert_eq!(draft::entry_point_document(&EntryPoint::new()).unwrap(), json(EP));
    for member in ["zarr_format", "metadata_encoding", "extensions"] {
        refused(entry_point, &without(EP, member), &format!("`{member}`: is missing"));
    }
    for zarr_format in ["3", "\"3\"", "\"3.0\"", "null"] {
        refused(entry_point, &with(EP, &[("zarr_format", zarr_format)]), "`zarr_format`");
    }
}

fn version(version: &str) -> Value {
    with(EP, &[("zarr_format", &format!("\"https://purl.org/zarr/spec/core/{version}\""))])
}

/// Tests D3-META-04, D3-META-06.
#[test]
fn the_version_is_the_last_segment_and_its_major_is_3() {
    for (text, minor) in [("3.0", 0), ("3.1", 1), ("3.12", 12)] {
        let parsed = accepted(entry_point, &version(text)).version;
        assert_eq!((parsed.major, parsed.minor), (3, minor));
    }
    for text in ["3", "3.x", "3.0/", "2.0", "4.0", "30.0"] {
        refused(entry_point, &version(text), "`zarr_format`");
    }
}

/// Tests D3-META-05, D3-META-07, D3-VER-03, D3-CONTRA-06.
#[test]
fn members_of_a_newer_minor_version_are_ignored_and_preserved() {
    let newer = with(
        EP,
        &[("zarr_format", "\"https://purl.org/zarr/spec/core/3.7\""), ("new_thing", "{\"a\":[1.50]}")],
    );
    let parsed = warned(entry_point, &newer, "`new_thing`");
    assert_eq!(draft::entry_point_document(&parsed).unwrap(), newer);
    warned(
        entry_point,
        &with(EP, &[("zarr_format", "\"https://purl.org/zarr/spec/core/3.1\""), ("foo", "1")]),
        "`foo`",
    );
    refused(entry_point, &with(EP, &[("foo", "1")]), "`foo`: unknown member");
}

/// Tests D3-META-08.
#[test]
fn other_prefixes_need_compatibility_mode() {
    for uri in ["http://purl.org/zarr/spec/core/3.0", "https://purl.org/zarr/spec/protocol/core/3.0"] {
        let document = with(EP, &[("zarr_format", &format!("\"{uri}\""))]);
        assert_eq!(compatible(entry_point, &document, "`zarr_format`").generation, Generation::B);
    }
    for uri in ["https://example.org/zarr/core/3.0", "https://purl.org/zarr/spec/other/3.0"] {
        refused(entry_point, &with(EP, &[("zarr_format", &format!("\"{uri}\""))]), "`zarr_format`");
    }
}

/// Tests D3-META-09, D3-META-10, D3-META-11.
#[test]
fn the_json_encoding_has_a_suffix() {
    let encoding = |value: &str| with(EP, &[("metadata_encoding", value)]);
    let suffix = |suffix: &str| encoding(&format!(r#"{{"type":"json","metadata_key_suffix":"{suffix}"}}"#));
    assert_eq!(accepted(entry_point, &suffix(".json")).metadata_encoding.identifier, "json");
    let other = accepted(entry_point, &suffix(".zmeta"));
    assert_eq!(other.key_suffix, ".zmeta");
    let array_key = |entry_point: &EntryPoint| {
        let path = NodePath::parse("/foo", Format::V3Draft).unwrap();
        draft::Keys::new(entry_point).array(&path).unwrap().to_string()
    };
    assert_eq!(array_key(&other), "meta/foo.array.zmeta");
    assert!(draft::entry_point_document(&other).unwrap_err().to_string().contains("metadata_key_suffix"));
    assert_eq!(array_key(&accepted(entry_point, &suffix(""))), "meta/foo.array");
    for text in [" x", "/x", "é", "x/"] {
        refused(entry_point, &suffix(text), "metadata_key_suffix");
    }
    // A string is the form of generation A, where the suffix is a separate member.
    let string = encoding("\"json\"");
    assert!(entry_point(Mode::Strict, &string).unwrap_err().to_string().contains("generation A"));
    for mode in [Mode::Lenient, Mode::Compatibility] {
        let error = entry_point(mode, &string).unwrap_err();
        assert_eq!(error.member.as_deref(), Some("metadata_key_suffix"));
    }
    for value in ["{}", r#"{"type":"json"}"#, r#"{"type":"JSON","metadata_key_suffix":".json"}"#] {
        refused(entry_point, &encoding(value), "metadata");
    }
    let more = r#"{"type":"json","metadata_key_suffix":".json","more":1}"#;
    refused(entry_point, &encoding(more), "`metadata_encoding.more`");
}

/// Tests D3-META-12.
#[test]
fn another_encoding_names_its_extension() {
    let document = r#"{"extension":"https://e.org/enc/1","type":"cbor","metadata_key_suffix":".cbor"}"#;
    let parsed = accepted(entry_point, &with(EP, &[("metadata_encoding", document)]));
    assert_eq!(parsed.metadata_encoding.identifier, "https://e.org/enc/1");
    assert_eq!(parsed.metadata_encoding.type_name, Some("cbor".into()));
    assert_eq!(parsed.key_suffix, ".cbor");
    assert_eq!(draft::entry_point_document(&parsed).unwrap(), with(EP, &[("metadata_encoding", document)]));
    for member in ["extension", "type", "metadata_key_suffix"] {
        let mut encoding = with(EP, &[("metadata_encoding", document)]);
        let object = encoding.as_object_mut().unwrap().get_mut("metadata_encoding").unwrap();
        object.as_object_mut().unwrap().remove(member);
        refused(entry_point, &encoding, "`metadata_encoding.");
    }
    let number = document.replace("\"cbor\"", "5");
    refused(entry_point, &with(EP, &[("metadata_encoding", &number)]), "`metadata_encoding.type`: is 5");
}

/// Tests D3-META-14, D3-META-15, D3-META-16, D3-META-17, D3-META-21.
#[test]
fn extensions_declare_whether_they_must_be_understood() {
    let extensions = |value: &str| with(EP, &[("extensions", value)]);
    assert!(accepted(entry_point, &extensions("[]")).extensions.is_empty());
    let two = extensions(
        r#"[{"extension":"http://example.org/zarr/extension/foo","must_understand":false,
             "configuration":{"foo":"bar"}},
            {"extension":"https://e.org/x/1","must_understand":true,"configuration":[1]}]"#,
    );
    let parsed = accepted(entry_point, &two);
    assert_eq!(parsed.extensions[0].identifier, "http://example.org/zarr/extension/foo");
    assert!(!parsed.extensions[0].must_understand);
    assert_eq!(parsed.extensions[1], ExtensionDocument::new("https://e.org/x/1", json("[1]")));
    assert_eq!(draft::entry_point_document(&parsed).unwrap(), two);
    let noted = extensions(r#"[{"extension":"https://e.org/x/1","must_understand":false,"note":"x"}]"#);
    warned(entry_point, &noted, "`extensions[0].note`");
    for value in ["{}", "null", "[\"x\"]"] {
        refused(entry_point, &extensions(value), "`extensions");
    }
    refused(entry_point, &without(EP, "extensions"), "`extensions`: is missing");
    for value in [r#"[{"must_understand":false}]"#, r#"[{"extension":5,"must_understand":false}]"#] {
        refused(entry_point, &extensions(value), "`extensions[0].extension`");
    }
    refused(entry_point, &extensions(r#"[{"extension":"https://e.org/x/1"}]"#), "must_understand");
    for must in ["\"false\"", "0", "null"] {
        let value = format!(r#"[{{"extension":"https://e.org/x/1","must_understand":{must}}}]"#);
        refused(entry_point, &extensions(&value), "`extensions[0].must_understand`");
    }
}

#[test]
fn an_extension_that_may_be_ignored_is_preserved() {
    let document = with(
        EP,
        &[(
            "extensions",
            r#"[{"extension":"https://e.org/unknown/1.0","must_understand":false,"configuration":{"a":1}}]"#,
        )],
    );
    let parsed = accepted(entry_point, &document);
    assert_eq!(draft::entry_point_document(&parsed).unwrap(), document);
}

/// Tests D3-VER-06, DX-GEN-01, DX-GEN-02, DX-GEN-03, DX-GEN-04.
#[test]
fn the_kind_of_a_zarr_json_is_identified() {
    assert_eq!(identify(&json(GR)), Ok(Identified::V3));
    assert_eq!(identify(&json(AR)), Ok(Identified::V3));
    assert_eq!(identify(&json(OLDER)), Ok(Identified::DraftA));
    assert_eq!(identify(&json(EP)), Ok(Identified::DraftB));
    refused(entry_point, &json(GR), "final v3");
    refused(v3_node, &json(EP), "entry point of the v3 draft");
    refused(v3_node, &json(OLDER), "entry point of the v3 draft");
    for end in ["array", "group"] {
        let c = json(&format!(r#"{{"zarr_format":"https://purl.org/zarr/spec/v3#{end}"}}"#));
        assert!(identify(&c).unwrap_err().reason.contains("generation C"));
        refused(entry_point, &c, "generation C");
        refused(v3_node, &c, "generation C");
    }
    for other in [r#"{"zarr_format":2}"#, r#"{"zarr_format":"3"}"#, r#"{"zarr_format":"https://e.org/3.0"}"#]
    {
        assert!(identify(&json(other)).is_err(), "{other}");
    }
    assert!(identify(&json("{}")).unwrap_err().to_string().contains("`zarr_format`: is missing"));
}

/// Tests DX-A-01, DX-A-27.
#[test]
fn the_entry_points_of_zarr_python_2_and_of_may_2022_open() {
    let parsed = tolerated(entry_point, &json(OLDER), "generation A");
    assert_eq!(parsed.generation, Generation::A);
    assert_eq!(parsed.metadata_encoding.identifier, "json");
    assert_eq!(parsed, EntryPoint::missing());
    let text = OLDER.replace("/protocol/core", "/core");
    assert_eq!(tolerated(entry_point, &json(&text), "generation A").metadata_encoding.identifier, "json");
    let http = OLDER
        .replace("https://purl.org/zarr/spec/protocol/core/3.0\"}", "http://purl.org/zarr/spec/core/3.0\"}");
    assert_ne!(http, OLDER);
    assert!(entry_point(Mode::Lenient, &json(&http)).is_err());
    assert!(entry_point(Mode::Compatibility, &json(&http)).is_ok());
    for (document, member) in [
        (with(OLDER, &[("foo", "1")]), "foo"),
        (without(OLDER, "metadata_key_suffix"), "metadata_key_suffix"),
    ] {
        let error = entry_point(Mode::Lenient, &document).unwrap_err();
        assert_eq!(error.member.as_deref(), Some(member));
    }
}

#[test]
fn generation_a_is_never_written() {
    assert_eq!(identify(&draft::entry_point_document(&EntryPoint::new()).unwrap()), Ok(Identified::DraftB));
    let error = draft::entry_point_document(&EntryPoint::missing()).unwrap_err();
    assert!(error.reason.contains("read-only dialect"), "{error}");
}

#[test]
fn an_unknown_encoding_of_generation_a_keeps_its_name() {
    let document = with(OLDER, &[("metadata_encoding", "\"https://e.org/enc/1.0\"")]);
    let parsed = tolerated(entry_point, &document, "generation A");
    assert_eq!(parsed.metadata_encoding.identifier, "https://e.org/enc/1.0");
}
