//! The extension `{{name}}` for arrays: names their dimensions `a`, `b`, `c` and so on.

use std::sync::Arc;

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::extension::{Extension, ExtensionPlace, ExtensionPlugin};
use zarr_spec::{Creation, Example, Identifiers, Invalid};

zarr_spec::register!(
    ExtensionPlugin::new(IDENTIFIERS, &create)
        .configuration::<NoConfiguration>()
        .about("Names the dimensions of an array with the letters of the alphabet.", EXAMPLES)
);

const IDENTIFIERS: Identifiers = Identifiers::uri("{{uri}}");

const EXAMPLES: &[Example] = &[
    Example::draft(r#"{"extension": "{{uri}}", "must_understand": false}"#).with_shape(&[4, 6]),
];

/// A letter for each dimension.
#[derive(Debug)]
struct Letters(Vec<Option<String>>);

impl Extension for Letters {
    fn dimension_names(&self) -> Option<&[Option<String>]> {
        Some(&self.0)
    }
}

fn create(creation: &Creation<'_>, place: ExtensionPlace<'_>) -> Result<Arc<dyn Extension>, Invalid> {
    let NoConfiguration {} = creation.parse()?;
    let ExtensionPlace::Array(shape) = place else {
        return Err(Invalid::new("only arrays have dimensions to name"));
    };
    if shape.len() > 26 {
        return Err(Invalid::new("more than 26 dimensions cannot be named with letters"));
    }
    let letters = ('a'..='z').map(|letter| Some(letter.to_string()));
    Ok(Arc::new(Letters(letters.take(shape.len()).collect())))
}
