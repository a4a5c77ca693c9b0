//! Detecting the format of a hierarchy.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::{mem, panic};

use bytes::Bytes;
use zarr_metadata::draft::{ENTRY_POINT, EntryPoint, parse_entry_point};
use zarr_metadata::{DocumentError, DocumentKind, Identified, identify, v2};
use zarr_spec::store::{Directory, Store, StoreError};
use zarr_spec::{Format, Key, Mode, NodePath, Prefix, Value};

use super::access::Access;
use super::draft::Draft;
use super::missing::{looks_like_generation_a, no_hierarchy};
use super::options::OpenOptions;
use super::rules::{FormatRules, FoundNode};
use super::v2::{V2, root as v2_root};
use super::v3::{self, V3, implicit};
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
    V2 { consolidated: Option<Bytes>, root: RootDocuments },
    Draft(Box<EntryPoint>),
    V3 { root: Option<Value> },
}

/// The documents of the root.
#[derive(Debug)]
pub(super) enum RootDocuments {
    /// Not all documents of the root were read.
    Unknown,
    /// `.zarray`, `.zgroup` and `.zattrs`.
    V2(Vec<Option<Bytes>>),
    V3(Value),
}

impl RootDocuments {
    /// Returns the metadata of the root; `None` if not all documents were read.
    pub(super) fn parsed(self, access: &Access) -> Result<Option<FoundNode>, Error> {
        let root = NodePath::root();
        match self {
            Self::Unknown => Ok(None),
            Self::V2(documents) => v2_root(access, &documents),
            Self::V3(document) => Ok(Some(FoundNode::explicit(v3::parse(access, &root, &document)?))),
        }
    }
}

impl Detected {
    fn take_root(&mut self) -> RootDocuments {
        match self {
            Self::V2 { root, .. } => mem::replace(root, RootDocuments::Unknown),
            Self::V3 { root: Some(document) } => RootDocuments::V3(document.clone()),
            Self::V3 { root: None } | Self::Draft(_) => RootDocuments::Unknown,
        }
    }

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
    match detect_or_assume(&access, options, None)? {
        Some(detected) => opened(access, detected, options),
        None => Err(no_hierarchy(&access, options)?),
    }
}

/// An opened hierarchy, with its root as far as it was read.
#[derive(Debug)]
pub(super) struct OpenedRoot {
    pub(super) opened: Opened,
    pub(super) root: RootDocuments,
}

/// Opens the hierarchy in a store and lists its root. In a remote store, both requests run concurrently, and consolidated
/// metadata are used without waiting for the listing.
pub(super) fn open_and_list(
    store: Arc<dyn Store>,
    context: &Context,
) -> Result<(OpenedRoot, Result<Directory, Error>), Error> {
    let access = Access::new(store, context);
    let options = OpenOptions::new();
    let listing = RootListing::begin(&access);
    let Some(mut detected) = detect_or_assume(&access, options, None)? else {
        return Err(no_hierarchy(&access, options)?);
    };
    let root = detected.take_root();
    let opened = opened(access, detected, options)?;
    let listing = match opened.rules.is_consolidated() {
        true => Ok(Directory::default()),
        false => listing.finish(&opened.access),
    };
    Ok((OpenedRoot { opened, root }, listing))
}

/// A listing of the root, which a thread requests. The thread is not waited for if the listing is not needed.
struct RootListing(Option<JoinHandle<Result<Directory, StoreError>>>);

impl RootListing {
    fn begin(access: &Access) -> Self {
        if access.is_local() || !access.store.capabilities().listable {
            return Self(None);
        }
        let store = Arc::clone(&access.store);
        let list = move || store.list_dir(&Prefix::root());
        Self(thread::Builder::new().name("zarr-listing".to_owned()).spawn(list).ok())
    }

    fn finish(self, access: &Access) -> Result<Directory, Error> {
        match self.0.map(JoinHandle::join) {
            Some(Ok(listed)) => Ok(listed?),
            Some(Err(panic)) => panic::resume_unwind(panic),
            None => {
                access.check_finds_nodes("finding the children of a group")?;
                Ok(access.store.list_dir(&Prefix::root())?)
            }
        }
    }
}

/// Opens the hierarchy in a store, with its root. In a remote store, all documents of the root are read in one batch.
pub(super) fn open_with_root(
    store: Arc<dyn Store>,
    context: &Context,
    options: OpenOptions,
) -> Result<OpenedRoot, Error> {
    let access = Access::new(store, context);
    let attributes = if access.is_local() { None } else { Some(v2::attributes_key(&NodePath::root())?) };
    let Some(mut detected) = detect_or_assume(&access, options, attributes.as_ref())? else {
        return Err(no_hierarchy(&access, options)?);
    };
    let root = detected.take_root();
    Ok(OpenedRoot { opened: opened(access, detected, options)?, root })
}

/// Opens a detected hierarchy.
pub(super) fn opened(mut access: Access, detected: Detected, options: OpenOptions) -> Result<Opened, Error> {
    let rules: Box<dyn FormatRules> = match detected {
        Detected::V2 { consolidated, .. } => Box::new(V2::open(&access, consolidated.as_ref())?),
        Detected::V3 { root } => Box::new(V3::open(&access, root.as_ref().filter(|_| options.consolidated))),
        Detected::Draft(entry_point) => Box::new(Draft::open(&mut access, &entry_point)?),
    };
    Ok(Opened { access, rules })
}

/// Detects the format like [`detect_with`]. A root without documents is assumed to be a group of v3 if there are nodes of
/// v3 below it.
fn detect_or_assume(
    access: &Access,
    options: OpenOptions,
    attributes: Option<&Key>,
) -> Result<Option<Detected>, Error> {
    let may_be_v3 = options.format.is_none_or(|format| format == Format::V3);
    match detect_with(access, options, attributes)? {
        // A root that cannot be listed is not assumed to be a group.
        None if may_be_v3 && implicit::is_group(access, &NodePath::root()).unwrap_or(false) => {
            Ok(Some(Detected::V3 { root: None }))
        }
        detected => Ok(detected),
    }
}

/// Reads the documents of the root, in one batch, and detects the format.
pub(super) fn detect(access: &Access, options: OpenOptions) -> Result<Option<Detected>, Error> {
    detect_with(access, options, None)
}

/// Like [`detect`]. If `attributes` is the key of the attributes of the root in v2, they are read in the same batch.
fn detect_with(
    access: &Access,
    options: OpenOptions,
    attributes: Option<&Key>,
) -> Result<Option<Detected>, Error> {
    let root = NodePath::root();
    let names = [Key::new(ENTRY_POINT)?, v2::group_key(&root)?, v2::array_key(&root)?];
    let consolidated = v2::consolidated_key(&root)?;
    let may_be_v2 = options.format.is_none_or(|format| format == Format::V2);
    let mut wanted: Vec<Key> = match options.format {
        Some(Format::V3 | Format::V3Draft) => names[..1].to_vec(),
        Some(Format::V2) => names[1..].to_vec(),
        None => names.to_vec(),
    };
    if options.consolidated && may_be_v2 {
        wanted.push(consolidated.clone());
    }
    wanted.extend(attributes.filter(|_| may_be_v2).cloned());
    let mut values: HashMap<&Key, Bytes> = HashMap::new();
    for (key, value) in wanted.iter().zip(access.get_all(&wanted)?) {
        values.extend(value.map(|value| (key, value)));
    }
    let is_v2 = names[1..].iter().any(|key| values.contains_key(key));
    if let Some(bytes) = values.get(&names[0])
        && let Some(detected) = newer(access, &names[0], bytes, options)?
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
        let [_, group, array] = &names;
        let documents = |attributes| [array, group, attributes].map(|key| values.get(key).cloned()).to_vec();
        let root = attributes.map_or(RootDocuments::Unknown, |key| RootDocuments::V2(documents(key)));
        return Ok(Some(Detected::V2 { consolidated: values.remove(&consolidated), root }));
    }
    without_entry_point(access, options)
}

fn newer(access: &Access, key: &Key, bytes: &[u8], options: OpenOptions) -> Result<Option<Detected>, Error> {
    let document = access.parse(key, bytes, DocumentKind::V3);
    // If v3 was requested, a root whose document is not valid is opened as an unreadable node. Otherwise, the document
    // may be the entry point of the draft, which must be valid.
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
