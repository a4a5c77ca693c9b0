//! The extension `kinds.letters`: names the dimensions of an array `a`, `b`, `c` and so on.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::extension::{Extension, ExtensionPlace, ExtensionPlugin};
use zarr_spec::{Creation, Example, Identifiers, Invalid};

zarr_spec::register!(
    ExtensionPlugin::new(IDENTIFIERS, &create)
        .configuration::<NoConfiguration>()
        .about("Names the dimensions of an array by the letters of the alphabet.", EXAMPLES)
);

const IDENTIFIERS: Identifiers =
    Identifiers::uri("https://example.org/kinds/letters/1.0");

const EXAMPLES: &[Example] = &[Example::draft(
    r#"{"extension": "https://example.org/kinds/letters/1.0", "must_understand": false}"#,
)
.with_shape(&[4, 6])];

/// A letter for each dimension.
#[derive(Debug)]
struct Letters(Vec<Option<String>>);

impl Extension for Letters {
    fn dimension_names(&self) -> Option<&[Option<String>]> {
        Some(&self.0)
    }
}

#[derive(Deserialize)]
struct NoConfiguration {}

fn create(creation: &Creation<'_>, place: ExtensionPlace<'_>) -> Result<Arc<dyn Extension>, Invalid> {
    let NoConfiguration {} = creation.parse()?;
    let ExtensionPlace::Array(shape) = place else {
        return Err(Invalid::new("expected an array, but found the entry point of a hierarchy"));
    };
    if shape.len() > 26 {
        return Err(Invalid::new("expected at most 26 dimensions"));
    }
    let letters = ('a'..='z').map(|letter| Some(letter.to_string()));
    Ok(Arc::new(Letters(letters.take(shape.len()).collect())))
}
