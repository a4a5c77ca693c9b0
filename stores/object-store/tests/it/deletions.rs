//! Conditional deletions over the wire, in each service. The server also has the generations of Google, and the
//! requests of Azure for single objects are those of S3. It does not know the requests of Azure that delete several
//! objects, so that temporary objects stay there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zarr_loopback::{BUCKET, Fault, Options, Request, Server as S3};
use zarr_spec::json;
use zarr_spec::store::{Condition, ConditionalWrite, Store, StoreError, Version};

use super::conditions::read;
use super::{described, key};

/// The types of stores, and the headers with their conditions.
const SERVICES: [(&str, &str); 3] =
    [("s3", "if-match"), ("gs", "x-goog-if-generation-match"), ("az", "if-match")];

/// The beginning of the names of temporary objects.
const CHECK: &str = ".zarr-kit-check-";

/// Opens a store of a service on the server.
fn at(service: &str, server: &S3, prefix: &str) -> Arc<dyn Store> {
    let url = format!("{service}://{BUCKET}/{prefix}");
    let mut description =
        json!({"type": service, "url": url, "endpoint": server.endpoint(), "anonymous": true});
    if service == "az" {
        description.as_object_mut().unwrap().insert("account", "account");
    }
    described(&description).unwrap()
}

/// Starts a server on which the fault at the number of the attempt happens to requests that delete `k`.
fn failing(faults: impl IntoIterator<Item = Fault>) -> S3 {
    let faults: Vec<_> = faults.into_iter().collect();
    let count = AtomicUsize::new(0);
    let fault_of = move |asked: &Request| {
        let is_it = asked.method == "DELETE" && asked.path.ends_with("/k");
        is_it.then(|| faults.get(count.fetch_add(1, Ordering::Relaxed)).copied()).flatten()
    };
    S3::start(Options::in_memory().with_faults(fault_of)).unwrap()
}

/// Stores a value, and returns its version.
fn stored(store: &dyn Store, name: &str, value: &[u8]) -> Version {
    store.set(&key(name), value.into()).unwrap();
    match read(store, name).unwrap().1 {
        Condition::Unchanged(version) => version,
        Condition::Missing => panic!("the value does not have a version"),
    }
}

/// Returns the keys on the server without those of checks.
fn keys(server: &S3) -> Vec<String> {
    server.values().unwrap().into_keys().filter(|name| !name.contains(CHECK)).collect()
}

#[test]
fn a_value_is_deleted_if_it_is_unchanged() {
    for (service, header) in SERVICES {
        let server = S3::start(Options::in_memory().logged()).unwrap();
        let store = at(service, &server, "a");
        assert!(store.capabilities().conditional_erase);
        let old = stored(&*store, "k/a é", b"1");
        let now = stored(&*store, "k/a é", b"2");
        let _before = server.take_log();
        let erase = |version: &Version| store.erase_if(&key("k/a é"), version).unwrap();
        assert!(erase(&old).is_conflict(), "{service}");
        assert_eq!(read(&*store, "k/a é").unwrap().0, b"2", "{service}");
        assert_eq!(erase(&now), ConditionalWrite::Done(None), "{service}");
        assert!(read(&*store, "k/a é").is_none(), "{service}");
        assert!(erase(&now).is_conflict(), "{service}");
        let log = server.take_log();
        let deletions = log.iter().filter(|one| one.method == "DELETE");
        let (checks, others): (Vec<&Request>, Vec<&Request>) =
            deletions.partition(|one| one.path.contains(CHECK));
        assert!(checks[0].header(header).is_some(), "{service}");
        assert_eq!(others.len(), 3, "{service}");
        assert!(others.iter().all(|one| one.path == "/bench/a/k/a é" && one.header(header).is_some()));
        // Without this header, Azure expects the protocol of 2009.
        assert!(service != "az" || others.iter().all(|one| one.header("x-ms-version").is_some()));
        assert_eq!(keys(&server), [""; 0], "{service}");
    }
}

#[test]
fn a_server_is_checked_once_for_each_bucket() {
    for (service, _) in SERVICES {
        let server = S3::start(Options::in_memory().logged()).unwrap();
        let first = at(service, &server, "a");
        let version = stored(&*first, "k", b"1");
        assert!(!first.erase_if(&key("k"), &version).unwrap().is_conflict());
        let second = at(service, &server, "b");
        let version = stored(&*second, "k", b"1");
        let _before = server.take_log();
        assert!(!second.erase_if(&key("k"), &version).unwrap().is_conflict());
        assert_eq!(server.take_log().len(), 1, "{service}");
    }
}

/// A server ignores the condition of a deletion, does not know it, or does not permit deletions.
#[test]
fn a_server_without_conditional_deletions_does_not_delete() {
    let refusing = |status| {
        Options::in_memory()
            .with_faults(move |asked| (asked.method == "DELETE").then_some(Fault::Refuse(status)))
    };
    for (service, _) in SERVICES {
        let refusals = [400, 401, 403, 405, 501].map(refusing);
        for options in refusals.into_iter().chain([Options::in_memory().ignoring_conditions()]) {
            let server = S3::start(options).unwrap();
            let store = at(service, &server, "");
            let version = stored(&*store, "k", b"1");
            for _ in 0..2 {
                let error = store.erase_if(&key("k"), &version).unwrap_err();
                let is_right = matches!(error, StoreError::NotSupported { quality: "not conditional", .. });
                assert!(is_right, "{service}: {error}");
                assert!(!store.capabilities().conditional_erase);
                assert!(!at(service, &server, "other").capabilities().conditional_erase);
            }
            assert!(store.capabilities().conditional_set);
            assert_eq!(keys(&server), ["k"], "{service}");
        }
    }
}

#[test]
fn a_deletion_whose_answer_is_lost_has_succeeded() {
    let lost = [Fault::ApplyAndRefuse(500), Fault::ApplyAndRefuse(503), Fault::ApplyAndClose];
    for (service, _) in SERVICES {
        for fault in lost {
            let server = failing([fault]);
            let store = at(service, &server, "");
            let version = stored(&*store, "k", b"1");
            let erased = store.erase_if(&key("k"), &version).unwrap();
            assert_eq!(erased, ConditionalWrite::Done(None), "{service}: {fault:?}");
            assert!(store.erase_if(&key("k"), &version).unwrap().is_conflict(), "{service}: {fault:?}");
        }
    }
}

/// Azure answers 412 for a missing object, others 404. The repetition is also refused if another program has replaced
/// the object.
#[test]
fn a_refused_repetition_has_succeeded_if_the_object_is_missing() {
    for (service, _) in SERVICES {
        let server = failing([Fault::ApplyAndClose, Fault::Refuse(412)]);
        let store = at(service, &server, "");
        let version = stored(&*store, "k", b"1");
        assert_eq!(store.erase_if(&key("k"), &version).unwrap(), ConditionalWrite::Done(None), "{service}");
        let server = failing([Fault::Close, Fault::Refuse(412)]);
        let store = at(service, &server, "");
        let version = stored(&*store, "k", b"1");
        assert!(store.erase_if(&key("k"), &version).unwrap().is_conflict(), "{service}");
        assert_eq!(read(&*store, "k").unwrap().0, b"1", "{service}");
    }
}

#[test]
fn a_deletion_that_fails_before_it_is_applied_is_repeated() {
    for (service, _) in SERVICES {
        for fault in [Fault::Refuse(503), Fault::Refuse(409), Fault::Close] {
            let server = failing([fault]);
            let store = at(service, &server, "");
            let version = stored(&*store, "k", b"1");
            assert!(!store.erase_if(&key("k"), &version).unwrap().is_conflict(), "{service}: {fault:?}");
            assert!(read(&*store, "k").is_none());
        }
    }
}

#[test]
fn a_deletion_that_is_not_permitted_is_an_error() {
    for (service, _) in SERVICES {
        let server = failing([Fault::Refuse(403)]);
        let store = at(service, &server, "");
        let version = stored(&*store, "k", b"1");
        let error = store.erase_if(&key("k"), &version).unwrap_err().to_string();
        assert!(error.contains("erasing") && error.contains("403"), "{service}: {error}");
        assert!(!store.erase_if(&key("k"), &version).unwrap().is_conflict(), "{service}");
    }
}
