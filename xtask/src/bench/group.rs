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

    /// Returns the markers around its tables in the page.
    pub(crate) fn marks(self) -> [&'static str; 2] {
        match self {
            Self::Near => ["<!-- figures: begin -->\n", "<!-- figures: end -->\n"],
            Self::Growth => ["<!-- growth: begin -->\n", "<!-- growth: end -->\n"],
            Self::Far => ["<!-- far: begin -->\n", "<!-- far: end -->\n"],
            Self::Copy => ["<!-- copy: begin -->\n", "<!-- copy: end -->\n"],
        }
    }
}
