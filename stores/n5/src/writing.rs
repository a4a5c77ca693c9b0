//! `zarr.json` as `attributes.json` of N5.

use zarr_plugin_kit::json::{Object, Value};
use zarr_spec::json;

use crate::document::{AXES, DATA_TYPES, RESERVED, VERSION, zarr_of};

/// The version of N5 in the document of a root.
const WRITTEN_VERSION: &str = "4.0.0";

/// The level of bzip2, and the preset of xz, that writers use by default.
const DEFAULT_BZIP2_LEVEL: i64 = 9;
const DEFAULT_XZ_PRESET: i64 = 6;

/// The form of the codecs and chunk keys in a document of Zarr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The document describes blocks of N5.
    N5,
    /// Any other form, from which only the compression is taken.
    Any,
}

/// Returns the document of a group without attributes.
pub(crate) fn empty_group(is_root: bool) -> Vec<u8> {
    let mut members = Object::new();
    if is_root {
        members.insert(VERSION, WRITTEN_VERSION);
    }
    Value::Object(members).to_string().into_bytes()
}

/// Converts a document of Zarr to a document of N5. `is_root` adds the version of N5.
///
/// # Errors
///
/// Everything that N5 cannot express.
pub(crate) fn n5_of(document: &Value, is_root: bool) -> Result<Object, String> {
    let members = node(document)?;
    let mut converted = match members.get("node_type").and_then(Value::as_str) {
        Some("array") => array(members, Form::N5)?,
        _ => group(members)?,
    };
    if is_root {
        converted.insert(VERSION, WRITTEN_VERSION);
    }
    Ok(converted)
}

/// Returns the document of an array with the same elements, whose chunks are blocks of N5; `None` if the chunks of
/// `document` are blocks of N5 already.
///
/// # Errors
///
/// Everything that N5 cannot express.
pub(crate) fn adapted(document: &Value) -> Result<Option<Value>, String> {
    let members = node(document)?;
    if array(members, Form::N5).is_ok() {
        return Ok(None);
    }
    zarr_of(array(members, Form::Any)?).map(|adapted| Some(Value::Object(adapted)))
}

fn node(document: &Value) -> Result<&Object, String> {
    document.as_object().ok_or_else(|| "its document is not an object".to_owned())
}

fn group(members: &Object) -> Result<Object, String> {
    let mut problems = Vec::new();
    let attributes = attributes(members, &mut problems);
    for (name, value) in members {
        match name {
            "zarr_format" | "node_type" | "attributes" => {}
            "consolidated_metadata" if value.is_null() => {}
            other => problems.push(format!("N5 does not have `{other}`")),
        }
    }
    done(attributes, problems)
}

fn array(members: &Object, form: Form) -> Result<Object, String> {
    let mut problems = Vec::new();
    let mut converted = attributes(members, &mut problems);
    let shape = members.get("shape").and_then(Value::as_array).unwrap_or_default();
    if shape.is_empty() {
        problems.push("N5 does not have arrays without dimensions".to_owned());
    }
    let data_type = members.get("data_type").and_then(Value::as_str).unwrap_or_default();
    if !DATA_TYPES.contains(&data_type) {
        let found = members.get("data_type").map_or_else(String::new, ToString::to_string);
        problems.push(format!("N5 does not have the data type {found}"));
    }
    if !members.get("fill_value").is_some_and(is_zero) {
        let found = members.get("fill_value").map_or_else(String::new, ToString::to_string);
        problems.push(format!("missing blocks of N5 are 0, and the fill value is {found}"));
    }
    let names = dimension_names(members, &mut converted, shape.len());
    problems.extend(names.err());
    let blocks = block_size(members);
    let compression = compression(members, form, shape.len(), data_type);
    problems.extend([blocks.as_ref().err(), compression.as_ref().err()].into_iter().flatten().cloned());
    for (name, value) in members {
        let is_known = [
            "zarr_format",
            "node_type",
            "shape",
            "data_type",
            "chunk_grid",
            "chunk_key_encoding",
            "fill_value",
            "codecs",
            "attributes",
            "dimension_names",
        ];
        let is_empty = value.as_array().is_some_and(<[Value]>::is_empty);
        if !is_known.contains(&name) && !is_empty {
            problems.push(format!("N5 does not have `{name}`"));
        }
    }
    converted.insert("dimensions", shape.iter().cloned().collect::<Value>());
    converted.insert("blockSize", blocks.unwrap_or(Value::Null));
    converted.insert("dataType", data_type);
    converted.insert("compression", compression.unwrap_or(Value::Null));
    done(converted, problems)
}

fn done(converted: Object, problems: Vec<String>) -> Result<Object, String> {
    if problems.is_empty() { Ok(converted) } else { Err(problems.join("; ")) }
}

/// Returns the attributes, which are members of the document in N5.
fn attributes(members: &Object, problems: &mut Vec<String>) -> Object {
    let attributes = members.get("attributes").and_then(Value::as_object).cloned().unwrap_or_default();
    let reserved = RESERVED.iter().filter(|name| attributes.contains(name));
    problems.extend(reserved.map(|name| format!("the attribute `{name}` is a member of N5's documents")));
    attributes
}

/// Returns whether a fill value is 0, the value of missing blocks. Minus zero is not.
fn is_zero(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.to_bits() == 0)
}

/// Adds the names of dimensions as `axes`, as TensorStore does.
fn dimension_names(members: &Object, converted: &mut Object, rank: usize) -> Result<(), String> {
    let names = members.get("dimension_names").and_then(Value::as_array).unwrap_or_default();
    let texts: Vec<&str> = names.iter().map(|name| name.as_str().unwrap_or_default()).collect();
    if names.iter().any(|name| name.as_str() == Some("")) {
        return Err("N5 does not have dimensions with an empty name".to_owned());
    }
    let is_unnamed = texts.iter().all(|text| text.is_empty());
    if let Some(axes) = converted.get(AXES) {
        let would_be_names = axes
            .as_array()
            .is_some_and(|axes| axes.len() == rank && axes.iter().all(|axis| axis.as_str().is_some()));
        return match would_be_names || !is_unnamed {
            true => Err(format!("the attribute `{AXES}` names dimensions in N5")),
            false => Ok(()),
        };
    }
    if !is_unnamed {
        converted.insert(AXES, texts.into_iter().map(Value::from).collect::<Value>());
    }
    Ok(())
}

fn block_size(members: &Object) -> Result<Value, String> {
    let grid = members.get("chunk_grid").map(entry);
    let Some(("regular", Some(configuration))) = grid else {
        return Err("N5 does not have chunks of different sizes".to_owned());
    };
    let shape = configuration.get("chunk_shape").cloned();
    shape.ok_or_else(|| "`chunk_shape` is missing".to_owned())
}

/// Returns the name and the configuration of an extension.
fn entry(document: &Value) -> (&str, Option<&Object>) {
    let members = document.as_object();
    let name = document.as_str().or_else(|| members?.get("name")?.as_str());
    (name.unwrap_or_default(), members.and_then(|members| members.get("configuration")?.as_object()))
}

/// Returns the compression of N5 for the codecs of an array.
fn compression(members: &Object, form: Form, rank: usize, data_type: &str) -> Result<Value, String> {
    let codecs = members.get("codecs").and_then(Value::as_array).unwrap_or_default();
    let inner = match codecs {
        [only] if entry(only).0 == "n5_default" => {
            entry(only).1.and_then(|configuration| configuration.get("codecs")).and_then(Value::as_array)
        }
        _ => None,
    };
    match (form, inner) {
        (Form::Any, inner) => {
            let codecs = inner.unwrap_or(codecs);
            let compressions =
                codecs.iter().filter(|codec| !["transpose", "bytes"].contains(&entry(codec).0));
            single(compressions.collect())
        }
        (Form::N5, None) => Err("its codecs are not those of N5: expected `n5_default`".to_owned()),
        (Form::N5, Some(inner)) => {
            let keys = members.get("chunk_key_encoding").map(entry);
            let has_keys = keys.is_some_and(|(name, configuration)| {
                let separator = configuration.and_then(|configuration| configuration.get("separator"));
                name == "v2" && separator.and_then(Value::as_str) == Some("/")
            });
            if !has_keys {
                return Err(
                    "its chunk keys are not those of N5: expected `v2` with the separator `/`".to_owned()
                );
            }
            in_n5(inner, rank, data_type)
        }
    }
}

/// Returns the compression in the codecs of `n5_default`.
fn in_n5(codecs: &[Value], rank: usize, data_type: &str) -> Result<Value, String> {
    let wrong = || "the codecs in `n5_default` are not those of N5".to_owned();
    let [transpose, bytes, compressions @ ..] = codecs else { return Err(wrong()) };
    let order = entry(transpose).1.and_then(|configuration| configuration.get("order")?.as_array());
    let order: Option<Vec<u64>> = order.map(|order| order.iter().filter_map(Value::as_u64).collect());
    let reversed: Vec<u64> = (0..rank as u64).rev().collect();
    let endian = entry(bytes).1.and_then(|configuration| configuration.get("endian")?.as_str());
    let is_big = endian == Some("big") || ["int8", "uint8"].contains(&data_type);
    let has_form = entry(transpose).0 == "transpose" && entry(bytes).0 == "bytes" && is_big;
    if !has_form || order != Some(reversed) {
        return Err(wrong());
    }
    single(compressions.iter().collect())
}

fn single(codecs: Vec<&Value>) -> Result<Value, String> {
    match codecs[..] {
        [] => Ok(json!({"type": "raw"})),
        [codec] => {
            let (name, configuration) = entry(codec);
            compression_of(name, configuration.unwrap_or(&Object::new()))
        }
        _ => {
            let names: Vec<_> = codecs.iter().map(|codec| format!("`{}`", entry(codec).0)).collect();
            Err(format!("N5 has one compression, and the codecs are {}", names.join(", ")))
        }
    }
}

/// Returns the compression of N5 for a codec.
fn compression_of(name: &str, configuration: &Object) -> Result<Value, String> {
    let number =
        |member: &str, default: i64| configuration.get(member).and_then(Value::as_i64).unwrap_or(default);
    let text = |member: &str| configuration.get(member).and_then(Value::as_str);
    Ok(match name {
        "gzip" => json!({"type": "gzip", "useZlib": false, "level": (number("level", -1))}),
        "numcodecs.zlib" => json!({"type": "gzip", "useZlib": true, "level": (number("level", -1))}),
        "numcodecs.bz2" => {
            json!({"type": "bzip2", "blockSize": (number("level", DEFAULT_BZIP2_LEVEL))})
        }
        "numcodecs.lzma" => {
            let has_filters = configuration.get("filters").is_some_and(|filters| !filters.is_null());
            if number("format", 1) != 1 || has_filters {
                return Err(
                    "N5 has xz without filters, and not the other forms of `numcodecs.lzma`".to_owned()
                );
            }
            json!({"type": "xz", "preset": (number("preset", DEFAULT_XZ_PRESET))})
        }
        "n5.lz4" => json!({"type": "lz4", "blockSize": (number("blockSize", 65536))}),
        "zstd" => json!({"type": "zstd", "level": (number("level", 3))}),
        "blosc" => {
            let shuffle = match text("shuffle") {
                None | Some("noshuffle") => 0,
                Some("shuffle") => 1,
                Some("bitshuffle") => 2,
                Some(other) => return Err(format!("N5 does not have the shuffle `{other}` of blosc")),
            };
            json!({
                "type": "blosc", "cname": (text("cname").unwrap_or("lz4")), "clevel": (number("clevel", 5)),
                "shuffle": shuffle, "blocksize": (number("blocksize", 0))
            })
        }
        other => {
            return Err(format!(
                "N5 does not have the codec `{other}`; expected one of gzip, numcodecs.zlib, numcodecs.bz2, \
                 numcodecs.lzma, zstd, blosc, n5.lz4 or none"
            ));
        }
    })
}
