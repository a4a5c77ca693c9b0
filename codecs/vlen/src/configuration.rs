//! Creating the codec from documents.

use std::sync::Arc;

use serde::Deserialize;
use zarr_metadata::v3;
use zarr_plugin_kit::array;
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecChain, CodecError, CodecResult, Creation, DataType, FillValue, Format,
    Representation, Value,
};

use crate::{Vlen, check_type};

#[derive(Deserialize)]
pub(crate) struct VlenConfiguration {
    index_codecs: Value,
    data_codecs: Value,
    index_data_type: IndexDataType,
    index_location: Option<IndexLocation>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum IndexDataType {
    Uint32,
    Uint64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum IndexLocation {
    Start,
    End,
}

pub(crate) fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let configuration: VlenConfiguration = creation.parse()?;
    check_type(array(decoded)?)?;
    let (name, index_size) = match configuration.index_data_type {
        IndexDataType::Uint32 => ("uint32", 4),
        IndexDataType::Uint64 => ("uint64", 8),
    };
    let index_type = number(creation, name)?;
    let byte_type = number(creation, "uint8")?;
    let count = array(decoded)?.element_count().unwrap_or(0).saturating_add(1);
    // The number of bytes is different in each chunk, so the codecs are created for any number.
    let codec = Vlen {
        index_codecs: chain(
            creation,
            "index_codecs",
            &configuration.index_codecs,
            &plain(&index_type, count),
        )?,
        data_codecs: chain(creation, "data_codecs", &configuration.data_codecs, &plain(&byte_type, 1))?,
        index_type,
        index_size,
        index_at_end: configuration.index_location == Some(IndexLocation::End),
        byte_type,
    };
    Ok(Codec::Composite(Arc::new(codec)))
}

/// Returns a list of `count` numbers.
pub(crate) fn plain(data_type: &Arc<dyn DataType>, count: usize) -> ArrayRepresentation {
    let size = data_type.elements().size().unwrap_or(0);
    ArrayRepresentation::new(vec![count as u64], Arc::clone(data_type), FillValue::zero(size))
}

fn number(creation: &Creation<'_>, name: &str) -> CodecResult<Arc<dyn DataType>> {
    let document = DataTypeDocument::named(name);
    let created = creation.registry.data_type(Format::V3, &document, creation.reading);
    let (data_type, _) =
        created.map_err(|error| CodecError::Unsupported(format!("it needs data type `{name}`: {error}")))?;
    Ok(data_type)
}

/// Creates the chain of the list `member`, which must contain an array-to-bytes codec.
fn chain(
    creation: &Creation<'_>,
    member: &str,
    documents: &Value,
    array: &ArrayRepresentation,
) -> CodecResult<CodecChain> {
    let documents = v3::extensions(member, documents, creation.reading);
    let documents = documents.map_err(|error| CodecError::configuration(error.to_string()))?;
    let chain =
        CodecChain::create(&ChainCreation::of(creation), None, &documents, array).map_err(Box::new)?;
    if chain.links().iter().any(|link| link.document.is_none()) {
        return Err(CodecError::configuration(format!(
            "`{member}` does not contain an array-to-bytes codec"
        )));
    }
    Ok(chain)
}
