//! The chunk key encoding `abi-1.0.dashes`: the chunk (1, 23, 45) is stored as `k1-23-45`.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin, decode_index};
use zarr_spec::{Creation, Example, Identifiers, Invalid};

zarr_spec::register!(
    ChunkKeyEncodingPlugin::new(Identifiers::name("abi-1.0.dashes"), create)
        .configuration::<NoConfiguration>()
        .about("Names chunks by their index behind the letter k, such as k1-0.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"name": "abi-1.0.dashes"}"#)];

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

    fn decode(&self, key: &str, rank: usize) -> Option<Vec<u64>> {
        let rest = key.strip_prefix('k')?;
        if rank == 0 {
            return rest.is_empty().then(Vec::new);
        }
        let index: Vec<u64> = rest.split('-').map(decode_index).collect::<Option<_>>()?;
        (index.len() == rank).then_some(index)
    }
}

#[derive(Deserialize)]
struct NoConfiguration {}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Arc::new(Dashes))
}
