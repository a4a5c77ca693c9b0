//! The line protocol of a runner.

use std::io::{self, BufRead, Write};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::case::{Case, Ranges};
use crate::data::{Data, boxes_checksum};
use crate::memory::{self, Fragments};

/// The error of a case.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The description of a program.
#[derive(Debug, Clone)]
pub struct About {
    /// The name.
    pub name: &'static str,
    /// The version.
    pub version: String,
}

/// The result of one run of a case.
#[derive(Debug, Clone, Copy)]
pub struct Ran {
    /// The duration of the operation in seconds.
    pub seconds: f64,
    /// The checksum of the result.
    pub checksum: u32,
}

/// A program of the comparison.
pub trait Program {
    /// Returns the name and the version.
    fn about(&self) -> About;

    /// Prepares a case: does everything that is not timed and is the same in each run.
    ///
    /// # Errors
    ///
    /// If this program does not support the case. The reason is shown instead of a time.
    fn prepare(&self, case: Case) -> Result<Box<dyn Task>, Failure>;
}

/// A prepared case.
pub trait Task {
    /// Runs the case once.
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
    /// Runs the case and reports its memory. The time is not valid, because free memory is returned to the system first.
    Weigh,
    Release,
    /// Creates the elements of an array. The answer has their checksum.
    Generate {
        data: Data,
        file: String,
    },
    /// Computes the checksum of boxes of an array from its elements.
    Expect {
        file: String,
        shape: Vec<u64>,
        item: usize,
        boxes: Vec<Ranges>,
    },
    /// Takes this number of bytes from the system, fills them, and frees them.
    Touch {
        bytes: usize,
    },
    /// Fills most of the memory of the machine, and frees every second page.
    Fragment,
    /// Frees that memory.
    Join,
    /// Computes the checksum of the lines of a listing.
    Lines {
        lines: Vec<String>,
    },
}

/// Answers each line of the standard input, until it ends.
///
/// # Errors
///
/// If standard input or output fails. The failure of a case is an answer.
pub fn serve(program: &dyn Program) -> io::Result<()> {
    let mut state = State { task: None, fragments: None };
    for line in io::stdin().lock().lines() {
        let answer =
            answer(program, &mut state, &line?).unwrap_or_else(|error| json!({"error": chain(&*error)}));
        let mut output = io::stdout().lock();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

/// The task and the memory that a runner keeps between requests.
struct State {
    task: Option<Box<dyn Task>>,
    fragments: Option<Fragments>,
}

fn answer(program: &dyn Program, state: &mut State, line: &str) -> Result<Value, Failure> {
    let State { task, fragments } = state;
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
        Request::Touch { bytes } => {
            let mut memory = memory::vector_in_huge_pages(bytes);
            memory.resize(bytes, 1);
            json!({})
        }
        Request::Fragment => {
            // The memory of an earlier request would be too much.
            *fragments = None;
            json!({"bytes": fragments.insert(Fragments::new()?).size()})
        }
        Request::Join => {
            *fragments = None;
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

/// Formats an error with its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
