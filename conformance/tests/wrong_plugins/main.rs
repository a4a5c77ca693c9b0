//! Plugins that do one thing wrong each: the suites notice, and blame nothing else.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::collections::BTreeSet;

use zarr_conformance::stores::rule_names;
use zarr_conformance::suite::{Again, CountingAllocator, Level, Report, suites_of};
use zarr_spec::{Example, Identifiers, Registry};

mod arrangements;
mod codecs;
#[cfg(unix)]
mod crashes;
mod data_types;
mod documents;
mod stores;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The name of a plugin, which says what is wrong with it, and the rules that it breaks.
type Wrong = (&'static str, &'static [&'static str]);

/// Rules that all kinds of plugins are held to, of which codecs stand for all.
const COMMON: &[&str] = &["identifiers", "summary", "examples", "unknown-member", "schema"];

/// What codecs of certain names are held to; its own tests break it.
const FIXTURES: &str = "codec-fixtures";

/// What is only checked in processes that check one rule at a time; `crashes` has a plugin that breaks it.
const LEAKS: &str = "codec-leaks";

/// Registers one plugin of each name, and looks whether it breaks just its rules; and whether each rule is broken by one.
fn each_breaks_its_rules(wrong: &[Wrong], register: impl Fn(&mut Registry, &'static str)) {
    let mut all: BTreeSet<&str> = BTreeSet::new();
    for &(name, rules) in wrong {
        let mut registry = Registry::empty();
        register(&mut registry, name);
        let mut suites: Vec<_> =
            suites_of(&registry).into_iter().filter(|suite| suite.subject.name == name).collect();
        again().isolate(&mut suites);
        let report = Report::of(&suites, Level::L4);
        assert_eq!(report.subjects.len(), 1, "{name}");
        all.extend(suites[0].trials.iter().map(|trial| trial.rule().id));
        let broken: BTreeSet<&str> = report.failures().map(|(_, outcome)| outcome.rule.id).collect();
        assert_eq!(broken, rules.iter().copied().collect(), "{name}: {report}");
    }
    let broken = wrong
        .iter()
        .flat_map(|(_, rules)| *rules)
        .chain(COMMON)
        .copied()
        .chain([FIXTURES, LEAKS])
        .chain(rule_names());
    let broken: BTreeSet<&str> = broken.collect();
    assert_eq!(all.difference(&broken).collect::<Vec<_>>(), [&""; 0], "no plugin breaks these");
}

/// This program, coming to what decodes hostile input.
fn again() -> Again {
    Again::with(&["codecs::hostile_input_is_decoded_in_a_process_of_its_own", "--exact", "--nocapture"])
        .unwrap()
}

/// The name in v3 alone.
fn named(name: &'static str) -> Identifiers {
    Identifiers::name(name)
}

/// The name without a configuration, as an example of v3. What a test leaks, nobody misses.
fn example(name: &str) -> Example {
    Example::v3(leaked(format!("{{\"name\": \"{name}\"}}")))
}

fn examples<const N: usize>(examples: [Example; N]) -> &'static [Example] {
    Vec::from(examples).leak()
}

fn leaked(text: String) -> &'static str {
    text.leak()
}
