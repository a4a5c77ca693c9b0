//! Parquet files: the columns of integers, bytes and text that kerchunk's tables of references have.
//!
//! Reads flat tables whose values are plain or from a dictionary, without compression or with zstd, snappy or gzip.
//! fastparquet and pyarrow write such files. The memory for decompressed pages is bounded.
//!
//! The crate `parquet` is not used: it adds eleven crates to the smallest build, and a caller cannot bound the memory
//! that a damaged file makes it allocate.
//!
//! Source: the file format of Apache Parquet, version 2.11.

mod pages;
mod thrift;

use bytes::Bytes;

use pages::Budget;
use thrift::Value;

/// The maximum number of bytes that the pages of a file decompress to.
const MAX_DECODED: usize = 128 << 20;

/// The maximum size of the metadata of a file in bytes.
const MAX_METADATA: usize = 1 << 20;

const MAGIC: &[u8; 4] = b"PAR1";

/// A value that is not null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    Integer(i64),
    Bytes(Bytes),
}

/// A column; `None` if the file does not have it.
pub(crate) type Column = Option<Vec<Option<Cell>>>;

/// The part of a column in one group of rows.
#[derive(Debug)]
struct ColumnChunk {
    kind: i64,
    is_optional: bool,
    codec: i64,
    count: usize,
    pages: Bytes,
}

/// A file whose metadata were read.
#[derive(Debug)]
pub(crate) struct Table<'f> {
    file: &'f Bytes,
    metadata: Value<'f>,
    budget: Budget,
    /// The number of rows.
    pub(crate) rows: usize,
}

impl<'f> Table<'f> {
    /// Reads the metadata of a file with at most `most` rows.
    ///
    /// # Errors
    ///
    /// If it is not a Parquet file with a flat table, or has more rows.
    pub(crate) fn open(file: &'f Bytes, most: usize) -> Result<Self, String> {
        let not_parquet = "it is not a Parquet file";
        let rest = file.strip_prefix(MAGIC).and_then(|rest| rest.strip_suffix(MAGIC)).ok_or(not_parquet)?;
        let (rest, size) = rest.split_last_chunk().ok_or(not_parquet)?;
        let size = u32::from_le_bytes(*size) as usize;
        if size > MAX_METADATA {
            return Err(format!("its metadata have more than {MAX_METADATA} bytes"));
        }
        let start = rest.len().checked_sub(size).ok_or("it is truncated")?;
        let (metadata, _) = thrift::structure(&rest[start..])?;
        let rows = metadata.count(3)?;
        if rows > most {
            return Err(format!("it has {rows} rows; expected at most {most}"));
        }
        let [root, columns @ ..] = metadata.list(2) else {
            return Err("its table has no columns".to_owned());
        };
        if root.count(5)? != columns.len() {
            return Err("its table is nested".to_owned());
        }
        Ok(Self { file, metadata, budget: Budget::new(), rows })
    }

    /// Reads the column `name`.
    ///
    /// # Errors
    ///
    /// If the column is damaged, or has an encoding or a compression that is not supported.
    pub(crate) fn column(&mut self, name: &str) -> Result<Column, String> {
        let columns = self.metadata.list(2).get(1..).unwrap_or_default();
        let has_name = |column: &Value<'_>| column.bytes(4) == Some(name.as_bytes());
        let Some(number) = columns.iter().position(has_name) else { return Ok(None) };
        let is_optional = match columns[number].integer(3) {
            Some(0) => false,
            Some(1) => true,
            _ => return Err(format!("column `{name}` has lists")),
        };
        let mut cells = Vec::new();
        for group in self.metadata.list(4) {
            let chunk = self.chunk(group, number, is_optional);
            let chunk = chunk.map_err(|reason| format!("column `{name}`: {reason}"))?;
            if chunk.count > self.rows - cells.len() {
                return Err(format!("column `{name}` has more values than the table has rows"));
            }
            pages::read(&chunk, &mut self.budget, &mut cells)
                .map_err(|reason| format!("column `{name}`: {reason}"))?;
        }
        match cells.len() == self.rows {
            true => Ok(Some(cells)),
            false => {
                Err(format!("column `{name}` has {} values; the table has {} rows", cells.len(), self.rows))
            }
        }
    }

    fn chunk(&self, group: &Value<'_>, number: usize, is_optional: bool) -> Result<ColumnChunk, String> {
        let column = group.list(1).get(number).ok_or("it is missing in a group of rows")?;
        if column.member(1).is_some() {
            return Err("it is in another file".to_owned());
        }
        let metadata = column.member(3).ok_or("its metadata are missing")?;
        let data = metadata.count(9)?;
        let dictionary = metadata.count(11).ok().filter(|start| (1..data).contains(start));
        let start = dictionary.unwrap_or(data);
        let end = start.checked_add(metadata.count(7)?).filter(|end| *end <= self.file.len());
        Ok(ColumnChunk {
            kind: metadata.integer(1).ok_or("its type is missing")?,
            is_optional,
            codec: metadata.integer(4).ok_or("its compression is missing")?,
            count: metadata.count(5)?,
            pages: self.file.slice(start..end.ok_or("it is outside of the file")?),
        })
    }
}
