//! Checks that the features, the catalogue and the registry agree.

#[cfg(feature = "full")]
mod expressions;
#[cfg(feature = "full")]
mod features;
#[cfg(feature = "default")]
mod pickled;

use std::collections::BTreeSet;

#[cfg(feature = "full")]
use zarr_conformance::suite::{Level, Report, Verdict, suites_of};
use zarr_kit::CATALOGUE;
use zarr_kit::spec::host::registry::{CatalogueEntry, ExtensionPoint, Registry, Table, Unknown};
use zarr_kit::spec::inventory;
use zarr_kit::spec::plugin::PluginKind;
#[cfg(feature = "full")]
use zarr_kit::spec::{Format, Mode, Reading};

/// Returns extension point, feature and identifier of everything that `table` has.
fn registered<K: PluginKind + ?Sized>(
    table: &Table<K>,
) -> impl Iterator<Item = (ExtensionPoint, String, String)> + '_ {
    table.iter().flat_map(|plugin| {
        let identifiers = plugin.identifiers;
        let package = plugin.origin.package;
        let feature = package.strip_prefix("zarr-").unwrap_or(package);
        let names = [identifiers.name, identifiers.uri, identifiers.id].into_iter().flatten();
        let names = names.chain(identifiers.aliases.iter().copied()).filter(|name| !name.is_empty());
        names.map(move |name| (K::POINT, feature.to_owned(), name.to_owned()))
    })
}

fn all_registered(registry: &Registry) -> BTreeSet<(ExtensionPoint, String, String)> {
    registered(registry.codecs())
        .chain(registered(registry.data_types()))
        .chain(registered(registry.chunk_grids()))
        .chain(registered(registry.chunk_key_encodings()))
        .chain(registered(registry.memory_layouts()))
        .chain(registered(registry.metadata_encodings()))
        .chain(registered(registry.storage_transformers()))
        .chain(registered(registry.extensions()))
        .chain(registered_stores(registry))
        .collect()
}

/// Returns the types of stores, and their schemes with a colon.
fn registered_stores(registry: &Registry) -> impl Iterator<Item = (ExtensionPoint, String, String)> + '_ {
    registry.stores().iter().flat_map(|store| {
        let schemes = store.schemes.iter().map(|scheme| format!("{scheme}:"));
        let identifiers = std::iter::once(store.name.to_owned()).chain(schemes);
        let package = store.origin.package;
        let feature = package.strip_prefix("zarr-").unwrap_or(package);
        identifiers.map(|identifier| (ExtensionPoint::Store, feature.to_owned(), identifier))
    })
}

fn catalogued() -> BTreeSet<(ExtensionPoint, String, String)> {
    let entries = CATALOGUE.iter();
    let identifiers = entries.flat_map(|entry| {
        entry
            .identifiers
            .iter()
            .map(|identifier| (entry.point, entry.feature.to_owned(), (*identifier).to_owned()))
    });
    identifiers.collect()
}

/// Returns whether a feature of the plugins is on in this build; `CARGO_FEATURE_…` exists only for build
/// scripts.
fn is_on(feature: &str) -> bool {
    macro_rules! features {
        ($($name:literal)*) => {
            match feature {
                $($name => cfg!(feature = $name),)*
                _ => panic!("`{feature}` is in the catalogue, but not in this list"),
            }
        };
    }
    features! {
        "codec-adler32" "codec-astype" "codec-base64" "codec-bitround" "codec-bitshuffle" "codec-blosc" "codec-blosc2" "codec-brotli" "codec-bytes" "codec-bz2"
        "codec-cast-value" "codec-categorize" "codec-conditional" "codec-crc32" "codec-crc32c" "codec-delta"
        "codec-fill-hdf-strings" "codec-fixedscaleoffset" "codec-fletcher32" "codec-floatpred" "codec-gdeflate" "codec-gribberish" "codec-gzip" "codec-imagecodecs-delta" "codec-imagecodecs-packbits" "codec-jenkins-lookup3" "codec-jpeg" "codec-jpeg2k" "codec-jpegls" "codec-jpegxl" "codec-json2"
        "codec-lerc" "codec-lz4" "codec-lz4f" "codec-lz4h5" "codec-lzf" "codec-lzma" "codec-lzw" "codec-msgpack2" "codec-n5-default" "codec-n5-lz4" "codec-optional" "codec-packbits" "codec-pcodec" "codec-pickle"
        "codec-png" "codec-quantize" "codec-record-member" "codec-reshape" "codec-scale-offset" "codec-sharding-indexed" "codec-shuffle" "codec-snappy" "codec-squeeze" "codec-szip" "codec-transpose"
        "codec-vlen" "codec-vlen-bytes" "codec-vlen-ndarray" "codec-vlen-utf8" "codec-vlen-v2" "codec-wavpack" "codec-webp" "codec-zfp" "codec-zlib" "codec-zstd" "dtype-bfloat16"
        "dtype-bytes" "dtype-core" "dtype-datetime" "dtype-fixed-length" "dtype-json" "dtype-optional"
        "dtype-small-float" "dtype-string" "dtype-struct" "dtype-sub-byte" "dtype-vlen-ndarray" "extension-dimension-names" "extension-node-index"
        "grid-origin" "grid-rectilinear" "grid-regular" "key-encoding-default" "key-encoding-default-suffix"
        "key-encoding-fanout" "key-encoding-suffix" "key-encoding-template" "key-encoding-v2" "layout-c" "layout-f" "layout-morton" "metadata-encoding-cbor"
        "metadata-encoding-json" "metadata-encoding-msgpack" "store-filesystem" "store-lmdb" "store-memory" "store-n5" "store-object-store"
        "store-overlay" "store-redb" "store-reference" "store-zip"
        "transformer-cache" "transformer-prefix" "transformer-read-only" "transformer-sharding"
        "transformer-statistics"
    }
}

#[test]
fn the_registry_has_all_plugins_of_the_enabled_features() {
    let promised: BTreeSet<_> = catalogued().into_iter().filter(|(_, feature, _)| is_on(feature)).collect();
    let registry = Registry::linked().expect("no identifier is taken twice");
    assert_eq!(all_registered(&registry), promised);
}

#[test]
fn errors_of_missing_stores_name_their_feature() {
    let registry = Registry::linked().expect("no identifier is taken twice");
    for (location, feature) in [
        ("memory:", "store-memory"),
        (r#"{"type":"memory"}"#, "store-memory"),
        ("file:///no/such/folder", "store-filesystem"),
        ("no/such/folder", "store-filesystem"),
        ("s3://bucket/a", "store-object-store"),
        (r#"{"type":"http","url":"https://example.org/a"}"#, "store-object-store"),
        (r#"{"type":"filesystem","path":"no/such/folder"}"#, "store-filesystem"),
    ] {
        match zarr_kit::open_store(&registry, location) {
            Ok(_) => assert!(is_on(feature), "{location}"),
            Err(error) => {
                let wanted = format!("not in this build; feature `{feature}` of crate `zarr-kit` has it");
                assert!(!is_on(feature) && error.to_string().contains(&wanted), "{error}");
            }
        }
    }
}

#[test]
fn the_whole_catalogue_is_submitted() {
    assert_eq!(inventory::iter::<CatalogueEntry>.into_iter().count(), CATALOGUE.len());
}

#[test]
fn errors_name_the_program_that_provides_an_unknown_identifier() {
    let registry = Registry::empty();
    for (identifier, wanted) in [
        (
            "imagecodecs_pglz",
            "codec `imagecodecs_pglz` is unknown; Python package imagecodecs 2026.10.10 has it",
        ),
        ("zarrs.test_unbounded", "codec `zarrs.test_unbounded` is unknown; crate zarrs 0.23.14 has it"),
        ("FITSAscii", "codec `FITSAscii` is unknown; Python package kerchunk 0.2.10 has it"),
        ("bshuf", "codec `bshuf` is unknown; Python package hdf5plugin 7.1.0 (HDF5 filter 32008) has it"),
        ("hcc-dct", "codec `hcc-dct` is unknown; Python package healpix-compress 0.3.1 has it"),
        ("nope", "codec `nope` is unknown"),
    ] {
        assert_eq!(registry.codecs().unknown(identifier).to_string(), wanted);
    }
    let grid = registry.chunk_grids().unknown("rectangular").to_string();
    assert_eq!(grid, "chunk grid `rectangular` is unknown; crate zarrs 0.23.14 has it");
    for (location, wanted) in [
        ("sftp://host/a", "the store for `sftp:` is unknown; Python package fsspec 2026.9.0 has it"),
        (
            "oci://bucket/a",
            "the store for `oci:` is unknown; Python package fsspec 2026.9.0 with ocifs has it",
        ),
        ("memory:|ocdbt:a", "the step `ocdbt:` is unknown; Python package tensorstore 0.1.86 has it"),
        (r#"{"type":"ocdbt"}"#, "store `ocdbt` is unknown; Python package tensorstore 0.1.86 has it"),
    ] {
        let error = zarr_kit::open_store(&registry, location).expect_err(location).to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

/// Returns the error for an identifier of an extension point.
fn unknown(registry: &Registry, point: ExtensionPoint, identifier: &str) -> Unknown {
    match point {
        ExtensionPoint::Codec => registry.codecs().unknown(identifier),
        ExtensionPoint::DataType => registry.data_types().unknown(identifier),
        ExtensionPoint::ChunkGrid => registry.chunk_grids().unknown(identifier),
        ExtensionPoint::ChunkKeyEncoding => registry.chunk_key_encodings().unknown(identifier),
        ExtensionPoint::MemoryLayout => registry.memory_layouts().unknown(identifier),
        ExtensionPoint::MetadataEncoding => registry.metadata_encodings().unknown(identifier),
        ExtensionPoint::StorageTransformer => registry.storage_transformers().unknown(identifier),
        ExtensionPoint::GenericExtension => registry.extensions().unknown(identifier),
        ExtensionPoint::Store => registry.unknown_store(identifier),
    }
}

#[test]
fn every_line_of_the_table_of_other_programs_is_part_of_an_error() {
    let registry = Registry::empty();
    let mut points = BTreeSet::new();
    for line in include_str!("../../src/known.tsv").lines() {
        let cells: Vec<_> = line.split('\t').collect();
        let [point, identifier, provider] = cells[..] else { panic!("{line}") };
        let point = ExtensionPoint::ALL.into_iter().find(|known| known.to_string() == point).expect(line);
        let message = unknown(&registry, point, identifier).to_string();
        assert!(provider.contains(' ') && message.contains(provider), "{line}: {message}");
        points.insert(point.to_string());
    }
    assert_eq!(
        points,
        ["chunk grid", "chunk key encoding", "codec", "data type", "store"].map(str::to_owned).into()
    );
}

/// Each codec of numcodecs, imagecodecs, kerchunk and zarrs is read, or refused with the name of what provides it.
#[cfg(feature = "full")]
#[test]
fn codecs_of_other_programs_are_linked_or_named() {
    let registry = Registry::linked().expect("no identifier is taken twice");
    let reading = Reading::new(Mode::Lenient);
    for line in include_str!("../../src/known.tsv").lines().filter(|line| line.starts_with("codec\t")) {
        let cells: Vec<_> = line.split('\t').collect();
        let is_linked =
            Format::ALL.into_iter().any(|format| registry.codecs().find(format, cells[1], &reading).is_ok());
        let message = registry.codecs().unknown(cells[1]).to_string();
        assert!(is_linked || message.contains(cells[2]), "{line}: {message}");
    }
}

/// Counts the plugins of `table`, and checks that each has an example of each format that can name it.
#[cfg(feature = "full")]
fn with_examples<K: PluginKind + ?Sized>(registry: &Registry, table: &Table<K>) -> usize {
    for plugin in table.iter() {
        let has_one = |format: Format| plugin.about.examples.iter().any(|example| example.format == format);
        for format in Format::ALL.into_iter().filter(|format| registry.name_in(plugin, *format).is_some()) {
            assert!(has_one(format), "{:?} has no example of {format}", plugin.identifiers);
        }
    }
    table.iter().count()
}

#[cfg(feature = "full")]
fn all_with_examples(registry: &Registry) -> usize {
    with_examples(registry, registry.codecs())
        + with_examples(registry, registry.data_types())
        + with_examples(registry, registry.chunk_grids())
        + with_examples(registry, registry.chunk_key_encodings())
        + with_examples(registry, registry.memory_layouts())
        + with_examples(registry, registry.metadata_encodings())
        + with_examples(registry, registry.storage_transformers())
        + with_examples(registry, registry.extensions())
        + registry.stores().len()
}

/// Some examples use other plugins, such as the codecs of a shard.
#[cfg(feature = "full")]
#[test]
fn every_plugin_is_documented_and_its_examples_work() {
    let registry = Registry::linked().expect("no identifier is taken twice");
    // `tests/conformance.rs` checks the other rules.
    let report = Report::of(&suites_of(&registry), Level::L0);
    assert_eq!(report.subjects.len(), all_with_examples(&registry));
    assert_eq!(report.failures().count(), 0, "{report}");
}

/// Codecs without fixtures of other programs, and the reasons.
#[cfg(feature = "full")]
const ALONE: &[(&str, &str)] = &[
    ("conditional", "no other program supports it"),
    ("n5.lz4", "no Python program writes it; its own tests have streams of lz4-java"),
    ("sharding_indexed", "implemented by the engine; the format suite has shards of other programs"),
    ("zarrs.vlen", "tests against zarrs compare its chunks of variable size"),
    ("zarrs.vlen_v2", "tests against zarrs compare its chunks of variable size"),
];

#[cfg(feature = "full")]
#[test]
fn every_codec_decodes_the_fixtures_of_other_programs() {
    let registry = Registry::linked().expect("no identifier is taken twice");
    let mut alone = Vec::new();
    let mut all = 0;
    let suites = suites_of(&registry);
    for suite in suites.iter().filter(|suite| suite.subject.point == ExtensionPoint::Codec) {
        let rule = suite.trials.iter().find(|trial| trial.rule().id == "codec-fixtures");
        match rule.map(|rule| rule.run().verdict) {
            Some(Verdict::Passed { cases: cases @ 2.., skipped }) => {
                assert_eq!(skipped, [""; 0], "{}", suite.subject);
                all += cases;
            }
            Some(Verdict::Skipped(_)) => alone.push(suite.subject.name.as_str()),
            other => panic!("{}: {other:?}", suite.subject),
        }
    }
    assert_eq!(alone, ALONE.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let table = include_str!("../../../conformance/src/suite/codec/fixtures.tsv");
    assert_eq!(all, table.lines().skip(1).count() as u64, "every row must belong to a codec");
}

/// Runs the example of the README and compares its text. Builds without its plugins skip it.
#[cfg(all(
    feature = "codec-bytes",
    feature = "codec-zstd",
    feature = "dtype-core",
    feature = "grid-regular",
    feature = "key-encoding-default",
    feature = "store-memory"
))]
#[test]
fn the_example_of_the_readme_runs() {
    let readme = include_str!("../../../README.md");
    let example = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let ours = include_str!("readme.rs").split("// The following lines are in the README.\n").nth(1);
    assert_eq!(example.map(str::trim), ours.map(str::trim));
    readme::run().expect("the example works");
}

#[cfg(all(
    feature = "codec-bytes",
    feature = "codec-zstd",
    feature = "dtype-core",
    feature = "grid-regular",
    feature = "key-encoding-default",
    feature = "store-memory"
))]
mod readme;
