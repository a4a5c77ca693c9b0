//! Checks the members that netCDF-C adds to hierarchies: the dimensions, arrays and groups of a group, and the
//! dimensions of an array.

use zarr_engine::{Array, Group};
use zarr_json::{Object, Value, counted};

use super::nodes::{Found, Nodes};
use super::{Finding, FindingKind, Report};

/// Compares the members of NCZarr with the nodes of the hierarchy.
pub(super) fn check(nodes: &Nodes, report: &mut Report) {
    for group in &nodes.groups {
        if let Some(own) = of_group(group) {
            for problem in missing(nodes, group, own) {
                report.add(Finding::new(FindingKind::Convention, problem).at(group.path()));
            }
        }
    }
    for array in &nodes.arrays {
        let own = member(array.attributes(), &array.metadata().ignored, "_nczarr_array");
        for problem in own.map(|own| wrong_dimensions(nodes, array, own)).unwrap_or_default() {
            report.add(Finding::new(FindingKind::Convention, problem).at(array.path()));
        }
    }
}

/// Returns a member, which newer versions of netCDF-C write in lower case and as an attribute, and older ones in upper
/// case or in the document.
fn member<'a>(attributes: &'a Object, ignored: &'a Object, name: &str) -> Option<&'a Object> {
    let mut members = attributes.iter().chain(ignored.iter());
    members.find(|(own, _)| own.eq_ignore_ascii_case(name)).and_then(|(_, value)| value.as_object())
}

fn of_group(group: &Group) -> Option<&Object> {
    member(group.attributes(), &group.metadata().ignored, "_nczarr_group")
}

/// Returns the first of two members: newer versions write long names.
fn either<'a>(own: &'a Object, long: &str, short: &str) -> Option<&'a Value> {
    own.get(long).or_else(|| own.get(short))
}

/// Describes arrays and groups that do not exist.
fn missing(nodes: &Nodes, group: &Group, own: &Object) -> Vec<String> {
    let mut problems = Vec::new();
    let listed = |value: Option<&Value>| -> Vec<String> {
        let names = value.and_then(Value::as_array).unwrap_or_default();
        names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    for name in listed(either(own, "arrays", "vars")) {
        if matches!(nodes.below(group, &name), Found::Nothing | Found::Group) {
            problems.push(format!("NCZarr lists the array `{name}`, which does not exist"));
        }
    }
    for name in listed(own.get("groups")) {
        if matches!(nodes.below(group, &name), Found::Nothing | Found::Array(_)) {
            problems.push(format!("NCZarr lists the group `{name}`, which does not exist"));
        }
    }
    problems
}

/// Compares the dimensions that NCZarr lists for an array with its shape.
fn wrong_dimensions(nodes: &Nodes, array: &Array, own: &Object) -> Vec<String> {
    // A scalar is stored as an array of one element.
    let is_scalar = own.get("scalar").is_some_and(|flag| flag.as_u64() != Some(0));
    if is_scalar || own.get("storage").and_then(Value::as_str) == Some("scalar") {
        return Vec::new();
    }
    let listed = either(own, "dimension_references", "dimrefs").and_then(Value::as_array);
    let Some(listed) = listed.map(|names| names.iter().filter_map(Value::as_str).collect::<Vec<_>>()) else {
        return Vec::new();
    };
    let rank = array.shape().len();
    if listed.len() != rank {
        let listed = counted(listed.len(), "dimension", "dimensions");
        return vec![format!("NCZarr lists {listed}, but the array has {rank}")];
    }
    let compare = |(name, &actual): (&str, &u64)| match length(nodes, name)? {
        Length::Unknown => Some(format!("NCZarr does not declare the dimension `{name}` of the array")),
        // Arrays along an unlimited dimension may be shorter: the rest is filled.
        Length::Unlimited(length) if actual <= length => None,
        Length::Fixed(length) if actual == length => None,
        Length::Fixed(length) | Length::Unlimited(length) => {
            Some(format!("NCZarr declares {length} elements along `{name}`, but the array has {actual}"))
        }
    };
    listed.into_iter().zip(array.shape()).filter_map(compare).collect()
}

/// The declared length of a dimension.
enum Length {
    Fixed(u64),
    Unlimited(u64),
    /// The group does not declare the dimension.
    Unknown,
}

/// Returns the length of the dimension at an absolute path such as `/g/x`; `None` if its group is not described.
fn length(nodes: &Nodes, path: &str) -> Option<Length> {
    let (group, name) = path.rsplit_once('/')?;
    let group = if group.is_empty() { "/" } else { group };
    let group = nodes.groups.iter().find(|found| found.path().to_string() == group)?;
    let dimensions = either(of_group(group)?, "dimensions", "dims")?.as_object()?;
    let Some(declared) = dimensions.get(name) else { return Some(Length::Unknown) };
    if let Some(length) = declared.as_u64() {
        return Some(Length::Fixed(length));
    }
    let members = declared.as_object()?;
    let length = members.get("size")?.as_u64()?;
    let is_unlimited = members.get("unlimited").is_some_and(|value| value.as_u64() != Some(0));
    Some(if is_unlimited { Length::Unlimited(length) } else { Length::Fixed(length) })
}
