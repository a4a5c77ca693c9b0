//! The commands of rows that run whole programs: copies, checks and digests by `zarrctl`, the command that is the lower
//! bound of each, and peers.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::cases::Case;
use super::machine;
use super::programs::{Places, Program};

/// The interval at which the peak memory of the program is read. A peak shortly before the end of the program may be
/// missed.
const LOOK: Duration = Duration::from_millis(2);

/// The time after which a program is ended.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// The memory of copies with other chunks, in bytes.
const MEMORY: u64 = 256 << 20;

/// The limit of the address space of a peer that does not limit its memory, in bytes.
const ADDRESS_SPACE: u64 = 12 << 30;

/// The codec of copies with other chunks.
const CODEC: &str = r#"zstd:{"level":3}"#;

/// The codec of the lower bound. It differs from the codec of the source, so that chunks are decoded and encoded.
const OTHER_CODEC: &str = r#"zstd:{"level":3,"checksum":true}"#;

/// The operations of rows that run whole programs.
const OPERATIONS: [&str; 6] = ["copy", "rechunk", "merge", "verify", "digest", "hash"];

/// Returns whether a row runs whole programs.
pub(crate) fn is_of_programs(operation: &str) -> bool {
    OPERATIONS.contains(&operation)
}

/// One run of a case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copying<'a> {
    pub(crate) case: &'a Case,
    pub(crate) places: &'a Places,
    pub(crate) source: &'a Path,
    /// The folder that the command creates.
    pub(crate) target: &'a Path,
}

impl Copying<'_> {
    /// Returns the command of `zarrctl`.
    pub(crate) fn ours(self) -> Command {
        let Self { case, source, target, .. } = self;
        let chunks = lengths(&self.chunks());
        let memory = format!("{}MiB", MEMORY >> 20);
        let mut command = self.zarrctl();
        match case.operation {
            "copy" => command.arg("copy").arg(source).arg(target),
            "verify" => command.args(["verify", "--level", "decode"]).arg(source),
            "digest" | "hash" => command.arg("digest").arg(source),
            _ => {
                command.args(["--memory", &memory, "copy"]).arg(source).arg(target);
                command.args(["--chunks", &chunks, "--codec", CODEC])
            }
        };
        command
    }

    /// Returns the command that is the lower bound: for copies of encoded chunks, `cp`; for other chunks, a copy that
    /// decodes and encodes each chunk once. `None` for rows that only read.
    pub(crate) fn floor(self) -> Option<Command> {
        let Self { source, target, .. } = self;
        match self.case.operation {
            "copy" => {
                let mut command = self.command("cp".into());
                command.args(["-r", "--reflink=never"]).arg(source).arg(target);
                Some(command)
            }
            "rechunk" | "merge" => {
                let mut command = self.zarrctl();
                command.arg("copy").arg(source).arg(target).args(["--codec", OTHER_CODEC]);
                Some(command)
            }
            _ => None,
        }
    }

    /// Returns the command of a peer that gives an array other chunks; `None` for other rows.
    pub(crate) fn peer(self, program: Program) -> Result<Option<Command>, String> {
        if !matches!(self.case.operation, "rechunk" | "merge") {
            return Ok(None);
        }
        let interpreter = self.places.copying.as_ref().ok_or("Python is not available")?;
        let mut command = self.command("prlimit".into());
        command.arg(format!("--as={ADDRESS_SPACE}")).arg(interpreter);
        command.arg(self.places.scripts.join("copying.py")).arg(program.key());
        command.arg(self.source).arg(self.target).args([lengths(&self.chunks()), MEMORY.to_string()]);
        command.arg(self.case.threads.to_string()).env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("OMP_NUM_THREADS", "1");
        Ok(Some(command))
    }

    fn zarrctl(self) -> Command {
        self.command(self.places.binaries.join("zarrctl").into_os_string())
    }

    /// Returns a command that uses the processors of the case, if `taskset` is installed.
    fn command(self, program: OsString) -> Command {
        let threads = self.case.threads;
        let mut command = match machine::processors(threads) {
            Some(processors) => {
                let mut command = Command::new("taskset");
                command.args(["--cpu-list", &processors]).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.env("RAYON_NUM_THREADS", threads.to_string());
        command
    }

    /// Returns the chunks of the copy.
    fn chunks(self) -> Vec<u64> {
        let shape = &self.case.dataset.shape;
        match self.case.operation {
            "merge" => blocks(shape),
            _ => columns(shape),
        }
    }
}

/// Returns chunks that are as long as the array along its first dimension, and short along the others.
fn columns(shape: &[u64]) -> Vec<u64> {
    let lengths = shape.iter().enumerate();
    lengths.map(|(dimension, &length)| if dimension == 0 { length } else { (length / 32).max(1) }).collect()
}

/// Returns chunks for a copy in one pass: 16 planes thick, and a quarter as long as the array along the other
/// dimensions.
fn blocks(shape: &[u64]) -> Vec<u64> {
    let lengths = shape.iter().enumerate();
    lengths.map(|(dimension, &length)| if dimension == 0 { 16 } else { (length / 4).max(1) }).collect()
}

fn lengths(lengths: &[u64]) -> String {
    lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Runs a command, whose messages are written to the file `log`. Returns its duration in seconds, and the peak memory of
/// the process in bytes.
pub(crate) fn run(mut command: Command, log: &Path) -> Result<(f64, u64), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", log.display());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(log).map_err(failed)?);
    let start = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    let mut peak = 0;
    loop {
        peak = machine::peak_of(child.id()).unwrap_or(0).max(peak);
        if let Some(status) = child.try_wait().map_err(failed)? {
            let seconds = start.elapsed().as_secs_f64();
            return if status.success() { Ok((seconds, peak)) } else { Err(last_line(log)) };
        }
        if start.elapsed() > PATIENCE {
            child.kill().and_then(|()| child.wait()).map_err(failed)?;
            return Err(format!("takes more than {} minutes", PATIENCE.as_secs() / 60));
        }
        sleep(LOOK);
    }
}

/// Returns the last line of the messages of a program.
fn last_line(log: &Path) -> String {
    let messages = fs::read(log).unwrap_or_default();
    let messages = String::from_utf8_lossy(&messages);
    let last = messages.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("the program failed without a message").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_long_as_the_array() {
        assert_eq!(columns(&[512, 1024, 1024]), [512, 32, 32]);
        assert_eq!(columns(&[16, 8]), [16, 1]);
        assert_eq!(lengths(&blocks(&[1024, 1024, 1024])), "16,256,256");
    }

    #[test]
    fn a_failure_is_the_last_line_of_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            run(command, &folder.path().join("log"))
        };
        assert_eq!(shell("echo first >&2; echo last >&2; exit 3").unwrap_err(), "last");
        assert!(shell("exit 0").is_ok());
    }
}
