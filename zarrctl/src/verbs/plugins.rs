//! `plugins`: everything that is registered, by extension point.

mod show;

use std::io::{self, Write};

use zarr_kit::spec::registry::{CatalogueEntry, ExtensionPoint, Plugin, Table};
use zarr_kit::spec::{About, Identifiers, Object, Origin, Value, json};
use zarr_kit::{CATALOGUE, Format, Registry};

use crate::arguments::{Plugins, PluginsVerb};
use crate::failure::Failure;
use crate::opening::context;
use crate::terminal;

/// One plugin.
#[derive(Debug)]
struct Row {
    point: ExtensionPoint,
    name: String,
    /// What the formats call it, in the order of [`Format::ALL`]; for a store the URL schemes come last.
    identifiers: Vec<(&'static str, Vec<String>)>,
    /// Those of a store are its name and schemes alone.
    own: Option<Identifiers>,
    about: About,
    origin: Origin,
}

impl Row {
    /// What the umbrella says of it.
    fn catalogued(&self) -> Option<&'static CatalogueEntry> {
        let has_it = |entry: &&CatalogueEntry| {
            entry.point == self.point && entry.identifiers.contains(&self.name.as_str())
        };
        CATALOGUE.iter().find(has_it)
    }

    /// The name, or where that is a URI, what `plugins show` also knows it by.
    fn short_name(&self) -> &str {
        let feature = self.catalogued().filter(|_| self.name.contains("://"));
        feature.map_or(&self.name, |entry| without_kind(entry.feature).unwrap_or(entry.feature))
    }
}

/// The name of a feature without the kind of plugin that it begins with.
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
    let context = context()?;
    let rows = rows(context.registry());
    let mut output = io::BufWriter::new(io::stdout().lock());
    match &arguments.verb {
        Some(PluginsVerb::Show { id, json: true }) => {
            let found = show::find(context.registry(), &rows, id)?;
            write_json(&found.rows.iter().map(|row| show::value(row)).collect(), &mut output)?;
        }
        Some(PluginsVerb::Show { id, json: false }) => {
            show::write(&show::find(context.registry(), &rows, id)?, &mut output)?;
        }
        Some(PluginsVerb::List { json: true, .. }) => {
            write_json(&rows.iter().map(value).collect(), &mut output)?;
        }
        Some(PluginsVerb::List { long: true, .. }) => write(&rows, &mut output, write_long)?,
        Some(PluginsVerb::List { .. }) => write(&rows, &mut output, write_short)?,
        None if arguments.json => write_json(&rows.iter().map(value).collect(), &mut output)?,
        None if arguments.long => write(&rows, &mut output, write_long)?,
        None => write(&rows, &mut output, write_short)?,
    }
    Ok(output.flush()?)
}

fn write_json(value: &Value, to: &mut dyn Write) -> Result<(), Failure> {
    let text = json::to_vec_pretty(value).map_err(|error| Failure::fault(error.to_string()))?;
    to.write_all(&text)?;
    Ok(writeln!(to)?)
}

/// The kinds and names of the plugins that `id` stands for.
///
/// # Errors
///
/// If there is none here: who has it, or similar names.
pub(super) fn named(registry: &Registry, id: &str) -> Result<Vec<(ExtensionPoint, String)>, Failure> {
    let rows = rows(registry);
    let found = show::find(registry, &rows, id)?.rows;
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
        });
    }
    let place = |point| ExtensionPoint::ALL.iter().position(|other| *other == point);
    rows.sort_by(|a, b| (place(a.point), &a.name).cmp(&(place(b.point), &b.name)));
    rows
}

fn add<P: Plugin>(registry: &Registry, table: &Table<P>, rows: &mut Vec<Row>) {
    for plugin in table.iter() {
        let identifiers = plugin.identifiers();
        let mut names = [Some(identifiers.name), identifiers.id, identifiers.uri].into_iter().flatten();
        let by_format = Format::ALL.into_iter().map(|format| {
            (format.name(), registry.name_in(plugin, format).map(ToOwned::to_owned).into_iter().collect())
        });
        let aliases = identifiers.aliases.iter().map(|&alias| alias.to_owned()).collect();
        rows.push(Row {
            point: P::POINT,
            name: names.find(|name| !name.is_empty()).unwrap_or_default().to_owned(),
            identifiers: by_format.chain([("aliases", aliases)]).collect(),
            own: Some(*identifiers),
            about: *plugin.about(),
            origin: plugin.origin(),
        });
    }
}

/// A heading for each extension point, and what `each` writes of its rows.
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

/// A line for each plugin that is no longer than the terminal is wide.
fn write_short(rows: &[Row], to: &mut dyn Write) -> io::Result<()> {
    let width = terminal::width();
    let longest = rows.iter().map(|row| row.short_name().chars().count()).max().unwrap_or(0);
    rows.iter().try_for_each(|row| {
        let line = format!("  {:longest$}  {}", row.short_name(), row.about.summary);
        writeln!(to, "{}", cut(line.trim_end(), width))
    })
}

/// What fits in so many columns, with `…` at the end of what does not.
fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Everything, whatever room it takes.
fn write_long(rows: &[Row], to: &mut dyn Write) -> io::Result<()> {
    rows.iter().try_for_each(|row| {
        writeln!(to, "  {}  ({})", row.name, row.origin)?;
        if !row.about.summary.is_empty() {
            writeln!(to, "    {}", row.about.summary)?;
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
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_the_width_and_say_so() {
        assert_eq!(cut("  é is cut", 10), "  é is cut");
        assert_eq!(cut("  é is cut", 9), "  é is c…");
        assert_eq!(cut("  é is cut", 5), "  é…");
        assert_eq!(cut("abc", 0), "…");
    }
}
