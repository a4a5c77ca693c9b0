//! The keys of one format in folders that it shares with others: what goes when it is erased and they are kept.

use std::collections::HashMap;
use std::sync::Arc;

use zarr_metadata::{ArrayMetadata, DocumentKind, Identified, NodeKind, NodeMetadata, identify, v2, v3};
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::transformer::StorageTransformer;
use zarr_spec::{Format, Key, Mode, NodePath, Prefix, Reading};

use super::access::{Access, keyed};
use super::dialect::Dialect;
use super::foreign::{self, OF_V2, OF_V3};
use crate::convert::creation;
use crate::error::Error;

/// What is done about documents of other formats where a node is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// Nothing is erased.
    Refused,
    /// Nothing is erased; without them, files that are not part of Zarr stay.
    RefusedAndFilesKept,
    /// They stay, with all their chunks, and so do files that are not part of Zarr.
    Kept,
}

/// The keys that [`Hierarchy::erase_own`](super::Hierarchy::erase_own) and
/// [`Hierarchy::erase_keeping_other_formats`](super::Hierarchy::erase_keeping_other_formats) removed and left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Erasure {
    /// Documents and chunks that were removed.
    pub removed: Vec<Key>,
    /// Keys below the prefixes of the node that were left: they belong to another format or are not part of Zarr.
    pub left: Vec<Key>,
}

/// What is erased with a node, in this order.
#[derive(Debug)]
pub(super) struct Erased {
    /// Documents: each of these lists before the next one, so that the node is gone before those below it are.
    documents: [Vec<Key>; 3],
    /// Chunks, and all else.
    rest: Rest,
    /// The documents that were found. The node may lack some of its documents.
    found: Vec<Key>,
    /// Keys that stay.
    left: Vec<Key>,
}

#[derive(Debug)]
enum Rest {
    /// Whatever is below these prefixes.
    Below(Vec<Prefix>),
    /// These keys.
    Keys(Vec<Key>),
}

/// A node that is to be erased.
#[derive(Debug)]
pub(super) struct Doomed<'a> {
    pub(super) path: &'a NodePath,
    /// Whether there is a node. If there is none, an earlier call may have left something.
    pub(super) is_there: bool,
    /// What the keys begin with that go.
    pub(super) prefixes: Vec<Prefix>,
}

impl Erased {
    /// What may go with a node.
    ///
    /// # Errors
    ///
    /// If there are documents of other formats that do not allow it: nothing is erased yet. [`Error::NoNode`] if there
    /// is nothing to erase.
    pub(super) fn with(
        access: &Access,
        dialect: &dyn Dialect,
        doomed: Doomed<'_>,
        beside: Beside,
    ) -> Result<Self, Error> {
        let mut keys = match keys_below(access, dialect, &doomed, beside) {
            // The folder is that of a node of another format.
            Err(Error::OtherFormat { .. }) if !doomed.is_there => Erasure::default(),
            keys => keys?,
        };
        let is_below = |key: &Key| doomed.prefixes.iter().any(|prefix| prefix.strip(key.as_str()).is_some());
        keys.left.retain(is_below);
        let (documents, mut others): (Vec<Key>, Vec<Key>) =
            keys.removed.into_iter().filter(is_below).partition(|key| is_document(dialect, key));
        if !doomed.is_there {
            keys.left.extend(others.extract_if(.., |key| !is_named_like_a_chunk(key)));
            if documents.is_empty() && others.is_empty() {
                return Err(Error::NoNode(doomed.path.clone()));
            }
        }
        let own = dialect.own_documents(doomed.path)?;
        let mut found = documents.clone();
        if beside != Beside::Refused {
            found.extend(documents_outside(access, &own, &doomed.prefixes)?);
        }
        let rest = match beside {
            Beside::Refused if doomed.is_there => Rest::Below(doomed.prefixes),
            _ => Rest::Keys(others),
        };
        Ok(Self { documents: in_order(own, documents), rest, found, left: keys.left })
    }

    /// Erases it.
    pub(super) fn erase(&self, access: &Access) -> Result<(), Error> {
        for documents in self.documents.iter().filter(|documents| !documents.is_empty()) {
            access.store.erase_values(documents)?;
        }
        match &self.rest {
            Rest::Below(prefixes) => {
                Ok(prefixes.iter().try_for_each(|prefix| access.store.erase_prefix(prefix))?)
            }
            Rest::Keys(keys) => Ok(access.store.erase_values(keys)?),
        }
    }

    /// The keys that were removed and left. The keys of chunks are not known if everything below a prefix was removed.
    pub(super) fn into_keys(self) -> Erasure {
        let mut removed = self.found;
        if let Rest::Keys(keys) = self.rest {
            removed.extend(keys);
        }
        Erasure { removed, left: self.left }
    }
}

/// The keys that go with a node and the keys that stay.
fn keys_below(
    access: &Access,
    dialect: &dyn Dialect,
    doomed: &Doomed<'_>,
    beside: Beside,
) -> Result<Erasure, Error> {
    match beside {
        Beside::RefusedAndFilesKept if doomed.is_there => {}
        Beside::Kept => {}
        // Without a document, the names of keys decide.
        Beside::Refused | Beside::RefusedAndFilesKept => {
            let removed = foreign::own_keys(access, dialect, doomed.path)?;
            return Ok(Erasure { removed, left: Vec::new() });
        }
    }
    Telling::new(access, dialect, doomed.path, beside).keys()
}

/// The documents of a node that are stored outside of its prefixes, as in the draft.
fn documents_outside(access: &Access, own: &[Key], prefixes: &[Prefix]) -> Result<Vec<Key>, Error> {
    let mut found = Vec::new();
    for key in own {
        let is_below = prefixes.iter().any(|prefix| prefix.strip(key.as_str()).is_some());
        if !is_below && access.has(key)? {
            found.push(key.clone());
        }
    }
    Ok(found)
}

/// Copies of documents in v2, then the documents of the node itself, then those of nodes below it from the top down.
fn in_order(own: Vec<Key>, documents: Vec<Key>) -> [Vec<Key>; 3] {
    let is_copy = |key: &Key| key.name() == OF_V2[3];
    let (copies, mut below): (Vec<Key>, Vec<Key>) = documents.into_iter().partition(is_copy);
    below.retain(|key| !own.contains(key));
    let depth = |key: &Key| key.as_str().matches('/').count();
    // Attributes in v2 come after the document that makes a node of them.
    below.sort_by_key(|key| (depth(key), key.name() == OF_V2[2]));
    [copies, own, below]
}

/// Whether a key below a node is that of a document of the same format.
fn is_document(dialect: &dyn Dialect, key: &Key) -> bool {
    match dialect.format() {
        Format::V2 => OF_V2.contains(&key.name()),
        Format::V3 => key.name() == OF_V3,
        Format::V3Draft => dialect.node_of(key).is_some(),
    }
}

/// Whether a key ends as those of chunks do: `c/0/1`, `c0/1`, `c.0.1`, `0.1`. Without a document, nothing else tells.
fn is_named_like_a_chunk(key: &Key) -> bool {
    let name = key.name();
    let indices = name.strip_prefix('c').unwrap_or(name);
    indices.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Whose a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Itself,
    Other,
}

/// An array that has the chunks below a prefix.
#[derive(Debug)]
struct Claim {
    owner: Owner,
    /// The key of its document.
    document: String,
    encoding: Arc<dyn ChunkKeyEncoding>,
    rank: usize,
}

/// Telling the keys of one format from those of others.
struct Telling<'a> {
    access: &'a Access,
    dialect: &'a dyn Dialect,
    path: &'a NodePath,
    beside: Beside,
    /// By what the keys of chunks begin with.
    claims: HashMap<String, Vec<Claim>>,
    /// A document of the draft in the folders of another format.
    draft: Option<Key>,
}

impl<'a> Telling<'a> {
    fn new(access: &'a Access, dialect: &'a dyn Dialect, path: &'a NodePath, beside: Beside) -> Self {
        Self { access, dialect, path, beside, claims: HashMap::new(), draft: None }
    }

    /// Tells documents and chunks of the format at and below the node from all other keys there.
    fn keys(mut self) -> Result<Erasure, Error> {
        self.access.check_listable("telling the keys of one format from those of others")?;
        let (mut keys, mut others) = (Erasure::default(), Vec::new());
        for prefix in self.dialect.prefixes(self.path)? {
            self.look_above(&prefix)?;
            for key in self.access.store.list_sorted(&prefix)? {
                self.check_format(&key)?;
                match self.document(&key)? {
                    Some(Owner::Itself) => keys.removed.push(key),
                    Some(Owner::Other) => keys.left.push(key),
                    None => others.push(key),
                }
            }
        }
        // That of the node itself need not be below its prefixes.
        if let Some(found) = self.dialect.read_stored(self.access, self.path)?
            && let NodeMetadata::Array(metadata) = found.metadata
        {
            let key = self.dialect.document_key(self.path)?;
            let chunks = self.dialect.chunks(self.path)?;
            self.claim(Owner::Itself, &key, &chunks, &metadata)?;
        }
        for key in others {
            match self.is_own_chunk(&key)? {
                true => keys.removed.push(key),
                false => keys.left.push(key),
            }
        }
        Ok(keys)
    }

    /// Refuses documents of other formats, unless they are kept.
    fn check_format(&self, key: &Key) -> Result<(), Error> {
        match self.beside {
            Beside::Kept => Ok(()),
            _ => foreign::refuse_key(self.access, self.dialect, self.path, key),
        }
    }

    /// Arrays of other formats may have chunks in folders below their own.
    fn look_above(&mut self, prefix: &Prefix) -> Result<(), Error> {
        let mut above = prefix.parent();
        while let Some(folder) = above {
            for name in [OF_V2[0], OF_V3] {
                let key = keyed(folder.key(name))?;
                if self.is_other(&key) && self.access.has(&key)? {
                    self.document(&key)?;
                }
            }
            above = folder.parent();
        }
        Ok(())
    }

    /// Whether a document of this name is another format's.
    fn is_other(&self, key: &Key) -> bool {
        match self.dialect.format() {
            Format::V2 => !OF_V2.contains(&key.name()),
            Format::V3 => key.name() != OF_V3,
            // Its only `zarr.json` is the entry point, which is no node.
            Format::V3Draft => key.as_str() != OF_V3,
        }
    }

    /// Whose document this is; `None` if it is none. Notes the chunks that it speaks of.
    fn document(&mut self, key: &Key) -> Result<Option<Owner>, Error> {
        let format = self.dialect.format();
        let of = |format: Format, own: Format| if format == own { Owner::Itself } else { Owner::Other };
        if OF_V2.contains(&key.name()) {
            let owner = of(format, Format::V2);
            if key.name() == OF_V2[0]
                && let Some(document) = self.told(key, self.access.get_json(key, DocumentKind::V2))?
            {
                let metadata = self.access.reading(key, |reading| v2::parse_array(&document, None, reading));
                let metadata = self.told(key, metadata)?;
                self.claim(owner, key, &key.parent(), &metadata)?;
            }
            return Ok(Some(owner));
        }
        if let Some((path, kind)) = self.dialect.node_of(key) {
            if kind == NodeKind::Array
                && let Some(found) = self.told(key, self.dialect.read_stored(self.access, &path))?
                && let NodeMetadata::Array(metadata) = found.metadata
            {
                self.claim(Owner::Itself, key, &self.dialect.chunks(&path)?, &metadata)?;
            }
            return Ok(Some(Owner::Itself));
        }
        if foreign::is_of_draft(key) {
            self.draft.get_or_insert_with(|| key.clone());
            return Ok(Some(Owner::Other));
        }
        if key.name() != OF_V3 {
            return Ok(None);
        }
        let Some(document) = self.told(key, self.access.get_json(key, DocumentKind::V3))? else {
            return Ok(None);
        };
        let identified = identify(&document).map_err(|error| Error::document(key, error));
        match self.told(key, identified)? {
            Identified::V3 => {
                let owner = of(format, Format::V3);
                let node = self.access.reading(key, |reading| v3::parse_node(&document, reading));
                if let NodeMetadata::Array(metadata) = self.told(key, node)? {
                    self.claim(owner, key, &key.parent(), &metadata)?;
                }
                Ok(Some(owner))
            }
            Identified::DraftA | Identified::DraftB => {
                self.draft.get_or_insert_with(|| key.clone());
                Ok(Some(Owner::Other))
            }
        }
    }

    /// What a document says, without which the chunks of the formats cannot be told apart.
    fn told<T>(&self, key: &Key, result: Result<T, Error>) -> Result<T, Error> {
        result.map_err(|error| {
            self.refused(&format!("`{key}` does not tell which chunks are its own: {error}"))
        })
    }

    fn refused(&self, reason: &str) -> Error {
        let (path, format) = (self.path, self.dialect.format());
        Error::NotSupported(format!("cannot erase {path} of {format} alone: {reason}; nothing was erased"))
    }

    fn claim(
        &mut self,
        owner: Owner,
        key: &Key,
        chunks: &Prefix,
        metadata: &ArrayMetadata,
    ) -> Result<(), Error> {
        let registry = self.access.context.registry();
        let reading = &Reading::new(Mode::Lenient);
        for document in &metadata.storage_transformers {
            let plugin = registry.storage_transformers().find(metadata.format, &document.identifier, reading);
            let made = plugin.map(|plugin| {
                (plugin.create)(&creation(metadata, document, registry, reading), &metadata.shape)
            });
            if !matches!(made, Ok(Ok(StorageTransformer::Shard(_)))) {
                let name = &document.identifier;
                return Err(self.refused(&format!("`{key}` has the storage transformer `{name}`")));
            }
        }
        let document = &metadata.chunk_key_encoding;
        let plugin = registry.chunk_key_encodings().find(metadata.format, &document.identifier, reading);
        let encoding = plugin.map_err(|unknown| unknown.to_string()).and_then(|plugin| {
            (plugin.create)(&creation(metadata, document, registry, reading))
                .map_err(|invalid| invalid.to_string())
        });
        let encoding = encoding.map_err(|error| self.refused(&format!("`{key}`: {error}")))?;
        let claim = Claim { owner, document: key.to_string(), encoding, rank: metadata.shape.len() };
        self.claims.entry(chunks.as_str().to_owned()).or_default().push(claim);
        Ok(())
    }

    /// Whether a key is that of a chunk of the format.
    ///
    /// # Errors
    ///
    /// If it is one of another format too.
    fn is_own_chunk(&self, key: &Key) -> Result<bool, Error> {
        let Some(own) = self.claimed(key, Owner::Itself)? else { return Ok(false) };
        if let Some(other) = self.claimed(key, Owner::Other)? {
            let (own, other) = (&own.document, &other.document);
            return Err(self.refused(&format!("`{key}` is a chunk of both `{own}` and `{other}`")));
        }
        let is_below_data = key.as_str().split('/').rev().skip(1).any(|folder| folder == "data");
        if let Some(draft) =
            self.draft.as_ref().filter(|_| is_below_data && self.dialect.format() == Format::V3)
        {
            let reason = format!("`{key}` may be a chunk of the v3 draft, which `{draft}` is a document of");
            return Err(self.refused(&reason));
        }
        Ok(true)
    }

    /// The array of `owner` that has the chunk `key`.
    fn claimed(&self, key: &Key, owner: Owner) -> Result<Option<&Claim>, Error> {
        let text = key.as_str();
        let folders = text.match_indices('/').map(|(at, _)| at + 1);
        for at in std::iter::once(0).chain(folders) {
            let (prefix, rest) = text.split_at(at);
            let claims = self.claims.get(prefix).into_iter().flatten();
            for claim in claims.filter(|claim| claim.owner == owner) {
                let chunk = claim.encoding.decode(rest, claim.rank).map_err(|error| {
                    let document = &claim.document;
                    self.refused(&format!(
                        "`{key}` may be a chunk of `{document}`, which cannot tell: {error}"
                    ))
                })?;
                if chunk.is_some() {
                    return Ok(Some(claim));
                }
            }
        }
        Ok(None)
    }
}
