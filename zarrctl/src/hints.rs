//! Hints about misspelt paths and about files that interrupted operations left.

use std::path::Path;

use zarr_kit::archive::{Caller, CopyOption, IncompleteCopy, incomplete_copies, leftovers};
use zarr_kit::json::counted;
use zarr_kit::spec::Prefix;
use zarr_kit::spec::store::Store;
use zarr_kit::{Array, Error, Hierarchy, NodePath, readable_location};

use crate::durable::STEP;
use crate::failure::Failure;
use crate::printer::note;
use crate::similar::similar;
use crate::terminal::warn;

/// Converts the failure to find a node. Adds a hint if chunks are stored at the path, or if a node has a
/// similar path.
pub(crate) fn of_node(error: Error, hierarchy: &Hierarchy) -> Failure {
    let Error::NoNode(path) = &error else { return error.into() };
    // The original error is more important than a failure to list.
    let Ok(count @ 1..) = leftovers::chunks_below(hierarchy, path) else {
        return match similar_node(hierarchy, path) {
            Some(similar) => Failure::fault(format!("{error}; did you mean {similar}?")),
            None => error.into(),
        };
    };
    let store = &**hierarchy.store();
    let repair = match folder(store) {
        Some(folder) => format!("`zarrctl clean {folder}` removes what is left"),
        None => format!("`zarrctl erase STORE {path}` removes what is left"),
    };
    Failure::fault(format!(
        "{error}; the store has {} there, which an interrupted operation probably left: {repair}",
        chunks(count)
    ))
}

/// Returns the path of a node that is similar to the missing path. Only local stores are listed.
fn similar_node(hierarchy: &Hierarchy, missing: &NodePath) -> Option<String> {
    let store = hierarchy.store();
    if !store.capabilities().listable || store.read_hints().max_concurrency > 0 {
        return None;
    }
    let nodes = hierarchy.walk(NodePath::root()).ok()?;
    let nodes = nodes.iter().filter(|node| !node.path.is_root());
    let paths: Vec<String> = nodes.map(|node| node.path.to_string()).collect();
    let missing = missing.to_string();
    let exact = similar(&missing, paths.iter().map(String::as_str));
    // The user may have left out the groups above the node.
    let ends_like = || paths.iter().find(|path| path.ends_with(&missing)).map(String::as_str);
    exact.or_else(ends_like).map(str::to_owned)
}

/// Converts the failure to find a hierarchy. Adds a hint if a local folder contains only chunks, or if it is
/// missing and another folder has a similar name.
pub(crate) fn of_hierarchy(error: Error, store: &dyn Store, caller: Caller) -> Failure {
    if !matches!(error, Error::NoHierarchy { .. }) {
        return error.into();
    }
    if let Some(copy) = incomplete_copies(store).unwrap_or_default().first() {
        let place = readable_location(&store.location());
        let removed = if copy.parts > 1 { "" } else { "; `zarrctl clean` removes it" };
        return Failure::fault(format!(
            "no Zarr hierarchy in {place}: {}{removed}",
            incomplete(copy, caller)
        ));
    }
    let location = store.location();
    if let Some(archive) = location.strip_suffix(STEP).filter(|_| is_empty(store)) {
        return Failure::fault(format!("`{archive}` does not exist, or is an archive without values"));
    }
    if let Some(archive) = location.strip_prefix("zip:").filter(|path| !Path::new(path).exists()) {
        return Failure::fault(format!("`{archive}` does not exist"));
    }
    let Some(folder) = folder(store) else { return error.into() };
    let Ok(count @ 1..) = leftovers::chunks_without_hierarchy(store) else {
        return match similar_folder(Path::new(&folder)) {
            Some(similar) => Failure::fault(format!("{error}; did you mean {similar}?")),
            None => error.into(),
        };
    };
    Failure::fault(format!(
        "{error}; the store has {}, which an interrupted operation probably left: `zarrctl clean {folder}` removes what is left",
        chunks(count)
    ))
}

fn is_empty(store: &dyn Store) -> bool {
    matches!(store.any_key(&Prefix::root()), Ok(None))
}

/// Warns of incomplete copies into a store.
pub(crate) fn warn_of_incomplete_copies(store: &dyn Store, caller: Caller) {
    // An error of the listing is ignored: the verb fails for the same reason, or does not list.
    for copy in incomplete_copies(store).unwrap_or_default() {
        let elements = match copy.parts {
            1 => "",
            _ => "; elements that are not copied yet read as the fill value",
        };
        warn(&format!("{}: {}{elements}", readable_location(&store.location()), incomplete(&copy, caller)));
    }
}

/// Describes a copy that is not complete, and what completes it.
fn incomplete(copy: &IncompleteCopy, caller: Caller) -> String {
    let parts = copy.parts;
    let next = match &copy.missing[..] {
        _ if parts == 1 => {
            format!("; run the same copy again with {}", caller.given(CopyOption::Resume))
        }
        [] => String::new(),
        [part] => format!("; run it with {}", part_of(copy, &part.to_string(), caller)),
        _ => format!("; run them with {}", part_of(copy, "i", caller)),
    };
    format!("{copy}{next}")
}

/// Returns the options that run part `part` of a copy.
fn part_of(copy: &IncompleteCopy, part: &str, caller: Caller) -> String {
    let parts = copy.parts;
    let (value, separator) = match caller {
        Caller::Python => (format!("({part}, {parts})"), ", "),
        _ => (format!("{part}/{parts}"), " "),
    };
    let pass = copy.pass.map(|pass| caller.with(CopyOption::Pass, pass));
    let options = [Some(caller.with(CopyOption::Partition, value)), pass];
    options.into_iter().flatten().collect::<Vec<_>>().join(separator)
}

fn similar_folder(missing: &Path) -> Option<String> {
    if missing.exists() {
        return None;
    }
    let entries = missing.parent()?.read_dir().ok()?.filter_map(Result::ok);
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let found = similar(missing.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(missing.with_file_name(found).display().to_string())
}

/// Warns of chunks outside of the shape of an array in a local folder.
pub(crate) fn warn_of_chunks_outside(array: &Array) -> Result<(), Failure> {
    let hierarchy = array.hierarchy();
    let Some(folder) = folder(&**hierarchy.store()) else { return Ok(()) };
    let count = leftovers::chunks_outside(hierarchy, array.path())?;
    if count > 0 {
        warn(&format!(
            "{}: the store has {} outside of the shape, which an interrupted operation probably left: `zarrctl clean \
             {folder}` removes what is left",
            array.path(),
            chunks(count)
        ));
    }
    Ok(())
}

/// The number of chunks at a path of a local folder, before an array is created there.
#[derive(Debug)]
pub(crate) struct Before<'h> {
    hierarchy: &'h Hierarchy,
    path: NodePath,
    count: usize,
}

impl<'h> Before<'h> {
    pub(crate) fn count(hierarchy: &'h Hierarchy, path: &str) -> Result<Self, Failure> {
        let path = hierarchy.path(path)?;
        let count = match folder(&**hierarchy.store()) {
            Some(_) => leftovers::chunks_at(hierarchy, &path)?.len(),
            None => 0,
        };
        Ok(Self { hierarchy, path, count })
    }

    pub(crate) fn print_removed(self) -> Result<(), Failure> {
        if self.count == 0 {
            return Ok(());
        }
        let left = leftovers::chunks_at(self.hierarchy, &self.path)?.len();
        if left < self.count {
            let removed = chunks(self.count - left);
            note(&format!("{}: removed {removed} that an interrupted operation left", self.path));
        }
        Ok(())
    }
}

/// Returns the path of a store that is a local folder.
fn folder(store: &dyn Store) -> Option<String> {
    let location = store.location();
    let readable = readable_location(&location);
    location.starts_with("file:").then(|| readable.strip_prefix("file://").unwrap_or(&readable).to_owned())
}

fn chunks(count: usize) -> String {
    counted(count, "chunk", "chunks")
}
