//! Which format a store holds.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use zarr_spec::metadata::draft::{ENTRY_POINT, EntryPoint, parse_entry_point};
use zarr_spec::metadata::{DocumentError, DocumentKind, Identified, identify, v2};
use zarr_spec::store::Store;
use zarr_spec::{Format, Key, Mode, NodePath, Prefix, Value};

use super::access::{Access, keyed};
use super::draft::Draft;
use super::location::{is_archive_name, local_path, readable_location};
use super::v2::V2;
use super::v3::V3;
use super::{Hierarchy, OpenOptions};
use crate::context::Context;
use crate::error::Error;

/// Names that a message shows of what is in a store.
const SHOWN_NAMES: usize = 5;

/// Folders, each the only one in the one above, that are looked through for a hierarchy.
const DEEPEST: usize = 8;

/// What a folder has where a hierarchy begins.
const DOCUMENTS: [&str; 3] = ["zarr.json", ".zgroup", ".zarray"];

/// What a store holds, and the documents that were read to find that out.
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

pub(super) fn open(
    store: Arc<dyn Store>,
    context: &Context,
    options: OpenOptions,
) -> Result<Hierarchy, Error> {
    let access = Access::new(store, context);
    match detect(&access, options)? {
        Some(detected) => hierarchy(access, detected, options),
        None => Err(nothing(&access, options)?),
    }
}

/// Asks for the documents of the root: all those that matter in one batch.
pub(super) fn detect(access: &Access, options: OpenOptions) -> Result<Option<Detected>, Error> {
    let root = NodePath::root();
    let names = [keyed(Key::new(ENTRY_POINT))?, keyed(v2::group_key(&root))?, keyed(v2::array_key(&root))?];
    let consolidated = keyed(v2::consolidated_key(&root))?;
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
                "there are documents of v2 beside those of {format}, which are used unless v2 is asked for"
            ));
        }
        return Ok(Some(detected));
    }
    if is_v2 {
        return Ok(Some(Detected::V2 { consolidated: found(&consolidated) }));
    }
    without_entry_point(access, options)
}

/// What a `zarr.json` belongs to; `None` if that is not the format that was asked for.
fn newer(access: &Access, key: &Key, bytes: &[u8], options: OpenOptions) -> Result<Option<Detected>, Error> {
    let document = access.parse(key, bytes, DocumentKind::V3);
    // As v3, a root that is no document at all is a node that cannot be read; as the draft, there is no
    // hierarchy.
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
            let reason = "is a node of v3, and an entry point of the v3 draft was asked for";
            Err(Error::document(key, DocumentError::document(reason)))
        }
        (Identified::DraftA | Identified::DraftB, _) => {
            let reason = "is an entry point of the v3 draft, and a node of v3 was asked for";
            Err(Error::document(key, DocumentError::document(reason)))
        }
    }
}

/// A hierarchy of the draft's first generation whose writer left the entry point out: only compatibility
/// mode reads it (DX-A-03).
fn without_entry_point(access: &Access, options: OpenOptions) -> Result<Option<Detected>, Error> {
    let may_be = options.format.is_none_or(|format| format == Format::V3Draft);
    if !may_be || access.context.mode != Mode::Compatibility || !looks_like_generation_a(access)? {
        return Ok(None);
    }
    access.warn(format!("there is no entry point `{ENTRY_POINT}`; generation A of the v3 draft is assumed"));
    Ok(Some(Detected::Draft(Box::new(EntryPoint::missing()))))
}

fn looks_like_generation_a(access: &Access) -> Result<bool, Error> {
    if !access.store.capabilities().listable {
        return Ok(false);
    }
    let meta = access.store.list_dir(&keyed(Prefix::new("meta/"))?)?;
    let is_root = |name: &str| name.starts_with("meta/root/") || name.starts_with("meta/root.");
    Ok(meta.prefixes.iter().any(|prefix| is_root(prefix.as_str()))
        || meta.keys.iter().any(|key| is_root(key.as_str())))
}

pub(super) fn hierarchy(
    mut access: Access,
    detected: Detected,
    options: OpenOptions,
) -> Result<Hierarchy, Error> {
    match detected {
        Detected::V2 { consolidated } => {
            let key = keyed(v2::consolidated_key(&NodePath::root()))?;
            let document = consolidated.map(|bytes| access.parse(&key, &bytes, DocumentKind::V2Consolidated));
            let document = match document {
                Some(Err(error)) if access.context.mode != Mode::Strict => {
                    access.warn(format!("{error}; consolidated metadata are ignored"));
                    None
                }
                document => document.transpose()?,
            };
            let dialect = V2::new(&access, document.as_ref())?;
            Ok(Hierarchy::new(access, Box::new(dialect)))
        }
        Detected::V3 { root } => {
            let dialect = V3::new(&access, root.as_ref().filter(|_| options.consolidated));
            Ok(Hierarchy::new(access, Box::new(dialect)))
        }
        Detected::Draft(entry_point) => {
            let dialect = Draft::new(&access, &entry_point)?;
            if entry_point.generation == zarr_spec::metadata::draft::Generation::A {
                let reason = "it is of generation A of the v3 draft, a read-only dialect";
                access.read_only = Some(reason.to_owned());
            }
            Ok(Hierarchy::new(access, Box::new(dialect)))
        }
    }
}

/// Why there is no hierarchy: what was looked for, and what is there instead.
fn nothing(access: &Access, options: OpenOptions) -> Result<Error, Error> {
    refuse_version_one(access)?;
    let looked_for = match options.format {
        None => "there is no `zarr.json`, `.zgroup` or `.zarray`",
        Some(Format::V2) => "there is no `.zgroup` or `.zarray`",
        Some(Format::V3) => "there is no `zarr.json`, which every node of v3 has",
        Some(Format::V3Draft) => "there is no entry point `zarr.json`",
    };
    let location = access.store.location();
    let is_far_archive = access.store.manner().concurrency > 0 && is_archive_name(&location);
    let reason = match names(access)? {
        Some(names) if names.is_empty() && !exists(&location) => "there is no such folder".to_owned(),
        Some(names) if !names.is_empty() => {
            format!("{looked_for}; there are {}{}{}", names.join(", "), hint(access)?, elsewhere(access)?)
        }
        _ if is_far_archive => {
            "its name is that of a zip archive, and archives are only read from local files: download it first".to_owned()
        }
        Some(_) => format!("{looked_for}; the store is empty"),
        None => looked_for.to_owned(),
    };
    Ok(Error::NoHierarchy { location: readable_location(&location), reason })
}

/// Some of the names directly in the store; `None` if it cannot list.
fn names(access: &Access) -> Result<Option<Vec<String>>, Error> {
    if !access.store.capabilities().listable {
        return Ok(None);
    }
    let root = access.store.list_dir(&Prefix::root())?;
    let prefixes = root.prefixes.iter().map(|prefix| format!("`{prefix}`"));
    // Documents say more than folders.
    let mut names: Vec<String> = root.keys.iter().map(|key| format!("`{key}`")).chain(prefixes).collect();
    if names.len() > SHOWN_NAMES {
        let more = names.len() - SHOWN_NAMES;
        names.truncate(SHOWN_NAMES);
        names.push(format!("and {more} more"));
    }
    Ok(Some(names))
}

/// What could be done, where that can be guessed.
fn hint(access: &Access) -> Result<&'static str, Error> {
    Ok(if looks_like_generation_a(access)? {
        " (documents of the v3 draft without an entry point, which compatibility mode reads)"
    } else {
        ""
    })
}

/// Which folders hold hierarchies, of those in the store, or in the only one in it. It is not asked of stores that are
/// far away.
fn elsewhere(access: &Access) -> Result<String, Error> {
    let store = &access.store;
    let mut folder = Prefix::root();
    for _ in 0..DEEPEST {
        if store.manner().concurrency > 0 {
            break;
        }
        let mut folders = store.list_dir(&folder)?.prefixes;
        let mut found = Vec::new();
        for folder in folders.iter().take(SHOWN_NAMES) {
            for name in DOCUMENTS {
                if access.has(&keyed(folder.key(name))?)? {
                    found.push(format!("`{folder}`"));
                    break;
                }
            }
        }
        if !found.is_empty() {
            let there = found.join(", ");
            return Ok(format!(
                "; these folders hold hierarchies: {there}; open one of them, or a store of type `prefix` around this one"
            ));
        }
        match (folders.pop(), folders.is_empty()) {
            (Some(only), true) => folder = only,
            _ => break,
        }
    }
    Ok(String::new())
}

/// Whether a location that is a folder of this machine is there; others are taken to be.
fn exists(location: &str) -> bool {
    local_path(location).is_none_or(|path| Path::new(&path).exists())
}

/// An array of version 1 has the keys `meta` and `attrs`, and none of those of later versions.
pub(super) fn refuse_version_one(access: &Access) -> Result<(), Error> {
    let (meta, attributes) = (keyed(Key::new("meta"))?, keyed(Key::new("attrs"))?);
    if !access.has(&meta)? || !access.has(&attributes)? {
        return Ok(());
    }
    Err(Error::NoHierarchy {
        location: access.store.location(),
        reason: "an array of Zarr version 1 is there (keys `meta` and `attrs`), which is not supported"
            .to_owned(),
    })
}
