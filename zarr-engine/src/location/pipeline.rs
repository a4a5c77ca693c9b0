//! URL pipelines, such as `s3://bucket/a.zip|zip:path/|zarr3:`.
//!
//! A pipeline is a base location and steps. A step reads what the location before it names: `zip:PATH` an archive,
//! `zarr3:PATH` a hierarchy. `PATH` is a folder in the result of the step. A step may have options of our own:
//! `reference:PATH?target=URL`. `..:PATH` removes the step before it, and its path is relative to the location that
//! remains. Paths of steps are percent-encoded. The path of a step whose store has versions may begin with one:
//! `icechunk:@tag.v1/PATH`, or `icechunk://tag.v1/PATH` as in a later draft.
//!
//! Source: draft of ZEP 8, "Absolute URL syntax".

use std::path::{MAIN_SEPARATOR, Path};
use std::sync::Arc;

use zarr_metadata::DOCUMENT_NAMES;
use zarr_spec::store::{Locations, Step, Store, StoreError, StorePlugin};
use zarr_spec::{Format, Invalid, Key, Prefix, Registry, Value, json};

use super::{local_path, missing_step, open_store, scheme, unescaped};
use crate::error::{Error, MissingPlugins};

/// The maximum number of steps. Each step may open an archive inside of another one.
const MAX_STEPS: usize = 16;

/// The steps that select a node of a hierarchy, and the documents that nodes of their format have.
const FORMATS: [(&str, &[&str]); 3] =
    [("zarr", &DOCUMENT_NAMES), ("zarr2", &[".zarray", ".zgroup"]), ("zarr3", &["zarr.json"])];

/// The step that removes the step before it.
const OUT: &str = "..";

/// One step: `SCHEME:PATH?OPTIONS`, without escapes. The version in `SCHEME:@VERSION/PATH` is the option `version`.
struct Parsed {
    scheme: String,
    path: String,
    options: Vec<(String, String)>,
}

/// Opens the store that a pipeline describes; `None` if the location is not a pipeline.
pub(super) fn open(registry: &Registry, location: &str) -> Option<Result<Arc<dyn Store>, Error>> {
    split_last(registry, location)?;
    Some(resolved(registry, location).and_then(|location| open_resolved(registry, &location)))
}

/// Opens the store of one step, whose input is a location. Fails if the plugin cannot be a step.
pub(super) fn open_step(
    registry: &Registry,
    plugin: &StorePlugin,
    input: &str,
    options: &[(String, String)],
) -> Result<Arc<dyn Store>, Error> {
    let Some(open) = plugin.step else {
        return Err(Invalid::new(format!("`{}` cannot be a step of a pipeline", plugin.name)).into());
    };
    let input = if input.ends_with("://") { input } else { input.trim_end_matches('/') };
    let is_path = scheme(registry, input).is_empty() && split_last(registry, input).is_none();
    let path = if is_path { Some(input.to_owned()) } else { local_path(input) };
    let locations = InRegistry(registry);
    let step = Step::new(input, path.as_deref().map(Path::new), &locations).with_options(options);
    Ok(open(&step)?)
}

/// Splits off the last step: returns the location before it, and the step. Returns `None` if the location is not a
/// pipeline.
///
/// A path may contain `|`. Therefore, `|` begins a step only before a known scheme, or before any scheme and `:`.
fn split_last<'l>(registry: &Registry, location: &'l str) -> Option<(&'l str, &'l str)> {
    let (before, step) = location.rsplit_once('|')?;
    let (name, rest) = step.split_once(':').map_or((step, None), |(name, rest)| (name, Some(rest)));
    let is_known = name == OUT || is_format(name) || plugin_of(registry, name).is_some();
    let is_scheme =
        name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    (!before.is_empty() && (is_known || is_scheme && rest.is_some())).then_some((before, step))
}

fn is_format(name: &str) -> bool {
    FORMATS.iter().any(|(format, _)| *format == name)
}

fn plugin_of<'r>(registry: &'r Registry, name: &str) -> Option<&'r StorePlugin> {
    let name = name.to_ascii_lowercase();
    let is_it = |plugin: &&StorePlugin| plugin.step.is_some() && plugin.schemes.contains(&name.as_str());
    registry.stores().iter().find(is_it)
}

/// Opens a pipeline without `..`.
fn open_resolved(registry: &Registry, location: &str) -> Result<Arc<dyn Store>, Error> {
    let Some((before, step)) = split_last(registry, location) else { return open_store(registry, location) };
    let step = parse(registry, step)?;
    if let Some((_, documents)) = FORMATS.iter().find(|(format, _)| *format == step.scheme) {
        let store = below(registry, open_resolved(registry, before)?, &step.path)?;
        check_format(&*store, location, documents)?;
        return Ok(store);
    }
    let Some(plugin) = plugin_of(registry, &step.scheme) else {
        return Err(missing_step(registry, location, &step.scheme));
    };
    let store = open_step(registry, plugin, before, &step.options)?;
    below(registry, store, &step.path)
}

struct InRegistry<'r>(&'r Registry);

impl Locations for InRegistry<'_> {
    fn open(&self, location: &str) -> Result<Arc<dyn Store>, StoreError> {
        open_store(self.0, location).map_err(|error| match error {
            Error::Store(error) => *error,
            other => Invalid::new(other.to_string()).into(),
        })
    }

    fn open_file(&self, location: &str) -> Result<(Arc<dyn Store>, Key), StoreError> {
        let is_step = split_last(self.0, location).is_some();
        let separators: &[char] = if is_step { &['/', '|', ':'] } else { &['/', MAIN_SEPARATOR] };
        let at = location.rfind(separators).map_or(0, |at| at + 1);
        let (parent, name) = location.split_at(at);
        if matches!(name, "" | "." | "..") || parent.ends_with("://") || parent.ends_with('|') {
            return Err(Invalid::new(format!("`{location}` is not the location of a file")).into());
        }
        let is_escaped = is_step || local_path(location).is_some();
        let name =
            if is_escaped { unescaped(name).ok_or_else(|| bad_escape(location))? } else { name.to_owned() };
        let parent = if parent.is_empty() { "." } else { parent };
        Ok((self.open(parent)?, Key::new(name)?))
    }
}

/// Returns the part of a store below `path`, with the plugin `prefix`.
fn below(registry: &Registry, store: Arc<dyn Store>, path: &str) -> Result<Arc<dyn Store>, Error> {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return Ok(store);
    }
    Prefix::new(format!("{path}/"))?;
    let Some(plugin) = registry.stores().iter().find(|plugin| plugin.name == "prefix") else {
        let unknown = registry.unknown_store("prefix");
        let message = format!("the path `{path}` in a pipeline needs a plugin: {unknown}");
        return Err(MissingPlugins { message, missing: vec![unknown] }.into());
    };
    let description = json!({"type": "prefix", "prefix": (Value::from(path)), "store": {"type": "given"}});
    Ok(plugin.describe(&description, Some(&store))?)
}

/// Refuses a store that has documents of another format, but none of the wanted one.
fn check_format(store: &dyn Store, location: &str, wanted: &[&str]) -> Result<(), Error> {
    let has = |name: &str| Ok::<_, StoreError>(store.size(&Key::new(name)?)?.is_some());
    for name in wanted {
        if has(name)? {
            return Ok(());
        }
    }
    for name in DOCUMENT_NAMES.iter().filter(|name| !wanted.contains(name)) {
        if has(name)? {
            let wanted = wanted.join("` or `");
            return Err(Invalid::new(format!("`{location}`: expected `{wanted}`, found `{name}`")).into());
        }
    }
    Ok(())
}

/// Returns the pipeline without `..` steps.
fn resolved(registry: &Registry, location: &str) -> Result<String, Error> {
    let mut steps = Vec::new();
    let mut base = location;
    while let Some((before, step)) = split_last(registry, base) {
        steps.push(step);
        base = before;
        if steps.len() > MAX_STEPS {
            return Err(Invalid::new(format!("`{location}` has more than {MAX_STEPS} steps")).into());
        }
    }
    let mut parts = vec![base.to_owned()];
    for step in steps.into_iter().rev() {
        let Some(path) = step.strip_prefix(OUT).filter(|rest| rest.is_empty() || rest.starts_with(':'))
        else {
            parts.push(step.to_owned());
            continue;
        };
        let removed = if parts.len() > 1 { parts.pop() } else { None };
        let is_base = parts.len() == 1;
        let (Some(_), Some(outer)) = (removed, parts.last_mut()) else {
            return Err(Invalid::new(format!("`{location}`: `..` does not have a step to remove")).into());
        };
        let path = path.strip_prefix(':').unwrap_or_default();
        // Paths of steps and URLs are percent-encoded, local paths are not.
        *outer = if is_base && !outer.contains("://") {
            relative(outer, &unescaped(path).ok_or_else(|| bad_escape(step))?)
        } else {
            relative(outer, path)
        };
    }
    Ok(parts.join("|"))
}

/// Resolves `path` against the folder of a base location or a step, or against its root if it begins with `/`.
fn relative(outer: &str, path: &str) -> String {
    let host = outer.find("://").map(|at| at + 3);
    let root = match (host, outer.split_once(':')) {
        (Some(host), _) => outer[host..].find('/').map_or(outer.len(), |at| host + at),
        (None, Some((scheme, _))) if scheme.len() > 1 => scheme.len() + 1,
        _ => 0,
    };
    if let Some(below_root) = path.strip_prefix('/') {
        let path = if host.is_none() && root > 0 { below_root } else { path };
        return format!("{}{path}", &outer[..root]);
    }
    let folder = outer[root..].rfind('/').map_or(root, |at| root + at + 1);
    format!("{}{path}", &outer[..folder])
}

fn parse(registry: &Registry, step: &str) -> Result<Parsed, Error> {
    let (scheme, rest) = step.split_once(':').unwrap_or((step, ""));
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let has_versions = || plugin_of(registry, scheme).is_some_and(has_versions);
    let selected = path.strip_prefix('@').or_else(|| path.strip_prefix("//")).filter(|_| has_versions());
    let (version, path) = match selected.map(|selected| selected.split_once('/').unwrap_or((selected, ""))) {
        Some((version, path)) => (Some(version), path),
        None => (None, path),
    };
    let decoded = |text: &str| unescaped(text).ok_or_else(|| bad_escape(step));
    let mut options = Vec::new();
    for option in query.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        options.push((decoded(name)?, decoded(value)?));
    }
    if let Some(version) = version {
        options.push(("version".to_owned(), decoded(version)?));
    }
    Ok(Parsed { scheme: scheme.to_ascii_lowercase(), path: decoded(path)?, options })
}

/// Returns whether a store has versions: its description then has the member `version`.
fn has_versions(plugin: &StorePlugin) -> bool {
    // The members of a loaded store are known only after its library was opened.
    let is_loaded = plugin.describe.is_some();
    let schema = || plugin.about.configuration_schema(Format::V3);
    is_loaded || schema().is_some_and(|schema| has_member(&schema, "version"))
}

fn has_member(schema: &Value, name: &str) -> bool {
    let members = schema.as_object().and_then(|schema| schema.get("properties")?.as_object());
    members.is_some_and(|members| members.get(name).is_some())
}

fn bad_escape(text: &str) -> Invalid {
    Invalid::new(format!("`{text}`: expected two hexadecimal digits of UTF-8 after each `%`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuse(location: &str) -> Result<Arc<dyn Store>, StoreError> {
        Err(Invalid::new(format!("opened {location}")).into())
    }

    fn take(step: &Step<'_>) -> Result<Arc<dyn Store>, StoreError> {
        let Step { input, path, options, .. } = step;
        Err(Invalid::new(format!("step after {input} ({path:?}, {options:?})")).into())
    }

    fn nest(step: &Step<'_>) -> Result<Arc<dyn Store>, StoreError> {
        let (_, key) = step.locations.open_file(step.input)?;
        Err(Invalid::new(format!("key {key}")).into())
    }

    fn registry() -> Registry {
        let mut registry = Registry::empty();
        for plugin in [
            StorePlugin::new("files", &["", "file", "s3"], &refuse),
            StorePlugin::new("zip", &["zip"], &refuse).step(&take),
            StorePlugin::new("nest", &["nest"], &refuse).step(&nest),
        ] {
            registry.register_store(plugin).unwrap();
        }
        let mut loaded = StorePlugin::new("ice", &["ice"], &refuse).step(&take);
        loaded.describe = Some(&|_, _| refuse("a description"));
        registry.register_store(loaded).unwrap();
        registry
    }

    fn message(location: &str) -> String {
        open_store(&registry(), location).unwrap_err().to_string()
    }

    #[test]
    fn the_last_step_opens_what_the_others_locate() {
        let none = "None, []";
        assert_eq!(message("s3://b/a.zip|zip:"), format!("step after s3://b/a.zip ({none})"));
        assert_eq!(message("s3://b/a.zip|zip"), format!("step after s3://b/a.zip ({none})"));
        assert_eq!(message("zip:s3://b/a.zip"), format!("step after s3://b/a.zip ({none})"));
        assert_eq!(message("a.zip|zip:b|zarr3:c"), "step after a.zip (Some(\"a.zip\"), [])");
        assert_eq!(
            message("a|zip:?x=1%26&y"),
            "step after a (Some(\"a\"), [(\"x\", \"1&\"), (\"y\", \"\")])"
        );
        assert!(message("a|zip:%zz").contains("two hexadecimal digits"));
        if cfg!(unix) {
            let path = "Some(\"/d/a b\"), []";
            assert_eq!(message("file:///d/a%20b|zip:"), format!("step after file:///d/a%20b ({path})"));
        }
    }

    #[test]
    fn a_step_selects_a_version_of_a_store_that_has_versions() {
        assert_eq!(message("a|ice:"), "step after a (Some(\"a\"), [])");
        for path in ["", "/", "/b/c"] {
            for start in ["@", "//"] {
                let location = format!("s3://b/a|ice:{start}branch.x%2Fy{path}?m=n");
                let options = r#"[("m", "n"), ("version", "branch.x/y")]"#;
                assert_eq!(message(&location), format!("step after s3://b/a (None, {options})"));
            }
        }
        assert_eq!(message("a|ice:%40b"), "step after a (Some(\"a\"), [])");
        assert_eq!(message("a|zip:@b"), "step after a (Some(\"a\"), [])");
    }

    #[test]
    fn the_file_of_a_step_is_in_the_folder_before_it() {
        assert_eq!(message("s3://b/c/a%20.zip|nest:"), "opened s3://b/c/");
        assert_eq!(message("a.n|nest:"), "opened .");
        assert_eq!(message("a.zip|zip:i/b%20.zip|nest:"), "step after a.zip (Some(\"a.zip\"), [])");
        for bad in ["s3://b|nest:", "a/..|nest:"] {
            assert!(message(bad).contains("is not the location of a file"), "{bad}");
        }
    }

    #[test]
    fn steps_out_of_a_step_remove_it() {
        let resolved = |location: &str| resolved(&registry(), location).map_err(|error| error.to_string());
        // The draft of ZEP 8 has this example.
        assert_eq!(
            resolved("gs://bucket/path/to/outer.zip|zip:path/to/inner.zip|..:other/zarr/hierarchy|zarr3:a")
                .unwrap(),
            "gs://bucket/path/to/other/zarr/hierarchy|zarr3:a"
        );
        assert_eq!(resolved("gs://b/a/c.zip|zip:d|..:/e.zip|zip:f").unwrap(), "gs://b/e.zip|zip:f");
        assert_eq!(resolved("a.zip|zip:b/c.zip|zip:d|..:e.zip").unwrap(), "a.zip|zip:b/e.zip");
        assert_eq!(resolved("a.zip|zip:b/c.zip|zip:d|..:/e.zip").unwrap(), "a.zip|zip:e.zip");
        assert!(resolved("a.zip|..:b").unwrap_err().contains("does not have a step to remove"));
        // Inside of the outer archive, the path is relative to the folder of the inner one.
        let inside = "o.zip|zip:d/i.zip|zip:|..:in%20a%20folder/a.zarr/";
        assert_eq!(resolved(inside).unwrap(), "o.zip|zip:d/in%20a%20folder/a.zarr/");
        // One step less leads to the folder of the outer one, whose path does not have escapes.
        for (outer, escaped) in [("d/o.zip", "d/a b%20c"), ("zip:d/o.zip", "zip:d/a b%20c")] {
            assert_eq!(resolved(&format!("{outer}|zip:i.zip|..:a%20b%2520c")).unwrap(), escaped);
        }
        assert_eq!(resolved("file:///d/o.zip|zip:|..:a%20b").unwrap(), "file:///d/a%20b");
        assert!(resolved("o.zip|zip:|..:%zz").unwrap_err().contains("two hexadecimal digits"));
        assert!(resolved(&format!("a{}", "|zip:".repeat(17))).unwrap_err().contains("more than 16 steps"));
    }

    #[test]
    fn other_bars_belong_to_paths_and_unknown_steps_are_named() {
        assert_eq!(message("a|b"), "opened a|b");
        assert!(message("a|tar:b").contains("no store in this build has the step `tar:`; expected one of "));
    }
}
