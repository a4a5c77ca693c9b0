//! Array handles: changes of documents, appending, elements as Rust types, limits.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use zarr_interop::{created, memory};
use zarr_kit::spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin, decode_indices};
use zarr_kit::spec::store::{
    Capabilities, GetOptions, GetResult, Keys, Payload, ReadHints, Store, StoreError,
};
use zarr_kit::spec::{BoxError, Identifiers, Key, Output, Prefix};
use zarr_kit::{
    Array, ArrayBuilder, Context, Error, FallbackPolicy, Format, Hierarchy, Limits, OpenOptions, Registry,
    Selection, ThreadPool, json,
};

const FORMATS: [Format; 3] = [Format::V2, Format::V3Draft, Format::V3];

fn reopened(array: &Array) -> Array {
    let hierarchy = array.hierarchy();
    let options = OpenOptions::new().format(hierarchy.format()).consolidated(false);
    let opened = Hierarchy::open_with(Arc::clone(hierarchy.store()), hierarchy.context(), options);
    opened.unwrap().array("/a").unwrap()
}

#[test]
fn two_handles_do_not_undo_changes_of_each_other() {
    for format in FORMATS {
        let mut first = created(format, &ArrayBuilder::new([4, 4], "uint8").chunks([2, 2]));
        let mut second = reopened(&first);
        second.resize(&[8, 4]).unwrap();
        first.set_attribute("unit", "K").unwrap();
        assert_eq!(reopened(&first).shape(), [8, 4], "{format}");
        second.set_attribute("scale", 3).unwrap();
        second.resize(&[8, 6]).unwrap();
        first.set_attributes([("only", 1)]).unwrap();
        assert_eq!(first.attributes().to_string(), r#"{"only":1}"#);
        second.resize(&[8, 8]).unwrap();
        let stored = reopened(&first);
        assert_eq!((stored.shape(), stored.attributes()), (&[8, 8][..], first.attributes()), "{format}");
    }
}

#[test]
fn setting_one_attribute_keeps_attributes_set_by_another_handle() {
    for format in FORMATS {
        let mut first = created(format, &ArrayBuilder::new([4], "uint8"));
        let mut second = reopened(&first);
        first.set_attribute("a", 1).unwrap();
        second.set_attribute("b", 2).unwrap();
        assert_eq!(reopened(&first).attributes().to_string(), r#"{"a":1,"b":2}"#, "{format}");
        assert_eq!(second.attributes().to_string(), r#"{"a":1,"b":2}"#, "{format}");
    }
}

#[test]
fn a_resize_reads_the_document_of_the_array_instead_of_consolidated_metadata() {
    for format in [Format::V2, Format::V3] {
        let array = created(format, &ArrayBuilder::new([4], "uint8").chunks([2]));
        array.hierarchy().consolidate("/").unwrap();
        let store = array.hierarchy().store();
        let context = array.hierarchy().context();
        let mut stale = Hierarchy::open(Arc::clone(store), context).unwrap().array("/a").unwrap();
        reopened(&array).set_attribute("unit", "K").unwrap();
        stale.resize(&[6]).unwrap();
        let stored = reopened(&array);
        assert_eq!((stored.shape(), stored.attributes().len()), (&[6][..], 1), "{format}");
    }
}

#[test]
fn attributes_of_an_array_with_a_fallback_type_can_be_set() {
    let array = created(Format::V3Draft, &ArrayBuilder::new([4], "int16").chunks([2]));
    let store = array.hierarchy().store();
    let keys = store.list_sorted(&Prefix::new("").unwrap()).unwrap();
    let key = keys.into_iter().find(|key| key.as_str().contains("a.array")).unwrap();
    let document = zarr_kit::spec::store::get_value(&**store, &key, 1 << 20).unwrap().unwrap();
    let document = String::from_utf8(document.to_vec()).unwrap();
    let unknown = r#"{"extension": "https://example.org/unknown/1.0", "type": "unknown", "fallback": "r16"}"#;
    let changed = document.replace(r#""<i2""#, unknown).replace(r#""int16""#, unknown);
    assert_ne!(changed, document, "{document}");
    store.set(&key, changed.as_bytes().into()).unwrap();
    let context = Context::linked().unwrap().with_fallback(FallbackPolicy::Allow);
    let mut fallback = Hierarchy::open(Arc::clone(store), &context).unwrap().array("/a").unwrap();
    assert!(fallback.fallback().is_some());
    fallback.set_attribute("unit", "K").unwrap();
    assert!(fallback.fallback().is_some());
    let again = fallback.hierarchy().array("/a").unwrap();
    assert_eq!(again.attributes().to_string(), r#"{"unit":"K"}"#);
    assert!(fallback.resize(&[2]).is_err());
}

/// A store that cannot list; erasing fails once `is_broken`.
#[derive(Debug)]
struct Unlistable {
    store: Arc<dyn Store>,
    is_broken: AtomicBool,
    erased: std::sync::atomic::AtomicUsize,
}

impl Unlistable {
    fn array(builder: &ArrayBuilder) -> (Arc<Self>, Array) {
        let store = Arc::new(Self { store: memory(), is_broken: false.into(), erased: 0.into() });
        let context = Context::linked().unwrap();
        let hierarchy = Hierarchy::create(Arc::clone(&store) as _, &context, Format::V3).unwrap();
        let array = hierarchy.create_array("/a", builder).unwrap();
        (store, array)
    }

    fn take_erased(&self) -> usize {
        self.erased.swap(0, Ordering::Relaxed)
    }

    fn chunks(&self) -> Vec<String> {
        let keys = self.store.list_sorted(&Prefix::new("a/c/").unwrap()).unwrap();
        keys.iter().map(|key| key.as_str().to_owned()).collect()
    }
}

impl Store for Unlistable {
    fn location(&self) -> String {
        self.store.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities().unconditional().unlistable()
    }

    fn read_hints(&self) -> ReadHints {
        self.store.read_hints()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.store.get(key, options, to)
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.store.set(key, value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.erased.fetch_add(1, Ordering::Relaxed);
        if self.is_broken.load(Ordering::Relaxed) {
            return self.list_prefix(&Prefix::new("").unwrap()).map(drop);
        }
        self.store.erase(key)
    }

    fn list_prefix(&self, _prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        Err(StoreError::not_supported(self, "not listable"))
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.store.size(key)
    }
}

#[test]
fn without_listing_only_the_chunks_outside_the_new_shape_are_erased() {
    let (store, mut array) = Unlistable::array(&ArrayBuilder::new([6, 8], "uint8").chunks([2, 2]));
    array.write_values(&Selection::All, &[1u8; 48]).unwrap();
    assert_eq!(store.chunks().len(), 12);
    array.resize(&[3, 5]).unwrap();
    assert_eq!((store.take_erased(), store.chunks().len()), (6, 6));
    assert_eq!(store.chunks(), ["a/c/0/0", "a/c/0/1", "a/c/0/2", "a/c/1/0", "a/c/1/1", "a/c/1/2"]);
    array.resize(&[0, 0]).unwrap();
    assert_eq!((store.take_erased(), store.chunks().len()), (6, 0));
}

#[test]
fn without_listing_a_few_chunks_of_a_huge_grid_are_erased_and_too_many_are_left() {
    let length = 1 << 40;
    let (store, mut array) = Unlistable::array(&ArrayBuilder::new([length], "uint8").chunks([1]));
    for element in [0, length - 1] {
        array.write_values(Selection::parse(&element.to_string(), array.shape()).unwrap(), &[7u8]).unwrap();
    }
    array.resize(&[length - 3]).unwrap();
    assert_eq!((store.take_erased(), store.chunks()), (3, vec!["a/c/0".to_owned()]));
    array.resize(&[0]).unwrap();
    assert_eq!((store.take_erased(), store.chunks()), (0, vec!["a/c/0".to_owned()]));
}

#[test]
fn erasing_chunks_stops_at_the_first_error() {
    let (store, mut array) = Unlistable::array(&ArrayBuilder::new([100], "uint8").chunks([1]));
    store.is_broken.store(true, Ordering::Relaxed);
    assert!(array.resize(&[10]).is_err());
    assert_eq!(store.take_erased(), 1);
}

#[test]
fn appending_invalid_elements_changes_nothing() {
    for format in FORMATS {
        let mut array = created(format, &ArrayBuilder::new([2, 3], "bool").chunks([2, 2]));
        for wrong in [&[1, 0, 2][..], &[1, 0]] {
            assert!(array.append(0, wrong).is_err());
            assert_eq!((array.shape(), reopened(&array).shape()), (&[2, 3][..], &[2, 3][..]), "{format}");
        }
        assert!(array.append(2, &[1]).is_err());
        array.append(0, &[1, 0, 1]).unwrap();
        assert_eq!(reopened(&array).read_values::<bool>(&Selection::All).unwrap()[6..], [true, false, true]);
    }
}

#[test]
fn a_failed_append_restores_the_old_shape() {
    let mut array = created(Format::V3, &ArrayBuilder::new([2], "string").chunks([2]));
    array.append_values(0, &["a", "bc"]).unwrap();
    assert!(array.append_values(0, &[&b"fine"[..], b"\xff", b""]).is_err());
    assert_eq!((array.shape(), reopened(&array).shape()), (&[4][..], &[4][..]));
    let elements = array.read(&Selection::All).unwrap();
    assert_eq!(elements.strings().unwrap(), ["", "", "a", "bc"]);
    assert_eq!(elements.count(), 4);
}

#[test]
fn appended_rows_follow_those_of_other_handles() {
    let mut first = created(Format::V3, &ArrayBuilder::new([0, 2], "int16").chunks([2, 2]));
    let mut second = reopened(&first);
    first.append_values(0, &[1i16, 2]).unwrap();
    second.append_values(0, &[3i16, 4, 5, 6]).unwrap();
    second.append(1, &[]).unwrap();
    assert!(second.append_values(0, &[1u16, 2]).is_err());
    second.append_values(1, &[7i16, 8, 9]).unwrap();
    let stored = reopened(&first);
    assert_eq!(stored.shape(), [3, 3]);
    assert_eq!(stored.read_values::<i16>(&Selection::All).unwrap(), [1, 2, 7, 3, 4, 8, 5, 6, 9]);
}

#[test]
fn elements_of_variable_size_are_appended_as_offsets_and_payload() {
    let mut array = created(Format::V3, &ArrayBuilder::new([0], "string").chunks([2]));
    let offsets =
        |offsets: &[u64]| offsets.iter().flat_map(|offset| offset.to_ne_bytes()).collect::<Vec<u8>>();
    array.append(0, &[&offsets(&[0, 1, 3])[..], b"abc"].concat()).unwrap();
    array.append(0, &offsets(&[0])).unwrap();
    array.append(0, &offsets(&[0, 0])).unwrap();
    for wrong in [offsets(&[]), offsets(&[1]), [&offsets(&[0, 2, 1])[..], b"a"].concat(), vec![0; 7]] {
        assert!(array.append(0, &wrong).is_err(), "{wrong:?}");
    }
    assert_eq!(array.read(&Selection::All).unwrap().strings().unwrap(), ["a", "bc", ""]);
}

#[test]
fn only_boolean_arrays_are_read_and_written_as_bool() {
    let array = created(Format::V2, &ArrayBuilder::new([3], "bool").chunks([3]).uncompressed());
    array.write_values(&Selection::All, &[true, false, true]).unwrap();
    assert_eq!(array.read_values::<bool>(&Selection::All).unwrap(), [true, false, true]);
    // Other programs treat any byte except 0 as true.
    array.write_encoded_chunk(&[0], &[0, 7, 255]).unwrap();
    assert_eq!(array.read_values::<bool>(&Selection::All).unwrap(), [false, true, true]);
    let bytes = created(Format::V2, &ArrayBuilder::new([1], "uint8"));
    assert!(bytes.read_values::<bool>(&Selection::All).is_err());
    assert!(bytes.write_values(&Selection::All, &[true]).is_err());
}

#[test]
fn floats_are_fill_values_and_attributes() {
    for format in FORMATS {
        let attributes = json!({"scale": 0.1}).as_object().unwrap().clone();
        for fill in [0.5, f64::NEG_INFINITY] {
            let builder = ArrayBuilder::new([2], "float64").fill_value(fill).attributes(attributes.clone());
            let array = reopened(&created(format, &builder));
            assert_eq!(array.read_values::<f64>(&Selection::All).unwrap(), [fill; 2], "{format}");
            assert_eq!(array.attributes().to_string(), r#"{"scale":0.1}"#);
        }
    }
}

#[test]
fn chunk_sizes_beyond_64_bits_exceed_the_limit() {
    for format in FORMATS {
        let hierarchy = Hierarchy::create(memory(), &Context::linked().unwrap(), format).unwrap();
        for (length, size) in [(1 << 61, "too many"), ((1 << 61) - 1, "18446744073709551608")] {
            let builder = ArrayBuilder::new([length], "uint64").chunks([length]).uncompressed();
            let error = hierarchy.create_array("/a", &builder).unwrap_err().to_string();
            assert!(
                error.contains(&format!("a chunk has {size} bytes, and the limit is 9223372036854775807")),
                "{error}"
            );
        }
        assert!(!hierarchy.exists("/a").unwrap());
    }
}

#[test]
fn chunks_that_need_more_than_the_memory_budget_are_neither_read_nor_written() {
    let array = created(Format::V3, &ArrayBuilder::new([10, 10], "uint8").chunks([10, 10]).uncompressed());
    array.write_values(&Selection::All, &[1u8; 100]).unwrap();
    let limited = |memory| {
        let context = Context::linked().unwrap().with_limits(Limits::new().with_memory(memory));
        Hierarchy::open(Arc::clone(array.hierarchy().store()), &context).unwrap().array("/a").unwrap()
    };
    let selections = [Selection::All, Selection::parse("0:5, 0:5", &[10, 10]).unwrap()];
    for selection in &selections {
        // This takes memory for a stored value of 100 bytes and a decoded chunk of 100 bytes.
        let elements = limited(200).read_values::<u8>(selection).unwrap();
        limited(200).write_values(selection, &elements).unwrap();
        let error = limited(99).write_values(selection, &elements).unwrap_err();
        assert!(matches!(&error, Error::OverBudget(over) if over.budget == 99), "{error:?}");
    }
    let error = limited(49).read(&selections[1]).unwrap_err();
    assert!(matches!(&error, Error::OverBudget(over) if over.budget == 49), "{error:?}");
    // Elements that are decoded directly into the output, and bytes of the caller, do not count.
    assert_eq!(limited(0).read_values::<u8>(&Selection::All).unwrap(), [1; 100]);
    limited(0).write_encoded_chunk(&[0, 0], &[2; 100]).unwrap();
    assert_eq!(limited(0).read_chunk(&[0, 0]).unwrap().bytes(), [2; 100]);
    limited(0).erase_chunk(&[0, 0]).unwrap();
    assert_eq!(limited(0).read_values::<u8>(&Selection::All).unwrap(), [0; 100]);
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPool::new(threads).unwrap()
}

fn on_threads(threads: usize) -> Context {
    Context::linked().unwrap().with_thread_pool(&pool(threads))
}

/// Creates an array of `count` shards of 1 MiB with 64 inner chunks each, and elements that are all zero in
/// some inner chunks.
fn shards(count: u64, codec: &str, context: &Context) -> (Array, Vec<u16>) {
    let builder = ArrayBuilder::new([count * 500, 1024], "uint16").chunks([64, 128]).shards([512, 1024]);
    let builder = builder.uncompressed().codec((codec, json!({})));
    let array =
        Hierarchy::create(memory(), context, Format::V3).unwrap().create_array("/a", &builder).unwrap();
    let elements = (0..count * 500 * 1024).map(|place| match place >> 16 & 3 {
        0 => 0,
        _ => u16::try_from(place * 7919 % 65_521 % (1 + place % 999)).unwrap(),
    });
    (array, elements.collect())
}

fn values(array: &Array) -> Vec<(Key, Vec<u8>)> {
    let store = array.hierarchy().store();
    let value =
        |key: &Key| zarr_kit::spec::store::get_value(&**store, key, usize::MAX).unwrap().unwrap().to_vec();
    store.list().unwrap().into_iter().map(|key| (key.clone(), value(&key))).collect()
}

/// All threads together encode the last shards of a write. In a shard that is partially written, they encode the
/// inner chunks that are completely written.
#[test]
fn shards_hold_the_same_bytes_for_every_number_of_threads() {
    for (codec, count) in [("zstd", 1), ("crc32c", 2), ("zstd", 4)] {
        let contexts = [Context::linked().unwrap().with_one_thread(), on_threads(2), on_threads(3)];
        let arrays = contexts.map(|context| shards(count, codec, &context));
        let mut before = Vec::new();
        for selection in ["", "30:,:1001", "3::7,5:1000:11", "70:471,120:910"] {
            let selection = Selection::parse(selection, &[count * 500, 1024]).unwrap();
            let written = arrays.each_ref().map(|(array, elements)| {
                let size = selection.shape(array.shape()).unwrap().iter().product::<u64>();
                let last = elements.len() - usize::try_from(size).unwrap();
                array.write_values(&selection, &elements[last..]).unwrap();
                assert!(array.read_values::<u16>(&selection).unwrap() == elements[last..]);
                values(array)
            });
            assert!(written[0] == written[1] && written[0] == written[2], "{codec} {count} {selection:?}");
            assert!(written[0] != before);
            [before, _, _] = written;
        }
    }
}

#[test]
fn all_threads_of_a_pool_can_write_shards_at_the_same_time() {
    let own = pool(2);
    let context = Context::linked().unwrap().with_thread_pool(&own);
    let arrays = [(); 4].map(|()| shards(2, "zstd", &context));
    let write = || {
        arrays.par_iter().for_each(|(array, elements)| {
            array.write_values(&Selection::All, elements).unwrap();
            let selection = Selection::parse("1:,:1000", array.shape()).unwrap();
            array.write_values(&selection, &elements[..999 * 1000]).unwrap();
        });
    };
    own.install(write);
    pool(3).install(write);
    assert!(arrays.iter().all(|(array, _)| values(array) == values(&arrays[0].0)));
}

/// The result must not depend on the thread that encodes the shard.
#[test]
fn a_shard_that_cannot_be_encoded_or_grows_too_large_is_an_error() {
    for threads in [1, 2, 4] {
        let limits = Limits::new().with_memory(600 << 10);
        let (array, elements) = shards(2, "crc32c", &on_threads(threads).with_limits(limits));
        let error = array.write_values(&Selection::All, &elements).unwrap_err();
        assert!(matches!(&error, Error::OverBudget { .. }), "{error:?}");
        assert!(array.stored_chunks().unwrap().is_empty());
    }
}

/// A key encoding with keys such as `c.1.0`. Decoding this key fails; all other keys are decoded.
#[derive(Debug)]
struct Forgetful;

impl ChunkKeyEncoding for Forgetful {
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        key.push('c');
        chunk_index.iter().for_each(|index| key.push_str(&format!(".{index}")));
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        match key {
            "c.1.0" => Err("unknown key".into()),
            _ => Ok(key.strip_prefix("c.").and_then(|rest| decode_indices(rest, '.', rank))),
        }
    }
}

#[test]
fn listing_and_erasing_chunks_fail_if_a_key_cannot_be_decoded() {
    let mut registry = Registry::linked().unwrap();
    let name = Identifiers::name("example.forgetful");
    registry.register(ChunkKeyEncodingPlugin::new(name, &|_| Ok(Arc::new(Forgetful)))).unwrap();
    let hierarchy = Hierarchy::create(memory(), &Context::new(registry), Format::V3).unwrap();
    let builder = ArrayBuilder::new([4, 4], "uint8").chunks([2, 2]).chunk_key_encoding("example.forgetful");
    let mut array = hierarchy.create_array("/a", &builder).unwrap();
    array.write_values::<u8>(&Selection::parse(":2,:", &[4, 4]).unwrap(), &[1; 8]).unwrap();
    assert_eq!(array.stored_chunks().unwrap(), [[0, 0], [0, 1]]);
    array.write_values::<u8>(&Selection::All, &[1; 16]).unwrap();
    let told = "key `a/c.1.0`: cannot determine the chunk index in /a: unknown key";
    assert_eq!(array.stored_chunks().unwrap_err().to_string(), told);
    assert_eq!(array.resize(&[2, 4]).unwrap_err().to_string(), told);
    let erased = hierarchy.erase_keeping_other_formats("/a").unwrap_err().to_string();
    assert!(
        erased.contains("`a/c.1.0` may be a chunk of `a/zarr.json`, whose key encoding failed"),
        "{erased}"
    );
    assert_eq!(array.hierarchy().store().list().unwrap().len(), 6, "nothing is erased");
}
