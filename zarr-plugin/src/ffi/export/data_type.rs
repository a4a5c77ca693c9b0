//! Data types of this side of the ABI for the other side. A library and a host use the same table of functions.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use zarr_spec::data_type::FillContext;
use zarr_spec::{DataType, DataTypePlugin, Registry};

use super::{destroy, held};
use crate::abi::{self, Buf, Creation, DataTypeHandle, DataTypeVtable, Str};
use crate::ffi::byte_order::{order_json, order_of};
use crate::ffi::creation::{format_of, mode_of, with_creation};
use crate::ffi::description::{description, document_json};
use crate::ffi::{Failure, borrowed, parse, put};

/// The functions of a type of this side. `this` is an `Arc<dyn DataType>`.
pub(crate) static SHOWN: DataTypeVtable = DataTypeVtable {
    struct_size: size_of::<DataTypeVtable>(),
    create: Some(create),
    retain: Some(retain),
    release: Some(destroy::<Arc<dyn DataType>>),
    describe: Some(describe),
    document: Some(document),
    fill_value: Some(fill_value),
    fill_value_json: Some(fill_value_json),
    print: Some(print),
    check: Some(check),
    settle: Some(settle),
    inner: Some(inner),
};

/// Returns the data type that `this` points to.
///
/// # Safety
///
/// `this` comes from [`hand_over`].
unsafe fn shown<'a>(this: *const c_void) -> &'a Arc<dyn DataType> {
    // SAFETY: as this function requires.
    unsafe { held(this) }
}

/// Passes `data_type` to the other side, which releases it.
pub(crate) fn hand_over(data_type: Arc<dyn DataType>) -> DataTypeHandle {
    DataTypeHandle { vtable: &SHOWN, this: Box::into_raw(Box::new(data_type)).cast() }
}

callbacks! {
    fn create(
        context: *const c_void,
        creation: *const Creation,
        this: *mut *mut c_void,
        byte_order_json: *mut Buf,
    ) {
        let plugin = &*context.cast::<DataTypePlugin>();
        let (made, order) =
            with_creation(creation, linked()?, |creation| Ok((plugin.create)(creation)?))?;
        put(byte_order_json, order_json(&order).to_string().into_bytes());
        this.write(hand_over(made).this);
        Ok(())
    }
}

/// Returns the plugins that this library links.
pub(crate) fn linked() -> Result<&'static Registry, Failure> {
    static LINKED: std::sync::OnceLock<Result<Registry, String>> = std::sync::OnceLock::new();
    let linked = LINKED.get_or_init(|| Registry::linked().map_err(|error| error.to_string()));
    linked.as_ref().map_err(Failure::broken)
}

unsafe extern "C" fn retain(this: *const c_void) -> *mut c_void {
    // SAFETY: `this` comes from `hand_over`.
    hand_over(unsafe { shown(this) }.clone()).this
}

callbacks! {
    fn describe(this: *const c_void, json: *mut Buf) {
        put(json, description(&**shown(this)).to_string().into_bytes());
        Ok(())
    }

    fn document(this: *const c_void, format: u32, order: *const abi::ByteOrder, json: *mut Buf) {
        let document = shown(this).document(format_of(format)?, &order_of(&*order)?)?;
        put(json, document_json(&document).to_string().into_bytes());
        Ok(())
    }

    fn fill_value(
        this: *const c_void,
        json: Str,
        reading: *const Creation,
        order: *const abi::ByteOrder,
        element: *mut Buf,
    ) {
        let (json, byte_order) = (parse(borrowed(json))?, order_of(&*order)?);
        // Nothing is created, so nothing is looked up.
        let value = with_creation(reading, &Registry::empty(), |creation| {
            let context = FillContext::new(creation.format, creation.reading).with_byte_order(&byte_order);
            Ok(shown(this).fill_value(&json, &context)?)
        })?;
        put(element, value.bytes().to_vec());
        Ok(())
    }

    fn fill_value_json(
        this: *const c_void,
        element: Str,
        format: u32,
        order: *const abi::ByteOrder,
        json: *mut Buf,
    ) {
        let value =
            shown(this).fill_value_json(borrowed(element), format_of(format)?, &order_of(&*order)?)?;
        put(json, value.to_string().into_bytes());
        Ok(())
    }

    fn print(this: *const c_void, element: Str, text: *mut Buf) {
        let mut printed = String::new();
        match shown(this).print(borrowed(element), &mut printed) {
            Ok(()) => put(text, printed.into_bytes()),
            // If an element cannot be printed, the printed text explains why.
            Err(fmt::Error) => return Err(Failure::new(abi::CORRUPT, printed)),
        }
        Ok(())
    }

    fn check(this: *const c_void, elements: Str) {
        Ok(shown(this).check(borrowed(elements))?)
    }

    fn settle(this: *const c_void, elements: *mut u8, len: usize, mode: u32) {
        // The mutable slice is sound: the other side lends the elements to this call only.
        if elements.is_null() || len == 0 {
            return Ok(());
        }
        Ok(shown(this).settle(std::slice::from_raw_parts_mut(elements, len), mode_of(mode))?)
    }

    fn inner(this: *const c_void, field: usize, data_type: *mut DataTypeHandle) {
        let shown = shown(this);
        let of_field = || Some(&shown.fields()?.get(field)?.data_type);
        let inner = shown.optional().filter(|_| field == 0).or_else(of_field);
        let inner =
            inner.ok_or_else(|| Failure::broken(format!("{} has no field {field}", shown.name())))?;
        data_type.write(hand_over(Arc::clone(inner)));
        Ok(())
    }
}
