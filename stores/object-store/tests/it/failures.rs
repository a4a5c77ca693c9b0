//! Servers that fail, are busy or redirect.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use zarr_loopback::{Fault, Options, Request, Server as S3};
use zarr_spec::store::{Condition, get_value};

use super::server::{Reply, Server, value};
use super::{bucket, described, key, opened, refused, requests};

/// Checks that an error names the host, the key and the attempt, and contains these texts.
#[track_caller]
fn names(error: &str, url: &str, key: &str, attempt: usize, parts: &[&str]) {
    let host = url.strip_prefix("http://").unwrap();
    let attempt = format!("attempt {attempt})");
    for part in [host, key, &attempt].iter().chain(parts) {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}

#[test]
fn failed_requests_are_repeated() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |asked| match count.fetch_add(1, Ordering::Relaxed) {
        0 | 2 => Reply::new(500, ""),
        4 => Reply { cut: Some(3), ..value(asked, b"0123456789") },
        _ => value(asked, b"0123456789"),
    });
    let store = opened(&server.url()).unwrap();
    for _ in 0..3 {
        assert_eq!(get_value(&*store, &key("v"), 100).unwrap().unwrap(), b"0123456789"[..]);
    }
    assert_eq!(server.take().len(), 6);
}

#[test]
fn a_server_that_fails_every_second_time_is_read_to_the_end() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |asked| match count.fetch_add(1, Ordering::Relaxed) % 2 {
        0 => Reply::error(503, "SlowDown"),
        _ => value(asked, b"0123456789"),
    });
    let store = opened(&server.url()).unwrap();
    let many: Vec<_> = store.get_many(requests(64, 10), 640).collect();
    assert_eq!(many.len(), 64);
    for (number, got) in many {
        assert_eq!(got.unwrap().unwrap().bytes, b"0123456789"[..], "{number}");
    }
}

#[test]
fn the_pause_that_the_server_requests_is_observed() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |asked| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::new(429, "").with("retry-after", "1"),
        _ => value(asked, b"v"),
    });
    let store = opened(&server.url()).unwrap();
    let begun = Instant::now();
    assert_eq!(get_value(&*store, &key("v"), 1).unwrap().unwrap(), b"v"[..]);
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(server.take().len(), 2);
}

#[test]
fn a_pause_that_is_longer_than_the_retries_is_an_error() {
    let server = Server::start(|_| Reply::new(503, "").with("retry-after", "120"));
    let error = refused(get_value(&*opened(&server.url()).unwrap(), &key("v"), 1));
    names(&error, &server.url(), "/v", 1, &["answers 503 and asks for a pause of 120 seconds"]);
    assert_eq!(server.take().len(), 1);
}

/// Redirects `/0` to `/1` and so on; `/5` has a value.
fn redirecting(target: impl Fn(usize) -> String + Send + Sync + 'static) -> Server {
    Server::start(move |asked| match asked.path()[1..].parse::<usize>().unwrap() {
        5 => value(asked, b"found"),
        number => Reply::new(302, "").with("location", target(number + 1)),
    })
}

#[test]
fn five_redirects_are_followed_and_the_sixth_is_an_error() {
    let server = redirecting(|next| format!("/{next}"));
    let store = opened(&server.url()).unwrap();
    assert_eq!(get_value(&*store, &key("0"), 5).unwrap().unwrap(), b"found"[..]);
    assert_eq!(server.take().len(), 6);
    let circle = Server::start(|_| Reply::new(307, "").with("location", "/"));
    let error = refused(get_value(&*opened(&circle.url()).unwrap(), &key("0"), 5));
    names(&error, &circle.url(), "/0", 1, &["redirects more than 5 times"]);
    assert_eq!(circle.take().len(), 6);
}

#[test]
fn redirects_are_followed_as_the_option_allows() {
    let server = redirecting(|next| format!("/{next}"));
    let target = server.url().replace("127.0.0.1", "localhost");
    let other = Server::start(move |_| Reply::new(302, "").with("location", format!("{target}/5")));
    for (redirects, same, elsewhere) in [
        ("any", "found", "found"),
        ("same-host", "found", "which is another host"),
        ("none", "`none`", "`none`"),
    ] {
        for (server, expected) in [(&server, same), (&other, elsewhere)] {
            let url = server.url();
            let url = url.as_str();
            let description = zarr_spec::json!({"type": "http", "url": url, "redirects": redirects});
            let read = get_value(&*described(&description).unwrap(), &key("4"), 5);
            let outcome = match read {
                Ok(value) => String::from_utf8(value.unwrap().to_vec()).unwrap(),
                Err(error) => error.to_string(),
            };
            assert!(outcome.contains(expected), "{redirects}: {outcome}");
        }
    }
}

/// Opens a store on the server. It repeats failed requests for at most one second.
fn impatient(server: &Server) -> std::sync::Arc<dyn zarr_spec::store::Store> {
    let url = server.url();
    let url = url.as_str();
    described(&zarr_spec::json!({"type": "http", "url": url, "retry-seconds": 1})).unwrap()
}

#[test]
fn a_server_that_always_fails_is_an_error_after_the_deadline() {
    for status in [500, 503, 429, 408] {
        let server = Server::start(move |_| Reply::error(status, "SlowDown"));
        let begun = Instant::now();
        let error = refused(get_value(&*impatient(&server), &key("a/v"), 100));
        assert!(begun.elapsed() < Duration::from_secs(8), "{status}: {:?}", begun.elapsed());
        let attempts = server.take().len();
        assert!((2..=20).contains(&attempts), "{status}: {attempts}");
        // The error has the host, the key and the number of attempts.
        let retries = format!("after {} retries", attempts - 1);
        names(&error, &server.url(), "a/v", attempts, &[&retries, &status.to_string()]);
    }
}

/// The store repeats requests at random times: a server would refuse them again if they came together.
#[test]
fn repetitions_are_spread_in_time() {
    let begun = Instant::now();
    let times = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&times);
    let count = AtomicUsize::new(0);
    let server = Server::start(move |asked| {
        if count.fetch_add(1, Ordering::Relaxed) < 32 {
            return Reply::error(503, "SlowDown");
        }
        seen.lock().unwrap().push(begun.elapsed());
        value(asked, b"0123456789")
    });
    let store = opened(&server.url()).unwrap();
    let all = store.get_many(requests(32, 10), 1 << 20).filter(|(_, got)| got.is_ok());
    assert_eq!(all.count(), 32);
    let times = times.lock().unwrap();
    let first = times.iter().min().unwrap();
    let last = times.iter().max().unwrap();
    assert!(*last - *first >= Duration::from_millis(20), "{times:?}");
}

#[test]
fn an_endless_answer_ends_with_an_error() {
    // The message of an error that never ends is cut off.
    let endless = |status: u16| {
        move |_: &super::server::Asked| Reply {
            cut: Some(80 << 20),
            ..Reply::new(status, vec![b'x'; 80 << 20]).with("content-length", (1u64 << 50).to_string())
        }
    };
    let server = Server::start(endless(403));
    let error = refused(get_value(&*impatient(&server), &key("v"), 100));
    names(&error, &server.url(), "/v", 1, &["403"]);
    assert!(error.len() < 2000, "{} bytes: {error:.500}", error.len());
    let listing = Server::start(endless(200));
    let url = listing.url();
    let endpoint = url.as_str();
    let description = zarr_spec::json!({
        "type": "s3", "url": "s3://b", "endpoint": endpoint, "anonymous": true, "retry-seconds": 1,
    });
    let error = refused(described(&description).unwrap().list());
    names(&error, endpoint, "s3://b", 1, &["the response has more than 67108864 bytes"]);
    assert_eq!(listing.take().len(), 1);
}

/// The server sends chunks of a value without declaring its length, and never ends.
#[test]
fn an_endless_value_in_chunks_ends_with_an_error() {
    let server = Server::start(|_| Reply {
        endless: true,
        ..Reply::new(200, "").with("transfer-encoding", "chunked").with("etag", "\"e\"")
    });
    let begun = Instant::now();
    let error = refused(get_value(&*impatient(&server), &key("v"), 1 << 20));
    let attempts = server.take().len();
    names(&error, &server.url(), "/v", attempts, &[]);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

/// The bytes behind the declared end are not part of the value, and the next request does not read them.
#[test]
fn a_body_that_is_longer_than_declared_is_cut_off() {
    let server = Server::start(|asked| {
        let mut reply = value(asked, b"0123456789");
        reply.headers.push(("content-length", reply.body.len().to_string()));
        reply.body.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbad");
        reply
    });
    let store = opened(&server.url()).unwrap();
    for _ in 0..3 {
        assert_eq!(get_value(&*store, &key("v"), 100).unwrap().unwrap(), b"0123456789"[..]);
    }
}

/// Starts a server of S3 that refuses this number of writes before it accepts one.
fn storm(status: u16, refusals: usize) -> S3 {
    let count = AtomicUsize::new(0);
    let faults = move |asked: &Request| {
        let is_refused = asked.method == "PUT" && count.fetch_add(1, Ordering::Relaxed) < refusals;
        is_refused.then_some(Fault::Refuse(status))
    };
    S3::start(Options::in_memory().with_faults(faults).logged()).unwrap()
}

#[test]
fn writes_succeed_after_a_storm_of_refusals() {
    for status in [429, 503] {
        let server = storm(status, 20);
        let store = bucket(&server, "");
        std::thread::scope(|scope| {
            for number in 0..16 {
                let store = &store;
                scope.spawn(move || store.set(&key(&format!("k{number}")), b"v".into()).unwrap());
            }
        });
        assert_eq!(server.values().unwrap().len(), 16, "{status}");
        let attempts = server.take_log().len();
        assert_eq!(attempts, 16 + 20, "{status}");
    }
}

#[test]
fn a_storm_without_an_end_is_an_error_and_writes_nothing() {
    for (status, code) in [(429, "TooManyRequests"), (503, "SlowDown")] {
        let server = storm(status, usize::MAX);
        let endpoint = server.endpoint();
        let description = zarr_spec::json!({
            "type": "s3", "url": "s3://bench/", "endpoint": endpoint, "anonymous": true, "retry-seconds": 1,
        });
        let store = described(&description).unwrap();
        let error = refused(store.set(&key("a/k"), b"v".into()));
        let attempts = server.take_log().len();
        names(&error, server.endpoint(), "a/k", attempts, &[code]);
        assert!(server.values().unwrap().is_empty());
        // The first conditional write checks with other keys whether the server applies conditions.
        let error = refused(store.set_if(&key("a/k"), b"v".into(), &Condition::Missing));
        let host = server.endpoint().strip_prefix("http://").unwrap();
        for part in [code, host, "/.zarr-kit-check-", "attempt "] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(server.values().unwrap().is_empty());
    }
}

#[test]
fn a_conditional_write_that_is_always_refused_is_an_error_and_writes_nothing() {
    for (status, code) in [(429, "TooManyRequests"), (503, "SlowDown")] {
        let faults = move |asked: &Request| {
            (asked.method == "PUT" && asked.path.ends_with("/k")).then_some(Fault::Refuse(status))
        };
        let server = S3::start(Options::in_memory().with_faults(faults).logged()).unwrap();
        let endpoint = server.endpoint();
        let description = zarr_spec::json!({
            "type": "s3", "url": "s3://bench/", "endpoint": endpoint, "anonymous": true, "retry-seconds": 1,
        });
        let store = described(&description).unwrap();
        let error = refused(store.set_if(&key("a/k"), b"v".into(), &Condition::Missing));
        let attempts = server.take_log().iter().filter(|asked| asked.path.ends_with("/k")).count();
        names(&error, endpoint, "a/k", attempts, &[code]);
        assert!(attempts > 1 && server.values().unwrap().is_empty());
    }
}

/// The second page of a listing fails.
#[test]
fn a_listing_whose_second_page_fails_is_an_error() {
    let faults = |asked: &Request| asked.asked("continuation-token").map(|_| Fault::Refuse(503));
    let server = S3::start(Options::in_memory().with_page(3).with_faults(faults).logged()).unwrap();
    let endpoint = server.endpoint();
    let description = zarr_spec::json!({
        "type": "s3", "url": "s3://bench/", "endpoint": endpoint, "anonymous": true, "retry-seconds": 1,
    });
    let store = described(&description).unwrap();
    for number in 0..10 {
        store.set(&key(&format!("k{number}")), b"v".into()).unwrap();
    }
    let _writes = server.take_log();
    let error = refused(store.list());
    // The attempts of the second page do not include the first one.
    let attempts = server.take_log().len() - 1;
    names(&error, endpoint, "s3://bench", attempts, &["SlowDown"]);
    assert!(attempts > 1);
}

/// S3 answers `409 ConditionalRequestConflict` if another request changes the object at the same time. The write is made
/// again, and succeeds or meets its condition.
#[test]
fn a_conditional_write_is_repeated_after_a_conflict_with_another_request() {
    for refusals in [1, 3] {
        let count = AtomicUsize::new(0);
        let faults = move |asked: &Request| {
            let is_refused = asked.method == "PUT"
                && asked.path.ends_with("/k")
                && count.fetch_add(1, Ordering::Relaxed) < refusals;
            is_refused.then_some(Fault::Refuse(409))
        };
        let server = S3::start(Options::in_memory().with_faults(faults).logged()).unwrap();
        let store = bucket(&server, "");
        assert!(!store.set_if(&key("k"), b"v".into(), &Condition::Missing).unwrap().is_conflict());
        assert_eq!(server.values().unwrap()["k"], b"v");
        assert!(store.set_if(&key("k"), b"w".into(), &Condition::Missing).unwrap().is_conflict());
    }
}

#[test]
fn a_clock_that_differs_is_named() {
    let server = Server::start(|_| {
        Reply::error(403, "RequestTimeTooSkewed").with("date", "Fri, 31 Dec 1999 23:59:59 GMT")
    });
    let error = refused(get_value(&*impatient(&server), &key("v"), 100));
    let clock = "the clock of this machine differs from that of the server by ";
    names(&error, &server.url(), "/v", 1, &[clock]);
    assert_eq!(server.take().len(), 1);
}

/// The store waits for a date by the clock of the server, which is years behind in this test.
#[test]
fn a_pause_until_a_date_follows_the_clock_of_the_server() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |asked| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::new(503, "")
            .with("date", "Fri, 31 Dec 1999 23:59:58 GMT")
            .with("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT"),
        _ => value(asked, b"v"),
    });
    let begun = Instant::now();
    assert_eq!(get_value(&*opened(&server.url()).unwrap(), &key("v"), 1).unwrap().unwrap(), b"v"[..]);
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
}

/// The server closes each connection after three bytes. The store requests the rest with a range, as long as the ETag
/// is the same.
#[test]
fn a_value_that_is_cut_off_again_and_again_is_complete() {
    let server = Server::start(|asked| Reply { cut: Some(3), ..value(asked, b"0123456789") });
    assert_eq!(
        get_value(&*opened(&server.url()).unwrap(), &key("v"), 100).unwrap().unwrap(),
        b"0123456789"[..]
    );
}

/// Reads a value from a server that answers the first request for it only after a second one.
fn read_from_a_late_server(hedge: bool) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let server = Server::start(move |asked| {
        if asked.path() == "/late" && counted.fetch_add(1, Ordering::Relaxed) == 0 {
            // A client that does not ask again waits for the whole second.
            let end = Instant::now() + Duration::from_secs(1);
            while counted.load(Ordering::Relaxed) < 2 && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        value(asked, b"v")
    });
    let store = described(&zarr_spec::json!({"type": "http", "url": server.url(), "hedge": hedge})).unwrap();
    // The usual time is known after 16 answers. None of them is sent again before, also on a busy machine.
    for _ in 0..16 {
        assert_eq!(get_value(&*store, &key("v"), 1).unwrap().unwrap(), b"v"[..]);
    }
    assert_eq!(get_value(&*store, &key("late"), 1).unwrap().unwrap(), b"v"[..]);
    count.load(Ordering::Relaxed)
}

#[test]
fn a_read_whose_answer_is_late_is_sent_again() {
    assert_eq!(read_from_a_late_server(true), 2);
    assert_eq!(read_from_a_late_server(false), 1);
}

/// Writes are never sent again while the first request may still be applied.
#[test]
fn a_write_whose_answer_is_late_is_not_sent_again() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "PUT" => Reply { wait: Duration::from_millis(500), ..Reply::new(200, "").with("etag", "\"e\"") },
        _ => value(asked, b"v"),
    });
    let description = zarr_spec::json!({
        "type": "s3", "url": "s3://b", "endpoint": server.url(), "anonymous": true,
    });
    let store = described(&description).unwrap();
    for _ in 0..20 {
        get_value(&*store, &key("v"), 1).unwrap();
    }
    server.take();
    store.set(&key("w"), b"value"[..].into()).unwrap();
    assert_eq!(server.take(), ["PUT /b/w"]);
}
