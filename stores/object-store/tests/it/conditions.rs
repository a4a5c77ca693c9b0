//! Conditional writes over the wire.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use zarr_loopback::{Fault, Options, Request, Server as S3};
use zarr_spec::store::{Backoff, Condition, ConditionalWrite, GetOptions, Store, StoreError, get_value};
use zarr_spec::{ByteRange, Output};

use super::{at_server, bucket, described, key, refused, s3};

/// Starts a server on which `fault` happens to the first request that writes `key`.
fn losing(key: &'static str, fault: Fault) -> S3 {
    let count = AtomicUsize::new(0);
    let faults = move |asked: &Request| {
        let is_it = asked.method == "PUT" && asked.path.ends_with(key);
        (is_it && count.fetch_add(1, Ordering::Relaxed) == 0).then_some(fault)
    };
    S3::start(Options::in_memory().with_faults(faults)).unwrap()
}

fn set_if(store: &dyn Store, name: &str, value: &[u8], condition: &Condition) -> ConditionalWrite {
    store.set_if(&key(name), value.into(), condition).unwrap()
}

/// Reads a value and the condition that it is unchanged.
pub(super) fn read(store: &dyn Store, name: &str) -> Option<(Vec<u8>, Condition)> {
    let mut output = Output::at_most(1000);
    let got = store.get(&key(name), GetOptions::for_update(ByteRange::Full), &mut output).unwrap()?;
    let condition = Condition::of(got.version.as_ref()).unwrap();
    Some((got.into_bytes(output).to_vec(), condition))
}

#[test]
fn a_server_is_checked_once_for_each_bucket() {
    let server = s3();
    let written = |paths: &[&str]| {
        let log = server.take_log();
        let is_check =
            |one: &&Request| one.path.contains(".zarr-kit-check-") || one.asked("delete").is_some();
        let others =
            log.iter().filter(|one| !is_check(one)).map(|one| one.path.trim_start_matches("/bench/"));
        assert_eq!(others.collect::<Vec<_>>(), paths);
        log.iter().filter(is_check).count()
    };
    let store = bucket(&server, "a");
    assert!(store.capabilities().conditional_set && store.capabilities().conditional_erase);
    assert_eq!(written(&[]), 0);
    assert!(!set_if(&*store, "k", b"1", &Condition::Missing).is_conflict());
    // Three writes, and a deletion of two keys.
    assert_eq!(written(&["a/k"]), 4);
    assert!(!set_if(&*bucket(&server, "b"), "k", b"1", &Condition::Missing).is_conflict());
    assert_eq!(written(&["b/k"]), 0);
    assert_eq!(server.values().unwrap().len(), 2);
}

#[test]
fn a_server_that_ignores_conditions_does_not_have_them() {
    let server = S3::start(Options::in_memory().ignoring_conditions()).unwrap();
    let store = bucket(&server, "");
    for _ in 0..2 {
        let error = store.set_if(&key("k"), b"1".into(), &Condition::Missing).unwrap_err();
        assert!(matches!(error, StoreError::NotSupported { quality: "not conditional", .. }), "{error}");
        assert!(!store.capabilities().conditional_set);
    }
    assert!(!bucket(&server, "other").capabilities().conditional_set);
    assert!(server.values().unwrap().is_empty());
    store.set(&key("k"), b"1".into()).unwrap();
}

/// The store does not support conditions if an old server answers 501 to their headers.
#[test]
fn a_server_that_does_not_know_conditions_does_not_have_them() {
    let faults = |asked: &Request| {
        let is_conditional = asked.header("if-match").or(asked.header("if-none-match")).is_some();
        (asked.method == "PUT" && is_conditional).then_some(Fault::Refuse(501))
    };
    let server = S3::start(Options::in_memory().with_faults(faults)).unwrap();
    let store = bucket(&server, "");
    let error = store.set_if(&key("k"), b"1".into(), &Condition::Missing).unwrap_err();
    assert!(matches!(error, StoreError::NotSupported { .. }), "{error}");
}

/// The answer to a write that was applied is lost. The store repeats the write, which is refused, and finds that the
/// value is there.
#[test]
fn a_write_whose_answer_is_lost_has_succeeded() {
    for fault in [Fault::ApplyAndRefuse(500), Fault::ApplyAndRefuse(503), Fault::ApplyAndClose] {
        let server = losing("/k", fault);
        let store = bucket(&server, "");
        assert!(!set_if(&*store, "k", b"first", &Condition::Missing).is_conflict(), "{fault:?}");
        assert!(set_if(&*store, "k", b"other", &Condition::Missing).is_conflict(), "{fault:?}");
        let (value, condition) = read(&*store, "k").unwrap();
        assert_eq!(value, b"first");
        let done = set_if(&*store, "k", b"second", &condition);
        assert_eq!(
            done,
            ConditionalWrite::Done(match read(&*store, "k").unwrap().1 {
                Condition::Unchanged(version) => Some(version),
                Condition::Missing => None,
            })
        );
    }
}

#[test]
fn a_write_that_fails_before_it_is_applied_is_repeated() {
    for fault in [Fault::Refuse(503), Fault::Close] {
        let server = losing("/k", fault);
        let store = bucket(&server, "");
        assert!(!set_if(&*store, "k", b"value", &Condition::Missing).is_conflict(), "{fault:?}");
        assert_eq!(get_value(&*store, &key("k"), 10).unwrap().unwrap(), b"value"[..]);
    }
}

/// Appends words with many writers to one value of a server that fails some writes, before or after it applies them.
#[test]
fn thirty_two_writers_lose_nothing_although_answers_are_lost() {
    const WRITERS: usize = 32;
    const CHANGES: usize = 4;
    let count = AtomicUsize::new(0);
    let faults = move |asked: &Request| {
        let is_it = asked.method == "PUT" && asked.path.ends_with("/counter");
        let number = count.fetch_add(usize::from(is_it), Ordering::Relaxed);
        match (is_it, number % 17) {
            (true, 3) => Some(Fault::ApplyAndRefuse(503)),
            (true, 8) => Some(Fault::ApplyAndClose),
            (true, 13) => Some(Fault::Refuse(500)),
            _ => None,
        }
    };
    let server = S3::start(Options::in_memory().with_faults(faults)).unwrap();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let server = &server;
            scope.spawn(move || {
                let store = bucket(server, "");
                (0..CHANGES).for_each(|number| append(&*store, &format!("{writer}.{number} ")));
            });
        }
    });
    let (text, _) = read(&*bucket(&server, ""), "counter").unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut found: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
    found.sort();
    // A word may occur twice: if the answer to a write is lost, and another writer replaces the value, the first writer
    // appends its word again.
    found.dedup();
    let all = (0..WRITERS).flat_map(|writer| (0..CHANGES).map(move |number| format!("{writer}.{number}")));
    let mut wanted: Vec<_> = all.collect();
    wanted.sort();
    assert_eq!(found, wanted);
}

/// Appends a word to a value until there is no conflict.
fn append(store: &dyn Store, word: &str) {
    let mut backoff = Backoff::new();
    loop {
        let (mut value, condition) = read(store, "counter").unwrap_or((Vec::new(), Condition::Missing));
        value.extend(word.as_bytes());
        if !set_if(store, "counter", &value, &condition).is_conflict() {
            return;
        }
        backoff.wait(&key("counter")).unwrap();
    }
}

#[test]
fn a_missing_bucket_is_not_a_conflict() {
    let server = s3();
    let store = described(&at_server(&server, "s3://other/a")).unwrap();
    let error = refused(store.set_if(&key("k"), b"v".into(), &Condition::Missing));
    assert!(error.contains("NoSuchBucket"), "{error}");
}

/// A server that fails during the check does not count as a server without conditions.
#[test]
fn a_failed_check_is_an_error_and_is_repeated() {
    let is_down = Arc::new(AtomicUsize::new(1));
    let down = Arc::clone(&is_down);
    let faults = move |asked: &Request| {
        (asked.method == "PUT" && down.load(Ordering::Relaxed) == 1).then_some(Fault::Refuse(403))
    };
    let server = S3::start(Options::in_memory().with_faults(faults)).unwrap();
    let store = bucket(&server, "");
    let error = refused(store.set_if(&key("k"), b"v".into(), &Condition::Missing));
    assert!(error.contains("checking conditions with") && error.contains("403"), "{error}");
    is_down.store(0, Ordering::Relaxed);
    assert!(!set_if(&*store, "k", b"v", &Condition::Missing).is_conflict());
}
