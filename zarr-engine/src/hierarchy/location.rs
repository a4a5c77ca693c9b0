//! From what users call a store to the store.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use zarr_spec::json::{self, ParseOptions};
use zarr_spec::store::{Store, StoreConfiguration};
use zarr_spec::{Invalid, Registry};

use crate::error::Error;

/// URL schemes that stores are known for, and that are not there yet.
const LATER: [&str; 10] = ["http", "https", "s3", "gs", "gcs", "az", "abfs", "abfss", "ftp", "zip"];

/// How a zip archive begins: with a file, or with its end if it is empty.
const ZIP_MAGIC: [&[u8; 4]; 3] = [b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"];

/// Opens the store at `location`: a path, a URL of a scheme that a plugin answers to, such as `file:`, or a
/// JSON description such as `{"type": "memory"}`.
///
/// # Errors
///
/// [`Error::Invalid`] for a description that makes no sense, for a scheme that nobody answers to, and for
/// archives; [`Error::Store`].
pub fn open_store(registry: &Registry, location: &str) -> Result<Arc<dyn Store>, Error> {
    if location.trim_start().starts_with('{') {
        return open_description(location);
    }
    let scheme = scheme(registry, location);
    let answers = registry.stores().iter().find(|plugin| plugin.schemes.contains(&scheme.as_str()));
    if scheme.is_empty() {
        refuse_archive(Path::new(location))?;
    }
    match answers {
        Some(plugin) => Ok((plugin.open)(location)?),
        None => Err(Invalid::new(nobody(registry, location, &scheme)).into()),
    }
}

fn open_description(text: &str) -> Result<Arc<dyn Store>, Error> {
    let wrong = |reason: String| Invalid::new(format!("description of a store: {reason}"));
    let parsed =
        json::parse(text.as_bytes(), &ParseOptions::default()).map_err(|error| wrong(error.to_string()))?;
    if let Some(remark) = parsed.remarks.first() {
        return Err(wrong(remark.to_string()).into());
    }
    let configuration: Box<dyn StoreConfiguration> =
        json::from_value(&parsed.value).map_err(|error| wrong(error.to_string()))?;
    Ok(configuration.open()?)
}

/// The scheme of a URL in lower case; empty for a path. One letter is a drive, and a colon alone may be in
/// any name: without `//` behind it, only a known scheme counts.
fn scheme(registry: &Registry, location: &str) -> String {
    let Some((scheme, rest)) = location.split_once(':') else { return String::new() };
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let scheme = scheme.to_ascii_lowercase();
    let is_known = || registry.stores().iter().any(|plugin| plugin.schemes.contains(&scheme.as_str()));
    if is_scheme && (rest.starts_with("//") || is_known()) { scheme } else { String::new() }
}

fn nobody(registry: &Registry, location: &str, scheme: &str) -> String {
    let mut known: Vec<String> = registry
        .stores()
        .iter()
        .flat_map(|plugin| plugin.schemes)
        .map(|scheme| if scheme.is_empty() { "paths".to_owned() } else { format!("`{scheme}:`") })
        .collect();
    known.sort();
    let known = if known.is_empty() {
        "there are no stores".to_owned()
    } else {
        format!("there are {}", known.join(", "))
    };
    match scheme {
        "" => format!("`{location}` is a path, and no store in this build opens paths; {known}"),
        scheme if LATER.contains(&scheme) => {
            format!(
                "`{location}`: stores behind `{scheme}:` URLs are not in this build, and come later; {known}"
            )
        }
        scheme => format!("`{location}`: no store in this build answers to `{scheme}:`; {known}"),
    }
}

/// Zip archives are no stores yet.
fn refuse_archive(path: &Path) -> Result<(), Error> {
    let is_named_so = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
    let Ok(kind) = fs::metadata(path) else {
        return if is_named_so { Err(archive(path)) } else { Ok(()) };
    };
    if !kind.is_file() {
        return Ok(());
    }
    let mut start = [0; 4];
    let begins_so = File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok();
    if is_named_so || begins_so && ZIP_MAGIC.contains(&&start) { Err(archive(path)) } else { Ok(()) }
}

fn archive(path: &Path) -> Error {
    let path = path.display();
    Invalid::new(format!("`{path}` is a zip archive; zip stores are not in this build, and come later"))
        .into()
}

#[cfg(test)]
mod tests {
    use zarr_spec::store::{StoreError, StorePlugin};

    use super::*;

    fn refuse(location: &str) -> Result<Arc<dyn Store>, StoreError> {
        Err(Invalid::new(format!("opened {location}")).into())
    }

    fn registry() -> Registry {
        let mut registry = Registry::empty();
        registry.register_store(StorePlugin::new("files", &["", "file"], refuse)).unwrap();
        registry
    }

    fn message(location: &str) -> String {
        open_store(&registry(), location).unwrap_err().to_string()
    }

    #[test]
    fn paths_and_urls_reach_the_store_that_answers_to_them() {
        for location in
            ["a/b.zarr", "C:\\data", "C:/data", "name: with a colon", "file:///a", "FILE:/a", "", "."]
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
        assert!(message("/nowhere/a.ZIP").contains("zip stores are not in this build"));
        assert!(open_store(&Registry::empty(), "a").unwrap_err().to_string().contains("there are no stores"));
    }

    #[test]
    fn a_description_is_json_with_a_type() {
        assert!(message("{").starts_with("description of a store: "));
        assert!(message(r#"{"type":"no such store"}"#).contains("no such store"));
        assert!(message(r#"{"type":"a","type":"b"}"#).contains("occurs twice"));
    }
}
