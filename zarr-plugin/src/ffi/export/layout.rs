//! Memory layouts of this library for its host.

use std::ffi::c_void;

use zarr_spec::layout::MemoryLayoutPlugin;

use super::codec::CODECS;
use super::data_type::linked;
use super::instance::instance;
use crate::abi::{self, CodecInstance, CodecVtable, Creation};
use crate::ffi::Failure;
use crate::ffi::array::{CreatedFor, created_for};
use crate::ffi::creation::with_creation;

/// The functions of a memory layout. `this` is a [`Codec`], `context` a [`MemoryLayoutPlugin`].
pub(crate) static MEMORY_LAYOUTS: CodecVtable =
    CodecVtable { create: Some(create_layout), translate: None, ..CODECS };

callbacks! {
    fn create_layout(
        context: *const c_void,
        creation: *const Creation,
        decoded: *const abi::Representation,
        out: *mut CodecInstance,
    ) {
        let plugin = &*context.cast::<MemoryLayoutPlugin>();
        let CreatedFor::Rank(rank) = created_for(decoded)? else {
            return Err(Failure::broken("expected a number of dimensions for a memory layout"));
        };
        with_creation(creation, linked()?, |creation| instance((plugin.create)(creation, rank)?, None, out))
    }
}
