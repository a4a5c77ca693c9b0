//! Documents of v3.

use serde_json::{Value, json};

/// Returns the document of an array of `uint16` with fill value 0.
#[must_use]
pub fn document(shape: &[u64], chunk: &[u64], codecs: &Value) -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint16", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
    })
}

/// Returns the codec that stores elements in little endian.
#[must_use]
pub fn bytes() -> Value {
    json!([{"name": "bytes", "configuration": {"endian": "little"}}])
}

/// Returns the codec that stores elements in little endian, followed by Zstandard.
#[must_use]
pub fn zstd() -> Value {
    json!([{"name": "bytes", "configuration": {"endian": "little"}},
           {"name": "zstd", "configuration": {"level": 1, "checksum": false}}])
}

/// Returns the codec for shards whose inner chunks have `codecs`.
#[must_use]
pub fn sharded(inner: &[u64], codecs: &Value) -> Value {
    let index = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": inner, "codecs": codecs, "index_codecs": index,
    }}])
}
