//! Comparing identifiers: similarity, patterns and versions.

use semver::Version;

/// Returns the edit distance of two texts: the number of characters to insert, remove, replace or swap with
/// their neighbour.
pub(super) fn distance(from: &[char], to: &[char]) -> usize {
    let mut before = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (number, character) in from.iter().enumerate() {
        let mut row = vec![number + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = last[column] + usize::from(character != other);
            let mut least = replaced.min(last[column + 1] + 1).min(row[column] + 1);
            let are_swapped =
                number > 0 && column > 0 && (character, from[number - 1]) == (&to[column - 1], *other);
            if are_swapped {
                least = least.min(before[column - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

/// Returns whether `known`, of a plugin or a catalogue, matches `identifier`. A `*` at its end matches any
/// number.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_neighbours_count_once() {
        let distance = |from: &str, to: &str| {
            distance(&from.chars().collect::<Vec<_>>(), &to.chars().collect::<Vec<_>>())
        };
        for (from, to, expected) in [
            ("zsdt", "zstd", 1),
            ("gizp", "gzip", 1),
            ("zstd", "zstd", 0),
            ("zst", "zstd", 1),
            ("zsstd", "zstd", 1),
            ("zsXd", "zstd", 1),
            ("", "abc", 3),
            ("abc", "", 3),
            ("ab", "ba", 1),
            ("abcd", "badc", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }
}
