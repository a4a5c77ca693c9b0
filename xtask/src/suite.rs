//! `cargo xtask test`: every check that this workspace has, and a table at the end.
//!
//! The tests run in the background once they are built, while the next steps run. A failed step does not stop the others.
//! The first lines name the programs that the machine lacks. Their steps and tests are skipped and counted at the end; with
//! `CI=true` a skip is a failure.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::builder::PossibleValuesParser;
use counts::Counts;

use crate::python::Package;
use crate::workspace::Workspace;
use crate::{Failure, instructions, requirements, semver, tidy};

mod background;
mod counts;
mod package;
mod publish;
mod tools;

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    /// The machine lacks something, which the text names.
    Skipped(String),
}

/// The state that the steps share.
#[derive(Debug)]
struct Run<'a> {
    workspace: &'a Workspace,
    /// The absolute path of the target folder.
    target: PathBuf,
    counts: Counts,
    /// Whether each package is compiled as `cargo publish` does before an upload.
    is_verifying: bool,
    /// Whether tests with a long variant run it.
    is_long: bool,
}

/// The work of a step.
#[derive(Clone, Copy)]
enum Work {
    Step(fn(&mut Run<'_>) -> Result<Outcome, String>),
    /// The tests of all crates. The steps after them run at the same time.
    Tests,
}

/// The steps in order. The names are arguments of the command. `features` comes before the tests, because tests start
/// programs that this step builds with fewer features.
const STEPS: &[(&str, Work)] = &[
    ("format", Work::Step(format)),
    ("tidy", Work::Step(tidy_step)),
    ("features", Work::Step(features)),
    ("tests", Work::Tests),
    ("clippy", Work::Step(|run| clippy(run, &[]))),
    ("clippy-all-features", Work::Step(|run| clippy(run, &["--all-features"]))),
    ("docs", Work::Step(docs)),
    ("package", Work::Step(package::step)),
    ("publish", Work::Step(publish::step)),
    ("deny", Work::Step(deny)),
    ("semver", Work::Step(semver_step)),
    ("requirements", Work::Step(requirements_step)),
    ("instructions", Work::Step(instructions_step)),
    ("python", Work::Step(python_step)),
];

/// The variable that is `1` for tests which run their long variants.
const LONG: &str = "ZARR_LONG";

/// The number of processes in a race and the number of kills per command, for long variants.
const COUNTS: [(&str, &str); 2] = [("ZARR_KIT_RACERS", "32"), ("ZARR_KILLS", "50")];

/// The options of `cargo xtask test`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Steps to run; all of them by default
    #[arg(value_name = "STEP", value_parser = PossibleValuesParser::new(STEPS.iter().map(|(name, _)| *name)))]
    steps: Vec<String>,
    /// Compile each package in the step `publish`, as a registry does; this takes long
    #[arg(long)]
    verify: bool,
    /// Run the long variants of tests, such as all tests of zarr-python; they take more than an hour
    ///
    /// Sets the variables `ZARR_LONG=1`, and `ZARR_KIT_RACERS=32` and `ZARR_KILLS=50` unless they are set.
    #[arg(long)]
    long: bool,
}

impl Options {
    /// Returns options that run only this step.
    pub(crate) fn only(step: &str) -> Self {
        Self { steps: vec![step.to_owned()], verify: false, long: false }
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), Failure> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let mut run = Run {
        workspace,
        target: workspace.root.join(target),
        counts: Counts::default(),
        is_verifying: options.verify,
        is_long: options.long,
    };
    let is_wanted = |name: &str| options.steps.is_empty() || options.steps.iter().any(|it| it == name);
    print!("{}", tools::missing(is_wanted));
    let rows = run.steps(STEPS.iter().filter(|(name, _)| is_wanted(name)));
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    print!("{}", summary(&rows, &run.counts, is_ci));
    if is_good(&rows, &run.counts, is_ci) { Ok(()) } else { Err(Failure::Checks) }
}

/// Returns whether the run succeeded. With `CI=true`, a skip is a failure.
fn is_good(rows: &[(&str, Outcome, f64)], counts: &Counts, is_ci: bool) -> bool {
    let has_failed = rows.iter().any(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_)));
    !has_failed && counts.failed == 0 && !(is_ci && counts.skipped() > 0)
}

/// Returns the summary at the end of the output. Programs parse its last line.
fn summary(rows: &[(&str, Outcome, f64)], counts: &Counts, is_ci: bool) -> String {
    let mut lines = Vec::new();
    if !counts.failures.lines.is_empty() {
        lines.push("\n=== failed tests ===".to_owned());
        lines.extend(counts.failures.lines.iter().cloned());
    }
    lines.push("\n=== summary ===".to_owned());
    lines.extend(counts.skips.iter().map(|skip| format!("SKIPPED: {skip}")));
    if is_ci && counts.skipped() > 0 {
        lines.push("CI=true: skipped checks count as failures".to_owned());
    }
    for (name, outcome, seconds) in rows {
        let result = match outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Failed(why) => format!("FAILED: {why}"),
            Outcome::Skipped(why) => format!("SKIPPED: {why}"),
        };
        lines.push(format!("{name:<20} {seconds:>7.1} s  {result}"));
    }
    if counts.not_applicable > 0 {
        lines.push(format!("rules that do not apply to the plugin: {}", counts.not_applicable));
    }
    lines.push(format!(
        "tests: {} passed, {} failed, {} skipped\n",
        counts.passed,
        counts.failed,
        counts.skipped()
    ));
    lines.join("\n")
}

impl Run<'_> {
    /// Runs the steps and returns their names, outcomes and seconds.
    fn steps<'s>(
        &mut self,
        steps: impl Iterator<Item = &'s (&'s str, Work)>,
    ) -> Vec<(&'s str, Outcome, f64)> {
        let mut rows = Vec::new();
        let mut background = None;
        for (name, work) in steps {
            println!("\n=== {name} ===");
            let start = Instant::now();
            let outcome = match work {
                Work::Step(step) => step(self),
                Work::Tests => match background::start(self) {
                    Ok(Ok(tests)) => {
                        println!("the tests run in the background; their output follows");
                        background = Some((*name, tests));
                        continue;
                    }
                    Ok(Err(failed)) => Ok(failed),
                    Err(reason) => Err(reason),
                },
            };
            let outcome = outcome.unwrap_or_else(Outcome::Failed);
            if let Outcome::Skipped(reason) = &outcome {
                self.counts.skips.push(format!("{name}: {reason}"));
                println!("SKIPPED: {reason}");
            }
            rows.push((*name, outcome, start.elapsed().as_secs_f64()));
        }
        rows.extend(self.end(background));
        rows
    }

    /// Waits for the tests in the background and shows their output.
    fn end<'s>(
        &mut self,
        background: Option<(&'s str, background::Running)>,
    ) -> Option<(&'s str, Outcome, f64)> {
        let (name, tests) = background?;
        println!("\n=== {name}, continued ===");
        let ended = tests.finish(&mut self.counts, &mut io::stdout());
        let (outcome, seconds) = ended.unwrap_or_else(|reason| (Outcome::Failed(reason), 0.0));
        Some((name, outcome, seconds))
    }

    /// Returns a command of the cargo that started this program, in the root folder and without standard input.
    fn cargo(&self, arguments: &[&str]) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(arguments).current_dir(&self.workspace.root).stdin(Stdio::null());
        command
    }

    /// Tells tests whether to run their long variants.
    fn set_length(&self, tests: &mut Command) {
        if self.is_long {
            tests
                .env(LONG, "1")
                .envs(COUNTS.iter().filter(|(name, _)| std::env::var_os(name).is_none()).copied());
        } else {
            tests.env_remove(LONG);
        }
    }

    /// Returns whether a component or subcommand of cargo is installed.
    fn has(&self, subcommand: &str) -> bool {
        let mut command = self.cargo(&[subcommand, "--version"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }
}

/// Runs a command to its end, with the output of this program.
fn finish(command: &mut Command) -> Result<Outcome, String> {
    let status = command.status().map_err(|error| format!("{}: {error}", shown(command)))?;
    Ok(if status.success() { Outcome::Passed } else { Outcome::Failed(shown(command)) })
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn lacks(what: &str) -> Result<Outcome, String> {
    Ok(Outcome::Skipped(format!("{what} is not installed")))
}

fn format(run: &mut Run<'_>) -> Result<Outcome, String> {
    if !run.has("fmt") {
        return lacks("rustfmt");
    }
    finish(&mut run.cargo(&["fmt", "--all", "--check"]))
}

/// A package that compiles C++ if all features are enabled. No other package needs a C++ compiler.
/// `cargo xtask bench --peers` builds it.
const WITH_CPLUSPLUS: [&str; 2] = ["--exclude", "zarr-peers-zarrs"];

fn clippy(run: &mut Run<'_>, features: &[&str]) -> Result<Outcome, String> {
    if !run.has("clippy") {
        return lacks("clippy");
    }
    let mut command = run.cargo(&["clippy", "--workspace", "--all-targets"]);
    finish(command.args(WITH_CPLUSPLUS).args(features).args(["--", "-D", "warnings"]))
}

fn tidy_step(run: &mut Run<'_>) -> Result<Outcome, String> {
    own_command(tidy::run(run.workspace), "cargo xtask tidy")
}

fn semver_step(run: &mut Run<'_>) -> Result<Outcome, String> {
    own_command(semver::run(run.workspace), "cargo xtask semver")
}

fn requirements_step(run: &mut Run<'_>) -> Result<Outcome, String> {
    own_command(
        requirements::run(run.workspace, &requirements::Options::default()),
        "cargo xtask requirements",
    )
}

fn instructions_step(run: &mut Run<'_>) -> Result<Outcome, String> {
    if !instructions::IS_APPLICABLE {
        println!("does not apply: instructions are counted on Linux and x86-64");
        return Ok(Outcome::Passed);
    }
    if let Some(lacks) = instructions::lacks() {
        return Ok(Outcome::Skipped(lacks));
    }
    own_command(
        instructions::run(run.workspace, &instructions::Options::default()),
        "cargo xtask instructions",
    )
}

fn own_command(result: Result<(), Failure>, name: &str) -> Result<Outcome, String> {
    match result {
        Ok(()) => Ok(Outcome::Passed),
        Err(Failure::Checks) => Ok(Outcome::Failed(name.to_owned())),
        Err(Failure::Broken(message) | Failure::Usage(message)) => Err(message),
    }
}

/// Builds the wheel of the Python package and runs its tests.
fn python_step(run: &mut Run<'_>) -> Result<Outcome, String> {
    let package = match Package::find(run.workspace, &run.target) {
        Ok(package) => package,
        Err(reason) => return Ok(Outcome::Skipped(reason)),
    };
    for mut command in std::iter::once(package.build()?).chain(package.lints()) {
        let outcome = finish(&mut command)?;
        if outcome != Outcome::Passed {
            return Ok(outcome);
        }
    }
    let installed = finish(&mut package.install()?)?;
    if installed != Outcome::Passed {
        return Ok(installed);
    }
    let mut tests = package.tests();
    run.set_length(&mut tests);
    run.counts.watch(&mut tests, &mut io::stdout())
}

/// Builds with fewer features: the library without any plugin, and with those that need no C compiler; codecs without
/// their C library; `zarrctl` as the README builds it, and without loaded plugins. All other tests have all features.
///
/// With `zarr-shared-features`, the tests use the crates that are compiled for the tests with all features.
fn features(run: &mut Run<'_>) -> Result<Outcome, String> {
    let builds = [
        "check --package zarr-kit --no-default-features",
        "check --package zarr-kit --no-default-features --features pure",
        "test --package zarr-shared-features --package zarr-codec-gzip --package zarr-codec-zlib",
        "test --package zarr-shared-features --package zarrctl --test default",
        "test --package zarr-shared-features --package zarrctl --test default --no-default-features",
    ];
    for build in builds {
        let arguments: Vec<&str> = build.split(' ').collect();
        let outcome = finish(&mut run.cargo(&arguments))?;
        if outcome != Outcome::Passed {
            return Ok(outcome);
        }
    }
    let arguments = ["tree", "--package", "zarr-kit", "--no-default-features", "--features", "pure"];
    let mut command = run.cargo(&arguments);
    let tree = command.args(["--edges", "normal,build", "--prefix", "none"]).output();
    let tree = tree.map_err(|error| format!("{}: {error}", shown(&command)))?;
    if !tree.status.success() {
        return Ok(Outcome::Failed(shown(&command)));
    }
    Ok(match builder_of_c(&String::from_utf8_lossy(&tree.stdout)) {
        Some(builder) => {
            Outcome::Failed(format!("feature `pure` of zarr-kit depends on `{builder}`, which builds C code"))
        }
        None => Outcome::Passed,
    })
}

/// Returns the first crate in the listing of a dependency tree that compiles or finds C libraries.
fn builder_of_c(tree: &str) -> Option<&'static str> {
    const BUILDERS: &[&str] = &["cc", "cmake", "pkg-config", "vcpkg", "bindgen"];
    let packages: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    BUILDERS.iter().copied().find(|builder| packages.contains(builder))
}

fn docs(run: &mut Run<'_>) -> Result<Outcome, String> {
    let mut command = run.cargo(&["doc", "--workspace", "--no-deps", "--all-features"]);
    finish(command.args(WITH_CPLUSPLUS).env("RUSTDOCFLAGS", "-D warnings"))
}

/// The manifest of the Icechunk store, which is a separate workspace.
const ICECHUNK: &str = "stores/icechunk/Cargo.toml";

/// Checks licences and sources of dependencies, and advisories if their database can be downloaded.
fn deny(run: &mut Run<'_>) -> Result<Outcome, String> {
    if !run.has("deny") {
        return lacks("cargo-deny");
    }
    let policies = finish(&mut run.cargo(&["deny", "check", "licenses", "bans", "sources"]))?;
    if policies != Outcome::Passed {
        return Ok(policies);
    }
    if finish(&mut run.cargo(&["fetch", "--locked", "--manifest-path", ICECHUNK]))? == Outcome::Passed {
        let check = ["deny", "--manifest-path", ICECHUNK, "check", "licenses", "bans", "sources"];
        let policies = finish(&mut run.cargo(&check))?;
        if policies != Outcome::Passed {
            return Ok(policies);
        }
    } else {
        println!("{ICECHUNK} was not checked: its dependencies cannot be downloaded");
    }
    if finish(&mut run.cargo(&["deny", "fetch", "db"]))? != Outcome::Passed {
        println!("advisories were not checked: their database cannot be downloaded");
        return Ok(Outcome::Passed);
    }
    finish(&mut run.cargo(&["deny", "--offline", "check", "advisories"]))
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn the_summary_ends_in_counts_and_lists_skips() {
        let rows = [
            ("format", Outcome::Passed, 0.25),
            ("docs", Outcome::Failed("cargo doc".to_owned()), 12.0),
            ("deny", Outcome::Skipped("cargo-deny is not installed".to_owned()), 0.0),
        ];
        let mut counts = Counts {
            passed: 7,
            failed: 1,
            ignored: 1,
            skips: vec!["deny: none".to_owned()],
            ..Counts::default()
        };
        counts.failures.lines.push("assertion failed".to_owned());
        let text = summary(&rows, &counts, true);
        assert!(text.starts_with("\n=== failed tests ===\nassertion failed\n\n=== summary ===\n"));
        assert!(text.contains("\nSKIPPED: deny: none\n"));
        assert!(text.contains("\nformat                   0.2 s  passed\n"));
        assert!(text.contains("\ndocs                    12.0 s  FAILED: cargo doc\n"));
        assert!(text.contains("CI=true"));
        assert!(text.ends_with("\ntests: 7 passed, 1 failed, 2 skipped\n"));
    }

    #[test]
    fn long_tests_have_the_full_counts() {
        let workspace = Workspace::find().unwrap();
        let run = |is_long| Run {
            workspace: &workspace,
            target: PathBuf::new(),
            counts: Counts::default(),
            is_verifying: false,
            is_long,
        };
        let variables = |is_long| {
            let mut command = Command::new("tests");
            run(is_long).set_length(&mut command);
            let set = command.get_envs().map(|(name, value)| {
                (name.to_str().unwrap().to_owned(), value.map(|value| value.to_str().unwrap().to_owned()))
            });
            set.collect::<Vec<_>>()
        };
        let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        assert_eq!(
            variables(true),
            [set("ZARR_KILLS", "50"), set("ZARR_KIT_RACERS", "32"), set("ZARR_LONG", "1")]
        );
        assert_eq!(variables(false), [("ZARR_LONG".to_owned(), None)]);
    }

    #[test]
    fn a_skip_is_a_failure_only_in_ci() {
        let rows = [("deny", Outcome::Skipped("none".to_owned()), 0.0)];
        let counts = Counts { skips: vec!["deny: none".to_owned()], ..Counts::default() };
        assert!(is_good(&rows, &counts, false));
        assert!(!is_good(&rows, &counts, true));
        assert!(is_good(&[("docs", Outcome::Passed, 0.0)], &Counts::default(), true));
    }

    #[test]
    fn a_failed_step_and_a_failed_test_are_failures() {
        let failed = [("docs", Outcome::Failed("cargo doc".to_owned()), 0.0)];
        assert!(!is_good(&failed, &Counts::default(), false));
        assert!(!is_good(&[], &Counts { failed: 1, ..Counts::default() }, false));
    }

    #[test]
    fn an_unknown_step_is_refused() {
        let command = Options::augment_args(clap::Command::new("test"));
        assert!(command.clone().try_get_matches_from(["test", "format"]).is_ok());
        let error = command.try_get_matches_from(["test", "formt"]).unwrap_err().to_string();
        assert!(error.contains("formt") && error.contains("format"), "{error}");
    }

    #[test]
    fn a_command_is_shown_as_typed() {
        let mut command = Command::new("somewhere/bin/cargo");
        assert_eq!(shown(command.args(["doc", "--no-deps"])), "cargo doc --no-deps");
    }

    #[test]
    fn a_builder_of_c_code_is_found_by_its_whole_name() {
        assert_eq!(builder_of_c("zarr-kit v0.1.0 (/x)\nzstd-sys v2.0\ncc v1.2.0\n"), Some("cc"));
        assert_eq!(builder_of_c("zarr-kit v0.1.0 (/x)\nccc v1.0\nserde v1.0 (*)\n"), None);
    }
}
