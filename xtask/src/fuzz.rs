//! `cargo xtask fuzz`: libFuzzer on the targets of `zarr-fuzz`, one after another or some at once, with the time shared.
//!
//! libFuzzer wants to know which branches an input takes. The stable compiler counts them when LLVM is told to, so that no
//! other toolchain is needed; C code of codecs is counted too where clang is there to build it.

use std::fs::{self, File};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::ArgGroup;

use crate::workspace::Workspace;
use crate::{Failure, say};

/// Inputs that are kept, in a folder for each target.
const CORPUS: &str = "fuzz/corpus";

/// Runs many processes for each input, and limits the time of each itself: seconds that all of them may take.
const PROGRAM: &str = "program";
const PROGRAM_TIMEOUT: &str = "-timeout=300";

/// What once crashed keeps its place when the rest is chosen anew.
const REGRESSION: &str = "regression-";

/// Counts of branches, where they are, and what is compared.
const RUSTFLAGS: &str = "-C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=4 \
                         -C llvm-args=-sanitizer-coverage-inline-8bit-counters \
                         -C llvm-args=-sanitizer-coverage-pc-table \
                         -C llvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// Bytes of an input, seconds and MiB of memory that one may take.
const LIMITS: [&str; 3] = ["-max_len=4096", "-timeout=20", "-rss_limit_mb=2048"];

/// The same for inputs that are kept: every clone of the repository has them.
const KEPT_LIMITS: [&str; 3] = ["-max_len=512", "-timeout=20", "-rss_limit_mb=2048"];

/// The most inputs that are kept for a target.
const MOST_KEPT: usize = 120;

/// What to run.
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
    /// Choose the stored corpus of the targets anew
    #[arg(long, group = "work")]
    keep: bool,
    /// Run one input of a target in an ordinary build
    #[arg(long, group = "work", value_name = "FILE", conflicts_with_all = ["minutes", "keep"])]
    replay: Option<PathBuf>,
}

/// Where things are.
#[derive(Debug)]
struct Places {
    root: PathBuf,
    /// The program, with libFuzzer in it.
    program: PathBuf,
    /// Seeds, inputs that were found, findings and logs, in a folder each.
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
        say(&format!("{} targets, {seconds} s each, {jobs} at once\n", targets.len()))?;
        has_findings = fuzz_all(&places, &targets, seconds, jobs)?;
    }
    if options.keep {
        targets.iter().try_for_each(|target| keep(&places, target))?;
    }
    if has_findings { Err(Failure::Checks) } else { Ok(()) }
}

/// The folders of the corpus name all targets: each has inputs, or its test fails.
fn chosen(workspace: &Workspace, wanted: &[String]) -> Result<Vec<String>, Failure> {
    let all = names(&workspace.root.join(CORPUS))?;
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
        let all = all.join(", ");
        return Err(Failure::Usage(format!("there is no target `{unknown}`, only {all}")));
    }
    Ok(if wanted.is_empty() { all } else { wanted.to_vec() })
}

/// The sorted names of what is in a folder.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let broken = |error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(broken)? {
        names.push(entry.map_err(broken)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Seconds for each target.
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
    // With a target named, build scripts and macros are built without these flags.
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

/// What the compiler builds for unless told.
fn host() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let triple = text.lines().find_map(|line| line.strip_prefix("host: "));
    triple.map(str::to_owned).ok_or_else(|| "rustc does not say what it builds for".to_owned())
}

/// Runs all targets, `jobs` at once. True if any of them found something.
fn fuzz_all(places: &Places, targets: &[String], seconds: u64, jobs: usize) -> Result<bool, String> {
    let mut has_findings = false;
    for group in targets.chunks(jobs) {
        let results: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> =
                group.iter().map(|target| scope.spawn(move || fuzz(places, target, seconds))).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        for result in results {
            has_findings |= result.map_err(|_panic| "a thread that fuzzes panicked".to_owned())??;
        }
    }
    Ok(has_findings)
}

/// Fuzzes one target, and goes on after a finding while there is time. True if there was one.
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
        // What is found at once again, or is no finding at all, would be found for ever.
        if new.is_empty() {
            return Err(format!("`{target}` stopped with {status}: see {}", log.display()));
        }
    }
}

/// How far libFuzzer came: branches, inputs, how many a second.
fn last_count(log: &str) -> String {
    let counts = log.lines().rev().find(|line| line.starts_with('#') && line.contains(" cov: "));
    counts.unwrap_or("no input was run").replace('\t', " ")
}

/// What the log says first about a finding.
fn cause(log: &str) -> &str {
    let mut lines = log.lines();
    let panic = lines.find(|line| line.contains(" panicked at ") || line.contains("ERROR: libFuzzer"));
    let next = lines.next().filter(|_| panic.is_some_and(|line| line.contains(" panicked at ")));
    next.or(panic).unwrap_or("an end without a word")
}

/// Replaces the corpus of a target by few inputs that take all branches that are known and that no seed takes.
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
    // Whether a branch is taken, and not how often.
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
    // Names are hashes, so that the first ones are any of them.
    kept.truncate(MOST_KEPT);
    for name in &kept {
        fs::copy(chosen.join(name), corpus.join(name)).map_err(|error| broken(&corpus, error))?;
    }
    say(&format!("{target:<20} {} inputs kept\n", kept.len()))
}

impl Places {
    fn corpus(&self, target: &str) -> PathBuf {
        self.root.join(CORPUS).join(target)
    }

    /// libFuzzer on one target, and where its log goes.
    fn libfuzzer(&self, target: &str, log: &str) -> Result<(Command, PathBuf), String> {
        let log = self.folder("logs", target)?.join(format!("{log}.log"));
        let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mut command = Command::new(&self.program);
        command.env("ZARR_FUZZ_TARGET", target).stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        Ok((command, log))
    }

    /// A folder for one target, which is made.
    fn folder(&self, name: &str, target: &str) -> Result<PathBuf, String> {
        let folder = self.work.join(name).join(target);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }
}

/// Runs one input in an ordinary build, where a debugger is at home.
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

/// Inputs lie in a folder that is named after their target.
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
    fn what_a_log_says_is_told_in_one_line() {
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
