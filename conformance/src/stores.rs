//! The rules for stores.
//!
//! The id of a rule is a row of the requirements, or a plain name if the rule follows only from the documentation of
//! [`Store`]. A store that lacks a capability must report that, and skips the rules that need the capability. In a store
//! that holds only nodes, the rules set values in chunks of arrays.

use std::sync::Arc;

use zarr_spec::Prefix;
use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::store::{Store, StoreError};

pub use minimal::MinimalStore;
pub use reopening::check_reopened;

pub mod around;
mod conditions;
mod minimal;
mod nodes;
mod reading;
mod removing;
mod reopening;
mod trial;
mod under_load;
mod writing;

use crate::suite::{Level, Rule, Subject, Suite, Trial as SuiteTrial};
pub(crate) use nodes::with_any_keys;
use trial::Trial;

/// The id of a rule, and the violations of the store.
pub type Verdict = (&'static str, Result<(), String>);

/// A rule, the capabilities it needs, and its check.
pub(crate) type StoreRule = (Rule, Needs, fn(&Trial) -> Result<(), String>);

/// The capabilities of a store that a rule needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The rule applies to every store.
    Nothing,
    /// The store must be readable and writeable.
    Values,
    /// The store must also be listable, and contain only documents that the rule writes.
    Listing,
    /// The store must also be erasable.
    Erasing,
    /// The store must be readable, writeable, and write under conditions.
    Conditions,
    /// The store must also erase under conditions.
    ConditionalErasing,
}

impl Needs {
    /// Returns the first needed capability that the store lacks.
    pub(crate) fn lacking(self, store: &dyn Store) -> Option<&'static str> {
        let can = store.capabilities();
        let all = [
            (can.readable, "readable"),
            (can.writeable, "writeable"),
            (can.listable && !can.adapts_documents, "listed as it is written"),
            (can.erasable, "erasable"),
        ];
        let conditional = [
            (can.readable, "readable"),
            (can.conditional_set, "conditional"),
            (can.conditional_erase, "conditionally erasable"),
        ];
        let needed = match self {
            Self::Nothing => &[],
            Self::Values => &all[..2],
            Self::Listing => &all[..3],
            Self::Erasing => &all[..],
            Self::Conditions => &conditional[..2],
            Self::ConditionalErasing => &conditional[..],
        };
        needed.iter().find(|(has, _)| !has).map(|(_, quality)| *quality)
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

/// Checks a store against one rule. A store that lacks a needed capability passes.
pub(crate) fn hold(store: Arc<dyn Store>, rule: &StoreRule) -> Result<(), String> {
    let (_, needs, check) = rule;
    let store = with_any_keys(store);
    if needs.lacking(&*store).is_some() { Ok(()) } else { check(&Trial(store)) }
}

/// Checks a store against every rule. `make` returns a new store without values.
#[must_use]
pub fn check_store(make: &dyn Fn() -> Arc<dyn Store>) -> Vec<Verdict> {
    rules().map(|rule| (rule.0.id, hold(make(), rule))).collect()
}

/// Checks a store against the rules in `names`, for tests that cover rows of the requirements.
///
/// # Errors
///
/// All violations, one per line, and unknown names.
pub fn check_rules(make: &dyn Fn() -> Arc<dyn Store>, names: &[&str]) -> Result<(), String> {
    let mut wrong = Vec::new();
    for name in names {
        match rules().find(|(rule, ..)| rule.id == *name) {
            None => wrong.push(format!("{name}: unknown rule")),
            Some(rule) => {
                wrong.extend(hold(make(), rule).err().map(|what| format!("{name}: {what}")));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Returns the suite of an existing store, with `name` as the subject. The store must be empty, and is emptied after
/// each rule.
#[must_use]
pub fn suite_of(name: &str, store: Arc<dyn Store>) -> Suite {
    let trial = |rule: &'static StoreRule| {
        let name = name.to_owned();
        let store = Arc::clone(&store);
        SuiteTrial::new(&rule.0, move |cases| match rule.1.lacking(&*with_any_keys(Arc::clone(&store))) {
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

/// Erases everything. Fails if a key remains, so that the error is not attributed to the next rule.
fn emptied(store: &dyn Store) -> Result<(), String> {
    let emptying = |error: StoreError| format!("emptying the store: {error}");
    store.erase_prefix(&Prefix::root()).map_err(emptying)?;
    match store.list().map_err(emptying)?.first() {
        None => Ok(()),
        Some(key) => Err(format!("`{key}` exists after all keys were erased")),
    }
}

/// Returns the names of all rules.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    rules().map(|(rule, ..)| rule.id)
}

/// Returns the rows that a doc line such as `Tests D3-STORE-04, D3-STORE-05.` cites. A line without rows results in a
/// name that matches no rule.
pub fn cited_rows(doc: &str) -> Vec<&str> {
    let list = doc.trim().trim_start_matches("Tests ").trim_end_matches('.');
    list.split(", ").collect()
}

/// Generates tests that check a store against the rules that their doc lines cite.
///
/// The first argument is a function of the crate that checks its store against a list of rules. The tests follow,
/// without bodies.
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

/// Returns all rules.
pub(crate) fn rules() -> impl Iterator<Item = &'static StoreRule> {
    [reading::RULES, writing::RULES, removing::RULES, conditions::RULES, under_load::RULES]
        .into_iter()
        .flatten()
}
