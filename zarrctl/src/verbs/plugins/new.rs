//! `plugins new`: a repository of one's own with a plugin, made of the files in `templates`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;

use crate::arguments::Source;
use crate::failure::Failure;

/// What kind of plugin is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PluginKind {
    /// Turns chunks into bytes and back
    Codec,
    /// What the elements of an array are
    Dtype,
    /// Splits arrays into chunks
    Grid,
    /// Names chunks in a store
    KeyEncoding,
    /// The order of the elements of a chunk (draft)
    Layout,
    /// How metadata documents are written (draft)
    MetadataEncoding,
    /// Whatever else a document says (draft)
    Extension,
    /// Stands between an array and its store (draft)
    Transformer,
    /// Where keys and values are
    Store,
}

/// What there is to know of a kind.
struct Template {
    /// What people call it.
    what: &'static str,
    source: &'static str,
    test: Option<&'static str>,
    uri: Uri,
    /// Whether the C ABI carries it.
    is_loadable: bool,
    /// Whether there is something to try with any bytes.
    is_fuzzed: bool,
}

/// Whether the draft names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Uri {
    /// And nobody else does.
    Needed,
    Possible,
    /// The template is for final v3.
    None,
}

macro_rules! template {
    ($file:literal) => {
        include_str!(concat!("../../../templates/", $file))
    };
}

impl PluginKind {
    fn template(self) -> Template {
        let loaded =
            Template { what: "", source: "", test: None, uri: Uri::None, is_loadable: true, is_fuzzed: true };
        match self {
            Self::Codec => Template {
                what: "codec",
                source: template!("codec/lib.rs"),
                test: Some(template!("codec/it.rs")),
                uri: Uri::Possible,
                ..loaded
            },
            Self::Dtype => Template {
                what: "data type",
                source: template!("dtype/lib.rs"),
                test: Some(template!("dtype/it.rs")),
                ..loaded
            },
            Self::Grid => Template { what: "chunk grid", source: template!("grid/lib.rs"), ..loaded },
            Self::KeyEncoding => {
                Template { what: "chunk key encoding", source: template!("key-encoding/lib.rs"), ..loaded }
            }
            Self::Layout => Template {
                what: "memory layout",
                source: template!("layout/lib.rs"),
                uri: Uri::Needed,
                ..loaded
            },
            Self::MetadataEncoding => Template {
                what: "metadata encoding",
                source: template!("metadata-encoding/lib.rs"),
                uri: Uri::Needed,
                ..loaded
            },
            Self::Extension => Template {
                what: "extension",
                source: template!("extension/lib.rs"),
                uri: Uri::Needed,
                ..loaded
            },
            Self::Transformer => Template {
                what: "storage transformer",
                source: template!("transformer/lib.rs"),
                uri: Uri::Needed,
                is_loadable: false,
                is_fuzzed: false,
                ..loaded
            },
            Self::Store => Template {
                what: "store",
                source: template!("store/lib.rs"),
                is_loadable: false,
                is_fuzzed: false,
                ..loaded
            },
        }
    }
}

/// What is begun.
#[derive(Debug)]
pub(super) struct Plugin {
    kind: PluginKind,
    name: String,
    uri: Option<String>,
}

impl Plugin {
    /// A plugin of that kind and name.
    ///
    /// # Errors
    ///
    /// For a name or URI that no crate, manifest or document could have.
    pub(super) fn new(kind: PluginKind, name: &str, uri: Option<&str>) -> Result<Self, Failure> {
        let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-_.".contains(it);
        let begins_well = name.starts_with(|it: char| it.is_ascii_lowercase());
        if !begins_well || !name.chars().all(is_plain) || name.ends_with(['.', '-']) || name.len() > 60 {
            return Err(Failure::fault(format!(
                "name `{name}` is not 1 to 60 lower case letters, digits, `-`, `_` and `.`, a letter first"
            )));
        }
        let what = kind.template().what;
        match (kind.template().uri, uri) {
            (Uri::Needed, None) => {
                return Err(Failure::fault(format!(
                    "a {what} is named by a URI: --uri https://example.org/{name}/1.0, with a domain of yours"
                )));
            }
            (Uri::None, Some(_)) => {
                return Err(Failure::fault(format!(
                    "--uri is for kinds that the draft names; the {what} that is begun here is one of final v3"
                )));
            }
            _ => {}
        }
        if let Some(uri) = uri.filter(|uri| !is_versioned(uri)) {
            return Err(Failure::fault(format!(
                "`{uri}` is no URI that the draft has: https://…/MAJOR.MINOR, such as https://example.org/{name}/1.0"
            )));
        }
        Ok(Self { kind, name: name.to_owned(), uri: uri.map(ToOwned::to_owned) })
    }

    fn package(&self) -> String {
        self.name.replace('.', "-")
    }

    /// The files, by their path in the folder, with what the templates leave open filled in.
    fn files(&self, source: &Source) -> Vec<(&'static str, String)> {
        let template = self.kind.template();
        let mut files = vec![
            ("Cargo.toml", template!("crate/Cargo.toml")),
            ("src/lib.rs", template.source),
            ("tests/conformance.rs", template!("crate/conformance.rs")),
            ("README.md", template!("crate/README.md")),
            ("LICENSE", template!("crate/LICENSE")),
            (".gitignore", template!("crate/gitignore")),
            (".github/workflows/ci.yml", template!("crate/ci.yml")),
        ];
        files.extend(template.test.map(|test| ("tests/it.rs", test)));
        if template.is_loadable {
            files.push(("plugin/Cargo.toml", template!("crate/plugin-Cargo.toml")));
            files.push(("plugin/src/lib.rs", template!("crate/plugin-lib.rs")));
        }
        if template.is_fuzzed {
            files.push(("tests/fuzzed.rs", template!("crate/fuzzed.rs")));
            files.push(("fuzz/Cargo.toml", template!("crate/fuzz-Cargo.toml")));
            files.push(("fuzz/fuzz_targets/plugin.rs", template!("crate/fuzz-target.rs")));
        }
        files.into_iter().map(|(path, text)| (path, self.filled(text, &template, source))).collect()
    }

    fn filled(&self, text: &str, template: &Template, source: &Source) -> String {
        let package = self.package();
        let uri = self.uri.as_deref().unwrap_or_default();
        let uri_option = self.uri.as_ref().map_or("None".to_owned(), |uri| format!("Some(\"{uri}\")"));
        let [spec, plugin, conformance] =
            ["zarr-spec", "zarr-plugin", "conformance"].map(|it| dependency(source, it));
        // What stands at the beginning of a line and does not apply takes the line with it.
        let conditions = [
            ("{{draft}}", self.uri.is_some()),
            ("{{library}}", template.is_loadable),
            ("{{fuzz}}", template.is_fuzzed),
        ];
        let does_apply =
            |line: &&str| conditions.iter().all(|(mark, holds)| *holds || !line.starts_with(mark));
        let kept: String = text.split_inclusive('\n').filter(does_apply).collect();
        let values = [
            ("{{draft}}", ""),
            ("{{library}}", ""),
            ("{{fuzz}}", ""),
            ("{{name}}", &self.name),
            ("{{package}}", &package),
            ("{{crate}}", &package.replace('-', "_")),
            ("{{what}}", template.what),
            ("{{uri}}", uri),
            ("{{uri-option}}", &uri_option),
            ("{{members}}", if template.is_loadable { "\"plugin\"" } else { "" }),
            ("{{zarr-spec}}", &spec),
            ("{{zarr-plugin}}", &plugin),
            ("{{zarr-conformance}}", &conformance),
            ("{{deps}}", &about_dependencies(source)),
        ];
        values.iter().fold(kept, |text, (mark, value)| text.replace(mark, value))
    }
}

/// Whether a URI ends in a version, as those of the draft do.
fn is_versioned(uri: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let version = uri.rsplit_once('/').and_then(|(_, version)| version.split_once('.'));
    let has_scheme = uri.starts_with("https://") || uri.starts_with("http://");
    let is_plain = |it: char| it.is_ascii_graphic() && !"\"\\{}".contains(it);
    has_scheme
        && uri.chars().all(is_plain)
        && version.is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// What stands in a manifest for a crate of the framework, which lies in a folder of this name.
fn dependency(source: &Source, folder: &str) -> String {
    match source {
        Source::Registry => format!("\"{}\"", env!("CARGO_PKG_VERSION")),
        Source::Path(root) => format!("{{ path = {:?} }}", root.join(folder).display().to_string()),
        Source::Git(url) => format!("{{ git = {url:?} }}"),
    }
}

fn about_dependencies(source: &Source) -> String {
    match source {
        Source::Registry => {
            "The crates `zarr-spec`, `zarr-plugin` and `zarr-conformance` come from the registry of crates."
                .to_owned()
        }
        Source::Path(root) => format!(
            "The crates `zarr-spec`, `zarr-plugin` and `zarr-conformance` come from a folder of one machine, `{}`: they are \
             not published yet. Before anybody else builds this, their lines in the manifests name a repository (`git = …`) or,\n\
             once they are published, a version.",
            root.display()
        ),
        Source::Git(url) => {
            format!(
                "The crates `zarr-spec`, `zarr-plugin` and `zarr-conformance` come from the repository `{url}`."
            )
        }
    }
}

pub(super) fn run(
    plugin: &Plugin,
    source: Option<&Source>,
    folder: Option<&Path>,
    to: &mut dyn Write,
) -> Result<(), Failure> {
    let source = match source {
        Some(Source::Path(folder)) => Source::Path(source_tree(folder)?),
        Some(source) => source.clone(),
        None => Source::Path(source_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?),
    };
    let package = plugin.package();
    let folder = folder.map_or_else(|| PathBuf::from(&package), ToOwned::to_owned);
    let named = |path: &Path, error| Failure::Io(error).while_at(&path.display().to_string());
    if folder.exists() {
        return Err(Failure::fault(format!("{} is there already", folder.display())));
    }
    for (path, text) in plugin.files(&source) {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(&folder);
        fs::create_dir_all(parent).map_err(|error| named(parent, error))?;
        fs::write(&path, text).map_err(|error| named(&path, error))?;
    }
    let sources = plugin.files(&source).into_iter().map(|(path, _)| folder.join(path));
    format(sources.filter(|path| path.extension().is_some_and(|it| it == "rs")))?;
    let template = plugin.kind.template();
    writeln!(to, "{}: the {} `{}`, an example to change", folder.display(), template.what, plugin.name)?;
    writeln!(to, "  cd {}", folder.display())?;
    writeln!(to, "  cargo test")?;
    if template.is_loadable {
        writeln!(to, "  cargo build --release -p {package}-plugin")?;
        writeln!(to, "  zarrctl plugins pack target/release/lib{}_plugin.so", package.replace('-', "_"))?;
    } else {
        writeln!(to, "Programs link it: a {} is not loaded at run time yet.", template.what)?;
    }
    if let Source::Path(root) = &source {
        writeln!(
            to,
            "The crates of the framework come from {}: they are not published yet.",
            root.display()
        )?;
    }
    Ok(())
}

/// Where lines are broken depends on how long the names are. Who has no rustfmt has no need of it either.
fn format(sources: impl Iterator<Item = PathBuf>) -> Result<(), Failure> {
    match Command::new("rustfmt").args(["--edition", "2024"]).args(sources).stdin(Stdio::null()).status() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::fault(format!("rustfmt: {status}"))),
        Err(error) => Err(Failure::Io(error).while_at("rustfmt")),
    }
}

/// The folder of a source tree of the framework, absolute.
fn source_tree(folder: &Path) -> Result<PathBuf, Failure> {
    let tree = folder.canonicalize().ok().filter(|tree| tree.join("zarr-spec/Cargo.toml").is_file());
    tree.ok_or_else(|| {
        Failure::fault(format!(
            "{} is no source tree of this framework; --deps path:FOLDER names one, and --deps git:URL a repository",
            folder.display()
        ))
    })
}
