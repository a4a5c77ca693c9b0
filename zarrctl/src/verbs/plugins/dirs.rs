//! `plugins dirs`: lists the folders that are searched for plugins.

use std::io::Write;
use std::path::Path;

use zarr_kit::loaded::{LockFiles, SearchPlace, Source};

use crate::failure::Failure;
use crate::loaded::Installed;

pub(super) fn run(to: &mut dyn Write) -> Result<(), Failure> {
    let installed = Installed::find();
    writeln!(
        to,
        "Folders that are searched for plugins. If two plugins have the same name, the one in the first folder is \
             used:"
    )?;
    for place in installed.search.places() {
        writeln!(to, "  {} ({}): {}", place.path.display(), why(place.source), state(place, &installed))?;
    }
    for path in installed.search.left_out() {
        let path = path.display();
        writeln!(to, "  `{path}` (ZARR_PLUGIN_PATH): ignored, because the path is not absolute")?;
    }
    if let Some(files) = LockFiles::from_environment() {
        writeln!(to, "Trusted plugins, written by `zarrctl plugins trust`:\n  {}", file(&files.lock))?;
        writeln!(
            to,
            "Quarantined plugins, written by `zarrctl plugins probe`:\n  {}",
            file(&files.quarantine)
        )?;
    }
    match installed.search.user_folder() {
        Some(user) => writeln!(to, "`zarrctl plugins install` writes to {}.", user.display())?,
        None => writeln!(
            to,
            "No plugin folder for the user: neither XDG_DATA_HOME nor HOME is set, or they are ignored because \
                 this program runs with elevated privileges."
        )?,
    }
    Ok(())
}

fn why(source: Source) -> &'static str {
    match source {
        Source::Given => "given",
        Source::Variable => "ZARR_PLUGIN_PATH",
        Source::User => "your plugins",
        Source::System => "system plugins",
    }
}

fn state(place: &SearchPlace, installed: &Installed) -> String {
    if !place.path.exists() {
        return "does not exist".to_owned();
    }
    if let Some(refusal) = place.refusal() {
        return format!("refused: {refusal}");
    }
    let is_here = |path: &Path| path == place.path || path.parent() == Some(&place.path);
    let count = installed.loader.candidates().iter().filter(|candidate| is_here(&candidate.path)).count();
    match count {
        0 => "no manifest".to_owned(),
        1 => "1 manifest".to_owned(),
        count => format!("{count} manifests"),
    }
}

fn file(path: &Path) -> String {
    let missing = if path.exists() { "" } else { " (does not exist)" };
    format!("{}{missing}", path.display())
}
