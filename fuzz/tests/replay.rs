//! Replays what is kept of fuzzing: the corpus, with every input that once crashed, and what it begins with.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use zarr_conformance::fuzz::replay;
use zarr_conformance::suite::CountingAllocator;
use zarr_fuzz::{TARGETS, Target};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let trial = |target: &'static Target| Trial::test(target.name, || trial(target));
    libtest_mimic::run(&Arguments::from_args(), TARGETS.iter().map(trial).collect()).exit_code()
}

/// Every target has inputs, and runs them all, after those that are made from examples.
fn trial(target: &Target) -> Result<(), Failed> {
    (target.seeds)()?.iter().for_each(|seed| (target.run)(seed));
    if replay(&target.corpus(), target.run)? == 0 {
        return Err(format!("no input in {}", target.corpus().display()).into());
    }
    Ok(())
}
