//! Writes and checks the documents of a copy.
//!
//! A copy in one part writes the documents last, so that an interrupted copy has no arrays. Of several parts, the first
//! part that runs creates the documents before any chunk, and all other parts check them. The markers of the plan show
//! that such a copy is not complete.

use zarr_engine::{Array, Error, Node};

use super::error::CopyError;
use super::existing::CHANGED;
use super::nodes::write_group;
use super::run::Running;

/// How often publishing is tried while other parts publish the same arrays.
const ATTEMPTS: usize = 5;

impl Running<'_> {
    /// Writes the documents of groups.
    pub(super) fn write_groups(&self) -> Result<(), CopyError> {
        let is_alone = self.part().count() == 1;
        self.plan.groups.iter().try_for_each(|group| write_group(&self.destination, group, is_alone))
    }

    /// Creates the documents that do not exist, for all parts.
    ///
    /// # Errors
    ///
    /// [`CopyError::Request`] if a document differs from the plan.
    pub(super) fn create_documents(&self) -> Result<(), CopyError> {
        self.write_groups()?;
        let mut last = Ok(());
        for _attempt in 0..ATTEMPTS {
            let missing = self.missing_arrays()?;
            last = self.destination.publish_arrays(&missing);
            match &last {
                // Another part has created some documents in the meantime. The next attempt publishes the rest.
                Err(Error::InTheWay(_) | Error::Conflict(_)) => {}
                _ => break,
            }
        }
        Ok(last?)
    }

    /// Checks that no document was changed or removed after the first part created it.
    pub(super) fn check_documents(&self) -> Result<(), CopyError> {
        self.write_groups()?;
        match self.missing_arrays()?.first() {
            None => Ok(()),
            Some(array) => Err(changed(array)),
        }
    }

    /// Returns the arrays without documents.
    pub(super) fn missing_arrays(&self) -> Result<Vec<Array>, CopyError> {
        let mut missing = Vec::new();
        for (_, array) in &self.arrays {
            match self.destination.node(array.path()) {
                Ok(Node::Array(there)) if there.metadata() == array.metadata() => {}
                Ok(Node::Group(group)) if group.is_implicit() => missing.push(array.clone()),
                Ok(_) => return Err(changed(array)),
                Err(Error::NoNode(_)) => missing.push(array.clone()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(missing)
    }

    /// Writes the documents of arrays, which makes the copy visible.
    pub(super) fn publish(&self) -> Result<(), CopyError> {
        let arrays: Vec<Array> = self.arrays.iter().map(|(_, array)| array.clone()).collect();
        Ok(self.destination.publish_arrays(&arrays)?)
    }
}

fn changed(array: &Array) -> CopyError {
    CopyError::message(format!("{}: {CHANGED}", array.path()))
}
