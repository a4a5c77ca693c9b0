//! Codecs and memory layouts of this library, as C sees them.

use std::ffi::c_void;

use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::{ByteOrder, Codec, CodecPlugin, Output, Representation, Value, json};

use super::array::{CreatedFor, array_of, created_for, representation_of, size_shown};
use super::creation::{format_of, with_creation};
use super::data_type::{SHOWN, bytes_json, crosses, hand_over, linked, order_json};
use super::output::write_output;
use super::{EMPTY, Failure, borrowed, fill, guarded, put, read};
use crate::abi::{self, Array, Buf, Call, CodecInstance, CodecVtable, Creation, DataTypeHandle, Size, Str};

/// The functions of a codec of this library. `this` is a [`Codec`], `context` a [`CodecPlugin`].
pub(crate) static CODECS: CodecVtable = CodecVtable {
    struct_size: size_of::<CodecVtable>(),
    create: Some(create),
    destroy: Some(destroy),
    encoded_array: Some(encoded_array),
    encoded_size: Some(encoded_size),
    encode: Some(encode),
    decode: Some(decode),
    checksum: Some(checksum),
    translate: Some(translate),
};

/// The functions of a memory layout of this library. `this` is a [`Codec`], `context` a [`MemoryLayoutPlugin`].
pub(crate) static MEMORY_LAYOUTS: CodecVtable =
    CodecVtable { create: Some(create_layout), translate: None, ..CODECS };

unsafe extern "C" fn create(
    context: *const c_void,
    creation: *const Creation,
    decoded: *const abi::Representation,
    out: *mut CodecInstance,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call; `context` is a plugin of this library.
    unsafe {
        guarded(err, || {
            let plugin = &*context.cast::<CodecPlugin>();
            let decoded = representation_of(decoded)?;
            with_creation(creation, linked()?, |creation| {
                let codec = (plugin.create)(creation, &decoded)?;
                let array = if let Representation::Array(array) = &decoded { Some(array) } else { None };
                if matches!(codec, Codec::ArrayToArray(_) | Codec::ArrayToBytes(_)) {
                    array.map_or(Ok(()), |array| crosses(&*array.data_type))?;
                }
                instance(codec, out)
            })
        })
    }
}

unsafe extern "C" fn create_layout(
    context: *const c_void,
    creation: *const Creation,
    decoded: *const abi::Representation,
    out: *mut CodecInstance,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call; `context` is a plugin of this library.
    unsafe {
        guarded(err, || {
            let plugin = &*context.cast::<MemoryLayoutPlugin>();
            let CreatedFor::Rank(rank) = created_for(decoded)? else {
                return Err(Failure::broken("a memory layout is created for a number of dimensions"));
            };
            with_creation(creation, linked()?, |creation| instance((plugin.create)(creation, rank)?, out))
        })
    }
}

/// Fills `out`: with data where that is all there is to the codec, with the codec itself otherwise.
///
/// # Safety
///
/// `out` is a place for an instance.
unsafe fn instance(codec: Codec, out: *mut CodecInstance) -> Result<(), Failure> {
    let (mut value, mut checksum) = (None, (0, false));
    let form = match &codec {
        Codec::Permutation(order) => {
            let order: Value = order.iter().map(|&dimension| dimension as u64).collect();
            value = Some(json!({"permutation": order}));
            abi::FORM_VALUE
        }
        Codec::Binary(ByteOrder::Mixed(_)) => {
            return Err(Failure::new(
                abi::UNSUPPORTED,
                "fields with byte orders of their own stay in their library",
            ));
        }
        Codec::Binary(order) => {
            value = Some(json!({"binary": (order_json(order))}));
            abi::FORM_VALUE
        }
        Codec::ArrayToArray(_) => abi::FORM_ARRAY_TO_ARRAY,
        Codec::ArrayToBytes(_) => abi::FORM_ARRAY_TO_BYTES,
        Codec::BytesToBytes(_) => abi::FORM_BYTES_TO_BYTES,
        Codec::Checksum(inner) => {
            let size = u32::try_from(inner.size());
            let size = size.map_err(|_| Failure::broken("its checksum is longer than 4 GiB"))?;
            checksum = (size, inner.at_start());
            abi::FORM_CHECKSUM
        }
        _ => {
            let what = "codecs that hold chains of their own, such as shards, cannot be loaded yet: link the crate instead";
            return Err(Failure::new(abi::UNSUPPORTED, what));
        }
    };
    let mut text = EMPTY;
    let this = match value {
        Some(value) => {
            // SAFETY: a place of this function.
            unsafe { put(&mut text, value.to_string().into_bytes()) };
            std::ptr::null_mut()
        }
        None => Box::into_raw(Box::new(codec)).cast(),
    };
    // SAFETY: as this function asks.
    unsafe {
        let filled = CodecInstance {
            struct_size: size_of::<CodecInstance>(),
            form,
            checksum_size: checksum.0,
            checksum_at_start: checksum.1.into(),
            reserved: 0,
            this,
            value: text,
        };
        fill(out, filled);
    }
    Ok(())
}

unsafe extern "C" fn destroy(this: *mut c_void) {
    // SAFETY: `this` is of `instance`, and the other side is done with it.
    let codec = unsafe { Box::from_raw(this.cast::<Codec>()) };
    super::contained(|| drop(codec));
}

/// What `this` of [`CODECS`] is.
///
/// # Safety
///
/// It is one.
unsafe fn codec<'a>(this: *const c_void) -> &'a Codec {
    // SAFETY: as this function asks.
    unsafe { &*this.cast::<Codec>() }
}

fn wrong_function(codec: &Codec) -> Failure {
    Failure::broken(format!("this is not a function of {codec:?}"))
}

unsafe extern "C" fn encoded_array(
    this: *const c_void,
    decoded: *const Array,
    encoded_json: *mut Buf,
    data_type: *mut DataTypeHandle,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let decoded = array_of(decoded)?;
            let Codec::ArrayToArray(codec) = codec(this) else { return Err(wrong_function(codec(this))) };
            crosses(&*decoded.data_type)?;
            let encoded = codec.encoded(&decoded)?;
            crosses(&*encoded.data_type)?;
            let shape: Value = encoded.shape.iter().copied().collect();
            let json = json!({
                "shape": shape,
                "fill_value": (bytes_json(encoded.fill_value.bytes())),
                "byte_order": (order_json(&encoded.byte_order))
            });
            if encoded.data_type.name() != decoded.data_type.name() {
                data_type.write(DataTypeHandle { vtable: &SHOWN, this: hand_over(encoded.data_type) });
            }
            put(encoded_json, json.to_string().into_bytes());
            Ok(())
        })
    }
}

unsafe extern "C" fn encoded_size(
    this: *const c_void,
    decoded: *const abi::Representation,
    out: *mut Size,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let size = match (codec(this), representation_of(decoded)?) {
                (Codec::ArrayToBytes(codec), Representation::Array(array)) => codec.encoded_size(&array)?,
                (Codec::BytesToBytes(codec), Representation::Bytes(size)) => codec.encoded_size(size),
                (codec, _) => return Err(wrong_function(codec)),
            };
            out.write(size_shown(size));
            Ok(())
        })
    }
}

unsafe extern "C" fn encode(
    this: *const c_void,
    array: *const Array,
    decoded: Str,
    call: *const Call,
    encoded: *mut abi::Output,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let decoded = borrowed(decoded);
            run(array, call, encoded, |array, encoded| match (codec(this), array) {
                (Codec::BytesToBytes(codec), _) => Ok(codec.encode(decoded, encoded)?),
                (Codec::ArrayToBytes(codec), Some(array)) => Ok(codec.encode(&array()?, decoded, encoded)?),
                (Codec::ArrayToArray(codec), Some(array)) => Ok(codec.encode(&array()?, decoded, encoded)?),
                (codec, _) => Err(wrong_function(codec)),
            })
        })
    }
}

unsafe extern "C" fn decode(
    this: *const c_void,
    array: *const Array,
    encoded: Str,
    call: *const Call,
    decoded: *mut abi::Output,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let encoded = borrowed(encoded);
            run(array, call, decoded, |array, decoded| match (codec(this), array) {
                (Codec::BytesToBytes(codec), _) => Ok(codec.decode(encoded, decoded)?),
                (Codec::ArrayToBytes(codec), Some(array)) => Ok(codec.decode(&array()?, encoded, decoded)?),
                (Codec::ArrayToArray(codec), Some(array)) => Ok(codec.decode(&array()?, encoded, decoded)?),
                (codec, _) => Err(wrong_function(codec)),
            })
        })
    }
}

/// How a codec that wants it gets at the array of a call.
type ArrayOf<'a> = &'a dyn Fn() -> Result<zarr_spec::ArrayRepresentation, Failure>;

/// Encodes or decodes to the memory that is lent.
///
/// # Safety
///
/// The pointers are those of one call.
unsafe fn run(
    array: *const Array,
    call: *const Call,
    to: *mut abi::Output,
    run: impl FnOnce(Option<ArrayOf<'_>>, &mut Output<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // SAFETY: as this function asks.
    unsafe {
        let cancelled = read(call)?.cancelled;
        if !cancelled.is_null() && cancelled.read_volatile() != 0 {
            return Err(Failure::new(abi::CANCELLED, "cancelled"));
        }
        write_output(to, |output| {
            let of = || array_of(array);
            run(if array.is_null() { None } else { Some(&of) }, output)
        })
    }
}

unsafe extern "C" fn checksum(this: *const c_void, bytes: Str, checksum: *mut u8, err: *mut Buf) -> i32 {
    // SAFETY: the ABI has the pointers right for this call, and as many bytes at `checksum` as the codec has said.
    unsafe {
        guarded(err, || {
            let Codec::Checksum(codec) = codec(this) else { return Err(wrong_function(codec(this))) };
            if codec.size() > 0 {
                codec.checksum(borrowed(bytes), std::slice::from_raw_parts_mut(checksum, codec.size()))?;
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn translate(
    context: *const c_void,
    creation: *const Creation,
    decoded: *const abi::Representation,
    format: u32,
    configuration_json: *mut Buf,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call; `context` is a plugin of this library.
    unsafe {
        guarded(err, || {
            let plugin = &*context.cast::<CodecPlugin>();
            let (decoded, format) = (representation_of(decoded)?, format_of(format)?);
            let configuration = with_creation(creation, linked()?, |creation| {
                Ok((plugin.translate)(creation, &decoded, format)?)
            })?;
            put(configuration_json, Value::Object(configuration).to_string().into_bytes());
            Ok(())
        })
    }
}
