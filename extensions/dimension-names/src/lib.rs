//! The extension `dimension-names` of arrays: names of dimensions.
//!
//! `names` has one entry for each dimension; null means that it does not have a name. The extension is for the
//! draft: final v3 has the member `dimension_names`. Elements do not depend on the names, so readers may ignore
//! the extension.
//!
//! Source: `docs/spec/extensions-dimension-names.md`, an extension of this project.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::extension::{Extension, ExtensionPlace, ExtensionPlugin};
use zarr_spec::{Creation, Example, Identifiers, Invalid, counted};

zarr_spec::register!(
    ExtensionPlugin::new(
        // Final v3 has the member `dimension_names` instead of this extension.
        Identifiers::uri("https://zarr-kit.example/spec/extensions/dimension-names/1.0"),
        &create,
    )
    .configuration::<DimensionNamesConfiguration>()
    .about("Names the dimensions of an array, like `dimension_names` of final v3.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::draft(
    r#"{"extension": "https://zarr-kit.example/spec/extensions/dimension-names/1.0", "must_understand": false,
            "configuration": {"names": ["time", null]}}"#,
)
.with_shape(&[4, 6])];

/// An optional name for each dimension of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DimensionNames(Vec<Option<String>>);

impl DimensionNames {
    /// Creates the names for an array with `rank` dimensions. Names may repeat, as in final v3.
    ///
    /// # Errors
    ///
    /// If the number of names is not `rank`.
    pub fn new(names: Vec<Option<String>>, rank: usize) -> Result<Self, Invalid> {
        if names.len() != rank {
            let count = counted(names.len(), "entry", "entries");
            let rank = counted(rank, "dimension", "dimensions");
            return Err(Invalid::new(format!("`names` has {count}, but the array has {rank}")));
        }
        Ok(Self(names))
    }
}

impl Extension for DimensionNames {
    fn dimension_names(&self) -> Option<&[Option<String>]> {
        Some(&self.0)
    }
}

#[derive(Deserialize)]
struct DimensionNamesConfiguration {
    names: Vec<Option<String>>,
}

fn create(creation: &Creation<'_>, place: ExtensionPlace<'_>) -> Result<Arc<dyn Extension>, Invalid> {
    let ExtensionPlace::Array(shape) = place else {
        return Err(Invalid::new("names of dimensions belong to an array, not to the entry point"));
    };
    let names = creation.parse::<DimensionNamesConfiguration>()?.names;
    Ok(Arc::new(DimensionNames::new(names, shape.len())?))
}
