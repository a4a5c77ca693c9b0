//! The performance targets: of each row, and of all rows together.

mod python;

use serde::{Deserialize, Serialize};

use super::group::Group;
use super::report::{CaseReport, Outcome, Report};
use super::statistics::geometric_mean;

/// The target of this engine in a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Aim {
    /// The time of the floor divided by ours.
    OfFloor(f64),
    /// The time of the fastest peer divided by ours.
    OverBest(f64),
    /// Gigabytes of elements per second.
    PerSecond(f64),
}

use Aim::{OfFloor, OverBest, PerSecond};

/// The decoders and encoders of images may take 1.2 times as long as those of imagecodecs.
const OF_IMAGECODECS: Aim = OverBest(1.0 / 1.2);

/// The targets by the names of cases. They also apply to the rows with one thread.
const AIMS: &[(&str, Aim)] = &[
    ("uncompressed/read", OfFloor(0.85)),
    ("uncompressed/read-kept", OfFloor(0.85)),
    ("uncompressed/write", OfFloor(0.75)),
    ("uncompressed/box", OverBest(1.3)),
    ("zstd/read", OfFloor(0.70)),
    ("zstd/read-kept", OfFloor(0.85)),
    ("zstd/write", OfFloor(0.97)),
    ("zstd/box", OverBest(1.3)),
    ("zstd/planes-z", OverBest(1.3)),
    ("zstd/planes-x", OverBest(1.3)),
    ("zstd/boxes", OverBest(1.3)),
    ("zstd/boxes-at-once", OverBest(1.3)),
    ("blosc/read", OfFloor(0.50)),
    ("blosc/read-kept", OfFloor(0.65)),
    ("blosc/write", OfFloor(0.85)),
    ("blosc/box", OverBest(1.3)),
    ("gzip/read", OfFloor(0.85)),
    ("gzip/write", OverBest(1.5)),
    ("shards/read", OfFloor(0.80)),
    ("shards/write", OfFloor(0.97)),
    ("shards/box", OverBest(1.3)),
    ("shards/boxes", OverBest(1.5)),
    ("shards/boxes-at-once", OverBest(1.5)),
    ("small-chunks/read", OfFloor(1.00)),
    ("small-chunks/write", OfFloor(0.75)),
    ("transposed/read", OfFloor(0.70)),
    ("transposed/write", OfFloor(0.50)),
    ("v2/read", OverBest(1.3)),
    ("v2/write", OverBest(1.0)),
    ("v2-delta/read", OverBest(1.5)),
    ("v2-delta/write", OverBest(1.2)),
    ("1-MiB-chunks/copy", OfFloor(0.91)),
    ("1-MiB-chunks/hash", PerSecond(1.0)),
    ("1e5-chunks/copy", OfFloor(1.00)),
    ("planes/rechunk", OfFloor(0.45)),
    ("planes/merge", OfFloor(0.77)),
    ("zstd-5/verify", OfFloor(1.00)),
    ("zstd-5/digest", OfFloor(0.70)),
    ("png/read", OF_IMAGECODECS),
    ("png/write", OF_IMAGECODECS),
    ("jpegxl/read", OF_IMAGECODECS),
    ("jpegxl/write", OF_IMAGECODECS),
    ("jpegls/read", OF_IMAGECODECS),
    ("jpeg2k/read", OF_IMAGECODECS),
    ("lerc/read", OF_IMAGECODECS),
    ("lerc/write", OF_IMAGECODECS),
    ("lzw/read", OF_IMAGECODECS),
    ("lzw/write", OF_IMAGECODECS),
    ("packbits/read", OF_IMAGECODECS),
    ("packbits/write", OF_IMAGECODECS),
    ("wavpack/read", OF_IMAGECODECS),
    ("wavpack/write", OF_IMAGECODECS),
    ("webp/read", OF_IMAGECODECS),
    ("webp/write", OF_IMAGECODECS),
    ("jpeg/read", OF_IMAGECODECS),
    ("arrays/create", OverBest(1.0)),
    ("arrays/open", OverBest(1.5)),
];

/// The default target: no peer is surely faster.
const AHEAD: Aim = OverBest(1.0);

/// If the upper limit of the interval of a peer's relative time lies below this, this engine is behind. Between this and 1,
/// it is behind unless most of the time is spent in a library that the peer calls, too.
pub(crate) const BEHIND: f64 = 0.98;

/// The maximum memory of a whole read beyond its output, in bytes.
const BEYOND_OUTPUT: u64 = 64 << 20;

/// The memory that chunks in flight from a remote store may also take.
const CHUNKS_IN_FLIGHT: u64 = 64 << 20;

/// The maximum memory of a copy with a limit of 256 MiB, in bytes.
const COPY: u64 = (256 + 64) << 20;
/// The maximum factor of the time for ten times the number of chunks or nodes.
const TENFOLD: f64 = 12.0;
/// The maximum factor of the memory for reading a larger array in parts of the same size.
const CONSTANT: f64 = 1.1;

/// The result of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    /// The value in the unit of the target.
    pub(crate) found: f64,
    pub(crate) is_met: bool,
    /// If the floor itself would miss the target: the best peer's time divided by the floor's time.
    pub(crate) most: Option<f64>,
}

/// A target that concerns many rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct General {
    pub(crate) what: String,
    pub(crate) aim: String,
    pub(crate) found: String,
    pub(crate) is_met: bool,
}

/// Returns the target of the case with this name.
pub(crate) fn of(case: &str) -> Aim {
    let name = case.strip_suffix(ONE_THREAD).unwrap_or(case);
    AIMS.iter().find(|(known, _)| *known == name).map_or(AHEAD, |(_, aim)| *aim)
}

/// The suffix of the names of rows with one thread.
pub(crate) const ONE_THREAD: &str = "/1-thread";

/// The suffix of the names of rows with 16 threads.
pub(crate) const MANY_THREADS: &str = "/16-threads";

/// The most that 16 threads may take, relative to two on the same number of processors.
const MANY_TO_TWO: f64 = 1.02;

impl Aim {
    /// Formats the target for the table.
    pub(crate) fn text(self) -> String {
        match self {
            OfFloor(share) => format!("{share:.2} of the floor"),
            OverBest(ratio) => format!("{ratio:.2}× the best peer"),
            PerSecond(rate) => format!("{rate:.2} GB/s"),
        }
    }
}

/// Compares a row with its target. Returns `None` if there is nothing to compare.
pub(crate) fn verdict(report: &Report, case: &CaseReport) -> Option<Verdict> {
    let best = report.best_peer(case).map(|(_, ratio)| ratio);
    let floor = case.share_of_floor(report.ours());
    let (found, aim) = match case.aim {
        OfFloor(share) => (floor?, share),
        OverBest(ratio) => (best?, ratio),
        PerSecond(rate) => (case.bytes as f64 / case.median(report.ours())? / 1e9, rate),
    };
    let most = match case.aim {
        OfFloor(_) | PerSecond(_) => None,
        // `best` and `floor` are relative to our time. Their quotient is the best peer's time divided by the floor's
        // time.
        OverBest(_) => best.zip(floor).map(|(best, floor)| best / floor).filter(|most| *most < aim),
    };
    let is_met = match case.aim {
        AHEAD => report.ahead(case).is_none(),
        _ => reaches(found, aim),
    };
    Some(Verdict { found, is_met, most })
}

/// Compares with two decimal places, as in the tables.
fn reaches(found: f64, aim: f64) -> bool {
    (found * 100.0).round() >= (aim * 100.0).round()
}

/// Returns the results of the targets that concern many rows, as far as the report has these rows.
pub(crate) fn general(report: &Report) -> Vec<General> {
    let means = [("zarrs", 1.5), ("tensorstore", 1.5), ("zarr-python", 2.0)];
    let means = means.iter().map(|(peer, aim)| mean(report, peer, *aim));
    let whole_reads = whole_reads(report, report.ours());
    let others =
        [one_thread(report), many_threads(report), whole_reads, growing_arrays(report), copies(report)];
    let listing = ("listing ten times the nodes", &["nodes-1e4/list", "nodes-1e5/list"][..]);
    let chunks = ["1e3-chunks", "1e4-chunks", "1e5-chunks", "1e6-chunks"];
    let [reading, writing] =
        ["read", "write"].map(|operation| chunks.map(|chunks| format!("{chunks}/{operation}")));
    let tenfold = [
        tenfold(report, listing.0, listing.1),
        tenfold(report, "reading ten times the chunks", &reading.each_ref().map(String::as_str)),
        tenfold(report, "writing ten times the chunks", &writing.each_ref().map(String::as_str)),
    ];
    means
        .chain(others)
        .chain(tenfold)
        .chain([databases(report)])
        .flatten()
        .chain(python::general(report))
        .collect()
}

/// Returns the mean over the local cases. Growth cases are left out because they repeat the same work, and remote cases
/// because they measure waiting.
fn mean(report: &Report, peer: &str, aim: f64) -> Option<General> {
    let ratios: Vec<f64> = report.ratios(peer).into_iter().map(|(_, ratio)| ratio).collect();
    if report.group != Group::Near {
        return None;
    }
    let mean = geometric_mean(&ratios)?;
    Some(General {
        what: format!("geometric mean of {peer} ÷ ours over {} rows", ratios.len()),
        aim: format!("{aim:.2}×"),
        found: format!("{mean:.2}×"),
        is_met: reaches(mean, aim),
    })
}

/// Compares the lead of this engine with one thread and with two, in the rows that exist with both.
fn one_thread(report: &Report) -> Option<General> {
    let ahead = |name: &str| {
        let case = report.cases.iter().find(|case| case.name == name)?;
        Some(report.best_peer(case)?.1)
    };
    let both = |case: &CaseReport| {
        let two = case.name.strip_suffix(ONE_THREAD)?;
        Some((ahead(&case.name)?, ahead(two)?))
    };
    let (one, two): (Vec<f64>, Vec<f64>) = report.cases.iter().filter_map(both).unzip();
    let one = geometric_mean(&one)?;
    let two = geometric_mean(&two)?;
    Some(General {
        what: "geometric mean of best peer ÷ ours with one thread".to_owned(),
        aim: format!("{two:.2}×, as with two"),
        found: format!("{one:.2}×"),
        is_met: reaches(one, two),
    })
}

/// Compares 16 threads with two, in the rows that exist with both.
fn many_threads(report: &Report) -> Option<General> {
    let median = |name: &str| {
        let case = report.cases.iter().find(|case| case.name == name)?;
        case.median(report.ours())
    };
    let both = |case: &CaseReport| {
        let two = case.name.strip_suffix(MANY_THREADS)?;
        Some(median(&case.name)? / median(two)?)
    };
    let ratio = geometric_mean(&report.cases.iter().filter_map(both).collect::<Vec<f64>>())?;
    Some(General {
        what: "geometric mean of the time with 16 threads ÷ with two".to_owned(),
        aim: format!("{MANY_TO_TWO:.2}× at most"),
        found: format!("{ratio:.2}×"),
        is_met: reaches(MANY_TO_TWO, ratio),
    })
}

/// Returns the peak memory beyond the output of whole reads of a program, in bytes, by case.
pub(crate) fn beyond_output<'r>(
    report: &'r Report,
    program: &'r str,
) -> impl Iterator<Item = (&'r CaseReport, u64)> {
    let reads = ["read", "read-values", "read-ndarray"];
    let is_whole = move |case: &&CaseReport| reads.contains(&&*case.operation) && case.bytes > 0;
    let beyond = move |case: &'r CaseReport| Some((case, case.peak(program)?.saturating_sub(case.bytes)));
    report.cases.iter().filter(is_whole).filter_map(beyond)
}

fn whole_reads(report: &Report, program: &str) -> Option<General> {
    let (case, most) = beyond_output(report, program).max_by_key(|(_, bytes)| *bytes)?;
    let by = if program == report.ours() { String::new() } else { format!(" by {program}") };
    let aim = if report.group == Group::Far { BEYOND_OUTPUT + CHUNKS_IN_FLIGHT } else { BEYOND_OUTPUT };
    Some(General {
        what: format!("memory of a whole read{by} without its output"),
        aim: format!("{} MiB", aim >> 20),
        found: format!("{} MiB at most (`{}`)", most.div_ceil(1 << 20), case.name),
        is_met: most <= aim,
    })
}

fn growing_arrays(report: &Report) -> Option<General> {
    let is_part = |case: &&CaseReport| case.operation == "boxes" && case.name.ends_with("-GiB/read");
    let peaks = report.cases.iter().filter(is_part).filter_map(|case| case.peak(report.ours()));
    let peaks: Vec<u64> = peaks.collect();
    let least = *peaks.iter().min()?;
    let most = *peaks.iter().max()?;
    let ratio = most as f64 / least.max(1) as f64;
    Some(General {
        what: "memory of reading a larger array in parts of 256 MiB".to_owned(),
        aim: format!("{CONSTANT:.2}× at most"),
        found: format!("{ratio:.2}× ({} to {} MiB)", least >> 20, most.div_ceil(1 << 20)),
        is_met: ratio <= CONSTANT,
    })
}

fn copies(report: &Report) -> Option<General> {
    let copies = report.cases.iter().filter(|case| ["copy", "rechunk", "merge"].contains(&&*case.operation));
    let most = copies.filter_map(|case| case.peak(report.ours())).max()?;
    Some(General {
        what: "memory of the whole process that copies".to_owned(),
        aim: format!("{} MiB", COPY >> 20),
        found: format!("{} MiB", most.div_ceil(1 << 20)),
        is_met: most <= COPY,
    })
}

/// Returns the worst ratio between consecutive cases, each of which has ten times the size of the preceding one.
fn tenfold(report: &Report, what: &str, cases: &[&str]) -> Option<General> {
    let median = |name: &str| {
        let case = report.cases.iter().find(|case| case.name == name)?;
        case.median(report.ours())
    };
    let ratios = cases.windows(2).filter_map(|pair| Some(median(pair[1])? / median(pair[0])?));
    let worst = ratios.max_by(f64::total_cmp)?;
    Some(General {
        what: what.to_owned(),
        aim: format!("{TENFOLD:.1}× the time at most"),
        found: format!("{worst:.1}×"),
        is_met: worst <= TENFOLD,
    })
}

/// Compares databases with many small chunks with the same chunks in files.
fn databases(report: &Report) -> Option<General> {
    let median = |name: String| {
        let case = report.cases.iter().find(|case| case.name == name)?;
        case.median(report.ours())
    };
    let ratio = |database: &str, operation: &str| {
        let files = median(format!("1e5-chunks/{operation}"))?;
        Some((
            format!("1e5-chunks-{database}/{operation}"),
            median(format!("1e5-chunks-{database}/{operation}"))? / files,
        ))
    };
    let all = ["lmdb", "redb"]
        .into_iter()
        .flat_map(|database| ["read", "write"].map(|operation| ratio(database, operation)));
    let (worst, most) = all.flatten().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    Some(General {
        what: "time of 100,000 chunks in a database ÷ in files".to_owned(),
        aim: "1.00×".to_owned(),
        found: format!("{most:.2}× at most (`{worst}`)"),
        is_met: most <= 1.0,
    })
}

impl CaseReport {
    /// Returns the peak memory in bytes.
    pub(crate) fn peak(&self, program: &str) -> Option<u64> {
        match self.results.get(program)? {
            Outcome::Measured { peak, .. } => *peak,
            Outcome::Failed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases;
    use super::super::report::made_up;
    use super::*;

    #[test]
    fn every_target_belongs_to_a_case() {
        let groups = [Group::Near, Group::Copy].map(|group| cases::all(false, group));
        let names: Vec<String> = groups.into_iter().flatten().map(|case| case.name).collect();
        for (name, _) in AIMS {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
        assert_eq!(of("zstd/read/1-thread"), OfFloor(0.70));
        assert_eq!(of("strings/read"), AHEAD);
    }

    #[test]
    fn a_target_is_met_or_not_and_the_floor_may_miss_it() {
        let mut report = made_up();
        // The floor takes 50 ms, this engine 200 ms, the best peer 400 ms.
        report.cases[0].aim = OfFloor(0.25);
        let verdict = |report: &Report| super::verdict(report, &report.cases[0]).unwrap();
        assert_eq!(verdict(&report), Verdict { found: 0.25, is_met: true, most: None });
        report.cases[0].aim = OfFloor(0.26);
        assert!(!verdict(&report).is_met);
        report.cases[0].aim = OverBest(2.0);
        assert_eq!(verdict(&report), Verdict { found: 2.0, is_met: true, most: None });
        report.cases[0].aim = OverBest(9.0);
        assert_eq!(verdict(&report), Verdict { found: 2.0, is_met: false, most: Some(8.0) });
        // The other case does not have a floor.
        report.cases[1].aim = OfFloor(0.5);
        assert_eq!(super::verdict(&report, &report.cases[1]), None);
    }

    #[test]
    fn targets_of_many_rows_are_reported_if_the_rows_exist() {
        let report = made_up();
        let found = general(&report);
        let mean = found.iter().find(|general| general.what.contains("zarrs")).unwrap();
        assert_eq!((mean.found.as_str(), mean.is_met), ("1.00×", false));
        let memory = found.iter().find(|general| general.what.contains("whole read")).unwrap();
        assert_eq!((memory.found.as_str(), memory.is_met), ("0 MiB at most (`zstd/read`)", true));
        assert!(!found.iter().any(|general| general.what.contains("copies")));
    }

    #[test]
    fn sixteen_threads_are_compared_with_two() {
        let mut report = made_up();
        report.cases[0].name = "zstd/read".to_owned();
        report.cases[1].name = "zstd/read/16-threads".to_owned();
        let mean =
            |report: &Report| general(report).into_iter().find(|general| general.what.contains("16 threads"));
        // Two threads take 200 ms, 16 threads 2 ms.
        assert!(mean(&report).unwrap().is_met);
        report.cases.swap(0, 1);
        report.cases[0].name = "zstd/read".to_owned();
        report.cases[1].name = "zstd/read/16-threads".to_owned();
        let found = mean(&report).unwrap();
        assert_eq!((found.found.as_str(), found.is_met), ("100.00×", false));
        report.cases.truncate(1);
        assert_eq!(mean(&report), None);
    }

    #[test]
    fn databases_are_compared_with_files() {
        let mut report = made_up();
        report.cases[0].name = "1e5-chunks/read".to_owned();
        report.cases[1].name = "1e5-chunks-lmdb/read".to_owned();
        // Files take 200 ms, the database 2 ms.
        let found = general(&report).into_iter().find(|general| general.what.contains("database")).unwrap();
        assert_eq!((found.found.as_str(), found.is_met), ("0.01× at most (`1e5-chunks-lmdb/read`)", true));
        report.cases[1].name = "1e5-chunks/read".to_owned();
        report.cases[0].name = "1e5-chunks-redb/read".to_owned();
        let found = general(&report).into_iter().find(|general| general.what.contains("database")).unwrap();
        assert!(!found.is_met, "{found:?}");
    }

    #[test]
    fn ten_times_the_size_may_take_twelve_times_as_long() {
        let mut report = made_up();
        report.cases[0].name = "nodes-1e5/list".to_owned();
        report.cases[1].name = "nodes-1e4/list".to_owned();
        // The larger listing takes 200 ms, the smaller one 2 ms.
        let listing = general(&report).into_iter().find(|general| general.what.contains("nodes")).unwrap();
        assert_eq!((listing.found.as_str(), listing.is_met), ("100.0×", false));
    }
}
