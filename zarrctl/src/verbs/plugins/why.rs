//! `plugins why`: shows where an identifier was searched for, and why each plugin that has it is used or not.

use std::io::Write;

use zarr_kit::loaded::Refusal;

use super::{Known, known};
use crate::failure::Failure;
use crate::loaded::Installed;

pub(super) fn run(id: &str, to: &mut dyn Write) -> Result<(), Failure> {
    let known = known(None)?;
    let installed = Installed::find();
    match installed.named(id) {
        // The name of a plugin stands for everything that it provides.
        Some((_, manifest)) => {
            writeln!(to, "`{id}` is a plugin that provides:\n")?;
            for (number, identifier) in
                manifest.provides.iter().filter_map(|it| it.identifiers().next()).enumerate()
            {
                if number > 0 {
                    writeln!(to)?;
                }
                explain(&known, &installed, identifier, to)?;
            }
            Ok(())
        }
        None => explain(&known, &installed, id, to),
    }
}

fn explain(known: &Known, installed: &Installed, id: &str, to: &mut dyn Write) -> Result<(), Failure> {
    let found = super::show::find(known, id);
    let rows = found.as_ref().map_or(&[][..], |found| &found.rows);
    write!(to, "{}", installed.loader.explain(id))?;
    for path in installed.search.left_out() {
        writeln!(to, "  {} (ZARR_PLUGIN_PATH): ignored, because the path is not absolute", path.display())?;
    }
    for row in rows {
        let point = row.point;
        let name = &row.name;
        let origin = row.origin;
        match &row.library {
            Some(_) => match unusable(installed, origin.package) {
                None => writeln!(to, "result: {point} `{name}` comes from plugin {origin}")?,
                Some(refusal) => {
                    writeln!(to, "result: {point} `{name}` would come from plugin {origin}, but {refusal}")?;
                }
            },
            None => writeln!(
                to,
                "result: {point} `{name}` is built into zarrctl ({origin}), which takes precedence over plugins"
            )?,
        }
    }
    let Err(failure) = found else { return Ok(()) };
    // The lines above give the reason for each plugin with this identifier.
    if known.libraries.iter().any(|library| super::show::not_used(library, id).is_some()) {
        writeln!(to, "result: not used")?;
    } else {
        writeln!(to, "result: not found: {}", failure.message().unwrap_or_default())?;
    }
    Ok(())
}

/// Opens a plugin, and returns the reason if it cannot be used.
fn unusable(installed: &Installed, plugin: &str) -> Option<Refusal> {
    let (candidate, _) = installed.named(plugin)?;
    installed.loader.open(candidate).err()
}
