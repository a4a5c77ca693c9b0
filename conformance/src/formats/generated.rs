//! Generated examples: valid combinations of a format, a data type, a fill value, codecs, a shape, chunks, shards and
//! missing chunks.
//!
//! The value of an element follows from its number, so the expected elements are known without reading anything. An
//! engine writes the example from [`Generated::cells`].

use std::ops::Range;

use zarr_spec::Value;

use super::{Example, Expectation, FormatName};
use types::Type;

mod types;

/// A generated array, and the expected behavior of a reader.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The example. It has no files; an engine writes them.
    pub example: Example,
    /// The shape of the array.
    pub shape: Vec<u64>,
    /// The name in v3 and the draft, or the typestring in v2.
    pub data_type: String,
    /// The `fill_value` member of the metadata document.
    pub fill_value: Value,
    /// The shape of a chunk, or of an inner chunk.
    pub chunk_shape: Vec<u64>,
    /// The shape of a shard, if the array is sharded.
    pub shard_shape: Option<Vec<u64>>,
    /// The names and configurations of the codecs, as the format writes them.
    pub codecs: Vec<(&'static str, Value)>,
    /// Whether the first dimension varies fastest within a chunk. V2 and the draft have a member for this.
    pub is_column_major: bool,
    /// The separator between the indices in chunk keys.
    pub separator: &'static str,
    /// The chunks to write; all others are missing.
    pub cells: Vec<Cell>,
}

/// The part of a chunk that lies in the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The range of elements in each dimension.
    pub ranges: Vec<Range<u64>>,
    /// The bytes of the elements, in C order and native byte order.
    pub elements: Vec<u8>,
}

/// The path of every generated array.
const ARRAY: &str = "/a";

impl Generated {
    /// Generates the example with this seed and number; the result is the same on every machine.
    #[must_use]
    pub fn new(format: FormatName, seed: u64, number: u64) -> Self {
        Maker::new(format, seed, number).make()
    }

    /// Generates the example with this `id`, such as `v3/generated/7/12` for seed 7 and number 12.
    #[must_use]
    pub fn called(id: &str) -> Option<Self> {
        let mut parts = id.split('/');
        let format = parts.next()?.parse().ok()?;
        let generated = parts.next()?;
        let seed = parts.next()?.parse().ok()?;
        let number = parts.next()?.parse().ok()?;
        (generated == "generated" && parts.next().is_none()).then(|| Self::new(format, seed, number))
    }
}

/// The pseudorandom generator SplitMix64.
struct Random(u64);

impl Random {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from `first` to `last`.
    fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.number() % (last - first + 1)
    }

    /// Returns true with a probability of one in `of`.
    fn chance(&mut self, of: u64) -> bool {
        self.number().is_multiple_of(of)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        let place = self.number() % of.len() as u64;
        of[usize::try_from(place).unwrap_or_default()]
    }
}

struct Maker {
    format: FormatName,
    id: String,
    random: Random,
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().collect()
}

impl Maker {
    fn new(format: FormatName, seed: u64, number: u64) -> Self {
        // The multiplication places the states of consecutive numbers far apart in the sequence, so that the examples
        // differ.
        let mut random = Random(seed ^ number.wrapping_mul(0xD134_2543_DE82_EF95) ^ ((format as u64) << 56));
        random.number();
        Self { format, id: format!("{format}/generated/{seed}/{number}"), random }
    }

    fn make(mut self) -> Generated {
        let data_type = self.random.one(&Type::of(self.format));
        let (fill, fill_bytes) = self.random.one(data_type.fills);
        let fill_bytes = &fill_bytes[..data_type.size];
        let shape = self.shape();
        let chunk_shape: Vec<u64> =
            shape.iter().map(|&length| self.random.between(1, length.max(1) + 1)).collect();
        let is_sharded = self.format == FormatName::V3 && !shape.is_empty() && self.random.chance(3);
        let shard_shape: Option<Vec<u64>> = is_sharded
            .then(|| chunk_shape.iter().map(|&length| length * self.random.between(1, 3)).collect());
        let (name, is_big) = self.name(data_type);
        let codecs = self.codecs(data_type, shape.len());
        let is_column_major = self.format != FormatName::V3 && self.random.chance(3);
        let separator = self.random.one(&["/", "."]);
        let (cells, elements) = self.cells(data_type, &shape, &chunk_shape, fill_bytes);
        let order = if is_big { " (big endian)" } else { "" };
        let shards =
            shard_shape.as_ref().map_or_else(String::new, |shape| format!(" in shards of {shape:?}"));
        let codec_names: Vec<&str> = codecs.iter().map(|(name, _)| *name).collect();
        let codec_names = if codecs.is_empty() { "no codec".to_owned() } else { codec_names.join(", ") };
        let about = format!(
            "`{name}`{order} of shape {shape:?} in chunks of {chunk_shape:?}{shards}, with {codec_names}."
        );
        // The specifications require these data types and byte orders, but only these codecs: a reader may refuse other
        // codecs and shards.
        let is_core =
            shard_shape.is_none() && codecs.iter().all(|(name, _)| ["bytes", "transpose"].contains(name));
        let expectation = if is_core { Expectation::Values(elements) } else { Expectation::Either(elements) };
        Generated {
            example: Example {
                format: self.format,
                id: self.id,
                rows: vec!["generated".to_owned()],
                about,
                origin: "zarr-kit, from a seed".to_owned(),
                array: ARRAY.to_owned(),
                expectation,
            },
            shape,
            data_type: name,
            fill_value: fill.json(),
            chunk_shape,
            shard_shape,
            codecs,
            is_column_major,
            separator,
            cells,
        }
    }

    fn shape(&mut self) -> Vec<u64> {
        let rank = if self.random.chance(10) { 0 } else { self.random.between(1, 3) };
        (0..rank).map(|_| if self.random.chance(20) { 0 } else { self.random.between(1, 9) }).collect()
    }

    /// Returns the name of the type in the format, and whether the name declares big-endian elements.
    fn name(&mut self, data_type: &Type) -> (String, bool) {
        if self.format != FormatName::V2 {
            return (data_type.name.to_owned(), false);
        }
        let order = if data_type.unit == 1 { "|" } else { self.random.one(&["<", ">"]) };
        (format!("{order}{}", data_type.id), order == ">")
    }

    fn codecs(&mut self, data_type: &Type, rank: usize) -> Vec<(&'static str, Value)> {
        match self.format {
            FormatName::V2 => self.codecs_of_v2(data_type),
            FormatName::Draft if self.random.chance(2) => Vec::new(),
            FormatName::Draft => vec![("gzip", object([("level", 5.into())]))],
            FormatName::V3 => self.codecs_of_v3(data_type, rank),
        }
    }

    fn codecs_of_v2(&mut self, data_type: &Type) -> Vec<(&'static str, Value)> {
        let level = Value::from(self.random.between(1, 9));
        let mut codecs = Vec::new();
        if data_type.size > 1 && self.random.chance(4) {
            codecs.push(("shuffle", object([("elementsize", (data_type.size as u64).into())])));
        }
        let cname = self.random.one(&["lz4", "zstd", "zlib", "blosclz", "lz4hc"]);
        let shuffle = self.random.between(0, 2);
        match self.random.between(0, 6) {
            0 => {}
            1 => codecs.push(("zlib", object([("level", level)]))),
            2 => codecs.push(("gzip", object([("level", level)]))),
            3 => codecs.push(("bz2", object([("level", level)]))),
            4 => codecs.push(("zstd", object([("level", level)]))),
            5 => codecs.push(("lz4", object([("acceleration", 1.into())]))),
            _ => codecs.push((
                "blosc",
                object([
                    ("cname", cname.into()),
                    ("clevel", level),
                    ("shuffle", shuffle.into()),
                    ("blocksize", 0.into()),
                ]),
            )),
        }
        codecs
    }

    fn codecs_of_v3(&mut self, data_type: &Type, rank: usize) -> Vec<(&'static str, Value)> {
        let mut codecs = Vec::new();
        if rank > 1 && self.random.chance(3) {
            let order: Vec<u64> = if self.random.chance(2) {
                (0..rank as u64).rev().collect()
            } else {
                (1..rank as u64).chain([0]).collect()
            };
            codecs.push(("transpose", object([("order", order.into_iter().collect())])));
        }
        if data_type.unit > 1 {
            let endian = self.random.one(&["little", "big"]);
            codecs.push(("bytes", object([("endian", endian.into())])));
        } else {
            codecs.push(("bytes", Value::Null));
        }
        let level = Value::from(self.random.between(1, 9));
        let cname = self.random.one(&["lz4", "zstd", "zlib", "blosclz", "lz4hc"]);
        let shuffle = self.random.one(&["noshuffle", "shuffle", "bitshuffle"]);
        let checksum = self.random.chance(2);
        match self.random.between(0, 4) {
            0 => {}
            1 => codecs.push(("gzip", object([("level", level)]))),
            2 => codecs.push(("zstd", object([("level", level), ("checksum", checksum.into())]))),
            3 => codecs.push(("crc32c", Value::Null)),
            _ => codecs.push((
                "blosc",
                object([
                    ("cname", cname.into()),
                    ("clevel", level),
                    ("shuffle", shuffle.into()),
                    ("typesize", (data_type.size as u64).into()),
                    ("blocksize", 0.into()),
                ]),
            )),
        }
        codecs
    }

    /// Returns the chunks to write, and the little-endian elements of the whole array.
    fn cells(
        &mut self,
        data_type: &Type,
        shape: &[u64],
        chunk_shape: &[u64],
        fill: &[u8],
    ) -> (Vec<Cell>, Vec<u8>) {
        let count: u64 = shape.iter().product();
        let mut whole: Vec<Vec<u8>> = (0..count).map(|_| fill.to_vec()).collect();
        let mut cells = Vec::new();
        for index in
            points(&shape.iter().zip(chunk_shape).map(|(all, one)| 0..all.div_ceil(*one)).collect::<Vec<_>>())
        {
            if self.random.chance(4) {
                continue;
            }
            let is_filled = self.random.chance(8);
            let ranges: Vec<Range<u64>> = index
                .iter()
                .zip(chunk_shape.iter().zip(shape))
                .map(|(index, (one, all))| index * one..(index * one + one).min(*all))
                .collect();
            let mut elements = Vec::new();
            for point in points(&ranges) {
                let number =
                    point.iter().zip(shape).fold(0, |number, (index, length)| number * length + index);
                let element = if is_filled { fill.to_vec() } else { data_type.element(number) };
                elements.extend_from_slice(&element);
                if let Some(place) = usize::try_from(number).ok().and_then(|number| whole.get_mut(number)) {
                    *place = element;
                }
            }
            cells.push(Cell { ranges, elements: data_type.native(elements) });
        }
        (cells, whole.concat())
    }
}

/// Returns all points of a box, in C order.
fn points(ranges: &[Range<u64>]) -> Vec<Vec<u64>> {
    ranges.iter().fold(vec![Vec::new()], |points, range| {
        let longer = |point: &Vec<u64>| {
            let point = point.clone();
            range.clone().map(move |index| point.iter().copied().chain([index]).collect::<Vec<u64>>())
        };
        points.iter().flat_map(longer).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn many(format: FormatName) -> impl Iterator<Item = Generated> {
        (0..300).map(move |number| Generated::new(format, 1, number))
    }

    #[test]
    fn a_name_reproduces_its_example_and_other_seeds_differ() {
        for format in FormatName::ALL {
            let one = Generated::new(format, 7, 12);
            assert_eq!(one.example.id, format!("{format}/generated/7/12"));
            assert_eq!(Generated::called(&one.example.id), Some(one.clone()));
            assert_ne!(Generated::new(format, 8, 12).example.about, one.example.about);
        }
        for id in [
            "v3/generated/7",
            "v3/generated/7/x",
            "v3/plain/7/12",
            "v4/generated/7/12",
            "v3/generated/7/12/1",
        ] {
            assert_eq!(Generated::called(id), None, "{id}");
        }
    }

    #[test]
    fn the_examples_cover_every_feature_of_a_format() {
        for format in FormatName::ALL {
            let types: BTreeSet<String> =
                many(format).map(|it| it.data_type.trim_start_matches(['<', '>', '|']).to_owned()).collect();
            assert_eq!(types.len(), Type::of(format).len(), "{types:?}");
            let ranks: BTreeSet<usize> = many(format).map(|it| it.shape.len()).collect();
            assert_eq!(ranks.len(), 4);
            assert!(many(format).any(|it| it.shape.contains(&0)));
            let has_missing = |it: Generated| {
                let chunks: u64 =
                    it.shape.iter().zip(&it.chunk_shape).map(|(all, one)| all.div_ceil(*one)).product();
                (it.cells.len() as u64) < chunks
            };
            assert!(many(format).any(has_missing));
            assert!(many(format).any(|it| matches!(it.example.expectation, Expectation::Values(_))));
        }
        assert!(many(FormatName::V3).any(|it| it.shard_shape.is_some()));
        let codecs: BTreeSet<&str> =
            many(FormatName::V3).flat_map(|it| it.codecs).map(|(name, _)| name).collect();
        assert_eq!(
            codecs.into_iter().collect::<Vec<_>>(),
            ["blosc", "bytes", "crc32c", "gzip", "transpose", "zstd"]
        );
    }

    #[test]
    fn written_chunks_match_the_expected_elements() {
        for format in FormatName::ALL {
            for made in many(format) {
                let (Expectation::Values(whole) | Expectation::Either(whole)) = &made.example.expectation
                else {
                    panic!("{}", made.example.id)
                };
                let count: u64 = made.shape.iter().product();
                let written: usize = made.cells.iter().map(|cell| cell.elements.len()).sum();
                assert!(written <= whole.len() && (count > 0 || whole.is_empty()), "{}", made.example.id);
                if made.shape.is_empty()
                    && let [cell] = &made.cells[..]
                    && cfg!(target_endian = "little")
                {
                    assert_eq!(&cell.elements, whole);
                }
            }
        }
    }
}
