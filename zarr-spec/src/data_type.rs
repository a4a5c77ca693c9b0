//! Data types of elements.

mod document;
mod typestring;

use std::any::Any;
use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::sync::Arc;

use zarr_json::{Value, printable};

use crate::creation::Creation;
use crate::format::{Format, Invalid, Mode, Reading};
use crate::host::registry::ExtensionPoint;
use crate::plugin::{self, Plugin};
use crate::representation::{ByteOrder, Elements, FillValue};

pub use typestring::{GENERIC_UNIT, TIME_UNITS, Typestring};

/// Maximum size of an element in bytes, so that a document cannot declare a size that exhausts the memory.
pub const MAX_ELEMENT_SIZE: usize = 1 << 26;

/// The result of an operation of a data type.
pub type DataTypeResult<T> = Result<T, DataTypeError>;

/// Why a data type or a fill value could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataTypeError {
    /// The document of the data type is invalid.
    #[error("invalid data type: {0}")]
    InvalidConfiguration(#[from] Invalid),
    /// The fill value is not an element of this type.
    #[error("invalid fill value: {}", printable(.0))]
    FillValue(String),
    /// The format cannot express the type.
    #[error("{format} does not support data type {}{}", printable(.name), printable(.hint))]
    NotInFormat {
        /// The name of the type.
        name: String,
        /// The format.
        format: Format,
        /// Advice: empty, or a clause that starts with "; ".
        hint: String,
    },
    /// An inner data type is unknown.
    #[error("{}", printable(.0))]
    Unknown(String),
}

/// The interpretation of an element by codecs that calculate with numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// One byte, 0 or 1.
    Bool,
    /// Two's complement.
    Int,
    /// Unsigned integer.
    UInt,
    /// IEEE 754 binary16, binary32 or binary64, by size.
    Float,
    /// The upper half of a binary32: 8 exponent bits and 7 mantissa bits.
    BFloat,
    /// Two floats of half the size: real, imaginary.
    Complex,
}

/// A data type of the elements of an array.
///
/// Elements are in native byte order; an element of variable size is its payload.
pub trait DataType: Any + Debug + Send + Sync {
    /// Returns the name for messages, which is the same in every format: `float64`, `r16`,
    /// `numpy.datetime64[10us]`. Types with equal names are equal.
    fn name(&self) -> Cow<'_, str>;

    /// Returns the memory layout of elements.
    fn elements(&self) -> Elements;

    /// Returns the interpretation of elements by codecs that calculate with numbers; `None`, the default, if such
    /// codecs cannot process them.
    fn kind(&self) -> Option<Kind> {
        None
    }

    /// Writes the type for a document of `format`, including fallbacks of the draft. Elements are stored in `order`:
    /// documents of v2 contain the order; in the other formats, a codec declares it.
    ///
    /// # Errors
    ///
    /// [`DataTypeError::NotInFormat`].
    fn document(&self, format: Format, order: &ByteOrder) -> DataTypeResult<DataTypeDocument>;

    /// Reads the element that a `fill_value` member represents. Never called with `null` in v2 and in the
    /// draft, where it means "undefined".
    ///
    /// # Errors
    ///
    /// [`DataTypeError::FillValue`].
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue>;

    /// Writes the `fill_value` member for `element` in `format`, preserving all bits if the format permits. `order` is
    /// the byte order of stored elements, as in [`FillContext`].
    ///
    /// # Errors
    ///
    /// [`DataTypeError::FillValue`] if the bytes are not an element, or the format cannot express it.
    fn fill_value_json(&self, element: &[u8], format: Format, order: &ByteOrder) -> DataTypeResult<Value>;

    /// Returns the fill value of an array that is created without one: zero, false or empty.
    fn default_fill_value(&self) -> FillValue {
        FillValue::zero(self.elements().size().unwrap_or(0))
    }

    /// Prints `element` in human-readable form.
    ///
    /// # Errors
    ///
    /// Those of `to`. If the element cannot be printed, the output explains why.
    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result;

    /// Checks that the bytes are consecutive elements, or a single one of variable size. Types that allow any
    /// bytes use the default.
    ///
    /// # Errors
    ///
    /// Describes the problem with the bytes.
    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        let _any_bytes_are_some = elements;
        Ok(())
    }

    /// Normalizes stored elements in place, for types with several stored forms of one element: any nonzero
    /// byte is true, and some types ignore a part of a byte. Afterwards [`DataType::check`] accepts these
    /// elements. Types with a single form per element use the default.
    ///
    /// # Errors
    ///
    /// In strict mode, for a stored form that the specification of the type does not allow.
    fn settle(&self, elements: &mut [u8], mode: Mode) -> Result<(), Invalid> {
        let _all_are_elements = (elements, mode);
        Ok(())
    }

    /// Returns whether [`DataType::settle`] may change elements. Types with inner types use it to avoid a call
    /// for every element.
    fn settles(&self) -> bool {
        false
    }

    /// Returns whether documents of v3 may omit the byte order of elements, little endian, even in strict mode.
    fn may_omit_byte_order(&self) -> bool {
        false
    }

    /// Returns the fields of a structured type in order; `None` for other types.
    fn fields(&self) -> Option<&[Field]> {
        None
    }

    /// Returns the type of present elements if elements may be missing; `None` for other types.
    ///
    /// Such elements have a variable size: a missing one is empty, a present one is the byte 1 and the inner element.
    fn optional(&self) -> Option<&Arc<dyn DataType>> {
        None
    }
}

impl dyn DataType {
    /// Returns the data type as the Rust type `T` of its crate, which gives access to specific properties
    /// such as the unit of a time. Returns `None` for any other data type, and for data types of plugins that
    /// are loaded at run time.
    #[must_use]
    pub fn downcast_ref<T: DataType>(&self) -> Option<&T> {
        let data_type: &dyn Any = self;
        data_type.downcast_ref()
    }
}

/// A field of a structured data type.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Field {
    /// Its name; empty for padding.
    pub name: String,
    /// Its type.
    pub data_type: Arc<dyn DataType>,
    /// The number of elements per dimension, in C order; empty for a single element.
    pub shape: Vec<usize>,
    /// Offset in the element, in bytes.
    pub offset: usize,
}

impl Field {
    /// Creates a field of `shape` elements at `offset` bytes.
    #[must_use]
    pub const fn new(name: String, data_type: Arc<dyn DataType>, shape: Vec<usize>, offset: usize) -> Self {
        Self { name, data_type, shape, offset }
    }
}

/// The context in which a fill value is read.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct FillContext<'a> {
    /// The format of the document.
    pub format: Format,
    /// The mode, and the receiver of warnings.
    pub reading: &'a Reading,
    /// The byte order of stored elements: some forms contain the stored bytes of an element.
    pub byte_order: &'a ByteOrder,
}

impl<'a> FillContext<'a> {
    /// Creates a context with little-endian stored elements.
    #[must_use]
    pub const fn new(format: Format, reading: &'a Reading) -> Self {
        Self { format, reading, byte_order: &ByteOrder::Little }
    }

    /// Replaces the byte order of stored elements.
    #[must_use]
    pub const fn with_byte_order(self, byte_order: &'a ByteOrder) -> Self {
        Self { byte_order, ..self }
    }
}

/// A data type in a metadata document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataTypeDocument {
    /// The identifier for the registry. Final v3: the name. Draft: the core identifier, or the URI of the
    /// extension. v2: kind and size of a typestring without its byte order (`i4`, `M8`; `S`, `U` and `V`
    /// without size), `O/` and the id of the object codec for objects, `struct` for a list of fields.
    pub identifier: String,
    /// The member in the document.
    pub json: Value,
    /// The configuration of the plugin: `configuration` of v3, the whole `dtype` of v2; null if there is none.
    pub configuration: Value,
    /// The `type` of an extension data type of the draft; for objects of v2, the `dtype` in the configuration of their
    /// codec.
    pub type_name: Option<Value>,
    /// The fallbacks of the draft, in order of preference.
    pub fallback: Vec<DataTypeDocument>,
}

/// A data type and the byte order that its document declares.
pub type Created = (Arc<dyn DataType>, ByteOrder);

/// A data type that a program knows.
pub type DataTypePlugin = Plugin<dyn DataType>;

impl plugin::PluginKind for dyn DataType {
    type Create = dyn Fn(&Creation<'_>) -> DataTypeResult<Created> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::DataType;
}

inventory::collect!(DataTypePlugin);
