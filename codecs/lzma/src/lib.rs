//! The `lzma` codec: compresses each chunk to one xz, lzma or raw stream.
//!
//! Bytes to bytes. The encoded size depends on the data, so shard indexes cannot use the codec. Decoding
//! accepts several consecutive xz streams, but no bytes after a stream of the other two kinds. A stream that
//! needs a dictionary of more than 64 MiB, the size of the highest preset, is refused before allocation.
//!
//! The parameters are those of Python's `lzma` module. All are optional:
//! - `format`: 1 for an xz file (the default), 2 for the older lzma file, 3 for a raw stream;
//! - `check`: the checksum of an xz file: 0 none, 1 CRC-32, 4 CRC-64, 10 SHA-256, -1 the default, CRC-64;
//! - `preset`: null, or 0 (fastest) to 9 (smallest), plus 2^31 for the slower variant of each; 6 if null;
//! - `filters`: null, or a list of [`Filter`]s instead of a preset; required for a raw stream.
//!
//! In v2 and the draft, the member `delta` that GDAL writes is also read: the distance of a delta filter.
//!
//! Final v3 has the codec as `numcodecs.lzma`. The v3 draft does not define it: documents get a URI of this
//! project, and a URI that other programs use is also read.
//!
//! imagecodecs has the same xz files as `imagecodecs_lzma`, in v2 and final v3; `numcodecs.imagecodecs_lzma` is also read.
//!
//! Source: `lzma` in numcodecs; "The .xz File Format", version 1.2.0; Python's library reference, `lzma`.

mod filter;

use std::sync::Arc;

use liblzma::stream::{Action, CONCATENATED, Check, Error, Filters, LzmaOptions, Status, Stream};
use serde::Deserialize;
use zarr_plugin_kit::stream::{self, StreamProgress};
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, Creation, Example, Format, Identifiers, Object, Output, Representation,
    Value,
};

pub use filter::Filter;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.lzma")
            .with_id("lzma")
            .with_uri("https://zarr-kit.example/spec/codecs/lzma/1.0")
            .with_aliases(&["https://purl.org/zarr/spec/codec/lzma/1.0"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<LzmaConfiguration>()
    .about("Compresses with LZMA to an xz file, an lzma file or a raw stream.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "numcodecs.lzma",
            "configuration": {"format": 1, "check": -1, "preset": null, "filters": null}}"#,
    ),
    Example::v3(
        r#"{"name": "numcodecs.lzma",
            "configuration": {"format": 1, "check": 10, "preset": 9, "filters": null}}"#,
    ),
    Example::v3(
        r#"{"name": "numcodecs.lzma",
            "configuration": {"format": 1, "check": -1, "preset": null, "filters": [{"id": 3,
            "dist": 4}, {"id": 33, "preset": 6}]}}"#,
    ),
    Example::v3(
        r#"{"name": "numcodecs.lzma",
            "configuration": {"format": 2, "check": -1, "preset": 1, "filters": null}}"#,
    ),
    Example::v3(
        r#"{"name": "numcodecs.lzma",
            "configuration": {"format": 3, "check": -1, "preset": null, "filters": [{"id": 33,
            "preset": 6}]}}"#,
    ),
    Example::v2(r#"{"id": "lzma", "format": 1, "check": -1, "preset": null, "filters": null}"#),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/lzma/1.0",
            "configuration": {"format": 1, "check": -1, "preset": null, "filters": null}}"#,
    ),
];

// imagecodecs has the same xz files.
zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_lzma")
            .with_id("imagecodecs_lzma")
            .with_aliases(&["numcodecs.imagecodecs_lzma"]),
        &create_imagecodecs,
    )
    .configuration::<ImagecodecsConfiguration>()
    .about("Compresses with LZMA to an xz file.", EXAMPLES_LZMA)
);

const EXAMPLES_LZMA: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_lzma"}"#),
    Example::v2(r#"{"id": "imagecodecs_lzma", "level": 1, "check": "CRC32"}"#),
];

/// The parameters of Python's `lzma` module.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LzmaConfiguration {
    /// 1 for xz, 2 for lzma, 3 for a raw stream.
    pub format: u32,
    /// 0 for no check, 1 for CRC-32, 4 for CRC-64, 10 for SHA-256, -1 for the default of the format.
    pub check: i32,
    /// 0 to 9, plus 2^31 for the slower variant of each.
    pub preset: Option<u32>,
    /// The filters, in the order of encoding.
    pub filters: Option<Vec<Filter>>,
}

impl Default for LzmaConfiguration {
    fn default() -> Self {
        Self { format: 1, check: -1, preset: None, filters: None }
    }
}

/// Returns all members, which are the same in every format.
impl From<LzmaConfiguration> for Object {
    fn from(configuration: LzmaConfiguration) -> Self {
        let filters = configuration.filters.map(|filters| filters.iter().map(Filter::json).collect());
        let mut members = Self::new();
        members.insert("format", configuration.format);
        members.insert("check", configuration.check);
        members.insert("preset", configuration.preset.map_or(Value::Null, Value::from));
        members.insert("filters", filters.unwrap_or(Value::Null));
        members
    }
}

/// Compresses each chunk to one stream.
#[derive(Debug, Clone)]
pub struct Lzma {
    configuration: LzmaConfiguration,
    container: Container,
    method: Method,
}

#[derive(Debug, Clone, Copy)]
enum Container {
    Xz(Check),
    Alone,
    Raw,
}

#[derive(Debug, Clone)]
enum Method {
    Preset(u32),
    Filters(Vec<Filter>),
}

impl Lzma {
    /// Creates the codec from its parameters.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for invalid parameters or combinations of them.
    pub fn new(configuration: &LzmaConfiguration) -> Result<Self, CodecError> {
        let container = container(configuration)?;
        let method = match (&configuration.filters, configuration.preset) {
            (Some(_), Some(_)) => {
                return Err(CodecError::configuration("`preset` and `filters` exclude each other"));
            }
            (Some(filters), None) => {
                filter::check_chain(filters)?;
                Method::Filters(filters.clone())
            }
            (None, _) if matches!(container, Container::Raw) => {
                return Err(CodecError::configuration("a raw stream (`format` 3) needs `filters`"));
            }
            (None, preset) => Method::Preset(filter::checked_preset(preset)?),
        };
        if let Method::Filters(filters) = &method {
            let has_lzma1 = filters.iter().any(Filter::is_lzma1);
            match container {
                Container::Xz(_) if has_lzma1 => {
                    return Err(CodecError::configuration(
                        "an xz file (`format` 1) cannot have an LZMA1 filter",
                    ));
                }
                Container::Alone if !has_lzma1 || filters.len() != 1 => {
                    return Err(CodecError::configuration(
                        "an lzma file (`format` 2) must have LZMA1 as its only filter",
                    ));
                }
                _ => {}
            }
        }
        Ok(Self { configuration: configuration.clone(), container, method })
    }

    fn encoder(&self) -> Result<Stream, Error> {
        match (self.container, &self.method) {
            (Container::Xz(check), Method::Preset(preset)) => Stream::new_easy_encoder(*preset, check),
            (Container::Xz(check), Method::Filters(filters)) => {
                Stream::new_stream_encoder(&filter::chain(filters)?, check)
            }
            (Container::Alone, _) => Stream::new_lzma_encoder(&self.lzma_options()?),
            (Container::Raw, _) => Stream::new_raw_encoder(&self.chain()?),
        }
    }

    fn decoder(&self) -> Result<Stream, Error> {
        match self.container {
            Container::Xz(_) => Stream::new_stream_decoder(MEMORY_LIMIT, CONCATENATED),
            Container::Alone => Stream::new_lzma_decoder(MEMORY_LIMIT),
            Container::Raw => Stream::new_raw_decoder(&self.chain()?),
        }
    }

    fn lzma_options(&self) -> Result<LzmaOptions, Error> {
        match &self.method {
            Method::Preset(preset) => LzmaOptions::new_preset(*preset),
            Method::Filters(filters) => filters.last().ok_or(Error::Options)?.lzma_options(),
        }
    }

    fn chain(&self) -> Result<Filters, Error> {
        match &self.method {
            Method::Filters(filters) => filter::chain(filters),
            Method::Preset(_) => Err(Error::Options),
        }
    }
}

fn container(configuration: &LzmaConfiguration) -> Result<Container, CodecError> {
    let container = match (configuration.format, configuration.check) {
        (1, -1 | 4) => Container::Xz(Check::Crc64),
        (1, 0) => Container::Xz(Check::None),
        (1, 1) => Container::Xz(Check::Crc32),
        (1, 10) => Container::Xz(Check::Sha256),
        (2, -1 | 0) => Container::Alone,
        (3, -1 | 0) => Container::Raw,
        (1..=3, check) => {
            return Err(CodecError::configuration(format!(
                "`check` is {check}; expected -1 or 0, or for `format` 1 also 1, 4 or 10"
            )));
        }
        (format, _) => {
            return Err(CodecError::configuration(format!("`format` is {format}; expected 1, 2 or 3")));
        }
    };
    Ok(container)
}

/// Maximum memory for decoding in bytes, without the output: the largest dictionary, and tables.
const MEMORY_LIMIT: u64 = filter::MAXIMUM_DICTIONARY_SIZE as u64 + (1 << 20);

impl From<Lzma> for CodecEntry {
    fn from(codec: Lzma) -> Self {
        Self::new("lzma", Object::from(codec.configuration))
    }
}

impl BytesToBytesCodec for Lzma {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        let mut library = self.encoder().map_err(CodecError::encode)?;
        stream::encode(decoded, encoded, |decoded, room| {
            progress(&mut library, decoded, room).map_err(CodecError::encode)
        })
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        let mut library = self.decoder().map_err(CodecError::corrupt)?;
        let rest = stream::decode(encoded, decoded, |encoded, room| {
            progress(&mut library, encoded, room).map_err(decode_error)
        })?;
        match rest.len() {
            0 => Ok(()),
            more => Err(CodecError::corrupt(format!("{more} bytes follow the stream"))),
        }
    }
}

fn decode_error(error: Error) -> CodecError {
    match error {
        Error::MemLimit => CodecError::corrupt(format!(
            "the stream needs a dictionary above the limit of {} MiB",
            filter::MAXIMUM_DICTIONARY_SIZE >> 20
        )),
        error => CodecError::corrupt(error),
    }
}

fn progress(library: &mut Stream, bytes: &[u8], room: &mut [u8]) -> Result<StreamProgress, Error> {
    let status = library.process(bytes, room, Action::Finish)?;
    let read = library.total_in();
    let written = library.total_out();
    Ok(StreamProgress::new(read, written, status == Status::StreamEnd))
}

/// The configuration of imagecodecs.
#[derive(Deserialize)]
struct ImagecodecsConfiguration {
    level: Option<u32>,
    check: Option<CheckName>,
}

/// The names of checks in imagecodecs.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum CheckName {
    None,
    Crc32,
    Crc64,
    Sha256,
}

fn create_imagecodecs(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    let ImagecodecsConfiguration { level, check } = creation.parse()?;
    let check = match check {
        Option::None | Some(CheckName::Crc64) => 4,
        Some(CheckName::None) => 0,
        Some(CheckName::Crc32) => 1,
        Some(CheckName::Sha256) => 10,
    };
    let level = level.unwrap_or(6);
    if level > 9 {
        return Err(CodecError::configuration(format!("`level` is {level}; expected 0 to 9")));
    }
    let configuration = LzmaConfiguration { check, preset: Some(level), ..LzmaConfiguration::default() };
    Ok(Codec::BytesToBytes(Arc::new(Lzma::new(&configuration)?)))
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::BytesToBytes(Arc::new(Lzma::new(&configuration(creation)?)?)))
}

/// The configuration that GDAL writes in v2 and the draft: an xz file without a check, whose bytes pass a delta filter.
#[derive(Deserialize)]
struct GdalConfiguration {
    preset: Option<u32>,
    delta: u32,
}

fn configuration(creation: &Creation<'_>) -> Result<LzmaConfiguration, CodecError> {
    let has_delta = creation.configuration.as_object().is_some_and(|members| members.contains("delta"));
    if creation.format == Format::V3 || !has_delta {
        return Ok(creation.parse()?);
    }
    let GdalConfiguration { preset, delta } = creation.parse()?;
    creation.reading.tolerate("`delta` of `lzma` is specific to GDAL; use `filters` instead")?;
    let filters = vec![Filter::delta(delta), Filter::lzma2(preset)];
    Ok(LzmaConfiguration { format: 1, check: 0, preset: None, filters: Some(filters) })
}

/// Returns the configuration, which is the same in every format and states all defaults.
fn translate(creation: &Creation<'_>, _decoded: &Representation, _to: Format) -> Result<Object, CodecError> {
    configuration(creation).map(Object::from)
}
