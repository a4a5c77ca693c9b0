//! The choice between linked plugins with the same identifier.

use super::{DuplicateIdentifier, ExtensionPoint, Registry};
use crate::plugin::{Identifiers, Origin};

impl Registry {
    /// Creates a registry with every linked plugin, as [`Registry::linked`] does. If two plugins have the
    /// same identifier, `prefer` returns the crate whose plugin is used; the other plugin is omitted. The
    /// order of the two is unspecified.
    ///
    /// ```
    /// # use zarr_spec::Registry;
    /// let registry = Registry::linked_with(|duplicate| match duplicate.first.package {
    ///     "my-codec" => duplicate.first,
    ///     _ => duplicate.second,
    /// })?;
    /// # Ok::<(), zarr_spec::host::registry::DuplicateIdentifier>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DuplicateIdentifier`] if `prefer` returns neither of the two crates, or if one crate has both
    /// plugins.
    pub fn linked_with(prefer: impl Fn(&DuplicateIdentifier) -> Origin) -> Result<Self, DuplicateIdentifier> {
        let mut excluded = Vec::new();
        loop {
            let duplicate = match Self::linked_without(&excluded) {
                Err(duplicate) => duplicate,
                registry => return registry,
            };
            let preferred = prefer(&duplicate);
            let DuplicateIdentifier { point, ref identifier, first, second } = duplicate;
            let origin = match preferred {
                _ if first == second => return Err(duplicate),
                _ if preferred == first => second,
                _ if preferred == second => first,
                _ => return Err(duplicate),
            };
            excluded.push(Excluded { point, identifier: identifier.clone(), origin });
        }
    }
}

/// A linked plugin that is not used.
pub(super) struct Excluded {
    point: ExtensionPoint,
    identifier: String,
    origin: Origin,
}

impl Excluded {
    pub(super) fn is_plugin(&self, point: ExtensionPoint, identifiers: &Identifiers, origin: Origin) -> bool {
        let Identifiers { uri, name, id, aliases } = identifiers;
        let mut all = [uri, name, id].into_iter().flatten().chain(*aliases);
        self.point == point && self.origin == origin && all.any(|known| *known == self.identifier)
    }

    pub(super) fn is_store(&self, name: &str, schemes: &[&str], origin: Origin) -> bool {
        let has_it = name == self.identifier || schemes.contains(&self.identifier.as_str());
        self.point == ExtensionPoint::Store && self.origin == origin && has_it
    }
}
