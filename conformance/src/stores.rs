//! What every store is held to.
//!
//! A rule has the id of the row of the requirement ledgers that it stands for, or a plain name where it follows from
//! the documentation of [`Store`] alone. A store that lacks a capability is held to saying so, and excused from
//! what needs it.

use std::sync::Arc;

use zarr_spec::Prefix;
use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::store::{Store, StoreError};

pub use minimal::MinimalStore;

pub mod around;
mod minimal;
mod reading;
mod removing;
mod trial;
mod under_load;
mod writing;

use crate::suite::{Level, Rule, Subject, Suite, Trial as SuiteTrial};
use trial::Trial;

/// What became of a rule: its id, and what the store got wrong.
pub type Verdict = (&'static str, Result<(), String>);

/// A rule, what a store needs for it, and how it is held to it.
pub(crate) type StoreRule = (Rule, Needs, fn(&Trial) -> Result<(), String>);

/// What a store must be capable of to be held to a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing.
    Nothing,
    /// It is filled and read.
    Values,
    /// It is filled, read and listed.
    Listing,
    /// It is filled, read, listed and emptied.
    Erasing,
}

impl Needs {
    /// What of this a store lacks, if anything.
    pub(crate) fn lacking(self, store: &dyn Store) -> Option<&'static str> {
        let can = store.capabilities();
        let all = [
            (can.readable, "readable"),
            (can.writeable, "writeable"),
            (can.listable, "listable"),
            (can.erasable, "erasable"),
        ];
        let needed = match self {
            Self::Nothing => 0,
            Self::Values => 2,
            Self::Listing => 3,
            Self::Erasing => 4,
        };
        all[..needed].iter().find(|(has, _)| !has).map(|(_, quality)| *quality)
    }
}

const fn rule(id: &'static str, level: Level, sentence: &'static str) -> Rule {
    Rule {
        id,
        level,
        sentence,
        source: "row of this id in the requirements, or `zarr_spec::store::Store`",
        since: "0.1",
    }
}

/// Holds a store to one rule; one that lacks what the rule needs is excused.
pub(crate) fn hold(store: Arc<dyn Store>, rule: &StoreRule) -> Result<(), String> {
    let (_, needs, check) = rule;
    if needs.lacking(&*store).is_some() { Ok(()) } else { check(&Trial(store)) }
}

/// Holds a store to every rule. `make` returns a store without values, a new one each time.
#[must_use]
pub fn check_store(make: &dyn Fn() -> Arc<dyn Store>) -> Vec<Verdict> {
    rules().map(|rule| (rule.0.id, hold(make(), rule))).collect()
}

/// Holds a store to the rules called `names` alone, for tests that stand for rows of a ledger.
///
/// # Errors
///
/// Everything that the store got wrong, one line each; a name that no rule has.
pub fn check_rules(make: &dyn Fn() -> Arc<dyn Store>, names: &[&str]) -> Result<(), String> {
    let mut wrong = Vec::new();
    for name in names {
        match rules().find(|(rule, ..)| rule.id == *name) {
            None => wrong.push(format!("{name}: there is no such rule")),
            Some(rule) => {
                wrong.extend(hold(make(), rule).err().map(|what| format!("{name}: {what}")));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// The suite of a store that is there already, as a subject called `name`. It has to be without values, and is emptied after
/// each rule.
#[must_use]
pub fn suite_of(name: &str, store: Arc<dyn Store>) -> Suite {
    let trial = |rule: &'static StoreRule| {
        let name = name.to_owned();
        let store = Arc::clone(&store);
        SuiteTrial::new(&rule.0, move |cases| match rule.1.lacking(&*store) {
            Some(quality) => cases.skip(format!("a store that is not {quality}")),
            None => {
                let held = hold(Arc::clone(&store), rule);
                let empty = emptied(&*store);
                cases.check(&name, held.and(empty));
            }
        })
    };
    let subject = Subject {
        point: ExtensionPoint::Store,
        name: name.to_owned(),
        package: String::new(),
        version: String::new(),
    };
    Suite { subject, trials: rules().map(trial).collect() }
}

/// Erases everything; that something is left is an error of the store, and not of the next rule.
fn emptied(store: &dyn Store) -> Result<(), String> {
    let emptying = |error: StoreError| format!("emptying the store: {error}");
    store.erase_prefix(&Prefix::root()).map_err(emptying)?;
    match store.list().map_err(emptying)?.first() {
        None => Ok(()),
        Some(key) => Err(format!("all keys were erased, and `{key}` is there")),
    }
}

/// The names of all rules.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    rules().map(|(rule, ..)| rule.id)
}

/// The rows that a doc line cites: `Tests D3-STORE-04, D3-STORE-05.` A line without any has one that is no rule.
pub fn cited_rows(doc: &str) -> Vec<&str> {
    let list = doc.trim().trim_start_matches("Tests ").trim_end_matches('.');
    list.split(", ").collect()
}

/// Writes tests that hold a store to the rules that their doc lines cite, and to no others.
///
/// First stands a function of the crate that holds its store to a list of rules; then the tests, without bodies.
#[macro_export]
macro_rules! test_rules {
    ($holds:path; $(#[doc = $citation:literal] #[test] fn $name:ident();)+) => {
        $(
            #[doc = $citation]
            #[test]
            fn $name() {
                $holds(&$crate::stores::cited_rows($citation));
            }
        )+
    };
}

/// All rules.
pub(crate) fn rules() -> impl Iterator<Item = &'static StoreRule> {
    [reading::RULES, writing::RULES, removing::RULES, under_load::RULES].into_iter().flatten()
}
