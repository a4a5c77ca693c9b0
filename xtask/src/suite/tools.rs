//! Programs that some steps and tests need. Before the first step, `cargo xtask test` prints the missing ones.

use std::process::{Command, Stdio};

/// A program that may be missing on this machine.
#[derive(Debug)]
struct Tool {
    name: &'static str,
    /// The step that uses the program.
    step: &'static str,
    /// The checks that are skipped without the program.
    left_out: &'static str,
    /// Commands that succeed where the program is installed.
    probes: &'static [&'static [&'static str]],
    /// Whether one of `probes` is enough.
    is_any_enough: bool,
    source: Source,
}

/// The source of a program.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// Packages of Debian and Ubuntu.
    Apt(&'static str),
    /// A component of the Rust toolchain.
    Rustup(&'static str),
    /// A crate.
    Cargo(&'static str),
}

const IMPORT_VENV: &str = "import ensurepip, venv";

const TOOLS: &[Tool] = &[
    Tool {
        name: "rustfmt",
        step: "format",
        left_out: "the check of the format",
        probes: &[&["cargo", "fmt", "--version"]],
        is_any_enough: false,
        source: Source::Rustup("rustfmt"),
    },
    Tool {
        name: "clippy",
        step: "clippy",
        left_out: "all lints of clippy",
        probes: &[&["cargo", "clippy", "--version"]],
        is_any_enough: false,
        source: Source::Rustup("clippy"),
    },
    Tool {
        name: "clang and lld",
        step: "tests",
        left_out: "tests of codecs in WebAssembly",
        probes: &[&["clang", "--version"], &["wasm-ld", "--version"]],
        is_any_enough: false,
        source: Source::Apt("clang lld"),
    },
    Tool {
        name: "Chromium and its driver",
        step: "tests",
        left_out: "tests of HTML reports in a browser",
        probes: &[&["chromium", "--version"], &["chromedriver", "--version"]],
        is_any_enough: false,
        source: Source::Apt("chromium chromium-driver"),
    },
    Tool {
        name: "nginx",
        step: "tests",
        left_out: "tests with a real HTTP server",
        probes: &[&["nginx", "-v"], &["/usr/sbin/nginx", "-v"]],
        is_any_enough: true,
        source: Source::Apt("nginx-light"),
    },
    Tool {
        name: "GDAL for Python",
        step: "tests",
        left_out: "tests with hierarchies that GDAL writes",
        probes: &[&["/usr/bin/python3", "-c", "import numpy; from osgeo import gdal"]],
        is_any_enough: false,
        source: Source::Apt("python3-gdal python3-numpy"),
    },
    Tool {
        name: "Python 3.12 or newer with venv",
        step: "tests",
        left_out: "tests with zarr-python, TensorStore, numcodecs and xarray",
        probes: &[
            &["python3.14", "-c", IMPORT_VENV],
            &["python3.13", "-c", IMPORT_VENV],
            &["python3.12", "-c", IMPORT_VENV],
        ],
        is_any_enough: true,
        source: Source::Apt("python3 python3-venv"),
    },
    Tool {
        name: "prlimit",
        step: "tests",
        left_out: "rules of the conformance suite about memory",
        probes: &[&["prlimit", "--version"]],
        is_any_enough: false,
        source: Source::Apt("util-linux"),
    },
    Tool {
        name: "cargo-deny",
        step: "deny",
        left_out: "the check of licences, sources and advisories",
        probes: &[&["cargo", "deny", "--version"]],
        is_any_enough: false,
        source: Source::Cargo("cargo-deny"),
    },
    Tool {
        name: "valgrind",
        step: "instructions",
        left_out: "the comparison of instruction counts",
        probes: &[&["valgrind", "--version"]],
        is_any_enough: false,
        source: Source::Apt("valgrind"),
    },
];

/// Returns a message with the programs that are missing for the steps and the command that installs them; empty if no
/// program is missing.
pub(super) fn missing(is_wanted: impl Fn(&str) -> bool) -> String {
    let missing = TOOLS.iter().filter(|tool| is_wanted(tool.step) && !tool.is_installed());
    message(&missing.collect::<Vec<_>>())
}

impl Tool {
    fn is_installed(&self) -> bool {
        match self.is_any_enough {
            true => self.probes.iter().any(|probe| succeeds(probe)),
            false => self.probes.iter().all(|probe| succeeds(probe)),
        }
    }
}

fn succeeds(probe: &[&str]) -> bool {
    let Some((program, arguments)) = probe.split_first() else { return false };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn message(missing: &[&Tool]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let mut lines = vec!["Missing on this machine:".to_owned()];
    lines.extend(missing.iter().map(|tool| format!("  {}: leaves out {}", tool.name, tool.left_out)));
    lines.push("To install them on Debian and Ubuntu:".to_owned());
    lines.push(format!("  {}", command(missing)));
    lines.join("\n") + "\n"
}

/// Returns one command line that installs all missing programs.
fn command(missing: &[&Tool]) -> String {
    let names = |of: fn(Source) -> Option<&'static str>| {
        missing.iter().filter_map(|tool| of(tool.source)).collect::<Vec<_>>().join(" ")
    };
    let parts = [
        ("sudo apt-get install -y", names(|it| if let Source::Apt(name) = it { Some(name) } else { None })),
        ("rustup component add", names(|it| if let Source::Rustup(name) = it { Some(name) } else { None })),
        ("cargo install --locked", names(|it| if let Source::Cargo(name) = it { Some(name) } else { None })),
    ];
    let commands = parts.iter().filter(|(_, names)| !names.is_empty());
    commands.map(|(command, names)| format!("{command} {names}")).collect::<Vec<_>>().join(" && ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> &'static Tool {
        TOOLS.iter().find(|tool| tool.name == name).unwrap()
    }

    #[test]
    fn the_message_lists_skipped_checks_and_ends_with_one_command() {
        let missing = ["clang and lld", "clippy", "cargo-deny", "valgrind"].map(named);
        let expected = "Missing on this machine:\n  \
            clang and lld: leaves out tests of codecs in WebAssembly\n  \
            clippy: leaves out all lints of clippy\n  \
            cargo-deny: leaves out the check of licences, sources and advisories\n  \
            valgrind: leaves out the comparison of instruction counts\n\
            To install them on Debian and Ubuntu:\n  \
            sudo apt-get install -y clang lld valgrind && rustup component add clippy && cargo install --locked \
            cargo-deny\n";
        assert_eq!(message(&missing), expected);
        assert_eq!(message(&[]), "");
    }

    #[test]
    fn every_tool_belongs_to_a_step() {
        for tool in TOOLS {
            assert!(super::super::STEPS.iter().any(|(name, _)| *name == tool.step), "{tool:?}");
        }
        assert_eq!(missing(|_| false), "");
    }

    #[test]
    fn a_program_is_installed_if_all_or_any_of_its_commands_succeed() {
        let tool = |probes, is_any_enough| Tool { probes, is_any_enough, ..*named("clippy") };
        let probes: &[&[&str]] = &[&["cargo", "--version"], &["no-such-program-here"]];
        assert!(!tool(probes, false).is_installed());
        assert!(tool(probes, true).is_installed());
        assert!(!tool(&[&["cargo", "no-such-command-here"]], false).is_installed());
    }
}
