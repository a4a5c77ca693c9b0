//! `cargo xtask bench --peers`: compares this engine with its peers and with the limits of the machine, in one run.
//!
//! Each program is a process that runs during the whole comparison and receives requests as lines. Each round runs all
//! programs in turn, so that noise affects all of them alike. See `benches/NOTES.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::builder::RangedU64ValueParser;

use crate::python::Package;
use crate::workspace::Workspace;
use crate::{Failure, say};

mod aims;
mod cases;
mod chart;
mod clock;
mod comparison;
mod container;
mod copy;
mod datasets;
mod far_store;
mod folder;
mod group;
mod machine;
mod programs;
// Included as a file: a separate crate would be one more to build.
#[path = "../../conformance/interop/src/environment/python.rs"]
pub(crate) mod python;
mod report;
mod runner;
mod statistics;
mod table;

use cases::Case;
use comparison::Comparison;
use container::Container;
use group::Group;
use programs::Program;
use report::Report;

pub(crate) use programs::environment;

/// The page that `--publish` writes all tables to.
const RESULTS: &str = "benches/RESULTS.md";

/// The page to which `--publish` writes the summary of the cases with local files, and the chart.
const PAGE: &str = "docs/performance.md";
const CHART: &str = "docs/performance.svg";

/// The Markdown of the chart in the page.
const IMAGE: &str = "![Time of each peer relative to this engine](performance.svg)\n\n";

/// The options of `cargo xtask bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Compare with the peers: zarrs, tensorstore and zarr-python
    #[arg(long, required = true)]
    peers: bool,
    /// Run only cases whose name contains PATTERN
    #[arg(long = "case", value_name = "PATTERN")]
    patterns: Vec<String>,
    /// Compare only with this program; `ours` runs only this engine
    #[arg(long = "peer", value_name = "NAME", value_parser = Program::named)]
    only: Vec<Program>,
    /// Also compare the Python package of this workspace, zarrista and xarray
    ///
    /// Builds a wheel. Leaves out cases that differ from the others only in codecs. With `--far`, also from a store that
    /// waits before each response.
    #[arg(long)]
    python: bool,
    /// Measure `peer-zarr-kit`, built from another commit, in the same rounds
    #[arg(long, value_name = "PROGRAM")]
    baseline: Option<PathBuf>,
    /// Rounds of each case
    #[arg(long, default_value_t = 9, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    rounds: usize,
    /// Folder for the data, about 2 GiB
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    folder: PathBuf,
    /// Use small data, to check that everything runs
    #[arg(long)]
    quick: bool,
    /// Run the long cases of growing sizes instead
    #[arg(long)]
    large: bool,
    /// Run the cases of a store that waits before each response instead
    #[arg(long, conflicts_with = "large")]
    far: bool,
    /// Run the cases of whole programs instead: copies, checks and digests by `zarrctl`
    ///
    /// Copies are compared with `cp`, and with Cubed and Dask.
    #[arg(long, conflicts_with_all = ["large", "far", "python", "baseline"])]
    copy: bool,
    /// The size of the array that gets other chunks, in GiB; others have a quarter of it
    #[arg(long, value_name = "SIZE", default_value_t = 4, requires = "copy")]
    #[arg(value_parser = RangedU64ValueParser::<u64>::new().range(1..=1024))]
    gib: u64,
    #[command(flatten)]
    network: far_store::Network,
    /// List the cases
    #[arg(long)]
    list: bool,
    /// Write the results to benches/RESULTS.md, and their summary to docs/performance.md
    #[arg(long, conflicts_with_all = ["quick", "patterns", "only", "baseline", "delay", "bandwidth", "slow", "tls"])]
    publish: bool,
}

impl Options {
    fn group(&self) -> Group {
        match (self.large, self.far, self.copy) {
            (true, ..) => Group::Growth,
            (false, true, _) => Group::Far,
            (false, false, true) => Group::Copy,
            (false, false, false) => Group::Near,
        }
    }

    fn cases(&self) -> Vec<Case> {
        let cases = match self.copy {
            true => cases::copies(self.quick, self.gib),
            false => cases::all(self.quick, self.group()),
        };
        let is_wanted = |case: &Case| match &*self.patterns {
            [] => !self.python || case.is_for_packages(),
            patterns => patterns.iter().any(|pattern| case.name.contains(pattern)),
        };
        cases.into_iter().filter(is_wanted).collect()
    }

    /// Returns the programs in the order of the tables. This engine is always included, because the others are compared
    /// with it.
    fn programs(&self) -> Vec<Program> {
        let is_wanted = |program: &Program| {
            self.only.is_empty() || *program == Program::ZarrKit || self.only.contains(program)
        };
        if self.copy {
            return [Program::ZarrKit].into_iter().chain(Program::COPYING).filter(is_wanted).collect();
        }
        let added = Program::PYTHON.into_iter().filter(|program| self.python || self.only.contains(program));
        let mut programs: Vec<_> = Program::ALL.into_iter().chain(added).filter(is_wanted).collect();
        if self.baseline.is_some() {
            programs.insert(1, Program::Baseline);
        }
        programs
    }
}

pub(crate) fn run(workspace: &Workspace, options: Options) -> Result<(), Failure> {
    let group = options.group();
    let least = group.rounds_to_publish();
    if options.publish && options.rounds < least {
        return Err(Failure::Usage(format!("`--publish` needs at least {least} rounds")));
    }
    let mut cases = options.cases();
    if options.list {
        return cases.iter().try_for_each(|case| Ok(say(&format!("{:<34} {}\n", case.name, case.title))?));
    }
    if cases.is_empty() {
        return Err(Failure::Usage("no case matches; `--list` lists all cases".to_owned()));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let target = workspace.root.join(target);
    let output = target.join("bench-peers");
    fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    let mut packages = vec![("zarr-peers", "programs")];
    let mut programs = options.programs();
    if programs.contains(&Program::Zarrs) {
        packages.push(("zarr-peers-zarrs", "programs"));
    }
    if cases.iter().any(|case| copy::is_of_programs(case.operation)) {
        packages.push(("zarrctl", ""));
    }
    build(workspace, &target, &packages)?;
    let interpreter = interpreter(workspace, &output, &mut programs, options.publish)?;
    let copying = environment_of_copying(workspace, &output, &mut programs)?;
    let places = programs::Places {
        binaries: target.join("release"),
        baseline: options.baseline,
        scripts: workspace.root.join("benches/peers/python"),
        interpreter,
        copying,
        icechunk: plugin_for_icechunk(workspace, &output, &mut cases, options.publish)?,
        logs: output.clone(),
        group,
        network: options.network,
    };
    let durations = if options.quick { "durations-quick.json" } else { "durations.json" };
    let clock = clock::Clock::new(output.join(durations));
    let comparison = Comparison::new(places, programs, &options.folder, options.rounds, clock)?;
    let report = comparison.run(&cases, options.quick, group)?;
    write(&output.join("results.json"), &report.to_json()?)?;
    let tables = table::all(&report);
    let chart = chart::svg(&report);
    write(&output.join("performance.md"), &tables)?;
    write(&output.join("performance.svg"), &chart)?;
    say(&format!("\n{tables}\n"))?;
    if options.publish && report.failures().is_empty() {
        publish(workspace, &report, &tables, &chart)?;
    }
    say(&format!("written to {}\n", output.display()))?;
    let failures = report.failures();
    if failures.is_empty() {
        return Ok(());
    }
    say(&format!("error: {} failed: {}\n", report.ours(), failures.join(", ")))?;
    Err(Failure::Checks)
}

/// Returns the interpreter of the Python programs. Without Python they are skipped, unless the results are published.
fn interpreter(
    workspace: &Workspace,
    output: &Path,
    programs: &mut Vec<Program>,
    is_published: bool,
) -> Result<Option<PathBuf>, Failure> {
    if !programs.iter().any(|program| program.is_python() && !program.is_whole()) {
        return Ok(None);
    }
    let requirements = workspace.root.join("benches/peers/python/requirements.txt");
    match programs::environment(output, &requirements) {
        Ok(interpreter) if programs.iter().any(|program| program.uses_package()) => {
            install_package(workspace, output, &interpreter)?;
            Ok(Some(interpreter))
        }
        Ok(interpreter) => Ok(Some(interpreter)),
        Err(reason) if is_published => Err(Failure::Broken(reason)),
        Err(reason) => {
            say(&format!("SKIPPED: the programs in Python: {reason}\n"))?;
            programs.retain(|program| !program.is_python());
            Ok(None)
        }
    }
}

/// Returns the interpreter of the programs that give arrays other chunks. They are skipped without Python.
fn environment_of_copying(
    workspace: &Workspace,
    output: &Path,
    programs: &mut Vec<Program>,
) -> Result<Option<PathBuf>, Failure> {
    if !programs.iter().any(|program| program.is_whole()) {
        return Ok(None);
    }
    let requirements = workspace.root.join("benches/peers/python/copying.txt");
    let folder = output.join("copying");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    match programs::environment(&folder, &requirements) {
        Ok(interpreter) => Ok(Some(interpreter)),
        Err(reason) => {
            say(&format!("SKIPPED: Cubed and Dask: {reason}\n"))?;
            programs.retain(|program| !program.is_whole());
            Ok(None)
        }
    }
}

/// Builds the plugin for Icechunk, which is a separate workspace, if a case needs it. If it does not build, its cases are
/// skipped, unless the results are published.
fn plugin_for_icechunk(
    workspace: &Workspace,
    output: &Path,
    cases: &mut Vec<Case>,
    is_published: bool,
) -> Result<Option<PathBuf>, Failure> {
    let is_in_repository = |case: &Case| case.dataset.container == Some(Container::Icechunk);
    if !cases.iter().any(is_in_repository) {
        return Ok(None);
    }
    let target = output.join("icechunk");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--locked", "--package", "zarr-store-icechunk-plugin"]);
    command.arg("--target-dir").arg(&target).current_dir(workspace.root.join("stores/icechunk"));
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() {
        use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
        let name = format!("{DLL_PREFIX}zarr_store_icechunk_plugin{DLL_SUFFIX}");
        return Ok(Some(target.join("release").join(name)));
    }
    let reason = "the plugin for Icechunk does not build";
    if is_published {
        return Err(Failure::Broken(reason.to_owned()));
    }
    say(&format!("SKIPPED: {reason}\n"))?;
    cases.retain(|case| !is_in_repository(case));
    Ok(None)
}

/// Installs a release wheel of the Python package into the environment of the programs.
fn install_package(workspace: &Workspace, output: &Path, interpreter: &Path) -> Result<(), String> {
    let package = Package::in_environment(workspace, interpreter.to_owned(), output, "release");
    finish("build", package.build()?)?;
    // `package.install` needs the wheel, which exists only now.
    finish("install", package.install()?)
}

fn finish(verb: &str, mut command: Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("the Python package: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("cannot {verb} the wheel of the Python package")),
    }
}

/// Builds the Rust programs as their users do. Builds them separately, because cargo would otherwise unify the features of
/// their dependencies.
fn build(workspace: &Workspace, target: &Path, packages: &[(&str, &str)]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for (package, features) in packages {
        let mut command = Command::new(&cargo);
        command.args(["build", "--release", "--package", package, "--features", features]);
        command.arg("--target-dir").arg(target).current_dir(&workspace.root);
        let status = command.status().map_err(|error| format!("cargo: {error}"))?;
        if !status.success() {
            return Err(format!("{package} does not build"));
        }
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Writes all tables to the page of results, and for local files also the summary and the chart.
fn publish(workspace: &Workspace, report: &Report, tables: &str, chart: &str) -> Result<(), String> {
    let marks = report.group.marks(report.has_package());
    put(workspace, RESULTS, &marks, tables)?;
    if report.group == Group::Near && !report.has_package() {
        put(workspace, PAGE, &marks, &format!("{IMAGE}{}", table::summary(report)))?;
        write(&workspace.root.join(CHART), chart)?;
    }
    Ok(())
}

/// Replaces the text between two markers in a page.
fn put(workspace: &Workspace, page: &str, marks: &[String; 2], text: &str) -> Result<(), String> {
    let old = workspace.read(Path::new(page))?;
    let new = between_marks(&old, marks, text)
        .ok_or_else(|| format!("{page} does not have the markers of the tables"))?;
    write(&workspace.root.join(page), &new)
}

/// Returns the page with new tables between its markers.
fn between_marks(page: &str, [begin, end]: &[String; 2], tables: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin.as_str())?;
    let (_, after) = rest.split_once(end.as_str())?;
    Some(format!("{before}{begin}\n{tables}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, clap::Error> {
        let command = Options::augment_args(clap::Command::new("bench").no_binary_name(true));
        Options::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }

    #[test]
    fn options_have_defaults() {
        let options = parse(&["--peers"]).unwrap();
        assert_eq!(options.programs(), Program::ALL);
        assert_eq!(options.rounds, 9);
        assert_eq!(options.folder, Path::new("/dev/shm"));
        assert_eq!(options.group(), Group::Near);
        let far = parse(&["--peers", "--far", "--delay", "30", "--bandwidth", "50", "--slow"]).unwrap();
        assert_eq!(far.group(), Group::Far);
        assert_eq!(far.network.settings(), (30, Some(50_000_000), true));
        assert_eq!(parse(&["--peers", "--far"]).unwrap().network.settings(), (10, None, false));
    }

    #[test]
    fn copies_are_compared_with_other_programs() {
        let copy = parse(&["--peers", "--copy", "--gib", "1"]).unwrap();
        assert_eq!((copy.group(), copy.gib), (Group::Copy, 1));
        assert_eq!(copy.programs(), [Program::ZarrKit, Program::Cubed, Program::Dask]);
        let ours = parse(&["--peers", "--copy", "--peer", "ours", "--case", "planes/"]).unwrap();
        assert_eq!(ours.programs(), [Program::ZarrKit]);
        assert_eq!(ours.cases().len(), 2);
    }

    #[test]
    fn this_engine_takes_part_in_every_comparison() {
        let programs = |arguments: &[&str]| parse(&[&["--peers"], arguments].concat()).unwrap().programs();
        assert_eq!(programs(&["--peer", "ours", "--peer", "zarrs"]), [Program::ZarrKit, Program::Zarrs]);
        assert_eq!(programs(&["--peer", "zarrs"]), [Program::ZarrKit, Program::Zarrs]);
        assert_eq!(programs(&["--peer", "ours"]), [Program::ZarrKit]);
        let baseline = programs(&["--peer", "ours", "--baseline", "old/peer-zarr-kit"]);
        assert_eq!(baseline, [Program::ZarrKit, Program::Baseline]);
    }

    #[test]
    fn python_adds_programs_to_the_comparison() {
        let programs = |arguments: &[&str]| parse(&[&["--peers"], arguments].concat()).unwrap().programs();
        assert_eq!(programs(&["--python"]), [&Program::ALL[..], &Program::PYTHON].concat());
        assert_eq!(programs(&["--peer", "zarrista"]), [Program::ZarrKit, Program::Zarrista]);
        let two = programs(&["--python", "--peer", "zarr-kit-python"]);
        assert_eq!(two, [Program::ZarrKit, Program::ZarrKitPython]);
    }

    #[test]
    fn an_invalid_command_line_is_refused() {
        let refused = |arguments: &[&str]| parse(arguments).unwrap_err().to_string();
        refused(&[]);
        refused(&["--peers", "--rounds", "0"]);
        refused(&["--peers", "--case"]);
        refused(&["--peers", "--publish", "--quick"]);
        refused(&["--peers", "--publish", "--baseline", "x"]);
        refused(&["--peers", "--far", "--large"]);
        refused(&["--peers", "--far", "--copy"]);
        refused(&["--peers", "--gib", "2"]);
        refused(&["--peers", "--delay", "1"]);
        refused(&["--peers", "--far", "--publish", "--bandwidth", "50"]);
        assert!(refused(&["--peers", "--peer", "h5py"]).contains("zarrs, tensorstore"));
    }

    #[test]
    fn tables_are_written_between_the_markers_of_the_page() {
        let [begin, end] = Group::Near.marks(false);
        let growth = Group::Growth.marks(false).concat();
        let page = format!("# Title\n{begin}old\n{end}{growth}end\n");
        let wanted = format!("# Title\n{begin}\nnew\n{end}{growth}end\n");
        assert_eq!(between_marks(&page, &Group::Near.marks(false), "new").unwrap(), wanted);
        assert_eq!(between_marks("# Title\n", &Group::Near.marks(false), "new"), None);
    }

    #[test]
    fn the_pages_have_the_markers_of_every_group() {
        let results = include_str!("../../benches/RESULTS.md");
        for (group, has_package) in Group::ALL.into_iter().flat_map(|group| [(group, false), (group, true)]) {
            assert!(between_marks(results, &group.marks(has_package), "new").is_some(), "{group:?}");
        }
        let page = include_str!("../../docs/performance.md");
        assert!(between_marks(page, &Group::Near.marks(false), "new").is_some());
    }
}
