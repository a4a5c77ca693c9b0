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
mod prose;
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
    /// Start a plugin of this workspace: the crate and its lines in manifests, catalogue and plugin table
    ///
    /// `zarrctl plugins new` starts a plugin in a separate repository.
    New(new::Options),
    /// Build the wheel of the Python package and run its tests
    Python(python::Options),
    /// Read the examples of the format suite with this engine and its peers; write docs/conformance.md
    Scores,
    /// Compare the public interface of zarr-spec, zarr-plugin and other crates with the newest release
    Semver,
}

/// The reason why a command fails.
enum Failure {
    /// The command line is not valid.
    Usage(String),
    /// A check failed and has already printed the reason.
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
        Command::Python(options) if options.wheel => Ok(python::build_wheel(&workspace)?),
        Command::Python(_) => suite::run(&workspace, &suite::Options::only("python")),
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
    fn the_commands_of_the_documents_are_valid() {
        let pages = [
            include_str!("../../README.md"),
            include_str!("../../CONTRIBUTING.md"),
            include_str!("../../docs/performance.md"),
            include_str!("../../docs/python-clusters.md"),
            include_str!("../../docs/release.md"),
            include_str!("../../python/README.md"),
            include_str!("../../benches/NOTES.md"),
            include_str!("../../fuzz/README.md"),
        ];
        let lines =
            pages.iter().flat_map(|page| page.lines()).map(|line| line.trim().trim_start_matches("CI=true "));
        let commands: Vec<&str> = lines.filter(|line| line.starts_with("cargo xtask ")).collect();
        for line in &commands {
            let (command, _) = line.split_once('#').unwrap_or((line, ""));
            let arguments = command.split_whitespace().skip(1);
            assert!(CommandLine::try_parse_from(arguments).is_ok(), "{line}");
        }
        assert!(commands.len() >= 10, "{commands:?}");
    }

    #[test]
    fn an_unknown_command_and_a_missing_command_are_refused() {
        for arguments in [&["xtask"][..], &["xtask", "tset"]] {
            assert!(CommandLine::try_parse_from(arguments).is_err(), "{arguments:?}");
        }
    }
}
