//! Rows of whole programs: copies, checks and digests by `zarrctl`, and the command that is the lower bound of each.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::cases::Case;
use super::machine;
use super::programs::Places;

/// The interval at which the peak memory of the program is read. The program may end between two reads, after its peak.
const LOOK: Duration = Duration::from_millis(2);

/// The memory of a copy with other chunks.
const MEMORY: &str = "256MiB";

/// The operations of these rows.
const OPERATIONS: [&str; 4] = ["copy", "rechunk", "verify", "digest"];

/// Returns whether a row runs whole programs.
pub(crate) fn is_of_programs(operation: &str) -> bool {
    OPERATIONS.contains(&operation)
}

/// The commands of a row.
#[derive(Debug)]
pub(crate) struct Commands {
    pub(crate) ours: Command,
    /// The lower bound: for copies of encoded chunks, `cp`; for other chunks, a copy that decodes and encodes each chunk
    /// once; for checks, reading all elements.
    pub(crate) floor: Command,
}

impl Commands {
    pub(crate) fn of(case: &Case, places: &Places, source: &Path, target: &Path) -> Self {
        let zarrctl = |arguments: &[&str]| {
            let mut command = Command::new(places.binaries.join("zarrctl"));
            command.args(arguments);
            command
        };
        let copy = |options: &[&str]| {
            let mut command = zarrctl(&["--memory", MEMORY, "copy"]);
            command.arg(source).arg(target).args(options);
            command
        };
        let on_source = |verb: &str| {
            let mut command = zarrctl(&[verb]);
            command.arg(source);
            command
        };
        match case.operation {
            "copy" => {
                let mut ours = zarrctl(&["copy"]);
                ours.arg(source).arg(target);
                let mut floor = Command::new("cp");
                floor.args(["-r", "--reflink=never"]).arg(source).arg(target);
                Self { ours, floor }
            }
            "rechunk" => {
                let chunks = columns(&case.dataset.shape);
                let level = r#"zstd:{"level":3}"#;
                Self {
                    ours: copy(&["--chunks", &chunks, "--codec", level]),
                    floor: copy(&["--codec", level]),
                }
            }
            verb => {
                let mut floor = zarrctl(&["get", "--format", "raw", "-o", "/dev/null"]);
                floor.arg(source).arg("/a");
                Self { ours: on_source(verb), floor }
            }
        }
    }
}

/// Returns chunks that are as long as the array along its first dimension, and short along the others.
fn columns(shape: &[u64]) -> String {
    let lengths = shape.iter().enumerate();
    let lengths =
        lengths.map(|(dimension, &length)| if dimension == 0 { length } else { (length / 32).max(1) });
    lengths.map(|length| length.to_string()).collect::<Vec<_>>().join(",")
}

/// Runs a command. Returns its duration in seconds, and the peak memory of the process in bytes.
pub(crate) fn run(command: &mut Command) -> Result<(f64, u64), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let failed = |error: std::io::Error| format!("{name}: {error}");
    let start = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    let mut peak = 0;
    loop {
        peak = machine::peak_of(child.id()).unwrap_or(0).max(peak);
        if let Some(status) = child.try_wait().map_err(failed)? {
            let seconds = start.elapsed().as_secs_f64();
            return if status.success() { Ok((seconds, peak)) } else { Err(format!("{name}: {status}")) };
        }
        sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_long_as_the_array() {
        assert_eq!(columns(&[512, 1024, 1024]), "512,32,32");
        assert_eq!(columns(&[16, 8]), "16,1");
    }
}
