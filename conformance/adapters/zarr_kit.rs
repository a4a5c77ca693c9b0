//! Reads an array with this framework: `read-with-zarr-kit STORE ARRAY OUT [--default] [--plugin LIBRARY]`. The mode is
//! strict, unless `--default` follows. The stores of a library are used in addition to those of this program.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use zarr_kit::loaded::Loader;
use zarr_kit::spec::Elements;
use zarr_kit::{Context, Hierarchy, Mode, Registry, Selection, open_store};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (plugin, arguments) = match arguments.as_slice() {
        [others @ .., option, library] if option == "--plugin" => (Some(Path::new(library)), others),
        all => (None, all),
    };
    let (mode, arguments) = match arguments.split_last() {
        Some((last, others)) if last == "--default" => (Mode::default(), others),
        _ => (Mode::Strict, arguments),
    };
    let [store, array, out] = arguments else {
        eprintln!("usage: read-with-zarr-kit STORE ARRAY OUT [--default] [--plugin LIBRARY]");
        return ExitCode::from(2);
    };
    match read(store, array, mode, plugin).and_then(|elements| Ok(fs::write(out, elements)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns all elements in native byte order, which is assumed to be little endian.
fn read(store: &str, array: &str, mode: Mode, plugin: Option<&Path>) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut registry = Registry::linked()?;
    // Loading takes longer than most reads.
    if let Some(library) = plugin.filter(|_| store.starts_with("icechunk:")) {
        Loader::of_one(library)?.register(&mut registry);
    }
    let context = Context::new(registry).with_mode(mode);
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
