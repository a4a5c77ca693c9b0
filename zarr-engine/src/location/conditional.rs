//! The member `conditional` of descriptions of stores, which any store may have.

use std::sync::Arc;

use zarr_spec::Value;
use zarr_spec::store::{Capabilities, Store};

/// The name of the member.
const MEMBER: &str = "conditional";

/// A store in which stored values are only changed under conditions.
#[derive(Debug)]
pub(super) struct RequiringConditions(pub(super) Arc<dyn Store>);

zarr_spec::delegate_store! {
    impl Store for RequiringConditions {
        forward(self.0): location, read_hints, read, cache, write, remove, list;

        fn capabilities(&self) -> Capabilities {
            let mut capabilities = self.0.capabilities();
            capabilities.conditions_required = true;
            capabilities
        }
    }
}

/// Removes the member from a description and from the descriptions in it. Returns whether one of them requires
/// conditions, which applies to the whole hierarchy.
pub(super) fn take(description: &mut Value) -> Result<bool, String> {
    let Value::Object(members) = description else { return Ok(false) };
    if !members.contains("type") {
        return Ok(false);
    }
    let mut are_required = match members.remove(MEMBER) {
        None => false,
        Some(Value::String(setting)) if setting == "require" => true,
        Some(Value::String(setting)) if setting == "warn" => false,
        Some(setting) => return Err(format!("`{MEMBER}` is {setting}; expected \"require\" or \"warn\"")),
    };
    for member in members.values_mut() {
        are_required |= take(member)?;
    }
    Ok(are_required)
}

#[cfg(test)]
mod tests {
    use zarr_spec::json;

    use super::*;

    #[test]
    fn the_member_is_taken_from_nested_descriptions() {
        let taken = |mut description: Value| take(&mut description).map(|required| (required, description));
        let inside =
            |setting: &str| json!({"type": "cache", "store": {"type": "s3", "conditional": setting}});
        let without = json!({"type": "cache", "store": {"type": "s3"}});
        assert_eq!(taken(inside("require")), Ok((true, without.clone())));
        assert_eq!(taken(inside("warn")), Ok((false, without.clone())));
        assert_eq!(taken(without.clone()), Ok((false, without)));
        assert_eq!(taken(json!({"conditional": "require"})), Ok((false, json!({"conditional": "require"}))));
        let wrong = taken(inside("yes")).unwrap_err();
        assert_eq!(wrong, "`conditional` is \"yes\"; expected \"require\" or \"warn\"");
        taken(json!({"type": "memory", "conditional": true})).unwrap_err();
    }
}
