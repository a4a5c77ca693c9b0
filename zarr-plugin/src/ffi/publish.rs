//! Publishes all plugins that a library links.

use std::ffi::c_void;
use std::sync::OnceLock;

use zarr_spec::extension::ExtensionPlugin;
use zarr_spec::grid::ChunkGridPlugin;
use zarr_spec::key_encoding::ChunkKeyEncodingPlugin;
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::metadata_encoding::MetadataEncodingPlugin;
use zarr_spec::store::StorePlugin;
use zarr_spec::transformer::StorageTransformerPlugin;
use zarr_spec::{
    CodecPlugin, DataTypePlugin, Example, Format, Identifiers, Loss, Object, Value, inventory, json,
};

use super::export::codec::{CODECS, CODECS_THAT_DECODE};
use super::export::data_type::SHOWN;
use super::export::extension::EXTENSIONS;
use super::export::grid::CHUNK_GRIDS;
use super::export::key_encoding::CHUNK_KEY_ENCODINGS;
use super::export::layout::MEMORY_LAYOUTS;
use super::export::metadata_encoding::METADATA_ENCODINGS;
use super::export::store::STORES;
use super::export::transformer::STORAGE_TRANSFORMERS;
use super::{Failure, guarded, lend, parse, read};
use crate::abi::{self, Buf, Host, Item, Plugin, Str};

/// The contents of a library. They live as long as the library.
struct Published(Plugin);

// SAFETY: the contents are never changed, and the memory that they refer to is never freed.
unsafe impl Send for Published {}
// SAFETY: as for `Send`.
unsafe impl Sync for Published {}

/// Sets `out` to the contents of this library. `about` is its name, version and license.
///
/// # Safety
///
/// `host` is valid, `out` and `err` are writable.
pub unsafe fn publish(
    about: [&'static str; 3],
    host: *const Host,
    out: *mut *const Plugin,
    err: *mut Buf,
) -> i32 {
    static PUBLISHED: OnceLock<Published> = OnceLock::new();
    // SAFETY: as this function requires.
    unsafe {
        guarded(err, || {
            let host = read(host)?;
            if host.abi_major != abi::ABI_MAJOR {
                let ours = abi::ABI_MAJOR;
                let theirs = host.abi_major;
                let what =
                    format!("the host uses version {theirs} of the plugin ABI, expected version {ours}");
                return Err(Failure::new(abi::UNSUPPORTED, what));
            }
            out.write(&PUBLISHED.get_or_init(|| Published(table(about))).0);
            Ok(())
        })
    }
}

fn table([name, version, license]: [&'static str; 3]) -> Plugin {
    let mut items: Vec<*const Item> = Vec::new();
    macro_rules! publish {
        ($($plugin:ty, $kind:ident, $vtable:expr;)*) => {$(
            for plugin in inventory::iter::<$plugin> {
                items.push(item(plugin, &plugin.identifiers, &plugin.about, abi::$kind, std::ptr::from_ref($vtable).cast()));
            }
        )*};
    }
    for plugin in inventory::iter::<CodecPlugin> {
        let vtable = if plugin.about.decodes_only { &CODECS_THAT_DECODE } else { &CODECS };
        let vtable = std::ptr::from_ref(vtable).cast();
        items.push(item(plugin, &plugin.identifiers, &plugin.about, abi::CODEC, vtable));
    }
    publish! {
        DataTypePlugin, DATA_TYPE, &SHOWN;
        ChunkGridPlugin, CHUNK_GRID, &CHUNK_GRIDS;
        ChunkKeyEncodingPlugin, CHUNK_KEY_ENCODING, &CHUNK_KEY_ENCODINGS;
        MemoryLayoutPlugin, MEMORY_LAYOUT, &MEMORY_LAYOUTS;
        MetadataEncodingPlugin, METADATA_ENCODING, &METADATA_ENCODINGS;
        StorageTransformerPlugin, STORAGE_TRANSFORMER, &STORAGE_TRANSFORMERS;
        ExtensionPlugin, GENERIC_EXTENSION, &EXTENSIONS;
    }
    for plugin in inventory::iter::<StorePlugin> {
        let schemes = plugin.schemes.iter().map(|scheme| &*format!("{scheme}:").leak());
        let identifiers = Identifiers::name(plugin.name).with_aliases(schemes.collect::<Vec<_>>().leak());
        items.push(item(plugin, &identifiers, &plugin.about, abi::STORE, std::ptr::from_ref(&STORES).cast()));
    }
    let items: &'static [*const Item] = items.leak();
    Plugin {
        struct_size: size_of::<Plugin>(),
        abi_major: abi::ABI_MAJOR,
        abi_minor: abi::ABI_MINOR,
        reserved: 0,
        name: lend(name.as_bytes()),
        version: lend(version.as_bytes()),
        license: lend(license.as_bytes()),
        build: lend(concat!("zarr-plugin ", env!("CARGO_PKG_VERSION")).as_bytes()),
        items: items.as_ptr(),
        n_items: items.len(),
    }
}

fn item<P>(
    plugin: &'static P,
    identifiers: &Identifiers,
    about: &zarr_spec::About,
    kind: u32,
    vtable: *const c_void,
) -> *const Item {
    let aliases: &'static [Str] =
        identifiers.aliases.iter().map(|alias| lend(alias.as_bytes())).collect::<Vec<_>>().leak();
    let examples: Value = about.examples.iter().filter_map(example_json).collect();
    let examples: &'static str = examples.to_string().leak();
    let is_named = |format: &Format| identifiers.in_format(*format).is_some();
    let schema = |format: Format| Some((format.name().to_owned(), about.configuration_schema(format)?));
    let schemas: Object = Format::ALL.into_iter().filter(is_named).filter_map(schema).collect();
    let schemas: &'static str = Value::Object(schemas).to_string().leak();
    let text = |text: Option<&'static str>| lend(text.unwrap_or("").as_bytes());
    Box::leak(Box::new(Item {
        struct_size: size_of::<Item>(),
        kind,
        reserved: 0,
        context: std::ptr::from_ref(plugin).cast(),
        uri: text(identifiers.uri),
        name: text(identifiers.name),
        id: text(identifiers.id),
        aliases: aliases.as_ptr(),
        n_aliases: aliases.len(),
        summary: text(Some(about.summary)),
        examples_json: lend(examples.as_bytes()),
        vtable,
        configuration_schema_json: lend(schemas.as_bytes()),
    }))
}

/// Returns an example as JSON, or `None` if its document is not JSON. The conformance suite of the crate reports such a
/// document.
fn example_json(example: &Example) -> Option<Value> {
    let format = match example.format {
        Format::V2 => "v2",
        Format::V3Draft => "v3-draft",
        Format::V3 => "v3",
    };
    let number = |number: f64| zarr_spec::Number::from_f64(number).map_or(Value::Null, Value::Number);
    let loss = match example.loss {
        Loss::Nothing => Value::Null,
        Loss::Absolute(bound) => json!({"absolute": (number(bound))}),
        Loss::Relative(bound) => json!({"relative": (number(bound))}),
        Loss::Unbounded => Value::from("unbounded"),
    };
    let mut members = Object::new();
    members.insert("format", format);
    members.insert("document", parse(example.document.as_bytes()).ok()?);
    members.insert("data_types", example.data_types.iter().copied().collect::<Value>());
    members.insert("shape", example.shape.iter().copied().collect::<Value>());
    members.insert("loss", loss);
    Some(Value::Object(members))
}
