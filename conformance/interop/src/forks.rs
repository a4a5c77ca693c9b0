//! Runs Python scripts in forks of one process, so that the packages that the scripts share are imported only once.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use zarr_conformance::formats::Limits;

use crate::environment::{bytecode, scripts};

/// A process of `python/forks.py` that has imported modules. Dropping this value ends the process.
#[derive(Debug)]
pub struct Forks {
    python: PathBuf,
    server: Child,
    folder: TempDir,
}

impl Forks {
    /// Starts the process. Scripts have the limit of memory in `limits`.
    ///
    /// # Errors
    ///
    /// If the process cannot be started, or ends before it has imported the modules.
    pub fn start(python: &Path, modules: &[&str], limits: Limits) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut shell = Command::new("sh");
        let limited = format!("ulimit -v {} 2>/dev/null; ulimit -c 0; exec \"$@\"", limits.memory);
        shell.arg("-c").arg(limited).arg("sh").arg(python).arg("-P").arg(script());
        shell.arg("serve").arg(folder.path().join("socket")).args(modules);
        // A forked process lacks the threads of its parent, so OpenBLAS must not start any.
        shell.envs(bytecode()).env("OPENBLAS_NUM_THREADS", "1");
        let mut server = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(output) = server.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let forks = Self { python: python.to_owned(), server, folder };
        match line.trim() {
            "ready" => Ok(forks),
            _ => Err(io::Error::other(format!("{}: cannot import {modules:?}", python.display()))),
        }
    }

    /// Returns the shell command that runs a script. Arguments may follow it.
    #[must_use]
    pub fn command(&self, file: &Path) -> String {
        let quoted = |path: &Path| format!("'{}'", path.display());
        let [python, script, file] = [&self.python, &script(), file].map(quoted);
        format!("{python} -I -S {script} run {} {file}", quoted(&self.folder.path().join("socket")))
    }
}

impl Drop for Forks {
    fn drop(&mut self) {
        // The server may have ended already.
        let _gone = self.server.kill();
        let _status = self.server.wait();
    }
}

fn script() -> PathBuf {
    scripts().join("forks.py")
}
