//! The default chunk key encoding of Zarr: `c` and the chunk index.
//!
//! The key of chunk (1, 23, 45) is `c/1/23/45` in final v3 and `c1/23/45` in the draft of 2022. In an array
//! without dimensions it is `c` in both.
//!
//! Source: "Default chunk key encoding" in the Zarr v3 core specification, and "Regular grids" in its draft.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin, decode_indices, encode_index};
use zarr_spec::{BoxError, Creation, Example, Format, Identifiers, Invalid};

zarr_spec::register!(
    ChunkKeyEncodingPlugin::new(Identifiers::name("default"), &create)
        .configuration::<DefaultConfiguration>()
        .about("Encodes the chunk index after the prefix c, such as c/1/0.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#""default""#),
    Example::v3(r#"{"name": "default", "configuration": {"separator": "/"}}"#),
    Example::v3(r#"{"name": "default", "configuration": {"separator": "."}}"#),
];

/// Keys of `c` and the chunk index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefaultKeyEncoding {
    separator: char,
    /// Whether there is a separator between `c` and the first index, as in final v3.
    after_prefix: bool,
}

impl DefaultKeyEncoding {
    /// Creates the encoding of final v3, with keys such as `c/0/0`.
    ///
    /// # Errors
    ///
    /// For a separator other than `/` and `.`.
    pub fn new(separator: char) -> Result<Self, Invalid> {
        match separator {
            '/' | '.' => Ok(Self { separator, after_prefix: true }),
            _ => Err(Invalid::new(format!("`separator` is `{separator}`; expected `/` or `.`"))),
        }
    }

    /// Creates the encoding of the draft, with chunk identifiers such as `c0/0`.
    ///
    /// # Errors
    ///
    /// Those of [`DefaultKeyEncoding::new`].
    pub fn draft(separator: char) -> Result<Self, Invalid> {
        Ok(Self { after_prefix: false, ..Self::new(separator)? })
    }
}

impl ChunkKeyEncoding for DefaultKeyEncoding {
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        key.push('c');
        for (dimension, index) in chunk_index.iter().enumerate() {
            if self.after_prefix || dimension > 0 {
                key.push(self.separator);
            }
            encode_index(*index, key);
        }
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        Ok(match key.strip_prefix('c') {
            Some(rest) if rank == 0 => rest.is_empty().then(Vec::new),
            Some(rest) => {
                let rest = if self.after_prefix { rest.strip_prefix(self.separator) } else { Some(rest) };
                rest.and_then(|rest| decode_indices(rest, self.separator, rank))
            }
            None => None,
        })
    }
}

#[derive(Deserialize)]
struct DefaultConfiguration {
    #[serde(default = "slash")]
    separator: char,
}

fn slash() -> char {
    '/'
}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let separator = creation.parse::<DefaultConfiguration>()?.separator;
    Ok(Arc::new(match creation.format {
        Format::V3Draft => DefaultKeyEncoding::draft(separator)?,
        Format::V3 | Format::V2 => DefaultKeyEncoding::new(separator)?,
    }))
}
