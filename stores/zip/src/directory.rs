//! The central directory: read once, checked, and sorted by key.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rawzip::{CompressionMethod, ReaderAt, ZipArchive, ZipFileHeaderRecord, ZipLocator};
use zarr_spec::{BoxError, Key};

use crate::Source;
use crate::names::name_of;

/// Maximum size of a directory in bytes; enough for many millions of entries.
pub(crate) const MAX_DIRECTORY_SIZE: u64 = 1 << 30;

/// The size of the end of a directory in bytes, without a comment.
const END: usize = 22;

/// Maximum size of the end of a directory in bytes: the fixed part and the longest comment.
const MAX_END_SIZE: u64 = END as u64 + u16::MAX as u64;

/// Maximum number of false ends of a directory in a comment.
const MAX_FALSE_ENDS: usize = 32;

/// Size of a local header in bytes, without the name.
const LOCAL_HEADER: u64 = 30;

/// Usual size of the extra fields in a local header in bytes: a zip64 size and times.
const USUAL_EXTRA: u64 = 64;

/// Maximum number of bytes that deflate produces from one byte.
const MAX_RATIO: u64 = 1032;

/// The entries whose names are keys, sorted; each key occurs once.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    sorted: Vec<Entry>,
    layout: Layout,
}

/// The position of a directory, and its contents other than the entries whose names are keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The byte range that contains the records.
    pub(crate) records: Range<u64>,
    /// The number of records.
    pub(crate) count: u64,
    /// The numbers of the records whose names are not keys, such as folders.
    pub(crate) others: Vec<u64>,
    /// The comment of the archive.
    pub(crate) comment: Vec<u8>,
    /// Whether the archive is preceded by bytes that its offsets do not count.
    pub(crate) is_shifted: bool,
}

impl Entries {
    pub(crate) fn find(&self, key: &Key) -> Option<&Entry> {
        let number = self.sorted.binary_search_by(|entry| entry.key.cmp(key)).ok()?;
        self.sorted.get(number)
    }

    /// Returns all entries, sorted by their keys.
    pub(crate) fn all(&self) -> &[Entry] {
        &self.sorted
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns whether `other` is the directory of the same state of an archive.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let [one, two] = [self, other].map(|entries| entries.sorted.iter().map(Entry::identity));
        self.layout == other.layout && one.eq(two)
    }
}

/// A value in the archive. Sizes and offsets are in bytes.
#[derive(Debug)]
pub(crate) struct Entry {
    key: Key,
    /// The offset of its local header, and the maximum offset of the end of its bytes.
    header: u64,
    limit: u64,
    /// An estimate of the size of its local header, which is rarely larger.
    header_size: u64,
    /// The offset of its bytes; 0 until the local header has been read.
    start: AtomicU64,
    encoded_size: u64,
    size: u64,
    crc32: u32,
    form: Form,
    /// The number of its record in the directory.
    number: u64,
}

/// The form in which the value of an entry is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Stored,
    Deflated,
    Refused(Refusal),
}

/// Why an entry cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Encrypted,
    Link,
    Method(CompressionMethod),
    Outside,
    Overlap,
    Sizes,
}

impl Entry {
    /// Creates an entry for a stored value of `size` bytes, which follow a local header of `header_size` bytes.
    pub(crate) fn stored(key: Key, header: u64, header_size: u64, size: u64, crc32: u32) -> Self {
        let start = header + header_size;
        Self {
            key,
            header,
            limit: start + size,
            header_size,
            start: AtomicU64::new(start),
            encoded_size: size,
            size,
            crc32,
            form: Form::Stored,
            number: 0,
        }
    }

    /// Returns the properties that distinguish the entry from others.
    fn identity(&self) -> impl PartialEq {
        (&self.key, self.header, self.encoded_size, self.size, self.crc32, self.form, self.number)
    }

    /// Returns the number of the record in the directory.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Returns the size of the value.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the size of the stored bytes.
    pub(crate) fn encoded_size(&self) -> u64 {
        self.encoded_size
    }

    pub(crate) fn crc32(&self) -> u32 {
        self.crc32
    }

    /// Returns the offset of the local header.
    pub(crate) fn header(&self) -> u64 {
        self.header
    }

    /// Returns the offset of the stored bytes, if the local header has been read.
    pub(crate) fn known_start(&self) -> Option<u64> {
        Some(self.start.load(Ordering::Relaxed)).filter(|start| *start > 0)
    }

    /// Returns the byte range of the local header.
    pub(crate) fn fixed_header(&self) -> Range<u64> {
        self.header..self.header + LOCAL_HEADER
    }

    /// Returns the byte range that contains the bytes of a part of the value, and the local header if it has not been
    /// read. It may end too early if the local header is unusual.
    pub(crate) fn needed(&self, part: &Range<u64>) -> Range<u64> {
        let encoded = match self.form {
            Form::Deflated => 0..self.encoded_size,
            _ => part.clone(),
        };
        match self.known_start() {
            Some(start) => start + encoded.start..start + encoded.end,
            None => self.header..self.limit.min(self.header + self.header_size + encoded.end),
        }
    }

    /// Returns the maximum offset of the end of the stored bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the offset of the stored bytes, all of which are inside of the archive. Reads the local header
    /// only once.
    ///
    /// # Errors
    ///
    /// If the local header is missing or leaves too little space for the bytes.
    pub(crate) fn start(&self, source: &impl ReaderAt) -> Result<u64, BoxError> {
        // Concurrent threads compute the same number.
        if let Some(start) = self.known_start() {
            return Ok(start);
        }
        let mut header = [0; 30];
        source.read_exact_at(&mut header, self.header)?;
        let [b'P', b'K', 3, 4, .., n0, n1, m0, m1] = header else {
            return Err(
                "expected a local header at the offset in the directory of the archive, but there is none"
                    .into(),
            );
        };
        let variable = u64::from(u16::from_le_bytes([n0, n1])) + u64::from(u16::from_le_bytes([m0, m1]));
        let start = self.header + LOCAL_HEADER + variable;
        if start + self.encoded_size > self.limit {
            return Err(Refusal::Overlap.to_string().into());
        }
        self.start.store(start, Ordering::Relaxed);
        Ok(start)
    }
}

/// The smallest byte range that an entry occupies.
struct Extent {
    start: u64,
    end: u64,
    /// The index of the entry, if its name is a key.
    number: Option<usize>,
}

/// Reads the directory of an archive.
///
/// # Errors
///
/// A description of what is wrong with the directory.
pub(crate) fn read(source: &Source) -> Result<Entries, String> {
    let archive = locate(source)?;
    let start = archive.directory_offset();
    let end = archive.eocd_offset();
    if end - start.min(end) > MAX_DIRECTORY_SIZE {
        return Err(format!("its directory is larger than {MAX_DIRECTORY_SIZE} bytes"));
    }
    let mut entries = Vec::new();
    let mut extents = Vec::new();
    let mut layout = layout(source, start, end)?;
    let mut buffer = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let mut records = archive.entries(&mut buffer);
    while let Some(record) =
        records.next_entry().map_err(|error| format!("its directory is damaged: {error}"))?
    {
        let number = layout.count;
        layout.count += 1;
        let entry = if record.is_dir() { None } else { entry(&record, number, start) };
        if entry.is_none() {
            layout.others.push(number);
        }
        if record.is_dir() {
            continue;
        }
        let name = u64::try_from(record.file_path().as_bytes().len()).unwrap_or(u64::MAX);
        let least = LOCAL_HEADER.saturating_add(name).saturating_add(record.compressed_size_hint());
        extents.push(Extent {
            start: record.local_header_offset(),
            end: record.local_header_offset().saturating_add(least),
            number: entry.is_some().then_some(entries.len()),
        });
        entries.extend(entry);
    }
    let declared = archive.entries_hint();
    // Some programs write the number of entries modulo 65536.
    let count = layout.count;
    if declared != count && declared != count % (1 << 16) {
        return Err(format!("its directory has {count} entries, but its end record declares {declared}"));
    }
    limit(&mut entries, extents, start);
    // The last entry with a name wins.
    entries.reverse();
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    entries.dedup_by(|next, first| next.key == first.key);
    entries.shrink_to_fit();
    Ok(Entries { sorted: entries, layout })
}

/// Reads the end of a directory whose records are between `start` and `end`.
fn layout(source: &Source, start: u64, end: u64) -> Result<Layout, String> {
    let mut fixed = [0; END];
    let read = source.read_exact_at(&mut fixed, end);
    read.map_err(|error| format!("the end of its directory cannot be read: {error}"))?;
    let [.., o0, o1, o2, o3, c0, c1] = fixed;
    let declared = u32::from_le_bytes([o0, o1, o2, o3]);
    let mut comment = vec![0; u16::from_le_bytes([c0, c1]).into()];
    // A truncated comment is ignored.
    if source.read_exact_at(&mut comment, end + END as u64).is_err() {
        comment.clear();
    }
    let is_shifted = declared != u32::MAX && u64::from(declared) != start;
    Ok(Layout { records: start..end, comment, is_shifted, ..Layout::default() })
}

/// Finds the end of the directory. A comment may contain false ends.
fn locate(source: &Source) -> Result<ZipArchive<&Source>, String> {
    let locator = ZipLocator::new().max_search_space(MAX_END_SIZE);
    let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
    let mut end = source.size();
    for _ in 0..MAX_FALSE_ENDS {
        let error = match locator.locate_in_reader(source, &mut buffer, end) {
            Ok(archive) => return Ok(archive),
            Err((_, error)) => error,
        };
        match error.eocd_offset() {
            Some(false_end) if false_end < end => end = false_end,
            _ => break,
        }
    }
    let mut start = [0; 4];
    let begins_so = source.read_exact_at(&mut start, 0).is_ok() && start == *b"PK\x03\x04";
    Err(match (begins_so, source.size()) {
        (_, 0) => "it is empty",
        (true, _) => "it does not end with a directory; it is probably truncated",
        (false, _) => "it does not have the signature of a zip archive",
    }
    .to_owned())
}

/// Reads an entry of the directory; `None` if its name is not a key. Values end before byte `directory`.
fn entry(record: &ZipFileHeaderRecord<'_>, number: u64, directory: u64) -> Option<Entry> {
    let name = name_of(record)?;
    // Some programs start every name with `./`.
    let key = Key::new(name.strip_prefix("./").unwrap_or(&name)).ok()?;
    let encoded_size = record.compressed_size_hint();
    let size = record.uncompressed_size_hint();
    let form = match record.compression_method() {
        _ if record.flags().is_encrypted() => Form::Refused(Refusal::Encrypted),
        _ if record.mode().is_symlink() => Form::Refused(Refusal::Link),
        CompressionMethod::STORE if encoded_size == size => Form::Stored,
        CompressionMethod::DEFLATE if size <= encoded_size.saturating_mul(MAX_RATIO) => Form::Deflated,
        CompressionMethod::STORE | CompressionMethod::DEFLATE => Form::Refused(Refusal::Sizes),
        method => Form::Refused(Refusal::Method(method)),
    };
    Some(Entry {
        key,
        header: record.local_header_offset(),
        limit: directory,
        header_size: LOCAL_HEADER + record.file_path().as_bytes().len() as u64 + USUAL_EXTRA,
        start: AtomicU64::new(0),
        encoded_size,
        size,
        crc32: record.crc32(),
        form,
        number,
    })
}

/// Sets the limit of each entry to the start of the next one. Refuses entries that overlap or end too late.
fn limit(entries: &mut [Entry], mut extents: Vec<Extent>, directory: u64) {
    extents.sort_unstable_by_key(|extent| (extent.start, extent.end));
    let mut refuse = |number: Option<usize>, refusal| {
        if let Some(entry) = number.and_then(|number| entries.get_mut(number)) {
            entry.form = Form::Refused(refusal);
        }
    };
    // Of the preceding entries, the one that ends last.
    let mut farthest: Option<&Extent> = None;
    for extent in &extents {
        if extent.end > directory {
            refuse(extent.number, Refusal::Outside);
        } else if let Some(before) = farthest.filter(|before| before.end > extent.start) {
            refuse(before.number, Refusal::Overlap);
            refuse(extent.number, Refusal::Overlap);
        }
        if extent.end <= directory && farthest.is_none_or(|before| before.end < extent.end) {
            farthest = Some(extent);
        }
    }
    let mut next = directory;
    for extent in extents.iter().rev() {
        if let Some(entry) = extent.number.and_then(|number| entries.get_mut(number)) {
            entry.limit = next;
        }
        next = next.min(extent.start);
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encrypted => f.write_str("it is encrypted"),
            Self::Link => f.write_str("it is a symbolic link, which the store does not follow"),
            Self::Method(method) => match method.name() {
                Some(name) => write!(f, "it is compressed with {name} (method {}), and ", method.as_u16()),
                None => write!(f, "it is compressed with method {}, and ", method.as_u16()),
            }
            .and_then(|()| f.write_str("only stored and deflated entries can be read")),
            Self::Outside => f.write_str("it extends past the end of the archive"),
            Self::Overlap => f.write_str("it overlaps another entry of the archive"),
            Self::Sizes => f.write_str("the archive declares an impossible size for it"),
        }
    }
}
