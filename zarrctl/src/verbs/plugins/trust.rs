//! `plugins trust`: adds a plugin to `plugins.lock`.

use std::io::Write;
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use zarr_kit::loaded::{Lock, LockFiles, Pin};

use super::built_in;
use crate::failure::Failure;
use crate::loaded::{Installed, provided};
use crate::terminal::warn;

pub(super) fn run(name: &str, to: &mut dyn Write) -> Result<(), Failure> {
    let installed = Installed::find();
    let (candidate, manifest) =
        installed.versions(name).next().ok_or_else(|| installed.no_plugin_named(name))?;
    let files = files()?;
    let pin = installed.loader.pin(candidate, &today())?;
    let all = files.read()?;
    if let Some(found) = all.quarantined.iter().find(|found| found.sha256 == pin.sha256) {
        return Err(Failure::fault(format!(
            "plugin `{name}` is quarantined: {}; run `zarrctl plugins probe {name}` to release it if it passes",
            found.reason
        )));
    }
    let before = all.pin(&pin.name, &pin.version, &pin.target);
    write_pin(&pin, before, to)?;
    for (what, _) in provided(manifest) {
        writeln!(to, "has      {what}")?;
    }
    if before.is_some_and(|before| before.sha256 == pin.sha256 && before.needs == pin.needs) {
        writeln!(to, "It is already trusted in {}.", files.lock.display())?;
        return Ok(());
    }
    let lock = files.lock.display();
    let others = other_versions(&all, &pin);
    // `all` also has the entries of other lock files, so this file is read again, and only its own entries are written
    // back.
    Lock::update(&files.lock, |lock| lock.trust(pin))?;
    match built_in(manifest)? {
        None => {
            writeln!(to, "It is now trusted in {lock}: its code runs when data needs it.")?;
        }
        Some(why) => {
            warn(&why);
            writeln!(to, "It is now trusted in {lock}, but this program does not use it.")?;
        }
    }
    for version in others {
        writeln!(
            to,
            "Version {version} is also trusted; `zarrctl plugins remove {}@{version}` removes it.",
            manifest.name
        )?;
    }
    Ok(())
}

fn write_pin(pin: &Pin, before: Option<&Pin>, to: &mut dyn Write) -> Result<(), Failure> {
    writeln!(to, "plugin   {} {}", pin.name, pin.version)?;
    writeln!(to, "library  {}", pin.path.display())?;
    writeln!(to, "sha256   {}", pin.sha256)?;
    if let Some(before) = before.filter(|before| before.sha256 != pin.sha256) {
        writeln!(to, "before   {}", before.sha256)?;
    }
    for needed in &pin.needs {
        writeln!(to, "needs    {}: {}, SHA-256 {}", needed.name, needed.path.display(), needed.sha256)?;
    }
    Ok(())
}

pub(super) fn other_versions(lock: &Lock, pin: &Pin) -> Vec<String> {
    let is_other = |it: &&Pin| it.name == pin.name && it.target == pin.target && it.version != pin.version;
    lock.pins.iter().filter(is_other).map(|other| other.version.clone()).collect()
}

/// Returns the files that record the user's decisions.
pub(super) fn files() -> Result<LockFiles, Failure> {
    LockFiles::from_environment().ok_or_else(|| {
        Failure::fault(
            "no configuration folder for the user: neither XDG_CONFIG_HOME nor HOME is set, or they \
             are ignored because this program runs with elevated privileges",
        )
    })
}

/// Returns the date in UTC, such as `2026-11-22`.
fn today() -> String {
    DateTime::<Utc>::from(SystemTime::now()).date_naive().to_string()
}
