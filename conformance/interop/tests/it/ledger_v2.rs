//! The rows of `conformance/requirements/v2.md` that need the whole framework. The engine reads documents and
//! chunks that are written out here, and its own output is compared byte for byte.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod chunks;
mod codecs;
mod fill;
mod hierarchy;
mod pipeline;
pub(crate) mod support;

use serde_json::{Value, json};

/// Returns the ledger's valid `.zarray`, modified by the members of `changes`.
fn za(changes: &Value) -> Value {
    let base = json!({
        "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": null,
        "fill_value": 0, "order": "C", "filters": null,
    });
    support::changed(base, changes)
}

/// Creates a store with one array at its root.
fn stored(changes: &Value) -> support::Stored {
    support::Stored::new().json(".zarray", &za(changes))
}
