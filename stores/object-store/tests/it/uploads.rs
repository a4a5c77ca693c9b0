//! Large values, and long listings.

use zarr_loopback::{Fault, Options, Request, Server as S3};
use zarr_spec::Prefix;

use super::{bucket, key, refused};

/// The minimum size of a value that is uploaded in parts.
const LARGE: usize = 64 << 20;

fn value(size: usize) -> Vec<u8> {
    (0..size).map(|number| (number >> 12).to_le_bytes()[0]).collect()
}

#[test]
fn a_large_value_is_uploaded_in_parts() {
    let server = S3::start(Options::in_memory().logged()).unwrap();
    let store = bucket(&server, "");
    let large = value(LARGE + 5);
    store.set(&key("large"), (&large).into()).unwrap();
    store.set(&key("small"), (&large[..100]).into()).unwrap();
    let log = server.take_log();
    let parts = log.iter().filter(|one| one.asked("partNumber").is_some()).count();
    // The requests of the large value begin the upload, send five parts, and end it. The small value takes one request.
    assert_eq!((log.len(), parts), (8, 5));
    assert!(server.values().unwrap()["large"] == large);
}

#[test]
fn a_failed_upload_changes_nothing_and_is_aborted() {
    let faults = |asked: &Request| (asked.asked("partNumber") == Some("3")).then_some(Fault::Refuse(403));
    let server = S3::start(Options::in_memory().with_faults(faults).logged()).unwrap();
    server.put("large", "old").unwrap();
    let store = bucket(&server, "");
    let error = refused(store.set(&key("large"), (&value(LARGE)).into()));
    assert!(error.contains("writing `s3://bench/large`") && error.contains("403"), "{error}");
    assert_eq!(server.values().unwrap()["large"], b"old");
    assert!(server.take_log().iter().any(|one| one.method == "DELETE" && one.asked("uploadId").is_some()));
}

#[test]
fn a_long_listing_is_streamed() {
    const KEYS: usize = 20_000;
    let server = S3::start(Options::in_memory().logged()).unwrap();
    for number in 0..KEYS {
        server.put(&format!("a/c/{number:06}"), "v").unwrap();
    }
    let store = bucket(&server, "a");
    let mut listed = store.list_prefix(&Prefix::root()).unwrap();
    assert!(listed.by_ref().take(500).all(|key| key.is_ok()));
    // Pages are requested when the keys of preceding pages are taken.
    assert!(server.take_log().len() <= 3);
    assert_eq!(listed.filter(|key| key.is_ok()).count(), KEYS - 500);
}
