//! The `bitround` codec of Zarr: numbers rounded to their leading bits, so that they compress better.
//!
//! Array to array, lossy. A float, or each part of a complex number, keeps `keepbits` bits of its mantissa. An
//! integer keeps `keepbits` bits, starting with the highest bit that is set in its magnitude. The value is
//! rounded to the nearest, and to an even last bit in case of a tie. Floats may become infinite; an integer
//! that would exceed the largest value of its type is rounded down. NaN and infinities do not change. Times are
//! treated as `int64`.
//!
//! The encoded data type is the decoded one, and the encoded fill value is the rounded one. Decoding changes
//! nothing.
//!
//! `keepbits` is at least 1. In v2 and as `numcodecs.bitround` it may be 0, which keeps only the exponent.
//! numcodecs supports only real floats, so these two forms produce a warning for other types. v3 documents use the name
//! `numcodecs.bitround`, the only one that zarr-python reads, unless `bitround` is requested or the elements
//! are not real floats.
//!
//! Source: `bitround` in the Zarr extension registry; `BitRound` of numcodecs.

mod round;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numbers::{AnyNumber, Complex, Number, Operand, bf16, each, f16};
use zarr_plugin_kit::{Sides, array, with_any_number};
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, CodecResult, Creation, DataType, Example, Format,
    Identifiers, Loss, Object, Output, Representation, json,
};

use round::Round;

zarr_spec::register!(
    CodecPlugin::new(
        // zarr-python knows only this name, not the registered one.
        Identifiers::name("numcodecs.bitround")
            .with_id("bitround")
            .with_uri("https://zarr-kit.example/spec/codecs/bitround/1.0")
            .with_aliases(&["bitround", "https://codec.zarrs.dev/array_to_array/bitround"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<BitRoundConfiguration>()
    .about("Rounds numbers to a few significant bits so that they compress better.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.bitround", "configuration": {"keepbits": 10}}"#)
        .with_data_types(&["float32", "float64"])
        .with_loss(Loss::Relative(5e-4)),
    Example::v3(r#"{"name": "bitround", "configuration": {"keepbits": 10}}"#)
        .with_data_types(&["float32", "float64", "complex64"])
        .with_loss(Loss::Relative(5e-4)),
    Example::v3(r#"{"name": "bitround", "configuration": {"keepbits": 4}}"#)
        .with_data_types(&["bfloat16", "float16", "float32"])
        .with_loss(Loss::Relative(0.032)),
    Example::v3(r#"{"name": "bitround", "configuration": {"keepbits": 3}}"#)
        .with_data_types(&["int16", "uint32"])
        .with_loss(Loss::Relative(0.125)),
    Example::v2(r#"{"id": "bitround", "keepbits": 10}"#)
        .with_data_types(&["float32", "float64"])
        .with_loss(Loss::Relative(5e-4)),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/bitround/1.0",
            "configuration": {"keepbits": 10}}"#,
    )
    .with_data_types(&["float32", "float64"])
    .with_loss(Loss::Relative(5e-4)),
];

/// Rounds the elements of each chunk.
#[derive(Debug, Clone)]
pub struct BitRound {
    keepbits: u32,
    sides: Sides<Numbers>,
}

/// The numbers of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// A number of a type that codecs can compute with.
    One(AnyNumber),
    /// The parts of a `complex_float16`.
    Halves,
    /// The parts of a `complex_bfloat16`.
    BrainHalves,
}

impl Operand for Numbers {
    fn of(data_type: &dyn DataType) -> Option<Self> {
        match &*data_type.name() {
            "complex_float16" => Some(Self::Halves),
            "complex_bfloat16" => Some(Self::BrainHalves),
            _ => AnyNumber::of(data_type).map(Self::One),
        }
    }

    fn size(self) -> usize {
        match self {
            Self::One(number) => number.size(),
            Self::Halves | Self::BrainHalves => 4,
        }
    }
}

impl Numbers {
    fn is_integer(self) -> bool {
        matches!(self, Self::One(number) if number.is_integer())
    }

    fn is_rounded(&self) -> bool {
        !matches!(self, Self::One(AnyNumber::Number(Number::Bool) | AnyNumber::Narrow(..)))
    }
}

impl BitRound {
    /// Keeps `keepbits` bits of each number of `data_type`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if the elements are not integers, floats, complex numbers or times;
    /// [`CodecError::InvalidConfiguration`] if `keepbits` exceeds the mantissa, or is 0 for integers.
    pub fn new(keepbits: u32, data_type: Arc<dyn DataType>) -> CodecResult<Self> {
        let name = data_type.name();
        let number = Numbers::of(&*data_type).filter(Numbers::is_rounded).ok_or_else(|| {
            CodecError::Unsupported(format!("elements of data type `{name}` cannot be rounded"))
        })?;
        if number.is_integer() && keepbits == 0 {
            return Err(CodecError::configuration("`keepbits` is 0; expected at least 1 for integers"));
        }
        if let Some(bits) = mantissa(number).filter(|&bits| keepbits > bits) {
            return Err(CodecError::configuration(format!(
                "`keepbits` is {keepbits}; expected at most {bits}, the size of the mantissa of `{name}`"
            )));
        }
        let decoded = number;
        let encoded = number;
        Ok(Self { keepbits, sides: Sides::new(decoded, encoded, data_type) })
    }

    fn round(&self, decoded: &[u8], encoded: &mut [u8]) -> CodecResult {
        let keepbits = self.keepbits;
        match self.sides.decoded {
            Numbers::Halves => each(decoded, encoded, |complex: Complex<f16>| complex.rounded(keepbits)),
            Numbers::BrainHalves => {
                each(decoded, encoded, |complex: Complex<bf16>| complex.rounded(keepbits))
            }
            Numbers::One(AnyNumber::Number(Number::C64)) => {
                each(decoded, encoded, |complex: Complex<f32>| complex.rounded(keepbits))
            }
            Numbers::One(AnyNumber::Number(Number::C128)) => {
                each(decoded, encoded, |complex: Complex<f64>| complex.rounded(keepbits))
            }
            Numbers::One(number) => with_any_number!(number, T => {
                integer: each(decoded, encoded, |integer: T| integer.rounded(keepbits)),
                float: each(decoded, encoded, |float: T| float.rounded(keepbits)),
                other: return Err(CodecError::Unsupported("booleans cannot be rounded".into())),
            }),
        }
        Ok(())
    }
}

/// Returns the number of stored bits of the mantissa of a float or of one part of a complex number; `None` for
/// integers.
fn mantissa(number: Numbers) -> Option<u32> {
    match number {
        Numbers::BrainHalves | Numbers::One(AnyNumber::BF16) => Some(7),
        Numbers::Halves | Numbers::One(AnyNumber::Number(Number::F16)) => Some(10),
        Numbers::One(AnyNumber::Number(Number::F32 | Number::C64)) => Some(23),
        Numbers::One(AnyNumber::Number(Number::F64 | Number::C128)) => Some(52),
        Numbers::One(_) => None,
    }
}

impl From<BitRound> for CodecEntry {
    fn from(codec: BitRound) -> Self {
        Self::new("bitround", json!({"keepbits": codec.keepbits}))
    }
}

impl ArrayToArrayCodec for BitRound {
    fn encoded(&self, decoded: &ArrayRepresentation) -> CodecResult<ArrayRepresentation> {
        self.sides.representation(decoded, |from, to| self.round(from, to))
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.sides.encode(array, decoded, encoded, |from, to| self.round(from, to))
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.sides.decode(array, encoded, decoded, |from, to| {
            to.copy_from_slice(from);
            Ok(())
        })
    }
}

#[derive(Deserialize)]
struct BitRoundConfiguration {
    keepbits: u32,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let array = array(decoded)?;
    let codec = parse(creation, array)?;
    let number = codec.sides.decoded;
    if is_of_numcodecs(creation) && !is_of_numpy(number) {
        let name = array.data_type.name();
        creation
            .reading
            .tolerate(format!("`{}` of numcodecs does not support `{name}`", creation.identifier))?;
    }
    Ok(Codec::ArrayToArray(Arc::new(codec)))
}

fn parse(creation: &Creation<'_>, array: &ArrayRepresentation) -> CodecResult<BitRound> {
    let BitRoundConfiguration { keepbits } = creation.parse()?;
    if keepbits == 0 && !is_of_numcodecs(creation) {
        return Err(CodecError::configuration("`keepbits` is 0; expected at least 1"));
    }
    BitRound::new(keepbits, Arc::clone(&array.data_type))
}

/// Returns whether the number is a real float of NumPy.
fn is_of_numpy(number: Numbers) -> bool {
    matches!(number, Numbers::One(AnyNumber::Number(number)) if number.is_float())
}

/// Returns whether the rules of numcodecs apply: in v2, in the first generation of the draft, which uses the names of
/// v2, and for the name `numcodecs.bitround` in final v3.
fn is_of_numcodecs(creation: &Creation<'_>) -> bool {
    let is_older_draft = creation.format == Format::V3Draft && !creation.identifier.contains(':');
    creation.format == Format::V2 || is_older_draft || creation.identifier == "numcodecs.bitround"
}

/// Returns the configuration, which is the same in every format that supports it.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    let array = array(decoded)?;
    let codec = parse(creation, array)?;
    if to == Format::V2 && !is_of_numpy(codec.sides.decoded) {
        let name = array.data_type.name();
        return Err(CodecError::Unsupported(format!("`bitround` does not support `{name}` in v2")));
    }
    if to == Format::V3Draft && codec.keepbits == 0 {
        return Err(CodecError::Unsupported("`keepbits` cannot be 0 in the v3 draft".into()));
    }
    let mut configuration = Object::new();
    configuration.insert("keepbits", codec.keepbits);
    Ok(configuration)
}
