//! The metadata documents that jobs parse and open.

/// The document of a group in final v3.
pub(crate) const GROUP: &str = r#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#;

/// The document of an array in version 2.
pub(crate) const V2: &str = r#"{
    "zarr_format": 2, "shape": [512, 512, 512], "chunks": [128, 128, 128], "dtype": "<u2",
    "compressor": {"id": "zstd", "level": 5}, "filters": [{"id": "delta", "dtype": "<u2", "astype": "<u2"}],
    "fill_value": 0, "order": "C", "dimension_separator": "/"
}"#;

/// The document of an array in the draft, with the shape and the chunks of [`V2`].
pub(crate) const DRAFT: &str = r#"{
    "shape": [512, 512, 512], "data_type": "uint16",
    "chunk_grid": {"type": "regular", "chunk_shape": [128, 128, 128], "separator": "/"},
    "chunk_memory_layout": "C",
    "codecs": [{"type": "https://purl.org/zarr/spec/codecs/gzip/1.0", "configuration": {"level": 5}}],
    "fill_value": 0, "extensions": [], "attributes": {"unit": "kelvin", "scale": [1, 2, 4]}
}"#;

/// The document of an array in final v3, with the shape and the chunks of [`V2`].
pub(crate) const V3: &str = r#"{
    "zarr_format": 3, "node_type": "array", "shape": [512, 512, 512], "data_type": "uint16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [128, 128, 128]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "codecs": [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 5, "checksum": false}}
    ],
    "fill_value": 0, "dimension_names": ["z", "y", "x"], "attributes": {"unit": "kelvin", "scale": [1, 2, 4]}
}"#;

const LITTLE: &str = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
const ZSTD: &str = r#"{"name": "zstd", "configuration": {"level": 5, "checksum": false}}"#;

/// The codecs of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Codecs {
    Uncompressed,
    BigEndian,
    Transposed,
    Zstd,
    /// A shard with zstd-compressed inner chunks of 16³ elements.
    Shard,
}

impl Codecs {
    fn text(self) -> String {
        match self {
            Self::Uncompressed => LITTLE.to_owned(),
            Self::BigEndian => r#"{"name": "bytes", "configuration": {"endian": "big"}}"#.to_owned(),
            Self::Transposed => {
                format!(r#"{{"name": "transpose", "configuration": {{"order": [2, 1, 0]}}}}, {LITTLE}"#)
            }
            Self::Zstd => format!("{LITTLE}, {ZSTD}"),
            Self::Shard => format!(
                r#"{{"name": "sharding_indexed", "configuration": {{
                    "chunk_shape": [16, 16, 16], "codecs": [{LITTLE}, {ZSTD}],
                    "index_codecs": [{LITTLE}, {{"name": "crc32c"}}], "index_location": "end"
                }}}}"#
            ),
        }
    }

    /// Returns the document of an array of `uint16`. `length` and `chunk` are the lengths of the array and of its chunks
    /// in each of the three dimensions.
    pub(crate) fn document(self, length: u64, chunk: u64, fill_value: u16) -> String {
        format!(
            r#"{{
                "zarr_format": 3, "node_type": "array", "shape": [{length}, {length}, {length}],
                "data_type": "uint16",
                "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [{chunk}, {chunk}, {chunk}]}}}},
                "chunk_key_encoding": {{"name": "default", "configuration": {{"separator": "/"}}}},
                "fill_value": {fill_value}, "codecs": [{}], "attributes": {{}}
            }}"#,
            self.text()
        )
    }
}
