//! Opening a library and reading what it has. It stays open as long as the program: destructors of its threads may run
//! at any time.

use std::sync::Arc;

use zarr_spec::{About, Example, Format, Identifiers, Loss, Value};

use super::import::Imported;
use super::system::{Sealed, open_sealed};
use super::{EMPTY, Failure, borrowed_items, borrowed_text, outcome, parse, read};
use crate::abi::{self, Host, Item, Plugin, PluginEntry, Str};

/// The functions of one item, by what it is.
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
}

/// What an open library says it has. Its texts stay as long as it.
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
    /// The system's loader refuses it.
    Loader(String),
    /// It does not export the symbol.
    NoSymbol,
    /// Another major version of the ABI.
    Major(u16),
    /// It failed, or does not keep to the ABI.
    Failed(Failure),
}

impl From<Failure> for OpenError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The most of anything that a library may list.
const MAX_ITEMS: usize = 4096;

/// The longest text that a library may say of itself, in bytes.
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

// SAFETY: it is never written to, and its pointers are NULL.
unsafe impl Sync for Host {}

/// Opens the library that these bytes are: a sealed copy in memory, which nobody can change any more. Its code runs.
///
/// # Errors
///
/// [`OpenError`]. What was opened before something went wrong stays open.
pub(crate) fn open(bytes: &[u8]) -> Result<Contents, OpenError> {
    let Sealed { library, file } = open_sealed(bytes).map_err(OpenError::Loader)?;
    // SAFETY: the name of the symbol says what it is.
    let entry = match unsafe { library.get::<PluginEntry>(abi::ENTRY_SYMBOL.as_bytes()) } {
        Ok(entry) => *entry,
        Err(_) => {
            std::mem::forget((library, file));
            return Err(OpenError::NoSymbol);
        }
    };
    std::mem::forget((library, file));
    // SAFETY: it is the entry of a library that stays open.
    unsafe { entered(entry) }
}

/// What the library says it has whose entry this is.
///
/// # Safety
///
/// The library keeps to the ABI, and stays.
pub(crate) unsafe fn entered(entry: PluginEntry) -> Result<Contents, OpenError> {
    let mut plugin = std::ptr::null();
    let mut err = EMPTY;
    // SAFETY: as this function asks: the entry is called with what the ABI has for it.
    unsafe {
        let status = entry(&raw const HOST, &mut plugin, &mut err);
        outcome(status, &mut err)?;
        contents(plugin)
    }
}

/// # Safety
///
/// `plugin` is what the entry of a library has left.
unsafe fn contents(plugin: *const Plugin) -> Result<Contents, OpenError> {
    // SAFETY: as this function asks; all that a library lists stays.
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

/// # Safety
///
/// A library lists the item. Kinds of later versions are passed over.
unsafe fn functions(
    item: &Item,
    origin: &Arc<str>,
) -> Result<Option<(Identifiers, About, Functions)>, Failure> {
    // SAFETY: as this function asks; the kind says what the vtable is.
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
            _ => return Ok(None),
        };
        let some = |text: &'static str| (!text.is_empty()).then_some(text);
        let aliases: Result<Vec<&'static str>, Failure> =
            list(item.aliases, item.n_aliases)?.iter().map(|&alias| text(alias)).collect();
        let identifiers = Identifiers {
            uri: some(text(item.uri)?),
            name: some(text(item.name)?),
            id: some(text(item.id)?),
            aliases: aliases?.leak(),
        };
        let about = About::new(text(item.summary)?, examples(text(item.examples_json)?)?);
        let about = with_schemas(about, text(item.configuration_schema_json)?)?;
        Ok(Some((identifiers, about, functions)))
    }
}

/// # Safety
///
/// A library lists it, and so it stays.
unsafe fn text(text: Str) -> Result<&'static str, Failure> {
    if text.len > MAX_TEXT {
        return Err(Failure::broken(format!("it lists a text of {} bytes", text.len)));
    }
    // SAFETY: as this function asks.
    unsafe { borrowed_text(text) }
}

/// # Safety
///
/// A library lists them, and so they stay.
unsafe fn list<T>(items: *const T, len: usize) -> Result<&'static [T], Failure> {
    if len > MAX_ITEMS {
        return Err(Failure::broken(format!("it lists {len} of something, and {MAX_ITEMS} is the most")));
    }
    // SAFETY: as this function asks.
    Ok(unsafe { borrowed_items(items, len) })
}

fn examples(json: &'static str) -> Result<&'static [Example], Failure> {
    if json.is_empty() {
        return Ok(&[]);
    }
    let list = parse(json.as_bytes())?;
    let examples: Option<Vec<Example>> = list.as_array().and_then(|list| list.iter().map(example).collect());
    match examples {
        Some(examples) => Ok(examples.leak()),
        None => Err(Failure::broken("its examples are not as the header has them")),
    }
}

/// Formats of later versions are passed over.
fn with_schemas(about: About, json: &'static str) -> Result<About, Failure> {
    if json.is_empty() {
        return Ok(about);
    }
    let schemas = parse(json.as_bytes())?;
    let Some(schemas) = schemas.as_object() else {
        return Err(Failure::broken("its schemas are not as the header has them"));
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
    Some(Example { format, document, data_types: data_types.leak(), shape: shape.leak(), loss })
}
