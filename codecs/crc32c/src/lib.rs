//! The `crc32c` codec: the bytes of a chunk and their CRC-32C, four bytes, least significant first.
//!
//! Bytes to bytes. The encoded size is four bytes more. The codec is a [`Checksum`]: decoding verifies, and looks at
//! fewer bytes of the same memory.
//!
//! Final v3 has no configuration and puts the checksum behind the bytes. v2, and the name `numcodecs.crc32c`, have
//! `location`, `"start"` or `"end"`, which is the default.
//!
//! The v3 draft has no codec of the kind: this project's URI is written, with the configuration of v2.
//!
//! Source: `crc32c` in the Zarr extension registry and in numcodecs; RFC 3720, appendix B.4.

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::{ChecksumLocation, NoConfiguration};
use zarr_spec::codec::{Checksum, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, Creation, Example, Format, Identifiers, Object, Representation, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers {
            uri: Some("https://zarr-kit.example/spec/codecs/crc32c/1.0"),
            name: Some("crc32c"),
            id: Some("crc32c"),
            aliases: &["numcodecs.crc32c"],
        },
        &create,
    )
    .translated_by(&translate)
    .configuration::<LocationConfiguration>()
    .configuration_in::<NoConfiguration>(Format::V3)
    .about("Adds a CRC-32C checksum behind the bytes.", EXAMPLES)
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

/// Puts a CRC-32C beside the bytes of each chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Crc32c {
    at_start: bool,
}

impl Crc32c {
    /// With the checksum behind the bytes.
    #[must_use]
    pub const fn at_end() -> Self {
        Self { at_start: false }
    }

    /// With the checksum before the bytes.
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

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> Result<(), CodecError> {
        checksum.copy_from_slice(&crc32c::crc32c(bytes).to_le_bytes());
        Ok(())
    }
}

#[derive(Deserialize)]
struct LocationConfiguration {
    #[serde(default = "ChecksumLocation::end")]
    location: ChecksumLocation,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::Checksum(Arc::new(configured(creation)?)))
}

fn configured(creation: &Creation<'_>) -> Result<Crc32c, CodecError> {
    if creation.format == Format::V3 && creation.identifier == "crc32c" {
        let NoConfiguration {} = creation.parse()?;
        return Ok(Crc32c::at_end());
    }
    let location = creation.parse::<LocationConfiguration>()?.location;
    Ok(Crc32c { at_start: location.is_start() })
}

fn translate(creation: &Creation<'_>, _decoded: &Representation, to: Format) -> Result<Object, CodecError> {
    let at_start = configured(creation)?.at_start;
    let mut configuration = Object::new();
    match to {
        Format::V3 if at_start => {
            return Err(CodecError::Unsupported(
                "`crc32c` of final v3 puts the checksum behind the bytes, and here it stands before them"
                    .into(),
            ));
        }
        Format::V3 => {}
        Format::V2 | Format::V3Draft => {
            configuration.insert("location", if at_start { "start" } else { "end" });
        }
    }
    Ok(configuration)
}
