//! The data types, arrays and numbers of NumPy.

use zarr_spec::{CodecError, CodecResult};

use crate::numbers;
use crate::objects::{Id, Name, Object, Objects, ascii};

/// A data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumpyType {
    /// `b`, `i`, `u`, `f`, `U` or `O`.
    kind: u8,
    /// Bytes of an element.
    size: usize,
    is_big_endian: bool,
}

/// An array.
#[derive(Debug)]
pub(crate) struct NumpyArray {
    pub(crate) shape: Vec<usize>,
    /// Whether the array was in order F. The objects of an array are in order C in any case.
    pub(crate) is_fortran: bool,
    pub(crate) content: Content,
}

/// The elements of an array.
#[derive(Debug)]
pub(crate) enum Content {
    Objects(Vec<Id>),
    Numbers(NumpyType, Box<[u8]>),
}

/// Maximum number of dimensions.
const MAX_RANK: usize = 64;

/// Returns the object that a function creates.
pub(crate) fn create(objects: &Objects, name: Name, arguments: &[Id]) -> CodecResult<Object> {
    match (name, arguments) {
        (Name::Reconstruct, [kind, ..]) if matches!(objects.get(*kind), Object::Name(Name::Array)) => {
            Ok(Object::Array(None))
        }
        (Name::Type, [text, ..]) => Ok(Object::Type(Box::new(named_type(objects.text(*text)?)?))),
        (Name::Scalar, [data_type, bytes]) => scalar(objects, *data_type, *bytes),
        (Name::FromBuffer, [bytes, data_type, shape, order]) => {
            let content = Content::Numbers(numeric(objects, *data_type)?, objects.bytes(*bytes)?.into());
            let is_fortran = objects.text(*order)? == "F";
            checked(NumpyArray { shape: lengths(objects, *shape)?, is_fortran, content })
                .map(|array| Object::Array(Some(Box::new(array))))
        }
        (Name::Encode, [text, encoding]) if objects.text(*encoding)? == "latin1" => {
            latin_1(objects.text(*text)?)
        }
        (Name::Bytes, []) => Ok(Object::Bytes(Box::default())),
        (Name::Bytes, [bytes]) => Ok(Object::Bytes(objects.bytes(*bytes)?.into())),
        _ => Err(CodecError::corrupt("the pickle calls a function with other arguments than NumPy")),
    }
}

fn latin_1(text: &str) -> CodecResult<Object> {
    let bytes = text.chars().map(|character| u8::try_from(u32::from(character)));
    let bytes: Result<Box<[u8]>, _> = bytes.collect();
    bytes.map(Object::Bytes).map_err(|_| CodecError::corrupt("bytes of the pickle are not Latin-1"))
}

/// Reads a data type such as `f8`. Its byte order may follow as a state.
fn named_type(text: &str) -> CodecResult<NumpyType> {
    let is_big_endian = text.starts_with('>');
    let plain = text.trim_start_matches(['<', '>', '|', '=']);
    let unsupported = || {
        CodecError::corrupt(format!(
            "the pickle has an array of data type `{text}`; booleans, integers, floats, text and objects are read"
        ))
    };
    let (kind, digits) = plain.split_at_checked(1).ok_or_else(unsupported)?;
    let number: usize = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| unsupported())? };
    let is_known = |sizes: &[usize]| sizes.contains(&number).then_some(number);
    let size = match kind {
        "b" => is_known(&[1]),
        "i" | "u" => is_known(&[1, 2, 4, 8]),
        "f" => is_known(&[2, 4, 8]),
        "U" => number.checked_mul(4),
        "O" => Some(8),
        _ => None,
    };
    Ok(NumpyType {
        kind: kind.as_bytes()[0],
        size: size.filter(|&size| size > 0).ok_or_else(unsupported)?,
        is_big_endian,
    })
}

/// Returns a data type with the byte order of its state.
pub(crate) fn type_state(objects: &Objects, data_type: &NumpyType, state: Id) -> CodecResult<NumpyType> {
    match objects.tuple(state)? {
        [_version, order, subtype, names, fields, ..]
            if [subtype, names, fields].iter().all(|member| **member == Id::NONE) =>
        {
            Ok(NumpyType { is_big_endian: objects.text(*order)? == ">", ..*data_type })
        }
        _ => Err(CodecError::corrupt("the pickle has an array of structures, which are not read".to_owned())),
    }
}

/// Returns the array of a state: its version, shape, data type, order and elements.
pub(crate) fn array_state(objects: &Objects, state: Id) -> CodecResult<NumpyArray> {
    let (shape, data_type, is_fortran, elements) = match *objects.tuple(state)? {
        [_, shape, data_type, is_fortran, elements] | [shape, data_type, is_fortran, elements] => {
            (shape, data_type, is_fortran, elements)
        }
        _ => return Err(CodecError::corrupt("the state of an array does not have 5 items")),
    };
    let content = match (objects.get(data_type), objects.get(elements)) {
        (Object::Type(data_type), Object::List(items)) if data_type.kind == b'O' => {
            Content::Objects(items.clone())
        }
        _ => Content::Numbers(numeric(objects, data_type)?, objects.bytes(elements)?.into()),
    };
    let shape = lengths(objects, shape)?;
    checked(NumpyArray { shape, is_fortran: objects.is_true(is_fortran), content })
}

/// Compares the number of elements with the shape.
fn checked(array: NumpyArray) -> CodecResult<NumpyArray> {
    let count = array.shape.iter().try_fold(1_usize, |count, &length| count.checked_mul(length));
    let is_right = match &array.content {
        Content::Objects(items) => count == Some(items.len()),
        Content::Numbers(data_type, bytes) => {
            count.and_then(|count| count.checked_mul(data_type.size)) == Some(bytes.len())
        }
    };
    match is_right {
        true => Ok(array),
        false => Err(CodecError::corrupt("the elements of an array do not match its shape")),
    }
}

fn lengths(objects: &Objects, shape: Id) -> CodecResult<Vec<usize>> {
    let lengths = objects.tuple(shape)?;
    if lengths.len() > MAX_RANK {
        return Err(CodecError::corrupt(format!("an array has more than {MAX_RANK} dimensions")));
    }
    lengths.iter().map(|&length| objects.size(length)).collect()
}

/// Returns a data type whose elements are bytes.
fn numeric(objects: &Objects, id: Id) -> CodecResult<NumpyType> {
    match objects.get(id) {
        Object::Type(data_type) if data_type.kind != b'O' => Ok(**data_type),
        _ => Err(CodecError::corrupt("an array has bytes instead of a list of objects")),
    }
}

fn scalar(objects: &Objects, data_type: Id, bytes: Id) -> CodecResult<Object> {
    let data_type = numeric(objects, data_type)?;
    let bytes = objects.bytes(bytes)?;
    match bytes.len() == data_type.size {
        true => data_type.element(bytes),
        false => Err(CodecError::corrupt("a number of NumPy has another size than its data type")),
    }
}

impl NumpyType {
    /// Returns the size of an element in bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Reads an element.
    pub(crate) fn element(&self, bytes: &[u8]) -> CodecResult<Object> {
        if self.kind == b'U' {
            return self.text(bytes);
        }
        let mut word = [0_u8; 8];
        word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
        if self.is_big_endian {
            word[..bytes.len().min(8)].reverse();
        }
        let unsigned = u64::from_le_bytes(word);
        let [low, high, ..] = word;
        let [a, b, c, d, ..] = word;
        Ok(match (self.kind, self.size) {
            (b'b', _) => Object::Bool(unsigned != 0),
            (b'f', 2) => Object::Float(numbers::half(u16::from_le_bytes([low, high]))),
            (b'f', 4) => Object::Float(f32::from_le_bytes([a, b, c, d]).into()),
            (b'f', _) => Object::Float(f64::from_bits(unsigned)),
            (b'i', size) => {
                // Moves the sign to the highest bit, and back.
                let shift = 64 - 8 * size.clamp(1, 8);
                Object::Int(((unsigned << shift).cast_signed() >> shift).to_string().into())
            }
            _ => Object::Int(unsigned.to_string().into()),
        })
    }

    /// Reads a text of fixed length, without the zeros at its end.
    fn text(self, bytes: &[u8]) -> CodecResult<Object> {
        let (words, _) = bytes.as_chunks::<4>();
        let code = |word: &[u8; 4]| match self.is_big_endian {
            true => u32::from_be_bytes(*word),
            false => u32::from_le_bytes(*word),
        };
        let text: Option<String> = words.iter().map(|word| char::from_u32(code(word))).collect();
        let text = text.ok_or_else(|| CodecError::corrupt("a text of NumPy has an invalid character"))?;
        Ok(Object::Text(text.trim_end_matches('\0').into()))
    }
}

/// Returns the text of an object as a key of a dictionary.
pub(crate) fn key(object: &Object) -> CodecResult<&str> {
    match object {
        Object::Text(text) => Ok(text),
        Object::ByteString(bytes) => ascii(bytes),
        other => Err(CodecError::corrupt(format!(
            "a key of a dictionary is {}; in JSON, keys are text",
            other.kind()
        ))),
    }
}
