//! The development commands of this workspace, run as `cargo xtask COMMAND`.
//!
//! Exit status: 0 for success, 1 for a failed check, 2 for an invalid command line.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use workspace::Workspace;

mod bench;
mod fuzz;
mod instructions;
mod new;
mod python;
mod requirements;
mod rust_source;
mod scores;
mod semver;
mod suite;
mod tidy;
mod workspace;

/// The development commands of this workspace.
#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", disable_help_subcommand = false)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every check of this workspace, or only the named steps
    Test(suite::Options),
    /// Check crate dependencies, names, manifests, the plugin table and source rules
    Tidy,
    /// Count how many requirements of each ledger in conformance/requirements are tested
    Requirements(requirements::Options),
    /// Compare this engine with zarrs, tensorstore and zarr-python in one run (see docs/performance.md)
    Bench(bench::Options),
    /// Run libFuzzer on the targets of fuzz/
    Fuzz(fuzz::Options),
    /// Count the instructions of small jobs under valgrind and compare them with the recorded counts
    Instructions(instructions::Options),
    /// Start a plugin of this workspace: the crate and its lines in manifests, catalogue and README
    ///
    /// `zarrctl plugins new` starts a plugin in a repository of its own.
    New(new::Options),
    /// Build the wheel of the Python package and run its tests
    Python,
    /// Read the examples of the format suite with this engine and its peers; write docs/conformance.md
    Scores,
    /// Compare the public interface of zarr-spec, zarr-plugin and other crates with the newest release
    Semver,
}

/// Why a command did not succeed.
enum Failure {
    /// The command line is not valid.
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
    match run(CommandLine::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Checks) => ExitCode::from(1),
        Err(Failure::Broken(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Usage(message)) => {
            CommandLine::command().error(ErrorKind::ValueValidation, message).exit()
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    let workspace = Workspace::find()?;
    match command {
        Command::Test(options) => suite::run(&workspace, &options),
        Command::Tidy => tidy::run(&workspace),
        Command::Requirements(options) => requirements::run(&workspace, &options),
        Command::Bench(options) => bench::run(&workspace, options),
        Command::Fuzz(options) => fuzz::run(&workspace, &options),
        Command::Instructions(options) => instructions::run(&workspace, &options),
        Command::New(options) => new::run(&workspace, &options),
        Command::Python => suite::run(&workspace, &suite::Options::only("python")),
        Command::Scores => scores::run(&workspace),
        Command::Semver => semver::run(&workspace),
    }
}

/// Prints to standard output. A reader that stopped reading is not an error.
fn say(text: &str) -> Result<(), String> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn an_unknown_command_and_a_missing_command_are_refused() {
        for arguments in [&["xtask"][..], &["xtask", "tset"]] {
            assert!(CommandLine::try_parse_from(arguments).is_err(), "{arguments:?}");
        }
    }
}
