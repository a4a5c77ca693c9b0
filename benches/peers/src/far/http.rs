//! The part of HTTP/1.1 that clients of object stores use.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// The maximum size of a head in bytes.
const HEAD: u64 = 64 << 10;
/// The maximum size of a body in bytes.
const BODY: u64 = 1 << 30;
/// A body of at most this size is sent in one call with its head.
const AT_ONCE: u64 = 128 << 10;

/// A complete request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// The unescaped path.
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    /// Headers with lower case names.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Body,
}

/// The body of an answer.
#[derive(Debug)]
pub(super) enum Body {
    Bytes(Vec<u8>),
    /// This number of bytes of a file, from its current position.
    File(File, u64),
}

impl Request {
    /// Reads the next request of a connection with its body. Returns `None` if the client has closed the connection.
    ///
    /// # Errors
    ///
    /// `InvalidData` for an invalid request, and the errors of the connection.
    pub(super) fn read(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Self>> {
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
        request.body = request.read_body(reader)?;
        Ok(Some(request))
    }

    /// Returns the value of a header. `name` is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Returns the value of a query parameter.
    pub(super) fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    fn has(&self, name: &str, word: &str) -> bool {
        let mut words = self.header(name).unwrap_or_default().split(',');
        words.any(|found| found.trim().eq_ignore_ascii_case(word))
    }

    fn read_body(&self, reader: &mut BufReader<&TcpStream>) -> io::Result<Vec<u8>> {
        if self.has("expect", "100-continue") {
            reader.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = if self.has("transfer-encoding", "chunked") {
            read_chunks(reader)?
        } else {
            let length = self.header("content-length").unwrap_or("0");
            let length: u64 = length.parse().map_err(|_| invalid("the length is not a number"))?;
            read_bytes(reader, length, 0)?
        };
        // The S3 SDKs sign a body in pieces within the body, framed like the chunks of HTTP.
        let is_framed = self.has("content-encoding", "aws-chunked")
            || self.header("x-amz-content-sha256").is_some_and(|hash| hash.starts_with("STREAMING-"));
        if is_framed { read_chunks(&mut &*body) } else { Ok(body) }
    }
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

/// Reads a chunked body: each piece follows its length in hexadecimal digits. A piece of length 0 and lines that are
/// ignored end the body.
pub(super) fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let head = line(reader)?.ok_or_else(|| invalid("the body ends early"))?;
        let length = head.split(';').next().unwrap_or_default().trim();
        let length =
            u64::from_str_radix(length, 16).map_err(|_| invalid("a piece does not have a length"))?;
        if length == 0 {
            break;
        }
        let piece = read_bytes(reader, length, body.len())?;
        body.extend(piece);
        if line(reader)?.is_none_or(|line| !line.is_empty()) {
            return Err(invalid("a piece is longer than its declared length"));
        }
    }
    while line(reader)?.is_some_and(|line| !line.is_empty()) {}
    Ok(body)
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

fn unescaped(text: &str) -> io::Result<String> {
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
    pub(super) fn length(&self) -> u64 {
        match &self.body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::File(_, length) => *length,
        }
    }

    /// Sends the answer. The answer to `HEAD` has the length of the body but not the body.
    pub(super) fn write(self, mut client: &TcpStream, is_head: bool) -> io::Result<()> {
        let length = self.length();
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        // By definition, these two do not have a body or a length.
        if !matches!(self.status, 204 | 304) {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut head = head.into_bytes();
        if is_head {
            return client.write_all(&head);
        }
        match self.body {
            Body::Bytes(bytes) => {
                head.extend(bytes);
                client.write_all(&head)
            }
            Body::File(file, length) if length <= AT_ONCE => {
                file.take(length).read_to_end(&mut head)?;
                client.write_all(&head)
            }
            Body::File(file, length) => {
                client.write_all(&head)?;
                // Uses `sendfile` where the system has it.
                let sent = io::copy(&mut file.take(length), &mut client)?;
                if sent == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
            }
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        304 => "Not Modified",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        412 => "Precondition Failed",
        416 => "Range Not Satisfiable",
        501 => "Not Implemented",
        _ => "Internal Server Error",
    }
}
