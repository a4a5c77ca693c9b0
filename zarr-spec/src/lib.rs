//! What the Zarr formats are made of: terms, metadata documents, extension points, the codec chain and the
//! registry of plugins. It does no I/O and holds no plugin.
//!
//! A plugin crate depends on this crate alone: it implements one of the traits and [`register!`]s it.
//!
//! | extension point | trait or value | registered as |
//! |---|---|---|
//! | codec | [`codec::Codec`] and its kinds | [`codec::CodecPlugin`] |
//! | data type | [`data_type::DataType`] | [`data_type::DataTypePlugin`] |
//! | chunk grid | [`grid::ChunkGrid`] | [`grid::ChunkGridPlugin`] |
//! | chunk key encoding | [`key_encoding::ChunkKeyEncoding`] | [`key_encoding::ChunkKeyEncodingPlugin`] |
//! | chunk memory layout | [`codec::Codec`] | [`layout::MemoryLayoutPlugin`] |
//! | metadata encoding | [`metadata_encoding::MetadataEncoding`] | [`metadata_encoding::MetadataEncodingPlugin`] |
//! | storage transformer | [`transformer::StorageTransformer`] | [`transformer::StorageTransformerPlugin`] |
//! | generic extension | [`extension::Extension`] | [`extension::ExtensionPlugin`] |
//! | store | [`store::Store`] | [`store::StorePlugin`], [`store::StoreConfiguration`] |

pub mod about;
pub mod chain;
pub mod codec;
pub mod data_type;
pub mod extension;
pub mod format;
pub mod grid;
pub mod key;
pub mod key_encoding;
pub mod layout;
pub mod metadata;
pub mod metadata_encoding;
pub mod output;
pub mod path;
pub mod pipeline;
pub mod plugin;
pub mod pool;
pub mod registry;
pub mod representation;
pub mod store;
pub mod subset;
pub mod transformer;

pub use inventory;
pub use typetag;

pub use about::{About, Example, Loss};
pub use bytes::Bytes;
pub use chain::{ChainError, CodecChain};
pub use codec::{Codec, CodecError, CodecPlugin};
pub use data_type::{DataType, DataTypeError, DataTypePlugin};
pub use format::{Format, Invalid, Mode, Reading};
pub use key::{ByteRange, Key, KeyError, Prefix};
pub use output::{Buffer, LimitExceeded, Output};
pub use path::NodePath;
pub use plugin::{Creation, Identifiers, Origin};
pub use pool::Pool;
pub use registry::Registry;
pub use representation::{
    ArrayRepresentation, ByteOrder, Elements, FillValue, Representation, Size, Unit, Units,
};
pub use subset::ArraySubset;
pub use zarr_json::{Number, Object, Value, json, printable, printable_path};

/// Where the URIs of this project's own extensions begin. It does not resolve yet.
pub const OWN_URI_BASE: &str = "https://zarr-kit.example/spec";

/// An error of whatever library a plugin is built on.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;
