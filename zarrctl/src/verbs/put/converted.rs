//! Elements that are converted one by one: from CSV, from a file of another data type, or one value for all.

use std::io::{BufReader, Cursor, Read};

use zarr_kit::spec::data_type::Field;
use zarr_kit::spec::{DataType, Value};
use zarr_kit::{Array, DimensionSelection, Selection};

use super::check_elements;
use crate::blocks::Blocks;
use crate::failure::Failure;
use crate::forms::cast::Cast;
use crate::forms::cell;
use crate::forms::csv_records::{Record, Records};
use crate::forms::npy::{Header, to_c_order};
use crate::forms::reorder;
use crate::slabs;
use crate::terminal::{Progress, size};

/// Elements in C order.
trait Source {
    /// Returns the next element in native byte order; `None` at the end.
    fn next_element(&mut self) -> Result<Option<Vec<u8>>, Failure>;
}

/// Writes one value to all selected elements.
pub(super) fn put_value(array: &Array, along: &[DimensionSelection], value: &Value) -> Result<(), Failure> {
    let element = cell::of_json(&**array.data_type(), value);
    let element = element.map_err(|what| Failure::fault(format!("--value: {what}")))?;
    check_elements(array, std::iter::once(&*element), |number| number)?;
    let progress = Progress::of(slabs::count(along), "writing");
    Blocks::of_chunks(array, along, slabs::budget(array)).for_each(&mut |block| {
        let count = block.shape().iter().product::<u64>();
        let number = usize::try_from(count).unwrap_or(usize::MAX);
        let selection = block.selection(along);
        match slabs::fixed_size(array) {
            Some(_) => array.write(selection, &element.repeat(number))?,
            None => array.write_values(selection, &vec![&*element; number])?,
        }
        progress.add(count);
        Ok(())
    })
}

/// Writes the cells of a table.
pub(super) fn put_csv(
    array: &Array,
    along: &[DimensionSelection],
    from: Box<dyn Read + '_>,
    has_header: bool,
) -> Result<(), Failure> {
    let shape = Selection::Orthogonal(along.to_vec()).shape(array.shape())?;
    let columns = match shape.as_slice() {
        [] | [_] => 1,
        [_, columns] => *columns,
        _ => {
            return Err(Failure::fault(format!(
                "a table has at most 2 dimensions, but the selection has {}; an integer in --select drops a dimension",
                shape.len()
            )));
        }
    };
    let data_type = &**array.data_type();
    let mut records = Records::new(from);
    let fields = data_type.fields().filter(|_| shape.len() < 2);
    let columns = match fields {
        Some(fields) => Columns::Fields(named_columns(fields, records.next_record()?)?),
        None => Columns::Elements(columns),
    };
    if has_header && matches!(columns, Columns::Elements(_)) {
        records.next_record()?;
    }
    put_elements(array, along, &mut Table { data_type, records, columns, cells: Vec::new().into_iter() })
}

/// The meaning of the columns of a table.
enum Columns {
    /// Each row has this number of elements.
    Elements(u64),
    /// Each row is one structure; for each column, its field.
    Fields(Vec<Field>),
}

/// The elements in the cells of a table.
struct Table<'t> {
    data_type: &'t dyn DataType,
    records: Records<'t>,
    columns: Columns,
    /// The elements of the current row that are left.
    cells: std::vec::IntoIter<Vec<u8>>,
}

impl Source for Table<'_> {
    fn next_element(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            if let Some(cell) = self.cells.next() {
                return Ok(Some(cell));
            }
            let Some(record) = self.records.next_record()? else { return Ok(None) };
            self.cells = self.elements(&record)?.into_iter();
        }
    }
}

impl Table<'_> {
    /// Returns the elements of a row.
    fn elements(&self, record: &Record) -> Result<Vec<Vec<u8>>, Failure> {
        let Record { line, fields } = record;
        let expected = match &self.columns {
            Columns::Elements(columns) => *columns,
            Columns::Fields(columns) => columns.len() as u64,
        };
        if fields.len() as u64 != expected {
            return Err(Failure::fault(format!(
                "line {line}: found {} values, expected {expected}",
                fields.len()
            )));
        }
        let parsed = |column: usize, data_type: &dyn DataType| {
            let element = cell::parse(data_type, &fields[column]);
            element.map_err(|what| Failure::fault(format!("line {line}, column {}: {what}", column + 1)))
        };
        match &self.columns {
            Columns::Elements(_) => (0..fields.len()).map(|column| parsed(column, self.data_type)).collect(),
            Columns::Fields(columns) => {
                let mut element = vec![0; self.data_type.elements().size().unwrap_or(0)];
                for (column, field) in columns.iter().enumerate() {
                    let bytes = parsed(column, &*field.data_type)?;
                    if let Some(place) = element.get_mut(field.offset..field.offset + bytes.len()) {
                        place.copy_from_slice(&bytes);
                    }
                }
                Ok(vec![element])
            }
        }
    }
}

/// Returns the field of each column, from the names in the header.
fn named_columns(fields: &[Field], header: Option<Record>) -> Result<Vec<Field>, Failure> {
    let names: Vec<&str> = fields.iter().map(|field| &*field.name).filter(|name| !name.is_empty()).collect();
    let expected = || format!("expected a header with the names of all fields: {}", names.join(","));
    let header = header.ok_or_else(|| Failure::fault(expected()))?;
    let mut columns = Vec::new();
    for name in &header.fields {
        let field = fields.iter().find(|field| field.name == *name);
        let field = field.ok_or_else(|| {
            Failure::fault(format!("line {}: there is no field `{name}`; {}", header.line, expected()))
        })?;
        if !field.shape.is_empty() {
            return Err(Failure::fault(format!("the field `{name}` has several elements; use a .npy file")));
        }
        columns.push(field.clone());
    }
    let has_all = names.iter().all(|name| header.fields.iter().filter(|own| own == name).count() == 1);
    if has_all { Ok(columns) } else { Err(Failure::fault(format!("line {}: {}", header.line, expected()))) }
}

/// Writes the elements of a NumPy file, each converted. `from` is positioned after the header.
pub(super) fn put_cast(
    array: &Array,
    along: &[DimensionSelection],
    header: &Header,
    cast: Cast<'_>,
    from: &mut dyn Read,
) -> Result<(), Failure> {
    let data_type = &*header.data_type;
    let element_size = data_type.elements().size().unwrap_or(0);
    let mut whole = Vec::new();
    let is_fortran = header.fortran_order && header.shape.len() > 1;
    if is_fortran {
        let most = slabs::most(array);
        from.take(most.saturating_add(1)).read_to_end(&mut whole)?;
        let count = header.shape.iter().product::<u64>();
        if whole.len() as u64 > most {
            return Err(Failure::fault(format!(
                "a file in Fortran order is converted in memory, but has more than {}; raise --memory, or save \
                 it with np.ascontiguousarray",
                size(most)
            )));
        }
        if whole.len() as u64 != count.saturating_mul(element_size as u64) {
            return Err(Failure::fault(format!("the file does not have the {count} elements of its header")));
        }
        whole = to_c_order(&whole, &header.shape, element_size);
    }
    let from: Box<dyn Read + '_> =
        if is_fortran { Box::new(Cursor::new(whole)) } else { Box::new(BufReader::new(from)) };
    put_elements(array, along, &mut Converted { from, header, cast, number: 0 })
}

/// The converted elements of a NumPy file.
struct Converted<'c> {
    from: Box<dyn Read + 'c>,
    header: &'c Header,
    cast: Cast<'c>,
    number: u64,
}

impl Source for Converted<'_> {
    fn next_element(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let elements = self.header.data_type.elements();
        let size = elements.size().unwrap_or(0);
        let mut element = Vec::with_capacity(size);
        (&mut self.from).take(size as u64).read_to_end(&mut element)?;
        let count = self.header.shape.iter().product::<u64>();
        if element.len() < size || self.number == count {
            return Ok(None);
        }
        reorder(&mut element, &elements, &self.header.order);
        let converted = self.cast.convert(&element);
        let converted =
            converted.map_err(|what| Failure::fault(format!("element {}: {what}", self.number)))?;
        self.number += 1;
        Ok(Some(converted))
    }
}

/// Writes elements band by band. The number of elements is checked before the last band is written.
fn put_elements(array: &Array, along: &[DimensionSelection], source: &mut dyn Source) -> Result<(), Failure> {
    let all = slabs::count(along);
    let element_size = slabs::element_size(array);
    let progress = Progress::of(all, "writing");
    let mut done = 0;
    let mut put = |count: u64, selection: Selection| {
        let most = slabs::most(array);
        if count.saturating_mul(element_size) > most {
            return Err(Failure::fault(format!(
                "a row of chunks takes more memory than the limit for elements, {}; raise --memory, or put parts \
                 with --select",
                size(most)
            )));
        }
        let mut elements = Vec::new();
        for _ in 0..count {
            let Some(element) = source.next_element()? else {
                let found = done + elements.len() as u64;
                return Err(Failure::fault(format!("found {found} elements, expected {all}")));
            };
            elements.push(element);
        }
        done += count;
        if done == all && source.next_element()?.is_some() {
            return Err(Failure::fault(format!("found more than {all} elements")));
        }
        match slabs::fixed_size(array) {
            Some(_) => array.write(selection, &elements.concat())?,
            None => {
                let elements: Vec<&[u8]> = elements.iter().map(|element| &**element).collect();
                array.write_values(selection, &elements)?;
            }
        }
        progress.add(count);
        Ok(())
    };
    if all == 0 {
        return put(0, Selection::Orthogonal(along.to_vec()));
    }
    Blocks::of_one_chunk(array, along).for_each_band(element_size, slabs::budget(array), &mut |band| {
        put(band.shape().iter().product::<u64>(), band.selection(along))
    })
}
