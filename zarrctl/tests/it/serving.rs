//! `serve`: answers to requests, byte for byte. `conformance/interop` reads served hierarchies with other programs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use crate::support::{Place, program};

/// A running server, which is ended when this value is dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(store: &str) -> Self {
        let mut child =
            program().args(["serve", store, "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        Self { address: address.unwrap().to_owned(), child }
    }

    /// Sends requests over one connection and returns the answers. The last request must close the connection.
    fn exchange(&self, requests: &[u8]) -> String {
        let mut client = TcpStream::connect(&self.address).unwrap();
        client.write_all(requests).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// Sends one request with header fields. Returns the answer.
    fn ask(&self, start: &str, fields: &str) -> String {
        let request = format!("{start} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n");
        self.exchange(request.as_bytes())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn field<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer
        .lines()
        .take_while(|line| !line.is_empty())
        .find_map(|line| line.strip_prefix(&format!("{name}: ")))
}

fn served() -> (Place, Server) {
    let place = Place::new();
    place.file("a.zarr/zarr.json", b"{}");
    place.file("a.zarr/c d/0", b"0123456789");
    let server = Server::start(&place.at("a.zarr"));
    (place, server)
}

#[test]
fn values_and_ranges_of_them_are_served() {
    let (_place, server) = served();
    let whole = server.ask("GET /c%20d/0", "");
    assert!(whole.starts_with("HTTP/1.1 200 OK\r\n") && whole.ends_with("\r\n\r\n0123456789"), "{whole}");
    assert_eq!(field(&whole, "Content-Length"), Some("10"));
    assert_eq!(field(&whole, "Accept-Ranges"), Some("bytes"));
    assert_eq!(field(&whole, "Content-Type"), Some("application/octet-stream"));
    for (range, part, whole) in [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-4", "6789", "bytes 6-9/10"),
        ("bytes=8-99", "89", "bytes 8-9/10"),
    ] {
        let answer = server.ask("GET /c%20d/0", &format!("Range: {range}\r\n"));
        assert!(
            answer.starts_with("HTTP/1.1 206 ") && answer.ends_with(&format!("\r\n\r\n{part}")),
            "{answer}"
        );
        assert_eq!(field(&answer, "Content-Range"), Some(whole));
    }
    let outside = server.ask("GET /c%20d/0", "Range: bytes=10-\r\n");
    assert!(outside.starts_with("HTTP/1.1 416 "), "{outside}");
    assert_eq!(field(&outside, "Content-Range"), Some("bytes */10"));
    let document = server.ask("GET /zarr.json?x", "");
    assert_eq!(field(&document, "Content-Type"), Some("application/json"));
    for missing in ["/none", "/", "/../a.zarr/zarr.json", "/%2e%2e/x"] {
        let answer = server.ask(&format!("GET {missing}"), "");
        assert!(answer.starts_with("HTTP/1.1 404 ") && answer.ends_with("\r\n\r\n"), "{missing}: {answer}");
    }
}

#[test]
fn heads_have_no_body_and_connections_stay_open() {
    let (_place, server) = served();
    let stays = "HEAD /c%20d/0 HTTP/1.1\r\nHost: a\r\n\r\nGET /zarr.json HTTP/1.1\r\nHost: a\r\n\r\n";
    let closes = "HEAD /c%20d/0 HTTP/1.0\r\n\r\n";
    let answers = server.exchange(format!("{stays}{closes}").as_bytes());
    let heads: Vec<&str> = answers.split("\r\n\r\n").collect();
    assert_eq!(heads.len(), 4, "{answers}");
    assert_eq!(field(heads[0], "Content-Length"), Some("10"));
    assert!(heads[2].starts_with("{}HTTP/1.1 200 OK"), "{answers}");
    assert!(field(heads[2], "Connection") == Some("close") && heads[3].is_empty(), "{answers}");
}

#[test]
fn a_value_is_sent_only_if_it_changed() {
    let (place, server) = served();
    let tag = field(&server.ask("HEAD /zarr.json", ""), "ETag").unwrap().to_owned();
    let with = |name: &str| server.ask("GET /zarr.json", &format!("{name}: {tag}\r\nRange: bytes=0-0\r\n"));
    assert!(with("If-None-Match").starts_with("HTTP/1.1 304 "));
    assert!(with("If-Match").starts_with("HTTP/1.1 206 "));
    assert!(with("If-Range").starts_with("HTTP/1.1 206 "));
    place.file("a.zarr/zarr.json", b"{\"new\": 1}");
    assert!(with("If-None-Match").starts_with("HTTP/1.1 206 "));
    assert!(with("If-Match").starts_with("HTTP/1.1 412 "));
    let whole = with("If-Range");
    assert!(whole.starts_with("HTTP/1.1 200 ") && whole.ends_with("{\"new\": 1}"), "{whole}");
}

#[test]
fn pages_of_other_origins_may_read_and_nothing_can_be_written() {
    let (place, server) = served();
    let answer = server.ask("OPTIONS /zarr.json", "Origin: https://example.org\r\n");
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    assert_eq!(field(&answer, "Access-Control-Allow-Origin"), Some("*"));
    assert_eq!(field(&answer, "Access-Control-Allow-Methods"), Some("GET, HEAD, OPTIONS"));
    let before = place.files("a.zarr");
    for method in ["PUT", "DELETE", "POST"] {
        let answer = server.ask(&format!("{method} /zarr.json"), "Content-Length: 1\r\n");
        assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
        assert_eq!(field(&answer, "Allow"), Some("GET, HEAD, OPTIONS"));
    }
    assert_eq!(place.files("a.zarr"), before);
}

#[test]
fn damaged_requests_are_refused_and_end_the_connection() {
    let (_place, server) = served();
    for request in ["nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\0\0\0\0\r\n\r\n"] {
        let answer = server.exchange(request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400 "), "{request:?}: {answer}");
    }
    let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat((16 << 10) - 16));
    assert!(server.exchange(long.as_bytes()).starts_with("HTTP/1.1 431 "));
    assert!(server.ask("GET /zarr.json", "").starts_with("HTTP/1.1 200 "));
}

/// The server refuses these requests without reading their bodies. It must not reset the connection, which would fail
/// the call that reads the answer.
#[test]
fn a_refused_request_with_a_body_gets_its_answer() {
    let (_place, server) = served();
    let body = "x".repeat(300_000);
    for _ in 0..20 {
        let put =
            format!("PUT /zarr.json HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        assert!(server.exchange(put.as_bytes()).starts_with("HTTP/1.1 405 "));
        let long = format!("GET /{body}");
        assert!(server.exchange(long.as_bytes()).starts_with("HTTP/1.1 431 "));
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let (place, server) = served();
    let port = server.address.rsplit_once(':').unwrap().1;
    let output = program().args(["serve", &place.at("a.zarr"), "--port", port]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains(&format!("cannot listen at 127.0.0.1:{port}")), "{message}");
}
