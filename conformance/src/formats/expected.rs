//! The known failures of a reader.

use super::{Example, Outcome, Reading};
use crate::suite::ReportError;

/// A list of examples that a reader is known to fail, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known(Vec<(String, Outcome)>);

impl Known {
    /// Parses a list. Each line has the name of an example and an outcome; `#` starts a comment.
    ///
    /// # Errors
    ///
    /// [`ReportError`] for a malformed line or an unknown example.
    pub fn parse(text: &str, examples: &[Example]) -> Result<Self, ReportError> {
        let mut known = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let wrong = |what: String| ReportError { line: number + 1, what };
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            match words[..] {
                [] => {}
                [id, outcome] => {
                    if !examples.iter().any(|example| example.id == id) {
                        return Err(wrong(format!("there is no example `{id}`")));
                    }
                    known.push((id.to_owned(), outcome.parse().map_err(wrong)?));
                }
                _ => return Err(wrong("expected the name of an example and an outcome".to_owned())),
            }
        }
        Ok(Self(known))
    }

    /// Returns the deviations from the list: examples that fail but are not listed, that fail in another way, or that
    /// are listed but pass.
    #[must_use]
    pub fn surprises(&self, readings: &[Reading]) -> Vec<String> {
        let surprise = |reading: &Reading| {
            let known = self.0.iter().find(|(id, _)| *id == reading.example.id).map(|(_, outcome)| *outcome);
            let is_as_known = match known {
                None => !reading.outcome.is_failure(),
                Some(known) => known == reading.outcome,
            };
            let known = known.map_or_else(String::new, |known| format!(", but listed as {known}"));
            (!is_as_known).then(|| format!("{}: {}{known}", reading.example.id, reading.outcome))
        };
        readings.iter().filter_map(surprise).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::all;
    use super::*;

    #[test]
    fn only_deviations_from_the_list_are_surprises() {
        let first = &all()[0];
        let second = &all()[1];
        let known = |text: &str| Known::parse(text, all());
        let reading = |example, outcome| Reading::new(example, outcome, String::new());
        let readings = [reading(first, Outcome::WrongElements), reading(second, Outcome::Right)];

        let text = format!("{} wrong-elements # always\n\n# all\n", first.id);
        assert_eq!(known(&text).unwrap().surprises(&readings), Vec::<String>::new());
        assert_eq!(
            known(&format!("{} crashed\n{} timed-out", first.id, second.id)).unwrap().surprises(&readings),
            [
                format!("{}: wrong-elements, but listed as crashed", first.id),
                format!("{}: right, but listed as timed-out", second.id)
            ]
        );
        assert_eq!(known("").unwrap().surprises(&readings), [format!("{}: wrong-elements", first.id)]);
    }

    #[test]
    fn malformed_lines_are_errors() {
        let error = |text: &str| Known::parse(text, all()).unwrap_err().to_string();
        assert_eq!(error("\nv3/nothing crashed"), "line 2: there is no example `v3/nothing`");
        assert_eq!(error("v3/nothing"), "line 1: expected the name of an example and an outcome");
        let text = format!("{} sunk", all()[0].id);
        assert!(error(&text).starts_with("line 1: unknown outcome `sunk`"), "{}", error(&text));
    }
}
