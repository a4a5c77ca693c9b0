//! Which cases are compared, and where their tables go.

use serde::{Deserialize, Serialize};

/// Cases that are compared together; each group has tables of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Group {
    /// In folders of this machine.
    Near,
    /// How times and memory grow with arrays.
    Growth,
    /// In a store that waits before each answer.
    Far,
}

impl Group {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 3] = [Self::Near, Self::Growth, Self::Far];

    /// What its tables stand between in the page.
    pub(crate) fn marks(self) -> [&'static str; 2] {
        match self {
            Self::Near => ["<!-- figures: begin -->\n", "<!-- figures: end -->\n"],
            Self::Growth => ["<!-- growth: begin -->\n", "<!-- growth: end -->\n"],
            Self::Far => ["<!-- far: begin -->\n", "<!-- far: end -->\n"],
        }
    }
}
