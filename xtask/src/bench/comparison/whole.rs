//! Rows whose programs run once and end: each run is a new process.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::super::copy::{self, Copying};
use super::super::folder::{remove, size_below};
use super::super::programs::Program;
use super::super::report::{CaseReport, Outcome};
use super::super::runner::Runner;
use super::{Case, Comparison, LEAST_ROUNDS};

/// The time of all runs after which a row does not need more rounds, in seconds.
const ENOUGH: f64 = 240.0;

/// The results of a program so far.
#[derive(Debug, Default)]
struct Runs {
    seconds: Vec<f64>,
    peak: u64,
    failure: Option<String>,
}

impl Runs {
    fn add(&mut self, run: Result<(f64, u64), String>) {
        match run {
            Ok((seconds, peak)) => {
                self.seconds.push(seconds);
                self.peak = self.peak.max(peak);
            }
            Err(reason) => self.failure = Some(reason),
        }
    }

    fn outcome(self) -> Outcome {
        match self.failure {
            Some(reason) => Outcome::Failed { reason },
            None => Outcome::Measured {
                seconds: self.seconds,
                peak: Some(self.peak),
                stored: None,
                read_back_by: None,
                traffic: None,
            },
        }
    }
}

impl Comparison {
    /// Runs `zarrctl`, its lower bound and the peers in turn. A peer runs once.
    pub(super) fn programs_of(&mut self, case: &Case) -> Result<CaseReport, String> {
        let mut report = CaseReport::new(case);
        self.make(case)?;
        let source = self.folder_of(case, Program::Floor);
        let target = self.folder.path().join("by-copy");
        let mut floor = Vec::new();
        let mut ours = Runs::default();
        let start = Instant::now();
        for round in 0..self.rounds.min(LEAST_ROUNDS) {
            if round > 0 && start.elapsed().as_secs_f64() > ENOUGH {
                break;
            }
            remove(&target)?;
            floor.extend(self.floor_of_programs(case, &source, &target)?);
            remove(&target)?;
            ours.add(copy::run(self.copying(case, &source, &target).ours(), &self.log_of(Program::ZarrKit)));
        }
        report.floor = (!floor.is_empty()).then_some(floor);
        let outcome = self.checked(case, &target, ours.outcome())?;
        report.results.insert(Program::ZarrKit.key().to_owned(), outcome);
        for peer in self.programs.clone().into_iter().filter(|program| program.is_whole()) {
            remove(&target)?;
            let Some(command) = self.copying(case, &source, &target).peer(peer)? else { continue };
            let mut runs = Runs::default();
            runs.add(copy::run(command, &self.log_of(peer)));
            let outcome = self.checked(case, &target, runs.outcome())?;
            report.results.insert(peer.key().to_owned(), outcome);
        }
        remove(&target)?;
        Ok(report)
    }

    /// Returns the file with the messages of the last run of a program.
    fn log_of(&self, program: Program) -> PathBuf {
        self.places.logs.join(format!("{}-copy.log", program.key()))
    }

    fn copying<'a>(&'a self, case: &'a Case, source: &'a Path, target: &'a Path) -> Copying<'a> {
        Copying { case, places: &self.places, source, target }
    }

    /// Measures the lower bound: a command, or reading all elements. Hashing does not have one.
    fn floor_of_programs(
        &mut self,
        case: &Case,
        source: &Path,
        target: &Path,
    ) -> Result<Option<f64>, String> {
        if let Some(command) = self.copying(case, source, target).floor() {
            return Ok(Some(copy::run(command, &self.log_of(Program::Floor))?.0));
        }
        if case.operation == "hash" {
            return Ok(None);
        }
        let read = reading(case);
        let expected = self.expected(&read)?;
        self.prepare(&read, Program::ZarrKit)?;
        let run = self.one(&read, Program::ZarrKit, Some(expected), Runner::run)?;
        self.ask(Program::ZarrKit, read.threads, Runner::release)?;
        Ok(Some(run.seconds))
    }

    /// Adds the size of the copy, after its elements were read and compared.
    fn checked(&mut self, case: &Case, target: &Path, mut outcome: Outcome) -> Result<Outcome, String> {
        if !target.exists() {
            return Ok(outcome);
        }
        if let Outcome::Measured { stored, .. } = &mut outcome {
            *stored = Some(size_below(target)?);
            return self.read_back_from(&reading(case), target, None, outcome);
        }
        Ok(outcome)
    }
}

/// Returns the case of reading the array of `case`, in its parts.
fn reading(case: &Case) -> Case {
    Case { operation: if case.boxes.is_empty() { "read" } else { "boxes" }, ..case.clone() }
}
