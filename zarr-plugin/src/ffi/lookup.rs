//! Lookups of a plugin in its host: the functions of the host, and the fallback resolver of the plugin.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use zarr_spec::data_type::{Created, DataTypeDocument};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::registry::FallbackResolver;
use zarr_spec::{
    Codec, CodecError, Creation, DataTypeError, Format, Registry, Representation, Resolve, Value, json,
};

use super::array::{representation_of, show_representation};
use super::byte_order::order_json;
use super::creation::{format_number, format_of, show_entry, with_entry};
use super::export::data_type::hand_over;
use super::export::instance::instance;
use super::import::codec::codec_error;
use super::import::data_type::{NO_TYPE, created, data_type_error};
use super::import::instance::{EMPTY_INSTANCE, made};
use super::{Direction, EMPTY, Failure, outcome, put, read, required, take, take_json};
use crate::abi::{self, Buf, CodecInstance, DataTypeHandle, Lookup};

/// Lends `registry` to the other side during `call`.
pub(crate) fn show_registry<R>(registry: &dyn Resolve, call: impl FnOnce(*const Lookup) -> R) -> R {
    call(&Lookup {
        struct_size: size_of::<Lookup>(),
        context: std::ptr::from_ref(&registry).cast_mut().cast(),
        codec: Some(codec),
        translate: Some(translate),
        data_type: Some(data_type),
    })
}

callbacks! {
    fn codec(
        context: *mut c_void,
        creation: *const abi::Creation,
        decoded: *const abi::Representation,
        out: *mut CodecInstance,
    ) {
        let decoded = representation_of(decoded)?;
        with_entry(creation, *context.cast::<&dyn Resolve>(), |creation| {
            instance(creation.registry.codec(creation, &decoded)?, out)
        })
    }

    fn translate(
        context: *mut c_void,
        creation: *const abi::Creation,
        decoded: *const abi::Representation,
        format: u32,
        document_json: *mut Buf,
    ) {
        let (decoded, format) = (representation_of(decoded)?, format_of(format)?);
        let document = with_entry(creation, *context.cast::<&dyn Resolve>(), |creation| {
            Ok(creation.registry.translated_codec(creation, &decoded, format)?)
        })?;
        put(document_json, document_value(&document).to_string().into_bytes());
        Ok(())
    }

    fn data_type(
        context: *mut c_void,
        creation: *const abi::Creation,
        data_type: *mut DataTypeHandle,
        byte_order_json: *mut Buf,
    ) {
        let (made, order) = with_entry(creation, *context.cast::<&dyn Resolve>(), |creation| {
            let mut document = DataTypeDocument::named(creation.identifier);
            document.configuration = creation.configuration.clone();
            document.type_name = creation.type_name.cloned();
            Ok(creation.registry.data_type(creation.format, &document, creation.reading)?)
        })?;
        put(byte_order_json, order_json(&order).to_string().into_bytes());
        data_type.write(hand_over(made));
        Ok(())
    }
}

/// Returns an entry of a document, as JSON.
pub(crate) fn document_value(document: &ExtensionDocument) -> Value {
    json!({"identifier": (document.identifier.as_str()), "configuration": (document.configuration.clone())})
}

/// Returns the entry that [`document_value`] describes.
pub(crate) fn document_of(json: &Value) -> Option<ExtensionDocument> {
    let members = json.as_object()?;
    let configuration = members.get("configuration").cloned().unwrap_or(Value::Null);
    Some(ExtensionDocument::new(members.get("identifier")?.as_str()?, configuration))
}

/// Runs `body` with a registry that looks up missing extensions in the other side while `body` runs.
///
/// # Safety
///
/// The other side lends `shown` for this call.
pub(crate) unsafe fn with_lookup<R>(
    shown: *const Lookup,
    registry: &Registry,
    body: impl FnOnce(&Registry) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if shown.is_null() {
        return body(registry);
    }
    // SAFETY: as this function requires.
    let host = Arc::new(Host(Mutex::new(Some(unsafe { read(shown) }?))));
    let result = body(&registry.with_fallback(Arc::clone(&host) as Arc<dyn FallbackResolver>));
    // A registry that outlives the call no longer uses the host.
    *host.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    result
}

/// The host of this library, during the call that lends it.
#[derive(Debug)]
struct Host(Mutex<Option<Lookup>>);

// SAFETY: a lock protects it, and the ABI allows calls on any thread.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

impl Host {
    /// Calls a function of the host, if the call that lends it has not ended.
    fn ask<R>(&self, ask: impl FnOnce(&Lookup) -> Result<R, Failure>) -> Result<R, Failure> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(lookup) => ask(lookup),
            None => {
                Err(Failure::new(abi::UNSUPPORTED, "extensions cannot be looked up after the call has ended"))
            }
        }
    }
}

impl FallbackResolver for Host {
    fn codec(&self, creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
        let asked = self.ask(|lookup| {
            let codec = required(lookup.codec, "codec")?;
            let mut out = EMPTY_INSTANCE;
            let mut err = EMPTY;
            let status = show_representation(decoded, |decoded| {
                show_entry(creation, |creation| {
                    // SAFETY: a function of the host, called with memory for its results.
                    unsafe { codec(lookup.context, creation, decoded, &mut out, &mut err) }
                })
            });
            // SAFETY: the call filled both. This side owns the new object.
            unsafe { Ok((out, outcome(status, &mut err))) }
        });
        let array = if let Representation::Array(array) = decoded { Some(array) } else { None };
        let made = asked.and_then(|(out, called)| {
            // SAFETY: as above.
            unsafe { made(out, called, None, &Arc::from(""), creation, array) }
        });
        made.map_err(|failure| codec_error("", failure, Direction::Encode))
    }

    fn translate(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        to: Format,
    ) -> Result<ExtensionDocument, CodecError> {
        let asked = self.ask(|lookup| {
            let translate = required(lookup.translate, "translate")?;
            let mut json = EMPTY;
            let mut err = EMPTY;
            let status = show_representation(decoded, |decoded| {
                show_entry(creation, |creation| {
                    // SAFETY: a function of the host, called with memory for its results.
                    unsafe {
                        translate(lookup.context, creation, decoded, format_number(to), &mut json, &mut err)
                    }
                })
            });
            // SAFETY: the call filled both.
            let json = unsafe {
                let json = take_json(&mut json);
                outcome(status, &mut err).and(json)
            }?;
            document_of(&json)
                .ok_or_else(|| Failure::broken(format!("it returned the invalid document {json} of a codec")))
        });
        asked.map_err(|failure| codec_error("", failure, Direction::Encode))
    }

    fn data_type(&self, creation: &Creation<'_>) -> Result<Created, DataTypeError> {
        let asked = self.ask(|lookup| {
            let data_type = required(lookup.data_type, "data_type")?;
            let mut handle = NO_TYPE;
            let mut order = EMPTY;
            let mut err = EMPTY;
            let status = show_entry(creation, |creation| {
                // SAFETY: a function of the host, called with memory for its results.
                unsafe { data_type(lookup.context, creation, &mut handle, &mut order, &mut err) }
            });
            // SAFETY: the call filled them. This side owns the new object.
            unsafe {
                let order = take(&mut order);
                outcome(status, &mut err)?;
                created(read(handle.vtable)?, handle.this, order, &Arc::from(""))
            }
        });
        asked.map_err(|failure| match failure.status {
            abi::UNSUPPORTED => DataTypeError::Unknown(failure.message),
            _ => data_type_error("", &failure),
        })
    }
}
