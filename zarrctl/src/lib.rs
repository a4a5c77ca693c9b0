//! The command line of the Zarr framework, as a library. The program `zarrctl`, and the script of the same name that
//! the Python package installs, call [`run`]. The Python package also calls [`copy`] and
//! [`limits_of_environment`].

#![cfg_attr(docsrs, feature(doc_cfg))]

mod arguments;
mod blocks;
mod builds;
mod calls;
mod cf;
mod conventions;
mod decoded;
mod demo;
mod describe;
mod durable;
mod failure;
mod files;
mod forms;
mod hints;
mod interrupt;
mod labels;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
mod loaded;
mod manual;
mod opening;
mod preview;
mod printer;
mod salvage;
mod selecting;
mod similar;
mod slabs;
#[path = "../templates/templates.rs"]
mod templates;
mod terminal;
mod values;
mod verbs;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser;

use zarr_kit::json::printable::printable_bytes;

use arguments::{Arguments, Verb};
use failure::Failure;

pub use calls::{CallError, copy, limits_of_environment};

/// Runs the program with the arguments of a command line, of which the first is its name. Returns the exit status.
///
/// The caller must exit with this status soon: the options of this call stay set for the process, and after a verb that
/// writes, signals end the process.
pub fn run(arguments: Vec<OsString>) -> u8 {
    let status = match parsed(arguments) {
        Ok(arguments) => run_parsed(arguments),
        Err(error) => {
            // Help is printed in this way, too, and its reader may close the pipe.
            let _unread = error.print();
            u8::try_from(error.exit_code()).unwrap_or(Failure::USAGE)
        }
    };
    // A Rust program flushes standard output when it exits, but a Python program that calls this function does not. A
    // verb that reports errors of writing has flushed already.
    let _unread = io::stdout().flush();
    status
}

fn run_parsed(arguments: Arguments) -> u8 {
    opening::require_conditional(arguments.require_conditional);
    let set = opening::set_memory(arguments.memory).and_then(|()| durable::set(arguments.durable));
    let done = set.and_then(|()| run_verb(arguments.verb));
    // Stores are committed also after a failure, so that everything that the verb wrote before the failure is stored.
    let committed = interrupt::commit_all();
    let mut status = 0;
    for failure in [done, committed].into_iter().filter_map(Result::err) {
        if let Some(message) = failure.message() {
            printer::print_error(&message);
        }
        status = status.max(failure.status());
    }
    status
}

/// Parses the command line. Errors quote the arguments in printable form.
fn parsed(given: Vec<OsString>) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(&given).map_err(|error| {
        let shown = given.iter().map(|argument| printable_bytes(argument.as_encoded_bytes()).to_string());
        match Arguments::try_parse_from(shown) {
            Err(shown) if shown.kind() == error.kind() => shown,
            _ => {
                let text = error.to_string();
                let line = text.strip_prefix("error: ").unwrap_or(&text).lines().next().unwrap_or_default();
                clap::Error::raw(error.kind(), format!("{}\n", printable_bytes(line.as_bytes())))
            }
        }
    })
}

fn run_verb(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Demo { folder } => demo::run(folder),
        Verb::Tree(arguments) => verbs::tree::run(&arguments),
        Verb::Ls(arguments) => verbs::listing::ls(&arguments),
        Verb::Cat(arguments) => verbs::listing::cat(&arguments),
        Verb::Du(arguments) => verbs::listing::du(&arguments),
        Verb::Info(arguments) => verbs::info::run(&arguments),
        Verb::Show(arguments) => verbs::show::run(&arguments),
        Verb::Get(arguments) => verbs::get::run(&arguments),
        Verb::Bench(arguments) => verbs::bench::run(&arguments),
        Verb::Create(arguments) => verbs::create::run(*arguments),
        Verb::Put(arguments) => verbs::put::run(&arguments),
        Verb::Copy(arguments) => verbs::copy::run(&arguments),
        Verb::Pack(arguments) => verbs::pack::run(&arguments),
        Verb::References(arguments) => verbs::references::run(&arguments),
        #[cfg(feature = "serve")]
        Verb::Serve(arguments) => verbs::serve::run(&arguments),
        #[cfg(not(feature = "serve"))]
        Verb::Serve(_) => Err(Failure::not_in_build("`serve`")),
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
        Verb::Completions { shell } => verbs::completions::script(shell),
        Verb::Man { folder } => verbs::completions::manual(&folder),
        Verb::CompleteNode { words } => verbs::completions::nodes(&words),
    }
}
