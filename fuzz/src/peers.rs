//! Small hierarchies of other programs, as seeds. See `peers/README.md`.

use std::io;
use std::path::Path;

use serde_json::Value;

use crate::formats::{Files, sorted};

/// Returns the hierarchies of all programs, sorted by program and name.
pub(crate) fn hierarchies() -> io::Result<Vec<Files>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let mut all = Vec::new();
    for path in sorted(&folder)?.iter().filter(|path| path.extension().is_some_and(|it| it == "json")) {
        let document: Value = serde_json::from_slice(&std::fs::read(path)?)?;
        let hierarchies = document["hierarchies"].as_object().into_iter().flatten();
        let read = hierarchies.map(|(name, files)| {
            files_of(files).ok_or_else(|| io::Error::other(format!("{}: {name} is broken", path.display())))
        });
        all.extend(read.collect::<io::Result<Vec<_>>>()?);
    }
    Ok(all)
}

fn files_of(hierarchy: &Value) -> Option<Files> {
    hierarchy.as_object()?.iter().map(|(key, content)| Some((key.clone(), bytes(content)?))).collect()
}

fn bytes(content: &Value) -> Option<Vec<u8>> {
    match (&content["text"], &content["hex"]) {
        (Value::String(text), _) => Some(text.clone().into_bytes()),
        (_, Value::String(hex)) => Some(zarr_conformance::hex(hex)),
        _ => None,
    }
}
