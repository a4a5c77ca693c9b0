//! The performance targets of the Python package, as far as a report has its programs.

use super::{General, whole_reads};
use crate::bench::report::{CaseReport, Outcome, Report};

const DIRECT: &str = "zarr-kit-python";
const PIPELINE: &str = "zarr-python-zarr-kit";

/// The programs in Python that the direct API of the package is compared with.
const PEERS: [&str; 5] = ["tensorstore", "zarr-python", "zarr-python-fused", "zarr-python-zarrs", "zarrista"];

/// The codec pipelines that the codec pipeline of the package is compared with.
const PIPELINES: [&str; 2] = ["zarr-python-fused", "zarr-python-zarrs"];

/// xarray with the engine of the package, and with its own engine and three codec pipelines.
const XARRAY: &str = "xarray-zarr-kit";
const ENGINES: [&str; 3] = ["xarray", "xarray-fused", "xarray-zarrs"];

/// The maximum factor of the time of the Rust program, in rows of at least `LONG` seconds.
const OF_RUST: f64 = 1.05;
const LONG: f64 = 0.02;

/// The maximum factor of the time of zarr-python, in rows that only run code of zarr-python.
const OF_ZARR_PYTHON: f64 = 1.05;

/// The maximum time that Python adds to reading one element, in seconds.
const OF_ELEMENT: f64 = 5e-6;

pub(super) fn general(report: &Report) -> Vec<General> {
    let all = |_: &CaseReport| true;
    let has_elements = |case: &CaseReport| case.bytes > 0;
    let found = [
        of_rust(report),
        ahead(report, DIRECT, &PEERS, all),
        ahead(report, PIPELINE, &PIPELINES, has_elements),
        ahead(report, XARRAY, &ENGINES, has_elements),
        own_code(report),
        elements(report),
        data_sets(report),
        whole_reads(report, DIRECT),
    ];
    found.into_iter().flatten().collect()
}

/// Compares the direct API with the Rust program in long rows.
fn of_rust(report: &Report) -> Option<General> {
    let is_long = |case: &CaseReport| case.median(report.ours()).is_some_and(|time| time >= LONG);
    let ratios = report.ratios(DIRECT).into_iter().filter(|(case, _)| is_long(case));
    let (case, most) = ratios.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    Some(General {
        what: format!("time of {DIRECT} ÷ ours in rows of at least {:.0} ms", LONG * 1e3),
        aim: format!("{OF_RUST:.2}×"),
        found: format!("{most:.2}× at most (`{}`)", case.name),
        is_met: most <= OF_RUST,
    })
}

/// Compares a program with others, in rows that `is_counted` selects.
fn ahead(
    report: &Report,
    program: &str,
    others: &[&str],
    is_counted: impl Fn(&CaseReport) -> bool,
) -> Option<General> {
    let lead = |case: &CaseReport| {
        let ours = case.median(program)?;
        let best = others.iter().filter_map(|other| case.median(other)).min_by(f64::total_cmp)?;
        Some((case.name.clone(), best / ours))
    };
    let leads: Vec<_> = report.cases.iter().filter(|case| is_counted(case)).filter_map(lead).collect();
    let behind: Vec<_> = leads.iter().filter(|(_, lead)| *lead < 1.0).collect();
    let (worst, lead) = leads.iter().min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    Some(General {
        what: format!("rows in which {program} is ahead of {}", others.join(", ")),
        aim: leads.len().to_string(),
        found: format!("{} (`{worst}`: {lead:.2}×)", leads.len() - behind.len()),
        is_met: behind.is_empty(),
    })
}

/// Compares zarr-python with and without the codec pipeline of the package, in rows without elements.
fn own_code(report: &Report) -> Option<General> {
    let without = report.cases.iter().filter(|case| case.bytes == 0);
    let ratios =
        without.filter_map(|case| Some((case, case.median(PIPELINE)? / case.median("zarr-python")?)));
    let (case, most) = ratios.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    Some(General {
        what: format!("time of {PIPELINE} ÷ zarr-python in rows without elements"),
        aim: format!("{OF_ZARR_PYTHON:.2}×"),
        found: format!("{most:.2}× at most (`{}`)", case.name),
        is_met: most <= OF_ZARR_PYTHON,
    })
}

/// Compares the time of reading single elements from the cache with the time of the Rust program.
fn elements(report: &Report) -> Option<General> {
    let case = report.cases.iter().find(|case| case.name == "zstd/elements")?;
    // Each element has two bytes.
    let count = u32::try_from(case.bytes / 2).ok()?;
    let added = (case.median(DIRECT)? - case.median(report.ours())?) / f64::from(count);
    Some(General {
        what: format!("time that {DIRECT} adds to reading an element of a cached chunk"),
        aim: format!("{:.0} µs", OF_ELEMENT * 1e6),
        found: format!("{:.1} µs", added * 1e6),
        is_met: added <= OF_ELEMENT,
    })
}

/// Compares the engines of xarray that open a data set of a remote store.
fn data_sets(report: &Report) -> Option<General> {
    let case = report.cases.iter().find(|case| case.name == "far/variables/open")?;
    let requests = |program: &str| match case.results.get(program)? {
        Outcome::Measured { traffic, .. } => traffic.map(|traffic| traffic.requests),
        Outcome::Failed { .. } => None,
    };
    let [ours, theirs] = [XARRAY, ENGINES[0]];
    let ratio = case.median(ours)? / case.median(theirs)?;
    let [our_requests, their_requests] = [requests(ours)?, requests(theirs)?];
    Some(General {
        what: format!("opening 500 variables with {ours} ÷ {theirs}"),
        aim: format!("1.00×, and {their_requests} requests"),
        found: format!("{ratio:.2}×, and {our_requests} requests"),
        is_met: ratio <= 1.0 && our_requests <= their_requests,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::cases;
    use crate::bench::group::Group;
    use crate::bench::report::Version;

    fn measured(seconds: f64) -> Outcome {
        Outcome::Measured {
            seconds: vec![seconds],
            peak: None,
            stored: None,
            read_back_by: None,
            traffic: None,
        }
    }

    fn report(name: &str, times: &[(&str, f64)]) -> Report {
        let names =
            times.iter().map(|(name, _)| Version { name: (*name).to_owned(), version: String::new() });
        let mut report = Report::new(false, Group::Near, 1, names.collect());
        let all = cases::all(false, Group::Near);
        let mut case = CaseReport::new(all.iter().find(|case| case.name == name).unwrap());
        case.results = times
            .iter()
            .map(|(name, seconds)| ((*name).to_owned(), measured(*seconds)))
            .collect::<BTreeMap<_, _>>();
        report.cases.push(case);
        report
    }

    #[test]
    fn long_rows_are_compared_with_the_rust_program() {
        let found = |ours, python| {
            let general = general(&report("zstd/read", &[("zarr-kit", ours), (DIRECT, python)]));
            general.first().map(|general| general.is_met)
        };
        assert_eq!(found(0.1, 0.104), Some(true));
        assert_eq!(found(0.1, 0.106), Some(false));
        assert_eq!(found(0.001, 0.1), None);
    }

    #[test]
    fn a_peer_that_is_faster_is_counted_and_named() {
        let times = [
            ("zarr-kit", 0.01),
            (DIRECT, 0.012),
            ("zarrista", 0.006),
            (PIPELINE, 0.1),
            ("zarr-python-fused", 0.2),
        ];
        let general = general(&report("zstd/read", &times));
        let [direct, pipeline] = &general[..] else { panic!("{general:?}") };
        assert_eq!((direct.is_met, direct.found.as_str()), (false, "0 (`zstd/read`: 0.50×)"));
        assert_eq!((pipeline.is_met, pipeline.found.as_str()), (true, "1 (`zstd/read`: 2.00×)"));
    }

    #[test]
    fn the_engine_of_xarray_is_compared_with_each_pipeline() {
        let times = [("zarr-kit", 0.01), (XARRAY, 0.02), ("xarray", 0.09), ("xarray-zarrs", 0.03)];
        let general = general(&report("zstd/read", &times));
        let [engine] = &general[..] else { panic!("{general:?}") };
        assert_eq!((engine.is_met, engine.found.as_str()), (true, "1 (`zstd/read`: 1.50×)"));
    }

    #[test]
    fn the_pipeline_may_cost_five_percent_where_it_does_nothing() {
        let found = |without, with| {
            let times = [("zarr-kit", 0.01), ("zarr-python", without), (PIPELINE, with)];
            let all = general(&report("arrays/open", &times));
            let general = all.iter().find(|general| general.what.contains("rows without elements"));
            general.map(|general| general.is_met)
        };
        assert_eq!(found(0.1, 0.105), Some(true));
        assert_eq!(found(0.1, 0.106), Some(false));
    }

    #[test]
    fn the_memory_of_whole_reads_is_that_of_the_package() {
        let mut read = report("zstd/read", &[("zarr-kit", 0.01), (DIRECT, 0.01)]);
        let bytes = read.cases[0].bytes;
        let mut met = |beyond: u64| {
            let outcome = read.cases[0].results.get_mut(DIRECT).unwrap();
            if let Outcome::Measured { peak, .. } = outcome {
                *peak = Some(bytes + beyond);
            }
            let all = general(&read);
            let found = all.iter().find(|general| general.what.starts_with("memory of a whole read by"));
            found.map(|general| general.is_met)
        };
        assert_eq!(met(64 << 20), Some(true));
        assert_eq!(met((64 << 20) + 1), Some(false));
    }

    #[test]
    fn the_time_of_elements_is_that_of_one_element() {
        let general = general(&report("zstd/elements", &[("zarr-kit", 0.001), (DIRECT, 0.004)]));
        assert_eq!(general[0].found, "3.0 µs");
        assert!(general[0].is_met);
    }
}
