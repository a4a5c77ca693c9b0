//! The tests of all crates. They take most of the time and less than half of the processors, because many wait for
//! programs that they start. So they run in the background, at the same time as the steps that follow.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, SystemTime};

use super::counts::{self, Counts};
use super::{Outcome, Run, WITH_CPLUSPLUS, finish, shown};

/// Test programs that run in the background.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    command: String,
    start: SystemTime,
    /// The file that receives standard output and standard error.
    output: PathBuf,
    /// The file to which skipped tests append their reasons, because the harness hides the output of tests that pass.
    skips: PathBuf,
}

/// Builds all tests of all crates with all features and starts them. Returns the failure if they cannot be built. Uses
/// `cargo test`, because it also runs the examples in the documentation.
pub(super) fn start(run: &Run<'_>) -> Result<Result<Running, Outcome>, String> {
    let command = || {
        let mut command = run.cargo(&["test", "--workspace", "--all-features", "--no-fail-fast"]);
        command.args(WITH_CPLUSPLUS);
        command
    };
    let built = finish(command().arg("--no-run"))?;
    if built != Outcome::Passed {
        return Ok(Err(built));
    }
    let mut command = command();
    let skips = run.target.join("skips.txt");
    fs::create_dir_all(&run.target).map_err(|error| broken(&run.target, &error))?;
    fs::write(&skips, "").map_err(|error| broken(&skips, &error))?;
    command.env("ZARR_SKIPS", &skips);
    run.set_length(&mut command);
    spawn(command, run.target.join("tests.txt"), skips).map(Ok)
}

fn spawn(mut command: Command, output: PathBuf, skips: PathBuf) -> Result<Running, String> {
    let file = File::create(&output).map_err(|error| broken(&output, &error))?;
    let copy = file.try_clone().map_err(|error| broken(&output, &error))?;
    let shown = shown(&command);
    let child = command.stdout(copy).stderr(file).spawn().map_err(|error| format!("{shown}: {error}"))?;
    Ok(Running { child, command: shown, start: SystemTime::now(), output, skips })
}

impl Running {
    /// Copies the output of the tests to `show` until they end, and adds their results to `counts`. Returns the outcome
    /// and the seconds that they took.
    pub(super) fn finish(
        mut self,
        counts: &mut Counts,
        show: &mut impl Write,
    ) -> Result<(Outcome, f64), String> {
        let failed_before = counts.failed;
        let file = File::open(&self.output).map_err(|error| broken(&self.output, &error))?;
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        let status = loop {
            // The tests may write between the last read and their end, so their state is asked first.
            let status = self.child.try_wait().map_err(|error| format!("{}: {error}", self.command))?;
            // A line without an end is the start of one that is still being written.
            while lines.read_until(b'\n', &mut line).map_err(|error| broken(&self.output, &error))? > 0
                && line.ends_with(b"\n")
            {
                counts.show(&line, show);
                line.clear();
            }
            if let Some(status) = status {
                counts.show(&line, show);
                break status;
            }
            thread::sleep(Duration::from_millis(200));
        };
        let skips = fs::read_to_string(&self.skips).map_err(|error| broken(&self.skips, &error))?;
        counts.skips.extend(skips.lines().filter(|line| !line.trim().is_empty()).map(counts::without_label));
        let seconds = self.seconds().map_err(|error| broken(&self.output, &error))?;
        if status.success() {
            return Ok((Outcome::Passed, seconds));
        }
        // A program that crashes does not print a result line, but must count as a failure.
        counts.failed = counts.failed.max(failed_before + 1);
        Ok((Outcome::Failed(self.command), seconds))
    }

    /// Returns the time from the start to the last output. The tests may have ended before this program began to wait
    /// for them.
    fn seconds(&self) -> io::Result<f64> {
        let end = fs::metadata(&self.output)?.modified()?;
        Ok(end.duration_since(self.start).unwrap_or_default().as_secs_f64())
    }
}

fn broken(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn finished(script: &str) -> (Counts, Outcome, String) {
        let folder = tempfile::tempdir().unwrap();
        let skips = folder.path().join("skips.txt");
        fs::write(&skips, "SKIPPED: no Python\n").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let running = spawn(command, folder.path().join("tests.txt"), skips).unwrap();
        let mut counts = Counts::default();
        let mut shown = Vec::new();
        let (outcome, seconds) = running.finish(&mut counts, &mut shown).unwrap();
        assert!((0.0..60.0).contains(&seconds));
        (counts, outcome, String::from_utf8(shown).unwrap())
    }

    const LINE: &str = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored'";

    #[test]
    fn tests_in_the_background_are_counted_and_their_whole_output_is_shown() {
        let script = format!("echo a; {LINE}; sleep 0.5; echo b >&2; {LINE}; printf c");
        let (counts, outcome, shown) = finished(&script);
        assert_eq!((counts.passed, counts.failed, outcome), (6, 0, Outcome::Passed));
        assert_eq!(counts.skips, ["no Python"]);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!((lines[0], lines[2], lines[4]), ("a", "b", "c"));
    }

    #[test]
    fn a_program_that_dies_without_a_result_counts_as_one_failure() {
        let (counts, outcome, _) = finished(&format!("{LINE}; exit 101"));
        assert_eq!((counts.passed, counts.failed), (3, 1));
        assert!(matches!(outcome, Outcome::Failed(_)));
    }
}
