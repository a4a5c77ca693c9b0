//! Information that a copy loses.

use std::fmt;

use zarr_spec::{NodePath, printable};

/// The most nodes that are listed for a loss.
const SHOWN: usize = 3;

/// The losses in the order of their discovery, each with its nodes.
#[derive(Debug, Default)]
pub struct Losses(Vec<(String, Vec<String>)>);

impl Losses {
    /// Adds a loss of the node at `path`.
    pub(crate) fn add(&mut self, path: &NodePath, what: impl ToString) {
        let what = printable(what.to_string()).to_string();
        let path = printable(path).to_string();
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, paths)) => paths.push(path),
            None => self.0.push((what, vec![path])),
        }
    }

    /// Returns whether nothing is lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Prints a line for each loss, in printable characters.
impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (what, paths)) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { "\n" };
            let shown = paths.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
            write!(f, "{separator}  {shown}")?;
            if paths.len() > SHOWN {
                write!(f, " and {} more", paths.len() - SHOWN)?;
            }
            write!(f, ": {what}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use zarr_spec::Format;

    use super::*;

    #[test]
    fn a_loss_of_many_nodes_is_printed_once() {
        let mut losses = Losses::default();
        assert!(losses.is_empty());
        for path in ["/a", "/b", "/c", "/d", "/e"] {
            let path = NodePath::parse(path, Format::V3).unwrap();
            losses.add(&path, "`x`: all");
            if path.to_string() == "/b" {
                losses.add(&path, "`y`: some");
            }
        }
        assert_eq!(losses.to_string(), "  /a, /b, /c and 2 more: `x`: all\n  /b: `y`: some");
    }
}
