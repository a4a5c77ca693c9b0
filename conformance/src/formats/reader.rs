//! Runs the programs that read examples, limits their resources and classifies the result.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use super::{Example, Expectation};
use crate::child::{Ended, ended, is_out_of_memory};

/// The result of reading an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "scores count every outcome")]
pub enum Outcome {
    /// The reader returned the expected elements.
    Right,
    /// The reader reported an error for an invalid example.
    Refused,
    /// The reader did not read an example that is valid but optional.
    NotSupported,
    /// The reader returned other elements and no error.
    WrongElements,
    /// The reader returned elements of an invalid example and no error.
    Accepted,
    /// The reader reported an error for a valid example.
    RefusedValid,
    /// A signal ended the reader: a segmentation fault or an abort.
    Crashed,
    /// The reader exceeded the time limit.
    TimedOut,
    /// The reader exceeded the memory limit.
    OutOfMemory,
}

impl Outcome {
    /// All outcomes, good ones first.
    pub const ALL: [Self; 9] = [
        Self::Right,
        Self::Refused,
        Self::NotSupported,
        Self::WrongElements,
        Self::Accepted,
        Self::RefusedValid,
        Self::Crashed,
        Self::TimedOut,
        Self::OutOfMemory,
    ];

    /// Checks whether the outcome is the expected one.
    #[must_use]
    pub fn is_right(self) -> bool {
        matches!(self, Self::Right | Self::Refused)
    }

    /// Checks whether the outcome is a failure. An unsupported example is neither right nor a failure.
    #[must_use]
    pub fn is_failure(self) -> bool {
        !self.is_right() && self != Self::NotSupported
    }

    /// Returns a short description for reports.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Right => "the right elements",
            Self::Refused => "an error for an invalid example",
            Self::NotSupported => "valid and optional, but not read",
            Self::WrongElements => "other elements, and no error",
            Self::Accepted => "elements of an invalid example, and no error",
            Self::RefusedValid => "an error for a valid example",
            Self::Crashed => "ended by a signal",
            Self::TimedOut => "exceeded the time limit",
            Self::OutOfMemory => "exceeded the memory limit",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Right => "right",
            Self::Refused => "refused",
            Self::NotSupported => "not-supported",
            Self::WrongElements => "wrong-elements",
            Self::Accepted => "accepted",
            Self::RefusedValid => "refused-valid",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed-out",
            Self::OutOfMemory => "out-of-memory",
        })
    }
}

impl std::str::FromStr for Outcome {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|outcome| outcome.to_string() == text);
        found.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(ToString::to_string).collect();
            format!("unknown outcome `{text}` (expected one of {})", names.join(", "))
        })
    }
}

/// An example and the outcome of reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The example.
    pub example: &'static Example,
    /// The outcome.
    pub outcome: Outcome,
    /// The last message of the reader, or how its elements differ; may be empty.
    pub note: String,
    /// The duration of the run.
    pub time: Duration,
}

impl Reading {
    pub(super) fn new(example: &'static Example, outcome: Outcome, note: String) -> Self {
        Self { example, outcome, note, time: Duration::ZERO }
    }
}

/// An array of a store that exists, and the expected behavior of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored<'a> {
    /// The location of the store.
    pub store: &'a Path,
    /// The path of the array.
    pub array: &'a str,
    /// The expected behavior.
    pub expectation: &'a Expectation,
}

/// The resource limits for one example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum duration.
    pub time: Duration,
    /// The maximum size of the address space in KiB. Without effect if the shell cannot limit it.
    pub memory: u64,
}

impl Default for Limits {
    /// Returns limits of a minute and 4 GiB. No example needs a thousandth of that, but some runtimes reserve a few
    /// GiB.
    fn default() -> Self {
        Self { time: Duration::from_secs(60), memory: 4 << 20 }
    }
}

/// A program that reads arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// The name in reports.
    pub name: String,
    /// The command line for the shell. `{store}`, `{array}` and `{out}` stand for the folder of a hierarchy, the path
    /// of an array in it, and the output file.
    pub command: String,
    /// The resource limits.
    pub limits: Limits,
}

impl Reader {
    /// Creates a reader with the default limits.
    pub fn new(name: impl Into<String>, command: impl Into<String>) -> Self {
        Self { name: name.into(), command: command.into(), limits: Limits::default() }
    }

    /// Reads all `examples` on `threads` threads. The hierarchies are written below `folder`.
    ///
    /// # Errors
    ///
    /// Errors of the file system, and of starting a shell.
    pub fn read_all(
        &self,
        examples: &[&'static Example],
        folder: &Path,
        threads: usize,
    ) -> io::Result<Vec<Reading>> {
        let share = examples.len().div_ceil(threads.max(1)).max(1);
        thread::scope(|scope| {
            let read = |part: &[&'static Example]| part.iter().map(|it| self.read(it, folder)).collect();
            let parts: Vec<_> = examples
                .chunks(share)
                .map(|part| scope.spawn(move || -> io::Result<Vec<_>> { read(part) }))
                .collect();
            let mut readings = Vec::new();
            for part in parts {
                let part = part.join().map_err(|_| io::Error::other("a reading thread panicked"))?;
                readings.extend(part?);
            }
            Ok(readings)
        })
    }

    /// Reads one example. Its hierarchy is written below `folder` and remains there.
    ///
    /// # Errors
    ///
    /// Errors of the file system, and of starting a shell.
    pub fn read(&self, example: &'static Example, folder: &Path) -> io::Result<Reading> {
        let store = folder.join(&example.id);
        example.write_to(&store)?;
        let start = Instant::now();
        let stored = Stored { store: &store, array: &example.array, expectation: &example.expectation };
        let (outcome, note) = self.read_stored(&stored, &store)?;
        Ok(Reading { time: start.elapsed(), ..Reading::new(example, outcome, note) })
    }

    /// Reads an array of a store that exists; returns the outcome, and a note as in [`Reading::note`]. The names of
    /// temporary files are `scratch` with suffixes.
    ///
    /// # Errors
    ///
    /// Errors of the file system, and of starting a shell.
    pub fn read_stored(&self, stored: &Stored<'_>, scratch: &Path) -> io::Result<(Outcome, String)> {
        let with = |end: &str| -> PathBuf {
            let mut name = scratch.as_os_str().to_owned();
            name.push(end);
            name.into()
        };
        let out = with(".out");
        let complaints = with(".err");
        remove(&out)?;
        let ended = self.run(&self.command_line(stored.store, stored.array, &out), &complaints)?;
        let said = fs::read(&complaints)?;
        remove(&complaints)?;
        let elements = match fs::read(&out) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            elements => Some(elements?),
        };
        remove(&out)?;
        Ok(judge(stored.expectation, ended, elements.as_deref(), &String::from_utf8_lossy(&said)))
    }

    /// Returns the command for one array.
    #[must_use]
    pub fn command_line(&self, store: &Path, array: &str, out: &Path) -> String {
        self.command
            .replace("{store}", &quoted(&store.to_string_lossy()))
            .replace("{array}", &quoted(array))
            .replace("{out}", &quoted(&out.to_string_lossy()))
    }

    fn run(&self, command: &str, complaints: &Path) -> io::Result<Ended> {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("ulimit -v {} 2>/dev/null; ulimit -c 0; {command}", self.limits.memory));
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(complaints)?);
        ended(&mut shell, self.limits.time)
    }
}

/// Checks whether this machine has a shell to run commands.
#[must_use]
pub fn is_available() -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", "exit 0"]).stdin(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn judge(expectation: &Expectation, ended: Ended, elements: Option<&[u8]>, text: &str) -> (Outcome, String) {
    let last = || last_line(text.lines());
    let mut of_memory = text.lines().filter(|line| is_out_of_memory(line)).peekable();
    match (ended, expectation) {
        (Ended::Late, _) => (Outcome::TimedOut, last()),
        (Ended::Status(_) | Ended::Signal(_), _) if of_memory.peek().is_some() => {
            (Outcome::OutOfMemory, last_line(of_memory))
        }
        (Ended::Signal(signal), _) => (Outcome::Crashed, format!("signal {signal}: {}", last())),
        (Ended::Status(_), Expectation::Values(_)) => (Outcome::RefusedValid, last()),
        (Ended::Status(_), Expectation::Either(_) | Expectation::Usual(_)) => (Outcome::NotSupported, last()),
        (Ended::Status(_), Expectation::Refused) => (Outcome::Refused, last()),
        (Ended::Well, Expectation::Refused) => {
            (Outcome::Accepted, elements.map_or_else(|| "no elements".to_owned(), shown))
        }
        (
            Ended::Well,
            Expectation::Values(wanted) | Expectation::Either(wanted) | Expectation::Usual(wanted),
        ) => {
            let is_usual = matches!(expectation, Expectation::Usual(_));
            let wrong = if is_usual { Outcome::NotSupported } else { Outcome::WrongElements };
            match elements {
                Some(elements) if elements == wanted => (Outcome::Right, String::new()),
                Some(elements) => (wrong, format!("{}, not {}", shown(elements), shown(wanted))),
                None => (Outcome::WrongElements, "status 0, but no elements".to_owned()),
            }
        }
    }
}

/// Formats bytes as hexadecimal digits, shortened if there are many.
fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 24;
    let digits: String = bytes.iter().take(MOST).map(|byte| format!("{byte:02x}")).collect();
    match bytes.len() {
        0 => "nothing".to_owned(),
        size if size > MOST => format!("{digits}… ({size} bytes)"),
        _ => digits,
    }
}

/// Returns the last line that is not empty. In a traceback, this is the message.
fn last_line<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let line = lines.map(str::trim).filter(|line| !line.is_empty()).last().unwrap_or_default();
    line.chars().take(300).collect()
}

/// Quotes text for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::super::all;
    use super::*;

    fn valid() -> &'static Example {
        all()
            .iter()
            .find(|example| matches!(&example.expectation, Expectation::Values(it) if !it.is_empty()))
            .unwrap()
    }

    fn invalid() -> &'static Example {
        all().iter().find(|example| example.expectation == Expectation::Refused).unwrap()
    }

    fn read(command: &str, example: &'static Example) -> Reading {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { time: Duration::from_millis(1500), memory: 1 << 20 };
        Reader { limits, ..Reader::new("test", command) }.read(example, folder.path()).unwrap()
    }

    #[test]
    fn outcomes_are_told_apart() {
        let outcome = |command: &str, example| read(command, example).outcome;
        assert_eq!(outcome("printf x > {out}", valid()), Outcome::WrongElements);
        assert_eq!(outcome("true", valid()), Outcome::WrongElements);
        assert_eq!(outcome("true", invalid()), Outcome::Accepted);
        assert_eq!(outcome("exit 3", valid()), Outcome::RefusedValid);
        assert_eq!(outcome("exit 3", invalid()), Outcome::Refused);
        assert_eq!(outcome("kill -SEGV $$", invalid()), Outcome::Crashed);
        assert_eq!(outcome("sh -c 'kill -ABRT $$'; exit $?", invalid()), Outcome::Crashed);
        assert_eq!(outcome("sleep 20 & sleep 20", invalid()), Outcome::TimedOut);
        assert_eq!(
            outcome("echo MemoryError >&2; echo Aborted >&2; exit 1", invalid()),
            Outcome::OutOfMemory
        );
    }

    #[test]
    fn refusing_a_valid_example_never_counts_as_right() {
        let other = |is: fn(&Expectation) -> bool| all().iter().find(|it| is(&it.expectation)).unwrap();
        let either = other(|it| matches!(it, Expectation::Either(_)));
        let usual = other(|it| matches!(it, Expectation::Usual(_)));
        let outcome = |command: &str, example| read(command, example).outcome;
        assert_eq!(outcome("exit 3", either), Outcome::NotSupported);
        assert_eq!(outcome("printf x > {out}", either), Outcome::WrongElements);
        assert_eq!(outcome("exit 3", usual), Outcome::NotSupported);
        assert_eq!(outcome("printf x > {out}", usual), Outcome::NotSupported);
        assert!(!Outcome::NotSupported.is_right() && !Outcome::NotSupported.is_failure());
    }

    #[test]
    fn memory_is_limited() {
        let command = "x=$(head -c 100000000 /dev/zero | tr '\\0' x) && echo ${#x} >&2; exit 1";
        let folder = tempfile::tempdir().unwrap();
        let reader = |memory| Reader {
            limits: Limits { memory, ..Limits::default() },
            ..Reader::new("test", command)
        };
        let note = |memory| reader(memory).read(invalid(), folder.path()).unwrap().note;
        assert_eq!(note(2 << 20), "100000000");
        assert_ne!(note(64 << 10), "100000000");
    }

    #[test]
    fn the_expected_bytes_are_right_for_any_program() {
        let example = valid();
        let Expectation::Values(elements) = &example.expectation else { unreachable!() };
        let octal: String = elements.iter().map(|byte| format!("\\{byte:03o}")).collect();
        let reading = read(&format!("test -d {{store}} && printf '{octal}' > {{out}}"), example);
        assert_eq!((reading.outcome, reading.note.as_str()), (Outcome::Right, ""));
    }

    #[test]
    fn the_last_message_is_recorded_and_arguments_are_quoted() {
        let reading = read("echo first >&2; echo ' the end ' >&2; echo >&2; exit 1", invalid());
        assert_eq!(reading.note, "the end");
        let reader = Reader::new("test", "read {store} {array} {out}");
        let line = reader.command_line(Path::new("/a b"), "/it's", Path::new("o"));
        assert_eq!(line, r"read '/a b' '/it'\''s' 'o'");
    }

    #[test]
    fn examples_are_read_in_parallel_and_returned_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let examples: Vec<_> = all().iter().take(5).collect();
        let readings = Reader::new("test", "exit 1").read_all(&examples, folder.path(), 2).unwrap();
        assert!(readings.iter().map(|reading| reading.example).eq(examples));
    }
}
