//! Runs the examples of a page with the plugins of this build and compares elements and bytes.
//!
//! A block is read from top to bottom: each line follows from the previous one by encoding or decoding with
//! the extension of the entry before the block. `error` means that the operation must fail.

use std::sync::Arc;

use zarr_conformance::chains::StepByStep;
use zarr_conformance::{codecs, hex};
use zarr_kit::spec::codec::RunChain as _;
use zarr_kit::spec::data_type::FillContext;
use zarr_kit::spec::representation::{Elements, Units};
use zarr_kit::spec::{ArrayRepresentation, Codec, CodecError, Output, Representation, Size, Value, codec};
use zarr_kit::{Format, Mode};

use super::entry::{Entry, Linked};
use super::page::{Example, Line, Page, parsed};

/// The maximum number of bytes in an example.
const LIMIT: usize = 1 << 20;

/// The content of a line.
#[derive(Debug)]
enum Said {
    /// The elements of this array, or `None` if the operation must fail.
    Elements(ArrayRepresentation, Option<Vec<u8>>),
    /// Bytes, or `None` if the operation must fail.
    Bytes(Option<Vec<u8>>),
}

impl Said {
    fn parse(linked: &Linked, text: &str) -> Self {
        let typed =
            text.split_once("]:").and_then(|(head, values)| Some((head.rsplit_once('[')?, values.trim())));
        match typed {
            None if text == "error" => Self::Bytes(None),
            None if text == "empty" => Self::Bytes(Some(Vec::new())),
            None => Self::Bytes(Some(hex(&text.replace(' ', "")))),
            Some(((name, shape), values)) => {
                let array = array(linked, name, shape);
                let elements = (values != "error").then(|| elements(linked, &array, values));
                Self::Elements(array, elements)
            }
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Elements(_, bytes) | Self::Bytes(bytes) => bytes.as_deref(),
        }
    }
}

fn array(linked: &Linked, name: &str, shape: &str) -> ArrayRepresentation {
    let data_type = linked.data_type_of_v3(name);
    let shape =
        parsed(&format!("[{shape}]")).as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
    let fill_value = data_type.default_fill_value();
    ArrayRepresentation::new(shape, data_type, fill_value)
}

/// Converts values in the form of fill values in final v3 to elements in memory.
fn elements(linked: &Linked, array: &ArrayRepresentation, values: &str) -> Vec<u8> {
    let context = FillContext::new(Format::V3, &linked.reading);
    let values = parsed(&format!("[{values}]"));
    let values = values.as_array().unwrap();
    assert_eq!(Some(values.len()), array.element_count(), "{values:?} in shape {:?}", array.shape);
    let element = |value: &Value| array.data_type.fill_value(value, &context).unwrap();
    let elements: Vec<_> = values.iter().map(element).collect();
    let mut bytes = Vec::new();
    if array.data_type.elements() == Elements::Variable {
        let mut end = 0_u64;
        bytes.extend_from_slice(&end.to_ne_bytes());
        for element in &elements {
            end += element.bytes().len() as u64;
            bytes.extend_from_slice(&end.to_ne_bytes());
        }
    }
    elements.iter().for_each(|element| bytes.extend_from_slice(element.bytes()));
    bytes
}

/// Converts elements to their stored form in little endian.
fn stored(array: &ArrayRepresentation, elements: &[u8]) -> Vec<u8> {
    let mut bytes = elements.to_vec();
    swap(array, &mut bytes);
    bytes
}

/// Converts between the order of this machine and little endian.
fn swap(array: &ArrayRepresentation, bytes: &mut [u8]) {
    let Elements::Fixed { units: Units::Uniform(unit), .. } = array.data_type.elements() else {
        panic!("elements of {} do not have a uniform byte form", array.data_type.name());
    };
    if cfg!(target_endian = "big") {
        bytes.chunks_mut(unit).for_each(<[u8]>::reverse);
    }
}

/// Runs the blocks after an example; returns the number of compared lines.
pub(crate) fn check(linked: &Linked, page: &Page, example: &Example, entry: &Entry) -> usize {
    let count = |lines: &Vec<Line>| match page.kind() {
        "grids" => check_grid(linked, entry, example, lines),
        "metadata-encodings" => check_metadata_encoding(linked, entry, lines),
        _ => check_codec(linked, page, example, entry, lines),
    };
    example.runs.iter().map(count).sum()
}

/// Returns the array that the first line with elements describes.
pub(crate) fn decoded_side(linked: &Linked, example: &Example) -> Representation {
    let lines =
        example.runs.iter().flatten().filter(|(label, text)| label == "decoded" && text.contains("]:"));
    let array = lines.filter_map(|(_, text)| match Said::parse(linked, text) {
        Said::Elements(array, _) => Some(array),
        Said::Bytes(_) => None,
    });
    array.into_iter().next().map_or(Representation::Bytes(Size::Unknown), Representation::Array)
}

fn check_codec(linked: &Linked, page: &Page, example: &Example, entry: &Entry, lines: &[Line]) -> usize {
    let said: Vec<_> = lines.iter().map(|(label, text)| (&**label, Said::parse(linked, text))).collect();
    let block = Example { document: Value::Null, runs: vec![lines.to_vec()] };
    let decoded_side = decoded_side(linked, &block);
    let array = || hollow(&decoded_side);
    let create = || match (page.kind(), &decoded_side) {
        ("codecs", side) => linked.codec(entry, side).unwrap(),
        ("layouts", Representation::Array(array)) => linked.layout(entry, array.shape.len()).unwrap(),
        ("data-types", side) => {
            let codecs = example.document.as_object().unwrap().get("codecs").and_then(Value::as_array);
            linked.codec(&linked.codec_entry(&codecs.unwrap()[0]), side).unwrap()
        }
        other => panic!("{}: {other:?}", page.name),
    };
    for (number, pair) in said.windows(2).enumerate() {
        let [(from, before), (to, after)] = pair else { continue };
        let place = format!("{}: {from} to {to} in {lines:?}", page.name);
        match (*from, *to) {
            (_, "bytes") => {
                let Said::Elements(array, Some(elements)) = before else { panic!("{place}") };
                assert_eq!(Some(&*stored(array, elements)), after.bytes(), "{place}");
            }
            ("decoded", "encoded") => {
                let codec = create();
                let array = array();
                let found = encode(linked, &codec, &array, before.bytes().unwrap());
                check_result(&place, found, after.bytes());
                check_encoded_side(&place, &codec, &array, after);
            }
            ("encoded", "decoded") => {
                let found = decode(linked, &create(), &array(), before.bytes().unwrap());
                check_result(&place, found, after.bytes());
            }
            ("bytes", "decoded") if number == 0 => {
                let Said::Elements(array, Some(elements)) = after else { panic!("{place}") };
                let mut found = before.bytes().unwrap().to_vec();
                swap(array, &mut found);
                array.data_type.settle(&mut found, Mode::Strict).unwrap();
                assert_eq!(found, *elements, "{place}");
            }
            ("bytes", "decoded") => {
                let (_, encoded) = &said[number - 1];
                check_result(
                    &place,
                    decode(linked, &create(), &array(), encoded.bytes().unwrap()),
                    after.bytes(),
                );
            }
            _ => panic!("{place}"),
        }
    }
    said.len() - 1
}

/// Returns the array that `side` describes. For bytes it returns any array, because bytes-to-bytes codecs ignore it.
fn hollow(side: &Representation) -> ArrayRepresentation {
    match side {
        Representation::Array(array) => array.clone(),
        Representation::Bytes(_) => zarr_conformance::array(&[0], zarr_conformance::types::UINT8),
    }
}

fn check_result(place: &str, found: Result<Vec<u8>, CodecError>, wanted: Option<&[u8]>) {
    match (found, wanted) {
        (Ok(found), Some(wanted)) => {
            assert!(found == wanted, "{place}: {found:02x?}, expected {wanted:02x?}")
        }
        (Err(_), None) => {}
        (found, wanted) => panic!("{place}: {found:02x?}, expected {wanted:02x?}"),
    }
}

fn check_encoded_side(place: &str, codec: &Codec, array: &ArrayRepresentation, said: &Said) {
    let (Codec::ArrayToArray(codec), Said::Elements(wanted, Some(_))) = (codec, said) else { return };
    let found = codec.encoded(array).unwrap();
    assert_eq!(found.shape, wanted.shape, "{place}");
    assert_eq!(found.data_type.name(), wanted.data_type.name(), "{place}");
}

fn encode(
    linked: &Linked,
    codec: &Codec,
    array: &ArrayRepresentation,
    decoded: &[u8],
) -> Result<Vec<u8>, CodecError> {
    if let Codec::Permutation(_) = codec {
        let mut encoded = Output::at_most(LIMIT);
        StepByStep.encode(&linked.chain(codec, array), array, decoded, &mut encoded)?;
        return Ok(encoded.into_written());
    }
    let Codec::Checksum(checksum) = codec else { return codecs::encode(codec, array, decoded) };
    let sum = sum(&**checksum, decoded)?;
    Ok(if checksum.at_start() { [&sum, decoded].concat() } else { [decoded, &sum].concat() })
}

fn decode(
    linked: &Linked,
    codec: &Codec,
    array: &ArrayRepresentation,
    encoded: &[u8],
) -> Result<Vec<u8>, CodecError> {
    if let Codec::Permutation(_) = codec {
        let mut decoded = Output::at_most(LIMIT);
        StepByStep.decode(&linked.chain(codec, array), array, encoded, &mut decoded)?;
        return Ok(decoded.into_written());
    }
    let Codec::Checksum(checksum) = codec else { return codecs::decode(codec, array, encoded, LIMIT) };
    let split = match checksum.at_start() {
        true => encoded.split_at_checked(checksum.size()).map(|(sum, decoded)| (decoded, sum)),
        false => encoded.len().checked_sub(checksum.size()).map(|size| encoded.split_at(size)),
    };
    match split {
        Some((decoded, said)) if sum(&**checksum, decoded)? == said => Ok(decoded.to_vec()),
        _ => Err(CodecError::corrupt("wrong checksum")),
    }
}

fn sum(checksum: &dyn codec::Checksum, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut sum = vec![0; checksum.size()];
    checksum.checksum(bytes, &mut sum)?;
    Ok(sum)
}

fn check_metadata_encoding(linked: &Linked, entry: &Entry, lines: &[Line]) -> usize {
    let encoding = linked.metadata_encoding(entry).unwrap();
    let [(decoded, document), (encoded, digits)] = lines else { panic!("{lines:?}") };
    assert_eq!((&**decoded, &**encoded), ("decoded", "encoded"));
    let document = parsed(document);
    let bytes = hex(&digits.replace(' ', ""));
    assert_eq!(encoding.encode(&document).unwrap(), bytes);
    assert_eq!(encoding.decode(&bytes, &linked.reading).unwrap(), document);
    1
}

/// Checks the key of the chunk that holds `element`, and its `position` in that chunk.
fn check_grid(linked: &Linked, entry: &Entry, example: &Example, lines: &[Line]) -> usize {
    let grid: Arc<_> = linked.grid(entry, &shape(example).unwrap()).unwrap();
    let numbers = |place: usize, label: &str| -> Vec<u64> {
        assert_eq!(lines[place].0, label);
        let list = parsed(&format!("[{}]", lines[place].1));
        list.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect()
    };
    let element = numbers(0, "element");
    let key = numbers(1, "key");
    let position = numbers(2, "position");
    for (dimension, &element) in element.iter().enumerate() {
        let chunk = grid.chunk_of(dimension, element).unwrap();
        assert_eq!(grid.key_index(dimension, chunk).unwrap(), key[dimension], "{lines:?}");
        let start = grid.chunk_range(dimension, chunk).unwrap().start;
        let found = element - start + grid.before_array(dimension, chunk);
        assert_eq!(found, position[dimension], "{lines:?}");
    }
    2
}

/// Returns the shape of the array, if the example has one.
pub(crate) fn shape(example: &Example) -> Option<Vec<u64>> {
    let shape = example.document.as_object().unwrap().get("shape")?;
    Some(shape.as_array().unwrap().iter().map(|length| length.as_u64().unwrap()).collect())
}
