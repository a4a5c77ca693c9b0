//! The rules for plugins, and the reports about them.
//!
//! A [`Suite`] is a subject and its [`Trial`]s, one for each [`Rule`]. A trial runs cases: the examples that the
//! plugin declares, in the shapes and with the elements that the rule asks for. A rule that does not apply is
//! skipped, and the report gives the reason.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use zarr_spec::Registry;
use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::plugin::{Plugin, PluginKind};

pub(crate) mod allocations;
mod attempt;
mod chunk_grid;
mod chunk_key_encoding;
mod codec;
mod data_type;
mod documents;
mod elements;
mod extension;
mod fuzzed;
mod guarded;
mod harness;
mod isolation;
mod memory_layout;
mod metadata_encoding;
mod report;
mod storage_transformer;
mod store;
mod tried;
mod worker;
mod workers;

pub use allocations::{CountingAllocator, highest, requests, requests_of_this_thread};
pub use codec::{Fixture, FixtureError, add_fixtures, fixtures_in};
#[cfg(feature = "proptest")]
pub(crate) use elements::payloads;
pub(crate) use fuzzed::fuzz_targets;
pub use harness::{report_of_linked, run_linked};
pub use isolation::Again;
pub(crate) use report::escaped;
pub use report::{Expectations, Report, ReportError};
pub use worker::{is_worker, serve};
pub use workers::{Crash, End, Listed, WorkerOptions, Workers};

/// The version of the rules. Adding a rule or making one stricter increments the minor version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The level of a rule. A subject reaches a level if it passes all applicable rules of that level and of the levels
/// below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "reports print every level")]
pub enum Level {
    /// Identifiers, configuration and documents.
    L0,
    /// Round trips.
    L1,
    /// Damaged and hostile input.
    L2,
    /// Bytes written by other programs.
    L3,
    /// Properties that the engine's speed depends on.
    L4,
}

impl Level {
    /// All levels, lowest first.
    pub const ALL: [Self; 5] = [Self::L0, Self::L1, Self::L2, Self::L3, Self::L4];

    /// Returns a short description of the rules of this level.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::L0 => "identifiers, configuration and documents",
            Self::L1 => "round trips",
            Self::L2 => "damaged and hostile input",
            Self::L3 => "bytes written by other programs",
            Self::L4 => "performance",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::str::FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|level| level.to_string().eq_ignore_ascii_case(text));
        found.ok_or_else(|| format!("unknown level `{text}` (expected L0 to L4)"))
    }
}

/// A requirement for a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The permanent name, such as `codec-round-trip`.
    pub id: &'static str,
    /// The level.
    pub level: Level,
    /// The rule in one sentence.
    pub sentence: &'static str,
    /// The source: a row of the requirements, a section of a specification, or the documentation of a contract.
    pub source: &'static str,
    /// The first version of the rules that contains this form of the rule.
    pub since: &'static str,
}

/// The plugin under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The extension point.
    pub point: ExtensionPoint,
    /// The name of the plugin.
    pub name: String,
    /// The crate or library that contains the plugin.
    pub package: String,
    /// The version of the package.
    pub version: String,
}

impl Subject {
    fn of<K: PluginKind + ?Sized>(plugin: &Plugin<K>) -> Self {
        let origin = plugin.origin;
        Self {
            point: K::POINT,
            name: plugin.identifiers.any().to_owned(),
            package: origin.package.to_owned(),
            version: origin.version.to_owned(),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.point, self.name)
    }
}

/// The results of a rule's cases.
#[derive(Debug, Default)]
pub struct Cases {
    passed: u64,
    failures: Vec<Failure>,
    skipped: Vec<String>,
    lacking: Vec<String>,
}

/// A case that broke a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The input, in enough detail to repeat the case.
    pub case: String,
    /// The observed result.
    pub what: String,
}

/// The number of failures reported per rule; more would not help.
const MOST_FAILURES: usize = 20;

impl Cases {
    /// Records the result of a case. A failure that is already recorded is not added again.
    pub fn check(&mut self, case: impl fmt::Display, result: Result<(), String>) {
        attempt::record(|| format!("after {case}"));
        let Err(what) = result else {
            self.passed += 1;
            return;
        };
        let failure = Failure { case: case.to_string(), what };
        if self.failures.len() < MOST_FAILURES && !self.failures.contains(&failure) {
            self.failures.push(failure);
        }
    }

    /// Records whether a condition holds in a case; `what` describes the result if it does not.
    pub fn holds(&mut self, case: impl fmt::Display, holds: bool, what: impl FnOnce() -> String) {
        self.check(case, if holds { Ok(()) } else { Err(what()) });
    }

    /// Records that a part of the rule does not apply, and why.
    pub fn skip(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.skipped.contains(&reason) {
            self.skipped.push(reason);
        }
    }

    /// Records that a part of the rule cannot be checked on this machine, and why. In that case the rule does not count
    /// as passed.
    pub fn lack(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.lacking.contains(&reason) {
            self.lacking.push(reason);
        }
    }

    fn verdict(self) -> Verdict {
        match (self.failures.is_empty(), self.passed) {
            (false, _) => Verdict::Failed(self.failures),
            (true, _) if !self.lacking.is_empty() => {
                Verdict::Skipped(format!("not on this machine: {}", self.lacking.join("; ")))
            }
            (true, 0) if self.skipped.is_empty() => {
                Verdict::Skipped("no example that it applies to".to_owned())
            }
            (true, 0) => Verdict::Skipped(self.skipped.join("; ")),
            (true, cases) => Verdict::Passed { cases, skipped: self.skipped },
        }
    }
}

/// The result of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "reports print every verdict")]
pub enum Verdict {
    /// The rule holds.
    Passed {
        /// The number of cases; at least one.
        cases: u64,
        /// The parts of the rule that do not apply, and why.
        skipped: Vec<String>,
    },
    /// The rule does not hold.
    Failed(Vec<Failure>),
    /// The rule does not apply, for this reason.
    Skipped(String),
}

type Check = Box<dyn Fn(&mut Cases) + Send + Sync>;

/// A rule and the check for one subject.
pub struct Trial {
    rule: &'static Rule,
    check: Check,
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("rule", &self.rule.id).finish_non_exhaustive()
    }
}

impl Trial {
    /// Creates a trial of `rule`; `check` runs all cases.
    pub fn new(rule: &'static Rule, check: impl Fn(&mut Cases) + Send + Sync + 'static) -> Self {
        Self { rule, check: Box::new(check) }
    }

    /// Adds cases after the existing ones.
    fn also(&mut self, more: impl Fn(&mut Cases) + Send + Sync + 'static) {
        let check = std::mem::replace(&mut self.check, Box::new(|_| ()));
        self.check = Box::new(move |cases| {
            check(cases);
            more(cases);
        });
    }

    /// Returns the rule.
    #[must_use]
    pub fn rule(&self) -> &'static Rule {
        self.rule
    }

    /// Runs all cases. A panic is a failure.
    #[must_use]
    pub fn run(&self) -> Outcome {
        let start = Instant::now();
        let mut cases = Cases::default();
        let ended = catch_unwind(AssertUnwindSafe(|| (self.check)(&mut cases)));
        if let Err(panic) = ended {
            cases.failures.push(Failure { case: "any".to_owned(), what: panic_text(&*panic) });
        }
        Outcome { rule: self.rule, verdict: cases.verdict(), time: start.elapsed() }
    }
}

/// A rule and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The rule.
    pub rule: &'static Rule,
    /// The result.
    pub verdict: Verdict,
    /// The duration of the trial.
    pub time: Duration,
}

/// A subject and its trials.
#[derive(Debug)]
pub struct Suite {
    /// The plugin under test.
    pub subject: Subject,
    /// One trial for each rule.
    pub trials: Vec<Trial>,
}

/// Returns the suites of all plugins in `registry`, ordered by extension point and name.
#[must_use]
pub fn suites_of(registry: &Registry) -> Vec<Suite> {
    let mut suites = Vec::new();
    let linked = registry;
    let registry = tried::with_stand_ins(linked);
    codec::add(&registry, &mut suites);
    chunk_grid::add(&registry, &mut suites);
    chunk_key_encoding::add(&registry, &mut suites);
    memory_layout::add(&registry, &mut suites);
    metadata_encoding::add(&registry, &mut suites);
    data_type::add(&registry, linked, &mut suites);
    storage_transformer::add(&registry, &mut suites);
    extension::add(&registry, &mut suites);
    store::add(linked, &mut suites);
    suites.sort_by(|a, b| {
        let key = |suite: &Suite| (suite.subject.point, suite.subject.name.clone());
        key(a).cmp(&key(b))
    });
    suites
}

thread_local! {
    /// The location of this thread's last panic, if [`note_panic`] is the panic hook.
    static PANICKED_AT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records where a thread panics, for the report of the rule. Panics of threads other than the main one are also
/// printed, since a plugin may have started those threads.
fn note_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string);
    if std::thread::current().name() != Some("main") {
        eprintln!("{info}");
    }
    PANICKED_AT.set(place);
}

/// Returns the message of a panic, with its location if that is known.
fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "of an unknown kind",
    };
    match PANICKED_AT.take() {
        Some(place) => format!("a panic at {place}: {text}"),
        None => format!("a panic: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_cannot_be_fully_checked_on_this_machine_does_not_pass() {
        let mut cases = Cases::default();
        cases.check("one", Ok(()));
        cases.skip("strings have no order");
        cases.lack("`prlimit` cannot be run");
        cases.lack("`prlimit` cannot be run");
        let told = "not on this machine: `prlimit` cannot be run";
        assert_eq!(cases.verdict(), Verdict::Skipped(told.to_owned()));
        let mut broken = Cases::default();
        broken.lack("`prlimit` cannot be run");
        broken.check("one", Err("no answer".to_owned()));
        assert!(matches!(broken.verdict(), Verdict::Failed(failures) if failures.len() == 1));
    }
}
