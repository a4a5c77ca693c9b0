//! `attributes.json` of N5 as `zarr.json`.

use zarr_plugin_kit::json::{self, Object, ParseOptions, Value};
use zarr_spec::Bytes;
use zarr_spec::json;

/// The document of a group without attributes.
pub(crate) const GROUP: &[u8] = br#"{"zarr_format":3,"node_type":"group"}"#;

/// The data types of N5.
pub(crate) const DATA_TYPES: [&str; 10] =
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"];

/// The members of documents that are not attributes.
pub(crate) const RESERVED: [&str; 6] =
    [DIMENSIONS, BLOCK_SIZE, DATA_TYPE, COMPRESSION, COMPRESSION_TYPE, VERSION];

/// The member with the names of dimensions, as TensorStore spells it.
pub(crate) const AXES: &str = "axes";

/// The members that describe an array.
const DIMENSIONS: &str = "dimensions";
const BLOCK_SIZE: &str = "blockSize";
const DATA_TYPE: &str = "dataType";
const COMPRESSION: &str = "compression";
/// The compression in documents of N5 1.0.
const COMPRESSION_TYPE: &str = "compressionType";

/// The member with the version of N5 in the root.
pub(crate) const VERSION: &str = "n5";

/// The gzip level that a document means with the level `-1`.
const DEFAULT_GZIP_LEVEL: i64 = 6;

/// Returns whether a document describes an array.
pub(crate) fn is_array(document: &[u8]) -> bool {
    parse(document).is_ok_and(|members| members.contains(DIMENSIONS) && members.contains(DATA_TYPE))
}

/// Converts an `attributes.json` to a `zarr.json`.
///
/// # Errors
///
/// The reason why it is not a document of N5.
pub(crate) fn convert(document: &[u8]) -> Result<Bytes, String> {
    let converted = zarr_of(parse(document)?)?;
    json::to_vec(&Value::Object(converted)).map(Bytes::from).map_err(|error| error.to_string())
}

/// Converts the members of an `attributes.json` to the members of a `zarr.json`.
///
/// # Errors
///
/// The reason why the members are not a document of N5.
pub(crate) fn zarr_of(mut members: Object) -> Result<Object, String> {
    let is_array = members.contains(DIMENSIONS) && members.contains(DATA_TYPE);
    check_version(members.remove(VERSION))?;
    let mut converted = Object::new();
    converted.insert("zarr_format", 3);
    converted.insert("node_type", if is_array { "array" } else { "group" });
    if is_array {
        add_array(&mut members, &mut converted)?;
    }
    if !members.is_empty() {
        converted.insert("attributes", members);
    }
    Ok(converted)
}

/// Parses a document.
///
/// # Errors
///
/// If it is not an object in JSON.
pub(crate) fn parse(document: &[u8]) -> Result<Object, String> {
    let parsed = json::parse(document, &ParseOptions::default()).map_err(|error| error.to_string())?;
    match parsed.value {
        Value::Object(members) => Ok(members),
        other => Err(format!("expected an object, found {}", other.kind_name())),
    }
}

/// Refuses versions of N5 after 4, which may store blocks differently.
fn check_version(version: Option<Value>) -> Result<(), String> {
    let Some(version) = version else { return Ok(()) };
    let text = version.as_str().ok_or("`n5` is not a string with the version")?;
    let major = text.split('.').next().unwrap_or_default().parse::<u32>();
    match major {
        Ok(0..=4) => Ok(()),
        _ => Err(format!("version `{text}` of N5 is unknown; expected at most 4")),
    }
}

/// Moves the members of an array to `converted`.
fn add_array(members: &mut Object, converted: &mut Object) -> Result<(), String> {
    let missing = |name: &str| format!("`{name}` is missing");
    let shape = members.remove(DIMENSIONS).ok_or_else(|| missing(DIMENSIONS))?;
    let blocks = members.remove(BLOCK_SIZE).ok_or_else(|| missing(BLOCK_SIZE))?;
    let data_type = members.remove(DATA_TYPE).ok_or_else(|| missing(DATA_TYPE))?;
    let rank = shape.as_array().ok_or("`dimensions` is not an array")?.len();
    if let Some(names) = axes(members, rank) {
        members.remove(AXES);
        converted.insert("dimension_names", names);
    }
    let mut codecs = vec![transpose(rank), bytes(&data_type)];
    codecs.extend(compression(members, &data_type)?);
    converted.insert("shape", shape);
    converted.insert("data_type", data_type);
    converted.insert("chunk_grid", json!({"name": "regular", "configuration": {"chunk_shape": blocks}}));
    converted.insert("chunk_key_encoding", json!({"name": "v2", "configuration": {"separator": "/"}}));
    converted.insert("fill_value", 0);
    converted.insert("codecs", vec![json!({"name": "n5_default", "configuration": {"codecs": codecs}})]);
    Ok(())
}

/// Returns the names of dimensions, if the member has a text for each dimension, and at least one text is not empty.
fn axes(members: &Object, rank: usize) -> Option<Value> {
    let axes = members.get(AXES)?.as_array().filter(|axes| axes.len() == rank)?;
    let texts: Option<Vec<&str>> = axes.iter().map(Value::as_str).collect();
    let texts = texts.filter(|texts| texts.iter().any(|text| !text.is_empty()))?;
    let name = |text: &str| if text.is_empty() { Value::Null } else { Value::from(text) };
    Some(texts.into_iter().map(name).collect())
}

fn transpose(rank: usize) -> Value {
    let order: Value = (0..rank).rev().collect();
    json!({"name": "transpose", "configuration": {"order": order}})
}

fn bytes(data_type: &Value) -> Value {
    match data_type.as_str() {
        Some("int8" | "uint8") => json!({"name": "bytes"}),
        _ => json!({"name": "bytes", "configuration": {"endian": "big"}}),
    }
}

/// Removes the compression from the members and returns its codec, if it has one.
fn compression(members: &mut Object, data_type: &Value) -> Result<Option<Value>, String> {
    let compression = match (members.remove(COMPRESSION), members.remove(COMPRESSION_TYPE)) {
        (Some(Value::Object(compression)), _) => compression,
        (Some(name @ Value::String(_)), _) | (None, Some(name)) => Object::from([("type", name)]),
        (Some(other), _) => return Err(format!("`compression` is not an object: {other}")),
        (None, None) => return Err("`compression` is missing".to_owned()),
    };
    let name = compression.get("type").and_then(Value::as_str).ok_or("`type` of `compression` is missing")?;
    let number = |name: &str, default: i64| match compression.get(name) {
        None => Ok(default),
        Some(value) => value.as_i64().ok_or_else(|| format!("`{name}` of `compression` is not an integer")),
    };
    Ok(Some(match name {
        "raw" => return Ok(None),
        "gzip" => {
            let level = Some(number("level", -1)?).filter(|level| *level >= 0).unwrap_or(DEFAULT_GZIP_LEVEL);
            let is_zlib = compression.get("useZlib").and_then(Value::as_bool).unwrap_or(false);
            let name = if is_zlib { "numcodecs.zlib" } else { "gzip" };
            json!({"name": name, "configuration": {"level": level}})
        }
        "bzip2" => {
            json!({"name": "numcodecs.bz2", "configuration": {"level": (number("blockSize", 9)?)}})
        }
        "xz" => {
            let preset = number("preset", 6)?;
            let configuration = json!({"format": 1, "check": -1, "preset": preset, "filters": null});
            json!({"name": "numcodecs.lzma", "configuration": configuration})
        }
        "zstd" => {
            json!({"name": "zstd", "configuration": {"level": (number("level", 3)?), "checksum": false}})
        }
        "blosc" => blosc(&compression, data_type, number)?,
        "lz4" => json!({"name": "n5.lz4", "configuration": {"blockSize": (number("blockSize", 65536)?)}}),
        other => json!({"name": (format!("n5.{other}")), "configuration": compression}),
    }))
}

fn blosc(
    compression: &Object,
    data_type: &Value,
    number: impl Fn(&str, i64) -> Result<i64, String>,
) -> Result<Value, String> {
    let name = compression.get("cname").and_then(Value::as_str).unwrap_or("blosclz");
    let shuffle = match number("shuffle", 0)? {
        0 => "noshuffle",
        1 => "shuffle",
        2 => "bitshuffle",
        other => return Err(format!("`shuffle` of `compression` is {other}; expected 0, 1 or 2")),
    };
    let level = number("clevel", 6)?;
    let block = number("blocksize", 0)?;
    let bits = data_type.as_str().unwrap_or_default().trim_start_matches(|one: char| !one.is_ascii_digit());
    let size = bits.parse::<i64>().map_or(1, |bits| (bits / 8).max(1));
    let configuration =
        json!({"cname": name, "clevel": level, "shuffle": shuffle, "typesize": size, "blocksize": block});
    Ok(json!({"name": "blosc", "configuration": configuration}))
}
