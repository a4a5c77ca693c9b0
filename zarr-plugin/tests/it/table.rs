//! Reads `docs/plugins-bad.md` for the tests of this crate and of `zarrctl`.

use std::fs;

/// A faulty plugin.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) wrong: String,
    pub(crate) found_by: String,
    pub(crate) message: String,
}

/// Returns all rows of the tables.
pub(crate) fn rows() -> Vec<Row> {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/plugins-bad.md")).unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let rows: Vec<Row> = lines
        .filter(|line| !line.starts_with("fault |"))
        .map(|line| match line.split(" | ").collect::<Vec<_>>()[..] {
            [wrong, found_by, message] => {
                let [wrong, found_by, message] = [wrong, found_by, message].map(ToOwned::to_owned);
                Row { wrong, found_by, message }
            }
            _ => panic!("a row with the wrong number of columns: {line}"),
        })
        .collect();
    assert!(rows.len() > 30, "{rows:?}");
    rows
}

impl Row {
    /// Returns whether `said` contains the message; `…` stands for any text.
    pub(crate) fn is_in(&self, said: &str) -> bool {
        let mut rest = said;
        self.message.split('…').all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    }
}

/// Runs the case of each row that `is_mine` selects. Panics unless each row has one case and each case has a row.
pub(crate) fn check<T: Copy>(
    is_mine: impl Fn(&Row) -> bool,
    cases: &[(&str, T)],
    run: impl Fn(&Row, T) -> Result<(), String>,
) {
    let mut rows = rows();
    let mut failures = Vec::new();
    rows.retain(is_mine);
    for (wrong, case) in cases {
        match rows.iter().position(|row| row.wrong == *wrong) {
            Some(place) => failures.extend(run(&rows.remove(place), *case).err()),
            None => failures.push(format!("`{wrong}` is not in the table, or has two tests")),
        }
    }
    failures.extend(rows.iter().map(|row| format!("`{}` has no test", row.wrong)));
    assert!(failures.is_empty(), "docs/plugins-bad.md:\n{}", failures.join("\n"));
}
