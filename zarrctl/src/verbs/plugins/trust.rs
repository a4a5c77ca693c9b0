//! `plugins trust`: the one verb that adds to `plugins.lock`.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use zarr_kit::loaded::{Lock, LockFiles, Pin};

use super::built_in;
use crate::failure::Failure;
use crate::loaded::{Installed, provided};
use crate::terminal::warn;

pub(super) fn run(name: &str, to: &mut dyn Write) -> Result<(), Failure> {
    let installed = Installed::find();
    let (candidate, manifest) =
        installed.versions(name).next().ok_or_else(|| installed.nobody_called(name))?;
    let files = files()?;
    let pin = installed.loader.pin(candidate, &today())?;
    let all = files.read().map_err(|error| Failure::Fault(error.into()))?;
    if let Some(found) = all.quarantined.iter().find(|found| found.sha256 == pin.sha256) {
        return Err(Failure::fault(format!(
            "plugin `{name}` is in quarantine: {}; `zarrctl plugins probe {name}` lets it out when it passes",
            found.reason
        )));
    }
    let before = all.pin(&pin.name, &pin.version, &pin.target);
    write_pin(&pin, before, to)?;
    for (what, _) in provided(manifest) {
        writeln!(to, "has      {what}")?;
    }
    if before.is_some_and(|before| before.sha256 == pin.sha256 && before.needs == pin.needs) {
        writeln!(to, "It was trusted already, in {}.", files.lock.display())?;
        return Ok(());
    }
    let lock = files.lock.display();
    let others = other_versions(&all, &pin);
    // Only what this file itself says is written back.
    Lock::update(&files.lock, |lock| lock.trust(pin)).map_err(|error| Failure::Fault(error.into()))?;
    match built_in(manifest)? {
        None => {
            writeln!(to, "It is trusted from now on, as {lock} says: its code runs when data needs it.")?;
        }
        Some(why) => {
            warn(&why);
            writeln!(to, "It is trusted from now on, as {lock} says, but this program does not use it.")?;
        }
    }
    for version in others {
        writeln!(
            to,
            "Version {version} is trusted as well; `zarrctl plugins remove {}@{version}` removes it.",
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

/// The other versions of the plugin that are trusted on this machine.
pub(super) fn other_versions(lock: &Lock, pin: &Pin) -> Vec<String> {
    let is_other = |it: &&Pin| it.name == pin.name && it.target == pin.target && it.version != pin.version;
    lock.pins.iter().filter(is_other).map(|other| other.version.clone()).collect()
}

/// Where the user's decisions are written.
pub(super) fn files() -> Result<LockFiles, Failure> {
    LockFiles::from_environment().ok_or_else(|| {
        Failure::fault("there is no folder for your configuration: neither XDG_CONFIG_HOME nor HOME is set, or this program has \
             more rights than its user and ignores them")
    })
}

/// The day in UTC: `2026-11-22`.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date(seconds / 86400)
}

/// The date so many days after the first of January 1970. Source: H. Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", `civil_from_days`.
fn date(days: u64) -> String {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        // `date -u -d @$((days * 86400)) +%F`
        for (days, day) in [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_779, "2026-11-22"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(date(days), day);
        }
    }
}
