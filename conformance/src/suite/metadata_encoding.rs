//! The rules for metadata encodings.

use std::sync::Arc;

use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::{Example, Key, Mode, Reading, Registry, Value};

use super::tried::{Makes, RuleOf, Tried, suite, text, value};
use super::{Cases, Level, Rule, Suite};
use crate::codecs::Random;

type EncodingOnTrial = Tried<dyn MetadataEncoding>;

const RULES: &[RuleOf<EncodingOnTrial>] = &[
    (
        Rule {
            id: "metadata-suffix",
            level: Level::L0,
            sentence: "The key suffix of documents is valid in a key and does not contain a slash.",
            source: "`MetadataEncoding::key_suffix`",
            since: "0.1",
        },
        suffix,
    ),
    (
        Rule {
            id: "metadata-round-trip",
            level: Level::L1,
            sentence: "Every document decodes exactly as it was encoded: the text of numbers, the order of members, all \
                       strings, and nesting up to the maximum depth.",
            source: "`zarr_spec::metadata_encoding::MetadataEncoding`",
            since: "0.1",
        },
        round_trip,
    ),
    (
        Rule {
            id: "metadata-truncated",
            level: Level::L2,
            sentence: "A document that is truncated anywhere is an error.",
            source: "`MetadataEncoding::decode`",
            since: "0.1",
        },
        truncated,
    ),
    (
        Rule {
            id: "metadata-damaged",
            level: Level::L2,
            sentence: "Damaged bytes are an error or another document, and never cause a panic.",
            source: "`MetadataEncoding::decode`",
            since: "0.1",
        },
        damaged,
    ),
    (
        Rule {
            id: "metadata-bounded",
            level: Level::L2,
            sentence: "A document larger than the reader's limit is an error, and so is one that nests too deeply.",
            source: "`Reading::document_size`, `zarr_json::MAX_DEPTH`",
            since: "0.1",
        },
        bounded,
    ),
];

pub(super) const DOCUMENTS: [&str; 9] = [
    "{}",
    r#"{"z": 1, "a": {"y": [], "b": {}}, "": null, "m": [true, false, [[]]]}"#,
    "[0, -1, 9007199254740993, 18446744073709551615, -9223372036854775809, 123456789012345678901234567890]",
    "[-0.0, 1e400, 1.50, 1E+2, 0.1, 5e-324, 1.7976931348623157e308, -0]",
    r#"["", "ä", "日本語", "𝄞", "\u0000\u001f\u007f", "\"\\/", "NaN", "0x7fc00000"]"#,
    r#"{"shape": [1000, 1000], "fill_value": "-Infinity", "attributes": {"𝄞": {"deep": [{"er": [1.0]}]}}}"#,
    "true",
    "\"text\"",
    "null",
];

/// The depth of hostile documents, which repeat each form of opening a nested list or map.
const HOSTILE_DEPTH: usize = 200_000;

pub(super) fn add(registry: &Arc<Registry>, suites: &mut Vec<Suite>) {
    for &plugin in registry.metadata_encodings().iter() {
        suites.push(suite(Tried { plugin, registry: Arc::clone(registry) }, &[RULES]));
    }
}

impl Makes for dyn MetadataEncoding {
    fn make(
        tried: &EncodingOnTrial,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        _cases: &mut Cases,
    ) -> Result<(), String> {
        let document = tried.parse(example, entry, reading)?;
        (tried.plugin.create)(&tried.creation(example.format, &document, reading)).map(drop).map_err(text)
    }
}

impl EncodingOnTrial {
    fn uses(&self) -> Vec<(&'static Example, Arc<dyn MetadataEncoding>)> {
        self.made(|creation| (self.plugin.create)(creation))
    }
}

/// Returns `DOCUMENTS`, a document with many members, a long string, and a deep document that leaves some depth for
/// its container.
fn documents() -> Vec<Value> {
    let many: Value = (0..300).map(|number| (format!("member {number}"), Value::from(number))).collect();
    let long = Value::from("long ".repeat(20_000));
    let deep = (0..50).fold(Value::from("deep"), |inside, _| [inside].into_iter().collect());
    // The texts in this file are valid JSON, so `flat_map` drops none of them.
    DOCUMENTS.iter().flat_map(|text| value(text)).chain([many, long, deep]).collect()
}

fn suffix(trial: &EncodingOnTrial, cases: &mut Cases) {
    for (example, encoding) in trial.uses() {
        let key = format!("zarr{}", encoding.key_suffix());
        let result = match Key::new(key.as_str()) {
            Ok(_) if key.contains('/') => Err(format!("`{key}` contains a slash")),
            Ok(_) => Ok(()),
            Err(error) => Err(format!("`{key}`: {error}")),
        };
        cases.check(example.document, result);
    }
}

fn round_trip(trial: &EncodingOnTrial, cases: &mut Cases) {
    for (example, encoding) in trial.uses() {
        for document in documents() {
            let result = encoding.encode(&document).and_then(|bytes| {
                let reading = Reading::new(Mode::Strict);
                let again = encoding.decode(&bytes, &reading)?;
                // Equality ignores the order of members; the text does not.
                let was = document.to_string();
                let is = again.to_string();
                if was == is {
                    Ok(())
                } else {
                    Err(format!("{} is decoded as {}", short(&was), short(&is)).into())
                }
            });
            let case = format!("{}, {}", example.document, short(&document.to_string()));
            cases.check(case, result.map_err(text));
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

fn truncated(trial: &EncodingOnTrial, cases: &mut Cases) {
    for (example, encoding) in trial.uses() {
        for document in documents().iter().filter(|document| document.as_object().is_some()) {
            let Ok(bytes) = encoding.encode(document) else { continue };
            let sizes = (0..bytes.len()).step_by(bytes.len() / 200 + 1);
            let result = sizes.into_iter().try_for_each(|size| {
                match encoding.decode(&bytes[..size], &Reading::new(Mode::Lenient)) {
                    Err(_) => Ok(()),
                    Ok(found) => Err(format!(
                        "truncated to {size} of {} bytes, it is read as {}",
                        bytes.len(),
                        short(&found.to_string())
                    )),
                }
            });
            cases.check(format!("{}, {}", example.document, short(&document.to_string())), result);
        }
    }
}

fn damaged(trial: &EncodingOnTrial, cases: &mut Cases) {
    for (_, encoding) in trial.uses() {
        let mut random = Random::default();
        for document in documents() {
            let Ok(bytes) = encoding.encode(&document) else { continue };
            for round in 0..60 {
                let mut damaged = bytes.clone();
                (0..=round % 3).for_each(|_| random.damage(&mut damaged));
                // A document that can be decoded must also be encodable.
                let Ok(found) = encoding.decode(&damaged, &Reading::new(Mode::Lenient)) else {
                    cases.check("refused", Ok(()));
                    continue;
                };
                let again = encoding
                    .encode(&found)
                    .and_then(|bytes| encoding.decode(&bytes, &Reading::new(Mode::Lenient)));
                let result = match again {
                    Ok(again) if again == found => Ok(()),
                    Ok(again) => Err(format!("it is read as {found}, but then as {again}")),
                    Err(error) => Err(format!("it is read as {found}, which cannot be written: {error}")),
                };
                cases.check(format!("round {round} of {}", short(&document.to_string())), result);
            }
        }
    }
}

fn bounded(trial: &EncodingOnTrial, cases: &mut Cases) {
    for (example, encoding) in trial.uses() {
        let long = Value::from("long ".repeat(100));
        let result = encoding.encode(&[long].into_iter().collect()).map_err(text).and_then(|bytes| {
            let decode =
                |limit| encoding.decode(&bytes, &Reading::new(Mode::Lenient).with_document_size(limit));
            match (decode(bytes.len()), decode(bytes.len() - 1)) {
                (Ok(_), Err(_)) => Ok(()),
                (Err(error), _) => Err(format!("a document of exactly the maximum size is refused: {error}")),
                (_, Ok(_)) => Err("a document one byte over the maximum size is accepted".to_owned()),
            }
        });
        cases.check(example.document, result);
        // A list of one item or a map of one member, in JSON, CBOR and MessagePack.
        for opening in
            [&b"["[..], b"{\"a\":", b"\x81", b"\x9f", b"\xa1\x61\x61", b"\x91", b"\xdd\x00\x00\x00\x01"]
        {
            let bytes = opening.repeat(HOSTILE_DEPTH);
            let refused = encoding.decode(&bytes, &Reading::new(Mode::Lenient)).is_err();
            cases.holds(format!("{}, {opening:02x?} repeated", example.document), refused, || {
                "it is accepted".to_owned()
            });
        }
        // Lists, maps, strings and byte strings with a length of 2^32 - 1 or 2^64 - 1, but no content.
        for first in [0x9a, 0xba, 0x7a, 0x5a, 0xdd, 0xdf, 0xdb, 0xc6, 0x9b, 0xbb, 0x7b, 0x5b] {
            let bytes = [&[first][..], &[0xff; 9]].concat();
            let refused = encoding.decode(&bytes, &Reading::new(Mode::Lenient)).is_err();
            cases.holds(format!("{}, {first:#04x} with a huge length", example.document), refused, || {
                "it is accepted".to_owned()
            });
        }
    }
}
