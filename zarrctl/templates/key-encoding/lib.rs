//! The chunk key encoding `{{name}}`: chunk (1, 23, 45) has the key `k1-23-45`.

use std::fmt::Write as _;
use std::sync::Arc;

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin, decode_indices};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid};

zarr_spec::register!(
    ChunkKeyEncodingPlugin::new(Identifiers::name("{{name}}"), &create)
        .configuration::<NoConfiguration>()
        .about("Forms chunk keys from the letter k and the chunk index, such as k1-0.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"name": "{{name}}"}"#)];

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
        Ok(match key.strip_prefix('k') {
            Some(rest) if rank == 0 => rest.is_empty().then(Vec::new),
            Some(rest) => decode_indices(rest, '-', rank),
            None => None,
        })
    }
}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Arc::new(Dashes))
}
