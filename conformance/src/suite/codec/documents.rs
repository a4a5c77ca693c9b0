//! Configurations that the codec writes.

use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{Format, Mode, Object, Reading, Representation, Value};

use super::{CodecOnTrial, CodecRule};
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[(
    Rule {
        id: "codec-canonical-form",
        level: Level::L0,
        sentence: "The configuration that is written for a format is read again, and written the same.",
        source: "`zarr_spec::codec::TranslateCodec`",
        since: "0.1",
    },
    canonical_form,
)];

fn canonical_form(trial: &CodecOnTrial, cases: &mut Cases) {
    for example in trial.examples() {
        let Ok(document) = trial.document(example) else { continue };
        for array in trial.arrays(example, cases) {
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
                let result = match write(trial, format, &again, &decoded, format) {
                    Ok(twice) if twice == written => Ok(()),
                    Ok(twice) => Err(format!(
                        "the configuration is written as {}, and that is written as {}",
                        text(&written),
                        text(&twice)
                    )),
                    Err(error) => Err(format!(
                        "the configuration is written as {}, which cannot be read: {error}",
                        text(&written)
                    )),
                };
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
