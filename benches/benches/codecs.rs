//! Compares codecs with the library that each is built on, for the same 4 MiB: a chunk of 128³ `uint16`, smooth with
//! some noise. Both sides reuse their contexts and buffers, so the difference is the overhead of the codec.
//!
//! `ZARR_BENCH_SAMPLES` is the number of samples of each measurement.
#![expect(clippy::unwrap_used, reason = "a bench stops at the first error")]
#![expect(unsafe_code, reason = "C-Blosc does not have a safe interface")]

use std::ffi::CStr;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use zarr_conformance::array;
use zarr_conformance::linked::create;
use zarr_conformance::types::UINT16;
use zarr_kit::spec::output::Buffer;
use zarr_kit::spec::{ArrayRepresentation, Codec, Format, Mode, Representation, Size};

/// The length of the chunk in each dimension, in elements.
const LENGTH: usize = 128;
const SIZE: usize = LENGTH * LENGTH * LENGTH * 2;

/// Returns the first chunk of the array that the bench `whole` reads and writes.
fn chunk() -> Vec<u8> {
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    let element = |position: usize| {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        let z = position / (LENGTH * LENGTH);
        let y = position / LENGTH % LENGTH;
        let x = position % LENGTH;
        let wave = (z * 7 + y * 5 + x * 3) & 0x0fff;
        u16::try_from(wave + usize::try_from(noise & 15).unwrap()).unwrap()
    };
    (0..SIZE / 2).map(element).flat_map(u16::to_ne_bytes).collect()
}

/// A codec of v2 that encodes and decodes into reused buffers, as in the engine.
struct Ours {
    codec: Codec,
    chunk: ArrayRepresentation,
    encoded: Buffer,
    decoded: Buffer,
}

impl Ours {
    fn new(id: &str, configuration: &str) -> Self {
        let chunk = array(&[(SIZE / 2) as u64], UINT16);
        let decoded = Representation::Array(chunk.clone());
        let codec = create(Format::V2, id, configuration, Mode::Strict, &decoded).unwrap().codec;
        Self { codec, chunk, encoded: Buffer::new(), decoded: Buffer::new() }
    }

    fn encode(&mut self, decoded: &[u8]) -> usize {
        let mut encoded = self.encoded.output(2 * SIZE);
        match &self.codec {
            Codec::ArrayToArray(codec) => codec.encode(&self.chunk, decoded, &mut encoded).unwrap(),
            Codec::BytesToBytes(codec) => codec.encode(decoded, &mut encoded).unwrap(),
            other => panic!("{other:?} computes nothing"),
        }
        encoded.written().len()
    }

    fn decode(&mut self, encoded: &[u8]) -> usize {
        let mut decoded = self.decoded.output(SIZE);
        match &self.codec {
            Codec::ArrayToArray(codec) => codec.decode(&self.chunk, encoded, &mut decoded).unwrap(),
            Codec::BytesToBytes(codec) => codec.decode(encoded, &mut decoded).unwrap(),
            other => panic!("{other:?} computes nothing"),
        }
        decoded.written().len()
    }
}

/// Another implementation: reads the first slice, writes the second one and returns the number of written bytes.
type Transform<'a> = &'a mut dyn FnMut(&[u8], &mut [u8]) -> usize;

/// Measures the codec and the other named implementations. All decode the bytes that the codec encodes.
fn measure(
    criterion: &mut Criterion,
    codec: (&str, &str),
    encoders: &mut [(&str, Transform<'_>)],
    decoders: &mut [(&str, Transform<'_>)],
) {
    let (id, configuration) = codec;
    let decoded = chunk();
    let mut ours = Ours::new(id, configuration);
    let size = ours.encode(&decoded);
    let encoded = ours.encoded.bytes(size).to_vec();
    assert_eq!(ours.decode(&encoded), SIZE);
    assert!(ours.decoded.bytes(SIZE) == decoded, "{id} lost something");
    let mut memory = vec![0; 2 * SIZE];
    let mut group = group(criterion, &format!("{id} {configuration}"));
    println!("zarr-kit encodes to {size} bytes");
    for (name, encode) in encoders.iter_mut() {
        println!("{name} encodes to {} bytes", encode(&decoded, &mut memory));
    }
    group.bench_function("encode/zarr-kit", |bencher| bencher.iter(|| ours.encode(black_box(&decoded))));
    for (name, encode) in encoders {
        group.bench_function(format!("encode/{name}"), |bencher| {
            bencher.iter(|| encode(black_box(&decoded), &mut memory));
        });
    }
    group.bench_function("decode/zarr-kit", |bencher| bencher.iter(|| ours.decode(black_box(&encoded))));
    for (name, decode) in decoders {
        assert_eq!(decode(&encoded, &mut memory[..SIZE]), SIZE);
        assert!(memory[..SIZE] == decoded, "{name} decodes {id} to different bytes");
        group.bench_function(format!("decode/{name}"), |bencher| {
            bencher.iter(|| decode(black_box(&encoded), &mut memory[..SIZE]));
        });
    }
    group.finish();
}

fn group<'a>(
    criterion: &'a mut Criterion,
    name: &str,
) -> BenchmarkGroup<'a, criterion::measurement::WallTime> {
    let samples = std::env::var("ZARR_BENCH_SAMPLES").ok().and_then(|samples| samples.parse().ok());
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Bytes(SIZE as u64)).sample_size(samples.unwrap_or(20));
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    group
}

fn copy(from: &[u8], to: &mut [u8]) -> usize {
    to[..from.len()].copy_from_slice(from);
    from.len()
}

fn gzip(criterion: &mut Criterion) {
    for level in [1, 5, 9] {
        let configuration = format!(r#"{{"level":{level}}}"#);
        let lvl = libdeflater::CompressionLvl::new(level).unwrap();
        let mut compressor = libdeflater::Compressor::new(lvl);
        let mut decompressor = libdeflater::Decompressor::new();
        let zlib = flate2::Compression::new(level.unsigned_abs());
        measure(
            criterion,
            ("gzip", &configuration),
            &mut [
                ("libdeflate", &mut |from, to| compressor.gzip_compress(from, to).unwrap()),
                ("zlib-rs", &mut |from, to| {
                    let room = to.len();
                    let mut encoder = flate2::write::GzEncoder::new(to, zlib);
                    encoder.write_all(from).unwrap();
                    room - encoder.finish().unwrap().len()
                }),
            ],
            &mut [
                ("libdeflate", &mut |from, to| decompressor.gzip_decompress(from, to).unwrap()),
                ("zlib-rs", &mut |from, to| {
                    flate2::read::GzDecoder::new(from).read_exact(to).unwrap();
                    to.len()
                }),
            ],
        );
    }
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::new(5).unwrap());
    let mut decompressor = libdeflater::Decompressor::new();
    measure(
        criterion,
        ("zlib", r#"{"level":5}"#),
        &mut [("libdeflate", &mut |from, to| compressor.zlib_compress(from, to).unwrap())],
        &mut [("libdeflate", &mut |from, to| decompressor.zlib_decompress(from, to).unwrap())],
    );
}

fn c_blosc(name: &CStr, shuffle: i32, from: &[u8], to: &mut [u8]) -> usize {
    // SAFETY: pointers and lengths come from slices that do not overlap, and the name ends in NUL.
    let size = unsafe {
        blosc_src::blosc_compress_ctx(
            5,
            shuffle,
            2,
            from.len(),
            from.as_ptr().cast(),
            to.as_mut_ptr().cast(),
            to.len(),
            name.as_ptr(),
            0,
            1,
        )
    };
    usize::try_from(size).unwrap()
}

fn c_blosc_back(from: &[u8], to: &mut [u8]) -> usize {
    // SAFETY: pointers and lengths come from slices that do not overlap, and the bytes are a whole buffer.
    let size =
        unsafe { blosc_src::blosc_decompress_ctx(from.as_ptr().cast(), to.as_mut_ptr().cast(), to.len(), 1) };
    usize::try_from(size).unwrap()
}

fn blosc(criterion: &mut Criterion) {
    let names =
        [("lz4", c"lz4"), ("zstd", c"zstd"), ("lz4hc", c"lz4hc"), ("blosclz", c"blosclz"), ("zlib", c"zlib")];
    for (name, c_name) in names {
        for shuffle in [0, 1, 2] {
            let configuration =
                format!(r#"{{"cname":"{name}","clevel":5,"shuffle":{shuffle},"blocksize":0}}"#);
            measure(
                criterion,
                ("blosc", &configuration),
                &mut [("C-Blosc", &mut |from, to| c_blosc(c_name, shuffle, from, to))],
                &mut [("C-Blosc", &mut |from, to| c_blosc_back(from, to))],
            );
        }
    }
}

fn zstd(criterion: &mut Criterion) {
    use zstd::zstd_safe::{CCtx, DCtx};
    let mut compress = CCtx::create();
    let mut decompress = DCtx::create();
    measure(
        criterion,
        ("zstd", r#"{"level":5}"#),
        &mut [("libzstd", &mut |from, to| compress.compress(to, from, 5).unwrap())],
        &mut [("libzstd", &mut |from, to| decompress.decompress(to, from).unwrap())],
    );
}

fn lz4(criterion: &mut Criterion) {
    let mut table = lz4_flex::block::CompressTable::default();
    measure(
        criterion,
        ("lz4", "{}"),
        &mut [("lz4_flex", &mut |from, to| {
            lz4_flex::block::compress_into_with_table(from, to, &mut table).unwrap()
        })],
        &mut [("lz4_flex", &mut |from, to| lz4_flex::block::decompress_into(&from[4..], to).unwrap())],
    );
}

/// Measures codecs that should run at memory speed.
fn filters(criterion: &mut Criterion) {
    for (id, configuration) in [
        ("shuffle", r#"{"elementsize":2}"#),
        ("shuffle", r#"{"elementsize":8}"#),
        ("delta", r#"{"dtype":"<u2"}"#),
    ] {
        let decoded = chunk();
        let mut ours = Ours::new(id, configuration);
        let size = ours.encode(&decoded);
        let encoded = ours.encoded.bytes(size).to_vec();
        let mut memory = vec![0; SIZE];
        let mut group = group(criterion, &format!("{id} {configuration}"));
        group.bench_function("encode/zarr-kit", |bencher| bencher.iter(|| ours.encode(black_box(&decoded))));
        group.bench_function("decode/zarr-kit", |bencher| bencher.iter(|| ours.decode(black_box(&encoded))));
        group.bench_function("copy", |bencher| bencher.iter(|| copy(black_box(&decoded), &mut memory)));
        group.finish();
    }
}

fn crc32c(criterion: &mut Criterion) {
    let decoded = chunk();
    let codec = create(Format::V3, "crc32c", "", Mode::Strict, &Representation::Bytes(Size::Unknown));
    let Codec::Checksum(codec) = codec.unwrap().codec else { panic!("not a checksum") };
    let mut sum = [0; 4];
    let mut group = group(criterion, "crc32c");
    group.bench_function("zarr-kit", |bencher| {
        bencher.iter(|| codec.checksum(black_box(&decoded), &mut sum));
    });
    group.bench_function("crc32c", |bencher| bencher.iter(|| ::crc32c::crc32c(black_box(&decoded))));
    let mut memory = vec![0; SIZE];
    group.bench_function("copy", |bencher| bencher.iter(|| copy(black_box(&decoded), &mut memory)));
    group.finish();
}

criterion_group!(benches, gzip, blosc, zstd, lz4, crc32c, filters);
criterion_main!(benches);
