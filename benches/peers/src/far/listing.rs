//! Listings and their XML.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

use super::bucket::{UPLOADS, file_of, tag};
use super::date;
use super::http::Request;

/// The maximum number of entries of a page, as in S3.
const PAGE: usize = 1000;

/// A key, or the common prefix of keys up to the delimiter.
enum Entry {
    Key(String, DirEntry),
    Common(String),
}

impl Entry {
    fn name(&self) -> &str {
        match self {
            Self::Key(name, _) | Self::Common(name) => name,
        }
    }
}

/// Returns a page of a listing in the format of `ListObjectsV2`. The continuation token is the last name of the preceding
/// page.
pub(super) fn page(folder: &Path, request: &Request) -> io::Result<String> {
    let prefix = request.asked("prefix").unwrap_or_default();
    let is_by_folder = request.asked("delimiter").is_some_and(|delimiter| !delimiter.is_empty());
    let mut entries = Vec::new();
    // The part of the prefix after the last slash is the beginning of a name; the part before it is a folder.
    let (parent, _) = prefix.rsplit_once('/').unwrap_or(("", prefix));
    if parent.is_empty() || file_of(folder, parent).is_some() {
        let before = if parent.is_empty() { String::new() } else { format!("{parent}/") };
        collect(&folder.join(parent), &before, prefix, is_by_folder, &mut entries)?;
    }
    entries.sort_by(|one, other| one.name().cmp(other.name()));
    if let Some(last) = request.asked("continuation-token").or(request.asked("start-after")) {
        entries.retain(|entry| entry.name() > last);
    }
    let most = request.asked("max-keys").and_then(|most| most.parse().ok()).unwrap_or(PAGE).min(PAGE);
    let is_truncated = entries.len() > most;
    entries.truncate(most);
    text(prefix, &entries, is_truncated)
}

fn text(prefix: &str, entries: &[Entry], is_truncated: bool) -> io::Result<String> {
    let prefix = escaped(prefix);
    let count = entries.len();
    let mut text = format!(
        "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>{}</Name>\
         <Prefix>{prefix}</Prefix><KeyCount>{count}</KeyCount><MaxKeys>{PAGE}</MaxKeys>\
         <IsTruncated>{is_truncated}</IsTruncated>",
        super::BUCKET
    );
    if let Some(last) = entries.last().filter(|_| is_truncated) {
        let token = escaped(last.name());
        text.push_str(&format!("<NextContinuationToken>{token}</NextContinuationToken>"));
    }
    for entry in entries {
        let name = escaped(entry.name());
        text.push_str(&match entry {
            Entry::Common(_) => format!("<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>"),
            Entry::Key(_, file) => {
                let metadata = file.metadata()?;
                let size = metadata.len();
                let time = date::of_listing(metadata.modified()?);
                let tag = escaped(&tag(&metadata));
                format!(
                    "<Contents><Key>{name}</Key><LastModified>{time}</LastModified><ETag>{tag}</ETag>\
                     <Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
                )
            }
        });
    }
    text.push_str("</ListBucketResult>");
    Ok(text)
}

/// Adds the entries of a folder that begin with the prefix. For a folder inside, adds either all keys or only its name.
fn collect(
    folder: &Path,
    before: &str,
    prefix: &str,
    is_by_folder: bool,
    entries: &mut Vec<Entry>,
) -> io::Result<()> {
    for entry in entries_of(folder)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str().filter(|name| *name != UPLOADS) else { continue };
        let name = format!("{before}{name}");
        if !name.starts_with(prefix) {
            continue;
        }
        if !entry.file_type()?.is_dir() {
            entries.push(Entry::Key(name, entry));
        } else if !is_by_folder {
            collect(&entry.path(), &format!("{name}/"), prefix, false, entries)?;
        } else if has_key(&entry.path())? {
            entries.push(Entry::Common(format!("{name}/")));
        }
    }
    Ok(())
}

/// Returns whether a folder contains a key: empty folders are not listed.
fn has_key(folder: &Path) -> io::Result<bool> {
    for entry in entries_of(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() || has_key(&entry.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the entries of a folder, or no entries if it is not a folder.
fn entries_of(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries).into_iter().flatten()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None.into_iter().flatten())
        }
        Err(error) => Err(error),
    }
}

/// Returns the contents of all `Key` elements.
pub(super) fn keys_in(text: &str) -> impl Iterator<Item = String> {
    let keys = text.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
    keys.map(|(key, _)| {
        let plain = key.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        plain.replace("&apos;", "'").replace("&amp;", "&")
    })
}

/// Escapes a text for the content of an element.
pub(super) fn escaped(text: &str) -> String {
    let plain = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    plain.replace('"', "&quot;").replace('\'', "&apos;")
}
