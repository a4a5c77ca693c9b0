//! The result of `create` for a codec of this side of the ABI.

use zarr_spec::{ArrayRepresentation, Codec, CodecChain, Value, json};

use super::codec::{CODECS, CODECS_THAT_DECODE};
use super::subsets;
use crate::abi::{self, Buf, CodecInstance, CodecVtable};
use crate::ffi::byte_order::order_json;
use crate::ffi::import::instance::EMPTY_INSTANCE;
use crate::ffi::{EMPTY, Failure, fill, put};

/// Fills `out` with a codec that was created for `decoded`, if its input is an array. A permutation, a byte order and a
/// shard are passed as data.
///
/// # Safety
///
/// `out` is a writable instance.
pub(crate) unsafe fn instance(
    codec: Codec,
    decoded: Option<&ArrayRepresentation>,
    out: *mut CodecInstance,
) -> Result<(), Failure> {
    let mut value = None;
    let mut checksum = (0, false);
    let form = match &codec {
        Codec::Permutation(order) => {
            let order: Value = order.iter().map(|&dimension| dimension as u64).collect();
            value = Some(json!({"permutation": order}));
            abi::FORM_VALUE
        }
        Codec::Binary(order) => {
            value = Some(json!({"binary": (order_json(order))}));
            abi::FORM_VALUE
        }
        Codec::Shard(shard) => {
            let inner_shape: Value = shard.inner_shape.iter().copied().collect();
            value = Some(json!({"inner_shape": inner_shape, "index_at_start": (shard.index_at_start)}));
            abi::FORM_SHARD
        }
        Codec::ArrayToArray(_) => abi::FORM_ARRAY_TO_ARRAY,
        Codec::ArrayToBytes(_) => abi::FORM_ARRAY_TO_BYTES,
        Codec::Composite(_) => abi::FORM_COMPOSITE,
        Codec::BytesToBytes(_) => abi::FORM_BYTES_TO_BYTES,
        Codec::Checksum(inner) => {
            let size = u32::try_from(inner.size());
            let size = size.map_err(|_| Failure::broken("its checksum is longer than 4 GiB"))?;
            checksum = (size, inner.at_start());
            abi::FORM_CHECKSUM
        }
        other => return Err(Failure::new(abi::UNSUPPORTED, format!("the ABI has no form for {other:?}"))),
    };
    let decodes_subsets = subsets::of(&codec).is_some();
    let vtable = vtable_of(&codec, decoded);
    let n_chains = u32::try_from(chains_of(&codec).len());
    let n_chains = n_chains.map_err(|_| Failure::broken("it has too many chains"))?;
    let this = match form {
        abi::FORM_VALUE => std::ptr::null_mut(),
        _ => Box::into_raw(Box::new(codec)).cast(),
    };
    // SAFETY: as this function requires.
    unsafe {
        let filled = CodecInstance {
            form,
            checksum_size: checksum.0,
            checksum_at_start: checksum.1.into(),
            n_chains,
            this,
            value: text_of(value),
            vtable,
            decodes_subsets: decodes_subsets.into(),
            ..EMPTY_INSTANCE
        };
        fill(out, filled);
    }
    Ok(())
}

/// Returns a buffer with a value as JSON; an empty buffer without a value.
fn text_of(value: Option<Value>) -> Buf {
    let mut text = EMPTY;
    if let Some(value) = value {
        // SAFETY: `text` is an empty buffer of this function.
        unsafe { put(&mut text, value.to_string().into_bytes()) };
    }
    text
}

/// Returns the functions of a codec. A codec that only decodes such chunks does not have the function to encode.
fn vtable_of(codec: &Codec, decoded: Option<&ArrayRepresentation>) -> &'static CodecVtable {
    match (codec, decoded) {
        (Codec::ArrayToBytes(codec), Some(array)) if !codec.encodes(array) => &CODECS_THAT_DECODE,
        _ => &CODECS,
    }
}

/// Returns the chains of a codec, which the host creates and runs.
pub(super) fn chains_of(codec: &Codec) -> Vec<&CodecChain> {
    match codec {
        Codec::Composite(codec) => codec.chains(),
        Codec::Shard(shard) => vec![&shard.inner_codecs, &shard.index_codecs],
        _ => Vec::new(),
    }
}
