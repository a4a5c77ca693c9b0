//! The metadata of a copied array.

use zarr_engine::convert::{
    ConversionLoss, conversion_losses, conversion_problems, convert_metadata, keep_missing_elements,
};
use zarr_engine::{Array, ArrayBuilder, Error, Order, UsedFallback};
use zarr_metadata::ArrayMetadata;
use zarr_spec::codec::Codec;
use zarr_spec::data_type::Kind;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{
    ByteOrder, CodecChain, CodecError, Creation, DataTypeError, Format, Mode, Object, Reading,
    Representation, Value,
};

use super::chunking::{Chunking, Shards, chunk_shape, with_codecs};
use super::error::CopyError;
use super::options::{Caller, CopyOption};
use super::source::Source;
use crate::verify::chain;

/// The request for the copy of one array.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) chunking: Chunking,
    /// Whether elements may change.
    pub(crate) is_lossy: bool,
    /// The caller, for messages.
    pub(crate) caller: Caller,
}

/// Returns the metadata of a copy of `from`, and the losses. The failure lists everything that prevents the
/// copy.
pub(crate) fn metadata(
    from: &Source,
    format: Format,
    asked: &Asked,
) -> Result<(ArrayMetadata, Vec<ConversionLoss>), CopyError> {
    let array = &from.array;
    let registry = array.hierarchy().context().registry();
    let is_as_before = asked.chunking.is_as_before();
    let mut source = array.metadata().clone();
    source.shape = from.shape().to_vec();
    let mut losses = Vec::new();
    if is_as_before && from.is_whole() && format == source.format && array.fallback().is_some() {
        // The array keeps its unknown data type: its document and its encoded chunks are copied unchanged.
        return Ok((source, losses));
    }
    let mut refused = Vec::new();
    if let Some(fallback) = array.fallback() {
        losses.push(as_fallback(array, fallback, &mut source)?);
        let UsedFallback { unknown, used, .. } = fallback;
        refused.push(format!(
            "unknown data type {unknown}, read as its fallback {used}; {} copies it as {used}",
            asked.caller.given(CopyOption::Lossy)
        ));
    }
    let convert = |source: &ArrayMetadata| match is_as_before {
        true => Ok(convert_metadata(source, format, registry)?),
        false => Ok(rebuilt(array, source, format, asked)?.metadata(format, registry)?),
    };
    let converted = match convert(&source) {
        Err(CopyError::Engine(error)) if has_no_such_fill(&error) => match usual_nan(array) {
            Some(nan) => {
                losses.push(with_usual_nan(nan, format, &mut source));
                refused.push(without_usual_nan(&error, asked.caller));
                convert(&source)
            }
            None => Err(CopyError::Engine(error)),
        },
        converted => converted,
    };
    if asked.is_lossy {
        refused.clear();
    }
    let mut metadata = match converted {
        Ok(metadata) => metadata,
        Err(failure) => {
            refused.extend(reasons_of(array, &source, format, asked, &failure));
            return Err(CopyError::message(refused.join("; ")));
        }
    };
    let is_asked_for =
        |loss: &ConversionLoss| !is_as_before && ["codecs", "storage_transformers"].contains(&&*loss.member);
    let more = conversion_losses(&source, &metadata, registry);
    refused.extend(must_be_understood(&source, &more));
    if !refused.is_empty() {
        return Err(CopyError::message(refused.join("; ")));
    }
    losses.extend(more.into_iter().filter(|loss| !is_asked_for(loss)));
    losses.extend(keep_missing_elements(&source, &mut metadata, registry, || stores_every_chunk(array))?);
    Ok((metadata, losses))
}

/// Returns the reasons why `source`, the metadata of `array`, cannot be converted as asked.
fn reasons_of(
    array: &Array,
    source: &ArrayMetadata,
    format: Format,
    asked: &Asked,
    failure: &CopyError,
) -> Vec<String> {
    let registry = array.hierarchy().context().registry();
    if asked.chunking.is_as_before() {
        return reasons(array, failure, &conversion_problems(source, format, registry), asked.caller);
    }
    // If the array cannot be described, the failure is the only reason.
    let problems = problems_of_rebuilt(array, source, format, asked).unwrap_or_default();
    let mut without = source.clone();
    without.extensions.clear();
    let mut reasons = reasons(array, failure, &problems, asked.caller);
    reasons.extend(must_be_understood(source, &conversion_losses(source, &without, registry)));
    reasons
}

/// Returns the reasons why an array cannot be converted: its problems, or the failure if there are none.
fn reasons(array: &Array, failure: &CopyError, problems: &[Error], caller: Caller) -> Vec<String> {
    if problems.is_empty() {
        return vec![failure.text()];
    }
    let reason = |problem: &Error| {
        let is_fill = has_no_such_fill(problem) && usual_nan(array).is_some();
        if is_fill { without_usual_nan(problem, caller) } else { chain(problem) }
    };
    problems.iter().map(reason).collect()
}

/// Returns whether all chunks of `array` are stored; `false` if the store cannot list.
fn stores_every_chunk(array: &Array) -> Result<bool, CopyError> {
    if !array.hierarchy().store().capabilities().listable {
        return Ok(false);
    }
    let count = array.chunk_grid().grid_shape().iter().copied().fold(1, u64::saturating_mul);
    Ok(array.stored_chunks()?.len() as u64 == count)
}

/// Returns the losses of extensions that readers must understand. An array is not copied if it would lose such an
/// extension.
fn must_be_understood(source: &ArrayMetadata, losses: &[ConversionLoss]) -> Vec<String> {
    let extensions = source.extensions.iter().enumerate().filter(|(_, extension)| extension.must_understand);
    let members: Vec<_> = extensions.map(|(position, _)| format!("extensions[{position}]")).collect();
    losses.iter().filter(|loss| members.contains(&loss.member)).map(ToString::to_string).collect()
}

/// Replaces the data type of `source` with its fallback.
fn as_fallback(
    array: &Array,
    fallback: &UsedFallback,
    source: &mut ArrayMetadata,
) -> Result<ConversionLoss, CopyError> {
    let UsedFallback { unknown, used, .. } = fallback;
    let document = array.data_type().document(source.format, &ByteOrder::Little);
    source.data_type = document?;
    if array.fill_is_undefined() {
        source.fill_value = Value::Null;
    }
    let reason = format!("{unknown} is unknown; the copy has {used}");
    Ok(ConversionLoss::new("data_type", reason))
}

/// Returns whether the format of the copy does not support the fill value.
fn has_no_such_fill(error: &Error) -> bool {
    matches!(error, Error::DataType(error) if matches!(**error, DataTypeError::FillValue(_)))
}

/// Returns the standard NaN as a fill value, which every format supports. It replaces a non-standard NaN.
fn usual_nan(array: &Array) -> Option<Value> {
    match array.data_type().kind() {
        Some(Kind::Float) => Some(Value::from("NaN")),
        Some(Kind::Complex) => Some(["NaN", "NaN"].into_iter().collect()),
        _ => None,
    }
}

/// Returns the reason why an array with a non-standard NaN as the fill value is not copied.
fn without_usual_nan(error: &Error, caller: Caller) -> String {
    let lossy = caller.given(CopyOption::Lossy);
    format!("{}; {lossy} copies it with the standard NaN as the fill value", chain(error))
}

/// Replaces the fill value of `source` with the standard NaN.
fn with_usual_nan(nan: Value, format: Format, source: &mut ArrayMetadata) -> ConversionLoss {
    let before = std::mem::replace(&mut source.fill_value, nan);
    let reason = format!(
        "{format} does not support {before}; the copy has NaN, and stores every chunk with other elements"
    );
    ConversionLoss::new("fill_value", reason)
}

/// Describes a copy with other chunks or codecs.
fn rebuilt(
    array: &Array,
    source: &ArrayMetadata,
    format: Format,
    asked: &Asked,
) -> Result<ArrayBuilder, CopyError> {
    let builder = described(array, source, format, asked)?;
    Ok(builder.fill_value(fill_value(array, source, format, asked.chunking.codecs.is_empty())?))
}

/// Returns everything that prevents an array from being [`rebuilt`].
fn problems_of_rebuilt(
    array: &Array,
    source: &ArrayMetadata,
    format: Format,
    asked: &Asked,
) -> Result<Vec<Error>, CopyError> {
    let mut builder = described(array, source, format, asked)?;
    let mut problems = Vec::new();
    match fill_value(array, source, format, asked.chunking.codecs.is_empty()) {
        Ok(fill_value) => builder = builder.fill_value(fill_value),
        Err(error) => problems.push(error),
    }
    problems.extend(builder.problems(format, array.hierarchy().context().registry()));
    Ok(problems)
}

/// Describes a copy as [`rebuilt`] does, without the fill value.
fn described(
    array: &Array,
    source: &ArrayMetadata,
    format: Format,
    asked: &Asked,
) -> Result<ArrayBuilder, CopyError> {
    let builder = without_codecs(array, source, format, asked)?;
    Ok(match asked.chunking.codecs.is_empty() {
        true => with_codecs_of(builder, array, format),
        false => with_codecs(builder, asked.chunking.codecs.clone()),
    })
}

/// Describes a copy as [`described`] does, without codecs.
fn without_codecs(
    array: &Array,
    source: &ArrayMetadata,
    format: Format,
    asked: &Asked,
) -> Result<ArrayBuilder, CopyError> {
    let mut builder =
        ArrayBuilder::new(&source.shape[..], data_type(array, source, asked.chunking.codecs.is_empty()))
            .attributes(source.attributes.clone());
    if let Some(names) = array.dimension_names() {
        builder = builder.dimension_names(names);
    }
    if format == Format::V3Draft {
        let fallbacks = source.data_type.fallback.iter();
        builder = fallbacks.fold(builder, |builder, fallback| builder.fallback(fallback.json.clone()));
    }
    let Chunking { chunks, shards, .. } = &asked.chunking;
    let inner = array.inner_chunk_shape()?;
    let shards = match shards {
        Shards::Of(shards) => Some(shards.clone()),
        // In a format without shards, the inner chunks become chunks.
        Shards::AsBefore if format == Format::V3 => inner.as_ref().map(|_| chunk_shape(array)),
        Shards::AsBefore | Shards::None => None,
    };
    let chunks = chunks.clone().or(inner).unwrap_or_else(|| chunk_shape(array));
    builder = builder.chunks(chunks);
    if let Some(shards) = shards {
        builder = builder.shards(shards);
    }
    Ok(builder)
}

/// Describes an array like `array` in `format`, with another shape: with its data type, fill value, chunks, shards,
/// dimension names and attributes. Its codecs are left out if the caller has other codecs, which `has_codecs` states.
///
/// # Errors
///
/// [`CopyError::Engine`] if the fill value cannot be written in `format`.
pub fn builder_like(
    array: &Array,
    shape: &[u64],
    format: Format,
    has_codecs: bool,
) -> Result<ArrayBuilder, CopyError> {
    let mut source = array.metadata().clone();
    source.shape = shape.to_vec();
    let asked = Asked { chunking: Chunking::default(), is_lossy: false, caller: Caller::default() };
    let builder = without_codecs(array, &source, format, &asked)?;
    let builder = if has_codecs { builder } else { with_codecs_of(builder, array, format) };
    Ok(builder.fill_value(fill_value(array, &source, format, true)?))
}

/// Returns the data type. If the codecs stay the same, it is the data type in the document, with its byte order.
/// Otherwise the codecs determine the byte order.
fn data_type(array: &Array, source: &ArrayMetadata, keeps_codecs: bool) -> Value {
    let own = || source.data_type.json.clone();
    if keeps_codecs {
        return own();
    }
    let documents = [Format::V3, Format::V2, Format::V3Draft]
        .into_iter()
        .find_map(|format| array.data_type().document(format, &ByteOrder::Little).ok());
    documents.map_or_else(own, |document| document.json)
}

/// Returns the fill value in the byte order of [`data_type`], because it may be written as the bytes of an
/// element.
fn fill_value(
    array: &Array,
    source: &ArrayMetadata,
    format: Format,
    keeps_codecs: bool,
) -> Result<Value, Error> {
    if source.fill_value != array.metadata().fill_value && !source.fill_value.is_null() {
        return Ok(source.fill_value.clone());
    }
    if array.fill_is_undefined() && format == Format::V2 {
        return Ok(Value::Null);
    }
    let declared = array.codecs().links().first().map(|link| &link.decoded);
    let order = match declared {
        Some(Representation::Array(declared)) if keeps_codecs => &declared.byte_order,
        _ => &ByteOrder::Little,
    };
    Ok(array.data_type().fill_value_json(array.fill_value().bytes(), format, order)?)
}

/// Adds the codecs that encode a chunk, or an inner chunk.
fn with_codecs_of(mut builder: ArrayBuilder, array: &Array, format: Format) -> ArrayBuilder {
    builder = match &array.metadata().memory_layout {
        Some(layout) if layout.identifier == "F" => builder.order(Order::F),
        Some(layout) if layout.identifier != "C" && format == Format::V3Draft => {
            builder.memory_layout(of_draft(layout))
        }
        _ => builder,
    };
    let documents = documents(array, array.codecs(), format);
    if documents.is_empty() {
        return builder.uncompressed();
    }
    documents
        .into_iter()
        .fold(builder, |builder, document| builder.codec((document.identifier, document.configuration)))
}

/// Returns the value that stands for an extension in a document of the draft: its identifier, type and configuration.
fn of_draft(document: &ExtensionDocument) -> Value {
    let mut members = Object::new();
    members.insert("extension", document.identifier.as_str());
    members.insert("type", document.type_name.clone().unwrap_or(Value::Null));
    if !document.configuration.is_null() {
        members.insert("configuration", document.configuration.clone());
    }
    Value::Object(members)
}

/// Returns the documents of the codecs, except shards.
///
/// Codecs of v2 are translated to v3 here, because some names belong to other codecs in v3, such as
/// `packbits`.
fn documents(array: &Array, chain: &CodecChain, format: Format) -> Vec<ExtensionDocument> {
    let is_translated = (array.metadata().format, format) == (Format::V2, Format::V3);
    let mut documents = Vec::new();
    for (position, link) in chain.links().iter().enumerate() {
        match (&link.codec, &link.document) {
            (Codec::Shard(shard), _) => documents.extend(self::documents(array, &shard.inner_codecs, format)),
            (_, Some(document)) if is_translated => {
                let translated = translated(array, document, chain.created_for(position), format);
                // If a codec cannot be translated, its document stays as it is, and the builder reports the reason.
                documents.push(translated.unwrap_or_else(|_| document.clone()));
            }
            (_, Some(document)) => documents.push(document.clone()),
            (_, None) => {}
        }
    }
    documents
}

/// Returns the document of a codec in another format.
fn translated(
    array: &Array,
    document: &ExtensionDocument,
    decoded: &Representation,
    format: Format,
) -> Result<ExtensionDocument, CodecError> {
    let registry = array.hierarchy().context().registry();
    let reading = Reading::new(Mode::Lenient);
    let creation = Creation::of(document, array.metadata().format, registry, &reading);
    registry.translated_codec(&creation, decoded, format)
}
