//! A validator for the subset of JSON Schema (draft 2020-12) that plugins and the pages of `docs/spec` use. The
//! validators on crates.io have dependencies with licenses that `deny.toml` does not allow.

use std::slice;

use zarr_spec::{Number, Object, Value};

/// Returns the violations of `schema` by `instance`; an empty list if the instance is valid. An unknown keyword in the
/// schema is reported, too.
#[must_use]
pub fn problems(schema: &Value, instance: &Value) -> Vec<String> {
    match schema {
        Value::Bool(true) => Vec::new(),
        Value::Object(members) => {
            let all = members.iter();
            all.flat_map(|(keyword, argument)| broken(members, keyword, argument, instance)).collect()
        }
        other => vec![format!("{other} rejects every value")],
    }
}

fn broken(schema: &Object, keyword: &str, argument: &Value, instance: &Value) -> Vec<String> {
    let holds = match keyword {
        "properties" => return of_members(argument, instance),
        "items" => {
            let items = instance.as_array().unwrap_or_default();
            return items.iter().flat_map(|item| problems(argument, item)).collect();
        }
        "type" => list(argument).iter().map(|name| is_of(name.as_str()?, instance)).try_fold(false, either),
        "const" => Some(instance == argument),
        "enum" => argument.as_array().map(|values| values.contains(instance)),
        "anyOf" => argument.as_array().map(|all| all.iter().any(|one| problems(one, instance).is_empty())),
        "minimum" => compare(number(instance), argument, |it, bound| it >= bound),
        "exclusiveMinimum" => compare(number(instance), argument, |it, bound| it > bound),
        "maximum" => compare(number(instance), argument, |it, bound| it <= bound),
        "minLength" => compare(characters(instance), argument, |it, bound| it >= bound),
        "maxLength" => compare(characters(instance), argument, |it, bound| it <= bound),
        "minItems" => compare(items(instance), argument, |it, bound| it >= bound),
        "maxItems" => compare(items(instance), argument, |it, bound| it <= bound),
        "maxProperties" => compare(members(instance), argument, |it, bound| it <= bound),
        "required" => required(argument, instance),
        "additionalProperties" => (*argument == Value::Bool(false)).then(|| has_no_other(schema, instance)),
        _ => None,
    };
    match holds {
        Some(true) => Vec::new(),
        Some(false) => vec![format!("{instance} violates \"{keyword}\": {argument}")],
        None => vec![format!("\"{keyword}\": {argument} is not supported by this validator")],
    }
}

fn of_members(properties: &Value, instance: &Value) -> Vec<String> {
    let members = instance.as_object().into_iter().flat_map(Object::iter);
    let known = members.filter_map(|(name, value)| Some((properties.as_object()?.get(name)?, value)));
    known.flat_map(|(schema, value)| problems(schema, value)).collect()
}

fn required(names: &Value, instance: &Value) -> Option<bool> {
    let has = |name: &Value| {
        let name = name.as_str()?;
        Some(instance.as_object().is_none_or(|members| members.contains(name)))
    };
    names.as_array()?.iter().map(has).try_fold(true, |all, has| Some(all && has?))
}

fn has_no_other(schema: &Object, instance: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_known = |name: &str| properties.is_some_and(|known| known.contains(name));
    instance.as_object().is_none_or(|members| members.keys().all(is_known))
}

/// Returns the entries of `argument` if it is a list, or else `argument` as the only entry: `type` accepts both forms.
fn list(argument: &Value) -> &[Value] {
    argument.as_array().unwrap_or(slice::from_ref(argument))
}

fn either(any: bool, one: Option<bool>) -> Option<bool> {
    Some(any || one?)
}

/// Compares a property of the instance with a bound. True if the keyword does not apply to the instance.
fn compare(instance: Option<f64>, bound: &Value, holds: impl Fn(f64, f64) -> bool) -> Option<bool> {
    let bound = number(bound)?;
    Some(instance.is_none_or(|instance| holds(instance, bound)))
}

fn number(instance: &Value) -> Option<f64> {
    instance.as_number().and_then(Number::as_f64)
}

fn characters(instance: &Value) -> Option<f64> {
    instance.as_str().map(|text| text.chars().count() as f64)
}

fn items(instance: &Value) -> Option<f64> {
    instance.as_array().map(|items| items.len() as f64)
}

fn members(instance: &Value) -> Option<f64> {
    instance.as_object().map(|members| members.len() as f64)
}

/// Checks whether the instance has a type. `None` if no such type exists.
fn is_of(name: &str, instance: &Value) -> Option<bool> {
    Some(match name {
        "integer" => number(instance).is_some_and(|it| it.fract() == 0.0),
        "number" => instance.as_number().is_some(),
        "null" => instance.is_null(),
        "boolean" => matches!(instance, Value::Bool(_)),
        "string" => instance.as_str().is_some(),
        "array" => instance.as_array().is_some(),
        "object" => instance.as_object().is_some(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use zarr_spec::json;

    use super::*;

    #[test]
    fn a_violated_keyword_is_a_problem() {
        let pairs = [
            (json!({"type": "integer"}), json!(1), json!("1")),
            (json!({"type": ["string", "null"]}), json!(null), json!([])),
            (json!({"const": 1}), json!(1), json!(2)),
            (json!({"enum": ["a", null]}), json!(null), json!("b")),
            (json!({"anyOf": [{"type": "null"}, {"minimum": 3}]}), json!(3), json!(2)),
            (json!({"exclusiveMinimum": 0}), json!(1), json!(0)),
            (json!({"maximum": 4}), json!("5"), json!(5)),
            (json!({"minLength": 1, "maxLength": 1}), json!("é"), json!("ab")),
            (json!({"minItems": 1, "maxItems": 2}), json!([1, 2]), json!([])),
            (json!({"maxProperties": 0}), json!({}), json!({"a": 1})),
            (json!({"required": ["a"]}), json!({"a": 1}), json!({"b": 1})),
            (json!({"properties": {"a": {"type": "null"}}}), json!({"b": 1}), json!({"a": 1})),
            (
                json!({"properties": {"a": true}, "additionalProperties": false}),
                json!({"a": 1}),
                json!({"b": 1}),
            ),
            (json!({"items": {"type": "boolean"}}), json!([true]), json!([true, 1])),
        ];
        for (schema, valid, invalid) in pairs {
            assert_eq!(problems(&schema, &valid), [""; 0], "{schema}");
            assert_eq!(problems(&schema, &invalid).len(), 1, "{schema}: {invalid}");
        }
    }

    #[test]
    fn an_unsupported_schema_is_a_problem() {
        for schema in [
            json!({"minimun": 1}),
            json!({"type": "float"}),
            json!({"required": "a"}),
            json!({"additionalProperties": true}),
            json!(false),
            json!("integer"),
        ] {
            assert_eq!(problems(&schema, &json!({})).len(), 1, "{schema}");
        }
    }
}
