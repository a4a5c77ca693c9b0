//! The chunk key encoding `fanout`: no prefix has more children than a limit.
//!
//! The decimal digits of each index are split into groups, starting from the last digit. The first group is padded with
//! zeros. Before the groups stands the number of groups after the first. With groups of 3 digits, the key of chunk
//! (1234, 5) is `c/1/001/234/0/005`. Folders stay small, and keys have the order of the indices.
//!
//! `max_children` is at least 100 and 1000 by default. It is rounded down to a power of ten.
//!
//! The encoding is an open proposal, which may still change.
//!
//! Source: pull request 31 of the Zarr extension registry.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid};

zarr_spec::register!(
    ChunkKeyEncodingPlugin::new(Identifiers::name("fanout"), &create)
        .configuration::<FanoutConfiguration>()
        .about("Splits large indices, so that no prefix has too many children: c/1/001/234.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "fanout", "configuration": {"max_children": 1000}}"#),
    Example::v3(r#"{"name": "fanout", "configuration": {"max_children": 100}}"#),
    Example::v3(r#"{"name": "fanout"}"#),
];

/// The smallest limit that the proposal allows.
const MIN_CHILDREN: u64 = 100;

/// Keys with groups of digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FanoutKeyEncoding {
    /// The number of digits of a group, at least 2.
    digits: usize,
}

impl FanoutKeyEncoding {
    /// Creates an encoding with at most `max_children` children of a prefix, rounded down to a power of ten.
    ///
    /// # Errors
    ///
    /// For fewer than 100.
    pub fn new(max_children: u64) -> Result<Self, Invalid> {
        if max_children < MIN_CHILDREN {
            return Err(Invalid::new(format!(
                "`max_children` is {max_children}; expected at least {MIN_CHILDREN}"
            )));
        }
        Ok(Self { digits: max_children.ilog10() as usize })
    }

    /// Reads the chunk index along the next dimension from the parts of a key.
    fn next_index<'k>(&self, parts: &mut impl Iterator<Item = &'k str>) -> Option<u64> {
        let more: usize = parts.next()?.parse().ok()?;
        let mut digits = String::new();
        // The count comes from the key, so it is limited: an index has at most 20 digits, and a group at least 2.
        for _ in 0..=more.min(u64::MAX.ilog10() as usize) {
            digits.push_str(parts.next()?);
        }
        digits.parse().ok()
    }
}

impl ChunkKeyEncoding for FanoutKeyEncoding {
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        key.push('c');
        for index in chunk_index {
            let count = index.checked_ilog10().unwrap_or(0) as usize / self.digits + 1;
            let padded = format!("{index:0width$}", width = count * self.digits);
            let _always_succeeds = write!(key, "/{}", count - 1);
            for start in (0..padded.len()).step_by(self.digits) {
                let _always_succeeds = write!(key, "/{}", &padded[start..start + self.digits]);
            }
        }
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        let mut parts = key.split('/');
        let prefix = parts.next();
        let index: Option<Vec<u64>> = (0..rank).map(|_| self.next_index(&mut parts)).collect();
        // A key that `encode` would write in another form does not belong to a chunk.
        Ok(index.filter(|index| {
            let mut written = String::new();
            self.encode(index, &mut written);
            prefix.is_some() && written == key
        }))
    }
}

#[derive(Deserialize)]
struct FanoutConfiguration {
    #[serde(default = "thousand")]
    max_children: u64,
}

fn thousand() -> u64 {
    1000
}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let FanoutConfiguration { max_children } = creation.parse()?;
    Ok(Arc::new(FanoutKeyEncoding::new(max_children)?))
}
