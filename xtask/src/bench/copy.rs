//! Copies a hierarchy with `zarrctl`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::machine;
use super::programs::Places;

/// The interval at which the peak memory of the program is read. The program may end between two reads, after its peak.
const LOOK: Duration = Duration::from_millis(2);

/// Runs the copy. Returns its duration in seconds, and the peak memory of the process in bytes.
pub(crate) fn run(places: &Places, source: &Path, target: &Path) -> Result<(f64, u64), String> {
    let mut command = Command::new(places.binaries.join("zarrctl"));
    command.arg("copy").arg(source).arg(target);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let failed = |error: std::io::Error| format!("zarrctl: {error}");
    let start = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    let mut peak = 0;
    loop {
        peak = machine::peak_of(child.id()).unwrap_or(0).max(peak);
        if let Some(status) = child.try_wait().map_err(failed)? {
            let seconds = start.elapsed().as_secs_f64();
            return if status.success() { Ok((seconds, peak)) } else { Err(format!("zarrctl: {status}")) };
        }
        sleep(LOOK);
    }
}
