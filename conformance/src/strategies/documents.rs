//! Strategies for JSON and metadata documents.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use zarr_spec::{Format, Number, Object, Value};

use super::arb_shape;

/// Generates JSON of any kind: numbers of any size and precision, strings with any characters, members in any order.
pub fn arb_json() -> impl Strategy<Value = Value> + Clone {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        arb_number(),
        ".{0,30}".prop_map(Value::String),
    ];
    leaf.prop_recursive(6, 100, 12, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..30).prop_map(Value::Array),
            vec((".{0,8}", inner), 0..30).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

#[expect(clippy::expect_used, reason = "the pattern matches only numbers")]
fn arb_number() -> impl Strategy<Value = Value> + Clone {
    prop_oneof![
        any::<i128>().prop_map(|value| Number::from(value).into()),
        any::<u64>().prop_map(|value| Number::from(value).into()),
        (-1000_i64..1000).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |value| Number::from_f64(value).map(Value::from)),
        "-?(0|[1-9][0-9]{0,50})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?"
            .prop_map(|text| Number::parse(&text).expect("a number").into()),
    ]
}

/// Generates user attributes of a node: a few members of any kind.
pub fn arb_attributes() -> impl Strategy<Value = Object> + Clone {
    vec((".{0,8}", arb_json()), 0..4).prop_map(|members| members.into_iter().collect())
}

/// Generates valid array documents: `zarr.json` of v3, `.zarray` of v2, and the documents below `meta/` of the draft.
/// They use only names from the specifications themselves. Optional members are sometimes absent, and members with
/// several forms occur in every form.
pub fn arb_metadata(format: Format) -> BoxedStrategy<Value> {
    match format {
        Format::V2 => arb_v2().boxed(),
        Format::V3Draft => arb_draft().boxed(),
        Format::V3 => arb_v3().boxed(),
    }
}

/// Generates an array shape and a chunk shape. All sizes fit in a `u64`.
fn arb_shapes() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
    let shape = prop_oneof![3 => arb_shape(4, 100), 1 => vec(0..=u64::from(u32::MAX), 0..3)];
    shape.prop_flat_map(|shape| {
        let chunks: Vec<_> = shape.iter().map(|&length| 1..=length.clamp(1, 1 << 20)).collect();
        (Just(shape), chunks)
    })
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Object {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn value<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(object(members))
}

fn list(numbers: &[u64]) -> Value {
    numbers.iter().copied().collect()
}

/// Generates the names of a type in v2, the draft and v3, and a fill value.
fn arb_type() -> impl Strategy<Value = ([&'static str; 3], Value)> + Clone {
    let float = || {
        prop_oneof![
            (-1000_i32..1000).prop_map(|number| Value::from(
                Number::from_f64(f64::from(number) / 8.0).unwrap_or(0.into())
            )),
            select(&["NaN", "Infinity", "-Infinity"]).prop_map(Value::from),
        ]
    };
    prop_oneof![
        any::<bool>().prop_map(|fill| (["|b1", "bool", "bool"], fill.into())),
        any::<u8>().prop_map(|fill| (["|u1", "uint8", "uint8"], u64::from(fill).into())),
        any::<i16>().prop_map(|fill| (["<i2", "int16", "int16"], i64::from(fill).into())),
        any::<u32>().prop_map(|fill| (["<u4", "uint32", "uint32"], u64::from(fill).into())),
        any::<i64>().prop_map(|fill| (["<i8", "int64", "int64"], fill.into())),
        any::<u64>().prop_map(|fill| (["<u8", "uint64", "uint64"], fill.into())),
        float().prop_map(|fill| (["<f4", "float32", "float32"], fill)),
        float().prop_map(|fill| (["<f8", "float64", "float64"], fill)),
    ]
}

/// The parts of a document, for all formats.
#[derive(Debug, Clone)]
struct Parts {
    shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    /// The names in v2, the draft and v3.
    data_type: [&'static str; 3],
    fill_value: Value,
    separator: &'static str,
    is_column_major: bool,
    gzip_level: Option<u64>,
    attributes: Option<Object>,
    /// Each choice includes or omits an optional part of a format.
    choices: [bool; 4],
}

fn arb_parts() -> impl Strategy<Value = Parts> {
    let more = (select(&["/", "."]), any::<bool>(), option::of(1..=9_u64));
    (arb_shapes(), arb_type(), more, option::of(arb_attributes()), any::<[bool; 4]>()).prop_map(
        |((shape, chunk_shape), (data_type, fill_value), more, attributes, choices)| {
            let (separator, is_column_major, gzip_level) = more;
            Parts {
                shape,
                chunk_shape,
                data_type,
                fill_value,
                separator,
                is_column_major,
                gzip_level,
                attributes,
                choices,
            }
        },
    )
}

fn arb_v2() -> impl Strategy<Value = Value> {
    arb_parts().prop_map(|parts| {
        let [has_filters, has_separator, is_undefined, _] = parts.choices;
        let gzip = parts.gzip_level.map(|level| value([("id", "gzip".into()), ("level", level.into())]));
        let shuffle = || [value([("id", "shuffle".into()), ("elementsize", 4.into())])].into_iter().collect();
        let fill_value = if is_undefined { Value::Null } else { parts.fill_value };
        let mut document = object([
            ("zarr_format", 2.into()),
            ("shape", list(&parts.shape)),
            ("chunks", list(&parts.chunk_shape)),
            ("dtype", parts.data_type[0].into()),
            ("compressor", gzip.unwrap_or(Value::Null)),
            ("fill_value", fill_value),
            ("order", if parts.is_column_major { "F" } else { "C" }.into()),
            ("filters", if has_filters { shuffle() } else { Value::Null }),
        ]);
        if has_separator {
            document.insert("dimension_separator", parts.separator);
        }
        Value::Object(document)
    })
}

fn arb_draft() -> impl Strategy<Value = Value> {
    arb_parts().prop_map(|parts| {
        let grid = value([
            ("type", "regular".into()),
            ("chunk_shape", list(&parts.chunk_shape)),
            ("separator", parts.separator.into()),
        ]);
        let [has_codecs, has_extension, ..] = parts.choices;
        let skippable = || {
            let uri = "https://example.com/zarr/extensions/remarks/1.0";
            value([("extension", uri.into()), ("must_understand", false.into())])
        };
        let mut document = object([
            ("shape", list(&parts.shape)),
            ("data_type", parts.data_type[1].into()),
            ("chunk_grid", grid),
            ("chunk_memory_layout", if parts.is_column_major { "F" } else { "C" }.into()),
            ("fill_value", parts.fill_value),
            ("extensions", has_extension.then(skippable).into_iter().collect()),
            ("attributes", Value::Object(parts.attributes.unwrap_or_default())),
        ]);
        let uri = "https://purl.org/zarr/spec/codecs/gzip/1.0";
        let gzip = parts
            .gzip_level
            .map(|level| value([("type", uri.into()), ("configuration", value([("level", level.into())]))]));
        if gzip.is_some() || has_codecs {
            document.insert("codecs", gzip.into_iter().collect::<Value>());
        }
        Value::Object(document)
    })
}

fn arb_v3() -> impl Strategy<Value = Value> {
    let with_names = |parts: Parts| {
        let names = option::of(vec(option::of("[a-z]{0,3}"), parts.shape.len()));
        (Just(parts), names, option::of(arb_json()))
    };
    arb_parts().prop_flat_map(with_names).prop_map(|(parts, names, skippable)| {
        let [has_short_names, is_v2_encoding, has_transformers, is_transposed] = parts.choices;
        let named = |name: &str, configuration: Object| match (configuration.is_empty(), has_short_names) {
            (true, true) => name.into(),
            (true, false) => value([("name", name.into())]),
            _ => value([("name", name.into()), ("configuration", Value::Object(configuration))]),
        };
        let order: Vec<u64> = (0..parts.shape.len() as u64).rev().collect();
        let transpose = is_transposed.then(|| named("transpose", object([("order", list(&order))])));
        let bytes = if parts.data_type[2].ends_with('8') || parts.data_type[2] == "bool" {
            named("bytes", Object::new())
        } else {
            let endian = if parts.is_column_major { "big" } else { "little" };
            named("bytes", object([("endian", endian.into())]))
        };
        let gzip = parts.gzip_level.map(|level| named("gzip", object([("level", level.into())])));
        let encoding = if is_v2_encoding { "v2" } else { "default" };
        let mut document = object([
            ("zarr_format", 3.into()),
            ("node_type", "array".into()),
            ("shape", list(&parts.shape)),
            ("data_type", named(parts.data_type[2], Object::new())),
            ("chunk_grid", named("regular", object([("chunk_shape", list(&parts.chunk_shape))]))),
            ("chunk_key_encoding", named(encoding, object([("separator", parts.separator.into())]))),
            ("fill_value", parts.fill_value),
            ("codecs", transpose.into_iter().chain([bytes]).chain(gzip).collect()),
        ]);
        if let Some(attributes) = parts.attributes {
            document.insert("attributes", Value::Object(attributes));
        }
        if has_transformers {
            document.insert("storage_transformers", Value::Array(Vec::new()));
        }
        if let Some(names) = names {
            // The number at the end makes all names different.
            let name = |(number, name): (usize, Option<String>)| {
                name.map_or(Value::Null, |name| format!("{name}{number}").into())
            };
            document.insert("dimension_names", names.into_iter().enumerate().map(name).collect::<Value>());
        }
        if let Some(content) = skippable {
            let member = value([("must_understand", false.into()), ("content", content)]);
            document.insert("com.example.remarks", member);
        }
        Value::Object(document)
    })
}
