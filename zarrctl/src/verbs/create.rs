//! `create`: creates an array.

use zarr_kit::metadata::DocumentError;
use zarr_kit::metadata::draft::{EntryPoint, entry_point_document, parse_entry_point};
use zarr_kit::spec::{Object, Reading, Value};
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, Mode, Order, open_store};

use crate::arguments::Create;
use crate::failure::Failure;
use crate::hints::Before;
use crate::opening::{self, context, existing_format};
use crate::similar;
use crate::values::{Codec, Member};

/// The codec name that requests an array without codecs.
const NO_CODEC: &str = "none";

pub(crate) fn run(arguments: Create) -> Result<(), Failure> {
    let context = context()?;
    let existing = existing_format(&arguments.store, &context)?;
    let entry_point = asked_entry_point(&arguments, &context)?;
    let default = if entry_point.is_some() { Format::V3Draft } else { Format::V3 };
    let format = arguments.format.or(existing).unwrap_or(default);
    if entry_point.is_some() && format != Format::V3Draft {
        return Err(Failure::fault(format!(
            "{format} does not support --metadata-encoding and --hierarchy-extension; use --format v3-draft"
        )));
    }
    let store = arguments.store.clone();
    let path = arguments.path.clone();
    let dtype = arguments.dtype.clone();
    let builder = builder(arguments);
    // A trial in memory finds errors before the hierarchy is created.
    let memory = open_store(context.registry(), "memory:")?;
    let tried = match &entry_point {
        Some(entry_point) => Hierarchy::create_draft(memory, &context, entry_point)?,
        None => Hierarchy::create(memory, &context, format)?,
    };
    tried.create_array(&path, &builder).map_err(|error| with_data_type_hint(error, &dtype))?;
    let hierarchy = match &entry_point {
        Some(entry_point) => opening::create_draft(&store, &context, entry_point)?,
        None => opening::create(&store, &context, Some(format), format)?,
    };
    let before = Before::count(&hierarchy, &path)?;
    hierarchy.create_array(&path, &builder)?;
    before.print_removed()
}

/// Returns the entry point of a new hierarchy in the v3 draft, if an option describes it.
fn asked_entry_point(arguments: &Create, context: &Context) -> Result<Option<EntryPoint>, Failure> {
    let name = &arguments.metadata_encoding;
    let extensions = &arguments.hierarchy_extensions;
    if name.is_none() && extensions.is_empty() {
        return Ok(None);
    }
    let plain = Hierarchy::draft_entry_point(context.registry(), name.as_deref().unwrap_or("json"))?;
    let wrong = |error: DocumentError| Failure::fault(format!("--hierarchy-extension: {error}"));
    let mut document = entry_point_document(&plain).map_err(wrong)?;
    if let Some(members) = document.as_object_mut() {
        members.insert("extensions", extensions.iter().cloned().collect::<Value>());
    }
    parse_entry_point(&document, &Reading::new(Mode::Strict)).map_err(wrong).map(Some)
}

fn builder(arguments: Create) -> ArrayBuilder {
    let mut builder =
        ArrayBuilder::new(arguments.shape.0, arguments.dtype).attributes(attributes(arguments.attributes));
    if let Some(chunks) = arguments.chunks {
        builder = builder.chunks(chunks.0);
    }
    if let Some(shards) = arguments.shards {
        builder = builder.shards(shards.0);
    }
    builder = with_codecs(builder, arguments.codecs);
    if let Some(fill) = arguments.fill {
        builder = builder.fill_value(fill);
    }
    if let Some(names) = arguments.dimension_names {
        builder = builder.dimension_names(names.split(',').map(name).collect::<Vec<_>>());
    }
    if let Some(separator) = arguments.separator {
        builder = builder.separator(separator);
    }
    if let Some(grid) = arguments.grid {
        builder = builder.chunk_grid(grid);
    }
    if let Some(encoding) = arguments.key_encoding {
        builder = builder.chunk_key_encoding(encoding);
    }
    builder = match arguments.layout {
        Some(Value::String(letter)) if letter == "C" => builder.order(Order::C),
        Some(Value::String(letter)) if letter == "F" => builder.order(Order::F),
        Some(layout) => builder.memory_layout(layout),
        None => builder,
    };
    builder = arguments.transformers.into_iter().fold(builder, ArrayBuilder::storage_transformer);
    builder = arguments.extensions.into_iter().fold(builder, ArrayBuilder::extension);
    arguments.fallbacks.into_iter().fold(builder, ArrayBuilder::fallback)
}

/// Adds a suggestion to the failure if the data type has another name in this framework.
fn with_data_type_hint(error: Error, dtype: &Value) -> Failure {
    let (Error::Invalid(_) | Error::DataType(_) | Error::MissingPlugins { .. }, Some(name)) =
        (&error, dtype.as_str())
    else {
        return error.into();
    };
    if error.missing_plugins().any(|unknown| !unknown.similar.is_empty()) {
        return error.into();
    }
    match similar::data_type(name) {
        Some(found) => Failure::fault(format!("{error} (did you mean `{found}`?)")),
        None => error.into(),
    }
}

/// Adds the codecs of the command line. `none` requests an array without codecs, not even the default ones.
pub(crate) fn with_codecs(builder: ArrayBuilder, codecs: Vec<Codec>) -> ArrayBuilder {
    if codecs.iter().all(|codec| codec.name == NO_CODEC) && !codecs.is_empty() {
        return builder.uncompressed();
    }
    codecs.into_iter().fold(builder, |builder, codec| builder.codec((codec.name, codec.configuration)))
}

fn attributes(members: Vec<Member>) -> Object {
    members.into_iter().map(|member| (member.name, member.value)).collect()
}

fn name(name: &str) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
