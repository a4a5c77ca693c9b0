//! `cargo xtask fuzz`: runs libFuzzer on the targets of `zarr-fuzz`, sequentially or in parallel, and divides the time
//! among them.
//!
//! libFuzzer needs to know which branches an input takes. The stable compiler counts them with LLVM options, so no other
//! toolchain is needed. The branches of the C code of codecs are counted if clang is installed.

use std::fs::{self, File};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::ArgGroup;

use crate::workspace::Workspace;
use crate::{Failure, say};

/// The stored inputs, in one folder for each target.
const CORPUS: &str = "fuzz/corpus";

/// A target that runs many processes for each input, and limits the time of each process. The limit for the whole input
/// is longer.
const PROGRAM: &str = "program";
const PROGRAM_TIMEOUT: &str = "-timeout=300";

/// The prefix of inputs that once crashed. They remain when a new corpus is selected.
const REGRESSION: &str = "regression-";

/// Counts branches, records their locations, and traces comparisons.
const RUSTFLAGS: &str = "-C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=4 \
                         -C llvm-args=-sanitizer-coverage-inline-8bit-counters \
                         -C llvm-args=-sanitizer-coverage-pc-table \
                         -C llvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// The limits of an input: size in bytes, seconds, and memory in MiB.
const LIMITS: [&str; 3] = ["-max_len=4096", "-timeout=20", "-rss_limit_mb=2048"];

/// The limits of stored inputs. They are smaller, because every clone of the repository contains these inputs.
const KEPT_LIMITS: [&str; 3] = ["-max_len=512", "-timeout=20", "-rss_limit_mb=2048"];

/// The maximum number of stored inputs of a target.
const MOST_KEPT: usize = 120;

/// The options of `cargo xtask fuzz`.
#[derive(Debug, PartialEq, Eq, clap::Args)]
#[command(group = ArgGroup::new("work").required(true).multiple(true))]
pub(crate) struct Options {
    /// Minutes that all targets share
    #[arg(long, group = "work", value_parser = clap::value_parser!(u64).range(1..))]
    minutes: Option<u64>,
    /// Targets to run; all of them by default
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Targets to run at the same time
    #[arg(long, default_value_t = NonZero::<usize>::MIN)]
    jobs: NonZero<usize>,
    /// Select a new stored corpus for the targets
    #[arg(long, group = "work")]
    keep: bool,
    /// Run one input of a target in an ordinary build
    #[arg(long, group = "work", value_name = "FILE", conflicts_with_all = ["minutes", "keep"])]
    replay: Option<PathBuf>,
}

/// The paths of a fuzzing run.
#[derive(Debug)]
struct Places {
    root: PathBuf,
    /// The program with libFuzzer.
    program: PathBuf,
    /// The parent folder of seeds, found inputs, findings and logs.
    work: PathBuf,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), Failure> {
    if let Some(file) = &options.replay {
        return replay(workspace, file);
    }
    let targets = chosen(workspace, &options.targets)?;
    let places = build(workspace)?;
    let mut has_findings = false;
    if let Some(minutes) = options.minutes {
        let jobs = options.jobs.get();
        let seconds = share(minutes, targets.len(), jobs);
        say(&format!("{} targets, {seconds} s each, {jobs} in parallel\n", targets.len()))?;
        has_findings = fuzz_all(&places, &targets, seconds, jobs)?;
    }
    if options.keep {
        targets.iter().try_for_each(|target| keep(&places, target))?;
    }
    if has_findings { Err(Failure::Checks) } else { Ok(()) }
}

/// Returns the selected targets. The corpus has a folder for each target, because a target without inputs fails its test.
fn chosen(workspace: &Workspace, wanted: &[String]) -> Result<Vec<String>, Failure> {
    let all = names(&workspace.root.join(CORPUS))?;
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
        let all = all.join(", ");
        return Err(Failure::Usage(format!("unknown target `{unknown}` (expected {all})")));
    }
    Ok(if wanted.is_empty() { all } else { wanted.to_vec() })
}

/// Returns the sorted names of the entries of a folder.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let broken = |error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(broken)? {
        names.push(entry.map_err(broken)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Returns the number of seconds for each target.
fn share(minutes: u64, targets: usize, jobs: usize) -> u64 {
    let rounds = targets.div_ceil(jobs).max(1) as u64;
    (minutes * 60 / rounds).max(1)
}

fn build(workspace: &Workspace) -> Result<Places, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let work = workspace.root.join(target).join("fuzz");
    let triple = host()?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--profile", "profiling", "--package", "zarr-fuzz", "--bin", "zarr-fuzz"]);
    // With an explicit target, build scripts and macros are built without these flags.
    command.args(["--target", &triple, "--target-dir"]).arg(&work);
    command.env("RUSTFLAGS", RUSTFLAGS);
    for check in ["DEBUG_ASSERTIONS", "OVERFLOW_CHECKS"] {
        command.env(format!("CARGO_PROFILE_PROFILING_{check}"), "true");
    }
    if is_there("clang") {
        let triple = triple.replace('-', "_");
        command.env(format!("CC_{triple}"), "clang");
        command.env(format!("CFLAGS_{triple}"), "-fsanitize=fuzzer-no-link");
    } else {
        say("no clang: branches of C code are not counted\n")?;
    }
    let status = command.current_dir(&workspace.root).stdin(Stdio::null()).status();
    if !status.map_err(|error| format!("cargo: {error}"))?.success() {
        return Err("zarr-fuzz does not build; libFuzzer needs a C++ compiler".to_owned());
    }
    let program = work.join(&triple).join("profiling/zarr-fuzz");
    Ok(Places { root: workspace.root.clone(), program, work })
}

fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns the default target triple of the compiler.
fn host() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let triple = text.lines().find_map(|line| line.strip_prefix("host: "));
    triple.map(str::to_owned).ok_or_else(|| "rustc does not print its host triple".to_owned())
}

/// Runs all targets, `jobs` in parallel. Returns whether there are findings.
fn fuzz_all(places: &Places, targets: &[String], seconds: u64, jobs: usize) -> Result<bool, String> {
    let mut has_findings = false;
    for group in targets.chunks(jobs) {
        let results: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> =
                group.iter().map(|target| scope.spawn(move || fuzz(places, target, seconds))).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        for result in results {
            has_findings |= result.map_err(|_panic| "a fuzzing thread panicked".to_owned())??;
        }
    }
    Ok(has_findings)
}

/// Fuzzes one target, and continues after a finding while there is time. Returns whether there are findings.
fn fuzz(places: &Places, target: &str, seconds: u64) -> Result<bool, String> {
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut has_findings = false;
    loop {
        let rest = end.saturating_duration_since(Instant::now()).as_secs();
        if rest == 0 {
            return Ok(has_findings);
        }
        let findings = places.folder("findings", target)?;
        let before = names(&findings)?;
        let (mut command, log) = places.libfuzzer(target, "fuzz")?;
        let seeds = places.folder("seeds", target)?;
        command.env("ZARR_FUZZ_SEEDS", &seeds).args(LIMITS).arg(format!("-max_total_time={rest}"));
        if target == PROGRAM {
            command.arg(PROGRAM_TIMEOUT);
        }
        command.arg(format!("-artifact_prefix={}/", findings.display()));
        command.args([places.folder("found", target)?, places.corpus(target), seeds]);
        let status = command.status().map_err(|error| format!("{}: {error}", places.program.display()))?;
        let text = fs::read(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        if status.success() {
            say(&format!("{target:<20} {}\n", last_count(&text)))?;
            return Ok(has_findings);
        }
        has_findings = true;
        let new: Vec<_> = names(&findings)?.into_iter().filter(|name| !before.contains(name)).collect();
        for name in &new {
            let file = findings.join(name);
            let file = file.strip_prefix(&places.root).unwrap_or(&file).display();
            say(&format!(
                "{target:<20} FOUND {}\n{:>20} cargo xtask fuzz --replay {file}\n",
                cause(&text),
                ""
            ))?;
        }
        // Without a new finding, libFuzzer would stop for the same reason each time.
        if new.is_empty() {
            return Err(format!("`{target}` stopped with {status}: see {}", log.display()));
        }
    }
}

/// Returns the last statistics of libFuzzer: branches, inputs, and inputs per second.
fn last_count(log: &str) -> String {
    let counts = log.lines().rev().find(|line| line.starts_with('#') && line.contains(" cov: "));
    counts.unwrap_or("no input was run").replace('\t', " ")
}

/// Returns the first message about a finding in a log.
fn cause(log: &str) -> &str {
    let mut lines = log.lines();
    let panic = lines.find(|line| line.contains(" panicked at ") || line.contains("ERROR: libFuzzer"));
    let next = lines.next().filter(|_| panic.is_some_and(|line| line.contains(" panicked at ")));
    next.or(panic).unwrap_or("the program ended without a message")
}

/// Replaces the corpus of a target by a few inputs that cover all known branches that no seed covers.
fn keep(places: &Places, target: &str) -> Result<(), String> {
    let broken = |folder: &Path, error: std::io::Error| format!("{}: {error}", folder.display());
    for name in ["kept", "nothing"] {
        let folder = places.folder(name, target)?;
        fs::remove_dir_all(&folder).map_err(|error| broken(&folder, error))?;
    }
    let chosen = places.folder("kept", target)?;
    let nothing = places.folder("nothing", target)?;
    let corpus = places.corpus(target);
    let found = places.folder("found", target)?;
    let (mut seeds, log_of_seeds) = places.libfuzzer(target, "seeds")?;
    seeds.env("ZARR_FUZZ_SEEDS", &chosen).arg("-runs=1").arg(&nothing);
    let (mut merge, log) = places.libfuzzer(target, "merge")?;
    // Only whether a branch is taken counts, not how often.
    merge.args(KEPT_LIMITS).args(["-set_cover_merge=1", "-use_counters=0"]).args([&chosen, &corpus, &found]);
    if target == PROGRAM {
        merge.arg(PROGRAM_TIMEOUT);
    }
    for (mut command, log) in [(seeds, log_of_seeds), (merge, log)] {
        let status = command.status().map_err(|error| format!("{}: {error}", places.program.display()))?;
        if !status.success() {
            return Err(format!("the inputs of `{target}` cannot be merged: see {}", log.display()));
        }
    }
    for name in names(&corpus)?.iter().filter(|name| !name.starts_with(REGRESSION)) {
        fs::remove_file(corpus.join(name)).map_err(|error| broken(&corpus, error))?;
    }
    let mut kept = names(&chosen)?;
    kept.retain(|name| !name.starts_with("seed-"));
    // Names are hashes, so the first ones are a random sample.
    kept.truncate(MOST_KEPT);
    for name in &kept {
        fs::copy(chosen.join(name), corpus.join(name)).map_err(|error| broken(&corpus, error))?;
    }
    say(&format!("{target:<20} {} inputs stored\n", kept.len()))
}

impl Places {
    fn corpus(&self, target: &str) -> PathBuf {
        self.root.join(CORPUS).join(target)
    }

    /// Returns the command for libFuzzer on one target, and the path of its log.
    fn libfuzzer(&self, target: &str, log: &str) -> Result<(Command, PathBuf), String> {
        let log = self.folder("logs", target)?.join(format!("{log}.log"));
        let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mut command = Command::new(&self.program);
        command.env("ZARR_FUZZ_TARGET", target).stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        Ok((command, log))
    }

    /// Creates a folder for one target and returns its path.
    fn folder(&self, name: &str, target: &str) -> Result<PathBuf, String> {
        let folder = self.work.join(name).join(target);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }
}

/// Runs one input in an ordinary build, which a debugger supports.
fn replay(workspace: &Workspace, file: &Path) -> Result<(), Failure> {
    let file = file.canonicalize().map_err(|error| format!("{}: {error}", file.display()))?;
    let target = target_of(&file).ok_or_else(|| {
        Failure::Usage(format!("{}: the folder of an input is named after its target", file.display()))
    })?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["run", "--quiet", "--package", "zarr-fuzz", "--bin", "zarr-fuzz", "--", target]).arg(&file);
    let status = command.current_dir(&workspace.root).stdin(Stdio::null()).status();
    if status.map_err(|error| format!("cargo: {error}"))?.success() { Ok(()) } else { Err(Failure::Checks) }
}

/// Returns the target of an input: the name of its folder.
fn target_of(file: &Path) -> Option<&str> {
    file.parent()?.file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, clap::Error> {
        let command = Options::augment_args(clap::Command::new("fuzz").no_binary_name(true));
        Options::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }

    #[test]
    fn options_give_the_time_the_targets_and_the_jobs() {
        let options = parse(&["--minutes", "7", "--target", "json", "--jobs", "2", "--keep"]).unwrap();
        let targets = vec!["json".to_owned()];
        let jobs = NonZero::new(2).unwrap();
        assert_eq!(options, Options { minutes: Some(7), targets, jobs, keep: true, replay: None });
    }

    #[test]
    fn an_invalid_command_line_is_refused() {
        for arguments in [&[][..], &["--minutes"], &["--minutes", "0"], &["--jobs", "x"], &["--hours", "1"]] {
            assert!(parse(arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn the_time_is_shared_among_all_targets() {
        assert_eq!(share(10, 12, 1), 50);
        assert_eq!(share(10, 12, 5), 200);
        assert_eq!(share(1, 1000, 1), 1);
    }

    #[test]
    fn the_target_of_an_input_is_its_folder() {
        assert_eq!(target_of(Path::new("fuzz/corpus/json/regression-1")), Some("json"));
        assert_eq!(target_of(Path::new("input")), None);
    }

    #[test]
    fn a_log_is_summarized_in_one_line() {
        let log = "#12\tINITED cov: 3 ft: 4\n#900\tDONE   cov: 5 ft: 6 exec/s: 30\nstat\n";
        assert_eq!(last_count(log), "#900 DONE   cov: 5 ft: 6 exec/s: 30");
        assert_eq!(last_count("Usage\n"), "no input was run");
        let panic = "INFO: x\nthread 'main' panicked at a.rs:1:2:\nother bytes came back\n";
        assert_eq!(cause(panic), "other bytes came back");
        assert_eq!(
            cause("==1== ERROR: libFuzzer: timeout after 20 seconds\nx\n"),
            "==1== ERROR: libFuzzer: timeout after 20 seconds"
        );
    }
}
