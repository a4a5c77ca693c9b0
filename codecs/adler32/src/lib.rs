//! The `adler32` codec: adds an Adler-32 checksum of four bytes, little endian.
//!
//! Bytes to bytes. The encoded size is four bytes larger. The codec is a [`Checksum`]: decoding verifies the
//! checksum and returns a part of the same buffer.
//!
//! `location` is `"start"`, the default, or `"end"`, in all formats. The v3 draft does not define the codec;
//! there it has a URI of this project.
//!
//! Source: `Adler32` of numcodecs, in v2 as `adler32`, in final v3 as `numcodecs.adler32`; RFC 1950, section 9.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zarr_plugin_kit::ChecksumLocation;
use zarr_spec::codec::{Checksum, CodecEntry, all_members};
use zarr_spec::{Codec, CodecPlugin, CodecResult, Creation, Example, Identifiers, Representation, json};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.adler32")
            .with_id("adler32")
            .with_uri("https://zarr-kit.example/spec/codecs/adler32/1.0"),
        &create,
    )
    .translated_by(&all_members::<Adler32Configuration>)
    .configuration::<Adler32Configuration>()
    .about("Adds an Adler-32 checksum before or after the bytes.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.adler32", "configuration": {"location": "end"}}"#),
    Example::v3(r#"{"name": "numcodecs.adler32"}"#),
    Example::v2(r#"{"id": "adler32", "location": "start"}"#),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/adler32/1.0",
            "configuration": {"location": "end"}}"#,
    ),
];

/// Adds an Adler-32 checksum to the bytes of each chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adler32 {
    at_start: bool,
}

impl Adler32 {
    /// Creates the codec with the checksum before the bytes.
    #[must_use]
    pub const fn at_start() -> Self {
        Self { at_start: true }
    }

    /// Creates the codec with the checksum after the bytes.
    #[must_use]
    pub const fn at_end() -> Self {
        Self { at_start: false }
    }
}

impl From<Adler32> for CodecEntry {
    fn from(codec: Adler32) -> Self {
        Self::new("adler32", json!({"location": if codec.at_start { "start" } else { "end" }}))
    }
}

impl Checksum for Adler32 {
    fn size(&self) -> usize {
        4
    }

    fn at_start(&self) -> bool {
        self.at_start
    }

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> CodecResult {
        checksum.copy_from_slice(&simd_adler32::adler32(&bytes).to_le_bytes());
        Ok(())
    }
}

/// The configuration, which is the same in every format. Written documents contain all members.
#[derive(Serialize, Deserialize)]
struct Adler32Configuration {
    #[serde(default = "ChecksumLocation::start")]
    location: ChecksumLocation,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let location = creation.parse::<Adler32Configuration>()?.location;
    Ok(Codec::Checksum(Arc::new(Adler32 { at_start: location.is_start() })))
}
