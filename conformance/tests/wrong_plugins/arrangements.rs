//! Chunk grids, chunk key encodings and memory layouts with one fault each.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin, decode_index};
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::{
    ArrayRepresentation, BoxError, Codec, CodecError, Creation, Example, Invalid, Object, Output, Value,
};

use crate::{Wrong, each_breaks_its_rules, example, examples, leaked, named};

const GRIDS: &[Wrong] = &[
    ("nothing", &[]),
    ("leaves-a-gap", &["grid-partition"]),
    ("overlaps", &["grid-partition"]),
    ("ignores-edge-chunks", &["grid-partition"]),
    ("is-off-by-one", &["grid-chunk-of"]),
    ("has-one-key-for-two", &["grid-keys"]),
    ("has-chunks-everywhere", &["grid-out-of-bounds"]),
    ("counts-in-32-bits", &["grid-huge"]),
    ("has-no-room", &["grid-lengths"]),
    ("pads-a-common-shape", &["grid-padding"]),
    ("pads-too-much", &["grid-padding"]),
    ("cannot-count-its-padding", &["grid-padding"]),
    ("moves-chunks", &["grid-moved"]),
    ("cannot-tell", &["grid-moved"]),
];

const ENCODINGS: &[Wrong] = &[
    ("nothing", &[]),
    ("joins-without-a-sign", &["key-round-trip"]),
    ("starts-over", &["key-appended"]),
    ("takes-leading-zeros", &["key-foreign"]),
    ("ignores-what-follows", &["key-foreign"]),
    ("fails-on-foreign-keys", &["key-foreign"]),
    ("fails-on-its-own-keys", &["key-round-trip", "key-foreign"]),
];

const LAYOUTS: &[Wrong] = &[
    ("nothing", &[]),
    ("doubles-an-element", &["layout-bijection"]),
    ("permutes-too-little", &["layout-bijection"]),
    ("does-not-come-back", &["layout-inverse"]),
    ("differs-by-size", &["layout-all-types"]),
    ("counts-on-all-bytes", &["layout-damaged"]),
];

#[test]
fn chunk_grids_with_one_fault_break_the_matching_rule() {
    each_breaks_its_rules(GRIDS, |registry, name| {
        let plugin = ChunkGridPlugin::new(named(name), &create_grid);
        let example = example(name).with_shape(&[10, 8]);
        registry.register(plugin.about("Does one thing wrong.", examples([example]))).unwrap();
    });
}

#[test]
fn chunk_key_encodings_with_one_fault_break_the_matching_rule() {
    each_breaks_its_rules(ENCODINGS, |registry, name| {
        let plugin = ChunkKeyEncodingPlugin::new(named(name), &|creation| {
            creation.parse::<Nothing>()?;
            Ok(Arc::new(Encoding(creation.identifier.to_owned())))
        });
        registry.register(plugin.about("Does one thing wrong.", examples([example(name)]))).unwrap();
    });
}

#[test]
fn memory_layouts_with_one_fault_break_the_matching_rule() {
    each_breaks_its_rules(LAYOUTS, |registry, name| {
        let uri = leaked(format!("https://example.com/{name}/1.0"));
        let identifiers = named(name).with_uri(uri);
        let plugin = MemoryLayoutPlugin::new(identifiers, &create_layout);
        let example = Example::draft(leaked(format!("{{\"extension\": \"{uri}\", \"type\": \"{name}\"}}")));
        registry.register(plugin.about("Does one thing wrong.", examples([example]))).unwrap();
    });
}

#[derive(Deserialize)]
struct Nothing {}

/// A grid with chunks of four elements along every dimension.
#[derive(Debug)]
struct Grid {
    wrong: String,
    shape: Vec<u64>,
    grid_shape: Vec<u64>,
    common: Option<Vec<u64>>,
}

const LENGTH: u64 = 4;

fn create_grid(creation: &Creation<'_>, shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> {
    creation.parse::<Nothing>()?;
    let wrong = creation.identifier.to_owned();
    let count = |&length: &u64| match wrong.as_str() {
        "ignores-edge-chunks" => length.max(LENGTH) / LENGTH * u64::from(length > 0),
        "counts-in-32-bits" => (length % (1 << 32)).div_ceil(LENGTH),
        _ => length.div_ceil(LENGTH),
    };
    if wrong != "counts-in-32-bits" && shape.iter().any(|length| *length > 1 << 31) {
        return Err(Invalid::new("the array is too long").into());
    }
    let grid_shape = shape.iter().map(count).collect();
    let common = (wrong == "pads-a-common-shape").then(|| vec![LENGTH; shape.len()]);
    Ok(Arc::new(Grid { wrong, shape: shape.to_vec(), grid_shape, common }))
}

impl Grid {
    fn is(&self, wrong: &str) -> bool {
        self.wrong == wrong
    }
}

impl ChunkGrid for Grid {
    fn grid_shape(&self) -> &[u64] {
        &self.grid_shape
    }

    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        let there = self.grid_shape.get(dimension).copied().unwrap_or_default();
        if chunk >= there && !self.is("has-chunks-everywhere") {
            return Err(GridError::OutOfBounds(format!("no chunk {chunk}")));
        }
        let start = chunk.wrapping_mul(LENGTH);
        let end = start.wrapping_add(LENGTH);
        Ok(match self.wrong.as_str() {
            "leaves-a-gap" if chunk > 0 => start + 1..end,
            "overlaps" if chunk > 0 => start - 1..end,
            _ => start..end,
        })
    }

    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError> {
        let there = self.shape.get(dimension).copied().unwrap_or_default();
        if element >= there {
            return Err(GridError::OutOfBounds(format!("no element {element}")));
        }
        Ok((element + u64::from(self.is("is-off-by-one"))) / LENGTH)
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        self.common.as_deref()
    }

    fn largest_chunk(&self) -> Vec<u64> {
        let longest = match self.wrong.as_str() {
            "has-no-room" => LENGTH - 1,
            _ => LENGTH + 1,
        };
        vec![longest; self.shape.len()]
    }

    fn padding(&self, _dimension: usize, chunk: u64) -> Result<u64, GridError> {
        match self.wrong.as_str() {
            "pads-a-common-shape" => Ok(1),
            "pads-too-much" => Ok(2 * (chunk % 2)),
            "cannot-count-its-padding" => Err(GridError::OutOfBounds("unknown".to_owned())),
            _ => Ok(0),
        }
    }

    fn key_index(&self, _dimension: usize, chunk: u64) -> Result<u64, GridError> {
        Ok(if self.is("has-one-key-for-two") { chunk / 2 } else { chunk })
    }

    fn moved(&self, _start: &[i64]) -> Result<Option<Value>, GridError> {
        match self.wrong.as_str() {
            "moves-chunks" => Ok(Some(Value::Object(Object::new()))),
            "cannot-tell" => Err(GridError::OutOfBounds("unknown".to_owned())),
            _ => Ok(None),
        }
    }
}

/// A chunk key encoding with keys such as `c.0.1`.
#[derive(Debug)]
struct Encoding(String);

impl ChunkKeyEncoding for Encoding {
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        if self.0 == "starts-over" {
            key.clear();
        }
        key.push('c');
        for index in chunk_index {
            key.push_str(if self.0 == "joins-without-a-sign" { "" } else { "." });
            key.push_str(&index.to_string());
        }
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        match (self.0.as_str(), self.chunk(key, rank)) {
            ("fails-on-foreign-keys", None) | ("fails-on-its-own-keys", Some(_)) => {
                Err(format!("cannot decode {key:?}").into())
            }
            (_, chunk) => Ok(chunk),
        }
    }
}

impl Encoding {
    fn chunk(&self, key: &str, rank: usize) -> Option<Vec<u64>> {
        let rest = key.strip_prefix('c')?;
        if rank == 0 {
            return rest.is_empty().then(Vec::new);
        }
        if self.0 == "joins-without-a-sign" {
            return decode_index(rest).filter(|_| rank == 1).map(|index| vec![index]);
        }
        let numbers: Option<Vec<u64>> = rest
            .strip_prefix('.')?
            .split('.')
            .map(|number| match self.0.as_str() {
                "takes-leading-zeros" => number.parse().ok(),
                "ignores-what-follows" => decode_index(number.split('/').next()?),
                _ => decode_index(number),
            })
            .collect();
        numbers.filter(|numbers| numbers.len() == rank)
    }
}

fn create_layout(creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
    creation.parse::<Nothing>()?;
    let wrong = creation.type_name.and_then(Value::as_str).unwrap_or_default().to_owned();
    match wrong.as_str() {
        "permutes-too-little" => Ok(Codec::Permutation(vec![0; rank])),
        _ => Ok(Codec::ArrayToArray(Arc::new(Backwards(wrong)))),
    }
}

/// A layout that reverses the elements.
#[derive(Debug)]
struct Backwards(String);

impl Backwards {
    fn turned(&self, size: usize, elements: &[u8]) -> Vec<u8> {
        let mut turned: Vec<u8> = elements.chunks(size).rev().flatten().copied().collect();
        if self.0 == "differs-by-size" && size > 1 {
            turned = elements.to_vec();
        }
        turned
    }
}

impl ArrayToArrayCodec for Backwards {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        Ok(decoded.clone())
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let size = array.data_type.elements().size().unwrap_or(1);
        let mut turned = self.turned(size, decoded);
        if self.0 == "doubles-an-element" && turned.len() > size {
            turned.copy_within(..size, size);
        }
        Ok(encoded.put(&turned)?)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let size = array.data_type.elements().size().unwrap_or(1);
        let whole = size * array.element_count().unwrap_or_default();
        if self.0 != "counts-on-all-bytes" && encoded.len() != whole {
            return Err(CodecError::corrupt("wrong number of bytes"));
        }
        let turned = match self.0.as_str() {
            "does-not-come-back" => encoded.to_vec(),
            "counts-on-all-bytes" if encoded.len() < whole => vec![0; whole],
            _ => self.turned(size, encoded),
        };
        Ok(decoded.put(&turned)?)
    }
}
