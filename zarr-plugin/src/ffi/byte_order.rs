//! Byte orders: as JSON, and as a struct that is lent for a call.

use zarr_spec::{ByteOrder, Value};

use super::{Failure, borrowed_items};
use crate::abi;

pub(crate) fn order_json(order: &ByteOrder) -> Value {
    match order {
        ByteOrder::Little => "little".into(),
        ByteOrder::Big => "big".into(),
        ByteOrder::Mixed(big) => big.iter().copied().collect(),
    }
}

pub(crate) fn order_of_json(json: &Value) -> Option<ByteOrder> {
    match json.as_str() {
        Some("little") => Some(ByteOrder::Little),
        Some("big") => Some(ByteOrder::Big),
        Some(_) => None,
        None => {
            let big: Option<Vec<bool>> = json.as_array()?.iter().map(Value::as_bool).collect();
            Some(ByteOrder::Mixed(big?.into()))
        }
    }
}

/// Lends `order` to the other side during `call`.
pub(crate) fn show_order<R>(order: &ByteOrder, call: impl FnOnce(abi::ByteOrder) -> R) -> R {
    let plain = |order| abi::ByteOrder { order, n_units: 0, big_endian: std::ptr::null() };
    match order {
        ByteOrder::Little => call(plain(abi::LITTLE_ENDIAN)),
        ByteOrder::Big => call(plain(abi::BIG_ENDIAN)),
        ByteOrder::Mixed(big) => {
            let big: Vec<u8> = big.iter().map(|&big| u8::from(big)).collect();
            let n_units = u32::try_from(big.len()).unwrap_or(0);
            call(abi::ByteOrder { order: abi::MIXED_ENDIAN, n_units, big_endian: big.as_ptr() })
        }
    }
}

/// Converts a byte order from the other side.
///
/// # Safety
///
/// The other side lends `order` for this call.
pub(crate) unsafe fn order_of(order: &abi::ByteOrder) -> Result<ByteOrder, Failure> {
    match order.order {
        abi::LITTLE_ENDIAN => Ok(ByteOrder::Little),
        abi::BIG_ENDIAN => Ok(ByteOrder::Big),
        abi::MIXED_ENDIAN => {
            // SAFETY: as this function requires.
            let big = unsafe { borrowed_items(order.big_endian, order.n_units as usize) };
            Ok(ByteOrder::Mixed(big.iter().map(|&big| big != 0).collect()))
        }
        other => Err(Failure::broken(format!("unknown byte order {other}"))),
    }
}
