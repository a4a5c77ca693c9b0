//! The rows of `conformance/requirements/v2.md` that need the whole framework: documents and chunks that are written
//! out here, read with the engine, and what the engine writes, byte for byte.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

#[path = "ledger_v2/chunks.rs"]
mod chunks;
#[path = "ledger_v2/codecs.rs"]
mod codecs;
#[path = "ledger_v2/fill.rs"]
mod fill;
#[path = "ledger_v2/hierarchy.rs"]
mod hierarchy;
#[path = "ledger_v2/pipeline.rs"]
mod pipeline;
#[path = "ledger_v2/support.rs"]
mod support;

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
