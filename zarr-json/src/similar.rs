//! Suggestions for misspelt names.

/// The maximum length of a misspelt name. Comparing takes time in proportion to the product of two lengths.
const MAX_LENGTH: usize = 200;

/// Returns the names of which `given` may be a misspelling: those that differ in the fewest characters, sorted.
///
/// A name is similar if it differs in one character, or in two if `given` has at least six. Two swapped neighbours
/// count as one character, and case does not count. A name that begins with `given` counts as different in one
/// character. If `given` has fewer than three characters, no name is returned.
///
/// ```
/// assert_eq!(zarr_json::similar("zsdt", ["gzip", "zstd"]), ["zstd"]);
/// assert_eq!(zarr_json::similar("float", ["float32", "float64", "float8_e3m4"]), ["float32", "float64"]);
/// ```
#[must_use]
pub fn similar<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    // Longer texts are not compared, and shorter ones are similar to too many names.
    match given.chars().take(MAX_LENGTH + 1).count() {
        3..=MAX_LENGTH => closest(given, names.into_iter().collect()),
        _ => Vec::new(),
    }
}

fn closest<'n>(given: &str, names: Vec<&'n str>) -> Vec<&'n str> {
    let lower_given: Vec<char> = given.to_lowercase().chars().collect();
    let most = if lower_given.len() < 6 { 1 } else { 2 };
    let closeness = |name: &str| {
        let lower: Vec<char> = name.to_lowercase().chars().collect();
        if lower.len().abs_diff(lower_given.len()) <= most {
            let distance = distance(&lower_given, &lower);
            if distance <= most {
                return Some(distance);
            }
        }
        lower.starts_with(&lower_given).then_some(1)
    };
    let mut found: Vec<(usize, &str)> =
        names.into_iter().filter_map(|name| Some((closeness(name)?, name))).collect();
    found.sort_unstable();
    found.dedup();
    let least = found.first().map_or(0, |(distance, _)| *distance);
    let mut similar: Vec<&str> =
        found.iter().filter(|(distance, _)| *distance == least).map(|(_, name)| *name).collect();
    // If `given` only lacks the digits at the end of some names, other names are omitted: `float` means `float32` or
    // `float64`, not `float8_e4m3`.
    let lacks_number = |name: &&str| {
        let rest = name.strip_prefix(given).unwrap_or_default();
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
    };
    if similar.iter().any(lacks_number) {
        similar.retain(lacks_number);
    }
    similar
}

/// Returns a clause with similar names, such as " (did you mean `gzip`?)". It is empty if there are none.
///
/// ```
/// assert_eq!(zarr_json::did_you_mean(&["gzip", "zip"]), " (did you mean `gzip` or `zip`?)");
/// assert_eq!(zarr_json::did_you_mean(&[]), "");
/// ```
#[must_use]
pub fn did_you_mean(similar: &[&str]) -> String {
    if similar.is_empty() {
        return String::new();
    }
    format!(" (did you mean `{}`?)", similar.join("` or `"))
}

/// Returns the edit distance of two texts: the number of characters to insert, remove, replace or swap with
/// their neighbour.
fn distance(from: &[char], to: &[char]) -> usize {
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

    #[test]
    fn short_and_long_names_have_no_similar_ones() {
        assert!(similar("zs", ["zs", "zstd"]).is_empty());
        let long = "a".repeat(MAX_LENGTH + 1);
        assert!(similar(&long, [long.as_str()]).is_empty());
    }

    #[test]
    fn case_does_not_count() {
        assert_eq!(similar("UINT16", ["int16", "uint16", "uint8"]), ["uint16"]);
        assert_eq!(similar("Level", ["level", "endian"]), ["level"]);
    }
}
