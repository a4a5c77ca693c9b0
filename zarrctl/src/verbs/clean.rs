//! `clean`: what interrupted writes left behind.

use std::io::Write;

use zarr_kit::spec::printable_path;
use zarr_kit::{FilesystemStore, open_store};

use crate::arguments::Clean;
use crate::failure::Failure;
use crate::opening::context;
use crate::printer::stdout;
use crate::terminal::{Progress, files, size};

pub(crate) fn run(arguments: &Clean) -> Result<(), Failure> {
    let location = open_store(context()?.registry(), &arguments.store)?.location();
    if !location.starts_with("file:") {
        return Err(Failure::fault(format!(
            "`{location}` is no folder; what this removes is in folders alone"
        )));
    }
    let failed = |error: zarr_kit::spec::store::StoreError| Failure::Fault(error.into());
    let store = FilesystemStore::open_url(&location).map_err(failed)?;
    if !store.path().exists() {
        return Err(Failure::fault(format!("there is no folder `{}`", store.path().display())));
    }
    let looking = Progress::unknown("looking for what was left behind");
    let found = store.leftovers().map_err(failed)?;
    let (old, recent): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|leftover| leftover.age >= arguments.older_than);
    drop(looking);
    let mut output = stdout();
    let mut freed = 0_u64;
    for leftover in &old {
        if !arguments.dry_run {
            leftover.remove().map_err(failed)?;
        }
        writeln!(output, "{}", printable_path(&leftover.path))?;
        freed = freed.saturating_add(leftover.size);
    }
    let done = if arguments.dry_run { "would be removed" } else { "removed" };
    writeln!(output, "{}, {}, {done}", files(old.len()), size(freed))?;
    if !recent.is_empty() {
        let bytes = recent.iter().fold(0, |sum: u64, leftover| sum.saturating_add(leftover.size));
        writeln!(
            output,
            "{}, {}, left alone: somebody may be writing; --older-than 0s takes these too",
            files(recent.len()),
            size(bytes)
        )?;
    }
    Ok(())
}
