//! Codecs and memory layouts of a library, as the engine sees them.

use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, Creation, Format, Object, Representation, Size, Value,
};

use super::Imported;
use crate::abi::{self, CodecVtable};
use crate::ffi::array::{show_representation, size_shown};
use crate::ffi::codec::{Direction, EMPTY_INSTANCE, codec_error, made};
use crate::ffi::creation::{format_number, show_creation};
use crate::ffi::{EMPTY, Failure, outcome, required, take_json};

impl Imported<CodecVtable> {
    pub(crate) fn create_codec(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
    ) -> Result<Codec, CodecError> {
        let array = if let Representation::Array(array) = decoded { Some(array) } else { None };
        show_representation(decoded, |shown| self.create(creation, shown, array))
    }

    pub(crate) fn create_layout(&self, creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
        let shown = abi::Representation {
            struct_size: size_of::<abi::Representation>(),
            kind: abi::FOR_RANK,
            rank: u32::try_from(rank).unwrap_or(u32::MAX),
            size: size_shown(Size::Unknown),
            array: std::ptr::null(),
        };
        self.create(creation, &shown, None)
    }

    fn create(
        &self,
        creation: &Creation<'_>,
        decoded: *const abi::Representation,
        array: Option<&ArrayRepresentation>,
    ) -> Result<Codec, CodecError> {
        let created = || {
            let create = required(self.vtable.create, "create")?;
            let (mut out, mut err) = (EMPTY_INSTANCE, EMPTY);
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe { create(self.context, creation, decoded, &mut out, &mut err) }
            });
            // SAFETY: all is as the call left it; what was made belongs to this side now.
            unsafe {
                let called = outcome(status, &mut err);
                made(out, called, Some(&self.vtable), &self.origin, creation, array)
            }
        };
        created().map_err(|failure| codec_error(&self.origin, failure, Direction::Encode))
    }

    pub(crate) fn translate(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        format: Format,
    ) -> Result<Object, CodecError> {
        let Some(translate) = self.vtable.translate else {
            return Ok(creation.configuration.as_object().cloned().unwrap_or_default());
        };
        let (mut json, mut err) = (EMPTY, EMPTY);
        let status = show_representation(decoded, |decoded| {
            show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe {
                    translate(self.context, creation, decoded, format_number(format), &mut json, &mut err)
                }
            })
        });
        // SAFETY: both are as the call left them.
        let translated = unsafe {
            let json = take_json(&mut json);
            outcome(status, &mut err).and(json)
        };
        match translated.map_err(|failure| codec_error(&self.origin, failure, Direction::Encode))? {
            Value::Object(members) => Ok(members),
            other => {
                let failure =
                    Failure::broken(format!("it translated a configuration to {}", other.kind_name()));
                Err(codec_error(&self.origin, failure, Direction::Encode))
            }
        }
    }
}
