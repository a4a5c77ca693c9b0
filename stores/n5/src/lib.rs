//! The `n5` store: an N5 container as a hierarchy of Zarr v3, read-only.
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
//!
//! Other compressions, such as `lz4`, become a codec `n5.NAME`, which is unknown: the array is listed, and reading it
//! names the codec.
//!
//! Opened as `n5:LOCATION`, as the step `LOCATION|n5:` of a URL pipeline, or as `{"type": "n5", "store": {…}}`.
//!
//! Source: N5 specification 4.0; `codecs/n5_default` in the Zarr extension registry.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, Contents, DescribedStore, Directory, GetOptions, GetResult, Keys, Request, Responses, Step,
    Store, StoreConfiguration, StoreError, StorePlugin, StoreResult, get_one, get_value, shared_part,
};
use zarr_spec::{Bytes, Example, Invalid, Key, Output, Prefix, typetag};

mod document;
mod listing;

zarr_spec::register!(
    StorePlugin::new("n5", &["n5"], &without_stores)
        .step(&open_step)
        .configuration::<N5Configuration>()
        .about("Reads N5 containers as hierarchies of Zarr v3.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[Example::v3(r#"{"type": "n5", "store": {"type": "filesystem", "path": "data.n5"}}"#)];

/// The documents of N5, and those that replace them.
const ATTRIBUTES: &str = "attributes.json";
const DOCUMENT: &str = "zarr.json";

/// The maximum size of a document in bytes.
const MAX_DOCUMENT: usize = 16 << 20;

/// An N5 container.
#[derive(Debug)]
pub struct N5Store(Arc<dyn Store>);

impl N5Store {
    /// Presents the N5 container whose root is the root of `store`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }

    /// Returns the document of the node at `folder`; `None` if it is not a node.
    fn document(&self, folder: &Prefix) -> StoreResult<Option<Bytes>> {
        if let Some(attributes) = self.attributes(folder)? {
            return self.converted(folder, &attributes).map(Some);
        }
        let is_node =
            self.0.capabilities().listable && self.is_folder(folder)? && !self.is_in_array(folder)?;
        Ok(is_node.then(|| Bytes::from_static(document::GROUP)))
    }

    fn attributes(&self, folder: &Prefix) -> StoreResult<Option<Bytes>> {
        get_value(&*self.0, &folder.key(ATTRIBUTES)?, MAX_DOCUMENT)
    }

    fn converted(&self, folder: &Prefix, attributes: &[u8]) -> StoreResult<Bytes> {
        let place = || format!("{}/{folder}{ATTRIBUTES}", self.0.location());
        document::convert(attributes).map_err(|reason| StoreError::io("reading", place(), reason))
    }

    /// Returns whether the document of a folder is that of an array. A damaged document is not.
    fn is_array(&self, folder: &Prefix) -> StoreResult<bool> {
        Ok(self.attributes(folder)?.is_some_and(|attributes| document::is_array(&attributes)))
    }

    fn is_folder(&self, folder: &Prefix) -> StoreResult<bool> {
        self.0.list_prefix(folder)?.next().transpose().map(|first| first.is_some())
    }

    /// Returns whether a folder above this one is an array.
    fn is_in_array(&self, folder: &Prefix) -> StoreResult<bool> {
        let mut above = folder.parent();
        while let Some(folder) = above {
            if self.is_array(&folder)? {
                return Ok(true);
            }
            above = folder.parent();
        }
        Ok(false)
    }
}

/// The forms of a key.
enum Meaning {
    /// A document, whose folder is this.
    Document(Prefix),
    /// The key does not exist: its name is that of a document of N5.
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

zarr_spec::delegate_store! {
    impl Store for N5Store {
        forward(self.0): read_hints;
        refuse: write, remove;

        fn location(&self) -> String {
            format!("{}|n5:", self.0.location())
        }

        fn capabilities(&self) -> Capabilities {
            self.0.capabilities().read_only()
        }

        fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
            match meaning(key) {
                Meaning::Value => self.0.get(key, options, to),
                Meaning::Hidden => Ok(None),
                Meaning::Document(folder) => {
                    let Some(document) = self.document(&folder)? else { return Ok(None) };
                    let size = document.len() as u64;
                    let part = shared_part(key, &document, options.range, to.remaining())?;
                    Ok(Some(GetResult::new(Contents::Shared(part), size, None)))
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
            let values = self.0.get_many(inner, budget);
            let values = values.filter_map(move |(number, found)| Some((*originals.get(number)?, found)));
            let documents = documents.into_iter().map(|(index, request)| (index, get_one(self, &request)));
            Box::new(values.chain(documents))
        }

        fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
            match meaning(key) {
                Meaning::Value => self.0.size(key),
                Meaning::Hidden => Ok(None),
                Meaning::Document(folder) => {
                    Ok(self.document(&folder)?.map(|document| document.len() as u64))
                }
            }
        }

        fn chunk_cache(&self) -> Option<&dyn zarr_spec::store::ChunkCache> {
            None
        }

        fn caches_values(&self) -> bool {
            self.0.caches_values()
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
