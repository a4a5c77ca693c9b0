//! Creating the codec from documents, and translating documents between formats.

use std::sync::Arc;

use serde::Deserialize;
use zarr_metadata::{draft, v3};
use zarr_plugin_kit::array;
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::host::chain::{ChainCreation, Link};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecChain, CodecError, CodecResult, Creation, Elements, Format, Object,
    Representation, Value,
};

use crate::{Optional, count, data_array, mask_array};

const MASK_CODECS: &str = "mask_codecs";
const DATA_CODECS: &str = "data_codecs";

#[derive(Deserialize)]
pub(crate) struct OptionalConfiguration {
    mask_codecs: Value,
    data_codecs: Value,
}

pub(crate) fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::Composite(Arc::new(optional(creation, decoded)?)))
}

/// Translates both chains to the format `to`.
pub(crate) fn translate(
    creation: &Creation<'_>,
    decoded: &Representation,
    to: Format,
) -> CodecResult<Object> {
    let optional = optional(creation, decoded)?;
    let mut members = Object::new();
    members.insert(MASK_CODECS, translated(creation, &optional.mask_codecs, to)?);
    members.insert(DATA_CODECS, translated(creation, &optional.data_codecs, to)?);
    Ok(members)
}

fn optional(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Optional> {
    let OptionalConfiguration { mask_codecs, data_codecs } = creation.parse()?;
    let array = array(decoded)?;
    // The codecs are created for the largest possible array: all elements are present.
    let data_array = data_array(array, count(array)?)?;
    let document = DataTypeDocument::named("bool");
    let mask_type = creation.registry.data_type(Format::V3, &document, creation.reading);
    let (mask_type, _) = mask_type
        .map_err(|error| CodecError::Unsupported(format!("the mask needs data type `bool`: {error}")))?;
    if !matches!(mask_type.elements(), Elements::Fixed { size: 1, .. }) {
        return Err(CodecError::Unsupported(
            "the mask needs data type `bool` with elements of one byte".to_owned(),
        ));
    }
    Ok(Optional {
        mask_codecs: chain(creation, MASK_CODECS, &mask_codecs, &mask_array(array, &mask_type))?,
        data_codecs: chain(creation, DATA_CODECS, &data_codecs, &data_array)?,
        mask_type,
        mode: creation.reading.mode(),
    })
}

/// Creates the chain of the list `member`, which must contain an array-to-bytes codec.
fn chain(
    creation: &Creation<'_>,
    member: &str,
    documents: &Value,
    array: &ArrayRepresentation,
) -> CodecResult<CodecChain> {
    let documents = match creation.format {
        Format::V3Draft => draft::codecs(member, documents),
        Format::V3 | Format::V2 => v3::extensions(member, documents, creation.reading),
    };
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

fn translated(creation: &Creation<'_>, chain: &CodecChain, to: Format) -> CodecResult<Value> {
    let entry = |(position, link): (usize, &Link)| {
        let Some(document) = &link.document else { return Ok(None) };
        let inner = creation.inner(document);
        let written = creation.registry.translated_codec(&inner, chain.created_for(position), to)?;
        let mut members = Object::new();
        members.insert(if to == Format::V3Draft { "type" } else { "name" }, written.identifier);
        if written.configuration.as_object().is_some_and(|members| !members.is_empty()) {
            members.insert("configuration", written.configuration);
        }
        Ok(Some(Value::Object(members)))
    };
    chain.links().iter().enumerate().filter_map(|link| entry(link).transpose()).collect()
}
