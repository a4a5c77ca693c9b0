//! A plugin of every kind, as a third party would write it.

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

zarr_plugin::export_plugins!("kinds-rust");
