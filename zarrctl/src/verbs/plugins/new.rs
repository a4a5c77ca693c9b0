//! `plugins new`: a repository of one's own with a plugin, made of the files in `templates`.

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

/// The files of a repository, by their path in it.
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

/// The crate is called as documents call the plugin.
fn package(plugin: &NewPlugin) -> String {
    plugin.name.replace('.', "-")
}

/// What stands in a manifest for a crate of the framework, which lies in a folder of this name.
///
/// Each names a version as well: `cargo package` asks for it, and leaves the rest out of what is published.
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

/// Where the guide of the framework is.
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
        Source::Registry => format!(
            "{CRATES} the registry of crates. They are not published yet: until then this does not build."
        ),
        Source::Path(root) => format!(
            "{CRATES} a folder of one machine, `{}`: they are not published yet. Before anybody else builds this, their lines\n\
             in the manifests name a repository (`git = …, rev = …`), or once they are published a version alone.",
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
            "{} is there already; --folder names another one",
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
    writeln!(to, "{}: the {} `{}`, an example to change", folder.display(), template.what, plugin.name)?;
    writeln!(to, "  cd {}", folder.display())?;
    writeln!(to, "  cargo test")?;
    writeln!(to, "  cargo build --release -p {package}-plugin")?;
    writeln!(to, "  zarrctl plugins pack target/release/lib{}_plugin.so", package.replace('-', "_"))?;
    match &source {
        Source::Path(root) => {
            let root = root.display();
            writeln!(to, "The crates of the framework come from {root}: they are not published yet.")?;
        }
        Source::Registry => {
            writeln!(
                to,
                "The crates of the framework are not published yet: until then this does not build."
            )?;
        }
        Source::Git { .. } => {}
    }
    Ok(())
}

/// Whether a program such as this one would use the plugin: what is built in comes first.
fn is_new(plugin: &NewPlugin) -> Result<(), Failure> {
    let linked = Registry::linked().map_err(|error| Failure::Fault(error.into()))?;
    let what = plugin.template.what;
    let mut built_in = rows(&linked).into_iter().filter(|row| row.point.to_string() == what);
    let names = || [Some(plugin.name.as_str()), plugin.uri.as_deref()].into_iter().flatten();
    match built_in.find(|row| names().any(|name| has_identifier(row, name))) {
        None => Ok(()),
        Some(row) => Err(Failure::fault(format!(
            "{what} `{}` is built into the programs of this framework ({}): a plugin of that name would not be used; take a \
             name of your own, such as example.{}",
            row.name, row.origin, plugin.name
        ))),
    }
}

/// Formats the files: where lines break depends on the length of the names. Without rustfmt they stay as they are.
fn format(sources: impl Iterator<Item = PathBuf>) -> Result<(), Failure> {
    match Command::new("rustfmt").args(["--edition", "2024"]).args(sources).stdin(Stdio::null()).status() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            warn(&format!("the new files are not formatted: rustfmt failed ({status})"));
            Ok(())
        }
        Err(error) => Err(Failure::Io(error).while_at("rustfmt")),
    }
}

/// The source tree that this program or the current folder lies in.
fn own_source_tree() -> Result<PathBuf, Failure> {
    let places = [std::env::current_exe()?, std::env::current_dir()?];
    let tree = places.iter().flat_map(|place| place.ancestors()).find(|folder| is_source_tree(folder));
    tree.map(Path::to_owned).ok_or_else(|| {
        Failure::fault(
            "the crates of the framework are not published yet, and neither this program nor the current folder lies in \
             their source tree: --deps path:FOLDER names a source tree, --deps git:URL a repository",
        )
    })
}

fn is_source_tree(folder: &Path) -> bool {
    folder.join("zarr-spec/Cargo.toml").is_file()
}

/// The folder of a source tree of the framework, absolute.
fn source_tree(folder: &Path) -> Result<PathBuf, Failure> {
    let tree = folder.canonicalize().ok().filter(|tree| is_source_tree(tree));
    tree.ok_or_else(|| {
        Failure::fault(format!(
            "{} is no source tree of this framework; --deps path:FOLDER names one, and --deps git:URL a repository",
            folder.display()
        ))
    })
}
