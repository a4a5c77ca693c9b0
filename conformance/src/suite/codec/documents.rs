//! Identifiers, examples, and documents that the codec writes and refuses.

use zarr_spec::extension::ExtensionDocument;
use zarr_spec::registry::split_version;
use zarr_spec::{Format, Mode, Object, Reading, Representation, Value};

use super::{CodecOnTrial, CodecRule};
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[
    (
        Rule {
            id: "codec-identifiers",
            level: Level::L0,
            sentence: "A codec has an identifier in one format at least, and a URI ends in a version.",
            source: "`zarr_spec::Identifiers`",
            since: "0.1",
        },
        identifiers,
    ),
    (
        Rule {
            id: "codec-summary",
            level: Level::L0,
            sentence: "A codec says in one sentence what it does.",
            source: "`zarr_spec::About`",
            since: "0.1",
        },
        summary,
    ),
    (
        Rule {
            id: "codec-examples",
            level: Level::L0,
            sentence: "There is an example for each format that has an identifier, and each is created strictly and \
                       without a warning.",
            source: "`zarr_spec::Example`",
            since: "0.1",
        },
        examples,
    ),
    (
        Rule {
            id: "codec-unknown-member",
            level: Level::L0,
            sentence: "Read strictly, a member of the configuration that the codec does not know is refused by name.",
            source: "V2-PIPE-07",
            since: "0.1",
        },
        unknown_member,
    ),
    (
        Rule {
            id: "codec-canonical-form",
            level: Level::L0,
            sentence: "The configuration that is written for a format is read again, and written the same.",
            source: "`zarr_spec::codec::TranslateCodec`",
            since: "0.1",
        },
        canonical_form,
    ),
];

fn identifiers(trial: &CodecOnTrial, cases: &mut Cases) {
    let identifiers = trial.plugin.identifiers;
    let has_one = Format::ALL.into_iter().any(|format| identifiers.in_format(format).is_some());
    cases.holds("all formats", has_one, || "no format has an identifier".to_owned());
    if let Some(uri) = identifiers.uri {
        let has_version = split_version(uri).is_some() && uri.contains(':');
        cases.holds(uri, has_version, || "it does not end in `/MAJOR.MINOR`".to_owned());
    }
    let names =
        [identifiers.name].into_iter().chain(identifiers.id).chain(identifiers.aliases.iter().copied());
    for name in names.filter(|name| !name.is_empty()) {
        let is_plain = name.chars().all(|character| !character.is_whitespace() && !character.is_control());
        cases.holds(name, is_plain, || "there is white space in it".to_owned());
    }
}

fn summary(trial: &CodecOnTrial, cases: &mut Cases) {
    let summary = trial.plugin.about.summary;
    let is_sentence =
        summary.ends_with('.') && summary.starts_with(char::is_uppercase) && summary.len() < 200;
    cases.holds("the summary", is_sentence, || format!("{summary:?} is no sentence"));
}

fn examples(trial: &CodecOnTrial, cases: &mut Cases) {
    for format in Format::ALL {
        if trial.plugin.identifiers.in_format(format).is_some() {
            let has_one = trial.examples().iter().any(|example| example.format == format);
            cases.holds(format, has_one, || "there is no example".to_owned());
        }
    }
    for example in trial.examples() {
        let document = match trial.document(example) {
            Ok(document) => document,
            Err(error) => {
                cases.check(example.document, Err(error));
                continue;
            }
        };
        for array in trial.arrays(example) {
            let array = match array {
                Ok(array) => array,
                Err(reason) => {
                    cases.skip(reason);
                    continue;
                }
            };
            let result = match trial.create(example.format, &document, &array, Mode::Strict) {
                Ok((_, warnings)) if warnings.is_empty() => Ok(()),
                Ok((_, warnings)) => Err(format!("warnings: {}", warnings.join("; "))),
                Err(error) => Err(error.to_string()),
            };
            let (name, shape) = (array.data_type.name(), &array.shape);
            cases.check(format!("{} for {name} {shape:?}", example.document), result);
        }
    }
}

fn unknown_member(trial: &CodecOnTrial, cases: &mut Cases) {
    for example in trial.examples() {
        let Ok(document) = trial.document(example) else { continue };
        let mut members = document.configuration.as_object().cloned().unwrap_or_default();
        members.insert("no_such_member", Value::Bool(true));
        let document = ExtensionDocument { configuration: Value::Object(members), ..document };
        for array in trial.arrays(example).into_iter().flatten().take(1) {
            let result = match trial.create(example.format, &document, &array, Mode::Strict) {
                Ok(_) => Err("`no_such_member` was taken".to_owned()),
                Err(error) if error.to_string().contains("no_such_member") => Ok(()),
                Err(error) => Err(format!("the error does not name `no_such_member`: {error}")),
            };
            cases.check(format!("{} with a further member", example.document), result);
        }
    }
}

fn canonical_form(trial: &CodecOnTrial, cases: &mut Cases) {
    for example in trial.examples() {
        let Ok(document) = trial.document(example) else { continue };
        for array in trial.arrays(example).into_iter().flatten() {
            let decoded = Representation::Array(array);
            for format in Format::ALL {
                let Some(identifier) = trial.plugin.identifiers.in_format(format) else { continue };
                let written = match write(trial, example.format, &document, &decoded, format) {
                    Ok(written) => written,
                    // Some configurations cannot be said elsewhere.
                    Err(reason) if format != example.format => {
                        cases.skip(format!("in {format}: {reason}"));
                        continue;
                    }
                    Err(reason) => {
                        cases.check(example.document, Err(reason));
                        continue;
                    }
                };
                let again = ExtensionDocument::new(identifier, Value::Object(written.clone()));
                let result = write(trial, format, &again, &decoded, format).and_then(|twice| {
                    let what = || format!("{} is written again as {}", text(&written), text(&twice));
                    (twice == written).then_some(()).ok_or_else(what)
                });
                cases.check(format!("{} in {format}", example.document), result);
            }
        }
    }
}

/// The configuration of `document` in another format, or in its own.
fn write(
    trial: &CodecOnTrial,
    from: Format,
    document: &ExtensionDocument,
    decoded: &Representation,
    to: Format,
) -> Result<Object, String> {
    let reading = Reading::new(Mode::Strict);
    let creation = trial.creation(from, document, &reading);
    (trial.plugin.create)(&creation, decoded).map_err(|error| error.to_string())?;
    (trial.plugin.translate)(&creation, decoded, to).map_err(|error| error.to_string())
}

fn text(object: &Object) -> String {
    Value::Object(object.clone()).to_string()
}
