//! A ledger: a Markdown page whose tables have one requirement per row.

use serde::Serialize;

/// The levels of requirements.
pub(super) const LEVELS: &[&str] = &["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "READ", "FACT"];

#[derive(Debug)]
pub(super) struct Ledger {
    /// The name of the file without its extension.
    pub(super) name: String,
    pub(super) rows: Vec<Row>,
}

/// One requirement: the first three cells of its row.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) level: String,
    pub(super) requirement: String,
}

impl Ledger {
    /// Reads the rows, and compares them with the counts that the page states.
    pub(super) fn parse(name: &str, text: &str, errors: &mut Vec<String>) -> Self {
        let mut rows = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            match Row::parse(line) {
                Ok(row) => rows.extend(row),
                Err(error) => errors.push(format!("{name}.md:{number}: {error}")),
            }
        }
        let ledger = Self { name: name.to_owned(), rows };
        if let Err(error) = ledger.check_counts(text) {
            errors.push(format!("{name}.md: {error}"));
        }
        ledger
    }

    /// Compares the rows with the counts in the header, such as `Rows: 3 (FACT 1, MUST 2).`
    fn check_counts(&self, text: &str) -> Result<(), String> {
        let stated =
            text.lines().take_while(|line| !line.starts_with('|')).find_map(|line| line.split_once("Rows: "));
        let (_, stated) = stated.ok_or("no line states `Rows: N`")?;
        let digits = stated.split(|it: char| !it.is_ascii_digit()).next().unwrap_or_default();
        if digits != self.rows.len().to_string() {
            return Err(format!("states {digits} rows, but has {}", self.rows.len()));
        }
        let levels = stated.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        for part in levels.map(|(levels, _)| levels.split(", ")).into_iter().flatten() {
            let (level, count) = part.rsplit_once(' ').ok_or_else(|| format!("`{part}` is not a count"))?;
            let found = self.rows.iter().filter(|row| row.level == level).count();
            if count != found.to_string() {
                return Err(format!("states {count} rows of level {level}, but has {found}"));
            }
        }
        Ok(())
    }
}

impl Row {
    /// Parses the row on a line. Returns `None` for headings and other tables.
    fn parse(line: &str) -> Result<Option<Self>, String> {
        let cells = cells(line);
        let [id, level, requirement, ..] = cells.as_slice() else { return Ok(None) };
        if !is_id(id) {
            return Ok(None);
        }
        if !LEVELS.contains(&level.as_str()) {
            return Err(format!("{id} has the unknown level `{level}`"));
        }
        Ok(Some(Self { id: id.clone(), level: level.clone(), requirement: requirement.clone() }))
    }
}

/// Returns the cells of a table row; `\|` is a bar inside a cell.
fn cells(line: &str) -> Vec<String> {
    let Some(inside) = line.trim_end().strip_prefix('|') else { return Vec::new() };
    let mut cells = vec![String::new()];
    let mut characters = inside.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.next_if_eq(&'|').is_some() => push(&mut cells, '|'),
            '|' => cells.push(String::new()),
            other => push(&mut cells, other),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn push(cells: &mut [String], character: char) {
    if let Some(cell) = cells.last_mut() {
        cell.push(character);
    }
}

/// Returns whether a text is an id such as `D3-PATH-03`: capital letters and digits with hyphens between the parts, of
/// which the last one is a number.
pub(super) fn is_id(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    let begins = text.starts_with(|first: char| first.is_ascii_uppercase());
    let ends =
        text.rsplit_once('-').is_some_and(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
    begins && ends && text.split('-').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Page\n\nScope: all. Rows: 2 (FACT 1, MUST NOT 1).\n\n\
        | | A | B |\n|---|---|---|\n| keys | `a` | `b` |\n\n\
        | ID | Level | Requirement |\n|---|---|---|\n\
        | XX-A-01 | FACT | `\\|S3` is three bytes. |\n| XX-AB-12 | MUST NOT | Nothing. |\n";

    fn errors(page: &str) -> Vec<String> {
        let mut errors = Vec::new();
        Ledger::parse("page", page, &mut errors);
        errors
    }

    #[test]
    fn rows_are_read_and_other_tables_are_not() {
        let mut errors = Vec::new();
        let rows = Ledger::parse("page", PAGE, &mut errors).rows;
        assert_eq!(errors, [""; 0]);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].requirement, "`|S3` is three bytes.");
        assert_eq!((rows[1].id.as_str(), rows[1].level.as_str()), ("XX-AB-12", "MUST NOT"));
    }

    #[test]
    fn counts_that_the_rows_contradict_are_errors() {
        assert_eq!(errors(&PAGE.replace("Rows: 2", "Rows: 3")), ["page.md: states 3 rows, but has 2"]);
        assert_eq!(
            errors(&PAGE.replace("FACT 1", "FACT 2")),
            ["page.md: states 2 rows of level FACT, but has 1"]
        );
        assert_eq!(errors(&PAGE.replace("Rows: 2", "Some")), ["page.md: no line states `Rows: N`"]);
    }

    #[test]
    fn a_row_of_an_unknown_level_is_an_error() {
        let found = errors(&PAGE.replace("| FACT |", "| FACTS |"));
        assert_eq!(found[0], "page.md:11: XX-A-01 has the unknown level `FACTS`");
    }

    #[test]
    fn an_id_ends_in_a_number() {
        for id in ["D3-PATH-03", "V2-CODEC-30", "DT-B-02"] {
            assert!(is_id(id), "{id}");
        }
        for other in ["", "ID", "---", "D3-KEY", "D3-", "d3-PATH-03", "3-PATH-03", "D3--03", "keys", "UTF-8X"]
        {
            assert!(!is_id(other), "{other}");
        }
    }
}
