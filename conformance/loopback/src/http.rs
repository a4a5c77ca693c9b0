//! The part of HTTP/1.1 that clients of object stores use.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};

use bytes::Bytes;

use crate::pace::Pace;

/// The maximum size of a head in bytes.
const HEAD: u64 = 64 << 10;
/// The maximum size of a body in bytes.
const BODY: u64 = 1 << 30;
/// A body of at most this number of bytes is sent in one call with its head.
const AT_ONCE: u64 = 128 << 10;
/// The size in bytes of the pieces in which a body is sent if the bandwidth is limited.
const PIECE: u64 = 32 << 10;

/// A complete request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method, such as `GET`.
    pub method: String,
    /// The unescaped path.
    pub path: String,
    pub(crate) query: Vec<(String, String)>,
    /// Headers and trailers with lower case names.
    headers: Vec<(String, String)>,
    /// The body; empty in the log of a server.
    pub body: Vec<u8>,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
}

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Body {
    Bytes(Bytes),
    /// This number of bytes of a file, from its current position.
    File(File, u64),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Bytes(Bytes::new())
    }

    /// Returns the bytes from `start` to `end`, which must lie within the body.
    pub(crate) fn part(self, start: u64, end: u64) -> io::Result<Self> {
        Ok(match self {
            Self::Bytes(bytes) => {
                let place = |offset| {
                    usize::try_from(offset).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
                };
                Self::Bytes(bytes.slice(place(start)?..place(end)?))
            }
            Self::File(mut file, _) => {
                file.seek(SeekFrom::Start(start))?;
                Self::File(file, end - start)
            }
        })
    }
}

impl Request {
    /// Reads the next request of a connection with its body. Returns `None` if the client has closed the connection.
    ///
    /// # Errors
    ///
    /// `InvalidData` for an invalid request, and the errors of the connection.
    pub(crate) fn read<S: Read + Write>(reader: &mut BufReader<S>) -> io::Result<Option<Self>> {
        let mut head = reader.by_ref().take(HEAD);
        let Some(first) = line(&mut head)? else { return Ok(None) };
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(_version)) = (words.next(), words.next(), words.next()) else {
            return Err(invalid("invalid request line"));
        };
        let mut headers = Vec::new();
        loop {
            let line = line(&mut head)?.ok_or_else(|| invalid("the request ends in its head"))?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header without a colon"))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((unescaped(&name.replace('+', " "))?, unescaped(&value.replace('+', " "))?))
        });
        let mut request = Self {
            method: method.to_owned(),
            path: unescaped(path)?,
            query: query.collect::<io::Result<_>>()?,
            headers,
            body: Vec::new(),
        };
        let body = request.read_body(reader)?;
        request.body = body.bytes;
        request.headers.extend(body.trailers);
        Ok(Some(request))
    }

    /// Returns the value of a header. `name` is in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Returns the value of a query parameter.
    #[must_use]
    pub fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Returns the request without the header `name`, which is in lower case.
    pub(crate) fn without(&self, name: &str) -> Self {
        let mut request = self.clone();
        request.headers.retain(|(known, _)| known != name);
        request
    }

    /// Returns the request with an empty body.
    pub(crate) fn without_body(&self) -> Self {
        let Self { method, path, query, headers, body: _ } = self;
        Self {
            method: method.clone(),
            path: path.clone(),
            query: query.clone(),
            headers: headers.clone(),
            body: Vec::new(),
        }
    }

    fn has(&self, name: &str, word: &str) -> bool {
        let mut words = self.header(name).unwrap_or_default().split(',');
        words.any(|found| found.trim().eq_ignore_ascii_case(word))
    }

    fn read_body<S: Read + Write>(&self, reader: &mut BufReader<S>) -> io::Result<Chunked> {
        if self.has("expect", "100-continue") {
            reader.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = if self.has("transfer-encoding", "chunked") {
            read_chunks(reader)?
        } else {
            let length = self.header("content-length").unwrap_or("0");
            let length: u64 = length.parse().map_err(|_| invalid("the length is not a number"))?;
            Chunked { bytes: read_bytes(reader, length, 0)?, trailers: Vec::new() }
        };
        // The S3 SDKs divide a body into signed pieces, which are framed like the chunks of HTTP.
        let is_framed = self.has("content-encoding", "aws-chunked")
            || self.header("x-amz-content-sha256").is_some_and(|hash| hash.starts_with("STREAMING-"));
        if is_framed { read_chunks(&mut &*body.bytes) } else { Ok(body) }
    }
}

/// A body that arrived in pieces, and the headers after it.
struct Chunked {
    bytes: Vec<u8>,
    trailers: Vec<(String, String)>,
}

/// Reads a line without its end. Returns `None` at the end of the input.
fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if reader.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(invalid("a line is too long, or ends early"));
    }
    line.pop_if(|last| *last == b'\r');
    String::from_utf8(line).map(Some).map_err(|_| invalid("a line is not UTF-8"))
}

fn read_bytes(reader: &mut impl Read, length: u64, before: usize) -> io::Result<Vec<u8>> {
    if length > BODY.saturating_sub(before as u64) {
        return Err(invalid("the body is too long"));
    }
    let mut bytes = Vec::new();
    if reader.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

/// Reads a chunked body: each piece follows its length in hexadecimal digits. A piece of length 0 and the trailers end
/// the body.
fn read_chunks(reader: &mut impl BufRead) -> io::Result<Chunked> {
    let mut bytes = Vec::new();
    loop {
        let head = line(reader)?.ok_or_else(|| invalid("the body ends early"))?;
        let length = head.split(';').next().unwrap_or_default().trim();
        let length =
            u64::from_str_radix(length, 16).map_err(|_| invalid("a piece does not have a length"))?;
        if length == 0 {
            break;
        }
        let piece = read_bytes(reader, length, bytes.len())?;
        bytes.extend(piece);
        if line(reader)?.is_none_or(|line| !line.is_empty()) {
            return Err(invalid("a piece is longer than its declared length"));
        }
    }
    let mut trailers = Vec::new();
    while let Some(line) = line(reader)?.filter(|line| !line.is_empty()) {
        let trailer =
            line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
        trailers.extend(trailer);
    }
    Ok(Chunked { bytes, trailers })
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Escapes a text as in the query of a URL. Slashes stay, as in listings of S3.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                escaped.push(char::from(byte))
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

pub(crate) fn unescaped(text: &str) -> io::Result<String> {
    let mut bytes = text.bytes();
    let mut plain = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        plain.push(match byte {
            b'%' => digit()
                .zip(digit())
                .map(|(high, low)| high << 4 | low)
                .ok_or_else(|| invalid("incomplete escape sequence"))?,
            byte => byte,
        });
    }
    String::from_utf8(plain).map_err(|_| invalid("the path is not UTF-8"))
}

impl Answer {
    /// Returns the size of the body in bytes.
    pub(crate) fn length(&self) -> u64 {
        match &self.body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::File(_, length) => *length,
        }
    }

    /// Sends the answer. The answer to `HEAD` has the length of the body but not the body.
    pub(crate) fn write(self, client: &mut impl Write, is_head: bool, pace: &Pace) -> io::Result<()> {
        let mut head = self.head();
        if is_head {
            return client.write_all(&head);
        }
        match self.body {
            Body::Bytes(bytes) if !pace.is_limited() => {
                head.extend(bytes);
                client.write_all(&head)
            }
            Body::Bytes(bytes) => {
                client.write_all(&head)?;
                send(&mut &*bytes, bytes.len() as u64, client, pace)
            }
            Body::File(file, length) if length <= AT_ONCE && !pace.is_limited() => {
                file.take(length).read_to_end(&mut head)?;
                client.write_all(&head)
            }
            Body::File(mut file, length) => {
                client.write_all(&head)?;
                send(&mut file, length, client, pace)
            }
        }
    }

    /// Sends the head and the first bytes of the body.
    pub(crate) fn write_beginning(self, client: &mut impl Write, size: u64) -> io::Result<()> {
        client.write_all(&self.head())?;
        let size = usize::try_from(size.min(self.length())).unwrap_or(usize::MAX);
        let body = self.body.read()?;
        client.write_all(&body[..size])
    }

    fn head(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        // By definition, answers with these two statuses do not have a body or a length.
        if !matches!(self.status, 204 | 304) {
            head.push_str(&format!("Content-Length: {}\r\n", self.length()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

/// Sends `length` bytes of `body`, as fast as the bandwidth allows. Uses `sendfile` where the system has it.
fn send(body: &mut impl Read, length: u64, client: &mut impl Write, pace: &Pace) -> io::Result<()> {
    let mut left = length;
    while left > 0 {
        let piece = if pace.is_limited() { left.min(PIECE) } else { left };
        pace.transfer(piece);
        if io::copy(&mut body.by_ref().take(piece), client)? != piece {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= piece;
    }
    Ok(())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        412 => "Precondition Failed",
        416 => "Range Not Satisfiable",
        429 => "Too Many Requests",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
