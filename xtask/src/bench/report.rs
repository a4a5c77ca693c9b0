//! The results of a comparison, as a machine-readable file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::aims::{self, Aim};
use super::cases::Case;
use super::far_store::Traffic;
use super::group::Group;
use super::programs::Program;
use super::statistics::{Interval, Spread};

/// The version of the format; it changes when the meaning of a member changes.
const SCHEMA: u32 = 3;

/// A whole comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) schema: u32,
    pub(crate) machine: String,
    /// Whether the data were small, in which case the results are meaningless.
    pub(crate) is_quick: bool,
    pub(crate) group: Group,
    pub(crate) rounds: usize,
    /// The programs in the order of the tables; this engine is the first.
    pub(crate) programs: Vec<Version>,
    pub(crate) cases: Vec<CaseReport>,
}

/// A program of the comparison, with its version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CaseReport {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) operation: String,
    pub(crate) threads: usize,
    /// The size of the elements in bytes, or 0 if it does not apply.
    pub(crate) bytes: u64,
    /// The target of this engine.
    pub(crate) aim: Aim,
    pub(crate) floor: Option<Vec<f64>>,
    pub(crate) results: BTreeMap<String, Outcome>,
}

/// The result of a program in a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Outcome {
    Measured {
        /// The duration of each round, in seconds.
        seconds: Vec<f64>,
        /// The peak memory beyond the memory before the run, in bytes.
        peak: Option<u64>,
        /// The size of all written files in bytes.
        stored: Option<u64>,
        /// The program that checked the output of this program.
        read_back_by: Option<String>,
        /// The traffic of the remote store in one run, including opening the array.
        traffic: Option<Traffic>,
    },
    /// The program does not support the case, or its result is wrong.
    Failed { reason: String },
}

impl Report {
    pub(crate) fn new(is_quick: bool, group: Group, rounds: usize, programs: Vec<Version>) -> Self {
        let machine = super::machine::description();
        Self { schema: SCHEMA, machine, is_quick, group, rounds, programs, cases: Vec::new() }
    }

    pub(crate) fn to_json(&self) -> Result<String, String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        Ok(format!("{text}\n"))
    }

    /// Returns the name of this engine.
    pub(crate) fn ours(&self) -> &str {
        self.programs.first().map_or("", |program| &program.name)
    }

    /// Returns the cases in which this engine failed.
    pub(crate) fn failures(&self) -> Vec<&str> {
        let has_failed =
            |case: &&CaseReport| matches!(case.results.get(self.ours()), Some(Outcome::Failed { .. }));
        self.cases.iter().filter(has_failed).map(|case| case.name.as_str()).collect()
    }

    /// Returns the names of all other programs.
    pub(crate) fn peers(&self) -> impl Iterator<Item = &str> {
        self.programs.iter().skip(1).map(|program| program.name.as_str())
    }

    /// Returns the time of a peer relative to this engine, for each case that both have run.
    pub(crate) fn ratios(&self, peer: &str) -> Vec<(&CaseReport, f64)> {
        let ratio = |case: &CaseReport| Some(case.median(peer)? / case.median(self.ours())?);
        self.cases.iter().filter_map(|case| Some((case, ratio(case)?))).collect()
    }

    /// Returns the fastest peer of a case and its time relative to this engine. The Python package is not a peer.
    pub(crate) fn best_peer(&self, case: &CaseReport) -> Option<(&str, f64)> {
        let medians = self.other_programs().filter_map(|peer| Some((peer, case.median(peer)?)));
        let (peer, best) = medians.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        Some((peer, best / case.median(self.ours())?))
    }
}

impl Report {
    /// Returns whether the Python package of this workspace takes part.
    pub(crate) fn has_package(&self) -> bool {
        self.programs.iter().any(|program| Program::named(&program.name).is_ok_and(Program::uses_package))
    }

    /// Returns the names of the peers without the Python package, which uses this engine.
    fn other_programs(&self) -> impl Iterator<Item = &str> {
        self.peers().filter(|name| !Program::named(name).is_ok_and(Program::uses_package))
    }

    /// Returns the peer that is ahead most surely, with the interval of its time relative to this engine in the same
    /// rounds. Only intervals below 1 count.
    pub(crate) fn ahead(&self, case: &CaseReport) -> Option<(&str, Interval)> {
        let intervals =
            self.other_programs().filter_map(|peer| Some((peer, case.paired(self.ours(), peer)?)));
        intervals
            .filter(|(_, interval)| interval.upper < 1.0)
            .min_by(|(_, one), (_, other)| one.upper.total_cmp(&other.upper))
    }
}

impl CaseReport {
    /// Returns the interval of the time of a peer relative to `ours` in the same rounds.
    pub(crate) fn paired(&self, ours: &str, peer: &str) -> Option<Interval> {
        Interval::of_ratios(self.seconds(peer)?, self.seconds(ours)?)
    }

    fn seconds(&self, program: &str) -> Option<&[f64]> {
        match self.results.get(program)? {
            Outcome::Measured { seconds, .. } => Some(seconds),
            Outcome::Failed { .. } => None,
        }
    }

    /// Creates the report of a case that has not run yet.
    pub(crate) fn new(case: &Case) -> Self {
        Self {
            name: case.name.clone(),
            title: case.title.clone(),
            operation: case.operation.to_owned(),
            threads: case.threads,
            bytes: case.bytes(),
            aim: aims::of(&case.name),
            floor: None,
            results: BTreeMap::new(),
        }
    }

    /// Returns the median and the quartiles of the durations of a program.
    pub(crate) fn spread(&self, program: &str) -> Option<Spread> {
        Spread::of(self.seconds(program)?)
    }

    pub(crate) fn median(&self, program: &str) -> Option<f64> {
        Some(self.spread(program)?.median)
    }

    pub(crate) fn floor(&self) -> Option<Spread> {
        Spread::of(self.floor.as_deref()?)
    }

    /// Returns the speed of a program as a fraction of the speed of the floor.
    pub(crate) fn share_of_floor(&self, program: &str) -> Option<f64> {
        Some(self.floor()?.median / self.median(program)?)
    }

    /// Returns the number of rounds.
    pub(crate) fn rounds(&self) -> Option<usize> {
        let rounds = self.results.values().filter_map(|outcome| match outcome {
            Outcome::Measured { seconds, .. } => Some(seconds.len()),
            Outcome::Failed { .. } => None,
        });
        rounds.max()
    }
}

/// Returns an artificial comparison for the tests of tables and charts.
#[cfg(test)]
pub(crate) fn made_up() -> Report {
    let measured = |seconds: &[f64], peak, stored| Outcome::Measured {
        seconds: seconds.to_vec(),
        peak: Some(peak),
        stored,
        read_back_by: None,
        traffic: None,
    };
    let case = |name: &str, title: &str, floor: Option<&[f64]>, results: Vec<(&str, Outcome)>| CaseReport {
        name: name.to_owned(),
        title: title.to_owned(),
        operation: name.split('/').next_back().unwrap().to_owned(),
        threads: 2,
        bytes: 1 << 28,
        aim: aims::of(name),
        floor: floor.map(<[f64]>::to_vec),
        results: results.into_iter().map(|(program, outcome)| (program.to_owned(), outcome)).collect(),
    };
    let program = |name: &str, version: &str| Version { name: name.to_owned(), version: version.to_owned() };
    let refused = Outcome::Failed { reason: "no such <filter>".to_owned() };
    Report {
        schema: SCHEMA,
        machine: "a machine".to_owned(),
        is_quick: false,
        group: Group::Near,
        rounds: 3,
        programs: vec![program("zarr-kit", "0.1.0"), program("zarrs", "0.23"), program("tensorstore", "0.1")],
        cases: vec![
            case(
                "zstd/read",
                "zstd 5, read",
                Some(&[0.04, 0.05, 0.06]),
                vec![
                    ("zarr-kit", measured(&[0.1, 0.2, 0.3], 1 << 28, None)),
                    ("zarrs", measured(&[0.4, 0.4, 0.4], 1 << 29, None)),
                    ("tensorstore", measured(&[0.8, 0.9, 0.7], 3 << 28, None)),
                ],
            ),
            case(
                "delta/write",
                "delta, write",
                None,
                vec![
                    ("zarr-kit", measured(&[0.002, 0.002, 0.002], 1 << 20, Some(1_500_000))),
                    ("zarrs", measured(&[0.001, 0.001, 0.001], 1 << 10, Some(1_400_000))),
                    ("tensorstore", refused),
                ],
            ),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_times_of_peers_relative_to_ours() {
        let report = made_up();
        let ratios: Vec<_> = report.ratios("zarrs").into_iter().map(|(_, ratio)| ratio).collect();
        assert_eq!(ratios, [2.0, 0.5]);
        assert_eq!(report.ratios("tensorstore").len(), 1);
        assert_eq!(report.best_peer(&report.cases[1]), Some(("zarrs", 0.5)));
        assert!((report.cases[0].share_of_floor("zarr-kit").unwrap() - 0.25).abs() < 1e-9);
        assert_eq!(report.cases[1].share_of_floor("zarr-kit"), None);
        assert_eq!(report.cases[0].rounds(), Some(3));
    }

    #[test]
    fn only_failures_of_this_engine_count() {
        let mut report = made_up();
        assert_eq!(report.failures(), [""; 0]);
        let failed = Outcome::Failed { reason: "the result is wrong".to_owned() };
        report.cases[0].results.insert("zarr-kit".to_owned(), failed);
        assert_eq!(report.failures(), ["zstd/read"]);
    }

    #[test]
    fn a_report_makes_the_round_trip() {
        let report = made_up();
        assert_eq!(serde_json::from_str::<Report>(&report.to_json().unwrap()).unwrap(), report);
    }
}
