//! The rule about stores that are closed and opened again.

use std::sync::Arc;

use zarr_spec::store::Store;

use super::Needs;
use super::trial::Trial;

/// Checks that a store that is opened again has the changes of all finished calls and commits. `open` always opens the
/// same place, which is empty at first.
///
/// # Errors
///
/// The violation, or the error of opening the store.
pub fn check_reopened(open: &dyn Fn() -> Result<Arc<dyn Store>, String>) -> Result<(), String> {
    let opened = || open().map(Trial).map_err(|error| format!("opening the store: {error}"));
    let committed = |trial: &Trial| trial.0.commit().map_err(|error| format!("committing: {error}"));
    let first = opened()?;
    let can_erase = Needs::Erasing.lacking(&*first.0).is_none();
    first.fill(&["a", "d/b", "d/c"])?;
    committed(&first)?;
    first.set("a", b"another value")?;
    first.fill(&["e"])?;
    if can_erase {
        first.erase("d/b")?;
    }
    committed(&first)?;
    drop(first);
    let second = opened()?;
    second.has("a", b"another value")?;
    second.has("d/c", b"d/c")?;
    second.has("e", b"e")?;
    if can_erase {
        second.lacks("d/b")?;
        second.lists(&["a", "d/c", "e"])?;
    }
    // Dropping a store also commits.
    second.set("e", b"a third value")?;
    drop(second);
    let third = opened()?;
    third.has("a", b"another value")?;
    third.has("e", b"a third value")
}
