//! The contracts of plugins for Zarr v2, the v3 draft and v3. This crate does not perform I/O or contain plugins.
//!
//! A plugin crate implements one of these traits and [`register!`]s it. Every program that links the crate knows the
//! plugin.
//!
//! | extension point | trait or value | registered as |
//! |---|---|---|
//! | codec | [`Codec`] and the traits in [`codec`] | [`CodecPlugin`] |
//! | data type | [`DataType`] | [`DataTypePlugin`] |
//! | chunk grid | [`grid::ChunkGrid`] | [`grid::ChunkGridPlugin`] |
//! | chunk key encoding | [`key_encoding::ChunkKeyEncoding`] | [`key_encoding::ChunkKeyEncodingPlugin`] |
//! | chunk memory layout | [`Codec`] | [`layout::MemoryLayoutPlugin`] |
//! | metadata encoding | [`metadata_encoding::MetadataEncoding`] | [`metadata_encoding::MetadataEncodingPlugin`] |
//! | storage transformer | [`transformer::StorageTransformer`] | [`transformer::StorageTransformerPlugin`] |
//! | generic extension | [`extension::Extension`] | [`extension::ExtensionPlugin`] |
//! | store | [`store::Store`] | [`store::StorePlugin`], [`store::StoreConfiguration`] |
//!
//! `zarr-plugin-kit` has helpers for plugins. [`host`] contains the items that only programs need, to read
//! and write hierarchies.
//!
//! # Example
//!
//! A codec crate:
//!
//! ```
//! use std::sync::Arc;
//!
//! use zarr_spec::codec::{BytesToBytesCodec, Codec, CodecPlugin, CodecResult};
//! use zarr_spec::{Creation, Example, Identifiers, Output, Representation};
//!
//! zarr_spec::register!(
//!     CodecPlugin::new(Identifiers::name("example.xor"), &create)
//!         .configuration::<Xor>()
//!         .about("Combines each byte with a key by exclusive or.", EXAMPLES)
//! );
//!
//! const EXAMPLES: &[Example] =
//!     &[Example::v3(r#"{"name": "example.xor", "configuration": {"key": 170}}"#)];
//!
//! #[derive(Debug, serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Xor {
//!     key: u8,
//! }
//!
//! impl BytesToBytesCodec for Xor {
//!     fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
//!         decoded.iter().try_for_each(|byte| Ok(encoded.put(&[byte ^ self.key])?))
//!     }
//!
//!     fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
//!         self.encode(encoded, decoded)
//!     }
//! }
//!
//! fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
//!     Ok(Codec::BytesToBytes(Arc::new(creation.parse::<Xor>()?)))
//! }
//! # fn main() {
//! # let registry = zarr_spec::Registry::linked().unwrap();
//! # assert_eq!(registry.codecs().iter().map(|codec| codec.identifiers.name).collect::<Vec<_>>(), [Some("example.xor")]);
//! # }
//! ```

pub mod about;
pub mod codec;
mod creation;
pub mod data_type;
pub mod extension;
pub mod format;
pub mod grid;
pub mod host;
pub mod key;
pub mod key_encoding;
pub mod layout;
pub mod metadata_encoding;
pub mod output;
pub mod path;
pub mod plugin;
pub mod pool;
pub mod representation;
pub mod store;
pub mod subset;
pub mod transformer;

// The attributes and macros for registration expand to paths in these crates.
#[doc(hidden)]
pub use inventory;
#[doc(hidden)]
pub use typetag;

pub use about::{About, Example, Loss};
pub use bytes::Bytes;
pub use codec::{Codec, CodecError, CodecPlugin, CodecResult};
pub use creation::{Creation, Resolve};
pub use data_type::{DataType, DataTypeError, DataTypePlugin, DataTypeResult};
pub use format::{Format, Invalid, Mode, Reading};
pub use host::chain::{ChainError, CodecChain};
pub use host::registry::Registry;
pub use key::{ByteRange, Key, KeyError, Prefix};
pub use output::{Buffer, LimitExceeded, Output};
pub use path::NodePath;
pub use plugin::{Identifiers, Origin, Plugin};
pub use pool::Pool;
pub use representation::{
    ArrayRepresentation, ByteOrder, Elements, FillValue, Representation, Size, Unit, Units,
};
pub use subset::ArraySubset;
pub use zarr_json::{Number, Object, Value, counted, json, printable, printable_path};

/// The start of the URIs of this project's extensions. It does not resolve yet.
pub const OWN_URI_BASE: &str = "https://zarr-kit.example/spec";

/// An error of any library that a plugin uses.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;
