//! Plugins of most kinds, as a third party would write them, and a plugin of every kind that panics in the function
//! that its configuration names.

mod panics;

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{ArrayToArrayCodec, ArrayToBytesCodec, BytesToBytesCodec, Checksum};
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext, Kind};
use zarr_spec::extension::{Extension, ExtensionPlace, ExtensionPlugin};
use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin};
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::metadata_encoding::{DocumentKind, MetadataEncoding, MetadataEncodingPlugin, parse_json};
use zarr_spec::{
    ArrayRepresentation, BoxError, ByteOrder, Codec, CodecError, CodecPlugin, DataType, DataTypeError,
    DataTypePlugin, Elements, Example, FillValue, Format, Identifiers, Invalid, Output, Reading, Representation,
    Size, Units, Value,
};

zarr_plugin::export_plugins!();

const XOR: Identifiers = Identifiers::name("example.xor").with_id("xor").with_uri("https://example.org/codecs/xor/1.0").with_aliases(&["example.xor-old"]);

zarr_spec::register!(
    CodecPlugin::new(XOR, &|creation, _| Ok(Codec::BytesToBytes(Arc::new(creation.parse::<Xor>()?))))
        .configuration_in::<Xor>(Format::V3)
        .about(
            "Combines each byte with a key by exclusive or.",
            &[Example::v3(r#"{"name": "example.xor", "configuration": {"key": 170}}"#)],
        )
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Xor {
    key: u8,
}

impl BytesToBytesCodec for Xor {
    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        decoded.iter().try_for_each(|byte| Ok(encoded.put(&[byte ^ self.key])?))
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.encode(encoded, decoded)
    }
}

zarr_spec::register!(CodecPlugin::new(Identifiers::name("example.sum"), &|_, _| Ok(Codec::Checksum(Arc::new(Sum)))));

/// The sum of all bytes, in one byte.
#[derive(Debug)]
struct Sum;

impl Checksum for Sum {
    fn size(&self) -> usize {
        1
    }

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> Result<(), CodecError> {
        checksum[0] = bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte));
        Ok(())
    }
}

zarr_spec::register!(DataTypePlugin::new(Identifiers::name("example.uint12"), &|creation| {
    creation.parse::<Nothing>()?;
    Ok::<Created, DataTypeError>((Arc::new(UInt12), ByteOrder::Little))
}));

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Numbers below 4096, each in two bytes of memory.
#[derive(Debug)]
struct UInt12;

impl DataType for UInt12 {
    fn name(&self) -> Cow<'_, str> {
        "example.uint12".into()
    }

    fn elements(&self) -> Elements {
        Elements::Fixed { size: 2, units: Units::Uniform(2) }
    }

    fn kind(&self) -> Option<Kind> {
        None
    }

    fn document(&self, format: Format, _: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
        match format {
            Format::V3 => Ok(DataTypeDocument::named("example.uint12")),
            _ => Err(DataTypeError::NotInFormat { name: "example.uint12".into(), format, hint: String::new() }),
        }
    }

    fn fill_value(&self, json: &Value, _: &FillContext<'_>) -> Result<FillValue, DataTypeError> {
        let number = json.as_u64().filter(|&number| number < 4096);
        let number = number.ok_or_else(|| DataTypeError::FillValue(format!("{json} is not below 4096")))?;
        Ok(FillValue::new((number as u16).to_ne_bytes().to_vec()))
    }

    fn fill_value_json(&self, element: &[u8], _: Format, _: &ByteOrder) -> Result<Value, DataTypeError> {
        Ok(Value::from(u64::from(number(element))))
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        write!(to, "{}", number(element))
    }

    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        match elements.chunks_exact(2).map(number).find(|&number| number > 4095) {
            Some(number) => Err(Invalid::new(format!("{number} is not below 4096"))),
            None => Ok(()),
        }
    }
}

fn number(element: &[u8]) -> u16 {
    u16::from_ne_bytes([element[0], element[1]])
}

zarr_spec::register!(CodecPlugin::new(Identifiers::name("example.pack12"), &|_, decoded| {
    let Representation::Array(array) = decoded else { return Err(CodecError::Unsupported("no array".into())) };
    match &*array.data_type.name() {
        "example.uint12" => Ok(Codec::ArrayToBytes(Arc::new(Pack12))),
        other => Err(CodecError::Unsupported(format!("data type {other} is not packed"))),
    }
}));

/// Packs two numbers into three bytes.
#[derive(Debug)]
struct Pack12;

impl ArrayToBytesCodec for Pack12 {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        let count = array.element_count().ok_or_else(|| CodecError::Unsupported("too many".into()))? as u64;
        Ok(Size::Exact((count * 3).div_ceil(2)))
    }

    fn encode(&self, _: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        for pair in decoded.chunks(4) {
            let first = number(pair);
            let second = if pair.len() == 4 { number(&pair[2..]) } else { 0 };
            let bytes = [first as u8, (first >> 8) as u8 | (second << 4) as u8, (second >> 4) as u8];
            encoded.put(&bytes[..pair.len() - pair.len() / 4])?;
        }
        Ok(())
    }

    fn decode(&self, _: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        for bytes in encoded.chunks(3) {
            let [first, second] = match *bytes {
                [a, b, c] => [u16::from(a) | u16::from(b & 15) << 8, u16::from(b >> 4) | u16::from(c) << 4],
                [a, b] => [u16::from(a) | u16::from(b & 15) << 8, 0],
                _ => return Err(CodecError::corrupt("a byte is left over")),
            };
            decoded.put(&first.to_ne_bytes())?;
            if bytes.len() == 3 {
                decoded.put(&second.to_ne_bytes())?;
            }
        }
        Ok(())
    }
}

zarr_spec::register!(CodecPlugin::new(Identifiers::name("example.narrow"), &|_, _| {
    Ok(Codec::ArrayToArray(Arc::new(Narrow)))
}));

/// Converts unsigned integers of two bytes to `example.uint12`.
#[derive(Debug)]
struct Narrow;

impl ArrayToArrayCodec for Narrow {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        if (decoded.data_type.kind(), decoded.data_type.elements().size()) != (Some(Kind::UInt), Some(2)) {
            return Err(CodecError::Unsupported(format!("{} does not have two bytes", decoded.data_type.name())));
        }
        Ok(decoded.clone().with_data_type(Arc::new(UInt12)))
    }

    fn encode(&self, _: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        UInt12.check(decoded).map_err(CodecError::encode)?;
        Ok(encoded.put(decoded)?)
    }

    fn decode(&self, _: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(decoded.put(encoded)?)
    }
}

const BACKWARDS: Identifiers = Identifiers::name("example.backwards").with_uri("https://example.org/layouts/backwards/1.0");

zarr_spec::register!(MemoryLayoutPlugin::new(BACKWARDS, &|_, rank| Ok(Codec::Permutation((0..rank).rev().collect()))));

zarr_spec::register!(ChunkGridPlugin::new(Identifiers::name("example.halves"), &|creation, shape| {
    let members = creation.configuration.as_object();
    let number = |name: &str| members.and_then(|members| members.get(name)).and_then(Value::as_u64).unwrap_or(0);
    let grid_shape = vec![2; shape.len()];
    let overlap = number("overlap");
    Ok(Arc::new(Halves { shape: shape.to_vec(), grid_shape, overlap, padding: number("padding") }))
}));

/// Two chunks along each dimension, the first one larger if the length is odd. As a deliberate fault, the second chunk
/// may begin before the first one ends. The second chunk may have padding.
#[derive(Debug)]
struct Halves {
    shape: Vec<u64>,
    grid_shape: Vec<u64>,
    overlap: u64,
    padding: u64,
}

impl ChunkGrid for Halves {
    fn grid_shape(&self) -> &[u64] {
        &self.grid_shape
    }

    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        let length = self.shape[dimension];
        let middle = length.div_ceil(2);
        Ok(if chunk == 0 { 0..middle } else { middle.saturating_sub(self.overlap)..length })
    }

    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError> {
        Ok(u64::from(element >= self.shape[dimension].div_ceil(2)))
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        None
    }

    fn largest_chunk(&self) -> Vec<u64> {
        self.shape.iter().map(|length| length.div_ceil(2)).collect()
    }

    fn padding(&self, _: usize, chunk: u64) -> Result<u64, GridError> {
        Ok(if chunk == 0 { 0 } else { self.padding })
    }
}

zarr_spec::register!(ChunkKeyEncodingPlugin::new(Identifiers::name("example.dashes"), &|_| Ok(Arc::new(Dashes))));

#[derive(Debug)]
struct Dashes;

impl ChunkKeyEncoding for Dashes {
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        let parts: Vec<_> = chunk_index.iter().map(u64::to_string).collect();
        key.push_str(&format!("k{}", parts.join("-")));
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        let Some(rest) = key.strip_prefix('k') else { return Ok(None) };
        if rest.ends_with('?') {
            return Err("the question has no answer".into());
        }
        let parts = rest.split('-').filter(|part| !part.is_empty());
        let index: Option<Vec<u64>> = parts.map(zarr_spec::key_encoding::decode_index).collect();
        Ok(index.filter(|index| index.len() == rank))
    }
}

const SHOUTING: Identifiers = Identifiers::uri("https://example.org/metadata/shouting/1.0");

zarr_spec::register!(MetadataEncodingPlugin::new(SHOUTING, &|_| Ok(Arc::new(Shouting))));

/// A metadata encoding whose documents are JSON after an exclamation mark.
#[derive(Debug)]
struct Shouting;

impl MetadataEncoding for Shouting {
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError> {
        let json = bytes.strip_prefix(b"!").ok_or("there is no exclamation mark")?;
        reading.warn("it is loud");
        Ok(parse_json(json, DocumentKind::V3, reading)?)
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        Ok(format!("!{document}").into_bytes())
    }

    fn key_suffix(&self) -> &str {
        ".loud"
    }
}

const LETTERS: Identifiers = Identifiers::uri("https://example.org/extensions/letters/1.0");

zarr_spec::register!(ExtensionPlugin::new(LETTERS, &|_, place| match place {
    ExtensionPlace::Array(shape) => Ok(Arc::new(Letters((b'a'..).map(char::from).map(String::from).map(Some).take(shape.len()).collect()))),
    ExtensionPlace::EntryPoint => Err(Invalid::new("letters are for arrays")),
}));

#[derive(Debug)]
struct Letters(Vec<Option<String>>);

impl Extension for Letters {
    fn dimension_names(&self) -> Option<&[Option<String>]> {
        Some(&self.0)
    }
}
