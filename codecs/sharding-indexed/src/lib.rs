//! The `sharding_indexed` codec of Zarr: many inner chunks and an index in one value.
//!
//! Array to bytes. It computes nothing itself: it is a [`Shard`], so that an engine goes down to the inner chunks.
//! `codecs` may shard again. The index is `uint64`, so the registry must have that data type.
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
    ArrayRepresentation, ByteOrder, Codec, CodecChain, CodecError, CodecPlugin, Creation, Elements, Example,
    FillValue, Format, Identifiers, Object, Representation, Size, Value,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("sharding_indexed"), &create)
        .translated_by(&translate)
        .configuration::<ShardingConfiguration>()
        .about("Stores many small chunks in one value, with an index of where each one is.", EXAMPLES)
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

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::Shard(Arc::new(shard(creation, &creation.parse()?, decoded)?)))
}

/// With the codecs of both lists as their plugins write them: nothing that was tolerated stays.
fn translate(creation: &Creation<'_>, decoded: &Representation, _to: Format) -> Result<Object, CodecError> {
    let read = creation.parse::<ShardingConfiguration>()?;
    let shard = shard(creation, &read, decoded)?;
    let written = ShardingConfiguration {
        codecs: said(creation, &shard.inner_codecs)?,
        index_codecs: said(creation, &shard.index_codecs)?,
        ..read
    };
    match zarr_json::to_value(&written) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(other) => Err(CodecError::configuration(format!("it is {}, not an object", other.kind_name()))),
        Err(error) => Err(CodecError::configuration(error.to_string())),
    }
}

/// A chain as a list of documents.
fn said(creation: &Creation<'_>, chain: &CodecChain) -> Result<Value, CodecError> {
    let entry = |(position, link): (usize, &Link)| {
        let document = link.document.as_ref()?;
        Some(said_by_its_plugin(creation, document, chain.created_for(position)))
    };
    chain.links().iter().enumerate().filter_map(entry).collect()
}

fn said_by_its_plugin(
    creation: &Creation<'_>,
    document: &ExtensionDocument,
    decoded: &Representation,
) -> Result<Value, CodecError> {
    let ExtensionDocument { identifier, configuration, type_name, .. } = document;
    let mut name = identifier.clone();
    let mut configuration = configuration.clone();
    // One that only the host of this library knows stays as it is.
    if creation.registry.unknown_codec(creation.format, identifier).is_none() {
        let type_name = type_name.as_ref();
        let inner = Creation { identifier, configuration: &document.configuration, type_name, ..*creation };
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
) -> Result<Shard, CodecError> {
    let Representation::Array(shard) = decoded else {
        return Err(CodecError::Unsupported(
            "expected an array, but the preceding codec produces bytes".into(),
        ));
    };
    let inner_shape = configuration.chunk_shape.clone();
    let index = index_array(creation, inner_grid_shape(&shard.shape, &inner_shape)?)?;
    let inner = ArrayRepresentation { shape: inner_shape.clone(), ..shard.clone() };
    Ok(Shard {
        inner_shape,
        inner_codecs: chain(creation, "codecs", &configuration.codecs, &inner)?,
        index_codecs: index_chain(creation, &configuration.index_codecs, &index)?,
        index_at_start: configuration.index_location == IndexLocation::Start,
    })
}

/// Offset and size of every inner chunk, all ones where it is not stored.
fn index_array(creation: &Creation<'_>, grid_shape: Vec<u64>) -> Result<ArrayRepresentation, CodecError> {
    let document = DataTypeDocument::named("uint64");
    let data_type = creation.registry.data_type(Format::V3, &document, creation.reading);
    let (data_type, _) =
        data_type.map_err(|error| CodecError::Unsupported(format!("the index needs `uint64`: {error}")))?;
    if !matches!(data_type.elements(), Elements::Fixed { size: 8, .. }) {
        return Err(CodecError::Unsupported(
            "the index needs `uint64`, and that has not 8 bytes here".into(),
        ));
    }
    let shape = grid_shape.into_iter().chain([2]).collect();
    let fill_value = FillValue::new([0xff; 8]);
    Ok(ArrayRepresentation { shape, data_type, fill_value, byte_order: ByteOrder::Little })
}

/// A reader must know where the index lies before it has read it, so its size may not depend on what it holds.
fn index_chain(
    creation: &Creation<'_>,
    documents: &Value,
    index: &ArrayRepresentation,
) -> Result<CodecChain, CodecError> {
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
    Err(CodecError::configuration(format!("`index_codecs`: what `{name}` encodes has no fixed size")))
}

/// A chain of the list `member`, which turns arrays into bytes by a codec that the list names.
fn chain(
    creation: &Creation<'_>,
    member: &str,
    documents: &Value,
    array: &ArrayRepresentation,
) -> Result<CodecChain, CodecError> {
    let documents = v3::extensions(member, documents, creation.reading)
        .map_err(|error| CodecError::configuration(error.to_string()))?;
    let &Creation { format, registry, reading, .. } = creation;
    let chain = CodecChain::create(&ChainCreation { format, registry, reading }, None, &documents, array)
        .map_err(Box::new)?;
    if chain.links().iter().any(|link| link.document.is_none()) {
        return Err(CodecError::configuration(format!("no codec of `{member}` turns the array into bytes")));
    }
    Ok(chain)
}
