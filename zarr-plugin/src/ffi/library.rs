//! Opens a library and reads its contents. A library is never closed: destructors of its threads may run at any
//! time.

use std::sync::Arc;

use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::{About, CodecPlugin, Example, Format, Identifiers, Loss, Value};

use super::import::Imported;
use super::system::{Sealed, open_sealed};
use super::{EMPTY, Failure, borrowed_items, borrowed_text, outcome, parse, read};
use crate::abi::{self, Host, Item, Plugin, PluginEntry, Str};

/// The functions of an item, by its kind.
#[derive(Debug, Clone)]
pub(crate) enum Functions {
    Codec(Imported<abi::CodecVtable>),
    MemoryLayout(Imported<abi::CodecVtable>),
    DataType(Imported<abi::DataTypeVtable>),
    ChunkGrid(Imported<abi::ChunkGridVtable>),
    ChunkKeyEncoding(Imported<abi::ChunkKeyEncodingVtable>),
    MetadataEncoding(Imported<abi::MetadataEncodingVtable>),
    StorageTransformer(Imported<abi::StorageTransformerVtable>),
    GenericExtension(Imported<abi::ExtensionVtable>),
    Store(Imported<abi::StoreVtable>),
    /// A codec of a library that is not native. The runtime of the library runs the codec, without functions of the
    /// ABI.
    RunCodec(CodecPlugin),
}

impl Functions {
    pub(crate) fn point(&self) -> ExtensionPoint {
        match self {
            Self::Codec(_) | Self::RunCodec(_) => ExtensionPoint::Codec,
            Self::MemoryLayout(_) => ExtensionPoint::MemoryLayout,
            Self::DataType(_) => ExtensionPoint::DataType,
            Self::ChunkGrid(_) => ExtensionPoint::ChunkGrid,
            Self::ChunkKeyEncoding(_) => ExtensionPoint::ChunkKeyEncoding,
            Self::MetadataEncoding(_) => ExtensionPoint::MetadataEncoding,
            Self::StorageTransformer(_) => ExtensionPoint::StorageTransformer,
            Self::GenericExtension(_) => ExtensionPoint::GenericExtension,
            Self::Store(_) => ExtensionPoint::Store,
        }
    }
}

/// The contents of an open library, native or run by a runtime. The texts live as long as the library.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) abi: (u16, u16),
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) license: &'static str,
    pub(crate) build: &'static str,
    pub(crate) items: Vec<(Identifiers, About, Functions)>,
}

/// Why a library cannot be used.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// The dynamic loader of the system refuses the library.
    Loader(String),
    /// The library does not export the symbol of the entry.
    NoSymbol,
    /// The library uses another major version of the ABI.
    Major(u16),
    /// The library failed, or violates the ABI.
    Failed(Failure),
}

impl From<Failure> for OpenError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The largest number of items or aliases that a library may list.
const MAX_ITEMS: usize = 4096;

/// The longest text that a library may list, in bytes.
const MAX_TEXT: usize = 1 << 20;

static HOST: Host = Host {
    struct_size: size_of::<Host>(),
    abi_major: abi::ABI_MAJOR,
    abi_minor: abi::ABI_MINOR,
    reserved: 0,
    context: std::ptr::null_mut(),
    log: None,
    get_interface: None,
};

// SAFETY: the only shared `Host` is `HOST`, which is never written and whose pointers are NULL.
unsafe impl Sync for Host {}

/// Opens a library from a sealed copy of its bytes in memory, which cannot be changed. Its code runs.
///
/// # Errors
///
/// [`OpenError`]. A library that was opened before the error stays open.
pub(crate) fn open(bytes: &[u8]) -> Result<Contents, OpenError> {
    let Sealed { library, file } = open_sealed(bytes).map_err(OpenError::Loader)?;
    // SAFETY: the name of the symbol determines its type.
    let entry = match unsafe { library.get::<PluginEntry>(abi::ENTRY_SYMBOL.as_bytes()) } {
        Ok(entry) => Ok(*entry),
        Err(_) => Err(without_entry(&library)),
    };
    std::mem::forget((library, file));
    // SAFETY: `entry` belongs to a library that is never closed.
    unsafe { entered(entry?) }
}

/// Returns the reason why a library does not have the entry: it may have the entry of another version.
fn without_entry(library: &libloading::os::unix::Library) -> OpenError {
    let has_symbol = |name: &str| {
        // SAFETY: the symbol is neither called nor read.
        unsafe { library.get::<*const std::ffi::c_void>(name.as_bytes()) }.is_ok()
    };
    let other = abi::OTHER_ENTRY_SYMBOLS.iter().find(|(_, name)| has_symbol(name));
    other.map_or(OpenError::NoSymbol, |(major, _)| OpenError::Major(*major))
}

/// Returns the contents of the library with this entry.
///
/// # Safety
///
/// The library follows the ABI and is never closed.
pub(crate) unsafe fn entered(entry: PluginEntry) -> Result<Contents, OpenError> {
    let mut plugin = std::ptr::null();
    let mut err = EMPTY;
    // SAFETY: as this function requires, and the arguments are those of the ABI.
    unsafe {
        let status = entry(&raw const HOST, &mut plugin, &mut err);
        outcome(status, &mut err)?;
        contents(plugin)
    }
}

/// Reads the contents of a library.
///
/// # Safety
///
/// The entry of a library returned `plugin`.
unsafe fn contents(plugin: *const Plugin) -> Result<Contents, OpenError> {
    // SAFETY: as this function requires. The contents of a library live as long as the program.
    unsafe {
        let plugin = read(plugin)?;
        if plugin.abi_major != abi::ABI_MAJOR {
            return Err(OpenError::Major(plugin.abi_major));
        }
        let name = text(plugin.name)?;
        let version = text(plugin.version)?;
        let origin: Arc<str> = format!("plugin {name} {version}").into();
        let mut items = Vec::new();
        for &item in list(plugin.items, plugin.n_items)? {
            let item = read::<Item>(item)?;
            let name = text(item.name).unwrap_or_default();
            let named = |failure: Failure| match name {
                "" => failure,
                name => Failure::new(failure.status, format!("`{name}`: {}", failure.message)),
            };
            items.extend(functions(&item, &origin).map_err(named)?);
        }
        Ok(Contents {
            abi: (plugin.abi_major, plugin.abi_minor),
            name,
            version,
            license: text(plugin.license)?,
            build: text(plugin.build)?,
            items,
        })
    }
}

/// Reads the identifiers, the description and the functions of an item; `None` if its kind is unknown.
///
/// # Safety
///
/// A library lists the item.
unsafe fn functions(
    item: &Item,
    origin: &Arc<str>,
) -> Result<Option<(Identifiers, About, Functions)>, Failure> {
    // SAFETY: as this function requires. The kind determines the type of the vtable.
    unsafe {
        let functions = match item.kind {
            abi::CODEC => Functions::Codec(Imported::new(item, origin.clone())?),
            abi::MEMORY_LAYOUT => Functions::MemoryLayout(Imported::new(item, origin.clone())?),
            abi::DATA_TYPE => Functions::DataType(Imported::new(item, origin.clone())?),
            abi::CHUNK_GRID => Functions::ChunkGrid(Imported::new(item, origin.clone())?),
            abi::CHUNK_KEY_ENCODING => Functions::ChunkKeyEncoding(Imported::new(item, origin.clone())?),
            abi::METADATA_ENCODING => Functions::MetadataEncoding(Imported::new(item, origin.clone())?),
            abi::STORAGE_TRANSFORMER => Functions::StorageTransformer(Imported::new(item, origin.clone())?),
            abi::STORE => Functions::Store(Imported::new(item, origin.clone())?),
            abi::GENERIC_EXTENSION => Functions::GenericExtension(Imported::new(item, origin.clone())?),
            // A kind of a later version.
            _ => return Ok(None),
        };
        let some = |text: &'static str| (!text.is_empty()).then_some(text);
        let aliases: Result<Vec<&'static str>, Failure> =
            list(item.aliases, item.n_aliases)?.iter().map(|&alias| text(alias)).collect();
        let mut identifiers = Identifiers::default();
        identifiers.uri = some(text(item.uri)?);
        identifiers.name = some(text(item.name)?);
        identifiers.id = some(text(item.id)?);
        identifiers.aliases = aliases?.leak();
        let schemas = text(item.configuration_schema_json)?;
        let about = about(text(item.summary)?, text(item.examples_json)?, schemas)?;
        let decodes_only = matches!(&functions, Functions::Codec(codec) if codec.decodes_only());
        Ok(Some((identifiers, about.with_decodes_only(decodes_only), functions)))
    }
}

/// Returns a text of a library, after a check of its size.
///
/// # Safety
///
/// The text belongs to a library, so it lives as long as the program.
unsafe fn text(text: Str) -> Result<&'static str, Failure> {
    if text.len > MAX_TEXT {
        return Err(Failure::broken(format!("it lists a text of {} bytes", text.len)));
    }
    // SAFETY: as this function requires.
    unsafe { borrowed_text(text) }
}

/// Returns a list of a library, after a check of its length.
///
/// # Safety
///
/// The items belong to a library, so they live as long as the program.
unsafe fn list<T>(items: *const T, len: usize) -> Result<&'static [T], Failure> {
    if len > MAX_ITEMS {
        return Err(Failure::broken(format!("it lists {len} items or aliases; the limit is {MAX_ITEMS}")));
    }
    // SAFETY: as this function requires.
    Ok(unsafe { borrowed_items(items, len) })
}

/// Returns the description of an item from its texts in the library. The examples and the schemas are JSON.
///
/// # Errors
///
/// [`Failure::BROKEN`] if the examples or schemas do not have the form in the header.
pub fn about(
    summary: &'static str,
    examples_json: &'static str,
    schemas_json: &'static str,
) -> Result<About, Failure> {
    with_schemas(About::new(summary, examples(examples_json)?), schemas_json)
}

fn examples(json: &'static str) -> Result<&'static [Example], Failure> {
    if json.is_empty() {
        return Ok(&[]);
    }
    let list = parse(json.as_bytes())?;
    let examples: Option<Vec<Example>> = list.as_array().and_then(|list| list.iter().map(example).collect());
    match examples {
        Some(examples) => Ok(examples.leak()),
        None => Err(Failure::broken("its examples do not have the form in the header")),
    }
}

/// Adds the JSON Schemas of configurations. Ignores formats of later versions.
fn with_schemas(about: About, json: &'static str) -> Result<About, Failure> {
    if json.is_empty() {
        return Ok(about);
    }
    let schemas = parse(json.as_bytes())?;
    let Some(schemas) = schemas.as_object() else {
        return Err(Failure::broken("its schemas do not have the form in the header"));
    };
    let of_format = |format: Format| Some((format, schemas.get(format.name())?));
    let known = Format::ALL.into_iter().filter_map(of_format);
    Ok(known.fold(about, |about, (format, schema)| about.with_schema_text(format, schema.to_string().leak())))
}

fn example(json: &Value) -> Option<Example> {
    let members = json.as_object()?;
    let list = |name: &str| members.get(name).map_or(Some(&[][..]), Value::as_array);
    let name = |name: &Value| -> Option<&'static str> { Some(name.as_str()?.to_owned().leak()) };
    let format: Format = members.get("format")?.as_str()?.parse().ok()?;
    let document: &'static str = members.get("document")?.to_string().leak();
    let data_types: Vec<&'static str> = list("data_types")?.iter().map(name).collect::<Option<_>>()?;
    let shape: Vec<u64> = list("shape")?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    let loss = match members.get("loss") {
        None | Some(Value::Null) => Loss::Nothing,
        Some(Value::String(text)) if text == "unbounded" => Loss::Unbounded,
        Some(Value::Object(bound)) => match (bound.get("absolute"), bound.get("relative")) {
            (Some(bound), None) => Loss::Absolute(bound.as_f64()?),
            (None, Some(bound)) => Loss::Relative(bound.as_f64()?),
            _ => return None,
        },
        Some(_) => return None,
    };
    let example = Example::of(format, document).with_data_types(data_types.leak());
    Some(example.with_shape(shape.leak()).with_loss(loss))
}
