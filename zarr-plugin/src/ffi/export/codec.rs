//! Codecs of this side of the ABI for the other side.

use std::ffi::c_void;

use zarr_spec::{Codec, CodecPlugin, Representation, Value};

use super::data_type::{hand_over, linked};
use super::instance::{chains_of, instance};
use super::{destroy, held, subsets};
use crate::abi::{self, Array, Buf, Call, CodecInstance, CodecVtable, Creation, DataTypeHandle, Size, Str};
use crate::ffi::array::{array_json, array_of, representation_of, size_shown};
use crate::ffi::creation::{format_of, with_creation};
use crate::ffi::import::chains::HostChains;
use crate::ffi::lookup::document_value;
use crate::ffi::output::write_output;
use crate::ffi::{Direction, Failure, borrowed, put, read};

/// The functions of a codec of this side. `this` is a [`Codec`], `context` a [`CodecPlugin`].
pub(crate) static CODECS: CodecVtable = CodecVtable {
    struct_size: size_of::<CodecVtable>(),
    create: Some(create),
    destroy: Some(destroy::<Codec>),
    encoded_array: Some(encoded_array),
    encoded_size: Some(encoded_size),
    encode: Some(encode),
    decode: Some(decode),
    checksum: Some(checksum),
    translate: Some(translate),
    decode_range: Some(decode_range),
    chain: Some(chain),
    index_range: Some(subsets::index_range),
    subset_ranges: Some(subsets::subset_ranges),
    decode_subset: Some(subsets::decode_subset),
};

/// Like [`CODECS`], for a codec that only decodes.
pub(crate) static CODECS_THAT_DECODE: CodecVtable = CodecVtable { encode: None, ..CODECS };

callbacks! {
    fn create(
        context: *const c_void,
        creation: *const Creation,
        decoded: *const abi::Representation,
        out: *mut CodecInstance,
    ) {
        let plugin = &*context.cast::<CodecPlugin>();
        let decoded = representation_of(decoded)?;
        let array = if let Representation::Array(array) = &decoded { Some(array) } else { None };
        with_creation(creation, linked()?, |creation| instance((plugin.create)(creation, &decoded)?, array, out))
    }
}

pub(super) fn wrong_function(codec: &Codec) -> Failure {
    Failure::broken(format!("this is not a function of {codec:?}"))
}

callbacks! {
    fn encoded_array(
        this: *const c_void,
        decoded: *const Array,
        encoded_json: *mut Buf,
        data_type: *mut DataTypeHandle,
    ) {
        let decoded = array_of(decoded)?;
        let Codec::ArrayToArray(codec) = held(this) else { return Err(wrong_function(held(this))) };
        let encoded = codec.encoded(&decoded)?;
        put(encoded_json, array_json(&encoded).to_string().into_bytes());
        if encoded.data_type.name() != decoded.data_type.name() {
            data_type.write(hand_over(encoded.data_type));
        }
        Ok(())
    }

    fn encoded_size(this: *const c_void, decoded: *const abi::Representation, out: *mut Size) {
        let size = match (held(this), representation_of(decoded)?) {
            (Codec::ArrayToBytes(codec), Representation::Array(array)) => codec.encoded_size(&array)?,
            (Codec::Composite(codec), Representation::Array(array)) => codec.encoded_size(&array)?,
            (Codec::BytesToBytes(codec), Representation::Bytes(size)) => codec.encoded_size(size),
            (codec, _) => return Err(wrong_function(codec)),
        };
        out.write(size_shown(size));
        Ok(())
    }

    fn encode(
        this: *const c_void,
        array: *const Array,
        decoded: Str,
        call: *const Call,
        encoded: *mut abi::Output,
    ) {
        run(Direction::Encode, held(this), array, decoded, call, encoded)
    }

    fn decode(
        this: *const c_void,
        array: *const Array,
        encoded: Str,
        call: *const Call,
        decoded: *mut abi::Output,
    ) {
        run(Direction::Decode, held(this), array, encoded, call, decoded)
    }
}

/// Encodes or decodes `from`, and writes the result to lent memory.
///
/// # Safety
///
/// All pointers come from one call.
unsafe fn run(
    direction: Direction,
    codec: &Codec,
    array: *const Array,
    from: Str,
    call: *const Call,
    to: *mut abi::Output,
) -> Result<(), Failure> {
    // SAFETY: as this function requires.
    unsafe {
        let call = started(call)?;
        let from = borrowed(from);
        // Bytes-to-bytes codecs are called without an array.
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
                    let array = array()?;
                    let mut chains = HostChains::new(call.chains, codec.chains())?;
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

/// Returns the options of a call, or a failure if the call is cancelled.
///
/// # Safety
///
/// The other side lends `call` for this call.
pub(super) unsafe fn started(call: *const Call) -> Result<Call, Failure> {
    // SAFETY: as this function requires.
    unsafe {
        let call = read(call)?;
        if !call.cancelled.is_null() && call.cancelled.read_volatile() != 0 {
            return Err(Failure::new(abi::CANCELLED, "cancelled"));
        }
        Ok(call)
    }
}

callbacks! {
    fn decode_range(
        this: *const c_void,
        encoded: Str,
        start: usize,
        end: usize,
        call: *const Call,
        decoded: *mut abi::Output,
    ) {
        let Codec::BytesToBytes(codec) = held(this) else { return Err(wrong_function(held(this))) };
        started(call)?;
        write_output(decoded, |decoded| Ok(codec.decode_range(borrowed(encoded), start..end, decoded)?))
    }

    fn chain(
        this: *const c_void,
        chain: usize,
        codecs_json: *mut Buf,
        array_json_to: *mut Buf,
        data_type: *mut DataTypeHandle,
    ) {
        let codec = held(this);
        let chains = chains_of(codec);
        let links = chains.get(chain).ok_or_else(|| wrong_function(codec))?.links();
        // The input of the chain is the input of its first codec.
        let Some(Representation::Array(array)) = links.first().map(|link| &link.decoded) else {
            return Err(Failure::broken(format!("chain {chain} has no codecs")));
        };
        let codecs: Value =
            links.iter().filter_map(|link| link.document.as_ref()).map(document_value).collect();
        put(codecs_json, codecs.to_string().into_bytes());
        put(array_json_to, array_json(array).to_string().into_bytes());
        data_type.write(hand_over(array.data_type.clone()));
        Ok(())
    }

    fn checksum(this: *const c_void, bytes: Str, checksum: *mut u8) {
        // `checksum` has the number of bytes that the codec declared.
        let Codec::Checksum(codec) = held(this) else { return Err(wrong_function(held(this))) };
        if codec.size() > 0 {
            codec.checksum(borrowed(bytes), std::slice::from_raw_parts_mut(checksum, codec.size()))?;
        }
        Ok(())
    }

    fn translate(
        context: *const c_void,
        creation: *const Creation,
        decoded: *const abi::Representation,
        format: u32,
        configuration_json: *mut Buf,
    ) {
        let plugin = &*context.cast::<CodecPlugin>();
        let (decoded, format) = (representation_of(decoded)?, format_of(format)?);
        let configuration = with_creation(creation, linked()?, |creation| {
            Ok(plugin.translate(creation, &decoded, format)?)
        })?;
        put(configuration_json, Value::Object(configuration).to_string().into_bytes());
        Ok(())
    }
}
