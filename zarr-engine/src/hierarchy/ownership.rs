//! Determines which keys belong to one format in folders that hold several formats.

use std::collections::HashMap;
use std::sync::Arc;

use zarr_metadata::{ArrayMetadata, DocumentKind, Identified, NodeMetadata, identify, v2, v3};
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::transformer::StorageTransformer;
use zarr_spec::{Creation, Format, Key, Mode, NodePath, Prefix, Reading};

use super::access::Access;
use super::other_formats::{self, OtherFormats, is_of_draft, is_of_v2, is_of_v3};
use super::rules::FormatRules;
use crate::error::Error;

const V2_ARRAY: &str = ".zarray";
const V3_NODE: &str = "zarr.json";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Own,
    Other,
}

impl Owner {
    fn of(format: Format, own: Format) -> Self {
        if format == own { Self::Own } else { Self::Other }
    }
}

/// An array whose chunks lie below a prefix.
#[derive(Debug)]
struct Claim {
    owner: Owner,
    document: Key,
    encoding: Arc<dyn ChunkKeyEncoding>,
    rank: usize,
}

#[derive(Debug, Default)]
pub(super) struct OwnedKeys {
    pub(super) own: Vec<Key>,
    pub(super) other: Vec<Key>,
}

/// Assigns the keys at and below a node to the format of the hierarchy or to others.
pub(super) struct KeyOwnership<'a> {
    access: &'a Access,
    rules: &'a dyn FormatRules,
    path: &'a NodePath,
    other_formats: OtherFormats,
    claims: HashMap<String, Vec<Claim>>,
    /// A document of the draft that was found in the folders of another format.
    draft: Option<Key>,
}

impl<'a> KeyOwnership<'a> {
    pub(super) fn new(
        access: &'a Access,
        rules: &'a dyn FormatRules,
        path: &'a NodePath,
        other_formats: OtherFormats,
    ) -> Self {
        Self { access, rules, path, other_formats, claims: HashMap::new(), draft: None }
    }

    /// Returns the documents and chunks of the format at and below the node, and all other keys there. Refuses
    /// documents of other formats, unless they are kept, and a chunk that may belong to two formats.
    pub(super) fn keys(mut self) -> Result<OwnedKeys, Error> {
        self.access.check_listable("distinguishing the keys of one format from those of others")?;
        let mut keys = OwnedKeys::default();
        let mut rest = Vec::new();
        for prefix in self.rules.prefixes(self.path)? {
            self.claim_above(&prefix)?;
            for key in self.access.store.list_sorted(&prefix)? {
                if self.other_formats != OtherFormats::Keep {
                    other_formats::refuse_key(self.access, self.rules, self.path, &key)?;
                }
                match self.document(&key)? {
                    Some(Owner::Own) => keys.own.push(key),
                    Some(Owner::Other) => keys.other.push(key),
                    None => rest.push(key),
                }
            }
        }
        self.claim_itself()?;
        for key in rest {
            if self.is_own_chunk(&key)? {
                keys.own.push(key);
            } else {
                keys.other.push(key);
            }
        }
        Ok(keys)
    }

    /// Claims the chunks of arrays of other formats above the node, because they may lie in its folder.
    fn claim_above(&mut self, prefix: &Prefix) -> Result<(), Error> {
        let mut above = prefix.parent();
        while let Some(folder) = above {
            for name in [V2_ARRAY, V3_NODE] {
                let key = folder.key(name)?;
                if self.may_be_other(&key) && self.access.has(&key)? {
                    self.document(&key)?;
                }
            }
            above = folder.parent();
        }
        Ok(())
    }

    /// Claims the chunks of the node itself, whose document need not lie below its prefixes.
    fn claim_itself(&mut self) -> Result<(), Error> {
        if let Some(found) = self.rules.read_stored(self.access, self.path)?
            && let NodeMetadata::Array(metadata) = found.metadata
        {
            let key = self.rules.array_key(self.path)?;
            let chunks = self.rules.chunks(self.path)?;
            self.claim(Owner::Own, &key, &chunks, &metadata)?;
        }
        Ok(())
    }

    fn may_be_other(&self, key: &Key) -> bool {
        match self.rules.format() {
            Format::V2 => !is_of_v2(key),
            Format::V3 => !is_of_v3(key),
            // The entry point is the only `zarr.json` of the draft, and not a node.
            Format::V3Draft => key.as_str() != V3_NODE,
        }
    }

    /// Returns the owner of a document, and claims the chunks of its array. Returns `None` if `key` is not a document.
    fn document(&mut self, key: &Key) -> Result<Option<Owner>, Error> {
        let own = self.rules.format();
        if is_of_v2(key) {
            let owner = Owner::of(Format::V2, own);
            self.claim_v2(owner, key)?;
            return Ok(Some(owner));
        }
        if own == Format::V3Draft
            && let Some(path) = self.rules.node_of(key)
        {
            self.claim_draft(key, &path)?;
            return Ok(Some(Owner::Own));
        }
        if is_of_draft(key) {
            self.draft.get_or_insert_with(|| key.clone());
            return Ok(Some(Owner::Other));
        }
        if is_of_v3(key) { self.document_of_v3(key) } else { Ok(None) }
    }

    fn claim_v2(&mut self, owner: Owner, key: &Key) -> Result<(), Error> {
        if key.name() != V2_ARRAY {
            return Ok(());
        }
        let document = self.readable(key, self.access.get_json(key, DocumentKind::V2))?;
        let Some(document) = document else { return Ok(()) };
        let metadata = self.access.reading(key, |reading| v2::parse_array(&document, None, reading));
        let metadata = self.readable(key, metadata)?;
        self.claim(owner, key, &key.parent(), &metadata)
    }

    fn claim_draft(&mut self, key: &Key, path: &NodePath) -> Result<(), Error> {
        if *key != self.rules.array_key(path)? {
            return Ok(());
        }
        if let Some(found) = self.readable(key, self.rules.read_stored(self.access, path))?
            && let NodeMetadata::Array(metadata) = found.metadata
        {
            self.claim(Owner::Own, key, &self.rules.chunks(path)?, &metadata)?;
        }
        Ok(())
    }

    fn document_of_v3(&mut self, key: &Key) -> Result<Option<Owner>, Error> {
        let document = self.readable(key, self.access.get_json(key, DocumentKind::V3))?;
        let Some(document) = document else { return Ok(None) };
        let identified = identify(&document).map_err(|error| Error::document(key, error));
        if self.readable(key, identified)? != Identified::V3 {
            self.draft.get_or_insert_with(|| key.clone());
            return Ok(Some(Owner::Other));
        }
        let owner = Owner::of(Format::V3, self.rules.format());
        let node = self.access.reading(key, |reading| v3::parse_node(&document, reading));
        if let NodeMetadata::Array(metadata) = self.readable(key, node)? {
            self.claim(owner, key, &key.parent(), &metadata)?;
        }
        Ok(Some(owner))
    }

    /// Converts the error of an unreadable document: without its content, the owner of its chunks is unknown.
    fn readable<T>(&self, key: &Key, result: Result<T, Error>) -> Result<T, Error> {
        result.map_err(|error| {
            self.refused(&format!("`{key}` does not determine which chunks belong to it: {error}"))
        })
    }

    fn refused(&self, reason: &str) -> Error {
        let path = self.path;
        let format = self.rules.format();
        Error::NotSupported(format!("cannot erase only {path} of {format}: {reason}; nothing was erased"))
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
                (plugin.create)(&Creation::of(document, metadata.format, registry, reading), &metadata.shape)
            });
            if !matches!(made, Ok(Ok(StorageTransformer::Shard(_)))) {
                let name = &document.identifier;
                return Err(self.refused(&format!("`{key}` has the storage transformer `{name}`")));
            }
        }
        let document = &metadata.chunk_key_encoding;
        let plugin = registry.chunk_key_encodings().find(metadata.format, &document.identifier, reading);
        let encoding = plugin.map_err(|unknown| unknown.to_string()).and_then(|plugin| {
            let creation = Creation::of(document, metadata.format, registry, reading);
            (plugin.create)(&creation).map_err(|invalid| invalid.to_string())
        });
        let encoding = encoding.map_err(|error| self.refused(&format!("`{key}`: {error}")))?;
        let claim = Claim { owner, document: key.clone(), encoding, rank: metadata.shape.len() };
        self.claims.entry(chunks.as_str().to_owned()).or_default().push(claim);
        Ok(())
    }

    /// Returns whether `key` is a chunk of this format. Fails if it may also be a chunk of another format.
    fn is_own_chunk(&self, key: &Key) -> Result<bool, Error> {
        let Some(own) = self.claimed(key, Owner::Own)? else { return Ok(false) };
        if let Some(other) = self.claimed(key, Owner::Other)? {
            let own = &own.document;
            let other = &other.document;
            return Err(self.refused(&format!("`{key}` is a chunk of both `{own}` and `{other}`")));
        }
        let is_below_data = key.as_str().split('/').rev().skip(1).any(|folder| folder == "data");
        if let Some(draft) = &self.draft
            && is_below_data
            && self.rules.format() == Format::V3
        {
            let reason = format!("`{key}` may be a chunk of the v3 draft, of which `{draft}` is a document");
            return Err(self.refused(&reason));
        }
        Ok(true)
    }

    /// Returns the array of `owner` to which the chunk `key` belongs.
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
                        "`{key}` may be a chunk of `{document}`, whose key encoding failed: {error}"
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
