//! `plugins why`: where an identifier was looked for, and why each plugin that has it is used or not.

use std::io::Write;

use zarr_kit::loaded::Refusal;

use super::{Known, known};
use crate::failure::Failure;
use crate::loaded::Installed;

pub(super) fn run(id: &str, to: &mut dyn Write) -> Result<(), Failure> {
    let known = known(None)?;
    let installed = Installed::find();
    match installed.named(id) {
        // Whoever names a plugin asks for all that it has.
        Some((_, manifest)) => {
            writeln!(to, "`{id}` is a plugin; what it provides:\n")?;
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
        writeln!(to, "  {} (ZARR_PLUGIN_PATH): not looked at, since it is not absolute", path.display())?;
    }
    for row in rows {
        let point = row.point;
        let name = &row.name;
        let origin = row.origin;
        match &row.library {
            Some(_) => match unusable(installed, origin.package) {
                None => writeln!(to, "so {point} `{name}` is that of plugin {origin}")?,
                Some(refusal) => {
                    writeln!(to, "so {point} `{name}` would be that of plugin {origin}, but {refusal}")?;
                }
            },
            None => writeln!(
                to,
                "this build of zarrctl has {point} `{name}`, of {origin}, and no plugin replaces it"
            )?,
        }
    }
    let Err(failure) = found else { return Ok(()) };
    // The lines above say why each plugin that has it is not used.
    if known.libraries.iter().any(|library| super::show::not_used(library, id).is_some()) {
        writeln!(to, "so it is not used here")?;
    } else {
        writeln!(to, "so it is not known here: {}", failure.message().unwrap_or_default())?;
    }
    Ok(())
}

/// What only shows when the library is opened, as it is when data needs it.
fn unusable(installed: &Installed, plugin: &str) -> Option<Refusal> {
    let (candidate, _) = installed.named(plugin)?;
    installed.loader.open(candidate).err()
}
