//! Runs a job of this engine while its instructions are counted: `zarr-instructions JOB`. Without a job, prints the
//! names of all jobs.
//!
//! Each job runs once before it is counted, so that caches are warm, and its result is checked. Jobs use one thread and a
//! store in memory. Counts therefore depend only on the vector instructions of the machine, whose name is printed.

mod documents;
mod jobs;

use std::process::ExitCode;

/// The error of a job.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Work that can be repeated.
trait Job {
    /// Does the work that is counted.
    fn run(&mut self) -> Result<(), Failure>;

    /// Checks the result of the last run.
    fn is_right(&mut self) -> Result<bool, Failure>;
}

/// Runs a job. `cargo xtask instructions` counts the instructions of this function, which it finds by name.
#[inline(never)]
fn counted(job: &mut dyn Job) -> Result<(), Failure> {
    job.run()
}

fn run(name: &str) -> Result<(), Failure> {
    let (_, make) = jobs::ALL.iter().find(|(known, _)| *known == name).ok_or("there is no such job")?;
    let mut job = make()?;
    job.run()?;
    counted(&mut *job)?;
    if job.is_right()? { Ok(()) } else { Err("the job has a wrong result".into()) }
}

/// Returns the name of the vector instructions that determine the copy kernels of the engine.
fn vectors() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    for (has, name) in [
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"), "avx512"),
        (is_x86_feature_detected!("avx2"), "avx2"),
        (is_x86_feature_detected!("ssse3"), "ssse3"),
    ] {
        if has {
            return name;
        }
    }
    "none"
}

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        jobs::ALL.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    match run(&name) {
        Ok(()) => {
            println!("{}", vectors());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::from(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_has_the_expected_result() {
        assert!(!jobs::ALL.is_empty());
        for (name, _) in jobs::ALL {
            run(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn an_unknown_job_is_an_error() {
        assert_eq!(run("nothing").unwrap_err().to_string(), "there is no such job");
    }
}
