//! What an array becomes when it is copied: the metadata of the copy.

use zarr_kit::spec::codec::Codec;
use zarr_kit::spec::extension::ExtensionDocument;
use zarr_kit::spec::metadata::ArrayMetadata;
use zarr_kit::spec::{ByteOrder, CodecChain, Representation, Value};
use zarr_kit::{Array, ArrayBuilder, Error, Format, Order, convert_metadata};

use crate::arguments::Copy;
use crate::describe::chunk_shape;
use crate::failure::Failure;
use crate::verbs::create::with_codecs;

/// The metadata that a copy of `array` has.
pub(crate) fn metadata(array: &Array, format: Format, asked: &Copy) -> Result<ArrayMetadata, Failure> {
    let registry = array.hierarchy().context().registry();
    if array.fallback().is_some() {
        return Err(Failure::fault("its data type is not known, and a fallback is no copy"));
    }
    let is_as_before = asked.chunks.is_none() && asked.shards.is_none() && asked.codecs.is_empty();
    if is_as_before {
        return Ok(convert_metadata(array.metadata(), format, registry)?);
    }
    let source = array.metadata();
    let mut builder = ArrayBuilder::new(array.shape(), data_type(array, asked.codecs.is_empty()))
        .attributes(source.attributes.clone())
        .fill_value(fill_value(array, format, asked.codecs.is_empty())?);
    if let Some(names) = array.dimension_names() {
        builder = builder.dimension_names(names);
    }
    let inner = array.inner_chunk_shape()?;
    let (chunks, shards) = match (&asked.chunks, &asked.shards, inner) {
        (Some(chunks), shards, _) => (chunks.0.clone(), shards.as_ref().map(|shards| shards.0.clone())),
        (None, Some(shards), inner) => (inner.unwrap_or_else(|| chunk_shape(array)), Some(shards.0.clone())),
        // A format without shards has the inner chunks as chunks.
        (None, None, Some(inner)) if format == Format::V3 => (inner, Some(chunk_shape(array))),
        (None, None, inner) => (inner.unwrap_or_else(|| chunk_shape(array)), None),
    };
    builder = builder.chunks(chunks);
    if let Some(shards) = shards {
        builder = builder.shards(shards);
    }
    builder = match asked.codecs.is_empty() {
        true => with_codecs_of(builder, array)?,
        false => with_codecs(builder, asked.codecs.clone()),
    };
    Ok(builder.metadata(format, registry)?)
}

/// The data type as its document has it, with its byte order, when the codecs are kept; else without: the codecs
/// decide.
fn data_type(array: &Array, keeps_codecs: bool) -> Value {
    let own = || array.metadata().data_type.json.clone();
    if keeps_codecs {
        return own();
    }
    let documents = [Format::V3, Format::V2, Format::V3Draft]
        .into_iter()
        .find_map(|format| array.data_type().document(format, &ByteOrder::Little).ok());
    documents.map_or_else(own, |document| document.json)
}

/// In the byte order of the data type that [`data_type`] gives: some forms hold the bytes of an element.
fn fill_value(array: &Array, format: Format, keeps_codecs: bool) -> Result<Value, Failure> {
    if array.fill_is_undefined() && format == Format::V2 {
        return Ok(Value::Null);
    }
    let declared = array.codecs().links().first().map(|link| &link.decoded);
    let order = match declared {
        Some(Representation::Array(declared)) if keeps_codecs => &declared.byte_order,
        _ => &ByteOrder::Little,
    };
    let json = array.data_type().fill_value_json(array.fill_value().bytes(), format, order);
    json.map_err(|error| Failure::Fault(error.into()))
}

/// The codecs that encode a chunk, or an inner chunk.
fn with_codecs_of(mut builder: ArrayBuilder, array: &Array) -> Result<ArrayBuilder, Failure> {
    builder = match &array.metadata().memory_layout {
        Some(layout) if layout.identifier == "F" => builder.order(Order::F),
        Some(layout) if layout.identifier != "C" => {
            let what = format!(
                "memory layout `{}` with other chunks; `--codec` says what is to be instead",
                layout.identifier
            );
            return Err(Error::NotSupported(what).into());
        }
        _ => builder,
    };
    let documents = documents(array.codecs());
    if documents.is_empty() {
        return Ok(builder.uncompressed());
    }
    Ok(documents
        .into_iter()
        .fold(builder, |builder, document| builder.codec(document.identifier, document.configuration)))
}

fn documents(chain: &CodecChain) -> Vec<ExtensionDocument> {
    let mut documents = Vec::new();
    for link in chain.links() {
        match (&link.codec, &link.document) {
            (Codec::Shard(shard), _) => documents.extend(self::documents(&shard.inner_codecs)),
            (_, Some(document)) => documents.push(document.clone()),
            (_, None) => {}
        }
    }
    documents
}
