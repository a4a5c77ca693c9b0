//! The lines that a runner reads and writes.

use std::io::{self, BufRead, Write};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::case::{Case, Ranges};
use crate::data::{Data, boxes_checksum};
use crate::memory;

/// Why a case came to nothing.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a program calls itself.
#[derive(Debug, Clone)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: String,
}

/// One run of a case.
#[derive(Debug, Clone, Copy)]
pub struct Ran {
    /// Seconds that the operation took.
    pub seconds: f64,
    /// The checksum of what it came to.
    pub checksum: u32,
}

/// A program of the comparison.
pub trait Program {
    /// What it is.
    fn about(&self) -> About;

    /// Gets ready for a case: whatever is not timed and is the same in each run.
    ///
    /// # Errors
    ///
    /// If this program cannot do it. The reason is shown in place of a time.
    fn prepare(&self, case: Case) -> Result<Box<dyn Task>, Failure>;
}

/// A case that a program is ready for.
pub trait Task {
    /// Runs it once.
    ///
    /// # Errors
    ///
    /// If it fails.
    fn run(&mut self) -> Result<Ran, Failure>;
}

impl<F: FnMut() -> Result<Ran, Failure>> Task for F {
    fn run(&mut self) -> Result<Ran, Failure> {
        self()
    }
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Request {
    About,
    Prepare {
        case: Box<Case>,
    },
    Run,
    /// As `run`, and the answer has the memory that it took. Not for the clock: memory that the allocator kept is given
    /// back first.
    Weigh,
    Release,
    /// Makes the elements of an array; the answer has their checksum.
    Generate {
        data: Data,
        file: String,
    },
    /// The checksum of boxes of an array, by its elements.
    Expect {
        file: String,
        shape: Vec<u64>,
        item: usize,
        boxes: Vec<Ranges>,
    },
    /// The checksum of the lines of a listing.
    Lines {
        lines: Vec<String>,
    },
}

/// Answers each line of the standard input, until it ends.
///
/// # Errors
///
/// If the standard input or output fails. That a case fails is an answer.
pub fn serve(program: &dyn Program) -> io::Result<()> {
    let mut task = None;
    for line in io::stdin().lock().lines() {
        let answer =
            answer(program, &mut task, &line?).unwrap_or_else(|error| json!({"error": chain(&*error)}));
        let mut output = io::stdout().lock();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(program: &dyn Program, task: &mut Option<Box<dyn Task>>, line: &str) -> Result<Value, Failure> {
    Ok(match serde_json::from_str(line)? {
        Request::About => {
            let About { name, version } = program.about();
            json!({"name": name, "version": version})
        }
        Request::Prepare { case } => {
            *task = None;
            *task = Some(program.prepare(*case)?);
            json!({})
        }
        Request::Run => {
            let Ran { seconds, checksum } = task.as_mut().ok_or("nothing is prepared")?.run()?;
            json!({"seconds": seconds, "checksum": checksum})
        }
        Request::Weigh => weigh(&mut **task.as_mut().ok_or("nothing is prepared")?)?,
        Request::Release => {
            *task = None;
            json!({})
        }
        Request::Generate { data, file } => json!({"checksum": data.write(file.as_ref())?}),
        Request::Expect { file, shape, item, boxes } => {
            json!({"checksum": boxes_checksum(file.as_ref(), &shape, item, &boxes)?})
        }
        Request::Lines { lines } => json!({"checksum": crate::checksum_of_lines(lines)}),
    })
}

fn weigh(task: &mut dyn Task) -> Result<Value, Failure> {
    memory::give_back();
    let is_counted = memory::forget_peak();
    let before = memory::resident();
    let Ran { seconds, checksum } = task.run()?;
    let after = memory::resident().zip(before).filter(|_| is_counted);
    let peak = after.map(|((_, peak), (before, _))| peak.saturating_sub(before));
    Ok(json!({"seconds": seconds, "checksum": checksum, "peak": peak}))
}

/// An error with its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
