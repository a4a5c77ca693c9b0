//! Answers with values.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::TcpStream;
use std::ops::Range;

use zarr_kit::spec::store::{GetOptions, GetResult, IoKind, StoreError, Version};
use zarr_kit::spec::{ByteRange, Key, Output};

use super::Server;
use super::answer::Answer;
use super::request::{Method, Request};
use crate::failure::chain;
use crate::printer;

/// The number of bytes that are read from the store at a time.
const PIECE: u64 = 4 << 20;

/// The longest version that becomes an entity tag, in bytes.
const MAX_VERSION: usize = 128;

/// The methods of the server.
const METHODS: &str = "GET, HEAD, OPTIONS";

/// Names of JSON documents.
const DOCUMENTS: [&str; 5] = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"];

/// Answers one request.
///
/// # Errors
///
/// If the client disconnects, or the value changes while it is sent: then the connection has to end.
pub(super) fn answer(server: &Server, request: &Request, client: &TcpStream) -> io::Result<()> {
    let answer = match request.method {
        Method::Options => Answer::new(204)
            .without_size()
            .header("Allow", METHODS)
            .header("Access-Control-Allow-Methods", METHODS)
            .header("Access-Control-Allow-Headers", "If-Match, If-None-Match, If-Range, Range")
            .header("Access-Control-Max-Age", "86400"),
        Method::Other => Answer::new(405).header("Allow", METHODS),
        Method::Get | Method::Head => match key(&request.target) {
            Some(key) => return send_value(server, request, client, &key),
            None => Answer::new(404),
        },
    };
    end(request, answer).send(client, &server.origin)
}

fn end(request: &Request, answer: Answer) -> Answer {
    if request.closes { answer.closing() } else { answer }
}

/// Returns the key that a path names.
fn key(target: &str) -> Option<Key> {
    let path = target.split(['?', '#']).next()?.strip_prefix('/')?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(match byte {
            b'%' => u8::try_from(digit()? << 4 | digit()?).ok()?,
            byte => byte,
        });
    }
    Key::new(String::from_utf8(bytes).ok()?).ok()
}

fn send_value(server: &Server, request: &Request, client: &TcpStream, key: &Key) -> io::Result<()> {
    let nothing = Range { start: 0, end: 0 };
    let send = |answer: Answer| end(request, answer).send(client, &server.origin);
    let found = match server.read(key, &nothing, &mut Output::at_most(0)) {
        Ok(Some(found)) => found,
        Ok(None) => return send(Answer::new(404)),
        Err(error) => {
            printer::note(&format!("`{key}`: {}", chain(&error)));
            let is_denied = matches!(error, StoreError::Io { kind: IoKind::NotPermitted, .. });
            return send(Answer::new(if is_denied { 403 } else { 500 }));
        }
    };
    let tag = found.version.as_ref().and_then(tag_of);
    let is_tag = |name: &str| request.header(name).map(|tags| matches(tags, tag.as_deref()));
    let with_tag = |answer: Answer| match &tag {
        Some(tag) => answer.header("ETag", tag).header("Cache-Control", "no-cache"),
        None => answer.header("Cache-Control", "no-cache"),
    };
    if is_tag("If-Match") == Some(false) {
        return send(with_tag(Answer::new(412)));
    }
    if is_tag("If-None-Match") == Some(true) {
        return send(with_tag(Answer::new(304)).without_size());
    }
    let wanted = request.header("Range").filter(|_| is_tag("If-Range") != Some(false));
    let (status, part) = match wanted.and_then(|range| part_of(range, found.size)) {
        None => (200, Range { start: 0, end: found.size }),
        Some(Some(part)) => (206, part),
        Some(None) => {
            let whole = format!("bytes */{}", found.size);
            return send(with_tag(Answer::new(416)).header("Content-Range", &whole));
        }
    };
    let mut answer =
        with_tag(Answer::new(status)).size(part.end - part.start).header("Accept-Ranges", "bytes");
    if status == 206 {
        let range = format!("bytes {}-{}/{}", part.start, part.end - 1, found.size);
        answer = answer.header("Content-Range", &range);
    }
    let is_document = DOCUMENTS.contains(&key.name());
    let content = if is_document { "application/json" } else { "application/octet-stream" };
    send(answer.header("Content-Type", content))?;
    match request.method {
        Method::Head => Ok(()),
        _ => server.send_part(key, &found, part, client),
    }
}

impl Server {
    /// Reads a part of a value, with its version if the store has versions.
    fn read(
        &self,
        key: &Key,
        part: &Range<u64>,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let range = ByteRange::Range { offset: part.start, size: part.end - part.start };
        let has_versions = self.store.capabilities().conditional_set;
        let options = if has_versions { GetOptions::for_update(range) } else { GetOptions::uncached(range) };
        self.store.get(key, options, to)
    }

    /// Sends a part of a value in pieces. Fails if the store no longer has the value that `first` describes.
    fn send_part(
        &self,
        key: &Key,
        first: &GetResult,
        mut part: Range<u64>,
        mut client: &TcpStream,
    ) -> io::Result<()> {
        while !part.is_empty() {
            let piece = Range { start: part.start, end: part.end.min(part.start + PIECE) };
            let mut output = Output::at_most(usize::try_from(PIECE).unwrap_or(usize::MAX));
            let found = self.read(key, &piece, &mut output).map_err(io::Error::other)?;
            let same = found.filter(|found| found.size == first.size && found.version == first.version);
            let changed = || io::Error::other(format!("`{key}` changed while it was sent"));
            let same = same.ok_or_else(changed)?;
            let bytes = same.bytes(&output);
            if bytes.len() as u64 != piece.end - piece.start {
                return Err(changed());
            }
            client.write_all(bytes)?;
            part.start = piece.end;
        }
        Ok(())
    }
}

/// Returns the entity tag of a version; `None` if it would be too long.
fn tag_of(version: &Version) -> Option<String> {
    let bytes = version.bytes();
    if bytes.len() > MAX_VERSION {
        return None;
    }
    let mut tag = String::from("\"");
    for byte in bytes {
        // Writing to a string cannot fail.
        let _written = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    Some(tag)
}

/// Returns whether a list of entity tags contains `tag`, or is `*`.
fn matches(tags: &str, tag: Option<&str>) -> bool {
    tags == "*" || tags.split(',').any(|listed| tag.is_some() && tag == Some(listed.trim()))
}

/// Returns the part of a value that the header field `Range` selects: `Some(None)` if it is outside of the value, and
/// `None` if the field has to be ignored, which is the case for several ranges.
fn part_of(range: &str, size: u64) -> Option<Option<Range<u64>>> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| -> Option<u64> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let part = match (first.trim(), last.trim()) {
        ("", last) => Range { start: size.saturating_sub(number(last)?), end: size },
        (first, "") => Range { start: number(first)?, end: size },
        (first, last) => {
            let first = number(first)?;
            let last = number(last).filter(|last| *last >= first)?;
            Range { start: first, end: last.saturating_add(1).min(size) }
        }
    };
    Some((part.start < part.end).then_some(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_understood() {
        for (range, part) in [
            ("bytes=0-0", Some(Some(0..1))),
            ("bytes=2-", Some(Some(2..10))),
            ("bytes=-3", Some(Some(7..10))),
            ("bytes=-30", Some(Some(0..10))),
            ("bytes=9-99999999999999999999", Some(Some(9..10))),
            ("bytes=10-", Some(None)),
            ("bytes=-0", Some(None)),
            ("bytes=3-2", None),
            ("bytes=0-1,3-4", None),
            ("items=0-1", None),
            ("bytes=+1-2", None),
        ] {
            assert_eq!(part_of(range, 10), part, "{range}");
        }
    }

    #[test]
    fn paths_are_decoded_to_keys() {
        let text = |target: &str| key(target).map(|key| key.to_string());
        assert_eq!(text("/a%20b/c/0?x=1").as_deref(), Some("a b/c/0"));
        for bad in ["/", "*", "/../a", "/a/%2e%2e/b", "/a%", "/a%zz", "/%ff", "//a"] {
            assert_eq!(text(bad), None, "{bad}");
        }
    }
}
