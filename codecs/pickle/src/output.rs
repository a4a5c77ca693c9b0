//! Writes objects as JSON texts.

use std::collections::HashMap;

use zarr_json::Value;
use zarr_plugin_kit::json_items::MAX_ITEM_DEPTH;
use zarr_spec::{CodecError, CodecResult, LimitExceeded, Output};

use crate::numpy::{self, Content, NumpyArray};
use crate::objects::{Id, Object, Objects, ascii};

/// The size of an offset in the decoded form, in bytes.
const OFFSET: usize = 8;

/// Maximum number of members of all dictionaries, each counted in every place where it is written.
const MAX_MEMBERS: usize = 1 << 24;

/// Appends the elements of an array of objects: the offsets of JSON texts, and the texts.
///
/// The shape must be that of the chunk or the reverse: arrays in order F have chunks whose dimensions are reversed.
///
/// # Errors
///
/// [`CodecError::Corrupt`] if the result is not such an array, and for objects that JSON does not have;
/// [`CodecError::TooLarge`].
pub(crate) fn put_elements(
    objects: &Objects,
    result: Id,
    shape: &[u64],
    decoded: &mut Output<'_>,
) -> CodecResult {
    let (array, items) = match objects.get(result) {
        Object::Array(Some(array)) => match &array.content {
            Content::Objects(items) => (array, items),
            Content::Numbers(..) => {
                return Err(CodecError::corrupt("the pickled array does not hold objects"));
            }
        },
        other => {
            let kind = other.kind();
            return Err(CodecError::corrupt(format!(
                "the pickle holds {kind}; expected an array of objects"
            )));
        }
    };
    let shape: Option<Vec<usize>> = shape.iter().map(|&length| usize::try_from(length).ok()).collect();
    let shape = shape.unwrap_or_default();
    let order = order(array, &shape)?;
    let table = items.len().saturating_add(1).saturating_mul(OFFSET);
    let limit = decoded.remaining();
    let mut text = Text {
        objects,
        text: String::new(),
        members: MAX_MEMBERS,
        limit: limit.checked_sub(table).ok_or(LimitExceeded { limit })?,
    };
    let mut offsets = Vec::with_capacity(table);
    offsets.extend_from_slice(&0_u64.to_ne_bytes());
    for position in order {
        text.object(items[position], MAX_ITEM_DEPTH)?;
        offsets.extend_from_slice(&(text.text.len() as u64).to_ne_bytes());
    }
    decoded.put(&offsets)?;
    Ok(decoded.put(text.text.as_bytes())?)
}

/// Returns the positions of the items in the order of the chunk. The items of an array are in order C.
fn order(array: &NumpyArray, shape: &[usize]) -> CodecResult<Vec<usize>> {
    let is_same = array.shape == shape;
    let is_reversed = array.shape.iter().rev().eq(shape);
    let count = array.shape.iter().product();
    match (is_same, is_reversed) {
        (_, true) if array.is_fortran || !is_same => Ok(transposed(&array.shape, count)),
        (true, _) => Ok((0..count).collect()),
        _ => Err(CodecError::corrupt(format!("the array has shape {:?}, expected {shape:?}", array.shape))),
    }
}

/// Returns the positions of items of an array in order C, in the order of the array with reversed dimensions.
fn transposed(shape: &[usize], count: usize) -> Vec<usize> {
    let position = |number: usize| {
        let mut rest = number;
        let mut position = 0;
        let mut stride = count;
        // The first dimension varies fastest.
        for &length in shape {
            stride /= length;
            position += (rest % length) * stride;
            rest /= length;
        }
        position
    };
    (0..count).map(position).collect()
}

/// A JSON text that grows up to a limit.
struct Text<'o> {
    objects: &'o Objects,
    text: String,
    limit: usize,
    /// The number of members of dictionaries that may still be visited: those whose keys repeat are not written.
    members: usize,
}

impl Text<'_> {
    fn push(&mut self, text: &str) -> CodecResult {
        if text.len() > self.limit - self.text.len() {
            return Err(LimitExceeded { limit: self.limit }.into());
        }
        self.text.push_str(text);
        Ok(())
    }

    fn quoted(&mut self, text: &str) -> CodecResult {
        if text.len() > self.limit {
            return Err(LimitExceeded { limit: self.limit }.into());
        }
        self.push(&zarr_json::to_item(&Value::from(text)))
    }

    fn object(&mut self, id: Id, depth: usize) -> CodecResult {
        self.value(self.objects.get(id), depth)
    }

    fn value(&mut self, object: &Object, depth: usize) -> CodecResult {
        match object {
            Object::None => self.push("null"),
            Object::Bool(value) => self.push(if *value { "true" } else { "false" }),
            Object::Int(digits) => self.push(digits),
            Object::Float(float) => self.float(*float),
            Object::Text(text) => self.quoted(text),
            Object::ByteString(bytes) => self.quoted(ascii(bytes)?),
            Object::Tuple(items) => self.list(items, depth),
            Object::List(items) => self.list(items, depth),
            Object::Dict(members) => self.dictionary(members, depth),
            Object::Array(Some(array)) => self.array(array, depth),
            Object::Bytes(_) | Object::Name(_) | Object::Type(_) | Object::Array(None) => {
                Err(CodecError::corrupt(format!(
                    "an item of the pickle is {}, which JSON does not have",
                    object.kind()
                )))
            }
        }
    }

    fn float(&mut self, float: f64) -> CodecResult {
        match (float.is_finite(), float.is_nan(), float > 0.) {
            (true, ..) => self.push(&format!("{float:?}")),
            (_, true, _) => self.push("NaN"),
            (.., true) => self.push("Infinity"),
            _ => self.push("-Infinity"),
        }
    }

    fn list(&mut self, items: &[Id], depth: usize) -> CodecResult {
        let depth = below(depth)?;
        self.push("[")?;
        for (number, item) in items.iter().enumerate() {
            self.push(if number == 0 { "" } else { "," })?;
            self.object(*item, depth)?;
        }
        self.push("]")
    }

    /// The last value of a key counts.
    fn dictionary(&mut self, members: &[(Id, Id)], depth: usize) -> CodecResult {
        let depth = below(depth)?;
        let objects = self.objects;
        self.members = self.members.checked_sub(members.len()).ok_or_else(|| {
            CodecError::corrupt(format!(
                "the dictionaries of the pickle have more than {MAX_MEMBERS} members"
            ))
        })?;
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut unique: Vec<(&str, Id)> = Vec::new();
        for (key, value) in members {
            let key = numpy::key(objects.get(*key))?;
            match places.get(key) {
                Some(&place) => unique[place].1 = *value,
                None => {
                    places.insert(key, unique.len());
                    unique.push((key, *value));
                }
            }
        }
        self.push("{")?;
        for (number, (key, value)) in unique.into_iter().enumerate() {
            self.push(if number == 0 { "" } else { "," })?;
            self.quoted(key)?;
            self.push(":")?;
            self.object(value, depth)?;
        }
        self.push("}")
    }

    /// Writes nested lists, one level for each dimension.
    fn array(&mut self, array: &NumpyArray, depth: usize) -> CodecResult {
        let count = array.shape.iter().product();
        let positions = match (&array.content, array.is_fortran) {
            // The bytes of an array in order F are in that order.
            (Content::Numbers(..), true) => {
                let reversed: Vec<usize> = array.shape.iter().rev().copied().collect();
                transposed(&reversed, count)
            }
            _ => (0..count).collect(),
        };
        self.nested(array, &array.shape, &mut positions.into_iter(), depth)
    }

    fn nested(
        &mut self,
        array: &NumpyArray,
        shape: &[usize],
        positions: &mut impl Iterator<Item = usize>,
        depth: usize,
    ) -> CodecResult {
        let Some((&length, inner)) = shape.split_first() else {
            let Some(position) = positions.next() else { return Ok(()) };
            return match &array.content {
                Content::Objects(items) => self.object(items[position], below(depth)?),
                Content::Numbers(data_type, bytes) => {
                    let size = data_type.size();
                    let element = data_type.element(&bytes[position * size..][..size])?;
                    self.value(&element, depth)
                }
            };
        };
        let depth = below(depth)?;
        self.push("[")?;
        for number in 0..length {
            self.push(if number == 0 { "" } else { "," })?;
            self.nested(array, inner, positions, depth)?;
        }
        self.push("]")
    }
}

fn below(depth: usize) -> CodecResult<usize> {
    depth.checked_sub(1).ok_or_else(|| {
        CodecError::corrupt(format!(
            "an item of the pickle nests deeper than {MAX_ITEM_DEPTH}, or contains itself"
        ))
    })
}
