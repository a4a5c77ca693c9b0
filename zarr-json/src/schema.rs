//! JSON Schemas (draft 2020-12) of configurations, derived from the structs that they deserialize to.
//!
//! There is no derive macro. A serde type asks its deserializer for a kind of value, and `probe` records this for each
//! member, element and variant. A member is optional if the type accepts an object without it. Bisection finds the
//! range of an integer, so a newtype with `#[serde(try_from = "i64")]` gets its own range. For a type that does not ask
//! for a kind (an untagged enum, a [`Value`]), the schema accepts any value.

mod probe;

use serde::de::DeserializeOwned;

use crate::{DeFault, Number, Object, Value};

use probe::{Asked, Step, ask, give};

/// The maximum depth of a schema, since a type may contain itself.
const MAX_DEPTH: usize = 8;

/// Returns the schema of the JSON that serde deserializes to a `T`. A struct does not accept additional members.
///
/// ```
/// #[derive(serde::Deserialize)]
/// struct Configuration {
///     level: u8,
///     checksum: Option<bool>,
/// }
///
/// let schema = zarr_json::json!({
///     "type": "object",
///     "properties": {
///         "level": {"type": "integer", "minimum": 0, "maximum": 255},
///         "checksum": {"type": ["boolean", "null"]}
///     },
///     "required": ["level"],
///     "additionalProperties": false
/// });
/// assert_eq!(zarr_json::schema::of::<Configuration>(), schema);
/// ```
#[must_use]
pub fn of<T: DeserializeOwned>() -> Value {
    at::<T>(&mut Vec::new())
}

/// Returns the names of the members of `T` if `T` is a struct.
#[must_use]
pub fn members_of<T: DeserializeOwned>() -> Option<&'static [&'static str]> {
    match ask::<T>(&[]) {
        Some(Asked::Struct(members)) => Some(members),
        _ => None,
    }
}

fn at<T: DeserializeOwned>(path: &mut Vec<Step>) -> Value {
    if path.len() > MAX_DEPTH {
        return Value::Bool(true);
    }
    match ask::<T>(path) {
        None | Some(Asked::Anything) => Value::Bool(true),
        Some(Asked::Null) => of_type("null"),
        Some(Asked::Bool) => of_type("boolean"),
        Some(Asked::Integer(least, most)) => integer::<T>(path, least, most),
        Some(Asked::Number) => of_type("number"),
        Some(Asked::Char) => crate::json!({"type": "string", "minLength": 1, "maxLength": 1}),
        Some(Asked::String) => of_type("string"),
        Some(Asked::Option) => or_null(inside::<T>(path, Step::Some)),
        Some(Asked::List) => with_items(of_type("array"), inside::<T>(path, Step::Item)),
        Some(Asked::Tuple(length)) => {
            crate::json!({"type": "array", "minItems": length, "maxItems": length})
        }
        Some(Asked::Map) => of_type("object"),
        Some(Asked::Struct(members)) => object::<T>(path, members),
        Some(Asked::Enum(variants)) => variants_of::<T>(path, variants),
        // Occurs only for a variant of an enum.
        Some(Asked::Unit) => Value::Bool(true),
    }
}

fn inside<T: DeserializeOwned>(path: &mut Vec<Step>, step: Step) -> Value {
    path.push(step);
    let schema = at::<T>(path);
    path.pop();
    schema
}

fn of_type(name: &str) -> Value {
    [("type", name)].into_iter().collect()
}

fn with_items(mut array: Value, items: Value) -> Value {
    if let (Some(members), false) = (array.as_object_mut(), items == Value::Bool(true)) {
        members.insert("items", items);
    }
    array
}

/// Extends the schema to accept null.
fn or_null(mut schema: Value) -> Value {
    if let Some(members) = schema.as_object_mut() {
        if let Some(name) = members.get("type").and_then(Value::as_str).filter(|name| *name != "null") {
            let names: Value = [name, "null"].into_iter().collect();
            members.insert("type", names);
            return schema;
        }
        if let Some(Value::Array(values)) = members.get_mut("enum") {
            values.push(Value::Null);
            return schema;
        }
    }
    if schema == Value::Bool(true) {
        return schema;
    }
    let either = Value::Array(vec![schema, of_type("null")]);
    [("anyOf", either)].into_iter().collect()
}

/// Returns the schema of an integer, with the range of its type or a smaller range around 0 or 1.
fn integer<T: DeserializeOwned>(path: &[Step], least: i128, most: i128) -> Value {
    let takes = |number: i128| takes::<T>(path, &Value::Number(number.into()));
    let mut low = least;
    let mut high = most;
    if let Some(inside) = [0, 1, -1].into_iter().find(|&number| takes(number)) {
        if !takes(least) {
            low = edge(inside, least, takes);
        }
        if !takes(most) {
            high = edge(inside, most, takes);
        }
    }
    crate::json!({"type": "integer", "minimum": (Number::from(low)), "maximum": (Number::from(high))})
}

/// Returns the last accepted number between `inside`, which is accepted, and `outside`, which is not.
fn edge(mut inside: i128, mut outside: i128, takes: impl Fn(i128) -> bool) -> i128 {
    while inside.abs_diff(outside) > 1 {
        // The sum does not overflow, because the numbers have at most 64 bits.
        let middle = (inside + outside).div_euclid(2);
        if takes(middle) { inside = middle } else { outside = middle }
    }
    inside
}

fn object<T: DeserializeOwned>(path: &mut Vec<Step>, members: &[&'static str]) -> Value {
    let properties: Object =
        members.iter().map(|&name| (name.to_owned(), inside::<T>(path, Step::Member(name)))).collect();
    let required: Value = required::<T>(path, &properties).into_iter().collect();
    let mut schema = Object::new();
    schema.insert("type", "object");
    schema.insert("properties", Value::Object(properties));
    if required.as_array().is_some_and(|names| !names.is_empty()) {
        schema.insert("required", required);
    }
    if path.is_empty() || refuses_unknown_members::<T>(path) {
        schema.insert("additionalProperties", false);
    }
    Value::Object(schema)
}

/// Returns the required members of the struct at `path`. Starts without members, and adds each one that serde reports
/// as missing, until serde reports none.
fn required<T: DeserializeOwned>(path: &mut Vec<Step>, properties: &Object) -> Vec<&'static str> {
    let mut names = Vec::new();
    let mut given = Object::new();
    while let Some(Err(DeFault::Missing(name))) = give::<T>(path, &Value::Object(given.clone())) {
        let Some(schema) = properties.get(name).filter(|_| !names.contains(&name)) else { break };
        names.push(name);
        path.push(Step::Member(name));
        let sample = samples(schema).into_iter().find(|sample| takes::<T>(path, sample));
        path.pop();
        given.insert(name, sample.unwrap_or(Value::Null));
    }
    names
}

fn takes<T: DeserializeOwned>(path: &[Step], value: &Value) -> bool {
    matches!(give::<T>(path, value), Some(Ok(())))
}

fn refuses_unknown_members<T: DeserializeOwned>(path: &[Step]) -> bool {
    let unknown: Value = [("no such member", Value::Null)].into_iter().collect();
    matches!(give::<T>(path, &unknown), Some(Err(DeFault::Unknown { .. })))
}

fn variants_of<T: DeserializeOwned>(path: &mut Vec<Step>, variants: &[&'static str]) -> Value {
    let mut names = Vec::new();
    let mut schemas = Vec::new();
    for &name in variants {
        path.push(Step::Variant(name));
        if let Some(Asked::Unit) = ask::<T>(path) {
            names.push(Value::from(name));
        } else {
            let content: Object = [(name.to_owned(), at::<T>(path))].into_iter().collect();
            schemas.push(crate::json!({
                "type": "object", "properties": (Value::Object(content)), "required": [name],
                "additionalProperties": false
            }));
        }
        path.pop();
    }
    if !names.is_empty() || schemas.is_empty() {
        schemas.insert(0, [("enum", Value::Array(names))].into_iter().collect());
    }
    match <[Value; 1]>::try_from(schemas) {
        Ok([schema]) => schema,
        Err(schemas) => [("anyOf", Value::Array(schemas))].into_iter().collect(),
    }
}

/// Returns values that a type with this schema may accept.
fn samples(schema: &Value) -> Vec<Value> {
    let Some(schema) = schema.as_object() else {
        return vec![Value::Null, false.into(), 0.into(), 1.into(), "a".into(), empty_list(), empty_object()];
    };
    if let Some(either) = schema.get("anyOf").and_then(Value::as_array) {
        return either.iter().flat_map(samples).collect();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.to_vec();
    }
    let named = schema.get("type");
    let name = named.and_then(Value::as_array).and_then(<[Value]>::first).or(named).and_then(Value::as_str);
    match name {
        Some("boolean") => vec![false.into()],
        Some("integer" | "number") => {
            schema.get("minimum").into_iter().cloned().chain([0.into(), 1.into()]).collect()
        }
        Some("string") => vec!["a".into(), "".into(), "0".into(), "/".into()],
        Some("array") => {
            let item = schema.get("items").map_or_else(|| vec!["a".into(), 0.into()], samples);
            let length =
                schema.get("minItems").and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
            let lists = item.into_iter().map(|item| Value::Array(vec![item; length.unwrap_or(1)]));
            [empty_list()].into_iter().chain(lists).collect()
        }
        Some("object") => vec![sample_object(schema)],
        _ => vec![Value::Null],
    }
}

fn sample_object(schema: &Object) -> Value {
    let names = schema.get("required").and_then(Value::as_array).unwrap_or_default();
    let member = |name: &Value| {
        let name = name.as_str()?;
        let sample = samples(schema.get("properties")?.as_object()?.get(name)?).into_iter().next()?;
        Some((name.to_owned(), sample))
    };
    Value::Object(names.iter().filter_map(member).collect())
}

fn empty_list() -> Value {
    Value::Array(Vec::new())
}

fn empty_object() -> Value {
    Value::Object(Object::new())
}

/// Describes the values that `schema` accepts at the JSON pointer `path`, such as `an integer from 0 to 9`. `None` if
/// it accepts any value.
#[must_use]
pub fn expectation(schema: &Value, path: &str) -> Option<String> {
    let place = path.split('/').skip(1).try_fold(schema, |schema, step| {
        let schema = schema.as_object()?;
        let named = step.replace("~1", "/").replace("~0", "~");
        let member = schema.get("properties").and_then(|members| members.as_object()?.get(&named));
        member.or_else(|| schema.get("items"))
    });
    describe(place?)
}

/// Describes a schema of [`of`] in words, such as `an integer from 0 to 9`. `None` if it accepts any value.
#[must_use]
pub fn describe(schema: &Value) -> Option<String> {
    let schema = schema.as_object()?;
    if let Some(either) = schema.get("anyOf").and_then(Value::as_array) {
        return Some(either.iter().map(describe).collect::<Option<Vec<_>>>()?.join(" or "));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        return Some(match values.as_slice() {
            [one] => one.clone(),
            _ => format!("one of {}", values.join(", ")),
        });
    }
    let named = schema.get("type");
    let names = named.map(|named| named.as_array().unwrap_or(std::slice::from_ref(named)))?;
    let names = names.iter().map(|name| noun(schema, name.as_str()?)).collect::<Option<Vec<_>>>()?;
    Some(names.join(" or "))
}

fn noun(schema: &Object, name: &str) -> Option<String> {
    Some(match name {
        "integer" => integers(schema.get("minimum")?, schema.get("maximum")?),
        "number" => "a number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "string" if schema.contains("maxLength") => "one character".to_owned(),
        "string" => "a string".to_owned(),
        "array" => match schema.get("minItems") {
            Some(length) => format!("an array of {length}"),
            None => "an array".to_owned(),
        },
        "object" => "an object".to_owned(),
        other => other.to_owned(),
    })
}

/// Describes an integer. The limits of 64-bit types are omitted.
fn integers(least: &Value, most: &Value) -> String {
    let is_open = |most: &Value| [Value::from(u64::MAX), Value::from(i64::MAX)].contains(most);
    match (*least == Value::from(i64::MIN), is_open(most)) {
        (true, true) => "an integer".to_owned(),
        (false, true) => format!("an integer from {least} on"),
        (_, false) => format!("an integer from {least} to {most}"),
    }
}

#[cfg(test)]
mod tests;
