//! Reads of a part of a chunk fetch only the bytes that the codec asks for.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use zarr_interop::v3::bytes;
use zarr_interop::{FarStore, Random, key};
use zarr_kit::spec::codec::{ArrayToBytesCodec, CodecPlugin, DecodeSubset, EncodedRanges};
use zarr_kit::spec::store::{GetOptions, GetResult, ReadHints, Request, Responses, Store, StoreError};
use zarr_kit::spec::{
    ArrayRepresentation, ArraySubset, ByteRange, Codec, CodecError, Creation, Identifiers, Key, Output,
    Registry, Representation, Size,
};
use zarr_kit::{Array, Context, DimensionSelection, Hierarchy, Selection, open_store};

/// The number of elements of a block.
const BLOCK: usize = 16;

/// Stores elements of one byte in blocks. Each block omits the zeros at its end. After the blocks, the end of each
/// block is stored in four bytes.
#[derive(Debug)]
struct Blocks;

impl Blocks {
    fn count(array: &ArrayRepresentation) -> usize {
        array.element_count().unwrap_or(0).div_ceil(BLOCK)
    }

    /// Returns the bytes of a block.
    fn range(index: &[u8], block: usize) -> Result<std::ops::Range<u64>, CodecError> {
        let (ends, _) = index.as_chunks::<4>();
        let end = |block: usize| ends.get(block).map(|end| u64::from(u32::from_le_bytes(*end)));
        let start = if block == 0 { Some(0) } else { end(block - 1) };
        let range = start.zip(end(block)).filter(|(start, end)| start <= end);
        range.map(|(start, end)| start..end).ok_or_else(|| CodecError::corrupt("the index is invalid"))
    }

    /// Appends the elements of a block.
    fn unpack(packed: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        let Some(rest) = BLOCK.checked_sub(packed.len()) else {
            return Err(CodecError::corrupt("a block is too long"));
        };
        decoded.put(packed)?;
        Ok(decoded.put(&vec![0; rest])?)
    }

    /// Returns the rows of a subset of two dimensions as positions of elements.
    fn rows(array: &ArrayRepresentation, subset: &ArraySubset) -> Vec<std::ops::Range<usize>> {
        let [rows, columns] = subset.ranges() else { return Vec::new() };
        let place = |row: u64, column: u64| usize::try_from(row * array.shape[1] + column).unwrap();
        rows.clone().map(|row| place(row, columns.start)..place(row, columns.end)).collect()
    }
}

impl ArrayToBytesCodec for Blocks {
    fn encoded_size(&self, _array: &ArrayRepresentation) -> Result<Size, CodecError> {
        Ok(Size::Unknown)
    }

    fn encode(
        &self,
        _array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let mut index = Vec::new();
        let mut end = 0;
        for block in decoded.chunks(BLOCK) {
            let used = block.iter().rposition(|&element| element != 0).map_or(0, |last| last + 1);
            encoded.put(&block[..used])?;
            end += u32::try_from(used).unwrap();
            index.extend(end.to_le_bytes());
        }
        Ok(encoded.put(&index)?)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let size = 4 * Self::count(array);
        let Some(start) = encoded.len().checked_sub(size) else {
            return Err(CodecError::corrupt("the index is missing"));
        };
        let subset = ArraySubset::whole(&array.shape);
        let ranges = EncodedRanges::new(&encoded[start..], vec![(0, encoded)]);
        self.decode_subset(array, &subset, &ranges, decoded)
    }

    fn subsets(&self) -> Option<&dyn DecodeSubset> {
        Some(self)
    }
}

impl DecodeSubset for Blocks {
    fn index_range(&self, array: &ArrayRepresentation) -> Result<Option<ByteRange>, CodecError> {
        Ok(Some(ByteRange::Last(4 * Self::count(array) as u64)))
    }

    fn ranges(
        &self,
        array: &ArrayRepresentation,
        subset: &ArraySubset,
        index: &[u8],
    ) -> Result<Vec<std::ops::Range<u64>>, CodecError> {
        let rows = Self::rows(array, subset);
        let mut blocks: Vec<_> =
            rows.iter().flat_map(|row| row.start / BLOCK..row.end.div_ceil(BLOCK)).collect();
        blocks.dedup();
        let mut ranges = Vec::new();
        for block in blocks {
            ranges.push(Self::range(index, block)?);
        }
        ranges.retain(|range| !range.is_empty());
        Ok(ranges)
    }

    fn decode_subset(
        &self,
        array: &ArrayRepresentation,
        subset: &ArraySubset,
        encoded: &EncodedRanges<'_>,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        for row in Self::rows(array, subset) {
            let mut blocks = Output::at_most(usize::MAX);
            let first = row.start / BLOCK;
            for block in first..row.end.div_ceil(BLOCK) {
                let range = Self::range(encoded.index(), block)?;
                let packed = if range.is_empty() { &[] } else { encoded.get(range)? };
                Self::unpack(packed, &mut blocks)?;
            }
            let skipped = first * BLOCK;
            decoded.put(&blocks.written()[row.start - skipped..row.end - skipped])?;
        }
        Ok(())
    }
}

fn create(_creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::ArrayToBytes(Arc::new(Blocks)))
}

/// Runs before a value is fetched, with the number of parts of chunks that were fetched before.
type Before = dyn Fn(&dyn Store, usize) + Send + Sync;

/// Forwards to another store and records the parts of chunks that are fetched.
#[derive(Debug)]
struct Recording {
    store: Arc<dyn Store>,
    fetched: Mutex<Vec<ByteRange>>,
    before: Hook,
}

struct Hook(Box<Before>);

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hook")
    }
}

impl Recording {
    fn take(&self) -> Vec<ByteRange> {
        std::mem::take(&mut *self.fetched.lock().unwrap())
    }
}

zarr_kit::spec::delegate_store! {
    impl Store for Recording {
        forward(self.store): describe, size, cache, write, remove, list;

        fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>)
            -> Result<Option<GetResult>, StoreError>
        {
            if key.as_str().starts_with("a/c/") {
                let number = {
                    let mut fetched = self.fetched.lock().unwrap();
                    fetched.push(options.range);
                    fetched.len()
                };
                (self.before.0)(&*self.store, number);
            }
            self.store.get(key, options, to)
        }

        fn get_many(&self, requests: Vec<Request>, _budget: usize) -> Responses<'_> {
            Box::new(requests.into_iter().enumerate().map(|(number, request)| {
                let mut output = Output::at_most(request.limit);
                let found = self.get(&request.key, request.options, &mut output);
                (number, found.map(|found| found.map(|found| found.into_response(output))))
            }))
        }
    }
}

const SHAPE: [u64; 2] = [128, 128];

/// An array of `uint8` with four chunks, and what is fetched from its store.
struct Recorded {
    array: Array,
    store: Arc<Recording>,
    elements: Vec<u8>,
}

impl Recorded {
    fn new(codecs: &Value, is_far: bool) -> Self {
        Self::with(codecs, is_far, Box::new(|_, _| {}))
    }

    fn with(codecs: &Value, is_far: bool, before: Box<Before>) -> Self {
        let mut registry = Registry::linked().unwrap();
        registry.register(CodecPlugin::new(Identifiers::name("example.blocks"), &create)).unwrap();
        let context = Context::new(registry);
        let memory = open_store(context.registry(), "memory:").unwrap();
        let document = json!({
            "zarr_format": 3, "node_type": "array", "shape": SHAPE, "data_type": "uint8", "fill_value": 9,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [64, 64]}},
            "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
        });
        let group = json!({"zarr_format": 3, "node_type": "group"});
        memory.set(&key("zarr.json"), group.to_string().as_bytes().into()).unwrap();
        memory.set(&key("a/zarr.json"), document.to_string().as_bytes().into()).unwrap();
        let open = |store: Arc<dyn Store>| Hierarchy::open(store, &context).unwrap().array("/a").unwrap();
        let mut random = Random::new(0x7375_6273);
        let elements: Vec<u8> = (0..SHAPE[0] * SHAPE[1])
            .map(|place| if place / 20 % 2 == 0 { u8::try_from(random.below(60)).unwrap() } else { 0 })
            .collect();
        open(Arc::clone(&memory)).write_values(&Selection::All, &elements).unwrap();
        let store = Arc::new(Recording { store: memory, fetched: Mutex::default(), before: Hook(before) });
        let recorded: Arc<dyn Store> = Arc::<Recording>::clone(&store);
        let array = open(match is_far {
            true => Arc::new(FarStore::new(recorded, Duration::ZERO, ReadHints::new(8, 0))),
            false => recorded,
        });
        let _opening = store.take();
        Self { array, store, elements }
    }

    /// Reads a box, checks the elements, and returns the ranges that were fetched.
    fn read(&self, rows: std::ops::Range<u64>, columns: std::ops::Range<u64>) -> Vec<ByteRange> {
        let selection = Selection::from((rows.clone(), columns.clone()));
        let _before = self.store.take();
        let read = self.array.read_values::<u8>(&selection).unwrap();
        assert!(read == self.expected(rows, columns), "{selection:?}");
        self.store.take()
    }

    fn expected(&self, rows: std::ops::Range<u64>, columns: std::ops::Range<u64>) -> Vec<u8> {
        let place = |row: u64, column: u64| usize::try_from(row * SHAPE[1] + column).unwrap();
        let row = |row| self.elements[place(row, columns.start)..place(row, columns.end)].to_vec();
        rows.flat_map(row).collect()
    }
}

fn packbits() -> Value {
    json!([{"name": "packbits", "configuration": {"padding_encoding": "first_byte", "last_bit": 5}}])
}

fn blocks() -> Value {
    json!([{"name": "example.blocks"}])
}

fn range(offset: u64, size: u64) -> ByteRange {
    ByteRange::Range { offset, size }
}

/// A row of a chunk is 64 elements of 6 bits, after the byte with the number of unused bits. Neighbouring bytes, and
/// rows that are close to one another, are fetched as one range.
#[test]
fn packed_rows_are_fetched_without_the_other_rows() {
    for is_far in [false, true] {
        let recorded = Recorded::new(&packbits(), is_far);
        assert_eq!(recorded.read(0..1, 0..64), [range(0, 49)], "far: {is_far}");
        assert_eq!(recorded.read(1..2, 3..10), [range(0, 57)], "far: {is_far}");
        assert_eq!(recorded.read(63..64, 0..1), [range(0, 1), range(3025, 1)], "far: {is_far}");
        assert_eq!(recorded.read(0..64, 0..64), [ByteRange::Full], "far: {is_far}");
    }
}

#[test]
fn uncompressed_elements_are_fetched_from_far_stores_without_the_others() {
    let recorded = Recorded::new(&json!([{"name": "bytes"}]), true);
    assert_eq!(recorded.read(2..4, 0..64), [range(128, 128)]);
    assert_eq!(recorded.read(63..65, 5..9), [range(4037, 4), range(5, 4)]);
    assert_eq!(recorded.read(0..64, 0..64), [ByteRange::Full]);
}

#[test]
fn codecs_with_an_index_are_read_by_the_index_and_then_by_blocks() {
    for is_far in [false, true] {
        let recorded = Recorded::new(&blocks(), is_far);
        let fetched = recorded.read(1..2, 0..5);
        let [ByteRange::Last(1024), ByteRange::Range { size: 1..=16, .. }] = fetched[..] else {
            panic!("{fetched:?}");
        };
    }
}

#[test]
fn all_selections_of_elements_equal_those_of_the_whole_array() {
    let transposed = |codecs: Value| {
        let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
        [vec![transpose], codecs.as_array().unwrap().clone()].concat().into()
    };
    let mut random = Random::new(0x616c_6c73);
    for codecs in
        [packbits(), blocks(), bytes(), transposed(packbits()), transposed(blocks()), transposed(bytes())]
    {
        for is_far in [false, true] {
            let recorded = Recorded::new(&codecs, is_far);
            for _ in 0..40 {
                let mut places = || {
                    let start = random.below(SHAPE[0]);
                    let stop = random.between(start + 1, SHAPE[0]);
                    (start, stop, random.between(1, 9))
                };
                let (start, stop, step) = places();
                let (left, right, _) = places();
                recorded.read(start..stop, left..right);
                let rows = DimensionSelection::Range { start, stop, step };
                let columns = DimensionSelection::List(vec![right - 1, left, left]);
                let selection = Selection::Orthogonal(vec![rows, columns]);
                let read = recorded.array.read_values::<u8>(&selection).unwrap();
                let row = |row: u64| {
                    [right - 1, left, left]
                        .map(|column| recorded.expected(row..row + 1, column..column + 1)[0])
                };
                let step = usize::try_from(step).unwrap();
                assert!(
                    read == (start..stop).step_by(step).flat_map(row).collect::<Vec<_>>(),
                    "{selection:?}"
                );
            }
        }
    }
}

#[test]
fn a_missing_chunk_reads_as_the_fill_value() {
    for codecs in [packbits(), blocks(), bytes()] {
        for is_far in [false, true] {
            let recorded = Recorded::new(&codecs, is_far);
            recorded.store.store.erase(&key("a/c/0/1")).unwrap();
            let read = recorded.array.read_values::<u8>(Selection::from((3..5, 62..66))).unwrap();
            let stored = recorded.expected(3..5, 62..64);
            assert_eq!(read, [&stored[..2], &[9, 9], &stored[2..], &[9, 9]].concat());
        }
    }
}

/// The chunk is replaced by another chunk of the array, which has other elements and another index.
#[test]
fn a_chunk_that_changes_between_its_index_and_its_blocks_is_read_in_one_state() {
    for is_far in [false, true] {
        let replace = |store: &dyn Store, number: usize| {
            if number == 2 {
                let other =
                    zarr_kit::spec::store::get_value(store, &key("a/c/1/1"), 1 << 20).unwrap().unwrap();
                store.set(&key("a/c/0/0"), (&*other).into()).unwrap();
            }
        };
        let recorded = Recorded::with(&blocks(), is_far, Box::new(replace));
        let read = recorded.array.read_values::<u8>(Selection::from((10..12, 0..30))).unwrap();
        assert_eq!(read, recorded.expected(74..76, 64..94), "far: {is_far}");
        assert_eq!(recorded.store.take().last(), Some(&ByteRange::Full));
    }
}

#[test]
fn a_value_of_a_wrong_size_is_an_error_of_the_chunk() {
    for codecs in [packbits(), json!([{"name": "bytes"}])] {
        for is_far in [false, true] {
            let recorded = Recorded::new(&codecs, is_far);
            recorded.store.store.set(&key("a/c/0/0"), (&[0u8; 3000][..]).into()).unwrap();
            let error =
                recorded.array.read_values::<u8>(Selection::from((1..2, 3..9))).unwrap_err().to_string();
            assert!(error.contains("3000 bytes"), "{error}");
        }
    }
}
