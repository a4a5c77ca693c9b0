//! Suites as tests of a crate: one trial per rule, which `cargo test` and other runners can list and select.

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

/// Tests the plugins of the given crates with their suites. A test file needs only this line:
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
/// A crate that collects the plugins of other crates uses `conformance_tests!(all of my_collection)`, which tests
/// every linked plugin, from any crate.
///
/// A list of [`Fixture`]s adds bytes that a codec must decode: `conformance_tests!(my_codec; fixtures: FIXTURES)`.
/// The suite always includes its own fixtures for codecs with names that other programs also use.
///
/// [`Fixture`]: crate::suite::Fixture
///
/// If the environment variable `ZARR_CONFORMANCE_REPORT` names a file, a report is written to it: an HTML page
/// (`.html`), JSON (`.json`), JUnit XML (`.xml`), or text. A relative path is relative to the folder of the crate.
///
/// Rules run in other processes of the same program. An abort, a stack overflow or an endless loop therefore fails
/// only the rule that causes it. These environment variables change the behavior:
///
/// | variable | effect |
/// |---|---|
/// | `ZARR_CONFORMANCE_TIME_LIMIT` | maximum seconds per rule; 240 by default |
/// | `ZARR_CONFORMANCE_THOROUGH` | if set, codecs are checked twice, with buffers that end at a guard page and that start after one, and with large chunks of every example |
/// | `ZARR_CONFORMANCE_IN_PROCESS` | if set, rules run in the process of the test, for a debugger |
///
/// Functions with `#[test]` belong in another file. In this file they would never run, so they are refused.
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

        /// Built only if the manifest lacks `harness = false`; nothing else runs in that case.
        #[test]
        fn the_manifest_says_that_this_test_has_no_harness() {
            panic!("the conformance tests did not run: `[[test]]` of this file needs `harness = false`");
        }
    };
}

/// Runs the suites of the linked plugins from `package`, or of all plugins, as tests. [`conformance_tests!`] calls
/// it.
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
    let mut tests = vec![Test::test("every test in this file runs", {
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
            tests.push(Test::test("identifiers are unique", move || Err(Failed::from(what))));
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

/// Runs this process as a worker that checks rules.
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

/// Returns the worker processes, or none if the environment or the system requires checking rules in this process.
fn workers() -> Result<Option<Arc<Workers>>, String> {
    if !cfg!(unix) || env::var_os(IN_PROCESS).is_some() {
        return Ok(None);
    }
    let mut options = WorkerOptions { is_thorough: env::var_os(THOROUGH).is_some(), ..Default::default() };
    if let Some(seconds) = env::var_os(TIME_LIMIT) {
        let parsed = seconds.to_str().and_then(|seconds| seconds.parse().ok()).filter(|seconds| *seconds > 0);
        let what = || format!("{TIME_LIMIT} is {seconds:?}; expected a number of seconds, at least 1");
        options.time = Duration::from_secs(parsed.ok_or_else(what)?);
    }
    let again = Again::with(&[]).map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(Workers::new(again, options))))
}

/// If this environment variable is set, all rules are checked in the process of the test, for a debugger.
const IN_PROCESS: &str = "ZARR_CONFORMANCE_IN_PROCESS";

/// If this environment variable is set, codecs are checked with guard pages and more large chunks.
const THOROUGH: &str = "ZARR_CONFORMANCE_THOROUGH";

/// The environment variable with the maximum number of seconds per rule.
const TIME_LIMIT: &str = "ZARR_CONFORMANCE_TIME_LIMIT";

/// The environment variable with the path of the report.
const REPORT: &str = "ZARR_CONFORMANCE_REPORT";

/// The outcomes of the rules that ran, by the index of the suite and the index of the rule in it.
#[derive(Debug, Clone, Default)]
struct Collected(Arc<Mutex<BTreeMap<(usize, usize), Outcome>>>);

impl Collected {
    fn add(&self, suite: usize, trial: usize, outcome: Outcome) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((suite, trial), outcome);
    }

    /// Returns the report about the subjects that ran. The command line may have selected only some.
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

/// Returns the report about the plugins linked from `package`, or about all plugins, up to `level`.
///
/// # Errors
///
/// If two plugins have the same identifier.
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

/// Checks that the file has no `#[test]` functions, which are compiled to nothing in a file without a harness.
fn no_other_tests(file: &Path) -> Result<(), Failed> {
    let source = fs::read_to_string(file)
        .map_err(|error| Failed::from(format!("`{}` cannot be read: {error}", file.display())))?;
    let Some(line) = source.lines().position(|line| line.trim_start().starts_with("#[test]")) else {
        return Ok(());
    };
    let what = format!("{}:{}: this test never runs; move it to another file", file.display(), line + 1);
    Err(what.into())
}
