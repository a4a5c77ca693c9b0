//! Processes that write to one folder at the same time: no change is lost, nothing is torn, and a killed process does
//! not hinder the others. Each test starts this program again as its writers.
//!
//! `ZARR_KIT_RACERS=32` sets the number of processes; the default is 8.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod bodies;
mod kills;
mod stores;
mod writers;

use std::any::Any;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use zarr_kit::spec::store::Store;
use zarr_kit::spec::{Key, Object};
use zarr_kit::stores::FilesystemStore;
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, Selection, open_store};

/// The variables that tell a writer its work, its number, and the store.
const WORK: &str = "ZARR_KIT_RACE_WORK";
const NUMBER: &str = "ZARR_KIT_RACE_NUMBER";
const STORE: &str = "ZARR_KIT_RACE_STORE";

/// The variable that tells a writer to use the plugins of the loaded library, and the variable that tells it not to
/// require conditional writes.
const LOADED: &str = "ZARR_KIT_RACE_LOADED";
const CARELESS: &str = "ZARR_KIT_RACE_CARELESS";

/// The variable that tells a writer to lock files, as on a file system that is not local.
const LOCKED_FILES: &str = "ZARR_KIT_RACE_LOCKED_FILES";

/// The formats of hierarchies in these tests.
const FORMATS: [Format; 3] = [Format::V2, Format::V3Draft, Format::V3];

fn racers() -> u64 {
    std::env::var("ZARR_KIT_RACERS").map_or(8, |count| count.parse().unwrap())
}

/// A hierarchy that processes write to.
struct Race {
    /// The folder or the server with the hierarchy.
    _place: Box<dyn Any>,
    /// The description of the store.
    store: String,
    format: Format,
    /// Variables for the writers.
    variables: Vec<&'static str>,
}

impl Race {
    fn new(format: Format) -> Self {
        Self::with(format, "")
    }

    /// Creates a hierarchy in a new folder. `options` are added to the description of the store.
    fn with(format: Format, options: &str) -> Self {
        Self::within(tempfile::tempdir().unwrap(), format, options)
    }

    fn within(folder: TempDir, format: Format, options: &str) -> Self {
        let path = folder.path().join("data.zarr");
        let store = format!(r#"{{"type": "filesystem", "path": {:?}{options}}}"#, path.to_str().unwrap());
        Self::at(folder, store, format)
    }

    /// Creates a hierarchy in the store that `description` opens.
    fn at(place: impl Any, description: String, format: Format) -> Self {
        let race = Self { _place: Box::new(place), store: description, format, variables: Vec::new() };
        let hierarchy = Hierarchy::create(race.open_store(), &context(), format).unwrap();
        hierarchy.create_group("/", Object::new()).unwrap();
        race
    }

    /// Sets a variable of the writers.
    fn variable(mut self, name: &'static str) -> Self {
        self.variables.push(name);
        self
    }

    fn open_store(&self) -> Arc<dyn Store> {
        open_store(context().registry(), &self.store).unwrap()
    }

    fn open(&self) -> Hierarchy {
        Hierarchy::open(self.open_store(), &context()).unwrap()
    }

    /// Returns whether the store has locks for appends and resizes.
    fn has_locks(&self) -> bool {
        self.open_store().lock(&Key::new("locked").unwrap()).unwrap().is_some()
    }

    fn create(&self, path: &str, builder: &ArrayBuilder) {
        self.open().create_array(path, builder).unwrap();
    }

    fn read(&self, path: &str) -> Vec<u64> {
        self.open().array(path).unwrap().read_values::<u64>(&Selection::All).unwrap().to_vec()
    }

    /// Starts a process, which waits at the start of its work.
    fn start(&self, work: &str, number: u64) -> Racer {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["writer", "--exact", "--nocapture", "--test-threads=1"]);
        command.envs([(WORK, work), (STORE, &self.store), (NUMBER, &number.to_string())]);
        command.envs(self.variables.iter().map(|name| (name, "1")));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Racer::of(command.spawn().unwrap())
    }

    /// Runs the same work in all processes, and waits for them.
    fn run(&self, work: &str) {
        self.run_each(|_| work);
    }

    fn run_each<'w>(&self, work: impl Fn(u64) -> &'w str) {
        let mut racers: Vec<Racer> = (0..racers()).map(|number| self.start(work(number), number)).collect();
        start_together(&mut racers);
        for racer in racers {
            racer.complete();
        }
    }

    /// Returns the files of the store that are not values.
    fn hidden_files(&self) -> Vec<PathBuf> {
        let location = self.open_store().location();
        let path = location.strip_prefix("file://").unwrap().to_owned();
        let mut hidden = Vec::new();
        let mut folders = vec![PathBuf::from(path)];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if is_hidden(&path) {
                    hidden.push(path);
                }
            }
        }
        hidden
    }
}

/// A process that works in the hierarchy of a race.
struct Racer {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Racer {
    fn of(mut child: Child) -> Self {
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Waits until the process has opened the hierarchy, or has ended.
    fn wait_until_ready(&mut self) {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 && line.trim_end() != READY {
            line.clear();
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until the process has completed its work without an error.
    fn complete(mut self) {
        let mut printed = String::new();
        self.output.read_to_string(&mut printed).unwrap();
        let done = self.child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}: {printed}{}", done.status, String::from_utf8_lossy(&done.stderr));
    }
}

/// Lets processes begin their work when all are ready. Without this, the first ones end before the last ones start.
fn start_together<'r>(racers: impl IntoIterator<Item = &'r mut Racer>) {
    let mut ready: Vec<&mut Racer> = racers.into_iter().collect();
    ready.iter_mut().for_each(|racer| racer.wait_until_ready());
    // Each process waits for the end of its standard input.
    ready.iter_mut().for_each(|racer| drop(racer.child.stdin.take()));
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().unwrap().to_str().unwrap().starts_with(".zarr-tmp-")
}

fn context() -> Context {
    Context::linked().unwrap().with_one_thread()
}

/// The line that a process prints when it can begin its work.
const READY: &str = "ready";

/// The time after which a process ends with an error, far more than any work takes: it waits for another process that
/// will not answer. Without a limit, the test would not end.
const LONGEST_WORK: Duration = Duration::from_secs(600);

/// The work of one process, if another test started this one.
#[test]
fn writer() {
    let variable = |name| std::env::var(name).unwrap();
    if std::env::var_os(WORK).is_none() {
        return;
    }
    std::thread::spawn(|| {
        std::thread::sleep(LONGEST_WORK);
        eprintln!("the process still works after {} seconds", LONGEST_WORK.as_secs());
        std::process::exit(1);
    });
    let is_set = |name| std::env::var_os(name).is_some();
    let context = if is_set(LOADED) { stores::loaded_context() } else { context() };
    let context = if is_set(CARELESS) { context } else { context.with_required_conditions() };
    let hierarchy = || {
        let mut store = open_store(context.registry(), &variable(STORE)).unwrap();
        if is_set(LOCKED_FILES) {
            store = Arc::new(FilesystemStore::open_url(&store.location()).unwrap().locks_files());
        }
        Hierarchy::open(store, &context).unwrap()
    };
    writers::run(&variable(WORK), &hierarchy, variable(NUMBER).parse().unwrap());
}

/// The number of changes of each process.
const ROUNDS: u64 = 20;

fn numbers(chunk: u64) -> ArrayBuilder {
    ArrayBuilder::new([racers() * ROUNDS], "uint64").chunks([chunk])
}

#[test]
fn parts_of_one_chunk_are_all_there() {
    for format in FORMATS {
        let race = Race::new(format);
        bodies::parts_of_a_chunk(&race);
        assert_eq!(race.hidden_files(), [""; 0].map(PathBuf::from));
    }
}

#[test]
fn parts_of_one_shard_are_all_there() {
    bodies::parts_of_a_shard(&Race::new(Format::V3));
}

/// Lock files are used where other machines may write, too.
#[test]
fn changes_are_all_there_with_each_kind_of_lock() {
    for options in [r#", "locking": "os""#, r#", "locking": "lockfile""#] {
        let race = Race::with(Format::V3, options);
        bodies::all(&race);
        assert_eq!(race.hidden_files(), [""; 0].map(PathBuf::from));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn changes_are_all_there_in_tmpfs() {
    let race = Race::within(tempfile::tempdir_in("/dev/shm").unwrap(), Format::V3, "");
    bodies::all(&race);
    assert_eq!(race.hidden_files(), [""; 0].map(PathBuf::from));
}

/// On a file system that is not local, the store locks a file instead of the folder.
#[test]
fn changes_are_all_there_with_locked_files() {
    let race = Race::new(Format::V3).variable(LOCKED_FILES);
    bodies::parts_of_a_chunk(&race);
    bodies::serial_orders(&race);
    bodies::serial_orders_with_fill_values(&race);
    bodies::creations(&race);
    bodies::appends(&race);
    bodies::growths(&race);
    let names = race.hidden_files();
    let is_lock = |path: &PathBuf| path.file_name().is_some_and(|name| name == ".zarr-tmp-lock");
    assert!(!names.is_empty() && names.iter().all(is_lock), "{names:?}");
}

#[test]
fn parts_that_are_erased_and_written_again_are_all_there() {
    bodies::on_and_off(&Race::new(Format::V3));
}

#[test]
fn a_whole_chunk_and_parts_of_it_have_one_of_the_serial_orders() {
    bodies::serial_orders(&Race::new(Format::V3));
}

/// The write of a whole chunk of fill values erases the chunk without a condition.
#[test]
fn a_whole_chunk_of_fill_values_and_parts_of_it_have_one_of_the_serial_orders() {
    bodies::serial_orders_with_fill_values(&Race::new(Format::V3));
}

#[test]
fn attributes_are_all_there() {
    for format in FORMATS {
        for is_consolidated in [false, true] {
            let race = Race::new(format);
            if is_consolidated && format != Format::V3Draft {
                race.open().consolidate("/").unwrap();
            }
            bodies::attributes(&race);
        }
    }
}

#[test]
fn one_process_creates_each_array() {
    for format in FORMATS {
        bodies::creations(&Race::new(format));
    }
}

#[test]
fn appended_rows_are_all_there() {
    for format in FORMATS {
        let race = Race::new(format);
        bodies::appends(&race);
        assert_eq!(race.hidden_files(), [""; 0].map(PathBuf::from));
    }
}

#[test]
fn a_resize_keeps_appended_rows_or_cuts_them_off() {
    let race = Race::new(Format::V3);
    bodies::resizes(&race);
    bodies::shrinks(&race);
}

#[test]
fn a_resize_that_adds_rows_keeps_all_appended_rows() {
    for format in FORMATS {
        bodies::growths(&Race::new(format));
    }
}

#[test]
fn consolidated_metadata_have_all_changes() {
    for format in [Format::V2, Format::V3] {
        let race = Race::new(format);
        bodies::consolidations(&race);
        assert!(race.open().is_consolidated(), "{format:?}");
        bodies::copies_are_current(&race);
    }
}

/// The description of a store may require conditions, too, at any level.
#[test]
fn conditions_may_be_required_by_the_description_of_a_store() {
    let race = Race::with(Format::V3, r#", "locking": "none""#);
    race.create("/a", &numbers(racers() * ROUNDS));
    let store = |conditional: &str| {
        race.store.replace(r#""none""#, &format!(r#""none", "conditional": "{conditional}""#))
    };
    for location in [store("require"), format!(r#"{{"type": "statistics", "store": {}}}"#, store("require"))]
    {
        refuses_partial_writes(&Hierarchy::open_location(&location, &context()).unwrap());
    }
    let careless = Hierarchy::open_location(&store("warn"), &context()).unwrap();
    careless.array("/a").unwrap().write_values(Selection::from(1..2), &[1_u64]).unwrap();
    let error = Hierarchy::open_location(&store("yes"), &context()).unwrap_err().to_string();
    assert!(error.contains(r#"`conditional` is "yes"; expected "require" or "warn""#), "{error}");
}

fn refuses_partial_writes(hierarchy: &Hierarchy) {
    let array = hierarchy.array("/a").unwrap();
    let part = Selection::from(1..2);
    for refused in [
        array.write_values(&part, &[1_u64]).unwrap_err(),
        hierarchy.set_attribute("/a", "name", 1).unwrap_err(),
        hierarchy.create_group("/g", Object::new()).map(drop).unwrap_err(),
        hierarchy.consolidate("/").unwrap_err(),
    ] {
        assert!(
            matches!(&refused, Error::NotSupported(text) if text.contains("does not have conditional writes"))
        );
    }
    // The write of a whole chunk does not need a condition.
    array.write_values(&Selection::All, &vec![3_u64; usize::try_from(array.shape()[0]).unwrap()]).unwrap();
}

/// Without locks in the store, writers do not exclude each other, and conditional writes are impossible. If conditional
/// writes are required, changes are refused.
#[test]
fn required_conditions_refuse_a_store_without_locks() {
    let race = Race::with(Format::V3, r#", "locking": "none""#);
    race.create("/a", &numbers(racers() * ROUNDS));
    let store = race.open_store();
    refuses_partial_writes(
        &Hierarchy::open(Arc::clone(&store), &context().with_required_conditions()).unwrap(),
    );
    let careless = Hierarchy::open(store, &context()).unwrap();
    assert_eq!(careless.warnings(), []);
    for _ in 0..2 {
        careless.array("/a").unwrap().write_values(Selection::from(1..2), &[1_u64]).unwrap();
    }
    let warnings: Vec<String> = careless.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("does not have conditional writes"), "{warnings:?}");
}
