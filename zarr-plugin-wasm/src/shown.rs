//! Structs for the creation of codecs, in the memory of a guest.

use zarr_json::{Limits, ParseOptions};
use zarr_plugin::{Failure, abi};
use zarr_spec::data_type::Kind;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Creation, Elements, Format, Mode, Representation, Size, Units, Value,
};

use crate::guest::{Address, Guest};

/// The maximum size of a document from a guest, in bytes.
const MAX_DOCUMENT: usize = 16 << 20;

/// An entry of a metadata document, retained to create the codec in further guests.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    format: Format,
    mode: Mode,
    identifier: String,
    configuration: String,
    type_name: String,
    document_size: usize,
}

impl Entry {
    pub(crate) fn of(creation: &Creation<'_>) -> Self {
        Self {
            format: creation.format,
            mode: creation.reading.mode(),
            identifier: creation.identifier.to_owned(),
            configuration: creation.configuration.to_string(),
            type_name: creation.type_name.unwrap_or(&Value::Null).to_string(),
            document_size: creation.reading.document_size(),
        }
    }

    /// Places a `zarr_creation` in the guest's memory.
    pub(crate) fn put(&self, guest: &mut Guest) -> Result<Address, Failure> {
        let identifier = guest.put_text(self.identifier.as_bytes())?;
        let configuration = guest.put_text(self.configuration.as_bytes())?;
        let type_name = guest.put_text(self.type_name.as_bytes())?;
        guest.put::<abi::Creation>(&[
            ("format", format_number(self.format).into()),
            ("mode", mode_number(self.mode).into()),
            ("identifier", identifier),
            ("configuration_json", configuration),
            ("type_name_json", type_name),
            ("document_size", self.document_size.min(u32::MAX as usize) as u64),
            ("warn", guest.warn.into()),
        ])
    }
}

pub(crate) fn format_number(format: Format) -> u32 {
    match format {
        Format::V2 => abi::FORMAT_V2,
        Format::V3Draft => abi::FORMAT_V3_DRAFT,
        Format::V3 => abi::FORMAT_V3,
    }
}

fn mode_number(mode: Mode) -> u32 {
    match mode {
        Mode::Strict => abi::MODE_STRICT,
        Mode::Lenient => abi::MODE_LENIENT,
        Mode::Compatibility => abi::MODE_COMPATIBILITY,
    }
}

/// Places a `zarr_representation` in the guest's memory.
pub(crate) fn put_representation(guest: &mut Guest, decoded: &Representation) -> Result<Address, Failure> {
    match decoded {
        Representation::Bytes(size) => {
            let at = guest.put::<abi::Representation>(&[("kind", abi::FOR_BYTES.into())])?;
            let (kind, bytes) = match *size {
                Size::Unknown => (abi::SIZE_UNKNOWN, 0),
                Size::Exact(bytes) => (abi::SIZE_EXACT, bytes),
                Size::AtMost(bytes) => (abi::SIZE_AT_MOST, bytes),
            };
            let size = Guest::inside::<abi::Representation>(at, "size")?;
            guest.set::<abi::Size>(size, "kind", kind.into())?;
            guest.set::<abi::Size>(size, "bytes", bytes)?;
            Ok(at)
        }
        Representation::Array(array) => {
            let array = put_array(guest, array)?;
            guest.put::<abi::Representation>(&[("kind", abi::FOR_ARRAY.into()), ("array", array.into())])
        }
    }
}

/// Reads a `zarr_size`. An unknown kind means an unknown size.
pub(crate) fn size_at(guest: &Guest, at: Address) -> Result<Size, Failure> {
    let bytes = guest.get::<abi::Size>(at, "bytes")?;
    Ok(match guest.get_u32::<abi::Size>(at, "kind")? {
        abi::SIZE_EXACT => Size::Exact(bytes),
        abi::SIZE_AT_MOST => Size::AtMost(bytes),
        _ => Size::Unknown,
    })
}

/// Places a `zarr_array` in the guest's memory, without the functions of its data type.
pub(crate) fn put_array(guest: &mut Guest, array: &ArrayRepresentation) -> Result<Address, Failure> {
    let elements = array.data_type.elements();
    let (element_size, unit_size, units) = match &elements {
        Elements::Variable => (0, 1, &[][..]),
        Elements::Fixed { size, units: Units::Uniform(unit) } => (*size, *unit, &[][..]),
        Elements::Fixed { size, units: Units::Fields(units) } => (*size, 0, &units[..]),
    };
    let unit = |unit: &zarr_spec::Unit| {
        let offset = u32::try_from(unit.offset).ok()?;
        let size = u32::try_from(unit.size).ok()?;
        Some([offset.to_le_bytes(), size.to_le_bytes()].concat())
    };
    let unit_bytes: Option<Vec<Vec<u8>>> = units.iter().map(unit).collect();
    let unit_bytes = unit_bytes.ok_or_else(|| too_large("an element"))?.concat();
    let shape: Vec<u8> = array.shape.iter().flat_map(|length| length.to_le_bytes()).collect();
    let units_at = guest.put_bytes(&unit_bytes)?;
    let shape_at = guest.put_bytes(&shape)?;
    let name = guest.put_text(array.data_type.name().as_bytes())?;
    let fill_value = guest.put_text(array.fill_value.bytes())?;
    let at = guest.put::<abi::Array>(&[
        ("data_type_name", name),
        ("element_size", size_number(element_size)?),
        ("is_variable", u64::from(elements == Elements::Variable)),
        ("kind", kind_number(array.data_type.kind()).into()),
        ("unit_size", size_number(unit_size)?),
        ("units", units_at.into()),
        ("n_units", units.len() as u64),
        ("fill_value", fill_value),
        ("rank", array.shape.len() as u64),
        ("shape", shape_at.into()),
    ])?;
    put_order(guest, Guest::inside::<abi::Array>(at, "byte_order")?, &array.byte_order)?;
    Ok(at)
}

fn put_order(guest: &mut Guest, at: Address, order: &ByteOrder) -> Result<(), Failure> {
    let (number, big) = match order {
        ByteOrder::Little => (abi::LITTLE_ENDIAN, Vec::new()),
        ByteOrder::Big => (abi::BIG_ENDIAN, Vec::new()),
        ByteOrder::Mixed(big) => (abi::MIXED_ENDIAN, big.iter().map(|&big| u8::from(big)).collect()),
    };
    let big_at = guest.put_bytes(&big)?;
    guest.set::<abi::ByteOrder>(at, "order", number.into())?;
    guest.set::<abi::ByteOrder>(at, "n_units", big.len() as u64)?;
    guest.set::<abi::ByteOrder>(at, "big_endian", big_at.into())
}

fn size_number(size: usize) -> Result<u64, Failure> {
    u32::try_from(size).map(u64::from).map_err(|_| too_large("an element"))
}

fn too_large(what: &str) -> Failure {
    Failure::new(abi::UNSUPPORTED, format!("{what} is larger than the memory of WebAssembly"))
}

fn kind_number(kind: Option<Kind>) -> u32 {
    match kind {
        Some(Kind::Bool) => abi::KIND_BOOL,
        Some(Kind::Int) => abi::KIND_INT,
        Some(Kind::UInt) => abi::KIND_UINT,
        Some(Kind::Float) => abi::KIND_FLOAT,
        Some(Kind::BFloat) => abi::KIND_BFLOAT,
        Some(Kind::Complex) => abi::KIND_COMPLEX,
        _ => abi::KIND_OPAQUE,
    }
}

/// Returns the array that the JSON from `encoded_array` describes. Missing members mean no change.
pub(crate) fn encoded_of(json: &Value, decoded: &ArrayRepresentation) -> Option<ArrayRepresentation> {
    let members = json.as_object()?;
    let mut encoded = decoded.clone();
    if let Some(shape) = members.get("shape") {
        encoded.shape = shape.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    }
    if let Some(bytes) = members.get("fill_value") {
        let bytes = bytes.as_array()?.iter().map(|byte| u8::try_from(byte.as_u64()?).ok());
        encoded.fill_value = zarr_spec::FillValue::new(bytes.collect::<Option<Vec<u8>>>()?);
    }
    if let Some(order) = members.get("byte_order") {
        encoded.byte_order = match order.as_str() {
            Some("little") => ByteOrder::Little,
            Some("big") => ByteOrder::Big,
            Some(_) => return None,
            None => {
                let big: Option<Vec<bool>> = order.as_array()?.iter().map(Value::as_bool).collect();
                ByteOrder::Mixed(big?.into())
            }
        };
    }
    let size = encoded.data_type.elements().size();
    size.is_none_or(|size| size == encoded.fill_value.bytes().len()).then_some(encoded)
}

/// Parses a document, which may contain bare NaN and infinities.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, Failure> {
    let options =
        ParseOptions { limits: Limits { bytes: MAX_DOCUMENT, ..Limits::default() }, bare_non_finite: true };
    match zarr_json::parse(bytes, &options) {
        Ok(parsed) => Ok(parsed.value),
        Err(error) => Err(Failure::broken(format!("invalid JSON from the other side: {error}"))),
    }
}
