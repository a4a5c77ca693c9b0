//! From what users call a store to the store.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use zarr_json::ParseOptions;
use zarr_spec::store::{Store, StoreConfiguration, StorePlugin, open_described};
use zarr_spec::{Invalid, Registry, Value, printable_path};

use crate::error::Error;

/// What stores are known for, as schemes of URLs or types of descriptions, and that are not there yet.
const LATER: [&str; 9] = ["http", "https", "s3", "gs", "gcs", "az", "abfs", "abfss", "ftp"];

/// The scheme of the store that opens zip archives, and what their names end in: OME-Zarr has a name of its own.
const ARCHIVES: &str = "zip";
const ARCHIVE_NAMES: [&str; 2] = ["zip", "ozx"];

/// How a zip archive begins: with a file, or with its end if it is empty.
const ZIP_MAGIC: [&[u8; 4]; 3] = [b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"];

/// Names of documents: who names one means the folder that it is in.
const DOCUMENTS: [&str; 5] = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"];

/// Opens the store at `location`: a path, a URL of a scheme that a plugin answers to, such as `file:`, or a
/// JSON description such as `{"type": "memory"}`. The path of a zip archive goes to the store that answers to `zip:`.
///
/// # Errors
///
/// [`Error::Invalid`] for the empty text, for a description that makes no sense, for a scheme or a type that
/// no plugin has, and for files; [`Error::Store`].
pub fn open_store(registry: &Registry, location: &str) -> Result<Arc<dyn Store>, Error> {
    if location.trim().is_empty() {
        let reason = "the location of a store is empty: it is a path, a URL or a JSON description";
        return Err(Invalid::new(reason).into());
    }
    if location.trim_start().starts_with('{') {
        return open_description(registry, location);
    }
    let scheme = scheme(registry, location);
    let Some(plugin) = registry.stores().iter().find(|plugin| plugin.schemes.contains(&scheme.as_str()))
    else {
        return Err(Invalid::new(nobody(registry, location, &scheme)).into());
    };
    let path = match location.split_once("://") {
        // A name that is encoded is left to the store.
        Some((_, path)) if scheme == "file" && !path.contains('%') => Some(path),
        _ => scheme.is_empty().then_some(location),
    };
    match path.map(|path| (path, at(Path::new(path)))) {
        None | Some((_, At::Folder)) => Ok((plugin.open)(location)?),
        Some((path, At::Archive)) => open_archive(registry, path),
        Some((_, At::Nothing(reason))) => Err(Invalid::new(reason).into()),
    }
}

/// A location as people write it: of a `file:` URL the path, without escapes. Others stay as they are.
#[must_use]
pub fn readable_location(location: &str) -> String {
    local_path(location).unwrap_or_else(|| location.to_owned())
}

/// The path that a `file:` URL of this machine names, if it is Unicode.
pub(super) fn local_path(location: &str) -> Option<String> {
    let path = location.strip_prefix("file://").filter(|path| path.starts_with('/') && !cfg!(windows))?;
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// Whether a location is called like a zip archive.
pub(super) fn is_archive_name(location: &str) -> bool {
    let extension = Path::new(location.trim_end_matches('/')).extension();
    extension.is_some_and(|extension| ARCHIVE_NAMES.iter().any(|name| extension.eq_ignore_ascii_case(name)))
}

/// Opens a zip archive with the store that says it is for those.
fn open_archive(registry: &Registry, path: &str) -> Result<Arc<dyn Store>, Error> {
    match registry.stores().iter().find(|plugin| plugin.schemes.contains(&ARCHIVES)) {
        Some(plugin) => Ok((plugin.open)(&format!("{ARCHIVES}:{path}"))?),
        None => {
            let unknown = registry.unknown_store(&format!("{ARCHIVES}:")).known_elsewhere;
            let unknown = unknown.unwrap_or_else(|| "not in this build".to_owned());
            Err(Invalid::new(format!("`{path}` is a zip archive, and the store for those is {unknown}"))
                .into())
        }
    }
}

fn open_description(registry: &Registry, text: &str) -> Result<Arc<dyn Store>, Error> {
    let wrong = |reason: String| Error::from(Invalid::new(format!("description of a store: {reason}")));
    let parsed = zarr_json::parse(text.as_bytes(), &ParseOptions::default())
        .map_err(|error| wrong(error.to_string()))?;
    if let Some(remark) = parsed.remarks.first() {
        return Err(wrong(remark.to_string()));
    }
    check_types(registry, &parsed.value).map_err(wrong)?;
    let store = open_described(registry, &parsed.value)?;
    check_reach(registry, &parsed.value, &*store).map_err(wrong)?;
    Ok(store)
}

/// Whether decoded chunks can be kept where a description asks for it.
fn check_reach(registry: &Registry, description: &Value, store: &dyn Store) -> Result<(), String> {
    if store.chunk_cache().is_some() {
        return Ok(());
    }
    let (mut around, mut inside) = (Vec::new(), Some(description));
    while let Some(description) = inside {
        let members = description.as_object();
        let name =
            members.and_then(|members| members.get("type")).and_then(Value::as_str).unwrap_or_default();
        // A loaded store keeps no chunks.
        let is_linked = |plugin: &StorePlugin| plugin.describe.is_none();
        let configuration: Option<Box<dyn StoreConfiguration>> = registry
            .stores()
            .iter()
            .any(|plugin| plugin.name == name && is_linked(plugin))
            .then(|| zarr_json::from_value(description))
            .transpose()
            .map_err(|error| error.to_string())?;
        if configuration.is_some_and(|configuration| configuration.keeps_chunks()) {
            return Err(format!(
                "`{name}` would keep decoded chunks, and what is around it ({}) does not pass them on: `{name}` has \
                 to be around that",
                around.join(", ")
            ));
        }
        around.push(format!("`{name}`"));
        inside = members.and_then(|members| members.get("store"));
    }
    Ok(())
}

/// Whether there are stores of the types that a description names, also those in its members `store`.
fn check_types(registry: &Registry, description: &Value) -> Result<(), String> {
    let member = |name| description.as_object().and_then(|members| members.get(name));
    let Some(name) = member("type").and_then(Value::as_str) else {
        return Err(format!("`type` is missing or no string; {}", known_types(registry)));
    };
    if !registry.stores().iter().any(|plugin| plugin.name == name) {
        let known = known_types(registry);
        let unknown = registry.unknown_store(name);
        return Err(match name {
            _ if unknown.known_elsewhere.is_some() => unknown.to_string(),
            later if LATER.contains(&later) => {
                format!("stores of type `{later}` are not in this build, and come later; {known}")
            }
            _ => format!("{unknown}; {known}"),
        });
    }
    member("store").map_or(Ok(()), |inside| check_types(registry, inside))
}

fn known_types(registry: &Registry) -> String {
    there_are(registry.stores().iter().map(|plugin| format!("`{}`", plugin.name)).collect())
}

fn there_are(mut known: Vec<String>) -> String {
    known.sort();
    if known.is_empty() {
        "there are no stores".to_owned()
    } else {
        format!("there are {}", known.join(", "))
    }
}

/// The scheme of a URL in lower case; empty for a path. One letter is a drive, and a colon alone may be in
/// any name: without `//` behind it, only a known scheme counts.
fn scheme(registry: &Registry, location: &str) -> String {
    let Some((scheme, rest)) = location.split_once(':') else { return String::new() };
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let scheme = scheme.to_ascii_lowercase();
    let is_known = || {
        registry.stores().iter().any(|plugin| plugin.schemes.contains(&scheme.as_str()))
            || registry.unknown_store(&format!("{scheme}:")).known_elsewhere.is_some()
    };
    if is_scheme && (rest.starts_with("//") || is_known()) { scheme } else { String::new() }
}

fn nobody(registry: &Registry, location: &str, scheme: &str) -> String {
    let schemes = registry.stores().iter().flat_map(|plugin| plugin.schemes);
    let known = there_are(
        schemes
            .map(|scheme| if scheme.is_empty() { "paths".to_owned() } else { format!("`{scheme}:`") })
            .collect(),
    );
    let elsewhere = registry.unknown_store(&format!("{scheme}:")).known_elsewhere;
    match (scheme, elsewhere) {
        ("", Some(elsewhere)) => format!("`{location}` is a path, and a store for paths is {elsewhere}"),
        ("", None) => format!("`{location}` is a path, and no store in this build opens paths; {known}"),
        (scheme, Some(elsewhere)) => format!("`{location}`: the store behind `{scheme}:` is {elsewhere}"),
        (scheme, None) if LATER.contains(&scheme) => format!(
            "`{location}`: stores behind `{scheme}:` URLs are not in this build, and come later; {known}"
        ),
        (scheme, None) => format!("`{location}`: no store in this build answers to `{scheme}:`; {known}"),
    }
}

/// What a path leads to.
enum At {
    /// A folder, or one that may be made.
    Folder,
    Archive,
    /// What no store is, and what to say of it.
    Nothing(String),
}

fn at(path: &Path) -> At {
    let shown = printable_path(path);
    let is_named_so = path.to_str().is_some_and(is_archive_name);
    let (is_file, is_there) = match fs::metadata(path) {
        Ok(metadata) => (metadata.is_file(), true),
        Err(_) => (false, false),
    };
    let mut start = [0; 4];
    let begins_so = is_file
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && ZIP_MAGIC.contains(&&start);
    if begins_so {
        return At::Archive;
    }
    if !is_file && (is_there || !is_named_so) {
        return At::Folder;
    }
    At::Nothing(if !is_there {
        format!(
            "there is no file `{shown}`, and a zip archive is only written as a whole, from another store"
        )
    } else if is_named_so {
        format!("`{shown}` is called like a zip archive, and does not begin like one")
    } else if path.file_name().and_then(OsStr::to_str).is_some_and(|name| DOCUMENTS.contains(&name)) {
        format!("`{shown}` is a document of a node, not a store: the store is the folder of the hierarchy")
    } else {
        format!("`{shown}` is a file, not a store: a store is the folder of a hierarchy, or a zip archive")
    })
}

#[cfg(test)]
mod tests {
    use zarr_spec::host::registry::{CatalogueEntry, ExtensionPoint};
    use zarr_spec::store::{StoreError, StorePlugin};

    use super::*;

    fn refuse(location: &str) -> Result<Arc<dyn Store>, StoreError> {
        Err(Invalid::new(format!("opened {location}")).into())
    }

    fn registry() -> Registry {
        let mut registry = Registry::empty();
        registry.register_store(StorePlugin::new("files", &["", "file"], &refuse)).unwrap();
        registry
    }

    fn message(location: &str) -> String {
        open_store(&registry(), location).unwrap_err().to_string()
    }

    #[test]
    fn paths_and_urls_reach_the_store_that_answers_to_them() {
        for location in ["a/b.zarr", "C:\\data", "C:/data", "name: with a colon", "file:///a", "FILE:/a", "."]
        {
            assert_eq!(message(location), format!("opened {location}"));
        }
    }

    #[test]
    fn what_no_store_opens_says_what_there_is() {
        let later =
            "stores behind `s3:` URLs are not in this build, and come later; there are `file:`, paths";
        assert_eq!(message("s3://bucket/a"), format!("`s3://bucket/a`: {later}"));
        assert!(message("foo://a").contains("no store in this build answers to `foo:`"));
        assert!(message("/nowhere/a.ZIP").contains("there is no file `/nowhere/a.ZIP`"));
        assert!(open_store(&Registry::empty(), "a").unwrap_err().to_string().contains("there are no stores"));
    }

    #[test]
    fn a_description_is_json_with_a_type() {
        assert!(message("{").starts_with("description of a store: "));
        assert_eq!(
            message(r#"{"type":"nothing"}"#),
            "description of a store: store `nothing` is unknown; there are `files`"
        );
        assert_eq!(
            message(r#"{"type":"s3","url":"s3://a"}"#),
            "description of a store: stores of type `s3` are not in this build, and come later; \
             there are `files`"
        );
        assert!(message(r#"{"path":"a"}"#).contains("`type` is missing or no string; there are `files`"));
        assert!(message(r#"{"type":"a","type":"b"}"#).contains("occurs twice"));
        // In whatever depth.
        for inside in [r#"{"type":"nothing"}"#, r#"{"type":"files","store":{"type":"nothing"}}"#] {
            let nested = message(&format!(r#"{{"type":"files","store":{inside}}}"#));
            assert!(nested.contains("store `nothing` is unknown; there are `files`"), "{nested}");
        }
        assert!(message(r#"{"type":"files","store":"x"}"#).contains("`type` is missing"));
    }

    #[test]
    fn file_urls_are_shown_as_paths() {
        let readable = readable_location("file:///a/Donn%C3%A9es%20100%25.zarr");
        assert_eq!(
            readable,
            if cfg!(windows) { "file:///a/Donn%C3%A9es%20100%25.zarr" } else { "/a/Données 100%.zarr" }
        );
        for other in [
            "s3://a/b%20c",
            "file://host/a",
            "zip:/a%20b",
            "file:///a%",
            "file:///a%f",
            "file:///%ff",
            "memory:",
        ] {
            assert_eq!(readable_location(other), other);
        }
    }

    #[test]
    fn what_is_empty_or_a_file_says_what_a_store_is() {
        for empty in ["", " "] {
            assert!(message(empty).contains("it is a path, a URL or a JSON description"));
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, contents: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, contents).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let archive = at("a", b"PK\x05\x06");
        assert!(message(&archive).contains("is a zip archive, and the store for those is not in this build"));
        assert!(message(&at("b", b"PK")).contains("is a file, not a store"));
        assert!(message(&at("b.ozx", b"PK")).contains("does not begin like one"));
        let mut with_archives = registry();
        with_archives.register_store(StorePlugin::new("zips", &["zip"], &refuse)).unwrap();
        for location in [&archive, &format!("file://{archive}")] {
            let opened = open_store(&with_archives, location).unwrap_err().to_string();
            assert_eq!(opened, format!("opened zip:{archive}"));
        }
        assert!(message(&format!("file://{}", at("c", b""))).contains("is a file, not a store"));
        assert!(message(&at("zarr.json", b"{}")).contains("the store is the folder"));
        // A folder may be called as it likes.
        let path = folder.path().join("d.zip");
        fs::create_dir(&path).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(message(path), format!("opened {path}"));
    }

    #[test]
    fn stores_that_a_build_leaves_out_are_named_with_their_feature() {
        let mut registry = registry();
        registry.add_catalogue_entry(CatalogueEntry {
            point: ExtensionPoint::Store,
            identifiers: &["elsewhere", "elsewhere:"],
            feature: "store-elsewhere",
            package: "zarr-kit",
        });
        for location in ["elsewhere:", "elsewhere://a", r#"{"type":"elsewhere"}"#] {
            let message = open_store(&registry, location).unwrap_err().to_string();
            let part = "not in this build; feature `store-elsewhere` of crate `zarr-kit` has it";
            assert!(message.contains(part), "{message}");
        }
    }
}
