//! Limits on memory and time for hostile data, in proportion to what documents declare and stores hold.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zarr_conformance::codecs::{created, decode, encode};
use zarr_conformance::suite::{CountingAllocator, highest};
use zarr_conformance::types::{self, Number};
use zarr_conformance::{array as chunk_of, hex};
use zarr_interop::book::value;
use zarr_interop::{Random, key, memory};
use zarr_kit::spec::CodecError;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Limits, NodePath, Selection};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A codec of v2 and its configuration.
type Codec<'c> = (&'c str, Value);

/// Creates an array of bytes in one chunk.
fn array(size: u64, codecs: &[Codec<'_>]) -> (Arc<dyn Store>, Array) {
    let store = memory();
    let context = Context::linked().unwrap().with_one_thread();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, Format::V2).unwrap();
    let mut builder = ArrayBuilder::new([size], "uint8").chunks([size]).uncompressed();
    for (codec, configuration) in codecs {
        builder = builder.codec((*codec, value(configuration)));
    }
    let array = hierarchy.create_array("/a", &builder).unwrap();
    (store, array)
}

/// Returns the stored chunk of `size` equal bytes.
fn monotonous(size: u64, codec: &Codec<'_>) -> Vec<u8> {
    let (store, array) = array(size, std::slice::from_ref(codec));
    array.write(&Selection::All, &vec![7; usize::try_from(size).unwrap()]).unwrap();
    get_value(&*store, &key("a/0"), usize::MAX).unwrap().unwrap().into()
}

/// Codecs that do not declare a maximum encoded size, because it depends on the data.
const UNBOUNDED: &[&str] = &["bz2", "gzip", "lzma", "zlib"];

#[test]
fn an_undeclared_intermediate_size_is_limited_to_twice_the_chunk_plus_one_mebibyte() {
    for name in UNBOUNDED {
        let codec = (*name, json!({}));
        let (store, array) = array(4, &[codec.clone(), codec.clone()]);
        store.set(&key("a/0"), (&monotonous(16 << 20, &codec)).into()).unwrap();
        let mut result = Ok(());
        let taken = highest(|| result = array.read(&Selection::All).map(drop)).unwrap();
        let message = result.unwrap_err().to_string();
        assert!(message.contains("more than 1048584 bytes") && message.contains("`a/0`"), "{message}");
        assert!(taken < 4 << 20, "{name}: {taken}");
    }
}

/// Incompressible bytes grow only a little with each codec, so they stay below the limit on intermediate sizes. A
/// codec that widens elements raises the limit.
#[test]
fn incompressible_bytes_pass_through_several_codecs() {
    let mut random = Random::new(1);
    let stored = ("gzip", json!({"level": 0}));
    let wider = ("astype", json!({"encode_dtype": "<f8", "decode_dtype": "|u1"}));
    let chains = [
        vec![stored.clone(), stored.clone(), stored.clone()],
        vec![wider, stored.clone(), stored],
        UNBOUNDED.iter().map(|name| (*name, json!({}))).collect(),
    ];
    for codecs in &chains {
        for size in [1, 1_000_000] {
            let noise: Vec<u8> = (0..size).map(|_| random.number().to_le_bytes()[0]).collect();
            let (store, array) = array(size, codecs);
            array.write(&Selection::All, &noise).unwrap();
            assert!(get_value(&*store, &key("a/0"), usize::MAX).unwrap().is_some());
            assert!(array.read(&Selection::All).unwrap().bytes() == noise, "{codecs:?}");
        }
    }
}

/// Opens the hierarchy with this root document; returns the peak memory use, without the document itself, and
/// the result.
fn opening(document: &str) -> (usize, Result<(), String>) {
    let store = memory();
    store.set(&key("zarr.json"), document.as_bytes().into()).unwrap();
    let limits = Limits::new().with_document_size(document.len());
    let context = Context::linked().unwrap().with_one_thread().with_limits(limits);
    let mut result = Ok(());
    let taken = highest(|| {
        let opened = Hierarchy::open(store, &context).and_then(|hierarchy| {
            hierarchy.group("/")?;
            Ok(hierarchy.walk(NodePath::root())?.len())
        });
        result = opened.map(drop).map_err(|error| error.to_string());
    });
    (taken.unwrap(), result)
}

#[test]
fn a_document_of_many_small_values_fails_with_the_limit_and_takes_little_memory() {
    for part in ["[],", "{},", "0,", "[0],", "{\"a\":0},", "\"\","] {
        let list = part.repeat((4 << 20) / part.len());
        let document =
            format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{"list":[{list}0]}}}}"#);
        let (taken, result) = opening(&document);
        let message = result.unwrap_err();
        let limit = format!("more than {} bytes", 4 * document.len() + (1 << 20));
        assert!(message.contains(&limit) && message.contains("four times"), "{part} {message}");
        // A list is copied when it grows, so both copies count.
        assert!(taken < 7 * document.len(), "{part} {}", taken / document.len());
    }
}

/// Images that imagecodecs 2026.10.10 wrote: 2^20 to 2^26 zeros in a few bytes. Names of codecs and hexadecimal digits.
const BOMBS: &str = include_str!("bombs.tsv");

/// Decodes a small chunk, and checks that it is refused after little work and memory.
fn assert_little_work(codec: &str, shape: &[u64], number: Number, encoded: &[u8]) {
    let made = created(Format::V2, codec, "", (shape, number)).unwrap();
    let array = chunk_of(shape, number);
    let size = usize::try_from(shape.iter().product::<u64>()).unwrap() * number.size();
    let start = Instant::now();
    let mut result = Ok(Vec::new());
    let memory = highest(|| result = decode(&made, &array, encoded, size)).unwrap();
    assert!(matches!(result, Err(CodecError::Corrupt(_) | CodecError::TooLarge(_))), "{codec}: {result:?}");
    assert!(memory < encoded.len() + (2 << 20), "{codec} allocates {memory} bytes");
    assert!(start.elapsed() < Duration::from_secs(20), "{codec} takes {:?}", start.elapsed());
}

#[test]
fn images_that_are_much_larger_than_the_chunk_are_refused() {
    let mut count = 0;
    for (codec, digits) in BOMBS.lines().map(|row| row.split_once('\t').unwrap()) {
        let (shape, number) = match codec {
            "imagecodecs_wavpack" => (&[24][..], types::INT16),
            "imagecodecs_blosc2" => (&[24][..], types::UINT8),
            "imagecodecs_webp" => (&[4, 6, 3][..], types::UINT8),
            _ => (&[4, 6][..], types::UINT8),
        };
        assert_little_work(codec, shape, number, &hex(digits));
        count += 1;
    }
    assert_eq!(count, 8);
}

/// Returns a chunk of a PNG image.
fn png_chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut chunk = u32::try_from(content.len()).unwrap().to_be_bytes().to_vec();
    chunk.extend_from_slice(kind);
    chunk.extend_from_slice(content);
    let mut sum = u32::MAX;
    for byte in &chunk[4..] {
        sum ^= u32::from(*byte);
        for _bit in 0..8 {
            sum = (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    chunk.extend_from_slice(&(!sum).to_be_bytes());
    chunk
}

/// The header has 4 × 6 pixels, but the pixels are 64 MiB of zeros.
#[test]
fn a_png_image_whose_pixels_exceed_its_header_takes_little_memory() {
    let zlib = created(Format::V2, "zlib", r#"{"level": 9}"#, (&[1], types::UINT8)).unwrap();
    let pixels = encode(&zlib, &chunk_of(&[1], types::UINT8), &vec![0; 64 << 20]).unwrap();
    let header = [0, 0, 0, 6, 0, 0, 0, 4, 8, 0, 0, 0, 0];
    let image = [
        &b"\x89PNG\r\n\x1a\n"[..],
        &png_chunk(b"IHDR", &header),
        &png_chunk(b"IDAT", &pixels),
        &png_chunk(b"IEND", &[]),
    ]
    .concat();
    let made = created(Format::V2, "imagecodecs_png", "", (&[4, 6], types::UINT8)).unwrap();
    let array = chunk_of(&[4, 6], types::UINT8);
    let start = Instant::now();
    let mut result = Ok(Vec::new());
    let memory = highest(|| result = decode(&made, &array, &image, 24)).unwrap();
    // The pixels of the header are all there, so the rest may be ignored.
    let is_right = match &result {
        Ok(pixels) => *pixels == [0; 24],
        Err(error) => matches!(error, CodecError::Corrupt(_)),
    };
    assert!(is_right, "{result:?}");
    assert!(memory < image.len() + (2 << 20), "{memory} bytes");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Returns a progressive JPEG image of 512 × 512 grey pixels. Each of the `scans` after the first has 12 bytes, and covers
/// all 4096 blocks.
fn progressive(scans: usize) -> Vec<u8> {
    let mut image = b"\xff\xd8\xff\xdb\x00\x43\x00".to_vec();
    image.extend([1; 64]);
    image.extend(b"\xff\xc2\x00\x0b\x08\x02\x00\x02\x00\x01\x01\x11\x00");
    for (table, symbol) in [(0x00, 0x00), (0x10, 0xc0)] {
        image.extend(b"\xff\xc4\x00\x14");
        image.push(table);
        image.push(1);
        image.extend([0; 15]);
        image.push(symbol);
    }
    image.extend(b"\xff\xda\x00\x08\x01\x01\x00\x00\x00\x00");
    image.extend([0; 512]);
    for _scan in 0..scans {
        image.extend(b"\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x00\x00\x07");
    }
    image.extend(b"\xff\xd9");
    image
}

#[test]
fn the_number_of_progressive_scans_is_limited() {
    let made = created(Format::V2, "imagecodecs_jpeg", "", (&[512, 512], types::UINT8)).unwrap();
    let array = chunk_of(&[512, 512], types::UINT8);
    let image = decode(&made, &array, &progressive(3), 512 * 512).unwrap();
    assert!(image.iter().all(|pixel| *pixel == 128));
    let start = Instant::now();
    let result = decode(&made, &array, &progressive(20_000), 512 * 512);
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{:?}", result.map(|image| image.len()));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
