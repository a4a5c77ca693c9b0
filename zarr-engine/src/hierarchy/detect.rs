//! Detecting the format of a hierarchy.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use zarr_metadata::draft::{ENTRY_POINT, EntryPoint, parse_entry_point};
use zarr_metadata::{DocumentError, DocumentKind, Identified, identify, v2};
use zarr_spec::store::{Directory, Store};
use zarr_spec::{Format, Key, Mode, NodePath, Prefix, Value};

use super::access::Access;
use super::draft::Draft;
use super::missing::{looks_like_generation_a, no_hierarchy};
use super::options::OpenOptions;
use super::rules::FormatRules;
use super::v2::V2;
use super::v3::{V3, implicit};
use crate::context::Context;
use crate::error::Error;

#[derive(Debug)]
pub(super) struct Opened {
    pub(super) access: Access,
    pub(super) rules: Box<dyn FormatRules>,
}

/// The format of a hierarchy, and the documents that were read to detect it.
#[derive(Debug)]
pub(super) enum Detected {
    V2 { consolidated: Option<Bytes> },
    Draft(Box<EntryPoint>),
    V3 { root: Option<Value> },
}

impl Detected {
    pub(super) fn format(&self) -> Format {
        match self {
            Self::V2 { .. } => Format::V2,
            Self::Draft(_) => Format::V3Draft,
            Self::V3 { .. } => Format::V3,
        }
    }
}

pub(super) fn open(store: Arc<dyn Store>, context: &Context, options: OpenOptions) -> Result<Opened, Error> {
    let access = Access::new(store, context);
    match detect_or_assume(&access, options)? {
        Some(detected) => opened(access, detected, options),
        None => Err(no_hierarchy(&access, options)?),
    }
}

#[derive(Debug)]
pub(super) struct OpenedRoot {
    pub(super) opened: Opened,
    /// The document of the root, if the root has a single document, as in v3.
    pub(super) document: Option<Value>,
    /// The keys directly below the root, for formats that use them.
    pub(super) listing: Result<Directory, Error>,
}

/// Opens the hierarchy in a store and lists its root. In a remote store, both requests run concurrently.
pub(super) fn open_and_list(store: Arc<dyn Store>, context: &Context) -> Result<OpenedRoot, Error> {
    let access = Access::new(store, context);
    let options = OpenOptions::new();
    let found = OnceLock::new();
    let look = || {
        let _first = found.set(detect_or_assume(&access, options)?);
        Ok(())
    };
    let listing = access.checked(look, || Ok(list_root(&access)))?;
    let Some(detected) = found.into_inner().flatten() else { return Err(no_hierarchy(&access, options)?) };
    let document = if let Detected::V3 { root } = &detected { root.clone() } else { None };
    Ok(OpenedRoot { opened: opened(access, detected, options)?, document, listing })
}

fn list_root(access: &Access) -> Result<Directory, Error> {
    access.check_listable("finding the children of a group")?;
    Ok(access.store.list_dir(&Prefix::root())?)
}

/// Opens the hierarchy in a store. Returns also the document of the root, if the root has a single document, as in v3.
pub(super) fn open_with_root(
    store: Arc<dyn Store>,
    context: &Context,
    options: OpenOptions,
) -> Result<(Opened, Option<Value>), Error> {
    let access = Access::new(store, context);
    let Some(detected) = detect_or_assume(&access, options)? else {
        return Err(no_hierarchy(&access, options)?);
    };
    let document = if let Detected::V3 { root } = &detected { root.clone() } else { None };
    Ok((opened(access, detected, options)?, document))
}

/// Opens a detected hierarchy.
pub(super) fn opened(mut access: Access, detected: Detected, options: OpenOptions) -> Result<Opened, Error> {
    let rules: Box<dyn FormatRules> = match detected {
        Detected::V2 { consolidated } => Box::new(V2::open(&access, consolidated.as_ref())?),
        Detected::V3 { root } => Box::new(V3::open(&access, root.as_ref().filter(|_| options.consolidated))),
        Detected::Draft(entry_point) => Box::new(Draft::open(&mut access, &entry_point)?),
    };
    Ok(Opened { access, rules })
}

/// Detects the format. A root without documents is assumed to be a group of v3 if there are nodes of v3 below it.
fn detect_or_assume(access: &Access, options: OpenOptions) -> Result<Option<Detected>, Error> {
    let may_be_v3 = options.format.is_none_or(|format| format == Format::V3);
    match detect(access, options)? {
        // A folder that cannot be listed does not have a hierarchy.
        None if may_be_v3 && implicit::is_group(access, &NodePath::root()).unwrap_or(false) => {
            Ok(Some(Detected::V3 { root: None }))
        }
        detected => Ok(detected),
    }
}

/// Reads the documents of the root, in one batch, and detects the format.
pub(super) fn detect(access: &Access, options: OpenOptions) -> Result<Option<Detected>, Error> {
    let root = NodePath::root();
    let names = [Key::new(ENTRY_POINT)?, v2::group_key(&root)?, v2::array_key(&root)?];
    let consolidated = v2::consolidated_key(&root)?;
    let mut wanted: Vec<Key> = match options.format {
        Some(Format::V3 | Format::V3Draft) => names[..1].to_vec(),
        Some(Format::V2) => names[1..].to_vec(),
        None => names.to_vec(),
    };
    if options.consolidated && options.format.is_none_or(|format| format == Format::V2) {
        wanted.push(consolidated.clone());
    }
    let mut values = wanted.iter().zip(access.get_all(&wanted)?);
    let mut found =
        |key: &Key| values.by_ref().find_map(|(name, value)| (name == key).then_some(value)).flatten();
    let document = if options.format == Some(Format::V2) { None } else { found(&names[0]) };
    let is_v2 = if options.format.is_none_or(|format| format == Format::V2) {
        [found(&names[1]), found(&names[2])].iter().any(Option::is_some)
    } else {
        false
    };
    if let Some(bytes) = document
        && let Some(detected) = newer(access, &names[0], &bytes, options)?
    {
        if is_v2 {
            let format = detected.format();
            access.warn(format!(
                "there are also documents of v2; those of {format} are used unless v2 is requested"
            ));
        }
        return Ok(Some(detected));
    }
    if is_v2 {
        return Ok(Some(Detected::V2 { consolidated: found(&consolidated) }));
    }
    without_entry_point(access, options)
}

fn newer(access: &Access, key: &Key, bytes: &[u8], options: OpenOptions) -> Result<Option<Detected>, Error> {
    let document = access.parse(key, bytes, DocumentKind::V3);
    // In v3, a root without a valid document is an unreadable node. In the draft, it is not a hierarchy.
    let document = match document {
        Err(_) if options.format == Some(Format::V3) => return Ok(Some(Detected::V3 { root: None })),
        document => document?,
    };
    let identified = identify(&document).map_err(|error| Error::document(key, error))?;
    match (identified, options.format) {
        (Identified::V3, None | Some(Format::V3)) => Ok(Some(Detected::V3 { root: Some(document) })),
        (Identified::DraftA | Identified::DraftB, None | Some(Format::V3Draft)) => {
            let entry_point = access.reading(key, |reading| parse_entry_point(&document, reading))?;
            Ok(Some(Detected::Draft(Box::new(entry_point))))
        }
        (Identified::V3, _) => {
            let reason = "is a node of v3, but an entry point of the v3 draft was requested";
            Err(Error::document(key, DocumentError::document(reason)))
        }
        (Identified::DraftA | Identified::DraftB, _) => {
            let reason = "is an entry point of the v3 draft, but a node of v3 was requested";
            Err(Error::document(key, DocumentError::document(reason)))
        }
    }
}

/// Detects a hierarchy of the draft's first generation without an entry point. Only compatibility mode reads it
/// (DX-A-03).
fn without_entry_point(access: &Access, options: OpenOptions) -> Result<Option<Detected>, Error> {
    let may_be = options.format.is_none_or(|format| format == Format::V3Draft);
    if !may_be || access.context.mode != Mode::Compatibility || !looks_like_generation_a(access)? {
        return Ok(None);
    }
    access.warn(format!("there is no entry point `{ENTRY_POINT}`; generation A of the v3 draft is assumed"));
    Ok(Some(Detected::Draft(Box::new(EntryPoint::missing()))))
}
