//! Arrays of variable length as elements: the data type [`Ragged`].
//!
//! An element is a list of items, in native byte order and C order. An item is a number, or an array of numbers of
//! fixed shape.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use zarr_json::{Value, json};
use zarr_spec::Creation;
use zarr_spec::data_type::{
    DataType, DataTypeDocument, DataTypeError, DataTypeResult, FillContext, MAX_ELEMENT_SIZE,
};
use zarr_spec::format::{Format, Invalid, Mode};
use zarr_spec::representation::{ByteOrder, Elements, FillValue, Units};

use crate::typestrings::NAMES;

/// The name of the data type in final v3.
pub const NAME: &str = "ndarray";

/// The name of the codec in final v3. It is also the name that the data type had first: such a document has the member
/// `inner_shape` instead of `shape`.
pub const CODEC: &str = "vlen-ndarray";

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
    /// The name in documents of final v3: [`NAME`] or [`CODEC`].
    document_name: &'static str,
}

/// The configuration of the data type in final v3.
#[derive(Debug, Deserialize)]
pub struct RaggedConfiguration {
    dtype: String,
    /// `null` for a variable length.
    shape: Vec<Option<u64>>,
}

/// The configuration under the first name of the data type.
#[derive(Deserialize)]
struct FirstConfiguration {
    dtype: String,
    inner_shape: Vec<u64>,
}

impl Ragged {
    /// Reads the data type from the configuration of `creation`, in the form of final v3.
    ///
    /// # Errors
    ///
    /// As for [`Ragged::new`], and if the configuration is not valid, its `dtype` is not a core data type, or its shape
    /// has other variable lengths than the first.
    pub fn parse(creation: &Creation<'_>) -> DataTypeResult<Self> {
        let (dtype, lengths, document_name) = if creation.identifier == CODEC {
            let FirstConfiguration { dtype, inner_shape } = creation.parse()?;
            (dtype, inner_shape, CODEC)
        } else {
            let RaggedConfiguration { dtype, shape } = creation.parse()?;
            (dtype, lengths_of_items(&shape)?, NAME)
        };
        if !NAMES.contains(&&*dtype) {
            return Err(Invalid::new(format!("`dtype` is `{dtype}`; expected a core data type")).into());
        }
        let inner_shape: Result<Vec<usize>, _> =
            lengths.iter().map(|&length| usize::try_from(length)).collect();
        let inner_shape = inner_shape.map_err(|_| Invalid::new(format!("{lengths:?} is too large")))?;
        let document = DataTypeDocument::named(&dtype);
        let (inner, _) = creation.registry.data_type(Format::V3, &document, creation.reading)?;
        Ok(Self { document_name, ..Self::new(inner, inner_shape)? })
    }

    /// Returns `data_type` as this Rust type. In a loaded plugin, `data_type` may be a data type of the program, which
    /// has another Rust type. A new value is then created from its document. Returns `Ok(None)` if `data_type` is another
    /// data type.
    ///
    /// # Errors
    ///
    /// As for [`Ragged::parse`].
    pub fn of(data_type: &dyn DataType, creation: &Creation<'_>) -> DataTypeResult<Option<Self>> {
        if let Some(ragged) = data_type.downcast_ref::<Self>() {
            return Ok(Some(ragged.clone()));
        }
        match data_type.document(Format::V3, &ByteOrder::Little) {
            Ok(document) if [NAME, CODEC].contains(&&*document.identifier) => {
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
            Some(item_size) => {
                Ok(Self { inner, inner_shape, size, item_size, unit, document_name: NAME })
            }
            None => Err(Invalid::new(format!(
                "items have the shape {inner_shape:?}; expected at most {MAX_DIMENSIONS} sizes above 0, and items of \
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

    /// Returns the entries of a list, which have the dimensions `shape`.
    fn entries<'e>(&self, list: &'e [u8], shape: &[usize]) -> impl Iterator<Item = &'e [u8]> + use<'e> {
        list.chunks(shape.iter().product::<usize>() * self.size)
    }

    /// Converts the numbers of an element between native order and little endian.
    fn swap(&self, element: &mut [u8]) {
        if cfg!(target_endian = "big") {
            element.chunks_exact_mut(self.unit).for_each(<[u8]>::reverse);
        }
    }

    /// Decodes the fill value of final v3: the bytes of an element, little endian, as Base64.
    fn decoded(&self, text: &str) -> DataTypeResult<FillValue> {
        let mut element = STANDARD
            .decode(text)
            .map_err(|error| DataTypeError::FillValue(format!("\"{text}\" is not Base64: {error}")))?;
        self.swap(&mut element);
        self.check(&element).map_err(|invalid| DataTypeError::FillValue(invalid.to_string()))?;
        Ok(FillValue::new(element))
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
        let mut name = format!("{CODEC}[{}", self.inner.name());
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
            Format::V3 if NAMES.contains(&&*self.inner.name()) => {
                let lengths = self.inner_shape.iter().map(|&length| Value::from(length as u64));
                let dtype = Value::from(&*self.inner.name());
                let configuration = if self.document_name == CODEC {
                    json!({"dtype": dtype, "inner_shape": (Value::Array(lengths.collect()))})
                } else {
                    let shape = std::iter::once(Value::Null).chain(lengths);
                    json!({"dtype": dtype, "shape": (Value::Array(shape.collect()))})
                };
                Ok(DataTypeDocument::configured(self.document_name, configuration))
            }
            _ => Err(DataTypeError::NotInFormat {
                name: self.name().into_owned(),
                format,
                hint: String::new(),
            }),
        }
    }

    /// Reads Base64. In v2, and in the generation of the draft that uses forms of v2, 0 means no items.
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        match (json, context.format) {
            (Value::String(text), Format::V3) => self.decoded(text),
            (_, Format::V2 | Format::V3Draft) if json.as_u64() == Some(0) => Ok(FillValue::zero(0)),
            (_, Format::V3) => Err(DataTypeError::FillValue(format!(
                "{json} is not a string; expected the bytes of an element of `{}` as Base64",
                self.name()
            ))),
            _ => Err(DataTypeError::FillValue(format!("{json} is not 0, the fill value for no items"))),
        }
    }

    fn fill_value_json(&self, element: &[u8], format: Format, _order: &ByteOrder) -> DataTypeResult<Value> {
        self.whole(element).map_err(|invalid| DataTypeError::FillValue(invalid.to_string()))?;
        match format {
            Format::V3 => {
                let mut element = element.to_vec();
                self.swap(&mut element);
                Ok(Value::from(STANDARD.encode(element)))
            }
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

/// Returns the lengths after the first one, which is variable.
fn lengths_of_items(shape: &[Option<u64>]) -> Result<Vec<u64>, Invalid> {
    let lengths = match shape.split_first() {
        Some((None, rest)) => rest.iter().copied().collect::<Option<Vec<u64>>>(),
        _ => None,
    };
    lengths.ok_or_else(|| {
        let shape: Vec<Value> = shape.iter().map(|length| length.map_or(Value::Null, Value::from)).collect();
        let shape = Value::Array(shape);
        Invalid::new(format!("`shape` is {shape}; expected `null` for the variable length, then lengths"))
    })
}
