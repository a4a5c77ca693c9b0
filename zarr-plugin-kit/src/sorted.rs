//! Listings of stores that have all keys in memory, sorted.

use zarr_spec::store::Directory;
use zarr_spec::{Key, KeyError, Prefix};

/// Returns the entries whose keys begin with `prefix`. `entries` are sorted by their keys.
pub fn below<'e, T>(entries: &'e [T], prefix: &Prefix, key_of: impl Fn(&T) -> &Key) -> &'e [T] {
    let prefix = prefix.as_str();
    let start = entries.partition_point(|entry| key_of(entry).as_str() < prefix);
    let count = entries[start..].partition_point(|entry| key_of(entry).as_str().starts_with(prefix));
    &entries[start..start + count]
}

/// Returns the keys and prefixes directly below `prefix`, in logarithmic time for each. `entries` are sorted by their
/// keys.
///
/// # Errors
///
/// If a segment cannot be part of a prefix.
pub fn directory<T>(
    entries: &[T],
    prefix: &Prefix,
    key_of: impl Fn(&T) -> &Key,
) -> Result<Directory, KeyError> {
    let mut directory = Directory::default();
    let mut entries = below(entries, prefix, &key_of);
    while let [first, rest @ ..] = entries {
        let key = key_of(first);
        let name = prefix.strip(key.as_str()).unwrap_or_default();
        entries = match name.split_once('/') {
            None => {
                directory.keys.push(key.clone());
                rest
            }
            Some((segment, _)) => {
                let folder = prefix.join(segment)?;
                let in_it = |entry: &T| key_of(entry).as_str().starts_with(folder.as_str());
                let following = &entries[entries.partition_point(in_it)..];
                directory.prefixes.push(folder);
                following
            }
        };
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_keys_and_prefixes_once() {
        let mut keys: Vec<Key> =
            ["a", "a/b", "a/c/d", "a/c/e", "a/c0", "ab", "b/x"].map(|key| Key::new(key).unwrap()).into();
        keys.sort();
        let texts = |directory: Directory| {
            let keys: Vec<String> = directory.keys.iter().map(ToString::to_string).collect();
            (keys, directory.prefixes.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let at = |prefix: &str| texts(directory(&keys, &Prefix::new(prefix).unwrap(), |key| key).unwrap());
        assert_eq!(at(""), (vec!["a".into(), "ab".into()], vec!["a/".into(), "b/".into()]));
        assert_eq!(at("a/"), (vec!["a/b".into(), "a/c0".into()], vec!["a/c/".into()]));
        assert_eq!(at("c/"), (vec![], vec![]));
    }
}
