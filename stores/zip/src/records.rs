//! The bytes of new entries in an archive: local headers, records of the directory, and its end.
//!
//! Numbers that do not fit into 32 bits are in a zip64 field, and the fields of 32 bits are then all ones.

use zarr_spec::{Key, KeyError};

use crate::directory::{Entry, Layout};

/// The modification time of every entry, as DOS represents it: the first day of 1980. A constant makes archives of
/// equal values identical.
const EARLIEST: [u8; 4] = [0, 0, 0x21, 0];

/// The flag of a name in UTF-8.
const IS_UTF8: u16 = 1 << 11;

/// The version of APPNOTE.TXT that a reader needs.
const PLAIN: u16 = 20;

/// The version of APPNOTE.TXT that a reader of zip64 needs.
const ZIP64: u16 = 45;

/// The number of Unix in the high byte of the version, so that the attributes are permissions.
const UNIX: u16 = 3 << 8;

/// A regular file that its owner may write and all may read.
const ATTRIBUTES: u32 = 0o100_644 << 16;

/// The identifier of the field with numbers of 64 bits.
const ZIP64_FIELD: u16 = 1;

/// The size of a record of the directory in bytes, without its name, fields and comment.
const RECORD: usize = 46;

/// Refuses a key that cannot be the name of an entry.
///
/// # Errors
///
/// For a key of more than 65,535 bytes.
pub(crate) fn check(key: &Key) -> Result<(), KeyError> {
    match u16::try_from(key.as_str().len()) {
        Ok(_) => Ok(()),
        Err(_) => Err(KeyError::new(key.as_str(), "key", "names in a zip archive have at most 65535 bytes")),
    }
}

/// Returns the local header of a stored value.
pub(crate) fn local_header(key: &Key, size: u64, crc32: u32) -> Vec<u8> {
    let is_large = size >= u64::from(u32::MAX);
    let mut bytes = b"PK\x03\x04".to_vec();
    put(&mut bytes, if is_large { ZIP64 } else { PLAIN });
    put_shared(&mut bytes, key, size, crc32, if is_large { 20 } else { 0 });
    bytes.extend_from_slice(key.as_str().as_bytes());
    if is_large {
        // In a local header, both sizes must be there.
        put_zip64(&mut bytes, &[size, size]);
    }
    bytes
}

/// Appends the record of an entry.
pub(crate) fn put_record(to: &mut Vec<u8>, entry: &Entry) {
    let mut large = Vec::new();
    if entry.size() >= u64::from(u32::MAX) {
        large.extend([entry.size(), entry.size()]);
    }
    if entry.header() >= u64::from(u32::MAX) {
        large.push(entry.header());
    }
    let field_size = if large.is_empty() { 0 } else { 4 + 8 * large.len() };
    to.extend_from_slice(b"PK\x01\x02");
    put(to, UNIX | ZIP64);
    put(to, if large.is_empty() { PLAIN } else { ZIP64 });
    put_shared(to, entry.key(), entry.size(), entry.crc32(), field_size);
    // No comment, the first disk, no internal attributes.
    to.extend_from_slice(&[0; 6]);
    to.extend_from_slice(&ATTRIBUTES.to_le_bytes());
    to.extend_from_slice(&clamped(entry.header()).to_le_bytes());
    to.extend_from_slice(entry.key().as_str().as_bytes());
    if !large.is_empty() {
        put_zip64(to, &large);
    }
}

/// Appends those records of an existing directory for which `is_kept` is true, without changes. Returns their count.
///
/// # Errors
///
/// If the directory is damaged.
pub(crate) fn keep_records(to: &mut Vec<u8>, directory: &[u8], is_kept: &[bool]) -> Result<u64, String> {
    let mut rest = directory;
    let mut count = 0;
    for is_kept in is_kept {
        let size = size_of_record(rest).filter(|size| *size <= rest.len());
        let (record, following) = rest.split_at(size.ok_or("its directory is damaged")?);
        rest = following;
        if *is_kept {
            to.extend_from_slice(record);
            count += 1;
        }
    }
    Ok(count)
}

fn size_of_record(bytes: &[u8]) -> Option<usize> {
    let number = |at: usize| Some(usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)));
    bytes.starts_with(b"PK\x01\x02").then_some(())?;
    Some(RECORD + number(28)? + number(30)? + number(32)?)
}

/// Appends the end of a directory of `count` records. `to` contains the whole directory, which begins at byte `start`
/// of the archive.
pub(crate) fn put_end(to: &mut Vec<u8>, start: u64, count: u64, layout: &Layout) {
    let size = to.len() as u64;
    let end = start + size;
    let most = u64::from(u32::MAX);
    if count >= u64::from(u16::MAX) || size >= most || start >= most {
        to.extend_from_slice(b"PK\x06\x06");
        // The size of the remaining fields of this record.
        to.extend_from_slice(&44_u64.to_le_bytes());
        put(to, UNIX | ZIP64);
        put(to, ZIP64);
        to.extend_from_slice(&[0; 8]);
        for number in [count, count, size, start] {
            to.extend_from_slice(&number.to_le_bytes());
        }
        to.extend_from_slice(b"PK\x06\x07\0\0\0\0");
        to.extend_from_slice(&end.to_le_bytes());
        to.extend_from_slice(&1_u32.to_le_bytes());
    }
    let short_count = u16::try_from(count).unwrap_or(u16::MAX);
    to.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    put(to, short_count);
    put(to, short_count);
    to.extend_from_slice(&clamped(size).to_le_bytes());
    to.extend_from_slice(&clamped(start).to_le_bytes());
    put(to, u16::try_from(layout.comment.len()).unwrap_or(u16::MAX));
    to.extend_from_slice(&layout.comment);
}

/// Appends the fields that a local header and a record share, from the flags to the size of the fields.
fn put_shared(to: &mut Vec<u8>, key: &Key, size: u64, crc32: u32, field_size: usize) {
    let name = key.as_str();
    put(to, if name.is_ascii() { 0 } else { IS_UTF8 });
    // Stored without compression.
    put(to, 0);
    to.extend_from_slice(&EARLIEST);
    to.extend_from_slice(&crc32.to_le_bytes());
    to.extend_from_slice(&clamped(size).to_le_bytes());
    to.extend_from_slice(&clamped(size).to_le_bytes());
    put(to, u16::try_from(name.len()).unwrap_or(u16::MAX));
    put(to, u16::try_from(field_size).unwrap_or(u16::MAX));
}

fn put_zip64(to: &mut Vec<u8>, numbers: &[u64]) {
    put(to, ZIP64_FIELD);
    put(to, u16::try_from(8 * numbers.len()).unwrap_or(u16::MAX));
    numbers.iter().for_each(|number| to.extend_from_slice(&number.to_le_bytes()));
}

fn put(to: &mut Vec<u8>, number: u16) {
    to.extend_from_slice(&number.to_le_bytes());
}

/// Returns the number for a field of 32 bits: all ones if the number is in a zip64 field.
fn clamped(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
