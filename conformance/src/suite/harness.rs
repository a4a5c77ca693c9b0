//! Suites as tests of a crate: one trial per rule, which `cargo test` and other runners list and choose from.

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Failed, Trial as Test};
use zarr_spec::Registry;
use zarr_spec::registry::DuplicateIdentifier;

use super::codec::{Fixture, add_fixtures};
use super::{Again, Level, Report, Suite, Verdict, suites_of};

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
///
/// [`Fixture`]: crate::suite::Fixture
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
    let arguments = Arguments::from_args();
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
            if let Ok(again) = Again::with(&[]) {
                again.isolate(&mut suites);
            }
            tests.extend(suites.into_iter().flat_map(tests_of));
        }
        Err(error) => {
            let what = error.to_string();
            tests.push(Test::test("identifiers are not taken", move || Err(Failed::from(what))));
        }
    }
    libtest_mimic::run(&arguments, tests).exit_code()
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

fn tests_of(suite: Suite) -> impl Iterator<Item = Test> {
    let subject = suite.subject.to_string();
    suite.trials.into_iter().map(move |trial| {
        let rule = trial.rule();
        let name = format!("{subject}: {} {}", rule.level, rule.id);
        Test::ignorable_test(name, move || match trial.run().verdict {
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
    let source = std::fs::read_to_string(file)
        .map_err(|error| Failed::from(format!("`{}` cannot be read: {error}", file.display())))?;
    let Some(line) = source.lines().position(|line| line.trim_start().starts_with("#[test]")) else {
        return Ok(());
    };
    let what =
        format!("{}:{}: this test is never run; it belongs in a file of its own", file.display(), line + 1);
    Err(what.into())
}
