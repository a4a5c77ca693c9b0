//! Jobs of this engine whose instructions are counted, one for each call: `zarr-instructions JOB`. Without a job, their
//! names.
//!
//! Each job is done once before it is counted, so that what an array keeps is there, and what it came to is compared.
//! All of them work on one thread and on a store in memory, so that nothing depends on the machine but the vector
//! instructions it has: their name is printed.

mod documents;
mod jobs;

use std::process::ExitCode;

/// Why a job came to nothing.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// One thing to do, as often as one likes.
trait Job {
    /// What is counted.
    fn run(&mut self) -> Result<(), Failure>;

    /// Whether it came to what it should.
    fn is_right(&mut self) -> Result<bool, Failure>;
}

/// Instructions are counted while this runs: `cargo xtask instructions` knows it by its name.
#[inline(never)]
fn counted(job: &mut dyn Job) -> Result<(), Failure> {
    job.run()
}

fn run(name: &str) -> Result<(), Failure> {
    let (_, make) = jobs::ALL.iter().find(|(known, _)| *known == name).ok_or("there is no such job")?;
    let mut job = make()?;
    job.run()?;
    counted(&mut *job)?;
    if job.is_right()? { Ok(()) } else { Err("it came to something else than it should".into()) }
}

/// What the copy kernels of the engine choose by.
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
    fn every_job_comes_to_what_it_should() {
        assert!(!jobs::ALL.is_empty());
        for (name, _) in jobs::ALL {
            run(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn a_job_that_is_not_there_is_an_error() {
        assert_eq!(run("nothing").unwrap_err().to_string(), "there is no such job");
    }
}
