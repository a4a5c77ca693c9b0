//! The canonical bytes of elements: little endian, with one NaN per type, and zeros as padding.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use zarr_engine::Array;
use zarr_spec::data_type::Kind;
use zarr_spec::{DataType, Elements, Units};

/// The number of bytes that represent an element of variable size in the sum.
pub(crate) const HASHED_SIZE: usize = 16;

/// Converts elements of one data type, in native byte order, to canonical bytes.
#[derive(Debug)]
pub(crate) enum Canonical {
    /// Elements of this size.
    Fixed {
        /// The size of an element in bytes.
        size: usize,
        /// The parts of each element that may have several forms.
        parts: Vec<Part>,
        /// The units that are swapped on big-endian machines.
        units: Units,
    },
    /// Elements of variable size.
    Variable {
        /// The type of present elements, if elements may be missing.
        inner: Option<Box<Canonical>>,
    },
}

/// A part of an element that may have several forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A float.
    Float {
        /// The offset of the float in the element, in bytes.
        offset: usize,
        /// The NaNs of the float.
        float: Float,
    },
    /// Bytes that are not part of a field.
    Padding {
        /// The offset of the padding in the element, in bytes.
        offset: usize,
        /// The size of the padding in bytes.
        size: usize,
    },
}

/// The NaNs of a float type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Float {
    /// The size in bytes.
    size: usize,
    /// The bits of infinity, or of the largest number if there is none. Larger magnitudes are NaN.
    largest: u64,
    /// The canonical NaN.
    nan: u64,
}

impl Float {
    const fn new(size: usize, largest: u64, nan: u64) -> Self {
        Self { size, largest, nan }
    }

    /// Returns the float types with several NaNs.
    fn of_kind(kind: Kind, size: usize) -> Option<Self> {
        Some(match (kind, size) {
            (Kind::BFloat, 2) => Self::new(2, 0x7f80, 0x7fc0),
            (Kind::Float, 2) => Self::new(2, 0x7c00, 0x7e00),
            (Kind::Float, 4) => Self::new(4, 0x7f80_0000, 0x7fc0_0000),
            (Kind::Float, 8) => Self::new(8, 0x7ff0_0000_0000_0000, 0x7ff8_0000_0000_0000),
            _ => return None,
        })
    }

    /// Returns the float with this name, for types that codecs do not calculate with.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "float8_e3m4" => Self::new(1, 0x70, 0x78),
            "float8_e4m3" => Self::new(1, 0x78, 0x7c),
            "float8_e4m3fn" => Self::new(1, 0x7e, 0x7f),
            "float8_e5m2" => Self::new(1, 0x7c, 0x7e),
            "float16" => Self::new(2, 0x7c00, 0x7e00),
            "bfloat16" => Self::new(2, 0x7f80, 0x7fc0),
            _ => return None,
        })
    }

    /// Replaces each NaN by the canonical one, in elements in native byte order.
    fn settle(self, bytes: &mut [u8]) {
        macro_rules! settle {
            ($number:ty) => {{
                let canonical = <$number>::from_le_bytes(lower_bytes(self.nan));
                let largest = <$number>::from_le_bytes(lower_bytes(self.largest));
                // Every element is written, so that the loop has no branches and compiles to vector instructions.
                for bytes in bytes.as_chunks_mut().0 {
                    let bits = <$number>::from_ne_bytes(*bytes);
                    let is_nan = bits & (<$number>::MAX >> 1) > largest;
                    *bytes = if is_nan { canonical } else { bits }.to_ne_bytes();
                }
            }};
        }
        match self.size {
            1 => settle!(u8),
            2 => settle!(u16),
            4 => settle!(u32),
            _ => settle!(u64),
        }
    }
}

/// Returns the lower bytes of a number, in little-endian order.
fn lower_bytes<const N: usize>(number: u64) -> [u8; N] {
    std::array::from_fn(|at| number.to_le_bytes()[at])
}

impl Canonical {
    /// Returns the conversion for a data type.
    pub(crate) fn of(data_type: &dyn DataType) -> Self {
        match data_type.elements() {
            Elements::Fixed { size, units } => {
                let mut parts = Vec::new();
                add_parts(data_type, 0, &mut parts);
                Self::Fixed { size, parts, units }
            }
            Elements::Variable => {
                let inner = data_type.optional().map(|inner| Box::new(Self::of(&**inner)));
                Self::Variable { inner }
            }
        }
    }

    /// Converts consecutive elements of fixed size in place.
    pub(crate) fn convert(&self, bytes: &mut [u8]) {
        let Self::Fixed { size, parts, units } = self else { return };
        match parts[..] {
            [] => {}
            [Part::Float { offset: 0, float }] if float.size == *size => float.settle(bytes),
            _ => {
                for element in bytes.chunks_exact_mut((*size).max(1)) {
                    parts.iter().for_each(|part| part.settle(element));
                }
            }
        }
        if cfg!(target_endian = "big") {
            swap(bytes, *size, units);
        }
    }

    /// Returns the canonical bytes of one element of any size.
    pub(crate) fn element(&self, element: &[u8]) -> Vec<u8> {
        let mut bytes = element.to_vec();
        match self {
            Self::Fixed { .. } => self.convert(&mut bytes),
            Self::Variable { inner: Some(inner) } => {
                if let Some((1, present)) = element.split_first() {
                    bytes = [&[1], &inner.element(present)[..]].concat();
                }
            }
            Self::Variable { inner: None } => {}
        }
        bytes
    }
}

impl Part {
    fn settle(self, element: &mut [u8]) {
        match self {
            Self::Float { offset, float } => float.settle(&mut element[offset..offset + float.size]),
            Self::Padding { offset, size } => element[offset..offset + size].fill(0),
        }
    }
}

fn add_parts(data_type: &dyn DataType, offset: usize, parts: &mut Vec<Part>) {
    let Some(size) = data_type.elements().size() else { return };
    if let Some(fields) = data_type.fields() {
        for field in fields {
            let count: usize = field.shape.iter().product();
            let Some(inner) = field.data_type.elements().size() else { continue };
            let start = offset + field.offset;
            if field.name.is_empty() {
                parts.push(Part::Padding { offset: start, size: count * inner });
                continue;
            }
            (0..count).for_each(|number| add_parts(&*field.data_type, start + number * inner, parts));
        }
        return;
    }
    let name = data_type.name();
    let found = match (data_type.kind(), name.strip_prefix("complex_")) {
        (Some(Kind::Complex), _) => Float::of_kind(Kind::Float, size / 2),
        (Some(kind), _) => Float::of_kind(kind, size),
        (None, Some(part)) => Float::named(part),
        (None, None) => Float::named(&name),
    };
    let Some(float) = found else { return };
    let starts = (0..size / float.size).map(|number| offset + number * float.size);
    parts.extend(starts.map(|offset| Part::Float { offset, float }));
}

/// Reverses the units of elements.
fn swap(bytes: &mut [u8], size: usize, units: &Units) {
    match units {
        Units::Uniform(unit) => bytes.chunks_exact_mut((*unit).max(1)).for_each(<[u8]>::reverse),
        Units::Fields(units) => {
            for element in bytes.chunks_exact_mut(size.max(1)) {
                units.iter().for_each(|unit| element[unit.offset..unit.offset + unit.size].reverse());
            }
        }
    }
}

/// The elements of an array as the stream that is hashed: canonical, combined with the fill value.
#[derive(Debug)]
pub(crate) struct Stream {
    canonical: Canonical,
    /// The canonical fill value.
    fill: Vec<u8>,
    /// The bytes that each element is combined with by exclusive or; empty if all of them are zeros.
    mask: Vec<u8>,
}

impl Stream {
    pub(crate) fn of(array: &Array) -> Self {
        let data_type: &Arc<dyn DataType> = array.data_type();
        let canonical = Canonical::of(&**data_type);
        let is_undefined = array.fill_is_undefined();
        let bytes = match data_type.elements().size() {
            Some(size) if is_undefined => vec![0; size],
            None if is_undefined => Vec::new(),
            _ => array.fill_value().bytes().to_vec(),
        };
        let fill = canonical.element(&bytes);
        let mask = match canonical {
            Canonical::Fixed { .. } if fill.iter().all(|&byte| byte == 0) => Vec::new(),
            Canonical::Fixed { .. } => fill.clone(),
            Canonical::Variable { .. } => hashed(&fill).to_vec(),
        };
        Self { canonical, fill, mask }
    }

    /// Returns the canonical fill value. An undefined fill value counts as zero or empty.
    pub(crate) fn fill(&self) -> &[u8] {
        &self.fill
    }

    /// Returns the size of an element in the stream in bytes.
    pub(crate) fn size(&self) -> usize {
        match self.canonical {
            Canonical::Fixed { size, .. } => size,
            Canonical::Variable { .. } => HASHED_SIZE,
        }
    }

    /// Converts elements of fixed size to their bytes in the stream, in place.
    pub(crate) fn convert(&self, bytes: &mut [u8]) {
        self.canonical.convert(bytes);
        let mask = &self.mask[..];
        match mask.len() {
            0 => {}
            1 => combine::<1>(bytes, mask),
            2 => combine::<2>(bytes, mask),
            4 => combine::<4>(bytes, mask),
            8 => combine::<8>(bytes, mask),
            size => {
                for element in bytes.chunks_exact_mut(size) {
                    element.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
                }
            }
        }
    }

    /// Returns the bytes of an element of variable size in the stream.
    pub(crate) fn of_variable(&self, element: &[u8]) -> [u8; HASHED_SIZE] {
        let mut bytes = match &self.canonical {
            Canonical::Variable { inner: None } | Canonical::Fixed { .. } => hashed(element),
            canonical => hashed(&canonical.element(element)),
        };
        bytes.iter_mut().zip(&self.mask).for_each(|(byte, mask)| *byte ^= mask);
        bytes
    }
}

/// Combines elements of `N` bytes with `mask` by exclusive or. The size is a constant, so that the loop has no calls.
fn combine<const N: usize>(bytes: &mut [u8], mask: &[u8]) {
    let Some(mask) = mask.first_chunk::<N>() else { return };
    for element in bytes.as_chunks_mut::<N>().0 {
        for (byte, mask) in element.iter_mut().zip(mask) {
            *byte ^= mask;
        }
    }
}

/// Returns the first bytes of the SHA-256 of an element of variable size.
fn hashed(element: &[u8]) -> [u8; HASHED_SIZE] {
    let digest = Sha256::digest(element);
    let mut first = [0; HASHED_SIZE];
    first.copy_from_slice(&digest[..HASHED_SIZE]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nan_becomes_the_canonical_one_and_nothing_else_changes() {
        let float = Float::of_kind(Kind::Float, 4).unwrap();
        let values = [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001), f32::INFINITY, -0.0, f32::MAX];
        let mut bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        float.settle(&mut bytes);
        let found: Vec<u32> = bytes.as_chunks().0.iter().map(|bytes| u32::from_ne_bytes(*bytes)).collect();
        assert_eq!(found, [0x7fc0_0000, 0x7fc0_0000, 0x7fc0_0000, 0x7f80_0000, 0x8000_0000, 0x7f7f_ffff]);
    }

    #[test]
    fn small_floats_have_one_nan_each() {
        for (name, nans) in
            [("float8_e5m2", 6), ("float8_e4m3", 14), ("float8_e3m4", 30), ("float8_e4m3fn", 2)]
        {
            let float = Float::named(name).unwrap();
            let mut bytes: Vec<u8> = (0..=255).collect();
            float.settle(&mut bytes);
            let nan = float.nan.to_le_bytes()[0];
            assert_eq!(bytes.iter().filter(|&&byte| byte == nan).count(), nans, "{name}");
            let changed = (0..=255).zip(&bytes).filter(|(before, after)| before != *after).count();
            assert_eq!(changed, nans - 1, "{name}");
        }
    }
}
