//! The objects of a pickle.

use zarr_spec::{CodecError, CodecResult};

use crate::numpy::{NumpyArray, NumpyType};

/// Maximum number of objects, of objects on the stack, and of entries in the memo. An object that a pickle creates with one
/// byte takes up to 80 bytes of memory, so that all of them take less than 64 MiB.
pub(crate) const MAX_OBJECTS: usize = 1 << 19;

/// The position of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id(u32);

impl Id {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const FALSE: Self = Self(1);
    pub(crate) const TRUE: Self = Self(2);
}

/// A function or a type that a pickle may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    /// `numpy.ndarray`.
    Array,
    /// `numpy.dtype`.
    Type,
    /// Creates an array whose state follows.
    Reconstruct,
    /// Creates a number of NumPy.
    Scalar,
    /// Creates an array from its bytes.
    FromBuffer,
    /// Creates bytes from text.
    Encode,
    /// `bytes` and `bytearray`.
    Bytes,
}

/// An object.
#[derive(Debug)]
pub(crate) enum Object {
    None,
    Bool(bool),
    /// Decimal digits, with a sign.
    Int(Box<str>),
    Float(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
    /// A byte string of Python 2, which is text if it is ASCII.
    ByteString(Box<[u8]>),
    Tuple(Box<[Id]>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Name(Name),
    Type(Box<NumpyType>),
    /// An array; `None` until its state is set.
    Array(Option<Box<NumpyArray>>),
}

/// All objects of a pickle, which refer to one another by their positions.
#[derive(Debug)]
pub(crate) struct Objects {
    all: Vec<Object>,
    /// The number of references in lists and dictionaries.
    references: usize,
}

impl Objects {
    pub(crate) fn new() -> Self {
        Self { all: vec![Object::None, Object::Bool(false), Object::Bool(true)], references: 0 }
    }

    pub(crate) fn get(&self, id: Id) -> &Object {
        self.all.get(id.0 as usize).unwrap_or(&Object::None)
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut Object> {
        self.all.get_mut(id.0 as usize)
    }

    pub(crate) fn add(&mut self, object: Object) -> CodecResult<Id> {
        let id = u32::try_from(self.all.len()).ok().filter(|_| self.all.len() < MAX_OBJECTS);
        let id = id.ok_or_else(too_many)?;
        self.all.push(object);
        Ok(Id(id))
    }

    /// Records references, which the caller adds to a list, a tuple or a dictionary.
    pub(crate) fn count_references(&mut self, count: usize) -> CodecResult {
        self.references = self.references.saturating_add(count);
        if self.references > 2 * MAX_OBJECTS { Err(too_many()) } else { Ok(()) }
    }

    /// Returns the text of an object.
    pub(crate) fn text(&self, id: Id) -> CodecResult<&str> {
        match self.get(id) {
            Object::Text(text) => Ok(text),
            Object::ByteString(bytes) => ascii(bytes),
            other => Err(CodecError::corrupt(format!("expected a text, found {}", other.kind()))),
        }
    }

    /// Returns the bytes of an object.
    pub(crate) fn bytes(&self, id: Id) -> CodecResult<&[u8]> {
        match self.get(id) {
            Object::Bytes(bytes) | Object::ByteString(bytes) => Ok(bytes),
            other => Err(CodecError::corrupt(format!("expected bytes, found {}", other.kind()))),
        }
    }

    /// Returns the items of a tuple.
    pub(crate) fn tuple(&self, id: Id) -> CodecResult<&[Id]> {
        match self.get(id) {
            Object::Tuple(items) => Ok(items),
            other => Err(CodecError::corrupt(format!("expected a tuple, found {}", other.kind()))),
        }
    }

    /// Returns an integer that is not negative.
    pub(crate) fn size(&self, id: Id) -> CodecResult<usize> {
        match self.get(id) {
            Object::Int(digits) => digits.parse().ok(),
            _ => None,
        }
        .ok_or_else(|| CodecError::corrupt("expected a size"))
    }

    /// Returns a truth value, which older pickles store as an integer.
    pub(crate) fn is_true(&self, id: Id) -> bool {
        match self.get(id) {
            Object::Bool(value) => *value,
            Object::Int(digits) => &**digits != "0",
            _ => false,
        }
    }
}

/// Returns the text of a byte string of Python 2.
pub(crate) fn ascii(bytes: &[u8]) -> CodecResult<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii());
    text.ok_or_else(|| CodecError::corrupt("a byte string of Python 2 is not ASCII"))
}

impl Object {
    /// Returns the kind for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text(_) => "a text",
            Self::Bytes(_) | Self::ByteString(_) => "bytes",
            Self::Tuple(_) => "a tuple",
            Self::List(_) => "a list",
            Self::Dict(_) => "a dictionary",
            Self::Name(_) => "a function or a type",
            Self::Type(_) => "a data type",
            Self::Array(_) => "an array",
        }
    }
}

fn too_many() -> CodecError {
    CodecError::corrupt(format!("the pickle has more than {MAX_OBJECTS} objects"))
}
