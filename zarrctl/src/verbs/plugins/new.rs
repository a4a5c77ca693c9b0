//! `plugins new`: creates a repository with a plugin from the files in `templates`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use zarr_kit::Registry;

use super::{has_identifier, rows};
use crate::arguments::Source;
use crate::failure::Failure;
use crate::templates::NewPlugin;
use crate::terminal::warn;

fn files(plugin: &NewPlugin, source: &Source) -> Vec<(&'static str, String)> {
    macro_rules! of_crate {
        ($file:literal) => {
            include_str!(concat!("../../../templates/crate/", $file))
        };
    }
    let template = &plugin.template;
    let mut files = vec![
        ("Cargo.toml", of_crate!("manifest.toml")),
        ("src/lib.rs", template.source),
        ("tests/conformance.rs", of_crate!("conformance.rs")),
        ("tests/it.rs", template.test),
        ("README.md", of_crate!("README.md")),
        ("LICENSE", of_crate!("LICENSE")),
        ("plugin/Cargo.toml", of_crate!("plugin-Cargo.toml")),
        ("plugin/src/lib.rs", of_crate!("plugin-lib.rs")),
        (".gitignore", of_crate!("gitignore")),
        (".github/workflows/ci.yml", of_crate!("ci.yml")),
    ];
    if template.is_fuzzed {
        files.push(("tests/fuzzed.rs", of_crate!("fuzzed.rs")));
        files.push(("fuzz/Cargo.toml", of_crate!("fuzz-Cargo.toml")));
        files.push(("fuzz/fuzz_targets/plugin.rs", of_crate!("fuzz-target.rs")));
    }
    let [kit, spec, library, conformance] =
        ["zarr-plugin-kit", "zarr-spec", "zarr-plugin", "conformance"].map(|it| dependency(source, it));
    let more = [
        ("zarr-plugin-kit", kit.as_str()),
        ("zarr-spec", &spec),
        ("zarr-plugin", &library),
        ("zarr-conformance", &conformance),
        ("deps", &about_dependencies(source)),
        ("guide", &guide(source)),
    ];
    let package = package(plugin);
    files.into_iter().map(|(path, text)| (path, plugin.fill(text, &package, &more))).collect()
}

fn package(plugin: &NewPlugin) -> String {
    plugin.name.replace('.', "-")
}

/// Returns the dependency in `Cargo.toml` on the crate of the framework in this folder.
///
/// Every dependency has a version: `cargo package` requires it, and drops the path or the Git URL.
fn dependency(source: &Source, folder: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match source {
        Source::Registry => format!("\"{version}\""),
        Source::Path(root) => {
            format!("{{ path = {:?}, version = \"{version}\" }}", root.join(folder).display().to_string())
        }
        Source::Git { url, rev: None } => format!("{{ git = {url:?}, version = \"{version}\" }}"),
        Source::Git { url, rev: Some(rev) } => {
            format!("{{ git = {url:?}, rev = {rev:?}, version = \"{version}\" }}")
        }
    }
}

fn guide(source: &Source) -> String {
    const PAGE: &str = "docs/plugins.md";
    match source {
        Source::Path(root) => root.join(PAGE).display().to_string(),
        Source::Git { url, rev } => {
            let url = url.trim_end_matches(".git");
            format!("{url}/blob/{}/{PAGE}", rev.as_deref().unwrap_or("HEAD"))
        }
        Source::Registry => format!("{}/blob/HEAD/{PAGE}", env!("CARGO_PKG_REPOSITORY")),
    }
}

fn about_dependencies(source: &Source) -> String {
    const CRATES: &str =
        "The crates `zarr-spec`, `zarr-plugin-kit`, `zarr-plugin` and `zarr-conformance` come from";
    match source {
        Source::Registry => {
            format!("{CRATES} crates.io. They are not published yet, so this does not build until they are.")
        }
        Source::Path(root) => format!(
            "{CRATES} the local folder `{}`, because they are not published yet. To build this on another machine,\n\
             replace their paths in the manifests with a repository (`git = …, rev = …`), or with a version once they \
             are published.",
            root.display()
        ),
        Source::Git { url, rev: None } => {
            format!("{CRATES} the repository `{url}`, and `Cargo.lock` has its revision.")
        }
        Source::Git { url, rev: Some(rev) } => format!("{CRATES} the repository `{url}`, revision `{rev}`."),
    }
}

pub(super) fn run(
    plugin: &NewPlugin,
    source: Option<&Source>,
    folder: Option<&Path>,
    to: &mut dyn Write,
) -> Result<(), Failure> {
    let source = match source {
        Some(Source::Path(folder)) => Source::Path(source_tree(folder)?),
        Some(source) => source.clone(),
        None => Source::Path(own_source_tree()?),
    };
    is_new(plugin)?;
    let package = package(plugin);
    let folder = folder.map_or_else(|| PathBuf::from(&package), ToOwned::to_owned);
    let named = |path: &Path, error| Failure::Io(error).while_at(&path.display().to_string());
    if folder.exists() {
        return Err(Failure::fault(format!(
            "{} already exists; choose another folder with --folder",
            folder.display()
        )));
    }
    for (path, text) in files(plugin, &source) {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(&folder);
        fs::create_dir_all(parent).map_err(|error| named(parent, error))?;
        fs::write(&path, text).map_err(|error| named(&path, error))?;
    }
    let sources = files(plugin, &source).into_iter().map(|(path, _)| folder.join(path));
    format(sources.filter(|path| path.extension().is_some_and(|it| it == "rs")))?;
    let template = &plugin.template;
    writeln!(
        to,
        "Created {}: the {} `{}`, an example to change",
        folder.display(),
        template.what,
        plugin.name
    )?;
    writeln!(to, "  cd {}", folder.display())?;
    writeln!(to, "  cargo test")?;
    writeln!(to, "  cargo build --release -p {package}-plugin")?;
    writeln!(to, "  zarrctl plugins pack target/release/lib{}_plugin.so", package.replace('-', "_"))?;
    match &source {
        Source::Path(root) => {
            let root = root.display();
            writeln!(
                to,
                "The crates of the framework come from {root}, because they are not published yet."
            )?;
        }
        Source::Registry => {
            writeln!(
                to,
                "The crates of the framework are not published yet, so this does not build until they are."
            )?;
        }
        Source::Git { .. } => {}
    }
    Ok(())
}

/// Refuses the name of a linked plugin, which would take precedence.
fn is_new(plugin: &NewPlugin) -> Result<(), Failure> {
    let linked = Registry::linked()?;
    let what = plugin.template.what;
    let mut built_in = rows(&linked).into_iter().filter(|row| row.point.to_string() == what);
    let names = || [Some(plugin.name.as_str()), plugin.uri.as_deref()].into_iter().flatten();
    match built_in.find(|row| names().any(|name| has_identifier(row, name))) {
        None => Ok(()),
        Some(row) => Err(Failure::fault(format!(
            "{what} `{}` already exists in this framework ({}) and would take precedence; choose another name, \
                 such as example.{}",
            row.name, row.origin, plugin.name
        ))),
    }
}

/// Formats the files, because line breaks depend on the names. Without rustfmt they stay unformatted.
fn format(sources: impl Iterator<Item = PathBuf>) -> Result<(), Failure> {
    match Command::new("rustfmt").args(["--edition", "2024"]).args(sources).stdin(Stdio::null()).status() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            warn(&format!("the new files are not formatted, because rustfmt failed ({status})"));
            Ok(())
        }
        Err(error) => Err(Failure::Io(error).while_at("rustfmt")),
    }
}

/// Finds the source tree that contains this program or the current folder.
fn own_source_tree() -> Result<PathBuf, Failure> {
    let places = [std::env::current_exe()?, std::env::current_dir()?];
    let tree = places.iter().flat_map(|place| place.ancestors()).find(|folder| is_source_tree(folder));
    tree.map(Path::to_owned).ok_or_else(|| {
        Failure::fault(
            "cannot find the crates of the framework, which are not published yet: neither this program nor the \
                 current folder is in their source tree; use --deps path:FOLDER for a source tree, --deps git:URL for a repository",
        )
    })
}

fn is_source_tree(folder: &Path) -> bool {
    folder.join("zarr-spec/Cargo.toml").is_file()
}

/// Returns the absolute path of a source tree of the framework.
fn source_tree(folder: &Path) -> Result<PathBuf, Failure> {
    let tree = folder.canonicalize().ok().filter(|tree| is_source_tree(tree));
    tree.ok_or_else(|| {
        Failure::fault(format!(
            "{} is not a source tree of this framework; use --deps path:FOLDER for a source tree, --deps git:URL \
                 for a repository",
            folder.display()
        ))
    })
}
