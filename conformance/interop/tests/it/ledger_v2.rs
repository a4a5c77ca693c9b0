//! The rows of `conformance/requirements/v2.md` that need the whole framework: documents and chunks that are written
//! out here, read with the engine, and what the engine writes, byte for byte.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

mod chunks;
mod codecs;
mod fill;
mod hierarchy;
mod pipeline;
pub(crate) mod support;

use serde_json::{Value, json};

/// The ledger's valid `.zarray`, with the members of `changes`.
fn za(changes: &Value) -> Value {
    let base = json!({
        "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": null,
        "fill_value": 0, "order": "C", "filters": null,
    });
    support::changed(base, changes)
}

/// A store with one array, at its root.
fn stored(changes: &Value) -> support::Stored {
    support::Stored::new().json(".zarray", &za(changes))
}
