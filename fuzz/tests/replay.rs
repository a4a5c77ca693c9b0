//! Replays the corpus, which contains every input that once crashed, and the seeds.

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

/// Runs the seeds of a target and its inputs in the corpus. A target without inputs fails.
fn trial(target: &Target) -> Result<(), Failed> {
    (target.seeds)()?.iter().for_each(|seed| (target.run)(seed));
    if replay(&target.corpus(), target.run)? == 0 {
        return Err(format!("no input in {}", target.corpus().display()).into());
    }
    Ok(())
}
