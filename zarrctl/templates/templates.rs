//! The templates of new plugins: the files in this folder, with `{{…}}` for placeholders.
//!
//! `zarrctl plugins new` creates a repository from them, `cargo xtask new` a crate of this workspace. This
//! module does not have dependencies, so both can include it.

use std::str::FromStr;

/// The kind of a new plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Codec,
    Dtype,
    Grid,
    KeyEncoding,
    Layout,
    MetadataEncoding,
    Extension,
    Transformer,
    Store,
}

/// Whether a plugin of a kind has a URI in the v3 draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Uri {
    /// The kind exists only in the draft.
    Needed,
    Possible,
    /// The template is for final v3.
    None,
}

/// The template of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Template {
    pub(crate) kind: Kind,
    /// The name on the command line, and the prefix of package names in this workspace.
    pub(crate) name: &'static str,
    /// The name of the kind in texts.
    pub(crate) what: &'static str,
    /// The text of `src/lib.rs`.
    pub(crate) source: &'static str,
    /// The text of `tests/it.rs`.
    pub(crate) test: &'static str,
    pub(crate) uri: Uri,
    /// Whether a crate of this kind has a fuzz target.
    pub(crate) is_fuzzed: bool,
}

macro_rules! template {
    ($kind:ident, $name:literal, $what:literal, $uri:ident, $is_fuzzed:literal) => {
        Template {
            kind: Kind::$kind,
            name: $name,
            what: $what,
            source: include_str!(concat!($name, "/lib.rs")),
            test: include_str!(concat!($name, "/it.rs")),
            uri: Uri::$uri,
            is_fuzzed: $is_fuzzed,
        }
    };
}

const TEMPLATES: [Template; 9] = [
    template!(Codec, "codec", "codec", Possible, true),
    template!(Dtype, "dtype", "data type", Possible, true),
    template!(Grid, "grid", "chunk grid", None, true),
    template!(KeyEncoding, "key-encoding", "chunk key encoding", None, true),
    template!(Layout, "layout", "memory layout", Needed, true),
    template!(MetadataEncoding, "metadata-encoding", "metadata encoding", Needed, true),
    template!(Extension, "extension", "extension", Needed, true),
    template!(Transformer, "transformer", "storage transformer", Needed, false),
    template!(Store, "store", "store", None, false),
];

/// Names that crates of plugins cannot have: Rust keywords, crates of every program, and dependencies of
/// plugins.
const TAKEN: &str = "abstract alloc as async await become box break const continue core crate do dyn else enum \
     extern \
    false final fn for gen if impl in let libfuzzer_sys loop macro match mod move mut override priv proc_macro pub ref \
    return self serde static std struct super test trait true try type typeof unsafe unsized use virtual where while \
    yield zarr_conformance zarr_plugin zarr_plugin_kit zarr_spec";

impl Kind {
    /// Returns the names of all kinds.
    pub(crate) fn names() -> [&'static str; 9] {
        TEMPLATES.map(|template| template.name)
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = TEMPLATES.iter().find(|template| template.name == text);
        let unknown = || format!("unknown kind of plugin `{text}` (expected {})", Self::names().join(", "));
        found.map(|template| template.kind).ok_or_else(unknown)
    }
}

/// A new plugin.
#[derive(Debug)]
pub(crate) struct NewPlugin {
    pub(crate) template: Template,
    pub(crate) name: String,
    pub(crate) uri: Option<String>,
}

impl NewPlugin {
    /// Creates a plugin of a kind.
    ///
    /// # Errors
    ///
    /// For a name or URI that is not valid in crates, manifests or documents.
    pub(crate) fn new(kind: Kind, name: &str, uri: Option<&str>) -> Result<Self, String> {
        let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-_.".contains(it);
        let begins_well = name.starts_with(|it: char| it.is_ascii_lowercase());
        if !begins_well || !name.chars().all(is_plain) || name.ends_with(['.', '-']) || name.len() > 60 {
            return Err(format!(
                "invalid name `{name}`: expected 1 to 60 lower case letters, digits, `-`, `_` and `.`, beginning \
                     with a letter and not ending in `-` or `.`, such as example.xor"
            ));
        }
        let crate_name = name.replace(['.', '-'], "_");
        if TAKEN.split(' ').any(|taken| taken == crate_name) {
            return Err(format!(
                "invalid name `{name}`: the crate name `{crate_name}` is reserved; add a prefix, such as \
                     example.{name}"
            ));
        }
        let template = TEMPLATES.into_iter().find(|template| template.kind == kind);
        let template = template.ok_or("there is no template")?;
        let what = template.what;
        match (template.uri, uri) {
            (Uri::Needed, None) => {
                return Err(format!(
                    "a {what} needs a URI: --uri https://example.org/{name}/1.0, with your own domain"
                ));
            }
            (Uri::None, Some(_)) => {
                return Err(format!(
                    "--uri is not supported for a {what}: the template is for v3, not the v3 draft"
                ));
            }
            _ => {}
        }
        if let Some(uri) = uri.filter(|uri| !is_versioned(uri)) {
            return Err(format!(
                "invalid URI `{uri}`: expected https://…/MAJOR.MINOR, such as https://example.org/{name}/1.0"
            ));
        }
        Ok(Self { template, name: name.to_owned(), uri: uri.map(ToOwned::to_owned) })
    }

    /// Fills in a template: values of the plugin, the package, and `more`.
    pub(crate) fn fill(&self, text: &str, package: &str, more: &[(&str, &str)]) -> String {
        let uri = self.uri.as_deref().unwrap_or_default();
        let uri_option = self.uri.as_ref().map_or("None".to_owned(), |uri| format!("Some(\"{uri}\")"));
        // A line that begins with a condition is dropped if the condition is false.
        let conditions = [
            ("{{draft}}", self.uri.is_some()),
            ("{{no-draft}}", self.uri.is_none()),
            ("{{fuzz}}", self.template.is_fuzzed),
        ];
        let mut filled = String::new();
        for line in text.split_inclusive('\n') {
            match conditions.iter().find(|(mark, _)| line.starts_with(mark)) {
                Some((_, false)) => {}
                Some((mark, true)) => filled.push_str(&line[mark.len()..]),
                None => filled.push_str(line),
            }
        }
        let crate_name = package.replace('-', "_");
        let values = [
            ("name", self.name.as_str()),
            ("package", package),
            ("crate", &crate_name),
            ("what", self.template.what),
            ("uri", uri),
            ("uri-option", &uri_option),
        ];
        for (name, value) in values.iter().chain(more) {
            filled = filled.replace(&format!("{{{{{name}}}}}"), value);
        }
        filled
    }
}

/// Returns whether a URI ends in a version.
fn is_versioned(uri: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let version = uri.rsplit_once('/').and_then(|(_, version)| version.split_once('.'));
    let has_scheme = uri.starts_with("https://") || uri.starts_with("http://");
    let is_plain = |it: char| it.is_ascii_graphic() && !"\"\\{}".contains(it);
    has_scheme
        && uri.chars().all(is_plain)
        && version.is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}
