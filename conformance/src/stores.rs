//! What every store is held to.
//!
//! A rule has the id of the row of the requirement ledgers that it stands for, or a plain name where it follows from
//! the documentation of [`Store`] alone. A store that lacks a capability is held to saying so, and excused from
//! what needs it.

use std::sync::Arc;

use zarr_spec::store::Store;

pub use minimal::MinimalStore;

pub mod around;
mod minimal;
mod reading;
mod removing;
mod trial;
mod under_load;
mod writing;

use trial::Trial;

/// What became of a rule: its name, and what the store got wrong.
pub type Verdict = (&'static str, Result<(), String>);

type Rule = (&'static str, fn(&Trial) -> Result<(), String>);

/// Holds a store to every rule. `make` returns a store without values, a new one each time.
#[must_use]
pub fn check_store(make: &dyn Fn() -> Arc<dyn Store>) -> Vec<Verdict> {
    rules().map(|(name, check)| (name, check(&Trial(make())))).collect()
}

/// Holds a store to the rules called `names` alone, for tests that stand for rows of a ledger.
///
/// # Errors
///
/// Everything that the store got wrong, one line each; a name that no rule has.
pub fn check_rules(make: &dyn Fn() -> Arc<dyn Store>, names: &[&str]) -> Result<(), String> {
    let mut wrong = Vec::new();
    for name in names {
        match rules().find(|(rule, _)| rule == name) {
            None => wrong.push(format!("{name}: there is no such rule")),
            Some((_, check)) => {
                wrong.extend(check(&Trial(make())).err().map(|what| format!("{name}: {what}")));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// The names of all rules.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    rules().map(|(name, _)| name)
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

fn rules() -> impl Iterator<Item = Rule> {
    let groups = [reading::RULES, writing::RULES, removing::RULES, under_load::RULES];
    groups.into_iter().flatten().copied()
}
