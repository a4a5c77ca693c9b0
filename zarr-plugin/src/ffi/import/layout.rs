//! Memory layouts of a loaded library.

use zarr_spec::{Codec, CodecResult, Creation, Size};

use super::Imported;
use crate::abi::{self, CodecVtable};
use crate::ffi::array::size_shown;

impl Imported<CodecVtable> {
    pub(crate) fn create_layout(&self, creation: &Creation<'_>, rank: usize) -> CodecResult<Codec> {
        let shown = abi::Representation {
            struct_size: size_of::<abi::Representation>(),
            kind: abi::FOR_RANK,
            rank: u32::try_from(rank).unwrap_or(u32::MAX),
            size: size_shown(Size::Unknown),
            array: std::ptr::null(),
        };
        self.create(creation, &shown, None)
    }
}
