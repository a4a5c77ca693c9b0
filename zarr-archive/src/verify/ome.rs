//! Checks the nodes that OME-Zarr metadata name: levels of images, labels, wells of plates and images of wells.

use zarr_engine::Group;
use zarr_json::{Object, Value, counted};

use super::nodes::{Found, Nodes};
use super::{Finding, FindingKind, Report};

/// Checks groups with metadata of OME-Zarr: attributes of the group up to version 0.4, and members of the attribute
/// `ome` since version 0.5.
pub(super) fn check(nodes: &Nodes, report: &mut Report) {
    for group in &nodes.groups {
        let attributes = group.attributes();
        let metadata = attributes.get("ome").and_then(Value::as_object).unwrap_or(attributes);
        let mut problems = Vec::new();
        for image in items(metadata, "multiscales").iter().filter_map(Value::as_object) {
            problems.extend(of_image(nodes, group, image));
        }
        let is_below_image = group.path().name() == "labels";
        for label in items(metadata, "labels").iter().filter_map(Value::as_str).filter(|_| is_below_image) {
            problems.extend(missing_group(nodes, group, label, "labels"));
        }
        for (member, list) in [("plate", "wells"), ("well", "images")] {
            let parts =
                metadata.get(member).and_then(Value::as_object).map_or(&[][..], |part| items(part, list));
            for path in parts.iter().filter_map(path_of) {
                problems.extend(missing_group(nodes, group, path, list));
            }
        }
        for problem in problems {
            report.add(Finding::new(FindingKind::Convention, problem).at(group.path()));
        }
    }
}

/// Returns a list; empty if the member is another value.
fn items<'a>(members: &'a Object, name: &str) -> &'a [Value] {
    members.get(name).and_then(Value::as_array).unwrap_or_default()
}

/// Returns the member `path` of an entry.
fn path_of(entry: &Value) -> Option<&str> {
    entry.as_object()?.get("path")?.as_str()
}

/// Compares the levels of an image with their arrays.
fn of_image(nodes: &Nodes, group: &Group, image: &Object) -> Vec<String> {
    let axes = image.get("axes").and_then(Value::as_array).map(<[Value]>::len);
    let mut problems = Vec::new();
    let mut first = None;
    for path in items(image, "datasets").iter().filter_map(path_of) {
        let array = match nodes.below(group, path) {
            Found::Array(array) => array,
            Found::Unreadable => continue,
            Found::Group | Found::Nothing => {
                problems.push(format!("level `{path}` of the OME-Zarr image is not an array"));
                continue;
            }
        };
        let rank = array.shape().len();
        if let Some(axes) = axes.filter(|&axes| axes != rank) {
            let rank = counted(rank, "dimension", "dimensions");
            let axes = counted(axes, "axis", "axes");
            problems
                .push(format!("level `{path}` of the OME-Zarr image has {rank}, but the image has {axes}"));
        }
        let data_type = array.data_type().name();
        let expected = first.get_or_insert_with(|| data_type.clone());
        if *expected != data_type {
            problems.push(format!(
                "level `{path}` of the OME-Zarr image has data type {data_type}, and the first level {expected}"
            ));
        }
    }
    problems
}

/// Returns a description if `path` does not name a group.
fn missing_group(nodes: &Nodes, group: &Group, path: &str, list: &str) -> Option<String> {
    match nodes.below(group, path) {
        Found::Group | Found::Unreadable => None,
        Found::Array(_) | Found::Nothing => {
            Some(format!("`{path}` in the OME-Zarr list `{list}` is not a group"))
        }
    }
}
