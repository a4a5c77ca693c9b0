//! The `crc32c` codec: adds a CRC-32C checksum of four bytes, little endian.
//!
//! Bytes to bytes. The encoded size is four bytes larger. The codec is a [`Checksum`]: decoding verifies the
//! checksum and returns a part of the same buffer.
//!
//! In final v3 the codec does not have a configuration and appends the checksum. In v2, and under the name
//! `numcodecs.crc32c`, `location` is `"start"` or `"end"`, the default. The v3 draft does not define the codec;
//! there it has a URI of this project and the configuration of v2.
//!
//! Source: `crc32c` in the Zarr extension registry and in numcodecs; RFC 3720, appendix B.4.

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::{ChecksumLocation, NoConfiguration};
use zarr_spec::codec::{Checksum, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Format, Identifiers, Object,
    Representation, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("crc32c")
            .with_id("crc32c")
            .with_uri("https://zarr-kit.example/spec/codecs/crc32c/1.0")
            .with_aliases(&["numcodecs.crc32c"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<LocationConfiguration>()
    .configuration_in::<NoConfiguration>(Format::V3)
    .about("Appends a CRC-32C checksum to the bytes.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "crc32c"}"#),
    Example::v2(r#"{"id": "crc32c", "location": "end"}"#),
    Example::v2(r#"{"id": "crc32c", "location": "start"}"#),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/crc32c/1.0",
            "configuration": {"location": "end"}}"#,
    ),
];

/// Adds a CRC-32C checksum to the bytes of each chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Crc32c {
    at_start: bool,
}

impl Crc32c {
    /// Creates the codec with the checksum after the bytes.
    #[must_use]
    pub const fn at_end() -> Self {
        Self { at_start: false }
    }

    /// Creates the codec with the checksum before the bytes.
    #[must_use]
    pub const fn at_start() -> Self {
        Self { at_start: true }
    }
}

impl From<Crc32c> for CodecEntry {
    fn from(codec: Crc32c) -> Self {
        if codec.at_start {
            // Only v2 and the draft have this form.
            return Self::new("crc32c", json!({"location": "start"}));
        }
        "crc32c".into()
    }
}

impl Checksum for Crc32c {
    fn size(&self) -> usize {
        4
    }

    fn at_start(&self) -> bool {
        self.at_start
    }

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> CodecResult {
        checksum.copy_from_slice(&crc32c::crc32c(bytes).to_le_bytes());
        Ok(())
    }
}

#[derive(Deserialize)]
struct LocationConfiguration {
    #[serde(default = "ChecksumLocation::end")]
    location: ChecksumLocation,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::Checksum(Arc::new(configured(creation)?)))
}

fn configured(creation: &Creation<'_>) -> CodecResult<Crc32c> {
    if creation.format == Format::V3 && creation.identifier == "crc32c" {
        let NoConfiguration {} = creation.parse()?;
        return Ok(Crc32c::at_end());
    }
    let location = creation.parse::<LocationConfiguration>()?.location;
    Ok(Crc32c { at_start: location.is_start() })
}

fn translate(creation: &Creation<'_>, _decoded: &Representation, to: Format) -> CodecResult<Object> {
    let at_start = configured(creation)?.at_start;
    let mut configuration = Object::new();
    match to {
        Format::V3 if at_start => {
            return Err(CodecError::Unsupported(
                "`crc32c` of final v3 cannot have the checksum before the bytes".into(),
            ));
        }
        Format::V3 => {}
        Format::V2 | Format::V3Draft => {
            configuration.insert("location", if at_start { "start" } else { "end" });
        }
    }
    Ok(configuration)
}
