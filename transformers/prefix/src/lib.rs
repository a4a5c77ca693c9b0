//! The `prefix` transformer: a store that is rooted inside of another one.
//!
//! Key `k` is key `PREFIXk` of the other store; what lies outside of the prefix is not there. Described as
//! `{"type": "prefix", "prefix": "a/b", "store": {…}}`, with or without `/` at the end.
//!
//! Source: "Storage transformers" in the Zarr v3 draft of 2022, on those that leave the stored form as it is.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{
    Begun, Caching, Capabilities, Changes, ChunkCache, ChunkName, Delivery, Directory, Got, Manner, Request,
    Store, StoreConfiguration, StoreError, StorePlugin,
};
use zarr_spec::{ByteRange, Bytes, Example, Invalid, Key, KeyError, Output, Prefix, typetag};

zarr_spec::register!(
    StorePlugin::new("prefix", &[], &without_a_url)
        .configuration::<PrefixConfiguration>()
        .about("Shows what another store has below a prefix.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(
    r#"{"type": "prefix", "prefix": "a/b", "store": {"type": "filesystem",
            "path": "data.zarr"}}"#,
)];

/// What another store has below a prefix.
#[derive(Debug)]
pub struct PrefixStore {
    store: Arc<dyn Store>,
    root: Prefix,
}

impl PrefixStore {
    /// What is in `store` below `root`.
    pub fn new(store: Arc<dyn Store>, root: Prefix) -> Self {
        Self { store, root }
    }

    fn outer_key(&self, key: &Key) -> Result<Key, KeyError> {
        self.root.key(key.as_str())
    }

    fn outer_prefix(&self, prefix: &Prefix) -> Result<Prefix, KeyError> {
        Prefix::new(format!("{}{prefix}", self.root))
    }

    fn chunks(&self) -> Option<&dyn ChunkCache> {
        match self.store.caching() {
            Caching::Decoded(chunks) => Some(chunks),
            Caching::None | Caching::Encoded => None,
        }
    }

    /// What a store lists outside of what it was asked for is left out.
    fn inner_keys(&self, keys: Vec<Key>) -> Result<Vec<Key>, StoreError> {
        let inner = keys.iter().filter_map(|key| self.root.strip(key.as_str()));
        Ok(inner.map(Key::new).collect::<Result<_, _>>()?)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for PrefixStore {
    fn location(&self) -> String {
        format!("{}, below `{}`", self.store.location(), self.root)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn manner(&self) -> Manner {
        self.store.manner()
    }

    fn get(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        self.store.get(&self.outer_key(key)?, range, to)
    }

    fn get_many<'a>(
        &'a self,
        requests: Vec<Request>,
        budget: usize,
    ) -> Box<dyn Iterator<Item = Delivery> + Send + 'a> {
        let count = requests.len();
        let outer =
            requests.into_iter().map(|request| Ok(Request { key: self.outer_key(&request.key)?, ..request }));
        match outer.collect::<Result<_, KeyError>>() {
            Ok(requests) => self.store.get_many(requests, budget),
            Err(error) => Box::new((0..count).map(move |number| (number, Err(error.clone().into())))),
        }
    }

    fn get_once(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        self.store.get_once(&self.outer_key(key)?, range, to)
    }

    fn caching(&self) -> Caching<'_> {
        match self.store.caching() {
            Caching::Decoded(_) => Caching::Decoded(self),
            caching => caching,
        }
    }

    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        self.store.set(&self.outer_key(key)?, value)
    }

    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
        let outer = |(key, offset, part): &(Key, u64, _)| Ok((self.outer_key(key)?, *offset, *part));
        let values: Vec<(Key, u64, &[u8])> = values.iter().map(outer).collect::<Result<_, KeyError>>()?;
        self.store.set_partial_values(&values)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.store.erase(&self.outer_key(key)?)
    }

    fn erase_values(&self, keys: &[Key]) -> Result<(), StoreError> {
        let keys: Vec<Key> = keys.iter().map(|key| self.outer_key(key)).collect::<Result<_, _>>()?;
        self.store.erase_values(&keys)
    }

    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        self.store.erase_prefix(&self.outer_prefix(prefix)?)
    }

    fn list(&self) -> Result<Vec<Key>, StoreError> {
        self.inner_keys(self.store.list_prefix(&self.root)?)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.inner_keys(self.store.list_prefix(&self.outer_prefix(prefix)?)?)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        let outer = self.store.list_dir(&self.outer_prefix(prefix)?)?;
        let prefixes = outer.prefixes.iter().filter_map(|prefix| self.root.strip(prefix.as_str()));
        Ok(Directory {
            prefixes: prefixes.map(Prefix::new).collect::<Result<_, _>>()?,
            keys: self.inner_keys(outer.keys)?,
        })
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.store.size(&self.outer_key(key)?)
    }
}

/// The chunks that the other store keeps below the prefix.
impl ChunkCache for PrefixStore {
    fn begin(&self) -> Begun {
        self.chunks().map_or(Begun(0), ChunkCache::begin)
    }

    fn changes(&self, key: &Key) -> Changes {
        let there = self.chunks().zip(self.outer_key(key).ok());
        there.map_or(Changes(0), |(chunks, key)| chunks.changes(&key))
    }

    fn find(&self, chunk: &ChunkName<'_>) -> Option<Bytes> {
        self.chunks()?.find(&ChunkName { key: &self.outer_key(chunk.key).ok()?, ..*chunk })
    }

    fn has_room(&self, chunk: &ChunkName<'_>, size: usize, begun: Begun) -> bool {
        self.chunks()
            .zip(self.outer_key(chunk.key).ok())
            .is_some_and(|(chunks, key)| chunks.has_room(&ChunkName { key: &key, ..*chunk }, size, begun))
    }

    fn keep(&self, chunk: &ChunkName<'_>, decoded: Bytes, changes: Changes, begun: Begun) -> bool {
        self.chunks().zip(self.outer_key(chunk.key).ok()).is_some_and(|(chunks, key)| {
            chunks.keep(&ChunkName { key: &key, ..*chunk }, decoded, changes, begun)
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrefixConfiguration {
    prefix: String,
    store: Box<dyn StoreConfiguration>,
}

#[typetag::deserialize(name = "prefix")]
impl StoreConfiguration for PrefixConfiguration {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        let text = match self.prefix.as_str() {
            "" => String::new(),
            text if text.ends_with('/') => text.to_owned(),
            text => format!("{text}/"),
        };
        Ok(Arc::new(PrefixStore::new(self.store.open(given)?, Prefix::new(text)?)))
    }
}

/// No scheme leads here.
fn without_a_url(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    Err(Invalid::new(format!(
        "`{url}`: a store below a prefix is described in JSON, with the store it is in"
    ))
    .into())
}
