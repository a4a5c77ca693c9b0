//! Random arrays of all formats, as metadata documents written out by hand, independent of our own writer of
//! documents.

use serde_json::{Value, json};
use zarr_kit::Format;
use zarr_kit::spec::Key;
use zarr_kit::spec::store::Store;

use crate::random::Random;

/// A data type that this module can name in every format that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// One byte that is 0 or 1.
    Bool,
    /// Unsigned, one byte.
    UInt8,
    /// Two bytes.
    Int16,
    /// Three bytes, without a byte order.
    Raw24,
    /// Four bytes.
    Float32,
    /// Eight bytes.
    Int64,
    /// Two units of eight bytes.
    Complex128,
    /// Three fields: two bytes, one byte, and four bytes. The byte orders of the longer fields differ if the format
    /// can express that.
    Structure,
    /// Text of variable length.
    String,
}

/// All types.
pub const TYPES: &[Type] = &[
    Type::Bool,
    Type::UInt8,
    Type::Int16,
    Type::Raw24,
    Type::Float32,
    Type::Int64,
    Type::Complex128,
    Type::Structure,
    Type::String,
];

/// The types that the draft supports.
pub const DRAFT_TYPES: &[Type] =
    &[Type::Bool, Type::UInt8, Type::Int16, Type::Raw24, Type::Float32, Type::Int64, Type::Complex128];

impl Type {
    /// Returns the size in bytes of an element, and of the units that a byte order applies to; `None` for text.
    #[must_use]
    pub fn size(self) -> Option<(usize, usize)> {
        match self {
            Self::Bool | Self::UInt8 => Some((1, 1)),
            Self::Int16 => Some((2, 2)),
            Self::Raw24 => Some((3, 1)),
            Self::Float32 => Some((4, 4)),
            Self::Int64 => Some((8, 8)),
            Self::Complex128 => Some((16, 8)),
            // The units have several sizes; callers only need to know that there is a byte order.
            Self::Structure => Some((7, 2)),
            Self::String => None,
        }
    }

    fn typestring(self) -> Value {
        let text = match self {
            Self::Structure => return json!([["a", "<i2"], ["b", "|u1"], ["c", ">f4"]]),
            Self::Bool => "|b1",
            Self::UInt8 => "|u1",
            Self::Int16 => "<i2",
            Self::Raw24 => "|V3",
            Self::Float32 => "<f4",
            Self::Int64 => "<i8",
            Self::Complex128 => "<c16",
            Self::String => "|O",
        };
        json!(text)
    }

    fn name(self) -> Value {
        let text = match self {
            Self::Structure => {
                let field = |name: &str, data_type: &str| json!({"name": name, "data_type": data_type});
                let fields = [field("a", "int16"), field("b", "uint8"), field("c", "float32")];
                return json!({"name": "struct", "configuration": {"fields": fields}});
            }
            Self::Bool => "bool",
            Self::UInt8 => "uint8",
            Self::Int16 => "int16",
            Self::Raw24 => "r24",
            Self::Float32 => "float32",
            Self::Int64 => "int64",
            Self::Complex128 => "complex128",
            Self::String => "string",
        };
        json!(text)
    }

    /// Returns a random fill value: its form in documents, and its raw form.
    fn fill(self, random: &mut Random, format: Format) -> (Value, Vec<u8>) {
        let zero = random.chance(2);
        match self {
            Self::Bool => (json!(!zero), vec![u8::from(!zero)]),
            Self::UInt8 if zero => (json!(0), vec![0]),
            Self::UInt8 => (json!(3), vec![3]),
            Self::Int16 if zero => (json!(0), vec![0; 2]),
            Self::Int16 => (json!(-2), (-2i16).to_le_bytes().to_vec()),
            Self::Raw24 if format == Format::V2 && zero => (json!("AAAA"), vec![0; 3]),
            Self::Raw24 if format == Format::V2 => (json!("AQID"), vec![1, 2, 3]),
            Self::Raw24 if zero => (json!([0, 0, 0]), vec![0; 3]),
            Self::Raw24 => (json!([1, 2, 3]), vec![1, 2, 3]),
            Self::Float32 if zero => (json!(0.0), vec![0; 4]),
            Self::Float32 => (json!(-0.0), (-0.0f32).to_le_bytes().to_vec()),
            Self::Int64 if zero => (json!(0), vec![0; 8]),
            Self::Int64 => (json!(i64::MIN), i64::MIN.to_le_bytes().to_vec()),
            Self::Complex128 if zero => (json!([0.0, 0.0]), vec![0; 16]),
            Self::Complex128 => {
                (json!([1.5, -0.0]), [1.5f64.to_le_bytes(), (-0.0f64).to_le_bytes()].concat())
            }
            Self::Structure if format == Format::V2 => {
                // The fill value has its stored form in base64: two fields are little endian, one is big endian.
                let (json, last) =
                    if zero { ("AAAAAAAAAA==", [0; 4]) } else { ("AQAAP4AAAA==", [0, 0, 0x80, 0x3F]) };
                (json!(json), [&[u8::from(!zero), 0, 0], &last[..]].concat())
            }
            Self::Structure => {
                let (first, last) = if zero { (0, 0.0) } else { (1, 1.0f32) };
                let fields = json!({"a": first, "b": 0, "c": last});
                (fields, [&[first, 0, 0], &last.to_le_bytes()[..]].concat())
            }
            Self::String if zero => (json!(""), raw_text("")),
            Self::String => (json!("日本"), raw_text("日本")),
        }
    }

    /// Returns a random element in raw form. It has few possible values, so that some chunks hold a single value.
    pub fn item(self, random: &mut Random) -> Vec<u8> {
        let number = random.below(4);
        match self {
            Self::Bool => vec![u8::from(number > 1)],
            Self::Float32 if number == 0 => (-0.0f32).to_le_bytes().to_vec(),
            Self::String => {
                raw_text(["", "a", "日本", "word word word"][usize::try_from(number).unwrap_or(0)])
            }
            _ => {
                let size = self.size().map_or(0, |(size, _)| size);
                let bytes = (number << (8 * random.below(8))).to_le_bytes();
                bytes.iter().cycle().take(size).copied().collect()
            }
        }
    }
}

fn raw_text(text: &str) -> Vec<u8> {
    let size = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&size.to_le_bytes(), text.as_bytes()].concat()
}

/// An array to create.
#[derive(Debug, Clone)]
pub struct Description {
    /// The format of its document.
    pub format: Format,
    /// Elements per dimension.
    pub shape: Vec<u64>,
    /// Elements of a chunk, or shard.
    pub chunk: Vec<u64>,
    /// The type of its elements.
    pub data_type: Type,
    /// The fill value in raw form.
    pub fill: Vec<u8>,
    /// The document.
    pub document: Value,
}

impl Description {
    /// Returns a small array of zero to four dimensions.
    #[must_use]
    pub fn random(random: &mut Random) -> Self {
        let rank = random.index(5);
        let longest = [1, 40, 14, 8, 5][rank];
        let lengths = (0..rank).map(|_| if random.chance(20) { 0 } else { random.between(1, longest) });
        let shape: Vec<u64> = lengths.collect();
        let chunk = shape.iter().map(|&length| random.between(1, (length + 2).min(7))).collect();
        let format = *random.one(&[Format::V2, Format::V3, Format::V3, Format::V3Draft]);
        let types = if format == Format::V3Draft { DRAFT_TYPES } else { TYPES };
        let data_type = *random.one(types);
        Self::new(random, format, shape, chunk, data_type)
    }

    /// Returns an array of this shape with random codecs. In v3 it may have shards, whose inner chunks have
    /// the shape `chunk`.
    #[must_use]
    pub fn new(
        random: &mut Random,
        format: Format,
        shape: Vec<u64>,
        mut chunk: Vec<u64>,
        data_type: Type,
    ) -> Self {
        let (fill, raw_fill) = data_type.fill(random, format);
        let document = match format {
            Format::V2 => v2(random, &shape, &chunk, data_type, fill),
            Format::V3Draft => draft(random, &shape, &chunk, data_type, fill),
            Format::V3 => {
                let inner = chunk.clone();
                if random.chance(2) {
                    chunk.iter_mut().for_each(|length| *length *= random.between(1, 3));
                }
                v3(random, &V3Shapes { array: &shape, chunk: &chunk, inner: &inner }, data_type, fill)
            }
        };
        Self { format, shape, chunk, data_type, fill: raw_fill, document }
    }

    /// Writes the documents of a hierarchy with this array at `/array`.
    ///
    /// # Panics
    ///
    /// If the store fails.
    pub fn write(&self, store: &dyn Store) {
        let root = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
        let documents = match self.format {
            Format::V2 => [(".zgroup", json!({"zarr_format": 2})), ("array/.zarray", self.document.clone())],
            Format::V3 => [("zarr.json", root), ("array/zarr.json", self.document.clone())],
            Format::V3Draft => {
                [("zarr.json", entry_point()), ("meta/array.array.json", self.document.clone())]
            }
        };
        for (key, document) in documents {
            let set = Key::new(key).map_err(|error| error.to_string());
            let set = set.and_then(|key| {
                store.set(&key, document.to_string().as_bytes().into()).map_err(|e| e.to_string())
            });
            assert!(set.is_ok(), "{key}: {set:?}");
        }
    }
}

/// Returns the entry point of a hierarchy of the draft.
#[must_use]
pub fn entry_point() -> Value {
    json!({
        "zarr_format": "https://purl.org/zarr/spec/core/3.0",
        "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
        "extensions": [],
    })
}

fn v2(random: &mut Random, shape: &[u64], chunk: &[u64], data_type: Type, fill: Value) -> Value {
    let mut dtype = data_type.typestring();
    if let Some(text) = dtype.as_str().filter(|_| random.chance(3)) {
        dtype = json!(text.replace('<', ">"));
    }
    let mut filters = Vec::new();
    if data_type == Type::String {
        filters.push(json!({"id": "vlen-utf8"}));
    } else if let Some((size, _)) = data_type.size() {
        if matches!(data_type, Type::Int16 | Type::Int64) && random.chance(4) {
            filters.push(json!({"id": "delta", "dtype": dtype}));
        }
        if random.chance(4) {
            filters.push(json!({"id": "shuffle", "elementsize": size}));
        }
    }
    if random.chance(8) {
        filters.push(json!({"id": "crc32c"}));
    }
    let compressor = match random.below(7) {
        0 => json!({"id": "zlib", "level": 1}),
        1 => json!({"id": "zstd", "level": 1}),
        2 => json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}),
        3 => json!({"id": "lz4", "acceleration": 1}),
        4 => json!({"id": "bz2", "level": 1}),
        _ => Value::Null,
    };
    json!({
        "zarr_format": 2,
        "shape": shape,
        "chunks": chunk,
        "dtype": dtype,
        "compressor": compressor,
        "fill_value": fill,
        "order": random.one(&["C", "F"]),
        "filters": if filters.is_empty() { Value::Null } else { filters.into() },
        "dimension_separator": random.one(&[".", "/"]),
    })
}

fn draft(random: &mut Random, shape: &[u64], chunk: &[u64], data_type: Type, fill: Value) -> Value {
    let uri = |name: &str| format!("https://purl.org/zarr/spec/codecs/{name}/1.0");
    let mut codecs = Vec::new();
    if data_type.size().is_some_and(|(_, unit)| unit > 1) && random.chance(2) {
        codecs.push(
            json!({"type": uri("endian"), "configuration": {"endian": random.one(&["big", "little"])}}),
        );
    }
    if random.chance(2) {
        codecs.push(json!({"type": uri("gzip"), "configuration": {"level": 1}}));
    }
    json!({
        "shape": shape,
        "data_type": data_type.name(),
        "chunk_grid": {"type": "regular", "chunk_shape": chunk, "separator": random.one(&[".", "/"])},
        "chunk_memory_layout": random.one(&["C", "F"]),
        "fill_value": fill,
        "codecs": codecs,
        "extensions": [],
        "attributes": {},
    })
}

/// The shapes of an array and its parts. Without shards, `chunk` and `inner` are equal.
struct V3Shapes<'a> {
    array: &'a [u64],
    chunk: &'a [u64],
    inner: &'a [u64],
}

fn v3(random: &mut Random, shapes: &V3Shapes<'_>, data_type: Type, fill: Value) -> Value {
    let V3Shapes { array: shape, chunk, inner } = *shapes;
    let rank = shape.len();
    let codecs = if chunk != inner || random.chance(5) {
        let mut codecs = Vec::new();
        let mut inner = inner.to_vec();
        if random.chance(3) {
            let order = random.permutation(rank);
            inner = order.iter().map(|&dimension| inner[dimension]).collect();
            codecs.push(json!({"name": "transpose", "configuration": {"order": order}}));
        }
        let mut inside = chain(random, rank, data_type);
        if random.chance(6) {
            // Nested shards; the innermost chunk has one element along each dimension.
            let innermost = vec![1; rank];
            inside = vec![sharding(random, &innermost, inside)];
        }
        codecs.push(sharding(random, &inner, inside));
        if random.chance(6) {
            codecs.push(json!({"name": "gzip", "configuration": {"level": 1}}));
        }
        codecs
    } else {
        chain(random, rank, data_type)
    };
    let key_encoding = random.one(&["default", "v2"]);
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": data_type.name(),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": key_encoding, "configuration": {"separator": random.one(&[".", "/"])}},
        "fill_value": fill,
        "codecs": codecs,
        "attributes": {},
    })
}

fn sharding(random: &mut Random, inner: &[u64], codecs: Vec<Value>) -> Value {
    let mut index =
        vec![json!({"name": "bytes", "configuration": {"endian": random.one(&["little", "big"])}})];
    if random.chance(2) {
        index.push(json!({"name": "crc32c"}));
    }
    json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": inner,
        "codecs": codecs,
        "index_codecs": index,
        "index_location": random.one(&["start", "end"]),
    }})
}

fn chain(random: &mut Random, rank: usize, data_type: Type) -> Vec<Value> {
    let mut codecs = Vec::new();
    for _ in 0..random.below(3) {
        codecs.push(json!({"name": "transpose", "configuration": {"order": random.permutation(rank)}}));
    }
    codecs.push(match data_type.size() {
        None => json!({"name": "vlen-utf8"}),
        Some((_, 1)) => json!({"name": "bytes"}),
        Some(_) => json!({"name": "bytes", "configuration": {"endian": random.one(&["little", "big"])}}),
    });
    for _ in 0..random.below(3) {
        codecs.push(match random.below(5) {
            0 => json!({"name": "gzip", "configuration": {"level": 1}}),
            1 => json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}}),
            2 => json!({"name": "blosc", "configuration": {
                "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0,
            }}),
            _ => json!({"name": "crc32c"}),
        });
    }
    codecs
}
