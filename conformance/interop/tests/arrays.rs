//! What handles of arrays promise: changes of documents, appending, elements as Rust types, limits.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zarr_kit::spec::store::{Capabilities, Got, Manner, Store, StoreError};
use zarr_kit::spec::{ByteRange, Key, Output, Prefix};
use zarr_kit::{
    Array, ArrayBuilder, Context, FallbackPolicy, Format, Hierarchy, OpenOptions, Registry, Selection,
    open_store,
};

const FORMATS: [Format; 3] = [Format::V2, Format::V3Draft, Format::V3];

fn memory() -> Arc<dyn Store> {
    open_store(&Registry::linked().unwrap(), "memory:").unwrap()
}

fn created(format: Format, builder: &ArrayBuilder) -> Array {
    let hierarchy = Hierarchy::create(memory(), &Context::linked().unwrap(), format).unwrap();
    hierarchy.create_array("/a", builder).unwrap()
}

fn reopened(array: &Array) -> Array {
    let hierarchy = array.hierarchy();
    let options = OpenOptions::new().format(hierarchy.format()).consolidated(false);
    let opened = Hierarchy::open_with(Arc::clone(hierarchy.store()), hierarchy.context(), options);
    opened.unwrap().array("/a").unwrap()
}

#[test]
fn attributes_and_shapes_of_two_handles_do_not_undo_one_another() {
    for format in FORMATS {
        let mut first = created(format, &ArrayBuilder::new([4, 4], "uint8").chunks([2, 2]));
        let mut second = reopened(&first);
        second.resize(&[8, 4]).unwrap();
        first.set_attribute("unit", "K").unwrap();
        assert_eq!(reopened(&first).shape(), [8, 4], "{format}");
        second.set_attribute("scale", 3).unwrap();
        second.resize(&[8, 6]).unwrap();
        first
            .set_attributes(
                [("only", 1)].into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
            )
            .unwrap();
        assert_eq!(first.attributes().to_string(), r#"{"only":1}"#);
        second.resize(&[8, 8]).unwrap();
        let stored = reopened(&first);
        assert_eq!((stored.shape(), stored.attributes()), (&[8, 8][..], first.attributes()), "{format}");
    }
}

#[test]
fn setting_one_attribute_keeps_what_another_handle_has_set() {
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
fn a_resize_reads_the_document_of_the_array_and_no_consolidated_copy() {
    for format in [Format::V2, Format::V3] {
        let array = created(format, &ArrayBuilder::new([4], "uint8").chunks([2]));
        array.hierarchy().consolidate("/").unwrap();
        let (store, context) = (array.hierarchy().store(), array.hierarchy().context());
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
    let keys = store.list_prefix(&Prefix::new("").unwrap()).unwrap();
    let key = keys.into_iter().find(|key| key.as_str().contains("a.array")).unwrap();
    let document = zarr_kit::spec::store::get_value(&**store, &key, 1 << 20).unwrap().unwrap();
    let document = String::from_utf8(document.to_vec()).unwrap();
    let unknown = r#"{"extension": "https://example.org/unknown/1.0", "type": "unknown", "fallback": "r16"}"#;
    let changed = document.replace(r#""<i2""#, unknown).replace(r#""int16""#, unknown);
    assert_ne!(changed, document, "{document}");
    store.set(&key, changed.as_bytes()).unwrap();
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
        let keys = self.store.list_prefix(&Prefix::new("a/c/").unwrap()).unwrap();
        keys.iter().map(|key| key.as_str().to_owned()).collect()
    }
}

impl Store for Unlistable {
    fn location(&self) -> String {
        self.store.location()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { listable: false, ..self.store.capabilities() }
    }

    fn manner(&self) -> Manner {
        self.store.manner()
    }

    fn get(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        self.store.get(key, range, to)
    }

    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        self.store.set(key, value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.erased.fetch_add(1, Ordering::Relaxed);
        if self.is_broken.load(Ordering::Relaxed) {
            return self.list_prefix(&Prefix::new("").unwrap()).map(drop);
        }
        self.store.erase(key)
    }

    fn list_prefix(&self, _prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        Err(StoreError::NotSupported { store: self.location(), quality: "not listable" })
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.store.size(key)
    }
}

#[test]
fn a_store_that_cannot_list_is_asked_to_erase_the_chunks_outside_and_no_others() {
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
fn few_chunks_outside_of_a_huge_grid_are_erased_and_too_many_are_left() {
    let length = 1 << 40;
    let (store, mut array) = Unlistable::array(&ArrayBuilder::new([length], "uint8").chunks([1]));
    for element in [0, length - 1] {
        array.write_values(&Selection::parse(&element.to_string(), array.shape()).unwrap(), &[7u8]).unwrap();
    }
    array.resize(&[length - 3]).unwrap();
    assert_eq!((store.take_erased(), store.chunks()), (3, vec!["a/c/0".to_owned()]));
    array.resize(&[0]).unwrap();
    assert_eq!((store.take_erased(), store.chunks()), (0, vec!["a/c/0".to_owned()]));
}

#[test]
fn erasing_ends_at_the_first_error() {
    let (store, mut array) = Unlistable::array(&ArrayBuilder::new([100], "uint8").chunks([1]));
    store.is_broken.store(true, Ordering::Relaxed);
    assert!(array.resize(&[10]).is_err());
    assert_eq!(store.take_erased(), 1);
}
