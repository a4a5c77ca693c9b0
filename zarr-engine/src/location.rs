//! Opening the store at a location.

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use zarr_json::ParseOptions;
use zarr_metadata::DOCUMENT_NAMES;
use zarr_spec::host::registry::Unknown;
use zarr_spec::store::{Store, StoreConfiguration, StorePlugin, open_described};
use zarr_spec::{Invalid, Registry, Value, printable_path};

use crate::error::{Error, MissingPlugins};
use conditional::RequiringConditions;

mod conditional;
mod pipeline;

/// Opens the store at `location`: a path, a URL with the scheme of a store plugin, such as `file:`, a JSON
/// description such as `{"type": "memory"}`, or a URL pipeline such as `s3://bucket/a.zip|zip:path/`. The path of a
/// file is opened by the store that recognizes the file.
///
/// With the member `"conditional": "require"`, which every description may have, the engine refuses changes of stored
/// values without conditional writes, as with
/// [`Context::with_required_conditions`](crate::Context::with_required_conditions).
///
/// # Errors
///
/// [`Error::Invalid`] for an empty location, an invalid description, or a file that no store recognizes;
/// [`Error::MissingPlugins`] for a scheme or a type that no plugin has; [`Error::Store`].
pub fn open_store(registry: &Registry, location: &str) -> Result<Arc<dyn Store>, Error> {
    if location.trim().is_empty() {
        let reason = "the location of the store is empty; expected a path, a URL or a JSON description";
        return Err(Invalid::new(reason).into());
    }
    if location.trim_start().starts_with('{') {
        return open_description(registry, location);
    }
    if let Some(opened) = pipeline::open(registry, location) {
        return opened;
    }
    let scheme = scheme(registry, location);
    let Some(plugin) = registry.stores().iter().find(|plugin| plugin.schemes.contains(&scheme.as_str()))
    else {
        let unknown = unknown_scheme(registry, &scheme);
        let message = no_such_scheme(registry, location, &scheme, &unknown);
        return Err(MissingPlugins { message, missing: vec![unknown] }.into());
    };
    if let Some((_, input)) = location.split_once(':').filter(|_| plugin.step.is_some()) {
        return pipeline::open_step(registry, plugin, input, &[]);
    }
    let path = match location.split_once("://") {
        // A URL with percent escapes is left to the store, which decodes them.
        Some((_, path)) if scheme == "file" && !path.contains('%') => Some(path),
        _ => scheme.is_empty().then_some(location),
    };
    let Some(path) = path else { return Ok((plugin.open)(location)?) };
    if let Some(plugin) = recognizing(registry, path) {
        let scheme = plugin.schemes.first().unwrap_or(&"");
        return Ok((plugin.open)(&format!("{scheme}:{path}"))?);
    }
    match refused_file(registry, Path::new(path)) {
        Some(reason) => Err(Invalid::new(reason).into()),
        None => Ok((plugin.open)(location)?),
    }
}

/// Returns the store that recognizes the file at a path.
#[must_use]
pub fn recognizing<'r>(registry: &'r Registry, path: &str) -> Option<&'r StorePlugin> {
    registry.stores().iter().find(|plugin| (plugin.recognizes)(Path::new(path)))
}

/// Returns a location for messages: the path of a `file:` URL, without escapes. Other locations are unchanged.
#[must_use]
pub fn readable_location(location: &str) -> String {
    local_path(location).unwrap_or_else(|| location.to_owned())
}

/// Returns the path in a local `file:` URL, if it is Unicode.
pub(crate) fn local_path(location: &str) -> Option<String> {
    let path = location.strip_prefix("file://").filter(|path| path.starts_with('/') && !cfg!(windows))?;
    unescaped(path)
}

/// Returns percent-encoded text without escapes, if it is Unicode.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

fn open_description(registry: &Registry, text: &str) -> Result<Arc<dyn Store>, Error> {
    let parsed = zarr_json::parse(text.as_bytes(), &ParseOptions::default())
        .map_err(|error| wrong(format!("not valid JSON: {error}{}", example(registry, text))))?;
    if let Some(remark) = parsed.remarks.first() {
        return Err(wrong(remark));
    }
    let mut description = parsed.value;
    check_types(registry, &description)?;
    let are_conditions_required = conditional::take(&mut description).map_err(wrong)?;
    let store = open_described(registry, &description)?;
    check_reach(registry, &description, &*store).map_err(wrong)?;
    Ok(if are_conditions_required { Arc::new(RequiringConditions(store)) } else { store })
}

/// Returns the end of a message about a description that is not valid JSON: an example of the store whose name comes
/// first in it, or else of the store for paths.
fn example(registry: &Registry, text: &str) -> String {
    let with_examples = || registry.stores().iter().filter(|plugin| !plugin.about.examples.is_empty());
    let place = |plugin: &&StorePlugin| text.find(&format!("\"{}\"", plugin.name));
    let named = with_examples().filter(|plugin| place(plugin).is_some()).min_by_key(place);
    let plugin = named.or_else(|| with_examples().find(|plugin| plugin.schemes.contains(&"")));
    let example = plugin.and_then(|plugin| plugin.about.examples.first());
    example.map_or_else(String::new, |example| format!("; a correct example is {}", example.document))
}

/// Checks that each store that wraps a store with a cache of decoded chunks passes this cache on.
fn check_reach(registry: &Registry, description: &Value, store: &dyn Store) -> Result<(), String> {
    if store.chunk_cache().is_some() {
        return Ok(());
    }
    let mut around = Vec::new();
    let mut inside = Some(description);
    while let Some(description) = inside {
        let members = description.as_object();
        let name =
            members.and_then(|members| members.get("type")).and_then(Value::as_str).unwrap_or_default();
        // Only linked stores are checked, because a loaded store does not cache chunks.
        let is_linked = |plugin: &StorePlugin| plugin.describe.is_none();
        let configuration: Option<Box<dyn StoreConfiguration>> = registry
            .stores()
            .iter()
            .any(|plugin| plugin.name == name && is_linked(plugin))
            .then(|| zarr_json::from_value(description))
            .transpose()
            .map_err(|error| error.to_string())?;
        if configuration.is_some_and(|configuration| configuration.caches_chunks()) {
            return Err(format!(
                "`{name}` caches decoded chunks, but the stores around it ({}) do not pass them on: `{name}` must \
                 be the outer one",
                around.join(", ")
            ));
        }
        around.push(format!("`{name}`"));
        inside = members.and_then(|members| members.get("store"));
    }
    Ok(())
}

fn wrong(reason: impl Display) -> Error {
    Invalid::new(format!("description of a store: {reason}")).into()
}

/// Checks that the types in a description, and in its members `store`, are known.
fn check_types(registry: &Registry, description: &Value) -> Result<(), Error> {
    let member = |name| description.as_object().and_then(|members| members.get(name));
    let Some(name) = member("type").and_then(Value::as_str) else {
        return Err(wrong(format!("`type` is missing or not a string; {}", known_types(registry))));
    };
    if !registry.stores().iter().any(|plugin| plugin.name == name) {
        let known = known_types(registry);
        let unknown = registry.unknown_store(name);
        let reason = match unknown.known_elsewhere {
            Some(_) => unknown.to_string(),
            None if unknown.similar.is_empty() => format!("{unknown}; {known}"),
            None => unknown.to_string(),
        };
        let message = format!("description of a store: {reason}");
        return Err(MissingPlugins { message, missing: vec![unknown] }.into());
    }
    member("store").map_or(Ok(()), |inside| check_types(registry, inside))
}

fn known_types(registry: &Registry) -> String {
    there_are(registry.stores().iter().map(|plugin| format!("`{}`", plugin.name)).collect())
}

fn there_are(mut known: Vec<String>) -> String {
    known.sort();
    if known.is_empty() {
        "this build has no stores".to_owned()
    } else {
        format!("expected one of {}", known.join(", "))
    }
}

/// Returns the scheme of a URL in lower case, or an empty string for a path. A single letter is a drive. A path may
/// contain a colon, so without `//` only known schemes count.
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

/// Returns the error for a scheme that no store of this build has. Other programs' schemes are known with `//`, so that
/// a path that contains a colon is not a URL.
fn unknown_scheme(registry: &Registry, scheme: &str) -> Unknown {
    first_known([&format!("{scheme}:"), &format!("{scheme}://")].map(|known| registry.unknown_store(known)))
}

/// Returns the error for a step of a pipeline that no store of this build has. Other programs' steps are known with `|`.
fn unknown_step(registry: &Registry, step: &str) -> Unknown {
    first_known([&format!("{step}:"), &format!("|{step}:")].map(|known| registry.unknown_store(known)))
}

/// Returns the second error if only its identifier is known.
fn first_known([own, of_others]: [Unknown; 2]) -> Unknown {
    if own.known_elsewhere.is_none() && of_others.known_elsewhere.is_some() { of_others } else { own }
}

/// Returns the message for a location whose scheme no store of this build has.
fn no_such_scheme(registry: &Registry, location: &str, scheme: &str, unknown: &Unknown) -> String {
    let schemes = registry.stores().iter().flat_map(|plugin| plugin.schemes);
    let name = |scheme: &&str| if scheme.is_empty() { "paths".to_owned() } else { format!("`{scheme}:`") };
    let known = there_are(schemes.map(name).collect());
    match (scheme, &unknown.known_elsewhere) {
        ("", Some(elsewhere)) => format!("`{location}` is a path, and a store for paths is {elsewhere}"),
        ("", None) => format!("`{location}` is a path, and no store in this build opens paths; {known}"),
        (scheme, Some(elsewhere)) => format!("`{location}`: the store for `{scheme}:` is {elsewhere}"),
        (scheme, None) => format!("`{location}`: no store in this build opens `{scheme}:`; {known}"),
    }
}

/// Returns the error for a step of a pipeline that no store of this build has.
fn missing_step(registry: &Registry, location: &str, step: &str) -> Error {
    let unknown = unknown_step(registry, step);
    let message = match &unknown.known_elsewhere {
        Some(elsewhere) => format!("`{location}`: the step `{step}:` is {elsewhere}"),
        None => {
            let steps = registry.stores().iter().filter(|plugin| plugin.step.is_some());
            let known = steps.flat_map(|plugin| plugin.schemes).map(|scheme| format!("`{scheme}:`"));
            let known = there_are(known.chain(["`zarr2:`".to_owned(), "`zarr3:`".to_owned()]).collect());
            format!("`{location}`: no store in this build has the step `{step}:`; {known}")
        }
    };
    MissingPlugins { message, missing: vec![unknown] }.into()
}

/// Returns the message for a file that no store of this build recognizes; `None` if the path is not a file.
fn refused_file(registry: &Registry, path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let shown = printable_path(path);
    if path.file_name().and_then(OsStr::to_str).is_some_and(|name| DOCUMENT_NAMES.contains(&name)) {
        return Some(format!(
            "`{shown}` is a metadata document, not a store; give the folder of the hierarchy"
        ));
    }
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
    let elsewhere = registry.unknown_store(&format!("{extension}:")).known_elsewhere;
    Some(match elsewhere.filter(|_| !extension.is_empty()) {
        Some(elsewhere) => format!("`{shown}` is a file; the store for `{extension}:` files is {elsewhere}"),
        None => format!("`{shown}` is a file, not a store; give the folder of a hierarchy or a zip archive"),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use zarr_spec::Example;
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
    fn opens_paths_and_urls_with_the_store_of_their_scheme() {
        for location in ["a/b.zarr", "C:\\data", "C:/data", "name: with a colon", "file:///a", "FILE:/a", "."]
        {
            assert_eq!(message(location), format!("opened {location}"));
        }
    }

    #[test]
    fn errors_for_unknown_schemes_list_the_known_ones() {
        let reason = "no store in this build opens `foo:`; expected one of `file:`, paths";
        assert_eq!(message("foo://a"), format!("`foo://a`: {reason}"));
        assert!(open_store(&Registry::empty(), "a").unwrap_err().to_string().contains("has no stores"));
    }

    #[test]
    fn rejects_descriptions_without_a_known_type() {
        assert!(message("{").starts_with("description of a store: "));
        assert_eq!(
            message(r#"{"type":"nothing"}"#),
            "description of a store: store `nothing` is unknown; expected one of `files`"
        );
        assert!(
            message(r#"{"path":"a"}"#).contains("`type` is missing or not a string; expected one of `files`")
        );
        assert!(message(r#"{"type":"a","type":"b"}"#).contains("occurs twice"));
        // The types in nested descriptions must be known, too.
        for inside in [r#"{"type":"nothing"}"#, r#"{"type":"files","store":{"type":"nothing"}}"#] {
            let nested = message(&format!(r#"{{"type":"files","store":{inside}}}"#));
            assert!(nested.contains("store `nothing` is unknown; expected one of `files`"), "{nested}");
        }
        assert!(message(r#"{"type":"files","store":"x"}"#).contains("`type` is missing"));
    }

    #[test]
    fn errors_for_broken_json_name_the_place_and_show_an_example() {
        const FOLDERS: &[Example] = &[Example::v3(r#"{"type": "folders", "path": "a"}"#)];
        const ARCHIVES: &[Example] = &[Example::v3(r#"{"type": "zip", "path": "data.zip"}"#)];
        let mut registry = registry();
        for plugin in [
            StorePlugin::new("folders", &["folders"], &refuse).about("Stores values in files.", FOLDERS),
            StorePlugin::new("zip", &["zip"], &refuse).about("Stores values in archives.", ARCHIVES),
        ] {
            registry.register_store(plugin).unwrap();
        }
        let message = |location: &str| open_store(&registry, location).unwrap_err().to_string();
        assert_eq!(
            message(r#"{"type": "zip", "#),
            "description of a store: not valid JSON: line 1, column 17: unexpected end, expected a member name \
             in double quotes; a correct example is {\"type\": \"zip\", \"path\": \"data.zip\"}"
        );
        assert!(message(r#"{"type": "folders", "store": {"type": "zip"}"#).ends_with(r#""path": "a"}"#));
        // The store for paths does not have an example here.
        assert!(message("{'type': 'zip'}").contains("not valid JSON: line 1, column 2: "));
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
    fn errors_for_empty_locations_and_files_explain_what_is_expected() {
        for empty in ["", " "] {
            assert!(message(empty).contains("expected a path, a URL or a JSON description"));
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, contents: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, contents).unwrap();
            path.to_str().unwrap().to_owned()
        };
        assert!(message(&at("b", b"x")).contains("is a file, not a store"));
        let archive = at("a.archive", b"x");
        assert!(message(&archive).contains("is a file, not a store"));
        let mut with_archives = registry();
        let is_archive = |path: &Path| path.extension().is_some_and(|extension| extension == "archive");
        let plugin = StorePlugin::new("archives", &["archive"], &refuse).recognizing(is_archive);
        with_archives.register_store(plugin).unwrap();
        for location in [&archive, &format!("file://{archive}")] {
            let opened = open_store(&with_archives, location).unwrap_err().to_string();
            assert_eq!(opened, format!("opened archive:{archive}"));
        }
        assert!(message(&format!("file://{}", at("c", b""))).contains("is a file, not a store"));
        assert!(message(&at("zarr.json", b"{}")).contains("give the folder of the hierarchy"));
    }

    #[test]
    fn errors_for_stores_missing_from_the_build_name_their_feature() {
        let mut registry = registry();
        registry.add_catalogue_entry(CatalogueEntry::new(
            ExtensionPoint::Store,
            &["elsewhere", "elsewhere:"],
            "store-elsewhere",
            "zarr-kit",
        ));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.Elsewhere");
        fs::write(&file, b"x").unwrap();
        for location in ["elsewhere:", "elsewhere://a", r#"{"type":"elsewhere"}"#, file.to_str().unwrap()] {
            let message = open_store(&registry, location).unwrap_err().to_string();
            let part = "not in this build; feature `store-elsewhere` of crate `zarr-kit` has it";
            assert!(message.contains(part), "{message}");
        }
    }
}
