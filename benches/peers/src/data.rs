//! Creates the elements that all programs read and write, without using any of them.
#![expect(clippy::exhaustive_enums, reason = "the crate is not published")]

use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Deserialize;

use crate::case::Ranges;
use crate::checksum;
use crate::serve::Failure;

/// The kind of elements.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Data {
    /// `uint16`, smooth with some noise: compresses about as well as measured data.
    Uint16 {
        /// The shape of the array.
        shape: [u64; 3],
    },
    /// `uint8`: the high bits of the values of `Uint16`, which have 12 bits and noise.
    Uint8 {
        /// The shape of the array.
        shape: [u64; 3],
    },
    /// `float32`: a linear function of the values of `Uint16`.
    Float32 {
        /// The shape of the array.
        shape: [u64; 3],
    },
    /// `float64`: a linear function of the values of `Uint16`.
    Float64 {
        /// The shape of the array.
        shape: [u64; 3],
    },
    /// `uint16`, zero except in every hundredth chunk.
    Sparse {
        /// The shape of the array.
        shape: [u64; 3],
        /// The shape of a chunk.
        chunks: [u64; 3],
    },
    /// Words of 4 to 40 bytes, some with letters outside ASCII.
    Strings {
        /// The number of strings.
        count: usize,
    },
    /// No elements: a hierarchy in a folder, of `groups` groups with `arrays` empty arrays in each.
    Nodes {
        /// The number of groups in the root. If it is 0, the arrays are in the root.
        groups: usize,
        /// The number of arrays in each group.
        arrays: usize,
        /// The document of every array.
        array: String,
        /// Whether the document of the root contains the documents of all arrays.
        #[serde(default)]
        is_consolidated: bool,
    },
}

/// A generator of pseudorandom numbers with a fixed seed.
struct Noise(u64);

impl Noise {
    fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

impl Data {
    /// Writes the elements to `file`. Returns their checksum, or the checksum of the paths of a hierarchy.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, file: &Path) -> Result<u32, Failure> {
        if let Self::Nodes { groups, arrays, array, is_consolidated } = self {
            let sum = write_nodes(file, *groups, *arrays, array)?;
            if *is_consolidated {
                consolidate(file, *arrays, array)?;
            }
            return Ok(sum);
        }
        let mut output = Output { file: BufWriter::with_capacity(1 << 20, File::create(file)?), checksum: 0 };
        match self {
            Self::Uint16 { shape } => write_rows(*shape, &mut output, |_, wave| wave.to_ne_bytes())?,
            Self::Uint8 { shape } => {
                let high = |wave: u16| u8::try_from(wave >> 4).unwrap_or(u8::MAX);
                write_rows(*shape, &mut output, |_, wave| [high(wave)])?;
            }
            Self::Float32 { shape } => {
                write_rows(*shape, &mut output, |_, wave| (f32::from(wave) / 16.0 - 100.0).to_ne_bytes())?;
            }
            Self::Float64 { shape } => {
                write_rows(*shape, &mut output, |_, wave| (f64::from(wave) / 16.0 - 100.0).to_ne_bytes())?;
            }
            Self::Sparse { shape, chunks } => {
                let grid = [0, 1, 2].map(|dimension| shape[dimension].div_ceil(chunks[dimension]));
                write_rows(*shape, &mut output, |index, wave| {
                    let chunk = [0, 1, 2].map(|dimension| index[dimension] / chunks[dimension]);
                    let number = (chunk[0] * grid[1] + chunk[1]) * grid[2] + chunk[2];
                    let element = if number % 100 == 37 { wave | 1 } else { 0 };
                    element.to_ne_bytes()
                })?;
            }
            Self::Strings { count } => write_strings(*count, &mut output)?,
            Self::Nodes { .. } => {}
        }
        output.file.flush()?;
        Ok(output.checksum)
    }
}

struct Output {
    file: BufWriter<File>,
    checksum: u32,
}

impl Output {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.checksum = checksum(self.checksum, bytes);
        Ok(self.file.write_all(bytes)?)
    }
}

/// Writes one element for each index: `element` computes it from the index and a wave with noise.
fn write_rows<const N: usize>(
    [depth, height, width]: [u64; 3],
    output: &mut Output,
    element: impl Fn([u64; 3], u16) -> [u8; N],
) -> Result<(), Failure> {
    let mut noise = Noise::new();
    let mut row = Vec::new();
    for z in 0..depth {
        for y in 0..height {
            row.clear();
            for x in 0..width {
                let wave = ((z * 7 + y * 5 + x * 3) & 0x0fff) + (noise.next() & 15);
                row.extend(element([z, y, x], u16::try_from(wave)?));
            }
            output.put(&row)?;
        }
    }
    Ok(())
}

/// Adds the documents of the arrays in the root to the document of the root.
fn consolidate(folder: &Path, arrays: usize, array: &str) -> Result<(), Failure> {
    let array: serde_json::Value = serde_json::from_str(array)?;
    let metadata: serde_json::Map<_, _> =
        (0..arrays).map(|number| (format!("a{number:05}"), array.clone())).collect();
    let document = serde_json::json!({
        "zarr_format": 3,
        "node_type": "group",
        "attributes": {},
        "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": metadata},
    });
    Ok(std::fs::write(folder.join("zarr.json"), document.to_string())?)
}

fn write_strings(count: usize, output: &mut Output) -> Result<(), Failure> {
    const SYLLABLES: [&str; 16] =
        ["ka", "ri", "no", "ta", "mi", "se", "ö", "lu", "ven", "dor", "st", "ä", "po", "ch", "λ", "an"];
    let mut noise = Noise::new();
    let mut payload = String::new();
    let mut offsets = vec![0u64];
    for _ in 0..count {
        let random = noise.next();
        for position in 0..4 + random % 9 {
            payload.push_str(SYLLABLES[usize::try_from(random >> (4 * position + 8) & 15)?]);
        }
        offsets.push(payload.len() as u64);
    }
    for offset in offsets {
        output.put(&offset.to_ne_bytes())?;
    }
    output.put(payload.as_bytes())
}

fn write_nodes(folder: &Path, groups: usize, arrays: usize, array: &str) -> Result<u32, Failure> {
    const GROUP: &str = r#"{"zarr_format": 3, "node_type": "group"}"#;
    fs::create_dir_all(folder)?;
    fs::write(folder.join("zarr.json"), GROUP)?;
    let mut lines = vec!["/".to_owned()];
    let mut below = |name: String, document: &str| {
        fs::create_dir(folder.join(&name))?;
        fs::write(folder.join(&name).join("zarr.json"), document)?;
        lines.push(format!("/{name}"));
        Ok::<_, Failure>(())
    };
    let mut prefixes = vec![String::new(); usize::from(groups == 0)];
    for group in 0..groups {
        below(format!("g{group:05}"), GROUP)?;
        prefixes.push(format!("g{group:05}/"));
    }
    for prefix in prefixes {
        for number in 0..arrays {
            below(format!("{prefix}a{number:05}"), array)?;
        }
    }
    Ok(crate::checksum_of_lines(lines))
}

/// Reads the strings in a file of elements.
///
/// # Errors
///
/// If the file cannot be read, or does not have this number of strings.
pub fn read_strings(file: &Path, count: usize) -> Result<Vec<String>, Failure> {
    let bytes = fs::read(file)?;
    let (offsets, payload) = bytes.split_at_checked((count + 1) * 8).ok_or("too few offsets")?;
    let (offsets, _) = offsets.as_chunks::<8>();
    let offsets = offsets.iter().map(|offset| usize::try_from(u64::from_ne_bytes(*offset)));
    let offsets = offsets.collect::<Result<Vec<_>, _>>()?;
    let string = |range: &[usize]| {
        let bytes = payload.get(range[0]..range[1]).ok_or("an offset is outside the payload")?;
        Ok(std::str::from_utf8(bytes)?.to_owned())
    };
    offsets.windows(2).map(string).collect()
}

/// Returns the checksum of consecutive boxes of an array whose elements of `item` bytes are in `file`. Large arrays repeat
/// a small file: the index along the first dimension wraps around at the end of the file.
///
/// # Errors
///
/// If the file cannot be read or does not have enough elements.
pub fn boxes_checksum(file: &Path, shape: &[u64], item: usize, boxes: &[Ranges]) -> Result<u32, Failure> {
    let mut file = File::open(file)?;
    let row_count: u64 = shape.iter().skip(1).product::<u64>() * item as u64;
    let rows = file.metadata()?.len() / row_count.max(1);
    let mut sum = 0;
    for ranges in boxes {
        let Some([first, last]) = ranges.first() else { continue };
        for row in *first..*last {
            let start = row % rows * row_count;
            sum = add_box(&mut file, &shape[1..], &ranges[1..], Part { start, item: item as u64, sum })?;
        }
    }
    Ok(sum)
}

/// A part of the file that contains elements of a box.
#[derive(Clone, Copy)]
struct Part {
    /// The offset in the file, in bytes.
    start: u64,
    /// The size of an element in bytes.
    item: u64,
    /// The checksum of all bytes so far.
    sum: u32,
}

/// Adds the elements in `ranges` of a part of the file to the checksum of the part, row by row.
fn add_box(file: &mut File, shape: &[u64], ranges: &[[u64; 2]], part: Part) -> Result<u32, Failure> {
    let Part { start, item, sum } = part;
    let is_whole = ranges.iter().zip(shape).all(|(range, &length)| *range == [0, length]);
    if is_whole {
        return add_bytes(file, start, shape.iter().product::<u64>() * item, sum);
    }
    let [first, last] = ranges[0];
    let rest = &ranges[1..];
    let inner: u64 = shape.iter().skip(1).product::<u64>() * item;
    if rest.is_empty() {
        return add_bytes(file, start + first * item, (last - first) * item, sum);
    }
    (first..last).try_fold(sum, |sum, index| {
        add_box(file, &shape[1..], rest, Part { start: start + index * inner, item, sum })
    })
}

fn add_bytes(file: &mut File, start: u64, size: u64, sum: u32) -> Result<u32, Failure> {
    let mut bytes = vec![0; usize::try_from(size)?];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut bytes)?;
    Ok(checksum(sum, &bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        (folder, file)
    }

    #[test]
    fn the_checksum_of_a_box_covers_its_elements_in_c_order() {
        let (_folder, file) = file("elements");
        let elements: Vec<u16> = (0..3 * 4 * 5).collect();
        let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_ne_bytes()).collect();
        fs::write(&file, &bytes).unwrap();
        let boxes = [vec![[1, 3], [0, 2], [2, 4]], vec![[0, 1], [0, 4], [0, 5]]];
        let mut wanted = Vec::new();
        for ranges in &boxes {
            for z in ranges[0][0]..ranges[0][1] {
                for y in ranges[1][0]..ranges[1][1] {
                    for x in ranges[2][0]..ranges[2][1] {
                        wanted.extend(u16::try_from((z * 4 + y) * 5 + x).unwrap().to_ne_bytes());
                    }
                }
            }
        }
        assert_eq!(boxes_checksum(&file, &[3, 4, 5], 2, &boxes).unwrap(), checksum(0, &wanted));
        // The array repeats the three planes of the file, so these boxes have the same elements.
        let later = [vec![[4, 6], [0, 2], [2, 4]], vec![[3, 4], [0, 4], [0, 5]]];
        assert_eq!(boxes_checksum(&file, &[6, 4, 5], 2, &later).unwrap(), checksum(0, &wanted));
    }

    #[test]
    fn strings_make_the_round_trip() {
        let (_folder, file) = file("strings");
        let sum = Data::Strings { count: 100 }.write(&file).unwrap();
        assert_eq!(sum, checksum(0, &fs::read(&file).unwrap()));
        let strings = read_strings(&file, 100).unwrap();
        assert_eq!(strings.len(), 100);
        assert!(strings.iter().all(|string| !string.is_empty()));
        assert!(strings.iter().any(|string| !string.is_ascii()));
    }

    #[test]
    fn a_hierarchy_has_groups_of_arrays_or_only_arrays() {
        let (_folder, file) = file("nodes");
        let sum = Data::Nodes { groups: 2, arrays: 1, array: "{}".to_owned(), is_consolidated: false }
            .write(&file)
            .unwrap();
        let lines = ["/", "/g00000", "/g00000/a00000", "/g00001", "/g00001/a00000"];
        assert_eq!(sum, checksum(0, lines.join("\n").as_bytes()));
        assert!(file.join("g00001/a00000/zarr.json").is_file());
        let (_folder, file) = super::tests::file("arrays");
        let sum = Data::Nodes { groups: 0, arrays: 1, array: "{}".to_owned(), is_consolidated: false }
            .write(&file)
            .unwrap();
        assert_eq!(sum, checksum(0, b"/\n/a00000"));
    }

    #[test]
    fn bytes_are_the_high_bits_of_the_same_waves() {
        let (_folder, file) = file("elements");
        let written = |data: Data| {
            data.write(&file).unwrap();
            fs::read(&file).unwrap()
        };
        let bytes = written(Data::Uint8 { shape: [2, 30, 700] });
        let wide = written(Data::Uint16 { shape: [2, 30, 700] });
        let high = wide.chunks_exact(2).map(|two| u16::from_ne_bytes([two[0], two[1]]) >> 4);
        assert!(high.eq(bytes.iter().map(|&byte| u16::from(byte))));
        assert!(bytes.contains(&0) && bytes.iter().any(|&byte| byte > 100));
    }

    #[test]
    fn one_chunk_in_a_hundred_of_sparse_data_is_not_zero() {
        let (_folder, file) = file("sparse");
        Data::Sparse { shape: [10, 10, 10], chunks: [1, 1, 10] }.write(&file).unwrap();
        let bytes = fs::read(&file).unwrap();
        let chunks = bytes.chunks(20).filter(|chunk| chunk.iter().any(|&byte| byte != 0)).count();
        assert_eq!(chunks, 1);
    }
}
