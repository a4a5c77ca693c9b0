//! The raw form of elements, as printed by `zarrctl get --format raw` and defined in `python/raw.py`: C
//! order, numbers little endian, structures packed field by field, items of variable length after their
//! length as a `u32`.

use zarr_kit::ElementArray;
use zarr_kit::spec::{DataType, Elements, Units};

/// Returns all elements in raw form.
#[must_use]
pub fn of(elements: &ElementArray) -> Vec<u8> {
    items(elements).concat()
}

/// Returns each element in raw form.
#[must_use]
pub fn items(elements: &ElementArray) -> Vec<Vec<u8>> {
    let data_type = elements.data_type();
    (0..elements.count()).map(|position| item(data_type, elements.element(position))).collect()
}

/// Returns one element in raw form.
#[must_use]
pub fn item(data_type: &dyn DataType, element: &[u8]) -> Vec<u8> {
    if data_type.elements() == Elements::Variable {
        let size = u32::try_from(element.len()).unwrap_or(u32::MAX);
        return [&size.to_le_bytes(), element].concat();
    }
    let mut packed = Vec::with_capacity(element.len());
    pack(data_type, element, &mut packed);
    packed
}

fn pack(data_type: &dyn DataType, element: &[u8], packed: &mut Vec<u8>) {
    if let Some(fields) = data_type.fields() {
        for field in fields {
            let size = field.data_type.elements().size().unwrap_or(0);
            for number in 0..field.shape.iter().product() {
                let start = field.offset + number * size;
                pack(&*field.data_type, &element[start..start + size], packed);
            }
        }
        return;
    }
    packed.extend(swapped(data_type, element));
}

/// Converts between native order and little endian, for types without fields.
fn swapped(data_type: &dyn DataType, element: &[u8]) -> Vec<u8> {
    match data_type.elements() {
        Elements::Fixed { units: Units::Uniform(unit), .. } if cfg!(target_endian = "big") && unit > 1 => {
            element.chunks(unit).flat_map(|unit| unit.iter().rev().copied()).collect()
        }
        _ => element.to_vec(),
    }
}

/// Converts raw items to elements in native order, as [`zarr_kit::Array::write`] takes them; for types
/// without fields.
#[must_use]
pub fn to_write(data_type: &dyn DataType, items: &[Vec<u8>]) -> Vec<u8> {
    if data_type.elements() != Elements::Variable {
        return items.iter().flat_map(|item| swapped(data_type, item)).collect();
    }
    let mut bytes = 0u64.to_ne_bytes().to_vec();
    let mut end = 0u64;
    for item in items {
        end += item.len() as u64 - 4;
        bytes.extend(end.to_ne_bytes());
    }
    items.iter().for_each(|item| bytes.extend(&item[4..]));
    bytes
}

/// Splits a raw file into the raw items of `count` elements.
///
/// # Errors
///
/// If the file does not hold exactly `count` items.
pub fn split(raw: &[u8], count: usize, is_variable: bool) -> Result<Vec<&[u8]>, String> {
    if !is_variable {
        if count == 0 {
            return if raw.is_empty() {
                Ok(Vec::new())
            } else {
                Err(format!("{} bytes for 0 elements", raw.len()))
            };
        }
        let size = raw.len() / count;
        if size * count != raw.len() {
            return Err(format!("{} bytes for {count} elements", raw.len()));
        }
        return Ok((0..count).map(|number| &raw[number * size..(number + 1) * size]).collect());
    }
    let mut items = Vec::with_capacity(count);
    let mut rest = raw;
    while let Some((size, _)) = rest.split_first_chunk::<4>() {
        let size = usize::try_from(u32::from_le_bytes(*size)).unwrap_or(usize::MAX);
        let item = size.checked_add(4).and_then(|size| rest.split_at_checked(size));
        let Some((item, after)) = item else { return Err("an item ends past the file".to_owned()) };
        items.push(item);
        rest = after;
    }
    if items.len() == count && rest.is_empty() {
        return Ok(items);
    }
    Err(format!("expected {count} items, found {} and {} trailing bytes", items.len(), rest.len()))
}
