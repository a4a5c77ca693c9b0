//! Stand-ins for the types of fields, with only the properties that structures need.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_spec::data_type::{Created, DataTypeDocument, FillContext, Kind, Typestring};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, Elements, FillValue, Format, Identifiers,
    Number, Registry, Units, Value,
};

/// Returns a registry with the structures of the crate and types for their fields.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::linked().unwrap();
    for (name, id) in [
        ("bool", "b1"),
        ("uint8", "u1"),
        ("int16", "i2"),
        ("uint16", "u2"),
        ("int32", "i4"),
        ("float32", "f4"),
        ("float64", "f8"),
        ("raw_bytes", "V"),
        ("bytes3", "S"),
        ("text", "U"),
        ("time", "M8"),
        ("string", "O/vlen-utf8"),
    ] {
        registry.register(DataTypePlugin::new(Identifiers::name(name).with_id(id), &create)).unwrap();
    }
    registry
}

#[derive(Debug)]
struct Simple {
    name: String,
    typestring: Typestring,
}

fn create(creation: &Creation<'_>) -> Result<Created, DataTypeError> {
    let typestring = match (creation.identifier, creation.configuration.as_str()) {
        ("string", _) => "|O",
        (_, Some(typestring)) => typestring,
        ("bool", _) => "|b1",
        ("uint8", _) => "|u1",
        ("int16", _) => "<i2",
        ("uint16", _) => "<u2",
        ("int32", _) => "<i4",
        ("float32", _) => "<f4",
        _ => "<f8",
    };
    let typestring = Typestring::parse(typestring, creation.reading)?;
    let order = typestring.order.clone().unwrap_or_default();
    let name = match typestring.kind {
        'b' => "bool".to_owned(),
        'i' => format!("int{}", typestring.size * 8),
        'u' => format!("uint{}", typestring.size * 8),
        'f' => format!("float{}", typestring.size * 8),
        kind => format!("{kind}{}", typestring.size),
    };
    Ok((Arc::new(Simple { name, typestring }), order))
}

impl DataType for Simple {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn elements(&self) -> Elements {
        let size = self.typestring.size;
        let fixed = |size, unit| Elements::Fixed { size, units: Units::Uniform(unit) };
        match self.typestring.kind {
            'O' => Elements::Variable,
            'U' => fixed(size * 4, 4),
            'S' | 'V' => fixed(size, 1),
            _ => fixed(size, size),
        }
    }

    fn kind(&self) -> Option<Kind> {
        None
    }

    fn document(&self, format: Format, order: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
        let Typestring { kind, size, ref unit, .. } = self.typestring;
        if format != Format::V2 {
            return Ok(DataTypeDocument::named(&self.name));
        }
        let sign = match (size, kind, order) {
            (1, 'b' | 'i' | 'u', _) | (_, 'S' | 'V', _) => '|',
            (_, _, ByteOrder::Big) => '>',
            _ => '<',
        };
        let unit = unit.map(|(_, unit)| format!("[{unit}]")).unwrap_or_default();
        let json = Value::from(format!("{sign}{kind}{size}{unit}"));
        Ok(DataTypeDocument::in_v2(&self.name, json))
    }

    fn fill_value(&self, json: &Value, _context: &FillContext<'_>) -> Result<FillValue, DataTypeError> {
        let wrong = || DataTypeError::FillValue(format!("{json} is not {}", self.name));
        let size = self.typestring.size;
        Ok(match (self.typestring.kind, size) {
            ('f', 4) => {
                FillValue::new(json.as_number().and_then(|n| n.as_f32()).ok_or_else(wrong)?.to_ne_bytes())
            }
            ('f', _) => FillValue::new(json.as_f64().ok_or_else(wrong)?.to_ne_bytes()),
            _ => {
                let bytes = json.as_i64().ok_or_else(wrong)?.to_le_bytes();
                let mut bytes = bytes[..size].to_vec();
                if cfg!(target_endian = "big") {
                    bytes.reverse();
                }
                FillValue::new(bytes)
            }
        })
    }

    fn fill_value_json(
        &self,
        element: &[u8],
        _format: Format,
        _order: &ByteOrder,
    ) -> Result<Value, DataTypeError> {
        let no_number = || DataTypeError::FillValue("it is not a number".to_owned());
        Ok(match *element {
            [a, b, c, d] if self.typestring.kind == 'f' => {
                Value::Number(Number::from_f32(f32::from_ne_bytes([a, b, c, d])).ok_or_else(no_number)?)
            }
            [a, b, c, d, e, f, g, h] if self.typestring.kind == 'f' => {
                let value = f64::from_ne_bytes([a, b, c, d, e, f, g, h]);
                Value::Number(Number::from_f64(value).ok_or_else(no_number)?)
            }
            _ => {
                let mut wide = [0; 8];
                wide[..element.len()].copy_from_slice(element);
                if cfg!(target_endian = "big") {
                    wide[..element.len()].reverse();
                }
                Value::from(i64::from_le_bytes(wide))
            }
        })
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        match self.fill_value_json(element, Format::V3, &ByteOrder::Little) {
            Ok(json) => write!(to, "{json}"),
            Err(error) => write!(to, "({error})"),
        }
    }
}
