//! The input and output of codecs.
#![expect(clippy::exhaustive_enums, reason = "engines and codecs handle every form of elements")]

use std::sync::Arc;

use crate::data_type::DataType;

/// The memory layout of the elements of a data type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elements {
    /// `size` bytes each.
    Fixed {
        /// Size of one element in bytes.
        size: usize,
        /// The parts of an element that byte order applies to.
        units: Units,
    },
    /// `n + 1` native `u64` offsets into the payload, starting with 0, followed by the payload.
    Variable,
}

impl Elements {
    /// Returns the size of one element, if all have the same size.
    #[must_use]
    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Fixed { size, .. } => Some(*size),
            Self::Variable => None,
        }
    }
}

/// The parts of an element of fixed size that byte order applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Units {
    /// Consecutive units of this size: complex128 has 16 bytes in units of 8, raw bits have units of 1.
    Uniform(usize),
    /// Units of more than one byte at these offsets, and single bytes in between; for packed structures.
    Fields(Arc<[Unit]>),
}

/// A number inside a structured element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Unit {
    /// Offset in the element, in bytes.
    pub offset: usize,
    /// Size of the number in bytes.
    pub size: usize,
}

/// The byte order of stored elements, if the data type declares one (v2, older drafts).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ByteOrder {
    /// Least significant byte first; the default binary representation of the draft.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
    /// Whether each of [`Units::Fields`] is big endian, for structures of v2, whose fields have separate orders.
    Mixed(Arc<[bool]>),
}

/// One element of an array: its bytes in native order, or the payload of an element of variable size.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FillValue(Arc<[u8]>);

impl FillValue {
    /// Creates a fill value from the bytes of one element, in native byte order.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// Creates an element of `size` zero bytes.
    #[must_use]
    pub fn zero(size: usize) -> Self {
        Self(vec![0; size].into())
    }

    /// Returns whether every byte is zero; true for an empty element of variable size.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|&byte| byte == 0)
    }

    /// Returns the bytes of the element, in native byte order.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The properties of an array in a codec chain, without its elements.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ArrayRepresentation {
    /// Elements per dimension.
    pub shape: Vec<u64>,
    /// The data type of all elements.
    pub data_type: Arc<dyn DataType>,
    /// The value of elements that were never written.
    pub fill_value: FillValue,
    /// The byte order of the default binary representation.
    pub byte_order: ByteOrder,
}

impl ArrayRepresentation {
    /// Creates the properties of an array of this shape. The default binary representation is little endian.
    #[must_use]
    pub fn new(shape: Vec<u64>, data_type: Arc<dyn DataType>, fill_value: FillValue) -> Self {
        Self { shape, data_type, fill_value, byte_order: ByteOrder::Little }
    }

    /// Replaces the shape.
    #[must_use]
    pub fn with_shape(self, shape: Vec<u64>) -> Self {
        Self { shape, ..self }
    }

    /// Replaces the data type.
    #[must_use]
    pub fn with_data_type(self, data_type: Arc<dyn DataType>) -> Self {
        Self { data_type, ..self }
    }

    /// Replaces the fill value.
    #[must_use]
    pub fn with_fill_value(self, fill_value: FillValue) -> Self {
        Self { fill_value, ..self }
    }

    /// Replaces the byte order of the default binary representation.
    #[must_use]
    pub fn with_byte_order(self, byte_order: ByteOrder) -> Self {
        Self { byte_order, ..self }
    }

    /// Returns the number of elements; `None` if this machine cannot address them.
    #[must_use]
    pub fn element_count(&self) -> Option<usize> {
        self.shape
            .iter()
            .try_fold(1usize, |product, &length| product.checked_mul(usize::try_from(length).ok()?))
    }

    /// Returns the size of all elements, if elements have a fixed size and this machine can address them.
    #[must_use]
    pub fn size(&self) -> Size {
        match self.data_type.elements().size() {
            Some(size) => match self.element_count().and_then(|count| count.checked_mul(size)) {
                Some(bytes) => Size::Exact(bytes as u64),
                None => Size::Unknown,
            },
            None => Size::Unknown,
        }
    }
}

/// The input or output of a codec.
#[derive(Debug, Clone)]
pub enum Representation {
    /// An array of elements.
    Array(ArrayRepresentation),
    /// Bytes.
    Bytes(Size),
}

/// A number of bytes, as far as known without the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Always this size.
    Exact(u64),
    /// At most this size.
    AtMost(u64),
    /// Depends on the elements.
    Unknown,
}

impl Size {
    /// Returns the maximum size, if there is one.
    #[must_use]
    pub fn limit(self) -> Option<u64> {
        match self {
            Self::Exact(size) | Self::AtMost(size) => Some(size),
            Self::Unknown => None,
        }
    }
}
