//! Checks that a feature turns on everything that its plugin requires.
#![expect(clippy::expect_used, reason = "test helpers may panic")]

use std::collections::{BTreeMap, BTreeSet};

use zarr_conformance::suite::{Level, Report, suites_of};
use zarr_kit::json::{self, ParseOptions, Value};
use zarr_kit::spec::host::registry::{Registered, Table};
use zarr_kit::spec::plugin::{Plugin, PluginKind};
use zarr_kit::{ArrayBuilder, CATALOGUE, Context, Format, Hierarchy, Registry, Selection, open_store};

/// Pairs of a feature and an optional feature that only an example of the plugin uses.
const IN_EXAMPLES_ALONE: &[(&str, &str)] = &[
    ("codec-sharding-indexed", "codec-transpose"),
    ("codec-sharding-indexed", "codec-zstd"),
    ("dtype-optional", "codec-crc32c"),
    ("dtype-optional", "codec-vlen-utf8"),
    ("key-encoding-suffix", "key-encoding-default"),
    ("key-encoding-suffix", "key-encoding-v2"),
    ("store-n5", "store-filesystem"),
    ("store-overlay", "store-filesystem"),
    ("store-reference", "store-filesystem"),
    ("transformer-cache", "store-filesystem"),
    ("transformer-prefix", "store-filesystem"),
    ("transformer-read-only", "store-filesystem"),
    ("transformer-statistics", "store-filesystem"),
];

/// A data type without a default codec: its codec takes separate chains for the mask and the elements.
const WITHOUT_DEFAULT: &str = "dtype-optional";

/// The features that an array in memory needs in addition to a data type.
const BESIDES: [&str; 3] = ["grid-regular", "key-encoding-default", "store-memory"];

/// Returns the features of the plugins, and the features that each of them turns on.
fn features() -> BTreeMap<&'static str, Vec<&'static str>> {
    let known: BTreeSet<&str> = CATALOGUE.iter().map(|entry| entry.feature).collect();
    let manifest = include_str!("../../Cargo.toml");
    let lines = manifest.lines().filter_map(|line| line.split_once(" = ["));
    lines
        .filter(|(feature, _)| known.contains(feature))
        .map(|(feature, parts)| (feature, parts.split('"').skip(1).step_by(2).collect()))
        .collect()
}

/// Returns these features and all features that they turn on.
fn turned_on<'f>(
    features: &BTreeMap<&'f str, Vec<&'f str>>,
    some: impl IntoIterator<Item = &'f str>,
) -> BTreeSet<&'f str> {
    let mut on = BTreeSet::new();
    let mut open: Vec<&str> = some.into_iter().collect();
    while let Some(feature) = open.pop() {
        if on.insert(feature) {
            open.extend(features[feature].iter().copied().filter(|part| features.contains_key(part)));
        }
    }
    on
}

/// Returns a registry with the plugins of these features. It knows the names of the other plugins, as a build without
/// them does.
fn registry_of(on: &BTreeSet<&str>) -> Registry {
    let linked = Registry::linked().expect("no identifier is taken twice");
    let mut registry = Registry::empty();
    CATALOGUE.iter().for_each(|entry| registry.add_catalogue_entry(*entry));
    add(&mut registry, on, linked.codecs());
    add(&mut registry, on, linked.data_types());
    add(&mut registry, on, linked.chunk_grids());
    add(&mut registry, on, linked.chunk_key_encodings());
    add(&mut registry, on, linked.memory_layouts());
    add(&mut registry, on, linked.metadata_encodings());
    add(&mut registry, on, linked.storage_transformers());
    add(&mut registry, on, linked.extensions());
    for store in linked.stores().iter().filter(|store| is_of(store.origin.package, on)) {
        registry.register_store(*store).expect("no duplicate");
    }
    registry
}

fn add<K: Registered + ?Sized>(registry: &mut Registry, on: &BTreeSet<&str>, table: &Table<K>) {
    for plugin in table.iter().filter(|plugin| is_of(plugin.origin.package, on)) {
        registry.register(*plugin).expect("no duplicate");
    }
}

fn is_of(package: &str, on: &BTreeSet<&str>) -> bool {
    package.strip_prefix("zarr-").is_some_and(|feature| on.contains(feature))
}

/// Returns the failures of the plugins' examples with only these features.
fn refused_examples(on: &BTreeSet<&str>) -> Vec<String> {
    let report = Report::of(&suites_of(&registry_of(on)), Level::L0);
    // The other rules need more features than one feature turns on, for example a data type to use a codec with.
    let refused = report.failures().filter(|(_, outcome)| outcome.rule.id == "examples");
    refused.map(|(subject, outcome)| format!("{subject}: {outcome:?}")).collect()
}

#[test]
fn the_manifest_has_every_feature_of_the_catalogue() {
    let known: BTreeSet<&str> = CATALOGUE.iter().map(|entry| entry.feature).collect();
    assert_eq!(features().into_keys().collect::<BTreeSet<_>>(), known);
}

#[test]
fn the_examples_of_a_plugin_work_with_the_features_it_turns_on() {
    let features = features();
    let mut problems = Vec::new();
    for &feature in features.keys() {
        let besides = IN_EXAMPLES_ALONE.iter().filter(|(of, _)| *of == feature).map(|(_, other)| *other);
        let besides: Vec<&str> = besides.collect();
        let on = turned_on(&features, besides.iter().copied().chain([feature]));
        problems.extend(refused_examples(&on).into_iter().map(|problem| format!("{feature}: {problem}")));
        for left_out in &besides {
            let rest = besides.iter().filter(|other| *other != left_out);
            let on = turned_on(&features, rest.copied().chain([feature]));
            if refused_examples(&on).is_empty() {
                problems.push(format!("{feature}: its examples do not need {left_out}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Arrays of every data type that has a default codec are created and read.
#[test]
fn a_data_type_turns_on_its_default_codec() {
    let features = features();
    let mut problems = Vec::new();
    let types =
        features.keys().filter(|feature| feature.starts_with("dtype-") && **feature != WITHOUT_DEFAULT);
    for &feature in types {
        let on = turned_on(&features, BESIDES.into_iter().chain([feature]));
        let context = Context::new(registry_of(&on));
        for plugin in context.registry().data_types().iter().filter(|plugin| is_of_feature(*plugin, feature))
        {
            for example in plugin.about.examples.iter().filter(|example| example.format == Format::V3) {
                if let Err(error) = create(&context, example.document) {
                    problems.push(format!("{feature}: {}: {error}", example.document));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn is_of_feature<K: PluginKind + ?Sized>(plugin: &Plugin<K>, feature: &str) -> bool {
    plugin.origin.package.strip_prefix("zarr-") == Some(feature)
}

fn create(context: &Context, data_type: &str) -> Result<(), zarr_kit::Error> {
    let data_type: Value =
        json::parse(data_type.as_bytes(), &ParseOptions::default()).expect("an example is JSON").value;
    let store = open_store(context.registry(), "memory:").expect("a store");
    let hierarchy = Hierarchy::create(store, context, Format::V3)?;
    let builder = ArrayBuilder::new([3], data_type).uncompressed();
    hierarchy.create_array("/a", &builder)?.read(&Selection::All).map(drop)
}

/// `codec-sharding-indexed` turns on everything that shards need, including the codecs of their index.
#[test]
fn shards_are_written_with_their_feature() {
    let features = features();
    let on = turned_on(&features, BESIDES.into_iter().chain(["codec-sharding-indexed", "dtype-core"]));
    let context = Context::new(registry_of(&on));
    let store = open_store(context.registry(), "memory:").expect("a store");
    let hierarchy = Hierarchy::create(store, &context, Format::V3).expect("a hierarchy");
    let builder = ArrayBuilder::new([8], "int16").shards([4]).chunks([2]).uncompressed();
    let array = hierarchy.create_array("/a", &builder).expect("an array in shards");
    array.write_values::<i16>(&Selection::All, &[1, 2, 3, 4, 5, 6, 7, 8]).expect("elements");
    assert_eq!(array.read_values::<i16>(&Selection::All).expect("elements"), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn pure_features_do_not_need_a_c_compiler() {
    let features = features();
    let with_c = ["codec-blosc", "codec-blosc2", "codec-lzma", "codec-zstd", "store-lmdb"];
    let manifest = include_str!("../../Cargo.toml");
    let pure = manifest.split("\npure = [\n").nth(1).and_then(|rest| rest.split(']').next()).expect("pure");
    let parts = pure.split('"').skip(1).step_by(2);
    let (pure, others): (Vec<&str>, Vec<&str>) = parts.partition(|part| features.contains_key(part));
    assert_eq!(others, ["complex"], "the features of `pure` that are not plugins");
    let on = turned_on(&features, pure.iter().copied());
    assert_eq!(on, pure.iter().copied().collect(), "`pure` must list all features that it turns on");
    assert!(with_c.iter().all(|feature| !on.contains(feature)));
}

/// The default compression does not depend on the other plugins that a program links.
#[test]
fn the_default_compression_is_one_codec_or_an_error_naming_its_feature() {
    let features = features();
    let formats = [
        (Format::V2, "codec-zstd", "codec-gzip", "zstd"),
        (Format::V3, "codec-zstd", "codec-gzip", "zstd"),
        (Format::V3Draft, "codec-gzip", "codec-zstd", "https://purl.org/zarr/spec/codecs/gzip/1.0"),
    ];
    let needed = ["dtype-core", "key-encoding-v2", "layout-c", "metadata-encoding-json"];
    for (format, feature, other, identifier) in formats {
        let created = |more: &[&'static str]| {
            let on = turned_on(&features, BESIDES.into_iter().chain(needed).chain(more.iter().copied()));
            let context = Context::new(registry_of(&on));
            let store = open_store(context.registry(), "memory:").expect("a store");
            let hierarchy = Hierarchy::create(store, &context, format).expect("a hierarchy");
            let codecs =
                hierarchy.create_array("/a", &ArrayBuilder::new([3], "int16"))?.metadata().codecs.clone();
            let plain = ArrayBuilder::new([3], "int16").uncompressed();
            hierarchy.create_array("/b", &plain).expect("an array without compression");
            Ok::<_, zarr_kit::Error>(codecs.last().map(|codec| codec.identifier.clone()))
        };
        for more in [&[feature][..], &[feature, other]] {
            assert_eq!(created(more).expect("an array"), Some(identifier.to_owned()), "{format}");
        }
        for more in [&[][..], &[other]] {
            let error = created(more).expect_err("there is no other default").to_string();
            let wanted = format!("not in this build; feature `{feature}` of crate `zarr-kit` has it");
            assert!(error.contains(&wanted) && error.contains("uncompressed"), "{error}");
        }
    }
}
