//! The extensions of the library and of the host in these tests.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_metadata::v3;
use zarr_plugin_kit::array;
use zarr_spec::codec::{ArrayToArrayCodec, BytesToBytesCodec, Checksum, CompositeCodec, RunChain, Shard};
use zarr_spec::data_type::{Created, DataTypeDocument, Field, FillContext, Kind};
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecChain, CodecError, CodecPlugin, Creation, DataType,
    DataTypeError, DataTypePlugin, Elements, FillValue, Format, Identifiers, Invalid, Mode, Output, Registry,
    Size, Unit, Units, Value,
};

/// Returns a registry of extensions that only the host has: `host.word`, `host.plus` and `host.raw`.
pub(super) fn host() -> Registry {
    let mut registry = Registry::empty();
    let word = DataTypePlugin::new(Identifiers::name("host.word"), &|_| Ok((word(), ByteOrder::Big)));
    registry.register(word).unwrap();
    let plus =
        CodecPlugin::new(Identifiers::name("host.plus"), &|_, _| Ok(Codec::BytesToBytes(Arc::new(Plus))));
    registry.register(plus).unwrap();
    let raw = CodecPlugin::new(Identifiers::name("host.raw"), &|_, _| Ok(Codec::Binary(ByteOrder::Little)));
    registry.register(raw).unwrap();
    registry
}

pub(super) fn word() -> Arc<dyn DataType> {
    let elements = Elements::Fixed { size: 2, units: Units::Uniform(2) };
    Arc::new(Plain { kind: Some(Kind::UInt), ..Plain::new("host.word", elements) })
}

/// A data type whose documents are its name and whose fill values are lists of bytes.
#[derive(Debug, Clone)]
struct Plain {
    name: &'static str,
    elements: Elements,
    kind: Option<Kind>,
    fields: Option<Vec<Field>>,
    optional: Option<Arc<dyn DataType>>,
}

impl Plain {
    fn new(name: &'static str, elements: Elements) -> Self {
        Self { name, elements, kind: None, fields: None, optional: None }
    }
}

impl DataType for Plain {
    fn name(&self) -> Cow<'_, str> {
        self.name.into()
    }

    fn elements(&self) -> Elements {
        self.elements.clone()
    }

    fn kind(&self) -> Option<Kind> {
        self.kind
    }

    fn document(&self, _: Format, order: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
        let mut document = DataTypeDocument::named(self.name);
        document.json = Value::from(format!("{} {order:?}", self.name));
        document.fallback = ["first choice", "second choice"].map(DataTypeDocument::named).into();
        Ok(document)
    }

    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> Result<FillValue, DataTypeError> {
        context.reading.warn("bytes are read as they are");
        let bytes = crate::ffi::description::bytes_of(json);
        Ok(FillValue::new(
            bytes.ok_or_else(|| DataTypeError::FillValue(format!("{json} is not a list of bytes")))?,
        ))
    }

    fn fill_value_json(&self, element: &[u8], _: Format, _: &ByteOrder) -> Result<Value, DataTypeError> {
        Ok(crate::ffi::description::bytes_json(element))
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        write!(to, "{element:?}")
    }

    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        if elements.contains(&0xff) { Err(Invalid::new("there is an 0xff")) } else { Ok(()) }
    }

    fn settle(&self, elements: &mut [u8], mode: Mode) -> Result<(), Invalid> {
        let to = if mode == Mode::Strict { 1 } else { 0 };
        elements.iter_mut().filter(|byte| **byte == 0xff).for_each(|byte| *byte = to);
        Ok(())
    }

    fn settles(&self) -> bool {
        true
    }

    fn may_omit_byte_order(&self) -> bool {
        self.name == "test.pair"
    }

    fn fields(&self) -> Option<&[Field]> {
        self.fields.as_deref()
    }

    fn optional(&self) -> Option<&Arc<dyn DataType>> {
        self.optional.as_ref()
    }
}

zarr_spec::register!(DataTypePlugin::new(Identifiers::name("test.pair"), &pair));

/// Creates a structured type with a byte of padding and two words of the host.
fn pair(creation: &Creation<'_>) -> Result<Created, DataTypeError> {
    let document = DataTypeDocument::named("host.word");
    let (word, order) = creation.registry.data_type(creation.format, &document, creation.reading)?;
    assert_eq!(order, ByteOrder::Big);
    let byte: Arc<dyn DataType> =
        Arc::new(Plain::new("byte", Elements::Fixed { size: 1, units: Units::Uniform(1) }));
    let fields =
        vec![Field::new(String::new(), byte, vec![], 0), Field::new("words".to_owned(), word, vec![2, 1], 1)];
    let units = [1, 3].map(|offset| Unit { offset, size: 2 });
    let elements = Elements::Fixed { size: 5, units: Units::Fields(units.into()) };
    let pair = Plain { fields: Some(fields), ..Plain::new("test.pair", elements) };
    Ok((Arc::new(pair), ByteOrder::Mixed([true, false].into())))
}

zarr_spec::register!(DataTypePlugin::new(Identifiers::name("test.maybe"), &|creation| {
    let (pair, order) = pair(creation)?;
    Ok((Arc::new(Plain { optional: Some(pair), ..Plain::new("test.maybe", Elements::Variable) }), order))
}));

zarr_spec::register!(DataTypePlugin::new(Identifiers::name("test.nothing"), &|_| {
    let elements = Elements::Fixed { size: 0, units: Units::Uniform(1) };
    Ok((Arc::new(Plain::new("test.nothing", elements)), ByteOrder::Little))
}));

/// Adds 1 to each byte.
#[derive(Debug)]
struct Plus;

impl BytesToBytesCodec for Plus {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        decoded.iter().try_for_each(|byte| Ok(encoded.put(&[byte.wrapping_add(1)])?))
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        encoded.iter().try_for_each(|byte| Ok(decoded.put(&[byte.wrapping_sub(1)])?))
    }
}

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("test.minus"), &|_, _| Ok(Codec::BytesToBytes(Arc::new(Minus))))
        .decodes_only()
);

/// Subtracts 1 from each stored byte, and only decodes.
#[derive(Debug)]
struct Minus;

impl BytesToBytesCodec for Minus {
    fn encode(&self, _decoded: &[u8], _encoded: &mut Output<'_>) -> Result<(), CodecError> {
        Err(CodecError::decodes_only())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        Plus.decode(encoded, decoded)
    }
}

zarr_spec::register!(CodecPlugin::new(Identifiers::name("test.part"), &|_, _| {
    Ok(Codec::BytesToBytes(Arc::new(Part)))
}));

/// Leaves bytes unchanged and can decode a range of them.
#[derive(Debug)]
struct Part;

impl BytesToBytesCodec for Part {
    fn encoded_size(&self, decoded: Size) -> Size {
        decoded.limit().map_or(Size::Unknown, Size::AtMost)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(encoded.put(decoded)?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(decoded.put(encoded)?)
    }

    fn decode_range(
        &self,
        encoded: &[u8],
        range: Range<usize>,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let element = |(place, byte): (usize, &u8)| if range.contains(&place) { *byte } else { 0xee };
        Ok(decoded.put(&encoded.iter().enumerate().map(element).collect::<Vec<_>>())?)
    }
}

zarr_spec::register!(CodecPlugin::new(Identifiers::name("test.sum"), &|creation, _| {
    let Settings { fails, .. } = creation.parse()?;
    Ok(Codec::Checksum(Arc::new(Sum(fails))))
}));

/// A checksum before the bytes: the sum of all bytes.
#[derive(Debug)]
struct Sum(bool);

impl Checksum for Sum {
    fn size(&self) -> usize {
        1
    }

    fn at_start(&self) -> bool {
        true
    }

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> Result<(), CodecError> {
        if self.0 {
            return Err(CodecError::corrupt("it fails"));
        }
        checksum.fill(bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
        Ok(())
    }
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    fails: bool,
    codecs: Option<Value>,
    index_codecs: Option<Value>,
}

/// Returns a chain of codecs that only the host has, for arrays of bytes or words.
fn chain(
    creation: &Creation<'_>,
    codecs: Option<Value>,
    array: &ArrayRepresentation,
) -> Result<CodecChain, CodecError> {
    let documents = v3::extensions("codecs", &codecs.unwrap_or(Value::Null), creation.reading);
    let documents = documents.map_err(|error| CodecError::configuration(error.to_string()))?;
    Ok(CodecChain::create(&ChainCreation::of(creation), None, &documents, array).map_err(Box::new)?)
}

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("test.counted"), &|creation, decoded| {
        let chain = chain(creation, creation.parse::<Settings>()?.codecs, array(decoded)?)?;
        Ok(Codec::Composite(Arc::new(Counted(chain))))
    })
    .translated_by(&|creation, decoded, format| {
        let plus = creation.with_identifier("host.plus").with_configuration(&Value::Null);
        let document = creation.registry.translated_codec(&plus, decoded, format)?;
        Ok([("codec".to_owned(), Value::from(document.identifier))].into_iter().collect())
    })
);

/// Stores the number of elements in one byte, and the output of a chain.
#[derive(Debug)]
struct Counted(CodecChain);

impl CompositeCodec for Counted {
    fn chains(&self) -> Vec<&CodecChain> {
        vec![&self.0]
    }

    fn encoded_size(&self, _: &ArrayRepresentation) -> Result<Size, CodecError> {
        Ok(self.0.encoded_size())
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> Result<(), CodecError> {
        let count = u8::try_from(array.shape[0]).map_err(CodecError::encode)?;
        encoded.put(&[count])?;
        chains.encode(&self.0, array, decoded, encoded)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> Result<(), CodecError> {
        let (count, rest) = encoded.split_first().ok_or_else(|| CodecError::corrupt("there is no count"))?;
        let array = array.clone().with_shape(vec![u64::from(*count)]);
        chains.decode(&self.0, &array, rest, decoded)
    }
}

zarr_spec::register!(CodecPlugin::new(Identifiers::name("test.shard"), &|creation, decoded| {
    let Settings { codecs, index_codecs, .. } = creation.parse()?;
    let array = array(decoded)?;
    let inner = array.clone().with_shape(vec![2]);
    let index = array.clone().with_shape(vec![array.shape[0] / 2, 2]);
    let inner_codecs = chain(creation, codecs, &inner)?;
    let index_codecs = chain(creation, index_codecs, &index)?;
    Ok(Codec::Shard(Arc::new(Shard::new(vec![2], inner_codecs, index_codecs).with_index_at_start(true))))
}));

zarr_spec::register!(CodecPlugin::new(Identifiers::name("test.mixed"), &|_, _| {
    Ok(Codec::Binary(ByteOrder::Mixed([true, false].into())))
}));

zarr_spec::register!(CodecPlugin::new(Identifiers::name("test.inside"), &|_, _| {
    Ok(Codec::ArrayToArray(Arc::new(Inside)))
}));

/// Changes an optional type to the type of its elements. Cannot convert elements.
#[derive(Debug)]
struct Inside;

impl ArrayToArrayCodec for Inside {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        let inside = decoded.data_type.optional();
        let data_type =
            Arc::clone(inside.ok_or_else(|| CodecError::Unsupported("nothing is missing".to_owned()))?);
        let fill_value = data_type.default_fill_value();
        Ok(decoded.clone().with_data_type(data_type).with_fill_value(fill_value))
    }

    fn encode(&self, _: &ArrayRepresentation, _: &[u8], _: &mut Output<'_>) -> Result<(), CodecError> {
        Err(CodecError::Encode("types alone".into()))
    }

    fn decode(&self, _: &ArrayRepresentation, _: &[u8], _: &mut Output<'_>) -> Result<(), CodecError> {
        Err(CodecError::corrupt("types alone"))
    }
}
