//! The `zstd` codec: compresses each chunk to one Zstandard frame.
//!
//! Bytes to bytes. The encoded size depends on the data and is bounded. Decoding accepts any number of
//! consecutive frames, including skippable ones and those without a content size. Encoding writes one frame
//! with its content size, and with a checksum if `checksum` is set.
//!
//! `level` is -131072 (fastest) to 22 (smallest); 0 is the library's default. Final v3 requires it; `checksum`
//! is optional. In v2 and under the name `numcodecs.zstd`, both are optional and default to 0 and false. Like
//! the programs that write v2, a level above 22 is treated as 22 there.
//!
//! The v3 draft does not define the codec: documents get a URI of this project, and a URI that other programs
//! use is also read.
//!
//! imagecodecs has the same frames as `imagecodecs_zstd`, in v2 and final v3, with a default of 3;
//! `numcodecs.imagecodecs_zstd` is also read.
//!
//! Source: `zstd` in the Zarr extension registry and in numcodecs; RFC 8878.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, range_within};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Format, Identifiers, LimitExceeded,
    Object, Output, Pool, Representation, Size, json,
};
use zstd::zstd_safe::{self, CCtx, CParameter, DCtx, InBuffer, OutBuffer};

const OWN_URI: &str = "https://zarr-kit.example/spec/codecs/zstd/1.0";

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("zstd")
            .with_id("zstd")
            .with_uri(OWN_URI)
            .with_aliases(&["numcodecs.zstd", "https://purl.org/zarr/spec/codec/zstd/1.0"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<ZstdConfiguration>()
    .about("Compresses with Zstandard (RFC 8878).", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "zstd", "configuration": {"level": 3, "checksum": false}}"#),
    Example::v3(r#"{"name": "zstd", "configuration": {"level": 19, "checksum": true}}"#),
    Example::v3(r#"{"name": "zstd", "configuration": {"level": -5, "checksum": false}}"#),
    Example::v2(r#"{"id": "zstd", "level": 0}"#),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/zstd/1.0", "configuration": {"level": 0}}"#,
    ),
];

// imagecodecs has the same frames, with another default level.
zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_zstd")
            .with_id("imagecodecs_zstd")
            .with_aliases(&["numcodecs.imagecodecs_zstd"]),
        &create_imagecodecs,
    )
    .configuration::<ImagecodecsConfiguration>()
    .about("Compresses with Zstandard (RFC 8878).", EXAMPLES_ZSTD)
);

const EXAMPLES_ZSTD: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_zstd"}"#),
    Example::v2(r#"{"id": "imagecodecs_zstd", "level": 1, "numthreads": null}"#),
];

const MINIMUM_LEVEL: i32 = -(1 << 17);
const MAXIMUM_LEVEL: i32 = 22;

/// Compresses each chunk to one Zstandard frame.
#[derive(Debug)]
pub struct Zstd {
    level: i32,
    checksum: bool,
    encoders: Pool<Encoder>,
    decoders: Pool<Decoder>,
}

impl Zstd {
    /// Compresses at `level`, from -131072 to 22; 0 is the library's default. `checksum` adds four bytes, which
    /// decoding verifies.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for another level.
    pub fn new(level: i32, checksum: bool) -> CodecResult<Self> {
        if !(MINIMUM_LEVEL..=MAXIMUM_LEVEL).contains(&level) {
            return Err(CodecError::configuration(format!(
                "`level` is {level}; expected {MINIMUM_LEVEL} to {MAXIMUM_LEVEL}"
            )));
        }
        Ok(Self { level, checksum, encoders: Pool::new(), decoders: Pool::new() })
    }
}

impl From<Zstd> for CodecEntry {
    fn from(codec: Zstd) -> Self {
        Self::new("zstd", json!({"level": codec.level, "checksum": codec.checksum}))
    }
}

impl BytesToBytesCodec for Zstd {
    fn encoded_size(&self, decoded: Size) -> Size {
        // For sizes that exceed a slice, the library returns an error code.
        let limit = decoded.limit().and_then(|limit| usize::try_from(limit).ok());
        match limit.filter(|&limit| limit <= usize::MAX / 2) {
            Some(limit) => Size::AtMost(zstd_safe::compress_bound(limit) as u64),
            None => Size::Unknown,
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let bound = zstd_safe::compress_bound(decoded.len());
        if encoded.remaining() < bound {
            // The library needs spare space even if the result would fit.
            let mut roomy = Output::at_most(bound);
            self.encode(decoded, &mut roomy)?;
            return Ok(encoded.put(roomy.written())?);
        }
        let room = encoded.spare(bound)?;
        let size = self.encoders.with(Encoder::new, |Encoder(context)| {
            context.set_parameter(CParameter::CompressionLevel(self.level))?;
            context.set_parameter(CParameter::ChecksumFlag(self.checksum))?;
            context.compress2(room, decoded)
        });
        encoded.advance(size.map_err(|code| CodecError::encode(zstd_safe::get_error_name(code)))?);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.decoders.with(Decoder::new, |Decoder(context)| {
            let mut rest = encoded;
            loop {
                let size = zstd_safe::find_frame_compressed_size(rest).map_err(corrupt)?;
                let (frame, after) = rest.split_at(size);
                match zstd_safe::get_frame_content_size(frame) {
                    Ok(Some(size)) => decode_sized(context, frame, size, decoded)?,
                    Ok(None) => decode_unsized(context, frame, decoded)?,
                    Err(_) => return Err(CodecError::corrupt("a frame header is invalid")),
                }
                if after.is_empty() {
                    return Ok(());
                }
                rest = after;
            }
        })
    }

    /// Decodes only up to the end of `range`, if that saves work and nothing after it needs to be verified.
    fn decode_range(&self, encoded: &[u8], range: Range<usize>, decoded: &mut Output<'_>) -> CodecResult {
        let Some(size) = divisible(encoded).filter(|size| range.end <= size - size / 8) else {
            let before = decoded.written().len();
            self.decode(encoded, decoded)?;
            return range_within(&range, decoded.written().len() - before);
        };
        range_within(&range, size)?;
        let room = &mut fitting(encoded, size as u64, decoded)?[..range.end];
        self.decoders.with(Decoder::new, |Decoder(context)| decode_beginning(context, encoded, room))?;
        decoded.advance(size);
        Ok(())
    }
}

/// Returns the declared size of a frame that can be decoded in part: `encoded` is a single frame whose blocks
/// are complete, without a checksum, and with a window that is small enough to be reused.
fn divisible(encoded: &[u8]) -> Option<usize> {
    let &[a, b, c, d, descriptor, window, ..] = encoded else { return None };
    if u32::from_le_bytes([a, b, c, d]) != zstd_safe::MAGICNUMBER || descriptor & HAS_CHECKSUM != 0 {
        return None;
    }
    let size = zstd_safe::get_frame_content_size(encoded).ok()??;
    let window = if descriptor & IS_ONE_SEGMENT != 0 { size } else { window_size(window) };
    let is_whole = zstd_safe::find_frame_compressed_size(encoded) == Ok(encoded.len());
    usize::try_from(size).ok().filter(|_| is_whole && window <= USUAL_WINDOW)
}

/// Decodes the window size from the byte after the descriptor of a frame (RFC 8878, section 3.1.1.1.2).
fn window_size(byte: u8) -> u64 {
    u64::from(8 + (byte & 7)) << (7 + (byte >> 3))
}

/// Flags of a frame header (RFC 8878, section 3.1.1.1.1).
const HAS_CHECKSUM: u8 = 1 << 2;
const IS_ONE_SEGMENT: u8 = 1 << 5;

/// The maximum window for decoding a part of a frame. Larger windows would need too much memory.
const USUAL_WINDOW: u64 = 8 << 20;

/// Maximum size of a window to allocate. Frames that declare their content size do not need one.
const MAXIMUM_WINDOW: u64 = 64 << 20;

/// Fills `room` from the beginning of a frame that contains more bytes.
fn decode_beginning(context: &mut DCtx<'_>, frame: &[u8], room: &mut [u8]) -> CodecResult {
    context.init().map_err(corrupt)?;
    let mut source = InBuffer::around(frame);
    let mut target = OutBuffer::around(room);
    while target.pos() < target.capacity() {
        let before = (source.pos(), target.pos());
        context.decompress_stream(&mut target, &mut source).map_err(corrupt)?;
        if (source.pos(), target.pos()) == before {
            return Err(CodecError::corrupt("a frame holds fewer bytes than it declares"));
        }
    }
    Ok(())
}

/// Minimum size of a block in a frame in bytes. A block holds at most 128 KiB.
const BLOCK_HEADER_SIZE: usize = 3;
const BLOCK_SIZE: usize = 1 << 17;

/// Decoded bytes per encoded byte that frames rarely exceed.
const USUAL_RATIO: u64 = 64;

/// Decodes directly into the output. If the frame declares far more bytes than frames of its size usually hold, and the
/// caller does not expect exactly that size, memory grows with the decoded bytes instead.
fn decode_sized(context: &mut DCtx<'_>, frame: &[u8], size: u64, decoded: &mut Output<'_>) -> CodecResult {
    let remaining = decoded.remaining();
    let is_usual = size <= USUAL_WINDOW.max(frame.len() as u64 * USUAL_RATIO) || size == remaining as u64;
    if size <= remaining as u64 && !is_usual {
        return decode_unsized(context, frame, decoded);
    }
    let room = fitting(frame, size, decoded)?;
    let size = room.len();
    let written = context.decompress(room, frame).map_err(corrupt)?;
    if written != size {
        return Err(CodecError::corrupt(format!("a frame holds {written} bytes, but declares {size}")));
    }
    decoded.advance(size);
    Ok(())
}

/// Reserves memory for the `size` bytes that a frame declares.
fn fitting<'o>(frame: &[u8], size: u64, decoded: &'o mut Output<'_>) -> CodecResult<&'o mut [u8]> {
    let size = usize::try_from(size).ok().filter(|&size| size <= decoded.remaining());
    let size = size.ok_or_else(|| limit(decoded))?;
    if size > (frame.len() / BLOCK_HEADER_SIZE).saturating_mul(BLOCK_SIZE) {
        return Err(CodecError::corrupt("a frame declares more bytes than it can hold"));
    }
    Ok(&mut decoded.spare(size)?[..size])
}

/// Decodes in pieces, since the size is not declared.
fn decode_unsized(context: &mut DCtx<'_>, frame: &[u8], decoded: &mut Output<'_>) -> CodecResult {
    if needs_large_window(frame) {
        return decode_without_window(context, frame, decoded);
    }
    context.init().map_err(corrupt)?;
    let mut source = InBuffer::around(frame);
    loop {
        // A full output may be followed by the end of the frame, which needs space for one more byte.
        let mut beyond = [0];
        let full = decoded.remaining() == 0;
        let room = if full { &mut beyond } else { decoded.spare(decoded.remaining().min(BLOCK_SIZE))? };
        let room_size = room.len();
        let mut target = OutBuffer::around(room);
        let done = source.pos();
        let hint = context.decompress_stream(&mut target, &mut source).map_err(corrupt)?;
        let more = target.pos();
        if full && more > 0 {
            return Err(limit(decoded).into());
        }
        decoded.advance(more);
        if hint == 0 {
            return Ok(());
        }
        if more < room_size && source.pos() == done {
            return Err(CodecError::corrupt("a frame is truncated"));
        }
    }
}

/// Returns whether decoding in pieces requires a window above the maximum. The window of a single-segment frame
/// has its content size.
fn needs_large_window(frame: &[u8]) -> bool {
    let &[_, _, _, _, descriptor, window, ..] = frame else { return false };
    let window = match zstd_safe::get_frame_content_size(frame) {
        Ok(Some(size)) if descriptor & IS_ONE_SEGMENT != 0 => size,
        _ => window_size(window),
    };
    window > MAXIMUM_WINDOW
}

/// Decodes in one call, so that the output is the window. It has at most the number of bytes that the blocks
/// can hold.
fn decode_without_window(context: &mut DCtx<'_>, frame: &[u8], decoded: &mut Output<'_>) -> CodecResult {
    let remaining = decoded.remaining();
    let size = largest_content(frame).min(remaining);
    let usual = (frame.len() as u64).saturating_mul(USUAL_RATIO).max(MAXIMUM_WINDOW);
    if size as u64 > usual && size < remaining {
        return Err(CodecError::corrupt(format!(
            "a frame needs a window above the limit of {} MiB",
            MAXIMUM_WINDOW >> 20
        )));
    }
    let room = &mut decoded.spare(size)?[..size];
    match context.decompress(room, frame) {
        Ok(written) => {
            decoded.advance(written);
            Ok(())
        }
        Err(_) if size == remaining && largest_content(frame) > size => Err(limit(decoded).into()),
        Err(code) => Err(corrupt(code)),
    }
}

/// Returns the maximum number of bytes in the blocks of a frame. Raw and run-length blocks declare it; every
/// other block has at most [`BLOCK_SIZE`].
fn largest_content(frame: &[u8]) -> usize {
    const COMPRESSED: u32 = 2;
    const RUN: u32 = 1;
    let mut rest = frame.get(header_size(frame)..).unwrap_or_default();
    let mut largest = 0usize;
    while let &[a, b, c, ..] = rest {
        let header = u32::from_le_bytes([a, b, c, 0]);
        let size = usize::try_from(header >> 3).unwrap_or(usize::MAX);
        let kind = header >> 1 & 3;
        largest = largest.saturating_add(if kind == COMPRESSED { BLOCK_SIZE } else { size });
        let stored = if kind == RUN { 1 } else { size };
        rest = rest.get(BLOCK_HEADER_SIZE.saturating_add(stored)..).unwrap_or_default();
        if header & 1 == 1 {
            break;
        }
    }
    largest
}

/// Returns the size of a frame header (RFC 8878, section 3.1.1.1).
fn header_size(frame: &[u8]) -> usize {
    let Some(&descriptor) = frame.get(4) else { return 0 };
    let is_one_segment = descriptor & IS_ONE_SEGMENT != 0;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = match descriptor >> 6 {
        0 => usize::from(is_one_segment),
        flag => 1 << flag,
    };
    5 + usize::from(!is_one_segment) + dictionary + content_size
}

fn corrupt(code: zstd_safe::ErrorCode) -> CodecError {
    CodecError::corrupt(zstd_safe::get_error_name(code))
}

fn limit(output: &Output<'_>) -> LimitExceeded {
    LimitExceeded { limit: output.written().len() + output.remaining() }
}

struct Encoder(CCtx<'static>);

impl Encoder {
    fn new() -> Self {
        Self(CCtx::create())
    }
}

struct Decoder(DCtx<'static>);

impl Decoder {
    fn new() -> Self {
        Self(DCtx::create())
    }
}

#[derive(Deserialize)]
struct ZstdConfiguration {
    level: Option<Level>,
    checksum: Option<bool>,
}

/// A level of Zstandard.
#[derive(Deserialize)]
#[serde(try_from = "i32")]
struct Level(i32);

impl TryFrom<i32> for Level {
    type Error = String;

    fn try_from(level: i32) -> Result<Self, String> {
        match (MINIMUM_LEVEL..=MAXIMUM_LEVEL).contains(&level) {
            true => Ok(Self(level)),
            false => Err(format!("`level` is {level}; expected {MINIMUM_LEVEL} to {MAXIMUM_LEVEL}")),
        }
    }
}

/// The configuration of v2, whose writers accept any level and reduce it to 22.
#[derive(Deserialize)]
struct NumcodecsConfiguration {
    level: Option<i32>,
    checksum: Option<bool>,
}

/// The configuration of imagecodecs. The number of threads affects only the speed of imagecodecs.
#[derive(Deserialize)]
struct ImagecodecsConfiguration {
    level: Option<i32>,
    #[serde(rename = "numthreads")]
    _threads: Option<i64>,
}

fn create_imagecodecs(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let ImagecodecsConfiguration { level, .. } = creation.parse()?;
    Ok(Codec::BytesToBytes(Arc::new(Zstd::new(level.unwrap_or(3), false)?)))
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let (level, checksum) = configuration(creation)?;
    Ok(Codec::BytesToBytes(Arc::new(Zstd::new(level, checksum)?)))
}

fn configuration(creation: &Creation<'_>) -> CodecResult<(i32, bool)> {
    if creation.format == Format::V2 {
        return numcodecs_configuration(creation);
    }
    let ZstdConfiguration { level, checksum } = creation.parse()?;
    let registered = creation.format == Format::V3 && creation.identifier == "zstd";
    let level = match level {
        None if registered || creation.identifier == OWN_URI => {
            return Err(CodecError::configuration("`level` is missing; expected a number up to 22"));
        }
        None => 0,
        Some(Level(level)) => level,
    };
    Ok((level, checksum.unwrap_or(false)))
}

fn numcodecs_configuration(creation: &Creation<'_>) -> CodecResult<(i32, bool)> {
    let NumcodecsConfiguration { level, checksum } = creation.parse()?;
    let mut level = level.unwrap_or(0);
    if level > MAXIMUM_LEVEL {
        creation.reading.tolerate(format!("`level` {level} of codec `zstd` is above {MAXIMUM_LEVEL}"))?;
        level = MAXIMUM_LEVEL;
    }
    Ok((level, checksum.unwrap_or(false)))
}

/// Writes both parameters, but omits a false `checksum` in v2, since some readers do not know it (tensorstore
/// refuses it).
fn translate(creation: &Creation<'_>, _decoded: &Representation, to: Format) -> CodecResult<Object> {
    let (level, checksum) = configuration(creation)?;
    let mut configuration = Object::new();
    configuration.insert("level", level);
    // Older versions of numcodecs do not know the member, and one implementation of v3 requires it.
    if checksum || to != Format::V2 {
        configuration.insert("checksum", checksum);
    }
    Ok(configuration)
}
