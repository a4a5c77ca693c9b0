//! The entry point of the draft, and the plugins that it names.

use std::sync::Arc;

use zarr_metadata::DocumentError;
use zarr_metadata::draft::EntryPoint;
use zarr_spec::extension::{Extension, ExtensionDocument, ExtensionPlace};
use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::{Creation, Format, Invalid, Mode, Reading, Registry, Value};

use crate::error::Error;
use crate::hierarchy::access::Access;

/// Returns the entry point of a new hierarchy with the metadata encoding `name`, which is any of its identifiers.
/// Refuses an encoding that is unknown or does not have a URI.
pub(in crate::hierarchy) fn with_encoding(registry: &Registry, name: &str) -> Result<EntryPoint, Error> {
    let table = registry.metadata_encodings();
    let reading = Reading::new(Mode::Strict);
    let found = Format::ALL.into_iter().rev().find_map(|format| table.find(format, name, &reading).ok());
    let plugin = found.ok_or_else(|| Invalid::new(table.unknown(name).to_string()))?;
    let identifiers = plugin.identifiers;
    if identifiers.uri.is_none() && identifiers.name == Some(&*EntryPoint::new().metadata_encoding.identifier)
    {
        return Ok(EntryPoint::new());
    }
    let Some(uri) = identifiers.uri else {
        let reason = format!("metadata encoding `{name}` does not have a URI, which the v3 draft requires");
        return Err(Invalid::new(reason).into());
    };
    let document = ExtensionDocument::new(uri, Value::Null)
        .with_type_name(Value::from(identifiers.name.unwrap_or_default()));
    let encoding =
        (plugin.create)(&Creation::of(&document, Format::V3Draft, registry, &reading).with_type_name(None))?;
    let key_suffix = encoding.key_suffix().to_owned();
    Ok(EntryPoint::new().with_metadata_encoding(document, key_suffix))
}

/// Returns how the entry point of an existing hierarchy differs from `wanted`. Additional extensions do not count.
pub(in crate::hierarchy) fn difference(found: &EntryPoint, wanted: &EntryPoint) -> Option<String> {
    // The `type` is not compared, because it is only a human-readable label.
    let is_same = |one: &ExtensionDocument, other: &ExtensionDocument| {
        one.identifier == other.identifier && one.configuration == other.configuration
    };
    let has = |extension| found.extensions.iter().any(|known| is_same(known, extension));
    if !is_same(&found.metadata_encoding, &wanted.metadata_encoding) {
        return Some(format!("whose metadata encoding is `{}`", found.metadata_encoding.identifier));
    }
    if found.key_suffix != wanted.key_suffix {
        return Some(format!("whose metadata key suffix is `{}`", found.key_suffix));
    }
    let missing = wanted.extensions.iter().find(|extension| !has(extension))?;
    Some(format!("without the extension `{}`", missing.identifier))
}

pub(super) fn metadata_encoding(
    access: &Access,
    entry_point: &EntryPoint,
    reading: &Reading,
) -> Result<Arc<dyn MetadataEncoding>, DocumentError> {
    let document = &entry_point.metadata_encoding;
    let registry = access.context.registry();
    let plugin = registry.metadata_encodings().find(Format::V3Draft, &document.identifier, reading);
    let plugin = plugin.map_err(|unknown| DocumentError::member("metadata_encoding", unknown.to_string()))?;
    let created = (plugin.create)(&Creation::of(document, Format::V3Draft, registry, reading));
    created.map_err(|error| DocumentError::member("metadata_encoding", error.to_string()))
}

/// Creates the extensions of an entry point. Known extensions are applied even if `must_understand` is false (D3-META-20).
pub(super) fn extensions(
    access: &Access,
    entry_point: &EntryPoint,
    reading: &Reading,
) -> Result<Vec<Arc<dyn Extension>>, DocumentError> {
    let registry = access.context.registry();
    let mut created = Vec::new();
    for (position, document) in entry_point.extensions.iter().enumerate() {
        let member = format!("extensions[{position}]");
        let plugin = match registry.extensions().find(Format::V3Draft, &document.identifier, reading) {
            Ok(plugin) => plugin,
            Err(_) if !document.must_understand => continue,
            Err(unknown) => {
                let reason = format!("{unknown}, and readers must understand it");
                return Err(DocumentError::member(member, reason));
            }
        };
        let creation = Creation::of(document, Format::V3Draft, registry, reading);
        let extension = (plugin.create)(&creation, ExtensionPlace::EntryPoint);
        created.push(extension.map_err(|error| {
            DocumentError::member(member, format!("extension `{}`: {error}", document.identifier))
        })?);
    }
    Ok(created)
}
