//! What flows through a codec chain.

use std::sync::Arc;

use crate::data_type::DataType;

/// How the elements of a data type lie in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elements {
    /// `size` bytes each.
    Fixed {
        /// Bytes of one element.
        size: usize,
        /// What byte order applies to inside an element.
        units: Units,
    },
    /// `n + 1` native `u64` offsets into the payload, the first one 0, then the payload.
    Variable,
}

impl Elements {
    /// Bytes of one element, if that is the same for all.
    #[must_use]
    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Fixed { size, .. } => Some(*size),
            Self::Variable => None,
        }
    }
}

/// What byte order applies to inside an element of fixed size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Units {
    /// The element is units of this many bytes: complex128 is 16 bytes in units of 8, raw bits are units of 1.
    Uniform(usize),
    /// Units of more than one byte at these places, the rest is single bytes; packed structures.
    Fields(Arc<[Unit]>),
}

/// A number inside a structured element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Unit {
    /// Bytes from the start of the element.
    pub offset: usize,
    /// Bytes of the number.
    pub size: usize,
}

/// The byte order of stored elements, where the data type itself declares one (v2, older drafts).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ByteOrder {
    /// Least significant byte first; what the draft calls the default binary representation.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
    /// Whether each of [`Units::Fields`] is big endian: v2 structures, whose fields have orders of their own.
    Mixed(Arc<[bool]>),
}

/// One element of an array: its bytes in native order, or the payload of a variable one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FillValue(Arc<[u8]>);

impl FillValue {
    /// From the bytes of one element, numbers in native byte order.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// An element of `size` zero bytes.
    #[must_use]
    pub fn zero(size: usize) -> Self {
        Self(vec![0; size].into())
    }

    /// Whether every byte is zero; true for the empty variable element.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|&byte| byte == 0)
    }

    /// The bytes of the element, numbers in native byte order.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// An array that flows through a codec chain: everything but its elements.
#[derive(Debug, Clone)]
pub struct ArrayRepresentation {
    /// Elements per dimension.
    pub shape: Vec<u64>,
    /// The type of all elements.
    pub data_type: Arc<dyn DataType>,
    /// What elements that were never written hold.
    pub fill_value: FillValue,
    /// The order in which the default binary representation is written.
    pub byte_order: ByteOrder,
}

impl ArrayRepresentation {
    /// Number of elements.
    ///
    /// # Errors
    ///
    /// `None` if this machine cannot address them.
    #[must_use]
    pub fn element_count(&self) -> Option<usize> {
        self.shape
            .iter()
            .try_fold(1usize, |product, &length| product.checked_mul(usize::try_from(length).ok()?))
    }

    /// Bytes of all elements, when elements have a fixed size and this machine can address them.
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

/// What goes into a codec, or comes out of it.
#[derive(Debug, Clone)]
pub enum Representation {
    /// Elements.
    Array(ArrayRepresentation),
    /// Bytes.
    Bytes(Size),
}

/// How many bytes there are, as far as that is known without looking at them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Always this many.
    Exact(u64),
    /// Never more than this many.
    AtMost(u64),
    /// It depends on the elements.
    Unknown,
}

impl Size {
    /// The largest number of bytes, if there is one.
    #[must_use]
    pub fn limit(self) -> Option<u64> {
        match self {
            Self::Exact(size) | Self::AtMost(size) => Some(size),
            Self::Unknown => None,
        }
    }
}
