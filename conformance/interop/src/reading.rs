//! Reads data written by other programs with the engine and compares it bit for bit.
#![expect(clippy::unwrap_used, reason = "a failure must fail the calling test")]

use std::collections::HashMap;
use std::path::Path;

use zarr_kit::spec::Elements;
use zarr_kit::{Array, Context, Hierarchy, Selection, open_store};

use crate::{Case, Random, Writer, raw, reference, written};

/// Number of random selections to read from each array.
const SELECTIONS: usize = 6;

/// Maximum number of failures to print.
const SHOWN: usize = 20;

/// Opens every store once, checks every case and prints the failures.
///
/// # Panics
///
/// If a case fails.
pub fn check_all(
    directory: &Path,
    index: &str,
    context: &Context,
    check: impl Fn(&Hierarchy, &Case) -> Result<(), String>,
) {
    let cases = Case::all(directory, index);
    let mut hierarchies = HashMap::new();
    let mut failures = Vec::new();
    for case in &cases {
        let hierarchy = hierarchies.entry(case.store().to_owned()).or_insert_with(|| {
            let location = directory.join(case.store());
            let store = open_store(context.registry(), location.to_str().unwrap())
                .map_err(|error| error.to_string())?;
            Hierarchy::open(store, context).map_err(|error| format!("cannot be opened: {error}"))
        });
        let result = match hierarchy {
            Ok(hierarchy) => same_format(hierarchy, case).and_then(|()| check(hierarchy, case)),
            Err(error) => Err(error.clone()),
        };
        if let Err(error) = result {
            failures.push(format!("{}: {error}", case.name()));
        }
    }
    println!("{} of {} cases read", cases.len() - failures.len(), cases.len());
    let shown = failures.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{} of {} cases fail:\n{shown}", failures.len(), cases.len());
}

fn same_format(hierarchy: &Hierarchy, case: &Case) -> Result<(), String> {
    let found = hierarchy.format();
    let wanted = case.format();
    if found == wanted { Ok(()) } else { Err(format!("detected as {found}, not {wanted}")) }
}

/// Compares a node with its expected content.
///
/// # Errors
///
/// A description of the difference.
pub fn check_node(hierarchy: &Hierarchy, case: &Case, directory: &Path) -> Result<(), String> {
    if case.is_group() { check_group(hierarchy, case) } else { check_array(hierarchy, case, directory) }
}

fn check_group(hierarchy: &Hierarchy, case: &Case) -> Result<(), String> {
    let group = hierarchy.group(case.path()).map_err(|error| error.to_string())?;
    case.check_attributes(group.attributes())?;
    let Some(mut wanted) = case.children() else { return Ok(()) };
    let path = hierarchy.path(case.path()).map_err(|error| error.to_string())?;
    let children = hierarchy.children(&path).map_err(|error| error.to_string())?;
    let mut found: Vec<_> =
        children.iter().map(|child| child.path.names().last().unwrap().to_string()).collect();
    found.sort();
    wanted.sort();
    if found == wanted { Ok(()) } else { Err(format!("children are {found:?}, not {wanted:?}")) }
}

fn check_array(hierarchy: &Hierarchy, case: &Case, directory: &Path) -> Result<(), String> {
    let array = hierarchy.array(case.path()).map_err(|error| error.to_string())?;
    if array.shape() != case.shape() {
        return Err(format!("shape is {:?}, not {:?}", array.shape(), case.shape()));
    }
    case.check_attributes(array.attributes())?;
    let wanted = case.raw(directory)?;
    let elements = array.read(&Selection::All).map_err(|error| error.to_string())?;
    let found = raw::of(&elements);
    if found != wanted {
        let place =
            found.iter().zip(&wanted).position(|(a, b)| a != b).unwrap_or(found.len().min(wanted.len()));
        let end = |bytes: &[u8]| format!("{:02x?}", &bytes[place..bytes.len().min(place + 8)]);
        let found_end = end(&found);
        let wanted_end = end(&wanted);
        return Err(format!(
            "byte {place} on ({} of {} bytes): {found_end} instead of {wanted_end}",
            found.len(),
            wanted.len()
        ));
    }
    check_selections(&array, &wanted, seed(case.name()))
}

fn seed(name: &str) -> u64 {
    name.bytes().fold(7, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

/// Checks that parts of the array, read alone and together, equal the same parts of the whole.
fn check_selections(array: &Array, whole: &[u8], seed: u64) -> Result<(), String> {
    let count = array.shape().iter().product::<u64>();
    let is_variable = array.data_type().elements() == Elements::Variable;
    let items = raw::split(whole, usize::try_from(count).unwrap(), is_variable)?;
    let mut random = Random::new(seed);
    let selections: Vec<_> = (0..SELECTIONS).map(|_| random.selection(array.shape(), true)).collect();
    let many = array.read_many(&selections).map_err(|error| error.to_string())?;
    for (selection, together) in selections.iter().zip(many) {
        let wanted: Vec<&[u8]> = reference::positions(selection, array.shape())
            .into_iter()
            .map(|position| items[position])
            .collect();
        let alone = array.read(selection).map_err(|error| format!("{selection:?}: {error}"))?;
        for found in [&alone, &together] {
            if found.shape() != reference::result_shape(selection, array.shape()) {
                return Err(format!("{selection:?} has the shape {:?}", found.shape()));
            }
            if raw::items(found) != wanted {
                return Err(format!("{selection:?} differs from the same part of the whole"));
            }
        }
    }
    Ok(())
}

/// Reads everything that `writer` wrote; does nothing after a visible skip.
///
/// # Panics
///
/// If a node cannot be read or differs.
pub fn read_all(writer: Writer, context: &Context) {
    let Some(directory) = written(writer) else { return };
    check_all(&directory, "cases.json", context, |hierarchy, case| check_node(hierarchy, case, &directory));
}
