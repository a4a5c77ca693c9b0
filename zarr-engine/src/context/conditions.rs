//! Whether changes of stored values are protected from other programs.

use zarr_spec::store::Store;

use super::Context;
use crate::error::Error;
use crate::location::readable_location;
use crate::unpoisoned::Unpoisoned;

impl Context {
    /// Returns whether changes of values in `store` are conditional. If not, refuses the change if conditions are
    /// required; otherwise notes that values of the store were changed.
    pub(crate) fn check_conditions(&self, store: &dyn Store) -> Result<bool, Error> {
        if store.capabilities().conditional_set {
            return Ok(true);
        }
        self.refuse_without_conditions(store)?;
        self.unprotected.lock().unpoisoned().insert(store.location());
        Ok(false)
    }

    /// Refuses a store without conditional writes if the context or the description of the store requires them.
    pub(crate) fn refuse_without_conditions(&self, store: &dyn Store) -> Result<(), Error> {
        let can = store.capabilities();
        if can.conditional_set || !(self.requires_conditions || can.conditions_required) {
            return Ok(());
        }
        let store = readable_location(&store.location());
        Err(Error::NotSupported(format!(
            "{store} does not have conditional writes, which are required: other programs that write at the same \
             time could lose changes"
        )))
    }

    /// Returns whether values in a store without conditional writes were changed.
    pub(crate) fn is_unprotected(&self, location: &str) -> bool {
        self.unprotected.lock().unpoisoned().contains(location)
    }
}
