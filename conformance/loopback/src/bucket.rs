//! Answers requests for the bucket and its objects.

use std::collections::BTreeMap;
use std::io::{self, Read};

use crate::checksums;
use crate::http::{Answer, Body, Request, unescaped};
use crate::objects::{
    Conditions, Folder, Memory, NewValue, Numbered, Objects, Refusal, State, Wanted, matches,
};
use crate::options::Options;
use crate::uploads::Uploads;
use crate::{BUCKET, date, listing, xml};

/// The only bucket.
#[derive(Debug)]
pub(crate) struct Bucket {
    pub(crate) objects: Box<dyn Objects>,
    pub(crate) uploads: Uploads,
    pub(crate) page: usize,
    ignores_conditions: bool,
}

impl Bucket {
    pub(crate) fn new(options: &Options) -> Self {
        let objects: Box<dyn Objects> = match (&options.folder, options.numbered_keys) {
            (Some(folder), _) => Box::new(Folder::new(folder.clone())),
            (None, Some(count)) => Box::new(Numbered::new(count)),
            (None, None) => Box::new(Memory::default()),
        };
        let ignores_conditions = options.ignores_conditions;
        Self { objects, uploads: Uploads::default(), page: options.page, ignores_conditions }
    }

    /// Returns the answer to a request.
    pub(crate) fn answer(&self, request: &Request) -> Answer {
        let path = request.path.trim_start_matches('/');
        let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
        if bucket != BUCKET {
            return xml::error(404, "NoSuchBucket", "the only bucket is `bench`", bucket);
        }
        let found = if key.is_empty() { self.of_bucket(request) } else { self.of_key(key, request) };
        found.unwrap_or_else(|reason| xml::error(500, "InternalError", &reason.to_string(), key))
    }

    pub(crate) fn put(&self, key: &str, bytes: Vec<u8>) -> io::Result<()> {
        let tag = checksums::tag(&bytes);
        self.objects.put(key, NewValue { bytes, tag }, &Conditions::default()).map(drop)
    }

    pub(crate) fn values(&self) -> io::Result<BTreeMap<String, Vec<u8>>> {
        let wanted = Wanted { prefix: "", is_by_folder: false, after: "", most: usize::MAX };
        let mut values = BTreeMap::new();
        for entry in self.objects.list(&wanted)? {
            if let Some((_, body)) = self.objects.open(&entry.name)? {
                values.insert(entry.name, body.read()?);
            }
        }
        Ok(values)
    }

    /// Returns `conditions`, or no conditions if the server ignores them.
    pub(crate) fn applied(&self, conditions: Conditions) -> Conditions {
        if self.ignores_conditions { Conditions::default() } else { conditions }
    }

    /// Returns the conditions of a write or a deletion.
    pub(crate) fn conditions(&self, request: &Request) -> Conditions {
        let text = |name: &str| request.header(name).map(str::to_owned);
        let generation = request.header("x-goog-if-generation-match").and_then(|number| number.parse().ok());
        self.applied(Conditions {
            if_match: text("if-match"),
            if_none_match: text("if-none-match"),
            generation,
        })
    }

    fn of_bucket(&self, request: &Request) -> io::Result<Answer> {
        Ok(match request.method.as_str() {
            "HEAD" => {
                Answer { headers: vec![("x-amz-bucket-region", "us-east-1".to_owned())], ..xml::empty(200) }
            }
            "GET" if request.asked("list-type") == Some("2") => listing::page(self, request)?,
            "POST" if request.asked("delete").is_some() => match checksums::check(request) {
                Ok(()) => self.delete_many(request)?,
                Err(refusal) => refusal,
            },
            _ => not_implemented(request),
        })
    }

    fn of_key(&self, key: &str, request: &Request) -> io::Result<Answer> {
        if !self.objects.is_key(key) {
            return Ok(xml::error(400, "InvalidArgument", "the key is not a valid file name", key));
        }
        let copied = request.header("x-amz-copy-source");
        let is_in_parts = request.asked("uploadId").is_some() || request.asked("uploads").is_some();
        match request.method.as_str() {
            _ if copied.is_some() && (is_in_parts || request.method != "PUT") => Ok(not_implemented(request)),
            _ if request.asked("versionId").is_some() => Ok(not_implemented(request)),
            _ if is_in_parts => self.of_upload(key, request),
            "GET" | "HEAD" => self.get(key, request),
            "PUT" if copied.is_some() => self.copy(copied.unwrap_or_default(), key, request),
            "PUT" => match checksums::check(request) {
                Ok(()) => {
                    let bytes = request.body.clone();
                    let tag = checksums::tag(&bytes);
                    let put = self.objects.put(key, NewValue { bytes, tag }, &self.conditions(request))?;
                    Ok(put.map_or_else(|refusal| refused(refusal, key), |state| stored(&state)))
                }
                Err(refusal) => Ok(refusal),
            },
            "DELETE" => {
                let removed = self.objects.remove(key, &self.conditions(request))?;
                Ok(match removed {
                    Ok(()) => xml::empty(204),
                    // Google Cloud Storage answers 412 to a write of a missing object, and 404 to a deletion.
                    Err(Refusal::WithoutGeneration) => no_such_key(key),
                    Err(refusal) => refused(refusal, key),
                })
            }
            _ => Ok(not_implemented(request)),
        }
    }

    /// Copies the object at `source`, a bucket and an escaped key.
    fn copy(&self, source: &str, key: &str, request: &Request) -> io::Result<Answer> {
        let source = unescaped(source.trim_start_matches('/'))?;
        let from = source.strip_prefix(BUCKET).and_then(|source| source.strip_prefix('/'));
        let Some((state, body)) = from.map(|from| self.objects.open(from)).transpose()?.flatten() else {
            return Ok(xml::error(404, "NoSuchKey", "there is no such key", &source));
        };
        let wanted = request.header("x-amz-copy-source-if-match");
        if wanted.is_some_and(|wanted| !matches(wanted, &state.tag)) {
            return Ok(refused(Refusal::Changed, &source));
        }
        let bytes = body.read()?;
        let tag = checksums::tag(&bytes);
        let put = self.objects.put(key, NewValue { bytes, tag }, &self.conditions(request))?;
        Ok(put.map_or_else(
            |refusal| refused(refusal, key),
            |state| {
                let tag = xml::escaped(&state.tag);
                let modified = date::of_listing(state.modified);
                let result = format!("<ETag>{tag}</ETag><LastModified>{modified}</LastModified>");
                xml::document(200, &format!("<CopyObjectResult>{result}</CopyObjectResult>"))
            },
        ))
    }

    fn get(&self, key: &str, request: &Request) -> io::Result<Answer> {
        let Some((state, body)) = self.objects.open(key)? else {
            return Ok(no_such_key(key));
        };
        if request.header("if-match").is_some_and(|wanted| !matches(wanted, &state.tag)) {
            return Ok(xml::error(412, "PreconditionFailed", "the value has changed", key));
        }
        if request.header("if-none-match").is_some_and(|known| matches(known, &state.tag)) {
            return Ok(Answer { headers: vec![("ETag", state.tag)], ..xml::empty(304) });
        }
        let mut headers = headers_of(&state);
        headers.push(("Last-Modified", date::of_header(state.modified)));
        headers.push(("Accept-Ranges", "bytes".to_owned()));
        headers.push(("Content-Type", "application/octet-stream".to_owned()));
        let size = state.size;
        let Some(range) = request.header("range").and_then(Range::parse) else {
            return Ok(Answer { status: 200, headers, body });
        };
        let (start, end) = range.within(size);
        if start >= end {
            let answer =
                xml::error(416, "InvalidRange", "the range does not contain a byte of the value", key);
            headers = [answer.headers, vec![("Content-Range", format!("bytes */{size}"))]].concat();
            return Ok(Answer { headers, ..answer });
        }
        headers.push(("Content-Range", format!("bytes {start}-{}/{size}", end - 1)));
        Ok(Answer { status: 206, headers, body: body.part(start, end)? })
    }
}

/// A range of a header: the first and the last byte, or the number of bytes at the end.
#[derive(Debug, Clone, Copy)]
struct Range {
    first: Option<u64>,
    last: Option<u64>,
}

impl Range {
    /// Parses a header. As in HTTP, an invalid range is ignored.
    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
        let number = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
        let range = Self { first: number(first)?, last: number(last)? };
        let is_range = match (range.first, range.last) {
            (Some(first), Some(last)) => first <= last,
            (None, None) => false,
            _ => true,
        };
        is_range.then_some(range)
    }

    /// Returns the start and the end of the range in a value.
    fn within(self, size: u64) -> (u64, u64) {
        match (self.first, self.last) {
            (Some(first), Some(last)) => (first, last.saturating_add(1).min(size)),
            (Some(first), None) => (first, size),
            (None, last) => (size.saturating_sub(last.unwrap_or(0)), size),
        }
    }
}

/// Returns the answer to a write.
fn stored(state: &State) -> Answer {
    Answer { headers: headers_of(state), ..xml::empty(200) }
}

fn headers_of(state: &State) -> Vec<(&'static str, String)> {
    vec![("ETag", state.tag.clone()), ("x-goog-generation", state.generation.to_string())]
}

/// Returns the answer to a write or a deletion whose condition does not hold.
pub(crate) fn refused(refusal: Refusal, key: &str) -> Answer {
    match refusal {
        Refusal::Missing => no_such_key(key),
        Refusal::Changed | Refusal::WithoutGeneration => {
            xml::error(412, "PreconditionFailed", "the value has changed", key)
        }
    }
}

fn no_such_key(key: &str) -> Answer {
    xml::error(404, "NoSuchKey", "there is no such key", key)
}

fn not_implemented(request: &Request) -> Answer {
    let message = format!("{} of this kind is not implemented", request.method);
    xml::error(501, "NotImplemented", &message, &request.path)
}

impl Body {
    /// Reads the whole body.
    pub(crate) fn read(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.into()),
            Self::File(file, size) => {
                let mut bytes = Vec::new();
                file.take(size).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}
