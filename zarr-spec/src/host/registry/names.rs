//! Comparing identifiers: patterns and versions.

use semver::Version;

/// Returns whether `known`, of a plugin or a catalogue, matches `identifier`. A `*` at its end matches any number.
#[must_use]
pub fn stands_for(known: &str, identifier: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match known.strip_suffix('*') {
        Some(beginning) => identifier.strip_prefix(beginning).is_some_and(is_number),
        None => identifier == known,
    }
}

/// Splits a URI into the part before its last segment, and that segment as a version `MAJOR.MINOR`.
#[must_use]
pub fn split_version(uri: &str) -> Option<(&str, Version)> {
    let (path, version) = uri.rsplit_once('/')?;
    let (major, minor) = version.split_once('.')?;
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    Some((path, Version::new(number(major)?, number(minor)?, 0)))
}
