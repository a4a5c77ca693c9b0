//! Citations of rows by tests, in doc lines such as `/// Tests D3-PATH-03, D3-PATH-04.`

use std::path::Path;

use super::ledger::is_id;
use crate::rust_source::RustSource;

/// A test and the rows that it cites.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Citation {
    file: String,
    /// The number of the line with the name of the function.
    line: usize,
    test: String,
    /// The ids without duplicates.
    pub(super) ids: Vec<String>,
}

impl Citation {
    /// Returns the name of the test in messages.
    pub(super) fn place(&self) -> String {
        format!("{}:{}: {}", self.file, self.line, self.test)
    }
}

/// Finds the citations in a Rust source. A citation without valid rows, or above an item other than a test, is an
/// error.
pub(super) fn find(file: &Path, source: &str, errors: &mut Vec<String>) -> Vec<Citation> {
    let file = file.to_string_lossy().replace('\\', "/");
    let mut found = Vec::new();
    let mut item = Item::default();
    let source = match RustSource::new(source.to_owned()) {
        Ok(source) => source.without_literals(),
        Err(error) => {
            errors.push(format!("{file}: {error}"));
            return found;
        }
    };
    for (line, number) in source.lines().map(str::trim).zip(1..) {
        if item.open_brackets > 0 || line.starts_with("#[") {
            item.attribute(line);
        } else if let Some(doc) = line.strip_prefix("///") {
            match rows_in(doc.trim()) {
                Ok(ids) => item.ids.extend(ids),
                Err(error) => errors.push(format!("{file}:{number}: {error}")),
            }
        } else if !line.is_empty() && !line.starts_with("//") {
            let item = std::mem::take(&mut item);
            match (item.ids.is_empty(), item.is_test, function_name(line)) {
                (true, ..) => {}
                (false, true, Some(test)) => {
                    found.push(Citation { file: file.clone(), line: number, test, ids: once(item.ids) });
                }
                (false, ..) => {
                    errors.push(format!(
                        "{file}:{number}: {} cited above an item that is not a #[test]",
                        item.ids.join(", ")
                    ));
                }
            }
        }
    }
    found
}

/// The lines above an item, collected until the item follows.
#[derive(Debug, Default)]
struct Item {
    ids: Vec<String>,
    is_test: bool,
    /// Open brackets of an attribute that continues on the next line.
    open_brackets: usize,
}

impl Item {
    fn attribute(&mut self, line: &str) {
        self.is_test |= line.starts_with("#[test]");
        let count = |bracket: char| line.matches(bracket).count();
        self.open_brackets = (self.open_brackets + count('[')).saturating_sub(count(']'));
    }
}

/// Returns the rows that a doc line cites. `Tests that …` is an ordinary sentence; `Tests XX-…` is a citation.
fn rows_in(doc: &str) -> Result<Vec<String>, String> {
    let Some(list) = doc.strip_prefix("Tests ") else { return Ok(Vec::new()) };
    let first = list.split([' ', ',', '.', ':']).next().unwrap_or_default();
    let is_meant = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-';
    if !first.contains('-') || !first.bytes().all(is_meant) {
        return Ok(Vec::new());
    }
    let ids: Vec<_> = list.strip_suffix('.').unwrap_or(list).split(", ").map(str::to_owned).collect();
    match ids.iter().find(|id| !is_id(id)) {
        Some(wrong) => {
            Err(format!("`{wrong}` is not an id (expected a citation such as `/// Tests XX-A-01, XX-A-02.`)"))
        }
        None => Ok(ids),
    }
}

fn function_name(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("fn ")?;
    let name: String = rest.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect();
    (!name.is_empty()).then_some(name)
}

fn once(ids: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for id in ids {
        if !kept.contains(&id) {
            kept.push(id);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> (Vec<(String, Vec<String>)>, Vec<String>) {
        let mut errors = Vec::new();
        let citations = find(Path::new("a.rs"), source, &mut errors);
        (citations.into_iter().map(|citation| (citation.test, citation.ids)).collect(), errors)
    }

    #[test]
    fn a_citation_is_found_with_attributes_docs_and_comments_between() {
        let source = "    /// Tests XX-A-01, XX-A-02.\n    /// Bytes of GNU gzip.\n    // Why.\n\n    \
            #[cfg(any(\n        unix,\n    ))]\n    #[test]\n    /// Tests XX-A-03, XX-A-01.\n    fn reads() {}\n";
        let (citations, errors) = found(source);
        let ids = ["XX-A-01", "XX-A-02", "XX-A-03"].map(str::to_owned).to_vec();
        assert_eq!((citations, errors), (vec![("reads".to_owned(), ids)], vec![]));
    }

    #[test]
    fn a_citation_above_another_item_is_an_error() {
        for item in
            ["fn helper() {}", "#[derive(Debug)]\nstruct A;", "#[cfg(test)]\nmod tests {", "#[test]\nmod a;"]
        {
            let (citations, errors) = found(&format!("/// Tests XX-A-01.\n{item}\n#[test]\nfn a() {{}}\n"));
            assert_eq!((citations.len(), errors.len()), (0, 1), "{item}");
        }
    }

    #[test]
    fn a_citation_that_is_not_a_list_of_ids_is_an_error() {
        for list in ["XX-A-01 and XX-A-02.", "XX-A.", "XX-A-01,XX-A-02", "XX-A-01: the first."] {
            let (citations, errors) = found(&format!("/// Tests {list}\n#[test]\nfn a() {{}}\n"));
            assert_eq!((citations.len(), errors.len()), (0, 1), "{list}");
        }
    }

    #[test]
    fn sentences_and_literals_are_not_citations() {
        let source = "/// Tests that a thing is one. Tests XX-A-01 too.\n/// Tests UTF8 names.\n#[test]\nfn a() {}\n\
            const A: &str = \"\n/// Tests XX-A-01.\n#[test]\nfn b() {}\n\";\n// Tests XX-A-01.\n#[test]\nfn c() {}\n";
        assert_eq!(found(source), (vec![], vec![]));
    }
}
