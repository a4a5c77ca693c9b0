//! `plugins`: everything that is registered, by extension point.

mod show;

use std::io::{self, Write};

use zarr_kit::spec::registry::{CatalogueEntry, ExtensionPoint, Plugin, Table};
use zarr_kit::spec::{About, Identifiers, Object, Origin, Value, json};
use zarr_kit::{CATALOGUE, Format, Registry};

use crate::arguments::{Plugins, PluginsVerb};
use crate::failure::Failure;
use crate::opening::context;

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
        Some(PluginsVerb::List { long, .. }) => write(&rows, *long, &mut output)?,
        None if arguments.json => write_json(&rows.iter().map(value).collect(), &mut output)?,
        None => write(&rows, arguments.long, &mut output)?,
    }
    Ok(output.flush()?)
}

fn write_json(value: &Value, to: &mut dyn Write) -> Result<(), Failure> {
    let text = json::to_vec_pretty(value).map_err(|error| Failure::fault(error.to_string()))?;
    to.write_all(&text)?;
    Ok(writeln!(to)?)
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

fn write(rows: &[Row], is_long: bool, to: &mut dyn Write) -> Result<(), Failure> {
    let width = |length: fn(&Row) -> usize| rows.iter().map(length).max().unwrap_or(0);
    let (name, package) = (width(|row| row.name.len()), width(|row| row.origin.package.len()));
    let mut point = None;
    for row in rows {
        if point != Some(row.point) {
            let gap = if point.is_some() { "\n" } else { "" };
            writeln!(to, "{gap}{}", row.point)?;
            point = Some(row.point);
        }
        let identifiers = row.identifiers.iter().filter(|(_, names)| !names.is_empty());
        let identifiers: Vec<_> =
            identifiers.map(|(of, names)| format!("{of} {}", names.join(" "))).collect();
        writeln!(
            to,
            "  {:name$}  {:package$} {}  {}",
            row.name,
            row.origin.package,
            row.origin.version,
            identifiers.join(", ")
        )?;
        if is_long {
            writeln!(to, "    {}", row.about.summary)?;
        }
    }
    Ok(())
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
