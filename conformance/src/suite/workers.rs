//! The parent's side of workers: rules are checked in other processes, and a crash is a failure.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::{NamedTempFile, TempPath};
use zarr_spec::host::registry::ExtensionPoint;

use super::attempt::{Placement, Record};
use super::worker::{List, Request, SentSuite, VARIABLE};
use super::{Again, Failure, Level, Outcome, Report, Rule, Subject, Suite, VERSION, Verdict};
use crate::child::Ended;

/// Options for checking rules in other processes.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// The time limit for one rule.
    pub time: Duration,
    /// The deadline for all rules.
    pub deadline: Option<Instant>,
    /// The address space of a worker in KiB.
    pub memory: Option<u64>,
    /// Whether to test codecs also with large chunks of every example, and with all buffers next to guard pages. Each
    /// codec rule is then checked twice, with guard pages after the buffers and before them.
    pub is_thorough: bool,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self { time: Duration::from_secs(240), deadline: None, memory: None, is_thorough: false }
    }
}

/// Processes that check rules. Each process checks many rules, and is replaced after a crash.
#[derive(Debug)]
pub struct Workers {
    again: Again,
    options: WorkerOptions,
    idle: Mutex<Vec<Worker>>,
}

/// A subject and its rules.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The plugin under test.
    pub subject: Subject,
    /// The rules, in the order of their trials.
    pub rules: Vec<&'static Rule>,
}

impl Listed {
    /// Returns the subject and the rules of a suite in this process.
    #[must_use]
    pub fn of(suite: &Suite) -> Self {
        let rules = suite.trials.iter().map(super::Trial::rule).collect();
        Self { subject: suite.subject.clone(), rules }
    }
}

impl Workers {
    /// Creates a pool of workers. They are started with `again`, and must call [`serve`](super::serve).
    #[must_use]
    pub fn new(again: Again, options: WorkerOptions) -> Self {
        Self { again, options, idle: Mutex::default() }
    }

    /// Returns the suites of a worker.
    ///
    /// # Errors
    ///
    /// [`Crash`] if the worker crashes or cannot return them.
    pub fn list(&self) -> Result<Vec<Listed>, Crash> {
        let line = self.ask(Request::List)?;
        let all: Option<Vec<Listed>> = match parsed(&line) {
            Some(List::Suites(sent)) => sent.into_iter().map(listed).collect(),
            Some(List::Refused(why)) => return Err(Crash::before(End::Refused(why))),
            None => None,
        };
        all.ok_or_else(|| Crash::not_started(format!("the list of rules cannot be parsed: {line}")))
    }

    /// Checks one rule of a suite from [`Workers::list`], or of a suite that this process also has.
    ///
    /// # Errors
    ///
    /// [`Crash`] if the worker crashes or exceeds the time limit.
    pub fn check(&self, suite: usize, trial: usize, point: ExtensionPoint) -> Result<Verdict, Crash> {
        let is_thorough = self.options.is_thorough;
        let placements: &[Placement] = match point {
            ExtensionPoint::Codec if is_thorough && cfg!(unix) => {
                &[Placement::BeforeGuard, Placement::AfterGuard]
            }
            _ => &[Placement::Anywhere],
        };
        let mut verdicts = Vec::new();
        for &placement in placements {
            let line = self.ask(Request::Rule { suite, trial, placement, is_thorough })?;
            let verdict = parsed(&line);
            verdicts.push(verdict.ok_or_else(|| {
                Crash::not_started(format!("the response of the process cannot be parsed: {line}"))
            })?);
        }
        let verdict = verdicts.into_iter().reduce(merged);
        Ok(verdict.unwrap_or_else(|| Verdict::Skipped("no case ran".to_owned())))
    }

    /// Checks one rule. A crash is a failure of the rule.
    #[must_use]
    pub fn outcome(&self, suite: usize, trial: usize, listed: &Listed) -> Outcome {
        let start = Instant::now();
        let verdict = self.check(suite, trial, listed.subject.point);
        let verdict = verdict.unwrap_or_else(|crash| Verdict::Failed(vec![crash.failure()]));
        Outcome { rule: listed.rules[trial], verdict, time: start.elapsed() }
    }

    /// Checks all rules up to `level`, one after the other.
    #[must_use]
    pub fn report(&self, all: &[Listed], level: Level) -> Report {
        let outcomes = |(number, listed): (usize, &Listed)| {
            let trials = (0..listed.rules.len()).filter(|&trial| listed.rules[trial].level <= level);
            let outcomes = trials.map(|trial| self.outcome(number, trial, listed)).collect();
            (listed.subject.clone(), outcomes)
        };
        Report { version: VERSION, up_to: level, subjects: all.iter().enumerate().map(outcomes).collect() }
    }

    fn ask(&self, request: Request) -> Result<String, Crash> {
        let idle = self.idle().pop();
        let started = idle.map_or_else(|| Worker::start(&self.again, self.options.memory), Ok);
        let mut worker = started.map_err(|error| Crash::not_started(error.to_string()))?;
        let left = self.options.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let time = left.map_or(self.options.time, |left| left.min(self.options.time));
        let line = worker.ask(request, time)?;
        self.idle().push(worker);
        Ok(line)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parsed<T: serde::de::DeserializeOwned>(line: &str) -> Option<T> {
    let value = zarr_json::parse(line.as_bytes(), &zarr_json::ParseOptions::default()).ok()?.value;
    zarr_json::from_value(&value).ok()
}

/// Converts a received suite. It leaks the texts of the rules, which are few.
fn listed(sent: SentSuite) -> Option<Listed> {
    let point = ExtensionPoint::ALL.into_iter().find(|point| point.to_string() == sent.point)?;
    let rules = sent.rules.into_iter().map(|rule| {
        let rule = Rule {
            id: rule.id.leak(),
            level: rule.level.parse().ok()?,
            sentence: rule.sentence.leak(),
            source: rule.source.leak(),
            since: rule.since.leak(),
        };
        Some(&*Box::leak(Box::new(rule)))
    });
    let rules = rules.collect::<Option<Vec<&'static Rule>>>()?;
    let subject = Subject { point, name: sent.name, package: sent.package, version: sent.version };
    Some(Listed { subject, rules })
}

/// Merges the verdicts on a rule that was checked twice.
fn merged(first: Verdict, second: Verdict) -> Verdict {
    match (first, second) {
        (Verdict::Failed(mut all), Verdict::Failed(more)) => {
            let new: Vec<_> = more.into_iter().filter(|failure| !all.contains(failure)).collect();
            all.extend(new);
            Verdict::Failed(all)
        }
        (failed @ Verdict::Failed(_), _) | (_, failed @ Verdict::Failed(_)) => failed,
        (Verdict::Passed { cases, skipped }, Verdict::Passed { cases: more, .. }) => {
            Verdict::Passed { cases: cases + more, skipped }
        }
        (passed @ Verdict::Passed { .. }, _) | (_, passed @ Verdict::Passed { .. }) => passed,
        (skipped, Verdict::Skipped(_)) => skipped,
    }
}

/// A worker that ended without a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crash {
    /// The way the worker ended.
    pub end: End,
    /// The current operation; empty before the first one.
    pub attempt: String,
    /// The line of the worker's standard error that best explains the end; may be empty.
    pub said: String,
}

/// The end of a process that did not respond.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "reports print every end")]
pub enum End {
    /// A signal ended the process.
    Signal(i32),
    /// The process exited with this status.
    Status(i32),
    /// The process was killed after this time.
    Late(Duration),
    /// The process could not be started, or its response could not be parsed.
    NotStarted(String),
    /// The process is running, but has no rules to check, for this reason.
    Refused(String),
}

impl Crash {
    fn not_started(why: String) -> Self {
        Self::before(End::NotStarted(why))
    }

    fn before(end: End) -> Self {
        Self { end, attempt: String::new(), said: String::new() }
    }

    /// Returns the crash as a failure of the rule that was checked.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let what = match self.said.as_str() {
            "" => self.end.to_string(),
            said => format!("{}: {said}", self.end),
        };
        Failure { case: self.tried(), what }
    }

    /// Returns the operation during which the process crashed.
    #[must_use]
    pub fn tried(&self) -> String {
        match self.attempt.as_str() {
            "" => "before the first operation".to_owned(),
            attempt => attempt.to_owned(),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(4) => {
                f.write_str("it executed an instruction that this machine does not support (signal 4)")
            }
            Self::Signal(6) => f.write_str("it aborted the process (signal 6)"),
            Self::Signal(7 | 11) => f.write_str("it accessed invalid memory (segmentation fault)"),
            Self::Signal(8) => {
                f.write_str("it caused an arithmetic error such as division by zero (signal 8)")
            }
            Self::Signal(9) => f.write_str("it was killed (signal 9), possibly because memory ran out"),
            Self::Signal(signal) => write!(f, "it ended the process with signal {signal}"),
            Self::Status(status) => write!(f, "it exited the process with status {status}"),
            Self::Late(time) => write!(f, "it did not finish within {} s", time.as_secs_f64().ceil()),
            Self::NotStarted(why) => write!(f, "the worker process failed: {why}"),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

/// A process that waits for requests.
#[derive(Debug)]
struct Worker {
    child: Child,
    socket: Socket,
    answers: Receiver<String>,
    complaints: Complaints,
    record: TempPath,
}

#[cfg(unix)]
type Socket = std::os::unix::net::UnixStream;
#[cfg(not(unix))]
type Socket = io::Sink;

impl Worker {
    #[cfg(unix)]
    fn start(again: &Again, memory: Option<u64>) -> io::Result<Self> {
        use std::os::fd::OwnedFd;

        let record = NamedTempFile::new()?.into_temp_path();
        let (socket, other) = Socket::pair()?;
        let mut command = command(again, memory);
        command.env(VARIABLE, PathBuf::from(&*record)).env_remove("RUST_BACKTRACE");
        let mut child = command.stdin(OwnedFd::from(other)).stderr(Stdio::piped()).spawn()?;
        // The command holds the other end of the socket. While that end is open, this process would not notice that the
        // worker ends.
        drop(command);
        let complaints = Complaints::of(child.stderr.take());
        let answers = answers(socket.try_clone()?);
        Ok(Self { child, socket, answers, complaints, record })
    }

    #[cfg(not(unix))]
    fn start(_again: &Again, _memory: Option<u64>) -> io::Result<Self> {
        Err(io::Error::other("worker processes are supported only on Unix"))
    }

    fn ask(&mut self, request: Request, time: Duration) -> Result<String, Crash> {
        let end = Instant::now() + time;
        // If the process has ended, the write may fail. The code below notices that.
        let _unsent = self.socket.write_all(request.line().as_bytes());
        loop {
            match self.answers.recv_timeout(Duration::from_millis(50)) {
                Ok(line) => return Ok(line),
                // A process that the plugin started may still hold the socket.
                Err(RecvTimeoutError::Timeout) if !self.has_ended() && Instant::now() < end => {}
                Err(RecvTimeoutError::Timeout) if !self.has_ended() => return Err(self.crash(Some(time))),
                Err(_) => return Err(self.crash(None)),
            }
        }
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns the reason for the missing response. Kills the process if it exceeded the time limit.
    fn crash(&mut self, late: Option<Duration>) -> Crash {
        if late.is_some() {
            let _ended_meanwhile = self.child.kill();
        }
        let end = match (late, self.child.wait().map(Ended::of)) {
            (Some(time), _) => End::Late(time),
            (None, Ok(Ended::Signal(signal))) => End::Signal(signal),
            (None, Ok(Ended::Status(status))) => End::Status(status),
            (None, Ok(Ended::Well | Ended::Late)) => End::Status(0),
            (None, Err(error)) => End::NotStarted(error.to_string()),
        };
        let attempt = Record::read(&self.record).unwrap_or_default();
        Crash { end, attempt, said: self.complaints.explanation() }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ended = self.child.kill();
        let _unknown = self.child.wait();
    }
}

/// Returns the command that starts the program again; with a memory limit, through a shell that the program replaces.
#[cfg(unix)]
fn command(again: &Again, memory: Option<u64>) -> Command {
    let Some(memory) = memory else { return again.command() };
    let inner = again.command();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("ulimit -c 0; ulimit -v {memory}; exec \"$0\" \"$@\""));
    shell.arg(inner.get_program()).args(inner.get_args());
    shell
}

/// Receives the lines that a worker sends.
#[cfg(unix)]
fn answers(socket: Socket) -> Receiver<String> {
    use std::io::{BufRead as _, BufReader};

    let (send, receive) = channel();
    thread::spawn(move || {
        for line in BufReader::new(socket).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}

/// The standard error of a worker, which is passed on. The last bytes are retained.
#[derive(Debug, Clone, Default)]
struct Complaints {
    last: Arc<Mutex<VecDeque<u8>>>,
    done: Option<Arc<Mutex<Receiver<()>>>>,
}

impl Complaints {
    /// The number of bytes to retain.
    const RETAINED: usize = 4096;

    fn of(stderr: Option<impl Read + Send + 'static>) -> Self {
        let Some(mut stderr) = stderr else { return Self::default() };
        let last: Arc<Mutex<VecDeque<u8>>> = Arc::default();
        let (send, done) = channel();
        let retained = Arc::clone(&last);
        thread::spawn(move || {
            let mut buffer = [0; 1024];
            while let Ok(size @ 1..) = stderr.read(&mut buffer) {
                // If standard error is closed, the report has to suffice.
                let _unread = io::stderr().write_all(&buffer[..size]);
                let mut last = retained.lock().unwrap_or_else(PoisonError::into_inner);
                last.extend(&buffer[..size]);
                let surplus = last.len().saturating_sub(Self::RETAINED);
                last.drain(..surplus);
            }
            let _receiver_is_gone = send.send(());
        });
        Self { last, done: Some(Arc::new(Mutex::new(done))) }
    }

    /// Returns the line that best explains the end of the process: the reason of an abort, or else the last line.
    fn explanation(&self) -> String {
        if let Some(done) = &self.done {
            // A process that the plugin started may hold the stream open.
            let done = done.lock().unwrap_or_else(PoisonError::into_inner);
            let _is_open = done.recv_timeout(Duration::from_millis(500));
        }
        let bytes: Vec<u8> =
            self.last.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_reason =
            |line: &&str| line.contains("has overflowed its stack") || line.contains("memory allocation of");
        lines().rfind(is_reason).or_else(|| lines().next_back()).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(what: &str) -> Verdict {
        Verdict::Failed(vec![Failure { case: "one".to_owned(), what: what.to_owned() }])
    }

    #[test]
    fn a_rule_that_fails_in_one_of_two_runs_fails() {
        let passed = Verdict::Passed { cases: 2, skipped: Vec::new() };
        let skipped = Verdict::Skipped("no".to_owned());
        assert_eq!(merged(passed.clone(), failed("a")), failed("a"));
        assert_eq!(merged(failed("a"), skipped.clone()), failed("a"));
        assert_eq!(merged(failed("a"), failed("a")), failed("a"));
        assert_eq!(merged(passed.clone(), skipped.clone()), passed);
        assert_eq!(merged(passed.clone(), passed), Verdict::Passed { cases: 4, skipped: Vec::new() });
        let Verdict::Failed(both) = merged(failed("a"), failed("b")) else { panic!("it failed twice") };
        assert_eq!(both.len(), 2);
    }

    #[test]
    fn the_reason_of_an_abort_takes_precedence_over_the_last_line() {
        let text = "first\nthread 'main' has overflowed its stack\nfatal runtime error: stack overflow\n";
        let complaints = Complaints::of(Some(text.as_bytes()));
        assert_eq!(complaints.explanation(), "thread 'main' has overflowed its stack");
    }
}
