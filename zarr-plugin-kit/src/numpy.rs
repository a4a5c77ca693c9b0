//! The memory layout of NumPy data types in the configurations of other programs.

use zarr_json::{Object, Value};
use zarr_spec::Invalid;
use zarr_spec::data_type::MAX_ELEMENT_SIZE;

/// The memory layout of a NumPy data type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dtype {
    kind: char,
    size: usize,
    /// The fields of a structure.
    fields: Option<Vec<DtypeField>>,
}

/// A field of a structure.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DtypeField {
    /// The name; empty for padding.
    pub name: String,
    /// The type of one element.
    pub dtype: Dtype,
    /// The position of the first byte in the structure.
    pub offset: usize,
    /// The size in bytes of all elements of the field.
    pub size: usize,
}

/// Size in bytes of an object in the memory of NumPy.
const OBJECT: usize = 8;

impl Dtype {
    /// Reads a typestring with or without its byte order, a name of NumPy such as `int32`, a list of such texts
    /// separated by commas, a list of fields, or an object with `names`, `formats`, `offsets` and `itemsize`.
    ///
    /// # Errors
    ///
    /// For every other value, and for elements above [`MAX_ELEMENT_SIZE`] bytes.
    pub fn parse(dtype: &Value) -> Result<Self, Invalid> {
        match dtype {
            Value::String(text) if text.contains(',') => separated(text),
            Value::String(text) => plain(text).ok_or_else(|| unknown(text)),
            Value::Array(fields) => structure(fields),
            Value::Object(members) => described(members),
            other => Err(Invalid::new(format!(
                "a data type is {}; expected a text, a list of fields or an object",
                other.kind_name()
            ))),
        }
    }

    /// Returns the kind, as in a typestring: `i`, `f`, `S`, `U`, `O`, …; `V` for structures.
    #[must_use]
    pub fn kind(&self) -> char {
        self.kind
    }

    /// Returns the size of an element in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the fields of a structure in order; `None` for other types.
    #[must_use]
    pub fn fields(&self) -> Option<&[DtypeField]> {
        self.fields.as_deref()
    }
}

const NAMES: [(&str, char, usize); 17] = [
    ("bool", 'b', 1),
    ("int8", 'i', 1),
    ("int16", 'i', 2),
    ("int32", 'i', 4),
    ("int64", 'i', 8),
    ("uint8", 'u', 1),
    ("uint16", 'u', 2),
    ("uint32", 'u', 4),
    ("uint64", 'u', 8),
    ("float16", 'f', 2),
    ("float32", 'f', 4),
    ("float64", 'f', 8),
    ("complex64", 'c', 8),
    ("complex128", 'c', 16),
    ("datetime64", 'M', 8),
    ("timedelta64", 'm', 8),
    ("object", 'O', OBJECT),
];

fn plain(text: &str) -> Option<Dtype> {
    // The unit of a time does not affect the size.
    let text = text.split_once('[').map_or(text, |(text, _)| text);
    if let Some(&(_, kind, size)) = NAMES.iter().find(|(name, ..)| *name == text) {
        return Some(Dtype { kind, size, fields: None });
    }
    let text = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    let mut characters = text.chars();
    let kind = characters.next()?;
    let digits = characters.as_str();
    let number = || {
        let is_plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_plain.then(|| digits.parse::<usize>().ok()).flatten()
    };
    let is_known = |sizes: &[usize]| number().filter(|size| sizes.contains(size));
    let size = match kind {
        'b' => is_known(&[1]),
        'i' | 'u' => is_known(&[1, 2, 4, 8]),
        'f' => is_known(&[2, 4, 8, 12, 16]),
        'c' => is_known(&[8, 16, 24, 32]),
        'm' | 'M' => is_known(&[8]),
        'S' | 'V' => number(),
        'U' => number().and_then(|characters| characters.checked_mul(4)),
        'O' if digits.is_empty() || digits == "8" => Some(OBJECT),
        _ => None,
    };
    size.filter(|&size| size <= MAX_ELEMENT_SIZE).map(|size| Dtype { kind, size, fields: None })
}

fn unknown(text: &str) -> Invalid {
    Invalid::new(format!("`{text}` is not a data type of NumPy, such as `<i4` or `int32`"))
}

/// Reads types that are separated by commas. NumPy names the fields `f0`, `f1` and so on.
fn separated(text: &str) -> Result<Dtype, Invalid> {
    let fields = text.split(',').enumerate().map(|(number, text)| {
        let dtype = plain(text.trim()).ok_or_else(|| unknown(text))?;
        Ok((format!("f{number}"), dtype, None))
    });
    packed(fields.collect::<Result<Vec<_>, Invalid>>()?, None)
}

/// Reads an object with the names and the types of fields, and optionally their positions and the size.
fn described(members: &Object) -> Result<Dtype, Invalid> {
    if let Some(name) =
        members.keys().find(|name| !["names", "formats", "offsets", "itemsize"].contains(name))
    {
        return Err(Invalid::new(format!("a data type has the unknown member `{name}`")));
    }
    let list = |name: &str| members.get(name).and_then(Value::as_array);
    let (Some(names), Some(formats)) = (list("names"), list("formats")) else {
        return Err(Invalid::new("a data type is an object without the lists `names` and `formats`"));
    };
    let offsets = list("offsets");
    if formats.len() != names.len() || offsets.is_some_and(|offsets| offsets.len() != names.len()) {
        return Err(Invalid::new("the lists of a data type have different lengths"));
    }
    let mut fields = Vec::with_capacity(names.len());
    for (number, (name, format)) in names.iter().zip(formats).enumerate() {
        let name = name.as_str().ok_or_else(|| Invalid::new("the name of a field is not a text"))?;
        let offset = match offsets.and_then(|offsets| offsets.get(number)) {
            None => None,
            Some(offset) => Some(
                length(offset)
                    .ok_or_else(|| Invalid::new(format!("{offset} is not the position of field `{name}`")))?,
            ),
        };
        fields.push((name.to_owned(), Dtype::parse(format)?, offset));
    }
    let size = match members.get("itemsize") {
        None | Some(Value::Null) => None,
        Some(size) => Some(length(size).ok_or_else(|| Invalid::new(format!("{size} is not a size")))?),
    };
    packed(fields, size)
}

/// Places fields at their positions, or after the field before them.
fn packed(list: Vec<(String, Dtype, Option<usize>)>, declared: Option<usize>) -> Result<Dtype, Invalid> {
    let mut fields: Vec<DtypeField> = Vec::with_capacity(list.len());
    let mut after = 0_usize;
    let mut size = 0_usize;
    for (name, dtype, offset) in list {
        let offset = offset.unwrap_or(after);
        let end = offset.checked_add(dtype.size()).filter(|&end| end <= declared.unwrap_or(MAX_ELEMENT_SIZE));
        after = end.ok_or_else(|| too_large(&name))?;
        size = size.max(after);
        fields.push(DtypeField { name, offset, size: dtype.size(), dtype });
    }
    let size = declared.unwrap_or(size);
    if size > MAX_ELEMENT_SIZE {
        return Err(Invalid::new(format!("a structure of {size} bytes is too large")));
    }
    Ok(Dtype { kind: 'V', size, fields: Some(fields) })
}

fn too_large(name: &str) -> Invalid {
    Invalid::new(format!("field `{name}` does not fit into an element"))
}

fn structure(list: &[Value]) -> Result<Dtype, Invalid> {
    let mut fields: Vec<DtypeField> = Vec::with_capacity(list.len());
    let mut offset = 0_usize;
    for field in list {
        let (name, dtype, shape) = match field.as_array() {
            Some([Value::String(name), dtype]) => (name, dtype, None),
            Some([Value::String(name), dtype, shape]) => (name, dtype, Some(shape)),
            _ => return Err(Invalid::new(format!("{field} is not a field; expected a name and a type"))),
        };
        let dtype = Dtype::parse(dtype).map_err(|error| Invalid::new(format!("field `{name}`: {error}")))?;
        let too_large = || too_large(name);
        let count = shape.map_or(Some(1), elements).ok_or_else(too_large)?;
        let size = count.checked_mul(dtype.size()).ok_or_else(too_large)?;
        let end = offset.checked_add(size).filter(|&end| end <= MAX_ELEMENT_SIZE).ok_or_else(too_large)?;
        fields.push(DtypeField { name: name.clone(), dtype, offset, size });
        offset = end;
    }
    Ok(Dtype { kind: 'V', size: offset, fields: Some(fields) })
}

fn length(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|length| usize::try_from(length).ok())
}

/// Returns the number of elements of a field with the given lengths; a single length may stand without a list.
fn elements(shape: &Value) -> Option<usize> {
    match shape {
        Value::Array(lengths) => {
            lengths.iter().try_fold(1_usize, |count, one| length(one).and_then(|one| count.checked_mul(one)))
        }
        other => length(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zarr_json::json;

    /// The sizes are those of `numpy.dtype(…).itemsize`, NumPy 2.5.
    #[test]
    fn sizes_are_those_of_numpy() {
        let parsed =
            |dtype: &Value| Dtype::parse(dtype).map(|dtype| dtype.size()).map_err(|error| error.to_string());
        for (dtype, size) in [
            (json!("<i4"), 4),
            (json!("S16"), 16),
            (json!("|S0"), 0),
            (json!("<U3"), 12),
            (json!("datetime64[ns]"), 8),
            (json!("<M8[10us]"), 8),
            (json!("complex128"), 16),
            (json!("|O"), 8),
            (json!([["a", "int32"], ["b", "|S16"], ["c", ">f8"]]), 28),
            (json!("i4,S4,>f8"), 16),
            (json!({"names": ["a", "b"], "formats": ["<i4", "|S4"]}), 8),
            (json!({"names": ["a", "b"], "formats": ["<i4", "<f8"], "offsets": [0, 8], "itemsize": 24}), 24),
            (json!([["a", "<i2", [2, 3]], ["", "|V5"], ["c", [["d", "|u1"], ["e", "<f4", 2]]]]), 26),
        ] {
            assert_eq!(parsed(&dtype), Ok(size), "{dtype}");
        }
        for dtype in [
            json!("i3"),
            json!("S"),
            json!("<S99999999999"),
            json!("é"),
            json!(""),
            json!(4),
            json!([["a"]]),
            json!([["a", "<i4", [4_000_000_000_u64, 4_000_000_000_u64]]]),
            json!([["a", "<i4", "x"]]),
            json!("i4,"),
            json!({"names": ["a"], "formats": []}),
            json!({"names": ["a"], "formats": ["<i4"], "itemsize": 3}),
            json!({"names": ["a"], "formats": ["<i4"], "itemsize": 99999999999_u64}),
            json!({"names": ["a"], "formats": ["<i4"], "aligned": true}),
        ] {
            assert!(parsed(&dtype).is_err(), "{dtype}");
        }
    }
}
