//! The chunk key encoding `suffix`: appends a suffix to the keys of another encoding.
//!
//! With the base encoding `default` and the suffix `.tiff`, the key of chunk (1, 23, 45) is `c/1/23/45.tiff`.
//! Programs that recognize a format by the extension of a file open such chunks directly.
//!
//! The encoding is an open proposal, which may still change.
//!
//! Source: pull request 28 of the Zarr extension registry.

use std::sync::Arc;

use serde::Deserialize;
use zarr_metadata::v3;
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid, Key, Value};

zarr_spec::register!(
    ChunkKeyEncodingPlugin::new(Identifiers::name("suffix"), &create)
        .configuration::<SuffixConfiguration>()
        .about("Appends a suffix to the keys of another encoding, such as c/1/0.tiff.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "suffix", "configuration": {"suffix": ".tiff", "base_encoding": {"name": "default"}}}"#,
    ),
    Example::v3(
        r#"{"name": "suffix", "configuration": {"suffix": ".shard.zip",
            "base_encoding": {"name": "v2", "configuration": {"separator": "/"}}}}"#,
    ),
];

/// The name of metadata documents, which no key may end in.
const DOCUMENT: &str = "zarr.json";

/// Keys of another encoding, and a suffix.
#[derive(Debug)]
struct SuffixKeyEncoding {
    base: Arc<dyn ChunkKeyEncoding>,
    suffix: String,
}

impl ChunkKeyEncoding for SuffixKeyEncoding {
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        self.base.encode(chunk_index, key);
        key.push_str(&self.suffix);
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        // If the base encoding does not support this number of dimensions, it refuses every key.
        let base = key.strip_suffix(&self.suffix).unwrap_or_default();
        let decoded = self.base.decode(base, rank)?;
        Ok(decoded.filter(|_| key.ends_with(&self.suffix)))
    }
}

#[derive(Deserialize)]
struct SuffixConfiguration {
    suffix: String,
    base_encoding: Value,
}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let SuffixConfiguration { suffix, base_encoding } = creation.parse()?;
    let is_valid = Key::new(format!("c{suffix}")).is_ok() && Key::new(format!("c/0{suffix}")).is_ok();
    if !is_valid || suffix.split('/').any(|part| part == DOCUMENT) {
        return Err(Invalid::new(format!("`suffix` is `{suffix}`, which is not valid in a key")));
    }
    let list = Value::Array(vec![base_encoding]);
    let documents = v3::extensions("base_encoding", &list, creation.reading);
    let documents = documents.map_err(|error| Invalid::new(error.to_string()))?;
    let [document] = documents.as_slice() else {
        return Err(Invalid::new("`base_encoding` is not one chunk key encoding"));
    };
    let base = creation.registry.chunk_key_encoding(&creation.inner(document));
    let base = base.map_err(|error| Invalid::new(format!("`base_encoding`: {error}")))?;
    Ok(Arc::new(SuffixKeyEncoding { base, suffix }))
}
