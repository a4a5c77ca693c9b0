//! `cargo xtask new`: creates a plugin in this workspace from the templates of `zarrctl plugins new`, and adds it to all
//! lists of plugins.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::tidy::spec_pages;
use crate::workspace::{PLUGIN_FAMILIES, Workspace};
use crate::{Failure, say};

#[path = "../../zarrctl/templates/templates.rs"]
mod templates;

use templates::{Kind, NewPlugin};

const MANIFEST: &str = include_str!("../../zarrctl/templates/workspace/manifest.toml");

macro_rules! page {
    ($kind:ident, $family:literal, $template:literal) => {
        (Kind::$kind, $family, include_str!(concat!("../../zarrctl/templates/", $template, "/page.md")))
    };
}

/// The kinds with specification pages: the path of their URIs after the base, and the template of the page.
const PAGES: [(Kind, &str, &str); 4] = [
    page!(Codec, "codecs", "codec"),
    page!(Layout, "layouts", "layout"),
    page!(MetadataEncoding, "metadata-encodings", "metadata-encoding"),
    page!(Extension, "extensions", "extension"),
];

/// The plugin to start.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Kind of the plugin: codec, dtype, store, …
    kind: Kind,
    /// Registered name of the plugin
    name: String,
    /// URI of the plugin in the v3 draft
    #[arg(long)]
    uri: Option<String>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), Failure> {
    let plugin =
        NewPlugin::new(options.kind, &options.name, options.uri.as_deref()).map_err(Failure::Usage)?;
    let package = write(workspace, &plugin)?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["fmt", "--package", &package, "--package", "zarr-kit"]).current_dir(&workspace.root);
    let status = cargo.status().map_err(|error| format!("cargo fmt: {error}"))?;
    if !status.success() {
        return Err(Failure::Checks);
    }
    say(&format!(
        "{package} is an example to change, and stands in every list. `cargo test -p {package}` tests it; its row in \
         docs/extensions.md has an empty column.\n"
    ))?;
    Ok(())
}

/// Writes the crate and adds it to all lists of plugins. Returns the name of the package.
fn write(workspace: &Workspace, plugin: &NewPlugin) -> Result<String, String> {
    let kind = plugin.template.name;
    let name = plugin.name.as_str();
    if name.contains(['.', '_']) {
        return Err(format!("`{name}`: use only `-` between the words of a folder name"));
    }
    let family = PLUGIN_FAMILIES.iter().find(|(_, prefix)| *prefix == kind).map(|(folder, _)| *folder);
    let family = family.ok_or_else(|| format!("there is no folder for plugins of kind `{kind}`"))?;
    let package = format!("zarr-{kind}-{name}");
    let folder = format!("{family}/{name}");
    if workspace.root.join(&folder).exists() {
        return Err(format!("{folder} already exists"));
    }
    let mut files = edits(workspace, plugin, &package, &folder)?;
    files.extend(page(workspace, plugin, &package)?);
    let template = &plugin.template;
    for (file, text) in
        [("Cargo.toml", MANIFEST), ("src/lib.rs", template.source), ("tests/it.rs", template.test)]
    {
        files.push((format!("{folder}/{file}").into(), plugin.fill(text, &package, &[])));
    }
    files.push((format!("{folder}/README.md").into(), page_of_registry(plugin, &package)));
    for (file, text) in files {
        let path = workspace.root.join(&file);
        let wrong = |error: std::io::Error| format!("{}: {error}", file.display());
        fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(wrong)?;
        fs::write(&path, text).map_err(wrong)?;
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let link = workspace.root.join(&folder).join(licence);
        let wrong = |error: std::io::Error| format!("{}: {error}", link.display());
        std::os::unix::fs::symlink(format!("../../{licence}"), &link).map_err(wrong)?;
    }
    Ok(package)
}

/// Returns the README of the crate: the page that a registry shows.
fn page_of_registry(plugin: &NewPlugin, package: &str) -> String {
    let template = &plugin.template;
    format!(
        "# {package}\n\nThe {} `{name}` for [Zarr](https://zarr.dev).\n\n| | |\n|---|---|\n| Feature of \
         `zarr-kit` | `{}-{name}` |\n\nLicensed under either of Apache-2.0 or MIT, at your option.\n",
        template.what,
        template.name,
        name = plugin.name,
    )
}

/// Returns the changed files that list all plugins.
fn edits(
    workspace: &Workspace,
    plugin: &NewPlugin,
    package: &str,
    folder: &str,
) -> Result<Vec<(PathBuf, String)>, String> {
    let kind = plugin.template.name;
    let name = plugin.name.as_str();
    let feature = format!("{kind}-{name}");
    let edit = |file: &str, change: &dyn Fn(&str) -> Option<String>| edited(workspace, file, change);
    let crate_name = package.replace('-', "_");
    let version = env!("CARGO_PKG_VERSION");
    Ok(vec![
        edit("Cargo.toml", &|text| {
            let line = format!("{package} = {{ path = \"{folder}\", version = \"{version}\" }}");
            with_line(text, "zarr-codec-", dependency, package, &line)
        })?,
        edit("zarr-kit/Cargo.toml", &|text| {
            let text = with_element(text, "pure", &feature)?;
            let text = with_element(&text, "full", &feature)?;
            let line = format!("{feature} = [\"dep:{package}\"]");
            let is_feature = |line: &str| line.contains("[\"dep:").then(|| dependency(line)).flatten();
            let text = with_line(&text, "codec-", is_feature, &feature, &line)?;
            let line = format!("{package} = {{ workspace = true, optional = true }}");
            with_line(&text, "zarr-codec-", dependency, package, &line)
        })?,
        edit("zarr-kit/src/plugins.rs", &|text| {
            let used = |line: &str| line.strip_prefix("use ")?.strip_suffix(" as _;").map(str::to_owned);
            let at = place(text, "use zarr_codec_", used, &crate_name)?;
            // The `cfg` of the feature is on the preceding line.
            let at = if at == text.lines().count() { at } else { at - 1 };
            Some(inserted(text, at, &format!("#[cfg(feature = \"{feature}\")]\nuse {crate_name} as _;")))
        })?,
        edit("zarr-kit/src/catalogue.rs", &|text| catalogued(text, plugin, &feature))?,
        edit("zarr-kit/tests/it/main.rs", &|text| {
            let (before, rest) = text.split_once("features! {\n")?;
            let (list, after) = rest.split_once("\n    }")?;
            let quoted = format!("\"{feature}\"");
            let later = list.split_whitespace().find(|other| **other > *quoted);
            let list = match later {
                Some(later) => list.replacen(later, &format!("{quoted} {later}"), 1),
                None => format!("{list} {quoted}"),
            };
            Some(format!("{before}features! {{\n{list}\n    }}{after}"))
        })?,
        edit("docs/extensions.md", &|text| {
            let is_row = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
            with_line(text, "| `zarr-codec-", is_row, package, &row(plugin, package, &feature))
        })?,
    ])
}

/// Returns the specification page and the changed index for a URI of this project. Returns nothing for another URI.
fn page(workspace: &Workspace, plugin: &NewPlugin, package: &str) -> Result<Vec<(PathBuf, String)>, String> {
    let base = spec_pages::base(workspace).ok_or("the base of the URIs of this project is not defined")?;
    let Some(path) = plugin.uri.as_ref().and_then(|uri| uri.strip_prefix(&base)) else {
        return Ok(Vec::new());
    };
    let template = &plugin.template;
    let Some((_, family, text)) = PAGES.iter().find(|(kind, ..)| *kind == template.kind) else {
        return Err(format!(
            "a {} does not have a page in {}; use a URI outside this project",
            template.what,
            spec_pages::FOLDER
        ));
    };
    let parts: Vec<&str> = path.split('/').collect();
    let ["", found, name, version] = parts[..] else {
        return Err(format!("`{base}{path}` is not {base}/{family}/NAME/MAJOR.MINOR"));
    };
    if found != *family {
        return Err(format!(
            "the URI of a {} of this project is {base}/{family}/{name}/{version}",
            template.what
        ));
    }
    let file = format!("{family}-{name}.md");
    let row = format!("| `{path}` | [{file}]({file}) |");
    let is_row = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let index =
        edited(workspace, spec_pages::INDEX, &|text| with_line(text, "| `/codecs/", is_row, path, &row))?;
    let text = plugin.fill(text, package, &[("page", name), ("version", version)]);
    Ok(vec![(PathBuf::from(spec_pages::FOLDER).join(file), text), index])
}

/// Returns a file of the workspace with a change.
fn edited(
    workspace: &Workspace,
    file: &str,
    change: &dyn Fn(&str) -> Option<String>,
) -> Result<(PathBuf, String), String> {
    let path = PathBuf::from(file);
    let text = workspace.read(&path)?;
    let changed = change(&text).ok_or_else(|| format!("{file} does not have the expected form"))?;
    Ok((path, changed))
}

/// Returns the key of a line of a manifest.
fn dependency(line: &str) -> Option<String> {
    Some(line.split_once(" = ")?.0.to_owned())
}

/// Returns the number of the line before which `key` belongs in a sorted list. The list begins at the first line that starts
/// with `start` and continues while `key_of` returns keys, apart from `cfg` lines. The result is the first line with a
/// greater key, or the line after the list.
fn place(text: &str, start: &str, key_of: impl Fn(&str) -> Option<String>, key: &str) -> Option<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.starts_with(start) && key_of(line).is_some())?;
    let is_between = |line: &str| line.starts_with("#[cfg(feature");
    let mut last = first;
    for (number, line) in lines.iter().enumerate().skip(first) {
        match key_of(line) {
            Some(other) if *other > *key => return Some(number),
            Some(_) => last = number,
            None if is_between(line) => {}
            None => break,
        }
    }
    Some(last + 1)
}

fn inserted(text: &str, at: usize, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(at, line);
    lines.join("\n") + "\n"
}

fn with_line(
    text: &str,
    start: &str,
    key_of: impl Fn(&str) -> Option<String>,
    key: &str,
    line: &str,
) -> Option<String> {
    Some(inserted(text, place(text, start, key_of, key)?, line))
}

/// Adds a string to a list of a manifest that has one string per line.
fn with_element(text: &str, list: &str, element: &str) -> Option<String> {
    let start = text.find(&format!("\n{list} = [\n"))?;
    let (before, rest) = text.split_at(start + 1);
    let (list, after) = rest.split_at(rest.find("\n]\n")? + 1);
    let key_of = |line: &str| Some(line.strip_prefix("    \"")?.strip_suffix("\",")?.to_owned());
    let list = with_line(list, "    \"codec-", key_of, element, &format!("    \"{element}\","))?;
    Some(format!("{before}{list}{after}"))
}

/// Adds an entry to the catalogue, and its number to the list of submitted entries.
fn catalogued(text: &str, plugin: &NewPlugin, feature: &str) -> Option<String> {
    let point = match plugin.template.kind {
        Kind::Codec => "Codec",
        Kind::Dtype => "DataType",
        Kind::Grid => "ChunkGrid",
        Kind::KeyEncoding => "ChunkKeyEncoding",
        Kind::Layout => "MemoryLayout",
        Kind::MetadataEncoding => "MetadataEncoding",
        Kind::Extension => "GenericExtension",
        Kind::Transformer => "StorageTransformer",
        Kind::Store => "Store",
    };
    // A kind that exists only in the draft does not have a name.
    let has_name = plugin.template.uri != templates::Uri::Needed;
    let name = has_name.then(|| format!("\"{}\"", plugin.name));
    let uri = plugin.uri.as_ref().map(|uri| format!("\"{uri}\""));
    let identifiers: Vec<_> = uri.into_iter().chain(name).collect();
    let entry = format!("    entry({point}, \"{feature}\", &[{}]),", identifiers.join(", "));
    let lines: Vec<&str> = text.lines().collect();
    let feature_of = |number: usize| {
        let begins = lines[number].strip_prefix("    entry(")?;
        let rest = begins.contains('"').then_some(begins);
        rest.or_else(|| lines[number..].iter().find(|line| line.contains('"')).copied())?.split('"').nth(1)
    };
    let end = lines.iter().position(|line| *line == "];")?;
    let later = (0..end).find(|&number| feature_of(number).is_some_and(|other| other > feature));
    let text = inserted(text, later.unwrap_or(end), &entry);
    let (before, numbers) = text.split_once("\nsubmit! { ")?;
    let (numbers, after) = numbers.split_once(" }")?;
    let next = numbers.split(' ').count();
    Some(format!("{before}\nsubmit! {{ {numbers} {next} }}{after}"))
}

/// Returns the row of the plugin table, as far as its cells are known.
fn row(plugin: &NewPlugin, package: &str, feature: &str) -> String {
    let name = format!("`{}`", plugin.name);
    let draft = plugin.uri.as_ref().map_or("–".to_owned(), |uri| format!("`{uri}`"));
    let [v3, v2, draft] = match plugin.template.kind {
        Kind::Codec => [name.clone(), name, draft],
        Kind::Dtype | Kind::Grid | Kind::KeyEncoding => [name, "–".to_owned(), draft],
        Kind::Layout | Kind::MetadataEncoding | Kind::Extension | Kind::Transformer => {
            ["–".to_owned(), "–".to_owned(), draft]
        }
        Kind::Store => [format!("`{{\"type\": \"{}\"}}`", plugin.name), String::new(), String::new()],
    };
    format!("| `{package}` | `{feature}` | {v3} | {v2} | {draft} |  |")
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use std::path::Path;

    use super::*;
    use crate::tidy;

    /// Returns whether the lists of plugins or the checks need a file.
    fn is_needed(file: &Path) -> bool {
        file.extension().is_some_and(|kind| ["rs", "toml", "md", "lock"].iter().any(|it| kind == *it))
    }

    #[test]
    fn a_new_plugin_of_each_kind_is_listed_everywhere_and_passes_the_checks() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let copy = tempfile::tempdir().unwrap();
        for file in Workspace::load(root).unwrap().files().unwrap() {
            if is_needed(&file) {
                fs::create_dir_all(copy.path().join(&file).parent().unwrap()).unwrap();
                fs::copy(root.join(&file), copy.path().join(&file)).unwrap();
            }
        }
        let workspace = || Workspace::load(copy.path()).unwrap();
        let old = workspace();
        let before = tidy::findings(&old).unwrap();
        for kind in Kind::names() {
            // The plugin is added at the beginning, in the middle and at the end of its family.
            for name in ["aaa", "new-one", "zzz"] {
                let kind: Kind = kind.parse().unwrap();
                let own = PAGES.iter().find(|(other, ..)| *other == kind).filter(|_| name != "zzz");
                let family =
                    own.map(|(_, family, _)| format!("{}/{family}", spec_pages::base(&old).unwrap()));
                let family = family.unwrap_or_else(|| "https://example.org/plugins".to_owned());
                let uri = format!("{family}/{name}/1.0");
                let plugin =
                    NewPlugin::new(kind, name, Some(&uri)).or_else(|_| NewPlugin::new(kind, name, None));
                write(&old, &plugin.unwrap()).unwrap();
            }
        }
        assert_eq!(tidy::findings(&workspace()).unwrap(), before);

        let read = |file: &str| fs::read_to_string(copy.path().join(file)).unwrap();
        let catalogue = read("zarr-kit/src/catalogue.rs");
        assert!(catalogue.contains(
            "    entry(Codec, \"codec-zzz\", &[\"https://example.org/plugins/zzz/1.0\", \"zzz\"]),\n"
        ));
        let numbers = catalogue.split_once("\nsubmit! { ").unwrap().1.split_once(" }").unwrap().0;
        assert_eq!(numbers.split(' ').count(), catalogue.matches("\n    entry(").count());
        let features: Vec<&str> =
            catalogue.split("    entry(").skip(1).filter_map(|it| it.split('"').nth(1)).collect();
        assert!(features.is_sorted(), "{features:?}");
        let rows = read("docs/extensions.md");
        let rows: Vec<_> =
            rows.lines().filter_map(|line| line.strip_prefix("| `zarr-")?.split('`').next()).collect();
        assert!(rows.is_sorted() && rows.contains(&"store-new-one"), "{rows:?}");
        let index = read("docs/spec/README.md");
        let index: Vec<_> = index.lines().filter(|line| line.starts_with("| `/")).collect();
        let layout = "| `/layouts/new-one/1.0` | [layouts-new-one.md](layouts-new-one.md) |";
        assert!(index.is_sorted() && index.contains(&layout), "{index:?}");
        assert!(read("docs/spec/codecs-aaa.md").contains("In v3 and v2 its name is `aaa`."));
        let list = read("zarr-kit/tests/it/main.rs");
        assert!(
            list.contains("\"codec-aaa\" \"codec-adler32\"") && list.contains("\"transformer-zzz\"\n    }")
        );
        let plugins = read("zarr-kit/src/plugins.rs");
        assert!(plugins.contains("#[cfg(feature = \"layout-new-one\")]\nuse zarr_layout_new_one as _;\n"));
        let members = Workspace::load(copy.path()).unwrap().members;
        assert!(members.iter().any(|member| member.name == "zarr-key-encoding-zzz"));
    }

    #[test]
    fn existing_folders_and_invalid_folder_names_are_refused() {
        let tree = crate::workspace::made_up::Tree::new(&[(
            "codecs/there/Cargo.toml",
            "[package]\nname = 'zarr-codec-there'",
        )]);
        let refused = |name: &str| {
            let plugin = NewPlugin::new(Kind::Codec, name, None).unwrap();
            write(&tree.load(), &plugin).unwrap_err()
        };
        assert_eq!(refused("there"), "codecs/there already exists");
        assert!(refused("a.b").contains("use only `-`"));
    }

    #[test]
    fn a_uri_of_this_project_has_a_page() {
        let tree = crate::workspace::made_up::Tree::new(&[(
            "zarr-spec/src/lib.rs",
            "pub const OWN_URI_BASE: &str = \"https://e.org/s\";",
        )]);
        let page_of = |kind, uri: &str| {
            page(&tree.load(), &NewPlugin::new(kind, "new", Some(uri)).unwrap(), "zarr-codec-new")
        };
        assert_eq!(page_of(Kind::Codec, "https://e.org/other/new/1.0"), Ok(Vec::new()));
        let refused = |kind, uri: &str| page_of(kind, uri).unwrap_err();
        assert_eq!(
            refused(Kind::Codec, "https://e.org/s/layouts/new/1.0"),
            "the URI of a codec of this project is https://e.org/s/codecs/new/1.0"
        );
        assert!(
            refused(Kind::Codec, "https://e.org/s/new/1.0")
                .ends_with("is not https://e.org/s/codecs/NAME/MAJOR.MINOR")
        );
        assert!(
            refused(Kind::Transformer, "https://e.org/s/transformers/new/1.0")
                .contains("does not have a page in docs/spec")
        );
    }

    #[test]
    fn an_invalid_kind_or_name_is_refused() {
        let command = Options::augment_args(clap::Command::new("new"));
        for arguments in
            [&["new", "codec"][..], &["new", "codecs", "a"], &["new", "codec", "a", "--url", "b"]]
        {
            assert!(command.clone().try_get_matches_from(arguments).is_err(), "{arguments:?}");
        }
        let tree = crate::workspace::made_up::Tree::new(&[]);
        let options = Options { kind: Kind::Codec, name: "A".to_owned(), uri: None };
        assert!(matches!(run(&tree.load(), &options), Err(Failure::Usage(_))));
    }
}
