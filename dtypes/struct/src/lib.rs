//! `struct`: packed structures, whose fields follow each other without implicit padding.
//!
//! | format | document |
//! |---|---|
//! | v2 | `[["x","<f4"],["z",">i2",[2,2]]]`: each field has a byte order and may be an array |
//! | v3 | `struct` with `fields`; `structured`, the former name in zarr-python, is also read |
//! | draft | the struct extension, whose `type` is a list like in v2 |
//!
//! Fields may be structures. A field without a name is padding. v3 has neither padding nor array fields.
//!
//! Source: "Structured data types" of the v2 specification; `data-types/struct` in the Zarr extension registry;
//! the struct draft of 2022.

mod document;
mod fill;
mod read;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use zarr_spec::data_type::{DataTypeDocument, Field, FillContext, MAX_ELEMENT_SIZE};
use zarr_spec::{
    ByteOrder, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example, FillValue, Format,
    Identifiers, Invalid, Mode, Unit, Units, Value,
};

/// The URI of the extension in the draft.
const URI: &str = "https://purl.org/zarr/spec/extensions/data-types/struct/1.0";
/// The former name in final v3.
const OLD_NAME: &str = "structured";
/// Maximum number of numbers in an element: the list of byte order units has an entry for each.
const MAX_UNITS: usize = 1 << 20;

zarr_spec::register!(
    DataTypePlugin::new(
        Identifiers::name("struct")
            .with_id("struct")
            .with_uri(URI)
            .with_aliases(&[OLD_NAME, "TODO: structured array protocol URL"]),
        &read::create,
    )
    .configuration_in::<read::StructConfiguration>(Format::V3)
    .about("Packed structures of named fields with separate data types.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "struct",
            "configuration": {"fields": [{"name": "x", "data_type": "float32"}, {"name": "n",
            "data_type": "int16"}]}}"#,
    ),
    Example::v2(r#"[["x", "<f4"], ["n", "<i2"]]"#),
    Example::v2(r#"[["x", ">f4", [2, 2]], ["inner", [["a", "|u1"], ["b", "<i8"]]]]"#),
    Example::draft(
        r#"{"extension": "https://purl.org/zarr/spec/extensions/data-types/struct/1.0",
            "type": [["x", "<f4"], ["n", "<i2"]]}"#,
    ),
];

/// A packed structure.
#[derive(Debug, Clone)]
pub struct Structure {
    fields: Vec<Field>,
    size: usize,
    units: Arc<[Unit]>,
    /// The byte order of stored elements, which fill values of v2 use.
    order: ByteOrder,
    /// Whether the document used `structured`: then v3 also allows Base64 as fill value and a missing byte order.
    is_old: bool,
}

/// A field without its offset.
#[derive(Debug, Clone)]
pub struct Member {
    /// The name; empty for padding.
    pub name: String,
    /// The data type, of fixed size.
    pub data_type: Arc<dyn DataType>,
    /// The byte order of its stored numbers.
    pub order: ByteOrder,
    /// The number of elements per dimension; empty for a single element.
    pub shape: Vec<usize>,
}

impl Structure {
    /// Packs `members` in the given order.
    ///
    /// # Errors
    ///
    /// For a repeated name, a member of variable size, and a size above [`MAX_ELEMENT_SIZE`] bytes.
    pub fn new(members: Vec<Member>) -> Result<Self, Invalid> {
        let mut fields = Vec::with_capacity(members.len());
        let mut size = 0usize;
        let mut units = Vec::new();
        let mut flags = Vec::new();
        let mut names = HashSet::new();
        for member in members {
            let name = &member.name;
            if !name.is_empty() && !names.insert(name.clone()) {
                return Err(Invalid::new(format!("field `{name}` is declared twice")));
            }
            let Elements::Fixed { size: one, units: inner } = member.data_type.elements() else {
                return Err(Invalid::new(format!("field `{name}` does not have a fixed size")));
            };
            let too_large = || Invalid::new(format!("field `{name}` does not fit into an element"));
            let count = member.shape.iter().try_fold(1usize, |count, &length| count.checked_mul(length));
            let end =
                count.and_then(|count| count.checked_mul(one)).and_then(|bytes| bytes.checked_add(size));
            let count = count.filter(|&count| count <= MAX_ELEMENT_SIZE);
            let (Some(count), Some(end)) = (count, end.filter(|&end| end <= MAX_ELEMENT_SIZE)) else {
                return Err(too_large());
            };
            let inner = inner_units(one, &inner);
            if count.saturating_mul(inner.len()).saturating_add(units.len()) > MAX_UNITS {
                return Err(too_large());
            }
            let repeated = if inner.is_empty() { 0 } else { count };
            for repetition in 0..repeated {
                let start = size + repetition * one;
                units.extend(inner.iter().map(|unit| Unit { offset: start + unit.offset, size: unit.size }));
                flags.extend((0..inner.len()).map(|unit| is_big(&member.order, unit)));
            }
            let Member { name, data_type, shape, .. } = member;
            fields.push(Field::new(name, data_type, shape, size));
            size = end;
        }
        let order = order_of(&flags);
        Ok(Self { fields, size, units: units.into(), order, is_old: false })
    }

    /// Returns the byte order of stored elements, for each number in them.
    #[must_use]
    pub fn byte_order(&self) -> &ByteOrder {
        &self.order
    }

    /// Returns the byte order of each field if elements have `order`. All elements of a sub-array have the
    /// order of the first one, since documents cannot express anything else.
    fn field_orders(&self, order: &ByteOrder) -> Vec<ByteOrder> {
        let mut first = 0;
        self.fields
            .iter()
            .map(|field| {
                let units = match field.data_type.elements() {
                    Elements::Fixed { size, units } => inner_units(size, &units).len(),
                    Elements::Variable => 0,
                };
                let flags: Vec<bool> = (first..first + units).map(|unit| is_big(order, unit)).collect();
                first += units * count_of(field);
                order_of(&flags)
            })
            .collect()
    }

    /// Returns the fields that have a name.
    fn named_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| !field.name.is_empty())
    }
}

/// Returns the numbers of more than one byte in an element of `size` bytes.
fn inner_units(size: usize, units: &Units) -> Vec<Unit> {
    match units {
        Units::Uniform(0 | 1) => Vec::new(),
        &Units::Uniform(unit) => (0..size / unit).map(|n| Unit { offset: n * unit, size: unit }).collect(),
        Units::Fields(units) => units.to_vec(),
    }
}

/// Returns whether number `unit` of an element is big endian.
fn is_big(order: &ByteOrder, unit: usize) -> bool {
    match order {
        ByteOrder::Little => false,
        ByteOrder::Big => true,
        ByteOrder::Mixed(flags) => flags.get(unit).copied().unwrap_or_default(),
    }
}

/// Returns the byte order for a list of flags; mixed only if they differ.
fn order_of(flags: &[bool]) -> ByteOrder {
    match (flags.contains(&true), flags.contains(&false)) {
        (false, _) => ByteOrder::Little,
        (true, false) => ByteOrder::Big,
        (true, true) => ByteOrder::Mixed(flags.into()),
    }
}

/// Returns the size of an element of the field's type.
fn size_of(field: &Field) -> usize {
    field.data_type.elements().size().unwrap_or_default()
}

/// Returns the number of elements in the field.
fn count_of(field: &Field) -> usize {
    field.shape.iter().product()
}

impl DataType for Structure {
    fn name(&self) -> Cow<'_, str> {
        let mut name = "struct{".to_owned();
        for (number, field) in self.fields.iter().enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            let shape = if field.shape.is_empty() { String::new() } else { format!("{:?}", field.shape) };
            // Writing to a string cannot fail.
            let _always_ok = write!(name, "{separator}{:?}: {}{shape}", field.name, field.data_type.name());
        }
        name.push('}');
        Cow::Owned(name)
    }

    fn elements(&self) -> Elements {
        let units = match self.units.is_empty() {
            true => Units::Uniform(1),
            false => Units::Fields(Arc::clone(&self.units)),
        };
        Elements::Fixed { size: self.size, units }
    }

    fn document(&self, format: Format, order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        document::write(self, format, order)
    }

    /// Reads an object with a member for each field in v3, and Base64 of the stored element in v2. The draft
    /// reads both.
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        fill::parse(self, json, context).map(FillValue::new)
    }

    /// Writes a form that [`fill_value`](Self::fill_value) reads.
    fn fill_value_json(&self, element: &[u8], format: Format, order: &ByteOrder) -> DataTypeResult<Value> {
        if element.len() != self.size {
            return Err(DataTypeError::FillValue(format!(
                "{} bytes are not an element of a structure of {}",
                element.len(),
                self.size
            )));
        }
        fill::to_json(self, element, format, order)
    }

    /// Prints `{x: 1, z: [1, 2, 3, 4]}`, without padding.
    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        if element.len() != self.size {
            return element.iter().try_for_each(|byte| write!(to, "{byte:02x}"));
        }
        to.write_char('{')?;
        for (number, field) in self.named_fields().enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(to, "{separator}{}: ", field.name.escape_debug())?;
            let (open, close) = if field.shape.is_empty() { ("", "") } else { ("[", "]") };
            to.write_str(open)?;
            for (number, part) in parts(field, element).enumerate() {
                to.write_str(if number == 0 { "" } else { ", " })?;
                field.data_type.print(part, to)?;
            }
            to.write_str(close)?;
        }
        to.write_char('}')
    }

    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        if self.size == 0 && elements.is_empty() {
            return Ok(());
        }
        if !elements.len().is_multiple_of(self.size) {
            return Err(Invalid::new(format!(
                "{} bytes are not a multiple of the element size {}",
                elements.len(),
                self.size
            )));
        }
        for field in self.named_fields() {
            let size = size_of(field) * count_of(field);
            for element in elements.chunks_exact(self.size) {
                let checked = field.data_type.check(&element[field.offset..][..size]);
                checked.map_err(|what| Invalid::new(format!("field `{}`: {what}", field.name)))?;
            }
        }
        Ok(())
    }

    /// Normalizes each field; padding does not change.
    fn settle(&self, elements: &mut [u8], mode: Mode) -> Result<(), Invalid> {
        if self.size == 0 {
            return Ok(());
        }
        for field in self.named_fields().filter(|field| field.data_type.settles()) {
            let place = field.offset..field.offset + size_of(field) * count_of(field);
            for element in elements.chunks_exact_mut(self.size) {
                let settled = field.data_type.settle(&mut element[place.clone()], mode);
                settled.map_err(|what| Invalid::new(format!("field `{}`: {what}", field.name)))?;
            }
        }
        Ok(())
    }

    fn settles(&self) -> bool {
        self.named_fields().any(|field| field.data_type.settles())
    }

    /// Returns true for `structured`. `struct` requires a byte order (EX-STRUCT-04, EX-STRUCT-08).
    fn may_omit_byte_order(&self) -> bool {
        self.is_old
    }

    fn fields(&self) -> Option<&[Field]> {
        Some(&self.fields)
    }
}

/// Returns the elements of a field in an element of the structure.
fn parts<'e>(field: &Field, element: &'e [u8]) -> impl Iterator<Item = &'e [u8]> + use<'e> {
    let offset = field.offset;
    let size = size_of(field);
    (0..count_of(field)).map(move |part| &element[offset + part * size..][..size])
}
