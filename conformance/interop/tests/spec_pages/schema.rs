//! As much of JSON Schema (draft 2020-12) as the pages use, which is little. A keyword that is not here is an error of
//! the page: the validators of the registry bring in licences that `deny.toml` does not allow.

use zarr_kit::spec::{Number, Object, Value};

/// What `instance` breaks of `schema`: nothing, if it is valid.
pub(crate) fn problems(schema: &Value, instance: &Value) -> Vec<String> {
    let schema = schema.as_object().unwrap();
    schema.iter().flat_map(|(keyword, argument)| broken(schema, keyword, argument, instance)).collect()
}

fn broken(schema: &Object, keyword: &str, argument: &Value, instance: &Value) -> Vec<String> {
    let complain = |is_fine: bool| match is_fine {
        true => Vec::new(),
        false => vec![format!("{instance} is against \"{keyword}\": {argument}")],
    };
    match keyword {
        "type" => complain(list(argument).iter().any(|name| is_of(name.as_str().unwrap(), instance))),
        "const" => complain(instance == argument),
        "enum" => complain(argument.as_array().unwrap().contains(instance)),
        "minimum" => complain(number(instance).is_none_or(|it| it >= bound(argument))),
        "exclusiveMinimum" => complain(number(instance).is_none_or(|it| it > bound(argument))),
        "maximum" => complain(number(instance).is_none_or(|it| it <= bound(argument))),
        "minItems" => complain(instance.as_array().is_none_or(|it| it.len() as f64 >= bound(argument))),
        "maxItems" => complain(instance.as_array().is_none_or(|it| it.len() as f64 <= bound(argument))),
        "maxProperties" => complain(instance.as_object().is_none_or(|it| it.len() as f64 <= bound(argument))),
        "anyOf" => complain(list(argument).iter().any(|one| problems(one, instance).is_empty())),
        "required" => {
            let names = argument.as_array().unwrap();
            let has =
                |name: &Value| instance.as_object().is_none_or(|it| it.contains(name.as_str().unwrap()));
            complain(names.iter().all(has))
        }
        "properties" => {
            let members = instance.as_object().into_iter().flat_map(Object::iter);
            let known = members.filter_map(|(name, value)| Some((argument.as_object()?.get(name)?, value)));
            known.flat_map(|(schema, value)| problems(schema, value)).collect()
        }
        "additionalProperties" => {
            assert_eq!(*argument, Value::Bool(false), "the pages use no other form");
            let properties = schema.get("properties").and_then(Value::as_object);
            let is_known = |name: &str| properties.is_some_and(|known| known.contains(name));
            complain(instance.as_object().is_none_or(|it| it.keys().all(is_known)))
        }
        "items" => {
            let items = instance.as_array().unwrap_or_default();
            items.iter().flat_map(|item| problems(argument, item)).collect()
        }
        other => panic!("\"{other}\" is no keyword of the pages' schemas"),
    }
}

/// `type` and `anyOf` have a list, or a single value of it.
fn list(argument: &Value) -> &[Value] {
    argument.as_array().unwrap_or(std::slice::from_ref(argument))
}

fn number(instance: &Value) -> Option<f64> {
    instance.as_number().and_then(Number::as_f64)
}

fn bound(argument: &Value) -> f64 {
    number(argument).unwrap()
}

fn is_of(name: &str, instance: &Value) -> bool {
    match name {
        "integer" => number(instance).is_some_and(|it| it.fract() == 0.0),
        "number" => instance.as_number().is_some(),
        "null" => instance.is_null(),
        "boolean" => matches!(instance, Value::Bool(_)),
        "string" => instance.as_str().is_some(),
        "array" => instance.as_array().is_some(),
        "object" => instance.as_object().is_some(),
        other => panic!("\"{other}\" is no type of JSON Schema"),
    }
}
