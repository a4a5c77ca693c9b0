//! Durable writes: whether they wait for the disk.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use zarr_kit::json::{ParseOptions, parse as parse_json};
use zarr_kit::spec::store::Store;
use zarr_kit::spec::{Value, json};
use zarr_kit::stores::{Durability, FilesystemStore};
use zarr_kit::{Context, open_store};

use crate::failure::Failure;

/// The variable with the default of `--durable`.
const VARIABLE: &str = "ZARR_KIT_DURABLE";

/// The stores in local databases and archives.
const DATABASES: [&str; 3] = ["lmdb", "redb", "zip"];

/// The step of a pipeline that reads an archive in another store.
pub(crate) const STEP: &str = "|zip:";

/// Whether `--durable` or the variable is set.
static DURABLE: OnceLock<bool> = OnceLock::new();

/// Sets whether writes wait for the disk: `option`, or else the variable.
pub(crate) fn set(option: bool) -> Result<(), Failure> {
    let variable = std::env::var_os(VARIABLE).unwrap_or_default();
    let is_durable = option || parse(&variable.to_string_lossy()).map_err(Failure::fault)?;
    DURABLE.get_or_init(|| is_durable);
    Ok(())
}

fn parse(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" => Ok(true),
        "0" | "false" | "" => Ok(false),
        other => Err(format!("environment variable {VARIABLE} is `{other}`; expected 1, true, 0 or false")),
    }
}

pub(crate) fn is_on() -> bool {
    DURABLE.get().copied().unwrap_or_default()
}

/// Returns the durability of changes in local folders: they wait for the disk if [`is_on`].
pub(crate) fn durability() -> Durability {
    if is_on() { Durability::Full } else { Durability::None }
}

/// Opens a store for writing. Local folders, databases and archives in it are durable if [`is_on`], unless a
/// description has another value of `durable`.
pub(crate) fn open(location: &str, context: &Context) -> Result<Arc<dyn Store>, Failure> {
    if !is_on() {
        return Ok(open_store(context.registry(), location)?);
    }
    if let Some(description) = durable_description(location) {
        return Ok(open_store(context.registry(), &description)?);
    }
    let store = open_store(context.registry(), location)?;
    let url = store.location();
    if url.contains(STEP) {
        make_outer_durable(location, &url, context)?;
        return Ok(store);
    }
    for database in DATABASES {
        if let Some(path) = url.strip_prefix(database).and_then(|rest| rest.strip_prefix(':')) {
            // The first open store of a database sets the options of all, so it is closed before the database is opened
            // as durable.
            drop(store);
            let description = json!({"type": (database), "path": (path), "durable": "full"});
            return Ok(open_store(context.registry(), &description.to_string())?);
        }
    }
    if !url.starts_with("file:") {
        return Ok(store);
    }
    let store = FilesystemStore::open_url(&url)?;
    Ok(Arc::new(store.durable(durability())))
}

/// Makes the local archive durable that contains the archive at `url`, which is open. Refuses an archive in another local
/// store, which can only be opened as durable from its description.
fn make_outer_durable(location: &str, url: &str, context: &Context) -> Result<(), Failure> {
    let is_local = url.starts_with("file:")
        || DATABASES.iter().any(|name| url.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')));
    if !is_local {
        return Ok(());
    }
    // This option applies to all open stores of an archive.
    if url.starts_with("zip:")
        && let Some((outer, _)) = location.split_once('|')
        && url.starts_with(&open(outer, context)?.location())
    {
        return Ok(());
    }
    Err(Failure::fault(format!(
        "`{location}`: --durable needs the description of the store that contains the archive, such as \
         {{\"type\": \"zip\", \"key\": \"a.zip\", \"store\": {{\"type\": \"lmdb\", \"path\": \"a.lmdb\"}}}}"
    )))
}

/// Adds `"durable": "full"` to each local folder, database and archive in a JSON description, unless it is set. Returns
/// `None` for other locations.
fn durable_description(location: &str) -> Option<String> {
    let parsed = parse_json(location.trim().as_bytes(), &ParseOptions::default()).ok()?;
    let Value::Object(_) = &parsed.value else { return None };
    let mut description = parsed.value;
    make_durable(&mut description);
    Some(description.to_string())
}

fn make_durable(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let kind = members.get("type").and_then(Value::as_str);
            let is_local = kind.is_some_and(|kind| match kind {
                // An archive in another store has no path: it is not a local file.
                "zip" => members.contains("path"),
                kind => kind == "filesystem" || DATABASES.contains(&kind),
            });
            if is_local && !members.contains("durable") {
                members.insert("durable", "full");
            }
            let names: Vec<_> = members.keys().map(str::to_owned).collect();
            for name in names {
                members.get_mut(&name).into_iter().for_each(make_durable);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(make_durable),
        _ => {}
    }
}

/// Waits until the contents of a file are on the disk, if [`is_on`].
pub(crate) fn sync_contents(file: &Path) -> io::Result<()> {
    if is_on() { File::options().write(true).open(file)?.sync_all() } else { Ok(()) }
}

/// Waits until the name of a file is on the disk, if [`is_on`].
pub(crate) fn sync_name(file: &Path) -> io::Result<()> {
    if !is_on() {
        return Ok(());
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    sync_folder(folder.unwrap_or(Path::new(".")))
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Does nothing, because other systems do not open folders as files.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_folders_in_descriptions_become_durable_unless_they_set_it() {
        let durable = |text: &str| durable_description(text);
        for (given, made) in [
            (r#"{"type":"filesystem","path":"a"}"#, r#"{"type":"filesystem","path":"a","durable":"full"}"#),
            (
                r#"{"type":"filesystem","path":"a","durable":"none"}"#,
                r#"{"type":"filesystem","path":"a","durable":"none"}"#,
            ),
            (
                r#" {"type":"prefix","prefix":"p","store":{"type":"filesystem","path":"a"}}"#,
                r#"{"type":"prefix","prefix":"p","store":{"type":"filesystem","path":"a","durable":"full"}}"#,
            ),
            (r#"{"type":"redb","path":"a"}"#, r#"{"type":"redb","path":"a","durable":"full"}"#),
            (r#"{"type":"zip","path":"a"}"#, r#"{"type":"zip","path":"a","durable":"full"}"#),
            (
                r#"{"type":"zip","key":"a","store":{"type":"filesystem","path":"b"}}"#,
                r#"{"type":"zip","key":"a","store":{"type":"filesystem","path":"b","durable":"full"}}"#,
            ),
            (r#"{"type":"memory"}"#, r#"{"type":"memory"}"#),
        ] {
            assert_eq!(durable(given).as_deref(), Some(made), "{given}");
        }
        assert_eq!(durable("data.zarr"), None);
        assert_eq!(durable("{"), None);
    }

    #[test]
    fn the_variable_has_four_values() {
        for (text, is_on) in [("1", true), ("true", true), ("0", false), ("false", false), ("", false)] {
            assert_eq!(parse(text), Ok(is_on), "{text}");
        }
        let error = parse("yes").unwrap_err();
        assert!(error.contains("ZARR_KIT_DURABLE is `yes`; expected 1, true, 0 or false"), "{error}");
    }
}
