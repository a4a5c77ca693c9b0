//! `plugins trust`: the one verb that adds to `plugins.lock`.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use zarr_kit::loaded::{Lock, LockFiles};

use crate::failure::Failure;
use crate::loaded::{Installed, provided};

pub(super) fn run(name: &str, to: &mut dyn Write) -> Result<(), Failure> {
    let installed = Installed::find();
    let (candidate, manifest) = installed.named(name).ok_or_else(|| installed.nobody_called(name))?;
    let files = files()?;
    let pin = installed.loader.pin(candidate, &today())?;
    let all = files.read().map_err(|error| Failure::Fault(error.into()))?;
    if let Some(found) = all.quarantined.iter().find(|found| found.sha256 == pin.sha256) {
        return Err(Failure::fault(format!(
            "plugin `{name}` is in quarantine: {}; `zarrctl plugins probe {name}` lets it out when it passes",
            found.reason
        )));
    }
    let before = all.pin(name).map(|pin| pin.sha256.clone());
    writeln!(to, "plugin   {name} {}", manifest.version)?;
    writeln!(to, "library  {}", pin.path.display())?;
    writeln!(to, "sha256   {}", pin.sha256)?;
    if let Some(before) = before.as_ref().filter(|before| **before != pin.sha256) {
        writeln!(to, "before   {before}")?;
    }
    for (what, _) in provided(manifest) {
        writeln!(to, "has      {what}")?;
    }
    if before.as_ref() == Some(&pin.sha256) {
        writeln!(to, "It was trusted already, in {}.", files.lock.display())?;
        return Ok(());
    }
    // Only what this file itself says is written back.
    let mut lock = Lock::read(&files.lock).map_err(|error| Failure::Fault(error.into()))?;
    lock.trust(pin);
    lock.write(&files.lock).map_err(|error| Failure::Fault(error.into()))?;
    writeln!(
        to,
        "It is trusted from now on, as {} says: its code runs when data needs it.",
        files.lock.display()
    )?;
    Ok(())
}

/// Where the user's decisions are written.
pub(super) fn files() -> Result<LockFiles, Failure> {
    LockFiles::from_environment().ok_or_else(|| {
        Failure::fault("there is no folder for your configuration: neither XDG_CONFIG_HOME nor HOME is set")
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
    let (era, day_of_era) = (days / 146_097, days % 146_097);
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
