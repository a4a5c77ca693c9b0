//! Listings, and the little XML that goes with them.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

use super::bucket::{UPLOADS, file_of, tag};
use super::date;
use super::http::Request;

/// Entries of a page at most, as S3 has it.
const PAGE: usize = 1000;

/// A key, or what keys have in common before the delimiter.
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

/// A page of a listing, as `ListObjectsV2` has it. The token that continues it is the last name of the page before.
pub(super) fn page(folder: &Path, request: &Request) -> io::Result<String> {
    let prefix = request.asked("prefix").unwrap_or_default();
    let is_by_folder = request.asked("delimiter").is_some_and(|delimiter| !delimiter.is_empty());
    let mut entries = Vec::new();
    // Only names of the last part may begin with what is asked for; all before it is a folder.
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

/// Adds what lies in a folder and begins with the prefix; of folders in it either all keys or their name alone.
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

/// A store of keys has no empty folders.
fn has_key(folder: &Path) -> io::Result<bool> {
    for entry in entries_of(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() || has_key(&entry.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// None of what is no folder.
fn entries_of(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries).into_iter().flatten()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None.into_iter().flatten())
        }
        Err(error) => Err(error),
    }
}

/// The contents of all elements `Key`.
pub(super) fn keys_in(text: &str) -> impl Iterator<Item = String> {
    let keys = text.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
    keys.map(|(key, _)| {
        let plain = key.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        plain.replace("&apos;", "'").replace("&amp;", "&")
    })
}

/// As the content of an element.
pub(super) fn escaped(text: &str) -> String {
    let plain = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    plain.replace('"', "&quot;").replace('\'', "&apos;")
}
