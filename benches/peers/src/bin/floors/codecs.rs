//! Runs the libraries of codecs from memory to memory, chunk by chunk.

use zarr_peers::{Case, Failure, Ran, Task, checksum, read_strings, timed, wanted_of_chunk};

use crate::blosc::{self, Blosc};
use crate::on_threads;

/// A codec's library with its parameters.
#[derive(Debug, Clone, Copy)]
enum Library {
    Zstd(i32),
    Gzip(libdeflater::CompressionLvl),
    Blosc(Blosc),
}

impl Library {
    /// Returns the library for the name of a codec in a case.
    fn named(name: &str) -> Result<Self, Failure> {
        Ok(match name.strip_prefix(DELTA).unwrap_or(name) {
            "zstd-5" => Self::Zstd(5),
            "gzip-5" => Self::Gzip(libdeflater::CompressionLvl::new(5).map_err(|_| "level 5 is invalid")?),
            "blosc-lz4" => Self::Blosc(Blosc { compressor: c"lz4", level: 5, item: 2 }),
            "blosc-zstd" => Self::Blosc(Blosc { compressor: c"zstd", level: 5, item: 2 }),
            other => return Err(format!("unknown codec `{other}`").into()),
        })
    }

    /// Encodes to the beginning of `encoded` and returns the number of written bytes.
    fn encode(self, kept: &mut Kept, decoded: &[u8], encoded: &mut [u8]) -> Result<usize, Failure> {
        match self {
            Self::Zstd(level) => {
                let compressor = match &mut kept.compressor {
                    Some(compressor) => compressor,
                    none => none.insert(zstd::bulk::Compressor::new(level)?),
                };
                Ok(compressor.compress_to_buffer(decoded, encoded)?)
            }
            Self::Gzip(level) => {
                let compressor = match &mut kept.gzip_compressor {
                    Some(compressor) => compressor,
                    none => none.insert(libdeflater::Compressor::new(level)),
                };
                Ok(compressor.gzip_compress(decoded, encoded)?)
            }
            Self::Blosc(parameters) => blosc::encode(parameters, decoded, encoded),
        }
    }

    fn decode(self, kept: &mut Kept, encoded: &[u8], decoded: &mut [u8]) -> Result<(), Failure> {
        match self {
            Self::Zstd(_) => {
                let decompressor = match &mut kept.decompressor {
                    Some(decompressor) => decompressor,
                    none => none.insert(zstd::bulk::Decompressor::new()?),
                };
                let size = decompressor.decompress_to_buffer(encoded, decoded)?;
                if size == decoded.len() {
                    Ok(())
                } else {
                    Err("zstd decoded a wrong number of bytes".into())
                }
            }
            Self::Gzip(_) => {
                let decompressor = kept.gzip_decompressor.get_or_insert_with(libdeflater::Decompressor::new);
                let size = decompressor.gzip_decompress(encoded, decoded)?;
                if size == decoded.len() {
                    Ok(())
                } else {
                    Err("gzip decoded a wrong number of bytes".into())
                }
            }
            Self::Blosc(_) => blosc::decode(encoded, decoded),
        }
    }
}

/// The state that a thread reuses for all chunks.
#[derive(Default)]
struct Kept {
    buffer: Vec<u8>,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
    gzip_compressor: Option<libdeflater::Compressor>,
    gzip_decompressor: Option<libdeflater::Decompressor>,
}

/// Returns the input of the library for each chunk. If the case has boxes, chunks that intersect none of them are left
/// out.
fn gathered(case: &Case, codec: &str, chunk: &[u64]) -> Result<Vec<Vec<u8>>, Failure> {
    if case.data_type == "string" {
        return framed_strings(case, chunk);
    }
    let mut chunks = gathered_elements(case, chunk)?;
    if codec.starts_with(DELTA) {
        chunks.iter_mut().for_each(|chunk| differences(chunk));
    }
    Ok(chunks)
}

/// The prefix of the names of codecs that follow the filter `delta`.
const DELTA: &str = "delta-";

/// Replaces each `u16` by its difference to the preceding one.
fn differences(chunk: &mut [u8]) {
    let mut before = 0u16;
    for place in chunk.chunks_exact_mut(2) {
        let now = u16::from_ne_bytes([place[0], place[1]]);
        place.copy_from_slice(&now.wrapping_sub(before).to_ne_bytes());
        before = now;
    }
}

/// Returns the strings as `vlen-utf8` encodes them: their number, then each string after its length.
fn framed_strings(case: &Case, chunk: &[u64]) -> Result<Vec<Vec<u8>>, Failure> {
    let length = |length: usize| u32::try_from(length).map(u32::to_le_bytes);
    let strings = read_strings(case.elements_file()?, usize::try_from(case.shape[0])?)?;
    let framed = |strings: &[String]| -> Result<Vec<u8>, Failure> {
        let mut bytes = length(strings.len())?.to_vec();
        for string in strings {
            bytes.extend(length(string.len())?);
            bytes.extend(string.as_bytes());
        }
        Ok(bytes)
    };
    strings.chunks(usize::try_from(chunk[0])?).map(framed).collect()
}

fn gathered_elements(case: &Case, chunk: &[u64]) -> Result<Vec<Vec<u8>>, Failure> {
    let elements = case.read_elements()?;
    let count: u64 = case.shape.iter().product();
    let item = elements.len() / usize::try_from(count)?;
    let divided = Case { chunks: chunk.to_vec(), ..case.clone() };
    let is_wanted = |index: &Vec<u64>| {
        let wanted = |ranges| wanted_of_chunk(ranges, chunk, index).is_some();
        case.boxes.is_empty() || case.boxes.iter().any(wanted)
    };
    let indices = divided.chunk_indices().into_iter().filter(is_wanted);
    indices.map(|index| gather(&elements, &case.shape, item, chunk, &index)).collect()
}

fn gather(
    elements: &[u8],
    shape: &[u64],
    item: usize,
    chunk: &[u64],
    index: &[u64],
) -> Result<Vec<u8>, Failure> {
    let mut rows = vec![0u64];
    let last = shape.len() - 1;
    for dimension in 0..shape.len() {
        let from = index[dimension] * chunk[dimension];
        let range = if dimension == last { from..=from } else { from..=from + chunk[dimension] - 1 };
        rows = rows.iter().flat_map(|row| range.clone().map(move |at| row * shape[dimension] + at)).collect();
    }
    let size = usize::try_from(chunk[last])? * item;
    let mut gathered = Vec::with_capacity(rows.len() * size);
    for row in rows {
        let start = usize::try_from(row)? * item;
        gathered.extend_from_slice(elements.get(start..start + size).ok_or("a chunk is outside the array")?);
    }
    Ok(gathered)
}

/// Returns the size of a buffer into which any of the codecs can encode `size` bytes.
fn bound(size: usize) -> usize {
    size + size / 16 + 1024
}

pub(crate) fn encode(
    case: &Case,
    codec: &str,
    chunk: &[u64],
    threads: usize,
) -> Result<Box<dyn Task>, Failure> {
    let library = Library::named(codec)?;
    let chunks = gathered(case, codec, chunk)?;
    Ok(Box::new(move || {
        let parts: Vec<&Vec<u8>> = chunks.iter().collect();
        let ((), seconds) = timed(|| {
            on_threads(parts, threads, |kept: &mut Kept, part| {
                let mut buffer = std::mem::take(&mut kept.buffer);
                buffer.resize(bound(part.len()), 0);
                let encoded = library.encode(kept, part, &mut buffer).map(drop);
                kept.buffer = buffer;
                encoded
            })
        })?;
        Ok(Ran { seconds, checksum: 0 })
    }))
}

pub(crate) fn decode(
    case: &Case,
    codec: &str,
    chunk: &[u64],
    threads: usize,
) -> Result<Box<dyn Task>, Failure> {
    let library = Library::named(codec)?;
    let mut chunks = Vec::new();
    let mut kept = Kept::default();
    for decoded in gathered(case, codec, chunk)? {
        let mut encoded = vec![0; bound(decoded.len())];
        let size = library.encode(&mut kept, &decoded, &mut encoded)?;
        encoded.truncate(size);
        let mut again = vec![0; decoded.len()];
        library.decode(&mut kept, &encoded, &mut again)?;
        if checksum(0, &again) != checksum(0, &decoded) {
            return Err(format!("{codec} does not decode its own output").into());
        }
        chunks.push((encoded, decoded.len()));
    }
    Ok(Box::new(move || {
        let parts: Vec<&(Vec<u8>, usize)> = chunks.iter().collect();
        let ((), seconds) = timed(|| {
            on_threads(parts, threads, |kept: &mut Kept, (encoded, size)| {
                let mut buffer = std::mem::take(&mut kept.buffer);
                buffer.resize(*size, 0);
                let decoded = library.decode(kept, encoded, &mut buffer);
                kept.buffer = buffer;
                decoded
            })
        })?;
        Ok(Ran { seconds, checksum: 0 })
    }))
}
