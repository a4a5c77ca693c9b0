//! Rules about removing values.

use zarr_spec::Prefix;
use zarr_spec::store::StoreError;

use super::trial::{Trial, fails, key, prefix, same};
use super::{Needs, StoreRule, rule};
use crate::suite::Level;

pub(super) const RULES: &[StoreRule] = &[
    (
        rule("D3-STORE-19", Level::L1, "An erased value no longer exists."),
        Needs::Erasing,
        an_erased_value_is_gone,
    ),
    (
        rule("D3-STORE-20", Level::L2, "Erasing a missing key succeeds."),
        Needs::Erasing,
        erasing_a_missing_key_succeeds,
    ),
    (
        rule("D3-STORE-21", Level::L1, "Several values are erased in one call."),
        Needs::Erasing,
        values_are_erased_as_a_set,
    ),
    (
        rule("D3-STORE-22", Level::L1, "Erasing a prefix erases all keys that begin with it."),
        Needs::Erasing,
        what_begins_with_a_prefix_is_erased,
    ),
    (
        rule("D3-STORE-23", Level::L1, "Erasing a prefix spares keys that lack its trailing slash."),
        Needs::Erasing,
        an_erased_prefix_ends_in_a_slash,
    ),
    (
        rule("D3-STORE-24", Level::L0, "A store that cannot erase reports that and retains its values."),
        Needs::Values,
        a_store_that_cannot_erase_says_so_and_keeps_its_values,
    ),
    (
        rule("D3-STORE-33", Level::L1, "Derived operations agree with the basic ones."),
        Needs::Erasing,
        derived_operations_do_as_the_basic_ones,
    ),
    (
        rule("store-erase-key-prefix", Level::L1, "A prefix of a key is not a key."),
        Needs::Erasing,
        a_prefix_of_a_key_is_no_key,
    ),
];

fn an_erased_value_is_gone(trial: &Trial) -> Result<(), String> {
    trial.fill(&["a/b/c", "a/b/d"])?;
    trial.erase("a/b/c")?;
    trial.lacks("a/b/c")?;
    trial.lists(&["a/b/d"])?;
    trial.erase("a/b/d")?;
    trial.lists(&[])?;
    trial.lists_in("", &[], &[])?;
    trial.set("a/b/c", b"again")?;
    trial.has("a/b/c", b"again")
}

fn erasing_a_missing_key_succeeds(trial: &Trial) -> Result<(), String> {
    trial.erase("a/b")?;
    trial.set("a/b", b"v")?;
    trial.erase("a/b")?;
    trial.erase("a/b")?;
    trial.set("a/b", b"v")?;
    trial.erase("a/b/c")?;
    trial.has("a/b", b"v")
}

fn values_are_erased_as_a_set(trial: &Trial) -> Result<(), String> {
    trial.fill(&["a/b", "a/c", "d"])?;
    let keys = [key("a/b")?, key("missing")?, key("d")?, key("a/b")?];
    trial.0.erase_values(&keys).map_err(|error| format!("erasing values: {error}"))?;
    trial.lists(&["a/c"])?;
    trial.0.erase_values(&[]).map_err(|error| format!("erasing no values: {error}"))?;
    trial.lists(&["a/c"])
}

fn what_begins_with_a_prefix_is_erased(trial: &Trial) -> Result<(), String> {
    trial.fill(&["a.b", "a/b", "a/c/d", "ab", "x/a/b"])?;
    trial.erase_prefix("a/c/d/")?;
    trial.has("a/c/d", b"a/c/d")?;
    trial.erase_prefix("a/")?;
    trial.lists(&["a.b", "ab", "x/a/b"])?;
    trial.erase_prefix("a/")?;
    trial.erase_prefix("unknown/prefix/")?;
    trial.lists(&["a.b", "ab", "x/a/b"])?;
    trial.set("a/b", b"again")?;
    trial.has("a/b", b"again")
}

fn an_erased_prefix_ends_in_a_slash(trial: &Trial) -> Result<(), String> {
    same("`a` is refused as a prefix", Prefix::new("a").is_err(), true)?;
    trial.fill(&["a", "b/c"])?;
    trial.erase_prefix("a/")?;
    trial.erase_prefix("b/")?;
    trial.lists(&["a"])
}

fn a_store_that_cannot_erase_says_so_and_keeps_its_values(trial: &Trial) -> Result<(), String> {
    trial.set("a/b", b"v")?;
    if trial.0.capabilities().erasable {
        trial.erase("a/b")?;
        return trial.lacks("a/b");
    }
    let is_right =
        |error: &StoreError| matches!(error, StoreError::NotSupported { quality: "not erasable", .. });
    let key = key("a/b")?;
    let prefix = prefix("a/")?;
    fails("erase", trial.0.erase(&key), is_right)?;
    fails("erase_values", trial.0.erase_values(&[key]), is_right)?;
    if trial.0.capabilities().listable {
        fails("erase_prefix", trial.0.erase_prefix(&prefix), is_right)?;
    }
    trial.has("a/b", b"v")
}

fn derived_operations_do_as_the_basic_ones(trial: &Trial) -> Result<(), String> {
    let a = key("d/a")?;
    let b = key("d/b")?;
    let store = &trial.0;
    let text = |error: StoreError| error.to_string();
    store.set_partial_values(&[(a.clone(), 0, b"one"), (b.clone(), 1, b"two")]).map_err(text)?;
    trial.has("d/a", b"one")?;
    trial.has("d/b", b"\0two")?;
    trial.set("d/a", b"three")?;
    store.set_partial_values(&[(a.clone(), 1, b"HR")]).map_err(text)?;
    trial.has("d/a", b"tHRee")?;
    store.erase_values(&[a, b]).map_err(text)?;
    trial.lists(&[])
}

/// Checks that a store of folders does not mistake the folder `a` of `a/b` for the value of `a`.
fn a_prefix_of_a_key_is_no_key(trial: &Trial) -> Result<(), String> {
    trial.fill(&["a/b/c"])?;
    trial.lacks("a")?;
    trial.lacks("a/b")?;
    same("size of `a`", trial.0.size(&key("a")?).map_err(|error| error.to_string())?, None)?;
    trial.erase("a")?;
    trial.erase("a/b")?;
    trial.lists(&["a/b/c"])?;
    trial.has("a/b/c", b"a/b/c")
}
