//! Fuzz targets for plugins of all kinds; see [`crate::fuzz`].

use std::sync::Arc;

use zarr_spec::extension::ExtensionPlace;
use zarr_spec::grid::ChunkGrid;
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::layout::MemoryLayout;
use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::plugin::{Plugin, PluginKind};
use zarr_spec::{Codec, Example, Key, Mode, Reading, Registry, Value};

use super::chunk_key_encoding::has_keys;
use super::tried::{Tried, shape_of, value, with_stand_ins};
use super::{codec, data_type, extension};
use crate::fuzz::{Aspect, Target, within};
use crate::types::{COMPLEX128, UINT8, UINT16};

/// The memory limit for creating something from a document, in bytes.
const MEMORY: usize = 64 << 20;

/// The maximum size of a document in bytes.
const DOCUMENT_SIZE: usize = 1 << 16;

/// Returns the targets of all plugins in `registry`, or of those from `package`.
pub(crate) fn fuzz_targets(linked: &Registry, package: Option<&str>) -> Vec<Target> {
    let registry = with_stand_ins(linked);
    let mut targets = Vec::new();
    codec::fuzzed::add(&registry, package, &mut targets);
    data_type::fuzzed::add(&registry, linked, package, &mut targets);
    for plugin in all(registry.memory_layouts().iter(), &registry, package) {
        layout(&plugin, &mut targets);
    }
    chunk_grids(&registry, package, &mut targets);
    for plugin in all(registry.chunk_key_encodings().iter(), &registry, package) {
        configurations(&plugin, &mut targets, own, |plugin, example, entry| {
            let reading = Reading::new(Mode::Lenient);
            let Ok(document) = plugin.parse(example, entry, &reading) else { return };
            let made = (plugin.plugin.create)(&plugin.creation(example.format, &document, &reading));
            if let Ok(encoding) = made
                && has_keys(&*encoding, 3)
            {
                chunk_and_back(&*encoding, &[0, 7, u64::MAX]);
            }
        });
        chunk_keys(&plugin, &mut targets);
    }
    for plugin in all(registry.metadata_encodings().iter(), &registry, package) {
        configurations(&plugin, &mut targets, own, |plugin, example, entry| {
            let reading = Reading::new(Mode::Lenient);
            let Ok(document) = plugin.parse(example, entry, &reading) else { return };
            let _made = (plugin.plugin.create)(&plugin.creation(example.format, &document, &reading));
        });
        metadata(&plugin, &mut targets);
    }
    for plugin in all(registry.storage_transformers().iter(), &registry, package) {
        configurations(&plugin, &mut targets, own, |plugin, example, entry| {
            let reading = Reading::new(Mode::Lenient);
            let Ok(document) = plugin.parse(example, entry, &reading) else { return };
            let creation = plugin.creation(example.format, &document, &reading);
            let _made = (plugin.plugin.create)(&creation, shape_of(example));
        });
    }
    extensions(&registry, package, &mut targets);
    targets
}

fn chunk_grids(registry: &Arc<Registry>, package: Option<&str>, targets: &mut Vec<Target>) {
    for plugin in all(registry.chunk_grids().iter(), registry, package) {
        let seed = |example: &Example| {
            let shape: Value = shape_of(example).iter().copied().collect();
            format!("[{shape}, {}]", example.document)
        };
        configurations(&plugin, targets, seed, |plugin, example, document| {
            if let Some([shape, entry]) = document.as_array()
                && let Some(shape) = shape.as_array()
                && let Some(shape) = shape.iter().map(Value::as_u64).collect::<Option<Vec<_>>>()
            {
                grid(plugin, example, &shape, entry);
            }
        });
    }
}

fn extensions(registry: &Arc<Registry>, package: Option<&str>, targets: &mut Vec<Target>) {
    for plugin in all(registry.extensions().iter(), registry, package) {
        configurations(&plugin, targets, own, |plugin, example, entry| {
            let reading = Reading::new(Mode::Lenient);
            let Ok(document) = plugin.parse(example, entry, &reading) else { return };
            for place in [ExtensionPlace::EntryPoint, ExtensionPlace::Array(shape_of(example))] {
                let creation = plugin.creation(example.format, &document, &reading);
                if let Ok(made) = (plugin.plugin.create)(&creation, place) {
                    let fits = extension::fits(&*made, place);
                    assert!(fits.is_ok(), "{entry} in {place:?}: {fits:?}");
                }
            }
        });
    }
}

/// Checks whether the plugin is from `package`.
pub(super) fn is_of<K: PluginKind + ?Sized>(plugin: Plugin<K>, package: Option<&str>) -> bool {
    package.is_none_or(|package| plugin.origin.package == package)
}

/// Returns the element of `all` that a byte of the input selects.
pub(super) fn chosen<T>(all: &[T], byte: u8) -> Option<&T> {
    all.get(usize::from(byte).checked_rem(all.len())?)
}

/// Parses the JSON of an input.
pub(super) fn document(text: &[u8]) -> Option<Value> {
    let limits = zarr_json::Limits { bytes: DOCUMENT_SIZE, ..zarr_json::Limits::default() };
    let options = zarr_json::ParseOptions { limits, ..zarr_json::ParseOptions::default() };
    zarr_json::parse(text, &options).ok().map(|parsed| parsed.value)
}

/// Returns the main identifier of the plugin, for any format.
pub(super) fn name_of<K: PluginKind + ?Sized>(plugin: &Plugin<K>) -> &'static str {
    plugin.identifiers.any()
}

fn all<'p, K: PluginKind + ?Sized>(
    plugins: impl Iterator<Item = &'p Plugin<K>>,
    registry: &Arc<Registry>,
    package: Option<&str>,
) -> Vec<Arc<Tried<K>>> {
    let wanted = plugins.filter(|plugin| is_of(**plugin, package));
    wanted.map(|plugin| Arc::new(Tried { plugin: *plugin, registry: Arc::clone(registry) })).collect()
}

/// Returns the document of the example.
fn own(example: &Example) -> String {
    example.document.to_owned()
}

/// Adds targets that replace the document of each example with the JSON of the input.
pub(super) fn configurations<K: PluginKind + ?Sized>(
    plugin: &Arc<Tried<K>>,
    targets: &mut Vec<Target>,
    seed: impl Fn(&Example) -> String,
    run: impl Fn(&Tried<K>, &'static Example, &Value) + Send + Sync + Copy + 'static,
) {
    for example in plugin.examples() {
        let plugin = Arc::clone(plugin);
        let seed = seed(example);
        targets.push(Target {
            aspect: Aspect::Configuration,
            name: label("configuration", &plugin.plugin, example),
            run: Box::new(move |input| {
                if let Some(document) = document(input) {
                    within(MEMORY, &document, || run(&plugin, example, &document));
                }
            }),
            seeds: Box::new(move || vec![seed.clone().into_bytes()]),
        });
    }
}

fn label<K: PluginKind + ?Sized>(what: &str, plugin: &Plugin<K>, example: &Example) -> String {
    format!("{what} {} `{}`: {} in {}", K::POINT, name_of(plugin), example.document, example.format)
}

/// Adds the targets of a memory layout. A layout that computes something is also tested as a codec. The plugin may
/// refuse any configuration.
fn layout(plugin: &Arc<Tried<MemoryLayout>>, targets: &mut Vec<Target>) {
    configurations(plugin, targets, own, |plugin, example, entry| {
        let reading = Reading::new(Mode::Lenient);
        let Ok(document) = plugin.parse(example, entry, &reading) else { return };
        let rank = shape_of(example).len();
        let made = (plugin.plugin.create)(&plugin.creation(example.format, &document, &reading), rank);
        if let Ok(Codec::Permutation(order)) = made {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..rank), "{entry}: {order:?} is not a permutation");
        }
    });
    for example in plugin.examples() {
        let Ok(document) = plugin.document(example) else { continue };
        let one = [example.shape];
        let shapes: &[&[u64]] =
            if example.shape.is_empty() { &[&[], &[5], &[4, 6], &[3, 1, 5]] } else { &one };
        for (shape, number) in shapes.iter().zip([UINT8, UINT16, COMPLEX128].into_iter().cycle()) {
            let reading = Reading::new(Mode::Strict);
            let creation = plugin.creation(example.format, &document, &reading);
            if let Ok(layout @ Codec::ArrayToArray(_)) = (plugin.plugin.create)(&creation, shape.len()) {
                let name = format!("memory layout `{}`", name_of(&plugin.plugin));
                codec::fuzzed::add_use(&name, example, crate::array(shape, number), layout, targets);
            }
        }
    }
}

fn grid(
    plugin: &Tried<dyn zarr_spec::grid::ChunkGrid>,
    example: &'static Example,
    shape: &[u64],
    entry: &Value,
) {
    let reading = Reading::new(Mode::Lenient);
    let Ok(document) = plugin.parse(example, entry, &reading) else { return };
    let creation = plugin.creation(example.format, &document, &reading);
    let Ok(grid) = (plugin.plugin.create)(&creation, shape) else { return };
    let rank = (grid.grid_shape().len(), grid.largest_chunk().len());
    assert_eq!(rank, (shape.len(), shape.len()), "{entry} for {shape:?}");
    for (dimension, &length) in shape.iter().enumerate() {
        check_dimension(&*grid, dimension, length, entry);
    }
    for start in [i64::MIN, -1, 1, i64::MAX] {
        let _moved = grid.moved(&vec![start; shape.len()]);
    }
}

/// Checks that chunks at both ends of a dimension are contiguous, contain their elements and have unique keys.
fn check_dimension(grid: &dyn ChunkGrid, dimension: usize, length: u64, entry: &Value) {
    let chunks = grid.grid_shape()[dimension];
    let longest = grid.largest_chunk()[dimension];
    assert_eq!(chunks == 0, length == 0, "{entry}: {chunks} chunks of {length} elements");
    assert!(grid.chunk_range(dimension, chunks).is_err(), "{entry}: chunk {chunks} should be out of bounds");
    assert!(grid.chunk_of(dimension, length).is_err(), "{entry}: element {length} should be out of bounds");
    let numbers = [0, 1, chunks / 2, chunks.saturating_sub(2), chunks.saturating_sub(1)];
    for chunk in numbers.into_iter().filter(|chunk| *chunk < chunks) {
        // The last chunk may end past the maximum of `u64`.
        let Ok(range) = grid.chunk_range(dimension, chunk) else { continue };
        let outside = grid
            .padding(dimension, chunk)
            .map(|padding| padding.checked_add(grid.before_array(dimension, chunk)));
        let whole = outside.ok().flatten().and_then(|outside| outside.checked_add(range.end - range.start));
        assert!(range.start < range.end && range.start < length, "{entry}: chunk {chunk} is {range:?}");
        assert!(whole.is_some_and(|whole| whole <= longest), "{entry}: chunk {chunk} is {range:?}");
        assert!(chunk + 1 < chunks || length <= range.end, "{entry}: the last chunk is {range:?}");
        for element in [range.start, range.end.min(length) - 1] {
            let found = grid.chunk_of(dimension, element);
            assert!(matches!(found, Ok(found) if found == chunk), "{entry}: {element} is in {found:?}");
        }
        if let Some(before) = chunk.checked_sub(1)
            && let Ok(before) = grid.chunk_range(dimension, before)
        {
            assert_eq!(
                before.end, range.start,
                "{entry}: chunk {chunk} does not start at the end of the previous one"
            );
        }
        let back = grid.key_index(dimension, chunk).and_then(|index| grid.chunk_of_key(dimension, index));
        assert!(
            matches!(back, Ok(Some(back)) if back == chunk),
            "{entry}: the key index of chunk {chunk} maps to {back:?}"
        );
    }
}

/// Adds targets that decode text as keys. The first byte selects the number of dimensions.
fn chunk_keys(plugin: &Arc<Tried<dyn zarr_spec::key_encoding::ChunkKeyEncoding>>, targets: &mut Vec<Target>) {
    for (example, encoding) in plugin.made(|creation| (plugin.plugin.create)(creation)) {
        let seeds = Arc::clone(&encoding);
        targets.push(Target {
            aspect: Aspect::ChunkKey,
            name: label("keys", &plugin.plugin, example),
            run: Box::new(move |input| {
                let Some((rank, text)) = input.split_first() else { return };
                let Ok(text) = str::from_utf8(text) else { return };
                let rank = usize::from(rank % 40);
                if !has_keys(&*encoding, rank) {
                    return;
                }
                let decoded = encoding.decode(text, rank);
                if let Some(chunk) = decoded.unwrap_or_else(|error| panic!("{encoding:?}: {text:?}: {error}"))
                {
                    assert_eq!(chunk.len(), rank, "{encoding:?}: {text:?}");
                    assert_eq!(
                        chunk_and_back(&*encoding, &chunk),
                        text,
                        "{encoding:?}: the chunk has another key"
                    );
                }
            }),
            seeds: Box::new(move || {
                let chunks: [&[u64]; 4] = [&[], &[7], &[0, 12], &[1, 0, u64::MAX]];
                let seed = |(rank, chunk): (u8, &[u64])| {
                    let mut key = String::new();
                    if has_keys(&*seeds, chunk.len()) {
                        seeds.encode(chunk, &mut key);
                    }
                    [&[rank][..], key.as_bytes()].concat()
                };
                (0..).zip(chunks).map(seed).collect()
            }),
        });
    }
}

/// Returns the key of a chunk, and checks that it decodes to that chunk.
fn chunk_and_back(encoding: &dyn ChunkKeyEncoding, chunk: &[u64]) -> String {
    let mut key = String::new();
    encoding.encode(chunk, &mut key);
    assert!(Key::new(format!("array/{key}")).is_ok(), "{encoding:?}: {key:?} is not a valid key");
    let again = encoding.decode(&key, chunk.len());
    assert!(
        matches!(&again, Ok(Some(again)) if again == chunk),
        "{encoding:?}: the key {key:?} of {chunk:?} decodes to {again:?}"
    );
    key
}

/// Adds targets that decode bytes as documents.
fn metadata(
    plugin: &Arc<Tried<dyn zarr_spec::metadata_encoding::MetadataEncoding>>,
    targets: &mut Vec<Target>,
) {
    for (example, encoding) in plugin.made(|creation| (plugin.plugin.create)(creation)) {
        let seeds = Arc::clone(&encoding);
        targets.push(Target {
            aspect: Aspect::Metadata,
            name: label("documents", &plugin.plugin, example),
            run: Box::new(move |input| {
                within(MEMORY, "a document", || document_and_back(&*encoding, input));
            }),
            seeds: Box::new(move || {
                let all = super::metadata_encoding::DOCUMENTS.iter().filter_map(|text| value(text).ok());
                all.filter_map(|document| seeds.encode(&document).ok()).collect()
            }),
        });
    }
}

/// Checks that a decoded document can be encoded, and decodes to the same document again.
fn document_and_back(encoding: &dyn MetadataEncoding, bytes: &[u8]) {
    let reading = || Reading::new(Mode::Lenient).with_document_size(DOCUMENT_SIZE);
    let Ok(document) = encoding.decode(bytes, &reading()) else { return };
    let written = match encoding.encode(&document) {
        Ok(written) => written,
        // Bare `NaN` may be readable, but is never written.
        Err(_) if document.find_non_finite().is_some() => return,
        Err(error) => panic!("{document} cannot be written: {error}"),
    };
    let again = encoding.decode(&written, &Reading::new(Mode::Strict));
    match again {
        Ok(again) => {
            assert_eq!(again.to_string(), document.to_string(), "the encoded document decodes differently")
        }
        Err(error) => panic!("{document} cannot be decoded after encoding: {error}"),
    }
}
