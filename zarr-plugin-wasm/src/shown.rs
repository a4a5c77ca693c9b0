//! Structs for the creation of codecs, in the memory of a guest.

use zarr_plugin::convert::{format_number, kind_number, mode_number, size_of_shown, size_shown};
use zarr_plugin::{Failure, abi};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Creation, Elements, Format, Mode, Representation, Size, Units, Value,
};

use crate::guest::{Address, Guest};

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

/// Places a `zarr_representation` in the guest's memory.
pub(crate) fn put_representation(guest: &mut Guest, decoded: &Representation) -> Result<Address, Failure> {
    match decoded {
        Representation::Bytes(size) => {
            let at = guest.put::<abi::Representation>(&[("kind", abi::FOR_BYTES.into())])?;
            let shown = size_shown(*size);
            let size = Guest::inside::<abi::Representation>(at, "size")?;
            guest.set::<abi::Size>(size, "kind", shown.kind.into())?;
            guest.set::<abi::Size>(size, "bytes", shown.bytes)?;
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
    let kind = guest.get_u32::<abi::Size>(at, "kind")?;
    Ok(size_of_shown(abi::Size { bytes, kind, reserved: 0 }))
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
