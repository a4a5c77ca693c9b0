//! Reads an array with the `zarrs` crate: `read-with-zarrs STORE ARRAY OUT`.

use std::error::Error;
use std::fs;
use std::process::ExitCode;
use std::sync::Arc;

use zarrs::array::{Array, ArrayBytes};
use zarrs::filesystem::FilesystemStore;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, array, out] = arguments.as_slice() else {
        eprintln!("usage: read-with-zarrs STORE ARRAY OUT");
        return ExitCode::from(2);
    };
    match read(store, array).and_then(|elements| Ok(fs::write(out, elements)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns all elements in native byte order, which is assumed to be little endian.
fn read(store: &str, array: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let array = Array::open(Arc::new(FilesystemStore::new(store)?), array)?;
    match array.retrieve_array_subset::<ArrayBytes<'_>>(&array.subset_all())? {
        ArrayBytes::Fixed(bytes) => Ok(bytes.into_owned()),
        ArrayBytes::Variable(items) => {
            let mut raw = Vec::new();
            for ends in items.offsets().windows(2) {
                raw.extend(u32::try_from(ends[1] - ends[0])?.to_le_bytes());
                raw.extend(&items.bytes()[ends[0]..ends[1]]);
            }
            Ok(raw)
        }
        ArrayBytes::Optional(_) => Err("optional elements have no raw form".into()),
    }
}
