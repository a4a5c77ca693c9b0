//! Data types of a library, as the engine sees them.

use zarr_spec::data_type::Created;
use zarr_spec::{Creation, DataTypeError};

use super::Imported;
use crate::abi::DataTypeVtable;
use crate::ffi::data_type::create_foreign;

impl Imported<DataTypeVtable> {
    pub(crate) fn create(&self, creation: &Creation<'_>) -> Result<Created, DataTypeError> {
        // SAFETY: both are of one item of a library.
        unsafe { create_foreign(&self.vtable, self.context, &self.origin, creation) }
    }
}
