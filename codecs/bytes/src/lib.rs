//! The `bytes` codec: stores elements consecutively in C order, with a chosen byte order.
//!
//! Array to bytes. The encoded size is the number of elements times their size. The codec does not compute
//! anything: it is a [`Codec::Binary`], which an engine combines with the copy that it makes anyway.
//!
//! The v3 draft calls it the endian codec and requires `endian`. In Zarr v2 the byte order belongs to the data
//! type, and the codec does not exist.
//!
//! Source: `bytes` in the Zarr extension registry; "Endian codec", version 1.0, of the v3 draft.

use serde::Deserialize;
use zarr_spec::codec::CodecEntry;
use zarr_spec::host::chain::has_byte_order;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, CodecPlugin, CodecResult, Creation, Elements, Example,
    Format, Identifiers, Object, Representation, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("bytes")
            .with_uri("https://purl.org/zarr/spec/codecs/endian/1.0")
            .with_aliases(&["endian"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<BytesConfiguration>()
    .about("Stores elements in C order, numbers in little or big endian.", EXAMPLES)
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

/// Stores elements consecutively in C order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes {
    endian: &'static str,
}

impl Bytes {
    /// Stores the least significant byte of each number first.
    #[must_use]
    pub const fn little_endian() -> Self {
        Self { endian: "little" }
    }

    /// Stores the most significant byte of each number first.
    #[must_use]
    pub const fn big_endian() -> Self {
        Self { endian: "big" }
    }
}

impl From<Bytes> for CodecEntry {
    fn from(codec: Bytes) -> Self {
        Self::new("bytes", json!({"endian": codec.endian}))
    }
}

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

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let array = array(decoded)?;
    if creation.format == Format::V3 && creation.identifier != "bytes" {
        creation.reading.tolerate(format!(
            "codec `{}` was renamed to `bytes` in May 2023 and is read as such",
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
                    "codec `bytes` lacks `endian`, the byte order of {}; little endian is assumed",
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
        None => return Err(CodecError::configuration("`endian` is missing; expected \"little\" or \"big\"")),
    };
    concerns(array)?;
    Ok(Codec::Binary(order))
}

/// Returns whether byte order affects the elements, which must have a fixed size.
fn concerns(array: &ArrayRepresentation) -> CodecResult<bool> {
    match array.data_type.elements() {
        Elements::Fixed { units, .. } => Ok(has_byte_order(&units)),
        Elements::Variable => Err(CodecError::Unsupported(format!(
            "elements of data type {} have a variable size, which `bytes` cannot store",
            array.data_type.name()
        ))),
    }
}

fn array(decoded: &Representation) -> CodecResult<&ArrayRepresentation> {
    match decoded {
        Representation::Array(array) => Ok(array),
        Representation::Bytes(_) => {
            Err(CodecError::Unsupported("expected an array, but the preceding codec produces bytes".into()))
        }
    }
}

/// Omits `endian` where final v3 allows that; the draft requires it.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    let endian = match create(creation, decoded)? {
        Codec::Binary(ByteOrder::Big) => "big",
        _ => "little",
    };
    let mut configuration = Object::new();
    match to {
        Format::V2 => {
            return Err(CodecError::Unsupported(
                "v2 does not have a codec for byte order, which belongs to its data types".into(),
            ));
        }
        Format::V3 if !concerns(array(decoded)?)? => {}
        Format::V3 | Format::V3Draft => {
            configuration.insert("endian", endian);
        }
    }
    Ok(configuration)
}
