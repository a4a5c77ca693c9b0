//! Generic extensions of a loaded library.

use std::sync::Arc;

use zarr_spec::extension::{Extension, ExtensionPlace};
use zarr_spec::{Creation, Invalid, Value};

use super::{Imported, invalid};
use crate::abi::ExtensionVtable;
use crate::ffi::{EMPTY, Failure, take_json};

/// The properties that a generic extension defines.
#[derive(Debug)]
struct LoadedExtension {
    dimension_names: Option<Vec<Option<String>>>,
    node_index: Option<String>,
}

impl Imported<ExtensionVtable> {
    pub(crate) fn create(
        &self,
        creation: &Creation<'_>,
        place: ExtensionPlace<'_>,
    ) -> Result<Arc<dyn Extension>, Invalid> {
        let (is_array, shape) = match place {
            ExtensionPlace::EntryPoint => (0, &[][..]),
            ExtensionPlace::Array(shape) => (1, shape),
        };
        let mut json = EMPTY;
        let called = call_item!(self, creation, create(is_array, shape.as_ptr(), shape.len(), &mut json));
        // SAFETY: the call filled `json`.
        let json = unsafe { take_json(&mut json) };
        let made = called.and(json).and_then(|json| {
            extension_of(&json).ok_or_else(|| {
                Failure::broken(format!("it returned the invalid description {json} of an extension"))
            })
        });
        match made {
            Ok(extension) => Ok(Arc::new(extension)),
            Err(failure) => Err(invalid(&self.origin, &failure)),
        }
    }
}

fn extension_of(json: &Value) -> Option<LoadedExtension> {
    let members = json.as_object()?;
    let name = |name: &Value| match name {
        Value::Null => Some(None),
        name => Some(Some(name.as_str()?.to_owned())),
    };
    let dimension_names = match members.get("dimension_names") {
        None => None,
        Some(names) => Some(names.as_array()?.iter().map(name).collect::<Option<_>>()?),
    };
    let node_index = match members.get("node_index") {
        None => None,
        Some(key) => Some(key.as_str()?.to_owned()),
    };
    Some(LoadedExtension { dimension_names, node_index })
}

impl Extension for LoadedExtension {
    fn dimension_names(&self) -> Option<&[Option<String>]> {
        self.dimension_names.as_deref()
    }

    fn node_index(&self) -> Option<&str> {
        self.node_index.as_deref()
    }
}
