//! Codecs and memory layouts of this side, as the other sees them.

pub(crate) mod chains;
mod foreign;
mod instance;

use std::ffi::c_void;

use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::{Codec, CodecPlugin, Representation, Value};

use self::chains::HostChains;
use self::instance::chains_of;
use super::array::{CreatedFor, array_json, array_of, created_for, representation_of, size_shown};
use super::creation::{format_of, with_creation};
use super::data_type::{hand_over, linked};
use super::lookup::document_value;
use super::output::write_output;
use super::{Failure, borrowed, guarded, put, read};
use crate::abi::{self, Array, Buf, Call, CodecInstance, CodecVtable, Creation, DataTypeHandle, Size, Str};

pub(crate) use foreign::codec_error;
pub(crate) use instance::{EMPTY_INSTANCE, instance, made};

/// The functions of a codec of this side. `this` is a [`Codec`], `context` a [`CodecPlugin`].
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
    decode_range: Some(decode_range),
    chain: Some(chain),
};

/// The functions of a memory layout of this library. `this` is a [`Codec`], `context` a [`MemoryLayoutPlugin`].
pub(crate) static MEMORY_LAYOUTS: CodecVtable =
    CodecVtable { create: Some(create_layout), translate: None, ..CODECS };

/// From which side to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Encode,
    Decode,
}

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
            with_creation(creation, linked()?, |creation| instance((plugin.create)(creation, &decoded)?, out))
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
            let encoded = codec.encoded(&decoded)?;
            put(encoded_json, array_json(&encoded).to_string().into_bytes());
            if encoded.data_type.name() != decoded.data_type.name() {
                data_type.write(hand_over(encoded.data_type));
            }
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
                (Codec::Composite(codec), Representation::Array(array)) => codec.encoded_size(&array)?,
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
    unsafe { guarded(err, || run(Direction::Encode, codec(this), array, decoded, call, encoded)) }
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
    unsafe { guarded(err, || run(Direction::Decode, codec(this), array, encoded, call, decoded)) }
}

/// Encodes or decodes `from` to the memory that is lent.
///
/// # Safety
///
/// The pointers are those of one call.
unsafe fn run(
    direction: Direction,
    codec: &Codec,
    array: *const Array,
    from: Str,
    call: *const Call,
    to: *mut abi::Output,
) -> Result<(), Failure> {
    // SAFETY: as this function asks.
    unsafe {
        let call = started(call)?;
        let from = borrowed(from);
        // Most codecs of bytes are not told of an array, and the others have a use for it.
        let array = || array_of(array);
        write_output(to, |to| {
            match (codec, direction) {
                (Codec::BytesToBytes(codec), Direction::Encode) => codec.encode(from, to)?,
                (Codec::BytesToBytes(codec), Direction::Decode) => codec.decode(from, to)?,
                (Codec::ArrayToBytes(codec), Direction::Encode) => codec.encode(&array()?, from, to)?,
                (Codec::ArrayToBytes(codec), Direction::Decode) => codec.decode(&array()?, from, to)?,
                (Codec::ArrayToArray(codec), Direction::Encode) => codec.encode(&array()?, from, to)?,
                (Codec::ArrayToArray(codec), Direction::Decode) => codec.decode(&array()?, from, to)?,
                (Codec::Composite(codec), direction) => {
                    let (array, mut chains) = (array()?, HostChains::new(call.chains, codec.chains())?);
                    match direction {
                        Direction::Encode => codec.encode(&array, from, to, &mut chains)?,
                        Direction::Decode => codec.decode(&array, from, to, &mut chains)?,
                    }
                }
                (codec, _) => return Err(wrong_function(codec)),
            }
            Ok(())
        })
    }
}

/// What a host tells about a call, unless it is to be stopped.
///
/// # Safety
///
/// `call` is that of a call.
unsafe fn started(call: *const Call) -> Result<Call, Failure> {
    // SAFETY: as this function asks.
    unsafe {
        let call = read(call)?;
        if !call.cancelled.is_null() && call.cancelled.read_volatile() != 0 {
            return Err(Failure::new(abi::CANCELLED, "cancelled"));
        }
        Ok(call)
    }
}

unsafe extern "C" fn decode_range(
    this: *const c_void,
    encoded: Str,
    start: usize,
    end: usize,
    call: *const Call,
    decoded: *mut abi::Output,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let Codec::BytesToBytes(codec) = codec(this) else { return Err(wrong_function(codec(this))) };
            started(call)?;
            write_output(decoded, |decoded| Ok(codec.decode_range(borrowed(encoded), start..end, decoded)?))
        })
    }
}

unsafe extern "C" fn chain(
    this: *const c_void,
    chain: usize,
    codecs_json: *mut Buf,
    array_json_to: *mut Buf,
    data_type: *mut DataTypeHandle,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let codec = codec(this);
            let chains = chains_of(codec);
            let links = chains.get(chain).ok_or_else(|| wrong_function(codec))?.links();
            // The first codec of a chain is given what the whole chain is.
            let Some(Representation::Array(array)) = links.first().map(|link| &link.decoded) else {
                return Err(Failure::broken(format!("chain {chain} has no codecs")));
            };
            let codecs: Value =
                links.iter().filter_map(|link| link.document.as_ref()).map(document_value).collect();
            put(codecs_json, codecs.to_string().into_bytes());
            put(array_json_to, array_json(array).to_string().into_bytes());
            data_type.write(hand_over(array.data_type.clone()));
            Ok(())
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
                Ok(plugin.translate(creation, &decoded, format)?)
            })?;
            put(configuration_json, Value::Object(configuration).to_string().into_bytes());
            Ok(())
        })
    }
}
