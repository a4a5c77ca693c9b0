//! Counts tests from the lines that test programs print.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::{Outcome, shown};

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// Ignored tests.
    pub(super) ignored: u64,
    /// Rules of the conformance suite that do not apply to a plugin. The suite shows them as ignored tests with a reason.
    pub(super) not_applicable: u64,
    /// The reasons of skips, one line each.
    pub(super) skips: Vec<String>,
    pub(super) failures: Failures,
}

/// The reports on failed tests. The summary repeats them, because thousands of lines may follow a failure.
#[derive(Debug, Default)]
pub(super) struct Failures {
    pub(super) lines: Vec<String>,
    /// Whether the next lines belong to the report at the end of a test program.
    is_inside: bool,
    /// The line with which cargo announces the current test program.
    program: String,
}

/// The largest number of lines that the summary repeats.
const MAX_FAILURE_LINES: usize = 500;

impl Counts {
    pub(super) fn skipped(&self) -> u64 {
        self.ignored.saturating_sub(self.not_applicable) + self.skips.iter().map(|_| 1).sum::<u64>()
    }

    /// Runs `pytest`, copies its output to `show` while it runs, and adds its result lines.
    pub(super) fn watch(&mut self, command: &mut Command, show: &mut impl Write) -> Result<Outcome, String> {
        let broken = |command: &Command, error: std::io::Error| format!("{}: {error}", shown(command));
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| broken(command, error))?;
        let failed_before = self.failed;
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).split(b'\n') {
                self.show(&line.map_err(|error| broken(command, error))?, show);
            }
        }
        if child.wait().map_err(|error| broken(command, error))?.success() {
            return Ok(Outcome::Passed);
        }
        // A program that does not compile or crashes does not print a result line, but must count as a failure.
        self.failed = self.failed.max(failed_before + 1);
        Ok(Outcome::Failed(shown(command)))
    }

    /// Copies a line to `show`, and adds its counts.
    pub(super) fn show(&mut self, line: &[u8], show: &mut impl Write) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches('\n');
        // The reader of the output may be gone. The tests continue, and their status still counts.
        let _gone = writeln!(show, "{line}");
        self.failures.read(line);
        self.add(line);
    }

    /// Adds the counts of a line such as `test result: ok. 5 passed; 0 failed; 1 ignored; …`, and the reasons of skips.
    /// Ignores other lines.
    fn add(&mut self, line: &str) {
        // A test with `#[ignore]` is shown without parentheses.
        if let Some((name, reason)) = line.strip_prefix("test ").and_then(|it| it.split_once("... ignored ("))
        {
            self.not_applicable += 1;
            if reason.starts_with("not on this machine: ") {
                self.skips.push(format!("{}: {}", name.trim(), reason.trim_end_matches(')')));
            }
        }
        let Some((_, result)) = line.split_once("test result: ") else { return self.add_pytest(line) };
        for part in result.split([';', '.']) {
            match part.trim().split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                Some((number, "ignored")) => self.ignored += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

impl Failures {
    /// Keeps the line if it belongs to the report of a test program or of pytest.
    fn read(&mut self, line: &str) {
        if line.trim_start().starts_with("Running ") || line.trim_start().starts_with("Doc-tests ") {
            line.trim().clone_into(&mut self.program);
        }
        let title = line.trim_matches(['=', ' ']);
        let is_start =
            line == "failures:" || (line.starts_with("===") && ["FAILURES", "ERRORS"].contains(&title));
        if is_start && !self.is_inside {
            self.is_inside = true;
            self.lines.push(std::mem::take(&mut self.program));
        }
        if self.is_inside && self.lines.len() < MAX_FAILURE_LINES {
            self.lines.push(line.to_owned());
        }
        if line.starts_with("test result: ") || pytest_parts(line).is_some() {
            self.is_inside = false;
        }
    }
}

impl Counts {
    /// Adds the last line of pytest: `5 passed, 1 skipped in 0.21s`.
    fn add_pytest(&mut self, line: &str) {
        for (number, word) in pytest_parts(line).unwrap_or_default() {
            match word {
                "passed" => self.passed += number,
                "failed" | "error" | "errors" => self.failed += number,
                "skipped" => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// Parses the last line of pytest: `5 passed, 1 skipped in 0.21s`.
fn pytest_parts(line: &str) -> Option<Vec<(u64, &str)>> {
    let (result, _duration) = line.split_once(" in ")?;
    result.split(", ").map(pytest_part).collect()
}

/// Parses a part of the last line of pytest, such as `3 passed`.
fn pytest_part(part: &str) -> Option<(u64, &str)> {
    const WORDS: [&str; 6] = ["passed", "failed", "error", "errors", "skipped", "warnings"];
    let (number, word) = part.split_once(' ')?;
    let number = number.parse().ok()?;
    WORDS.contains(&word).then_some((number, word))
}

/// Returns a line of the file of skips without its label, which the summary adds again.
pub(super) fn without_label(line: &str) -> String {
    line.strip_prefix("SKIPPED:").unwrap_or(line).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_added_up_and_other_lines_are_not() {
        let mut counts = Counts::default();
        for line in [
            "running 6 tests",
            "test result: ok. 5 passed; 0 failed; 2 ignored; 0 measured; 2 filtered out; finished in 0.01s",
            "test a ... ok",
            "test b ... ignored",
            "test codec `a`: L4 codec-size ... ignored (the size depends on the elements)",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s",
        ] {
            counts.add(line);
        }
        assert_eq!((counts.passed, counts.failed, counts.ignored), (15, 2, 2));
        assert_eq!((counts.not_applicable, counts.skipped()), (1, 1));
        counts.add(
            "test codec `a`: L2 codec-allocation ... ignored (not on this machine: `prlimit` is missing)",
        );
        counts.add("test result: ok. 1 passed; 0 failed; 1 ignored");
        assert_eq!(counts.skipped(), 2);
        assert_eq!(
            counts.skips,
            ["codec `a`: L2 codec-allocation: not on this machine: `prlimit` is missing"]
        );
    }

    #[test]
    fn the_last_line_of_pytest_is_added_up_and_other_lines_are_not() {
        let mut counts = Counts::default();
        for line in
            ["3 failed, 57 passed, 2 skipped in 0.21s", "5 passed in 1.00s", "1 chunk, 2 arrays in a store"]
        {
            counts.add(line);
        }
        assert_eq!((counts.passed, counts.failed, counts.ignored), (62, 3, 2));
    }

    #[cfg(unix)]
    fn watched(script: &str) -> (Counts, Outcome) {
        let mut counts = Counts::default();
        let mut shown = Vec::new();
        let outcome = counts.watch(Command::new("sh").args(["-c", script]), &mut shown).unwrap();
        assert!(shown.starts_with(b"test result: ok. 3 passed;"));
        (counts, outcome)
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_dies_without_a_result_counts_as_one_failure() {
        let line = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored'";
        let (counts, outcome) = watched(&format!("{line}; exit 101"));
        assert_eq!((counts.passed, counts.failed), (3, 1));
        assert!(matches!(outcome, Outcome::Failed(_)));
        let (counts, outcome) = watched(line);
        assert_eq!((counts.passed, counts.failed, outcome), (3, 0, Outcome::Passed));
    }

    #[test]
    fn the_reports_on_failed_tests_are_kept_with_their_programs() {
        let mut counts = Counts::default();
        let lines = [
            "     Running tests/a.rs (target/debug/deps/a-1)",
            "test a ... ok",
            "test result: ok. 1 passed; 0 failed; 0 ignored",
            "     Running tests/b.rs (target/debug/deps/b-1)",
            "test b ... FAILED",
            "",
            "failures:",
            "",
            "---- b stdout ----",
            "assertion failed",
            "",
            "failures:",
            "    b",
            "test result: FAILED. 0 passed; 1 failed; 0 ignored",
            "test c ... ok",
            "==================== FAILURES ====================",
            "E   assert 1 == 2",
            "1 failed, 5 passed in 0.21s",
            "5 passed in 1.00s",
        ];
        for line in lines {
            counts.show(line.as_bytes(), &mut Vec::new());
        }
        let expected =
            [&["Running tests/b.rs (target/debug/deps/b-1)"], &lines[6..14], &[""], &lines[15..18]].concat();
        assert_eq!(counts.failures.lines, expected);
    }

    #[test]
    fn the_label_of_a_skip_is_not_repeated() {
        assert_eq!(without_label("SKIPPED: no Python"), "no Python");
        assert_eq!(without_label("no Python"), "no Python");
    }
}
