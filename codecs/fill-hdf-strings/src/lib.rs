//! The `fill_hdf_strings` codec: reads text that an HDF5 file stores as pointers.
//!
//! HDF5 stores text of variable length in a heap, and a chunk holds a pointer of 16 bytes for each element. References
//! of kerchunk contain the text of each pointer in `id_map`. Only decodes.
//!
//! | `id_map` | elements |
//! |---|---|
//! | an object | the text of each pointer; a pointer without text is corrupt |
//! | a text | this text for all elements |
//! | `null` | empty: kerchunk did not read the text |
//!
//! The names in `id_map` are pointers without the zero bytes at the end, read as UTF-8.
//!
//! For data type `string`, `dtype` is the size of a pointer: `S16`. For structures without text, `dtype` lists the
//! fields, and the bytes are unchanged. Structures with text are not supported, because they would have fields of
//! variable size.
//!
//! v2 has the codec as `fill_hdf_strings`.
//!
//! Source: `FillStringsCodec` in kerchunk.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numpy::{Dtype, DtypeField};
use zarr_plugin_kit::{array, items};
use zarr_spec::codec::{ArrayToBytesCodec, BytesToBytesCodec};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, CodecResult, Creation, Elements, Example,
    Identifiers, Output, Representation, Size, Value,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::id("fill_hdf_strings"), &create)
        .configuration::<FillConfiguration>()
        .about("Reads text that an HDF5 file stores as pointers.", EXAMPLES)
        .decodes_only()
);

const EXAMPLES: &[Example] = &[
    Example::v2(
        r#"{"id": "fill_hdf_strings", "dtype": "S16", "id_map": {"\u0001": "one", "\u0002": "two"}}"#,
    )
    .with_data_types(&["string"])
    .with_shape(&[3]),
    Example::v2(r#"{"id": "fill_hdf_strings", "dtype": "S16", "id_map": null}"#)
        .with_data_types(&["string"])
        .with_shape(&[3]),
];

/// The size of an offset in the decoded form, in bytes.
const OFFSET: usize = 8;

/// Reads the text of each pointer.
#[derive(Debug)]
struct Pointers {
    /// The size of a pointer in bytes.
    size: usize,
    texts: Texts,
}

/// The text of pointers.
#[derive(Debug)]
enum Texts {
    /// All pointers have this text.
    Same(String),
    /// By pointer, without the zero bytes at its end.
    Each(HashMap<Box<[u8]>, Box<str>>),
}

impl Texts {
    fn of(&self, pointer: &[u8]) -> CodecResult<&str> {
        match self {
            Self::Same(text) => Ok(text),
            Self::Each(texts) => {
                let end = pointer.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                let text = texts.get(&pointer[..end]);
                text.map(|text| &**text).ok_or_else(|| {
                    CodecError::corrupt(format!("`id_map` does not have the text of pointer {pointer:02x?}"))
                })
            }
        }
    }
}

impl ArrayToBytesCodec for Pointers {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        count(array).map(|count| Size::Exact((count * self.size) as u64))
    }

    fn encode(&self, _: &ArrayRepresentation, _decoded: &[u8], _encoded: &mut Output<'_>) -> CodecResult {
        Err(CodecError::decodes_only())
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let count = count(array)?;
        if count.checked_mul(self.size) != Some(encoded.len()) {
            let found = encoded.len();
            let size = self.size;
            return Err(CodecError::corrupt(format!(
                "expected {count} pointers of {size} bytes, found {found} bytes"
            )));
        }
        let pointers = || encoded.chunks_exact(self.size);
        let mut payload = 0_usize;
        for pointer in pointers() {
            payload = payload.saturating_add(self.texts.of(pointer)?.len());
        }
        let table = (count + 1) * OFFSET;
        let size = table.saturating_add(payload);
        let (offsets, mut rest) = decoded.spare(size)?[..size].split_at_mut(table);
        offsets[..OFFSET].fill(0);
        let mut end = 0;
        for (offset, pointer) in offsets[OFFSET..].chunks_exact_mut(OFFSET).zip(pointers()) {
            let text = self.texts.of(pointer)?.as_bytes();
            let (place, after) = std::mem::take(&mut rest).split_at_mut(text.len());
            place.copy_from_slice(text);
            rest = after;
            end += text.len();
            offset.copy_from_slice(&(end as u64).to_ne_bytes());
        }
        decoded.advance(size);
        Ok(())
    }
}

fn count(array: &ArrayRepresentation) -> CodecResult<usize> {
    items::check_type(array, "string")?;
    let count = array.element_count().filter(|&count| count < usize::MAX / OFFSET / MAX_POINTER);
    count.ok_or_else(|| CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape)))
}

/// Leaves the bytes of structures without text unchanged.
#[derive(Debug)]
struct Unchanged;

impl BytesToBytesCodec for Unchanged {
    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn encode(&self, _decoded: &[u8], _encoded: &mut Output<'_>) -> CodecResult {
        Err(CodecError::decodes_only())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        Ok(decoded.put(encoded)?)
    }
}

/// Maximum size of a pointer in bytes.
const MAX_POINTER: usize = 256;

#[derive(Deserialize)]
struct FillConfiguration {
    dtype: Value,
    id_map: Option<Value>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let FillConfiguration { dtype, id_map } = creation.parse()?;
    let dtype =
        Dtype::parse(&dtype).map_err(|error| CodecError::configuration(format!("`dtype`: {error}")))?;
    let array = array(decoded)?;
    if let Some(fields) = dtype.fields() {
        return structure(array, fields, dtype.size());
    }
    let size = dtype.size();
    if dtype.kind() != 'S' || !(1..=MAX_POINTER).contains(&size) {
        return Err(CodecError::configuration(format!(
            "`dtype` is not a list of fields, nor `S16` or another size of pointers of at most {MAX_POINTER} bytes"
        )));
    }
    count(array)?;
    Ok(Codec::ArrayToBytes(Arc::new(Pointers { size, texts: texts(id_map)? })))
}

fn structure(array: &ArrayRepresentation, fields: &[DtypeField], size: usize) -> CodecResult<Codec> {
    if let Some(field) = fields.iter().find(|field| has_text(&field.dtype)) {
        return Err(CodecError::Unsupported(format!(
            "field `{}` of its structures is text of variable length, which structures cannot have",
            field.name
        )));
    }
    match array.data_type.elements() {
        Elements::Fixed { size: element, .. } if element == size => {
            Ok(Codec::BytesToBytes(Arc::new(Unchanged)))
        }
        _ => {
            let name = array.data_type.name();
            Err(CodecError::configuration(format!("`dtype` has {size} bytes, unlike `{name}`")))
        }
    }
}

fn has_text(dtype: &Dtype) -> bool {
    match dtype.fields() {
        None => matches!(dtype.kind(), 'S' | 'U'),
        Some(fields) => fields.iter().any(|field| has_text(&field.dtype)),
    }
}

fn texts(id_map: Option<Value>) -> CodecResult<Texts> {
    match id_map {
        None | Some(Value::Null) => Ok(Texts::Same(String::new())),
        Some(Value::String(text)) => Ok(Texts::Same(text)),
        Some(Value::Object(members)) => {
            let mut texts = HashMap::new();
            for (pointer, text) in members.iter() {
                let text = text.as_str().ok_or_else(|| {
                    CodecError::configuration(format!(
                        "`id_map` has {}; expected a text for each pointer",
                        text.kind_name()
                    ))
                })?;
                texts.insert(pointer.as_bytes().into(), text.into());
            }
            Ok(Texts::Each(texts))
        }
        Some(other) => Err(CodecError::configuration(format!(
            "`id_map` is {}; expected an object, a text or null",
            other.kind_name()
        ))),
    }
}
