//! Metadata encodings and generic extensions with one fault each.

use std::sync::Arc;

use serde::Deserialize;
use zarr_json::{ParseOptions, parse};
use zarr_spec::extension::{Extension, ExtensionPlace, ExtensionPlugin};
use zarr_spec::metadata_encoding::{MetadataEncoding, MetadataEncodingPlugin};
use zarr_spec::{BoxError, Example, Identifiers, Invalid, Object, Reading, Value};

use crate::{Wrong, each_breaks_its_rules, examples, leaked, named};

const ENCODINGS: &[Wrong] = &[
    ("nothing", &[]),
    ("ends-keys-in-a-slash", &["metadata-suffix"]),
    ("sorts-members", &["metadata-round-trip"]),
    ("closes-what-is-open", &["metadata-truncated"]),
    ("stops-at-control-characters", &["metadata-damaged"]),
    ("reads-any-size", &["metadata-bounded"]),
];

const EXTENSIONS: &[Wrong] = &[
    ("nothing", &[]),
    ("has-an-index-without-a-key", &["extension-brings", "extension-place"]),
    ("names-dimensions-that-are-not-there", &["extension-place"]),
    ("counts-on-a-dimension", &["extension-place"]),
];

/// Returns a draft URI that contains `name`, and identifiers with this name and URI.
fn identifiers(name: &'static str) -> (&'static str, Identifiers) {
    let uri = leaked(format!("https://example.com/{name}/1.0"));
    (uri, named(name).with_uri(uri))
}

#[test]
fn metadata_encodings_with_one_fault_break_the_matching_rule() {
    each_breaks_its_rules(ENCODINGS, |registry, name| {
        let (uri, identifiers) = identifiers(name);
        let plugin = MetadataEncodingPlugin::new(identifiers, &|creation| {
            creation.parse::<Suffix>()?;
            let name = creation.identifier.trim_end_matches("/1.0").rsplit('/').next().unwrap_or_default();
            Ok(Arc::new(Json(name.to_owned())))
        });
        let example = Example::draft(leaked(format!(
            "{{\"extension\": \"{uri}\", \"type\": \"x\", \"metadata_key_suffix\": \".x\"}}"
        )));
        registry.register(plugin.about("Does one thing wrong.", examples([example]))).unwrap();
    });
}

#[test]
fn extensions_with_one_fault_break_the_matching_rule() {
    each_breaks_its_rules(EXTENSIONS, |registry, name| {
        let (uri, identifiers) = identifiers(name);
        let plugin = ExtensionPlugin::new(identifiers, &|creation, place| {
            creation.parse::<Nothing>()?;
            let wrong = creation.identifier.trim_end_matches("/1.0").rsplit('/').next().unwrap_or_default();
            let rank = match place {
                ExtensionPlace::Array(shape) => shape.len(),
                ExtensionPlace::EntryPoint => return Err(Invalid::new("only arrays have dimensions")),
            };
            let rank = match wrong {
                "names-dimensions-that-are-not-there" => 2,
                "counts-on-a-dimension" => rank.checked_sub(1).unwrap() + 1,
                _ => rank,
            };
            Ok(Arc::new(Names { wrong: wrong.to_owned(), names: vec![None; rank] }))
        });
        let example = Example::draft(leaked(format!(
            "{{\"extension\": \"{uri}\", \"must_understand\": true, \"configuration\": {{}}}}"
        )))
        .with_shape(&[4, 6]);
        registry.register(plugin.about("Does one thing wrong.", examples([example]))).unwrap();
    });
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "the engine reads it, not the encoding")]
struct Suffix {
    metadata_key_suffix: Option<String>,
}

#[derive(Deserialize)]
struct Nothing {}

/// A metadata encoding that writes documents as JSON.
#[derive(Debug)]
struct Json(String);

impl MetadataEncoding for Json {
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError> {
        if bytes.len() > reading.document_size() && self.0 != "reads-any-size" {
            return Err("the document is too large".into());
        }
        assert!(self.0 != "stops-at-control-characters" || !bytes.contains(&5), "a control character");
        let options = ParseOptions::default();
        let parsed = parse(bytes, &options);
        let parsed = match self.0.as_str() {
            "closes-what-is-open" => parsed.or_else(|_| parse(&[bytes, b"}"].concat(), &options)),
            _ => parsed,
        };
        Ok(parsed?.value)
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        let mut document = document.clone();
        if let Some(members) = document.as_object_mut().filter(|_| self.0 == "sorts-members") {
            let mut sorted: Vec<_> =
                members.iter().map(|(name, member)| (name.to_owned(), member.clone())).collect();
            sorted.sort_by(|one, other| one.0.cmp(&other.0));
            *members = sorted.into_iter().collect::<Object>();
        }
        Ok(document.to_string().into_bytes())
    }

    fn key_suffix(&self) -> &str {
        if self.0 == "ends-keys-in-a-slash" { ".x/" } else { ".x" }
    }
}

/// An extension that leaves every dimension without a name.
#[derive(Debug)]
struct Names {
    wrong: String,
    names: Vec<Option<String>>,
}

impl Extension for Names {
    fn dimension_names(&self) -> Option<&[Option<String>]> {
        Some(&self.names)
    }

    fn node_index(&self) -> Option<&str> {
        (self.wrong == "has-an-index-without-a-key").then_some("a//b")
    }
}
