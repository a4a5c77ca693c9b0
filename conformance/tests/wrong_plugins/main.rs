//! Plugins with one fault each. The suites must detect exactly that fault.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

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

/// The name of a plugin, which describes its fault, and the rules that it breaks.
type Wrong = (&'static str, &'static [&'static str]);

/// The rules for plugins of every kind. They are tested only with codecs.
const COMMON: &[&str] = &["identifiers", "summary", "examples", "unknown-member", "schema"];

/// A rule for codecs with certain names. The unit tests of the rule have a codec that breaks it.
const FIXTURES: &str = "codec-fixtures";

/// A rule that runs only in a process without other rules. The module `crashes` has a plugin that breaks it.
const LEAKS: &str = "codec-leaks";

/// Registers a plugin for each name and checks that it breaks exactly its rules. Also checks that each rule is broken
/// by some plugin.
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

/// Returns this program, started to decode hostile input.
fn again() -> Again {
    Again::with(&["codecs::hostile_input_is_decoded_in_a_separate_process", "--exact", "--nocapture"])
        .unwrap()
}

/// Returns the identifiers of a plugin that only v3 names.
fn named(name: &'static str) -> Identifiers {
    Identifiers::name(name)
}

/// Returns a v3 example without a configuration. The test leaks the text.
fn example(name: &str) -> Example {
    Example::v3(leaked(format!("{{\"name\": \"{name}\"}}")))
}

fn examples<const N: usize>(examples: [Example; N]) -> &'static [Example] {
    Vec::from(examples).leak()
}

fn leaked(text: String) -> &'static str {
    text.leak()
}
