//! The `categorize` codec of Zarr: stores text with few distinct values as numbers.
//!
//! Array to array, for data type `string` and for fixed-length text. A label is encoded as its position in
//! `labels`, starting at 1; if labels repeat, the last position counts. All other text is encoded as 0.
//! Decoding turns 0, and numbers without a label, into empty text, so text that is not a label is lost. A label
//! that is longer than fixed-length text is truncated.
//!
//! `dtype` repeats the data type of the chunk: `|O` for `string`, or the typestring of fixed-length text.
//! `astype` is the integer type of the numbers; the default is `|u1`.
//!
//! The encoded fill value is the decoded fill value, encoded.
//!
//! Source: `Categorize` of numcodecs, in v2 as `categorize`. Its name in final v3, `numcodecs.categorize`, is
//! not written by other programs yet.

mod text;

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numbers::{Number, cast_each};
use zarr_plugin_kit::{array, typestrings, with_number};
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, CodecPlugin, Creation, DataType, Example, FillValue,
    Format, Identifiers, Loss, Object, Output, Representation, Value, json,
};

use text::Text;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.categorize")
            .with_id("categorize")
            .with_uri("https://zarr-kit.example/spec/codecs/categorize/1.0"),
        &create,
    )
    .translated_by(&translate)
    .configuration::<CategorizeConfiguration>()
    .about("Stores text as label numbers; text that is not a label becomes empty.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "numcodecs.categorize",
            "configuration": {"labels": ["a", "b", "c"], "dtype": "|O", "astype": "|u1"}}"#,
    )
    .with_data_types(&["string"])
    .with_loss(Loss::Unbounded),
    Example::v3(
        r#"{"name": "numcodecs.categorize",
            "configuration": {"labels": ["a", "b", "c"], "dtype": "|O", "astype": "<i2"}}"#,
    )
    .with_data_types(&["string"])
    .with_loss(Loss::Unbounded),
    Example::v2(r#"{"id": "categorize", "labels": ["a", "b", "c"], "dtype": "|O", "astype": "|u1"}"#)
        .with_data_types(&["string"])
        .with_loss(Loss::Unbounded),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/categorize/1.0",
            "configuration": {"labels": ["a", "b", "c"], "dtype": "|O", "astype": "|u1"}}"#,
    )
    .with_data_types(&["string"])
    .with_loss(Loss::Unbounded),
];

/// Encodes each text as the number of its label.
#[derive(Debug, Clone)]
pub struct Categorize {
    labels: Vec<String>,
    /// The positions of the labels, starting at 1.
    positions: HashMap<String, u64>,
    /// The typestring of the text.
    dtype: String,
    number: Number,
    encoded_type: Arc<dyn DataType>,
    /// The byte order in the configuration; only v2 declares it.
    encoded_order: Option<ByteOrder>,
}

/// Bytes of a position before it is cast.
const POSITION: usize = 8;

impl Categorize {
    /// Encodes text of `dtype` as elements of `astype`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if `dtype` is not text or `astype` is not an integer type;
    /// [`CodecError::InvalidConfiguration`] if `astype` has fewer positive values than there are labels.
    pub fn new(
        labels: impl IntoIterator<Item = impl Into<String>>,
        dtype: &dyn DataType,
        astype: Arc<dyn DataType>,
    ) -> Result<Self, CodecError> {
        let labels: Vec<String> = labels.into_iter().map(Into::into).collect();
        let number = Number::of(&*astype).filter(|number| number.is_integer());
        let number = number.ok_or_else(|| {
            CodecError::Unsupported(format!("`astype` is `{}`; expected an integer type", astype.name()))
        })?;
        let most = with_number!(number, T => { integer: i128::from(T::MAX), float: 0, other: 0 });
        if labels.len() as i128 > most {
            let count = labels.len();
            let name = astype.name();
            return Err(CodecError::configuration(format!("{count} labels are too many for `{name}`")));
        }
        let positions = labels.iter().cloned().zip(1..).collect();
        let dtype = typestring(dtype)?;
        Ok(Self { labels, positions, dtype, number, encoded_type: astype, encoded_order: None })
    }

    /// Returns the position of a label; 0 for other text.
    fn position(&self, text: Option<&str>) -> u64 {
        text.and_then(|text| self.positions.get(text)).copied().unwrap_or(0)
    }

    /// Returns the label at a position; empty text if there is none.
    fn label(&self, position: u64) -> &str {
        let index = position.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.labels.get(index)).map_or("", String::as_str)
    }
}

/// Returns the typestring of text, as in a configuration.
fn typestring(dtype: &dyn DataType) -> Result<String, CodecError> {
    if Text::of(dtype)? == Text::Variable {
        return Ok("|O".to_owned());
    }
    let document = dtype.document(Format::V2, &ByteOrder::Little);
    let document = document.map_err(|error| CodecError::Unsupported(error.to_string()))?;
    Ok(document.json.as_str().unwrap_or_default().to_owned())
}

impl From<Categorize> for CodecEntry {
    fn from(codec: Categorize) -> Self {
        let labels = codec.labels.into_iter().collect::<Value>();
        let configuration =
            json!({"labels": labels, "dtype": codec.dtype, "astype": codec.number.typestring()});
        Self::new("categorize", configuration)
    }
}

impl ArrayToArrayCodec for Categorize {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        let position =
            self.position(Text::of(&*decoded.data_type)?.read(decoded.fill_value.bytes()).as_deref());
        let mut fill_value = vec![0; self.number.size()];
        cast_each((Number::U64, &position.to_ne_bytes()), (self.number, &mut fill_value));
        Ok(ArrayRepresentation::new(
            decoded.shape.clone(),
            Arc::clone(&self.encoded_type),
            FillValue::new(fill_value),
        )
        .with_byte_order(self.encoded_order.clone().unwrap_or_else(|| decoded.byte_order.clone())))
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let mut positions = Vec::new();
        Text::of(&*array.data_type)?.each(array, decoded, |text| {
            positions.extend_from_slice(&self.position(text).to_ne_bytes());
        })?;
        let size = positions.len() / POSITION * self.number.size();
        cast_each((Number::U64, &positions), (self.number, &mut encoded.spare(size)?[..size]));
        encoded.advance(size);
        Ok(())
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let text = Text::of(&*array.data_type)?;
        let count = text::count(array)?;
        if encoded.len() != count * self.number.size() {
            return Err(CodecError::corrupt(format!("{} bytes do not hold {count} elements", encoded.len())));
        }
        let mut positions = vec![0; count * POSITION];
        cast_each((self.number, encoded), (Number::U64, &mut positions));
        let (positions, _) = positions.as_chunks::<POSITION>();
        let labels = positions.iter().map(|&position| self.label(u64::from_ne_bytes(position)));
        text.put(labels, decoded)
    }
}

#[derive(Deserialize)]
struct CategorizeConfiguration {
    labels: Vec<String>,
    dtype: String,
    astype: Option<String>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let configuration = creation.parse()?;
    Ok(Codec::ArrayToArray(Arc::new(build(creation, configuration, array(decoded)?)?)))
}

fn build(
    creation: &Creation<'_>,
    configuration: CategorizeConfiguration,
    array: &ArrayRepresentation,
) -> Result<Categorize, CodecError> {
    check_type(creation, &configuration.dtype, array)?;
    let astype = configuration.astype.as_deref().unwrap_or("|u1");
    let (astype, order) = typestrings::data_type(creation, "astype", astype)?;
    let codec = Categorize::new(configuration.labels, &*array.data_type, astype)?;
    Ok(Categorize { encoded_order: typestrings::have_orders(creation).then_some(order), ..codec })
}

/// Checks that `dtype` is the data type of the chunk.
fn check_type(creation: &Creation<'_>, dtype: &str, array: &ArrayRepresentation) -> Result<(), CodecError> {
    let fits = match (Text::of(&*array.data_type)?, dtype) {
        (Text::Variable, "|O") => true,
        (Text::Variable, "O" | "object") => {
            creation.reading.tolerate(format!("`dtype` is `{dtype}`; expected `|O`"))?;
            true
        }
        (Text::Variable, _) => false,
        (Text::Fixed { .. }, _) => {
            let (other, order) = typestrings::data_type(creation, "dtype", dtype)?;
            let same_order = !typestrings::have_orders(creation) || order == array.byte_order;
            other.name() == array.data_type.name() && same_order
        }
    };
    if fits {
        return Ok(());
    }
    let name = array.data_type.name();
    Err(CodecError::configuration(format!("`dtype` is `{dtype}`, but the chunk has data type `{name}`")))
}

/// Writes typestrings, which all formats use for this codec.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> Result<Object, CodecError> {
    let array = array(decoded)?;
    let codec = build(creation, creation.parse()?, array)?;
    let dtype = match Text::of(&*array.data_type)? {
        Text::Variable => ("dtype".to_owned(), Value::from("|O")),
        Text::Fixed { .. } => typestrings::member("dtype", array, to)?,
    };
    let astype = typestrings::member("astype", &codec.encoded(array)?, to)?;
    let labels = ("labels".to_owned(), codec.labels.into_iter().collect::<Value>());
    Ok([labels, dtype, astype].into_iter().collect())
}
