//! Requests of clients.

use std::io::{self, Read};
use std::net::TcpStream;

use httparse::{EMPTY_HEADER, Status};

/// The maximum size of a request in bytes.
const MAX_REQUEST: usize = 16 << 10;

/// The maximum number of header fields.
const MAX_HEADERS: usize = 64;

/// The methods that the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Options,
    Other,
}

/// A request without its body.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    /// The path, still percent-encoded, and the query.
    pub(super) target: String,
    headers: Vec<(String, String)>,
    /// Whether the connection ends after the answer.
    pub(super) closes: bool,
}

impl Request {
    /// Returns the value of a header field; `None` if it is missing or occurs more than once.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, value) = found.next()?;
        found.next().is_none().then_some(value.trim())
    }
}

/// The outcome of waiting for a request.
pub(super) enum Received {
    Request(Request),
    /// The request cannot be read, so the connection ends with this status.
    Refused(u16),
    /// The client has disconnected.
    End,
}

/// The bytes that a client sends.
pub(super) struct Input<'c> {
    client: &'c TcpStream,
    /// Bytes that follow the last request.
    bytes: Vec<u8>,
}

impl<'c> Input<'c> {
    pub(super) const fn new(client: &'c TcpStream) -> Self {
        Self { client, bytes: Vec::new() }
    }

    /// Waits for a request.
    ///
    /// # Errors
    ///
    /// If the client sends nothing in time, or the connection fails.
    pub(super) fn receive(&mut self) -> io::Result<Received> {
        loop {
            match parse(&self.bytes) {
                Ok(Some((request, size))) => {
                    self.bytes.drain(..size);
                    return Ok(Received::Request(request));
                }
                Ok(None) if self.bytes.len() >= MAX_REQUEST => return Ok(Received::Refused(431)),
                Ok(None) => {}
                Err(_) => return Ok(Received::Refused(400)),
            }
            let mut part = [0; 2048];
            let count = self.client.read(&mut part)?;
            if count == 0 {
                return Ok(Received::End);
            }
            self.bytes.extend(part.iter().take(count));
        }
    }
}

/// Returns a request and its size in bytes; `None` if it is not complete.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, httparse::Error> {
    let mut fields = [EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut fields);
    let Status::Complete(size) = parsed.parse(bytes)? else { return Ok(None) };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = parsed.headers.iter().map(|field| (field.name.to_owned(), text(field.value))).collect();
    let mut request = Request {
        method: match parsed.method {
            Some("GET") => Method::Get,
            Some("HEAD") => Method::Head,
            Some("OPTIONS") => Method::Options,
            _ => Method::Other,
        },
        target: parsed.path.unwrap_or_default().to_owned(),
        headers,
        closes: false,
    };
    let has = |name: &str, value: &str| {
        request.header(name).is_some_and(|found| found.to_ascii_lowercase().contains(value))
    };
    // The server does not read a body, so no request can follow it.
    let has_body = request.headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("transfer-encoding")
            || name.eq_ignore_ascii_case("content-length") && value.trim() != "0"
    });
    let stays =
        if parsed.version == Some(1) { !has("connection", "close") } else { has("connection", "keep-alive") };
    request.closes = has_body || !stays;
    Ok(Some((request, size)))
}
