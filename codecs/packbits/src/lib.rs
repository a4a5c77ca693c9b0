//! The `packbits` codecs of Zarr: pack the significant bits of elements without gaps.
//!
//! Two codecs have this name. They pack bits in opposite order:
//!
//! - [`PackBits`], `packbits` of final v3: array to bytes. The bits `first_bit` to `last_bit` of each element
//!   are packed, starting with the least significant bit of the element and of the first byte. Decoding restores
//!   the sign of signed integers. `padding_encoding` stores the number of unused bits of the last byte before or
//!   after all bytes, or not at all, which is the default.
//! - [`PackBooleans`], `packbits` of v2, in final v3 `numcodecs.packbits`: array to array, from booleans to one
//!   dimension of `uint8`. The first byte is the number of unused bits of the last one; the booleans follow,
//!   starting with the most significant bit of each byte.
//!
//! Converting a hierarchy to another format never replaces one codec by the other.
//!
//! Source: `packbits` in the Zarr extension registry; `PackBits` of numcodecs.

mod bits;
mod booleans;
mod subset;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry, DecodeSubset};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, DataType, Example, Format, Identifiers,
    Loss, Object, Output, Representation, Size,
};

use bits::Component;
pub use booleans::PackBooleans;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("packbits").with_uri("https://zarr-kit.example/spec/codecs/packbits/1.0"),
        &create,
    )
    .configuration::<PackBitsConfiguration>()
    .about(
        "Packs the significant bits of elements without gaps, for instance 8 booleans to a byte.",
        EXAMPLES
    )
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "packbits", "configuration": {"padding_encoding": "first_byte"}}"#)
        .with_data_types(&["bool"]),
    Example::v3(r#"{"name": "packbits"}"#).with_data_types(&[
        "bool",
        "int2",
        "uint2",
        "int4",
        "uint4",
        "uint8",
        "int16",
        "float32",
        "complex64",
    ]),
    Example::v3(r#"{"name": "packbits", "configuration": {"padding_encoding": "last_byte"}}"#)
        .with_data_types(&["bool", "uint4"]),
    Example::v3(
        r#"{"name": "packbits",
            "configuration": {"padding_encoding": "none", "first_bit": 0, "last_bit": 9}}"#,
    )
    .with_data_types(&["int16", "uint16"])
    .with_loss(Loss::Unbounded),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/packbits/1.0",
            "configuration": {"padding_encoding": "first_byte"}}"#,
    )
    .with_data_types(&["bool"]),
];

/// Where the number of unused bits is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PaddingEncoding {
    /// Not stored.
    #[default]
    None,
    /// In a byte before the packed bits.
    FirstByte,
    /// In a byte after the packed bits.
    LastByte,
}

/// Packs elements of one data type, starting with the least significant bit.
#[derive(Debug, Clone)]
pub struct PackBits {
    data_type: String,
    component: Component,
    padding_encoding: PaddingEncoding,
}

impl PackBits {
    /// Packs the bits `first_bit` to `last_bit` of each element of `data_type`, or of both parts of a complex
    /// element. The defaults are the first and the last bit.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if the number of bits of the data type is not known;
    /// [`CodecError::InvalidConfiguration`] for bits outside of an element.
    pub fn new(
        data_type: &dyn DataType,
        padding_encoding: PaddingEncoding,
        first_bit: Option<u32>,
        last_bit: Option<u32>,
    ) -> Result<Self, CodecError> {
        let name = data_type.name().into_owned();
        let component = Component::of(data_type).ok_or_else(|| {
            CodecError::Unsupported(format!("elements of data type `{name}` cannot be packed"))
        })?;
        let first = first_bit.unwrap_or(0);
        let last = last_bit.unwrap_or(component.bits - 1);
        if first > last || last >= component.bits {
            let bits = component.bits;
            return Err(CodecError::configuration(format!(
                "bits {first} to {last} are not within the {bits} bits of `{name}`"
            )));
        }
        Ok(Self { data_type: name, component: Component { first, last, ..component }, padding_encoding })
    }

    /// Returns the number of elements, the size of their bits in bytes, and the number of unused bits in the last byte.
    fn sizes(&self, array: &ArrayRepresentation) -> Result<(usize, usize, u8), CodecError> {
        if array.data_type.name() != self.data_type {
            let name = array.data_type.name();
            return Err(CodecError::Unsupported(format!(
                "the codec was created for a data type other than `{name}`"
            )));
        }
        let count = array.element_count().filter(|count| count.checked_mul(self.component.size()).is_some());
        let bits = count.and_then(|count| count.checked_mul(self.component.packed_bits()));
        let (Some(count), Some(bits)) = (count, bits) else {
            return Err(CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape)));
        };
        Ok((count, bits.div_ceil(8), padding(bits)))
    }

    fn encoded_bytes(&self, packed: usize) -> usize {
        packed + usize::from(self.padding_encoding != PaddingEncoding::None)
    }
}

impl From<PackBits> for CodecEntry {
    fn from(codec: PackBits) -> Self {
        let padding_encoding = match codec.padding_encoding {
            PaddingEncoding::None => "none",
            PaddingEncoding::FirstByte => "first_byte",
            PaddingEncoding::LastByte => "last_byte",
        };
        let Component { first, last, bits, .. } = codec.component;
        let mut configuration = Object::from([("padding_encoding", padding_encoding)]);
        if (first, last) != (0, bits - 1) {
            configuration.insert("first_bit", first);
            configuration.insert("last_bit", last);
        }
        let mut entry = Self::new("packbits", configuration);
        // In v2, this name is the identifier of `PackBooleans`.
        entry.format = Some(Format::V3);
        entry
    }
}

/// Returns the number of unused bits of the last byte.
fn padding(bits: usize) -> u8 {
    [0, 7, 6, 5, 4, 3, 2, 1][bits % 8]
}

impl ArrayToBytesCodec for PackBits {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        let (_, packed, _) = self.sizes(array)?;
        Ok(Size::Exact(self.encoded_bytes(packed) as u64))
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let (count, packed, padding) = self.sizes(array)?;
        if decoded.len() != count * self.component.size() {
            return Err(CodecError::encode(format!("{} bytes do not hold {count} elements", decoded.len())));
        }
        // Reserved in one call, so that nothing is written if the limit is too small.
        encoded.spare(self.encoded_bytes(packed))?;
        if self.padding_encoding == PaddingEncoding::FirstByte {
            encoded.put(&[padding])?;
        }
        self.component.pack(decoded, &mut encoded.spare(packed)?[..packed]);
        encoded.advance(packed);
        if self.padding_encoding == PaddingEncoding::LastByte {
            encoded.put(&[padding])?;
        }
        Ok(())
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let (count, packed, padding) = self.sizes(array)?;
        if encoded.len() != self.encoded_bytes(packed) {
            return Err(CodecError::corrupt(format!(
                "{} bytes do not hold {count} packed elements",
                encoded.len()
            )));
        }
        let (declared, bits) = match (self.padding_encoding, encoded) {
            (PaddingEncoding::FirstByte, [declared, bits @ ..]) => (Some(*declared), bits),
            (PaddingEncoding::LastByte, [bits @ .., declared]) => (Some(*declared), bits),
            _ => (None, encoded),
        };
        declared.map_or(Ok(()), |declared| check_padding(declared, padding))?;
        let size = count * self.component.size();
        self.component.unpack(bits, 0, &mut decoded.spare(size)?[..size]);
        decoded.advance(size);
        Ok(())
    }

    fn subsets(&self) -> Option<&dyn DecodeSubset> {
        Some(self)
    }
}

/// Returns an error unless the number of unused bits is the expected one.
fn check_padding(declared: u8, expected: u8) -> Result<(), CodecError> {
    if declared == expected {
        return Ok(());
    }
    Err(CodecError::corrupt(format!("{declared} unused bits are declared; expected {expected}")))
}

#[derive(Deserialize)]
struct PackBitsConfiguration {
    #[serde(default)]
    padding_encoding: PaddingEncoding,
    first_bit: Option<u32>,
    last_bit: Option<u32>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    // The first generation of the draft stores the filters of v2 in an attribute, under their names in v2.
    if creation.format == Format::V3Draft && creation.identifier == "packbits" {
        return booleans::create(creation, decoded);
    }
    let PackBitsConfiguration { padding_encoding, first_bit, last_bit } = creation.parse()?;
    let codec = PackBits::new(&*array(decoded)?.data_type, padding_encoding, first_bit, last_bit)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}
