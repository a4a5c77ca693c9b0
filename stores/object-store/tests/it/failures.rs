//! Servers that fail, are busy or redirect.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use zarr_spec::store::get_value;

use super::server::{Reply, Server, value};
use super::{described, key, opened, refused, requests};

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
    assert!(error.contains("answers 503 and asks for a pause of 120 seconds"), "{error}");
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
    assert!(error.contains("redirects more than 5 times"), "{error}");
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
