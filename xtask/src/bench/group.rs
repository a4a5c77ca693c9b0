//! The groups of cases, and the place of their tables in the page.

use serde::{Deserialize, Serialize};

/// Cases that are compared together; each group has separate tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Group {
    /// Cases in folders of this machine.
    Near,
    /// Cases that show how times and memory grow with the size.
    Growth,
    /// Cases in a store that waits before each answer.
    Far,
    /// Cases that run whole programs, which copy and check data.
    Copy,
}

impl Group {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 4] = [Self::Near, Self::Growth, Self::Far, Self::Copy];

    /// Returns the markers around its tables in the page. Tables with the Python package have separate places.
    pub(crate) fn marks(self, has_package: bool) -> [String; 2] {
        let name = match (self, has_package) {
            (Self::Near, false) => "figures",
            (Self::Near, true) => "python",
            (Self::Growth, _) => "growth",
            (Self::Far, false) => "far",
            (Self::Far, true) => "far-python",
            (Self::Copy, _) => "copy",
        };
        ["begin", "end"].map(|end| format!("<!-- {name}: {end} -->\n"))
    }

    /// Returns the number of rounds of published results. Small differences between programs show only in many rounds;
    /// growth and copies take long and differ by more.
    pub(crate) fn rounds_to_publish(self) -> usize {
        match self {
            Self::Near | Self::Far => 9,
            Self::Growth | Self::Copy => 3,
        }
    }
}
