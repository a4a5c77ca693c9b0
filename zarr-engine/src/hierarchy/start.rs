//! Creating a hierarchy.

use std::sync::{Arc, OnceLock};

use zarr_metadata::draft::EntryPoint;
use zarr_spec::store::Store;
use zarr_spec::{Format, NodePath, Prefix};

use super::access::Access;
use super::detect::{self, Detected, Opened};
use super::draft::{self, Draft};
use super::missing::refuse_version_one;
use super::options::OpenOptions;
use super::rules::{FormatRules, in_the_way};
use super::v2::V2;
use super::v3::V3;
use crate::context::Context;
use crate::error::Error;
use crate::location::readable_location;

/// Creates a hierarchy of `format`, or opens the existing one if it has the same format and entry point.
pub(super) fn create(
    store: Arc<dyn Store>,
    context: &Context,
    format: Format,
    entry_point: Option<&EntryPoint>,
) -> Result<Opened, Error> {
    let access = Access::new(Arc::clone(&store), context);
    access.check_writeable()?;
    let is_empty = is_known_empty(&access)?;
    if is_empty {
        access.new_groups.start(&access.context);
    }
    let detected = if is_empty { None } else { detected(&access)? };
    let Some(detected) = detected else {
        return match start(access, format, entry_point.unwrap_or(&EntryPoint::new())) {
            // Another program created a hierarchy meanwhile.
            Err(Error::Conflict(_)) => create(store, context, format, entry_point),
            started => started,
        };
    };
    let difference = match (&detected, entry_point) {
        (Detected::Draft(found), Some(wanted)) => draft::difference(found, wanted),
        _ => None,
    };
    if detected.format() == format && difference.is_none() {
        return detect::opened(access, detected, OpenOptions::new());
    }
    let location = readable_location(&access.store.location());
    let format = detected.format();
    let difference = difference.map_or_else(String::new, |difference| format!(", {difference}"));
    let reason = format!("{location} already holds a hierarchy of {format}{difference}");
    Err(in_the_way(&NodePath::root(), reason))
}

/// Returns whether a listing shows that a remote store is empty. The listing is one request, while reading the
/// documents takes several.
fn is_known_empty(access: &Access) -> Result<bool, Error> {
    if access.is_local() || !access.store.capabilities().listable {
        return Ok(false);
    }
    Ok(access.store.list_prefix(&Prefix::root())?.next().transpose()?.is_none())
}

/// Detects an existing hierarchy. An array of version 1 is an error.
fn detected(access: &Access) -> Result<Option<Detected>, Error> {
    let version_one = OnceLock::new();
    let detect = || detect::detect(access, OpenOptions::new());
    let refuse = || {
        let _first = version_one.set(refuse_version_one(access));
        Ok(())
    };
    let detected = if access.is_local() { detect()? } else { access.checked(refuse, detect)? };
    if detected.is_none() {
        version_one.into_inner().unwrap_or_else(|| refuse_version_one(access))?;
    }
    Ok(detected)
}

fn start(access: Access, format: Format, entry_point: &EntryPoint) -> Result<Opened, Error> {
    let rules: Box<dyn FormatRules> = match format {
        Format::V2 => Box::new(V2::new()),
        Format::V3 => Box::new(V3::open(&access, None)),
        Format::V3Draft => Box::new(Draft::start(&access, entry_point)?),
    };
    Ok(Opened { access, rules })
}
