//! Warnings about documents that were tolerated.

use std::fmt;
use std::sync::Mutex;

use zarr_spec::{Key, NodePath, printable};

use crate::unpoisoned::Unpoisoned;

/// Maximum number of collected warnings, because every document of a store may have a fault.
const CAPACITY: usize = 1000;

/// A fault that this crate tolerates but a strict reader may refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The node, if an extension of its metadata caused the warning.
    pub node: Option<NodePath>,
    /// The key of the document, if the warning is about one.
    pub document: Option<Key>,
    /// A description of the fault and how it was handled.
    pub text: String,
}

impl Warning {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { node: None, document: None, text: text.into() }
    }

    pub(crate) fn of_document(key: &Key, text: impl Into<String>) -> Self {
        Self { document: Some(key.clone()), ..Self::new(text) }
    }

    pub(crate) fn of_node(path: &NodePath, document: Option<Key>, text: impl Into<String>) -> Self {
        Self { node: Some(path.clone()), document, text: text.into() }
    }

    /// Returns whether both warnings report the same fault. Parsing a document may find a fault, and opening its node
    /// may find it again.
    fn is_same(&self, other: &Self) -> bool {
        let is_same_place = match (&self.document, &other.document) {
            (Some(one), Some(other)) => one == other,
            _ => self.node == other.node && self.document == other.document,
        };
        is_same_place && self.text == other.text
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.node, &self.document) {
            (Some(node), _) => write!(f, "{}: ", printable(node))?,
            (None, Some(document)) => write!(f, "document `{}`: ", printable(document))?,
            (None, None) => {}
        }
        write!(f, "{}", printable(&self.text))
    }
}

#[derive(Debug, Default)]
pub(super) struct WarningLog(Mutex<Vec<Warning>>);

impl WarningLog {
    pub(super) fn add(&self, warning: Warning) {
        let mut warnings = self.0.lock().unpoisoned();
        if warnings.len() >= CAPACITY || warnings.iter().any(|known| known.is_same(&warning)) {
            return;
        }
        warnings.push(warning);
        if warnings.len() == CAPACITY {
            warnings.push(Warning::new("there are more warnings, which are not listed"));
        }
    }

    pub(super) fn all(&self) -> Vec<Warning> {
        self.0.lock().unpoisoned().clone()
    }
}

#[cfg(test)]
mod tests {
    use zarr_spec::Format;

    use super::*;

    #[test]
    fn a_fault_is_reported_once_for_a_document_and_its_node() {
        let key = Key::new("a/zarr.json").unwrap();
        let path = NodePath::parse("/a", Format::V3).unwrap();
        let log = WarningLog::default();
        log.add(Warning::of_document(&key, "x"));
        log.add(Warning::of_node(&path, Some(key.clone()), "x"));
        log.add(Warning::of_node(&path, Some(key), "y"));
        log.add(Warning::new("x"));
        log.add(Warning::new("x"));
        let texts: Vec<_> = log.all().iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["document `a/zarr.json`: x", "/a: y", "x"]);
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(Warning::new("a\nb").to_string(), r"a\nb");
    }

    #[test]
    fn the_number_of_warnings_is_bounded() {
        let log = WarningLog::default();
        (0..2 * CAPACITY).for_each(|number| log.add(Warning::new(number.to_string())));
        assert_eq!(log.all().len(), CAPACITY + 1);
    }
}
