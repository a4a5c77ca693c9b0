//! One case of the comparison, as the driver describes it to every runner.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::serve::Failure;

/// One half-open range of elements per dimension.
pub type Ranges = Vec<[u64; 2]>;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// The whole array is read into memory that is got for it.
    Read,
    /// The whole array is read into memory that the caller has had before.
    ReadKept,
    /// The whole array of `uint16` is read as values of its type, as most callers read.
    ReadValues,
    /// The same as an N-dimensional array of the language: of `ndarray` in Rust, of NumPy in Python.
    ReadNdarray,
    /// The whole array is written, or all boxes of it.
    Write,
    /// Every chunk is read, one after another.
    Chunks,
    /// Every box is read, one after another.
    Boxes,
    /// All boxes are asked for at once.
    BoxesAtOnce,
    /// Arrays are created in a group, without elements.
    Create,
    /// The arrays of a group are listed and opened.
    Open,
    /// All nodes of a hierarchy are listed.
    List,
    /// What the hardware, the kernel or a codec's library can do at best.
    Floor,
}

/// What a floor is made of.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Floor {
    /// Memory is copied to memory that is there.
    Memcpy,
    /// The files of the chunks are read by plain calls, into huge pages that are new.
    FilesRead,
    /// The files of the chunks are read by plain calls, into memory that is there.
    FilesReadKept,
    /// As many files of the same size are written by plain calls.
    FilesWrite,
    /// The values of the chunks are fetched from the far store by a plain client.
    FarRead,
    /// A codec's library decodes all chunks, from memory to memory.
    Decode {
        /// Which one.
        codec: String,
        /// Elements of what is compressed at once, per dimension.
        chunk: Vec<u64>,
    },
    /// A codec's library encodes all chunks, from memory to memory.
    Encode {
        /// Which one.
        codec: String,
        /// Elements of what is compressed at once, per dimension.
        chunk: Vec<u64>,
    },
}

/// Where a hierarchy is asked for over HTTP, as S3.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Far {
    /// The URL of the store.
    pub endpoint: String,
    /// The bucket.
    pub bucket: String,
    /// What the keys of the hierarchy begin with, without a slash at its end.
    pub prefix: String,
    /// Requests that a program may have in flight.
    pub requests: usize,
}

/// One case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What is done.
    pub operation: Operation,
    /// The folder of the hierarchy; an array is the node `array` in it.
    pub folder: PathBuf,
    /// The same hierarchy in a far store, where it is to be asked for there.
    #[serde(default)]
    pub far: Option<Far>,
    /// The name of the array's metadata document, and the document.
    #[serde(default)]
    pub document: Option<(String, String)>,
    /// The file with the elements of the array, in C order and native byte order; strings as `n + 1` offsets and the
    /// payload.
    #[serde(default)]
    pub elements: Option<PathBuf>,
    /// The data type.
    #[serde(default)]
    pub data_type: String,
    /// Elements per dimension.
    #[serde(default)]
    pub shape: Vec<u64>,
    /// Elements of a chunk (shard) per dimension; they divide the shape.
    #[serde(default)]
    pub chunks: Vec<u64>,
    /// What is read or written instead of the whole.
    #[serde(default)]
    pub boxes: Vec<Ranges>,
    /// Bytes of decoded chunks that a program may keep.
    #[serde(default)]
    pub cache: usize,
    /// How many arrays are created.
    #[serde(default)]
    pub count: usize,
    /// What a floor is made of. With boxes, it is that of the chunks they touch.
    #[serde(default)]
    pub floor: Option<Floor>,
}

impl Case {
    /// The folder of the array.
    #[must_use]
    pub fn array_folder(&self) -> PathBuf {
        self.folder.join("array")
    }

    /// Puts an array without any chunks in place of the one that is there.
    ///
    /// # Errors
    ///
    /// If there is no document, or the files cannot be written.
    pub fn write_empty_array(&self) -> Result<(), Failure> {
        let (name, text) = self.document.as_ref().ok_or("a case that writes has no document")?;
        let folder = self.array_folder();
        remove(&folder)?;
        fs::create_dir_all(&folder)?;
        Ok(fs::write(folder.join(name), text)?)
    }

    /// Leaves nothing of the hierarchy but its folder.
    ///
    /// # Errors
    ///
    /// If the files cannot be removed.
    pub fn write_empty_folder(&self) -> Result<(), Failure> {
        remove(&self.folder)?;
        Ok(fs::create_dir_all(&self.folder)?)
    }

    /// The file with the elements.
    ///
    /// # Errors
    ///
    /// If the case has none.
    pub fn elements_file(&self) -> Result<&Path, Failure> {
        Ok(self.elements.as_deref().ok_or("the case has no elements")?)
    }

    /// The index of every chunk, in C order.
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

/// What a box wants of a chunk, as ranges within the chunk; `None` if it wants nothing.
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
    fn chunks_come_in_c_order() {
        let case: Case = serde_json::from_str(
            r#"{"operation": "chunks", "folder": "f", "shape": [4, 6], "chunks": [2, 3]}"#,
        )
        .unwrap();
        assert_eq!(case.chunk_indices(), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(case.operation, Operation::Chunks);
    }

    #[test]
    fn a_box_wants_a_part_of_the_chunks_that_it_touches() {
        let ranges = vec![[1, 5], [3, 6]];
        assert_eq!(wanted_of_chunk(&ranges, &[2, 3], &[0, 1]), Some(vec![[1, 2], [0, 3]]));
        assert_eq!(wanted_of_chunk(&ranges, &[2, 3], &[2, 1]), Some(vec![[0, 1], [0, 3]]));
        assert_eq!(wanted_of_chunk(&ranges, &[2, 3], &[0, 0]), None);
    }

    #[test]
    fn a_member_that_nobody_knows_is_refused() {
        let case = serde_json::from_str::<Case>(r#"{"operation": "read", "folder": "f", "colour": "red"}"#);
        assert!(case.unwrap_err().to_string().contains("colour"));
    }
}
