//! `cargo xtask bench --peers`: this engine, its peers and what the machine can do at best, in one and the same run.
//!
//! Each program is a process that lives as long as the comparison and is told what to do line by line; the rounds go from
//! program to program, so that noise hits all alike. See `docs/performance.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::Workspace;
use crate::{Failure, say};

mod aims;
mod cases;
mod chart;
mod clock;
mod comparison;
mod copy;
mod datasets;
mod far_store;
mod folder;
mod group;
mod machine;
mod programs;
// Shared as a file: a crate for it would be one more for everybody to build.
#[path = "../../conformance/interop/src/environment/python.rs"]
mod python;
mod report;
mod runner;
mod statistics;
mod table;

use comparison::Comparison;
use group::Group;
use programs::Program;

/// The file that `--publish` puts the tables into, and that of the chart.
const PAGE: &str = "docs/performance.md";
const CHART: &str = "docs/performance.svg";

/// The chart as the page shows it.
const IMAGE: &str = "![How often as long as this engine each peer takes](performance.svg)\n\n";

/// A median of fewer rounds is none.
const ROUNDS_TO_PUBLISH: usize = 3;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    is_with_peers: bool,
    /// Cases whose name has one of these in it; all, if there are none.
    patterns: Vec<String>,
    programs: Vec<Program>,
    /// The runner of this engine at another commit.
    baseline: Option<PathBuf>,
    rounds: usize,
    folder: PathBuf,
    is_quick: bool,
    group: Group,
    is_published: bool,
    is_list: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self {
            is_with_peers: false,
            patterns: Vec::new(),
            programs: Vec::new(),
            baseline: None,
            rounds: 7,
            folder: PathBuf::from("/dev/shm"),
            is_quick: false,
            group: Group::Near,
            is_published: false,
            is_list: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next();
                value.ok_or_else(|| Failure::Usage(format!("`{argument}` wants a value")))
            };
            match argument.as_str() {
                "--peers" => options.is_with_peers = true,
                "--quick" => options.is_quick = true,
                "--large" => options.choose(Group::Growth)?,
                "--far" => options.choose(Group::Far)?,
                "--publish" => options.is_published = true,
                "--list" => options.is_list = true,
                "--case" => options.patterns.push(value()?.clone()),
                "--folder" => options.folder = value()?.into(),
                "--baseline" => options.baseline = Some(value()?.into()),
                "--rounds" => {
                    let rounds = value()?.parse().ok().filter(|&rounds| rounds > 0);
                    options.rounds = rounds
                        .ok_or_else(|| Failure::Usage("`--rounds` wants a number from 1 up".to_owned()))?;
                }
                "--peer" => {
                    let name = value()?;
                    let program = Program::named(name).ok_or_else(|| {
                        let names: Vec<_> = Program::ALL.iter().map(|program| program.key()).collect();
                        Failure::Usage(format!("there is no peer `{name}`, only {}", names.join(", ")))
                    })?;
                    options.programs.push(program);
                }
                unknown => return Err(Failure::Usage(format!("`bench` has no option `{unknown}`"))),
            }
        }
        let is_partial = options.is_quick
            || !options.patterns.is_empty()
            || !options.programs.is_empty()
            || options.baseline.is_some();
        if options.is_published && is_partial {
            return Err(Failure::Usage("`--publish` is for all cases and programs at full size".to_owned()));
        }
        if options.is_published && options.rounds < ROUNDS_TO_PUBLISH {
            return Err(Failure::Usage(format!("`--publish` wants {ROUNDS_TO_PUBLISH} rounds at least")));
        }
        // Everything is compared with this engine, so that it is always there and comes first.
        let given = options.programs;
        let is_wanted =
            |program: &Program| given.is_empty() || *program == Program::ZarrKit || given.contains(program);
        options.programs = Program::ALL.into_iter().filter(is_wanted).collect();
        if options.baseline.is_some() {
            options.programs.insert(1, Program::Baseline);
        }
        Ok(options)
    }

    fn choose(&mut self, group: Group) -> Result<(), Failure> {
        if self.group != Group::Near && self.group != group {
            let reason = "`--far` and `--large` are for different cases: one of them at a time";
            return Err(Failure::Usage(reason.to_owned()));
        }
        self.group = group;
        Ok(())
    }
}

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    let options = Options::parse(arguments)?;
    if !options.is_with_peers {
        return Err(Failure::Usage("`bench` is for the comparison with peers: `bench --peers`".to_owned()));
    }
    let mut cases = cases::all(options.is_quick, options.group);
    if !options.patterns.is_empty() {
        cases.retain(|case| options.patterns.iter().any(|pattern| case.name.contains(pattern)));
    }
    if options.is_list {
        for case in &cases {
            say(&format!("{:<34} {}\n", case.name, case.title))?;
        }
        return Ok(());
    }
    if cases.is_empty() {
        return Err(Failure::Usage("no case has such a name; `--list` shows them".to_owned()));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let target = workspace.root.join(target);
    let output = target.join("bench-peers");
    fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    let mut packages = vec![("zarr-peers", "programs")];
    if options.programs.contains(&Program::Zarrs) {
        packages.push(("zarr-peers-zarrs", "programs"));
    }
    if cases.iter().any(|case| case.operation == "copy") {
        packages.push(("zarrctl", ""));
    }
    build(workspace, &target, &packages)?;
    let mut programs = options.programs.clone();
    let mut interpreter = None;
    if programs.iter().any(|program| program.is_python()) {
        let requirements = workspace.root.join("benches/peers/python/requirements.txt");
        match programs::environment(&output, &requirements) {
            Ok(python) => interpreter = Some(python),
            Err(reason) if options.is_published => return Err(Failure::Broken(reason)),
            Err(reason) => {
                say(&format!("SKIPPED: the programs in Python: {reason}\n"))?;
                programs.retain(|program| !program.is_python());
            }
        }
    }
    let places = programs::Places {
        binaries: target.join("release"),
        baseline: options.baseline.clone(),
        scripts: workspace.root.join("benches/peers/python"),
        interpreter,
        logs: output.clone(),
        group: options.group,
    };
    let durations = if options.is_quick { "durations-quick.json" } else { "durations.json" };
    let clock = clock::Clock::new(output.join(durations));
    let comparison = Comparison::new(places, programs, &options.folder, options.rounds, clock)?;
    let report = comparison.run(&cases, options.is_quick, options.group)?;
    write(&output.join("results.json"), &report.to_json()?)?;
    let (tables, chart) = (table::all(&report), chart::svg(&report));
    write(&output.join("performance.md"), &tables)?;
    write(&output.join("performance.svg"), &chart)?;
    say(&format!("\n{tables}\n"))?;
    if options.is_published && report.failures().is_empty() {
        publish(workspace, options.group, &tables, &chart)?;
    }
    say(&format!("written to {}\n", output.display()))?;
    let failures = report.failures();
    if failures.is_empty() {
        return Ok(());
    }
    say(&format!("error: {} failed in {}\n", report.ours(), failures.join(", ")))?;
    Err(Failure::Checks)
}

/// The programs in Rust, as their users build them. One after another: cargo would build what they share with the
/// features of all.
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

/// Puts the tables into the page. The chart is that of what lies near alone.
fn publish(workspace: &Workspace, group: Group, tables: &str, chart: &str) -> Result<(), String> {
    let page = workspace.read(Path::new(PAGE))?;
    let image = if group == Group::Near { IMAGE } else { "" };
    let page = between_marks(&page, group.marks(), &format!("{image}{tables}"))
        .ok_or_else(|| format!("{PAGE} lacks the marks of the figures"))?;
    write(&workspace.root.join(PAGE), &page)?;
    if group == Group::Near { write(&workspace.root.join(CHART), chart) } else { Ok(()) }
}

/// The page with other tables between its marks.
fn between_marks(page: &str, [begin, end]: [&str; 2], tables: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{tables}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Options::parse(&arguments).map_err(|failure| match failure {
            Failure::Usage(message) => message,
            _ => "another failure".to_owned(),
        })
    }

    #[test]
    fn options_are_understood_and_have_defaults() {
        let options = parse(&["--peers"]).unwrap();
        assert_eq!((options.rounds, options.programs.len()), (7, Program::ALL.len()));
        assert_eq!(options.folder, Path::new("/dev/shm"));
        let options = parse(&[
            "--peers", "--quick", "--rounds", "3", "--peer", "ours", "--peer", "zarrs", "--case", "zstd",
        ])
        .unwrap();
        assert_eq!(options.programs, [Program::ZarrKit, Program::Zarrs]);
        assert_eq!(parse(&["--peers", "--peer", "zarrs"]).unwrap().programs, options.programs);
        assert_eq!(parse(&["--peers", "--peer", "ours"]).unwrap().programs, [Program::ZarrKit]);
        assert_eq!((options.rounds, options.is_quick, options.group), (3, true, Group::Near));
        assert_eq!(parse(&["--peers", "--far"]).unwrap().group, Group::Far);
        let options = parse(&["--peers", "--peer", "ours", "--baseline", "old/peer-zarr-kit"]).unwrap();
        assert_eq!(options.programs, [Program::ZarrKit, Program::Baseline]);
        assert_eq!(options.baseline.as_deref(), Some(Path::new("old/peer-zarr-kit")));
        assert_eq!(options.patterns, ["zstd"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(parse(&["--rounds", "0"]).unwrap_err(), "`--rounds` wants a number from 1 up");
        assert_eq!(parse(&["--case"]).unwrap_err(), "`--case` wants a value");
        assert!(parse(&["--peer", "h5py"]).unwrap_err().contains("no peer `h5py`"));
        assert!(parse(&["--peers", "--publish", "--quick"]).unwrap_err().contains("full size"));
        assert!(parse(&["--peers", "--publish", "--baseline", "x"]).unwrap_err().contains("full size"));
        for groups in [["--peers", "--far", "--large"], ["--peers", "--large", "--far"]] {
            assert!(parse(&groups).unwrap_err().contains("`--far` and `--large`"));
        }
        assert!(parse(&["--peers", "--publish", "--rounds", "2"]).unwrap_err().contains("3 rounds"));
    }

    #[test]
    fn figures_are_put_between_the_marks_of_the_page() {
        let [begin, end] = Group::Near.marks();
        let growth = Group::Growth.marks().concat();
        let page = format!("# Title\n{begin}old\n{end}{growth}end\n");
        let wanted = format!("# Title\n{begin}\nnew\n{end}{growth}end\n");
        assert_eq!(between_marks(&page, Group::Near.marks(), "new").unwrap(), wanted);
        assert_eq!(between_marks("# Title\n", Group::Near.marks(), "new"), None);
    }

    #[test]
    fn the_page_has_the_marks_of_every_group() {
        let page = include_str!("../../docs/performance.md");
        for group in Group::ALL {
            assert!(between_marks(page, group.marks(), "new").is_some(), "{group:?}");
        }
    }
}
