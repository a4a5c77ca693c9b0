//! Every URI of our own leads to one page of `docs/spec`, and all pages have one form.

use std::collections::BTreeSet;
use std::path::Path;

use super::Finding;
use crate::workspace::Workspace;

/// Where pages are.
pub(crate) const FOLDER: &str = "docs/spec";
/// Its index.
pub(crate) const INDEX: &str = "docs/spec/README.md";
/// Where all URIs of plugins stand.
const CATALOGUE: &str = "zarr-kit/src/catalogue.rs";
/// Where [`BASE`] stands.
const BASE_FILE: &str = "zarr-spec/src/lib.rs";
/// What is in front of what all URIs of our own begin with.
const BASE: &str = "pub const OWN_URI_BASE: &str = \"";

/// The sections of a page by what its URI is of, in their order. Others may stand between the first and the last.
const SECTIONS: &[(&str, &[&str])] = &[
    ("codecs", &["Configuration", "Bytes", "Examples"]),
    ("data-types", &["Configuration", "Bytes", "Fill value", "Examples"]),
    ("extensions", &["Configuration", "Meaning", "Examples"]),
    ("grids", &["Configuration", "Chunks", "Examples"]),
    ("layouts", &["Configuration", "Bytes", "Examples"]),
    ("metadata-encodings", &["Configuration", "Bytes", "Examples"]),
];

/// The catalogue and the pages have the same URIs, each once, and the index has a row for each.
pub(super) fn uris(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let Some(known) = catalogued(workspace) else {
        return Ok(vec![Finding::error(
            CATALOGUE,
            "there is no catalogue, or nothing that its URIs begin with",
        )]);
    };
    let index = workspace.read(Path::new(INDEX)).unwrap_or_default();
    let mut findings = Vec::new();
    let mut described = BTreeSet::new();
    for page in pages(workspace)? {
        let place = format!("{FOLDER}/{page}");
        let text = workspace.read(Path::new(&place))?;
        let [uri] = stated(&text)[..] else {
            findings.push(Finding::error(place, "there is not one line `- **URI**: `…``"));
            continue;
        };
        if !known.contains(uri) {
            findings.push(Finding::error(&place, format!("`{uri}` is not in the catalogue")));
        }
        if !described.insert(uri.to_owned()) {
            findings.push(Finding::error(&place, format!("`{uri}` has another page")));
        }
        if !index.contains(&format!("({page})")) {
            findings.push(Finding::error(INDEX, format!("`{page}` is missing")));
        }
        findings.extend(form(&page, uri, &text).into_iter().map(|message| Finding::error(&place, message)));
    }
    for uri in known.difference(&described) {
        findings.push(Finding::error(FOLDER, format!("`{uri}` has no page")));
    }
    Ok(findings)
}

/// What all URIs of our own begin with.
pub(crate) fn base(workspace: &Workspace) -> Option<String> {
    let text = workspace.read(Path::new(BASE_FILE)).ok()?;
    Some(text.split_once(BASE)?.1.split_once('"')?.0.to_owned())
}

/// URIs of our own in the catalogue.
fn catalogued(workspace: &Workspace) -> Option<BTreeSet<String>> {
    let base = base(workspace)?;
    let catalogue = workspace.read(Path::new(CATALOGUE)).ok()?;
    let beginning = format!("\"{base}");
    let rest = catalogue.split(&beginning).skip(1);
    Some(rest.filter_map(|rest| Some(format!("{base}{}", rest.split_once('"')?.0))).collect())
}

/// The names of all files but the index.
fn pages(workspace: &Workspace) -> Result<Vec<String>, String> {
    let files = workspace.files()?;
    let names = files.iter().filter(|file| file.parent() == Some(Path::new(FOLDER)));
    let names = names.filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()));
    Ok(names.filter(|name| name != "README.md").collect())
}

/// The URIs that a page states.
fn stated(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("- **URI**: `")?.strip_suffix('`')).collect()
}

/// What is not as in all pages.
fn form(page: &str, uri: &str, text: &str) -> Vec<String> {
    let parts: Vec<&str> = uri.rsplitn(4, '/').collect();
    let [version, name, kind, _base] = parts[..] else { return vec![format!("`{uri}` has too few parts")] };
    let mut wrong = Vec::new();
    let wanted = format!("{kind}-{name}.md");
    if page != wanted {
        wrong.push(format!("the file is not called `{wanted}`"));
    }
    let title = format!("# {name}, version {version}");
    let head = [&*title, "", "- **URI**: ", "- **Extension point**: ", "- **Form**: ", ""];
    let lines: Vec<&str> = text.lines().chain([""; 6]).take(6).collect();
    let begins = |(line, wanted): (&&str, &&str)| match *wanted == title || wanted.is_empty() {
        true => line == wanted,
        false => line.starts_with(*wanted),
    };
    if !lines.iter().zip(&head).all(begins) {
        wrong.push(format!("it does not begin with `{title}`, and then URI, extension point and form"));
    }
    let Some((_, wanted)) = SECTIONS.iter().find(|(of, _)| *of == kind) else {
        wrong.push(format!("`{kind}` is no extension point that has pages"));
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
        assert_eq!(messages(ENTRY, &[index]), ["`https://e.org/s/codecs/zlib/1.0` has no page"]);
        assert_eq!(messages(ENTRY, &[page]), ["`codecs-zlib.md` is missing"]);
        assert_eq!(
            messages("&[]", &[page, index]),
            ["`https://e.org/s/codecs/zlib/1.0` is not in the catalogue"]
        );
        let again = ("docs/spec/codecs-zlib2.md", PAGE);
        let index = (INDEX, "(codecs-zlib.md) (codecs-zlib2.md)");
        assert_eq!(
            messages(ENTRY, &[page, again, index]),
            ["`https://e.org/s/codecs/zlib/1.0` has another page", "the file is not called `codecs-zlib.md`"]
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
        let head = "it does not begin with `# zlib, version 1.0`, and then URI, extension point and form";
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
            ["there is not one line `- **URI**: `…``", "`https://e.org/s/codecs/zlib/1.0` has no page"]
        );
    }
}
