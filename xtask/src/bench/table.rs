//! The tables of a comparison, as Markdown.

use std::fmt::Write;

use super::aims;
use super::far_store::Traffic;
use super::group::Group;
use super::report::{CaseReport, Outcome, Report};
use super::statistics::{Interval, geometric_mean};

/// The maximum number of requests or bytes of this engine, relative to the peer with the fewest.
const MOST: f64 = 1.1;

/// If this engine is at least this number of times as fast as the peer with the fewest requests or bytes, it may use
/// more than [`MOST`] permits.
const FAST: f64 = 1.3;

/// Returns all tables with their heading.
pub(crate) fn all(report: &Report) -> String {
    let mut text = heading(report);
    let parts = [
        means(report),
        general(report),
        times(report),
        behind(report),
        beyond_output(report),
        memory(report),
        stored(report),
        requests(report),
        failures(report),
    ];
    for part in parts {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    text.trim_end().to_owned()
}

/// Returns the machine, the programs, and the comparison with each peer.
pub(crate) fn summary(report: &Report) -> String {
    format!("{}\n{}", heading(report), means(report)).trim_end().to_owned()
}

/// Formats a duration with three digits and a unit.
pub(crate) fn time(seconds: f64) -> String {
    let (number, unit) = match seconds {
        seconds if seconds >= 1.0 => (seconds, "s"),
        seconds if seconds >= 1e-3 => (seconds * 1e3, "ms"),
        seconds => (seconds * 1e6, "µs"),
    };
    format!("{} {unit}", three_digits(number))
}

fn three_digits(number: f64) -> String {
    match number {
        number if number >= 100.0 => format!("{number:.0}"),
        number if number >= 10.0 => format!("{number:.1}"),
        number => format!("{number:.2}"),
    }
}

fn heading(report: &Report) -> String {
    let programs = report.programs.iter().map(|program| format!("{} {}", program.name, program.version));
    let programs: Vec<_> = programs.collect();
    let mut text = format!(
        "Measured on {}, in {} rounds. Programs: {}.\n",
        report.machine,
        report.rounds,
        programs.join("; ")
    );
    if report.is_quick {
        text.push_str("\n**The data were small (`--quick`): these results are meaningless.**\n");
    }
    text
}

/// Formats a Markdown table. The first column is aligned to the left, numbers to the right.
fn table(header: &[String], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<String> =
        (0..header.len()).map(|column| if column == 0 { "---" } else { "---:" }.to_owned()).collect();
    let rows = rows.iter().map(|row| line(row));
    format!("{}{}{}", line(header), line(&rule), rows.collect::<String>())
}

fn header(first: &[&str], report: &Report, last: &[&str]) -> Vec<String> {
    let programs = report.programs.iter().map(|program| program.name.clone());
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    words(first).into_iter().chain(programs).chain(words(last)).collect()
}

/// Returns the table of the means over all cases.
fn means(report: &Report) -> String {
    let ours = report.ours();
    let rows = report.peers().filter_map(|peer| {
        let ratios = report.ratios(peer);
        let numbers: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
        let mean = geometric_mean(&numbers)?;
        let ahead: Vec<_> = ratios.iter().filter(|(_, ratio)| *ratio < 1.0).collect();
        let worst = ratios.iter().min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        Some(vec![
            peer.to_owned(),
            ratios.len().to_string(),
            format!("{}×", three_digits(mean)),
            ahead.len().to_string(),
            format!("{}× ({})", three_digits(worst.1), worst.0.name),
        ])
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = ["peer", "cases", "geometric mean", "cases in which it is faster", "its best case"];
    let header: Vec<String> = header.iter().map(|&word| word.to_owned()).collect();
    format!("Time of each peer relative to {ours}:\n\n{}", table(&header, &rows))
}

/// Returns the table of medians with quartiles and ratios.
fn times(report: &Report) -> String {
    let row = |case: &CaseReport| {
        let spread = |spread: super::statistics::Spread, rounds: String| {
            let lower = time(spread.lower);
            let upper = time(spread.upper);
            format!("{}<br><sub>{lower} to {upper}{rounds}</sub>", time(spread.median))
        };
        let programs = report.programs.iter().map(|program| match case.results.get(&program.name) {
            // A slow program runs only once.
            Some(Outcome::Measured { seconds, .. }) if report.rounds > 1 && seconds.len() == 1 => {
                format!("{}<br><sub>once</sub>", time(seconds[0]))
            }
            Some(Outcome::Measured { seconds, .. }) => {
                let rounds =
                    (Some(seconds.len()) != case.rounds()).then(|| format!(", {} rounds", seconds.len()));
                let found = case.spread(&program.name);
                found.map_or_else(|| "–".to_owned(), |found| spread(found, rounds.unwrap_or_default()))
            }
            _ => "–".to_owned(),
        });
        let best = report.best_peer(case);
        let best = best.map_or_else(
            || "–".to_owned(),
            |(peer, ratio)| {
                let interval = case.paired(report.ours(), peer);
                let interval = interval.map_or_else(String::new, |interval| {
                    format!(
                        "<br><sub>{} to {}</sub>",
                        three_digits(interval.lower),
                        three_digits(interval.upper)
                    )
                });
                format!("{}× ({peer}){interval}", three_digits(ratio))
            },
        );
        let share = case.share_of_floor(report.ours());
        let share = share.map_or_else(|| "–".to_owned(), |share| format!("{share:.2}"));
        let floor = case.floor().map_or_else(|| "–".to_owned(), |floor| spread(floor, String::new()));
        let rounds = case.rounds().filter(|&rounds| rounds != report.rounds);
        let rounds = rounds.map_or_else(String::new, |rounds| format!(", {rounds} rounds"));
        let first =
            [format!("{}<br><sub>`{}`{rounds}</sub>", case.title, case.name), case.threads.to_string()];
        let [aim, is_met] = aim(report, case);
        first.into_iter().chain(programs).chain([best, floor, share, aim, is_met]).collect::<Vec<_>>()
    };
    let last = ["best peer ÷ ours", "floor", "floor ÷ ours", "aim", "met"];
    let rows: Vec<_> = report.cases.iter().map(row).collect();
    let table = table(&header(&["case", "threads"], report, &last), &rows);
    format!(
        "Medians, with quartiles below. Below the ratio of the best peer: the interval in which the mean ratio of the same \
         rounds lies with a probability of 95 %.\n\n{table}"
    )
}

/// Returns the target of a row, and whether it is met.
fn aim(report: &Report, case: &CaseReport) -> [String; 2] {
    let Some(verdict) = aims::verdict(report, case) else { return ["–".to_owned(), "–".to_owned()] };
    let is_met = match (verdict.is_met, verdict.most) {
        (is_met, _) if matches!(case.aim, aims::Aim::PerSecond(_)) => {
            format!("{} ({:.2} GB/s)", if is_met { "yes" } else { "**no**" }, verdict.found)
        }
        (true, _) => "yes".to_owned(),
        (false, Some(most)) => format!("**no**; the floor itself is at {most:.2}×"),
        (false, None) => "**no**".to_owned(),
    };
    [case.aim.text(), is_met]
}

/// Returns the table of targets that concern many rows.
fn general(report: &Report) -> String {
    let rows = aims::general(report).into_iter().map(|general| {
        let is_met = if general.is_met { "yes" } else { "**no**" };
        vec![general.what, general.aim, general.found, is_met.to_owned()]
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = ["measure", "aim", "found", "met"].map(str::to_owned);
    format!("Aims over many rows:\n\n{}", table(&header, &rows))
}

/// Returns the number of targets that are met, and the rows in which a peer is surely faster.
fn behind(report: &Report) -> String {
    let verdicts: Vec<_> = report.cases.iter().filter_map(|case| aims::verdict(report, case)).collect();
    if verdicts.is_empty() {
        return String::new();
    }
    let met = verdicts.iter().filter(|verdict| verdict.is_met).count();
    let mut text = format!("Aims met: {met} of {} rows.", verdicts.len());
    let ahead = report.cases.iter().filter_map(|case| {
        let (peer, Interval { lower, upper }) = report.ahead(case)?;
        let ratio = case.median(peer)? / case.median(report.ours())?;
        let most = case.share_of_floor(report.ours()).map(|share| ratio / share);
        let floor = most.map_or_else(String::new, |most| format!(", the floor is at {most:.2}×"));
        Some((upper, format!("`{}` {ratio:.2}× ({peer}, {lower:.2} to {upper:.2}{floor})", case.name)))
    });
    let (behind, close): (Vec<_>, Vec<_>) = ahead.partition(|(upper, _)| *upper < aims::BEHIND);
    let mut list = |what: &str, rows: Vec<(f64, String)>| {
        let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
        if !rows.is_empty() {
            let _ = write!(text, " {what} {}: {}.", rows.len(), rows.join(", "));
        }
    };
    if behind.is_empty() && close.is_empty() {
        text.push_str(" No peer is surely faster in any row.");
    } else {
        list("A peer is surely faster in", behind);
        list("A peer is surely faster, but by less than 2 %, in", close);
    }
    text.push('\n');
    text
}

/// Returns the table of the memory of whole reads beyond their output.
fn beyond_output(report: &Report) -> String {
    let row = |case: &CaseReport| {
        let cells = report.programs.iter().map(|program| {
            let peak = case.peak(&program.name)?;
            Some(peak.saturating_sub(case.bytes))
        });
        [format!("`{}`", case.name), mebibytes(Some(case.bytes))]
            .into_iter()
            .chain(cells.map(mebibytes))
            .collect::<Vec<_>>()
    };
    let rows: Vec<_> = aims::beyond_output(report, report.ours()).map(|(case, _)| row(case)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = header(&["case", "output"], report, &[]);
    format!("Memory of reading a whole array, without its output, in MiB:\n\n{}", table(&header, &rows))
}

fn mebibytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "–".to_owned(), |bytes| three_digits(bytes as f64 / f64::from(1 << 20)))
}

/// Returns a table with the value of `number` for each program and case.
fn numbers(report: &Report, title: &str, number: impl Fn(&Outcome) -> Option<u64>) -> String {
    let row = |case: &CaseReport| {
        let cells = report
            .programs
            .iter()
            .map(|program| mebibytes(case.results.get(&program.name).and_then(&number)));
        let cells: Vec<String> = cells.collect();
        if cells.iter().all(|cell| cell == "–") {
            return None;
        }
        Some([format!("`{}`", case.name)].into_iter().chain(cells).collect::<Vec<_>>())
    };
    let rows: Vec<_> = report.cases.iter().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("{title}, in MiB:\n\n{}", table(&header(&["case"], report, &[]), &rows))
}

fn memory(report: &Report) -> String {
    numbers(report, "Peak memory added by the run", |outcome| match outcome {
        Outcome::Measured { peak, .. } => *peak,
        Outcome::Failed { .. } => None,
    })
}

fn stored(report: &Report) -> String {
    numbers(report, "Size of all written files", |outcome| match outcome {
        Outcome::Measured { stored, .. } => *stored,
        Outcome::Failed { .. } => None,
    })
}

/// Returns the table of requests to the remote store.
fn requests(report: &Report) -> String {
    let traffic = |program: &str, case: &CaseReport| match case.results.get(program) {
        Some(Outcome::Measured { traffic, .. }) => *traffic,
        _ => None,
    };
    let cell = |traffic: Option<Traffic>| {
        let Some(Traffic { requests, most_at_once, bytes }) = traffic else { return "–".to_owned() };
        format!("{requests}<br><sub>{most_at_once} in flight, {} MiB</sub>", mebibytes(Some(bytes)))
    };
    let row = |case: &CaseReport| {
        let cells = report.programs.iter().map(|program| cell(traffic(&program.name, case)));
        let [requests, bytes] = [|traffic: Traffic| traffic.requests, |traffic: Traffic| traffic.bytes]
            .map(|count| economy(report, case, |program| traffic(program, case).map(count)));
        let first = [format!("`{}`", case.name)].into_iter();
        first.chain(cells).chain([requests, bytes]).collect::<Vec<_>>()
    };
    if report.group != Group::Far {
        return String::new();
    }
    let rows: Vec<_> = report.cases.iter().map(row).collect();
    let header = header(&["case"], report, &["requests ÷ fewest", "bytes ÷ fewest"]);
    format!(
        "Requests of one run, the most in flight, and the size of all bodies. More than 1.1 times the fewest is bold, \
         unless this engine is 1.3 times as fast as that peer:\n\n{}",
        table(&header, &rows)
    )
}

/// Returns the count of this engine relative to the smallest count of a peer, and the name of that peer.
fn economy(report: &Report, case: &CaseReport, count: impl Fn(&str) -> Option<u64>) -> String {
    let fewest = report.peers().filter_map(|peer| Some((peer, count(peer)?))).min_by_key(|(_, count)| *count);
    let (Some(ours), Some((peer, fewest))) = (count(report.ours()), fewest) else { return "–".to_owned() };
    let ratio = ours as f64 / fewest.max(1) as f64;
    let speed = case.median(peer).zip(case.median(report.ours())).map_or(0.0, |(theirs, ours)| theirs / ours);
    let text = format!("{}× ({peer})", three_digits(ratio));
    if ratio > MOST && speed < FAST { format!("**{text}**") } else { text }
}

/// Returns the list of failures, which are dashes in the tables.
fn failures(report: &Report) -> String {
    let mut text = String::new();
    for case in &report.cases {
        for (program, outcome) in &case.results {
            if let Outcome::Failed { reason } = outcome {
                // A reason may contain Markdown markup, so it is printed as code, and backticks are removed.
                let reason: String = reason.chars().filter(|&letter| letter != '`').take(160).collect();
                let _ = writeln!(text, "- `{}`, {program}: `{reason}`", case.name);
            }
        }
    }
    if text.is_empty() { text } else { format!("Failed cases:\n\n{text}") }
}

#[cfg(test)]
mod tests {
    use super::super::report::made_up;
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        assert_eq!([1.5, 0.0123, 0.9996, 12e-6].map(time), ["1.50 s", "12.3 ms", "1000 ms", "12.0 µs"]);
    }

    #[test]
    fn the_tables_of_a_report_are_complete() {
        let wanted = "\
Measured on a machine, in 3 rounds. Programs: zarr-kit 0.1.0; zarrs 0.23; tensorstore 0.1.

Time of each peer relative to zarr-kit:

| peer | cases | geometric mean | cases in which it is faster | its best case |
| --- | ---: | ---: | ---: | ---: |
| zarrs | 2 | 1.00× | 1 | 0.50× (delta/write) |
| tensorstore | 1 | 4.00× | 0 | 4.00× (zstd/read) |

Aims over many rows:

| measure | aim | found | met |
| --- | ---: | ---: | ---: |
| geometric mean of zarrs ÷ ours over 2 rows | 1.50× | 1.00× | **no** |
| geometric mean of tensorstore ÷ ours over 1 rows | 1.50× | 4.00× | yes |
| memory of a whole read without its output | 64 MiB | 0 MiB at most (`zstd/read`) | yes |

Medians, with quartiles below. Below the ratio of the best peer: the interval in which the mean ratio of the same rounds \
lies with a probability of 95 %.

| case | threads | zarr-kit | zarrs | tensorstore | best peer ÷ ours | floor | floor ÷ ours | aim | met |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| zstd 5, read<br><sub>`zstd/read`</sub> | 2 | 200 ms<br><sub>150 ms to 250 ms</sub> \
| 400 ms<br><sub>400 ms to 400 ms</sub> | 800 ms<br><sub>750 ms to 850 ms</sub> | 2.00× (zarrs)<br><sub>0.55 to 8.75</sub> \
| 50.0 ms<br><sub>45.0 ms to 55.0 ms</sub> | 0.25 | 0.70 of the floor | **no** |
| delta, write<br><sub>`delta/write`</sub> | 2 | 2.00 ms<br><sub>2.00 ms to 2.00 ms</sub> \
| 1.00 ms<br><sub>1.00 ms to 1.00 ms</sub> | – | 0.50× (zarrs)<br><sub>0.50 to 0.50</sub> \
| – | – | 1.00× the best peer | **no** |

Aims met: 0 of 2 rows. A peer is surely faster in 1: `delta/write` 0.50× (zarrs, 0.50 to 0.50).

Memory of reading a whole array, without its output, in MiB:

| case | output | zarr-kit | zarrs | tensorstore |
| --- | ---: | ---: | ---: | ---: |
| `zstd/read` | 256 | 0.00 | 256 | 512 |

Peak memory added by the run, in MiB:

| case | zarr-kit | zarrs | tensorstore |
| --- | ---: | ---: | ---: |
| `zstd/read` | 256 | 512 | 768 |
| `delta/write` | 1.00 | 0.00 | – |

Size of all written files, in MiB:

| case | zarr-kit | zarrs | tensorstore |
| --- | ---: | ---: | ---: |
| `delta/write` | 1.43 | 1.34 | – |

Failed cases:

- `delta/write`, tensorstore: `no such <filter>`";
        assert_eq!(all(&made_up()), wanted);
    }

    #[test]
    fn results_of_small_data_have_a_warning() {
        let report = Report { is_quick: true, ..made_up() };
        assert!(all(&report).contains("these results are meaningless"));
    }

    #[test]
    fn requests_are_shown_if_there_is_a_remote_store() {
        let mut report = Report { group: Group::Far, ..made_up() };
        for (program, requests) in [("zarr-kit", 157), ("zarrs", 130)] {
            let sent = Traffic { requests, most_at_once: 64, bytes: 3 << 19 };
            if let Some(Outcome::Measured { traffic, .. }) = report.cases[0].results.get_mut(program) {
                *traffic = Some(sent);
            }
        }
        // This engine takes half of the time of zarrs.
        let wanted = "| `zstd/read` | 157<br><sub>64 in flight, 1.50 MiB</sub> | 130<br><sub>64 in flight, 1.50 MiB</sub> \
                      | – | 1.21× (zarrs) | 1.00× (zarrs) |";
        assert!(requests(&report).contains(wanted), "{}", requests(&report));
        assert_eq!(requests(&made_up()), "");
    }

    #[test]
    fn more_requests_than_a_peer_are_bold_unless_the_engine_is_much_faster() {
        let report = made_up();
        let count = |ours: u64, theirs: u64| {
            move |program: &str| Some(if program == "zarr-kit" { ours } else { theirs })
        };
        let [fast, slow] = [&report.cases[0], &report.cases[1]];
        assert_eq!(economy(&report, fast, count(200, 100)), "2.00× (zarrs)");
        assert_eq!(economy(&report, slow, count(110, 100)), "1.10× (zarrs)");
        assert_eq!(economy(&report, slow, count(111, 100)), "**1.11× (zarrs)**");
    }
}
