//! Data types of a library, as the engine sees them.

use zarr_spec::data_type::Created;
use zarr_spec::{Creation, DataTypeError};

use super::Imported;
use crate::abi::DataTypeVtable;
use crate::ffi::creation::show_creation;
use crate::ffi::data_type::{created, data_type_error};
use crate::ffi::{EMPTY, outcome, required, take};

impl Imported<DataTypeVtable> {
    pub(crate) fn create(&self, creation: &Creation<'_>) -> Result<Created, DataTypeError> {
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let (mut this, mut order, mut err) = (std::ptr::null_mut(), EMPTY, EMPTY);
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe { create(self.context, creation, &mut this, &mut order, &mut err) }
            });
            // SAFETY: all is as the call left it; what was made belongs to this side now.
            unsafe {
                let order = take(&mut order);
                outcome(status, &mut err)?;
                created(self.vtable, this, order, &self.origin)
            }
        };
        made().map_err(|failure| data_type_error(&self.origin, &failure))
    }
}
