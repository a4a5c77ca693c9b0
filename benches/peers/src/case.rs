//! One case of the comparison, as the driver sends it to every runner.
#![expect(clippy::exhaustive_enums, reason = "the crate is not published")]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::memory::vector_in_huge_pages;
use crate::serve::Failure;

/// One half-open range of elements per dimension.
pub type Ranges = Vec<[u64; 2]>;

/// The measured operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Reads the whole array into new memory.
    Read,
    /// Reads the whole array into memory that the caller provides.
    ReadKept,
    /// Reads the whole array of `uint16` as values of its type, as most callers do.
    ReadValues,
    /// Reads the whole array as an N-dimensional array of the language: `ndarray` in Rust, NumPy in Python.
    ReadNdarray,
    /// Writes the whole array, or all boxes.
    Write,
    /// Reads all chunks, one after another.
    Chunks,
    /// Reads all boxes, one after another.
    Boxes,
    /// Reads all boxes with one call or concurrently.
    BoxesAtOnce,
    /// Creates arrays without elements in a group.
    Create,
    /// Lists and opens the arrays of a group.
    Open,
    /// Lists all nodes of a hierarchy.
    List,
    /// Measures the limit of the hardware, the kernel or a codec library.
    Floor,
}

/// The work of a floor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Floor {
    /// Copies memory to existing memory.
    Memcpy,
    /// Reads the files of the chunks with plain system calls into new huge pages.
    FilesRead,
    /// Reads the files of the chunks with plain system calls into existing memory.
    FilesReadKept,
    /// Writes files with the number and the sizes of the files of the chunks, with plain system calls.
    FilesWrite,
    /// Fetches the values of the chunks from the remote store with a minimal client.
    FarRead,
    /// Decodes all chunks with a codec library, from memory to memory.
    Decode {
        /// The name of the codec.
        codec: String,
        /// The shape of a compressed chunk.
        chunk: Vec<u64>,
    },
    /// Encodes all chunks with a codec library, from memory to memory.
    Encode {
        /// The name of the codec.
        codec: String,
        /// The shape of a compressed chunk.
        chunk: Vec<u64>,
    },
}

/// The location of a hierarchy in a remote store with the S3 protocol.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Far {
    /// The URL of the store.
    pub endpoint: String,
    /// The bucket.
    pub bucket: String,
    /// The prefix of all keys of the hierarchy, without a slash at its end.
    pub prefix: String,
    /// The number of requests that a program may have in flight.
    pub requests: usize,
}

/// A kind of store that contains a hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Container {
    /// The Icechunk repository `repository`.
    Icechunk,
    /// The archive `data.zip`.
    Zip,
    /// The references `references.json`.
    Reference,
    /// The database `data.lmdb`.
    Lmdb,
    /// The database `data.redb`.
    Redb,
}

/// One case: an operation, its data and its settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The operation.
    pub operation: Operation,
    /// The folder of the hierarchy; an array is the node `array` in it.
    pub folder: PathBuf,
    /// The location of the hierarchy in a remote store, if the case uses the store instead of the folder.
    #[serde(default)]
    pub far: Option<Far>,
    /// The name and the text of the metadata document of the array.
    #[serde(default)]
    pub document: Option<(String, String)>,
    /// The file with the elements of the array, in C order and native byte order; strings as `n + 1` offsets and the
    /// payload.
    #[serde(default)]
    pub elements: Option<PathBuf>,
    /// The name of the data type, such as `uint16`.
    #[serde(default)]
    pub data_type: String,
    /// The shape of the array, in elements per dimension.
    #[serde(default)]
    pub shape: Vec<u64>,
    /// The shape of a chunk or shard; it divides the shape of the array.
    #[serde(default)]
    pub chunks: Vec<u64>,
    /// The boxes that are read or written instead of the whole array.
    #[serde(default)]
    pub boxes: Vec<Ranges>,
    /// The maximum size of a cache of decoded chunks, in bytes.
    #[serde(default)]
    pub cache: usize,
    /// The store in the folder that contains the hierarchy, if it is not the folder.
    #[serde(default)]
    pub container: Option<Container>,
    /// The number of arrays that are created.
    #[serde(default)]
    pub count: usize,
    /// The work of a floor. With boxes, it covers only the chunks that intersect them.
    #[serde(default)]
    pub floor: Option<Floor>,
}

impl Case {
    /// Returns the folder of the array.
    #[must_use]
    pub fn array_folder(&self) -> PathBuf {
        self.folder.join("array")
    }

    /// Replaces the array by one without chunks.
    ///
    /// # Errors
    ///
    /// If the case does not have a document, or the files cannot be written.
    pub fn write_empty_array(&self) -> Result<(), Failure> {
        let (name, text) = self.document.as_ref().ok_or("a case that writes needs a document")?;
        let folder = self.array_folder();
        remove(&folder)?;
        fs::create_dir_all(&folder)?;
        Ok(fs::write(folder.join(name), text)?)
    }

    /// Removes everything from the folder of the hierarchy.
    ///
    /// # Errors
    ///
    /// If the files cannot be removed.
    pub fn write_empty_folder(&self) -> Result<(), Failure> {
        remove(&self.folder)?;
        Ok(fs::create_dir_all(&self.folder)?)
    }

    /// Reads the elements into huge pages.
    ///
    /// # Errors
    ///
    /// If the case does not have elements, or their file cannot be read.
    pub fn read_elements(&self) -> Result<Vec<u8>, Failure> {
        let mut file = File::open(self.elements_file()?)?;
        let mut elements = vector_in_huge_pages(usize::try_from(file.metadata()?.len())?);
        file.read_to_end(&mut elements)?;
        Ok(elements)
    }

    /// Returns the file with the elements.
    ///
    /// # Errors
    ///
    /// If the case does not have one.
    pub fn elements_file(&self) -> Result<&Path, Failure> {
        Ok(self.elements.as_deref().ok_or("the case does not have elements")?)
    }

    /// Returns the index of every chunk, in C order.
    #[must_use]
    pub fn chunk_indices(&self) -> Vec<Vec<u64>> {
        let counts: Vec<u64> =
            self.shape.iter().zip(&self.chunks).map(|(all, one)| all.div_ceil(*one)).collect();
        let mut indices = vec![Vec::new()];
        for count in counts {
            let longer = |index: Vec<u64>| (0..count).map(move |next| [index.clone(), vec![next]].concat());
            indices = indices.into_iter().flat_map(longer).collect();
        }
        indices
    }
}

/// Returns the intersection of a box and a chunk, as ranges within the chunk, or `None` if it is empty.
#[must_use]
pub fn wanted_of_chunk(ranges: &Ranges, chunks: &[u64], index: &[u64]) -> Option<Ranges> {
    let one = |((&[start, stop], &chunk), &index): ((&[u64; 2], &u64), &u64)| {
        let begin = index * chunk;
        let range = [start.max(begin), stop.min(begin + chunk)];
        (range[0] < range[1]).then(|| range.map(|at| at - begin))
    };
    ranges.iter().zip(chunks).zip(index).map(one).collect()
}

fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_in_c_order() {
        let case: Case = serde_json::from_str(
            r#"{"operation": "chunks", "folder": "f", "shape": [4, 6], "chunks": [2, 3]}"#,
        )
        .unwrap();
        assert_eq!(case.chunk_indices(), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(case.operation, Operation::Chunks);
    }

    #[test]
    fn a_box_intersects_some_chunks() {
        let ranges = vec![[1, 5], [3, 6]];
        assert_eq!(wanted_of_chunk(&ranges, &[2, 3], &[0, 1]), Some(vec![[1, 2], [0, 3]]));
        assert_eq!(wanted_of_chunk(&ranges, &[2, 3], &[2, 1]), Some(vec![[0, 1], [0, 3]]));
        assert_eq!(wanted_of_chunk(&ranges, &[2, 3], &[0, 0]), None);
    }

    #[test]
    fn an_unknown_member_is_refused() {
        let case = serde_json::from_str::<Case>(r#"{"operation": "read", "folder": "f", "colour": "red"}"#);
        assert!(case.unwrap_err().to_string().contains("colour"));
    }
}
