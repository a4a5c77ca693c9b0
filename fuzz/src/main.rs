//! Runs fuzz targets: `zarr-fuzz TARGET FILE…` replays inputs.
//!
//! In a build of `cargo xtask fuzz`, the program is libFuzzer instead: the variable `ZARR_FUZZ_TARGET` names the
//! target, and `ZARR_FUZZ_SEEDS` a folder to which the seeds are written first.

#![cfg_attr(fuzzing, no_main)]

use zarr_conformance::suite::CountingAllocator;
use zarr_fuzz::{TARGETS, Target};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[cfg(fuzzing)]
mod fuzzer {
    use std::sync::LazyLock;

    static TARGET: LazyLock<&super::Target> = LazyLock::new(|| {
        let started = start();
        started.unwrap_or_else(|error| {
            eprintln!("zarr-fuzz: {error}");
            std::process::exit(2)
        })
    });

    fn start() -> Result<&'static super::Target, String> {
        let target = super::target(&std::env::var("ZARR_FUZZ_TARGET").unwrap_or_default())?;
        if let Some(folder) = std::env::var_os("ZARR_FUZZ_SEEDS") {
            target.write_seeds(folder.as_ref()).map_err(|error| error.to_string())?;
        }
        Ok(target)
    }

    libfuzzer_sys::fuzz_target!(init: { LazyLock::force(&TARGET) }, |input: &[u8]| (TARGET.run)(input));
}

fn target(name: &str) -> Result<&'static Target, String> {
    Target::named(name).ok_or_else(|| {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        format!("unknown target `{name}` (expected {})", names.join(", "))
    })
}

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("zarr-fuzz: {error}");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(not(fuzzing))]
fn run(arguments: &[String]) -> Result<(), String> {
    let (name, files) = arguments.split_first().ok_or("usage: zarr-fuzz TARGET FILE...")?;
    let target = target(name)?;
    files.iter().try_for_each(|file| {
        let input = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
        (target.run)(&input);
        println!("{file}: {} bytes, nothing found", input.len());
        Ok(())
    })
}
