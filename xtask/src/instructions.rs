//! `cargo xtask instructions`: counts the instructions of jobs of the engine, and compares them with the recorded counts.
//!
//! Valgrind runs each job (`benches/instructions`) on an emulated processor, so counts do not depend on the load of the
//! machine. The emulated processor has AVX2 if the machine does, but never AVX-512: the AVX2 variants of vector kernels
//! are counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::workspace::Workspace;
use crate::{Failure, say};

/// The file with the recorded counts.
const COUNTS: &str = "benches/instructions/counts.toml";
const HEADING: &str = "# Instructions of each job, as counted by `cargo xtask instructions --write`.\n\n";

/// The function whose instructions are counted, including its callees.
const COUNTED: &str = "zarr_instructions::counted";

/// The permitted deviation from the recorded count, as a fraction of it.
const TOLERANCE: f64 = 0.05;
/// The permitted deviation if another compiler built the jobs, which may select other instructions everywhere.
const TOLERANCE_OF_COMPILERS: f64 = 0.25;

/// The instruction counts of all jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    /// The compiler that built the jobs.
    rustc: String,
    /// The vector instructions of the processor that the jobs ran on.
    vectors: String,
    /// The counts by job.
    instructions: BTreeMap<String, u64>,
}

/// The options of `cargo xtask instructions`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Record the new counts instead of comparing them
    #[arg(long)]
    write: bool,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), Failure> {
    if let Some(lacks) = lacks() {
        return Err(Failure::Broken(lacks));
    }
    let found = count(workspace)?;
    let file = workspace.root.join(COUNTS);
    if options.write {
        let text = toml::to_string(&found).map_err(|error| format!("{COUNTS}: {error}"))?;
        fs::write(&file, format!("{HEADING}{text}")).map_err(|error| format!("{COUNTS}: {error}"))?;
        say(&format!("written to {COUNTS}\n"))?;
        return Ok(());
    }
    let findings = compare(&read(workspace)?, &found);
    findings.iter().try_for_each(|finding| say(&format!("error: {finding}\n")))?;
    if findings.is_empty() {
        return Ok(());
    }
    say("if the new counts are intended, `cargo xtask instructions --write` records them\n")?;
    Err(Failure::Checks)
}

/// Whether instructions are counted on this kind of machine at all.
pub(crate) const IS_APPLICABLE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// Returns the reason why this machine cannot count instructions, if there is one.
pub(crate) fn lacks() -> Option<String> {
    if !IS_APPLICABLE {
        return Some("instructions are counted on Linux and x86-64".to_owned());
    }
    #[cfg(target_arch = "x86_64")]
    if !is_x86_feature_detected!("avx2") {
        return Some("the counts are for AVX2, which this processor does not have".to_owned());
    }
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    let is_there = valgrind.status().is_ok_and(|status| status.success());
    (!is_there).then(|| "valgrind is not installed".to_owned())
}

fn read(workspace: &Workspace) -> Result<Counts, String> {
    let text = workspace.read(Path::new(COUNTS))?;
    toml::from_str(&text).map_err(|error| format!("{COUNTS}: {error}"))
}

/// Builds the jobs and counts the instructions of each.
fn count(workspace: &Workspace) -> Result<Counts, String> {
    let program = build(workspace)?;
    let mut vectors = BTreeSet::new();
    let mut instructions = BTreeMap::new();
    for job in output(&mut Command::new(&program))?.0.lines() {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.arg(format!("--toggle-collect={COUNTED}"));
        command.arg(&program).arg(job);
        // The job gets only `PATH`: the environment is on the stack, and its size would change the addresses of
        // everything else there.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let (found, messages) = output(command.env_clear().env("PATH", path))?;
        let count = collected(&messages).ok_or_else(|| format!("no count of `{job}`: {messages}"))?;
        say(&format!("{job:<28} {count:>12}\n"))?;
        vectors.insert(found.trim().to_owned());
        instructions.insert(job.to_owned(), count);
    }
    let vectors = vectors.into_iter().collect::<Vec<_>>().join(" ");
    Ok(Counts { rustc: compiler()?, vectors, instructions })
}

fn build(workspace: &Workspace) -> Result<PathBuf, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let target = workspace.root.join(target);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--profile", "profiling", "--package", "zarr-instructions", "--target-dir"]);
    let status = command.arg(&target).current_dir(&workspace.root).stdin(Stdio::null()).status();
    if !status.map_err(|error| format!("cargo: {error}"))?.success() {
        return Err("zarr-instructions does not build".to_owned());
    }
    Ok(target.join("profiling/zarr-instructions"))
}

fn compiler() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Ok(output(Command::new(rustc).arg("--version"))?.0.trim().to_owned())
}

/// Runs a program that must succeed. Returns its standard output and standard error.
fn output(command: &mut Command) -> Result<(String, String), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    let [said, besides] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.status.success() { Ok((said, besides)) } else { Err(format!("{program}: {besides}")) }
}

/// Returns the count at the end of the output of callgrind. Returns `None` for 0: callgrind did not find the counted
/// function.
fn collected(messages: &str) -> Option<u64> {
    let line = messages.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok().filter(|&count| count > 0)
}

/// Returns all differences from the recorded counts.
fn compare(written: &Counts, found: &Counts) -> Vec<String> {
    if written.vectors != found.vectors {
        let written = &written.vectors;
        let found = &found.vectors;
        return vec![format!("the recorded counts are for {written}, but this machine has {found}")];
    }
    let is_same = written.rustc == found.rustc;
    let tolerance = if is_same { TOLERANCE } else { TOLERANCE_OF_COMPILERS };
    let mut findings = Vec::new();
    for (job, &count) in &found.instructions {
        let Some(&before) = written.instructions.get(job) else {
            findings.push(format!("`{job}` does not have a count in {COUNTS}"));
            continue;
        };
        let change = count as f64 / before as f64 - 1.0;
        if change.abs() > tolerance {
            let than = if change > 0.0 { "more" } else { "fewer" };
            let percent = change.abs() * 100.0;
            findings.push(format!("`{job}` takes {percent:.1} % {than} instructions: {count}, not {before}"));
        }
    }
    let gone = written.instructions.keys().filter(|job| !found.instructions.contains_key(*job));
    findings.extend(gone.map(|job| format!("`{job}` in {COUNTS} is not a job")));
    if !findings.is_empty() && !is_same {
        findings
            .push(format!("the recorded counts are for {}; this compiler is {}", written.rustc, found.rustc));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rustc: &str, jobs: &[(&str, u64)]) -> Counts {
        let instructions = jobs.iter().map(|&(job, count)| (job.to_owned(), count)).collect();
        Counts { rustc: rustc.to_owned(), vectors: "avx2".to_owned(), instructions }
    }

    #[test]
    fn a_changed_count_is_found_in_both_directions() {
        let written = counts("1.95", &[("open", 1000), ("parse", 1000), ("read", 1000)]);
        assert_eq!(compare(&written, &written), [""; 0]);
        let near = counts("1.95", &[("open", 1049), ("parse", 951), ("read", 1000)]);
        assert_eq!(compare(&written, &near), [""; 0]);
        let far = counts("1.95", &[("open", 1051), ("parse", 949), ("read", 1000)]);
        assert_eq!(
            compare(&written, &far),
            [
                "`open` takes 5.1 % more instructions: 1051, not 1000",
                "`parse` takes 5.1 % fewer instructions: 949, not 1000"
            ]
        );
    }

    #[test]
    fn another_compiler_may_differ_more_and_is_named() {
        let written = counts("1.95", &[("open", 1000)]);
        assert_eq!(compare(&written, &counts("1.96", &[("open", 1200)])), [""; 0]);
        let findings = compare(&written, &counts("1.96", &[("open", 1300)]));
        assert_eq!(findings[1], "the recorded counts are for 1.95; this compiler is 1.96");
    }

    #[test]
    fn jobs_without_a_count_and_counts_without_a_job_are_found() {
        let findings = compare(&counts("1.95", &[("old", 1)]), &counts("1.95", &[("new", 1)]));
        assert_eq!(
            findings,
            [format!("`new` does not have a count in {COUNTS}"), format!("`old` in {COUNTS} is not a job")]
        );
    }

    #[test]
    fn counts_of_other_vectors_are_not_compared() {
        let written = counts("1.95", &[("open", 1000)]);
        let found = Counts { vectors: "ssse3".to_owned(), ..written.clone() };
        assert_eq!(
            compare(&written, &found),
            ["the recorded counts are for avx2, but this machine has ssse3"]
        );
    }

    #[test]
    fn the_count_is_at_the_end_of_the_callgrind_output() {
        let messages = "==7== Events    : Ir\n==7== Collected : 9772027\n==7== \n";
        assert_eq!(collected(messages), Some(9_772_027));
        assert_eq!(collected("==7== Collected : 0\n"), None);
        assert_eq!(collected("valgrind: no such file\n"), None);
    }
}
