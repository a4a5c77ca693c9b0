//! Opening nodes, and creating those that do not exist.

use zarr_spec::{Format, NodePath, Object};

use super::Hierarchy;
use super::path::AsNodePath;
use super::rules::in_the_way;
use crate::array::Array;
use crate::builder::ArrayBuilder;
use crate::context::ArrayOptions;
use crate::error::Error;
use crate::group::Group;

impl Hierarchy {
    /// Opens the group at `path`, or creates it without attributes if there is no node. Concurrent calls in one context
    /// return the same group.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::group`] and [`Hierarchy::create_group`].
    pub fn require_group(&self, path: impl AsNodePath) -> Result<Group, Error> {
        let path = self.path(path)?;
        match self.group(&path) {
            Err(Error::NoNode(_)) => {}
            // v3 reads groups without a document but does not allow them, so the document is created.
            Ok(group) if group.is_implicit() && self.format() == Format::V3 => {}
            found => return found,
        }
        match self.create_group(&path, Object::new()) {
            // Another thread may have created the group meanwhile.
            Err(error @ Error::InTheWay { .. }) => self.group(&path).map_err(|_| error),
            created => created,
        }
    }

    /// Opens the array at `path`, or creates it if there is no node. Concurrent calls in one context return the same
    /// array.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::array`] and [`Hierarchy::create_array`]; [`Error::InTheWay`] for an existing array whose
    /// shape or data type differs from `builder`. Chunks, codecs, fill value and attributes are not compared.
    pub fn open_or_create_array(
        &self,
        path: impl AsNodePath,
        builder: &ArrayBuilder,
    ) -> Result<Array, Error> {
        let path = self.path(path)?;
        let found = match self.array(&path) {
            Err(Error::NoNode(_)) => match self.create_array(&path, builder) {
                Err(error @ Error::InTheWay { .. }) => self.array(&path).map_err(|_| error)?,
                created => return created,
            },
            found => found?,
        };
        self.check_alike(&path, &found, builder)?;
        Ok(found)
    }

    fn check_alike(&self, path: &NodePath, found: &Array, builder: &ArrayBuilder) -> Result<(), Error> {
        let metadata = builder.metadata(self.format(), self.context().registry())?;
        let expected = self.new_array(path, metadata, ArrayOptions::new())?;
        let found_type = found.data_type().name();
        let expected_type = expected.data_type().name();
        if found.shape() == expected.shape() && found_type == expected_type {
            return Ok(());
        }
        let found_shape = found.shape();
        let expected_shape = expected.shape();
        let reason = format!(
            "an array of shape {found_shape:?} and data type {found_type} already exists \
             (expected shape {expected_shape:?} and data type {expected_type})"
        );
        Err(in_the_way(path, reason))
    }
}
