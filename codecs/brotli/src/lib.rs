//! The `brotli` codec: compresses each chunk to one Brotli stream.
//!
//! Bytes to bytes. `level` is 0 to 11, by default 4. `lgwin` is the size of the window as a power of two, 10 to
//! 24, by default 22. `mode` is `GENERIC`, `TEXT` or `FONT`. None of them affects decoding. The encoded size
//! depends on the data. Decoded bytes are bounded by the size of the chunk; memory of the decoder is bounded by
//! the window, up to 16 MiB. Streams with larger windows, which RFC 7932 does not have, are corrupt.
//!
//! v2 and final v3 have the codec as `imagecodecs_brotli`; `numcodecs.imagecodecs_brotli` is also read.
//!
//! Source: `Brotli` in imagecodecs; RFC 7932.

mod stream;

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output, Representation, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_brotli")
            .with_id("imagecodecs_brotli")
            .with_aliases(&["numcodecs.imagecodecs_brotli"]),
        &create,
    )
    .configuration::<BrotliConfiguration>()
    .about("Compresses to one Brotli stream.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_brotli", "configuration": {"level": 4}}"#),
    Example::v3(
        r#"{"name": "imagecodecs_brotli", "configuration": {"level": 9, "mode": "TEXT", "lgwin": 16}}"#,
    ),
    Example::v3(r#"{"name": "imagecodecs_brotli"}"#),
    Example::v2(r#"{"id": "imagecodecs_brotli", "level": null, "mode": null, "lgwin": null}"#),
];

/// The kind of data that the compressor prepares for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum BrotliMode {
    /// Any data.
    #[default]
    Generic,
    /// Text in UTF-8.
    Text,
    /// A font in the format WOFF 2.
    Font,
}

impl BrotliMode {
    fn name(self) -> &'static str {
        match self {
            Self::Generic => "GENERIC",
            Self::Text => "TEXT",
            Self::Font => "FONT",
        }
    }
}

/// Compresses each chunk to one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Brotli {
    level: i32,
    window: i32,
    mode: BrotliMode,
}

impl Brotli {
    /// Creates the codec with a level from 0 to 11 and a window of `1 << window` bytes.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for another level, and for a `window` that is not 10 to 24.
    pub fn new(level: i32, window: i32, mode: BrotliMode) -> CodecResult<Self> {
        if !(0..=11).contains(&level) {
            return Err(CodecError::configuration(format!("`level` is {level}; expected 0 to 11")));
        }
        if !(10..=24).contains(&window) {
            return Err(CodecError::configuration(format!("`lgwin` is {window}; expected 10 to 24")));
        }
        Ok(Self { level, window, mode })
    }
}

impl From<Brotli> for CodecEntry {
    fn from(codec: Brotli) -> Self {
        Self::new(
            "imagecodecs_brotli",
            json!({"level": codec.level, "mode": codec.mode.name(), "lgwin": codec.window}),
        )
    }
}

impl BytesToBytesCodec for Brotli {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        stream::encode(self, decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        stream::decode(encoded, decoded)
    }
}

#[derive(Deserialize)]
struct BrotliConfiguration {
    level: Option<i32>,
    mode: Option<BrotliMode>,
    lgwin: Option<i32>,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let BrotliConfiguration { level, mode, lgwin } = creation.parse()?;
    let codec = Brotli::new(level.unwrap_or(4), lgwin.unwrap_or(22), mode.unwrap_or_default())?;
    Ok(Codec::BytesToBytes(Arc::new(codec)))
}
