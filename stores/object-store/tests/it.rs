//! Remote stores: the rules for stores, and local servers that behave well or badly.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use object_store::memory::InMemory;
use tokio::runtime::Builder;
use zarr_conformance::stores::{check_rules, rule_names};
use zarr_loopback::{BUCKET, Options, Server as S3};
use zarr_spec::store::{
    Capabilities, Contents, Request, Response, Store, StoreConfiguration, StoreError, StorePlugin, get_value,
};
use zarr_spec::{ByteRange, Bytes, Key, Output, Prefix, inventory};
use zarr_store_object_store::RemoteStore;

#[path = "it/conditions.rs"]
mod conditions;
#[path = "it/credentials.rs"]
mod credentials;
#[path = "it/deletions.rs"]
mod deletions;
#[path = "it/failures.rs"]
mod failures;
#[path = "it/server.rs"]
mod server;
#[path = "it/uploads.rs"]
mod uploads;

use server::{Reply, Server, value};

fn described(description: &zarr_json::Value) -> Result<Arc<dyn Store>, String> {
    let description: Box<dyn StoreConfiguration> =
        zarr_json::from_value(description).map_err(|error| error.to_string())?;
    description.open(None).map_err(|error| error.to_string())
}

fn opened(url: &str) -> Result<Arc<dyn Store>, String> {
    let scheme = url.split(':').next().unwrap().to_ascii_lowercase();
    let plugins = inventory::iter::<StorePlugin>.into_iter();
    let plugin = plugins.clone().find(|plugin| plugin.schemes.contains(&scheme.as_str())).unwrap();
    (plugin.open)(url).map_err(|error| error.to_string())
}

/// Starts a server of S3 whose listings have small pages.
fn s3() -> S3 {
    S3::start(Options::in_memory().with_page(3).logged()).unwrap()
}

/// Returns the requests since the last call: method, path, range.
fn requested(server: &S3) -> Vec<String> {
    let line = |one: &zarr_loopback::Request| {
        format!("{} {} {}", one.method, one.path, one.header("range").unwrap_or_default())
    };
    server.take_log().iter().map(|one| line(one).trim_end().to_owned()).collect()
}

/// Returns the description of an S3 store on the server.
fn at_server(server: &S3, url: &str) -> zarr_json::Value {
    let endpoint = server.endpoint();
    zarr_spec::json!({"type": "s3", "url": url, "endpoint": endpoint, "anonymous": true})
}

/// Opens a store of the server's bucket below `prefix`.
fn bucket(server: &S3, prefix: &str) -> Arc<dyn Store> {
    described(&at_server(server, &format!("s3://{BUCKET}/{prefix}"))).unwrap()
}

fn in_memory() -> RemoteStore {
    RemoteStore::new(Arc::new(InMemory::new()), "objects://memory/a", "a").unwrap()
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn part(store: &dyn Store, name: &str, range: ByteRange) -> Result<Option<Response>, StoreError> {
    let mut output = Output::at_most(1000);
    Ok(store.get(&key(name), range.into(), &mut output)?.map(|got| got.into_response(output)))
}

fn refused<T>(result: Result<T, StoreError>) -> String {
    result.map(drop).unwrap_err().to_string()
}

fn holds(rules: &[&str]) {
    assert_eq!(check_rules(&|| Arc::new(in_memory()), rules), Ok(()));
}

/// Tests V3-STORE-03.
#[test]
fn every_rule_for_stores_holds() {
    holds(&rule_names().collect::<Vec<_>>());
}

zarr_conformance::test_rules! { holds;
    /// Tests V2-STORE-01, V2-STORE-02, V2-STORE-03, V3-STORE-01, V3-STORE-11.
    #[test]
    fn keys_of_all_formats_are_stored();

    /// Tests D3-STORE-10, D3-STORE-11, D3-STORE-12, D3-STORE-13, D3-STORE-14.
    #[test]
    fn values_and_parts_of_them_are_read();

    /// Tests D3-STORE-22, D3-STORE-23, D3-STORE-25, D3-STORE-26, D3-STORE-27.
    #[test]
    fn prefixes_are_erased_and_listed();
}

#[test]
fn every_rule_for_stores_holds_over_the_wire() {
    let count = AtomicUsize::new(0);
    let server = s3();
    let make = || bucket(&server, &format!("{}/é &<\">", count.fetch_add(1, Ordering::Relaxed)));
    assert_eq!(check_rules(&make, &rule_names().collect::<Vec<_>>()), Ok(()));
}

#[test]
fn a_store_works_and_is_dropped_inside_of_another_runtime() {
    let server = s3();
    for builder in [&mut Builder::new_current_thread(), &mut Builder::new_multi_thread()] {
        builder.build().unwrap().block_on(async {
            let store = bucket(&server, "");
            store.set(&key("k"), b"v".into()).unwrap();
            assert_eq!(get_value(&*store, &key("k"), 1).unwrap().unwrap(), b"v"[..]);
            let mut many = store.get_many(vec![Request::new(key("k"), ByteRange::Full, 1)], 1);
            assert_eq!(many.next().unwrap().1.unwrap().unwrap().bytes, b"v"[..]);
            drop(many);
            drop(store);
        });
    }
}

#[test]
fn every_character_of_a_key_arrives() {
    let server = Arc::new(s3());
    let files = Arc::clone(&server);
    let plain = Server::start(move |asked| match files.values().unwrap().get(&asked.path()[1..]) {
        Some(bytes) => value(asked, bytes),
        None => Reply::new(404, ""),
    });
    let store = bucket(&server, "p");
    let plain = opened(&format!("{}/p/", plain.url())).unwrap();
    let characters = (' '..='~').chain(['é', '\u{65e5}', '\u{1f980}', '\u{feff}']).filter(|one| *one != '/');
    let mut names: Vec<String> = characters.map(|one| format!("a{one}b/{one}{one}{one}")).collect();
    names.extend(["%2e%2e/%2F", "a%20b", "...", "a/.b", "+", "~", "e\u{301}"].map(str::to_owned));
    for name in &names {
        store.set(&key(name), name.as_bytes().into()).unwrap();
        assert!(server.values().unwrap().contains_key(&format!("p/{name}")), "{name}");
        for store in [&store, &plain] {
            assert_eq!(get_value(&**store, &key(name), 100).unwrap().unwrap(), name.as_bytes(), "{name}");
            assert_eq!(store.size(&key(name)).unwrap(), Some(name.len() as u64), "{name}");
        }
    }
    names.sort();
    let listed: Vec<_> = store.list().unwrap().iter().map(Key::to_string).collect();
    assert_eq!(listed, names);
    store.erase_prefix(&Prefix::root()).unwrap();
    assert!(server.values().unwrap().is_empty());
}

#[test]
fn parts_take_one_request_and_are_empty_after_the_end() {
    let server = s3();
    server.put("v", "0123456789").unwrap();
    server.put("none", "").unwrap();
    let store = bucket(&server, "");
    assert_eq!(requested(&server), [""; 0]);
    for (range, expected, asked) in [
        (ByteRange::Full, "0123456789", "GET /bench/v"),
        (ByteRange::From(7), "789", "GET /bench/v bytes=7-"),
        (ByteRange::Range { offset: 8, size: 5 }, "89", "GET /bench/v bytes=8-12"),
        (ByteRange::Range { offset: 1, size: u64::MAX }, "123456789", "GET /bench/v bytes=1-"),
        (ByteRange::Range { offset: 1, size: 0 }, "", "HEAD /bench/v"),
        (ByteRange::Range { offset: 10, size: 1 }, "", "GET /bench/v bytes=10-10"),
        (ByteRange::From(11), "", "GET /bench/v bytes=11-"),
        (ByteRange::Last(3), "789", "GET /bench/v bytes=-3"),
        (ByteRange::Last(11), "0123456789", "GET /bench/v bytes=-11"),
        (ByteRange::Last(0), "", "HEAD /bench/v"),
    ] {
        let fetched = part(&*store, "v", range).unwrap().unwrap();
        assert_eq!((fetched.bytes, fetched.size), (Bytes::from(expected), 10), "{range:?}");
        assert_eq!(requested(&server), [asked], "{range:?}");
    }
    for range in [ByteRange::Full, ByteRange::From(0), ByteRange::From(1), ByteRange::Last(1)] {
        assert_eq!(part(&*store, "none", range).unwrap().unwrap().size, 0, "{range:?}");
        assert_eq!(part(&*store, "missing", range).unwrap(), None, "{range:?}");
    }
    let version = |name| part(&*store, name, ByteRange::Full).unwrap().unwrap().version.unwrap();
    assert_ne!(version("v"), version("none"));
    assert_eq!(version("v"), part(&*store, "v", ByteRange::Last(1)).unwrap().unwrap().version.unwrap());
}

#[test]
fn a_server_without_ranges_is_read_from_the_start() {
    let whole = Server::start(|_| Reply::new(200, "0123456789"));
    let not_from_the_end =
        Server::start(|asked| match asked.range().is_some_and(|range| range.contains("=-")) {
            true => Reply::new(200, "0123456789"),
            false => value(asked, b"0123456789"),
        });
    for (server, asked) in [
        (&whole, ["GET / bytes=-3", "HEAD / ", "GET / bytes=7-9", "GET / "].map(str::trim).as_slice()),
        (&not_from_the_end, ["GET / bytes=-3", "HEAD / ", "GET / bytes=7-9"].map(str::trim).as_slice()),
    ] {
        let store = opened(&server.url()).unwrap();
        let last = || part(&*store, "v", ByteRange::Last(3)).unwrap().unwrap();
        assert_eq!((last().bytes, last().size), (Bytes::from("789"), 10));
        let range = ByteRange::Range { offset: 2, size: 4 };
        assert_eq!(part(&*store, "v", range).unwrap().unwrap().bytes, "2345");
        assert_eq!(part(&*store, "v", ByteRange::From(20)).unwrap().unwrap().bytes, "");
        let seen: Vec<_> = server.take().iter().map(|line| line.replace("/v", "/")).collect();
        assert_eq!(seen[..asked.len()], *asked);
        assert_eq!(store.capabilities(), Capabilities::READ_ONLY.unlistable());
        assert!(refused(store.set(&key("v"), b"".into())).ends_with("is not writeable"));
        assert!(refused(store.list()).ends_with("is not listable"));
        assert!(refused(store.erase(&key("v"))).ends_with("is not erasable"));
    }
    // The store has learned that the server does not support ranges, so it does not ask again.
    assert_eq!(whole.take(), [""; 0]);
}

#[test]
fn a_value_that_is_too_large_is_refused_before_it_is_read() {
    let server = Server::start(|_| {
        Reply { cut: Some(10), ..Reply::new(200, vec![1; 100]) }
            .with("content-length", (1u64 << 50).to_string())
    });
    let store = opened(&server.url()).unwrap();
    let result = get_value(&*store, &key("v"), 1 << 20);
    assert!(matches!(result, Err(StoreError::TooLarge { .. })), "{result:?}");
    // The store does not allocate what a server only declares.
    let error = refused(get_value(&*store, &key("v"), usize::MAX));
    assert!(error.starts_with(&format!("reading `{}/v`: ", server.url())), "{error}");
}

#[test]
fn errors_describe_what_the_server_did_wrong() {
    let wrong_range = |asked: &server::Asked| match asked.range() {
        Some(_) => Reply::new(206, "abc").with("content-range", "bytes 5-7/10"),
        None => Reply::new(200, "0123456789"),
    };
    for (name, reply, said) in [
        ("cut off", Reply { cut: Some(4), ..Reply::new(200, "0123456789") }, "end of file"),
        (
            "forbidden",
            Reply::error(403, "AccessDenied"),
            "AccessDenied: so AccessDenied (attempt 1); S3 also answers this for a missing key",
        ),
        ("unauthorized", Reply::new(401, "who?"), "who?"),
        ("a method", Reply::new(405, ""), "405"),
        ("teapot", Reply::new(418, "<html>I am a teapot</html>"), "418"),
        (
            "moved",
            Reply::new(301, "").with("x-amz-bucket-region", "eu-west-1"),
            "in region eu-west-1; set AWS_REGION",
        ),
        ("no length", Reply::new(200, "x").with("content-length", "x"), "http://127.0.0.1"),
    ] {
        let server = Server::start(move |_| reply.clone());
        let store = opened(&server.url()).unwrap();
        let error = refused(get_value(&*store, &key("v"), 100));
        assert!(error.contains(said) && error.contains(&server.url()), "{name}: {error}");
        assert!(error.contains("/v") && error.contains("(attempt "), "{name}: {error}");
        let many: Vec<_> = store.get_many(vec![Request::new(key("v"), ByteRange::Full, 100)], 1).collect();
        assert!(many.len() == 1 && many[0].1.is_err(), "{name}: {many:?}");
        if name != "cut off" && name != "no length" {
            assert!(store.size(&key("v")).is_err(), "{name}");
        }
    }
    let server = Server::start(wrong_range);
    let store = opened(&server.url()).unwrap();
    let error = refused(part(&*store, "v", ByteRange::Range { offset: 1, size: 3 }));
    assert!(error.contains("Requested 1..4, got 5..8"), "{error}");
}

#[test]
fn a_missing_server_is_an_error_within_seconds() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let begun = Instant::now();
    let url = format!("http://127.0.0.1:{port}/data");
    let store = opened(&url).unwrap();
    let error = refused(get_value(&*store, &key("v"), 100));
    assert!(error.contains("efused") && error.contains(&format!("reading `{url}/v`")), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn a_missing_bucket_is_not_a_missing_key() {
    let server = s3();
    let description = |bucket: &str| at_server(&server, &format!("s3://{bucket}/a"));
    let store = described(&description("other")).unwrap();
    for error in [
        refused(store.size(&key("v"))),
        refused(get_value(&*store, &key("v"), 100)),
        refused(part(&*store, "v", ByteRange::Last(1))),
        refused(store.set(&key("v"), b"v".into())),
        refused(store.list()),
        refused(store.list_dir(&Prefix::root())),
        refused(store.erase(&key("v"))),
    ] {
        assert!(error.contains("NoSuchBucket") && error.contains("`s3://other/a"), "{error}");
    }
    let store = described(&description(BUCKET)).unwrap();
    assert_eq!((store.size(&key("v")).unwrap(), store.list().unwrap()), (None, Vec::new()));
    store.erase(&key("v")).unwrap();
}

#[test]
fn objects_that_represent_folders_are_not_values() {
    let server = s3();
    for name in ["a/", "a/b/", "a/b/v", "a/e", "a/none/", "ab"] {
        server.put(name, "").unwrap();
    }
    let store = bucket(&server, "a");
    assert_eq!(store.list().unwrap(), [key("b/v"), key("e")]);
    let directory = store.list_dir(&Prefix::root()).unwrap();
    assert_eq!(directory.keys, [key("e")]);
    assert_eq!(directory.prefixes, [Prefix::new("b/").unwrap(), Prefix::new("none/").unwrap()]);
}

fn requests(count: usize, expected: usize) -> Vec<Request> {
    let request = |number: usize| {
        Request::new(key(&number.to_string()), ByteRange::Full, 100).with_expected_size(expected)
    };
    (0..count).map(request).collect()
}

/// Opens a store that sends each request once, however late its answer is.
fn without_hedge(server: &Server) -> Arc<dyn Store> {
    described(&zarr_spec::json!({"type": "http", "url": server.url(), "hedge": false})).unwrap()
}

/// Returns a server that answers requests for lower keys later.
fn slow(delay: Duration) -> Server {
    Server::start(move |asked| {
        let path = asked.path();
        let number: u32 = path[1..].parse().unwrap();
        let wait = if number == 0 { delay * 10 } else { delay };
        match number % 10 {
            9 => Reply { wait, ..Reply::new(404, "") },
            _ => Reply { wait, ..Reply::new(200, path[1..].to_owned()) },
        }
    })
}

#[test]
fn concurrent_requests_are_returned_as_they_complete() {
    let server = slow(Duration::from_millis(30));
    let store = without_hedge(&server);
    let deliveries: Vec<_> = store.get_many(requests(200, 1), 1 << 20).collect();
    assert!((32..=128).contains(&server.most()), "{}", server.most());
    assert_ne!(deliveries.first().unwrap().0, 0);
    let delivered: BTreeMap<_, _> = deliveries.into_iter().collect();
    assert_eq!(delivered.len(), 200);
    for (number, fetched) in delivered {
        match fetched.unwrap() {
            Some(fetched) => assert_eq!(fetched.bytes, number.to_string()),
            None => assert_eq!(number % 10, 9),
        }
    }
}

/// Returns a server whose responses have `size` bytes.
fn of_size(size: usize) -> Server {
    Server::start(move |_| Reply::new(200, vec![7; size]))
}

#[test]
fn fetched_bytes_stay_within_the_budget() {
    let server = of_size(100);
    let store = opened(&server.url()).unwrap();
    let mut deliveries = store.get_many(requests(50, 100), 399);
    assert!(deliveries.next().unwrap().1.is_ok());
    std::thread::sleep(Duration::from_millis(300));
    // One response was taken; three have arrived or are in flight.
    assert_eq!(server.take().len(), 4);
    assert!(deliveries.next().unwrap().1.is_ok());
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.take().len(), 1);
    // A response larger than the budget is fetched alone.
    assert_eq!(store.get_many(requests(5, 1000), 399).count(), 5);
}

/// Waits until `is_done` returns true, but at most 20 seconds.
fn wait_until(mut is_done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_done() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The store sends more requests if responses are smaller than expected, because chunks are compressed.
#[test]
fn smaller_responses_than_expected_allow_more_requests() {
    let server = of_size(10);
    let store = opened(&server.url()).unwrap();
    let mut deliveries = store.get_many(requests(200, 4 << 20), 40 << 20);
    let taken = deliveries.by_ref().take(20).filter(|(_, answer)| answer.is_ok());
    assert_eq!(taken.count(), 20);
    let mut asked = 0;
    wait_until(|| {
        asked += server.take().len();
        asked >= 20 + 30
    });
    assert!((20 + 30..=20 + 64).contains(&asked), "{asked}");
    assert_eq!(deliveries.count(), 180);
}

/// The responses exceed the buffers of a connection, so the server writes a response only while its body is read.
#[test]
fn larger_responses_than_expected_wait_for_the_budget() {
    const SIZE: usize = 12 << 20;
    let server = of_size(SIZE);
    let store = opened(&server.url()).unwrap();
    let request = |number: usize| {
        let request = Request::new(key(&number.to_string()), ByteRange::Full, SIZE);
        request.with_expected_size(0)
    };
    let mut deliveries = store.get_many((0..4).map(request).collect(), SIZE);
    assert!(deliveries.next().unwrap().1.is_ok());
    wait_until(|| server.unanswered() >= 2);
    std::thread::sleep(Duration::from_millis(300));
    // One response was taken, and one may have arrived.
    assert!(server.unanswered() >= 2, "{}", server.unanswered());
    let sizes: Vec<_> = deliveries.map(|(_, answer)| answer.unwrap().unwrap().bytes.len()).collect();
    assert_eq!(sizes, [SIZE; 3]);
}

#[test]
fn dropping_the_responses_aborts_the_requests() {
    let server = slow(Duration::from_millis(20));
    let store = without_hedge(&server);
    let mut deliveries = store.get_many(requests(1000, 1), usize::MAX);
    assert!(deliveries.next().unwrap().1.is_ok());
    drop(deliveries);
    std::thread::sleep(Duration::from_millis(200));
    assert!(server.take().len() < 200);
    assert_eq!(get_value(&*store, &key("5"), 10).unwrap().unwrap(), b"5"[..]);
}

#[test]
fn responses_in_one_piece_are_shared() {
    let store = RemoteStore::new(Arc::new(InMemory::new()), "objects://memory", "").unwrap();
    store.set(&key("v"), (&[7; 1000]).into()).unwrap();
    let mut output = Output::at_most(1000);
    let pointers = [0, 1].map(|_| {
        match store.get(&key("v"), ByteRange::Full.into(), &mut output).unwrap().unwrap().contents {
            Contents::Shared(bytes) => bytes.as_ptr() as usize,
            Contents::Written => panic!("the bytes were copied"),
        }
    });
    assert_eq!(pointers[0], pointers[1]);
}

#[test]
fn errors_of_invalid_urls_and_descriptions_name_the_reason() {
    for (url, said) in [
        ("s3://", "the bucket is missing; expected `s3://BUCKET/PREFIX`"),
        ("s3:/bucket", "`//` is missing after the scheme"),
        ("s3://a b/c", "the name of a bucket cannot contain ' '"),
        ("s3://user@bucket/c", "the name of a bucket cannot contain '@'"),
        ("s3://bucket/a//b", "it contains an empty segment"),
        ("s3://bucket/../b", "the segment `..` is not allowed"),
        ("gs://", "the bucket is missing; expected `gs://BUCKET/PREFIX`"),
        ("az://container/a", "the account is missing: AZURE_STORAGE_ACCOUNT_NAME"),
        ("abfs://container@nowhere/a", "abfs"),
        ("http:", "expected `https://HOST/PATH`"),
        ("http:///a", "the host is missing"),
        ("https://user:secret@host/a", "`https://host/a`: the URL contains a user or a password"),
        ("https://host/a?sig=secret", "`https://host/a`: the URL has a query or a fragment"),
        ("https://[::1", "https://[::1"),
    ] {
        let error = opened(url).unwrap_err();
        assert!(error.contains(said) && !error.contains("secret"), "{url}: {error}");
    }
    for (url, location) in [
        ("S3://Bucket/a b/c%20d/", "s3://Bucket/a b/c%20d"),
        ("s3a://bucket", "s3://bucket"),
        ("gs://bucket/a", "gs://bucket/a"),
        (
            "abfs://container@account.dfs.core.windows.net/a",
            "abfs://container@account.dfs.core.windows.net/a",
        ),
        ("https://host/a%20b//", "https://host/a%20b"),
    ] {
        assert_eq!(opened(url).unwrap().location(), location);
    }
    let wrong = |description: &zarr_json::Value| described(description).unwrap_err();
    assert!(wrong(&zarr_spec::json!({"type": "s3", "url": "s3://b", "key": "secret"})).contains("`key`"));
    assert!(wrong(&zarr_spec::json!({"type": "s3"})).contains("`url`"));
    assert!(wrong(&zarr_spec::json!({"type": "http", "url": "ftp://a"})).contains("`ftp://a`"));
    let endpoint = zarr_spec::json!({"type": "s3", "url": "s3://b", "endpoint": "ftp://a"});
    let empty = zarr_spec::json!({"type": "gs", "url": "gs://b", "endpoint": ""});
    assert!(wrong(&empty).contains("endpoint ``: expected"));
    let nonsense = zarr_spec::json!({"type": "s3", "url": "s3://b", "endpoint": "http://1.2.3.4.5"});
    assert!(wrong(&nonsense).contains("endpoint `http://1.2.3.4.5`"));
    assert!(wrong(&endpoint).contains("expected a URL that begins with `https://`"));
}

#[test]
fn many_threads_wait_at_the_same_time() {
    let server = slow(Duration::from_millis(50));
    let seen = Mutex::new(0);
    let store = opened(&server.url()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                get_value(&*store, &key("5"), 10).unwrap().unwrap();
                *seen.lock().unwrap() += 1;
            });
        }
    });
    assert_eq!((*seen.lock().unwrap(), server.most() > 1), (8, true));
}
