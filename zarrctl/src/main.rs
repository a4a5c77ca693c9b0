//! The command line of the Zarr framework.

mod arguments;
mod blocks;
mod builds;
mod chosen;
mod chunking;
mod demo;
mod describe;
mod durable;
mod failure;
mod forms;
mod hints;
mod intermediate;
mod interrupt;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
mod loaded;
mod losses;
mod lossless;
mod opening;
mod others;
mod preview;
mod printer;
mod rechunk;
mod salvage;
mod similar;
mod slabs;
mod taken;
mod target;
#[path = "../templates/templates.rs"]
mod templates;
mod terminal;
mod transfer;
mod values;
mod verbs;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use zarr_kit::json::printable::printable_bytes;

use arguments::{Arguments, Verb};
use failure::Failure;

fn main() -> ExitCode {
    let arguments = match parsed(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    let set = opening::set_memory(arguments.memory).and_then(|()| durable::set(arguments.durable));
    let done = set.and_then(|()| run(arguments.verb));
    let Err(failure) = done else { return ExitCode::SUCCESS };
    if let Some(message) = failure.message() {
        printer::print_error(&message);
    }
    failure.status()
}

/// Parses the command line. Errors quote the arguments in printable form.
fn parsed(given: Vec<OsString>) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(&given).map_err(|error| {
        let shown = given.iter().map(|argument| printable_bytes(argument.as_encoded_bytes()).to_string());
        match Arguments::try_parse_from(shown) {
            Err(shown) if shown.kind() == error.kind() => shown,
            _ => clap::Error::raw(error.kind(), printable_bytes(error.to_string().as_bytes())),
        }
    })
}

fn run(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Demo { folder } => demo::run(folder),
        Verb::Tree(arguments) => verbs::tree::run(&arguments),
        Verb::Info(arguments) => verbs::info::run(&arguments),
        Verb::Get(arguments) => verbs::get::run(&arguments),
        Verb::Bench(arguments) => verbs::bench::run(&arguments),
        Verb::Create(arguments) => verbs::create::run(*arguments),
        Verb::Put(arguments) => verbs::put::run(&arguments),
        Verb::Copy(arguments) => verbs::copy::run(&arguments),
        Verb::Pack(arguments) => verbs::pack::run(&arguments),
        Verb::Erase(arguments) => verbs::change::erase(&arguments),
        Verb::Resize(arguments) => verbs::change::resize(&arguments),
        Verb::Attrs(arguments) => verbs::change::attributes(&arguments),
        Verb::Clean(arguments) => verbs::clean::run(&arguments),
        Verb::Consolidate(arguments) => verbs::change::consolidate(&arguments),
        Verb::Digest(arguments) => verbs::digest::run(&arguments),
        Verb::Diff(arguments) => verbs::diff::run(&arguments),
        Verb::Verify(arguments) => verbs::verify::run(&arguments),
        Verb::Repair(arguments) => verbs::repair::run(&arguments),
        Verb::Plugins(arguments) => verbs::plugins::run(&arguments),
        #[cfg(feature = "conformance")]
        Verb::Conformance(verb) => verbs::conformance::run(&verb),
        #[cfg(not(feature = "conformance"))]
        Verb::Conformance(_) => Err(Failure::not_in_build("`conformance`")),
        Verb::Completions { shell } => completions(shell),
    }
}

fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "zarrctl", &mut script);
    Ok(io::stdout().write_all(&script)?)
}
