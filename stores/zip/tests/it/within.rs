//! Archives in other stores: the number of requests, nesting, and replaced archives.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use zarr_conformance::stores::MinimalStore;
use zarr_spec::store::{
    Capabilities, GetOptions, GetResult, Request, Responses, Store, StoreError, get_value,
};
use zarr_spec::{ByteRange, Key, Output};
use zarr_store_zip::ZipStore;

use super::{Entry, archive, deflated, stored};

/// A store that counts requests for single values and batches, and notes the expected sizes of requests in batches.
#[derive(Debug)]
struct Counting {
    store: MinimalStore,
    count: AtomicUsize,
    expected: Mutex<Vec<usize>>,
}

zarr_spec::delegate_store! {
    impl Store for Counting {
        forward(self.store): describe, size, cache, write, remove, list;

        fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> Result<Option<GetResult>, StoreError> {
            self.count.fetch_add(1, Ordering::Relaxed);
            self.store.get(key, options, to)
        }

        fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
            self.count.fetch_add(1, Ordering::Relaxed);
            self.expected.lock().unwrap().extend(requests.iter().map(|request| request.expected_size));
            self.store.get_many(requests, budget)
        }
    }
}

fn plain(entries: &[Entry]) -> Vec<u8> {
    archive(entries, b"")
}

/// Returns the store that contains an archive, and the archive.
fn within(archive: &[u8]) -> (Arc<Counting>, ZipStore) {
    let store = MinimalStore::with_values(Capabilities::ALL, &[("d/a.zip", archive)]);
    let store = Arc::new(Counting { store, count: AtomicUsize::new(0), expected: Mutex::default() });
    let zip = ZipStore::within(Arc::<Counting>::clone(&store), Key::new("d/a.zip").unwrap()).unwrap();
    (store, zip)
}

fn taken(store: &Counting) -> usize {
    store.count.swap(0, Ordering::Relaxed)
}

fn request(key: &str, range: ByteRange) -> Request {
    Request::new(Key::new(key).unwrap(), range, 1 << 20)
}

#[test]
fn archives_in_other_stores_are_read_with_few_requests() {
    let large: Vec<u8> = (0..400_000_u32).flat_map(|number| number.to_le_bytes()).take(700_000).collect();
    let entries = [
        stored("a", b"0123456789"),
        stored("large", &large),
        deflated("deflated", &large),
        stored("z", &large),
    ];
    let (store, zip) = within(&plain(&entries));
    assert_eq!((zip.location().as_str(), taken(&store)), ("minimal:d/a.zip|zip:", 1));
    let whole = |key: &str| get_value(&zip, &Key::new(key).unwrap(), 1 << 20).unwrap().unwrap();
    assert_eq!((&whole("a")[..], taken(&store)), (&b"0123456789"[..], 1));
    assert_eq!((&whole("a")[..], taken(&store)), (&b"0123456789"[..], 1));
    assert_eq!((&whole("deflated")[..], taken(&store)), (&large[..], 1));
    // The end of a value is far from its local header, which is unknown.
    let end = |key: &str| {
        let mut output = Output::at_most(4);
        zip.get(&Key::new(key).unwrap(), ByteRange::Last(4).into(), &mut output)
            .unwrap()
            .unwrap()
            .into_bytes(output)
    };
    assert_eq!((&end("large")[..], taken(&store)), (&large[699_996..], 2));
    assert_eq!((&end("large")[..], taken(&store)), (&large[699_996..], 1));
    let (store, zip) = within(&plain(&entries));
    let _opened = taken(&store);
    let keys = ["z", "a", "deflated", "none", "large"];
    let requests = keys.map(|key| request(key, ByteRange::Last(5))).to_vec();
    let mut responses: Vec<_> = zip.get_many(requests, 1 << 20).collect();
    responses.sort_by_key(|(index, _)| *index);
    let bytes: Vec<_> =
        responses.iter().map(|(_, found)| found.as_ref().unwrap().as_ref().map(|it| &it.bytes[..])).collect();
    let last = &large[699_995..];
    assert_eq!(bytes, [Some(last), Some(&b"56789"[..]), Some(last), None, Some(last)]);
    assert_eq!(taken(&store), 2, "a batch of headers and a batch of values");
}

#[test]
fn requests_for_an_archive_keep_the_expected_size() {
    let values: Vec<_> = (0..4_usize).map(|number| vec![7; 3000 + number]).collect();
    let entries: Vec<_> =
        values.iter().enumerate().map(|(number, value)| stored(number.to_string(), value)).collect();
    let (store, zip) = within(&plain(&entries));
    let whole = |key: &str, expected| request(key, ByteRange::Full).with_expected_size(expected);
    // A caller that expects 2000 bytes has memory for 2000. It must not wait for a request because the archive knows
    // that there are more.
    let requests = vec![whole("0", 2000), whole("1", 100_000), whole("2", 0)];
    let responses: Vec<_> = zip.get_many(requests, 1 << 20).collect();
    assert!(
        responses
            .iter()
            .all(|(number, found)| found.as_ref().unwrap().as_ref().unwrap().bytes == values[*number])
    );
    let header = 31;
    assert_eq!(mem::take(&mut *store.expected.lock().unwrap()), [2000, 3001 + header, 3002 + header]);
}

#[test]
fn a_long_directory_takes_a_second_request() {
    let entries: Vec<Entry> = (0..9000).map(|number| stored(format!("a/{number:05}"), b"x")).collect();
    let (store, zip) = within(&plain(&entries));
    assert_eq!(taken(&store), 2);
    assert_eq!((&zip as &dyn Store).list().unwrap().len(), 9000);
}

#[test]
fn archives_in_archives_are_read() {
    let inner = plain(&[stored("b/c", b"inside"), deflated("d", &[7; 5000])]);
    for outer in [plain(&[stored("i.zip", &inner)]), plain(&[deflated("i.zip", &inner)])] {
        let (_, outer) = within(&outer);
        let zip = ZipStore::within(Arc::new(outer), Key::new("i.zip").unwrap()).unwrap();
        assert_eq!(zip.location(), "minimal:d/a.zip|zip:i.zip|zip:");
        assert_eq!(get_value(&zip, &Key::new("b/c").unwrap(), 10).unwrap().unwrap(), "inside");
        assert_eq!(get_value(&zip, &Key::new("d").unwrap(), 5000).unwrap().unwrap(), [7; 5000][..]);
    }
}

#[test]
fn an_archive_that_is_replaced_in_its_store_is_an_error() {
    let large = vec![1; 300_000];
    let (store, zip) = within(&plain(&[stored("a", &large)]));
    let other = plain(&[stored("b", &[2; 300_001])]);
    store.set(&Key::new("d/a.zip").unwrap(), other.into()).unwrap();
    let error = get_value(&zip, &Key::new("a").unwrap(), 1 << 20).unwrap_err().to_string();
    assert!(error.contains("was replaced after it was opened"), "{error}");
    store.erase(&Key::new("d/a.zip").unwrap()).unwrap();
    let error = get_value(&zip, &Key::new("a").unwrap(), 1 << 20).unwrap_err().to_string();
    assert!(error.contains("the archive was removed"), "{error}");
    let missing = ZipStore::within(store, Key::new("x").unwrap()).unwrap_err().to_string();
    assert!(missing.contains("`minimal:x` does not exist"), "{missing}");
}
