//! `plugins`: everything that is registered, by extension point.

use std::io::{self, Write};

use zarr_kit::spec::data_type::DataTypeDocument;
use zarr_kit::spec::registry::{ExtensionPoint, Plugin, Table};
use zarr_kit::spec::{Identifiers, Object, Reading, Value, json};
use zarr_kit::{Format, Mode, Registry};

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
    package: &'static str,
    version: &'static str,
}

pub(crate) fn run(arguments: &Plugins) -> Result<(), Failure> {
    let context = context()?;
    let rows = rows(context.registry());
    let is_json = arguments.json || matches!(arguments.verb, Some(PluginsVerb::List { json: true }));
    let mut output = io::BufWriter::new(io::stdout().lock());
    if is_json {
        let rows: Value = rows.iter().map(value).collect();
        let text = json::to_vec_pretty(&rows).map_err(|error| Failure::fault(error.to_string()))?;
        output.write_all(&text)?;
        writeln!(output)?;
    } else {
        write(&rows, &mut output)?;
    }
    Ok(output.flush()?)
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
            package: store.origin.package,
            version: store.origin.version,
        });
    }
    let place = |point| ExtensionPoint::ALL.iter().position(|other| *other == point);
    rows.sort_by(|a, b| (place(a.point), &a.name).cmp(&(place(b.point), &b.name)));
    rows
}

fn add<P: Plugin>(registry: &Registry, table: &Table<P>, rows: &mut Vec<Row>) {
    for plugin in table.iter() {
        let identifiers = plugin.identifiers();
        let origin = plugin.origin();
        let mut names = [Some(identifiers.name), identifiers.id, identifiers.uri].into_iter().flatten();
        let by_format = Format::ALL.into_iter().map(|format| {
            let own = identifier(registry, P::POINT, identifiers, format).filter(|_| has(format, P::POINT));
            (format.name(), own.map(ToOwned::to_owned).into_iter().collect())
        });
        let aliases = identifiers.aliases.iter().map(|&alias| alias.to_owned()).collect();
        rows.push(Row {
            point: P::POINT,
            name: names.find(|name| !name.is_empty()).unwrap_or_default().to_owned(),
            identifiers: by_format.chain([("aliases", aliases)]).collect(),
            package: origin.package,
            version: origin.version,
        });
    }
}

/// What documents of `format` call a plugin.
fn identifier(
    registry: &Registry,
    point: ExtensionPoint,
    identifiers: &Identifiers,
    format: Format,
) -> Option<&'static str> {
    let own = identifiers.in_format(format);
    if own.is_some() || format != Format::V3Draft || identifiers.name.is_empty() {
        return own;
    }
    // What the text of the draft brings itself has a plain name there. Of the data types these are the core types.
    let is_plain = match point {
        ExtensionPoint::Codec => false,
        ExtensionPoint::DataType => {
            // Of names by a pattern, such as `r*`, one stands for all.
            let document = DataTypeDocument::named(&identifiers.name.replace('*', "16"));
            registry.data_type(format, &document, &Reading::new(Mode::Strict)).is_ok()
        }
        _ => true,
    };
    is_plain.then_some(identifiers.name)
}

/// Whether documents of `format` have a place for such a plugin.
fn has(format: Format, point: ExtensionPoint) -> bool {
    match point {
        ExtensionPoint::Codec | ExtensionPoint::DataType => true,
        ExtensionPoint::ChunkGrid | ExtensionPoint::StorageTransformer => format != Format::V2,
        ExtensionPoint::ChunkKeyEncoding => format == Format::V3,
        ExtensionPoint::MemoryLayout => format != Format::V3,
        ExtensionPoint::MetadataEncoding | ExtensionPoint::GenericExtension => format == Format::V3Draft,
        ExtensionPoint::Store => false,
    }
}

fn write(rows: &[Row], to: &mut dyn Write) -> Result<(), Failure> {
    let width = |length: fn(&Row) -> usize| rows.iter().map(length).max().unwrap_or(0);
    let (name, package) = (width(|row| row.name.len()), width(|row| row.package.len()));
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
            row.package,
            row.version,
            identifiers.join(", ")
        )?;
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
    object.insert("package", row.package);
    object.insert("version", row.version);
    Value::Object(object)
}
