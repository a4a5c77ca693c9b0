//! `clean`: removes files that interrupted writes left.

use std::fs::Metadata;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zarr_kit::archive::leftovers::{self, Leftover};
use zarr_kit::archive::{IncompleteCopy, incomplete_copies};
use zarr_kit::open_store;
use zarr_kit::spec::store::Store;
use zarr_kit::spec::{printable, printable_path};
use zarr_kit::stores::FilesystemStore;

use crate::arguments::Clean;
use crate::durable;
use crate::failure::Failure;
use crate::opening::context;
use crate::printer::stdout;
use crate::terminal::{Progress, files, first_of, size};

/// The most arrays in a message.
const SHOWN: usize = 3;

pub(crate) fn run(arguments: &Clean) -> Result<(), Failure> {
    let location = open_store(context()?.registry(), &arguments.store)?.location();
    if !is_folder(&location) {
        return Err(Failure::fault(format!(
            "`{location}` is not a local folder; `clean` works only on local folders"
        )));
    }
    let store = FilesystemStore::open_url(&location)?;
    let store = Arc::new(store.durable(durable::durability()));
    if !store.path().exists() {
        return Err(Failure::fault(format!("the folder `{}` does not exist", store.path().display())));
    }
    let looking = Progress::unknown("searching for leftover files");
    let found = [temporary(&store)?, parts(store.path())?, values(&store)?].concat();
    drop(looking);
    let (old, recent): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|found| found.age >= arguments.older_than);
    let mut output = stdout();
    for found in &old {
        if !arguments.dry_run {
            found.remove(&*store)?;
        }
        writeln!(output, "{}", found.text)?;
    }
    for copy in incomplete_copies(&*store)?.iter().filter(|copy| !is_among(copy, &old, &recent)) {
        writeln!(output, "{}", kept(copy))?;
    }
    let done = if arguments.dry_run { "would be removed" } else { "removed" };
    writeln!(output, "{}, {done}", total(&old))?;
    if !recent.is_empty() {
        writeln!(
            output,
            "{}, kept because another program may be writing them; --older-than 0s removes these too",
            total(&recent)
        )?;
    }
    Ok(())
}

/// Returns whether the folder of a copy is among the values that were found.
fn is_among(copy: &IncompleteCopy, old: &[Found], recent: &[Found]) -> bool {
    let is_of_copy = |found: &Found| matches!(&found.what, What::Values(left) if left.folder == copy.folder);
    old.iter().chain(recent).any(is_of_copy)
}

/// Describes a copy in several parts whose markers remain, because the copy would look complete without them.
fn kept(copy: &IncompleteCopy) -> String {
    let arrays = first_of(&copy.arrays.iter().map(printable).collect::<Vec<_>>(), SHOWN);
    format!("{}: kept: {copy}; run what is missing, or erase its arrays: {arrays}", copy.folder)
}

/// A file or a group of values to remove.
#[derive(Debug, Clone)]
struct Found {
    text: String,
    files: usize,
    size: u64,
    /// Time since the last modification.
    age: Duration,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    File(PathBuf),
    Values(Leftover),
}

impl Found {
    fn file(path: &Path, size: u64, age: Duration) -> Self {
        let text = printable_path(path).to_string();
        Self { text, files: 1, size, age, what: What::File(path.to_owned()) }
    }

    fn remove(&self, store: &dyn Store) -> Result<(), Failure> {
        match &self.what {
            What::Values(leftover) => Ok(store.erase_values(&leftover.keys)?),
            What::File(path) => match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(Failure::Io(error).while_at(&format!("removing `{}`", path.display())))
                }
                _ => Ok(()),
            },
        }
    }
}

fn total(found: &[Found]) -> String {
    let bytes = found.iter().fold(0, |sum: u64, found| sum.saturating_add(found.size));
    format!("{}, {}", files(found.iter().map(|found| found.files).sum()), size(bytes))
}

/// Finds temporary files of writes, including those of `pack`.
fn temporary(store: &FilesystemStore) -> Result<Vec<Found>, Failure> {
    let found = store.leftovers()?;
    Ok(found.iter().map(|found| Found::file(&found.path, found.size, found.age)).collect())
}

/// Returns whether a location of a store is a local folder. The location of a pipeline may also begin with `file:`; names
/// do not contain `|`, which is escaped in URLs.
fn is_folder(location: &str) -> bool {
    location.starts_with("file:") && !location.contains('|')
}

/// Describes the temporary files of interrupted writes in a local folder; nothing for other locations.
pub(crate) fn temporary_files(location: &str) -> Result<Vec<String>, Failure> {
    if !is_folder(location) {
        return Ok(Vec::new());
    }
    let store = FilesystemStore::open_url(location)?;
    if !store.path().is_dir() {
        return Ok(Vec::new());
    }
    Ok(temporary(&store)?.into_iter().map(|found| found.text).collect())
}

/// Finds temporary files of `get -o` directly in the folder: `NAME.PROCESS.part`.
fn parts(folder: &Path) -> Result<Vec<Found>, Failure> {
    let at = |error: io::Error| Failure::Io(error).while_at(&format!("listing `{}`", folder.display()));
    let mut parts = Vec::new();
    for entry in folder.read_dir().map_err(at)? {
        let entry = entry.map_err(at)?;
        let name = entry.file_name();
        let process =
            name.to_str().and_then(|name| name.strip_suffix(".part")?.rsplit_once('.')).map(|(_, id)| id);
        let is_number =
            process.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(there) = entry.metadata().ok().filter(|there| is_number && there.is_file()) else {
            continue;
        };
        parts.push(Found::file(&entry.path(), there.len(), age(&there)));
    }
    Ok(parts)
}

fn age(there: &Metadata) -> Duration {
    let modified = there.modified().ok();
    modified.and_then(|modified| SystemTime::now().duration_since(modified).ok()).unwrap_or_default()
}

fn values(store: &Arc<FilesystemStore>) -> Result<Vec<Found>, Failure> {
    let opened: Arc<dyn Store> = Arc::<FilesystemStore>::clone(store);
    let hierarchies = leftovers::hierarchies(&opened, &context()?)?;
    let found = leftovers::find(&*opened, &hierarchies)?;
    Ok(found.into_iter().map(|leftover| of_values(store.path(), leftover)).collect())
}

fn of_values(root: &Path, leftover: Leftover) -> Found {
    let there = leftover.keys.iter().filter_map(|key| root.join(key.as_str()).metadata().ok());
    let (bytes, age) = there.fold((0u64, Duration::MAX), |(bytes, least), there| {
        (bytes.saturating_add(there.len()), least.min(age(&there)))
    });
    let count = leftover.keys.len();
    let values = leftover.reason.counted(count);
    let folder = root.join(&leftover.folder);
    let reason = leftover.reason.text();
    let text = format!("{}: {values}, {}: {reason}", printable_path(&folder), size(bytes));
    Found { text, files: count, size: bytes, age, what: What::Values(leftover) }
}
