//! Exports the plugins of `outside-months` over the C ABI.

use outside_months as _;

zarr_plugin::export_plugins!("outside-months");
