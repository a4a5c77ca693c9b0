//! The chunk key encoding `kinds.dashes`: the key of chunk (1, 23, 45) is `k1-23-45`.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin, decode_index};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid};

zarr_spec::register!(
    ChunkKeyEncodingPlugin::new(Identifiers::name("kinds.dashes"), &create)
        .configuration::<NoConfiguration>()
        .about("Names chunks by the letter k and their index, such as k1-0.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"name": "kinds.dashes"}"#)];

/// `k` and the chunk index.
#[derive(Debug)]
struct Dashes;

impl ChunkKeyEncoding for Dashes {
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        key.push('k');
        for (dimension, index) in chunk_index.iter().enumerate() {
            let dash = if dimension > 0 { "-" } else { "" };
            let _always_succeeds = write!(key, "{dash}{index}");
        }
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        let Some(rest) = key.strip_prefix('k') else { return Ok(None) };
        if rank == 0 {
            return Ok(rest.is_empty().then(Vec::new));
        }
        let index: Option<Vec<u64>> = rest.split('-').map(decode_index).collect();
        Ok(index.filter(|index| index.len() == rank))
    }
}

#[derive(Deserialize)]
struct NoConfiguration {}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Arc::new(Dashes))
}
