//! Data types: what the elements of an array are.

mod document;
mod objects;
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

pub use objects::ObjectNames;
pub use typestring::{TIME_UNITS, Typestring};

/// The largest element that is read, in bytes: a document must not name a size that fills the memory.
pub const MAX_ELEMENT_SIZE: usize = 1 << 26;

/// Why a data type or a fill value could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataTypeError {
    /// The document of the data type does not fit.
    #[error("invalid data type: {0}")]
    InvalidConfiguration(#[from] Invalid),
    /// The fill value is none of this type.
    #[error("invalid fill value: {}", printable(.0))]
    FillValue(String),
    /// The format has no name for the type.
    #[error("{format} has no form of data type {}{}", printable(.name), printable(.hint))]
    NotInFormat {
        /// The type's own name.
        name: String,
        /// The format.
        format: Format,
        /// What could be done about it: empty, or a clause that begins with "; ".
        hint: String,
    },
    /// A data type inside this one is unknown.
    #[error("unknown data type `{}`", printable(.0))]
    Unknown(String),
}

/// How codecs that compute with numbers see an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// One byte, 0 or 1.
    Bool,
    /// Two's complement.
    Int,
    /// Unsigned.
    UInt,
    /// IEEE 754 binary16, binary32 or binary64, by size.
    Float,
    /// The upper half of a binary32: 8 bits of exponent and 7 of mantissa.
    BFloat,
    /// Two floats of half the size: real, imaginary.
    Complex,
}

/// What the elements of an array are.
///
/// Elements are given and taken in native byte order; those of variable size as their payload.
pub trait DataType: Any + Debug + Send + Sync {
    /// The name that messages use, the same for the same type in every format: `float64`, `r16`,
    /// `numpy.datetime64[10us]`. Two types are equal when their names are.
    fn name(&self) -> Cow<'_, str>;

    /// How elements lie in memory.
    fn elements(&self) -> Elements;

    /// How codecs that compute with numbers see an element; `None` when they cannot.
    fn kind(&self) -> Option<Kind>;

    /// The type as a document of `format` names it, when elements are stored in `order` (which v2 documents
    /// say, and the others leave to a codec). Fallbacks of the draft are included.
    ///
    /// # Errors
    ///
    /// [`DataTypeError::NotInFormat`].
    fn document(&self, format: Format, order: &ByteOrder) -> Result<DataTypeDocument, DataTypeError>;

    /// The element that a `fill_value` member stands for. Never called with `null` in v2 and in the draft, where
    /// that means "undefined".
    ///
    /// # Errors
    ///
    /// [`DataTypeError::FillValue`].
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> Result<FillValue, DataTypeError>;

    /// The `fill_value` member that stands for `element` in `format`: bit for bit, as far as the format can. `order`
    /// is that of stored elements, as [`FillContext`] has it.
    ///
    /// # Errors
    ///
    /// [`DataTypeError::FillValue`] when the bytes are no element, or the format has no form of it.
    fn fill_value_json(
        &self,
        element: &[u8],
        format: Format,
        order: &ByteOrder,
    ) -> Result<Value, DataTypeError>;

    /// The fill value of an array that is created without one: zero, false, empty.
    fn default_fill_value(&self) -> FillValue {
        FillValue::zero(self.elements().size().unwrap_or(0))
    }

    /// Prints `element` as people read it.
    ///
    /// # Errors
    ///
    /// Those of `to`; and where the element cannot be printed, which what was written then says why.
    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result;

    /// Whether these bytes are elements, one after another, or a single one of variable size. Types without forbidden
    /// bytes answer that they are.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the bytes.
    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        let _any_bytes_are_some = elements;
        Ok(())
    }

    /// Turns stored bytes into elements in place, one after another, where several stored forms stand for one element:
    /// any byte but 0 is true, and some types ignore part of a byte. Afterwards [`DataType::check`] finds nothing wrong
    /// with that. Types whose stored forms are all different elements do nothing.
    ///
    /// # Errors
    ///
    /// In strict mode, for a stored form that the text of the type does not have.
    fn settle(&self, elements: &mut [u8], mode: Mode) -> Result<(), Invalid> {
        let _all_are_elements = (elements, mode);
        Ok(())
    }

    /// Whether [`DataType::settle`] may have something to do. Types that hold other types ask, since they would call it
    /// for every single element.
    fn settles(&self) -> bool {
        false
    }

    /// Whether documents of v3 may leave the byte order of its elements unsaid, even to strict readers: they are
    /// little endian then.
    fn may_omit_byte_order(&self) -> bool {
        false
    }

    /// The fields of a structured type, in order; `None` for all others.
    fn fields(&self) -> Option<&[Field]> {
        None
    }

    /// Of a type whose elements may be missing, the type of those that are there; `None` for all others.
    ///
    /// Its elements are of variable size: nothing for one that is missing, else the byte 1 and then the element that
    /// is there.
    fn optional(&self) -> Option<&Arc<dyn DataType>> {
        None
    }
}

impl dyn DataType {
    /// The data type as the Rust type `T` of its crate, for what only that type has, such as the unit of a time. `None`
    /// for any other data type, and for data types of plugins that are loaded at run time.
    #[must_use]
    pub fn downcast_ref<T: DataType>(&self) -> Option<&T> {
        let data_type: &dyn Any = self;
        data_type.downcast_ref()
    }
}

/// A field of a structured data type.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name; empty for padding.
    pub name: String,
    /// Its type.
    pub data_type: Arc<dyn DataType>,
    /// How many elements of that type it holds, per dimension, in C order; none for a single one.
    pub shape: Vec<usize>,
    /// Bytes from the start of the element.
    pub offset: usize,
}

/// What a fill value is read in.
#[derive(Debug, Clone, Copy)]
pub struct FillContext<'a> {
    /// The format of the document.
    pub format: Format,
    /// The mode, and where warnings go.
    pub reading: &'a Reading,
    /// The order of stored elements: some forms hold the bytes of an element as they are stored.
    pub byte_order: &'a ByteOrder,
}

/// A data type as a metadata document has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataTypeDocument {
    /// What the registry is asked for. Final v3: the name. Draft: the core identifier, or the extension's URI.
    /// v2: kind and size of a typestring without its byte order (`i4`, `M8`; `S`, `U` and `V` without size),
    /// `O/` and the object codec's id for objects, `struct` for a list of fields.
    pub identifier: String,
    /// The member as it stands in the document.
    pub json: Value,
    /// What the plugin is configured by: v3's `configuration`, v2's whole `dtype`; null if there is none.
    pub configuration: Value,
    /// The draft's `type` of an extension data type.
    pub type_name: Option<Value>,
    /// The draft's fallbacks, the first choice first.
    pub fallback: Vec<DataTypeDocument>,
}

/// A data type and the byte order that its document declares.
pub type Created = (Arc<dyn DataType>, ByteOrder);

/// A data type that a program knows.
pub type DataTypePlugin = Plugin<dyn DataType>;

impl plugin::Kind for dyn DataType {
    type Create = dyn Fn(&Creation<'_>) -> Result<Created, DataTypeError> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::DataType;
}

inventory::collect!(DataTypePlugin);
