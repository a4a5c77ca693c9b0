//! The chunk key encoding of Zarr v2, also available in final v3 for converted data: only the chunk index.
//!
//! The key of chunk (1, 23, 45) is `1.23.45` or `1/23/45`; in an array without dimensions it is `0`.
//!
//! Source: "v2 chunk key encoding" in the Zarr v3 core specification; "Chunks" in the Zarr v2 specification.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin, decode_indices, encode_index};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid};

zarr_spec::register!(
    ChunkKeyEncodingPlugin::new(Identifiers::name("v2").with_id("v2"), &create)
        .configuration::<V2Configuration>()
        .about("Encodes only the chunk index, such as 1.0.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#""v2""#),
    Example::v3(r#"{"name": "v2", "configuration": {"separator": "/"}}"#),
    Example::v2(r#"".""#),
    Example::v2(r#""/""#),
];

/// Keys that consist of the chunk index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V2KeyEncoding {
    separator: char,
}

impl V2KeyEncoding {
    /// Creates an encoding with `separator` between the indices.
    ///
    /// # Errors
    ///
    /// For a separator other than `.` and `/`.
    pub fn new(separator: char) -> Result<Self, Invalid> {
        match separator {
            '/' | '.' => Ok(Self { separator }),
            _ => Err(Invalid::new(format!("`separator` is `{separator}`; expected `.` or `/`"))),
        }
    }
}

impl ChunkKeyEncoding for V2KeyEncoding {
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        if chunk_index.is_empty() {
            key.push('0');
        }
        for (dimension, index) in chunk_index.iter().enumerate() {
            if dimension > 0 {
                key.push(self.separator);
            }
            encode_index(*index, key);
        }
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        Ok(match rank {
            0 => (key == "0").then(Vec::new),
            _ => decode_indices(key, self.separator, rank),
        })
    }
}

#[derive(Deserialize)]
struct V2Configuration {
    #[serde(default = "dot")]
    separator: char,
}

fn dot() -> char {
    '.'
}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    Ok(Arc::new(V2KeyEncoding::new(creation.parse::<V2Configuration>()?.separator)?))
}
