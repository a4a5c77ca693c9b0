//! `excuses.toml`: rows that cannot be tested in this project, with reasons.

use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Excuse {
    pub(super) id: String,
    pub(super) reason: Reason,
    pub(super) note: String,
}

/// The reasons of excuses. A requirement that is not implemented yet is open, not excused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reason {
    /// The requirement concerns another program and has no consequence for this program.
    OtherProgram,
    /// The requirement is advice that a program cannot follow or violate.
    Advisory,
    /// The requirement is optional and not implemented.
    OptionalAbsent,
}

impl Reason {
    /// Returns whether the reason excuses a row of this level. Only an optional feature excuses a `MUST`.
    pub(super) fn excuses(self, level: &str) -> bool {
        self == Self::OptionalAbsent || !level.starts_with("MUST")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Excuses {
    #[serde(default)]
    excuse: Vec<Excuse>,
}

pub(super) fn parse(text: &str) -> Result<Vec<Excuse>, String> {
    let excuses: Excuses = toml::from_str(text).map_err(|error| format!("excuses.toml: {error}"))?;
    match excuses.excuse.iter().find(|excuse| excuse.note.trim().is_empty()) {
        Some(excuse) => Err(format!("excuses.toml: {} has an empty note", excuse.id)),
        None => Ok(excuses.excuse),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excuse_has_an_id_a_known_reason_and_a_note() {
        let excuse = "[[excuse]]\nid = 'XX-A-01'\nreason = 'optional-absent'\nnote = 'Not here.'\n";
        let parsed = parse(excuse).unwrap();
        assert_eq!((parsed[0].id.as_str(), parsed[0].reason), ("XX-A-01", Reason::OptionalAbsent));
        for (from, to) in [
            ("optional-absent", "later"),
            ("note = 'Not here.'", ""),
            ("Not here.", " "),
            ("note", "because"),
            ("[[excuse]]", "[[later]]"),
        ] {
            assert!(parse(&excuse.replace(from, to)).is_err(), "{to}");
        }
        assert_eq!(parse("").unwrap().len(), 0);
    }

    #[test]
    fn a_must_is_excused_only_as_optional_and_absent() {
        for level in ["MUST", "MUST NOT"] {
            assert!(Reason::OptionalAbsent.excuses(level));
            assert!(!Reason::OtherProgram.excuses(level));
            assert!(!Reason::Advisory.excuses(level));
        }
        assert!(Reason::Advisory.excuses("SHOULD"));
    }
}
