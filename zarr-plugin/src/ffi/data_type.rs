//! Data types across the boundary. One table of functions shows the types of either side to the other.

use std::borrow::Cow;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use zarr_spec::data_type::{DataTypeDocument, FillContext, Kind};
use zarr_spec::{
    ByteOrder, DataType, DataTypeError, DataTypePlugin, Elements, FillValue, Format, Invalid, Mode, Object,
    Registry, Unit, Units, Value, json,
};

use super::creation::{format_number, format_of, mode_number, mode_of, show_reading, with_creation};
use super::{
    EMPTY, Failure, borrowed, borrowed_items, guarded, lend, outcome, parse, put, read, required, take,
    take_json, take_text,
};
use crate::abi::{self, Buf, Creation, DataTypeVtable, Str};

/// The functions that show a type of this side. `this` is an `Arc<dyn DataType>`.
pub(crate) static SHOWN: DataTypeVtable = DataTypeVtable {
    struct_size: size_of::<DataTypeVtable>(),
    create: Some(create),
    retain: Some(retain),
    release: Some(release),
    describe: Some(describe),
    document: Some(document),
    fill_value: Some(fill_value),
    fill_value_json: Some(fill_value_json),
    print: Some(print),
    check: Some(check),
    settle: Some(settle),
};

/// What `this` of [`SHOWN`] is.
///
/// # Safety
///
/// It is one.
unsafe fn shown<'a>(this: *const c_void) -> &'a Arc<dyn DataType> {
    // SAFETY: as this function asks.
    unsafe { &*this.cast::<Arc<dyn DataType>>() }
}

/// Hands `data_type` to the other side, which releases it.
pub(crate) fn hand_over(data_type: Arc<dyn DataType>) -> *const c_void {
    Box::into_raw(Box::new(data_type)).cast_const().cast()
}

/// Refuses types that have more to them than crosses.
pub(crate) fn crosses(data_type: &dyn DataType) -> Result<(), Failure> {
    if data_type.fields().is_some() || data_type.optional().is_some() {
        let what = format!("data type {} holds other types, which plugins cannot have yet", data_type.name());
        return Err(Failure::new(abi::UNSUPPORTED, what));
    }
    if data_type.elements().size() == Some(0) {
        let what =
            format!("elements of data type {} have no bytes, which plugins cannot have", data_type.name());
        return Err(Failure::new(abi::UNSUPPORTED, what));
    }
    Ok(())
}

unsafe extern "C" fn create(
    context: *const c_void,
    creation: *const Creation,
    this: *mut *const c_void,
    byte_order_json: *mut Buf,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call; `context` is a plugin of this library.
    unsafe {
        guarded(err, || {
            let plugin = &*context.cast::<DataTypePlugin>();
            let registry = linked()?;
            let (made, order) = with_creation(creation, registry, |creation| Ok((plugin.create)(creation)?))?;
            crosses(&*made)?;
            put(byte_order_json, order_json(&order).to_string().into_bytes());
            this.write(hand_over(made));
            Ok(())
        })
    }
}

/// What this library links: what its plugins find.
pub(crate) fn linked() -> Result<&'static Registry, Failure> {
    static LINKED: std::sync::OnceLock<Result<Registry, String>> = std::sync::OnceLock::new();
    let linked = LINKED.get_or_init(|| Registry::linked().map_err(|error| error.to_string()));
    linked.as_ref().map_err(Failure::broken)
}

unsafe extern "C" fn retain(this: *const c_void) -> *const c_void {
    // SAFETY: `this` is what was shown.
    hand_over(unsafe { shown(this) }.clone())
}

unsafe extern "C" fn release(this: *const c_void) {
    // SAFETY: `this` is of `hand_over`, and the other side is done with it.
    let held = unsafe { Box::from_raw(this.cast_mut().cast::<Arc<dyn DataType>>()) };
    super::contained(|| drop(held));
}

unsafe extern "C" fn describe(this: *const c_void, json: *mut Buf, err: *mut Buf) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            put(json, description(&**shown(this)).to_string().into_bytes());
            Ok(())
        })
    }
}

unsafe extern "C" fn document(
    this: *const c_void,
    format: u32,
    order: *const abi::ByteOrder,
    json: *mut Buf,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let document = shown(this).document(format_of(format)?, &order_of(&*order)?)?;
            put(json, document_json(&document).to_string().into_bytes());
            Ok(())
        })
    }
}

unsafe extern "C" fn fill_value(
    this: *const c_void,
    json: Str,
    reading: *const Creation,
    order: *const abi::ByteOrder,
    element: *mut Buf,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let (json, byte_order) = (parse(borrowed(json))?, order_of(&*order)?);
            // Nothing is created, and so nothing is looked up.
            let value = with_creation(reading, &Registry::empty(), |creation| {
                let context = FillContext {
                    format: creation.format,
                    reading: creation.reading,
                    byte_order: &byte_order,
                };
                Ok(shown(this).fill_value(&json, &context)?)
            })?;
            put(element, value.bytes().to_vec());
            Ok(())
        })
    }
}

unsafe extern "C" fn fill_value_json(
    this: *const c_void,
    element: Str,
    format: u32,
    order: *const abi::ByteOrder,
    json: *mut Buf,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let value =
                shown(this).fill_value_json(borrowed(element), format_of(format)?, &order_of(&*order)?)?;
            put(json, value.to_string().into_bytes());
            Ok(())
        })
    }
}

unsafe extern "C" fn print(this: *const c_void, element: Str, text: *mut Buf, err: *mut Buf) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let mut printed = String::new();
            let result = shown(this).print(borrowed(element), &mut printed);
            result.map_err(|_| Failure::new(abi::CORRUPT, "it cannot be printed"))?;
            put(text, printed.into_bytes());
            Ok(())
        })
    }
}

unsafe extern "C" fn check(this: *const c_void, elements: Str, err: *mut Buf) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe { guarded(err, || Ok(shown(this).check(borrowed(elements))?)) }
}

unsafe extern "C" fn settle(
    this: *const c_void,
    elements: *mut u8,
    len: usize,
    mode: u32,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call, and the elements to be changed by it alone.
    unsafe {
        guarded(err, || {
            if elements.is_null() || len == 0 {
                return Ok(());
            }
            Ok(shown(this).settle(std::slice::from_raw_parts_mut(elements, len), mode_of(mode))?)
        })
    }
}

const KINDS: [(Kind, u32); 6] = [
    (Kind::Bool, abi::KIND_BOOL),
    (Kind::Int, abi::KIND_INT),
    (Kind::UInt, abi::KIND_UINT),
    (Kind::Float, abi::KIND_FLOAT),
    (Kind::BFloat, abi::KIND_BFLOAT),
    (Kind::Complex, abi::KIND_COMPLEX),
];

pub(crate) fn kind_number(kind: Option<Kind>) -> u32 {
    let found = kind.and_then(|kind| KINDS.into_iter().find(|(known, _)| *known == kind));
    found.map_or(abi::KIND_OPAQUE, |(_, number)| number)
}

fn kind_of(number: u64) -> Option<Kind> {
    KINDS.into_iter().find(|(_, known)| u64::from(*known) == number).map(|(kind, _)| kind)
}

fn description(data_type: &dyn DataType) -> Value {
    let mut members = Object::new();
    members.insert("name", data_type.name().as_ref());
    members.insert("kind", u64::from(kind_number(data_type.kind())));
    match data_type.elements() {
        Elements::Variable => {
            members.insert("size", Value::Null);
        }
        Elements::Fixed { size, units } => {
            members.insert("size", size as u64);
            match units {
                Units::Uniform(unit) => members.insert("unit_size", unit as u64),
                Units::Fields(units) => members.insert(
                    "units",
                    units
                        .iter()
                        .map(|unit| json!([(unit.offset as u64), (unit.size as u64)]))
                        .collect::<Vec<_>>(),
                ),
            };
        }
    }
    members.insert("default_fill_value", bytes_json(data_type.default_fill_value().bytes()));
    members.insert("settles", data_type.settles());
    members.insert("may_omit_byte_order", data_type.may_omit_byte_order());
    Value::Object(members)
}

pub(crate) fn bytes_json(bytes: &[u8]) -> Value {
    bytes.iter().map(|&byte| u64::from(byte)).collect::<Vec<u64>>().into_iter().collect()
}

pub(crate) fn bytes_of(json: &Value) -> Option<Vec<u8>> {
    json.as_array()?.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect()
}

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

/// Shows `order` to the other side during `call`.
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

/// # Safety
///
/// The other side shows it for this call.
pub(crate) unsafe fn order_of(order: &abi::ByteOrder) -> Result<ByteOrder, Failure> {
    match order.order {
        abi::LITTLE_ENDIAN => Ok(ByteOrder::Little),
        abi::BIG_ENDIAN => Ok(ByteOrder::Big),
        abi::MIXED_ENDIAN => {
            // SAFETY: as this function asks.
            let big = unsafe { borrowed_items(order.big_endian, order.n_units as usize) };
            Ok(ByteOrder::Mixed(big.iter().map(|&big| big != 0).collect()))
        }
        other => Err(Failure::broken(format!("byte order {other} is none"))),
    }
}

fn document_json(document: &DataTypeDocument) -> Value {
    let mut members = Object::new();
    members.insert("identifier", document.identifier.as_str());
    members.insert("json", document.json.clone());
    members.insert("configuration", document.configuration.clone());
    members.insert("type", document.type_name.clone().unwrap_or(Value::Null));
    members.insert("fallback", document.fallback.iter().map(document_json).collect::<Vec<_>>());
    Value::Object(members)
}

fn document_of(json: &Value) -> Option<DataTypeDocument> {
    let members = json.as_object()?;
    let fallback: Option<Vec<_>> = match members.get("fallback") {
        Some(fallback) => fallback.as_array()?.iter().map(document_of).collect(),
        None => Some(Vec::new()),
    };
    Some(DataTypeDocument {
        identifier: members.get("identifier")?.as_str()?.to_owned(),
        json: members.get("json")?.clone(),
        configuration: members.get("configuration").cloned().unwrap_or(Value::Null),
        type_name: members.get("type").filter(|name| !name.is_null()).cloned(),
        fallback: fallback?,
    })
}

/// A data type of the other side.
#[derive(Debug)]
pub(crate) struct Foreign {
    vtable: DataTypeVtable,
    this: *const c_void,
    /// What messages say of where it comes from; nothing for a type of the host.
    origin: Arc<str>,
    name: String,
    elements: Elements,
    kind: Option<Kind>,
    more: std::sync::OnceLock<More>,
}

/// What is asked for when it is needed first.
#[derive(Debug)]
struct More {
    default_fill_value: FillValue,
    settles: bool,
    may_omit_byte_order: bool,
}

// SAFETY: the ABI has all functions of a data type called by many threads at once.
unsafe impl Send for Foreign {}
// SAFETY: as above.
unsafe impl Sync for Foreign {}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(release) = self.vtable.release {
            // SAFETY: `this` was handed over to this value alone.
            unsafe { release(self.this) };
        }
    }
}

impl Foreign {
    /// Takes over a type and asks what it is.
    ///
    /// # Safety
    ///
    /// `vtable` and `this` are of the other side, and `this` is not released by anybody else.
    pub(crate) unsafe fn owned(
        vtable: DataTypeVtable,
        this: *const c_void,
        origin: Arc<str>,
    ) -> Result<Self, Failure> {
        let mut foreign = Self {
            vtable,
            this,
            origin,
            name: String::new(),
            elements: Elements::Variable,
            kind: None,
            more: std::sync::OnceLock::new(),
        };
        let json = foreign.description()?;
        let wrong = || Failure::broken(format!("its data type describes itself as {json}"));
        let members = json.as_object().ok_or_else(wrong)?;
        foreign.name = members.get("name").and_then(Value::as_str).ok_or_else(wrong)?.to_owned();
        foreign.kind = members.get("kind").and_then(Value::as_u64).and_then(kind_of);
        foreign.elements = elements_of(members).ok_or_else(wrong)?;
        let more = more_of(members, &foreign.elements).ok_or_else(wrong)?;
        foreign.more.get_or_init(|| more);
        Ok(foreign)
    }

    /// Keeps a type that is shown with an array.
    ///
    /// # Safety
    ///
    /// `array` is as the other side shows it for this call.
    pub(crate) unsafe fn retained(array: &abi::Array) -> Result<Self, Failure> {
        // SAFETY: as this function asks.
        let vtable = unsafe { read(array.data_type_vtable) }?;
        let retain = required(vtable.retain, "retain")?;
        // SAFETY: as this function asks.
        let (name, units) = unsafe {
            (super::borrowed_text(array.data_type_name)?, borrowed_items(array.units, array.n_units))
        };
        let units = match array.unit_size {
            0 => Units::Fields(
                units.iter().map(|unit| Unit { offset: unit.offset, size: unit.size }).collect(),
            ),
            size => Units::Uniform(size as usize),
        };
        Ok(Self {
            // SAFETY: a function of the other side, called with its type.
            this: unsafe { retain(array.data_type) },
            vtable,
            origin: Arc::from(""),
            name: name.to_owned(),
            elements: match array.element_size {
                0 => Elements::Variable,
                size => Elements::Fixed { size, units },
            },
            kind: kind_of(u64::from(array.kind)),
            more: std::sync::OnceLock::new(),
        })
    }

    fn description(&self) -> Result<Value, Failure> {
        let describe = required(self.vtable.describe, "describe")?;
        let (mut json, mut err) = (EMPTY, EMPTY);
        // SAFETY: a function of the other side, called with its type and with buffers that it may fill.
        unsafe {
            let status = describe(self.this, &mut json, &mut err);
            outcome(status, &mut err)?;
            take_json(&mut json)
        }
    }

    fn more(&self) -> &More {
        self.more.get_or_init(|| {
            let json = self.description().ok();
            let members = json.as_ref().and_then(Value::as_object);
            members.and_then(|members| more_of(members, &self.elements)).unwrap_or_else(|| More {
                default_fill_value: FillValue::zero(self.elements.size().unwrap_or(0)),
                settles: true,
                may_omit_byte_order: false,
            })
        })
    }

    fn said(&self, failure: Failure) -> DataTypeError {
        let message = self.message(&failure);
        match failure.status {
            abi::CORRUPT => DataTypeError::FillValue(message),
            _ => DataTypeError::InvalidConfiguration(Invalid::new(message)),
        }
    }

    fn message(&self, failure: &Failure) -> String {
        if self.origin.is_empty() {
            failure.message.clone()
        } else {
            format!("{}: {}", self.origin, failure.message)
        }
    }

    /// Calls a function of the type and takes what it filled.
    fn filled(&self, call: impl FnOnce(*mut Buf, *mut Buf) -> i32) -> Result<Vec<u8>, Failure> {
        let (mut filled, mut err) = (EMPTY, EMPTY);
        let status = call(&mut filled, &mut err);
        // SAFETY: both are as the call left them.
        unsafe {
            let bytes = take(&mut filled);
            outcome(status, &mut err)?;
            bytes
        }
    }

    fn element(&self, bytes: Vec<u8>) -> Result<FillValue, Failure> {
        match self.elements.size() {
            Some(size) if size != bytes.len() => Err(Failure::broken(format!(
                "it gave a fill value of {} bytes for elements of {size}",
                bytes.len()
            ))),
            _ => Ok(FillValue::new(bytes)),
        }
    }
}

fn elements_of(members: &Object) -> Option<Elements> {
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let size = match members.get("size")? {
        Value::Null => return Some(Elements::Variable),
        size => number(size).filter(|&size| size > 0 && size <= zarr_spec::data_type::MAX_ELEMENT_SIZE)?,
    };
    let units = match (members.get("unit_size"), members.get("units")) {
        (Some(unit), None) => {
            Units::Uniform(number(unit).filter(|&unit| unit > 0 && size.is_multiple_of(unit))?)
        }
        (None, Some(units)) => {
            let unit = |unit: &Value| match unit.as_array()? {
                [offset, length] => {
                    let unit = Unit { offset: number(offset)?, size: number(length)? };
                    (unit.offset.checked_add(unit.size)? <= size).then_some(unit)
                }
                _ => None,
            };
            let units: Option<Vec<Unit>> = units.as_array()?.iter().map(unit).collect();
            Units::Fields(units?.into())
        }
        _ => return None,
    };
    Some(Elements::Fixed { size, units })
}

fn more_of(members: &Object, elements: &Elements) -> Option<More> {
    let flag = |name: &str| members.get(name).and_then(Value::as_bool).unwrap_or(false);
    let default_fill_value = match members.get("default_fill_value") {
        Some(bytes) => bytes_of(bytes)?,
        None => vec![0; elements.size().unwrap_or(0)],
    };
    let fits = elements.size().is_none_or(|size| size == default_fill_value.len());
    fits.then(|| More {
        default_fill_value: FillValue::new(default_fill_value),
        settles: flag("settles"),
        may_omit_byte_order: flag("may_omit_byte_order"),
    })
}

impl DataType for Foreign {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn elements(&self) -> Elements {
        self.elements.clone()
    }

    fn kind(&self) -> Option<Kind> {
        self.kind
    }

    fn document(&self, format: Format, order: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
        let not_there = |hint: String| DataTypeError::NotInFormat { name: self.name.clone(), format, hint };
        let document = self.vtable.document.ok_or_else(|| not_there(String::new()))?;
        let filled = self.filled(|json, err| {
            // SAFETY: a function of the other side, called with its type.
            show_order(order, |order| unsafe {
                document(self.this, format_number(format), &order, json, err)
            })
        });
        let json = filled.and_then(|bytes| parse(&bytes)).map_err(|failure| match failure.status {
            abi::UNSUPPORTED => not_there(format!("; {}", self.message(&failure))),
            _ => self.said(failure),
        })?;
        document_of(&json)
            .ok_or_else(|| self.said(Failure::broken(format!("it names its data type by {json}"))))
    }

    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> Result<FillValue, DataTypeError> {
        let fill = || {
            let fill_value = required(self.vtable.fill_value, "fill_value")?;
            let json = json.to_string();
            let bytes = self.filled(|element, err| {
                show_order(context.byte_order, |order| {
                    // SAFETY: a function of the other side, called with its type.
                    show_reading(context.format, context.reading, |reading| unsafe {
                        fill_value(self.this, lend(json.as_bytes()), reading, &order, element, err)
                    })
                })
            })?;
            self.element(bytes)
        };
        fill().map_err(|failure| self.said(failure))
    }

    fn fill_value_json(
        &self,
        element: &[u8],
        format: Format,
        order: &ByteOrder,
    ) -> Result<Value, DataTypeError> {
        let json = || {
            let fill_value_json = required(self.vtable.fill_value_json, "fill_value_json")?;
            let bytes = self.filled(|json, err| {
                // SAFETY: a function of the other side, called with its type.
                show_order(order, |order| unsafe {
                    fill_value_json(self.this, lend(element), format_number(format), &order, json, err)
                })
            })?;
            parse(&bytes)
        };
        json().map_err(|failure| self.said(failure))
    }

    fn default_fill_value(&self) -> FillValue {
        self.more().default_fill_value.clone()
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        let Some(print) = self.vtable.print else { return Err(fmt::Error) };
        let (mut text, mut err) = (EMPTY, EMPTY);
        // SAFETY: a function of the other side, called with its type and with buffers that it may fill.
        let printed = unsafe {
            let status = print(self.this, lend(element), &mut text, &mut err);
            let printed = take_text(&mut text);
            outcome(status, &mut err).and(printed)
        };
        to.write_str(&printed.map_err(|_| fmt::Error)?)
    }

    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        let Some(check) = self.vtable.check else { return Ok(()) };
        let mut err = EMPTY;
        // SAFETY: a function of the other side, called with its type.
        let checked = unsafe {
            let status = check(self.this, lend(elements), &mut err);
            outcome(status, &mut err)
        };
        checked.map_err(|failure| Invalid::new(self.message(&failure)))
    }

    fn settle(&self, elements: &mut [u8], mode: Mode) -> Result<(), Invalid> {
        let Some(settle) = self.vtable.settle else { return Ok(()) };
        let mut err = EMPTY;
        // SAFETY: a function of the other side, called with its type and with bytes that nobody else looks at.
        let settled = unsafe {
            let status =
                settle(self.this, elements.as_mut_ptr(), elements.len(), mode_number(mode), &mut err);
            outcome(status, &mut err)
        };
        settled.map_err(|failure| Invalid::new(self.message(&failure)))
    }

    fn settles(&self) -> bool {
        self.vtable.settle.is_some() && self.more().settles
    }

    fn may_omit_byte_order(&self) -> bool {
        self.more().may_omit_byte_order
    }
}

/// Makes a data type of a plugin.
///
/// # Safety
///
/// `vtable` and `context` are of one item of a library.
#[cfg(all(feature = "host", target_os = "linux"))]
pub(crate) unsafe fn create_foreign(
    vtable: &DataTypeVtable,
    context: *const c_void,
    origin: &Arc<str>,
    creation: &zarr_spec::Creation<'_>,
) -> Result<zarr_spec::data_type::Created, DataTypeError> {
    let made = || {
        let create = required(vtable.create, "create")?;
        let (mut this, mut order) = (std::ptr::null(), EMPTY);
        let mut err = EMPTY;
        let status = super::creation::show_creation(creation, |creation| {
            // SAFETY: a function of the library, called with its own context and with places that it may fill.
            unsafe { create(context, creation, &mut this, &mut order, &mut err) }
        });
        // SAFETY: all is as the call left it; what was made belongs to this side now.
        unsafe {
            let order = take(&mut order);
            outcome(status, &mut err)?;
            let foreign = Foreign::owned(*vtable, this, origin.clone())?;
            let order = match order? {
                none if none.is_empty() => ByteOrder::Little,
                json => order_of_json(&parse(&json)?)
                    .ok_or_else(|| Failure::broken("the byte order that it gave is none"))?,
            };
            Ok((Arc::new(foreign) as Arc<dyn DataType>, order))
        }
    };
    made().map_err(|failure: Failure| {
        let message = format!("{origin}: {}", failure.message);
        match failure.status {
            abi::CORRUPT => DataTypeError::FillValue(message),
            _ => DataTypeError::InvalidConfiguration(Invalid::new(message)),
        }
    })
}
