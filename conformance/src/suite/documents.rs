//! The rules about identifiers, summaries, examples and configurations, which apply to plugins of every kind.

use std::sync::Arc;

use zarr_spec::host::registry::split_version;
use zarr_spec::{Example, Format, Mode, Object, Reading, Value, json};

use super::tried::{CheckOf, OnTrial, value};
use super::{Cases, Level, Rule, Trial};
use crate::schema::problems;

static IDENTIFIERS: Rule = Rule {
    id: "identifiers",
    level: Level::L0,
    sentence: "At least one format has an identifier, no identifier contains white space, and a URI ends with a version.",
    source: "`zarr_spec::Identifiers`",
    since: "0.1",
};

static SUMMARY: Rule = Rule {
    id: "summary",
    level: Level::L0,
    sentence: "The summary describes the plugin in one sentence of at most 120 characters.",
    source: "`zarr_spec::About`",
    since: "0.1",
};

static EXAMPLES: Rule = Rule {
    id: "examples",
    level: Level::L0,
    sentence: "Each format with an identifier has an example. Each example can be created in strict mode, without \
               warnings, for all data types and shapes that it names (restrict them with `Example::with_data_types` and \
               `Example::with_shape`).",
    source: "`zarr_spec::Example`",
    since: "0.1",
};

static UNKNOWN_MEMBER: Rule = Rule {
    id: "unknown-member",
    level: Level::L0,
    sentence: "An unknown member is refused with an error that names it, or that says the plugin has no configuration; in \
               v2 only in strict mode.",
    source: "V2-PIPE-07; \"Extension points\" in the Zarr v3 core specification",
    since: "0.1",
};

static SCHEMA: Rule = Rule {
    id: "schema",
    level: Level::L0,
    sentence: "If the plugin declares the schema of its configuration, the examples match it, and the plugin refuses \
               configurations with an additional member, a missing required member or a value of the wrong kind.",
    source: "`zarr_spec::About::configuration_schema`",
    since: "0.1",
};

/// The maximum length of a summary in characters.
const SUMMARY_LENGTH: usize = 120;

/// A member that no plugin has.
const UNKNOWN: &str = "no_such_member";

pub(super) fn trials<T: OnTrial>(on_trial: &Arc<T>) -> Vec<Trial> {
    let rules: [(&'static Rule, CheckOf<T>); 5] = [
        (&IDENTIFIERS, identifiers),
        (&SUMMARY, summary),
        (&EXAMPLES, examples),
        (&UNKNOWN_MEMBER, unknown_member),
        (&SCHEMA, schema),
    ];
    let trials = rules.into_iter().map(|(rule, check)| {
        let on_trial = Arc::clone(on_trial);
        Trial::new(rule, move |cases| check(&on_trial, cases))
    });
    trials.collect()
}

fn identifiers<T: OnTrial>(on_trial: &T, cases: &mut Cases) {
    let identifiers = on_trial.identifiers();
    let has_one = Format::ALL.into_iter().any(|format| identifiers.in_format(format).is_some());
    cases.holds("all formats", has_one, || "no format has an identifier".to_owned());
    if let Some(uri) = identifiers.uri {
        let has_version = split_version(uri).is_some() && uri.contains(':');
        cases.holds(uri, has_version, || "it does not end in `/MAJOR.MINOR`".to_owned());
    }
    // Aliases are foreign identifiers and may contain anything.
    for name in identifiers.name.into_iter().chain(identifiers.id) {
        let is_plain = name.chars().all(|character| !character.is_whitespace() && !character.is_control());
        cases.holds(name, is_plain, || "it contains white space".to_owned());
    }
}

fn summary<T: OnTrial>(on_trial: &T, cases: &mut Cases) {
    cases.check("the summary", check_summary(on_trial.about().summary));
}

fn check_summary(summary: &str) -> Result<(), String> {
    let Some(sentence) = summary.strip_suffix('.') else {
        return Err(format!("not a sentence with a full stop: {summary:?}"));
    };
    if sentence.trim().is_empty() || sentence.contains(". ") || sentence.contains('\n') {
        return Err(format!("not one sentence: {summary:?}"));
    }
    match summary.chars().count() {
        0..=SUMMARY_LENGTH => Ok(()),
        length => Err(format!("{length} characters exceed the maximum of {SUMMARY_LENGTH}")),
    }
}

fn examples<T: OnTrial>(on_trial: &T, cases: &mut Cases) {
    let all = on_trial.about().examples;
    for format in on_trial.formats() {
        let has_one = all.iter().any(|example| example.format == format);
        cases.holds(format, has_one, || "this format has no example".to_owned());
    }
    for example in all {
        let reading = Reading::new(Mode::Strict);
        let made = value(example.document)
            .and_then(|entry| on_trial.make(example, &entry, &reading, cases))
            .and_then(|()| match reading.take_warnings() {
                warnings if warnings.is_empty() => Ok(()),
                warnings => Err(format!("warnings: {}", warnings.join("; "))),
            });
        cases.check(example.document, made);
    }
}

fn unknown_member<T: OnTrial>(on_trial: &T, cases: &mut Cases) {
    for example in on_trial.about().examples {
        // If creation fails without the member, another rule is broken.
        let Ok(entry) = value(example.document) else { continue };
        if on_trial.make(example, &entry, &Reading::new(Mode::Strict), cases).is_err() {
            continue;
        }
        let Some(entry) = with_unknown_member(example.format, &entry) else {
            cases.skip(format!("in {}, the entry is not an object", example.format));
            continue;
        };
        let mode = if example.format == Format::V2 { Mode::Strict } else { Mode::Lenient };
        let result = match on_trial.make(example, &entry, &Reading::new(mode), cases) {
            Ok(()) => Err(format!("`{UNKNOWN}` is accepted")),
            Err(error)
                if [UNKNOWN, "no configuration", "`configuration`"].iter().any(|it| error.contains(it)) =>
            {
                Ok(())
            }
            Err(error) => Err(format!("the error does not name `{UNKNOWN}`: {error}")),
        };
        cases.check(entry, result);
    }
}

fn schema<T: OnTrial>(on_trial: &T, cases: &mut Cases) {
    for example in on_trial.about().examples {
        let Some(schema) = on_trial.about().configuration_schema(example.format) else {
            cases.skip(format!("no schema in {}", example.format));
            continue;
        };
        let Ok(entry) = value(example.document) else { continue };
        // The draft's own grid mixes its configuration with other members, and a plain name has no configuration:
        // schemas do not cover those entries.
        if example.format == Format::V3Draft && !entry.as_object().is_some_and(has_a_member_for_it) {
            continue;
        }
        let Some(configuration) = configuration_of(example.format, &entry) else { continue };
        let found = problems(&schema, &Value::Object(configuration.clone()));
        cases.holds(&entry, found.is_empty(), || found.join("; "));
        // If creation fails with the original configuration, another rule is broken.
        if on_trial.make(example, &entry, &Reading::new(Mode::Strict), cases).is_ok() {
            for wrong in misfits(&schema, &configuration) {
                let result = check_misfit(on_trial, cases, (example, &entry), &schema, &wrong);
                cases.check(Value::Object(wrong), result);
            }
        }
    }
}

/// Returns variants of the configuration that violate the schema: with an unknown member, without a required member,
/// or with values of the wrong kind.
fn misfits(schema: &Value, configuration: &Object) -> Vec<Object> {
    let member = |name: &str| schema.as_object()?.get(name);
    let with = |name: &str, value: Value| {
        let mut changed = configuration.clone();
        changed.insert(name, value);
        changed
    };
    let mut misfits = vec![with(UNKNOWN, Value::from(1))];
    for name in member("required").and_then(Value::as_array).unwrap_or_default() {
        let members = configuration.iter().filter(|(other, _)| name.as_str() != Some(other));
        misfits.push(members.map(|(name, value)| (name.to_owned(), value.clone())).collect());
    }
    let other_kinds = [json!(null), json!(true), json!(-1), json!(0.5), json!("such"), json!([]), json!({})];
    for (name, _) in configuration.iter() {
        let Some(schema) = member("properties").and_then(|members| members.as_object()?.get(name)) else {
            continue;
        };
        let other_kinds = other_kinds.iter().filter(|value| !problems(schema, value).is_empty());
        misfits.extend(other_kinds.map(|value| with(name, value.clone())));
    }
    misfits
}

fn check_misfit<T: OnTrial>(
    on_trial: &T,
    cases: &mut Cases,
    stated: (&Example, &Value),
    schema: &Value,
    wrong: &Object,
) -> Result<(), String> {
    let (example, entry) = stated;
    if problems(schema, &Value::Object(wrong.clone())).is_empty() {
        return Err("the schema allows it".to_owned());
    }
    let Some(entry) = with_configuration(example.format, entry, wrong.clone()) else { return Ok(()) };
    match on_trial.make(example, &entry, &Reading::new(Mode::Strict), cases) {
        Ok(()) => Err("the plugin accepts it, although the schema does not".to_owned()),
        Err(_) => Ok(()),
    }
}

/// Returns the entry with an unknown member in its configuration, if it can have one.
fn with_unknown_member(format: Format, entry: &Value) -> Option<Value> {
    let mut configuration = configuration_of(format, entry)?;
    configuration.insert(UNKNOWN, 1);
    with_configuration(format, entry, configuration)
}

/// Returns the configuration of `entry`, if it can have one: the member `configuration`, or all members except the
/// `id` (in v2) or the `type` (in the description of a store).
fn configuration_of(format: Format, entry: &Value) -> Option<Object> {
    if entry.as_str().is_some() {
        // In the draft, a plain name cannot have a configuration.
        return (format == Format::V3).then(Object::new);
    }
    let members = entry.as_object()?;
    match members.get("configuration") {
        _ if !has_a_member_for_it(members) => {
            let others = members.iter().filter(|(name, _)| *name != name_member(members));
            Some(others.map(|(name, value)| (name.to_owned(), value.clone())).collect())
        }
        None => Some(Object::new()),
        Some(configuration) => configuration.as_object().cloned(),
    }
}

/// Returns the entry with another configuration.
fn with_configuration(format: Format, entry: &Value, configuration: Object) -> Option<Value> {
    if let Some(name) = entry.as_str() {
        let configuration = Value::Object(configuration);
        return (format == Format::V3).then(|| json!({"name": name, "configuration": configuration}));
    }
    let members = entry.as_object()?;
    if has_a_member_for_it(members) {
        let mut members = members.clone();
        members.insert("configuration", Value::Object(configuration));
        return Some(Value::Object(members));
    }
    let name = name_member(members);
    let named = members.get(name).map(|value| (name.to_owned(), value.clone()));
    Some(Value::Object(named.into_iter().chain(configuration).collect()))
}

/// Returns the member that names the plugin in an entry without `configuration`.
fn name_member(members: &Object) -> &'static str {
    if members.contains("id") { "id" } else { "type" }
}

fn has_a_member_for_it(members: &Object) -> bool {
    let is_uri = |name| members.get(name).and_then(Value::as_str).is_some_and(|name| name.contains(':'));
    is_uri("extension") || is_uri("type") || members.get("name").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_one_sentence() {
        assert_eq!(check_summary("Does this, and that (RFC 1)."), Ok(()));
        for wrong in
            ["", ".", "No full stop", "Two. Sentences.", "Two\nlines.", &format!("{}.", "long ".repeat(30))]
        {
            assert!(check_summary(wrong).is_err(), "{wrong}");
        }
    }
}
