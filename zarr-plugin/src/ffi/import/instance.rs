//! The result of `create` for a codec of the other side of the ABI.

use std::sync::Arc;

use zarr_spec::codec::Shard;
use zarr_spec::{ArrayRepresentation, Codec, CodecChain, Creation, Value};

use super::codec::{ForeignChecksum, ForeignCodec, ForeignComposite};
use crate::abi::{self, CodecInstance, CodecVtable};
use crate::ffi::byte_order::order_of_json;
use crate::ffi::{EMPTY, Failure, Instance, parse, read, take};

/// The longest checksum, in bytes.
const MAX_CHECKSUM: usize = 1 << 16;

/// An empty instance.
pub(crate) const EMPTY_INSTANCE: CodecInstance = CodecInstance {
    struct_size: size_of::<CodecInstance>(),
    form: abi::FORM_VALUE,
    checksum_size: 0,
    checksum_at_start: 0,
    n_chains: 0,
    this: std::ptr::null_mut(),
    value: EMPTY,
    vtable: std::ptr::null(),
    decodes_subsets: 0,
    reserved: 0,
};

/// Returns the codec that the other side created from `creation`, for `array` if its input is an array.
///
/// # Safety
///
/// The call filled `out`, and this side owns its content. `vtable` is the vtable of the item that created the codec, if
/// there is one.
pub(crate) unsafe fn made(
    mut out: CodecInstance,
    called: Result<(), Failure>,
    vtable: Option<&CodecVtable>,
    origin: &Arc<str>,
    creation: &Creation<'_>,
    array: Option<&ArrayRepresentation>,
) -> Result<Codec, Failure> {
    // SAFETY: as this function requires.
    let (value, instance) = unsafe {
        let value = take(&mut out.value);
        called?;
        let vtable = match vtable {
            Some(vtable) if out.vtable.is_null() => *vtable,
            _ => read(out.vtable)?,
        };
        (value?, Instance::new(vtable, out.this, vtable.destroy))
    };
    let codec =
        ForeignCodec { instance, origin: Arc::clone(origin), decodes_subsets: out.decodes_subsets == 1 };
    Ok(match out.form {
        abi::FORM_VALUE => value_codec(&parse(&value)?)?,
        abi::FORM_ARRAY_TO_ARRAY => Codec::ArrayToArray(Arc::new(codec)),
        abi::FORM_ARRAY_TO_BYTES => Codec::ArrayToBytes(Arc::new(codec)),
        abi::FORM_BYTES_TO_BYTES => Codec::BytesToBytes(Arc::new(codec)),
        abi::FORM_CHECKSUM => {
            let size = out.checksum_size as usize;
            if size > MAX_CHECKSUM {
                return Err(Failure::broken(format!(
                    "it declared a checksum of {size} bytes; the limit is {MAX_CHECKSUM}"
                )));
            }
            let at_start = out.checksum_at_start != 0;
            Codec::Checksum(Arc::new(ForeignChecksum { codec, size, at_start }))
        }
        abi::FORM_COMPOSITE => {
            let chains = codec.chains(out.n_chains, creation, array)?;
            Codec::Composite(Arc::new(ForeignComposite { codec, chains }))
        }
        abi::FORM_SHARD => {
            let chains = codec.chains(out.n_chains, creation, array)?;
            Codec::Shard(Arc::new(shard(&parse(&value)?, chains)?))
        }
        other => return Err(Failure::broken(format!("it returned a codec of the unknown form {other}"))),
    })
}

/// Returns a codec that is passed as data.
///
/// # Errors
///
/// [`Failure::BROKEN`] if `value` does not have the form in the header.
pub fn value_codec(value: &Value) -> Result<Codec, Failure> {
    let wrong = || Failure::broken(format!("it returned a codec with the invalid value {value}"));
    let members = value.as_object().filter(|members| members.len() == 1).ok_or_else(wrong)?;
    let (name, content) = members.iter().next().ok_or_else(wrong)?;
    match name {
        "permutation" => {
            let order = content.as_array().ok_or_else(wrong)?.iter();
            let order = order.map(|dimension| usize::try_from(dimension.as_u64()?).ok());
            Ok(Codec::Permutation(order.collect::<Option<_>>().ok_or_else(wrong)?))
        }
        "binary" => Ok(Codec::Binary(order_of_json(content).ok_or_else(wrong)?)),
        _ => Err(wrong()),
    }
}

/// Returns a shard with the chains of its inner chunks and of its index.
fn shard(value: &Value, chains: Vec<CodecChain>) -> Result<Shard, Failure> {
    let described = || {
        let members = value.as_object()?;
        let inner_shape = members.get("inner_shape")?.as_array()?.iter().map(Value::as_u64);
        Some((inner_shape.collect::<Option<Vec<u64>>>()?, members.get("index_at_start")?.as_bool()?))
    };
    let chains: Result<[CodecChain; 2], _> = chains.try_into();
    match (described(), chains) {
        (Some((inner_shape, index_at_start)), Ok([inner_codecs, index_codecs])) => {
            Ok(Shard::new(inner_shape, inner_codecs, index_codecs).with_index_at_start(index_at_start))
        }
        (_, chains) => {
            let count = chains.map_or_else(|chains| chains.len(), |_| 2);
            Err(Failure::broken(format!("it returned the invalid shard {value} with {count} chains")))
        }
    }
}
