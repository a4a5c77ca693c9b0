//! Reads an array with this framework: `read-with-zarr-kit STORE ARRAY OUT [--default]`. The mode is strict, unless
//! `--default` follows.

use std::error::Error;
use std::fs;
use std::process::ExitCode;

use zarr_kit::spec::Elements;
use zarr_kit::{Context, Hierarchy, Mode, Selection, open_store};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mode, arguments) = match arguments.split_last() {
        Some((last, others)) if last == "--default" => (Mode::default(), others),
        _ => (Mode::Strict, arguments.as_slice()),
    };
    let [store, array, out] = arguments else {
        eprintln!("usage: read-with-zarr-kit STORE ARRAY OUT [--default]");
        return ExitCode::from(2);
    };
    match read(store, array, mode).and_then(|elements| Ok(fs::write(out, elements)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns all elements in native byte order, which is assumed to be little endian.
fn read(store: &str, array: &str, mode: Mode) -> Result<Vec<u8>, Box<dyn Error>> {
    let context = Context::linked()?.with_mode(mode);
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
