//! `plugins show`: describes a plugin.

use std::io::Write;

use zarr_kit::json;
use zarr_kit::json::schema;
use zarr_kit::spec::data_type::DataTypeDocument;
use zarr_kit::spec::host::registry::{CatalogueEntry, ExtensionPoint, Table};
use zarr_kit::spec::plugin::PluginKind;
use zarr_kit::spec::{Example, Identifiers, Loss, OWN_URI_BASE, Object, Reading, Value};
use zarr_kit::{CATALOGUE, Format, Mode, Registry};

use super::{Known, Library, Row, without_kind};
use crate::builds;
use crate::failure::Failure;

/// The most characters of a line.
const WIDTH: usize = 100;

#[derive(Debug)]
pub(super) struct Found<'r> {
    pub(super) rows: Vec<&'r Row>,
    /// Plugins of other builds with the same name.
    elsewhere: Vec<String>,
}

/// Finds the plugins that documents of any format, manifests or feature lists call `id`. If this build has no such
/// plugin, the error names the builds that have it, or similar names.
pub(super) fn find<'r>(known: &'r Known, id: &str) -> Result<Found<'r>, Failure> {
    let registry = &known.registry;
    let rows = known.rows.as_slice();
    let mut found: Vec<&Row> = rows.iter().filter(|row| is_called(row, id)).collect();
    if found.is_empty() {
        let understood = understood(registry, id);
        let is_it = |row: &&Row| {
            is_for_short(row, id) || row.own.is_some_and(|own| understood.contains(&(row.point, own)))
        };
        found = rows.iter().filter(is_it).collect();
    }
    let mut elsewhere = elsewhere(CATALOGUE, rows, id);
    if let Some(last) = elsewhere.last_mut() {
        last.push_str("; ");
        last.push_str(&builds::full());
    }
    elsewhere.extend(known.libraries.iter().filter_map(|library| not_used(library, id)));
    match (found.as_slice(), elsewhere.as_slice()) {
        ([], []) => Err(unknown(registry, rows, id)),
        ([], elsewhere) => Err(Failure::fault(elsewhere.join("; "))),
        _ => Ok(Found { rows: found, elsewhere }),
    }
}

pub(super) fn is_called(row: &Row, id: &str) -> bool {
    let own = row.own.iter().flat_map(|own| [own.name, own.uri, own.id]).flatten();
    let schemes = row.identifiers.iter().flat_map(|(_, names)| names).map(String::as_str);
    let feature = row.catalogued().map(|entry| entry.feature);
    let mut names = own.chain(schemes).chain(feature).chain([row.name.as_str(), row.origin.package]);
    !id.is_empty() && names.any(|name| name == id)
}

/// Returns whether `id` is the feature without its kind, which is the short name of plugins that only have a
/// URI.
fn is_for_short(row: &Row, id: &str) -> bool {
    let feature = row.catalogued().map_or("", |entry| entry.feature);
    without_kind(feature) == Some(id)
}

/// Finds plugins for an identifier without an exact match: URIs of other minor versions, patterns of data
/// types, and typestrings.
fn understood(registry: &Registry, id: &str) -> Vec<(ExtensionPoint, Identifiers)> {
    let reading = Reading::new(Mode::Lenient);
    let type_of = |format, document: &DataTypeDocument| {
        let plugin = registry.data_type_plugin(format, document, &reading).ok()?;
        Some((ExtensionPoint::DataType, plugin.identifiers))
    };
    let typestring = DataTypeDocument::v2(&Value::from(id), None, &reading).ok();
    [
        of_table(registry.codecs(), id),
        type_of(Format::V3, &DataTypeDocument::named(id)),
        typestring.and_then(|document| type_of(Format::V2, &document)),
        of_table(registry.chunk_grids(), id),
        of_table(registry.chunk_key_encodings(), id),
        of_table(registry.memory_layouts(), id),
        of_table(registry.metadata_encodings(), id),
        of_table(registry.storage_transformers(), id),
        of_table(registry.extensions(), id),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_table<K: PluginKind + ?Sized>(table: &Table<K>, id: &str) -> Option<(ExtensionPoint, Identifiers)> {
    let plugin = table.find(Format::V3Draft, id, &Reading::new(Mode::Lenient)).ok()?;
    Some((K::POINT, plugin.identifiers))
}

/// Returns messages about plugins in the catalogue that this build does not have.
fn elsewhere(catalogue: &[CatalogueEntry], rows: &[Row], id: &str) -> Vec<String> {
    let is_meant = |entry: &&CatalogueEntry| {
        entry.identifiers.contains(&id)
            || entry.feature == id
            || id.strip_prefix("zarr-") == Some(entry.feature)
    };
    let is_here = |entry: &CatalogueEntry| {
        rows.iter().any(|row| row.point == entry.point && entry.identifiers.contains(&row.name.as_str()))
    };
    let missing = catalogue.iter().filter(is_meant).filter(|entry| !is_here(entry));
    let lines = missing.map(|CatalogueEntry { point, feature, package, .. }| {
        format!("{point} `{id}` is not in this build; feature `{feature}` of crate `{package}` has it")
    });
    lines.collect()
}

/// Returns the message about an installed library that is not used.
pub(super) fn not_used(library: &Library, id: &str) -> Option<String> {
    let Library { name, version, manifest, refusal, is_shadowed, provides } = library;
    let is_it = !is_shadowed && (name == id || provides.iter().any(|(_, provided, _)| provided == id));
    let refusal = refusal.as_ref().filter(|_| is_it)?;
    let manifest = manifest.display();
    Some(format!("`{id}` is in plugin {name} {version} ({manifest}), which is not used: {refusal}"))
}

fn unknown(registry: &Registry, rows: &[Row], id: &str) -> Failure {
    let of_others = if id.is_empty() { Vec::new() } else { of_others(registry, id) };
    if !of_others.is_empty() {
        return Failure::fault(of_others.join("; "));
    }
    let stores = rows.iter().filter(|row| row.point == ExtensionPoint::Store);
    let stores = stores.map(|row| row.name.as_str()).filter(|name| id.len() > 2 && name.starts_with(id));
    let mut similar: Vec<&str> = [
        registry.codecs().similar(id),
        registry.data_types().similar(id),
        registry.chunk_grids().similar(id),
        registry.chunk_key_encodings().similar(id),
        registry.memory_layouts().similar(id),
        registry.metadata_encodings().similar(id),
        registry.storage_transformers().similar(id),
        registry.extensions().similar(id),
    ]
    .into_iter()
    .flatten()
    .chain(stores)
    .collect();
    similar.sort_unstable();
    similar.dedup();
    let similar: Vec<String> = similar.into_iter().map(|name| format!("`{name}`")).collect();
    let hint = match similar.as_slice() {
        [] => "`zarrctl plugins` lists all plugins".to_owned(),
        [name] => format!("did you mean {name}?"),
        names => format!("did you mean {}?", names.join(" or ")),
    };
    Failure::fault(format!("unknown plugin `{id}`; {hint}"))
}

/// Returns messages about what other programs provide as `id`. Schemes are known with `:` or `://`, steps of pipelines with
/// `|` and `:`.
fn of_others(registry: &Registry, id: &str) -> Vec<String> {
    let stores = [id.to_owned(), format!("{id}:"), format!("{id}://"), format!("|{id}:")];
    let stores = stores.iter().map(|identifier| registry.unknown_store(identifier));
    let unknown = [
        registry.codecs().unknown(id),
        registry.data_types().unknown(id),
        registry.chunk_grids().unknown(id),
        registry.chunk_key_encodings().unknown(id),
        registry.memory_layouts().unknown(id),
        registry.metadata_encodings().unknown(id),
        registry.storage_transformers().unknown(id),
        registry.extensions().unknown(id),
    ];
    let unknown = unknown.into_iter().chain(stores).filter(|unknown| unknown.known_elsewhere.is_some());
    unknown.map(|unknown| unknown.to_string()).collect()
}

/// Returns the page in the repository about a plugin of this project.
fn page(row: &Row) -> Option<String> {
    let (kind_and_name, _version) = row.own?.uri?.strip_prefix(OWN_URI_BASE)?.rsplit_once('/')?;
    Some(format!("docs/spec/{}.md", kind_and_name.trim_start_matches('/').replace('/', "-")))
}

/// Writes all found plugins; with `whole_schemas`, the JSON Schemas of their configurations.
pub(super) fn write(found: &Found<'_>, whole_schemas: bool, to: &mut dyn Write) -> Result<(), Failure> {
    for (number, row) in found.rows.iter().enumerate() {
        if number > 0 {
            writeln!(to)?;
        }
        write_facts(row, to)?;
        write_configuration(row, whole_schemas, to)?;
        write_examples(row, to)?;
    }
    for line in &found.elsewhere {
        writeln!(to, "\n{line}")?;
    }
    Ok(())
}

fn write_facts(row: &Row, to: &mut dyn Write) -> Result<(), Failure> {
    writeln!(to, "{} {}", row.point, row.name)?;
    if !row.about.summary.is_empty() {
        writeln!(to, "{}", row.about.summary)?;
    }
    if row.about.decodes_only {
        writeln!(to, "It {}.", super::ONLY_DECODES)?;
    }
    writeln!(to)?;
    let mut fact = |of: &str, what: &str| writeln!(to, "  {of:9} {what}");
    fact(if row.library.is_some() { "plugin" } else { "crate" }, &row.origin.to_string())?;
    if let Some(entry) = row.catalogued() {
        fact("feature", &format!("{} of {}", entry.feature, entry.package))?;
    }
    for (of, names) in &row.identifiers {
        for (number, name) in names.iter().enumerate() {
            fact(if number == 0 { of } else { "" }, name)?;
        }
    }
    if let Some(page) = page(row) {
        fact("page", &page)?;
    }
    if let Some(library) = &row.library {
        fact("library", &library.display().to_string())?;
    }
    for (number, needs) in row.needs.iter().enumerate() {
        fact(if number == 0 { "needs" } else { "" }, needs)?;
    }
    Ok(())
}

fn write_configuration(row: &Row, whole_schemas: bool, to: &mut dyn Write) -> Result<(), Failure> {
    let schemas = schemas(row);
    if whole_schemas && schemas.is_empty() {
        writeln!(to, "\n  no JSON Schema: it does not have a configuration, or does not describe it")?;
    }
    let mut different: Vec<(&Value, Vec<&str>)> = Vec::new();
    for (format, schema) in &schemas {
        match different.iter_mut().find(|(other, _)| *other == schema) {
            Some((_, formats)) => formats.push(format.name()),
            None => different.push((schema, vec![format.name()])),
        }
    }
    let is_one = different.len() == 1;
    for (schema, formats) in different {
        let of = if row.point == ExtensionPoint::Store { "members" } else { "configuration" };
        let formats = if is_one { String::new() } else { format!(" in {}", formats.join(", ")) };
        if whole_schemas {
            writeln!(to, "\n  {of}{formats}, as a JSON Schema\n    {}", laid_out(schema, 4, 4))?;
            continue;
        }
        let members = members(schema);
        let none = if members.is_empty() { ": none" } else { "" };
        writeln!(to, "\n  {of}{formats}{none}")?;
        let longest = members.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, what) in members {
            writeln!(to, "    {name:longest$}  {what}")?;
        }
    }
    Ok(())
}

/// Returns the JSON Schema of the configuration for each format in which the plugin has a name.
fn schemas(row: &Row) -> Vec<(Format, Value)> {
    let is_named = |format: &Format| match row.own {
        Some(own) => {
            let names = row.identifiers.iter().find(|(of, _)| *of == format.name());
            own.in_format(*format).is_some() && names.is_some_and(|(_, names)| !names.is_empty())
        }
        // Descriptions of stores do not depend on the format.
        None => *format == Format::V3,
    };
    let schema = |format: Format| Some((format, row.about.configuration_schema(format)?));
    Format::ALL.into_iter().filter(is_named).filter_map(schema).collect()
}

fn members(schema: &Value) -> Vec<(&str, String)> {
    let member_of = |name: &str| schema.as_object().and_then(|schema| schema.get(name));
    let required = member_of("required").and_then(Value::as_array).unwrap_or_default();
    let properties = member_of("properties").and_then(Value::as_object).into_iter().flat_map(Object::iter);
    let member = |(name, schema)| {
        let what = schema::describe(schema).unwrap_or_else(|| "see the examples".to_owned());
        let is_required = required.iter().any(|required| required.as_str() == Some(name));
        (name, if is_required { format!("{what}; required") } else { what })
    };
    properties.map(member).collect()
}

fn write_examples(row: &Row, to: &mut dyn Write) -> Result<(), Failure> {
    let mut format = None;
    for example in row.about.examples {
        if format != Some(example.format) {
            format = Some(example.format);
            match row.point {
                ExtensionPoint::Store => writeln!(to, "\n  described as")?,
                _ => writeln!(to, "\n  in {}", example.format)?,
            }
        }
        write_example(example, to)?;
    }
    Ok(())
}

fn write_example(example: &Example, to: &mut dyn Write) -> Result<(), Failure> {
    writeln!(to, "    {}", laid_out(&document(example)?, 4, 4))?;
    let conditions = conditions(example);
    if !conditions.is_empty() {
        writeln!(to, "      ({conditions})")?;
    }
    Ok(())
}

fn document(example: &Example) -> Result<Value, Failure> {
    let parsed = json::parse(example.document.as_bytes(), &json::ParseOptions::default());
    Ok(parsed.map_err(|error| Failure::fault(error.to_string()))?.value)
}

/// Formats JSON that begins in a column of an indented line: each value on one line if it fits.
fn laid_out(value: &Value, indent: usize, column: usize) -> String {
    let line = spaced(value);
    let (open, close, inside): (_, _, Vec<String>) = match value {
        _ if column + line.chars().count() < WIDTH => return line,
        Value::Array(elements) => {
            ('[', ']', elements.iter().map(|element| laid_out(element, indent + 2, indent + 2)).collect())
        }
        Value::Object(members) => {
            let member = |(name, value): (&str, &Value)| {
                let name = format!("{}: ", Value::from(name));
                let column = indent + 2 + name.chars().count();
                name + &laid_out(value, indent + 2, column)
            };
            ('{', '}', members.iter().map(member).collect())
        }
        _ => return line,
    };
    let outer = " ".repeat(indent);
    let inner = " ".repeat(indent + 2);
    format!("{open}\n{inner}{}\n{outer}{close}", inside.join(&format!(",\n{inner}")))
}

/// Formats JSON on one line, with spaces after commas and colons.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(elements) => format!("[{}]", elements.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let member = |(name, value): (&str, &Value)| format!("{}: {}", Value::from(name), spaced(value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Formats the data types, shape and loss of an example.
fn conditions(example: &Example) -> String {
    let types = Some(example.data_types).filter(|types| !types.is_empty());
    let types = types.map(|types| format!("for {}", types.join(", ")));
    let shape = Some(example.shape).filter(|shape| !shape.is_empty()).map(|shape| format!("shape {shape:?}"));
    let loss = match example.loss {
        Loss::Nothing => None,
        Loss::Absolute(bound) => Some(format!("absolute error up to {bound}")),
        Loss::Relative(bound) => Some(format!("relative error up to {bound}")),
        Loss::Unbounded => Some("lossy".to_owned()),
    };
    [types, shape, loss].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

pub(super) fn value(row: &Row) -> Value {
    let mut value = super::value(row);
    let Some(object) = value.as_object_mut() else { return value };
    object.insert("feature", row.catalogued().map_or(Value::Null, |entry| Value::from(entry.feature)));
    object.insert("page", page(row).map_or(Value::Null, Value::String));
    object.insert("examples", row.about.examples.iter().map(example_value).collect::<Value>());
    let schemas = schemas(row).into_iter().map(|(format, schema)| (format.name(), schema));
    object.insert("schemas", schemas.collect::<Value>());
    value
}

fn example_value(example: &Example) -> Value {
    let (kind, bound) = match example.loss {
        Loss::Nothing => ("nothing", Value::Null),
        Loss::Absolute(bound) => ("absolute", Value::from(bound)),
        Loss::Relative(bound) => ("relative", Value::from(bound)),
        Loss::Unbounded => ("unbounded", Value::Null),
    };
    let members = [
        ("format", Value::from(example.format.name())),
        ("document", document(example).unwrap_or(Value::Null)),
        ("data_types", example.data_types.iter().copied().collect()),
        ("shape", example.shape.iter().copied().collect()),
        ("loss", [("kind", Value::from(kind)), ("bound", bound)].into_iter().collect()),
    ];
    members.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_of_other_builds_are_named_with_their_feature() {
        let found = |id: &str| elsewhere(CATALOGUE, &[], id);
        let zstd = "codec `zstd` is not in this build; feature `codec-zstd` of crate `zarr-kit` has it";
        assert_eq!(found("zstd"), [zstd]);
        assert_eq!(found("codec-zstd").len(), 1);
        assert_eq!(found("zarr-codec-zstd").len(), 1);
        // Both a codec and a data type have this name.
        assert_eq!(found("bytes").len(), 2);
        assert!(found("zsdt").is_empty());
    }
}
