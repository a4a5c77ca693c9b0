//! The rules for storage transformers.

use std::sync::Arc;

use zarr_spec::store::{Capabilities, Store, get_value};
use zarr_spec::transformer::{ShardingTransformer, StorageTransformer, WrappingTransformer};
use zarr_spec::{Example, Invalid, Key, Mode, Prefix, Reading, Registry, Size, Value};

use super::tried::{Makes, RuleOf, Tried, shape_of, suite, text};
use super::{Cases, Level, Rule, Suite};
use crate::stores::{MinimalStore, hold, rules};
use crate::types;

type TransformerOnTrial = Tried<StorageTransformer>;

const RULES: &[RuleOf<TransformerOnTrial>] = &[
    (
        Rule {
            id: "transformer-shard",
            level: Level::L1,
            sentence: "A shard has at least one chunk along every dimension of the array, and an index of fixed size.",
            source: "`zarr_spec::transformer::ShardingTransformer`",
            since: "0.1",
        },
        shard,
    ),
    (
        Rule {
            id: "transformer-store",
            level: Level::L1,
            sentence: "A wrapped store is itself a store that follows every rule for stores.",
            source: "`zarr_spec::store::Store`",
            since: "0.1",
        },
        store,
    ),
    (
        Rule {
            id: "transformer-outside",
            level: Level::L1,
            sentence: "Keys outside the array are unaffected, for reads and writes.",
            source: "`zarr_spec::transformer::WrappingTransformer`",
            since: "0.1",
        },
        outside,
    ),
    (
        Rule {
            id: "transformer-no-state",
            level: Level::L1,
            sentence: "Two transformers around the same store see each other's changes.",
            source: "`zarr_spec::transformer::WrappingTransformer`",
            since: "0.1",
        },
        no_state,
    ),
    (
        Rule {
            id: "transformer-shape",
            level: Level::L2,
            sentence: "Arrays with another number of dimensions than the document are refused, without a panic.",
            source: "`zarr_spec::transformer::CreateStorageTransformer`",
            since: "0.1",
        },
        shape,
    ),
];

/// Keys of chunks and other values in the array `a/`.
const INSIDE: [&str; 4] = ["a/c/0/0", "a/c/1/17", "a/0.1", "a/zarr.json"];

/// Keys outside the array.
const OUTSIDE: [&str; 4] = ["zarr.json", "ab/c/0", "b/a/c/0/0", "meta/a.array.json"];

pub(super) fn add(registry: &Arc<Registry>, suites: &mut Vec<Suite>) {
    for &plugin in registry.storage_transformers().iter() {
        suites.push(suite(Tried { plugin, registry: Arc::clone(registry) }, &[RULES]));
    }
}

impl Makes for StorageTransformer {
    fn make(
        tried: &TransformerOnTrial,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        _cases: &mut Cases,
    ) -> Result<(), String> {
        tried.create(example, entry, shape_of(example), reading).map(drop)
    }
}

impl TransformerOnTrial {
    fn create(
        &self,
        example: &Example,
        entry: &Value,
        shape: &[u64],
        reading: &Reading,
    ) -> Result<StorageTransformer, String> {
        let document = self.parse(example, entry, reading)?;
        let create = |creation| -> Result<_, Invalid> { (self.plugin.create)(creation, shape) };
        create(&self.creation(example.format, &document, reading)).map_err(text)
    }

    fn uses(&self) -> Vec<(&'static Example, StorageTransformer)> {
        let used = |example: &'static Example| {
            let entry = super::tried::value(example.document).ok()?;
            let made = self.create(example, &entry, shape_of(example), &Reading::new(Mode::Strict)).ok()?;
            Some((example, made))
        };
        self.examples().iter().filter_map(used).collect()
    }

    fn wrapping(&self, cases: &mut Cases) -> Vec<(&'static Example, Arc<dyn WrappingTransformer>)> {
        let mut wrapping = Vec::new();
        for (example, made) in self.uses() {
            match made {
                StorageTransformer::Wrap(transformer) => wrapping.push((example, transformer)),
                StorageTransformer::Shard(_) => cases.skip("the engine reads and writes the shards itself"),
            }
        }
        wrapping
    }
}

fn empty() -> Arc<dyn Store> {
    Arc::new(MinimalStore::new(Capabilities::ALL))
}

fn array() -> Result<Prefix, String> {
    Prefix::new("a/").map_err(text)
}

fn shard(trial: &TransformerOnTrial, cases: &mut Cases) {
    for (example, made) in trial.uses() {
        match made {
            StorageTransformer::Shard(shard) => {
                cases.check(example.document, is_shard(&shard, shape_of(example).len()))
            }
            StorageTransformer::Wrap(_) => cases.skip("it does not use shards"),
        }
    }
}

fn is_shard(shard: &ShardingTransformer, rank: usize) -> Result<(), String> {
    let chunks = &shard.chunks_per_shard;
    if chunks.len() != rank || chunks.contains(&0) {
        return Err(format!("a shard has {chunks:?} chunks along {rank} dimensions"));
    }
    let index = crate::array(&[chunks.as_slice(), &[2]].concat(), types::UINT64);
    match shard.index_codecs.resolve(&index).map_err(text)?.encoded_size {
        Size::Exact(_) => Ok(()),
        other => Err(format!("the size of the index is {other:?}, expected a fixed size")),
    }
}

fn store(trial: &TransformerOnTrial, cases: &mut Cases) {
    for (example, transformer) in trial.wrapping(cases) {
        for rule in rules() {
            let result = hold(transformer.wrap(empty(), &Prefix::root()), rule);
            cases.check(format!("{}, {}", example.document, rule.0.id), result);
        }
    }
}

fn outside(trial: &TransformerOnTrial, cases: &mut Cases) {
    for (example, transformer) in trial.wrapping(cases) {
        let pass = || -> Result<(), String> {
            let next = empty();
            let wrapped = transformer.wrap(Arc::clone(&next), &array()?);
            for (number, text) in OUTSIDE.into_iter().enumerate() {
                let stores = if number % 2 == 0 { [&wrapped, &next] } else { [&next, &wrapped] };
                set(&**stores[0], text)?;
                has(&**stores[1], text)?;
            }
            let listed: Vec<String> =
                wrapped.list().map_err(|error| error.to_string())?.iter().map(ToString::to_string).collect();
            let mut wanted = OUTSIDE.map(str::to_owned);
            wanted.sort_unstable();
            if listed == wanted { Ok(()) } else { Err(format!("the listed keys are {listed:?}")) }
        };
        cases.check(example.document, pass());
    }
}

fn no_state(trial: &TransformerOnTrial, cases: &mut Cases) {
    for (example, transformer) in trial.wrapping(cases) {
        let sees = || -> Result<(), String> {
            let next = empty();
            let array = array()?;
            let first = transformer.wrap(Arc::clone(&next), &array);
            INSIDE.into_iter().try_for_each(|text| set(&*first, text))?;
            let second = transformer.wrap(next, &array);
            INSIDE.into_iter().try_for_each(|text| has(&*second, text))?;
            // A change through the second transformer must be visible through the first.
            second.erase(&key(INSIDE[0])?).map_err(text)?;
            match get_value(&*first, &key(INSIDE[0])?, 100).map_err(text)? {
                None => Ok(()),
                Some(_) => Err(format!("`{}` was erased but still exists", INSIDE[0])),
            }
        };
        cases.check(example.document, sees());
    }
}

fn key(text: &str) -> Result<Key, String> {
    Key::new(text).map_err(|error| error.to_string())
}

/// Sets a key to its own text.
fn set(store: &dyn Store, at: &str) -> Result<(), String> {
    store.set(&key(at)?, at.as_bytes().into()).map_err(text)
}

fn has(store: &dyn Store, at: &str) -> Result<(), String> {
    match get_value(store, &key(at)?, 1000).map_err(text)? {
        Some(value) if value == at.as_bytes() => Ok(()),
        other => Err(format!("`{at}` is {other:?}")),
    }
}

fn shape(trial: &TransformerOnTrial, cases: &mut Cases) {
    for example in trial.examples() {
        let Ok(entry) = super::tried::value(example.document) else { continue };
        let own = shape_of(example);
        let longer = [own, &[1]].concat();
        for shape in [&[][..], &own[1..], &longer, &vec![u64::MAX; own.len()], &vec![0; own.len()]] {
            let made = trial.create(example, &entry, shape, &Reading::new(Mode::Strict));
            let result = match made {
                Ok(StorageTransformer::Shard(shard)) if shard.chunks_per_shard.len() != shape.len() => {
                    Err(format!(
                        "a shard has {:?} chunks, which is another number of dimensions",
                        shard.chunks_per_shard
                    ))
                }
                _ => Ok(()),
            };
            cases.check(format!("{} for {shape:?}", example.document), result);
        }
    }
}
