//! Lookups of a plugin in its host: the functions of the host, and the fallback resolver of the plugin.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use zarr_spec::data_type::{Created, DataTypeDocument};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::registry::FallbackResolver;
use zarr_spec::{
    Codec, CodecResult, Creation, DataTypeError, DataTypeResult, Format, Registry, Representation, Resolve,
    Value, json,
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
            let array = if let Representation::Array(array) = &decoded { Some(array) } else { None };
            instance(creation.registry.codec(creation, &decoded)?, array, out)
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

// SAFETY: a lock protects the functions of the host, and the ABI allows calls on any thread.
unsafe impl Send for Host {}
// SAFETY: as for `Send`.
unsafe impl Sync for Host {}

impl Host {
    /// Calls a function of the host, if the call that lends it has not ended.
    fn ask(
        &self,
        creation: &Creation<'_>,
        ask: impl FnOnce(&Lookup, *const abi::Creation, *mut Buf) -> Result<i32, Failure>,
    ) -> Result<(), Failure> {
        let lent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lookup = lent.as_ref().ok_or_else(|| {
            Failure::new(abi::UNSUPPORTED, "extensions cannot be looked up after the call has ended")
        })?;
        let mut err = EMPTY;
        let status = show_entry(creation, |creation| ask(lookup, creation, &mut err))?;
        // SAFETY: the call filled `err`.
        unsafe { outcome(status, &mut err) }
    }
}

impl FallbackResolver for Host {
    fn codec(&self, creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
        let mut out = EMPTY_INSTANCE;
        let asked = show_representation(decoded, |decoded| {
            self.ask(creation, |lookup, creation, err| {
                let codec = required(lookup.codec, "codec")?;
                // SAFETY: a function of the host, called with memory for its results.
                Ok(unsafe { codec(lookup.context, creation, decoded, &mut out, err) })
            })
        });
        let array = if let Representation::Array(array) = decoded { Some(array) } else { None };
        // SAFETY: the call filled `out`, and this side owns the new codec.
        let made = unsafe { made(out, asked, None, &Arc::from(""), creation, array) };
        made.map_err(|failure| codec_error("", failure, Direction::Encode))
    }

    fn translate(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        to: Format,
    ) -> CodecResult<ExtensionDocument> {
        let mut json = EMPTY;
        let asked = show_representation(decoded, |decoded| {
            self.ask(creation, |lookup, creation, err| {
                let translate = required(lookup.translate, "translate")?;
                // SAFETY: a function of the host, called with memory for its results.
                Ok(unsafe { translate(lookup.context, creation, decoded, format_number(to), &mut json, err) })
            })
        });
        // SAFETY: the call filled `json`.
        let json = unsafe { take_json(&mut json) };
        let document = asked.and(json).and_then(|json| {
            document_of(&json)
                .ok_or_else(|| Failure::broken(format!("it returned the invalid document {json} of a codec")))
        });
        document.map_err(|failure| codec_error("", failure, Direction::Encode))
    }

    fn data_type(&self, creation: &Creation<'_>) -> DataTypeResult<Created> {
        let mut handle = NO_TYPE;
        let mut order = EMPTY;
        let asked = self.ask(creation, |lookup, creation, err| {
            let data_type = required(lookup.data_type, "data_type")?;
            // SAFETY: a function of the host, called with memory for its results.
            Ok(unsafe { data_type(lookup.context, creation, &mut handle, &mut order, err) })
        });
        // SAFETY: the call filled `order` and `handle`. This side owns the new data type.
        let created = unsafe {
            let order = take(&mut order);
            asked.and_then(|()| created(read(handle.vtable)?, handle.this, order, &Arc::from("")))
        };
        created.map_err(|failure| match failure.status {
            abi::UNSUPPORTED => DataTypeError::Unknown(failure.message),
            _ => data_type_error("", &failure),
        })
    }
}
