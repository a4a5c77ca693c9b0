//! The datasets: elements, and the metadata document of their array.

use serde_json::{Value, json};

use super::container::Container;

/// An array, or a hierarchy without elements.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dataset {
    pub(crate) name: &'static str,
    /// The parameters of the generator of elements. Datasets with equal parameters share a file.
    pub(crate) data: Value,
    pub(crate) data_type: &'static str,
    /// The size of an element in bytes, or 0 if it varies.
    pub(crate) item: u64,
    pub(crate) shape: Vec<u64>,
    /// The shape of a chunk or shard.
    pub(crate) chunks: Vec<u64>,
    /// The file name of the metadata document, and the document. `None` for a hierarchy.
    pub(crate) document: Option<(&'static str, Value)>,
    /// The name of the codec for the floors, and the shape that it compresses.
    pub(crate) codec: Option<(&'static str, Vec<u64>)>,
    /// The number of times that the array repeats its elements along the first dimension.
    pub(crate) repeats: u64,
    /// The store that contains the hierarchy, if it is not the folder.
    pub(crate) container: Option<Container>,
}

/// Lengths and counts, at full size or reduced with `--quick`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) is_quick: bool,
}

impl Sizes {
    /// Returns the length of an array in one dimension, given the length at full size.
    pub(crate) fn length(self, length: u64) -> u64 {
        if self.is_quick { length / 4 } else { length }
    }

    /// Returns the number of slow operations, given the number at full size.
    pub(crate) fn few(self, count: usize) -> usize {
        if self.is_quick { count / 10 } else { count }
    }

    /// Returns the number of objects, given the number at full size.
    pub(crate) fn count(self, count: u64) -> u64 {
        if self.is_quick { count / 20 } else { count }
    }

    fn cube(self, length: u64) -> Vec<u64> {
        vec![self.length(length); 3]
    }
}

fn uint16(shape: &[u64]) -> Value {
    json!({"kind": "uint16", "shape": shape})
}

fn v3(data_type: &str, shape: &[u64], chunks: &[u64], codecs: Value) -> Option<(&'static str, Value)> {
    let fill_value = if data_type == "string" { json!("") } else { json!(0) };
    Some((
        "zarr.json",
        json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": shape,
            "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill_value,
            "codecs": codecs,
            "attributes": {},
            "dimension_names": &NAMES_OF_DIMENSIONS[NAMES_OF_DIMENSIONS.len() - shape.len()..],
        }),
    ))
}

/// The names of the last dimensions of arrays. xarray opens only arrays with names.
const NAMES_OF_DIMENSIONS: [&str; 3] = ["z", "y", "x"];

fn v2(
    dtype: &str,
    shape: &[u64],
    chunks: &[u64],
    compressor: Value,
    filters: Value,
) -> Option<(&'static str, Value)> {
    Some((
        ".zarray",
        json!({
            "zarr_format": 2,
            "shape": shape,
            "chunks": chunks,
            "dtype": dtype,
            "compressor": compressor,
            "fill_value": 0,
            "order": "C",
            "filters": filters,
            "dimension_separator": ".",
        }),
    ))
}

fn bytes() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn zstd() -> Value {
    json!({"name": "zstd", "configuration": {"level": 5, "checksum": false}})
}

/// Returns the `uint16` array of most cases, with chunks that are compressed with `compressor`.
fn image(
    sizes: Sizes,
    name: &'static str,
    compressor: Option<Value>,
    codec: Option<&'static str>,
) -> Dataset {
    let shape = sizes.cube(512);
    let chunks = sizes.cube(128);
    let codecs: Vec<Value> = [Some(bytes()), compressor].into_iter().flatten().collect();
    Dataset {
        name,
        data: uint16(&shape),
        data_type: "uint16",
        item: 2,
        document: v3("uint16", &shape, &chunks, json!(codecs)),
        codec: codec.map(|codec| (codec, chunks.clone())),
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

pub(crate) fn plain(sizes: Sizes) -> Dataset {
    image(sizes, "uncompressed", None, None)
}

pub(crate) fn zstd_5(sizes: Sizes) -> Dataset {
    image(sizes, "zstd", Some(zstd()), Some("zstd-5"))
}

pub(crate) fn blosc(sizes: Sizes) -> Dataset {
    let configuration =
        json!({"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0});
    let codec = json!({"name": "blosc", "configuration": configuration});
    image(sizes, "blosc", Some(codec), Some("blosc-lz4"))
}

pub(crate) fn gzip(sizes: Sizes) -> Dataset {
    let codec = json!({"name": "gzip", "configuration": {"level": 5}});
    image(sizes, "gzip", Some(codec), Some("gzip-5"))
}

pub(crate) fn shards(sizes: Sizes) -> Dataset {
    in_shards("shards", sizes.cube(512), sizes.cube(256), sizes.cube(64))
}

fn in_shards(name: &'static str, shape: Vec<u64>, shards: Vec<u64>, inner: Vec<u64>) -> Dataset {
    let sharding = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": inner,
        "codecs": [bytes(), zstd()],
        "index_codecs": [bytes(), {"name": "crc32c"}],
        "index_location": "end",
    }}]);
    Dataset {
        name,
        data: uint16(&shape),
        data_type: "uint16",
        item: 2,
        document: v3("uint16", &shape, &shards, sharding),
        codec: Some(("zstd-5", inner)),
        shape,
        chunks: shards,
        repeats: 1,
        container: None,
    }
}

/// Returns the shape of arrays in the remote store. They have half the elements of local arrays, because requests take
/// long.
fn far_shape(sizes: Sizes) -> Vec<u64> {
    [256, 512, 512].map(|length| sizes.length(length)).to_vec()
}

/// Returns an array of 128 chunks of 1 MiB for the remote store.
pub(crate) fn far(sizes: Sizes) -> Dataset {
    let shape = far_shape(sizes);
    let chunks = [32, 128, 128].map(|length| sizes.length(length)).to_vec();
    Dataset {
        name: "far",
        data: uint16(&shape),
        data_type: "uint16",
        item: 2,
        document: v3("uint16", &shape, &chunks, json!([bytes(), zstd()])),
        codec: None,
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

/// Returns an array of 8 shards of 64 inner chunks of 256 KiB for the remote store.
pub(crate) fn far_shards(sizes: Sizes) -> Dataset {
    let [shards, inner] = [[128, 256, 256], [32, 64, 64]].map(|one| one.map(|length| sizes.length(length)));
    in_shards("far-shards", far_shape(sizes), shards.to_vec(), inner.to_vec())
}

/// Returns an array of 1,024 chunks of 64 KiB for the remote store.
pub(crate) fn far_small(sizes: Sizes) -> Dataset {
    let shape = [256, 256, 512].map(|length| sizes.length(length)).to_vec();
    let chunks = sizes.cube(32);
    Dataset {
        name: "far-small-chunks",
        data: uint16(&shape),
        data_type: "uint16",
        item: 2,
        document: v3("uint16", &shape, &chunks, json!([bytes()])),
        codec: None,
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

/// Returns an array with chunks of 2 KiB.
pub(crate) fn small(sizes: Sizes) -> Dataset {
    let shape = if sizes.is_quick { vec![64, 64, 128] } else { vec![128, 128, 256] };
    let chunks = vec![8, 8, 16];
    Dataset {
        name: "small-chunks",
        data: uint16(&shape),
        data_type: "uint16",
        item: 2,
        document: v3("uint16", &shape, &chunks, json!([bytes()])),
        codec: None,
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

/// Returns an array of big-endian `float64` with reversed dimensions in each chunk.
pub(crate) fn transposed(sizes: Sizes) -> Dataset {
    let shape = sizes.cube(256);
    let chunks = sizes.cube(64);
    let codecs = json!([
        {"name": "transpose", "configuration": {"order": [2, 1, 0]}},
        {"name": "bytes", "configuration": {"endian": "big"}},
    ]);
    Dataset {
        name: "transposed",
        data: json!({"kind": "float64", "shape": shape}),
        data_type: "float64",
        item: 8,
        document: v3("float64", &shape, &chunks, codecs),
        codec: None,
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

/// Returns an array in version 2, with or without the filter `delta`.
pub(crate) fn version_2(sizes: Sizes, is_delta: bool) -> Dataset {
    let shape = sizes.cube(512);
    let chunks = sizes.cube(128);
    let compressor = json!({"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0});
    let filters =
        if is_delta { json!([{"id": "delta", "dtype": "<u2", "astype": "<u2"}]) } else { Value::Null };
    Dataset {
        name: if is_delta { "v2-delta" } else { "v2" },
        data: uint16(&shape),
        data_type: "uint16",
        item: 2,
        document: v2("<u2", &shape, &chunks, compressor, filters),
        codec: Some((if is_delta { "delta-blosc-zstd" } else { "blosc-zstd" }, chunks.clone())),
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

/// Returns an array in version 2 whose chunks are images, which a codec of imagecodecs stores.
pub(crate) fn images(sizes: Sizes, name: &'static str, codec: Value) -> Dataset {
    let shape = vec![sizes.length(32), sizes.length(1024), sizes.length(1024)];
    let chunks = vec![1, shape[1], shape[2]];
    Dataset {
        name,
        data: uint16(&shape),
        data_type: "uint16",
        item: 2,
        document: v2("<u2", &shape, &chunks, codec, Value::Null),
        codec: None,
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

/// Returns an array in version 2 whose chunks are images of three colors, which a codec of imagecodecs stores.
pub(crate) fn photos(sizes: Sizes, name: &'static str, codec: Value) -> Dataset {
    let shape = vec![sizes.length(16), sizes.length(1024), sizes.length(1024), 3];
    let chunks = vec![1, shape[1], shape[2], shape[3]];
    Dataset {
        name,
        data: json!({"kind": "uint8", "shape": [shape[0], shape[1], shape[2] * shape[3]]}),
        data_type: "uint8",
        item: 1,
        document: v2("|u1", &shape, &chunks, codec, Value::Null),
        codec: None,
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

/// Returns an array in an Icechunk repository.
pub(crate) fn icechunk(sizes: Sizes) -> Dataset {
    let chunks = sizes.cube(64);
    let image = image(sizes, "icechunk", Some(zstd()), Some("zstd-5"));
    let document = v3("uint16", &image.shape, &chunks, json!([bytes(), zstd()]));
    let container = Some(Container::Icechunk);
    Dataset { codec: Some(("zstd-5", chunks.clone())), document, chunks, container, ..image }
}

/// Returns the array of [`far`] in a zip archive, or as references.
pub(crate) fn far_in(sizes: Sizes, name: &'static str, container: Container) -> Dataset {
    Dataset { name, container: Some(container), ..far(sizes) }
}

/// Returns an array in an N5 container.
pub(crate) fn n5(sizes: Sizes) -> Dataset {
    let shape = sizes.cube(512);
    let chunks = sizes.cube(128);
    let document = json!({
        "dimensions": shape,
        "blockSize": chunks,
        "dataType": "uint16",
        "compression": {"type": "gzip", "level": 5, "useZlib": false},
    });
    Dataset {
        name: "n5",
        data: uint16(&shape),
        data_type: "uint16",
        item: 2,
        document: Some(("attributes.json", document)),
        codec: None,
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

/// Returns an array that stores one in a hundred chunks.
pub(crate) fn sparse(sizes: Sizes) -> Dataset {
    let shape = sizes.cube(512);
    let chunks = sizes.cube(32);
    Dataset {
        name: "sparse",
        data: json!({"kind": "sparse", "shape": shape, "chunks": chunks}),
        data_type: "uint16",
        item: 2,
        document: v3("uint16", &shape, &chunks, json!([bytes(), zstd()])),
        codec: None,
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

/// Returns an array of a million strings of 4 to 40 bytes.
pub(crate) fn strings(sizes: Sizes) -> Dataset {
    let count = sizes.count(1_000_000);
    let shape = vec![count];
    let chunks = vec![count / 10];
    Dataset {
        name: "strings",
        data: json!({"kind": "strings", "count": count}),
        data_type: "string",
        item: 0,
        document: v3("string", &shape, &chunks, json!([{"name": "vlen-utf8"}, zstd()])),
        codec: Some(("zstd-5", chunks.clone())),
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

/// Returns a hierarchy of `groups` groups with `arrays` arrays each. With 0 groups, the arrays are in the root.
pub(crate) fn nodes(name: &'static str, groups: u64, arrays: u64) -> Dataset {
    let shape = vec![1000, 1000];
    let chunks = vec![100, 100];
    let document = v3("uint16", &shape, &chunks, json!([bytes(), zstd()]));
    let array = document.map(|(_, document)| document.to_string());
    Dataset {
        name,
        data: json!({"kind": "nodes", "groups": groups, "arrays": arrays, "array": array}),
        data_type: "uint16",
        item: 2,
        document: None,
        codec: None,
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

/// Returns `count` arrays with consolidated metadata.
pub(crate) fn variables(name: &'static str, count: u64) -> Dataset {
    let mut dataset = nodes(name, 0, count);
    dataset.data["is_consolidated"] = json!(true);
    dataset
}

/// Returns an array that repeats 256 MiB of elements along its first dimension.
pub(crate) fn long(sizes: Sizes, name: &'static str, repeats: u64) -> Dataset {
    let part = vec![sizes.length(128), sizes.length(1024), sizes.length(1024)];
    let chunks = sizes.cube(128);
    let shape = vec![part[0] * repeats, part[1], part[2]];
    Dataset {
        name,
        data: uint16(&part),
        data_type: "uint16",
        item: 2,
        document: v3("uint16", &shape, &chunks, json!([bytes(), zstd()])),
        codec: None,
        shape,
        chunks,
        repeats,
        container: None,
    }
}

/// Returns an array of `gib` GiB of `float32` whose chunks are planes.
pub(crate) fn planes(sizes: Sizes, gib: u64) -> Dataset {
    let (part, repeats) = if sizes.is_quick { ([16, 256, 256], 4) } else { ([64, 1024, 1024], 4 * gib) };
    let shape = vec![part[0] * repeats, part[1], part[2]];
    let chunks = vec![1, part[1], part[2]];
    let level = json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}});
    Dataset {
        name: "planes",
        data: json!({"kind": "float32", "shape": part}),
        data_type: "float32",
        item: 4,
        document: v3("float32", &shape, &chunks, json!([bytes(), level])),
        codec: None,
        shape,
        chunks,
        repeats,
        container: None,
    }
}

/// Returns an array of `gib` quarters of a GiB in uncompressed chunks of 1 MiB.
pub(crate) fn mebibytes(sizes: Sizes, gib: u64) -> Dataset {
    let whole = long(sizes, "1-MiB-chunks", gib);
    let chunks = [64, 64, 128].map(|length| sizes.length(length)).to_vec();
    let document = v3("uint16", &whole.shape, &chunks, json!([bytes()]));
    Dataset { document, chunks, ..whole }
}

/// Returns an array of chunks of 1 KiB, with `grid` chunks along each dimension.
pub(crate) fn many(name: &'static str, grid: [u64; 3]) -> Dataset {
    let chunks = vec![8, 8, 8];
    let shape: Vec<u64> = grid.iter().map(|count| count * 8).collect();
    Dataset {
        name,
        data: uint16(&shape),
        data_type: "uint16",
        item: 2,
        document: v3("uint16", &shape, &chunks, json!([bytes()])),
        codec: None,
        shape,
        chunks,
        repeats: 1,
        container: None,
    }
}

impl Dataset {
    /// Returns the size of all elements in bytes, if they have a fixed size.
    pub(crate) fn bytes(&self) -> u64 {
        self.shape.iter().product::<u64>() * self.item
    }

    /// Returns the number of chunks of the array, or 0 for a hierarchy.
    pub(crate) fn chunk_count(&self) -> u64 {
        if self.is_hierarchy() {
            return 0;
        }
        self.shape.iter().zip(&self.chunks).map(|(length, chunk)| length / chunk).product()
    }

    /// Returns every chunk as a box, in C order.
    pub(crate) fn chunk_boxes(&self) -> Vec<Vec<[u64; 2]>> {
        let mut boxes = vec![Vec::new()];
        for (&length, &chunk) in self.shape.iter().zip(&self.chunks) {
            let ranges = (0..length / chunk).map(|number| [number * chunk, (number + 1) * chunk]);
            let longer = |before: Vec<[u64; 2]>| {
                ranges.clone().map(move |range| [before.clone(), vec![range]].concat())
            };
            boxes = boxes.into_iter().flat_map(longer).collect();
        }
        boxes
    }

    /// Returns whether the dataset is a hierarchy without elements.
    pub(crate) fn is_hierarchy(&self) -> bool {
        self.document.is_none()
    }

    /// Returns the document of the group that contains the array.
    pub(crate) fn group(&self) -> (&'static str, Value) {
        match self.document {
            Some((".zarray", _)) => (".zgroup", json!({"zarr_format": 2})),
            Some(("attributes.json", _)) => ("attributes.json", json!({"n5": "4.0.0"})),
            _ => ("zarr.json", json!({"zarr_format": 3, "node_type": "group", "attributes": {}})),
        }
    }

    /// Returns the parts that repeat the elements, as boxes. Returns no parts for an array that is written in one call.
    pub(crate) fn parts(&self) -> Vec<Vec<[u64; 2]>> {
        if self.repeats == 1 {
            return Vec::new();
        }
        let rows = self.shape[0] / self.repeats;
        let rest = self.shape[1..].iter().map(|&length| [0, length]);
        let part =
            |number: u64| [[number * rows, (number + 1) * rows]].into_iter().chain(rest.clone()).collect();
        (0..self.repeats).map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_array_is_written_in_parts_that_cover_it() {
        let dataset = long(Sizes { is_quick: false }, "1 GiB", 4);
        assert_eq!(dataset.bytes(), 1 << 30);
        let parts = dataset.parts();
        assert_eq!((parts.len(), parts[3][0], parts[3][2]), (4, [384, 512], [0, 1024]));
        assert_eq!(plain(Sizes { is_quick: false }).parts(), Vec::<Vec<[u64; 2]>>::new());
    }

    #[test]
    fn every_chunk_is_a_box_in_c_order() {
        let dataset = plain(Sizes { is_quick: false });
        let boxes = dataset.chunk_boxes();
        assert_eq!((boxes.len() as u64, dataset.chunk_count()), (64, 64));
        assert_eq!(boxes[1], [[0, 128], [0, 128], [128, 256]]);
    }

    #[test]
    fn chunks_divide_the_array_at_both_sizes() {
        for sizes in [Sizes { is_quick: false }, Sizes { is_quick: true }] {
            let near = [plain(sizes), shards(sizes), small(sizes), transposed(sizes), strings(sizes)];
            for dataset in near.into_iter().chain([far(sizes), far_shards(sizes), far_small(sizes)]) {
                for (length, chunk) in dataset.shape.iter().zip(&dataset.chunks) {
                    assert_eq!(length % chunk, 0, "{}", dataset.name);
                }
            }
        }
    }
}
