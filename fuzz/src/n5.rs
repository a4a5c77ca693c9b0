//! Reads any bytes as a document of N5.

use std::io;
use std::sync::Arc;

use zarr_conformance::fuzz::within;
use zarr_kit::spec::Key;
use zarr_kit::spec::store::Store;
use zarr_kit::stores::N5Store;
use zarr_kit::{Hierarchy, Selection};

use crate::hierarchies::{context, memory};

/// The memory limit in bytes.
const MEMORY: usize = 256 << 20;

/// The maximum number of elements that are read.
const ELEMENTS: u64 = 1 << 16;

pub(crate) fn run(input: &[u8]) {
    let context = context();
    within(MEMORY, "a document of N5", || {
        let store = memory(&context);
        for key in ["attributes.json", "a/attributes.json"] {
            let set = Key::new(key).map(|key| store.set(&key, input.into()));
            assert!(matches!(set, Ok(Ok(()))), "{set:?}");
        }
        let store: Arc<dyn Store> = Arc::new(N5Store::new(store));
        assert!(store.list().is_ok());
        let Ok(hierarchy) = Hierarchy::open(store, &context) else { return };
        let Ok(array) = hierarchy.array("/") else { return };
        let count = array.shape().iter().try_fold(1_u64, |count, length| count.checked_mul(*length));
        if count.is_some_and(|count| count <= ELEMENTS) {
            let _elements_or_error = array.read(&Selection::All);
        }
    });
}

/// Returns documents with every compression.
pub(crate) fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let compressions = [
        r#"{"type":"raw"}"#,
        r#"{"type":"gzip","level":-1,"useZlib":true}"#,
        r#"{"type":"bzip2","blockSize":9}"#,
        r#"{"type":"xz","preset":6}"#,
        r#"{"type":"zstd","level":3}"#,
        r#"{"type":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#,
        r#"{"type":"lz4","blockSize":65536}"#,
    ];
    let document = |compression: &str| {
        format!(
            r#"{{"n5":"4.0.0","dimensions":[5,7],"blockSize":[3,4],"dataType":"uint16","compression":{compression},"a":1}}"#
        )
    };
    Ok(compressions.iter().map(|compression| document(compression).into_bytes()).collect())
}
