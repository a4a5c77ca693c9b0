//! Faults, slow answers and limited bandwidth.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use zarr_loopback::{Fault, Options, Request, Server};

use crate::client::Client;

/// Starts a server that has one fault with PUT or GET requests, and then none.
fn with_one(fault: Fault) -> Server {
    let count = AtomicUsize::new(0);
    let faults = move |_: &Request| (count.fetch_add(1, Ordering::Relaxed) == 0).then_some(fault);
    Server::start(Options::in_memory().with_faults(faults)).unwrap()
}

#[test]
fn a_refused_request_is_applied_only_if_the_fault_says_so() {
    for (fault, status, is_applied) in [
        (Fault::Refuse(503), Some(503), false),
        (Fault::ApplyAndRefuse(500), Some(500), true),
        (Fault::Close, None, false),
        (Fault::ApplyAndClose, None, true),
    ] {
        let server = with_one(fault);
        let mut client = Client::new(&server);
        match status {
            Some(status) => assert_eq!(client.ask("PUT", "/bench/k", &[], b"value").status, status),
            None => {
                client.send("PUT", "/bench/k", &[], b"value");
                assert_eq!(client.0.read_to_end(&mut Vec::new()).unwrap(), 0);
            }
        }
        assert_eq!(server.values().unwrap().contains_key("k"), is_applied, "{fault:?}");
    }
}

#[test]
fn a_body_is_cut_off() {
    let server = with_one(Fault::Cut(3));
    server.put("k", "value").unwrap();
    let mut client = Client::new(&server);
    client.send("GET", "/bench/k", &[], b"");
    let mut all = String::new();
    client.0.read_to_string(&mut all).unwrap();
    assert!(all.contains("Content-Length: 5\r\n") && all.ends_with("\r\n\r\nval"), "{all}");
}

#[test]
fn a_range_is_ignored() {
    let server = with_one(Fault::WholeValue);
    server.put("k", "value").unwrap();
    let mut client = Client::new(&server);
    for (status, body) in [(200, "value"), (206, "al")] {
        let got = client.ask("GET", "/bench/k", &["Range: bytes=1-2"], b"");
        assert_eq!((got.status, got.text()), (status, body));
    }
}

#[test]
fn requests_are_logged_without_their_bodies() {
    let server = Server::start(Options::in_memory().logged()).unwrap();
    Client::new(&server).ask("PUT", "/bench/k", &["If-None-Match: *"], b"value");
    let log = server.take_log();
    let [put] = log.as_slice() else { panic!("{log:?}") };
    assert_eq!((&*put.method, &*put.path, put.header("if-none-match")), ("PUT", "/bench/k", Some("*")));
    assert!(put.body.is_empty() && server.take_log().is_empty());
}

#[test]
fn bytes_move_as_fast_as_the_bandwidth_allows() {
    let server = Server::start(Options::in_memory().with_bandwidth(Some(2 << 20))).unwrap();
    server.put("k", vec![0; 256 << 10]).unwrap();
    let begun = Instant::now();
    let mut client = Client::new(&server);
    assert_eq!(client.get("/bench/k").body.len(), 256 << 10);
    client.ask("PUT", "/bench/l", &[], &[0; 64 << 10]);
    assert!(begun.elapsed() >= Duration::from_millis(155), "{:?}", begun.elapsed());
}

#[test]
fn every_hundredth_answer_is_slow() {
    let delay = Duration::from_millis(2);
    let options = Options::in_memory().with_delay(delay).with_slow_answers(true);
    let server = Server::start(options).unwrap();
    let mut client = Client::new(&server);
    let times = (0..100).map(|_| {
        let begun = Instant::now();
        client.get("/bench/k");
        begun.elapsed()
    });
    let times: Vec<_> = times.collect();
    assert!(times[99] >= delay * 10, "{:?}", times[99]);
    assert!(times.iter().all(|time| *time >= delay));
}
