//! The rules about names and configurations that codecs write.

use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{Format, Mode, Reading, Representation};

use super::{CodecOnTrial, CodecRule};
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[(
    Rule {
        id: "codec-canonical-form",
        level: Level::L0,
        sentence: "The name and configuration written for a format can be read, and are written the same again.",
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
                if trial.plugin.identifiers.in_format(format).is_none() {
                    continue;
                }
                let written = match write(trial, example.format, &document, &decoded, format) {
                    Ok(written) => written,
                    // Another format may be unable to represent a configuration, which is not a fault.
                    Err(reason) if format != example.format => {
                        cases.skip(format!("in {format}: {reason}"));
                        continue;
                    }
                    Err(reason) => {
                        cases.check(example.document, Err(reason));
                        continue;
                    }
                };
                let result = match write(trial, format, &written, &decoded, format) {
                    Ok(again) if again == written => Ok(()),
                    Ok(again) => Err(format!(
                        "the codec is written as {}, but after reading that as {}",
                        text(&written),
                        text(&again)
                    )),
                    Err(error) => Err(format!(
                        "the codec is written as {}, which cannot be read: {error}",
                        text(&written)
                    )),
                };
                cases.check(format!("{} in {format}", example.document), result);
            }
        }
    }
}

/// Returns the name and configuration that represent `document` in format `to`.
fn write(
    trial: &CodecOnTrial,
    from: Format,
    document: &ExtensionDocument,
    decoded: &Representation,
    to: Format,
) -> Result<ExtensionDocument, String> {
    let reading = Reading::new(Mode::Strict);
    let creation = trial.creation(from, document, &reading);
    (trial.plugin.create)(&creation, decoded).map_err(|error| error.to_string())?;
    trial.registry.translated_codec(&creation, decoded, to).map_err(|error| error.to_string())
}

fn text(document: &ExtensionDocument) -> String {
    format!("`{}` with {}", document.identifier, document.configuration)
}
