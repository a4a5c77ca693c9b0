//! A plugin of every kind, built once with version 1.0 of the ABI. See README.md.

mod codec;
mod dtype;
mod extension;
mod grid;
mod key_encoding;
mod layout;
mod metadata_encoding;
mod pack;
mod store;
mod transformer;

zarr_plugin::export_plugins!("abi-1-0-rust");
