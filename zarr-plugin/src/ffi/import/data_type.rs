//! Data types of the other side of the ABI.

use std::borrow::Cow;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, OnceLock};

use zarr_spec::data_type::{Created, DataTypeDocument, Field, FillContext, Kind};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypeResult, Elements, FillValue, Format, Invalid, Mode,
    Object, Unit, Units, Value,
};

use super::{Imported, invalid, said_by};
use crate::abi::{self, DataTypeHandle, DataTypeVtable};
use crate::ffi::byte_order::{order_of_json, show_order};
use crate::ffi::creation::{format_number, mode_number, show_reading};
use crate::ffi::description::{bytes_of, document_of, elements_of, field_of, kind_of};
use crate::ffi::{
    EMPTY, Failure, Instance, as_text, borrowed_items, borrowed_text, lend, parse, read, required, take,
};

impl Imported<DataTypeVtable> {
    pub(crate) fn create(&self, creation: &Creation<'_>) -> DataTypeResult<Created> {
        let mut this = std::ptr::null_mut();
        let mut order = EMPTY;
        let called = call_item!(self, creation, create(&mut this, &mut order));
        // SAFETY: the call filled `order` and created `this`, which this side owns.
        let created = unsafe {
            let order = take(&mut order);
            called.and_then(|()| created(self.vtable, this, order, &self.origin))
        };
        created.map_err(|failure| data_type_error(&self.origin, &failure))
    }
}

/// The largest depth of nested types.
const MAX_DEPTH: usize = 128;

/// A data type of the other side of the ABI.
#[derive(Debug)]
pub(crate) struct Foreign {
    instance: Instance<DataTypeVtable>,
    /// The name in messages; empty for a type of the host.
    origin: Arc<str>,
    name: String,
    elements: Elements,
    kind: Option<Kind>,
    more: OnceLock<More>,
}

/// Properties that are read when they are first used.
#[derive(Debug)]
struct More {
    default_fill_value: FillValue,
    settles: bool,
    may_omit_byte_order: bool,
    fields: Option<Vec<Field>>,
    optional: Option<Arc<dyn DataType>>,
}

/// Returns the type in a handle, or `None` if the other side did not fill it.
///
/// # Safety
///
/// The call filled `handle`, and this side owns the type.
pub(crate) unsafe fn taken(
    handle: &DataTypeHandle,
    origin: &Arc<str>,
) -> Result<Option<Arc<dyn DataType>>, Failure> {
    if handle.vtable.is_null() {
        return Ok(None);
    }
    // SAFETY: as this function requires.
    let foreign = unsafe { Foreign::owned(read(handle.vtable)?, handle.this, origin, 0) }?;
    Ok(Some(Arc::new(foreign)))
}

/// An empty handle.
pub(crate) const NO_TYPE: DataTypeHandle =
    DataTypeHandle { vtable: std::ptr::null(), this: std::ptr::null_mut() };

/// Returns a new type, and the byte order that its document declares.
///
/// # Safety
///
/// `this` is a type of `vtable` that this side owns, and the call filled `order`.
pub(crate) unsafe fn created(
    vtable: DataTypeVtable,
    this: *mut c_void,
    order: Result<Vec<u8>, Failure>,
    origin: &Arc<str>,
) -> Result<Created, Failure> {
    // SAFETY: as this function requires.
    let foreign = unsafe { Foreign::owned(vtable, this, origin, 0) }?;
    let order = match order? {
        none if none.is_empty() => ByteOrder::Little,
        json => order_of_json(&parse(&json)?)
            .ok_or_else(|| Failure::broken("it returned an invalid byte order"))?,
    };
    Ok((Arc::new(foreign), order))
}

/// Returns the error of a failed call.
pub(crate) fn data_type_error(origin: &str, failure: &Failure) -> DataTypeError {
    let message = said_by(origin, failure);
    match failure.status {
        abi::CORRUPT => DataTypeError::FillValue(message),
        _ => DataTypeError::InvalidConfiguration(Invalid::new(message)),
    }
}

impl Foreign {
    /// Takes ownership of a type and reads its description.
    ///
    /// # Safety
    ///
    /// The other side created `this`, a type of `vtable`, and no other owner releases it.
    unsafe fn owned(
        vtable: DataTypeVtable,
        this: *mut c_void,
        origin: &Arc<str>,
        depth: usize,
    ) -> Result<Self, Failure> {
        if depth > MAX_DEPTH {
            return Err(Failure::broken(format!("data types are nested deeper than {MAX_DEPTH} levels")));
        }
        let mut foreign = Self {
            // SAFETY: as this function requires.
            instance: unsafe { Instance::new(vtable, this, vtable.release) },
            origin: Arc::clone(origin),
            name: String::new(),
            elements: Elements::Variable,
            kind: None,
            more: OnceLock::new(),
        };
        let json = foreign.description()?;
        let wrong = || Failure::broken(format!("it returned the invalid description {json} of a data type"));
        let members = json.as_object().ok_or_else(wrong)?;
        foreign.name = members.get("name").and_then(Value::as_str).ok_or_else(wrong)?.to_owned();
        foreign.kind = members.get("kind").and_then(Value::as_u64).and_then(kind_of);
        foreign.elements = elements_of(members).ok_or_else(wrong)?;
        let more = foreign.more_of(members, depth)?.ok_or_else(wrong)?;
        foreign.more.get_or_init(|| more);
        Ok(foreign)
    }

    /// Retains the type of an array.
    ///
    /// # Safety
    ///
    /// The other side lends `array` for this call.
    pub(crate) unsafe fn retained(array: &abi::Array) -> Result<Self, Failure> {
        // SAFETY: as this function requires.
        let vtable = unsafe { read(array.data_type_vtable) }?;
        let retain = required(vtable.retain, "retain")?;
        // SAFETY: as this function requires.
        let (name, units) =
            unsafe { (borrowed_text(array.data_type_name)?, borrowed_items(array.units, array.n_units)) };
        let units = match array.unit_size {
            0 => Units::Fields(
                units.iter().map(|unit| Unit { offset: unit.offset, size: unit.size }).collect(),
            ),
            size => Units::Uniform(size as usize),
        };
        // SAFETY: a function of the other side, called with its type. This side owns the result.
        let instance = unsafe {
            let this = retain(array.data_type);
            Instance::new(vtable, this, vtable.release)
        };
        Ok(Self {
            instance,
            origin: Arc::from(""),
            name: name.to_owned(),
            elements: match array.is_variable {
                0 => Elements::Fixed { size: array.element_size, units },
                _ => Elements::Variable,
            },
            kind: kind_of(u64::from(array.kind)),
            more: OnceLock::new(),
        })
    }

    fn description(&self) -> Result<Value, Failure> {
        parse(&fetch!(self.instance, describe())?)
    }

    fn more(&self) -> &More {
        self.more.get_or_init(|| {
            let described = || {
                let json = self.description().ok()?;
                self.more_of(json.as_object()?, 0).ok()?
            };
            // Defaults for a type whose description is invalid.
            described().unwrap_or_else(|| More {
                default_fill_value: FillValue::zero(self.elements.size().unwrap_or(0)),
                settles: true,
                may_omit_byte_order: false,
                fields: None,
                optional: None,
            })
        })
    }

    /// Reads the remaining members of a description. Returns `None` if they are invalid.
    fn more_of(&self, members: &Object, depth: usize) -> Result<Option<More>, Failure> {
        let flag = |name: &str| members.get(name).and_then(Value::as_bool).unwrap_or(false);
        let default_fill_value = match members.get("default_fill_value") {
            Some(bytes) => bytes_of(bytes),
            None => Some(vec![0; self.elements.size().unwrap_or(0)]),
        };
        let fits = |fill_value: &Vec<u8>| self.elements.size().is_none_or(|size| size == fill_value.len());
        let Some(default_fill_value) = default_fill_value.filter(fits) else { return Ok(None) };
        let fields = match members.get("fields") {
            None | Some(Value::Null) => None,
            Some(fields) => {
                let Some(fields) = self.fields_of(fields, depth)? else { return Ok(None) };
                Some(fields)
            }
        };
        let optional = match (flag("optional"), &self.elements) {
            (false, _) => None,
            (true, Elements::Variable) => Some(self.inner(0, depth)?),
            (true, Elements::Fixed { .. }) => return Ok(None),
        };
        Ok(Some(More {
            default_fill_value: FillValue::new(default_fill_value),
            settles: flag("settles"),
            may_omit_byte_order: flag("may_omit_byte_order"),
            fields,
            optional,
        }))
    }

    /// Returns the fields of a structure, or `None` if a field is not inside the element.
    fn fields_of(&self, json: &Value, depth: usize) -> Result<Option<Vec<Field>>, Failure> {
        let (Some(list), Some(size)) = (json.as_array(), self.elements.size()) else { return Ok(None) };
        let mut fields = Vec::with_capacity(list.len());
        for (number, field) in list.iter().enumerate() {
            let data_type = self.inner(number, depth)?;
            let Some(field) = field_of(field, data_type, size) else { return Ok(None) };
            fields.push(field);
        }
        Ok(Some(fields))
    }

    /// Returns the type of a field, or of the elements that are not missing.
    fn inner(&self, number: usize, depth: usize) -> Result<Arc<dyn DataType>, Failure> {
        let mut handle = NO_TYPE;
        call!(self.instance, inner(number, &mut handle))?;
        // SAFETY: the call filled `handle`, and this side owns the type.
        let inner = unsafe { Self::owned(read(handle.vtable)?, handle.this, &self.origin, depth + 1) }?;
        Ok(Arc::new(inner))
    }

    fn said(&self, failure: &Failure) -> DataTypeError {
        data_type_error(&self.origin, failure)
    }

    fn element(&self, bytes: Vec<u8>) -> Result<FillValue, Failure> {
        match self.elements.size() {
            Some(size) if size != bytes.len() => Err(Failure::broken(format!(
                "it returned a fill value of {} bytes for elements of {size} bytes",
                bytes.len()
            ))),
            _ => Ok(FillValue::new(bytes)),
        }
    }
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

    fn document(&self, format: Format, order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        let not_there = |hint: String| DataTypeError::NotInFormat { name: self.name.clone(), format, hint };
        if self.instance.vtable.document.is_none() {
            return Err(not_there(String::new()));
        }
        let fetched =
            show_order(order, |order| fetch!(self.instance, document(format_number(format), &order)));
        let json = fetched.and_then(|bytes| parse(&bytes)).map_err(|failure| match failure.status {
            abi::UNSUPPORTED => not_there(format!("; {}", said_by(&self.origin, &failure))),
            _ => self.said(&failure),
        })?;
        document_of(&json).ok_or_else(|| {
            self.said(&Failure::broken(format!("it returned the invalid document {json} of a data type")))
        })
    }

    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        let json = json.to_string();
        let fetched = show_order(context.byte_order, |order| {
            show_reading(context.format, context.reading, |reading| {
                fetch!(self.instance, fill_value(lend(json.as_bytes()), reading, &order))
            })
        });
        fetched.and_then(|bytes| self.element(bytes)).map_err(|failure| self.said(&failure))
    }

    fn fill_value_json(&self, element: &[u8], format: Format, order: &ByteOrder) -> DataTypeResult<Value> {
        let fetched = show_order(order, |order| {
            fetch!(self.instance, fill_value_json(lend(element), format_number(format), &order))
        });
        fetched.and_then(|bytes| parse(&bytes)).map_err(|failure| self.said(&failure))
    }

    fn default_fill_value(&self) -> FillValue {
        self.more().default_fill_value.clone()
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        match fetch!(self.instance, print(lend(element))).and_then(as_text) {
            Ok(printed) => to.write_str(&printed),
            Err(failure) => {
                to.write_str(&said_by(&self.origin, &failure))?;
                Err(fmt::Error)
            }
        }
    }

    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        if self.instance.vtable.check.is_none() {
            return Ok(());
        }
        call!(self.instance, check(lend(elements))).map_err(|failure| invalid(&self.origin, &failure))
    }

    fn settle(&self, elements: &mut [u8], mode: Mode) -> Result<(), Invalid> {
        if self.instance.vtable.settle.is_none() {
            return Ok(());
        }
        let mode = mode_number(mode);
        // No other thread uses the elements.
        let settled = call!(self.instance, settle(elements.as_mut_ptr(), elements.len(), mode));
        settled.map_err(|failure| invalid(&self.origin, &failure))
    }

    fn settles(&self) -> bool {
        self.instance.vtable.settle.is_some() && self.more().settles
    }

    fn may_omit_byte_order(&self) -> bool {
        self.more().may_omit_byte_order
    }

    fn fields(&self) -> Option<&[Field]> {
        self.more().fields.as_deref()
    }

    fn optional(&self) -> Option<&Arc<dyn DataType>> {
        self.more().optional.as_ref()
    }
}
