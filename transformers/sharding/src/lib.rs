//! The sharding storage transformer of the Zarr v3 draft: stores many chunks and an index in one value.
//!
//! The transformer does not compute anything: it describes how many chunks a shard has and how its index is
//! stored, so that an engine can access the chunks like those of the codec `sharding_indexed`. A shard contains
//! encoded chunks in any order, possibly with gaps. The index is at its end: offset and size of every chunk as
//! `uint64` in little endian, chunks in C order, both 2^64 - 1 for a missing chunk, without a checksum.
//!
//! With `chunks_per_shard` of `[2, 2]`, shard `c1/0` contains the chunks `c2/0`, `c2/1`, `c3/0` and `c3/1`.
//!
//! Source: "Sharding storage transformer", 1.0, of the Zarr v3 draft of 2022, and the files of zarr-python 2.11
//! to 2.18.

use serde::Deserialize;
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::transformer::{ShardingTransformer, StorageTransformer, StorageTransformerPlugin};
use zarr_spec::{
    ArrayRepresentation, CodecChain, Creation, Elements, Example, FillValue, Format, Identifiers, Invalid,
    counted,
};

zarr_spec::register!(
    StorageTransformerPlugin::new(
        // Final v3 has a codec instead of this transformer.
        Identifiers::uri("https://purl.org/zarr/spec/storage_transformers/sharding/1.0").with_aliases(&[
            "https://purl.org/zarr/spec/extensions/storage_transformers/sharding/1.0",
            "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0",
            "http://purl.org/zarr/spec/storage-transformers/sharding/1.0",
        ]),
        &create,
    )
    .configuration::<ShardingConfiguration>()
    .about("Stores several chunks in one value, with an index of their positions.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::draft(
    r#"{"extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0", "type": "indexed",
            "configuration": {"chunks_per_shard": [2, 2]}}"#,
)
.with_shape(&[4, 6])];

/// The only type of shards in the draft.
const INDEXED: &str = "indexed";

#[derive(Deserialize)]
struct ShardingConfiguration {
    chunks_per_shard: Vec<u64>,
}

fn create(creation: &Creation<'_>, array_shape: &[u64]) -> Result<StorageTransformer, Invalid> {
    if creation.type_name.and_then(|name| name.as_str()) != Some(INDEXED) {
        let given = creation.type_name.map_or_else(|| "missing".to_owned(), ToString::to_string);
        return Err(Invalid::new(format!("`type` is {given}; expected \"{INDEXED}\"")));
    }
    let chunks_per_shard = creation.parse::<ShardingConfiguration>()?.chunks_per_shard;
    let chunks_per_shard = checked(chunks_per_shard, array_shape.len())?;
    let index_codecs = index_codecs(creation, &chunks_per_shard)?;
    Ok(StorageTransformer::Shard(ShardingTransformer::new(chunks_per_shard, index_codecs)))
}

/// Checks the number of chunks per dimension. For an array without dimensions, zarr-python writes `[1]`,
/// while the specification requires `[]`.
fn checked(chunks_per_shard: Vec<u64>, rank: usize) -> Result<Vec<u64>, Invalid> {
    if rank == 0 && chunks_per_shard == [1] {
        return Ok(Vec::new());
    }
    if chunks_per_shard.len() != rank {
        let given = counted(chunks_per_shard.len(), "entry", "entries");
        let rank = counted(rank, "dimension", "dimensions");
        let what = format!("`chunks_per_shard` has {given}, but the array has {rank}");
        return Err(Invalid::new(what));
    }
    if chunks_per_shard.contains(&0) {
        return Err(Invalid::new(format!("`chunks_per_shard` {chunks_per_shard:?} contains a zero")));
    }
    Ok(chunks_per_shard)
}

/// Returns the codecs of plain `uint64` in little endian.
fn index_codecs(creation: &Creation<'_>, chunks_per_shard: &[u64]) -> Result<CodecChain, Invalid> {
    let &Creation { registry, reading, .. } = creation;
    let document = DataTypeDocument::named("uint64");
    let (data_type, _) = registry
        .data_type(Format::V3, &document, reading)
        .map_err(|error| Invalid::new(format!("the index of a shard needs data type `uint64`: {error}")))?;
    if !matches!(data_type.elements(), Elements::Fixed { size: 8, .. }) {
        return Err(Invalid::new("the index of a shard needs data type `uint64` with elements of 8 bytes"));
    }
    let shape = chunks_per_shard.iter().copied().chain([2]).collect();
    let fill_value = FillValue::new([0xff; 8]);
    let index = ArrayRepresentation::new(shape, data_type, fill_value);
    // The chain is created for the draft, because final v3 requires an array-to-bytes codec in each chain.
    let in_the_draft = ChainCreation::new(Format::V3Draft, registry, reading);
    let codecs = CodecChain::create(&in_the_draft, None, &[], &index);
    codecs.map_err(|error| Invalid::new(error.to_string()))
}
