//! `plugins`: lists registered plugins, by extension point, and installed libraries.

#[cfg(all(feature = "dynamic", target_os = "linux"))]
mod archive;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
mod dirs;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
mod install;
mod new;
#[cfg(all(feature = "conformance", feature = "dynamic", target_os = "linux"))]
mod probe;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
mod remove;
mod show;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
mod trust;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
mod why;

use std::io::{self, Write};
use std::path::PathBuf;

use zarr_kit::spec::host::registry::{CatalogueEntry, ExtensionPoint, Table};
use zarr_kit::spec::plugin::PluginKind;
use zarr_kit::spec::{About, Identifiers, Object, Origin, Value, printable, printable_path};
use zarr_kit::{CATALOGUE, Format, Registry};

use crate::arguments::{LoadedVerb, Plugins, PluginsVerb};
use crate::failure::Failure;
use crate::printer::{stdout, write_json};
use crate::templates::NewPlugin;
use crate::terminal;

#[derive(Debug)]
struct Row {
    point: ExtensionPoint,
    name: String,
    /// The names in each format, in the order of [`Format::ALL`]; for a store, the URL schemes are last.
    identifiers: Vec<(&'static str, Vec<String>)>,
    /// The identifiers; `None` for a store, which has only a name and schemes.
    own: Option<Identifiers>,
    about: About,
    origin: Origin,
    /// The manifest of the plugin's library, if the plugin is not linked.
    library: Option<PathBuf>,
    /// The requirements of the library, one line each.
    needs: Vec<String>,
}

#[derive(Debug)]
struct Library {
    name: String,
    version: String,
    manifest: PathBuf,
    /// The reason why the library is not used; `None` if it is used.
    refusal: Option<String>,
    /// Whether another version, or the same version in another folder, is used.
    is_shadowed: bool,
    /// The provided plugins: kind, name and summary.
    provides: Vec<(ExtensionPoint, String, String)>,
}

#[derive(Debug)]
struct Known {
    registry: Registry,
    rows: Vec<Row>,
    libraries: Vec<Library>,
}

impl Row {
    /// Returns the entry in the catalogue of `zarr-kit`.
    fn catalogued(&self) -> Option<&'static CatalogueEntry> {
        let has_it = |entry: &&CatalogueEntry| {
            entry.point == self.point && entry.identifiers.contains(&self.name.as_str())
        };
        CATALOGUE.iter().find(has_it)
    }

    /// Returns the name. If it is a URI, returns the short name that `plugins show` accepts.
    fn short_name(&self) -> &str {
        let feature = self.catalogued().filter(|_| self.name.contains("://"));
        feature.map_or(&self.name, |entry| without_kind(entry.feature).unwrap_or(entry.feature))
    }
}

/// Removes the kind from the name of a feature.
fn without_kind(feature: &str) -> Option<&str> {
    const KINDS: [&str; 9] = [
        "codec-",
        "dtype-",
        "grid-",
        "key-encoding-",
        "layout-",
        "metadata-encoding-",
        "extension-",
        "store-",
        "transformer-",
    ];
    KINDS.iter().find_map(|kind| feature.strip_prefix(kind))
}

pub(crate) fn run(arguments: &Plugins) -> Result<(), Failure> {
    let mut output = io::BufWriter::new(stdout());
    match &arguments.verb {
        Some(PluginsVerb::New { kind, name, uri, deps, folder }) => {
            let plugin = NewPlugin::new(*kind, name, uri.as_deref()).map_err(Failure::fault)?;
            new::run(&plugin, deps.as_ref(), folder.as_deref(), &mut output)?;
        }
        Some(PluginsVerb::Loaded(verb)) => run_loaded(verb, &mut output)?,
        Some(PluginsVerb::Show { id, schema, json }) => {
            let known = known(Some(id))?;
            let found = show::find(&known, id)?;
            match json {
                true => write_json(&found.rows.iter().map(|row| show::value(row)).collect(), &mut output)?,
                false => show::write(&found, *schema, &mut output)?,
            }
        }
        Some(PluginsVerb::List { long, json }) => list(*long, *json, &mut output)?,
        None => list(arguments.long, arguments.json, &mut output)?,
    }
    Ok(output.flush()?)
}

#[cfg(not(all(feature = "dynamic", target_os = "linux")))]
fn run_loaded(_verb: &LoadedVerb, _to: &mut dyn Write) -> Result<(), Failure> {
    match cfg!(target_os = "linux") {
        true => Err(Failure::not_in_build("loading plugins at run time")),
        false => Err(Failure::Usage("plugins are loaded at run time only on Linux".to_owned())),
    }
}

#[cfg(all(feature = "dynamic", target_os = "linux"))]
fn run_loaded(verb: &LoadedVerb, to: &mut dyn Write) -> Result<(), Failure> {
    match verb {
        LoadedVerb::Why { id } => why::run(id, to),
        LoadedVerb::Trust { name } => trust::run(name, to),
        LoadedVerb::Remove { name } => remove::run(name, to),
        LoadedVerb::Install { from } => install::install(from, to),
        LoadedVerb::Pack { library, output } => install::pack(library, output, to),
        #[cfg(feature = "conformance")]
        LoadedVerb::Probe { plugin, time_limit, memory_limit, level, fixtures } => {
            let options = probe::Options {
                time: *time_limit,
                memory: *memory_limit,
                level: *level,
                fixtures: fixtures.clone(),
            };
            probe::run(plugin, options, to)
        }
        #[cfg(not(feature = "conformance"))]
        LoadedVerb::Probe(_) => Err(Failure::not_in_build("`plugins probe`")),
        #[cfg(feature = "conformance")]
        LoadedVerb::ProbeHere { folder, fixtures } => probe::here(folder, fixtures.as_deref()),
        LoadedVerb::Dirs => dirs::run(to),
    }
}

fn list(long: bool, json: bool, to: &mut dyn Write) -> Result<(), Failure> {
    let known = known(None)?;
    if json {
        let unused = known.libraries.iter().flat_map(unused);
        return write_json(&known.rows.iter().map(value).chain(unused).collect(), to);
    }
    write(&known.rows, to, if long { write_long } else { write_short })?;
    if !known.libraries.is_empty() {
        writeln!(to, "\nlibrary")?;
    }
    for Library { name, version, manifest, refusal, .. } in &known.libraries {
        let state = refusal.as_ref().map_or("trusted".to_owned(), |refusal| format!("not used: {refusal}"));
        let manifest = printable_path(manifest);
        writeln!(to, "  {}", printable(format_args!("{name} {version}  {manifest}: {state}")))?;
    }
    Ok(())
}

/// Finds all linked and installed plugins. Libraries that provide `wanted` are opened.
#[cfg(all(feature = "dynamic", target_os = "linux"))]
fn known(wanted: Option<&str>) -> Result<Known, Failure> {
    let linked = Registry::linked()?;
    let installed = crate::loaded::Installed::find();
    if let Some(wanted) = wanted {
        installed.open_what_has(wanted);
    }
    let mut registry = linked.clone();
    let passed_over = installed.loader.register(&mut registry);
    let is_linked = |row: &Row, linked: &[Row]| {
        linked
            .iter()
            .any(|other| (other.point, &other.name, other.origin) == (row.point, &row.name, row.origin))
    };
    let linked = rows(&linked);
    let mut rows = rows(&registry);
    for row in rows.iter_mut().filter(|row| !is_linked(row, &linked)) {
        let Some((candidate, _)) = installed.named(row.origin.package) else { continue };
        row.library = Some(candidate.path.clone());
        if wanted.is_some_and(|wanted| show::is_called(row, wanted))
            && let Ok(library) = installed.loader.check(candidate)
        {
            row.needs = install::needs(&library.needs);
        }
    }
    let candidates = installed.loader.candidates().iter();
    let libraries = candidates.map(|candidate| {
        let passed_over = passed_over.iter().find(|it| it.manifest == candidate.path);
        let refusal = passed_over.map(|it| it.refusal.clone());
        Library::of(candidate, refusal.or_else(|| installed.loader.judge(candidate).err()))
    });
    Ok(Known { libraries: libraries.collect(), registry, rows })
}

#[cfg(all(feature = "dynamic", target_os = "linux"))]
impl Library {
    fn of(candidate: &zarr_kit::loaded::Candidate, refusal: Option<zarr_kit::loaded::Refusal>) -> Self {
        let manifest = candidate.manifest().ok();
        let provides = manifest.iter().flat_map(|manifest| &manifest.provides).map(|it| {
            let name = it.identifiers().next().unwrap_or_default();
            (it.kind, name.to_owned(), it.summary.clone())
        });
        let file_name = || candidate.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self {
            name: manifest.map_or_else(file_name, |manifest| manifest.name.clone()),
            version: manifest.map_or_else(|| "?".to_owned(), |manifest| manifest.version.to_string()),
            manifest: candidate.path.clone(),
            is_shadowed: matches!(refusal, Some(zarr_kit::loaded::Refusal::Shadowed(_))),
            refusal: refusal.map(|refusal| refusal.to_string()),
            provides: provides.collect(),
        }
    }
}

/// Returns the reason why a trusted plugin is not used, or `None` if it is: linked plugins take precedence, and a
/// library is used completely or not at all.
#[cfg(all(feature = "dynamic", target_os = "linux"))]
fn built_in(manifest: &zarr_kit::loaded::Manifest) -> Result<Option<String>, Failure> {
    let linked = Registry::linked()?;
    let rows = rows(&linked);
    let mut provided = manifest.provides.iter().flat_map(|it| it.identifiers().map(|id| (it.kind, id)));
    Ok(provided.find_map(|(kind, id)| {
        let row = rows.iter().find(|row| row.point == kind && has_identifier(row, id))?;
        Some(format!(
            "{} is not used: this program has its own {kind} `{id}` ({})",
            manifest.name, row.origin
        ))
    }))
}

fn has_identifier(row: &Row, id: &str) -> bool {
    let own = row.own.iter().flat_map(|own| [own.name, own.uri, own.id]).flatten();
    let mut names = own.chain(row.identifiers.iter().flat_map(|(_, names)| names).map(String::as_str));
    !id.is_empty() && (row.name == id || names.any(|name| name == id))
}

/// Finds all linked plugins.
#[cfg(not(all(feature = "dynamic", target_os = "linux")))]
fn known(_wanted: Option<&str>) -> Result<Known, Failure> {
    let registry = Registry::linked()?;
    Ok(Known { rows: rows(&registry), registry, libraries: Vec::new() })
}

/// Returns the kinds and names of the plugins that `id` names. For an unknown name, the error names the build that has
/// such a plugin, or similar names.
#[cfg(feature = "conformance")]
pub(super) fn named(registry: &Registry, id: &str) -> Result<Vec<(ExtensionPoint, String)>, Failure> {
    let known = Known { registry: registry.clone(), rows: rows(registry), libraries: Vec::new() };
    let found = show::find(&known, id)?.rows;
    Ok(found.into_iter().map(|row| (row.point, row.name.clone())).collect())
}

fn rows(registry: &Registry) -> Vec<Row> {
    let mut rows = Vec::new();
    add(registry, registry.codecs(), &mut rows);
    add(registry, registry.data_types(), &mut rows);
    add(registry, registry.chunk_grids(), &mut rows);
    add(registry, registry.chunk_key_encodings(), &mut rows);
    add(registry, registry.memory_layouts(), &mut rows);
    add(registry, registry.metadata_encodings(), &mut rows);
    add(registry, registry.storage_transformers(), &mut rows);
    add(registry, registry.extensions(), &mut rows);
    for store in registry.stores() {
        let schemes = store.schemes.iter().map(|scheme| match *scheme {
            "" => "a path".to_owned(),
            scheme => format!("{scheme}:"),
        });
        rows.push(Row {
            point: ExtensionPoint::Store,
            name: store.name.to_owned(),
            identifiers: vec![("opens", schemes.collect())],
            own: None,
            about: store.about,
            origin: store.origin,
            library: None,
            needs: Vec::new(),
        });
    }
    let place = |point| ExtensionPoint::ALL.iter().position(|other| *other == point);
    rows.sort_by(|a, b| (place(a.point), &a.name).cmp(&(place(b.point), &b.name)));
    rows
}

fn add<K: PluginKind + ?Sized>(registry: &Registry, table: &Table<K>, rows: &mut Vec<Row>) {
    for plugin in table.iter() {
        let identifiers = plugin.identifiers;
        let mut names = [identifiers.name, identifiers.id, identifiers.uri].into_iter().flatten();
        let by_format = Format::ALL.into_iter().map(|format| {
            (format.name(), registry.name_in(plugin, format).map(ToOwned::to_owned).into_iter().collect())
        });
        let aliases = identifiers.aliases.iter().map(|&alias| alias.to_owned()).collect();
        rows.push(Row {
            point: K::POINT,
            name: names.find(|name| !name.is_empty()).unwrap_or_default().to_owned(),
            identifiers: by_format.chain([("aliases", aliases)]).collect(),
            own: Some(identifiers),
            about: plugin.about,
            origin: plugin.origin,
            library: None,
            needs: Vec::new(),
        });
    }
}

fn write(
    rows: &[Row],
    to: &mut dyn Write,
    each: impl Fn(&[Row], &mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    for (number, rows) in rows.chunk_by(|a, b| a.point == b.point).enumerate() {
        let gap = if number > 0 { "\n" } else { "" };
        writeln!(to, "{gap}{}", rows[0].point)?;
        each(rows, to)?;
    }
    Ok(())
}

/// The note about a codec that only decodes.
const ONLY_DECODES: &str = "only decodes: arrays with it can be read, but not created or written";

/// Writes a line for each plugin, truncated to the width of a terminal.
fn write_short(rows: &[Row], to: &mut dyn Write) -> io::Result<()> {
    let width = terminal::width();
    let longest = rows.iter().map(|row| row.short_name().chars().count()).max().unwrap_or(0);
    rows.iter().try_for_each(|row| {
        let from = row.library.as_ref().map_or(String::new(), |_| format!("(library {}) ", row.origin));
        let note = if row.about.decodes_only { "(only decodes) " } else { "" };
        let line = format!("  {:longest$}  {from}{note}{}", row.short_name(), row.about.summary);
        let line = line.trim_end();
        writeln!(to, "{}", width.map_or_else(|| line.to_owned(), |width| cut(line, width)))
    })
}

/// Truncates a line to `width` columns, with `…` at the end.
fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

fn write_long(rows: &[Row], to: &mut dyn Write) -> io::Result<()> {
    rows.iter().try_for_each(|row| {
        writeln!(to, "  {}  ({})", row.name, row.origin)?;
        if !row.about.summary.is_empty() {
            writeln!(to, "    {}", row.about.summary)?;
        }
        if row.about.decodes_only {
            writeln!(to, "    {ONLY_DECODES}")?;
        }
        let identifiers = row.identifiers.iter().filter(|(_, names)| !names.is_empty());
        identifiers.into_iter().try_for_each(|(of, names)| writeln!(to, "    {of:9} {}", names.join(" ")))
    })
}

fn value(row: &Row) -> Value {
    let mut object = Object::new();
    object.insert("extension_point", row.point.to_string().as_str());
    object.insert("name", row.name.as_str());
    for (of, names) in &row.identifiers {
        let is_one = Format::ALL.iter().any(|format| format.name() == *of);
        let names = match is_one {
            true => names.first().map_or(Value::Null, |name| Value::from(name.as_str())),
            false => names.iter().map(String::as_str).collect(),
        };
        object.insert(*of, names);
    }
    object.insert("package", row.origin.package);
    object.insert("version", row.origin.version);
    object.insert("summary", row.about.summary);
    if row.point == ExtensionPoint::Codec {
        object.insert("decodes_only", row.about.decodes_only);
    }
    let library = row.library.as_ref().map(|path| Value::from(path.to_string_lossy().as_ref()));
    object.insert("library", library.unwrap_or(Value::Null));
    Value::Object(object)
}

fn unused(library: &Library) -> impl Iterator<Item = Value> {
    let refusal = library.refusal.iter();
    refusal.flat_map(|refusal| library.provides.iter().map(move |provided| (refusal, provided))).map(
        |(refusal, (point, name, summary))| {
            let members = [
                ("extension_point", point.to_string()),
                ("name", name.clone()),
                ("package", library.name.clone()),
                ("version", library.version.clone()),
                ("summary", summary.clone()),
                ("library", library.manifest.to_string_lossy().into_owned()),
                ("refusal", refusal.clone()),
            ];
            members.into_iter().map(|(name, text)| (name, Value::String(text))).collect()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_truncated_with_an_ellipsis() {
        assert_eq!(cut("  é is cut", 10), "  é is cut");
        assert_eq!(cut("  é is cut", 9), "  é is c…");
        assert_eq!(cut("  é is cut", 5), "  é…");
        assert_eq!(cut("abc", 0), "…");
    }
}
