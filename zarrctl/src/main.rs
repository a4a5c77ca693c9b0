//! The program `zarrctl`.

use std::process::ExitCode;

fn main() -> ExitCode {
    zarrctl::run(std::env::args_os().collect()).into()
}
