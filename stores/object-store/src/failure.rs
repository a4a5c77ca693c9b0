//! Errors of services, with advice on what to do.

use std::error::Error as _;
use std::io;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};
use zarr_spec::store::{IoKind, StoreError};

use crate::client::Seen;

/// The texts that services return for a missing bucket.
const NO_BUCKET: [&str; 3] = ["NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist"];

/// Paths of the metadata servers of clouds, which provide credentials if there are no others.
const METADATA: [&str; 4] =
    ["/latest/api/token", "/latest/meta-data/", "/computeMetadata/", "/metadata/identity/"];

/// Maximum number of characters to show of a server's message.
const MAX_SHOWN: usize = 600;

/// Returns whether only the key is missing, and not the bucket.
pub(crate) fn is_missing_key(error: &Error) -> bool {
    matches!(error, Error::NotFound { .. }) && !is_missing_bucket(&whole_text(error))
}

/// Returns whether the service answered with this code.
pub(crate) fn has_code(error: &Error, code: &str) -> bool {
    whole_text(error).contains(code)
}

/// Returns whether the bucket is missing.
pub(crate) fn is_missing_bucket_error(error: &Error) -> bool {
    is_missing_bucket(&whole_text(error))
}

fn is_missing_bucket(text: &str) -> bool {
    NO_BUCKET.iter().any(|name| text.contains(name))
}

/// Converts `error` for the caller.
pub(crate) fn failed(
    operation: &'static str,
    place: String,
    error: &Error,
    seen: Option<&Seen>,
) -> StoreError {
    let text = whole_text(error);
    let mut told = shortened(&text);
    told.push_str(&attempt(&place, &text, seen));
    if let Some(advice) = advice(error, &text, seen) {
        told.push_str("; ");
        told.push_str(&advice);
    }
    StoreError::io(operation, place, told).with_kind(kind(error, seen))
}

/// Returns the host and the number of attempts in parentheses, or an empty text without a request. The host is left out
/// if it is in `place`.
fn attempt(place: &str, text: &str, seen: Option<&Seen>) -> String {
    let answer = seen.map(Seen::answer).filter(|answer| answer.attempts > 0);
    let of_text = || Some((host_in(text)?.to_owned(), retries_in(text) + 1));
    let of_answer = answer.and_then(|answer| Some((answer.host?, answer.attempts)));
    match of_answer.or_else(of_text) {
        None => String::new(),
        Some((host, attempts)) if place.contains(&host) => format!(" (attempt {attempts})"),
        Some((host, attempts)) => format!(" ({host}, attempt {attempts})"),
    }
}

/// Returns the host in the request that `object_store` puts before the cause: `Error performing GET https://host/…`.
fn host_in(text: &str) -> Option<&str> {
    let (_, request) = text.split_once("Error performing ")?;
    let (_, rest) = request.split_once("://")?;
    rest.split(['/', '?', ' ']).next()
}

/// Returns the number of retries in the request that `object_store` puts before the cause.
fn retries_in(text: &str) -> u32 {
    let after = text.split_once(", after ").and_then(|(_, rest)| rest.split_once(" retries"));
    after.and_then(|(count, _)| count.parse().ok()).unwrap_or(0)
}

/// Classifies `error` for programs.
fn kind(error: &Error, seen: Option<&Seen>) -> IoKind {
    if matches!(error, Error::PermissionDenied { .. } | Error::Unauthenticated { .. }) {
        return IoKind::NotPermitted;
    }
    match seen.map_or(0, |seen| seen.answer().status) {
        401 | 403 => return IoKind::NotPermitted,
        429 | 503 => return IoKind::Throttled,
        408 | 504 => return IoKind::TimedOut,
        _ => {}
    }
    let mut cause = error.source();
    while let Some(one) = cause {
        if let Some(http) = one.downcast_ref::<HttpError>() {
            match http.kind() {
                HttpErrorKind::Connect => return IoKind::Unreachable,
                HttpErrorKind::Timeout => return IoKind::TimedOut,
                _ => {}
            }
        }
        if let Some(io) =
            one.downcast_ref::<io::Error>().map(IoKind::of).filter(|kind| *kind != IoKind::Other)
        {
            return io;
        }
        cause = one.source();
    }
    IoKind::Other
}

/// Returns the text of the error and its causes, without repetitions.
pub(crate) fn whole_text(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        let said = one.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = one.source();
    }
    text
}

/// Reduces an XML error document to its code and message, and shortens long texts.
fn shortened(text: &str) -> String {
    let start =
        ["<?xml", "<Error", "<!DOCTYPE", "<!doctype", "<html"].iter().filter_map(|tag| text.find(tag)).min();
    let mut told = text.to_owned();
    if let Some((before, document)) = start.and_then(|start| text.split_at_checked(start)) {
        let parts = ["Code", "Message"].iter().filter_map(|tag| element(document, tag));
        told = format!("{before}{}", parts.collect::<Vec<_>>().join(": "));
    }
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = without_request(&told);
    let told = told.trim_end_matches([':', ' ']);
    match told.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", told.get(..end).unwrap_or_default()),
        None => told.to_owned(),
    }
}

/// Removes the request and its duration, which `object_store` puts before the cause: the error of the store states the
/// URL. The number of retries stays.
fn without_request(text: &str) -> String {
    let request = text.split_once("Error performing ");
    let parts = request.and_then(|(before, rest)| Some((before, rest.split_once(" - ")?)));
    let Some((before, (request, cause))) = parts else { return text.to_owned() };
    let before = if before.starts_with("Generic ") { "" } else { before };
    let cause = cause.trim_start_matches("HTTP error: ");
    let retries = request.split(", ").find(|part| part.starts_with("after ") && part.ends_with(" retries"));
    let retries = retries.map_or_else(String::new, |retries| format!("{retries}: "));
    format!("{before}{retries}{cause}")
}

/// Returns the content of the first element called `name`.
fn element<'d>(document: &'d str, name: &str) -> Option<&'d str> {
    let (_, rest) = document.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0)
}

fn advice(error: &Error, text: &str, seen: Option<&Seen>) -> Option<String> {
    let answer = seen.map(Seen::answer).unwrap_or_default();
    if METADATA.iter().any(|path| text.contains(path)) {
        return Some(
            "no credentials found in the environment or on this machine; read a public bucket \
             with `\"anonymous\": true`, or for s3: URLs with AWS_SKIP_SIGNATURE=true"
                .to_owned(),
        );
    }
    if text.contains("RequestTimeTooSkewed") {
        let skew = answer.skew.map_or_else(String::new, |skew| format!(" by {} seconds", skew.as_secs()));
        return Some(format!(
            "the clock of this machine differs from that of the server{skew}; set the clock"
        ));
    }
    if let Some(region) = answer.region.filter(|_| matches!(answer.status, 301 | 307 | 400)) {
        return Some(format!("the bucket is in region {region}; set AWS_REGION or `region`"));
    }
    match error {
        Error::PermissionDenied { .. } if !is_missing_bucket(text) => Some(
            "S3 also answers this for a missing key if listing is not permitted, so the store cannot tell \
             whether the key exists"
                .to_owned(),
        ),
        _ if is_missing_bucket(text) => Some("the bucket does not exist".to_owned()),
        _ => None,
    }
}
