//! Arrays without their elements.

use std::sync::Arc;

use zarr_spec::{
    ArrayRepresentation, DataType, Elements, FillValue, Representation, Size, Units, Value, json,
};

use super::byte_order::{order_json, order_of, order_of_json, show_order};
use super::description::{bytes_json, bytes_of, kind_number};
use super::export::data_type::SHOWN;
use super::import::data_type::Foreign;
use super::{Failure, borrowed, borrowed_items, lend, read};
use crate::abi;

/// Lends `array` to the other side during `call`.
pub(crate) fn show_array<R>(array: &ArrayRepresentation, call: impl FnOnce(*const abi::Array) -> R) -> R {
    let name = array.data_type.name();
    let elements = array.data_type.elements();
    let (element_size, unit_size, units) = match &elements {
        Elements::Variable => (0, 1, Vec::new()),
        Elements::Fixed { size, units: Units::Uniform(unit) } => (*size, *unit, Vec::new()),
        Elements::Fixed { size, units: Units::Fields(units) } => {
            (*size, 0, units.iter().map(|unit| abi::Unit { offset: unit.offset, size: unit.size }).collect())
        }
    };
    show_order(&array.byte_order, |byte_order| {
        call(&abi::Array {
            struct_size: size_of::<abi::Array>(),
            data_type_name: lend(name.as_bytes()),
            element_size,
            is_variable: u32::from(elements == Elements::Variable),
            reserved: 0,
            kind: kind_number(array.data_type.kind()),
            // A unit has at most a few bytes, so the conversion does not fail.
            unit_size: u32::try_from(unit_size).unwrap_or(1),
            units: units.as_ptr(),
            n_units: units.len(),
            byte_order,
            fill_value: lend(array.fill_value.bytes()),
            rank: array.shape.len(),
            shape: array.shape.as_ptr(),
            data_type_vtable: &SHOWN,
            data_type: std::ptr::from_ref(&array.data_type).cast(),
        })
    })
}

/// Returns the array that the other side lends. The result retains its data type.
///
/// # Safety
///
/// The other side lends `shown` for this call.
pub(crate) unsafe fn array_of(shown: *const abi::Array) -> Result<ArrayRepresentation, Failure> {
    // SAFETY: as this function requires.
    unsafe {
        let shown = read(shown)?;
        Ok(ArrayRepresentation::new(
            borrowed_items(shown.shape, shown.rank).to_vec(),
            Arc::new(Foreign::retained(&shown)?),
            FillValue::new(borrowed(shown.fill_value)),
        )
        .with_byte_order(order_of(&shown.byte_order)?))
    }
}

/// Returns an array without its data type, as JSON.
pub(crate) fn array_json(array: &ArrayRepresentation) -> Value {
    let shape: Value = array.shape.iter().copied().collect();
    json!({
        "shape": shape,
        "fill_value": (bytes_json(array.fill_value.bytes())),
        "byte_order": (order_json(&array.byte_order))
    })
}

/// Returns the array that the JSON of `encoded_array` describes. Missing members are taken from `otherwise`. `None` if
/// the fill value does not have the size of an element.
#[must_use]
pub fn array_of_json(
    json: &Value,
    data_type: Arc<dyn DataType>,
    otherwise: &ArrayRepresentation,
) -> Option<ArrayRepresentation> {
    let members = json.as_object()?;
    let shape = match members.get("shape") {
        Some(shape) => shape.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?,
        None => otherwise.shape.clone(),
    };
    let fill_value = match members.get("fill_value") {
        Some(bytes) => FillValue::new(bytes_of(bytes)?),
        None => otherwise.fill_value.clone(),
    };
    let byte_order = match members.get("byte_order") {
        Some(order) => order_of_json(order)?,
        None => otherwise.byte_order.clone(),
    };
    let fits = data_type.elements().size().is_none_or(|size| size == fill_value.bytes().len());
    fits.then_some(ArrayRepresentation::new(shape, data_type, fill_value).with_byte_order(byte_order))
}

/// Converts a size to a struct of the ABI.
#[must_use]
pub fn size_shown(size: Size) -> abi::Size {
    let (kind, bytes) = match size {
        Size::Unknown => (abi::SIZE_UNKNOWN, 0),
        Size::Exact(bytes) => (abi::SIZE_EXACT, bytes),
        Size::AtMost(bytes) => (abi::SIZE_AT_MOST, bytes),
    };
    abi::Size { bytes, kind, reserved: 0 }
}

/// Converts a size from a struct of the ABI. An unknown kind means an unknown size.
#[must_use]
pub fn size_of_shown(shown: abi::Size) -> Size {
    match shown.kind {
        abi::SIZE_EXACT => Size::Exact(shown.bytes),
        abi::SIZE_AT_MOST => Size::AtMost(shown.bytes),
        _ => Size::Unknown,
    }
}

/// Lends `decoded` to the other side during `call`.
pub(crate) fn show_representation<R>(
    decoded: &Representation,
    call: impl FnOnce(*const abi::Representation) -> R,
) -> R {
    let shown = |kind, size, array| abi::Representation {
        struct_size: size_of::<abi::Representation>(),
        kind,
        rank: 0,
        size: size_shown(size),
        array,
    };
    match decoded {
        Representation::Bytes(size) => call(&shown(abi::FOR_BYTES, *size, std::ptr::null())),
        Representation::Array(array) => {
            show_array(array, |shown_array| call(&shown(abi::FOR_ARRAY, Size::Unknown, shown_array)))
        }
    }
}

/// The input of a codec, or of a memory layout.
pub(crate) enum CreatedFor {
    Representation(Representation),
    Rank(usize),
}

/// Converts the description of the array, bytes or number of dimensions for which a plugin is created.
///
/// # Safety
///
/// The other side lends `shown` for this call.
pub(crate) unsafe fn created_for(shown: *const abi::Representation) -> Result<CreatedFor, Failure> {
    // SAFETY: as this function requires.
    let shown = unsafe { read(shown) }?;
    Ok(match shown.kind {
        abi::FOR_BYTES => CreatedFor::Representation(Representation::Bytes(size_of_shown(shown.size))),
        abi::FOR_ARRAY => {
            // SAFETY: as this function requires.
            let array = unsafe { array_of(shown.array) }?;
            CreatedFor::Representation(Representation::Array(array))
        }
        abi::FOR_RANK => CreatedFor::Rank(shown.rank as usize),
        other => return Err(Failure::broken(format!("unknown representation kind {other}"))),
    })
}

/// Converts the description of an array or of bytes.
///
/// # Safety
///
/// The other side lends `shown` for this call.
pub(crate) unsafe fn representation_of(shown: *const abi::Representation) -> Result<Representation, Failure> {
    // SAFETY: as this function requires.
    match unsafe { created_for(shown) }? {
        CreatedFor::Representation(representation) => Ok(representation),
        CreatedFor::Rank(_) => {
            Err(Failure::broken("expected an array or bytes, but found a number of dimensions"))
        }
    }
}
