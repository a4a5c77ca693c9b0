//! The rounds: creates the data once, runs every case with every program, and checks every result.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::cases::{Case, State};
use super::clock::Clock;
use super::container::Container;
use super::copy;
use super::datasets::Dataset;
use super::far_store::{FarStore, Traffic};
use super::folder::{Folder, remove, size_below, write_group};
use super::group::Group;
use super::machine;
use super::programs::{Places, Program};
use super::report::{CaseReport, Outcome, Report, Version};
use super::runner::{Run, Runner, Trouble};
use super::table::time;
use crate::say;

mod whole;

/// The programs that write the data for all and check the output of others, in order of preference.
const NEUTRAL: [Program; 4] = [Program::ZarrPython, Program::Zarrs, Program::Tensorstore, Program::ZarrKit];

/// Like [`NEUTRAL`], for arrays of many chunks, for which some programs are slow.
const NEUTRAL_OF_MANY: [Program; 4] =
    [Program::Zarrs, Program::ZarrKit, Program::Tensorstore, Program::ZarrPython];

/// An array with at least this number of chunks counts as an array of many chunks.
const MANY: u64 = 50_000;

/// If a case has at least this number of bytes of elements, its memory and this number of bytes more are touched before
/// each run. The host of a virtual machine takes back memory that has been free for some seconds, and then takes longer
/// to return it than the machine to clear it; the programs would find free memory in different states.
const TOUCHED: u64 = 64 << 20;

/// The total time of all programs after which a case does not need more rounds, in seconds.
const ENOUGH: f64 = 150.0;

/// A program that has taken more than this number of seconds does not need more rounds if it takes more than
/// [`SURELY_SLOWER`] times as long as another one. More rounds would not change that it is slower.
const ENOUGH_OF_SLOW: f64 = 1.0;
const SURELY_SLOWER: f64 = 1.5;

/// The minimum number of rounds, unless fewer rounds are requested.
const LEAST_ROUNDS: usize = 3;

/// If the first run takes more than this number of seconds, it is the only run.
const SLOW: f64 = 60.0;

/// Like [`SLOW`], for growth cases, whose times differ by a factor of ten from case to case.
const SLOW_GROWTH: f64 = 10.0;

/// The free space is checked for arrays of at least this size in bytes.
const LARGE: u64 = 1 << 30;

/// A running comparison.
#[derive(Debug)]
pub(crate) struct Comparison {
    places: Places,
    programs: Vec<Program>,
    rounds: usize,
    folder: Folder,
    /// The runners by program and number of threads.
    runners: BTreeMap<(Program, usize), Runner>,
    /// The files of elements with their checksums, by the parameters of the generator.
    elements: Vec<(Value, PathBuf, u64)>,
    /// The names of the datasets that exist.
    written: BTreeSet<&'static str>,
    clock: Clock,
    /// If the first run takes more than this number of seconds, it is the only run.
    slow: f64,
    /// The remote store, if the group of cases needs one.
    far_store: Option<FarStore>,
}

/// The results of a program in a case so far.
#[derive(Debug)]
struct Track {
    program: Program,
    seconds: Vec<f64>,
    peak: Option<u64>,
    traffic: Option<Traffic>,
    failure: Option<String>,
    /// The checksum of correct results; `None` if decoders may round differently and the program has not run yet.
    expected: Option<u64>,
    /// Whether the program runs no more, because it is much slower than others, or its first run took very long.
    is_slow: bool,
}

impl Track {
    fn is_running(&self) -> bool {
        self.failure.is_none() && !self.is_slow
    }
}

impl Comparison {
    pub(crate) fn new(
        places: Places,
        programs: Vec<Program>,
        folder: &Path,
        rounds: usize,
        clock: Clock,
    ) -> Result<Self, String> {
        Ok(Self {
            clock,
            places,
            programs,
            rounds,
            folder: Folder::new(folder)?,
            runners: BTreeMap::new(),
            elements: Vec::new(),
            written: BTreeSet::new(),
            slow: SLOW,
            far_store: None,
        })
    }

    pub(crate) fn run(mut self, cases: &[Case], is_quick: bool, group: Group) -> Result<Report, String> {
        self.slow = if group == Group::Growth { SLOW_GROWTH } else { SLOW };
        if group == Group::Far {
            self.far_store = Some(FarStore::start(&self.places, self.folder.path())?);
        }
        let mut versions = Vec::new();
        for program in self.programs.clone() {
            let version = match program.is_whole() {
                true => self.places.version_of(program)?,
                false => self.runner(program, 2)?.version().map_err(Trouble::text)?,
            };
            versions.push(Version { name: program.key().to_owned(), version });
        }
        let mut report = Report::new(is_quick, group, self.rounds, versions);
        let left = self.clock.left(cases.iter().map(|case| &*case.name), self.rounds);
        say(&format!("{} cases, {left}\n", cases.len()))?;
        for (number, case) in cases.iter().enumerate() {
            let place = format!("[{:>2}/{}]", number + 1, cases.len());
            if let Some(reason) = self.no_room(case) {
                say(&format!("{place} SKIPPED: {}: {reason}\n", case.name))?;
                continue;
            }
            self.clock.start();
            let found = match copy::is_of_programs(case.operation) {
                true => self.programs_of(case),
                false => self.case(case),
            };
            // A failed case does not end the comparison: its row in the report has the reason.
            let found = found.unwrap_or_else(|reason| self.failed(case, &reason));
            self.clock.stop(&case.name, self.rounds)?;
            let left = self.clock.left(cases[number + 1..].iter().map(|case| &*case.name), self.rounds);
            say(&format!("{place} {}; {left}\n", progress(&found, &report)))?;
            report.cases.push(found);
            self.forget(case, &cases[number + 1..])?;
        }
        Ok(report)
    }

    fn participants(&self, case: &Case) -> Vec<Program> {
        let can_open = |program: &&Program| can_open(**program, &case.dataset);
        if case.is_floor_alone {
            Vec::new()
        } else {
            self.programs.iter().filter(can_open).copied().collect()
        }
    }

    /// Returns the report of a case that failed for all programs.
    fn failed(&self, case: &Case, reason: &str) -> CaseReport {
        let failed =
            |program: Program| (program.key().to_owned(), Outcome::Failed { reason: reason.to_owned() });
        CaseReport {
            results: self.participants(case).into_iter().map(failed).collect(),
            ..CaseReport::new(case)
        }
    }

    fn case(&mut self, case: &Case) -> Result<CaseReport, String> {
        if case.state == State::Fragmented {
            self.ask(Program::Floor, 1, |floors| floors.ask(&json!({"do": "fragment"})))?;
        }
        let report = self.rounds_of(case);
        if case.state == State::Fragmented {
            self.ask(Program::Floor, 1, |floors| floors.ask(&json!({"do": "join"})))?;
        }
        report
    }

    fn rounds_of(&mut self, case: &Case) -> Result<CaseReport, String> {
        let participants = self.participants(case);
        let mut report = CaseReport::new(case);
        self.make(case)?;
        let expected = self.expected(case)?;
        let mut tracks: Vec<Track> = participants
            .into_iter()
            .chain(case.floor.is_some().then_some(Program::Floor))
            .map(|program| Track {
                program,
                seconds: Vec::new(),
                peak: None,
                traffic: None,
                failure: None,
                expected: Some(expected).filter(|_| !case.is_lossy),
                is_slow: false,
            })
            .collect();
        for track in &mut tracks {
            // The first run measures memory and requests, not time, because it fills the permanent caches of a program.
            let prepared = self.prepare(case, track.program);
            self.traffic()?;
            let first = prepared.and_then(|()| self.one(case, track.program, track.expected, Runner::weigh));
            track.traffic = self.traffic()?;
            track.expected = first.as_ref().ok().map(|run| run.checksum);
            match first {
                Ok(run) if run.seconds > self.slow => {
                    (track.peak, track.is_slow) = (run.peak, true);
                    track.seconds.push(run.seconds);
                }
                Ok(run) => track.peak = run.peak,
                Err(reason) => track.failure = Some(reason),
            }
        }
        for round in 0..self.rounds {
            let seconds = tracks.iter().filter(|track| track.is_running()).flat_map(|track| &track.seconds);
            if round >= LEAST_ROUNDS && seconds.sum::<f64>() > ENOUGH {
                break;
            }
            if round >= LEAST_ROUNDS {
                stop_slow(&mut tracks);
            }
            let count = tracks.len();
            for position in 0..count {
                let track = &mut tracks[(position + round) % count];
                if track.is_running() {
                    match self.one_of_state(case, track.program, track.expected) {
                        Ok(run) => track.seconds.push(run.seconds),
                        Err(reason) => track.failure = Some(reason),
                    }
                }
            }
        }
        for track in tracks {
            self.finish(case, track, &mut report)?;
        }
        Ok(report)
    }

    /// Returns the traffic of the remote store since the last call, if there is one.
    fn traffic(&mut self) -> Result<Option<Traffic>, String> {
        self.far_store.as_mut().map(FarStore::traffic).transpose()
    }

    /// Prepares a program. Fails if it does not support the case.
    fn prepare(&mut self, case: &Case, program: Program) -> Result<(), String> {
        let folder = self.folder_of(case, program);
        if case.is_write() && program != Program::Floor {
            write_group(&folder, &case.dataset)?;
        }
        let question = self.question(case, program, &folder);
        self.ask(program, threads_of(case, program), |runner| runner.prepare(&question))
    }

    /// Runs a case once for its time, in a new process if it is a case of such runs.
    ///
    /// A program that writes loads its elements anew for each run, so that all programs use the same free memory. The
    /// parts of the memory of a virtual machine differ in speed, and a program with one part would always be faster.
    fn one_of_state(&mut self, case: &Case, program: Program, expected: Option<u64>) -> Result<Run, String> {
        let threads = threads_of(case, program);
        if case.state == State::Fresh {
            self.runners.remove(&(program, threads));
            self.prepare(case, program)?;
        }
        let holds_elements = case.is_write() && case.bytes() >= TOUCHED && program != Program::Floor;
        if holds_elements {
            self.prepare(case, program)?;
        }
        if case.state != State::Fragmented && case.bytes() >= TOUCHED {
            let request = json!({"do": "touch", "bytes": case.bytes() + TOUCHED});
            self.ask(Program::Floor, 1, |floors| floors.ask(&request))?;
        }
        let run = self.one(case, program, expected, Runner::run);
        if holds_elements {
            self.ask(program, threads, Runner::release)?;
        }
        run
    }

    /// Runs a case once and checks the result, if the expected checksum is known.
    fn one(
        &mut self,
        case: &Case,
        program: Program,
        expected: Option<u64>,
        how: impl FnOnce(&mut Runner) -> Result<Run, Trouble>,
    ) -> Result<Run, String> {
        let run = self.ask(program, threads_of(case, program), how)?;
        if program != Program::Floor && expected.is_some_and(|expected| run.checksum != expected) {
            return Err("the result is wrong".to_owned());
        }
        Ok(run)
    }

    /// Sends a request to a program. A program that has ended is restarted for the next request.
    fn ask<T>(
        &mut self,
        program: Program,
        threads: usize,
        question: impl FnOnce(&mut Runner) -> Result<T, Trouble>,
    ) -> Result<T, String> {
        let answer = question(self.runner(program, threads)?);
        if matches!(answer, Err(Trouble::Lost(_))) {
            self.runners.remove(&(program, threads));
        }
        // The name of the folder differs in each run, so it is removed from messages.
        let folder = format!("{}/", self.folder.path().display());
        answer.map_err(|trouble| trouble.text().replace(&folder, "").trim_end_matches([' ', ':']).to_owned())
    }

    fn runner(&mut self, program: Program, threads: usize) -> Result<&mut Runner, String> {
        let place = (program, threads);
        if !self.runners.contains_key(&place) {
            self.runners.insert(place, Runner::start(&self.places, program, threads)?);
        }
        self.runners.get_mut(&place).ok_or_else(|| format!("{} is not running", program.key()))
    }

    /// Returns the folder of the hierarchy for a program. Each program writes to a separate folder.
    fn folder_of(&self, case: &Case, program: Program) -> PathBuf {
        if case.is_write() && program != Program::Floor {
            return self.folder.path().join(format!("by-{}", program.key()));
        }
        self.folder.path().join(case.dataset.name)
    }

    fn question(&self, case: &Case, program: Program, folder: &Path) -> Value {
        let dataset = &case.dataset;
        let operation = if program == Program::Floor { "floor" } else { case.operation };
        let count = dataset.data.get("arrays").and_then(Value::as_u64);
        let document = dataset.document.as_ref().map(|(name, document)| (name, document.to_string()));
        let mut question = json!({
            "operation": operation,
            "folder": folder,
            "document": document,
            "elements": self.elements_of(dataset).map(|(file, _)| file),
            "data_type": dataset.data_type,
            "shape": dataset.shape,
            "chunks": dataset.chunks,
            "boxes": case.boxes,
            "cache": case.cache,
            "container": dataset.container,
            "count": count.unwrap_or(0),
        });
        if let Some(far_store) = self.far_store.as_ref().filter(|_| case.is_far) {
            question["far"] = json!(far_store.place_of(folder));
        }
        if let (Program::Floor, Some(floor)) = (program, &case.floor) {
            question["floor"] = floor.clone();
        }
        question
    }

    fn elements_of(&self, dataset: &Dataset) -> Option<(&Path, u64)> {
        let found = self.elements.iter().find(|(data, _, _)| *data == dataset.data);
        found.map(|(_, file, checksum)| (file.as_path(), *checksum))
    }

    /// Creates the data of a case if they do not exist.
    fn make(&mut self, case: &Case) -> Result<(), String> {
        let dataset = &case.dataset;
        let folder = self.folder.path().join(dataset.name);
        if self.elements_of(dataset).is_none() {
            let number = self.elements.len();
            let elements = self.folder.path().join(format!("elements-{number}"));
            let file = if dataset.is_hierarchy() { folder.clone() } else { elements };
            let question = json!({"do": "generate", "data": dataset.data, "file": file});
            let checksum = self.ask(Program::Floor, 2, |floors| floors.checksum(&question))?;
            self.elements.push((dataset.data.clone(), file, checksum));
        }
        if dataset.is_hierarchy() || self.written.contains(dataset.name) {
            return Ok(());
        }
        // Programs write the files from which an archive is made, not the archive.
        let made = dataset.container.filter(|container| container.is_made_from_files());
        let files = Dataset { container: dataset.container.filter(|_| made.is_none()), ..dataset.clone() };
        let write = Case {
            dataset: files,
            operation: "write",
            threads: 2,
            boxes: dataset.parts(),
            cache: 0,
            floor: None,
            is_far: false,
            is_lossy: false,
            state: State::Warm,
            ..case.clone()
        };
        let mut reasons = Vec::new();
        for program in self.neutral(&write.dataset, None) {
            write_group(&folder, dataset)?;
            let question = self.question(&write, program, &folder);
            let written = self
                .ask(program, 2, |runner| runner.prepare(&question))
                .and_then(|()| self.ask(program, 2, Runner::run))
                .and_then(|_| self.ask(program, 2, Runner::release));
            match written {
                Ok(()) => {
                    self.contain(&folder, made)?;
                    self.written.insert(dataset.name);
                    return Ok(());
                }
                Err(reason) => reasons.push(format!("{}: {reason}", program.key())),
            }
        }
        Err(format!("no program can write the data: {}", reasons.join("; ")))
    }

    /// Makes an archive of the files in a folder, or references to them, if a dataset needs them.
    fn contain(&mut self, folder: &Path, made: Option<Container>) -> Result<(), String> {
        let Some(container) = made else { return Ok(()) };
        let url = self.far_store.as_ref().and_then(|far_store| far_store.url_of(folder));
        let question = json!({"do": "contain", "folder": folder, "container": container, "url": url});
        self.ask(Program::ZarrPython, 2, |runner| runner.ask(&question)).map(drop)
    }

    /// Returns the programs that write the data for all and check output, except `but`.
    fn neutral(&self, dataset: &Dataset, but: Option<Program>) -> Vec<Program> {
        let takes_part = |program: &Program| {
            self.programs.contains(program) && can_open(*program, dataset) && Some(*program) != but
        };
        let programs = if dataset.chunk_count() < MANY { NEUTRAL } else { NEUTRAL_OF_MANY };
        programs.into_iter().filter(takes_part).collect()
    }

    /// Returns the expected checksum of the result, computed from the elements.
    fn expected(&mut self, case: &Case) -> Result<u64, String> {
        let dataset = &case.dataset;
        let (file, checksum) = self
            .elements_of(dataset)
            .map(|(file, sum)| (file.to_owned(), sum))
            .ok_or("the dataset does not have elements")?;
        let boxes = match case.operation {
            "create" | "open" => return self.expected_lines(case, case.operation == "open"),
            "chunks" => dataset.chunk_boxes(),
            _ => case.boxes.clone(),
        };
        if boxes.is_empty() {
            return Ok(checksum);
        }
        let question = json!({
            "do": "expect", "file": file, "shape": dataset.shape, "item": dataset.item, "boxes": boxes,
        });
        self.ask(Program::Floor, 2, |floors| floors.checksum(&question))
    }

    /// Returns the checksum of the names of arrays, with or without their shape.
    fn expected_lines(&mut self, case: &Case, is_with_shape: bool) -> Result<u64, String> {
        let dataset = &case.dataset;
        let shape = if is_with_shape { format!(" {:?}", dataset.shape) } else { String::new() };
        let count = dataset.data.get("arrays").and_then(Value::as_u64).unwrap_or(0);
        let lines: Vec<String> = (0..count).map(|number| format!("/a{number:05}{shape}")).collect();
        let question = json!({"do": "lines", "lines": lines});
        self.ask(Program::Floor, 2, |floors| floors.checksum(&question))
    }

    /// Adds the result of a program to the report, after another program has checked its output.
    fn finish(&mut self, case: &Case, track: Track, report: &mut CaseReport) -> Result<(), String> {
        let Track { program, seconds, peak, traffic, failure, expected: _, is_slow: _ } = track;
        // A program that failed may have ended.
        let released = self.ask(program, threads_of(case, program), Runner::release);
        if program == Program::Floor {
            match failure {
                Some(reason) => {
                    _ = report.results.insert(program.key().to_owned(), Outcome::Failed { reason })
                }
                None => report.floor = Some(seconds),
            }
            return Ok(());
        }
        let mut outcome = match failure.or(released.err()) {
            Some(reason) => Outcome::Failed { reason },
            None => Outcome::Measured { seconds, peak, stored: None, read_back_by: None, traffic },
        };
        if case.is_write() {
            if let Outcome::Measured { stored, .. } = &mut outcome {
                *stored = Some(size_below(&self.folder_of(case, program))?);
                outcome = self.read_back(case, program, outcome)?;
            }
            remove(&self.folder_of(case, program))?;
        }
        report.results.insert(program.key().to_owned(), outcome);
        Ok(())
    }

    /// Lets another program read the output of `writer` from the files.
    fn read_back(&mut self, case: &Case, writer: Program, outcome: Outcome) -> Result<Outcome, String> {
        let operation = if case.operation == "create" { "open" } else { "read" };
        let read =
            Case { operation, threads: 2, boxes: Vec::new(), floor: None, is_far: false, ..case.clone() };
        self.read_back_from(&read, &self.folder_of(case, writer), Some(writer), outcome)
    }

    /// Lets a program other than `but` read the files in a folder.
    fn read_back_from(
        &mut self,
        read: &Case,
        folder: &Path,
        but: Option<Program>,
        outcome: Outcome,
    ) -> Result<Outcome, String> {
        let expected = self.expected(read)?;
        for reader in self.neutral(&read.dataset, but) {
            let question = self.question(read, reader, folder);
            let found = self
                .ask(reader, 2, |runner| runner.prepare(&question))
                .and_then(|()| self.ask(reader, 2, Runner::run))
                .and_then(|run| self.ask(reader, 2, Runner::release).map(|()| run.checksum));
            let Ok(found) = found else { continue };
            if found != expected {
                let reason = format!("{} does not read what was written", reader.key());
                return Ok(Outcome::Failed { reason });
            }
            if let Outcome::Measured { seconds, peak, stored, traffic, .. } = outcome {
                let read_back_by = Some(reader.key().to_owned());
                return Ok(Outcome::Measured { seconds, peak, stored, read_back_by, traffic });
            }
        }
        Ok(outcome)
    }

    /// Returns the reason why a large array does not fit into the folder; `None` if it fits.
    fn no_room(&self, case: &Case) -> Option<String> {
        let dataset = &case.dataset;
        let copies = match case.operation {
            "copy" => dataset.bytes(),
            // The space for the copy, and for the uncompressed chunks of an intermediate array.
            "rechunk" => dataset.bytes() * 3 / 2,
            _ => 0,
        };
        let source = if self.written.contains(dataset.name) { 0 } else { dataset.bytes() / 2 + 2 * LARGE };
        let wanted = source + copies;
        if dataset.bytes() < LARGE || wanted == 0 {
            return None;
        }
        let free = machine::free_bytes(self.folder.path())?;
        (free < wanted).then(|| {
            format!("needs {} GiB of free space, but only {} GiB are free", wanted >> 30, free >> 30)
        })
    }

    /// Removes the data that no later case needs.
    fn forget(&mut self, case: &Case, later: &[Case]) -> Result<(), String> {
        if later.iter().all(|later| later.dataset.name != case.dataset.name) {
            self.written.remove(case.dataset.name);
            remove(&self.folder.path().join(case.dataset.name))?;
        }
        let is_needed = |data: &Value| later.iter().any(|later| later.dataset.data == *data);
        for (data, file, _) in &self.elements {
            if !is_needed(data) && file.is_file() {
                fs::remove_file(file).map_err(|error| format!("{}: {error}", file.display()))?;
            }
        }
        self.elements.retain(|(data, _, _)| is_needed(data));
        Ok(())
    }
}

/// Stops the programs that are surely slower than others.
fn stop_slow(tracks: &mut [Track]) {
    let total = |track: &Track| track.seconds.iter().sum::<f64>();
    let programs = tracks.iter().filter(|track| track.is_running() && track.program != Program::Floor);
    let Some(fastest) = programs.map(total).min_by(f64::total_cmp) else { return };
    for track in tracks {
        track.is_slow |= total(track) > ENOUGH_OF_SLOW.max(SURELY_SLOWER * fastest);
    }
}

/// Returns whether a program opens the dataset.
fn can_open(program: Program, dataset: &Dataset) -> bool {
    dataset.container.is_none_or(|container| container.is_opened_by(program))
}

/// Returns the number of threads of a program in a case.
fn threads_of(case: &Case, program: Program) -> usize {
    if program == Program::Floor { case.threads_of_floor() } else { case.threads }
}

/// Returns a line about the progress.
fn progress(case: &CaseReport, report: &Report) -> String {
    let result = |name: &str| match case.median(name) {
        Some(median) => format!("{name} {}", time(median)),
        None => format!("{name} –"),
    };
    let results = report.programs.iter().map(|program| result(&program.name));
    let floor = case.floor().map(|floor| format!("floor {}", time(floor.median)));
    format!("{:<28} {}", case.name, results.chain(floor).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_are_surely_slower_stop() {
        let track = |program, seconds: &[f64]| Track {
            program,
            seconds: seconds.to_vec(),
            peak: None,
            traffic: None,
            failure: None,
            expected: None,
            is_slow: false,
        };
        let stopped = |tracks: &mut [Track]| {
            stop_slow(tracks);
            tracks.iter().map(|track| track.is_slow).collect::<Vec<_>>()
        };
        let ours = || track(Program::ZarrKit, &[3.0, 3.0, 3.0]);
        let floor = || track(Program::Floor, &[0.1, 0.1, 0.1]);
        let slow = || track(Program::ZarrPython, &[4.6, 4.6, 4.6]);
        let close = || track(Program::Zarrs, &[4.4, 4.4, 4.4]);
        assert_eq!(stopped(&mut [ours(), floor(), slow(), close()]), [false, false, true, false]);
        // Short runs cost nothing.
        let short = track(Program::ZarrPython, &[0.3, 0.3, 0.3]);
        assert_eq!(stopped(&mut [track(Program::ZarrKit, &[0.1, 0.1, 0.1]), short]), [false, false]);
    }

    #[test]
    fn progress_names_every_program() {
        let report = super::super::report::made_up();
        let line = progress(&report.cases[1], &report);
        assert_eq!(line, "delta/write                  zarr-kit 2.00 ms, zarrs 1.00 ms, tensorstore –");
    }
}
