//! A program of the comparison as a process that answers requests on lines.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::programs::{Places, Program};

/// A running program.
#[derive(Debug)]
pub(crate) struct Runner {
    child: Child,
    /// The standard input of the program, which ends when this is closed.
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// The reason why there is no valid answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The program returned an error.
    Refused(String),
    /// The program has ended, or its answer is invalid.
    Lost(String),
}

impl Trouble {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Refused(text) | Self::Lost(text) => text,
        }
    }
}

/// The result of one run of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Run {
    pub(crate) seconds: f64,
    pub(crate) checksum: u64,
    /// The peak memory beyond the memory before the run, in bytes.
    pub(crate) peak: Option<u64>,
}

impl Runner {
    pub(crate) fn start(places: &Places, program: Program, threads: usize) -> Result<Self, String> {
        let log = places.logs.join(format!("{}-{threads}.log", program.key()));
        let log = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mut command = places.command(program, threads)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.key()))?;
        let questions = child.stdin.take();
        let answers = child.stdout.take();
        let answers = BufReader::new(answers.ok_or("the runner does not have standard output")?);
        Ok(Self { child, questions, answers })
    }

    /// Sends a request and returns the answer.
    pub(crate) fn ask(&mut self, question: &Value) -> Result<Value, Trouble> {
        let lost = |error: std::io::Error| Trouble::Lost(format!("the program has ended: {error}"));
        if let Some(questions) = &mut self.questions {
            writeln!(questions, "{question}").and_then(|()| questions.flush()).map_err(lost)?;
        }
        let mut line = String::new();
        if self.answers.read_line(&mut line).map_err(lost)? == 0 {
            return Err(Trouble::Lost("the program ended; its log may say why".to_owned()));
        }
        let answer: Value = serde_json::from_str(&line)
            .map_err(|error| Trouble::Lost(format!("no answer: {error}: {line}")))?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(Trouble::Refused(error.to_owned())),
            None => Ok(answer),
        }
    }

    pub(crate) fn version(&mut self) -> Result<String, Trouble> {
        let answer = self.ask(&json!({"do": "about"}))?;
        let version = answer.get("version").and_then(Value::as_str);
        version.map(str::to_owned).ok_or_else(|| Trouble::Lost("no version".to_owned()))
    }

    pub(crate) fn prepare(&mut self, case: &Value) -> Result<(), Trouble> {
        self.ask(&json!({"do": "prepare", "case": case})).map(drop)
    }

    /// Runs the case once to measure the time.
    pub(crate) fn run(&mut self) -> Result<Run, Trouble> {
        self.run_as("run")
    }

    /// Runs the case once to measure the memory.
    pub(crate) fn weigh(&mut self) -> Result<Run, Trouble> {
        self.run_as("weigh")
    }

    fn run_as(&mut self, how: &str) -> Result<Run, Trouble> {
        let answer = self.ask(&json!({"do": how}))?;
        let seconds = answer.get("seconds").and_then(Value::as_f64);
        let seconds = seconds.ok_or_else(|| Trouble::Lost(format!("no seconds: {answer}")))?;
        let peak = answer.get("peak").and_then(Value::as_u64);
        Ok(Run { seconds, checksum: checksum(&answer)?, peak })
    }

    pub(crate) fn release(&mut self) -> Result<(), Trouble> {
        self.ask(&json!({"do": "release"})).map(drop)
    }

    /// Sends a request whose answer is a checksum.
    pub(crate) fn checksum(&mut self, question: &Value) -> Result<u64, Trouble> {
        checksum(&self.ask(question)?)
    }
}

fn checksum(answer: &Value) -> Result<u64, Trouble> {
    let checksum = answer.get("checksum").and_then(Value::as_u64);
    checksum.ok_or_else(|| Trouble::Lost(format!("no checksum: {answer}")))
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.questions = None;
        // The program ends when its input ends. Its exit status does not matter any more.
        let _ = self.child.wait();
    }
}
