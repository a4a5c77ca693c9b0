//! Keys of the store, and the documents and chunks of a repository that they name.

use icechunk::format::{ChunkIndices, Path};
use zarr_spec::{Key, KeyError};

/// The name of the document of a node.
const DOCUMENT: &str = "zarr.json";

/// The folder of the chunks of an array.
const CHUNKS: &str = "c";

/// A document or a chunk of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name {
    /// The document of a node.
    Document(Path),
    /// A chunk of an array.
    Chunk(Path, ChunkIndices),
}

impl Name {
    /// Returns what a key names; `None` for keys that a repository cannot hold.
    pub(crate) fn of(key: &Key) -> Option<Self> {
        let mut segments: Vec<&str> = key.as_str().split('/').collect();
        if segments.pop_if(|last| *last == DOCUMENT).is_some() {
            return Some(Self::Document(node(&segments)?));
        }
        let mut index = Vec::new();
        while let Some(number) = segments.last().and_then(|last| number(last)) {
            index.push(number);
            segments.pop();
        }
        index.reverse();
        segments.pop_if(|last| *last == CHUNKS)?;
        Some(Self::Chunk(node(&segments)?, ChunkIndices(index)))
    }
}

fn node(segments: &[&str]) -> Option<Path> {
    Path::try_from(format!("/{}", segments.join("/"))).ok()
}

/// Parses an index as it is written in keys: without a sign and leading zeros.
fn number(text: &str) -> Option<u32> {
    let is_canonical = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_canonical)
}

/// Returns the key of the document of a node.
pub(crate) fn document_key(path: &Path) -> Result<Key, KeyError> {
    Key::new(format!("{}{DOCUMENT}", folder(path)))
}

/// Returns the key of a chunk of an array.
pub(crate) fn chunk_key(array: &Path, index: &ChunkIndices) -> Result<Key, KeyError> {
    let mut key = format!("{}{CHUNKS}", folder(array));
    for number in &index.0 {
        key.push('/');
        key.push_str(&number.to_string());
    }
    Key::new(key)
}

/// Returns the prefix of all keys of a node and of the nodes below it, which is empty for the root.
pub(crate) fn folder(path: &Path) -> String {
    let path = path.to_string();
    match path.trim_start_matches('/') {
        "" => String::new(),
        path => format!("{path}/"),
    }
}

/// Returns the array whose chunks may have keys that begin with `prefix`, which is in the folder of its chunks.
pub(crate) fn array_around(prefix: &str) -> Option<Path> {
    let mut segments: Vec<&str> = prefix.trim_end_matches('/').split('/').collect();
    while segments.pop_if(|last| number(last).is_some()).is_some() {}
    segments.pop_if(|last| *last == CHUNKS)?;
    node(&segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(key: &str) -> Option<Name> {
        Name::of(&Key::new(key).unwrap())
    }

    fn path(text: &str) -> Path {
        Path::try_from(text).unwrap()
    }

    #[test]
    fn keys_name_documents_and_chunks() {
        for (key, node) in [("zarr.json", "/"), ("a/zarr.json", "/a"), ("a/c/0/zarr.json", "/a/c/0")] {
            assert_eq!(named(key), Some(Name::Document(path(node))), "{key}");
            assert_eq!(document_key(&path(node)).unwrap().as_str(), key);
        }
        for (key, array, index) in [
            ("c", "/", &[][..]),
            ("c/3", "/", &[3]),
            ("a/c", "/a", &[]),
            ("a/c/10/0", "/a", &[10, 0]),
            ("abc/c/1", "/abc", &[1]),
            ("x/c/0/c/7", "/x/c/0", &[7]),
        ] {
            assert_eq!(named(key), Some(Name::Chunk(path(array), ChunkIndices(index.to_vec()))), "{key}");
            assert_eq!(chunk_key(&path(array), &ChunkIndices(index.to_vec())).unwrap().as_str(), key);
        }
    }

    #[test]
    fn other_keys_name_nothing() {
        for key in ["a", "abc", "a/.zarray", "a/c0", "a/c/01", "a/c/+1", "a/c/4294967296", "a/c/x", "a/0/0"] {
            assert_eq!(named(key), None, "{key}");
        }
    }

    #[test]
    fn prefixes_of_chunks_lead_to_their_array() {
        assert_eq!(array_around("a/c/"), Some(path("/a")));
        assert_eq!(array_around("a/c/1/0/"), Some(path("/a")));
        assert_eq!(array_around("c/1/"), Some(path("/")));
        assert_eq!(array_around("a/"), None);
        assert_eq!(array_around(""), None);
    }
}
