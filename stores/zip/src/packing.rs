//! Writing all values of a store to an archive.

use std::io::{self, Write};

use rawzip::ZipArchiveWriter;
use rawzip::path::EntryPath;
use rawzip::time::UtcDateTime;
use zarr_spec::metadata_encoding::DOCUMENT_NAMES;
use zarr_spec::store::{Contents, Store, StoreError, StoreResult};
use zarr_spec::{BoxError, Buffer, ByteRange, Invalid, Key, Prefix};

/// Number of bytes of a value that are read at a time.
const PIECE: usize = 32 << 20;

/// The modification time of every entry, in seconds since 1970: the first day of 1980, the earliest date that
/// an archive can represent. A constant makes archives of equal values identical.
const EARLIEST: i64 = 315_532_800;

/// The progress of [`pack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packed {
    /// Bytes written since the last call.
    pub bytes: u64,
    /// Number of completed values.
    pub values: usize,
    /// Number of all values.
    pub of: usize,
}

/// Writes all values below `prefix` to an archive and returns their number. The names are the keys without
/// `prefix`.
///
/// Values are stored without compression, since chunks usually are compressed already. Metadata documents
/// come first, parents before children, so that readers find the `zarr.json` of the root at the start.
/// `comment` becomes the comment of the archive. At most 32 MiB of values are in memory, plus about 100 bytes
/// per key. `progress` is called after each piece of a value.
///
/// # Errors
///
/// [`StoreError`] if listing, reading or writing fails, if a value changes meanwhile, or if a key is not a
/// valid name of an entry. The output is then incomplete.
pub fn pack(
    store: &dyn Store,
    prefix: &Prefix,
    to: impl Write,
    comment: &str,
    progress: &mut dyn FnMut(Packed),
) -> StoreResult<usize> {
    let mut keys = store.list_sorted(prefix)?;
    keys.sort_by_cached_key(|key| rank(prefix.strip(key.as_str()).unwrap_or_default()));
    let mut archive = ZipArchiveWriter::new(to);
    archive.set_comment(comment);
    let mut buffer = Buffer::new();
    for (number, key) in keys.iter().enumerate() {
        let packing = |error: rawzip::Error| failed(key.as_str(), error.into());
        let name = prefix.strip(key.as_str()).unwrap_or_default();
        let file = archive.new_file(path_of(name)?).last_modified(UtcDateTime::from_unix(EARLIEST));
        let (mut entry, config) = file.start().map_err(packing)?;
        let mut encoder = config.wrap(&mut entry);
        add(store, key, &mut buffer, &mut encoder, &mut |bytes| {
            progress(Packed { bytes, values: number, of: keys.len() });
        })?;
        let (_, written) = encoder.finish().map_err(packing)?;
        entry.finish(written).map_err(packing)?;
    }
    archive.finish().map_err(|error| failed("the directory", error.into()))?;
    Ok(keys.len())
}

/// Writes one value, piece by piece.
fn add(
    store: &dyn Store,
    key: &Key,
    buffer: &mut Buffer,
    to: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> StoreResult<()> {
    let changed = || failed(key.as_str(), "its value changed while it was read".into());
    let mut done = 0;
    let mut state = None;
    loop {
        let mut output = buffer.output(PIECE);
        let range = ByteRange::Range { offset: done, size: PIECE as u64 };
        let got = store.get(key, range.into(), &mut output)?.ok_or_else(changed)?;
        let bytes = match &got.contents {
            Contents::Written => output.written(),
            Contents::Shared(bytes) => bytes,
        };
        to.write_all(bytes).map_err(|error: io::Error| failed(key.as_str(), error.into()))?;
        progress(bytes.len() as u64);
        done += bytes.len() as u64;
        let now = (got.size, got.version);
        if state.is_some_and(|before| before != now) || (bytes.is_empty() && done < now.0) {
            return Err(changed());
        }
        if done >= now.0 {
            return Ok(());
        }
        state = Some(now);
    }
}

/// Sorts documents before chunks, and higher nodes first.
fn rank(name: &str) -> (bool, usize) {
    let last = name.rsplit('/').next().unwrap_or(name);
    let is_of_draft = name.starts_with("meta/") && (last.contains(".array.") || last.contains(".group."));
    let is_document = DOCUMENT_NAMES.contains(&last) || is_of_draft;
    (!is_document, if is_document { name.matches('/').count() } else { 0 })
}

/// Returns the exact name of an entry.
///
/// # Errors
///
/// For a non-ASCII name with a character that the archive would replace.
fn path_of(name: &str) -> Result<EntryPath<'_>, Invalid> {
    match name {
        ascii if ascii.is_ascii() => Ok(EntryPath::verbatim(ascii.as_bytes())),
        other if other.contains([':', '\\']) => Err(Invalid::new(format!(
            "`{other}`: the name of an entry cannot contain both `:` or `\\` and characters beyond ASCII"
        ))),
        other => Ok(EntryPath::conformant(other)),
    }
}

fn failed(place: &str, source: BoxError) -> StoreError {
    StoreError::io("packing", place, source)
}
