//! `template`: the examples of the proposal, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::creation;
use zarr_key_encoding_template::TemplateKeyEncoding;
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::{Format, Invalid, Mode, Registry};

fn create(configuration: &str) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let registry = Registry::linked().unwrap();
    creation(Format::V3, "template", configuration, Mode::Strict, |creation| {
        let plugin = registry.chunk_key_encodings().find(Format::V3, "template", creation.reading).unwrap();
        (plugin.create)(creation)
    })
}

fn encoding(template: &str, separator: &str) -> TemplateKeyEncoding {
    TemplateKeyEncoding::new(template, Some(separator.to_owned())).unwrap()
}

fn key(encoding: &dyn ChunkKeyEncoding, index: &[u64]) -> String {
    let mut key = String::new();
    encoding.encode(index, &mut key);
    key
}

/// Template, separator, chunk and key in the table of examples of the proposal.
const EXAMPLES: &[(&str, &str, [u64; 3], &str)] = &[
    ("c/{*}", "/", [11, 22, 33], "c/11/22/33"),
    ("{*}", ".", [11, 22, 33], "11.22.33"),
    ("prefix/{*}", "/", [11, 22, 33], "prefix/11/22/33"),
    ("{*}.suffix", "_", [11, 22, 33], "11_22_33.suffix"),
    ("{2}/{0}/{1}", ".", [11, 22, 33], "33/11/22"),
    ("{-1}/{*}", "/", [11, 22, 33], "33/11/22"),
    ("{*:04}", "/", [11, 22, 33], "0011/0022/0033"),
    ("{*:02}", "/", [111, 2, 33], "111/02/33"),
];

/// Tests EX-GRID-14.
#[test]
fn the_keys_are_those_of_the_proposal() {
    for (template, separator, index, expected) in EXAMPLES {
        let encoding = encoding(template, separator);
        assert_eq!(key(&encoding, index), *expected, "{template}");
        assert_eq!(encoding.decode(expected, 3).unwrap().as_deref(), Some(&index[..]), "{template}");
    }
}

#[test]
fn braces_and_digits_may_surround_indices() {
    let braces = encoding("{{{0}}}-{1}", "");
    assert_eq!(key(&braces, &[1, 2]), "{1}-2");
    assert_eq!(braces.decode("{1}-2", 2).unwrap(), Some(vec![1, 2]));
    let digits = encoding("7{0}5x5{1}9", "");
    for index in [[0, 0], [5, 9], [15, 59], [u64::MAX, u64::MAX]] {
        assert_eq!(digits.decode(&key(&digits, &index), 2).unwrap().as_deref(), Some(&index[..]));
    }
}

#[test]
fn only_its_own_keys_are_read_back() {
    let encoding = encoding("a/{1:03}_{0}.jpg", "");
    assert_eq!(encoding.decode("a/012_7.jpg", 2).unwrap(), Some(vec![7, 12]));
    for wrong in [
        "a/12_7.jpg",
        "a/0012_7.jpg",
        "a/012_07.jpg",
        "a/012_7",
        "a/012-7.jpg",
        "b/012_7.jpg",
        "a/_7.jpg",
        "a/012_.jpg",
        "a/012_+7.jpg",
        "a/012_7.jpg.jpg",
        "",
        "a/012_99999999999999999999.jpg",
    ] {
        assert_eq!(encoding.decode(wrong, 2).unwrap(), None, "{wrong}");
    }
}

#[test]
fn dimensions_that_do_not_fit_are_errors() {
    for (template, separator, ranks) in [
        ("{0}/{1}", "", &[0, 1, 3][..]),
        ("{*}", "/", &[0]),
        ("{0}/{*}", "/", &[0, 1]),
        ("{0}{*}", "/", &[0, 1]),
        ("{0}_{1}_{*}", "/", &[0, 1, 2]),
        ("{-2}", "", &[0, 1, 2]),
        ("{0}/{-1}", "", &[0, 1, 3]),
        ("{0}{1}", "", &[2]),
        ("{*}", "", &[2]),
        ("{*}", "5", &[2]),
        ("{0:04}{1:04}", "", &[2]),
        ("/{0}", "", &[1]),
        ("{0}/", "", &[1]),
        ("{0}//{1}", "", &[2]),
        ("../{0}", "", &[1]),
        ("a..{0}", "", &[1]),
        ("{0}/zarr.json", "", &[1]),
        ("{*}", "\\", &[2]),
    ] {
        let encoding = encoding(template, separator);
        for &rank in ranks {
            assert!(encoding.decode("", rank).is_err(), "{template} in {rank} dimensions");
        }
    }
    assert!(encoding("{*}", "").decode("7", 1).unwrap().is_some());
}

#[test]
fn other_templates_are_refused() {
    for wrong in [
        "",
        "abc",
        "{",
        "}",
        "{}",
        "{0",
        "0}",
        "{a}",
        "{0:4}",
        "{0:}",
        "{0:0}",
        "{+1}",
        "{0:0999}",
        "{ 0}",
        "{--1}",
        "{*}{*}",
        "{{0}}",
        "{0:04:04}",
    ] {
        assert!(TemplateKeyEncoding::new(wrong, Some("/".to_owned())).is_err(), "{wrong}");
    }
    for wrong in [
        "",
        "{}",
        r#"{"template": "{*}"}"#,
        r#"{"template": 1}"#,
        r#"{"template": "{0}", "format": "{0}"}"#,
        r#"{"template": "{0}", "suffix": "a"}"#,
    ] {
        assert!(create(wrong).is_err(), "{wrong}");
    }
    for right in [r#"{"template": "{0}"}"#, r#"{"format": "{0}"}"#] {
        assert_eq!(key(&*create(right).unwrap(), &[7]), "7");
    }
}
