//! `cargo xtask test`: every check that this workspace has, one after another, and a table at the end.
//!
//! All steps run, also after one has failed. What the machine lacks is skipped, which a line says and the
//! end counts; with `CI=true` a skip is a failure.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::builder::PossibleValuesParser;
use counts::Counts;

use crate::python::Package;
use crate::workspace::Workspace;
use crate::{Failure, instructions, requirements, semver, tidy};

mod counts;
mod package;

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    /// The machine lacks what this says.
    Skipped(String),
}

/// What the steps share.
#[derive(Debug)]
struct Run<'a> {
    workspace: &'a Workspace,
    /// Where cargo builds, absolute.
    target: PathBuf,
    counts: Counts,
}

type Step = fn(&mut Run<'_>) -> Result<Outcome, String>;

/// In the order of how soon they tell, with the long ones last; names are arguments of the command.
const STEPS: &[(&str, Step)] = &[
    ("format", format),
    ("tidy", tidy_step),
    ("clippy", |run| clippy(run, &[])),
    ("clippy-all-features", |run| clippy(run, &["--all-features"])),
    ("features", features),
    ("tests", tests),
    ("python", python_step),
    ("docs", docs),
    ("package", package::step),
    ("deny", deny),
    ("semver", semver_step),
    ("requirements", requirements_step),
    ("instructions", instructions_step),
];

/// Which steps run.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Steps to run; all of them by default
    #[arg(value_name = "STEP", value_parser = PossibleValuesParser::new(STEPS.iter().map(|(name, _)| *name)))]
    steps: Vec<String>,
}

impl Options {
    /// This step alone.
    pub(crate) fn only(step: &str) -> Self {
        Self { steps: vec![step.to_owned()] }
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), Failure> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let mut run = Run { workspace, target: workspace.root.join(target), counts: Counts::default() };
    let mut rows = Vec::new();
    for (name, step) in
        STEPS.iter().filter(|(name, _)| options.steps.is_empty() || options.steps.iter().any(|it| it == name))
    {
        println!("\n=== {name} ===");
        let start = Instant::now();
        let outcome = step(&mut run).unwrap_or_else(Outcome::Failed);
        if let Outcome::Skipped(reason) = &outcome {
            run.counts.skips.push(format!("{name}: {reason}"));
            println!("SKIPPED: {reason}");
        }
        rows.push((*name, outcome, start.elapsed().as_secs_f64()));
    }
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    print!("{}", summary(&rows, &run.counts, is_ci));
    if is_good(&rows, &run.counts, is_ci) { Ok(()) } else { Err(Failure::Checks) }
}

/// Where a skip is a failure, nothing may have been skipped.
fn is_good(rows: &[(&str, Outcome, f64)], counts: &Counts, is_ci: bool) -> bool {
    let has_failed = rows.iter().any(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_)));
    !has_failed && counts.failed == 0 && !(is_ci && counts.skipped() > 0)
}

/// The end of the output. Its last line is for programs.
fn summary(rows: &[(&str, Outcome, f64)], counts: &Counts, is_ci: bool) -> String {
    let mut lines = vec!["\n=== summary ===".to_owned()];
    lines.extend(counts.skips.iter().map(|skip| format!("SKIPPED: {skip}")));
    if is_ci && counts.skipped() > 0 {
        lines.push("CI=true: what was skipped counts as failed".to_owned());
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
    /// The cargo that started this program, at the workspace's root and without the terminal's input.
    fn cargo(&self, arguments: &[&str]) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(arguments).current_dir(&self.workspace.root).stdin(Stdio::null());
        command
    }

    /// Whether a component or subcommand of cargo is installed.
    fn has(&self, subcommand: &str) -> bool {
        let mut command = self.cargo(&[subcommand, "--version"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }
}

/// Runs a command to its end; its output goes where ours goes.
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

/// With every feature it compiles C++, which nothing else here needs. `cargo xtask bench --peers` builds it.
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

/// All tests of all crates with all features. Plain `cargo test`, since it runs the examples in the docs too.
fn tests(run: &mut Run<'_>) -> Result<Outcome, String> {
    let skips = run.target.join("skips.txt");
    fs::create_dir_all(&run.target).map_err(|error| format!("{}: {error}", run.target.display()))?;
    fs::write(&skips, "").map_err(|error| format!("{}: {error}", skips.display()))?;
    // Tests append a line here for what the machine lacks: the harness shows no output of a test that passed.
    let mut command = run.cargo(&["test", "--workspace", "--all-features", "--no-fail-fast"]);
    command.args(WITH_CPLUSPLUS).env("ZARR_SKIPS", &skips);
    let outcome = run.counts.watch(&mut command, &mut io::stdout())?;
    let lines = fs::read_to_string(&skips).map_err(|error| format!("{}: {error}", skips.display()))?;
    run.counts.skips.extend(lines.lines().filter(|line| !line.trim().is_empty()).map(counts::without_label));
    Ok(outcome)
}

/// The wheel of the Python package, and its tests.
fn python_step(run: &mut Run<'_>) -> Result<Outcome, String> {
    let package = match Package::find(run.workspace, &run.target) {
        Ok(package) => package,
        Err(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let [format, lint] = package.lints();
    for mut command in [package.build()?, format, lint] {
        let outcome = finish(&mut command)?;
        if outcome != Outcome::Passed {
            return Ok(outcome);
        }
    }
    let installed = finish(&mut package.install()?)?;
    if installed != Outcome::Passed {
        return Ok(installed);
    }
    run.counts.watch(&mut package.tests(), &mut io::stdout())
}

/// The umbrella without any plugin, and with those that need no C compiler. Codecs that have two ways of doing it are
/// tested also without a C library; all other tests run with it.
fn features(run: &mut Run<'_>) -> Result<Outcome, String> {
    let without_default = ["check", "--package", "zarr-kit", "--no-default-features"];
    let bare = finish(&mut run.cargo(&without_default))?;
    let pure = finish(run.cargo(&without_default).args(["--features", "pure"]))?;
    let portable = ["test", "--package", "zarr-codec-gzip", "--package", "zarr-codec-zlib"];
    let portable = finish(&mut run.cargo(&portable))?;
    if let Some(failed) = [bare, pure, portable].into_iter().find(|outcome| *outcome != Outcome::Passed) {
        return Ok(failed);
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
            Outcome::Failed(format!("feature `pure` of zarr-kit brings `{builder}`, a builder of C code"))
        }
        None => Outcome::Passed,
    })
}

/// The first crate in the listing of a dependency tree that compiles or finds C libraries.
fn builder_of_c(tree: &str) -> Option<&'static str> {
    const BUILDERS: &[&str] = &["cc", "cmake", "pkg-config", "vcpkg", "bindgen"];
    let packages: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    BUILDERS.iter().copied().find(|builder| packages.contains(builder))
}

fn docs(run: &mut Run<'_>) -> Result<Outcome, String> {
    let mut command = run.cargo(&["doc", "--workspace", "--no-deps", "--all-features"]);
    finish(command.args(WITH_CPLUSPLUS).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Licences and sources, and the advisories where their database can be reached.
fn deny(run: &mut Run<'_>) -> Result<Outcome, String> {
    if !run.has("deny") {
        return lacks("cargo-deny");
    }
    let policies = finish(&mut run.cargo(&["deny", "check", "licenses", "bans", "sources"]))?;
    if policies != Outcome::Passed {
        return Ok(policies);
    }
    if finish(&mut run.cargo(&["deny", "fetch", "db"]))? != Outcome::Passed {
        println!("advisories were not checked: their database cannot be reached from this machine");
        return Ok(Outcome::Passed);
    }
    finish(&mut run.cargo(&["deny", "--offline", "check", "advisories"]))
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn the_last_line_is_for_programs_and_skips_are_listed() {
        let rows = [
            ("format", Outcome::Passed, 0.25),
            ("docs", Outcome::Failed("cargo doc".to_owned()), 12.0),
            ("deny", Outcome::Skipped("cargo-deny is not installed".to_owned()), 0.0),
        ];
        let counts = Counts {
            passed: 7,
            failed: 1,
            ignored: 1,
            not_applicable: 0,
            skips: vec!["deny: none".to_owned()],
        };
        let text = summary(&rows, &counts, true);
        assert!(text.contains("\nSKIPPED: deny: none\n"));
        assert!(text.contains("\nformat                   0.2 s  passed\n"));
        assert!(text.contains("\ndocs                    12.0 s  FAILED: cargo doc\n"));
        assert!(text.contains("CI=true"));
        assert!(text.ends_with("\ntests: 7 passed, 1 failed, 2 skipped\n"));
    }

    #[test]
    fn a_skip_is_a_failure_only_where_nothing_may_lack() {
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
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("somewhere/bin/cargo");
        assert_eq!(shown(command.args(["doc", "--no-deps"])), "cargo doc --no-deps");
    }

    #[test]
    fn a_builder_of_c_code_is_found_by_its_whole_name() {
        assert_eq!(builder_of_c("zarr-kit v0.1.0 (/x)\nzstd-sys v2.0\ncc v1.2.0\n"), Some("cc"));
        assert_eq!(builder_of_c("zarr-kit v0.1.0 (/x)\nccc v1.0\nserde v1.0 (*)\n"), None);
    }
}
