//! Resizes while another program appends to the array, in stores without locks. The other program runs before each
//! request of the resize.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use zarr_conformance::stores::MinimalStore;
use zarr_kit::spec::store::{
    Capabilities, Condition, ConditionalWrite, GetOptions, GetResult, Keys, Payload, Store, StoreError,
    Version, get_value,
};
use zarr_kit::spec::{Key, Output, Prefix};
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, Selection};

/// Runs the work of another program before one of its requests.
struct Meanwhile {
    store: Arc<MinimalStore>,
    requests: AtomicUsize,
    /// The number of requests before the work.
    before: usize,
    work: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(formatter)
    }
}

impl Meanwhile {
    fn counted(&self) -> &MinimalStore {
        if self.requests.fetch_add(1, Ordering::SeqCst) == self.before
            && let Some(work) = self.work.lock().unwrap().take()
        {
            work();
        }
        &self.store
    }

    fn has_run(&self) -> bool {
        self.work.lock().unwrap().is_none()
    }
}

impl Store for Meanwhile {
    fn location(&self) -> String {
        self.store.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.counted().get(key, options, to)
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.counted().set(key, value)
    }

    fn set_if(
        &self,
        key: &Key,
        value: Payload<'_>,
        condition: &Condition,
    ) -> Result<ConditionalWrite, StoreError> {
        self.counted().set_if(key, value, condition)
    }

    fn erase_if(&self, key: &Key, version: &Version) -> Result<ConditionalWrite, StoreError> {
        self.counted().erase_if(key, version)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.counted().erase(key)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        self.counted().list_prefix(prefix)
    }
}

/// Stores without locks, like databases and like S3.
const STORES: [Capabilities; 2] =
    [Capabilities::ALL_AND_CONDITIONAL, Capabilities::ALL_AND_CONDITIONAL.without_conditional_erase()];

/// The elements of the array before the resize. More elements are stored behind its end, as an interrupted shrink leaves
/// them.
const OLD: [u16; 5] = [1, 2, 3, 4, 5];
const APPENDED: [u16; 2] = [100, 101];

fn open(store: Arc<dyn Store>) -> Hierarchy {
    Hierarchy::open(store, &Context::linked().unwrap().with_one_thread()).unwrap()
}

/// Creates an array with [`OLD`], and with other elements behind its end.
fn created(capabilities: Capabilities, format: Format, is_sharded: bool) -> Arc<MinimalStore> {
    let store = Arc::new(MinimalStore::new(capabilities));
    let opened: Arc<dyn Store> = Arc::<MinimalStore>::clone(&store);
    let context = Context::linked().unwrap();
    let hierarchy = Hierarchy::create(Arc::clone(&opened), &context, format).unwrap();
    let builder = ArrayBuilder::new([12], "uint16").chunks([2]);
    let builder = if is_sharded { builder.chunks([1]).shards([2]) } else { builder };
    let array = hierarchy.create_array("/a", &builder).unwrap();
    array.write_values(&Selection::All, &[1_u16, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).unwrap();
    let chunks: Vec<_> =
        opened.list_prefix(&Prefix::new("a/").unwrap()).unwrap().map(Result::unwrap).collect();
    let value = |key: &Key| get_value(&*opened, key, 1 << 20).unwrap().unwrap();
    let stored: Vec<_> = chunks.iter().map(|key| (key.clone(), value(key))).collect();
    hierarchy.array("/a").unwrap().resize(&[5]).unwrap();
    for (key, value) in stored {
        if !key.as_str().ends_with(".json") && !key.as_str().ends_with(".zarray") {
            opened.set(&key, Payload::from(&value[..])).unwrap();
        }
    }
    assert_eq!(elements(&store), OLD);
    store
}

fn elements(store: &Arc<MinimalStore>) -> Vec<u16> {
    let store: Arc<dyn Store> = Arc::<MinimalStore>::clone(store);
    open(store).array("/a").unwrap().read_values::<u16>(&Selection::All).unwrap().to_vec()
}

fn resized(mut elements: Vec<u16>, length: u64) -> Vec<u16> {
    elements.resize(usize::try_from(length).unwrap(), 0);
    elements
}

/// Resizes to `length` while another program appends, before the request with this number. Returns whether the other
/// program has run.
fn resizes(store: Arc<MinimalStore>, length: u64, before: usize) -> bool {
    let other: Arc<dyn Store> = Arc::<MinimalStore>::clone(&store);
    let append = move || open(other).array("/a").unwrap().append_values(0, &APPENDED).unwrap();
    let meanwhile = Arc::new(Meanwhile {
        store: Arc::clone(&store),
        requests: AtomicUsize::new(0),
        before,
        work: Mutex::new(Some(Box::new(append))),
    });
    open(Arc::<Meanwhile>::clone(&meanwhile)).array("/a").unwrap().resize(&[length]).unwrap();
    if meanwhile.has_run() {
        let append_first = resized([&OLD[..], &APPENDED].concat(), length);
        let resize_first = [&resized(OLD.to_vec(), length)[..], &APPENDED].concat();
        let found = elements(&store);
        let text = format!("length {length}, before request {before}: {found:?}");
        assert!(found == append_first || found == resize_first, "{text}");
        // Elements that a later resize adds hold the fill value.
        let store: Arc<dyn Store> = store;
        let mut array = open(store).array("/a").unwrap();
        array.resize(&[20]).unwrap();
        let longer = array.read_values::<u16>(&Selection::All).unwrap().to_vec();
        assert_eq!(longer, resized(found, 20), "{text}");
    }
    meanwhile.has_run()
}

#[test]
fn an_append_during_a_resize_has_one_of_the_serial_orders() {
    for format in [Format::V2, Format::V3] {
        for is_sharded in [false, true] {
            for capabilities in STORES {
                for length in [0, 4, 6, 12] {
                    let is_written = |before| {
                        let store = created(capabilities, format, is_sharded && format == Format::V3);
                        resizes(store, length, before)
                    };
                    let count = (0..).take_while(|&before| is_written(before)).count();
                    assert!(count > 3, "{count} requests");
                }
            }
        }
    }
}

/// Stores without conditional erasing get chunks of fill values, whose size comes from the document.
#[test]
fn a_chunk_that_exceeds_the_memory_budget_is_not_replaced() {
    let store = Arc::new(MinimalStore::new(STORES[1]));
    let opened: Arc<dyn Store> = Arc::<MinimalStore>::clone(&store);
    let hierarchy = Hierarchy::create(Arc::clone(&opened), &Context::linked().unwrap(), Format::V3).unwrap();
    let chunk = 1 << 40;
    let builder = ArrayBuilder::new([2 * chunk], "uint16").chunks([chunk]);
    let mut array = hierarchy.create_array("/a", &builder).unwrap();
    let key = Key::new("a/c/1").unwrap();
    opened.set(&key, Payload::from(&b"value"[..])).unwrap();
    let error = array.resize(&[chunk]).unwrap_err();
    assert!(matches!(error, Error::OverBudget(_)) && error.to_string().contains("a/c/1"), "{error}");
    assert_eq!(get_value(&*opened, &key, 100).unwrap().unwrap(), b"value"[..]);
}
