//! Starting a hierarchy.

use std::sync::{Arc, OnceLock};

use zarr_metadata::draft::EntryPoint;
use zarr_spec::store::Store;
use zarr_spec::{Format, NodePath};

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

/// Starts a hierarchy of `format`, or opens the one that exists.
pub(super) fn create(store: Arc<dyn Store>, context: &Context, format: Format) -> Result<Opened, Error> {
    let access = Access::new(store, context);
    access.check_writeable()?;
    match detected(&access)? {
        Some(detected) if detected.format() == format => detect::opened(access, detected, OpenOptions::new()),
        Some(detected) => Err(exists_already(&access, detected.format(), "")),
        None => start(access, format, &EntryPoint::new()),
    }
}

/// Starts a hierarchy of the draft, or opens the one that exists if it has the same entry point.
pub(super) fn create_draft(
    store: Arc<dyn Store>,
    context: &Context,
    entry_point: &EntryPoint,
) -> Result<Opened, Error> {
    let access = Access::new(store, context);
    access.check_writeable()?;
    match detected(&access)? {
        Some(Detected::Draft(found)) => match draft::difference(&found, entry_point) {
            None => detect::opened(access, Detected::Draft(found), OpenOptions::new()),
            Some(difference) => Err(exists_already(&access, Format::V3Draft, &format!(", {difference}"))),
        },
        Some(detected) => Err(exists_already(&access, detected.format(), "")),
        None => start(access, Format::V3Draft, entry_point),
    }
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
    access.new_groups.start();
    let rules: Box<dyn FormatRules> = match format {
        Format::V2 => Box::new(V2::new()),
        Format::V3 => Box::new(V3::open(&access, None)),
        Format::V3Draft => Box::new(Draft::start(&access, entry_point)?),
    };
    Ok(Opened { access, rules })
}

fn exists_already(access: &Access, format: Format, more: &str) -> Error {
    let location = access.store.location();
    let reason = format!("{location} holds a hierarchy of {format} already{more}");
    in_the_way(&NodePath::root(), reason)
}
