//! The `imagecodecs_jpeg2k` codec: reads chunks that are JPEG 2000 images.
//!
//! Array to bytes, for integers of 8, 16 and 32 bits; only decodes. A chunk without its dimensions of size 1 has rows
//! and columns (a grey image), only columns, or rows, columns and samples. Codestreams and JP2 files are read, lossless
//! or not, with any division into tiles, resolutions and layers. Samples of fewer bits than the data type are not
//! scaled.
//!
//! Palettes, color profiles, the color space sYCC, reordered channels and subsampled components are not supported.
//!
//! OpenJPEG decodes the images, after their headers were compared with the chunk. An image whose header needs much more
//! memory than its samples is refused, for example if it has a tile for each sample.
//!
//! | member | meaning |
//! |---|---|
//! | `planar` | true: the samples are the first of three dimensions |
//! | `squeeze` | the dimensions of size 1 that are removed: false for none, or a list with a Boolean for each |
//!
//! `level`, `codecformat`, `colorspace`, `tile`, `reversible`, `bitspersample`, `resolutions`, `mct`, `skipres`,
//! `numthreads` and `verbose` affect only how chunks are written, or how quickly they are read, and have no effect here.
//!
//! v2 and final v3 have the codec as `imagecodecs_jpeg2k`; `numcodecs.imagecodecs_jpeg2k` is also read. High-throughput
//! JPEG 2000 has the same codestreams with another coder of blocks; its name is `imagecodecs_htj2k`.
//!
//! Source: `Jpeg2k` and `Htj2k` in imagecodecs; ITU-T T.800 and T.814.

mod boxes;
mod decoder;
mod header;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_plugin_kit::images::ImageShape;
use zarr_plugin_kit::numbers::Number;
use zarr_spec::codec::{ArrayToBytesCodec, CodecResult};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output,
    Representation, Size, Value,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_jpeg2k")
            .with_id("imagecodecs_jpeg2k")
            .with_aliases(&["numcodecs.imagecodecs_jpeg2k"]),
        &create,
    )
    .configuration::<Jpeg2kConfiguration>()
    .about("Reads chunks that are JPEG 2000 images.", EXAMPLES)
    .decodes_only()
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_jpeg2k", "configuration": {"reversible": true}}"#)
        .with_data_types(&["uint8", "int8", "uint16", "int16"])
        .with_shape(&[4, 6]),
    Example::v3(r#"{"name": "imagecodecs_jpeg2k", "configuration": {"reversible": true, "planar": true}}"#)
        .with_data_types(&["uint8"])
        .with_shape(&[3, 4, 6]),
    Example::v2(
        r#"{"id": "imagecodecs_jpeg2k", "level": null, "codecformat": null, "colorspace": null, "planar": null,
            "tile": null, "reversible": true, "bitspersample": null, "resolutions": null, "numthreads": null,
            "mct": true, "skipres": null, "verbose": null, "squeeze": null}"#,
    )
    .with_data_types(&["uint8", "uint16"])
    .with_shape(&[4, 6, 3]),
];

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_htj2k")
            .with_id("imagecodecs_htj2k")
            .with_aliases(&["numcodecs.imagecodecs_htj2k"]),
        &create_htj2k,
    )
    .configuration::<Htj2kConfiguration>()
    .about("Reads chunks that are high-throughput JPEG 2000 images.", EXAMPLES_HTJ2K)
    .decodes_only()
);

const EXAMPLES_HTJ2K: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_htj2k", "configuration": {"reversible": true}}"#)
        .with_data_types(&["uint8", "int8", "uint16", "int16"])
        .with_shape(&[4, 6]),
    Example::v2(
        r#"{"id": "imagecodecs_htj2k", "level": null, "rgb": null, "planar": null, "bitspersample": null,
            "tile": null, "resolutions": null, "reversible": true, "tlm": null, "tilepart": null,
            "block_size": null, "profile": null, "prog_order": null, "skipres": null, "resilient": false,
            "squeeze": null}"#,
    )
    .with_data_types(&["uint8", "uint16"])
    .with_shape(&[4, 6, 3]),
];

/// Reads chunks that are JPEG 2000 images.
#[derive(Debug)]
struct Jpeg2k {
    planar: bool,
    squeeze: Option<Value>,
}

/// The properties that the image of a chunk must have.
#[derive(Debug, Clone, Copy)]
struct Expected {
    image: ImageShape,
    /// The samples are the first dimension of the chunk.
    is_planar: bool,
    /// The size of a sample in bytes.
    sample_size: usize,
    is_signed: bool,
    /// The size of all samples in bytes.
    size: usize,
}

impl Jpeg2k {
    fn expected(&self, array: &ArrayRepresentation) -> CodecResult<Expected> {
        let mut image = ImageShape::of(array, self.squeeze.as_ref())?;
        // A grey image has the same order with and without `planar`. It has a third dimension, of size 1, only if
        // `squeeze` preserves this dimension.
        let is_planar = self.planar && image.samples > 1;
        if is_planar {
            (image.samples, image.height, image.width) = (image.height, image.width, image.samples);
        }
        let (sample_size, is_signed) = match Number::of(&*array.data_type) {
            Some(Number::U8) => (1, false),
            Some(Number::I8) => (1, true),
            Some(Number::U16) => (2, false),
            Some(Number::I16) => (2, true),
            Some(Number::U32) => (4, false),
            Some(Number::I32) => (4, true),
            _ => {
                let name = array.data_type.name();
                return Err(CodecError::Unsupported(format!(
                    "elements are `{name}`; expected an integer of 8, 16 or 32 bits"
                )));
            }
        };
        let size = array.element_count().and_then(|count| count.checked_mul(sample_size));
        match (size, u16::try_from(image.samples)) {
            (Some(size), Ok(_)) => Ok(Expected { image, is_planar, sample_size, is_signed, size }),
            _ => Err(CodecError::Unsupported(format!(
                "a chunk of shape {:?} is not a JPEG 2000 image; expected rows, columns and samples",
                array.shape
            ))),
        }
    }
}

impl Expected {
    /// Writes the samples of a component to their places in a chunk.
    fn place(&self, component: usize, samples: &[i32], chunk: &mut [u8]) {
        let (start, step) = match self.is_planar {
            true => (component * samples.len(), 1),
            false => (component, self.image.samples as usize),
        };
        match self.sample_size {
            1 => place::<1>(start, step, samples, chunk),
            2 => place::<2>(start, step, samples, chunk),
            _ => place::<4>(start, step, samples, chunk),
        }
    }
}

/// Writes the lowest bytes of each sample in native byte order. The first sample is element `start` of the chunk, and each
/// next one is `step` elements later.
fn place<const SIZE: usize>(start: usize, step: usize, samples: &[i32], chunk: &mut [u8]) {
    let (places, _) = chunk.as_chunks_mut::<SIZE>();
    for (place, sample) in places.iter_mut().skip(start).step_by(step).zip(samples) {
        let bytes = sample.to_le_bytes();
        place.copy_from_slice(&bytes[..SIZE]);
        if cfg!(target_endian = "big") {
            place.reverse();
        }
    }
}

impl ArrayToBytesCodec for Jpeg2k {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        self.expected(array)?;
        Ok(Size::Unknown)
    }

    fn encode(&self, _: &ArrayRepresentation, _decoded: &[u8], _encoded: &mut Output<'_>) -> CodecResult {
        Err(CodecError::decodes_only())
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let expected = self.expected(array)?;
        let codestream = boxes::codestream(encoded)?;
        header::check(codestream, &expected)?;
        let chunk = &mut decoded.spare(expected.size)?[..expected.size];
        decoder::decode(codestream, &expected, chunk)?;
        decoded.advance(expected.size);
        Ok(())
    }
}

#[derive(Deserialize)]
struct Jpeg2kConfiguration {
    planar: Option<bool>,
    squeeze: Option<Value>,
    level: Option<Value>,
    codecformat: Option<Value>,
    colorspace: Option<Value>,
    tile: Option<Value>,
    reversible: Option<Value>,
    bitspersample: Option<Value>,
    resolutions: Option<Value>,
    numthreads: Option<Value>,
    mct: Option<Value>,
    skipres: Option<Value>,
    verbose: Option<Value>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let configuration: Jpeg2kConfiguration = creation.parse()?;
    let Jpeg2kConfiguration { level, codecformat, colorspace, tile, reversible, bitspersample, .. } =
        &configuration;
    let Jpeg2kConfiguration { resolutions, numthreads, mct, skipres, verbose, .. } = &configuration;
    let _have_no_effect = [level, codecformat, colorspace, tile, reversible, bitspersample];
    let _have_no_effect = [resolutions, numthreads, mct, skipres, verbose];
    let codec = Jpeg2k { planar: configuration.planar.unwrap_or(false), squeeze: configuration.squeeze };
    codec.expected(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}

/// The configuration of high-throughput JPEG 2000.
#[derive(Deserialize)]
struct Htj2kConfiguration {
    planar: Option<bool>,
    squeeze: Option<Value>,
    level: Option<Value>,
    rgb: Option<Value>,
    bitspersample: Option<Value>,
    tile: Option<Value>,
    resolutions: Option<Value>,
    reversible: Option<Value>,
    tlm: Option<Value>,
    tilepart: Option<Value>,
    block_size: Option<Value>,
    profile: Option<Value>,
    prog_order: Option<Value>,
    skipres: Option<Value>,
    resilient: Option<Value>,
}

fn create_htj2k(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let configuration: Htj2kConfiguration = creation.parse()?;
    let Htj2kConfiguration { level, rgb, bitspersample, tile, resolutions, reversible, tlm, .. } =
        &configuration;
    let Htj2kConfiguration { tilepart, block_size, profile, prog_order, skipres, resilient, .. } =
        &configuration;
    let _have_no_effect = [level, rgb, bitspersample, tile, resolutions, reversible, tlm];
    let _have_no_effect = [tilepart, block_size, profile, prog_order, skipres, resilient];
    let codec = Jpeg2k { planar: configuration.planar.unwrap_or(false), squeeze: configuration.squeeze };
    codec.expected(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}
