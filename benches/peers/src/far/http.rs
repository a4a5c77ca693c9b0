//! HTTP/1.1 as far as clients of object stores need it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Bytes that the lines before a body may have.
const HEAD: u64 = 64 << 10;
/// Bytes of the longest body.
const BODY: u64 = 1 << 30;
/// A body up to this size goes out in one call with its head.
const AT_ONCE: u64 = 128 << 10;

/// A whole request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without escapes.
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// What a request is answered with.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Body,
}

/// What follows the head.
#[derive(Debug)]
pub(super) enum Body {
    Bytes(Vec<u8>),
    /// So many bytes of a file, from where it stands.
    File(File, u64),
}

impl Request {
    /// The next one of a connection, with its body; `None` where the client has gone between two of them.
    ///
    /// # Errors
    ///
    /// `InvalidData` for what is no request, and those of the connection.
    pub(super) fn read(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Self>> {
        let mut head = reader.by_ref().take(HEAD);
        let Some(first) = line(&mut head)? else { return Ok(None) };
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(_version)) = (words.next(), words.next(), words.next()) else {
            return Err(invalid("no request line"));
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

    /// The value of a header; names are asked for in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The value of a word of the query.
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
            let length: u64 = length.parse().map_err(|_| invalid("a length that is no number"))?;
            read_bytes(reader, length, 0)?
        };
        // The SDKs of S3 sign a body in pieces, framed as HTTP's own are, within the body.
        let is_framed = self.has("content-encoding", "aws-chunked")
            || self.header("x-amz-content-sha256").is_some_and(|hash| hash.starts_with("STREAMING-"));
        if is_framed { read_chunks(&mut &*body) } else { Ok(body) }
    }
}

/// A line without its end; `None` where there is nothing more.
fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if reader.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(invalid("a line is too long, or ends early"));
    }
    line.pop_if(|last| *last == b'\r');
    String::from_utf8(line).map(Some).map_err(|_| invalid("a line is no UTF-8"))
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

/// A body in pieces, each behind its length in hexadecimal digits, and lines behind the last one, which has none.
pub(super) fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let head = line(reader)?.ok_or_else(|| invalid("the body ends early"))?;
        let length = head.split(';').next().unwrap_or_default().trim();
        let length = u64::from_str_radix(length, 16).map_err(|_| invalid("a piece without a length"))?;
        if length == 0 {
            break;
        }
        let piece = read_bytes(reader, length, body.len())?;
        body.extend(piece);
        if line(reader)?.is_none_or(|line| !line.is_empty()) {
            return Err(invalid("a piece that is longer than it says"));
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
                .ok_or_else(|| invalid("half an escape"))?,
            byte => byte,
        });
    }
    String::from_utf8(plain).map_err(|_| invalid("a path that is no UTF-8"))
}

impl Answer {
    /// Bytes of its body.
    pub(super) fn length(&self) -> u64 {
        match &self.body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::File(_, length) => *length,
        }
    }

    /// Sends it. The answer to `HEAD` has the length of a body that does not follow.
    pub(super) fn write(self, mut client: &TcpStream, is_head: bool) -> io::Result<()> {
        let length = self.length();
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        // These two have no body by definition, and no length.
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
                // By `sendfile` where there is such a call.
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
