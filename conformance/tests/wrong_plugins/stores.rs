//! Storage transformers and stores with one fault each.

use std::sync::Arc;

use serde::Deserialize;
use zarr_conformance::array;
use zarr_conformance::stores::MinimalStore;
use zarr_conformance::types::UINT64;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::store::{
    Capabilities, Directory, GetOptions, GetResult, Keys, OpenStore, Payload, ReadHints, Store,
    StoreConfiguration, StoreError, StorePlugin,
};
use zarr_spec::transformer::{
    ShardingTransformer, StorageTransformer, StorageTransformerPlugin, WrappingTransformer,
};
use zarr_spec::{
    ByteOrder, ByteRange, Codec, CodecChain, CodecPlugin, Example, Invalid, Key, Output, Prefix, Value,
    typetag,
};

use crate::{Wrong, each_breaks_its_rules, example, examples, leaked, named};

const TRANSFORMERS: &[Wrong] = &[
    ("nothing", &[]),
    ("loses-ranges", &["transformer-store"]),
    ("keeps-values-aside", &["transformer-no-state"]),
    ("drops-what-is-outside", &["transformer-outside"]),
    ("counts-on-two-dimensions", &["transformer-shape"]),
    ("makes-empty-shards", &["transformer-shard"]),
];

const STORES: &[Wrong] = &[
    ("lists-deep", &["D3-STORE-08", "D3-STORE-29", "D3-STORE-32", "V3-STORE-11"]),
    ("panics-on-urls", &["store-locations"]),
    ("forgets-values", &["store-reopened"]),
];

#[test]
fn storage_transformers_with_one_fault_break_the_matching_rule() {
    each_breaks_its_rules(TRANSFORMERS, |registry, name| {
        let plugin = StorageTransformerPlugin::new(named(name), &|creation, shape| {
            creation.parse::<Nothing>()?;
            if creation.identifier == "counts-on-two-dimensions" {
                let _area = shape[0].saturating_mul(shape[1]);
            }
            if creation.identifier == "makes-empty-shards" {
                let registry = creation.registry;
                let reading = creation.reading;
                let chain = ChainCreation::new(creation.format, registry, reading);
                let codecs = [ExtensionDocument::new("bytes", Value::Null)];
                let index = array(&[1, 2], UINT64);
                let index_codecs = CodecChain::create(&chain, None, &codecs, &index)
                    .map_err(|error| Invalid::new(error.to_string()))?;
                let chunks_per_shard = vec![0; shape.len()];
                return Ok(StorageTransformer::Shard(ShardingTransformer::new(
                    chunks_per_shard,
                    index_codecs,
                )));
            }
            Ok(StorageTransformer::Wrap(Arc::new(Transformer(creation.identifier.to_owned()))))
        });
        let bytes = CodecPlugin::new(named("bytes"), &|_, _| Ok(Codec::Binary(ByteOrder::Little)));
        registry.register(bytes).unwrap();
        registry.register(plugin.about("Does one thing wrong.", examples([example(name)]))).unwrap();
    });
}

#[test]
fn stores_with_one_fault_break_the_matching_rules() {
    each_breaks_its_rules(STORES, |registry, name| {
        let open: &OpenStore = match name {
            "panics-on-urls" => &|url| panic!("{url}"),
            _ => &|_| Err(Invalid::new("this store can only be described with JSON").into()),
        };
        let path = if name == "forgets-values" { r#", "path": "data""# } else { "" };
        let example = Example::v3(leaked(format!("{{\"type\": \"{name}\"{path}}}")));
        let plugin = StorePlugin::new(name, &[], open).about("Does one thing wrong.", examples([example]));
        registry.register_store(plugin).unwrap();
    });
}

#[derive(Deserialize)]
struct Nothing {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {}

#[typetag::deserialize(name = "lists-deep")]
impl StoreConfiguration for Described {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(Wrapped {
            wrong: "lists-deep".to_owned(),
            next: empty(),
            aside: empty(),
            array: Prefix::root(),
        }))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {}

#[typetag::deserialize(name = "panics-on-urls")]
impl StoreConfiguration for Plain {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(empty())
    }
}

fn empty() -> Arc<dyn Store> {
    Arc::new(MinimalStore::new(Capabilities::ALL))
}

#[derive(Debug)]
struct Transformer(String);

impl WrappingTransformer for Transformer {
    fn wrap(&self, next: Arc<dyn Store>, array: &Prefix) -> Arc<dyn Store> {
        Arc::new(Wrapped { wrong: self.0.clone(), next, aside: empty(), array: array.clone() })
    }
}

/// A wrapped store with one fault.
#[derive(Debug)]
struct Wrapped {
    wrong: String,
    next: Arc<dyn Store>,
    aside: Arc<dyn Store>,
    array: Prefix,
}

impl Wrapped {
    fn is(&self, wrong: &str) -> bool {
        self.wrong == wrong
    }

    /// Returns the store that has the value of a key.
    fn store(&self, key: &Key) -> &dyn Store {
        let is_inside = self.array.strip(key.as_str()).is_some();
        if self.is("keeps-values-aside") && is_inside { &*self.aside } else { &*self.next }
    }
}

impl Store for Wrapped {
    fn location(&self) -> String {
        self.next.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.next.capabilities().unconditional()
    }

    fn read_hints(&self) -> ReadHints {
        self.next.read_hints()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let options = if self.is("loses-ranges") { ByteRange::Full.into() } else { options };
        self.store(key).get(key, options, to)
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        if self.is("drops-what-is-outside") && self.array.strip(key.as_str()).is_none() {
            return Ok(());
        }
        self.store(key).set(key, value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.store(key).erase(key)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        Ok(Box::new(self.next.list_prefix(prefix)?.chain(self.aside.list_prefix(prefix)?)))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        let directory = zarr_spec::store::directory(prefix, self.list_prefix(prefix)?)?;
        if !self.is("lists-deep") {
            return Ok(directory);
        }
        let keys = self.list_prefix(prefix)?.collect::<Result<_, _>>()?;
        Ok(Directory::new(keys, directory.prefixes))
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.store(key).size(key)
    }
}

/// A store in files that begins empty whenever it is opened.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Forgetful {
    #[serde(rename = "path")]
    _path: String,
}

#[typetag::deserialize(name = "forgets-values")]
impl StoreConfiguration for Forgetful {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(empty())
    }
}
