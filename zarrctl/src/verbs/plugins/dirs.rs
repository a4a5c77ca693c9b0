//! `plugins dirs`: where plugins are looked for, and which of that is refused.

use std::io::Write;
use std::path::Path;

use zarr_kit::loaded::{LockFiles, Place, Source};

use crate::failure::Failure;
use crate::loaded::Installed;

pub(super) fn run(to: &mut dyn Write) -> Result<(), Failure> {
    let installed = Installed::find();
    writeln!(
        to,
        "Plugins are looked for here. If two have the same name, the one in the first place is used:"
    )?;
    for place in installed.search.places() {
        writeln!(to, "  {} ({}): {}", place.path.display(), why(place.source), state(place, &installed))?;
    }
    for path in installed.search.left_out() {
        let path = path.display();
        writeln!(to, "  `{path}` (ZARR_PLUGIN_PATH): refused, since it is not absolute")?;
    }
    if let Some(files) = LockFiles::from_environment() {
        writeln!(to, "What you trust, written by `zarrctl plugins trust`:\n  {}", file(&files.lock))?;
        writeln!(
            to,
            "What failed when it was tried, written by `zarrctl plugins probe`:\n  {}",
            file(&files.quarantine)
        )?;
    }
    match installed.search.user_folder() {
        Some(user) => writeln!(to, "`zarrctl plugins install` writes to {}.", user.display())?,
        None => writeln!(
            to,
            "There is no folder of your own: neither XDG_DATA_HOME nor HOME is set, or this program has more rights \
             than its user and ignores them."
        )?,
    }
    Ok(())
}

fn why(source: Source) -> &'static str {
    match source {
        Source::Given => "given",
        Source::Variable => "ZARR_PLUGIN_PATH",
        Source::User => "your plugins",
        Source::System => "the system's plugins",
    }
}

fn state(place: &Place, installed: &Installed) -> String {
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
