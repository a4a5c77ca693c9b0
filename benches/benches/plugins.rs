//! Measures the cost of the C ABI: linked and loaded `zstd` for the same chunk of 1 MiB, and for a chunk of a few bytes,
//! where the call dominates.
//!
//! `ZARR_BENCH_SAMPLES` is the number of samples of each measurement.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a bench stops at the first error")]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use zarr_kit::Registry;
use zarr_kit::loaded::{Loader, Lock, Policy, Search, platform, sha256};
use zarr_kit::spec::codec::BytesToBytesCodec;
use zarr_kit::spec::output::Buffer;
use zarr_kit::spec::{Codec, Creation, Format, Mode, Reading, Representation, Size, json};

/// The size of the larger chunk in bytes.
const SIZE: usize = 1 << 20;

/// Returns a registry with `zstd` from a library that is built in release mode.
fn loaded() -> Registry {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = format!(
        "[package]\nname = 'zstd-plugin'\nversion = '1.0.0'\nedition = '2024'\nlicense = 'MIT'\n\
         [lib]\npath = 'lib.rs'\ncrate-type = ['cdylib']\n[workspace]\n[dependencies]\n\
         zarr-plugin.path = '{0}/zarr-plugin'\nzarr-codec-zstd.path = '{0}/codecs/zstd'\n",
        root.display()
    );
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.path().join("lib.rs"), "use zarr_codec_zstd as _;\nzarr_plugin::export_plugins!();\n")
        .unwrap();
    fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--offline", "--quiet"]).current_dir(folder.path());
    assert!(cargo.env("CARGO_TARGET_DIR", &target).status().unwrap().success());
    let library = fs::read(target.join("release/libzstd_plugin.so")).unwrap();
    fs::write(folder.path().join("libplugin.so"), &library).unwrap();
    let linked = Registry::linked().unwrap();
    let identifiers =
        linked.codecs().find(Format::V3, "zstd", &Reading::new(Mode::Strict)).unwrap().identifiers;
    let text = format!(
        "manifest_version = 1\nname = 'zstd-plugin'\nversion = '1.0.0'\nlicense = 'MIT'\n\
         abi = {{ major = 1, minor = 0 }}\nlibrary.{} = {{ path = 'libplugin.so', sha256 = '{}' }}\n\
         [[provides]]\nkind = 'codec'\nname = '{}'\nuri = '{}'\nid = '{}'\naliases = {:?}\n",
        platform(),
        sha256(&library),
        identifiers.name.unwrap(),
        identifiers.uri.unwrap(),
        identifiers.id.unwrap(),
        identifiers.aliases
    );
    let manifest = folder.path().join("plugin.toml");
    fs::write(&manifest, text).unwrap();
    let mut registry = Registry::empty();
    let loader = Loader::new(&Search::nowhere().given(&manifest), Policy::Any, Lock::default());
    assert_eq!(loader.register(&mut registry), []);
    loader.open(&loader.candidates()[0]).unwrap();
    registry
}

fn zstd(registry: &Registry) -> Arc<dyn BytesToBytesCodec> {
    let reading = Reading::new(Mode::Strict);
    let configuration = json!({"level": 3, "checksum": false});
    let creation = Creation::new("zstd", &configuration, Format::V3, registry, &reading);
    let plugin = registry.codecs().find(Format::V3, "zstd", &reading).unwrap();
    match (plugin.create)(&creation, &Representation::Bytes(Size::Unknown)).unwrap() {
        Codec::BytesToBytes(codec) => codec,
        other => panic!("{other:?}"),
    }
}

/// Returns growing numbers with some noise.
fn chunk(size: usize) -> Vec<u8> {
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    let element = |position: usize| {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        u16::try_from(((position * 3) & 0x0fff) + usize::try_from(noise & 15).unwrap()).unwrap()
    };
    (0..size / 2).map(element).flat_map(u16::to_ne_bytes).collect()
}

fn calls(criterion: &mut Criterion) {
    let codecs = [("linked", zstd(&Registry::linked().unwrap())), ("loaded", zstd(&loaded()))];
    for size in [SIZE, 16] {
        let mut group = criterion.benchmark_group(format!("zstd of {size} bytes"));
        group.throughput(Throughput::Bytes(size as u64));
        let decoded = chunk(size);
        let mut buffer = Buffer::new();
        let mut output = buffer.output(2 * SIZE);
        codecs[0].1.encode(&decoded, &mut output).unwrap();
        let encoded = output.written().to_vec();
        for (name, codec) in &codecs {
            let mut buffer = Buffer::new();
            group.bench_function(format!("decode, {name}"), |bencher| {
                bencher.iter(|| {
                    let mut output = buffer.output(size);
                    codec.decode(black_box(&encoded), &mut output).unwrap();
                    assert_eq!(output.written().len(), size);
                });
            });
            group.bench_function(format!("encode, {name}"), |bencher| {
                bencher.iter(|| {
                    let mut output = buffer.output(2 * SIZE);
                    codec.encode(black_box(&decoded), &mut output).unwrap();
                    output.written().len()
                });
            });
        }
        group.finish();
    }
}

fn settings() -> Criterion {
    let samples = std::env::var("ZARR_BENCH_SAMPLES").ok().and_then(|samples| samples.parse().ok());
    Criterion::default()
        .sample_size(samples.unwrap_or(20))
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
}

criterion_group! { name = benches; config = settings(); targets = calls }
criterion_main!(benches);
