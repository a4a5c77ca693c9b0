//! The `zfp` and `zfpy` codecs of Zarr: compress the numbers of a chunk to one zfp stream.
//!
//! Array to bytes, for one to four dimensions. All modes except `reversible` are lossy. The last dimension of
//! the chunk is the first one (`nx`) of zfp.
//!
//! - `zfp` writes no header, names its modes, and treats arrays without dimensions as one element. It promotes
//!   narrow numbers like zfp: integers to `int32`, `float16` to `float32`. zfp does not have unsigned integers,
//!   so values of `uint32` and `uint64` above the largest signed value are an error.
//! - `zfpy` is the codec of numcodecs: a header before the stream, numbered modes, and only `int32`, `int64`,
//!   `float32` and `float64`. Decoding follows the header, which must match the type and shape of the array. A
//!   negative parameter means lossless.
//! - `imagecodecs_zfp` is the codec of imagecodecs, in v2 and final v3: the streams of `zfpy`. Without `header`, a shorter
//!   header declares only the mode. `numcodecs.imagecodecs_zfp` is also read.
//!
//! zfp writes words in machine order, so the codecs work only on little-endian machines.
//!
//! Source: `codecs/zfp` in the Zarr extension registry; `ZFPY` of numcodecs, in v2 as `zfpy`, in final v3 as
//! `numcodecs.zfpy`; `Zfp` in imagecodecs; the format of zfp 1.0.

mod imagecodecs;
mod parameters;
mod stream;

use std::sync::Arc;

use zarr_plugin_kit::array;
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Format, Identifiers, Loss,
    Object, Output, Representation, Size,
};

use parameters::{ZfpConfiguration, ZfpyConfiguration};
use stream::{Header, Mode};

pub use parameters::ZfpMode;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("zfp")
            .with_uri("https://zarr-kit.example/spec/codecs/zfp/1.0")
            .with_aliases(&["https://codec.zarrs.dev/array_to_bytes/zfp"]),
        &create_zfp,
    )
    .configuration::<ZfpConfiguration>()
    .about("Compresses integers and floats in up to 4 dimensions with zfp, lossy or lossless.", ZFP_EXAMPLES)
);

const ZFP_EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "zfp", "configuration": {"mode": "reversible"}}"#)
        .with_data_types(&["int32", "int64", "float32", "float64"])
        .with_shape(&[4, 6]),
    Example::v3(r#"{"name": "zfp", "configuration": {"mode": "fixed_accuracy", "tolerance": 0.05}}"#)
        .with_data_types(&["float32", "float64"])
        .with_shape(&[30])
        .with_loss(Loss::Absolute(0.05)),
    Example::v3(r#"{"name": "zfp", "configuration": {"mode": "fixed_rate", "rate": 16}}"#)
        .with_data_types(&["float32", "float64"])
        .with_shape(&[4, 6])
        .with_loss(Loss::Absolute(0.5)),
    Example::v3(r#"{"name": "zfp", "configuration": {"mode": "fixed_precision", "precision": 19}}"#)
        .with_data_types(&["float32", "float64"])
        .with_shape(&[2, 3, 4])
        .with_loss(Loss::Absolute(0.05)),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/zfp/1.0",
            "configuration": {"mode": "reversible"}}"#,
    )
    .with_data_types(&["int32", "int64", "float32", "float64"])
    .with_shape(&[4, 6]),
];

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.zfpy")
            .with_id("zfpy")
            .with_uri("https://zarr-kit.example/spec/codecs/zfpy/1.0")
            .with_aliases(&["https://codec.zarrs.dev/array_to_bytes/zfpy"]),
        &create_zfpy,
    )
    .translated_by(&translate_zfpy)
    .configuration::<ZfpyConfiguration>()
    .about(
        "Compresses numbers in up to 4 dimensions with zfp, with a header that describes them.",
        ZFPY_EXAMPLES
    )
);

const ZFPY_EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "numcodecs.zfpy",
            "configuration": {"mode": 4, "tolerance": 0.05, "rate": -1, "precision": -1}}"#,
    )
    .with_data_types(&["float32", "float64"])
    .with_shape(&[4, 6])
    .with_loss(Loss::Absolute(0.05)),
    Example::v3(
        r#"{"name": "numcodecs.zfpy",
            "configuration": {"mode": 4, "tolerance": -1, "rate": -1, "precision": -1}}"#,
    )
    .with_data_types(&["int32", "int64", "float32", "float64"])
    .with_shape(&[2, 3, 4, 5]),
    Example::v2(r#"{"id": "zfpy", "mode": 4, "tolerance": 0.05, "rate": -1, "precision": -1}"#)
        .with_data_types(&["float32", "float64"])
        .with_shape(&[4, 6])
        .with_loss(Loss::Absolute(0.05)),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/zfpy/1.0",
            "configuration": {"mode": 4, "tolerance": 0.05, "rate": -1, "precision": -1}}"#,
    )
    .with_data_types(&["float32", "float64"])
    .with_shape(&[4, 6])
    .with_loss(Loss::Absolute(0.05)),
];

/// Compresses to a zfp stream without a header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zfp(ZfpMode);

/// Compresses to a zfp stream with a header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zfpy(ZfpMode);

impl Zfp {
    /// Creates the codec.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for parameters that zfp refuses.
    pub fn new(mode: ZfpMode) -> Result<Self, CodecError> {
        mode.checked().map(Self)
    }
}

impl Zfpy {
    /// Creates the codec.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for parameters that zfp refuses, and for [`ZfpMode::Expert`], which
    /// numcodecs does not have.
    pub fn new(mode: ZfpMode) -> Result<Self, CodecError> {
        if matches!(mode, ZfpMode::Expert { .. }) {
            return Err(CodecError::configuration("`zfpy` does not have the expert mode; use `zfp` instead"));
        }
        mode.checked().map(Self)
    }
}

impl From<Zfp> for CodecEntry {
    fn from(codec: Zfp) -> Self {
        Self::new("zfp", codec.0.zfp_configuration())
    }
}

impl From<Zfpy> for CodecEntry {
    fn from(codec: Zfpy) -> Self {
        Self::new("zfpy", codec.0.zfpy_configuration())
    }
}

impl ArrayToBytesCodec for Zfp {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        stream::encoded_size(self.0, array)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        stream::encode(self.0, None, array, decoded, encoded)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        stream::decode(Mode::Given(self.0), array, encoded, decoded)
    }
}

impl ArrayToBytesCodec for Zfpy {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        stream::check_zfpy(array)?;
        // A stream may have been written in another mode.
        Ok(Size::Unknown)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        stream::check_zfpy(array)?;
        stream::encode(self.0, Some(Header::Full), array, decoded, encoded)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        stream::check_zfpy(array)?;
        stream::decode(Mode::Declared(Header::Full), array, encoded, decoded)
    }
}

fn create_zfp(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let mode = creation.parse::<ZfpConfiguration>()?.mode()?;
    stream::encoded_size(mode, array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(Zfp(mode))))
}

fn create_zfpy(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let mode = creation.parse::<ZfpyConfiguration>()?.mode()?;
    let array = array(decoded)?;
    stream::check_zfpy(array)?;
    stream::encoded_size(mode, array)?;
    Ok(Codec::ArrayToBytes(Arc::new(Zfpy(mode))))
}

fn translate_zfpy(
    creation: &Creation<'_>,
    _decoded: &Representation,
    _to: Format,
) -> Result<Object, CodecError> {
    creation.parse::<ZfpyConfiguration>()?.translated()
}
