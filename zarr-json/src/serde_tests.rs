//! Tests of serde types: deserialization and serialization.

use std::collections::{BTreeMap, HashMap};

use serde::de::IntoDeserializer;
use serde::de::value::{Error as PlainError, MapDeserializer, SeqDeserializer};
use serde::{Deserialize, Serialize};

use super::*;

fn read(text: &str) -> Value {
    parse(text.as_bytes(), &ParseOptions { bare_non_finite: true, ..Default::default() }).unwrap().value
}

fn from<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    from_value(&read(text)).map_err(|error| error.to_string())
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Outer {
    configuration: Inner,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    codecs: Vec<Kind>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Inner {
    level: u32,
    scale: Option<f64>,
    fill_value: Value,
    #[serde(default)]
    attributes: Object,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Plain,
    Level(i8),
    Pair(u64, String),
    Named { order: Vec<usize> },
}

#[test]
fn structs_and_enums_are_read_and_written() {
    let text = r#"{"configuration":{"level":5,"scale":2,"fill_value":-0.0,"attributes":{"x":[1e400,1.50]}},
        "codecs":["plain",{"level":-1},{"pair":[18446744073709551615,"a"]},{"named":{"order":[1,0]}}]}"#;
    let outer: Outer = from(text).unwrap();
    assert_eq!(outer.configuration.scale, Some(2.0));
    let kinds = [
        Kind::Plain,
        Kind::Level(-1),
        Kind::Pair(u64::MAX, "a".to_owned()),
        Kind::Named { order: vec![1, 0] },
    ];
    assert_eq!(outer.codecs, kinds);
    let expected = read(&text.replace("\"scale\":2,", "\"scale\":2.0,"));
    assert_eq!(to_value(&outer).unwrap().to_string(), expected.to_string());
}

#[test]
fn values_inside_types_preserve_the_text_of_numbers() {
    let text = r#"{"configuration":{"level":0,"scale":null,"fill_value":[1e3,1E+3,-0,0.10,1e400,NaN,
        123456789012345678901234567890123456789012345678901234567890],"attributes":{"a":{"b":[10.000]}}}}"#;
    let inner = from::<Outer>(text).unwrap().configuration;
    let expected = read(text);
    let expected = expected.as_object().unwrap().get("configuration").unwrap().as_object().unwrap();
    assert_eq!(inner.fill_value.to_string(), expected.get("fill_value").unwrap().to_string());
    assert_eq!(inner.attributes.to_string(), expected.get("attributes").unwrap().to_string());
    let number: Number = from("1.50").unwrap();
    assert_eq!(to_value(&BTreeMap::from([("a", number)])).unwrap().to_string(), r#"{"a":1.50}"#);
}

#[test]
fn no_member_is_mistaken_for_a_number() {
    for text in [r#"{"zarr_json::Value":"1"}"#, r#"{"zarr_json::Number":"1"}"#] {
        assert_eq!(from::<Value>(text).unwrap(), read(text));
        assert_eq!(to_value(&read(text)).unwrap(), read(text));
    }
}

#[test]
fn errors_name_the_place_and_the_reason() {
    let outer = |text: &str| from::<Outer>(text).unwrap_err();
    assert_eq!(
        outer(r#"{"configuration":{"level":"a","fill_value":0}}"#),
        "at /configuration/level: invalid type: string \"a\", expected u32"
    );
    assert_eq!(outer(r#"{"configuration":{"level":1}}"#), "at /configuration: `fill_value` is missing");
    assert!(
        outer(r#"{"configuration":{"levle":1}}"#)
            .starts_with("at /configuration: unknown member `levle` (did you mean `level`?), expected")
    );
    assert_eq!(outer("{}"), "`configuration` is missing");
    assert_eq!(outer("[{}]"), "invalid type: sequence, expected struct Outer");
    let codecs = |codec: &str| {
        outer(&format!(r#"{{"configuration":{{"level":1,"fill_value":0}},"codecs":["plain",{codec}]}}"#))
    };
    assert_eq!(codecs("null"), "at /codecs/1: invalid type: null, expected a string or an object");
    assert_eq!(codecs("7"), "at /codecs/1: invalid type: number, expected a string or an object");
    assert!(codecs("\"none\"").starts_with("at /codecs/1: unknown value `none`, expected one of"));
    assert_eq!(
        codecs("\"level\""),
        "at /codecs/1: invalid type: string \"level\", expected an object with one member"
    );
    assert_eq!(codecs("{\"plain\":null}"), "at /codecs/1: invalid type: map, expected a string");
    assert_eq!(codecs("{}"), "at /codecs/1: invalid value: map, expected an object with one member");
    assert_eq!(
        codecs(r#"{"level":1,"plain":2}"#),
        "at /codecs/1: invalid value: map, expected an object with one member"
    );
    assert_eq!(codecs("{\"level\":128}"), "at /codecs/1/level: invalid value: integer `128`, expected i8");
    assert!(codecs(r#"{"named":[[0]]}"#).starts_with("at /codecs/1/named: invalid type: sequence"));
    assert_eq!(
        codecs(r#"{"named":{"order":[0,-1]}}"#),
        "at /codecs/1/named/order/1: invalid value: integer `-1`, expected usize"
    );
    let maps = from::<HashMap<String, u8>>(r#"{"a/b~":"x"}"#).unwrap_err();
    assert_eq!(maps, "at /a~1b~0: invalid type: string \"x\", expected u8");
}

#[test]
fn integers_are_read_from_integer_texts_only() {
    assert_eq!(from::<i32>("42"), Ok(42));
    for text in
        ["42.0", "4.2e1", "42e0", "\"42\"", "true", "null", "[42]", "\"0x2a\"", "NaN", "1e400", "-0.0"]
    {
        assert!(from::<i32>(text).is_err(), "{text}");
        assert!(from::<u64>(text).is_err(), "{text}");
    }
    assert_eq!(from::<u32>("-0"), Ok(0));
    assert_eq!(from::<u64>("18446744073709551615"), Ok(u64::MAX));
    assert_eq!(from::<i64>("-9223372036854775808"), Ok(i64::MIN));
    assert_eq!(from::<i128>("-170141183460469231731687303715884105728"), Ok(i128::MIN));
    assert_eq!(from::<u128>("340282366920938463463374607431768211455"), Ok(u128::MAX));
    for text in ["18446744073709551616", "-1", "340282366920938463463374607431768211456"] {
        assert!(from::<u64>(text).is_err(), "{text}");
    }
}

#[test]
fn floats_are_read_from_every_number_in_their_range() {
    assert_eq!(from::<f64>("3"), Ok(3.0));
    assert_eq!(from::<f64>("1e3"), Ok(1000.0));
    assert_eq!(from::<f64>("-0").map(f64::to_bits), Ok((-0.0_f64).to_bits()));
    assert_eq!(from::<f64>("18446744073709551615"), Ok(18446744073709551616.0));
    assert_eq!(from::<f32>("16777217.0000000001"), Ok(16777218.0));
    for text in ["1e400", "NaN", "-Infinity"] {
        let message = format!("invalid value: number `{text}` is out of range, expected f64");
        assert_eq!(from::<f64>(text), Err(message));
    }
    assert!(from::<f32>("1e39").is_err());
    assert!(from::<f64>("\"1\"").is_err());
}

#[test]
fn tuples_options_and_newtypes_are_read() {
    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    struct Level(u8);
    assert_eq!(from::<(u8, String)>("[1,\"a\"]"), Ok((1, "a".to_owned())));
    assert_eq!(from::<(u8, u8)>("[1]"), Err("invalid length 1, expected a tuple of size 2".to_owned()));
    assert_eq!(from::<(u8, u8)>("[1,2,3]"), Err("invalid length 3, expected an array of 2".to_owned()));
    assert_eq!(from::<Option<Level>>("null"), Ok(None));
    assert_eq!(from::<Option<Level>>("7"), Ok(Some(Level(7))));
    assert_eq!(from::<()>("null"), Ok(()));
    assert_eq!(from::<char>("\"é\""), Ok('é'));
    assert_eq!(from_value::<&str>(&Value::from("lent")), Ok("lent"));
    assert_eq!(to_value(&(Level(7), Some('é'), None::<u8>, ())).unwrap().to_string(), "[7,\"é\",null,null]");
}

#[test]
fn values_of_another_kind_are_not_objects_or_numbers() {
    assert_eq!(from::<Object>("[1]").unwrap_err(), "invalid type: sequence, expected an object");
    assert_eq!(from::<Number>("\"1\"").unwrap_err(), "invalid type: string \"1\", expected a number");
}

/// `flatten` and untagged enums buffer content in their own form, with `u64`, `i64` and `f64`.
#[test]
fn values_survive_the_buffers_of_serde() {
    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    struct Flat {
        name: String,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(untagged)]
    enum Either {
        Name(String),
        Full { name: String, fill: Value },
    }
    let text = r#"{"name":"a","i":-5,"f":0.25,"u":18446744073709551615,"o":{"n":null,"l":[true,"é"]}}"#;
    let flat: Flat = from(text).unwrap();
    assert_eq!(to_value(&flat).unwrap(), read(text));
    let full = Either::Full { name: "a".to_owned(), fill: read("[1,1.5]") };
    assert_eq!(from::<Either>(r#"{"name":"a","fill":[1,1.5]}"#), Ok(full));
    assert_eq!(from::<Either>("\"a\""), Ok(Either::Name("a".to_owned())));
}

#[test]
fn values_come_from_other_deserializers() {
    let deserialize =
        |items: Vec<f64>| Value::deserialize(SeqDeserializer::<_, PlainError>::new(items.into_iter()));
    assert_eq!(deserialize(vec![1.0, 0.1]).unwrap(), read("[1.0,0.1]"));
    assert!(deserialize(vec![f64::NAN]).is_err());
    let members = [("a", 1_u64), ("b", u64::MAX), ("zarr_json::Value", 2)];
    let object = Object::deserialize(MapDeserializer::<_, PlainError>::new(members.into_iter())).unwrap();
    assert_eq!(object, members.into_iter().collect());
    let value = Value::deserialize(IntoDeserializer::<PlainError>::into_deserializer("text")).unwrap();
    assert_eq!(value, "text".into());
}

/// Serializes to a [`std::fmt::Formatter`], which prints a number and its text alike. Only `1e3` shows that a number
/// arrived: it is printed as `1000`.
#[test]
fn values_go_to_other_serializers_as_numbers() {
    struct Shown(Value);
    impl std::fmt::Display for Shown {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.0.serialize(f)
        }
    }
    for (text, shown) in [("1e3", "1000"), ("-7", "-7"), ("18446744073709551615", "18446744073709551615")] {
        assert_eq!(Shown(read(text)).to_string(), shown);
    }
}

#[test]
fn unrepresentable_values_are_errors() {
    let message = |result: Result<Value, SerError>| result.unwrap_err().to_string();
    let nan = BTreeMap::from([("a", vec![1.0, f64::NAN])]);
    assert_eq!(message(to_value(&nan)), "at /a/1: JSON cannot represent NaN or infinities");
    assert_eq!(message(to_value(&f32::INFINITY)), "JSON cannot represent NaN or infinities");
    assert_eq!(message(to_value(&read("{\"x\":[NaN]}"))), "at /x/0: JSON cannot represent NaN or infinities");
    let keys = BTreeMap::from([(vec![1], 2)]);
    assert_eq!(message(to_value(&keys)), "an array cannot be the name of a member");
    assert_eq!(to_value(&BTreeMap::from([(-1, true)])).unwrap().to_string(), "{\"-1\":true}");
    assert!(
        message(to_value(&Kind::Pair(0, String::new())).and_then(|_| to_value(&[f64::NAN])))
            .starts_with("at /0: ")
    );
}

/// A value that contains itself: only the depth limit ends its serialization.
#[test]
fn endless_types_are_refused() {
    struct Endless;
    impl Serialize for Endless {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq([Self])
        }
    }
    assert!(to_value(&Endless).unwrap_err().message.contains("nested deeper"));
}

#[typetag::serde(tag = "type")]
trait Store: std::fmt::Debug {
    fn size(&self) -> u64;
}

#[derive(Debug, Serialize, Deserialize)]
struct Wrapper {
    size: u64,
    inner: Option<Box<dyn Store>>,
    options: Value,
}

#[typetag::serde(name = "wrapper")]
impl Store for Wrapper {
    fn size(&self) -> u64 {
        self.size + self.inner.as_ref().map_or(0, |inner| inner.size())
    }
}

#[test]
fn trait_objects_of_typetag_are_read_and_written() {
    let text = r#"{"type":"wrapper","size":18446744073709551000,"inner":
        {"type":"wrapper","size":15,"inner":null,"options":[1,"a"]},"options":{"x":0.5}}"#;
    let store: Box<dyn Store> = from(text).unwrap();
    assert_eq!(store.size(), 18446744073709551015);
    assert_eq!(to_value(&store).unwrap(), read(text));
    let error = from::<Box<dyn Store>>(r#"{"type":"none"}"#).unwrap_err();
    assert!(error.contains("none"), "{error}");
}

#[test]
fn integers_beyond_64_bits_are_exact_or_refused_by_other_formats() {
    for text in ["18446744073709551616", "-9223372036854775809", "340282366920938463463374607431768211455"] {
        assert_eq!(serde_json::to_string(&read(text)).unwrap(), text);
        assert!(serde_json::to_value(read(text)).is_err(), "{text}");
    }
    assert!(serde_json::to_string(&read("340282366920938463463374607431768211456")).is_err());
    assert_eq!(serde_json::to_value(read("18446744073709551615")).unwrap(), u64::MAX);
}

#[test]
fn every_integer_of_serde_json_is_exact_in_both_directions() {
    let number = 9_007_199_254_740_993_u64;
    for text in ["18446744073709551615", "-9223372036854775808", "-1", &number.to_string()] {
        let other: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(to_value(&other).unwrap(), read(text));
        assert_eq!(serde_json::from_value::<Value>(other.clone()).unwrap(), read(text));
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), read(text));
        assert_eq!(serde_json::to_value(read(text)).unwrap(), other);
    }
}
