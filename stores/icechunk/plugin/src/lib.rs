//! Exports the Icechunk store over the C ABI.

use zarr_store_icechunk as _;

zarr_plugin::export_plugins!("icechunk");
