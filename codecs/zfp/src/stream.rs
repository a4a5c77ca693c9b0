//! Converting between the bytes of elements and zfp streams.

use zarr_plugin_kit::numbers::{Element, Number, f16};
use zarr_plugin_kit::with_number;
use zarr_spec::{ArrayRepresentation, CodecError, Output, Size};
use zfp_rs::{
    ZfpBitStream, ZfpConfig, ZfpDimensionality, ZfpField, ZfpFieldMut, ZfpHeaderMask, ZfpScalar,
    ZfpScalarType, ZfpStreamAlignment,
};

use crate::ZfpMode;

/// A number that zfp supports, or that is promoted to one.
trait Promoted: Element {
    /// The type that zfp compresses.
    type Scalar: ZfpScalar + Default;

    /// Promotes the number; `None` if the type cannot represent it.
    fn promoted(self) -> Option<Self::Scalar>;

    /// Returns the nearest number of the original type.
    fn demoted(scalar: Self::Scalar) -> Self;
}

/// The types of zfp.
macro_rules! direct {
    ($($number:ty)*) => {$(
        impl Promoted for $number {
            type Scalar = Self;

            fn promoted(self) -> Option<Self> {
                Some(self)
            }

            fn demoted(scalar: Self) -> Self {
                scalar
            }
        }
    )*};
}
direct!(i32 i64 f32 f64);

/// Unsigned types with the width of a type of zfp.
macro_rules! unsigned {
    ($($number:ty: $scalar:ty;)*) => {$(
        impl Promoted for $number {
            type Scalar = $scalar;

            fn promoted(self) -> Option<$scalar> {
                self.try_into().ok()
            }

            fn demoted(scalar: $scalar) -> Self {
                scalar.try_into().unwrap_or(0)
            }
        }
    )*};
}
unsigned! { u32: i32; u64: i64; }

/// Narrower integers. Their bits are shifted below the sign of an `int32`, with the middle of their range at
/// zero.
macro_rules! narrow {
    ($($number:ty: $middle:expr;)*) => {$(
        impl Promoted for $number {
            type Scalar = i32;

            fn promoted(self) -> Option<i32> {
                Some((i32::from(self) - $middle) << (31 - Self::BITS))
            }

            fn demoted(scalar: i32) -> Self {
                let value = (scalar >> (31 - Self::BITS)) + $middle;
                let nearest = if value < 0 { Self::MIN } else { Self::MAX };
                value.try_into().unwrap_or(nearest)
            }
        }
    )*};
}
narrow! { i8: 0; i16: 0; u8: 0x80; u16: 0x8000; }

impl Promoted for f16 {
    type Scalar = f32;

    fn promoted(self) -> Option<f32> {
        Some(self.to_f32())
    }

    fn demoted(scalar: f32) -> Self {
        Self::from_f32(scalar)
    }
}

/// The header of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header {
    /// Declares the type, the shape and the mode.
    Full,
    /// Declares only the mode.
    Mode,
}

impl Header {
    fn mask(self) -> ZfpHeaderMask {
        match self {
            Self::Full => ZfpHeaderMask::FULL,
            Self::Mode => ZfpHeaderMask::MAGIC | ZfpHeaderMask::MODE,
        }
    }
}

/// The source of the mode of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mode {
    /// The stream does not have a header.
    Given(ZfpMode),
    /// The header declares the mode.
    Declared(Header),
}

/// A chunk in terms of zfp.
struct Shape {
    scalar: ZfpScalarType,
    /// The dimensions, `nx` first; missing ones are 0.
    dims: [usize; 4],
    dimensionality: ZfpDimensionality,
    count: usize,
}

impl Shape {
    fn new(array: &ArrayRepresentation) -> Result<Self, CodecError> {
        if cfg!(target_endian = "big") {
            return Err(CodecError::Unsupported(
                "zfp streams are supported only on little-endian machines".into(),
            ));
        }
        let shape = &array.shape;
        let wrong = |what: &str| CodecError::Unsupported(format!("a chunk of shape {shape:?} {what}"));
        let mut dims = [0; 4];
        let dimensionality = match shape.len() {
            0 | 1 => ZfpDimensionality::D1,
            2 => ZfpDimensionality::D2,
            3 => ZfpDimensionality::D3,
            4 => ZfpDimensionality::D4,
            _ => return Err(wrong("has too many dimensions; zfp supports at most 4")),
        };
        dims[0] = 1;
        for (dim, &length) in dims.iter_mut().zip(shape.iter().rev()) {
            *dim = usize::try_from(length).map_err(|_| wrong("is too large"))?;
        }
        let count = array.element_count().filter(|&count| count <= usize::MAX >> 16);
        let count = count.ok_or_else(|| wrong("is too large"))?;
        if count == 0 {
            return Err(wrong("does not have elements, which zfp requires"));
        }
        Ok(Self { scalar: scalar(array)?, dims, dimensionality, count })
    }

    fn configuration(&self, mode: ZfpMode) -> Result<ZfpConfig, CodecError> {
        let wrong = |error| CodecError::configuration(format!("{mode:?}: {error}"));
        match mode {
            ZfpMode::Reversible => Ok(ZfpConfig::reversible()),
            ZfpMode::FixedAccuracy { tolerance } => Ok(ZfpConfig::fixed_accuracy(tolerance)),
            ZfpMode::FixedPrecision { precision } => Ok(ZfpConfig::fixed_precision(precision)),
            ZfpMode::FixedRate { rate } => {
                let alignment = ZfpStreamAlignment::Unaligned;
                ZfpConfig::fixed_rate(rate, self.scalar, self.dimensionality, alignment).map_err(wrong)
            }
            ZfpMode::Expert { minbits, maxbits, maxprec, minexp } => {
                ZfpConfig::expert(minbits, maxbits, maxprec, minexp).map_err(wrong)
            }
        }
    }
}

fn number(array: &ArrayRepresentation) -> Result<Number, CodecError> {
    let number = Number::of(&*array.data_type).filter(|number| number.is_integer() || number.is_float());
    number.ok_or_else(|| {
        CodecError::Unsupported(format!("zfp does not support data type `{}`", array.data_type.name()))
    })
}

fn scalar(array: &ArrayRepresentation) -> Result<ZfpScalarType, CodecError> {
    Ok(match number(array)? {
        Number::I64 | Number::U64 => ZfpScalarType::I64,
        Number::F64 => ZfpScalarType::F64,
        Number::F16 | Number::F32 => ZfpScalarType::F32,
        _ => ZfpScalarType::I32,
    })
}

/// Refuses arrays that numcodecs does not support, since it does not promote elements.
pub(crate) fn check_zfpy(array: &ArrayRepresentation) -> Result<(), CodecError> {
    if array.shape.is_empty() {
        return Err(CodecError::Unsupported("`zfpy` requires one to four dimensions".into()));
    }
    match number(array)? {
        Number::I32 | Number::I64 | Number::F32 | Number::F64 => Ok(()),
        _ => {
            let name = array.data_type.name();
            Err(CodecError::Unsupported(format!(
                "`zfpy` does not support data type `{name}`; use `zfp`, which promotes it"
            )))
        }
    }
}

/// Returns the size of a stream without its header.
pub(crate) fn encoded_size(mode: ZfpMode, array: &ArrayRepresentation) -> Result<Size, CodecError> {
    let shape = Shape::new(array)?;
    let size = shape.configuration(mode)?.maximum_size(shape.scalar, shape.dims);
    Ok(size.map_or(Size::Unknown, |size| Size::AtMost(size as u64)))
}

pub(crate) fn encode(
    mode: ZfpMode,
    header: Option<Header>,
    array: &ArrayRepresentation,
    decoded: &[u8],
    encoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let shape = Shape::new(array)?;
    let number = number(array)?;
    if decoded.len() != shape.count * number.size() {
        return Err(CodecError::encode(format!(
            "{} bytes do not hold {} elements",
            decoded.len(),
            shape.count
        )));
    }
    let configuration = shape.configuration(mode)?;
    with_number!(number, T => {
        integer: compress::<T>(&configuration, header, &shape, decoded, encoded),
        float: compress::<T>(&configuration, header, &shape, decoded, encoded),
        other: Ok(()),
    })
}

fn compress<T: Promoted>(
    configuration: &ZfpConfig,
    header: Option<Header>,
    shape: &Shape,
    decoded: &[u8],
    encoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let scalars: Option<Vec<_>> =
        decoded.chunks_exact(size_of::<T>()).map(|element| T::read(element).promoted()).collect();
    let scalars = scalars
        .ok_or_else(|| CodecError::encode("an element exceeds the largest signed integer of its size"))?;
    let field = ZfpField::new(&scalars, shape.dims).map_err(CodecError::encode)?;
    let capacity = configuration.maximum_size(shape.scalar, shape.dims);
    let capacity = capacity.ok_or_else(|| CodecError::encode("the stream would be too large"))?;
    let mut stream = ZfpBitStream::new(capacity).map_err(CodecError::encode)?;
    if let Some(header) = header {
        let written = stream.write_header(configuration, &field.metadata(), header.mask());
        written.map_err(CodecError::encode)?;
    }
    stream.compress(configuration, &field).map_err(CodecError::encode)?;
    Ok(encoded.put(stream.as_bytes())?)
}

/// Decodes a stream.
pub(crate) fn decode(
    mode: Mode,
    array: &ArrayRepresentation,
    encoded: &[u8],
    decoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let shape = Shape::new(array)?;
    let number = number(array)?;
    let size = shape.count * number.size();
    let destination = &mut decoded.spare(size)?[..size];
    let mut stream = ZfpBitStream::from_bytes(encoded).map_err(CodecError::corrupt)?;
    let configuration = match mode {
        Mode::Given(mode) => shape.configuration(mode)?,
        Mode::Declared(header) => read_header(&mut stream, header, &shape)?,
    };
    let read = with_number!(number, T => {
        integer: decompress::<T>(&configuration, &shape, &mut stream, destination)?,
        float: decompress::<T>(&configuration, &shape, &mut stream, destination)?,
        other: 0,
    });
    // The decoder reads zeros after the end of the last word and skips words of padding without checking
    // them.
    if read > encoded.len() {
        return Err(CodecError::corrupt(format!(
            "the stream is truncated: found {} bytes, expected {read}",
            encoded.len()
        )));
    }
    if read < encoded.len() {
        return Err(CodecError::corrupt(format!("{} bytes follow the last block", encoded.len() - read)));
    }
    decoded.advance(size);
    Ok(())
}

/// Reads the header, and compares the type and the shape that it declares with the chunk.
fn read_header(stream: &mut ZfpBitStream, header: Header, shape: &Shape) -> Result<ZfpConfig, CodecError> {
    let read = stream.read_header(header.mask()).map_err(CodecError::corrupt)?;
    let configuration = read.config.ok_or_else(|| CodecError::corrupt("the header is incomplete"))?;
    match read.metadata {
        None if header == Header::Mode => Ok(configuration),
        None => Err(CodecError::corrupt("the header is incomplete")),
        Some(metadata) if (metadata.scalar_type, metadata.dims) != (shape.scalar, shape.dims) => {
            Err(CodecError::corrupt(format!(
                "the header declares {:?} and dimensions {:?}; expected {:?} and {:?}",
                metadata.scalar_type, metadata.dims, shape.scalar, shape.dims
            )))
        }
        Some(_) => Ok(configuration),
    }
}

/// Decompresses a stream to `decoded`. Returns the number of bytes of the stream that were read.
fn decompress<T: Promoted>(
    configuration: &ZfpConfig,
    shape: &Shape,
    stream: &mut ZfpBitStream,
    decoded: &mut [u8],
) -> Result<usize, CodecError> {
    let mut scalars = vec![T::Scalar::default(); shape.count];
    let mut field = ZfpFieldMut::new(&mut scalars, shape.dims).map_err(CodecError::corrupt)?;
    let read = stream.decompress(configuration, &mut field).map_err(CodecError::corrupt)?;
    for (element, scalar) in decoded.chunks_exact_mut(size_of::<T>()).zip(scalars) {
        T::demoted(scalar).write(element);
    }
    Ok(read)
}
