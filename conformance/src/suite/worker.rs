//! A worker: a process that checks rules on request, so that a crash does not end the requesting program.
//!
//! A worker is another process of the same program. Its standard input is a socket. A request is one line, for the
//! list of subjects and rules or for the verdict on one rule. The response is one line of JSON.

use std::path::PathBuf;
use std::sync::Arc;
use std::{env, panic};

use serde::{Deserialize, Serialize};

use super::attempt::{Attempt, Placement, Record};
use super::{Rule, Suite, Verdict, note_panic};

/// The environment variable with the path of the file in which a worker records its attempts.
pub(super) const VARIABLE: &str = "ZARR_CONFORMANCE_WORKER";

/// Checks whether this process was started as a worker. The program must then call [`serve`] with the same suites as
/// its parent.
#[must_use]
pub fn is_worker() -> bool {
    env::var_os(VARIABLE).is_some()
}

/// A request to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// Return all subjects and their rules.
    List,
    /// Check one rule.
    Rule { suite: usize, trial: usize, placement: Placement, is_thorough: bool },
}

impl Request {
    pub(super) fn line(self) -> String {
        match self {
            Self::List => "list\n".to_owned(),
            Self::Rule { suite, trial, placement, is_thorough } => {
                format!("rule {suite} {trial} {} {is_thorough}\n", placement.name())
            }
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        match words.next()? {
            "list" => Some(Self::List),
            "rule" => Some(Self::Rule {
                suite: words.next()?.parse().ok()?,
                trial: words.next()?.parse().ok()?,
                placement: Placement::parse(words.next()?)?,
                is_thorough: words.next()?.parse().ok()?,
            }),
            _ => None,
        }
    }
}

/// The response to [`Request::List`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum List {
    /// All suites.
    Suites(Vec<SentSuite>),
    /// The reason for which there are no suites.
    Refused(String),
}

/// A subject and its rules, in serialized form.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SentSuite {
    pub(super) point: String,
    pub(super) name: String,
    pub(super) package: String,
    pub(super) version: String,
    pub(super) rules: Vec<SentRule>,
}

/// A rule in serialized form.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SentRule {
    pub(super) id: String,
    pub(super) level: String,
    pub(super) sentence: String,
    pub(super) source: String,
    pub(super) since: String,
}

impl SentSuite {
    fn of(suite: &Suite) -> Self {
        Self {
            point: suite.subject.point.to_string(),
            name: suite.subject.name.clone(),
            package: suite.subject.package.clone(),
            version: suite.subject.version.clone(),
            rules: suite.trials.iter().map(|trial| SentRule::of(trial.rule())).collect(),
        }
    }
}

impl SentRule {
    fn of(rule: &Rule) -> Self {
        Self {
            id: rule.id.to_owned(),
            level: rule.level.to_string(),
            sentence: rule.sentence.to_owned(),
            source: rule.source.to_owned(),
            since: rule.since.to_owned(),
        }
    }
}

/// Answers requests until the parent process ends or closes the connection. If there are no suites, each list request
/// is answered with the reason.
///
/// # Errors
///
/// A failure to read, send or record.
#[cfg(unix)]
pub fn serve(suites: Result<Vec<Suite>, String>) -> Result<(), String> {
    use std::io::Write as _;

    let path = env::var_os(VARIABLE).map(PathBuf::from).unwrap_or_default();
    let record = Arc::new(Record::open(&path).map_err(|error| format!("{}: {error}", path.display()))?);
    let mut socket = stdin_socket().map_err(|error| error.to_string())?;
    let requests = requests(socket.try_clone().map_err(|error| error.to_string())?);
    panic::set_hook(Box::new(note_panic));
    for request in requests {
        let mut line = answer(&suites, request, &record)?;
        line.push(b'\n');
        socket.write_all(&line).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Fails, because workers exist only on Unix.
///
/// # Errors
///
/// Always.
#[cfg(not(unix))]
pub fn serve(_suites: Result<Vec<Suite>, String>) -> Result<(), String> {
    Err("workers are started on Unix only".to_owned())
}

/// Returns standard input, which is one end of a pair of sockets.
#[cfg(unix)]
fn stdin_socket() -> std::io::Result<std::os::unix::net::UnixStream> {
    use std::os::fd::AsFd as _;

    Ok(std::io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// Receives requests. The process exits when the parent process does, even while a plugin hangs.
#[cfg(unix)]
fn requests(socket: std::os::unix::net::UnixStream) -> std::sync::mpsc::Receiver<Request> {
    use std::io::{BufRead as _, BufReader};

    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(socket).lines().map_while(Result::ok);
        for request in lines.map_while(|line| Request::parse(&line)) {
            if send.send(request).is_err() {
                break;
            }
        }
        std::process::exit(0);
    });
    receive
}

fn answer(
    suites: &Result<Vec<Suite>, String>,
    request: Request,
    record: &Arc<Record>,
) -> Result<Vec<u8>, String> {
    let value = match request {
        Request::List => zarr_json::to_value(&match suites {
            Ok(suites) => List::Suites(suites.iter().map(SentSuite::of).collect()),
            Err(why) => List::Refused(why.clone()),
        }),
        Request::Rule { suite, trial, placement, is_thorough } => {
            let attempt = Attempt { placement, is_thorough, record: Some(Arc::clone(record)) };
            zarr_json::to_value(&verdict(suites.as_deref().unwrap_or_default(), suite, trial, attempt))
        }
    };
    let value = value.map_err(|error| error.to_string())?;
    zarr_json::to_vec(&value).map_err(|error| error.to_string())
}

fn verdict(suites: &[Suite], suite: usize, trial: usize, attempt: Attempt) -> Verdict {
    let found = suites.get(suite).and_then(|suite| suite.trials.get(trial));
    let Some(trial) = found else {
        return Verdict::Skipped("the worker process does not have this rule".to_owned());
    };
    attempt.run(|| {
        super::attempt::record(String::new);
        trial.run().verdict
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed_as_they_are_written() {
        let one = Request::Rule { suite: 3, trial: 14, placement: Placement::AfterGuard, is_thorough: true };
        for request in [Request::List, one] {
            assert_eq!(Request::parse(&request.line()), Some(request));
        }
        assert_eq!(Request::parse("rule 1 2 elsewhere true"), None);
    }
}
