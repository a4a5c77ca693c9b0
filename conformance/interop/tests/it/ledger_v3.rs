//! The rows of `v3-final.md`, `data-types.md` and `extensions.md` in `conformance/requirements` that need the
//! whole framework. The engine reads documents and chunks that are written out here, and its own output is
//! compared byte for byte.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod chunks;
mod codecs;
mod data_types;
mod documents;
mod extensions;
mod hierarchy;
mod sharding;

use serde_json::{Value, json};

use crate::ledger_v2::support;

/// Returns the ledger's valid array document, modified by the members of `changes`.
fn ar(changes: &Value) -> Value {
    let base = json!({
        "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    support::changed(base, changes)
}

/// Returns the ledger's valid group document.
fn gr() -> Value {
    json!({"zarr_format": 3, "node_type": "group"})
}

/// Creates a store with one array at its root.
fn stored(changes: &Value) -> support::Stored {
    support::Stored::new().json("zarr.json", &ar(changes))
}

/// Returns the regular grid with chunks of this shape.
fn chunks_of(shape: &[u64]) -> Value {
    json!({"name": "regular", "configuration": {"chunk_shape": shape}})
}
