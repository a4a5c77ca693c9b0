//! NumPy's file format: written in the oldest version that can represent the header, read in all three.
//!
//! Source: `numpy.lib.format` in NumPy's documentation.

use std::io::{Read, Write};
use std::sync::Arc;

use zarr_kit::ElementArray;
use zarr_kit::spec::data_type::{DataTypeDocument, DataTypeError};
use zarr_kit::spec::{ByteOrder, DataType, Elements, Format, Mode, Registry, Value, format};

use super::Writer;
use super::cast::Cast;
use super::python::{self, Literal};
use super::raw::RawWriter;
use crate::failure::Failure;

/// The first bytes of every file.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read, in bytes.
const MAX_HEADER: u32 = 16 << 20;

/// The size of the header, including everything before it, is a multiple of this.
const ALIGNMENT: usize = 64;

/// The number of digits for which the header reserves space in the first length of a shape.
const LENGTH_DIGITS: usize = 21;

/// A writer of a header, followed by the elements.
#[derive(Debug)]
pub(crate) struct NpyWriter {
    header: Option<Vec<u8>>,
}

impl NpyWriter {
    pub(crate) fn new(data_type: &dyn DataType, shape: &[u64]) -> Result<Self, Failure> {
        let descr = python::descr(&numpy_type(data_type, "use --format raw, json or csv")?);
        let lengths: Vec<_> = shape.iter().map(ToString::to_string).collect();
        // NumPy reserves space for the first length to grow.
        let room = lengths.first().map_or(0, |length| LENGTH_DIGITS.saturating_sub(length.len()));
        let shape = python::tuple(lengths.into_iter());
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}{:room$}", "");
        Ok(Self { header: Some(prologue(&header)?) })
    }

    pub(crate) fn into_header(self) -> Vec<u8> {
        self.header.unwrap_or_default()
    }

    fn write_header(&mut self, to: &mut dyn Write) -> Result<(), Failure> {
        match self.header.take() {
            Some(header) => Ok(to.write_all(&header)?),
            None => Ok(()),
        }
    }
}

impl Writer for NpyWriter {
    fn write(&mut self, elements: &ElementArray, to: &mut dyn Write) -> Result<(), Failure> {
        self.write_header(to)?;
        RawWriter.write(elements, to)
    }

    fn finish(&mut self, to: &mut dyn Write) -> Result<(), Failure> {
        self.write_header(to)
    }
}

/// Returns the v2 `dtype` in little endian, which is NumPy's notation. `instead` is the advice in the error
/// for a type that NumPy does not have.
fn numpy_type(data_type: &dyn DataType, instead: &str) -> Result<Value, Failure> {
    let name = data_type.name();
    if data_type.elements() == Elements::Variable {
        return Err(Failure::fault(format!(
            "elements of type {name} have variable size, which npy files store only as Python objects; {instead}"
        )));
    }
    match data_type.document(Format::V2, &ByteOrder::Little) {
        Ok(document) => Ok(document.json),
        // Types that v2 does not support are not NumPy types. The message does not mention v2, because the
        // user did not ask for it.
        Err(DataTypeError::NotInFormat { hint, .. }) => {
            Err(Failure::fault(format!("NumPy does not have the type {name}{hint}; {instead}")))
        }
        Err(error) => Err(Failure::fault(format!("NumPy does not have the type {name}: {error}; {instead}"))),
    }
}

/// Returns the magic bytes, the version, the length and the header, padded with spaces.
fn prologue(header: &str) -> Result<Vec<u8>, Failure> {
    // Versions 1 and 2 are in Latin-1 and differ in the size of the length field. Version 3 is in UTF-8.
    let latin: Option<Vec<u8>> = header.chars().map(|character| u8::try_from(character).ok()).collect();
    let (encoded, is_latin) = match latin {
        Some(latin) => (latin, true),
        None => (header.as_bytes().to_vec(), false),
    };
    let padded = |before: usize| (before + encoded.len() + 1).next_multiple_of(ALIGNMENT) - before;
    let mut bytes = MAGIC.to_vec();
    let short = u16::try_from(padded(10)).ok().filter(|_| is_latin);
    if let Some(length) = short {
        bytes.extend([1, 0]);
        bytes.extend(length.to_le_bytes());
    } else {
        let length = u32::try_from(padded(12)).ok().filter(|&length| length <= MAX_HEADER);
        let length = length.ok_or_else(|| Failure::fault("the data type is too long for an npy file"))?;
        bytes.extend([if is_latin { 2 } else { 3 }, 0]);
        bytes.extend(length.to_le_bytes());
    }
    bytes.extend_from_slice(&encoded);
    bytes.resize((bytes.len() + 1).next_multiple_of(ALIGNMENT) - 1, b' ');
    bytes.push(b'\n');
    Ok(bytes)
}

#[derive(Debug)]
pub(crate) struct Header {
    /// Elements per dimension.
    pub(crate) shape: Vec<u64>,
    /// Whether the first dimension changes fastest.
    pub(crate) fortran_order: bool,
    pub(crate) data_type: Arc<dyn DataType>,
    /// The type in v2 notation.
    dtype: Value,
    pub(crate) order: ByteOrder,
    /// The type in v2 notation with little endian numbers.
    canonical: Value,
}

impl Header {
    /// Reads the header, and returns it with its size in bytes.
    pub(crate) fn read(from: &mut dyn Read, registry: &Registry) -> Result<(Self, u64), Failure> {
        let not_npy = |what: &str| Failure::fault(format!("not an npy file: {what}"));
        let mut start = [0; 8];
        from.read_exact(&mut start).map_err(|_| not_npy("it is too short"))?;
        if start[..6] != *MAGIC {
            return Err(not_npy("it does not begin with \\x93NUMPY"));
        }
        let (length, before) = match start[6] {
            1 => {
                let mut length = [0; 2];
                from.read_exact(&mut length).map_err(|_| not_npy("it is too short"))?;
                (u32::from(u16::from_le_bytes(length)), 10)
            }
            2 | 3 => {
                let mut length = [0; 4];
                from.read_exact(&mut length).map_err(|_| not_npy("it is too short"))?;
                (u32::from_le_bytes(length), 12)
            }
            other => return Err(not_npy(&format!("unknown version {other}"))),
        };
        if length > MAX_HEADER {
            return Err(not_npy(&format!("its header of {length} bytes is too long")));
        }
        let mut header = Vec::new();
        from.take(u64::from(length)).read_to_end(&mut header)?;
        if header.len() as u64 != u64::from(length) {
            return Err(not_npy("its header is cut short"));
        }
        let text = match start[6] {
            3 => String::from_utf8(header).map_err(|error| not_npy(&error.to_string()))?,
            _ => header.into_iter().map(char::from).collect(),
        };
        let header = Self::parse(&text, registry).map_err(|what| not_npy(&what))?;
        Ok((header, before + u64::from(length)))
    }

    fn parse(text: &str, registry: &Registry) -> Result<Self, String> {
        let header = Literal::parse(text)?;
        let member = |name: &str| header.member(name).ok_or_else(|| format!("its header has no `{name}`"));
        let shape = python::lengths(member("shape")?).ok_or("`shape` is not a tuple of lengths")?;
        let Literal::Bool(fortran_order) = *member("fortran_order")? else {
            return Err("`fortran_order` is neither True nor False".to_owned());
        };
        let dtype = python::dtype(member("descr")?)?;
        let reading = format::Reading::new(Mode::Lenient);
        if dtype.as_str().is_some_and(|typestring| typestring.trim_start_matches('|').starts_with('O')) {
            return Err("its elements are Python objects".to_owned());
        }
        let document = DataTypeDocument::v2(&dtype, None, &reading).map_err(|error| error.to_string())?;
        let created = registry.data_type(Format::V2, &document, &reading);
        let (data_type, order) = created.map_err(|error| format!("its type {dtype}: {error}"))?;
        let canonical =
            data_type.document(Format::V2, &ByteOrder::Little).map_err(|error| error.to_string())?;
        Ok(Self { shape, fortran_order, data_type, dtype, order, canonical: canonical.json })
    }

    /// Returns the conversion to the data type of an array; `None` if the file has that data type. Numbers are
    /// converted only if `is_asked`.
    pub(crate) fn cast<'t>(&self, to: &'t dyn DataType, is_asked: bool) -> Result<Option<Cast<'t>>, Failure> {
        if self.data_type.name() == to.name() {
            return Ok(None);
        }
        match Cast::new(&*self.data_type, to) {
            Some(cast) if is_asked || cast.is_lossless() => Ok(Some(cast)),
            Some(_) => Err(Failure::fault(format!(
                "the file contains {}, but the array is {}; --cast converts the elements",
                python::descr(&self.dtype),
                to.name()
            ))),
            None => self.check_type(to).map(|()| None),
        }
    }

    fn check_type(&self, data_type: &dyn DataType) -> Result<(), Failure> {
        let instead = "use --format raw: each element follows its size in bytes as u32, as `get --format raw` \
             writes them";
        let wanted = numpy_type(data_type, instead)?;
        if wanted == self.canonical {
            return Ok(());
        }
        let found = python::descr(&self.dtype);
        let name = data_type.name();
        Err(Failure::fault(format!(
            "the file contains {found}, but the array is {name} ({}); convert the file in NumPy with `astype`",
            python::descr(&wanted)
        )))
    }
}

pub(crate) fn to_c_order(bytes: &[u8], shape: &[u64], size: usize) -> Vec<u8> {
    let lengths: Vec<usize> =
        shape.iter().map(|&length| usize::try_from(length).unwrap_or(usize::MAX)).collect();
    let mut strides = Vec::with_capacity(lengths.len());
    let mut stride = size;
    for &length in &lengths {
        strides.push(stride);
        stride = stride.saturating_mul(length);
    }
    let mut reordered = Vec::with_capacity(bytes.len());
    let mut index = vec![0; lengths.len()];
    let mut from = 0;
    while reordered.len() < bytes.len() {
        reordered.extend_from_slice(&bytes[from..from + size]);
        for dimension in (0..lengths.len()).rev() {
            index[dimension] += 1;
            from += strides[dimension];
            if index[dimension] < lengths[dimension] {
                break;
            }
            from -= strides[dimension] * lengths[dimension];
            index[dimension] = 0;
        }
    }
    reordered
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by `numpy.save` of NumPy 2: `np.arange(3, dtype='<i2')`.
    #[test]
    fn writes_the_same_prologue_as_numpy() {
        let header = "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }";
        let mut expected = b"\x93NUMPY\x01\0\x76\0".to_vec();
        expected.extend_from_slice(header.as_bytes());
        expected.resize(127, b' ');
        expected.push(b'\n');
        assert_eq!(prologue(header).unwrap(), expected);
    }

    #[test]
    fn long_headers_use_version_2_and_other_scripts_version_3() {
        let long = format!("{{{}}}", "a".repeat(70_000));
        let bytes = prologue(&long).unwrap();
        assert_eq!(bytes[6..8], [2, 0]);
        assert_eq!(bytes.len() % 64, 0);
        let bytes = prologue("{'descr': [('é', '<i4')]}").unwrap();
        assert_eq!(bytes[6..8], [1, 0]);
        let bytes = prologue("{'descr': [('温度', '<i4')]}").unwrap();
        assert_eq!((&bytes[6..8], bytes.len() % 64), (&[3, 0][..], 0));
    }

    #[test]
    fn fortran_order_becomes_c_order() {
        assert_eq!(to_c_order(&[0, 3, 1, 4, 2, 5], &[2, 3], 1), [0, 1, 2, 3, 4, 5]);
        assert_eq!(to_c_order(&[1, 2, 5, 6, 3, 4, 7, 8], &[2, 2], 2), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(to_c_order(&[7], &[], 1), [7]);
        assert!(to_c_order(&[], &[0, 4], 2).is_empty());
    }
}
