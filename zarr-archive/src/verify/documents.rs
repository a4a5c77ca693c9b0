//! Checks the documents of nodes.

use std::collections::BTreeMap;

use zarr_engine::{Array, EntryKind, Error, ErrorKind, Hierarchy, Node, NodeEntry};
use zarr_metadata::{v2, v3};
use zarr_spec::{Format, Key, NodePath};

use super::{Finding, FindingKind, Report};

/// Returns whether a key is the key of a node's document in v2 or v3.
pub(super) fn is_document(key: &Key) -> bool {
    ["zarr.json", ".zarray", ".zgroup"].contains(&key.name())
}

/// Checks that every document of a hierarchy can be used, and that every node can be reached.
pub(super) fn check(hierarchy: &Hierarchy, keys: &[Key], report: &mut Report) -> Result<(), Error> {
    let entries = hierarchy.walk(NodePath::root())?;
    for entry in &entries {
        if let Node::Unreadable(unreadable) = hierarchy.node(&entry.path)? {
            let error = &*unreadable.error;
            let kind = match is_unknown(error) {
                true => FindingKind::NotChecked,
                false => FindingKind::Document,
            };
            report.add(Finding::of_error(kind, error).at(&entry.path));
        } else if entry.kind == EntryKind::Unreadable {
            report.add(Finding::new(FindingKind::Document, "the document cannot be read").at(&entry.path));
        }
    }
    if hierarchy.format() == Format::V3 {
        for group in entries.iter().filter(|entry| entry.kind == EntryKind::ImplicitGroup) {
            let text = "there is no document of a group, but nodes are below it";
            report.add(Finding::new(FindingKind::MissingGroup, text).at(&group.path));
        }
    }
    find_unreachable(hierarchy.format(), &entries, keys, report);
    find_doubled(hierarchy.format(), keys, report);
    for warning in hierarchy.warnings() {
        let mut finding = Finding::new(FindingKind::Tolerated, warning.text);
        finding.path = warning.node.map(|path| path.to_string());
        finding.key = warning.document.map(|key| key.to_string());
        report.add(finding);
    }
    Ok(())
}

/// Returns whether an unknown plugin is the only reason for an error.
fn is_unknown(error: &Error) -> bool {
    match error {
        Error::NotUnderstood(error) => error.problems.iter().all(|problem| !problem.missing.is_empty()),
        error => matches!(error.kind(), ErrorKind::NotSupported),
    }
}

/// Finds documents below paths that are not groups. The draft does not require documents of groups.
fn find_unreachable(format: Format, entries: &[NodeEntry], keys: &[Key], report: &mut Report) {
    let known: BTreeMap<&NodePath, EntryKind> =
        entries.iter().map(|entry| (&entry.path, entry.kind)).collect();
    for key in keys.iter().filter(|key| is_document(key)) {
        let path = match format {
            Format::V2 => v2::node_of(key).map(|(path, _)| path),
            Format::V3 => v3::node_of(key),
            Format::V3Draft => None,
        };
        let Some(path) = path.filter(|path| !known.contains_key(path)) else { continue };
        let mut ancestors: Vec<NodePath> = path.ancestors().filter(|ancestor| *ancestor != path).collect();
        ancestors.sort_by_key(|ancestor| ancestor.names().len());
        match ancestors.iter().find(|ancestor| known.get(*ancestor).is_none_or(|kind| !kind.is_group())) {
            Some(ancestor) if known.contains_key(ancestor) => {
                let text = format!("{path} is below {ancestor}, which is not a group");
                report.add(Finding::new(FindingKind::Disagreement, text).at(&path).with_key(key));
            }
            Some(ancestor) => {
                let text = format!("there is no group, but {path} is below it");
                report.add(Finding::new(FindingKind::MissingGroup, text).at(ancestor));
            }
            None => {}
        }
    }
}

/// Finds nodes with the documents of an array and of a group. `keys` are sorted. In v3, a node has one document.
fn find_doubled(format: Format, keys: &[Key], report: &mut Report) {
    for key in keys {
        let text = key.as_str();
        let group = match format {
            Format::V2 if key.name() == ".zarray" => {
                format!("{}.zgroup", text.strip_suffix(".zarray").unwrap_or_default())
            }
            Format::V3Draft if text.starts_with("meta/") => match text.rsplit_once(".array.") {
                Some((before, after)) => format!("{before}.group.{after}"),
                None => continue,
            },
            _ => continue,
        };
        if keys.binary_search_by(|key| key.as_str().cmp(group.as_str())).is_ok() {
            let text = format!("the node is an array and, in `{group}`, a group");
            report.add(Finding::new(FindingKind::Disagreement, text).with_key(key));
        }
    }
}

/// Compares arrays of several formats at one path.
pub(super) fn compare_formats(arrays: &[Array], report: &mut Report) {
    let mut first: BTreeMap<String, &Array> = BTreeMap::new();
    for array in arrays {
        let path = array.path().to_string();
        let Some(other) = first.get(&path) else {
            first.insert(path, array);
            continue;
        };
        let formats = [other, array].map(|array| array.metadata().format);
        let text = if other.shape() != array.shape() {
            format!(
                "the shape in {} is {:?}, in {} {:?}",
                formats[0],
                other.shape(),
                formats[1],
                array.shape()
            )
        } else if other.data_type().name() != array.data_type().name() {
            let [one, other] = [other, array].map(|array| array.data_type().name().into_owned());
            format!("the data type in {} is {one}, in {} {other}", formats[0], formats[1])
        } else {
            continue;
        };
        report.add(Finding::new(FindingKind::Disagreement, text).at(path));
    }
}
