//! Explains why a store does not contain a hierarchy.

use std::path::Path;

use zarr_metadata::NODE_DOCUMENT_NAMES;
use zarr_spec::{Format, Key, Prefix, printable};

use super::access::Access;
use super::options::OpenOptions;
use crate::error::{Error, NoHierarchy};
use crate::location::{local_path, readable_location, recognizing};

/// Maximum number of names in a message.
const SHOWN_NAMES: usize = 5;

/// The name and the scheme of the store for Icechunk repositories.
const ICECHUNK: &str = "icechunk";

/// Maximum depth of the search for a hierarchy in nested folders.
const DEEPEST: usize = 8;

/// Returns the error for a store without a hierarchy. The error names what was looked for, and what was found instead.
pub(super) fn no_hierarchy(access: &Access, options: OpenOptions) -> Result<Error, Error> {
    refuse_version_one(access)?;
    let looked_for = match options.format {
        None => "it does not contain `zarr.json`, `.zgroup` or `.zarray`",
        Some(Format::V2) => "it does not contain `.zgroup` or `.zarray`",
        Some(Format::V3) => "it does not contain `zarr.json`, which every v3 node has",
        Some(Format::V3Draft) => "it does not contain the entry point `zarr.json`",
    };
    let location = access.store.location();
    let names = names(access)?;
    let reason = match &names {
        Some(_) if is_repository(access)? => repository_reason(access, &location),
        Some(names) if !names.is_empty() => {
            let names = names.join(", ");
            format!("{looked_for}; found {names}{}{}", hint(access)?, folders_with_hierarchies(access)?)
        }
        _ => match missing_path(&location).or_else(|| far_file(access, &location)) {
            Some(reason) => reason,
            None if names.is_some() => "the store is empty".to_owned(),
            None => looked_for.to_owned(),
        },
    };
    Ok(NoHierarchy { location: readable_location(&location), reason }.into())
}

/// Refuses an array of version 1, which has the keys `meta` and `attrs`.
pub(super) fn refuse_version_one(access: &Access) -> Result<(), Error> {
    for key in ["meta", "attrs"] {
        match access.has(&Key::new(key)?) {
            Ok(true) => {}
            // A server without listings may refuse a request for a folder, such as `meta` of the v3 draft.
            Err(Error::Store(_)) if !access.store.capabilities().listable => return Ok(()),
            Ok(false) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Err(NoHierarchy {
        location: access.store.location(),
        reason: "found an array of Zarr version 1 (keys `meta` and `attrs`), which is not supported"
            .to_owned(),
    }
    .into())
}

/// Returns whether a store has the files of an Icechunk repository, in version 1 or 2 of its format.
fn is_repository(access: &Access) -> Result<bool, Error> {
    let root = access.store.list_dir(&Prefix::root())?;
    let has_folder = |name: &str| root.prefixes.iter().any(|prefix| prefix.as_str() == name);
    let has_info = root.keys.iter().any(|key| key.as_str() == "repo");
    Ok(has_folder("snapshots/") && (has_info || has_folder("refs/")))
}

/// Returns the message for an Icechunk repository, which names the store that opens it.
fn repository_reason(access: &Access, location: &str) -> String {
    let registry = access.context.registry();
    let is_here = registry.stores().iter().any(|store| store.name == ICECHUNK);
    if is_here {
        let location = readable_location(location);
        format!("found an Icechunk repository; open it as `{ICECHUNK}:{location}`")
    } else {
        format!("found an Icechunk repository; {}", registry.unknown_store(ICECHUNK))
    }
}

/// Returns whether a store has documents of generation A of the draft.
pub(super) fn looks_like_generation_a(access: &Access) -> Result<bool, Error> {
    if !access.store.capabilities().listable {
        return Ok(false);
    }
    let meta = access.store.list_dir(&Prefix::new("meta/")?)?;
    let is_root = |name: &str| name.starts_with("meta/root/") || name.starts_with("meta/root.");
    Ok(meta.prefixes.iter().any(|prefix| is_root(prefix.as_str()))
        || meta.keys.iter().any(|key| is_root(key.as_str())))
}

/// Returns a message if a remote location looks like a file that a store plugin opens locally.
fn far_file(access: &Access, location: &str) -> Option<String> {
    let plugin = if access.is_local() { None } else { recognizing(access.context.registry(), location) };
    let name = plugin?.name;
    Some(format!(
        "it looks like a file for the store `{name}`, which reads only local files; download it first"
    ))
}

/// Returns some of the names at the root of the store; `None` if it cannot list.
fn names(access: &Access) -> Result<Option<Vec<String>>, Error> {
    if !access.store.capabilities().listable {
        return Ok(None);
    }
    let root = access.store.list_dir(&Prefix::root())?;
    let prefixes = root.prefixes.iter().map(|prefix| format!("`{prefix}`"));
    // Keys come first, because they are more useful than folders.
    let mut names: Vec<String> = root.keys.iter().map(|key| format!("`{key}`")).chain(prefixes).collect();
    if names.len() > SHOWN_NAMES {
        let more = names.len() - SHOWN_NAMES;
        names.truncate(SHOWN_NAMES);
        names.push(format!("and {more} more"));
    }
    Ok(Some(names))
}

fn hint(access: &Access) -> Result<&'static str, Error> {
    Ok(if looks_like_generation_a(access)? {
        " (documents of the v3 draft without an entry point, which compatibility mode reads)"
    } else {
        ""
    })
}

/// Returns a message with the folders that hold hierarchies. Descends while there is a single folder. Remote stores are
/// not searched.
fn folders_with_hierarchies(access: &Access) -> Result<String, Error> {
    let mut folder = Prefix::root();
    for _ in 0..DEEPEST {
        if !access.is_local() {
            break;
        }
        let mut folders = access.store.list_dir(&folder)?.prefixes;
        let mut found = Vec::new();
        for folder in folders.iter().take(SHOWN_NAMES) {
            if is_node(access, folder)? {
                found.push(format!("`{folder}`"));
            }
        }
        if !found.is_empty() {
            let found = found.join(", ");
            return Ok(format!("; these subfolders are Zarr hierarchies: {found}; open one of them"));
        }
        match (folders.pop(), folders.is_empty()) {
            (Some(only), true) => folder = only,
            _ => break,
        }
    }
    Ok(String::new())
}

fn is_node(access: &Access, folder: &Prefix) -> Result<bool, Error> {
    for name in NODE_DOCUMENT_NAMES {
        if access.has(&folder.key(name)?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns a message if the local folder or file at a location does not exist. Other locations are assumed to exist.
fn missing_path(location: &str) -> Option<String> {
    let is_missing = |path: &str| !Path::new(path).exists();
    if let Some(path) = local_path(location) {
        return is_missing(&path).then(|| "the folder does not exist".to_owned());
    }
    // A store in one file, such as a database, has the path of the file after its scheme.
    let (_, path) = location.split_once(':')?;
    let is_path = Path::new(path).is_absolute() && !path.starts_with("//") && !path.contains('|');
    (is_path && is_missing(path)).then(|| format!("`{}` does not exist", printable(path)))
}
