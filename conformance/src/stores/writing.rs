//! Rules about writing and listing values.

use zarr_spec::store::{Store, StoreError};
use zarr_spec::{Format, Key, Prefix};

use super::trial::{Trial, fails, key, same};
use super::{Needs, StoreRule, rule};
use crate::suite::Level;

pub(super) const RULES: &[StoreRule] = &[
    (
        rule("V2-STORE-01", Level::L1, "Keys are text and values are bytes."),
        Needs::Erasing,
        text_keys_have_byte_values,
    ),
    (
        rule("V2-STORE-02", Level::L1, "Keys may contain spaces and characters of any script."),
        Needs::Listing,
        keys_with_blanks_and_of_any_script_are_kept,
    ),
    (
        rule("V2-STORE-03", Level::L1, "Flat and nested keys behave the same."),
        Needs::Listing,
        flat_and_nested_keys_are_the_same_to_the_caller,
    ),
    (
        rule("V3-STORE-01", Level::L1, "Keys may contain characters of any script."),
        Needs::Listing,
        keys_of_any_script_are_kept,
    ),
    (
        rule("V3-STORE-11", Level::L1, "The root has the empty prefix."),
        Needs::Listing,
        the_root_has_the_empty_prefix,
    ),
    (rule("D3-STORE-04", Level::L1, "A value may contain any bytes."), Needs::Values, a_value_is_any_bytes),
    (
        rule("D3-STORE-05", Level::L1, "Setting a value replaces the previous one."),
        Needs::Values,
        a_value_replaces_the_one_before,
    ),
    (rule("D3-STORE-06", Level::L1, "Keys are case sensitive."), Needs::Listing, keys_are_case_sensitive),
    (
        rule("D3-STORE-08", Level::L1, "The empty prefix is the whole store."),
        Needs::Erasing,
        the_empty_prefix_is_the_whole_store,
    ),
    (
        rule("D3-STORE-16", Level::L1, "A value is visible immediately after it is set."),
        Needs::Listing,
        a_value_that_was_set_is_seen_at_once,
    ),
    (
        rule("D3-STORE-17", Level::L1, "Parts of values can be written."),
        Needs::Values,
        parts_of_values_are_written,
    ),
    (
        rule("D3-STORE-18", Level::L1, "Writing past the end of a value fills the gap with zeros."),
        Needs::Values,
        a_value_grows_with_zeros,
    ),
    (rule("D3-STORE-25", Level::L1, "Every key is listed."), Needs::Listing, every_key_is_listed),
    (
        rule("D3-STORE-26", Level::L1, "Full keys below a prefix are listed."),
        Needs::Listing,
        full_keys_below_a_prefix_are_listed,
    ),
    (
        rule("D3-STORE-27", Level::L1, "A listed prefix ends in a slash."),
        Needs::Listing,
        a_listed_prefix_ends_in_a_slash,
    ),
    (
        rule("D3-STORE-28", Level::L1, "Nothing is listed below an unknown prefix."),
        Needs::Listing,
        nothing_is_listed_below_an_unknown_prefix,
    ),
    (
        rule("D3-STORE-29", Level::L1, "A directory has full keys and prefixes."),
        Needs::Listing,
        a_directory_has_full_keys_and_prefixes,
    ),
    (
        rule("D3-STORE-30", Level::L1, "A directory without keys is empty."),
        Needs::Listing,
        a_directory_without_keys_is_empty,
    ),
    (rule("D3-STORE-32", Level::L1, "The listings agree."), Needs::Listing, the_listings_agree),
    (
        rule(
            "store-commit",
            Level::L1,
            "A commit stores all earlier changes, and the store accepts changes after it.",
        ),
        Needs::Erasing,
        a_commit_keeps_every_change,
    ),
];

fn text_keys_have_byte_values(trial: &Trial) -> Result<(), String> {
    trial.set("a/.zarray", b"{}")?;
    trial.set("a/0.0", &[0; 16])?;
    trial.has("a/0.0", &[0; 16])?;
    trial.erase("a/0.0")?;
    trial.lacks("a/0.0")?;
    trial.has("a/.zarray", b"{}")
}

fn keys_with_blanks_and_of_any_script_are_kept(trial: &Trial) -> Result<(), String> {
    same("`é` is refused in a written v2 key", Key::checked("é/.zarray", Format::V2).is_err(), true)?;
    keeps(trial, &["a b/.zarray", "é/.zarray"])
}

fn flat_and_nested_keys_are_the_same_to_the_caller(trial: &Trial) -> Result<(), String> {
    keeps(trial, &["a/0.0", "a/0.1", "b/0/0", "b/0/1"])
}

fn keys_of_any_script_are_kept(trial: &Trial) -> Result<(), String> {
    same("`a/` is refused as a key", Key::new("a/").is_err(), true)?;
    keeps(trial, &[".hidden", "100%/%20", "a+b=c~d", "a..b/...", "measure µ/温度/c/0", "наука/🦀"])
}

fn a_commit_keeps_every_change(trial: &Trial) -> Result<(), String> {
    let commit = || trial.0.commit().map_err(|error| format!("committing: {error}"));
    commit()?;
    trial.fill(&["a", "b/c", "b/d", "e"])?;
    trial.set("a", b"replaced")?;
    trial.erase("e")?;
    commit()?;
    commit()?;
    trial.has("a", b"replaced")?;
    trial.lists(&["a", "b/c", "b/d"])?;
    trial.erase("b/c")?;
    trial.set("b/d", b"again")?;
    trial.set("f", b"f")?;
    commit()?;
    trial.has("b/d", b"again")?;
    trial.has("f", b"f")?;
    trial.lists(&["a", "b/d", "f"])?;
    trial.erase_prefix("")?;
    commit()?;
    trial.lists(&[])
}

fn keeps(trial: &Trial, keys: &[&str]) -> Result<(), String> {
    trial.fill(keys)?;
    trial.lists(keys)?;
    keys.iter().try_for_each(|key| trial.has(key, key.as_bytes()))
}

fn the_root_has_the_empty_prefix(trial: &Trial) -> Result<(), String> {
    same("`/zarr.json` is refused as a key", Key::new("/zarr.json").is_err(), true)?;
    same("`/` is refused as a prefix", Prefix::new("/").is_err(), true)?;
    trial.fill(&["a/zarr.json", "zarr.json"])?;
    trial.has("zarr.json", b"zarr.json")?;
    trial.lists_in("", &["zarr.json"], &["a/"])
}

fn a_value_is_any_bytes(trial: &Trial) -> Result<(), String> {
    trial.set("empty", b"")?;
    trial.has("empty", b"")?;
    let value = noise(1 << 20);
    trial.set("d/noise", &value)?;
    trial.has("d/noise", &value)
}

/// Returns pseudorandom bytes: the uppermost byte of each number of a linear congruential generator.
fn noise(size: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(size).collect()
}

fn a_value_replaces_the_one_before(trial: &Trial) -> Result<(), String> {
    for value in [b"1".as_slice(), b"2", b"a longer one", b"short", b""] {
        trial.set("k", value)?;
        trial.has("k", value)?;
    }
    Ok(())
}

fn keys_are_case_sensitive(trial: &Trial) -> Result<(), String> {
    keeps(trial, &["FOO", "Foo", "foo", "group/A/x", "group/a/x"])
}

fn the_empty_prefix_is_the_whole_store(trial: &Trial) -> Result<(), String> {
    let keys = ["data/a/c0", "meta/a.array.json", "zarr.json"];
    trial.fill(&keys)?;
    trial.lists_in("", &["zarr.json"], &["data/", "meta/"])?;
    trial.lists_below("", &keys)?;
    trial.erase_prefix("")?;
    trial.lists(&[])?;
    trial.set("again", b"v")?;
    trial.lists(&["again"])
}

fn a_value_that_was_set_is_seen_at_once(trial: &Trial) -> Result<(), String> {
    same("`a/` is refused as a key", Key::new("a/").is_err(), true)?;
    keeps(trial, &["a"])
}

fn parts_of_values_are_written(trial: &Trial) -> Result<(), String> {
    let store = &trial.0;
    let k = key("k")?;
    let l = key("d/l")?;
    let partial = |values: &[(Key, u64, &[u8])]| {
        store.set_partial_values(values).map_err(|error| format!("writing parts: {error}"))
    };
    trial.set("k", &[0; 4])?;
    partial(&[(k.clone(), 0, b"\xaa"), (l.clone(), 0, b"new"), (k.clone(), 2, b"\xbb")])?;
    trial.has("k", b"\xaa\x00\xbb\x00")?;
    trial.has("d/l", b"new")?;
    // Adjacent parts do not overlap, so the store must accept them in any order.
    partial(&[(k.clone(), 2, b"\x33\x44"), (k.clone(), 0, b"\x11\x22")])?;
    trial.has("k", b"\x11\x22\x33\x44")?;
    partial(&[])?;
    let overlapping: [&[(Key, u64, &[u8])]; 3] = [
        &[(k.clone(), 0, b"\xaa\xbb"), (k.clone(), 1, b"\xcc")],
        &[(l.clone(), 0, b"x"), (k.clone(), 1, b"\xcc"), (k.clone(), 0, b"\xaa\xbb")],
        &[(k.clone(), u64::MAX, b"ab"), (k.clone(), 3, b"\xcc")],
    ];
    for values in overlapping {
        let is_right =
            |error: &StoreError| matches!(error, StoreError::Invalid(_) | StoreError::TooLarge { .. });
        fails("overlapping parts", store.set_partial_values(values), is_right)?;
        trial.has("k", b"\x11\x22\x33\x44")?;
        trial.has("d/l", b"new")?;
    }
    Ok(())
}

fn a_value_grows_with_zeros(trial: &Trial) -> Result<(), String> {
    let partial = |at: &str, offset, part: &[u8]| {
        let written = trial.0.set_partial_values(&[(key(at)?, offset, part)]);
        written.map_err(|error| format!("writing a part: {error}"))
    };
    trial.set("k", b"\x01")?;
    partial("k", 3, b"\xff")?;
    trial.has("k", b"\x01\x00\x00\xff")?;
    partial("missing", 2, b"\xff")?;
    trial.has("missing", b"\x00\x00\xff")
}

fn every_key_is_listed(trial: &Trial) -> Result<(), String> {
    trial.lists(&[])?;
    // In the order of the keys, `.` precedes `/`, and `0` follows it.
    let keys = ["a.b", "a/b", "a/c/d/e/f", "a0", "z"];
    trial.fill(&["z", "a/c/d/e/f", "a0", "a/b", "a.b"])?;
    trial.lists(&keys)
}

fn full_keys_below_a_prefix_are_listed(trial: &Trial) -> Result<(), String> {
    trial.fill(&["a/b", "a/c/d", "ab", "e/f/g"])?;
    trial.lists_below("a/", &["a/b", "a/c/d"])?;
    trial.lists_below("a/c/", &["a/c/d"])?;
    trial.lists_below("e/f/", &["e/f/g"])
}

fn a_listed_prefix_ends_in_a_slash(trial: &Trial) -> Result<(), String> {
    same("`a` is refused as a prefix", Prefix::new("a").is_err(), true)?;
    trial.fill(&["a/b", "ab"])?;
    trial.lists_below("a/", &["a/b"])
}

fn nothing_is_listed_below_an_unknown_prefix(trial: &Trial) -> Result<(), String> {
    trial.lists_below("zz/", &[])?;
    trial.fill(&["a/b", "zz"])?;
    trial.lists_below("zz/", &[])?;
    trial.lists_below("a/b/", &[])?;
    trial.lists_below("a/b/c/", &[])
}

fn a_directory_has_full_keys_and_prefixes(trial: &Trial) -> Result<(), String> {
    trial.fill(&["a/b", "a/c", "a/d/e", "a/d/f/g", "a/f/g", "a/f.x/g", "ab/c", "b"])?;
    trial.lists_in("a/", &["a/b", "a/c"], &["a/d/", "a/f.x/", "a/f/"])?;
    trial.lists_in("a/d/", &["a/d/e"], &["a/d/f/"])?;
    trial.lists_in("", &["b"], &["a/", "ab/"])
}

fn a_directory_without_keys_is_empty(trial: &Trial) -> Result<(), String> {
    trial.lists_in("", &[], &[])?;
    trial.fill(&["a/b"])?;
    trial.lists_in("b/", &[], &[])?;
    trial.lists_in("a/b/", &[], &[])?;
    trial.lists_in("a/b/c/", &[], &[])
}

fn the_listings_agree(trial: &Trial) -> Result<(), String> {
    let keys = ["a.b/c", "a/b", "a/c/d", "a/c/e/f", "b/0/0/0", "b/0/1/0", "z"];
    trial.fill(&keys)?;
    trial.lists(&keys)?;
    trial.lists_below("", &keys)?;
    let mut walked = walk(&*trial.0, &Prefix::root()).map_err(|error| error.to_string())?;
    walked.sort();
    let walked: Vec<&str> = walked.iter().map(Key::as_str).collect();
    same("keys found through list_dir", walked.as_slice(), &keys)
}

/// Returns every key below `prefix`, found only through `list_dir`.
fn walk(store: &dyn Store, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
    let mut directory = store.list_dir(prefix)?;
    for below in &directory.prefixes {
        directory.keys.extend(walk(store, below)?);
    }
    Ok(directory.keys)
}
