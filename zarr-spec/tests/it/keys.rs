//! Keys and prefixes of stores.

use zarr_spec::{Format, Key, Prefix};

/// Tests D3-STORE-01, D3-STORE-02.
#[test]
fn keys_of_the_draft_are_letters_digits_and_four_signs() {
    let key = |text: &str| Key::checked(text, Format::V3Draft);
    for text in ["a", "a/b.c", "data/x/c0/1", "A-z_0/.9"] {
        assert_eq!(key(text).unwrap().as_str(), text);
    }
    for text in ["a/", "a b", "ä", "a:b", "a*", "", "/a", "a//b", "a/../b", "a\n"] {
        assert!(key(text).is_err(), "{text:?}");
    }
    assert!(Key::new("").is_err());
}

/// Tests D3-STORE-07.
#[test]
fn prefixes_end_in_a_slash_or_are_empty() {
    for text in ["a/", "meta/foo/", ""] {
        assert_eq!(Prefix::new(text).unwrap().as_str(), text);
    }
    for text in ["a", "/", "a//", "../", "a/./"] {
        assert!(Prefix::new(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_prefix_is_the_start_of_its_keys() {
    let key = Key::new("a/b/c").unwrap();
    assert_eq!((key.parent().as_str(), key.name()), ("a/b/", "c"));
    assert_eq!(key.parent().parent().unwrap().as_str(), "a/");
    assert_eq!(Key::new("a").unwrap().parent(), Prefix::root());
    assert_eq!(Prefix::root().parent(), None);
    assert_eq!(Prefix::new("a/").unwrap().strip("a/b"), Some("b"));
    assert_eq!(Prefix::new("a/").unwrap().strip("ab"), None);
}
