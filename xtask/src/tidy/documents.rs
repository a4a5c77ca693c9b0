//! Documents for people: their links lead to files and headings, and their excerpts are in the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Finding, shown};
use crate::workspace::Workspace;

/// Separates the parts of an excerpt.
const OMITTED: &str = "// …";

/// The maximum number of words in a paragraph.
const MAX_WORDS: usize = 60;

/// Checks that every relative link leads to a file, and to a heading if it has a fragment.
pub(super) fn links(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for page in pages(workspace)? {
        let text = prose(&workspace.read(&page)?);
        for target in targets(&text).filter(|target| !is_found(workspace, &page, target)) {
            findings.push(Finding::error(shown(&page), format!("the link `{target}` leads nowhere")));
        }
    }
    Ok(findings)
}

/// Checks that each code block after a line "From `file`:" is a part of that file.
pub(super) fn excerpts(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for page in pages(workspace)? {
        let text = workspace.read(&page)?;
        for (file, block) in excerpts_of(&text) {
            let code = workspace.read(Path::new(file)).unwrap_or_default();
            if let Some(line) = missing(&code, block) {
                findings.push(Finding::error(
                    shown(&page),
                    format!("`{file}` does not contain the excerpt that starts with `{line}`"),
                ));
            }
        }
    }
    Ok(findings)
}

/// The page that names the tests of what it states.
const PROMISES: &str = "docs/promises.md";

/// Checks that the tests that the page of guarantees names exist.
pub(super) fn tests(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    if !workspace.root.join(PROMISES).exists() {
        return Ok(Vec::new());
    }
    let text = prose(&workspace.read(Path::new(PROMISES))?);
    let mut named = test_names(&text);
    for file in workspace.project_files()? {
        let Some(keyword) = file.extension().and_then(|kind| match kind.to_str()? {
            "rs" => Some("fn"),
            "py" => Some("def"),
            _ => None,
        }) else {
            continue;
        };
        let code = workspace.read(&file)?;
        named.retain(|name| !code.contains(&format!("{keyword} {name}(")));
    }
    let missing = |name: &&str| Finding::error(PROMISES, format!("there is no test `{name}`"));
    Ok(named.iter().map(missing).collect())
}

/// Returns the names of tests in a text: they are sentences, which no other names in code are.
fn test_names(text: &str) -> BTreeSet<&str> {
    let is_letter = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_';
    let is_test = |name: &&str| name.bytes().all(is_letter) && name.matches('_').count() >= 3;
    text.split('`').skip(1).step_by(2).filter(is_test).collect()
}

/// Checks that paragraphs and items of lists are short, in the documents at the root, in `docs` and in `python`.
/// Specifications of extensions, pages of crates and notes for maintainers may be longer.
pub(super) fn paragraphs(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for page in pages(workspace)? {
        let is_at_root = page.components().count() == 1;
        let is_for_people = is_at_root || page.starts_with("docs") || page.starts_with("python");
        if !is_for_people || page.starts_with("docs/spec") {
            continue;
        }
        for paragraph in paragraphs_of(&prose(&workspace.read(&page)?)) {
            let count = paragraph.split_whitespace().count();
            if count > MAX_WORDS {
                let start = paragraph.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
                let message =
                    format!("a paragraph has {count} words, the maximum is {MAX_WORDS}: `{start} …`");
                findings.push(Finding::error(shown(&page), message));
            }
        }
    }
    Ok(findings)
}

/// Returns the paragraphs and items of lists, without headings and tables. A link counts as its text.
fn paragraphs_of(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in text.lines() {
        let line = line.trim();
        let is_number = |(number, _): (&str, &str)| number.bytes().all(|byte| byte.is_ascii_digit());
        let is_item = line.starts_with("- ") || line.split_once(". ").is_some_and(is_number);
        if line.is_empty() || line.starts_with(['#', '|']) {
            paragraphs.push(String::new());
            continue;
        }
        let mut text = line;
        if is_item {
            paragraphs.push(String::new());
            text = line.split_once(' ').map_or("", |(_marker, text)| text);
        }
        if let Some(last) = paragraphs.last_mut() {
            last.push_str(&without_targets(text));
            last.push(' ');
        }
    }
    paragraphs
}

/// Returns a line with `[text]` in place of `[text](target)`.
fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "]" + part.split_once(')').map_or(part, |(_, rest)| rest))
}

/// Returns all Markdown files except templates.
fn pages(workspace: &Workspace) -> Result<Vec<PathBuf>, String> {
    let files = workspace.project_files()?.into_iter();
    let is_page = |file: &PathBuf| {
        file.extension().is_some_and(|kind| kind == "md") && !file.starts_with("zarrctl/templates")
    };
    Ok(files.filter(is_page).collect())
}

/// Returns the text with an empty line for each fence of a code block, and without the code.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut prose = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            prose.push("");
        } else if !is_code {
            prose.push(line);
        }
    }
    prose.join("\n")
}

/// Returns the targets of links to files of the workspace.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    ends.map(|(target, _)| target).filter(|target| !target.contains("://"))
}

fn is_found(workspace: &Workspace, page: &Path, target: &str) -> bool {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => workspace.root.join(page),
        file => workspace.root.join(page.parent().unwrap_or(Path::new(""))).join(file),
    };
    if heading.is_empty() {
        return path.exists();
    }
    let text = fs::read_to_string(path).unwrap_or_default();
    prose(&text).lines().filter(|line| line.starts_with('#')).any(|line| fragment(line) == heading)
}

/// Returns the fragment that Markdown viewers give to a heading.
fn fragment(line: &str) -> String {
    let title = line.trim_start_matches('#').trim();
    let used = title.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    used.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// Returns each excerpt with the file that it is from.
fn excerpts_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\nFrom [`").skip(1).filter_map(|rest| {
        let (file, rest) = rest.split_once('`')?;
        let (_, rest) = rest.split_once("):\n```rust\n")?;
        Some((file, rest.split_once("\n```")?.0))
    })
}

/// Returns the first line of the first part of `excerpt` that `code` does not contain.
fn missing(code: &str, excerpt: &str) -> Option<String> {
    let lines: Vec<&str> = excerpt.lines().collect();
    let mut parts = lines.split(|line| line.trim() == OMITTED).map(|part| part.join("\n"));
    let part = parts.find(|part| !code.contains(part.as_str()))?;
    part.lines().next().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::made_up::Tree;

    #[test]
    fn links_lead_to_files_and_headings() {
        let page =
            "# One\n[a](b.md#two-words) [c](#one) [d](https://example.org) [e](none.md) [f](b.md#three)\n";
        let tree = Tree::new(&[("docs/a.md", page), ("docs/b.md", "# Two words\n```\n[g](none)\n```\n")]);
        let found: Vec<_> = links(&tree.load()).unwrap().into_iter().map(|finding| finding.message).collect();
        assert_eq!(found, ["the link `none.md` leads nowhere", "the link `b.md#three` leads nowhere"]);
    }

    #[test]
    fn a_long_paragraph_is_an_error() {
        let words = "word ".repeat(MAX_WORDS);
        let found = |text: &str| {
            let tree = Tree::new(&[("docs/a.md", text), ("docs/spec/b.md", &*format!("{words} more"))]);
            paragraphs(&tree.load()).unwrap().len()
        };
        assert_eq!(found(&format!("# A heading\n{words}\n\n- {words}\n- more\n1. {words}\n")), 0);
        assert_eq!(found(&format!("{words}[a link](to/a file/with many parts)\n")), 1);
        assert_eq!(found(&format!("```\n{words}more\n```\n| {words}more |\n")), 0);
    }

    #[test]
    fn the_tests_of_guarantees_exist() {
        let page =
            "`nothing_is_ever_lost` and `all_of_it_stays`, `set_if`, `test_it_is_all_there`, `a::b_c_d_e`\n";
        let tree = Tree::new(&[
            ("docs/promises.md", page),
            ("tests/it.rs", "#[test]\nfn nothing_is_ever_lost() {}\n"),
            ("tests/test_it.py", "def test_it_is_all_there() -> None:\n"),
        ]);
        let found: Vec<_> = tests(&tree.load()).unwrap().into_iter().map(|finding| finding.message).collect();
        assert_eq!(found, ["there is no test `all_of_it_stays`"]);
    }

    #[test]
    fn excerpts_are_in_their_files() {
        let page = |code: &str| format!("Text.\n\nFrom [`a.rs`](a.rs):\n```rust\n{code}\n```\n");
        let found = |code: &str| {
            let page = page(code);
            let tree = Tree::new(&[("a.md", page.as_str()), ("a.rs", "fn a() {}\n\nfn b() {\n    a()\n}\n")]);
            excerpts(&tree.load()).unwrap().into_iter().map(|finding| finding.message).collect::<Vec<_>>()
        };
        assert_eq!(found("fn a() {}\n// …\nfn b() {\n    a()\n}"), [""; 0]);
        let wrong = ["`a.rs` does not contain the excerpt that starts with `fn c() {}`"];
        assert_eq!(found("fn a() {}\n// …\nfn c() {}"), wrong);
    }
}
