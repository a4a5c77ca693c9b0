//! Helpers that run the program.

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A temporary folder of one test.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Returns a path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a path in the folder as a string.
    pub(crate) fn at(&self, name: &str) -> String {
        self.path(name).into_os_string().into_string().unwrap()
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), bytes).unwrap();
        self.at(name)
    }

    /// Counts the files in a folder that a program is changing.
    pub(crate) fn seen(&self, name: &str) -> usize {
        let mut count = 0;
        let mut folders = vec![self.path(name)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                match entry.path().is_dir() {
                    true => folders.push(entry.path()),
                    false => count += 1,
                }
            }
        }
        count
    }

    /// Returns the sorted names of all files in the folder `name`, or an empty list if it does not exist.
    pub(crate) fn files(&self, name: &str) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.path(name)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        files.push(path.strip_prefix(self.path(name)).unwrap().to_str().unwrap().to_owned())
                    }
                }
            }
        }
        files.sort();
        files
    }
}

/// Returns a command for the program in an environment without installed plugins.
pub(crate) fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_zarrctl"));
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZARR_PLUGIN_PATH"] {
        program.env_remove(variable);
    }
    program.stdin(Stdio::null());
    program
}

pub(crate) fn run<A: AsRef<OsStr>>(arguments: &[A]) -> Output {
    program().args(arguments).output().unwrap()
}

/// Runs the program with this standard input.
pub(crate) fn run_with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = program();
    let pipes = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

/// Runs a command that succeeds without messages, and returns its standard output.
pub(crate) fn bytes(arguments: &[&str]) -> Vec<u8> {
    let output = run(arguments);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {messages}");
    assert_eq!(messages, "", "{arguments:?}");
    output.stdout
}

/// Runs a command like [`bytes`], and returns its standard output as text.
pub(crate) fn text(arguments: &[&str]) -> String {
    String::from_utf8(bytes(arguments)).unwrap()
}

/// Runs a command that fails with this status and prints nothing to standard output, and returns its error message.
pub(crate) fn refused(arguments: &[&str], status: i32) -> String {
    let output = run(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {message}");
    assert_eq!(output.stdout, b"", "{arguments:?}");
    assert!(message.starts_with("error: "), "{arguments:?}: {message}");
    message
}

/// Decodes hexadecimal digits.
pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// Compares a text with the file `name` in the folder `snapshots`. With the environment variable `UPDATE_SNAPSHOTS`,
/// the file is rewritten.
pub(crate) fn snapshot(name: &str, found: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    let lines = expected.lines().zip(found.lines()).enumerate();
    if let Some((number, (expected, found))) = lines.into_iter().find(|(_, (a, b))| a != b) {
        panic!("{name}:{}: expected\n{expected}\nfound\n{found}\n{HINT}", number + 1);
    }
    assert!(expected == found, "{name} has {} bytes, expected {}\n{HINT}", expected.len(), found.len());
}

const HINT: &str = "to rewrite the file: UPDATE_SNAPSHOTS=1 cargo test -p zarrctl --all-features --test it";
