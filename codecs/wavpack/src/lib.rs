//! The `wavpack` codec: compresses samples of channels without loss, like audio.
//!
//! Array to bytes, for integers of 8 to 32 bits except `uint32`, and `float32`. The chunk is divided into channels:
//! the second of two dimensions, or one channel for other chunks, and for more than 4096 channels. Any number of
//! channels is read, because the samples of all channels at one time are neighbours in both forms.
//!
//! Chunks of the lossy mode of WavPack, which other programs call hybrid, are not supported.
//!
//! The encoded size depends on the data. The headers of all blocks are compared with the chunk before they are decoded,
//! and every block is decoded again before it is stored.
//!
//! | member | meaning |
//! |---|---|
//! | `bps` | the bits of a sample in the lossy mode; null or 0 for none |
//!
//! `level`, `dynamic_noise_shaping`, `shaping_weight`, `num_encoding_threads` and `num_decoding_threads` affect only
//! how other programs write chunks, and have no effect here.
//!
//! v2 and final v3 have the codec as `wavpack`.
//!
//! imagecodecs has the same streams as `imagecodecs_wavpack`, in v2 and final v3; `numcodecs.imagecodecs_wavpack` is
//! also read. Its members are `bitrate`, which corresponds to `bps`, `channels`, which is true if the last dimension
//! has the channels, `level` and `numthreads`.
//!
//! Source: `WavPack` in wavpack-numcodecs; `Wavpack` in imagecodecs; "WavPack 4 & 5 Binary File / Block Format".

mod blocks;
mod decode;
mod encode;
mod library;
mod wide;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_plugin_kit::numbers::Number;
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry, CodecResult};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Object, Output,
    Representation, Size, Value,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("wavpack").with_id("wavpack"), &create)
        .configuration::<WavpackConfiguration>()
        .about("Compresses samples of channels without loss, like audio.", EXAMPLES)
);

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_wavpack")
            .with_id("imagecodecs_wavpack")
            .with_aliases(&["numcodecs.imagecodecs_wavpack"]),
        &create_imagecodecs,
    )
    .configuration::<ImagecodecsConfiguration>()
    .about("Compresses samples of channels without loss, like audio.", IMAGECODECS_EXAMPLES)
);

const DATA_TYPES: &[&str] = &["int8", "uint8", "int16", "uint16", "int32", "float32"];

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "wavpack", "configuration": {"level": 2}}"#)
        .with_data_types(DATA_TYPES)
        .with_shape(&[32, 3]),
    Example::v2(
        r#"{"id": "wavpack", "level": 2, "bps": 0.0, "dynamic_noise_shaping": true, "shaping_weight": 0.0,
            "num_encoding_threads": 1, "num_decoding_threads": 8}"#,
    )
    .with_data_types(DATA_TYPES)
    .with_shape(&[32, 4]),
];

const IMAGECODECS_EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_wavpack", "configuration": {"channels": true}}"#)
        .with_data_types(DATA_TYPES)
        .with_shape(&[4, 8, 2]),
    Example::v2(
        r#"{"id": "imagecodecs_wavpack", "level": null, "bitrate": null, "channels": false, "numthreads": null}"#,
    )
    .with_data_types(DATA_TYPES)
    .with_shape(&[4, 8]),
];

/// The largest number of channels.
const MOST_CHANNELS: u64 = 4096;

/// Compresses samples of channels without loss.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wavpack {
    channels: Channels,
}

/// The dimension that has the channels.
#[derive(Debug, Clone, Copy, Default)]
enum Channels {
    /// The second of two dimensions.
    #[default]
    Second,
    /// The last of several dimensions.
    Last,
    /// None: a chunk is one channel.
    None,
}

/// The samples of a chunk.
#[derive(Debug, Clone, Copy)]
struct Samples {
    number: Number,
    /// The number of samples of all channels.
    count: usize,
    channels: usize,
}

impl Wavpack {
    /// Creates the codec `imagecodecs_wavpack`. If `has_channels` is true, the last dimension of a chunk has the
    /// channels; otherwise a chunk is one channel.
    #[must_use]
    pub const fn imagecodecs(has_channels: bool) -> Self {
        Self { channels: if has_channels { Channels::Last } else { Channels::None } }
    }

    fn samples(self, array: &ArrayRepresentation) -> CodecResult<Samples> {
        let number = match Number::of(&*array.data_type) {
            Some(
                number @ (Number::I8 | Number::U8 | Number::I16 | Number::U16 | Number::I32 | Number::F32),
            ) => number,
            _ => {
                let name = array.data_type.name();
                return Err(CodecError::Unsupported(format!(
                    "elements are `{name}`; expected {} or `float32`",
                    "`int8`, `uint8`, `int16`, `uint16`, `int32`"
                )));
            }
        };
        let count = array.element_count().filter(|count| count.checked_mul(4).is_some_and(|size| size > 0));
        let Some(count) = count else {
            let shape = &array.shape;
            return Err(CodecError::Unsupported(format!("a chunk of shape {shape:?} is empty or too large")));
        };
        let channels = match (self.channels, &array.shape[..]) {
            (Channels::Second, [_, channels]) | (Channels::Last, [_, .., channels]) => *channels,
            _ => 1,
        };
        let channels = if channels > MOST_CHANNELS { 1 } else { channels };
        Ok(Samples { number, count, channels: usize::try_from(channels).unwrap_or(1) })
    }
}

impl From<Wavpack> for CodecEntry {
    fn from(codec: Wavpack) -> Self {
        match codec.channels {
            Channels::Second => Self::new("wavpack", Object::new()),
            Channels::Last => Self::new("imagecodecs_wavpack", zarr_spec::json!({"channels": true})),
            Channels::None => Self::new("imagecodecs_wavpack", Object::new()),
        }
    }
}

impl ArrayToBytesCodec for Wavpack {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        self.samples(array)?;
        Ok(Size::Unknown)
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        encode::encode(&self.samples(array)?, decoded, encoded)
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let samples = self.samples(array)?;
        let size = samples.count * samples.number.size();
        decode::decode(&samples, encoded, &mut decoded.spare(size)?[..size])?;
        decoded.advance(size);
        Ok(())
    }
}

#[derive(Deserialize)]
struct WavpackConfiguration {
    bps: Option<f64>,
    level: Option<Value>,
    dynamic_noise_shaping: Option<Value>,
    shaping_weight: Option<Value>,
    num_encoding_threads: Option<Value>,
    num_decoding_threads: Option<Value>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let configuration: WavpackConfiguration = creation.parse()?;
    let _have_no_effect = (
        [configuration.level, configuration.dynamic_noise_shaping, configuration.shaping_weight],
        [configuration.num_encoding_threads, configuration.num_decoding_threads],
    );
    created(("bps", configuration.bps), Channels::Second, decoded)
}

#[derive(Deserialize)]
struct ImagecodecsConfiguration {
    bitrate: Option<f64>,
    channels: Option<bool>,
    level: Option<Value>,
    numthreads: Option<Value>,
}

fn create_imagecodecs(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let ImagecodecsConfiguration { bitrate, channels, level, numthreads } = creation.parse()?;
    let _have_no_effect = [level, numthreads];
    let channels = if channels == Some(true) { Channels::Last } else { Channels::None };
    created(("bitrate", bitrate), channels, decoded)
}

/// Creates the codec unless a member demands the lossy mode.
fn created(lossy: (&str, Option<f64>), channels: Channels, decoded: &Representation) -> CodecResult<Codec> {
    let (member, bits) = lossy;
    if let Some(bits) = bits.filter(|&bits| bits != 0.0) {
        return Err(CodecError::Unsupported(format!(
            "`{member}` is {bits}, which is the lossy mode of WavPack; expected 0 or null"
        )));
    }
    let codec = Wavpack { channels };
    codec.samples(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}
