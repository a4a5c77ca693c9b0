//! A program of the comparison as a process that answers lines.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::programs::{Places, Program};

/// A running program.
#[derive(Debug)]
pub(crate) struct Runner {
    child: Child,
    /// Closed to end the program.
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// Why there is no answer, or none of use.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The program says why it cannot do it.
    Refused(String),
    /// The program is gone, or answers what nobody understands.
    Lost(String),
}

impl Trouble {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Refused(text) | Self::Lost(text) => text,
        }
    }
}

/// What one run of a case came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Run {
    pub(crate) seconds: f64,
    pub(crate) checksum: u64,
    /// Bytes of memory at most, beyond those before.
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
        let answers = BufReader::new(answers.ok_or("a runner without output")?);
        Ok(Self { child, questions, answers })
    }

    /// The answer to a question.
    pub(crate) fn ask(&mut self, question: &Value) -> Result<Value, Trouble> {
        let lost = |error: std::io::Error| Trouble::Lost(format!("the program is gone: {error}"));
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

    /// One run for the clock.
    pub(crate) fn run(&mut self) -> Result<Run, Trouble> {
        self.run_as("run")
    }

    /// One run for the memory that it takes.
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

    /// The checksum that a question is answered with.
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
        // It ends with its input. That it ended in another way changes nothing any more.
        let _ = self.child.wait();
    }
}
