//! The `sharding_indexed` codec of Zarr: stores many inner chunks and an index in one value.
//!
//! Array to bytes. The codec does not compute anything: it is a [`Shard`], so that an engine can access the
//! inner chunks. `codecs` may contain another `sharding_indexed`. The index has data type `uint64`, which the
//! registry must contain.
//!
//! Source: "Sharding codec" in the Zarr v3 specification, version 1.0.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zarr_metadata::v3;
use zarr_spec::codec::Shard;
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::chain::{ChainCreation, Link, inner_grid_shape};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecChain, CodecError, CodecPlugin, CodecResult, Creation, Elements,
    Example, FillValue, Format, Identifiers, Object, Representation, Size, Value,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("sharding_indexed"), &create)
        .translated_by(&translate)
        .configuration::<ShardingConfiguration>()
        .about("Stores many inner chunks in one value, with an index of their positions.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "sharding_indexed",
            "configuration": {"chunk_shape": [2, 3],
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "zstd", "configuration": {"level": 3, "checksum": false}}],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "crc32c"}]}}"#,
    )
    .with_data_types(&["int16", "float32", "float64"])
    .with_shape(&[4, 6]),
    Example::v3(
        r#"{"name": "sharding_indexed",
            "configuration": {"chunk_shape": [2, 2, 2],
            "codecs": [{"name": "transpose", "configuration": {"order": [2, 1, 0]}},
            {"name": "bytes", "configuration": {"endian": "little"}}],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "crc32c"}], "index_location": "start"}}"#,
    )
    .with_data_types(&["int16", "float32", "float64"])
    .with_shape(&[2, 4, 8]),
];

#[derive(Deserialize, Serialize)]
struct ShardingConfiguration {
    chunk_shape: Vec<u64>,
    codecs: Value,
    index_codecs: Value,
    #[serde(default)]
    index_location: IndexLocation,
}

#[derive(Deserialize, Serialize, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum IndexLocation {
    Start,
    #[default]
    End,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::Shard(Arc::new(shard(creation, &creation.parse()?, decoded)?)))
}

/// Translates the codecs of both lists by their plugins. Tolerated deviations are not preserved.
fn translate(creation: &Creation<'_>, decoded: &Representation, _to: Format) -> CodecResult<Object> {
    let read = creation.parse::<ShardingConfiguration>()?;
    let shard = shard(creation, &read, decoded)?;
    let written = ShardingConfiguration {
        codecs: documents_of(creation, &shard.inner_codecs)?,
        index_codecs: documents_of(creation, &shard.index_codecs)?,
        ..read
    };
    match zarr_json::to_value(&written) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(other) => {
            Err(CodecError::configuration(format!("expected an object, found {}", other.kind_name())))
        }
        Err(error) => Err(CodecError::configuration(error.to_string())),
    }
}

/// Returns a chain as a list of documents.
fn documents_of(creation: &Creation<'_>, chain: &CodecChain) -> CodecResult<Value> {
    let entry = |(position, link): (usize, &Link)| {
        let document = link.document.as_ref()?;
        Some(translated_document(creation, document, chain.created_for(position)))
    };
    chain.links().iter().enumerate().filter_map(entry).collect()
}

fn translated_document(
    creation: &Creation<'_>,
    document: &ExtensionDocument,
    decoded: &Representation,
) -> CodecResult<Value> {
    let ExtensionDocument { identifier, configuration, .. } = document;
    let mut name = identifier.clone();
    let mut configuration = configuration.clone();
    // If this plugin was loaded as a library, the program may know codecs that the library does not know. These are not
    // translated.
    if creation.registry.unknown_codec(creation.format, identifier).is_none() {
        let inner = creation.inner(document);
        let translated = creation.registry.translated_codec(&inner, decoded, creation.format)?;
        (name, configuration) = (translated.identifier, translated.configuration);
    }
    let mut members = Object::new();
    members.insert("name", name);
    if configuration.as_object().is_some_and(|members| !members.is_empty()) {
        members.insert("configuration", configuration);
    }
    Ok(Value::Object(members))
}

fn shard(
    creation: &Creation<'_>,
    configuration: &ShardingConfiguration,
    decoded: &Representation,
) -> CodecResult<Shard> {
    let Representation::Array(shard) = decoded else {
        return Err(CodecError::Unsupported(
            "expected an array, but the preceding codec produces bytes".into(),
        ));
    };
    let inner_shape = configuration.chunk_shape.clone();
    let index = index_array(creation, inner_grid_shape(&shard.shape, &inner_shape)?)?;
    let inner = shard.clone().with_shape(inner_shape.clone());
    let inner_codecs = chain(creation, "codecs", &configuration.codecs, &inner)?;
    let index_codecs = index_chain(creation, &configuration.index_codecs, &index)?;
    let index_at_start = configuration.index_location == IndexLocation::Start;
    Ok(Shard::new(inner_shape, inner_codecs, index_codecs).with_index_at_start(index_at_start))
}

/// Returns the array of the index: offset and size of every inner chunk, both 2^64 - 1 for a missing one.
fn index_array(creation: &Creation<'_>, grid_shape: Vec<u64>) -> CodecResult<ArrayRepresentation> {
    let document = DataTypeDocument::named("uint64");
    let data_type = creation.registry.data_type(Format::V3, &document, creation.reading);
    let (data_type, _) = data_type
        .map_err(|error| CodecError::Unsupported(format!("the index needs data type `uint64`: {error}")))?;
    if !matches!(data_type.elements(), Elements::Fixed { size: 8, .. }) {
        return Err(CodecError::Unsupported(
            "the index needs data type `uint64` with elements of 8 bytes".into(),
        ));
    }
    let shape = grid_shape.into_iter().chain([2]).collect();
    let fill_value = FillValue::new([0xff; 8]);
    Ok(ArrayRepresentation::new(shape, data_type, fill_value))
}

/// Creates the chain of the index. Readers must know the size of the index before they read it, so the size
/// must not depend on its contents.
fn index_chain(
    creation: &Creation<'_>,
    documents: &Value,
    index: &ArrayRepresentation,
) -> CodecResult<CodecChain> {
    let index_codecs = chain(creation, "index_codecs", documents, index)?;
    if matches!(index_codecs.encoded_size(), Size::Exact(_)) {
        return Ok(index_codecs);
    }
    let links = index_codecs.links();
    let varies =
        |decoded: &Representation| matches!(decoded, Representation::Bytes(Size::AtMost(_) | Size::Unknown));
    let culprit = links
        .iter()
        .skip(1)
        .position(|after| varies(&after.decoded))
        .map_or(links.last(), |at| links.get(at));
    let name = culprit.map_or("", |link| link.name());
    Err(CodecError::configuration(format!("`index_codecs`: the encoded size of `{name}` is not fixed")))
}

/// Creates the chain of the list `member`, which must contain an array-to-bytes codec.
fn chain(
    creation: &Creation<'_>,
    member: &str,
    documents: &Value,
    array: &ArrayRepresentation,
) -> CodecResult<CodecChain> {
    let documents = v3::extensions(member, documents, creation.reading)
        .map_err(|error| CodecError::configuration(error.to_string()))?;
    let chain =
        CodecChain::create(&ChainCreation::of(creation), None, &documents, array).map_err(Box::new)?;
    if chain.links().iter().any(|link| link.document.is_none()) {
        return Err(CodecError::configuration(format!(
            "`{member}` does not contain an array-to-bytes codec"
        )));
    }
    Ok(chain)
}
