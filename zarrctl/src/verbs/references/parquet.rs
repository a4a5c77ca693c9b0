//! Parquet files with the columns of a table of references: plain values in one page for each column, not compressed.
//!
//! Source: the file format of Apache Parquet, version 2.11; "Thrift compact protocol encoding" of Apache Thrift.

const MAGIC: &[u8; 4] = b"PAR1";

/// Types of values.
const INT64: i32 = 2;
const BYTE_ARRAY: i32 = 6;

/// Encodings of values and levels.
const PLAIN: i32 = 0;
const RLE: i32 = 3;

/// A part of a file, or a whole file if the size is 0.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    pub(super) path: String,
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// A column of a table.
struct Column {
    name: &'static str,
    kind: i32,
    is_optional: bool,
    is_text: bool,
    /// The number of values that are null. Without it, fastparquet reads integers as floating-point numbers.
    nulls: usize,
    /// The only page, without its header.
    page: Vec<u8>,
}

/// Returns a file with a row for each reference. Rows that are `None` are null.
pub(super) fn table(rows: &[Option<Reference>]) -> Vec<u8> {
    let columns = columns(rows);
    let mut file = MAGIC.to_vec();
    let mut chunks = Vec::new();
    for column in &columns {
        let start = file.len();
        file.extend(page_header(rows.len(), column.page.len()));
        file.extend_from_slice(&column.page);
        chunks.push(column_chunk(column, rows.len(), start..file.len()));
    }
    let size = file.len() - MAGIC.len();
    let metadata = metadata(&columns, rows.len(), row_group(&chunks, rows.len(), size));
    file.extend_from_slice(&metadata);
    file.extend_from_slice(&number(metadata.len()).to_le_bytes());
    file.extend_from_slice(MAGIC);
    file
}

fn columns(rows: &[Option<Reference>]) -> [Column; 4] {
    let is_present: Vec<bool> = rows.iter().map(Option::is_some).collect();
    let mut paths = levels(&is_present);
    let mut offsets = Vec::new();
    let mut sizes = Vec::new();
    for row in rows {
        if let Some(reference) = row {
            paths.extend_from_slice(&number(reference.path.len()).to_le_bytes());
            paths.extend_from_slice(reference.path.as_bytes());
        }
        let (offset, size) = row.as_ref().map_or((0, 0), |reference| (reference.offset, reference.size));
        offsets.extend_from_slice(&offset.to_le_bytes());
        sizes.extend_from_slice(&size.to_le_bytes());
    }
    let integers =
        |name, page| Column { name, kind: INT64, is_optional: false, is_text: false, nulls: 0, page };
    let bytes = |name, is_text, nulls, page| Column {
        name,
        kind: BYTE_ARRAY,
        is_optional: true,
        is_text,
        nulls,
        page,
    };
    let missing = is_present.iter().filter(|&&is_present| !is_present).count();
    [
        bytes("path", true, missing, paths),
        integers("offset", offsets),
        integers("size", sizes),
        bytes("raw", false, rows.len(), levels(&vec![false; rows.len()])),
    ]
}

/// Returns the definition levels, which are 1 for present values and 0 for null: the size in bytes, and one run of
/// packed bits.
fn levels(is_present: &[bool]) -> Vec<u8> {
    let groups = is_present.len().div_ceil(8);
    let mut run = Vec::new();
    unsigned(&mut run, groups as u64 * 2 + 1);
    run.extend(is_present.chunks(8).map(|bits| {
        bits.iter().enumerate().fold(0_u8, |byte, (place, &is_present)| byte | u8::from(is_present) << place)
    }));
    let mut levels = number(run.len()).to_le_bytes().to_vec();
    levels.extend(run);
    levels
}

fn page_header(count: usize, size: usize) -> Vec<u8> {
    let data = Structure::default().int(1, number(count)).int(2, PLAIN).int(3, RLE).int(4, RLE);
    Structure::default().int(1, 0).int(2, number(size)).int(3, number(size)).structure(5, data).end()
}

fn column_chunk(column: &Column, count: usize, place: std::ops::Range<usize>) -> Vec<u8> {
    let metadata = Structure::default()
        .int(1, column.kind)
        .ints(2, &[PLAIN, RLE])
        .texts(3, &[column.name])
        .int(4, 0)
        .long(5, count)
        .long(6, place.len())
        .long(7, place.len())
        .long(9, place.start)
        .structure(12, Structure::default().long(3, column.nulls));
    Structure::default().long(2, place.start).structure(3, metadata).end()
}

fn row_group(chunks: &[Vec<u8>], count: usize, size: usize) -> Vec<u8> {
    Structure::default().structures(1, chunks).long(2, size).long(3, count).end()
}

fn metadata(columns: &[Column], count: usize, group: Vec<u8>) -> Vec<u8> {
    let root = Structure::default().text(4, "schema").int(5, number(columns.len())).end();
    let mut schema = vec![root];
    schema.extend(columns.iter().map(|column| {
        let element = Structure::default().int(1, column.kind).int(3, i32::from(column.is_optional));
        let element = element.text(4, column.name);
        // Converted type 0 is text.
        if column.is_text { element.int(6, 0).end() } else { element.end() }
    }));
    Structure::default()
        .int(1, 1)
        .structures(2, &schema)
        .long(3, count)
        .structures(4, &[group])
        .text(6, concat!("zarrctl version ", env!("CARGO_PKG_VERSION")))
        .end()
}

/// A structure of Thrift. Members are added in the order of their numbers.
#[derive(Debug, Default)]
struct Structure {
    bytes: Vec<u8>,
    last: u8,
}

/// The types of members.
const INT: u8 = 5;
const LONG: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCTURE: u8 = 12;

impl Structure {
    /// Begins a member.
    fn member(mut self, id: u8, kind: u8) -> Self {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
        self
    }

    fn int(self, id: u8, number: i32) -> Self {
        let mut structure = self.member(id, INT);
        signed(&mut structure.bytes, number.into());
        structure
    }

    fn long(self, id: u8, number: usize) -> Self {
        let mut structure = self.member(id, LONG);
        signed(&mut structure.bytes, i64::try_from(number).unwrap_or(i64::MAX));
        structure
    }

    fn text(self, id: u8, text: &str) -> Self {
        let mut structure = self.member(id, BINARY);
        put_text(&mut structure.bytes, text);
        structure
    }

    fn list(self, id: u8, kind: u8, count: usize) -> Self {
        let mut structure = self.member(id, LIST);
        match u8::try_from(count) {
            Ok(count @ ..15) => structure.bytes.push(count << 4 | kind),
            _ => {
                structure.bytes.push(0xf0 | kind);
                unsigned(&mut structure.bytes, count as u64);
            }
        }
        structure
    }

    fn ints(self, id: u8, numbers: &[i32]) -> Self {
        let mut structure = self.list(id, INT, numbers.len());
        for &number in numbers {
            signed(&mut structure.bytes, number.into());
        }
        structure
    }

    fn texts(self, id: u8, texts: &[&str]) -> Self {
        let mut structure = self.list(id, BINARY, texts.len());
        for text in texts {
            put_text(&mut structure.bytes, text);
        }
        structure
    }

    fn structure(self, id: u8, member: Self) -> Self {
        let mut structure = self.member(id, STRUCTURE);
        structure.bytes.extend(member.end());
        structure
    }

    fn structures(self, id: u8, items: &[Vec<u8>]) -> Self {
        let mut structure = self.list(id, STRUCTURE, items.len());
        structure.bytes.extend(items.iter().flatten());
        structure
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    unsigned(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn signed(bytes: &mut Vec<u8>, number: i64) {
    unsigned(bytes, (number << 1 ^ number >> 63).cast_unsigned());
}

/// Appends a number in bytes of 7 bits each, the lowest bits first. The highest bit of a byte is set if another
/// follows.
fn unsigned(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Returns a size or a count of a file, which has at most [`super::records::MAX_SIZE`] rows.
fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
