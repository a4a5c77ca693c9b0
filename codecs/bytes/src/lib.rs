//! The `bytes` codec: elements one after another in C order, numbers in a chosen byte order.
//!
//! Array to bytes. The encoded size is elements times bytes per element. Nothing is computed here: the codec is
//! [`Codec::Binary`], which an engine folds into the copy it makes anyway.
//!
//! The v3 draft calls it the endian codec, and `endian` is required there. Zarr v2 has the byte order in its
//! data types and no such codec.
//!
//! Source: `bytes` in the Zarr extension registry; "Endian codec", version 1.0, of the v3 draft.

use serde::Deserialize;
use zarr_spec::host::chain::has_byte_order;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, CodecPlugin, Creation, Elements, Example, Format,
    Identifiers, Object, Representation,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers {
            uri: Some("https://purl.org/zarr/spec/codecs/endian/1.0"),
            name: Some("bytes"),
            id: None,
            aliases: &["endian"],
        },
        &create,
    )
    .translated_by(&translate)
    .configuration::<BytesConfiguration>()
    .about("Writes elements one after another in C order, numbers in little or big endian.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "bytes", "configuration": {"endian": "little"}}"#).with_data_types(&[
        "int16",
        "uint32",
        "float64",
        "complex64",
    ]),
    Example::v3(r#"{"name": "bytes", "configuration": {"endian": "big"}}"#).with_data_types(&[
        "int16",
        "uint32",
        "float64",
        "complex64",
    ]),
    Example::v3(r#"{"name": "bytes"}"#).with_data_types(&["bool", "int8", "uint8"]),
    Example::draft(
        r#"{"type": "https://purl.org/zarr/spec/codecs/endian/1.0",
            "configuration": {"endian": "little"}}"#,
    )
    .with_data_types(&["int16", "uint32", "float64", "complex64"]),
    Example::draft(
        r#"{"type": "https://purl.org/zarr/spec/codecs/endian/1.0",
            "configuration": {"endian": "big"}}"#,
    )
    .with_data_types(&["int16", "uint32", "float64", "complex64"]),
];

#[derive(Deserialize)]
struct BytesConfiguration {
    endian: Option<Endian>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Endian {
    Little,
    Big,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let array = array(decoded)?;
    if creation.format == Format::V3 && creation.identifier != "bytes" {
        creation.reading.tolerate(format!(
            "codec `{}` has been called `bytes` since May 2023, and is read as that",
            creation.identifier
        ))?;
    }
    let endian = creation.parse::<BytesConfiguration>()?.endian;
    let order = match endian {
        Some(Endian::Little) => ByteOrder::Little,
        Some(Endian::Big) => ByteOrder::Big,
        None if creation.format == Format::V3 => {
            if concerns(array)? {
                let what = format!(
                    "codec `bytes` does not say the byte order of {}: little endian is assumed",
                    array.data_type.name()
                );
                if array.data_type.may_omit_byte_order() {
                    creation.reading.warn(what);
                } else {
                    creation.reading.tolerate(what)?;
                }
            }
            ByteOrder::Little
        }
        None => return Err(CodecError::configuration("endian is missing, \"little\" or \"big\"")),
    };
    concerns(array)?;
    Ok(Codec::Binary(order))
}

/// Whether byte order makes a difference to the elements, which must be of one size.
fn concerns(array: &ArrayRepresentation) -> Result<bool, CodecError> {
    match array.data_type.elements() {
        Elements::Fixed { units, .. } => Ok(has_byte_order(&units)),
        Elements::Variable => Err(CodecError::Unsupported(format!(
            "elements of data type {} have no fixed size, and `bytes` does not say where one ends",
            array.data_type.name()
        ))),
    }
}

fn array(decoded: &Representation) -> Result<&ArrayRepresentation, CodecError> {
    match decoded {
        Representation::Array(array) => Ok(array),
        Representation::Bytes(_) => {
            Err(CodecError::Unsupported("expected an array, but the preceding codec produces bytes".into()))
        }
    }
}

/// `endian` is left out where final v3 may leave it out; the draft always has it.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> Result<Object, CodecError> {
    let endian = match create(creation, decoded)? {
        Codec::Binary(ByteOrder::Big) => "big",
        _ => "little",
    };
    let mut configuration = Object::new();
    match to {
        Format::V2 => {
            return Err(CodecError::Unsupported(
                "v2 has no codec for byte order, which belongs to its data types".into(),
            ));
        }
        Format::V3 if !concerns(array(decoded)?)? => {}
        Format::V3 | Format::V3Draft => {
            configuration.insert("endian", endian);
        }
    }
    Ok(configuration)
}
