//! Conversion of shards. The draft uses a storage transformer and v3 a codec; the stored bytes are the same.

use zarr_spec::codec::Shard;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::transformer::StorageTransformer;
use zarr_spec::{ByteOrder, Codec, Format, Mode, Object, Reading, Registry, Value};

use super::recipe::{BYTES, Recipe, RecipeStep};
use super::{Conversion, invalid};
use crate::error::Error;

const TRANSFORMER: &str = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0";

const CODEC: &str = "sharding_indexed";

/// Returns the v3 sharding codec, with the index at the end.
pub(crate) fn sharding(
    chunk_shape: &[u64],
    codecs: &[ExtensionDocument],
    index_codecs: &[ExtensionDocument],
) -> ExtensionDocument {
    let named = |entry: &ExtensionDocument| {
        let mut members = Object::new();
        members.insert("name", entry.identifier.as_str());
        if !entry.configuration.is_null() {
            members.insert("configuration", entry.configuration.clone());
        } else if entry.identifier.starts_with("numcodecs.") {
            // Inside of shards, zarr-python requires a configuration for these codecs.
            members.insert("configuration", Object::new());
        }
        Value::Object(members)
    };
    let mut configuration = Object::new();
    configuration.insert("chunk_shape", chunk_shape.iter().copied().collect::<Value>());
    configuration.insert("codecs", codecs.iter().map(named).collect::<Value>());
    configuration.insert("index_codecs", index_codecs.iter().map(named).collect::<Value>());
    configuration.insert("index_location", "end");
    ExtensionDocument::new(CODEC, Value::Object(configuration))
}

pub(crate) fn little_endian() -> ExtensionDocument {
    ExtensionDocument::new(BYTES, [("endian", "little")].into_iter().collect())
}

pub(super) fn transformer(chunks_per_shard: &[u64]) -> ExtensionDocument {
    let counts: Value = chunks_per_shard.iter().copied().collect();
    let configuration = [("chunks_per_shard", counts)].into_iter().collect();
    ExtensionDocument::new(TRANSFORMER, configuration).with_type_name(Some("indexed".into()))
}

/// Returns the chunks per dimension of a shard, if the transformer of the draft can represent `recipe`: only shards with a
/// plain index at their end, whose inner chunks are not shards. Returns `None` in a build without the transformer.
pub(super) fn transformer_counts(recipe: &Recipe, registry: &Registry) -> Option<Vec<u64>> {
    let reading = Reading::new(Mode::Lenient);
    registry.storage_transformers().find(Format::V3Draft, TRANSFORMER, &reading).ok()?;
    let [RecipeStep::Codec(codec)] = recipe.steps.as_slice() else { return None };
    let Codec::Shard(shard) = &codec.codec else { return None };
    let holds_shards = shard.inner_codecs.links().iter().any(|link| matches!(link.codec, Codec::Shard(_)));
    if shard.index_at_start || holds_shards || !has_plain_index(shard) {
        return None;
    }
    let lengths = recipe.array.shape.iter().zip(&shard.inner_shape);
    lengths.map(|(outer, inner)| outer.checked_div(*inner)).collect()
}

fn has_plain_index(shard: &Shard) -> bool {
    let [link] = shard.index_codecs.links() else { return false };
    matches!(&link.codec, Codec::Binary(ByteOrder::Little))
}

impl Conversion<'_> {
    pub(super) fn chunks_per_shard(&self) -> Result<Option<Vec<u64>>, Error> {
        let table = self.registry.storage_transformers();
        for (position, document) in self.source.storage_transformers.iter().enumerate() {
            let Ok(plugin) = table.find(self.source.format, &document.identifier, self.reading) else {
                continue;
            };
            let transformer = (plugin.create)(&self.creation(document), &self.source.shape);
            let transformer =
                transformer.map_err(|error| invalid(&format!("storage_transformers[{position}]"), error))?;
            if let StorageTransformer::Shard(sharding) = transformer {
                return Ok(Some(sharding.chunks_per_shard));
            }
        }
        Ok(None)
    }

    pub(super) fn shards_by(&self, document: &ExtensionDocument) -> bool {
        let table = self.registry.storage_transformers();
        let found = table.find(self.source.format, &document.identifier, self.reading);
        let made = found.map(|plugin| (plugin.create)(&self.creation(document), &self.source.shape));
        matches!(made, Ok(Ok(StorageTransformer::Shard(_))))
    }
}
