//! The server through HTTP.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use zarr_loopback::{IN_FLIGHT, Options, Server, Traffic};

#[path = "it/client.rs"]
mod client;
#[path = "it/conditions.rs"]
mod conditions;
#[path = "it/faults.rs"]
mod faults;
#[path = "it/uploads.rs"]
mod uploads;

use client::Client;

/// Starts a store that does not wait, and returns its folder and the store.
fn store() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let store = Server::start(Options::of_folder(folder.path())).unwrap();
    (folder, store)
}

#[test]
fn a_value_is_stored_with_its_etag() {
    let (folder, store) = store();
    let mut client = Client::new(&store);
    let put = client.ask("PUT", "/bench/a%20b/c%2Bd", &[], b"value");
    assert_eq!(put.status, 200);
    assert_eq!(fs::read(folder.path().join("a b/c+d")).unwrap(), b"value");
    let got = client.get("/bench/a%20b/c+d");
    assert_eq!((got.status, &*got.body), (200, &b"value"[..]));
    assert_eq!(got.header("ETag"), put.header("ETag"));
    assert!(got.header("Last-Modified").ends_with(" GMT"));
    let head = client.ask("HEAD", "/bench/a%20b/c+d", &[], b"");
    assert_eq!((head.status, head.header("Content-Length")), (200, "5"));
    assert_eq!(client.ask("DELETE", "/bench/a%20b/c+d", &[], b"").status, 204);
    assert_eq!(client.ask("DELETE", "/bench/a%20b/c+d", &[], b"").status, 204);
    let gone = client.get("/bench/a%20b/c+d");
    assert_eq!(gone.status, 404);
    assert!(gone.text().contains("<Code>NoSuchKey</Code>"), "{}", gone.text());
    assert_eq!(client.get("/bench/a%20b").status, 404);
}

#[test]
fn ranges_follow_http() {
    let (folder, store) = store();
    fs::write(folder.path().join("k"), "0123456789").unwrap();
    let mut client = Client::new(&store);
    let mut ask = |range: &str| client.ask("GET", "/bench/k", &[&format!("Range: bytes={range}")], b"");
    for (range, wanted, place) in [
        ("2-4", "234", "bytes 2-4/10"),
        ("7-", "789", "bytes 7-9/10"),
        ("-3", "789", "bytes 7-9/10"),
        ("-99", "0123456789", "bytes 0-9/10"),
        ("8-99", "89", "bytes 8-9/10"),
    ] {
        let answer = ask(range);
        assert_eq!((answer.status, answer.text()), (206, wanted), "{range}");
        assert_eq!(answer.header("Content-Range"), place);
    }
    for range in ["10-12", "10-", "-0"] {
        let answer = ask(range);
        assert_eq!((answer.status, answer.header("Content-Range")), (416, "bytes */10"), "{range}");
        assert!(answer.text().contains("InvalidRange"));
    }
    // HTTP ignores invalid ranges, and S3 ignores several ranges: the answer is the whole value.
    for range in ["4-2", "x-1", "-", "0-1,4-5"] {
        let answer = ask(range);
        assert_eq!((answer.status, answer.body.len()), (200, 10), "{range}");
    }
}

#[test]
fn large_values_are_complete() {
    let (folder, store) = store();
    let value: Vec<u8> = (0..3 << 20).map(|number: u32| number.to_le_bytes()[1]).collect();
    fs::write(folder.path().join("k"), &value).unwrap();
    let mut client = Client::new(&store);
    assert!(client.get("/bench/k").body == value);
    let part = client.ask("GET", "/bench/k", &["Range: bytes=1000-1500000"], b"");
    assert!(part.body == value[1000..=1_500_000]);
}

#[test]
fn chunked_bodies_are_joined() {
    let (_folder, store) = store();
    let mut client = Client::new(&store);
    let framed =
        b"3;chunk-signature=ab\r\nabc\r\nA;chunk-signature=cd\r\n0123456789\r\n0;chunk-signature=ef\r\n\r\n";
    let signed = ["Content-Encoding: aws-chunked", "x-amz-decoded-content-length: 13"];
    assert_eq!(client.ask("PUT", "/bench/signed", &signed, framed).status, 200);
    assert_eq!(client.get("/bench/signed").body, b"abc0123456789");
    let with_trailer = b"3\r\nabc\r\n0\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n";
    let hash = ["x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER"];
    assert_eq!(client.ask("PUT", "/bench/trailer", &hash, with_trailer).status, 200);
    assert_eq!(client.get("/bench/trailer").body, b"abc");
    // The body is sent with `Expect: 100-continue` and the transfer coding `chunked`.
    let head = "PUT /bench/http HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n";
    client.0.get_mut().write_all(head.as_bytes()).unwrap();
    assert_eq!(client.answer(false).status, 100);
    client.0.get_mut().write_all(b"2\r\nxy\r\n0\r\n\r\n").unwrap();
    assert_eq!(client.answer(false).status, 200);
    assert_eq!(client.get("/bench/http").body, b"xy");
}

#[test]
fn listings_have_keys_or_prefixes_and_can_be_continued() {
    let (folder, store) = store();
    for key in ["a/zarr.json", "a/c/0/0", "a/c/0/1", "a-b", "ab", "x&y"] {
        let file = folder.path().join(key);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, key).unwrap();
    }
    fs::create_dir_all(folder.path().join("a/empty/folder")).unwrap();
    let mut client = Client::new(&store);
    let mut list = |query: &str| {
        let answer = client.get(&format!("/bench?list-type=2&{query}"));
        assert_eq!(answer.status, 200);
        let of = |element: &str| {
            let open = format!("<{element}>");
            let close = format!("</{element}>");
            let found = answer.text().split(&*open).skip(1);
            found.map(|rest| rest.split(&*close).next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let prefixes = of("CommonPrefixes").into_iter();
        let prefixes = prefixes.map(|text| text.replace("<Prefix>", "").replace("</Prefix>", ""));
        (of("Key"), prefixes.collect::<Vec<_>>(), of("NextContinuationToken"))
    };
    let all = ["a-b", "a/c/0/0", "a/c/0/1", "a/zarr.json", "ab", "x&amp;y"];
    assert_eq!(list("").0, all);
    assert_eq!(list("prefix=a%2F").0, ["a/c/0/0", "a/c/0/1", "a/zarr.json"]);
    assert_eq!(list("prefix=a/c/0/1").0, ["a/c/0/1"]);
    assert_eq!(list("prefix=none/"), (vec![], vec![], vec![]));
    assert_eq!(list("prefix=../"), (vec![], vec![], vec![]));
    let (keys, prefixes, _) = list("delimiter=%2F&prefix=a/");
    assert_eq!((keys, prefixes), (vec!["a/zarr.json".to_owned()], vec!["a/c/".to_owned()]));
    let (keys, prefixes, _) = list("delimiter=/&prefix=a");
    assert_eq!((keys, prefixes), (vec!["a-b".to_owned(), "ab".to_owned()], vec!["a/".to_owned()]));
    let (first, _, token) = list("max-keys=4");
    let (rest, _, none) = list(&format!("continuation-token={}", token[0]));
    assert_eq!(([first, rest].concat(), none), (all.map(str::to_owned).to_vec(), vec![]));
}

#[test]
fn many_keys_are_deleted_with_one_request() {
    let (folder, store) = store();
    for name in ["a", "b&c", "d"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let body = b"<Delete><Object><Key>a</Key></Object><Object><Key>b&amp;c</Key></Object>\
                 <Object><Key>none</Key></Object></Delete>";
    let answer = Client::new(&store).ask("POST", "/bench?delete", &[], body);
    assert_eq!((answer.status, answer.text().matches("<Deleted>").count()), (200, 3));
    assert!(!folder.path().join("a").exists() && !folder.path().join("b&c").exists());
    assert!(folder.path().join("d").exists());
}

#[test]
fn errors_have_the_codes_of_s3() {
    let (_folder, store) = store();
    let mut client = Client::new(&store);
    let mut code = |method: &str, target: &str| {
        let answer = client.ask(method, target, &[], b"");
        let code = answer.text().split("<Code>").nth(1).unwrap().split('<').next().unwrap().to_owned();
        (answer.status, code)
    };
    assert_eq!(code("GET", "/other/k"), (404, "NoSuchBucket".to_owned()));
    assert_eq!(code("GET", "/bench/k?versionId=2"), (501, "NotImplemented".to_owned()));
    assert_eq!(code("PUT", "/bench/k?partNumber=1&uploadId=2"), (404, "NoSuchUpload".to_owned()));
    assert_eq!(code("GET", "/bench/../k"), (400, "InvalidArgument".to_owned()));
    assert_eq!(code("GET", "/bench/%2e%2e/k"), (400, "InvalidArgument".to_owned()));
    assert_eq!(code("GET", "/bench/%zz"), (400, "InvalidRequest".to_owned()));
}

#[test]
fn requests_are_counted_and_wait_concurrently() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k"), "value").unwrap();
    let wait = Duration::from_millis(50);
    let store = Server::start(Options::of_folder(folder.path()).with_delay(wait)).unwrap();
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(Client::new(&store).get("/bench/k").body, b"value"));
        }
    });
    let took = start.elapsed();
    assert!(took >= wait, "{took:?}");
    let traffic = store.take_traffic();
    assert_eq!((traffic.requests, traffic.bytes), (8, 40));
    assert!((2..=8).contains(&traffic.most_at_once), "{traffic:?}");
    assert_eq!(store.take_traffic(), Traffic { requests: 0, most_at_once: 0, round_trips: 0, bytes: 0 });
}

#[test]
fn concurrent_requests_are_one_round_trip() {
    let store = Server::start(Options::in_memory().gathering(Duration::from_millis(200))).unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(Client::new(&store).get("/bench/k").status, 404));
        }
    });
    let mut client = Client::new(&store);
    for _ in 0..2 {
        assert_eq!(client.get("/bench/k").status, 404);
    }
    let traffic = store.take_traffic();
    assert_eq!((traffic.requests, traffic.round_trips), (10, 3));
    assert_eq!(store.take_traffic().round_trips, 0);
    // A group of the maximum size is answered without waiting for the pause.
    let store = Server::start(Options::in_memory().gathering(Duration::from_secs(600))).unwrap();
    thread::scope(|scope| {
        for _ in 0..IN_FLIGHT {
            scope.spawn(|| assert_eq!(Client::new(&store).get("/bench/k").status, 404));
        }
    });
    assert_eq!(store.take_traffic().round_trips, 1);
}

#[test]
fn numbered_keys_are_listed_in_pages() {
    let store = Server::start(Options::of_numbered_keys(2500)).unwrap();
    let mut client = Client::new(&store);
    let mut page = |query: &str| client.get(&format!("/bench?list-type=2&{query}")).text().to_owned();
    let first = page("");
    assert_eq!(first.matches("<Key>").count(), 1000);
    assert!(first.contains("<Key>c/0000000</Key>") && first.contains("<Key>c/0000999</Key>"), "{first}");
    assert!(first.contains("<NextContinuationToken>c/0000999</NextContinuationToken>"), "{first}");
    let last = page("continuation-token=c/0001999&prefix=c/");
    assert_eq!(last.matches("<Key>").count(), 500);
    assert!(last.contains("<IsTruncated>false</IsTruncated>"), "{last}");
    assert!(page("prefix=c/000200").contains("<KeyCount>10</KeyCount>"));
    assert!(page("delimiter=/").contains("<CommonPrefixes><Prefix>c/</Prefix></CommonPrefixes>"));
    assert_eq!(client.get("/bench/c/0002499").text(), "c/0002499");
    for key in ["c/0002500", "c/1", "c/000000x"] {
        assert_eq!(client.get(&format!("/bench/{key}")).status, 404, "{key}");
    }
    assert_eq!(client.ask("PUT", "/bench/c/0000001", &[], b"x").status, 500);
}
