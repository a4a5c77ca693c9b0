//! Every URI of this project has one page in `docs/spec`, and all pages have the same form.

use std::collections::BTreeSet;
use std::path::Path;

use super::Finding;
use crate::workspace::Workspace;

/// The folder of the pages.
pub(crate) const FOLDER: &str = "docs/spec";
/// The index of the pages.
pub(crate) const INDEX: &str = "docs/spec/README.md";
/// The file with all URIs of plugins.
const CATALOGUE: &str = "zarr-kit/src/catalogue.rs";
/// The file that contains [`BASE`].
const BASE_FILE: &str = "zarr-spec/src/lib.rs";
/// The text before the base of all URIs of this project.
const BASE: &str = "pub const OWN_URI_BASE: &str = \"";

/// The sections of a page in order, by the kind in its URI. Other sections may be between the first and the last one.
const SECTIONS: &[(&str, &[&str])] = &[
    ("codecs", &["Configuration", "Bytes", "Examples"]),
    ("data-types", &["Configuration", "Bytes", "Fill value", "Examples"]),
    ("extensions", &["Configuration", "Meaning", "Examples"]),
    ("grids", &["Configuration", "Chunks", "Examples"]),
    ("layouts", &["Configuration", "Bytes", "Examples"]),
    ("metadata-encodings", &["Configuration", "Bytes", "Examples"]),
];

/// Checks that the catalogue and the pages have the same URIs, each once, and that the index lists each page.
pub(super) fn uris(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let Some(known) = catalogued(workspace) else {
        return Ok(vec![Finding::error(CATALOGUE, "the catalogue or the base of its URIs is missing")]);
    };
    let index = workspace.read(Path::new(INDEX)).unwrap_or_default();
    let mut findings = Vec::new();
    let mut described = BTreeSet::new();
    for page in pages(workspace)? {
        let place = format!("{FOLDER}/{page}");
        let text = workspace.read(Path::new(&place))?;
        let [uri] = stated(&text)[..] else {
            findings.push(Finding::error(place, "expected exactly one line `- **URI**: `…``"));
            continue;
        };
        if !known.contains(uri) {
            findings.push(Finding::error(&place, format!("`{uri}` is not in the catalogue")));
        }
        if !described.insert(uri.to_owned()) {
            findings.push(Finding::error(&place, format!("`{uri}` has more than one page")));
        }
        if !index.contains(&format!("({page})")) {
            findings.push(Finding::error(INDEX, format!("`{page}` is not listed")));
        }
        findings.extend(form(&page, uri, &text).into_iter().map(|message| Finding::error(&place, message)));
    }
    for uri in known.difference(&described) {
        findings.push(Finding::error(FOLDER, format!("`{uri}` does not have a page")));
    }
    Ok(findings)
}

/// Returns the base of all URIs of this project.
pub(crate) fn base(workspace: &Workspace) -> Option<String> {
    let text = workspace.read(Path::new(BASE_FILE)).ok()?;
    Some(text.split_once(BASE)?.1.split_once('"')?.0.to_owned())
}

/// Returns the URIs of this project in the catalogue.
fn catalogued(workspace: &Workspace) -> Option<BTreeSet<String>> {
    let base = base(workspace)?;
    let catalogue = workspace.read(Path::new(CATALOGUE)).ok()?;
    let beginning = format!("\"{base}");
    let rest = catalogue.split(&beginning).skip(1);
    Some(rest.filter_map(|rest| Some(format!("{base}{}", rest.split_once('"')?.0))).collect())
}

/// Returns the names of all files except the index.
fn pages(workspace: &Workspace) -> Result<Vec<String>, String> {
    let files = workspace.files()?;
    let names = files.iter().filter(|file| file.parent() == Some(Path::new(FOLDER)));
    let names = names.filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()));
    Ok(names.filter(|name| name != "README.md").collect())
}

/// Returns the URIs that a page states.
fn stated(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("- **URI**: `")?.strip_suffix('`')).collect()
}

/// Returns the deviations of a page from the common form.
fn form(page: &str, uri: &str, text: &str) -> Vec<String> {
    let parts: Vec<&str> = uri.rsplitn(4, '/').collect();
    let [version, name, kind, _base] = parts[..] else {
        return vec![format!("`{uri}` does not have enough parts")];
    };
    let mut wrong = Vec::new();
    let wanted = format!("{kind}-{name}.md");
    if page != wanted {
        wrong.push(format!("the file must be named `{wanted}`"));
    }
    let title = format!("# {name}, version {version}");
    let head = [&*title, "", "- **URI**: ", "- **Extension point**: ", "- **Form**: ", ""];
    let lines: Vec<&str> = text.lines().chain([""; 6]).take(6).collect();
    let begins = |(line, wanted): (&&str, &&str)| match *wanted == title || wanted.is_empty() {
        true => line == wanted,
        false => line.starts_with(*wanted),
    };
    if !lines.iter().zip(&head).all(begins) {
        wrong.push(format!("it does not begin with `{title}`, followed by URI, extension point and form"));
    }
    let Some((_, wanted)) = SECTIONS.iter().find(|(of, _)| *of == kind) else {
        wrong.push(format!("`{kind}` is not an extension point with pages"));
        return wrong;
    };
    let sections: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let mut left = sections.iter();
    let in_order = wanted.iter().all(|section| left.any(|found| found == section));
    let at_the_ends = (sections.first(), sections.last()) == (wanted.first(), wanted.last());
    if !in_order || !at_the_ends {
        wrong.push(format!("its sections are {}, not {}", sections.join(", "), wanted.join(", ")));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::made_up::Tree;

    const BASE_LINE: (&str, &str) = (BASE_FILE, "pub const OWN_URI_BASE: &str = \"https://e.org/s\";");
    const ENTRY: &str =
        "&[\"https://e.org/s/codecs/zlib/1.0\", \"zlib\", \"https://elsewhere.org/zlib/1.0\"]";
    const PAGE: &str = "# zlib, version 1.0\n\n- **URI**: `https://e.org/s/codecs/zlib/1.0`\n- **Extension point**: \
                        codec\n- **Form**: an object\n\n## Configuration\n## Bytes\n## Examples\n";

    fn messages(catalogue: &str, pages: &[(&str, &str)]) -> Vec<String> {
        let files = [BASE_LINE, (CATALOGUE, catalogue)].into_iter().chain(pages.iter().copied());
        let tree = Tree::new(&files.collect::<Vec<_>>());
        uris(&tree.load()).unwrap().into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn every_uri_of_the_catalogue_has_a_page_and_every_page_a_uri_of_the_catalogue() {
        let page = ("docs/spec/codecs-zlib.md", PAGE);
        let index = (INDEX, "[zlib](codecs-zlib.md)");
        assert_eq!(messages(ENTRY, &[page, index]), [""; 0]);
        assert_eq!(messages(ENTRY, &[index]), ["`https://e.org/s/codecs/zlib/1.0` does not have a page"]);
        assert_eq!(messages(ENTRY, &[page]), ["`codecs-zlib.md` is not listed"]);
        assert_eq!(
            messages("&[]", &[page, index]),
            ["`https://e.org/s/codecs/zlib/1.0` is not in the catalogue"]
        );
        let again = ("docs/spec/codecs-zlib2.md", PAGE);
        let index = (INDEX, "(codecs-zlib.md) (codecs-zlib2.md)");
        assert_eq!(
            messages(ENTRY, &[page, again, index]),
            [
                "`https://e.org/s/codecs/zlib/1.0` has more than one page",
                "the file must be named `codecs-zlib.md`"
            ]
        );
    }

    #[test]
    fn a_workspace_without_a_catalogue_is_an_error() {
        let found = uris(&Tree::new(&[BASE_LINE]).load()).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn a_page_has_its_parts_in_order() {
        let found = |text: &str| {
            let pages = [("docs/spec/codecs-zlib.md", text), (INDEX, "(codecs-zlib.md)")];
            messages(ENTRY, &pages)
        };
        let head = "it does not begin with `# zlib, version 1.0`, followed by URI, extension point and form";
        assert_eq!(found(&PAGE.replace("# zlib, version 1.0\n", "# zlib\n")), [head]);
        assert_eq!(found(&PAGE.replace("- **Form**: an object\n", "")), [head]);
        let other = "its sections are Configuration, Examples, not Configuration, Bytes, Examples";
        assert_eq!(found(&PAGE.replace("## Bytes\n", "")), [other]);
        let turned = "its sections are Bytes, Configuration, Examples, not Configuration, Bytes, Examples";
        assert_eq!(
            found(&PAGE.replace("## Configuration\n## Bytes\n", "## Bytes\n## Configuration\n")),
            [turned]
        );
        let more = PAGE.replace("## Examples\n", "## Limits\n## Examples\n");
        assert_eq!(found(&more), [""; 0]);
        let behind =
            "its sections are Configuration, Bytes, Examples, Limits, not Configuration, Bytes, Examples";
        assert_eq!(found(&format!("{PAGE}## Limits\n")), [behind]);
        let twice = PAGE.replace("- **Form**", "- **URI**: `https://e.org/s/codecs/x/1.0`\n- **Form**");
        assert_eq!(
            found(&twice),
            [
                "expected exactly one line `- **URI**: `…``",
                "`https://e.org/s/codecs/zlib/1.0` does not have a page"
            ]
        );
    }
}
