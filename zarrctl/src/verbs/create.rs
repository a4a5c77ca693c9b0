//! `create`: creates an array or a group.

use zarr_kit::archive::builder_like;
use zarr_kit::metadata::DocumentError;
use zarr_kit::metadata::draft::{EntryPoint, entry_point_document, parse_entry_point};
use zarr_kit::spec::{Object, Reading, Value};
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, Mode, Node, Order, open_store};

use crate::arguments::{Create, Reading as ReadingOptions};
use crate::failure::Failure;
use crate::forms::cell;
use crate::hints::{self, Before};
use crate::opening::{self, context, existing_format};
use crate::similar;
use crate::terminal;
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
    let fill = arguments.fill.clone();
    let new = new_node(arguments, format)?;
    // A trial in memory finds errors before the hierarchy is created.
    let memory = open_store(context.registry(), "memory:")?;
    let tried = match &entry_point {
        Some(entry_point) => Hierarchy::create_draft(memory, &context, entry_point)?,
        None => Hierarchy::create(memory, &context, format)?,
    };
    new.create(&tried, &path).map_err(|error| with_data_type_hint(error, dtype.as_ref()))?;
    if let (NewNode::Array(_), Some(fill)) = (&new, fill) {
        let array = tried.array(path.as_str())?;
        let checked = cell::check_range(&**array.data_type(), &fill, array.fill_value().bytes());
        checked.map_err(|what| Failure::fault(format!("--fill: {what}")))?;
    }
    let hierarchy = match &entry_point {
        Some(entry_point) => opening::create_draft(&store, &context, entry_point)?,
        None => opening::create(&store, &context, Some(format), format)?,
    };
    let before = Before::count(&hierarchy, &path)?;
    new.create(&hierarchy, &path)?;
    before.print_removed()?;
    terminal::summary(&format!("created the {} {}", new.kind(), hierarchy.path(&path)?));
    Ok(())
}

/// The node that is created.
enum NewNode {
    Array(Box<ArrayBuilder>),
    /// The attributes of a group.
    Group(Object),
}

impl NewNode {
    fn create(&self, hierarchy: &Hierarchy, path: &str) -> Result<(), Error> {
        match self {
            Self::Array(builder) => hierarchy.create_array(path, builder).map(drop),
            Self::Group(attributes) => hierarchy.create_group(path, attributes.clone()).map(drop),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Array(_) => "array",
            Self::Group(_) => "group",
        }
    }
}

/// Returns the node that the arguments describe.
fn new_node(arguments: Create, format: Format) -> Result<NewNode, Failure> {
    if arguments.group {
        return Ok(NewNode::Group(attributes(Object::new(), arguments.attributes)));
    }
    if let Some(like) = arguments.like.clone() {
        return like_node(arguments, &like, format);
    }
    let (Some(shape), Some(dtype)) = (arguments.shape.clone(), arguments.dtype.clone()) else {
        return Err(Failure::Usage("an array needs --shape and --dtype, or --like".to_owned()));
    };
    let builder = with_options(ArrayBuilder::new(shape.0, dtype), Object::new(), arguments);
    Ok(NewNode::Array(Box::new(builder)))
}

/// Describes a node like an existing one.
fn like_node(arguments: Create, path: &str, format: Format) -> Result<NewNode, Failure> {
    let store = arguments.like_store.as_ref().unwrap_or(&arguments.store);
    let hierarchy = opening::open(store, &ReadingOptions::default())?;
    let node = hierarchy.node(path).map_err(|error| hints::of_node(error, &hierarchy))?;
    if let Node::Group(group) = node {
        if arguments.shape.is_some() || arguments.chunks.is_some() || !arguments.codecs.is_empty() {
            return Err(Failure::fault(format!(
                "{} is a group, which has no shape, chunks and codecs",
                group.path()
            )));
        }
        return Ok(NewNode::Group(attributes(group.attributes().clone(), arguments.attributes)));
    }
    let array = hierarchy.array(path).map_err(|error| hints::of_node(error, &hierarchy))?;
    let shape = arguments.shape.as_ref().map_or(array.shape(), |shape| &shape.0);
    let builder = builder_like(&array, shape, format, !arguments.codecs.is_empty());
    let builder = builder.map_err(|error| Failure::fault(error.to_string()))?;
    Ok(NewNode::Array(Box::new(with_options(builder, array.attributes().clone(), arguments))))
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

/// Applies the options to an array.
fn with_options(builder: ArrayBuilder, own: Object, arguments: Create) -> ArrayBuilder {
    let mut builder = builder.attributes(attributes(own, arguments.attributes));
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
fn with_data_type_hint(error: Error, dtype: Option<&Value>) -> Failure {
    let (Error::Invalid(_) | Error::DataType(_) | Error::MissingPlugins { .. }, Some(name)) =
        (&error, dtype.and_then(Value::as_str))
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

/// Adds members to attributes.
fn attributes(mut attributes: Object, members: Vec<Member>) -> Object {
    for member in members {
        attributes.insert(member.name.as_str(), member.value);
    }
    attributes
}

fn name(name: &str) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
