//! The `fletcher32` codec: appends a Fletcher-32 checksum of four bytes, little endian.
//!
//! Bytes to bytes, without configuration. The encoded size is four bytes larger. The codec is a [`Checksum`]:
//! decoding verifies the checksum and returns a prefix of the same buffer.
//!
//! The sums are those of HDF5, over big endian words of 16 bits; an odd last byte is padded with a zero byte. A
//! sum is 0 only if all words are zero; otherwise 65535 represents 0.
//!
//! The v3 draft does not define the codec; there it has a URI of this project.
//!
//! Source: `Fletcher32` of numcodecs, in v2 as `fletcher32`, in final v3 as `numcodecs.fletcher32`; the filter
//! of HDF5.

use std::sync::Arc;

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::codec::{Checksum, CodecEntry, all_members};
use zarr_spec::{Codec, CodecPlugin, CodecResult, Creation, Example, Identifiers, Representation};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.fletcher32")
            .with_id("fletcher32")
            .with_uri("https://zarr-kit.example/spec/codecs/fletcher32/1.0")
            .with_aliases(&["https://codec.zarrs.dev/bytes_to_bytes/fletcher32"]),
        &create,
    )
    .translated_by(&all_members::<NoConfiguration>)
    .configuration::<NoConfiguration>()
    .about("Appends the Fletcher-32 checksum of HDF5 to the bytes.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.fletcher32"}"#),
    Example::v2(r#"{"id": "fletcher32"}"#),
    Example::draft(r#"{"type": "https://zarr-kit.example/spec/codecs/fletcher32/1.0"}"#),
];

/// Appends a Fletcher-32 checksum to the bytes of each chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fletcher32;

impl From<Fletcher32> for CodecEntry {
    fn from(_no_parameters: Fletcher32) -> Self {
        "fletcher32".into()
    }
}

impl Checksum for Fletcher32 {
    fn size(&self) -> usize {
        4
    }

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> CodecResult {
        checksum.copy_from_slice(&fletcher32(bytes).to_le_bytes());
        Ok(())
    }
}

/// The number of words after which the second sum, the sum of all first sums, could exceed 32 bits.
const BLOCK: usize = 360;

fn fletcher32(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<2>();
    let mut first = 0;
    let mut second = 0;
    for block in words.chunks(BLOCK) {
        for &word in block {
            first += u32::from(u16::from_be_bytes(word));
            second += first;
        }
        (first, second) = (folded(first), folded(second));
    }
    if let [last] = *rest {
        first += u32::from(u16::from_be_bytes([last, 0]));
        second += first;
    }
    // Folding once may leave a seventeenth bit.
    folded(folded(second)) << 16 | folded(folded(first))
}

/// Adds the upper 16 bits of `sum` to the lower ones. The result is equal modulo 65535, and 0 only if `sum` is 0.
fn folded(sum: u32) -> u32 {
    (sum & 0xffff) + (sum >> 16)
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Codec::Checksum(Arc::new(Fletcher32)))
}
