//! Names and paths of nodes.

use zarr_spec::{Format, Mode, NodePath};

fn parse(format: Format, text: &str) -> Option<NodePath> {
    NodePath::parse(text, format).ok()
}

fn path(format: Format, text: &str) -> NodePath {
    NodePath::parse(text, format).unwrap()
}

#[track_caller]
fn names(format: Format, accepted: &[&str], refused: &[&str]) {
    let root = NodePath::root();
    for name in accepted {
        assert_eq!(root.child(name, format).unwrap().name(), *name);
    }
    for name in refused {
        assert!(root.child(name, format).is_err(), "{name:?}");
    }
}

#[test]
fn text_converts_to_a_path_of_v3_with_or_without_a_leading_slash() {
    let path: NodePath = "a/b".parse().unwrap();
    assert_eq!(path, "/a/b".parse().unwrap());
    assert_eq!(path.names(), ["a", "b"]);
    assert!("".parse::<NodePath>().unwrap().is_root() && "/".parse::<NodePath>().unwrap().is_root());
    for wrong in ["a//b", "a/", "//", "__a", "a/zarr.json"] {
        assert!(wrong.parse::<NodePath>().is_err(), "{wrong}");
    }
}

#[test]
fn formats_and_modes_parse_from_the_names_that_they_print() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    for mode in Mode::ALL {
        assert_eq!(mode.to_string().parse(), Ok(mode));
    }
    assert_eq!(Format::default(), Format::V3);
    let error = "loose".parse::<Mode>().unwrap_err().to_string();
    assert_eq!(error, "unknown mode `loose` (expected strict, lenient or compatibility)");
}

/// Tests D3-PATH-03, D3-PATH-04, D3-PATH-05, D3-PATH-06, D3-CONTRA-12.
#[test]
fn paths_of_the_draft_have_a_slash_before_each_name() {
    let root = path(Format::V3Draft, "/");
    assert_eq!((root.name(), root.to_string().as_str()), ("", "/"));
    let bar = path(Format::V3Draft, "/foo/bar");
    assert_eq!(bar.name(), "bar");
    let foo = bar.parent().unwrap();
    assert_eq!(foo.to_string(), "/foo");
    assert_eq!(foo.parent(), Some(root.clone()));
    assert_eq!(root.parent(), None);
    assert_eq!(bar.to_string(), "/foo/bar");
    for text in ["foo/bar", "/foo/", "/a//b", "//"] {
        assert_eq!(parse(Format::V3Draft, text), None, "{text}");
    }
    assert_eq!(path(Format::V3Draft, "/a/b").names(), ["a", "b"]);
}

/// Tests D3-PATH-07, D3-PATH-08, D3-PATH-12.
#[test]
fn names_of_the_draft_are_letters_digits_and_three_signs() {
    names(
        Format::V3Draft,
        &["x", "A-b_c.9", "-", "_", ".a", "a.", "a..b", ".hidden", "__x"],
        &["a b", "é", "a:b", "a+b", "a\\b", "a*", "\0", ".", "..", "...", "....", "", "a/b"],
    );
}

/// Tests D3-PATH-10.
#[test]
fn names_may_have_any_length() {
    let long = "n".repeat(300);
    names(Format::V3Draft, &[&long], &[]);
}

/// Tests V3-NAME-01, V3-NAME-02, V3-NAME-03, V3-NAME-04, V3-NAME-05.
#[test]
fn names_of_v3_are_unicode_except_reserved_names() {
    names(
        Format::V3,
        &["é", "日本", ".a", "a..", "_a", "a__", "zarr.json.bak", "Zarr.json"],
        &["", "a/b", ".", "..", "...", "__x", "__zarr", "zarr.json"],
    );
}

/// Tests V3-NAME-12.
#[test]
fn names_of_v3_may_contain_control_characters() {
    names(Format::V3, &["tab\tx", "\u{1b}"], &[]);
}

/// Tests V3-NAME-08, V3-NAME-10.
#[test]
fn paths_of_v3_are_absolute_and_case_sensitive() {
    assert_ne!(path(Format::V3, "/foo"), path(Format::V3, "/FOO"));
    assert_ne!(path(Format::V3Draft, "/foo"), path(Format::V3Draft, "/FOO"));
    assert!(path(Format::V3, "/").is_root());
    assert_eq!(path(Format::V3, "/a/b").names(), ["a", "b"]);
    assert_eq!(parse(Format::V3, "/a/"), None);
    assert_eq!(parse(Format::V3, "a"), None);
}

/// Tests V2-HIER-02, V2-HIER-03, V2-HIER-04, V2-HIER-05.
#[test]
fn a_path_of_v2_is_normalised() {
    let cases = [
        ("a\\b", "a/b"),
        ("/a", "a"),
        ("//a", "a"),
        ("a/", "a"),
        ("a//", "a"),
        ("a//b", "a/b"),
        ("p//q\\r/", "p/q/r"),
        ("", ""),
        ("//", ""),
    ];
    for (text, normalised) in cases {
        assert_eq!(path(Format::V2, text).relative(), normalised, "{text}");
    }
}

/// Tests V2-HIER-07.
#[test]
fn paths_of_v2_do_not_leave_the_hierarchy() {
    assert_eq!(path(Format::V2, "a/...").relative(), "a/...");
    assert_eq!(path(Format::V2, ".a").relative(), ".a");
    for text in [".", "..", "a/../b", "a/./b", "a\\..\\b"] {
        assert_eq!(parse(Format::V2, text), None, "{text}");
    }
}

#[test]
fn ancestors_are_selected_by_depth() {
    let path = path(Format::V3, "/a/b/c");
    let above: Vec<_> = (0..5).map(|depth| path.ancestor(depth)).collect();
    let mut wanted: Vec<_> = path.ancestors().map(Some).collect();
    wanted.extend([None, None]);
    assert_eq!(above, wanted);
    assert_eq!(NodePath::root().ancestor(0), None);
}
