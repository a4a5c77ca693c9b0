//! Starts processes and reports how they end.

use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The process exited with status 0.
    Well,
    /// The process exited with another status.
    Status(i32),
    /// A signal ended the process.
    Signal(i32),
    /// The process exceeded the time limit. It was killed, together with everything that it started.
    Late,
}

impl Ended {
    pub(crate) fn of(status: ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signal(signal);
        }
        match status.code() {
            Some(0) => Self::Well,
            // For a child that a signal ended, a shell reports 128 plus the number of the signal.
            Some(code) if code > 128 && code < 128 + 65 => Self::Signal(code - 128),
            code => Self::Status(code.unwrap_or(1)),
        }
    }
}

/// Starts `command` in its own process group and waits at most `time` for its end.
pub(crate) fn ended(command: &mut Command, time: Duration) -> io::Result<Ended> {
    // The group allows killing everything that the command starts.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn()?;
    let end = Instant::now() + time;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::of(status));
        }
        if Instant::now() >= end {
            kill(&mut child)?;
            return Ok(Ended::Late);
        }
        thread::sleep(Duration::from_millis(4));
    }
}

/// Checks whether a line is an out-of-memory message of Python, Rust, C++, the C library or a shell.
pub(crate) fn is_out_of_memory(line: &str) -> bool {
    const PHRASES: [&str; 5] =
        ["MemoryError", "memory allocation of ", "bad_alloc", "Cannot allocate memory", "Out of memory"];
    PHRASES.iter().any(|phrase| line.contains(phrase))
}

/// Kills the command and everything it started.
fn kill(child: &mut Child) -> io::Result<()> {
    // The `kill` of some shells accepts `--` only after `-s`.
    #[cfg(unix)]
    Command::new("sh")
        .arg("-c")
        .arg(format!("kill -s KILL -- -{}", child.id()))
        .stderr(Stdio::null())
        .status()?;
    child.kill()?;
    child.wait().map(drop)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_late_command_is_killed_with_everything_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("started");
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("sleep 60 & echo $! > {}; wait", file.display()));
        assert_eq!(ended(&mut command, Duration::from_millis(500)).unwrap(), Ended::Late);
        let started = std::fs::read_to_string(file).unwrap();
        let state = || {
            let status = std::fs::read_to_string(format!("/proc/{}/stat", started.trim())).ok()?;
            status.rsplit_once(") ")?.1.chars().next()
        };
        // The process would sleep longer than 30 seconds. A killed process may remain as a zombie, because no other
        // process waits for it.
        let end = Instant::now() + Duration::from_secs(30);
        while !matches!(state(), None | Some('Z' | 'X')) {
            assert!(Instant::now() < end, "it still sleeps");
            thread::sleep(Duration::from_millis(5));
        }
    }
}
