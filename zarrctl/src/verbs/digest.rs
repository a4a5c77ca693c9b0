//! `digest`: hashes the content of a hierarchy.

use std::io::Write;

use zarr_kit::archive::{self, Settings};
use zarr_kit::{Context, Hierarchy, json};

use crate::arguments::Digest;
use crate::failure::Failure;
use crate::files::write_file;
use crate::hints;
use crate::opening::{context, open_nodes};
use crate::printer::{stdout, write_json};
use crate::terminal::Progress;

/// The usual memory for decoded elements in bytes.
const USUAL_MEMORY: u64 = 128 << 20;

pub(crate) fn settings(hierarchy: &Hierarchy) -> Settings {
    settings_of(hierarchy.context())
}

/// Returns the settings for a context: the memory that it leaves for elements.
pub(crate) fn settings_of(context: &Context) -> Settings {
    Settings::new().memory(USUAL_MEMORY.min(context.limits().memory / 3))
}

pub(crate) fn run(arguments: &Digest) -> Result<(), Failure> {
    let at = &arguments.at;
    let hierarchy = open_nodes(&at.store, &[&at.path], &arguments.reading, context()?)?;
    let path = hierarchy.path(&at.path)?;
    let progress = Progress::unknown("hashing");
    let manifest = archive::digest(&hierarchy, &path, &settings(&hierarchy));
    let manifest = manifest.map_err(|error| hints::of_node(error, &hierarchy))?;
    drop(progress);
    let document = manifest.to_json();
    if let Some(file) = &arguments.manifest {
        let text = json::to_vec_pretty(&document)?;
        write_file(file, &[&text[..], b"\n"].concat())?;
    }
    match arguments.json {
        true => write_json(&document, &mut stdout()),
        false => Ok(writeln!(stdout(), "{}", manifest.digest())?),
    }
}
