//! Suites: what a plugin is held to, rule by rule, and what comes out of it.
//!
//! A [`Suite`] is a subject and its [`Trial`]s, one for each [`Rule`]. A trial goes through cases: the examples that
//! the plugin declares, in shapes and with elements that the rule asks for. What does not apply is skipped, and the
//! report says why.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use zarr_spec::Registry;
use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::plugin::{Kind, Plugin};

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

pub use allocations::{CountingAllocator, highest, requests};
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

/// The version of the rules. A rule that is added, or asks for more than before, makes a new minor version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a rule is about. Whoever reaches a level has passed all rules of it and of those below that apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Identifiers, configuration and documents.
    L0,
    /// What goes in comes out.
    L1,
    /// Damaged and hostile input.
    L2,
    /// Bytes from elsewhere.
    L3,
    /// What the engine's speed rests on.
    L4,
}

impl Level {
    /// From the lowest to the highest.
    pub const ALL: [Self; 5] = [Self::L0, Self::L1, Self::L2, Self::L3, Self::L4];

    /// What rules of this level are about.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::L0 => "identifiers, configuration and documents",
            Self::L1 => "what goes in comes out",
            Self::L2 => "damaged and hostile input",
            Self::L3 => "bytes from elsewhere",
            Self::L4 => "what speed rests on",
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

/// What a subject is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name, the same for ever: `codec-round-trip`.
    pub id: &'static str,
    /// What it is about.
    pub level: Level,
    /// The rule in one sentence.
    pub sentence: &'static str,
    /// Where it comes from: a row of the requirements, a section of a specification, or the documentation of a
    /// contract.
    pub source: &'static str,
    /// The first version of the rules that had it in this form.
    pub since: &'static str,
}

/// What is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// What kind of plugin it is.
    pub point: ExtensionPoint,
    /// Its name.
    pub name: String,
    /// The crate or library it comes from.
    pub package: String,
    /// The version of that.
    pub version: String,
}

impl Subject {
    fn of<K: Kind + ?Sized>(plugin: &Plugin<K>) -> Self {
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

/// What a rule found, case by case.
#[derive(Debug, Default)]
pub struct Cases {
    passed: u64,
    failures: Vec<Failure>,
    skipped: Vec<String>,
    lacking: Vec<String>,
}

/// A case in which a rule was broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What was tried, so that it can be tried again.
    pub case: String,
    /// What came of it.
    pub what: String,
}

/// More failures of one rule help nobody.
const MOST_FAILURES: usize = 20;

impl Cases {
    /// Notes what came of a case. A failure that is already known is not repeated.
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

    /// Notes whether something holds in a case, and if not, what is there instead.
    pub fn holds(&mut self, case: impl fmt::Display, holds: bool, what: impl FnOnce() -> String) {
        self.check(case, if holds { Ok(()) } else { Err(what()) });
    }

    /// Notes that something does not apply, and why.
    pub fn skip(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.skipped.contains(&reason) {
            self.skipped.push(reason);
        }
    }

    /// Notes that a part cannot be looked at on this machine, and why: the rule is not held to have passed then.
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

/// What became of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It holds.
    Passed {
        /// In so many cases; at least one.
        cases: u64,
        /// Parts of it that do not apply, and why.
        skipped: Vec<String>,
    },
    /// It does not hold.
    Failed(Vec<Failure>),
    /// It does not apply.
    Skipped(String),
}

type Check = Box<dyn Fn(&mut Cases) + Send + Sync>;

/// A rule that a subject is held to.
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
    /// Holds a subject to `rule`: `check` goes through all cases.
    pub fn new(rule: &'static Rule, check: impl Fn(&mut Cases) + Send + Sync + 'static) -> Self {
        Self { rule, check: Box::new(check) }
    }

    /// Goes through more cases after those that there are.
    fn also(&mut self, more: impl Fn(&mut Cases) + Send + Sync + 'static) {
        let check = std::mem::replace(&mut self.check, Box::new(|_| ()));
        self.check = Box::new(move |cases| {
            check(cases);
            more(cases);
        });
    }

    /// The rule.
    #[must_use]
    pub fn rule(&self) -> &'static Rule {
        self.rule
    }

    /// Goes through all cases. A panic is a failure.
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

/// A rule, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The rule.
    pub rule: &'static Rule,
    /// What became of it.
    pub verdict: Verdict,
    /// How long that took.
    pub time: Duration,
}

/// A subject, and all that it is held to.
#[derive(Debug)]
pub struct Suite {
    /// What is tested.
    pub subject: Subject,
    /// One for each rule.
    pub trials: Vec<Trial>,
}

/// The suites of all plugins in `registry`: by extension point, and by name.
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
    /// Where this thread panicked last, if [`note_panic`] is the hook.
    static PANICKED_AT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A hook that notes where a thread panics, for the report of the rule. Threads other than the first one also print it,
/// since a plugin may have started them.
fn note_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string);
    if std::thread::current().name() != Some("main") {
        eprintln!("{info}");
    }
    PANICKED_AT.set(place);
}

/// What a panic says, and where it happened if that is known.
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
    fn a_rule_of_which_a_part_cannot_be_looked_at_here_has_not_passed() {
        let mut cases = Cases::default();
        cases.check("one", Ok(()));
        cases.skip("strings have no order");
        cases.lack("`prlimit` cannot be run");
        cases.lack("`prlimit` cannot be run");
        let told = "not on this machine: `prlimit` cannot be run";
        assert_eq!(cases.verdict(), Verdict::Skipped(told.to_owned()));
        let mut broken = Cases::default();
        broken.lack("`prlimit` cannot be run");
        broken.check("one", Err("nothing came".to_owned()));
        assert!(matches!(broken.verdict(), Verdict::Failed(failures) if failures.len() == 1));
    }
}
