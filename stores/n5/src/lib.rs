//! The `n5` store: an N5 container as a hierarchy of Zarr v3.
//!
//! N5 stores groups as folders, and arrays ("datasets") as folders with a document `attributes.json` and blocks such as
//! `0/1`. The store replaces each `attributes.json` by a `zarr.json` with the same contents, in which the codec
//! `n5_default` reads the blocks. Other keys are those of the container. A folder without a document is a group, unless
//! it is part of an array.
//!
//! Dimensions have the order of N5: the first one changes fastest in a block. TensorStore has the same order,
//! zarr-python's `N5Store` the reverse. Elements of missing blocks are 0.
//!
//! | compression of N5 | codec |
//! |---|---|
//! | `raw` | – |
//! | `gzip` | `gzip`, or `numcodecs.zlib` with `useZlib` |
//! | `bzip2` | `numcodecs.bz2` |
//! | `xz` | `numcodecs.lzma` |
//! | `zstd` | `zstd` |
//! | `blosc` | `blosc` |
//! | `lz4` | `n5.lz4` |
//!
//! Other compressions become a codec `n5.NAME`, which is unknown: the array is listed, and reading it names the codec.
//!
//! **Writing.** A `zarr.json` that is written becomes an `attributes.json`. The store refuses what N5 cannot hold, such as
//! fill values other than 0, and changes the codecs of new arrays ([`Store::array_document`]). Names of dimensions are the
//! member `axes`, as in TensorStore. Blocks at the end of an array are stored without the elements outside of it.
//!
//! Opened as `n5:LOCATION`, as the step `LOCATION|n5:` of a URL pipeline, or as `{"type": "n5", "store": {…}}`.
//!
//! Source: N5 specification 4.0; `codecs/n5_default` in the Zarr extension registry.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde::Deserialize;
use zarr_plugin_kit::json::{self, Value};
use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Contents, DescribedStore, Directory, GetOptions, GetResult,
    Keys, Payload, Request, Responses, Step, Store, StoreConfiguration, StoreError, StorePlugin, StoreResult,
    Version, get_one, rewrite_values, shared_part,
};
use zarr_spec::{ByteRange, Bytes, Example, Invalid, Key, KeyError, Output, Prefix, typetag};

mod blocks;
mod document;
mod listing;
mod writing;

use blocks::Blocks;

zarr_spec::register!(
    StorePlugin::new("n5", &["n5"], &without_stores)
        .step(&open_step)
        .configuration::<N5Configuration>()
        .about("Stores hierarchies of Zarr v3 in N5 containers.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[Example::v3(r#"{"type": "n5", "store": {"type": "filesystem", "path": "data.n5"}}"#)];

/// The name of the documents of N5, and of the documents that replace them.
const ATTRIBUTES: &str = "attributes.json";
const DOCUMENT: &str = "zarr.json";

/// The maximum size of a document in bytes.
const MAX_DOCUMENT: usize = 16 << 20;

/// The version of the document that the store returns for a folder without a document.
const IMPLICIT: &[u8] = b"implicit";

/// The names of keys that the store refuses to write, because only `zarr.json` has metadata.
const OTHER_DOCUMENTS: [&str; 5] = [".zarray", ".zgroup", ".zattrs", ".zmetadata", ATTRIBUTES];

/// An N5 container.
#[derive(Debug)]
pub struct N5Store {
    container: Arc<dyn Store>,
    /// New arrays, whose chunks may be written before their documents.
    new: RwLock<BTreeMap<Prefix, Arc<Blocks>>>,
}

/// The document of a node.
#[derive(Debug)]
struct Document {
    bytes: Bytes,
    version: Option<Version>,
}

impl N5Store {
    /// Presents the N5 container whose root is the root of `store`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { container: store, new: RwLock::default() }
    }

    /// Returns the document of the node at `folder`; `None` if it is not a node.
    fn document(&self, folder: &Prefix, options: GetOptions) -> StoreResult<Option<Document>> {
        if let Some(Document { bytes, version }) = self.attributes(folder, options)? {
            return Ok(Some(Document { bytes: self.converted(folder, &bytes)?, version }));
        }
        let is_node = self.container.capabilities().listable
            && self.is_folder(folder)?
            && !self.is_new(folder)
            && !self.is_in_array(folder)?;
        let version = Some(Version::new(IMPLICIT));
        Ok(is_node.then(|| Document { bytes: Bytes::from_static(document::GROUP), version }))
    }

    /// Returns the document of N5.
    fn attributes(&self, folder: &Prefix, options: GetOptions) -> StoreResult<Option<Document>> {
        let mut output = Output::at_most(MAX_DOCUMENT);
        let mut options = options;
        options.range = ByteRange::Full;
        let found = self.container.get(&folder.key(ATTRIBUTES)?, options, &mut output)?;
        Ok(found.map(|found| {
            let version = found.version.clone();
            Document { bytes: found.into_bytes(output), version }
        }))
    }

    fn converted(&self, folder: &Prefix, attributes: &[u8]) -> StoreResult<Bytes> {
        let place = || format!("{}/{folder}{ATTRIBUTES}", self.container.location());
        document::convert(attributes).map_err(|reason| StoreError::io("reading", place(), reason))
    }

    /// Returns whether the document of a folder describes an array. A damaged document does not.
    fn is_array(&self, folder: &Prefix) -> StoreResult<bool> {
        let found = self.attributes(folder, ByteRange::Full.into())?;
        Ok(found.is_some_and(|found| document::is_array(&found.bytes)))
    }

    fn is_folder(&self, folder: &Prefix) -> StoreResult<bool> {
        self.container.list_prefix(folder)?.next().transpose().map(|first| first.is_some())
    }

    /// Returns whether a folder has chunks of a new array, whose document is not written yet.
    fn is_new(&self, folder: &Prefix) -> bool {
        self.new.read().unwrap_or_else(PoisonError::into_inner).contains_key(folder)
    }

    /// Returns whether a folder above this one is an array.
    fn is_in_array(&self, folder: &Prefix) -> StoreResult<bool> {
        let mut above = folder.parent();
        while let Some(folder) = above {
            if self.is_new(&folder) || self.is_array(&folder)? {
                return Ok(true);
            }
            above = folder.parent();
        }
        Ok(false)
    }

    /// Returns the form of the blocks of the array that contains `key`, and the folder of the array.
    fn blocks_above(&self, key: &Key) -> StoreResult<Option<(Prefix, Arc<Blocks>)>> {
        let mut above = Some(key.parent());
        while let Some(folder) = above {
            if let Some(blocks) = self.new.read().unwrap_or_else(PoisonError::into_inner).get(&folder) {
                let blocks = Arc::clone(blocks);
                return Ok(Some((folder, blocks)));
            }
            let found = self.attributes(&folder, GetOptions::uncached(ByteRange::Full))?;
            let members = found.and_then(|found| document::parse(&found.bytes).ok());
            if let Some(blocks) = members.as_ref().and_then(Blocks::of) {
                return Ok(Some((folder, Arc::new(blocks))));
            }
            above = folder.parent();
        }
        Ok(None)
    }

    /// Returns a value as N5 stores it.
    fn as_stored<'p>(&self, key: &Key, value: Payload<'p>) -> StoreResult<Payload<'p>> {
        let Some((folder, blocks)) = self.blocks_above(key)? else { return Ok(value) };
        let name = folder.strip(key.as_str()).unwrap_or_default();
        let cropped = blocks.cropped(name, &value);
        let cropped = cropped.map_err(|error| StoreError::io("writing", key.as_str(), error))?;
        Ok(cropped.map_or(value, Payload::from))
    }

    /// Returns a document as N5 stores it.
    fn as_attributes(&self, folder: &Prefix, document: &[u8]) -> StoreResult<Vec<u8>> {
        let refused =
            |reason: String| Invalid::new(format!("`/{}`: {reason}", folder.as_str().trim_end_matches('/')));
        let parsed = document::parse(document).map(Value::Object).map_err(refused)?;
        let converted = writing::n5_of(&parsed, folder.as_str().is_empty()).map_err(refused)?;
        json::to_vec(&Value::Object(converted)).map_err(|error| refused(error.to_string()).into())
    }

    /// Writes the missing documents of the folders above `folder`, because some programs find groups only by their
    /// documents.
    fn write_groups_above(&self, folder: &Prefix) -> StoreResult<()> {
        let mut missing = Vec::new();
        let mut above = folder.parent();
        while let Some(group) = above {
            let document = group.key(ATTRIBUTES)?;
            if self.container.size(&document)?.is_none() {
                missing.push((document, writing::empty_group(group.as_str().is_empty())));
            }
            above = group.parent();
        }
        // Writes from the top down, as the engine does.
        for (document, group) in missing.into_iter().rev() {
            if self.container.capabilities().conditional_set {
                let _conflict_means_that_it_exists =
                    self.container.set_if(&document, group.into(), &Condition::Missing)?;
            } else {
                self.container.set(&document, group.into())?;
            }
        }
        Ok(())
    }

    /// Removes an array from the new arrays, because its document exists now.
    fn forget_new(&self, folder: &Prefix) {
        self.new.write().unwrap_or_else(PoisonError::into_inner).remove(folder);
    }
}

/// The forms of a key.
enum Meaning {
    /// The document of this folder.
    Document(Prefix),
    /// The key does not exist, because its name is the name of N5's documents.
    Hidden,
    /// A value of the container.
    Value,
}

fn meaning(key: &Key) -> Meaning {
    match key.name() {
        DOCUMENT => Meaning::Document(key.parent()),
        ATTRIBUTES => Meaning::Hidden,
        _ => Meaning::Value,
    }
}

/// Refuses the documents of other formats.
fn check(key: &Key) -> Result<(), KeyError> {
    let is_of_draft = key.as_str().starts_with("meta/root");
    if OTHER_DOCUMENTS.contains(&key.name()) || is_of_draft {
        let reason = "an N5 container is written as a hierarchy of format v3";
        return Err(KeyError::new(key.as_str(), "key", reason));
    }
    Ok(())
}

zarr_spec::delegate_store! {
    impl Store for N5Store {
        forward(self.container): read_hints, lock, commit;

        fn location(&self) -> String {
            format!("{}|n5:", self.container.location())
        }

        fn capabilities(&self) -> Capabilities {
            let container = self.container.capabilities();
            if container.writeable { container.adapting_documents() } else { container }
        }

        fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
            match meaning(key) {
                Meaning::Value => self.container.get(key, options, to),
                Meaning::Hidden => Ok(None),
                Meaning::Document(folder) => {
                    let Some(document) = self.document(&folder, options)? else { return Ok(None) };
                    let size = document.bytes.len() as u64;
                    let part = shared_part(key, &document.bytes, options.range, to.remaining())?;
                    Ok(Some(GetResult::new(Contents::Shared(part), size, document.version)))
                }
            }
        }

        fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
            let mut inner = Vec::new();
            let mut originals = Vec::new();
            let mut documents = Vec::new();
            for (index, request) in requests.into_iter().enumerate() {
                if matches!(meaning(&request.key), Meaning::Value) {
                    originals.push(index);
                    inner.push(request);
                } else {
                    documents.push((index, request));
                }
            }
            let values = self.container.get_many(inner, budget);
            let values = values.filter_map(move |(number, found)| Some((*originals.get(number)?, found)));
            let documents = documents.into_iter().map(|(index, request)| (index, get_one(self, &request)));
            Box::new(values.chain(documents))
        }

        fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
            match meaning(key) {
                Meaning::Value => self.container.size(key),
                Meaning::Hidden => Ok(None),
                Meaning::Document(folder) => {
                    let document = self.document(&folder, ByteRange::Full.into())?;
                    Ok(document.map(|document| document.bytes.len() as u64))
                }
            }
        }

        fn array_document(&self, key: &Key, document: &Value) -> StoreResult<Option<Value>> {
            let refused = |reason: String| {
                let path = key.parent();
                Invalid::new(format!("an N5 container cannot hold `/{}`: {reason}", path.as_str().trim_end_matches('/')))
            };
            let adapted = writing::adapted(document).map_err(refused)?;
            let folder = key.parent();
            let n5 = writing::n5_of(adapted.as_ref().unwrap_or(document), false).map_err(refused)?;
            if let Some(blocks) = Blocks::of(&n5) {
                // A folder that exists is a group or an array.
                if self.is_new(&folder) || !self.container.capabilities().listable || !self.is_folder(&folder)? {
                    let mut new = self.new.write().unwrap_or_else(PoisonError::into_inner);
                    new.insert(folder, Arc::new(blocks));
                }
            }
            Ok(adapted)
        }

        fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
            check(key)?;
            let Meaning::Document(folder) = meaning(key) else {
                return self.container.set(key, self.as_stored(key, value)?);
            };
            let attributes = self.as_attributes(&folder, &value)?;
            self.write_groups_above(&folder)?;
            self.container.set(&folder.key(ATTRIBUTES)?, attributes.into())?;
            self.forget_new(&folder);
            Ok(())
        }

        fn set_if(
            &self,
            key: &Key,
            value: Payload<'_>,
            condition: &Condition,
        ) -> StoreResult<ConditionalWrite> {
            check(key)?;
            let Meaning::Document(folder) = meaning(key) else {
                return self.container.set_if(key, self.as_stored(key, value)?, condition);
            };
            let attributes = self.as_attributes(&folder, &value)?.into();
            let inner = folder.key(ATTRIBUTES)?;
            let is_implicit = Condition::Unchanged(Version::new(IMPLICIT));
            let written = match condition {
                Condition::Missing if self.document(&folder, ByteRange::Full.into())?.is_some() => {
                    return Ok(ConditionalWrite::Conflict);
                }
                condition if *condition == is_implicit => {
                    self.container.set_if(&inner, attributes, &Condition::Missing)?
                }
                condition => self.container.set_if(&inner, attributes, condition)?,
            };
            if !written.is_conflict() {
                self.write_groups_above(&folder)?;
                self.forget_new(&folder);
            }
            Ok(written)
        }

        fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
            rewrite_values(self, values)
        }

        fn erase(&self, key: &Key) -> StoreResult<()> {
            match meaning(key) {
                Meaning::Value => self.container.erase(key),
                Meaning::Hidden => Ok(()),
                Meaning::Document(folder) => self.container.erase(&folder.key(ATTRIBUTES)?),
            }
        }

        fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
            match meaning(key) {
                Meaning::Value => self.container.erase_if(key, version),
                Meaning::Hidden => Ok(ConditionalWrite::Conflict),
                Meaning::Document(_) if version.bytes() == IMPLICIT => Ok(ConditionalWrite::Done(None)),
                Meaning::Document(folder) => self.container.erase_if(&folder.key(ATTRIBUTES)?, version),
            }
        }

        fn erase_values(&self, keys: &[Key]) -> StoreResult<()> {
            let inner = keys.iter().filter_map(|key| match meaning(key) {
                Meaning::Value => Some(Ok(key.clone())),
                Meaning::Hidden => None,
                Meaning::Document(folder) => Some(folder.key(ATTRIBUTES)),
            });
            self.container.erase_values(&inner.collect::<Result<Vec<_>, _>>()?)
        }

        fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
            self.container.erase_prefix(prefix)
        }

        fn chunk_cache(&self) -> Option<&dyn zarr_spec::store::ChunkCache> {
            None
        }

        fn caches_values(&self) -> bool {
            self.container.caches_values()
        }

        fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
            listing::keys(self, prefix)
        }

        fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
            listing::directory(self, prefix)
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct N5Configuration {
    /// The container.
    store: DescribedStore,
}

#[typetag::deserialize(name = "n5")]
impl StoreConfiguration for N5Configuration {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        Ok(Arc::new(N5Store::new(self.store.open(given)?)))
    }
}

fn open_step(step: &Step<'_>) -> StoreResult<Arc<dyn Store>> {
    if let Some((name, _)) = step.options.first() {
        return Err(Invalid::new(format!("`|n5:` does not have options, found `{name}`")).into());
    }
    Ok(Arc::new(N5Store::new(step.locations.open(step.input)?)))
}

/// Returns an error, because only a step can open other locations.
fn without_stores(url: &str) -> StoreResult<Arc<dyn Store>> {
    let what = format!("`{url}`: an N5 container needs a program that opens stores, or a JSON description");
    Err(Invalid::new(what).into())
}
