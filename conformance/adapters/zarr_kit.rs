//! Reads an array with this framework, strictly: `read-with-zarr-kit STORE ARRAY OUT`.

use std::error::Error;
use std::fs;
use std::process::ExitCode;

use zarr_kit::spec::Elements;
use zarr_kit::{Context, Hierarchy, Mode, Selection, open_store};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, array, out] = arguments.as_slice() else {
        eprintln!("usage: read-with-zarr-kit STORE ARRAY OUT");
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
    let context = Context::linked()?.with_mode(Mode::Strict);
    let hierarchy = Hierarchy::open(open_store(context.registry(), store)?, &context)?;
    let elements = hierarchy.array(array)?.read(&Selection::All)?;
    if elements.data_type().elements() != Elements::Variable {
        return Ok(elements.bytes().to_vec());
    }
    let mut raw = Vec::new();
    for item in elements.iter() {
        raw.extend(u32::try_from(item.len())?.to_le_bytes());
        raw.extend(item);
    }
    Ok(raw)
}
