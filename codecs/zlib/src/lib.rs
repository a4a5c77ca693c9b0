//! The `zlib` codec: compresses each chunk to one zlib stream.
//!
//! Bytes to bytes. The encoded size depends on the data, so shard indexes cannot use the codec. Like the
//! programs that write this codec, decoding ignores bytes after the stream.
//!
//! `level` is 0 (no compression) to 9 (smallest), or -1 for the library's default, 6. The default is 1.
//!
//! Final v3 has the codec as `numcodecs.zlib`. The v3 draft does not define it: documents get a URI of this
//! project, and a URI that other programs use is also read.
//!
//! With the feature `libdeflate`, that C library compresses and decompresses whole chunks in one call, about
//! 1.5 times as fast. Without it, and if only a part of a chunk is available, zlib-rs works in pieces.
//!
//! imagecodecs has the same streams as `imagecodecs_zlib`, `imagecodecs_zlibng`, `imagecodecs_deflate`, `imagecodecs_isal`
//! and `imagecodecs_zopfli`, in v2 and final v3; the names after `numcodecs.` are also read. Streams without the header of
//! zlib, which the last three can select, are refused.
//!
//! Source: `zlib` in numcodecs; `Zlib`, `Zlibng`, `Deflate`, `Isal` and `Zopfli` in imagecodecs; RFC 1950.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod stream;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, all_members};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output, Pool,
    Representation, json,
};

use stream::{Decoder, Encoder};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.zlib")
            .with_id("zlib")
            .with_uri("https://zarr-kit.example/spec/codecs/zlib/1.0")
            .with_aliases(&[
                "https://purl.org/zarr/spec/codec/zlib/1.0",
                "https://codec.zarrs.dev/bytes_to_bytes/zlib",
            ]),
        &create,
    )
    .translated_by(&all_members::<ZlibConfiguration>)
    .configuration::<ZlibConfiguration>()
    .about("Compresses with zlib (RFC 1950).", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.zlib", "configuration": {"level": 1}}"#),
    Example::v3(r#"{"name": "numcodecs.zlib", "configuration": {"level": 9}}"#),
    Example::v2(r#"{"id": "zlib", "level": 1}"#),
    Example::v2(r#"{"id": "zlib", "level": -1}"#),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/zlib/1.0", "configuration": {"level": 1}}"#,
    ),
];

// imagecodecs has the same streams under five names, with other levels.
zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_zlib")
            .with_id("imagecodecs_zlib")
            .with_aliases(&["numcodecs.imagecodecs_zlib"]),
        &create_imagecodecs,
    )
    .configuration::<ImagecodecsConfiguration>()
    .about("Compresses with zlib (RFC 1950).", EXAMPLES_ZLIB)
);

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_zlibng")
            .with_id("imagecodecs_zlibng")
            .with_aliases(&["numcodecs.imagecodecs_zlibng"]),
        &create_imagecodecs,
    )
    .configuration::<ImagecodecsConfiguration>()
    .about("Compresses with zlib (RFC 1950).", EXAMPLES_ZLIBNG)
);

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_deflate")
            .with_id("imagecodecs_deflate")
            .with_aliases(&["numcodecs.imagecodecs_deflate"]),
        &create_deflate,
    )
    .configuration::<DeflateConfiguration>()
    .about("Compresses with zlib (RFC 1950).", EXAMPLES_DEFLATE)
);

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_isal")
            .with_id("imagecodecs_isal")
            .with_aliases(&["numcodecs.imagecodecs_isal"]),
        &create_isal,
    )
    .configuration::<IsalConfiguration>()
    .about("Compresses with zlib (RFC 1950).", EXAMPLES_ISAL)
);

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_zopfli")
            .with_id("imagecodecs_zopfli")
            .with_aliases(&["numcodecs.imagecodecs_zopfli"]),
        &create_zopfli,
    )
    .configuration::<ZopfliConfiguration>()
    .about("Compresses with zlib (RFC 1950).", EXAMPLES_ZOPFLI)
);

const EXAMPLES_ZLIB: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_zlib"}"#),
    Example::v2(r#"{"id": "imagecodecs_zlib", "level": 4}"#),
];

const EXAMPLES_ZLIBNG: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_zlibng"}"#),
    Example::v2(r#"{"id": "imagecodecs_zlibng", "level": 4}"#),
];

const EXAMPLES_DEFLATE: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_deflate"}"#),
    Example::v2(r#"{"id": "imagecodecs_deflate", "level": 4, "raw": false}"#),
];

const EXAMPLES_ISAL: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_isal"}"#),
    Example::v2(r#"{"id": "imagecodecs_isal", "level": 3, "raw": false, "gzip": false}"#),
];

const EXAMPLES_ZOPFLI: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_zopfli"}"#),
    Example::v2(
        r#"{"id": "imagecodecs_zopfli", "level": null, "format": 1, "blocksplitting": null,
            "blocksplittingmax": null}"#,
    ),
];

/// Compresses each chunk to one zlib stream.
#[derive(Debug)]
pub struct Zlib {
    level: u32,
    encoders: Pool<Encoder>,
    decoders: Pool<Decoder>,
}

impl Zlib {
    /// Compresses at `level`, from 0 (no compression) to 9 (smallest), or -1 for the library's default.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for another level.
    pub fn new(level: i32) -> CodecResult<Self> {
        let level = match level {
            -1 => 6,
            0..=9 => level.unsigned_abs(),
            _ => return Err(CodecError::configuration(format!("`level` is {level}; expected -1 to 9"))),
        };
        Ok(Self { level, encoders: Pool::new(), decoders: Pool::new() })
    }
}

impl From<Zlib> for CodecEntry {
    fn from(codec: Zlib) -> Self {
        Self::new("zlib", json!({"level": codec.level}))
    }
}

impl BytesToBytesCodec for Zlib {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.encoders.with(|| Encoder::new(self.level), |encoder| encoder.deflate(decoded, encoded))
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.decoders.with(Decoder::new, |decoder| decoder.inflate(encoded, decoded))
    }
}

/// The configuration, which is the same in every format. Written documents contain all members.
#[derive(Serialize, Deserialize)]
struct ZlibConfiguration {
    #[serde(default = "one")]
    level: i32,
}

fn one() -> i32 {
    1
}

/// The configuration of imagecodecs.
#[derive(Deserialize)]
struct ImagecodecsConfiguration {
    level: Option<i32>,
}

/// The configuration of imagecodecs for libdeflate, which has levels above 9.
#[derive(Deserialize)]
struct DeflateConfiguration {
    level: Option<i32>,
    raw: Option<bool>,
}

/// The configuration of imagecodecs for ISA-L, whose levels are 0 to 3.
#[derive(Deserialize)]
struct IsalConfiguration {
    level: Option<i32>,
    raw: Option<bool>,
    gzip: Option<bool>,
}

/// The configuration of imagecodecs for Zopfli. Here, the options of its search have no effect.
#[derive(Deserialize)]
struct ZopfliConfiguration {
    #[serde(rename = "level")]
    _repetitions: Option<i64>,
    format: Option<i64>,
    #[serde(rename = "blocksplitting")]
    _splits: Option<bool>,
    #[serde(rename = "blocksplittingmax")]
    _most_blocks: Option<i64>,
}

/// The number of the zlib format in the configuration of Zopfli.
const ZOPFLI_ZLIB: i64 = 1;

fn create_imagecodecs(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let ImagecodecsConfiguration { level } = creation.parse()?;
    Ok(Codec::BytesToBytes(Arc::new(Zlib::new(level.unwrap_or(-1))?)))
}

fn create_deflate(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let DeflateConfiguration { level, raw } = creation.parse()?;
    refuse_other_headers("raw", raw == Some(true))?;
    let level = level.unwrap_or(-1);
    let level = if (10..=12).contains(&level) { 9 } else { level };
    Ok(Codec::BytesToBytes(Arc::new(Zlib::new(level)?)))
}

fn create_isal(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let IsalConfiguration { level, raw, gzip } = creation.parse()?;
    refuse_other_headers("raw", raw == Some(true))?;
    refuse_other_headers("gzip", gzip == Some(true))?;
    Ok(Codec::BytesToBytes(Arc::new(Zlib::new(level.unwrap_or(-1))?)))
}

fn create_zopfli(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let ZopfliConfiguration { format, .. } = creation.parse()?;
    if let Some(other) = format.filter(|format| *format != ZOPFLI_ZLIB) {
        return Err(CodecError::Unsupported(format!(
            "`format` is {other}; only streams with the header of zlib, format {ZOPFLI_ZLIB}, are read"
        )));
    }
    Ok(Codec::BytesToBytes(Arc::new(Zlib::new(9)?)))
}

fn refuse_other_headers(member: &str, is_another: bool) -> CodecResult {
    let message = || format!("`{member}` is true; only streams with the header of zlib are read");
    if is_another { Err(CodecError::Unsupported(message())) } else { Ok(()) }
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::BytesToBytes(Arc::new(Zlib::new(creation.parse::<ZlibConfiguration>()?.level)?)))
}
