//! A command that is killed repeatedly, and the checks after each kill.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use zarr_kit::Format;

use super::fixture::{self, Layout};
use super::readers::{Found, Mixing, Nodes, Readers, check_nodes, files};
use super::trace::{End, run};
use crate::support::{Place, program};

/// Where a command writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    /// The command writes to the store in this folder.
    Store(&'static str),
    /// The command writes to this file in the folder `out`.
    File(&'static str),
}

/// A command that writes.
#[derive(Clone, Copy)]
pub(super) struct Case {
    /// `FORMAT` stands for the format of the layout, `OTHER` for another format.
    pub(super) arguments: &'static [&'static str],
    pub(super) writes: Writes,
    pub(super) mixing: Mixing,
    /// A command that produces another state that readers may find.
    pub(super) between: Option<&'static [&'static str]>,
    pub(super) layouts: fn(Layout) -> bool,
    pub(super) prepare: fn(&Path, Layout),
}

impl Case {
    /// Returns a command that changes the folder `store`. After a kill, each node is as before or as after the command.
    pub(super) const fn of(arguments: &'static [&'static str]) -> Self {
        Self {
            arguments,
            writes: Writes::Store("store"),
            mixing: Mixing::Nodes,
            between: None,
            layouts: |_| true,
            prepare: fixture::leave_as_it_is,
        }
    }

    /// Returns the same command with another target.
    pub(super) const fn writing(self, writes: Writes) -> Self {
        Self { writes, ..self }
    }

    /// Returns the same command with another preparation of the folder.
    pub(super) const fn after(self, prepare: fn(&Path, Layout)) -> Self {
        Self { prepare, ..self }
    }

    /// Returns the folder that the command writes to.
    fn folder(&self) -> &'static str {
        match self.writes {
            Writes::Store(folder) => folder,
            Writes::File(_) => "out",
        }
    }

    /// Returns the format that the command writes.
    fn format(&self, layout: Layout) -> Format {
        if self.arguments.contains(&"OTHER") { other(layout.format) } else { layout.format }
    }

    fn command(&self, arguments: &[&str], layout: Layout) -> Command {
        let mut command = program();
        command.args(arguments.iter().map(|argument| match *argument {
            "FORMAT" => layout.format.name(),
            "OTHER" => other(layout.format).name(),
            argument => argument,
        }));
        command
    }
}

fn other(format: Format) -> Format {
    match format {
        Format::V2 => Format::V3,
        Format::V3 | Format::V3Draft => Format::V2,
    }
}

/// The contents of a folder before or after a command.
#[derive(Clone)]
struct State {
    readers: Readers,
    files: BTreeMap<String, Vec<u8>>,
}

/// The result of the same command without a kill.
struct Baseline {
    /// The prepared folder.
    place: Place,
    before: State,
    between: Option<State>,
    after: State,
    moments: usize,
}

/// The number of kills, and the number of kills that came after the command had ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figures {
    pub(super) kills: usize,
    pub(super) too_late: usize,
    /// The number of kills after which `clean` found something to remove.
    pub(super) repaired: usize,
}

/// Kills a command at moments that are spread over its run.
pub(super) struct Killer {
    case: Case,
    layouts: Vec<Layout>,
    baselines: HashMap<usize, Baseline>,
    pub(super) figures: Figures,
}

impl Killer {
    pub(super) fn new(case: Case) -> Self {
        let layouts = fixture::LAYOUTS.into_iter().filter(|layout| (case.layouts)(*layout)).collect();
        Self { case, layouts, baselines: HashMap::new(), figures: Figures::default() }
    }

    /// Kills the command once. `fraction` is the part of the run before the kill, from 0 to 1.
    pub(super) fn kill(&mut self, number: usize, fraction: f64) {
        let position = number % self.layouts.len();
        let case = self.case;
        let layout = self.layouts[position];
        let baseline = self.baselines.entry(position).or_insert_with(|| Baseline::of(case, layout));
        let moment = moment(fraction, baseline.moments);
        let arguments = case.arguments;
        let moments = baseline.moments;
        eprintln!("{arguments:?}, {layout:?}: killed at moment {moment} of {moments}");
        let place = Place::new();
        fixture::copy(&baseline.place.path(""), &place.path(""));
        let run = run(&case.command(arguments, layout), &place.path(""), Some(moment));
        self.figures.kills += 1;
        self.figures.too_late += usize::from(run.end != End::Killed);
        let killed = Killed { case, layout, baseline, root: place.path("") };
        killed.check_state();
        self.figures.repaired += usize::from(killed.check_repair(number.is_multiple_of(2)));
    }
}

/// Returns the number of the moment after this fraction of a run.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a run has few moments"
)]
pub(super) fn moment(fraction: f64, moments: usize) -> usize {
    (fraction * moments as f64) as usize + 1
}

impl Baseline {
    fn of(case: Case, layout: Layout) -> Self {
        let place = Place::new();
        fixture::make(&place.path(""), layout);
        (case.prepare)(&place.path(""), layout);
        let before = State::of(&place.path(case.folder()), case.format(layout));
        let (after, moments) = Self::ran(&place, case, case.arguments, layout);
        let between = case.between.map(|arguments| Self::ran(&place, case, arguments, layout).0);
        assert!(moments > 1, "{:?} changes nothing", case.arguments);
        Self { place, before, between, after, moments }
    }

    /// Runs a command without a kill. Returns the state after it and the number of its moments.
    fn ran(place: &Place, case: Case, arguments: &[&str], layout: Layout) -> (State, usize) {
        let copy = Place::new();
        fixture::copy(&place.path(""), &copy.path(""));
        let run = run(&case.command(arguments, layout), &copy.path(""), None);
        assert_eq!(run.end, End::Exited(0), "{arguments:?} {layout:?}");
        clean(&copy.path(""), case.folder());
        (State::of(&copy.path(case.folder()), case.format(layout)), run.moments)
    }
}

impl State {
    fn of(folder: &Path, format: Format) -> Self {
        Self { readers: Readers::of(folder, format), files: files(folder) }
    }
}

/// A folder in which a command was killed.
struct Killed<'a> {
    case: Case,
    layout: Layout,
    baseline: &'a Baseline,
    root: PathBuf,
}

impl Killed<'_> {
    fn state(&self) -> State {
        State::of(&self.root.join(self.case.folder()), self.case.format(self.layout))
    }

    /// Panics unless each node is as before or as after the command and each file is complete.
    fn check_state(&self) {
        let now = self.state();
        let baseline = self.baseline;
        let states = || [Some(&baseline.before), Some(&baseline.after), baseline.between.as_ref()];
        let nodes = |of: fn(&Readers) -> &Nodes| -> Vec<&Nodes> {
            states().into_iter().flatten().map(|state| of(&state.readers)).collect()
        };
        let by_documents = nodes(|readers| &readers.by_documents);
        let by_copies = nodes(|readers| &readers.by_copies);
        check_nodes(&now.readers.by_documents, &by_documents[..2], self.case.mixing);
        check_nodes(&now.readers.by_copies, &by_copies, self.case.mixing);
        if let Writes::File(name) = self.case.writes {
            let file = now.files.get(name);
            let is_allowed =
                [&baseline.before, &baseline.after].iter().any(|state| state.files.get(name) == file);
            assert!(is_allowed, "{name} is half written");
        }
        for (name, contents) in files(&baseline.place.path("")) {
            if !name.starts_with(self.case.folder()) {
                assert!(std::fs::read(self.root.join(&name)).unwrap() == contents, "{name} is changed");
            }
        }
    }

    /// Panics unless `clean` and the same command produce the state after the command. Returns whether `clean` removed
    /// anything.
    fn check_repair(&self, cleans_first: bool) -> bool {
        let mut is_repaired = false;
        if cleans_first {
            is_repaired = self.check_clean();
        }
        self.check_again();
        is_repaired |= clean(&self.root, self.case.folder());
        let now = self.state();
        let after = &self.baseline.after;
        assert_eq!(now.readers, after.readers, "after the same command again");
        // Without a document, `erase --all` cannot know which other files to remove.
        let is_zarr = |name: &&String| !name.ends_with(".txt");
        let names = |state: &State| state.files.keys().filter(is_zarr).cloned().collect::<BTreeSet<_>>();
        assert_eq!(names(&now), names(after), "after the same command again");
        is_repaired
    }

    /// Panics unless `clean` removes all leftovers and nothing else.
    fn check_clean(&self) -> bool {
        let before = self.state();
        let is_repaired = clean(&self.root, self.case.folder());
        let now = self.state();
        assert_eq!(now.readers, before.readers, "`clean` changes what readers find");
        assert!(!clean(&self.root, self.case.folder()), "`clean` leaves something to clean");
        let known = [&self.baseline.before, &self.baseline.after];
        let arrays = known.iter().flat_map(|state| &state.readers.by_documents);
        for (path, _) in arrays.filter(|(_, found)| matches!(found, Found::Array(_))) {
            if now.readers.by_documents.contains_key(path) || now.readers.by_copies.contains_key(path) {
                continue;
            }
            let begins = [format!("{}/", &path[1..]), format!("data{path}/"), format!("meta{path}.")];
            // Names such as `0/1` may belong to unrelated files.
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
            let is_left = |name: &&String| {
                begins.iter().any(|begin| name.strip_prefix(begin).is_some_and(|rest| !is_number(rest)))
            };
            let left = now.files.keys().find(is_left);
            assert_eq!(left, None, "`clean` leaves a file of {path}");
        }
        let is_note = |(name, _): &(&String, &Vec<u8>)| name.ends_with(".txt");
        let notes = |state: &State| state.files.iter().filter(is_note).count();
        assert_eq!(notes(&now), notes(&before), "`clean` removes other files");
        is_repaired
    }

    /// Panics unless the same command succeeds, or is refused because nothing is left to do.
    fn check_again(&self) {
        let is_done = self.state().readers.by_documents == self.baseline.after.readers.by_documents;
        let output = self.zarrctl(self.case.arguments);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || is_done, "the same command again: {messages}");
        if self.layout.is_consolidated && self.case.writes == Writes::Store("store") {
            assert!(self.zarrctl(&["consolidate", "store"]).status.success());
        }
    }

    fn zarrctl(&self, arguments: &[&str]) -> Output {
        self.case.command(arguments, self.layout).current_dir(&self.root).output().unwrap()
    }
}

/// Runs `clean`. Returns whether it removed anything.
pub(super) fn clean(root: &Path, folder: &str) -> bool {
    if !root.join(folder).exists() {
        return false;
    }
    let output = program().args(["clean", folder, "--older-than", "0s"]).current_dir(root).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "`clean`: {}", String::from_utf8_lossy(&output.stderr));
    !text.contains("0 files, 0 B, removed")
}
