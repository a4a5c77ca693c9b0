//! Arrays of variable length as elements: the data type [`Ragged`].
//!
//! An element is a list of items, in native byte order and C order. An item is a number, or an array of numbers of
//! fixed shape.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use zarr_json::{Value, json};
use zarr_spec::Creation;
use zarr_spec::data_type::{
    DataType, DataTypeDocument, DataTypeError, DataTypeResult, FillContext, MAX_ELEMENT_SIZE,
};
use zarr_spec::format::{Format, Invalid, Mode};
use zarr_spec::representation::{ByteOrder, Elements, FillValue, Units};

/// The name of the data type and of its codec in final v3.
pub const NAME: &str = "vlen-ndarray";

/// The id of the codec in v2.
pub const ID: &str = "vlen-array";

/// The id of the data type in v2.
pub const OBJECT_ID: &str = "O/vlen-array";

/// Maximum number of dimensions of an item, because reading and printing recurse into each.
const MAX_DIMENSIONS: usize = 32;

/// A data type whose elements are lists of numbers, or of arrays of numbers.
#[derive(Debug, Clone)]
pub struct Ragged {
    inner: Arc<dyn DataType>,
    inner_shape: Vec<usize>,
    /// The size of a number in bytes.
    size: usize,
    /// The size of an item in bytes.
    item_size: usize,
    /// The size in bytes of the unit whose bytes are reversed to change the byte order.
    unit: usize,
}

/// The configuration of the data type in final v3.
#[derive(Debug, Deserialize)]
pub struct RaggedConfiguration {
    dtype: Value,
    #[serde(default)]
    inner_shape: Vec<u64>,
}

impl Ragged {
    /// Reads the data type from the configuration of `creation`, in the form of final v3.
    ///
    /// # Errors
    ///
    /// As for [`Ragged::new`], and if the configuration is not valid or its `dtype` is not known.
    pub fn parse(creation: &Creation<'_>) -> DataTypeResult<Self> {
        let RaggedConfiguration { dtype, inner_shape } = creation.parse()?;
        let document = DataTypeDocument::v3(&dtype, creation.reading)?;
        let sizes: Result<Vec<usize>, _> =
            inner_shape.iter().map(|&length| usize::try_from(length)).collect();
        let sizes = sizes
            .map_err(|_| Invalid::new(format!("`inner_shape` is {inner_shape:?}, which is too large")))?;
        let (inner, _) = creation.registry.data_type(Format::V3, &document, creation.reading)?;
        Self::new(inner, sizes)
    }

    /// Returns `data_type` as this Rust type. In a loaded plugin, `data_type` may be a data type of the program, which
    /// has another Rust type. A new value is then created from its document. Returns `Ok(None)` if `data_type` is not
    /// [`NAME`].
    ///
    /// # Errors
    ///
    /// As for [`Ragged::parse`].
    pub fn of(data_type: &dyn DataType, creation: &Creation<'_>) -> DataTypeResult<Option<Self>> {
        if let Some(ragged) = data_type.downcast_ref::<Self>() {
            return Ok(Some(ragged.clone()));
        }
        match data_type.document(Format::V3, &ByteOrder::Little) {
            Ok(document) if document.identifier == NAME => {
                let registry = creation.registry;
                let DataTypeDocument { identifier, configuration, .. } = &document;
                let creation =
                    Creation::new(identifier, configuration, Format::V3, registry, creation.reading);
                Self::parse(&creation).map(Some)
            }
            Ok(_) | Err(DataTypeError::NotInFormat { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates the data type whose elements are lists of arrays of shape `inner_shape`, or lists of numbers if the
    /// shape has no dimensions.
    ///
    /// # Errors
    ///
    /// [`DataTypeError::InvalidConfiguration`] if elements of `inner` do not have a fixed size and one byte order,
    /// and for a shape that is empty or too large.
    pub fn new(inner: Arc<dyn DataType>, inner_shape: Vec<usize>) -> DataTypeResult<Self> {
        let Elements::Fixed { size: size @ 1.., units: Units::Uniform(unit) } = inner.elements() else {
            let name = inner.name();
            return Err(Invalid::new(format!("expected a data type of numbers, found `{name}`")).into());
        };
        let item_size = inner_shape.iter().try_fold(size, |size, &length| size.checked_mul(length));
        let item_size = item_size.filter(|size| (1..=MAX_ELEMENT_SIZE).contains(size));
        match item_size.filter(|_| inner_shape.len() <= MAX_DIMENSIONS) {
            Some(item_size) => Ok(Self { inner, inner_shape, size, item_size, unit }),
            None => Err(Invalid::new(format!(
                "`inner_shape` is {inner_shape:?}; expected at most {MAX_DIMENSIONS} sizes above 0, and items of \
                 at most {MAX_ELEMENT_SIZE} bytes"
            ))
            .into()),
        }
    }

    /// Returns the data type of the numbers.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn DataType> {
        &self.inner
    }

    /// Returns the shape of an item; empty if an item is a number.
    #[must_use]
    pub fn inner_shape(&self) -> &[usize] {
        &self.inner_shape
    }

    /// Returns the size in bytes of the unit whose bytes are reversed to change the byte order.
    #[must_use]
    pub fn unit(&self) -> usize {
        self.unit
    }

    /// Returns whether `element` consists of whole items.
    #[must_use]
    pub fn is_whole(&self, element: &[u8]) -> bool {
        element.len().is_multiple_of(self.item_size)
    }

    /// Appends the numbers of a list whose entries have the dimensions `shape`.
    fn read(
        &self,
        list: &Value,
        shape: &[usize],
        element: &mut Vec<u8>,
        context: &FillContext<'_>,
    ) -> DataTypeResult<()> {
        let expected = || DataTypeError::FillValue(format!("{list} is not a list of `{}`", self.name()));
        for entry in list.as_array().ok_or_else(expected)? {
            match shape.split_first() {
                Some((&length, rest)) if entry.as_array().is_some_and(|list| list.len() == length) => {
                    self.read(entry, rest, element, context)?;
                }
                Some((length, _)) => {
                    return Err(DataTypeError::FillValue(format!(
                        "{entry} is not a list of {length} entries"
                    )));
                }
                None if entry.is_null() => return Err(expected()),
                None => element.extend_from_slice(self.inner.fill_value(entry, context)?.bytes()),
            }
        }
        Ok(())
    }

    /// Returns the entries of a list, which have the dimensions `shape`.
    fn entries<'e>(&self, list: &'e [u8], shape: &[usize]) -> impl Iterator<Item = &'e [u8]> + use<'e> {
        list.chunks(shape.iter().product::<usize>() * self.size)
    }

    /// Writes a list whose entries have the dimensions `shape`.
    fn json(&self, list: &[u8], shape: &[usize], format: Format, order: &ByteOrder) -> DataTypeResult<Value> {
        let entry = |entry| match shape.split_first() {
            Some((_, rest)) => self.json(entry, rest, format, order),
            None => self.inner.fill_value_json(entry, format, order),
        };
        Ok(Value::Array(self.entries(list, shape).map(entry).collect::<DataTypeResult<_>>()?))
    }

    fn print_list(&self, list: &[u8], shape: &[usize], to: &mut dyn fmt::Write) -> fmt::Result {
        to.write_char('[')?;
        for (position, entry) in self.entries(list, shape).enumerate() {
            if position > 0 {
                to.write_str(", ")?;
            }
            match shape.split_first() {
                Some((_, rest)) => self.print_list(entry, rest, to)?,
                None => self.inner.print(entry, to)?,
            }
        }
        to.write_char(']')
    }

    fn whole(&self, element: &[u8]) -> Result<(), Invalid> {
        if self.is_whole(element) {
            return Ok(());
        }
        let size = self.item_size;
        Err(Invalid::new(format!("{} bytes are not whole items of {size} bytes", element.len())))
    }
}

impl DataType for Ragged {
    fn name(&self) -> Cow<'_, str> {
        let mut name = format!("{NAME}[{}", self.inner.name());
        for length in &self.inner_shape {
            name.push_str(&format!(", {length}"));
        }
        name.push(']');
        Cow::Owned(name)
    }

    fn elements(&self) -> Elements {
        Elements::Variable
    }

    fn document(&self, format: Format, _order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        let inner = || self.inner.document(format, &ByteOrder::Little);
        match format {
            Format::V2 if self.inner_shape.is_empty() => {
                let document = DataTypeDocument::in_v2(OBJECT_ID, Value::from("|O"));
                Ok(document.with_object_elements(Some(&inner()?.json)))
            }
            Format::V3 => {
                let inner_shape: Value = self.inner_shape.iter().map(|&length| length as u64).collect();
                let configuration = json!({"dtype": inner()?.json, "inner_shape": inner_shape});
                Ok(DataTypeDocument::configured(NAME, configuration))
            }
            Format::V2 | Format::V3Draft => Err(DataTypeError::NotInFormat {
                name: self.name().into_owned(),
                format,
                hint: String::new(),
            }),
        }
    }

    /// Reads a list of items. In v2, and in the generation of the draft that uses forms of v2, 0 means no items.
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        if context.format != Format::V3 && json.as_u64() == Some(0) {
            return Ok(FillValue::zero(0));
        }
        let mut element = Vec::new();
        self.read(json, &self.inner_shape, &mut element, context)?;
        Ok(FillValue::new(element))
    }

    fn fill_value_json(&self, element: &[u8], format: Format, order: &ByteOrder) -> DataTypeResult<Value> {
        self.whole(element).map_err(|invalid| DataTypeError::FillValue(invalid.to_string()))?;
        match format {
            Format::V3 => self.json(element, &self.inner_shape, format, order),
            _ if element.is_empty() => Ok(Value::from(0)),
            _ => Err(DataTypeError::FillValue(format!("{format} cannot represent a list with items"))),
        }
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        match self.whole(element) {
            Ok(()) => self.print_list(element, &self.inner_shape, to),
            Err(invalid) => write!(to, "({invalid})"),
        }
    }

    fn check(&self, element: &[u8]) -> Result<(), Invalid> {
        self.whole(element)?;
        self.inner.check(element)
    }

    fn settle(&self, element: &mut [u8], mode: Mode) -> Result<(), Invalid> {
        self.inner.settle(element, mode)
    }

    fn settles(&self) -> bool {
        self.inner.settles()
    }
}
