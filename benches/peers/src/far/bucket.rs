//! Answers requests for the bucket, which is a folder.

use std::fs::{self, File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::http::{Answer, Body, Request};
use super::{BUCKET, date, listing};

/// Values are written to this folder of the bucket, which keys cannot name, and renamed when they are complete.
pub(super) const UPLOADS: &str = ".uploads";

/// Returns the answer to a request.
pub(super) fn answer(folder: &Path, request: &Request) -> Answer {
    let (bucket, key) = request
        .path
        .trim_start_matches('/')
        .split_once('/')
        .unwrap_or((request.path.trim_start_matches('/'), ""));
    if bucket != BUCKET {
        return error(404, "NoSuchBucket", "the only bucket is `bench`", bucket);
    }
    let found = if key.is_empty() { of_bucket(folder, request) } else { of_key(folder, key, request) };
    found.unwrap_or_else(|reason| error(500, "InternalError", &reason.to_string(), key))
}

/// Returns the answer to an invalid request.
pub(super) fn malformed(reason: &io::Error) -> Answer {
    error(400, "InvalidRequest", &reason.to_string(), "")
}

fn of_bucket(folder: &Path, request: &Request) -> io::Result<Answer> {
    Ok(match request.method.as_str() {
        "HEAD" => Answer { headers: vec![("x-amz-bucket-region", "us-east-1".to_owned())], ..empty(200) },
        "GET" if request.asked("list-type") == Some("2") => xml(200, listing::page(folder, request)?),
        "POST" if request.asked("delete").is_some() => delete_many(folder, &request.body)?,
        _ => not_implemented(request),
    })
}

fn of_key(folder: &Path, key: &str, request: &Request) -> io::Result<Answer> {
    let Some(file) = file_of(folder, key) else {
        return Ok(error(400, "InvalidArgument", "the key is not a valid file name", key));
    };
    let is_in_parts = request.asked("uploadId").is_some() || request.asked("uploads").is_some();
    match request.method.as_str() {
        _ if is_in_parts || request.header("x-amz-copy-source").is_some() => Ok(not_implemented(request)),
        "GET" | "HEAD" => get(&file, key, request),
        "PUT" => put(folder, &file, key, request),
        "DELETE" => {
            remove(&file)?;
            Ok(empty(204))
        }
        _ => Ok(not_implemented(request)),
    }
}

/// Returns the file of a key, or `None` if the key would leave the bucket or is not a valid path.
pub(super) fn file_of(folder: &Path, key: &str) -> Option<PathBuf> {
    let is_name = |name: &str| !matches!(name, "" | "." | ".." | UPLOADS) && !name.contains('\0');
    key.split('/').all(is_name).then(|| folder.join(key))
}

/// Opens a file and reads its metadata. Returns `None` for a folder or a missing file.
fn open(path: &Path) -> io::Result<Option<(File, Metadata)>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    Ok(metadata.is_file().then_some((file, metadata)))
}

/// Checks whether an error means a missing file. For a key below another key, a parent folder is a file.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the ETag of a file. Each write creates a new file, so two values of a key never have the same ETag.
pub(super) fn tag(metadata: &Metadata) -> String {
    let time = metadata.mtime().cast_unsigned().wrapping_mul(1_000_000_000);
    let time = time.wrapping_add(metadata.mtime_nsec().cast_unsigned());
    format!("\"{:x}{time:016x}{:x}\"", metadata.ino(), metadata.len())
}

fn get(file: &Path, key: &str, request: &Request) -> io::Result<Answer> {
    let Some((mut file, metadata)) = open(file)? else {
        return Ok(error(404, "NoSuchKey", "there is no such key", key));
    };
    let tag = tag(&metadata);
    if request.header("if-match").is_some_and(|wanted| !matches(wanted, &tag)) {
        return Ok(error(412, "PreconditionFailed", "the value has changed", key));
    }
    if request.header("if-none-match").is_some_and(|known| matches(known, &tag)) {
        return Ok(Answer { headers: vec![("ETag", tag)], ..empty(304) });
    }
    let mut headers = vec![
        ("ETag", tag),
        ("Last-Modified", date::of_header(metadata.modified()?)),
        ("Accept-Ranges", "bytes".to_owned()),
        ("Content-Type", "application/octet-stream".to_owned()),
    ];
    let size = metadata.len();
    let Some((first, last)) = request.header("range").and_then(range) else {
        return Ok(Answer { status: 200, headers, body: Body::File(file, size) });
    };
    let (start, end) = match (first, last) {
        (Some(first), Some(last)) => (first, last.saturating_add(1).min(size)),
        (Some(first), None) => (first, size),
        (None, last) => (size.saturating_sub(last.unwrap_or(0)), size),
    };
    if start >= end {
        let answer = error(416, "InvalidRange", "the range does not contain a byte of the value", key);
        headers = [answer.headers, vec![("Content-Range", format!("bytes */{size}"))]].concat();
        return Ok(Answer { headers, ..answer });
    }
    file.seek(SeekFrom::Start(start))?;
    headers.push(("Content-Range", format!("bytes {start}-{}/{size}", end - 1)));
    Ok(Answer { status: 206, headers, body: Body::File(file, end - start) })
}

/// Parses a range: the first and the last byte, or the number of bytes at the end. As in HTTP, an invalid range is
/// ignored.
fn range(text: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
    let first = number(first)?;
    let last = number(last)?;
    let is_range = match (first, last) {
        (Some(first), Some(last)) => first <= last,
        (None, None) => false,
        _ => true,
    };
    is_range.then_some((first, last))
}

/// Returns whether `tags` contains `tag`.
fn matches(tags: &str, tag: &str) -> bool {
    tags.split(',').any(|known| matches!(known.trim(), "*") || known.trim() == tag)
}

fn put(folder: &Path, file: &Path, key: &str, request: &Request) -> io::Result<Answer> {
    let there = open(file)?.map(|(_, metadata)| tag(&metadata));
    let is_refused = match (request.header("if-match"), request.header("if-none-match"), &there) {
        (Some(_), _, None) => return Ok(error(404, "NoSuchKey", "there is no such key", key)),
        (Some(wanted), _, Some(tag)) => !matches(wanted, tag),
        (None, Some(known), Some(tag)) => matches(known, tag),
        _ => false,
    };
    if is_refused {
        return Ok(error(412, "PreconditionFailed", "the value has changed", key));
    }
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let uploads = folder.join(UPLOADS);
    fs::create_dir_all(&uploads)?;
    let upload = uploads.join(COUNT.fetch_add(1, Ordering::Relaxed).to_string());
    fs::write(&upload, &request.body)?;
    let tag = tag(&fs::metadata(&upload)?);
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(&upload, file)?;
    Ok(Answer { headers: vec![("ETag", tag)], ..empty(200) })
}

/// Removes a file if it exists.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if !is_missing(&error) && error.kind() != io::ErrorKind::IsADirectory => Err(error),
        _ => Ok(()),
    }
}

fn delete_many(folder: &Path, body: &[u8]) -> io::Result<Answer> {
    let mut text = String::from("<DeleteResult>");
    for key in listing::keys_in(&String::from_utf8_lossy(body)) {
        if let Some(file) = file_of(folder, &key) {
            remove(&file)?;
        }
        text.push_str(&format!("<Deleted><Key>{}</Key></Deleted>", listing::escaped(&key)));
    }
    text.push_str("</DeleteResult>");
    Ok(xml(200, text))
}

fn empty(status: u16) -> Answer {
    Answer { status, headers: Vec::new(), body: Body::Bytes(Vec::new()) }
}

fn xml(status: u16, text: String) -> Answer {
    let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}");
    Answer {
        status,
        headers: vec![("Content-Type", "application/xml".to_owned())],
        body: Body::Bytes(text.into_bytes()),
    }
}

fn error(status: u16, code: &str, message: &str, resource: &str) -> Answer {
    let [message, resource] = [message, resource].map(listing::escaped);
    let text = format!(
        "<Error><Code>{code}</Code><Message>{message}</Message><Resource>{resource}</Resource></Error>"
    );
    xml(status, text)
}

fn not_implemented(request: &Request) -> Answer {
    let Request { method, path, .. } = request;
    error(501, "NotImplemented", &format!("this store does not support this {method} request"), path)
}
