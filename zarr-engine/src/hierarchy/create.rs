//! Starting a hierarchy.

use std::sync::{Arc, OnceLock};

use zarr_metadata::draft::{ENTRY_POINT, EntryPoint, entry_point_document};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::store::Store;
use zarr_spec::{Creation, Format, Invalid, Key, Mode, NodePath, Reading, Registry, Value};

use super::access::{Access, keyed};
use super::detect::{self, Detected};
use super::dialect;
use super::draft::Draft;
use super::v2::V2;
use super::v3::V3;
use super::{Hierarchy, OpenOptions};
use crate::context::Context;
use crate::error::Error;

pub(super) fn create(store: Arc<dyn Store>, context: &Context, format: Format) -> Result<Hierarchy, Error> {
    let access = Access::new(store, context);
    access.check_writeable()?;
    match detected(&access)? {
        Some(detected) if detected.format() == format => {
            detect::hierarchy(access, detected, OpenOptions::new())
        }
        Some(detected) => Err(there(&access, &detected)),
        None => start(access, format, &EntryPoint::new()),
    }
}

pub(super) fn create_draft(
    store: Arc<dyn Store>,
    context: &Context,
    entry_point: &EntryPoint,
) -> Result<Hierarchy, Error> {
    let access = Access::new(store, context);
    access.check_writeable()?;
    match detected(&access)? {
        Some(Detected::Draft(found)) => {
            check_same(&access, &found, entry_point)?;
            detect::hierarchy(access, Detected::Draft(found), OpenOptions::new())
        }
        Some(detected) => Err(there(&access, &detected)),
        None => start(access, Format::V3Draft, entry_point),
    }
}

/// The entry point of a draft hierarchy whose documents have the encoding called `name`, by any of its
/// identifiers.
///
/// # Errors
///
/// [`Error::Invalid`] for an encoding that is unknown, or that the draft has no URI for.
pub fn entry_point(registry: &Registry, name: &str) -> Result<EntryPoint, Error> {
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
        return Err(
            Invalid::new(format!("metadata encoding `{name}` has no URI, which the v3 draft wants")).into()
        );
    };
    let encoding = (plugin.create)(&Creation {
        format: Format::V3Draft,
        identifier: uri,
        configuration: &Value::Null,
        type_name: None,
        registry,
        reading: &reading,
    })?;
    let type_name = Some(Value::from(identifiers.name.unwrap_or_default()));
    Ok(EntryPoint {
        metadata_encoding: ExtensionDocument { type_name, ..ExtensionDocument::new(uri, Value::Null) },
        key_suffix: encoding.key_suffix().to_owned(),
        ..EntryPoint::new()
    })
}

/// What is there; an array of version 1 is an error.
fn detected(access: &Access) -> Result<Option<Detected>, Error> {
    let version_one = OnceLock::new();
    let detect = || detect::detect(access, OpenOptions::new());
    let refuse = || {
        let _first = version_one.set(detect::refuse_version_one(access));
        Ok(())
    };
    let detected = if access.is_local() { detect()? } else { access.checked(refuse, detect)? };
    if detected.is_none() {
        version_one.into_inner().unwrap_or_else(|| detect::refuse_version_one(access))?;
    }
    Ok(detected)
}

fn start(access: Access, format: Format, entry_point: &EntryPoint) -> Result<Hierarchy, Error> {
    access.new_groups.start();
    match format {
        Format::V2 => {
            let dialect = V2::new(&access, None)?;
            Ok(Hierarchy::new(access, Box::new(dialect)))
        }
        Format::V3 => {
            let dialect = V3::new(&access, None);
            Ok(Hierarchy::new(access, Box::new(dialect)))
        }
        Format::V3Draft => {
            let key = keyed(Key::new(ENTRY_POINT))?;
            let document = entry_point_document(entry_point).map_err(|error| Error::document(&key, error))?;
            // What cannot be opened is not written either.
            let dialect = Draft::new(&access, entry_point)?;
            access.set_json(&key, &document)?;
            Ok(Hierarchy::new(access, Box::new(dialect)))
        }
    }
}

/// Whether a hierarchy that is `found` has all that `wanted` asks for; it may have more extensions.
fn check_same(access: &Access, found: &EntryPoint, wanted: &EntryPoint) -> Result<(), Error> {
    // The `type` is a label for people.
    let is_same = |one: &ExtensionDocument, other: &ExtensionDocument| {
        one.identifier == other.identifier && one.configuration == other.configuration
    };
    let has = |extension| found.extensions.iter().any(|known| is_same(known, extension));
    let difference = if !is_same(&found.metadata_encoding, &wanted.metadata_encoding) {
        format!("whose metadata encoding is `{}`", found.metadata_encoding.identifier)
    } else if found.key_suffix != wanted.key_suffix {
        format!("whose metadata key suffix is `{}`", found.key_suffix)
    } else if let Some(extension) = wanted.extensions.iter().find(|extension| !has(extension)) {
        format!("without the extension `{}`", extension.identifier)
    } else {
        return Ok(());
    };
    Err(in_the_way(access, Format::V3Draft, &format!(", {difference}")))
}

fn there(access: &Access, detected: &Detected) -> Error {
    in_the_way(access, detected.format(), "")
}

fn in_the_way(access: &Access, format: Format, more: &str) -> Error {
    let location = access.store.location();
    let reason = format!("{location} holds a hierarchy of {format} already{more}");
    dialect::in_the_way(&NodePath::root(), reason)
}
