//! The development commands of this workspace, run as `cargo xtask COMMAND`.
//!
//! Exit status: 0 when all is well, 1 when a check failed, 2 for a command line that makes no sense.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use workspace::Workspace;

mod bench;
mod fuzz;
mod instructions;
mod new;
mod requirements;
mod rust_source;
mod scores;
mod semver;
mod suite;
mod tidy;
mod workspace;

const USAGE: &str = "\
usage: cargo xtask COMMAND [OPTION]…

  test [STEP]…      every check that this workspace has, or only the named steps
                    (format, clippy, clippy-all-features, tidy, tests, features, docs, package,
                    deny, semver, requirements, instructions)
  tidy              arrows between crates, names, manifests, plugin table, source rules
  requirements [--open [LEDGER]…] [--level LEVEL] [--json]
                    how many rows of each ledger in conformance/requirements are tested;
                    --open lists the open rows, --level only those of one level
                    (MUST takes in MUST NOT, and likewise SHOULD)
  bench --peers [--case PATTERN]… [--peer NAME]… [--rounds N] [--folder DIR] [--quick]
        [--large | --far] [--list] [--publish] [--baseline PROGRAM]
                    this engine, zarrs, tensorstore and zarr-python in one run; see docs/performance.md.
                    --large has the cases that grow and take long instead, --far those of a store that waits
                    before each answer; --publish puts the figures into that page;
                    --baseline adds `peer-zarr-kit` built from another commit, measured in the same rounds
  fuzz --minutes N [--target NAME]… [--jobs N] [--keep]
                    libFuzzer on the targets of fuzz/, which share the time; --keep chooses their corpus anew
  fuzz --replay FILE
                    runs one input of a target in an ordinary build
  instructions [--write]
                    how many instructions jobs of the engine take under valgrind, beside the counts that
                    are written down; --write writes new ones down
  new KIND NAME [--uri URI]
                    begins a plugin of this workspace: the crate, its lines in manifests, catalogue and README,
                    and the page of a URI of our own; `zarrctl plugins new` is for a repository of its own
  scores            reads the examples of the format suite with this framework and its peers, and writes
                    docs/conformance.md and the lists of what each gets wrong
  semver            compares zarr-json, zarr-spec, zarr-plugin-kit, zarr-plugin and zarr-conformance with the newest release (tag `v…`):
                    whether the version says what has changed
  help              this text
";

/// Why a command did not succeed.
enum Failure {
    /// The command line makes no sense.
    Usage(String),
    /// A check failed and has already said so.
    Checks,
    /// The command could not do its work.
    Broken(String),
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Broken(message)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Checks) => ExitCode::from(1),
        Err(Failure::Broken(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Usage(message)) => {
            eprintln!("xtask: {message}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Prints to standard output. A reader that has seen enough and gone is no error.
fn say(text: &str) -> Result<(), String> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some((command, arguments)) = arguments.split_first() else {
        return Err(Failure::Usage("no command given".to_owned()));
    };
    match command.as_str() {
        "bench" => bench::run(&Workspace::find()?, arguments),
        "fuzz" => fuzz::run(&Workspace::find()?, arguments),
        "instructions" => instructions::run(&Workspace::find()?, arguments),
        "new" => new::run(&Workspace::find()?, arguments),
        "test" => suite::run(&Workspace::find()?, arguments),
        "tidy" => tidy::run(&Workspace::find()?, arguments),
        "requirements" => requirements::run(&Workspace::find()?, arguments),
        "scores" => scores::run(&Workspace::find()?, arguments),
        "semver" => semver::run(&Workspace::find()?, arguments),
        "help" | "--help" | "-h" => {
            say(USAGE)?;
            Ok(())
        }
        unknown => Err(Failure::Usage(format!("there is no command `{unknown}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_and_no_command_are_usage_errors() {
        for arguments in [vec![], vec!["tset".to_owned()]] {
            assert!(matches!(run(&arguments), Err(Failure::Usage(_))));
        }
    }
}
