//! Suites as tests of a crate: one trial per rule, which `cargo test` and other runners list and choose from.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{env, fs, io};

use libtest_mimic::{Arguments, Completion, Failed, Trial as Test};
use zarr_spec::Registry;
use zarr_spec::host::registry::DuplicateIdentifier;

use super::codec::{Fixture, add_fixtures};
use super::worker::{is_worker, serve};
use super::workers::{Listed, WorkerOptions, Workers};
use super::{Again, Level, Outcome, Report, Subject, Suite, VERSION, Verdict, suites_of};

/// Holds the plugins of the crates that are named to their suites. This is all that a test file has to say:
///
/// ```text
/// zarr_conformance::conformance_tests!(zarr_codec_gzip);
/// ```
///
/// In the manifest the test has `harness = false`:
///
/// ```toml
/// [[test]]
/// name = "conformance"
/// harness = false
/// ```
///
/// A crate that brings the plugins of others along says `conformance_tests!(all of my_collection)`: then every linked plugin
/// is held to its suite, whatever crate it comes from.
///
/// Bytes from elsewhere that a codec has to read are a list of [`Fixture`]s: `conformance_tests!(my_codec; fixtures: FIXTURES)`.
/// Codecs that other programs have under the same name are held to bytes of those in any case.
///
/// [`Fixture`]: crate::suite::Fixture
///
/// Where the environment variable `ZARR_CONFORMANCE_REPORT` names a file, a report is written to it: a page (`.html`), JSON
/// (`.json`), JUnit's XML (`.xml`), or text. A relative path begins in the folder of the crate.
///
/// Rules are checked in other processes of the same program, so that an abort, a stack overflow or an endless loop fails the
/// rule that it happens in, and the other rules are still checked. These environment variables change that:
///
/// | variable | effect |
/// |---|---|
/// | `ZARR_CONFORMANCE_TIME_LIMIT` | seconds that one rule may take; 240 if it is not set |
/// | `ZARR_CONFORMANCE_THOROUGH` | if set, codecs are checked twice, with buffers that end at a guard page and that start after one, and with large chunks of every example |
/// | `ZARR_CONFORMANCE_IN_PROCESS` | if set, rules are checked in the process of the test, for a debugger |
///
/// Tests with `#[test]` belong in another file: in this one nobody would run them, so that they are refused.
#[macro_export]
macro_rules! conformance_tests {
    (all of $($plugin:ident),+ $(,)?) => {
        $crate::conformance_tests!(@ None, &[], $($plugin),+);
    };
    ($($plugin:ident),+ $(,)?) => {
        $crate::conformance_tests!(@ Some(env!("CARGO_PKG_NAME")), &[], $($plugin),+);
    };
    ($($plugin:ident),+; fixtures: $fixtures:expr) => {
        $crate::conformance_tests!(@ Some(env!("CARGO_PKG_NAME")), $fixtures, $($plugin),+);
    };
    (@ $package:expr, $fixtures:expr, $($plugin:ident),+) => {
        $(use $plugin as _;)+

        #[global_allocator]
        static ALLOCATOR: $crate::suite::CountingAllocator = $crate::suite::CountingAllocator;

        fn main() -> ::std::process::ExitCode {
            $crate::suite::run_linked($package, $fixtures, env!("CARGO_MANIFEST_DIR"), file!())
        }

        /// Only built where the manifest lacks `harness = false`, and then nothing else is run.
        #[test]
        fn the_manifest_says_that_this_test_has_no_harness() {
            panic!("the conformance tests have not run: `[[test]]` of this file needs `harness = false`");
        }
    };
}

/// The suites of the linked plugins that come from `package`, or of all, as tests. [`conformance_tests!`] calls it.
///
/// [`conformance_tests!`]: crate::conformance_tests
pub fn run_linked(
    package: Option<&str>,
    fixtures: &'static [Fixture],
    manifest_folder: &str,
    file: &str,
) -> ExitCode {
    if Again::is_asked_for() {
        let served = Registry::linked().map_err(|error| error.to_string()).and_then(|it| Again::serve(&it));
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if is_worker() {
        return work(package, fixtures);
    }
    let arguments = Arguments::from_args();
    let collected = Collected::default();
    let mut subjects = Vec::new();
    let mut tests = vec![Test::test("every test of this file is run", {
        let file =
            Path::new(manifest_folder).join("tests").join(Path::new(file).file_name().unwrap_or_default());
        move || no_other_tests(&file)
    })];
    match linked(package, fixtures) {
        Ok(suites) if suites.is_empty() => {
            tests.push(Test::test("the crate has plugins", {
                let whose = package.map_or_else(String::new, |package| format!(" of crate `{package}`"));
                let what = format!("no plugin{whose} is registered in this program");
                move || Err(Failed::from(what))
            }));
        }
        Ok(mut suites) => {
            isolate(&mut suites);
            subjects = suites.iter().map(|suite| suite.subject.clone()).collect();
            let workers = match workers() {
                Ok(workers) => workers,
                Err(what) => {
                    eprintln!("error: {what}");
                    return ExitCode::FAILURE;
                }
            };
            let of_one = |(number, suite)| tests_of(number, suite, &collected, workers.as_ref());
            tests.extend(suites.into_iter().enumerate().flat_map(of_one));
        }
        Err(error) => {
            let what = error.to_string();
            tests.push(Test::test("identifiers are not taken", move || Err(Failed::from(what))));
        }
    }
    let status = libtest_mimic::run(&arguments, tests).exit_code();
    let Some(file) = env::var_os(REPORT).map(PathBuf::from) else { return status };
    if let Err(error) = write_to(&file, &collected.report(&subjects)) {
        eprintln!("{}: {error}", file.display());
        return ExitCode::FAILURE;
    }
    status
}

/// What this process does if it was started to check rules.
fn work(package: Option<&str>, fixtures: &'static [Fixture]) -> ExitCode {
    let suites = linked(package, fixtures).map_err(|error| error.to_string()).map(|mut suites| {
        isolate(&mut suites);
        suites
    });
    match serve(suites) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::FAILURE
        }
    }
}

fn isolate(suites: &mut [Suite]) {
    if let Ok(again) = Again::with(&[]) {
        again.isolate(suites);
    }
}

/// Processes that check rules; none if the environment or the system asks for this one.
fn workers() -> Result<Option<Arc<Workers>>, String> {
    if !cfg!(unix) || env::var_os(IN_PROCESS).is_some() {
        return Ok(None);
    }
    let mut options = WorkerOptions { is_thorough: env::var_os(THOROUGH).is_some(), ..Default::default() };
    if let Some(seconds) = env::var_os(TIME_LIMIT) {
        let parsed = seconds.to_str().and_then(|seconds| seconds.parse().ok()).filter(|seconds| *seconds > 0);
        let what = || format!("{TIME_LIMIT} is {seconds:?}; expected a number of seconds from 1 on");
        options.time = Duration::from_secs(parsed.ok_or_else(what)?);
    }
    let again = Again::with(&[]).map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(Workers::new(again, options))))
}

/// Set to check all rules in the process of the test, for a debugger.
const IN_PROCESS: &str = "ZARR_CONFORMANCE_IN_PROCESS";

/// Set to check codecs next to guard pages and with more large chunks.
const THOROUGH: &str = "ZARR_CONFORMANCE_THOROUGH";

/// How many seconds a rule may take.
const TIME_LIMIT: &str = "ZARR_CONFORMANCE_TIME_LIMIT";

/// Names the file that a report is written to.
const REPORT: &str = "ZARR_CONFORMANCE_REPORT";

/// What became of the rules that were looked at, by the place of their suite and their own place in that.
#[derive(Debug, Clone, Default)]
struct Collected(Arc<Mutex<BTreeMap<(usize, usize), Outcome>>>);

impl Collected {
    fn add(&self, suite: usize, trial: usize, outcome: Outcome) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((suite, trial), outcome);
    }

    /// Of those subjects that were looked at: the command line may choose.
    fn report(&self, subjects: &[Subject]) -> Report {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let outcomes = |suite: usize| -> Vec<Outcome> {
            all.range((suite, 0)..=(suite, usize::MAX)).map(|(_, outcome)| outcome.clone()).collect()
        };
        let subjects = subjects.iter().enumerate().map(|(number, it)| (it.clone(), outcomes(number)));
        Report {
            version: VERSION,
            up_to: Level::L4,
            subjects: subjects.filter(|(_, outcomes)| !outcomes.is_empty()).collect(),
        }
    }
}

fn write_to(file: &Path, report: &Report) -> io::Result<()> {
    let text = match file.extension().and_then(OsStr::to_str) {
        Some("html") => {
            report.to_html("Conformance of Zarr plugins", "cargo test --test conformance -- {subject}")
        }
        Some("json") => report.to_json().to_string(),
        Some("xml") => report.to_junit(),
        _ => report.to_string(),
    };
    fs::write(file, text)
}

/// What the plugins that are linked from `package`, or all, come to, up to `level`.
///
/// # Errors
///
/// Two plugins with one identifier.
pub fn report_of_linked(package: Option<&str>, level: Level) -> Result<Report, DuplicateIdentifier> {
    Ok(Report::of(&linked(package, &[])?, level))
}

fn linked(package: Option<&str>, fixtures: &'static [Fixture]) -> Result<Vec<Suite>, DuplicateIdentifier> {
    let registry = Registry::linked()?;
    let mut suites = suites_of(&registry);
    suites.retain(|suite| package.is_none_or(|package| suite.subject.package == package));
    add_fixtures(&registry, fixtures, &mut suites);
    Ok(suites)
}

fn tests_of(
    number: usize,
    suite: Suite,
    collected: &Collected,
    workers: Option<&Arc<Workers>>,
) -> impl Iterator<Item = Test> + use<> {
    let listed = Arc::new(Listed::of(&suite));
    let collected = collected.clone();
    let workers = workers.cloned();
    suite.trials.into_iter().enumerate().map(move |(place, trial)| {
        let rule = trial.rule();
        let collected = collected.clone();
        let listed = Arc::clone(&listed);
        let workers = workers.clone();
        let name = format!("{}: {} {}", listed.subject, rule.level, rule.id);
        let run = move || {
            let outcome = match &workers {
                Some(workers) => workers.outcome(number, place, &listed),
                None => trial.run(),
            };
            collected.add(number, place, outcome.clone());
            outcome.verdict
        };
        Test::ignorable_test(name, move || match run() {
            Verdict::Passed { .. } => Ok(Completion::Completed),
            Verdict::Skipped(reason) => Ok(Completion::ignored_with(reason)),
            Verdict::Failed(failures) => {
                let mut text = format!("{}\n(source: {})", rule.sentence, rule.source);
                for failure in failures {
                    text.push_str(&format!("\n- {}: {}", failure.case, failure.what));
                }
                Err(Failed::from(text))
            }
        })
    })
}

/// A `#[test]` in a file without a harness is compiled to nothing.
fn no_other_tests(file: &Path) -> Result<(), Failed> {
    let source = fs::read_to_string(file)
        .map_err(|error| Failed::from(format!("`{}` cannot be read: {error}", file.display())))?;
    let Some(line) = source.lines().position(|line| line.trim_start().starts_with("#[test]")) else {
        return Ok(());
    };
    let what =
        format!("{}:{}: this test is never run; it belongs in a file of its own", file.display(), line + 1);
    Err(what.into())
}
