//! The entry point of a hierarchy of the draft: `zarr.json`.

use semver::Version;
use zarr_json::{Object, Value};

use super::DocumentError;
use super::draft::{generic_extension_value, generic_extensions};
use super::identify::{Identified, identify};
use super::members::{Members, tolerate, tolerate_for_compatibility, wrong};
use super::write::add_ignored;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::format::{Format, Mode, Reading};
use zarr_spec::host::registry::split_version;
use zarr_spec::key::Key;

/// The value of `zarr_format` in new hierarchies, including the version.
const URI: &str = "https://purl.org/zarr/spec/core/3.0";
/// The value of `zarr_format` that zarr-python 2 writes.
const OLDER_URI: &str = "https://purl.org/zarr/spec/protocol/core/3.0";
/// The suffix of the keys of JSON documents.
const JSON_SUFFIX: &str = ".json";

/// The state of the draft that a hierarchy follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a reader handles every generation")]
pub enum Generation {
    /// May to October 2022, and zarr-python 2.12 to 2.18: read only.
    A,
    /// December 2022 and January 2023, which "the draft" means without further qualification.
    B,
}

/// The entry point of a hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryPoint {
    /// The text in the document, so that rewriting preserves it.
    pub zarr_format: String,
    /// The version at the end of `zarr_format`; the patch level is always 0.
    pub version: Version,
    /// Determines the keys and the form of array documents.
    pub generation: Generation,
    /// The encoding of the documents of arrays and groups: `json` or an extension.
    pub metadata_encoding: ExtensionDocument,
    /// The suffix of the keys of the documents of arrays and groups.
    pub key_suffix: String,
    /// Generic extensions of the whole hierarchy.
    pub extensions: Vec<ExtensionDocument>,
    /// Members of a newer minor version.
    pub ignored: Object,
}

impl EntryPoint {
    /// Creates the entry point of a new hierarchy with JSON documents and without extensions.
    #[must_use]
    pub fn new() -> Self {
        Self {
            zarr_format: URI.to_owned(),
            version: Version::new(3, 0, 0),
            generation: Generation::B,
            metadata_encoding: json(),
            key_suffix: JSON_SUFFIX.to_owned(),
            extensions: Vec::new(),
            ignored: Object::new(),
        }
    }

    /// Replaces the encoding of the documents of arrays and groups, and the suffix of their keys.
    #[must_use]
    pub fn with_metadata_encoding(self, metadata_encoding: ExtensionDocument, key_suffix: String) -> Self {
        Self { metadata_encoding, key_suffix, ..self }
    }

    /// Replaces the generic extensions of the whole hierarchy.
    #[must_use]
    pub fn with_extensions(self, extensions: Vec<ExtensionDocument>) -> Self {
        Self { extensions, ..self }
    }

    /// Returns the entry point that zarr-python 2 implies when it does not write one. Only compatibility mode
    /// opens such a hierarchy.
    #[must_use]
    pub fn missing() -> Self {
        Self { zarr_format: OLDER_URI.to_owned(), generation: Generation::A, ..Self::new() }
    }
}

impl Default for EntryPoint {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads an entry point. Generation A is read with a warning, and refused in strict mode.
///
/// # Errors
///
/// [`DocumentError`] for another format, generation or major version, for a missing or invalid member, and for
/// an unknown member unless the minor version is newer than 0.
pub fn parse_entry_point(document: &Value, reading: &Reading) -> Result<EntryPoint, DocumentError> {
    let generation = match identify(document)? {
        Identified::DraftA => Generation::A,
        Identified::DraftB => Generation::B,
        Identified::V3 => {
            let reason = "is the integer 3: a node of final v3, not an entry point of the draft";
            return Err(DocumentError::member("zarr_format", reason));
        }
    };
    let mut members = Members::of_document(document)?;
    members.require(&["zarr_format", "metadata_encoding", "extensions"])?;
    let zarr_format = members.string("zarr_format")?;
    let version = version(zarr_format, generation, reading)?;
    let (metadata_encoding, key_suffix) = match generation {
        Generation::A => older_metadata_encoding(&mut members, reading)?,
        Generation::B => metadata_encoding(members.required("metadata_encoding")?)?,
    };
    check_suffix(&key_suffix)?;
    let extensions = generic_extensions(members.required("extensions")?, reading)?;
    let mut ignored = Object::new();
    for (name, value) in members.unknown() {
        if version.minor == 0 {
            return Err(members.unknown_member(name));
        }
        reading.warn(format!(
            "{}; it is ignored, as version {} is newer",
            members.unknown_member(name),
            version
        ));
        ignored.insert(name, value.clone());
    }
    Ok(EntryPoint {
        zarr_format: zarr_format.to_owned(),
        version,
        generation,
        metadata_encoding,
        key_suffix,
        extensions,
        ignored,
    })
}

/// Writes the document of an entry point.
///
/// # Errors
///
/// [`DocumentError`] for generation A, which is read-only, and for documents that strict reading refuses.
pub fn entry_point_document(entry_point: &EntryPoint) -> Result<Value, DocumentError> {
    if entry_point.generation == Generation::A {
        return Err(DocumentError::document(
            "read-only dialect: hierarchies of generation A of the v3 draft are read and never written",
        ));
    }
    let mut encoding = Object::new();
    let ExtensionDocument { identifier, configuration, type_name, .. } = &entry_point.metadata_encoding;
    match type_name {
        None if entry_point.key_suffix != JSON_SUFFIX => {
            let reason = format!("is \"{}\"; `json` requires \"{JSON_SUFFIX}\"", entry_point.key_suffix);
            return Err(DocumentError::member("metadata_encoding.metadata_key_suffix", reason));
        }
        None => encoding.insert("type", identifier.as_str()),
        Some(type_name) => {
            encoding.insert("extension", identifier.as_str());
            encoding.insert("type", type_name.clone())
        }
    };
    encoding.insert("metadata_key_suffix", entry_point.key_suffix.as_str());
    if !configuration.is_null() {
        encoding.insert("configuration", configuration.clone());
    }
    let mut document = Object::new();
    document.insert("zarr_format", entry_point.zarr_format.as_str());
    document.insert("metadata_encoding", encoding);
    document
        .insert("extensions", entry_point.extensions.iter().map(generic_extension_value).collect::<Value>());
    add_ignored(&mut document, &entry_point.ignored)?;
    let document = Value::Object(document);
    // A document that strict reading refuses is never written.
    parse_entry_point(&document, &Reading::new(Mode::Strict))?;
    Ok(document)
}

fn json() -> ExtensionDocument {
    ExtensionDocument::new("json", Value::Null)
}

fn version(uri: &str, generation: Generation, reading: &Reading) -> Result<Version, DocumentError> {
    let error = |reason: String| DocumentError::member("zarr_format", reason);
    let Some((path, version)) = split_version(uri) else {
        return Err(error(format!("is \"{uri}\"; expected a version such as /3.0 at its end")));
    };
    if version.major != 3 {
        let major = version.major;
        let minor = version.minor;
        return Err(error(format!(
            "declares version {major}.{minor}; only 3.0 and later versions 3.Y are known"
        )));
    }
    let without_scheme = path.split_once("://").map_or(path, |(_, rest)| rest);
    if !matches!(without_scheme, "purl.org/zarr/spec/core" | "purl.org/zarr/spec/protocol/core") {
        return Err(error(format!("is \"{uri}\", not \"{URI}\"")));
    }
    if generation == Generation::A {
        let reason = "is of generation A of the v3 draft (May to October 2022, zarr-python 2), which is read only, \
                      and not in strict mode";
        tolerate(reading, DocumentError::document(reason))?;
    }
    let is_usual = match generation {
        Generation::A => path.starts_with("https://"),
        Generation::B => path == "https://purl.org/zarr/spec/core",
    };
    if !is_usual {
        let reason = format!("is \"{uri}\"; expected \"{URI}\"");
        tolerate_for_compatibility(reading, error(reason))?;
    }
    Ok(version)
}

fn metadata_encoding(value: &Value) -> Result<(ExtensionDocument, String), DocumentError> {
    const MEMBER: &str = "metadata_encoding";
    let mut members = Members::of_member(MEMBER, value)?;
    let name = members.string("type")?;
    let suffix = members.string("metadata_key_suffix")?;
    let encoding = match members.optional("extension") {
        None if name == "json" => json(),
        None => {
            let reason = format!("is \"{name}\"; expected \"json\" or an extension");
            return Err(members.error("type", reason));
        }
        Some(_) => ExtensionDocument::new(members.uri("extension")?.to_owned(), members.configuration()?)
            .with_type_name(Value::from(name)),
    };
    members.refuse_unknown()?;
    Ok((encoding, suffix.to_owned()))
}

/// Reads the metadata encoding of generation A, which is a URI. The URI of the core specification means JSON.
fn older_metadata_encoding(
    members: &mut Members<'_, '_>,
    reading: &Reading,
) -> Result<(ExtensionDocument, String), DocumentError> {
    let uri = members.string("metadata_encoding")?;
    let suffix = members.string("metadata_key_suffix")?.to_owned();
    let is_json = [URI, OLDER_URI].iter().any(|known| match (split_version(known), split_version(uri)) {
        (Some((known, _)), Some((path, version))) => path == known && version.major == 3,
        _ => false,
    });
    if is_json {
        return Ok((json(), suffix));
    }
    let value = Value::from(uri);
    tolerate(reading, wrong("metadata_encoding", &value, &format!("\"{URI}\", which stands for JSON")))?;
    // The lookup of the plugin reports that this encoding is unknown.
    Ok((ExtensionDocument::new(uri, Value::Null), suffix))
}

/// Checks a suffix, which must be valid in keys and must not contain `/`, since children are found by listing
/// prefixes.
fn check_suffix(suffix: &str) -> Result<(), DocumentError> {
    let key = Key::checked(format!("a{suffix}"), Format::V3Draft);
    if key.is_ok() && !suffix.contains('/') {
        return Ok(());
    }
    let reason = format!("is {suffix:?}; only letters, digits and `.-_` can end the keys of documents");
    Err(DocumentError::member("metadata_key_suffix", reason))
}
