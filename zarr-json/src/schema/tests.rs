//! Tests of schemas of types, and of descriptions of places in them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Deserialize;

use super::{describe, expectation, of};
use crate::{Number, Object, Value, json};

fn schema_of<T: serde::de::DeserializeOwned>() -> String {
    of::<T>().to_string()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its members count")]
struct Many {
    byte: u8,
    #[serde(default)]
    signed_one: i32,
    #[serde(rename = "other")]
    count: NonZeroU32,
    is_it: Option<bool>,
    ratio: f32,
    letter: char,
    names: Vec<String>,
    pair: [String; 2],
    whatever: Value,
    number: Number,
    object: Object,
    map: BTreeMap<String, u8>,
    location: Option<Location>,
    filter: Filter,
    filters: Vec<Filter>,
    level: Level,
    either: Either,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Location {
    Start,
    #[serde(rename = "at-end")]
    End,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its members count")]
struct Filter {
    id: NonZeroU32,
    preset: Option<u32>,
    inner: Inner,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its members count")]
struct Inner {
    mode: Mode,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its variants count")]
enum Mode {
    Fast,
    Rate(f64),
    Levels { low: u8 },
}

/// A level from -7 to 22, as `try_from` checks.
#[derive(Deserialize)]
#[serde(try_from = "i64")]
struct Level;

impl TryFrom<i64> for Level {
    type Error = String;

    fn try_from(level: i64) -> Result<Self, String> {
        (-7..=22).contains(&level).then_some(Self).ok_or_else(|| "out of range".to_owned())
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its variants count")]
enum Either {
    One(u64),
    Many(Vec<u64>),
}

#[test]
fn the_schema_of_a_struct_reflects_the_types_of_its_members() {
    let schema = of::<Many>();
    let members = schema.as_object().unwrap();
    let properties = members.get("properties").unwrap().as_object().unwrap();
    let of_member = |name: &str| properties.get(name).unwrap().clone();
    assert_eq!(of_member("byte"), json!({"type": "integer", "minimum": 0, "maximum": 255}));
    let low = Number::from(i32::MIN);
    let high = Number::from(i32::MAX);
    assert_eq!(of_member("signedOne"), json!({"type": "integer", "minimum": low, "maximum": high}));
    assert_eq!(of_member("other"), json!({"type": "integer", "minimum": 1, "maximum": (u32::MAX)}));
    assert_eq!(of_member("isIt"), json!({"type": ["boolean", "null"]}));
    assert_eq!(of_member("ratio"), json!({"type": "number"}));
    assert_eq!(of_member("letter"), json!({"type": "string", "minLength": 1, "maxLength": 1}));
    assert_eq!(of_member("names"), json!({"type": "array", "items": {"type": "string"}}));
    assert_eq!(of_member("pair"), json!({"type": "array", "minItems": 2, "maxItems": 2}));
    assert_eq!(of_member("whatever"), Value::Bool(true));
    assert_eq!(of_member("number"), json!({"type": "number"}));
    assert_eq!(of_member("object"), json!({"type": "object"}));
    assert_eq!(of_member("map"), json!({"type": "object"}));
    assert_eq!(of_member("location"), json!({"enum": ["start", "at-end", null]}));
    assert_eq!(of_member("level"), json!({"type": "integer", "minimum": (-7), "maximum": 22}));
    assert_eq!(of_member("either"), Value::Bool(true));
    assert_eq!(members.get("additionalProperties"), Some(&Value::Bool(false)));
}

#[test]
fn members_with_a_default_and_options_are_not_required() {
    let required = of::<Many>();
    let required = required.as_object().unwrap().get("required").unwrap().to_string();
    let all = r#"["byte","other","ratio","letter","names","pair","whatever","number","object","map","filter","filters","level","either"]"#;
    assert_eq!(required, all);
}

#[test]
fn nested_structs_declare_whether_they_accept_other_members() {
    let level = json!({"type": "integer", "minimum": 0, "maximum": 255});
    let content = |name: &'static str, schema: Value| {
        let properties: Value = [(name, schema)].into_iter().collect();
        json!({"type": "object", "properties": properties, "required": [name], "additionalProperties": false})
    };
    let levels = json!({"type": "object", "properties": {"low": level}, "required": ["low"]});
    let rate = content("rate", json!({"type": "number"}));
    let levels = content("levels", levels);
    let filter = json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1, "maximum": (u32::MAX)},
            "preset": {"type": ["integer", "null"], "minimum": 0, "maximum": (u32::MAX)},
            "inner": {
                "type": "object",
                "properties": {"mode": {"anyOf": [{"enum": ["fast"]}, rate, levels]}},
                "required": ["mode"]
            }
        },
        "required": ["id", "inner"],
        "additionalProperties": false
    });
    let schema = of::<Many>();
    let properties = schema.as_object().unwrap().get("properties").unwrap().as_object().unwrap();
    assert_eq!(properties.get("filter"), Some(&filter));
    assert_eq!(properties.get("filters"), Some(&json!({"type": "array", "items": filter})));
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its members count")]
struct Endless {
    next: Option<Box<Endless>>,
}

#[test]
fn a_type_that_contains_itself_is_truncated() {
    assert!(schema_of::<Endless>().contains(r#""next":true"#));
}

#[derive(Deserialize)]
struct Nothing {}

#[test]
fn a_struct_without_members_accepts_none() {
    assert_eq!(schema_of::<Nothing>(), r#"{"type":"object","properties":{},"additionalProperties":false}"#);
}

#[test]
fn expectations_are_described_in_words() {
    let schema = of::<Many>();
    let said = |path: &str| expectation(&schema, path).unwrap_or_default();
    assert_eq!(said("/level"), "an integer from -7 to 22");
    assert_eq!(said("/isIt"), "true or false or null");
    assert_eq!(said("/location"), r#"one of "start", "at-end", null"#);
    assert_eq!(said("/letter"), "one character");
    assert_eq!(said("/pair"), "an array of 2");
    assert_eq!(said("/names"), "an array");
    assert_eq!(said("/names/4"), "a string");
    assert_eq!(said("/filters/0/id"), format!("an integer from 1 to {}", u32::MAX));
    assert_eq!(said("/filters/0/inner"), "an object");
    assert_eq!(said("/filters/0/inner/mode"), r#""fast" or an object or an object"#);
    for of_which_nothing_is_known in ["/whatever", "/whatever/1", "/nowhere"] {
        assert_eq!(said(of_which_nothing_is_known), "");
    }
    let whole = [of::<u64>(), of::<i64>(), of::<u8>()].map(|schema| describe(&schema).unwrap());
    assert_eq!(whole, ["an integer from 0 on", "an integer", "an integer from 0 to 255"]);
}
