//! Attributes from JSON values of callers.

use zarr_spec::{Invalid, Object, Value};

use crate::error::Error;

/// Converts a JSON value to attributes. Refuses a value that is not an object.
pub(crate) fn attributes_of(value: impl Into<Value>) -> Result<Object, Error> {
    match value.into() {
        Value::Object(members) => Ok(members),
        other => {
            let found = other.kind_name();
            Err(Invalid::new(format!("`attributes`: is {found}, not an object")).into())
        }
    }
}

/// Converts a change that cannot fail to the form of one that returns a `Result`.
pub(crate) fn infallible(
    mut change: impl FnMut(&mut Object),
) -> impl FnMut(&mut Object) -> Result<(), Error> {
    move |attributes| {
        change(attributes);
        Ok(())
    }
}
