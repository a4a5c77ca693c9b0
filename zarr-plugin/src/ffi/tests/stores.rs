//! Calls a store of this program through both sides of the ABI.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Contents, GetOptions, GetResult, IoKind, Keys, Payload,
    ReadHints, Store, StoreError, StoreLock, Version, get_value,
};
use zarr_spec::{ByteRange, Invalid, Key, KeyError, Output, Prefix, Value};

use crate::ffi::export::store::hand_over;
use crate::ffi::import::store::owned;

const KEYS: usize = 5000;

/// A store that lists many keys, has one value, and fails with `kind` for all other keys.
#[derive(Debug)]
struct Counting {
    kind: IoKind,
    /// The number of keys that were listed.
    listed: Arc<AtomicUsize>,
}

impl Store for Counting {
    fn location(&self) -> String {
        "counting:".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn read_hints(&self) -> ReadHints {
        ReadHints::new(7, 100)
    }

    fn caches_values(&self) -> bool {
        true
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        match key.as_str() {
            "there" => {
                let part = options.range.within(3);
                to.put(&b"123"[usize::try_from(part.start).unwrap()..usize::try_from(part.end).unwrap()])
                    .unwrap();
                Ok(Some(GetResult::new(Contents::Written, 3, Some(Version::new("v1")))))
            }
            _ => Err(StoreError::io("reading", key.as_str(), "it fails").with_kind(self.kind)),
        }
    }

    fn set(&self, key: &Key, _: Payload<'_>) -> Result<(), StoreError> {
        let reason = "it is too long".to_owned();
        Err(KeyError::new(key.to_string(), "key", reason).into())
    }

    fn erase(&self, _: &Key) -> Result<(), StoreError> {
        Ok(())
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        let prefix = prefix.as_str().to_owned();
        Ok(Box::new((0..KEYS).map(move |number| {
            self.listed.fetch_add(1, Ordering::Relaxed);
            Ok(Key::new(format!("{prefix}{number}"))?)
        })))
    }
}

/// Returns the store as seen through two ABI boundaries: a host passes it to a library, which passes it to another
/// library.
fn twice(kind: IoKind) -> (Arc<dyn Store>, Arc<AtomicUsize>) {
    let listed = Arc::new(AtomicUsize::new(0));
    let mut store: Arc<dyn Store> = Arc::new(Counting { kind, listed: Arc::clone(&listed) });
    for origin in ["first", "second"] {
        // SAFETY: the handle is owned by this function.
        store = unsafe { owned(&hand_over(store), origin.into()) }.unwrap();
    }
    (store, listed)
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

#[test]
fn the_kind_of_an_io_error_is_the_same_on_both_sides() {
    for expected in
        [IoKind::NotPermitted, IoKind::Throttled, IoKind::TimedOut, IoKind::Unreachable, IoKind::Other]
    {
        let error = get_value(&*twice(expected).0, &key("a"), 9).unwrap_err();
        assert!(matches!(&error, StoreError::Io { kind, .. } if *kind == expected), "{error:?}");
        assert!(error.to_string().ends_with("it fails"), "{error}");
    }
}

#[test]
fn a_key_that_a_store_refuses_is_a_key_error() {
    let error = twice(IoKind::Other).0.set(&key("a"), b"".into()).unwrap_err();
    assert!(matches!(&error, StoreError::Key(error) if error.text == "a"), "{error:?}");
    assert_eq!(error.to_string(), "`a` cannot be a key: second: first: it is too long");
}

#[test]
fn hints_values_sizes_and_versions_are_equal_on_both_sides() {
    let (store, _) = twice(IoKind::Other);
    assert_eq!((store.read_hints(), store.caches_values()), (ReadHints::new(7, 100), true));
    let mut output = Output::at_most(9);
    let found = store.get(&key("there"), ByteRange::From(1).into(), &mut output).unwrap().unwrap();
    assert_eq!((output.written(), found.size, found.version), (&b"23"[..], 3, Some(Version::new("v1"))));
    assert_eq!(store.size(&key("there")).unwrap(), Some(3));
}

#[test]
fn a_listing_reads_no_more_keys_than_requested() {
    let (store, listed) = twice(IoKind::Other);
    let prefix = Prefix::new("a/").unwrap();
    assert_eq!(store.any_key(&prefix).unwrap(), Some(key("a/0")));
    assert_eq!(listed.load(Ordering::Relaxed), 1);
    let keys: Result<Vec<Key>, _> = store.list_prefix(&prefix).unwrap().collect();
    let expected: Vec<Key> = (0..KEYS).map(|number| key(&format!("a/{number}"))).collect();
    assert_eq!(keys.unwrap(), expected);
    assert_eq!(listed.load(Ordering::Relaxed), 1 + KEYS);
}

/// A store of one value, with conditions and locks. The version of the value is the number of changes.
#[derive(Debug, Default)]
struct Guarded {
    value: Mutex<Option<Vec<u8>>>,
    changes: AtomicUsize,
    locks: Arc<AtomicUsize>,
}

/// Counts the locks that are held.
struct HeldLock(Arc<AtomicUsize>);

impl Drop for HeldLock {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Guarded {
    fn version(&self) -> Version {
        Version::new(self.changes.load(Ordering::SeqCst).to_le_bytes())
    }

    fn change(&self, condition: &Condition, new: Option<Vec<u8>>) -> ConditionalWrite {
        let mut value = self.value.lock().unwrap();
        let version = value.is_some().then(|| self.version());
        if !condition.holds(version.as_ref()) {
            return ConditionalWrite::Conflict;
        }
        *value = new;
        self.changes.fetch_add(1, Ordering::SeqCst);
        ConditionalWrite::Done(value.is_some().then(|| self.version()))
    }
}

impl Store for Guarded {
    fn location(&self) -> String {
        "guarded:".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL_AND_CONDITIONAL.adapting_documents()
    }

    /// Accepts `true`, replaces `false` by `true`, and refuses other documents.
    fn array_document(&self, _key: &Key, document: &Value) -> Result<Option<Value>, StoreError> {
        match document {
            Value::Bool(accepted) => Ok((!accepted).then(|| Value::from(true))),
            other => Err(Invalid::new(format!("it cannot hold {other}")).into()),
        }
    }

    fn get(
        &self,
        _key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let value = self.value.lock().unwrap();
        let Some(value) = &*value else { return Ok(None) };
        to.put(value).unwrap();
        let version = options.for_update.then(|| self.version());
        Ok(Some(GetResult::new(Contents::Written, value.len() as u64, version)))
    }

    fn set(&self, key: &Key, _: Payload<'_>) -> Result<(), StoreError> {
        Err(KeyError::new(key.to_string(), "key", "only with a condition").into())
    }

    fn set_if(
        &self,
        _key: &Key,
        value: Payload<'_>,
        condition: &Condition,
    ) -> Result<ConditionalWrite, StoreError> {
        Ok(self.change(condition, Some(value.to_vec())))
    }

    fn erase_if(&self, _key: &Key, version: &Version) -> Result<ConditionalWrite, StoreError> {
        Ok(self.change(&Condition::Unchanged(version.clone()), None))
    }

    fn commit(&self) -> Result<(), StoreError> {
        match self.value.lock().unwrap().is_some() {
            true => Ok(()),
            false => Err(StoreError::io("committing", "guarded:", "nothing to commit")),
        }
    }

    fn lock(&self, _key: &Key) -> Result<Option<StoreLock>, StoreError> {
        self.locks.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Box::new(HeldLock(Arc::clone(&self.locks)))))
    }

    fn erase(&self, _: &Key) -> Result<(), StoreError> {
        Ok(())
    }

    fn list_prefix(&self, _: &Prefix) -> Result<Keys<'_>, StoreError> {
        Ok(Box::new(std::iter::empty()))
    }
}

#[test]
fn conditions_and_locks_are_the_same_on_both_sides() {
    let guarded = Arc::new(Guarded::default());
    let locks = Arc::clone(&guarded.locks);
    let mut store: Arc<dyn Store> = guarded;
    for origin in ["first", "second"] {
        // SAFETY: the handle is owned by this function.
        store = unsafe { owned(&hand_over(store), origin.into()) }.unwrap();
    }
    assert_eq!(store.capabilities(), Capabilities::ALL_AND_CONDITIONAL.adapting_documents());
    let at = key("k");
    let adapted = |document: Value| store.array_document(&at, &document);
    assert_eq!(adapted(Value::from(true)).unwrap(), None);
    assert_eq!(adapted(Value::from(false)).unwrap(), Some(Value::from(true)));
    let refused = adapted(Value::from(1)).unwrap_err();
    assert!(matches!(&refused, StoreError::Invalid(error) if error.to_string().contains("cannot hold 1")));
    let set_if = |value: &[u8], condition: &Condition| store.set_if(&at, value.into(), condition).unwrap();
    let ConditionalWrite::Done(Some(one)) = set_if(b"one", &Condition::Missing) else { panic!("a conflict") };
    assert!(set_if(b"two", &Condition::Missing).is_conflict());
    store.commit().unwrap();
    let mut output = Output::at_most(9);
    let found = store.get(&at, GetOptions::for_update(ByteRange::Full), &mut output).unwrap().unwrap();
    assert_eq!((output.written(), found.version), (&b"one"[..], Some(one.clone())));
    assert!(!set_if(b"two", &Condition::Unchanged(one.clone())).is_conflict());
    assert!(set_if(b"three", &Condition::Unchanged(one.clone())).is_conflict());
    assert!(store.erase_if(&at, &one).unwrap().is_conflict());
    assert_eq!(get_value(&*store, &at, 9).unwrap().unwrap(), "two");
    let mut output = Output::at_most(9);
    let found = store.get(&at, GetOptions::for_update(ByteRange::Full), &mut output).unwrap().unwrap();
    assert!(!store.erase_if(&at, &found.version.unwrap()).unwrap().is_conflict());
    assert_eq!(get_value(&*store, &at, 9).unwrap(), None);
    let error = store.commit().unwrap_err();
    assert!(matches!(&error, StoreError::Io { operation: "committing", source, .. }
        if source.to_string().contains("nothing to commit")));

    let lock = store.lock(&at).unwrap().unwrap();
    assert_eq!(locks.load(Ordering::SeqCst), 1);
    drop(store);
    drop(lock);
    assert_eq!(locks.load(Ordering::SeqCst), 0);
}

/// The size of the table in version 2.1, which does not have `set_if` and the functions after it.
const SIZE_IN_2_1: usize = 144;

#[test]
fn a_library_of_version_2_1_has_no_conditions() {
    let handle = hand_over(Arc::new(Guarded::default()));
    // SAFETY: `hand_over` returned it. The table begins with the functions of version 2.1.
    let store = unsafe {
        let mut vtable = crate::ffi::read(handle.vtable).unwrap();
        vtable.struct_size = SIZE_IN_2_1;
        owned(&crate::abi::StoreHandle { vtable: &vtable, this: handle.this }, "old".into()).unwrap()
    };
    assert_eq!(store.capabilities(), Capabilities::ALL);
    assert!(store.lock(&key("k")).unwrap().is_none());
    store.commit().unwrap();
    assert_eq!(store.array_document(&key("k"), &Value::from(false)).unwrap(), None);
    let refused = store.set_if(&key("k"), b"v".into(), &Condition::Missing);
    assert!(matches!(refused, Err(StoreError::NotSupported { quality: "not conditional", .. })));
}
