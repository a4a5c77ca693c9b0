//! Requests and round trips over HTTP: an object store on this machine counts them.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{Key, Object};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, open_store};
use zarr_loopback::{BUCKET, IN_FLIGHT, Options, Request, Server};

/// The number of arrays in the root.
const ARRAYS: u64 = 2000;

/// The time in which a client sends requests that do not depend on each other.
const PAUSE: Duration = Duration::from_millis(150);

fn remote(server: &Server) -> Arc<dyn Store> {
    let url = format!("s3://{BUCKET}/data.zarr");
    let description =
        json!({"type": "s3", "url": url, "endpoint": server.endpoint(), "anonymous": true, "hedge": false});
    open_store(Context::linked().unwrap().registry(), &description.to_string()).unwrap()
}

/// Creates a hierarchy with many arrays in the root, and copies it to the server.
fn fill(server: &Server, format: Format, is_consolidated: bool) {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), "memory:").unwrap();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, format).unwrap();
    hierarchy.create_group("", Object::new()).unwrap();
    let array = ArrayBuilder::new([4], "uint8");
    let names: Vec<_> = (0..ARRAYS).map(|number| format!("/a{number:04}")).collect();
    let created = hierarchy.create_arrays(names.iter().map(|name| (name.as_str(), &array))).unwrap();
    assert_eq!(created.len() as u64, ARRAYS);
    if is_consolidated {
        hierarchy.consolidate("").unwrap();
    }
    copy(&*store, server);
}

fn copy(store: &dyn Store, server: &Server) {
    for key in store.list().unwrap() {
        let value = get_value(store, &key, 16 << 20).unwrap().unwrap();
        server.put(&format!("data.zarr/{key}"), value.to_vec()).unwrap();
    }
}

#[test]
fn two_thousand_arrays_open_in_two_round_trips_and_one_for_each_page() {
    let context = Context::linked().unwrap();
    for (format, documents_of_array, others) in [(Format::V3, 1, 4), (Format::V2, 3, 4 + 3)] {
        let server = Server::start(Options::in_memory().gathering(PAUSE)).unwrap();
        fill(&server, format, false);
        // The documents of the root are listed, too.
        let pages = (ARRAYS + 1).div_ceil(1000);
        let documents = ARRAYS * documents_of_array;
        // The client has at most `IN_FLIGHT` requests in flight, so the documents take several round trips.
        let most = 2 + pages + documents.div_ceil(IN_FLIGHT as u64) - 1;
        let (_root, arrays) = Hierarchy::open_with_arrays(remote(&server), &context).unwrap();
        assert_eq!(arrays.len() as u64, ARRAYS);
        let traffic = server.take_traffic();
        assert_eq!(traffic.requests, others + pages + documents, "{format}");
        assert!(traffic.round_trips <= most, "{format}: {traffic:?}, at most {most} round trips");
        assert_eq!(traffic.most_at_once, IN_FLIGHT as u64, "{format}");

        // The hierarchy and its arrays are opened in separate calls.
        let hierarchy = Hierarchy::open(remote(&server), &context).unwrap();
        assert_eq!(hierarchy.group("").unwrap().arrays().unwrap().len() as u64, ARRAYS);
        let traffic = server.take_traffic();
        assert!(traffic.round_trips <= most + 1, "{format}: {traffic:?}, at most {most} round trips");
    }
}

#[test]
fn consolidated_arrays_open_in_one_round_trip() {
    let context = Context::linked().unwrap();
    for format in [Format::V3, Format::V2] {
        let server = Server::start(Options::in_memory().gathering(PAUSE)).unwrap();
        fill(&server, format, true);
        let hierarchy = Hierarchy::open(remote(&server), &context).unwrap();
        assert_eq!(hierarchy.group("").unwrap().arrays().unwrap().len() as u64, ARRAYS);
        let traffic = server.take_traffic();
        assert_eq!((traffic.requests, traffic.round_trips), (4, 1), "{format}");
    }
}

/// The call does not wait for a listing that was requested together with the documents of the root.
#[test]
fn consolidated_metadata_are_used_before_the_listing_is_complete() {
    let context = Context::linked().unwrap();
    for format in [Format::V3, Format::V2] {
        let is_open = Arc::new((Mutex::new(false), Condvar::new()));
        let was_held = Arc::new(AtomicBool::new(false));
        let held = (Arc::clone(&is_open), Arc::clone(&was_held));
        let server = Server::start(Options::in_memory().with_faults(move |request| {
            if request.asked("list-type").is_some() {
                let (is_open, changed) = &*held.0;
                let is_open = is_open.lock().unwrap_or_else(PoisonError::into_inner);
                let waited =
                    changed.wait_timeout_while(is_open, Duration::from_secs(20), |is_open| !*is_open);
                held.1.store(waited.is_ok_and(|(_, timeout)| timeout.timed_out()), Ordering::Relaxed);
            }
            None
        }))
        .unwrap();
        fill(&server, format, true);
        let (_root, arrays) = Hierarchy::open_with_arrays(remote(&server), &context).unwrap();
        assert_eq!(arrays.len() as u64, ARRAYS);
        assert!(!was_held.load(Ordering::Relaxed), "{format}");
        *is_open.0.lock().unwrap() = true;
        is_open.1.notify_all();
    }
}

#[test]
fn created_arrays_take_one_request_each() {
    const NEW: u64 = 200;
    let context = Context::linked().unwrap();
    let array = ArrayBuilder::new([4], "uint8");
    let names: Vec<_> = (0..NEW).map(|number| format!("/a{number:04}")).collect();
    let new = || names.iter().map(|name| (name.as_str(), &array));
    // The first conditional write to a bucket takes requests to find out whether the server applies conditions.
    for (format, looks) in [(Format::V3, 0), (Format::V2, 2 + 1 + 1)] {
        let server = Server::start(Options::in_memory().logged()).unwrap();
        let hierarchy = Hierarchy::create(remote(&server), &context, format).unwrap();
        hierarchy.create_arrays(new()).unwrap();
        let log = server.take_log();
        let is_check = |request: &Request| {
            request.path.contains(".zarr-kit-check-") || request.asked("delete").is_some()
        };
        let requests = log.iter().filter(|request| !is_check(request)).count() as u64;
        // A listing shows that the bucket is empty. The group of the arrays is created, too.
        assert_eq!(requests, 1 + looks + 1 + NEW, "{format}");
        for request in log.iter().filter(|request| request.method == "PUT" && !is_check(request)) {
            assert_eq!(request.header("if-none-match"), Some("*"), "{format}: {request:?}");
        }
        let again = hierarchy.create_arrays(new()).unwrap_err();
        assert!(again.to_string().contains("already exists"), "{again}");
        let opened = Hierarchy::open(remote(&server), &context).unwrap();
        assert_eq!(opened.group("").unwrap().arrays().unwrap().len() as u64, NEW);
    }
}

/// Counts the requests that create one array in an existing group.
#[test]
fn an_array_is_created_in_few_requests() {
    let context = Context::linked().unwrap();
    // Reads the documents of two groups and a listing, then writes the document of the array. In v2, a group may have
    // two documents, and then consolidated metadata are looked for.
    for (format, requests, round_trips) in [(Format::V3, 2 + 1 + 1, 2), (Format::V2, 4 + 1 + 1 + 2, 3)] {
        let server = Server::start(Options::in_memory().gathering(PAUSE)).unwrap();
        let hierarchy = Hierarchy::create(remote(&server), &context, format).unwrap();
        hierarchy.create_group("/g", Object::new()).unwrap();
        let hierarchy = Hierarchy::open(remote(&server), &context).unwrap();
        let _before = server.take_traffic();
        drop(hierarchy.create_array("/g/a", &ArrayBuilder::new([4], "uint8")).unwrap());
        let traffic = server.take_traffic();
        assert_eq!((traffic.requests, traffic.round_trips), (requests, round_trips), "{format}");
        let key = if format == Format::V2 { "g/a/.zarray" } else { "g/a/zarr.json" };
        assert!(get_value(&*remote(&server), &Key::new(key).unwrap(), 10_000).unwrap().is_some());
    }
}

/// The variable with the URL of the server whose keys this program lists.
const LISTED: &str = "ZARR_KIT_LISTED";

/// The number of keys: a million in the long tests.
fn number_of_keys() -> usize {
    if std::env::var_os("ZARR_LONG").is_some() { 1_000_000 } else { 100_000 }
}

/// Returns the peak memory of this process in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The memory of a process is measured, so this program runs again with only this test.
#[test]
#[cfg(target_os = "linux")]
fn a_long_listing_takes_no_more_memory_than_a_short_one() {
    if let Ok(endpoint) = std::env::var(LISTED) {
        let url = format!("s3://{BUCKET}");
        let description =
            json!({"type": "s3", "url": url, "endpoint": endpoint, "anonymous": true, "hedge": false});
        let store = open_store(Context::linked().unwrap().registry(), &description.to_string()).unwrap();
        let mut keys = store.list_prefix(&zarr_kit::spec::Prefix::root()).unwrap();
        assert!(keys.by_ref().take(5000).all(|key| key.is_ok()));
        let before = peak();
        assert_eq!(keys.filter(Result::is_ok).count(), number_of_keys() - 5000);
        let more = peak() - before;
        // All keys together would take some 200 bytes each.
        assert!(more < 8 << 10, "{more} KiB more");
        return;
    }
    let server = Server::start(Options::of_numbered_keys(number_of_keys())).unwrap();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let name = "round_trips::a_long_listing_takes_no_more_memory_than_a_short_one";
    let output = command.args([name, "--exact"]).env(LISTED, server.endpoint()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert_eq!(server.take_traffic().requests, number_of_keys().div_ceil(1000) as u64);
}
