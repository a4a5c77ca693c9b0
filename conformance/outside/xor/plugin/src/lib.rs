//! Exports the plugins of `outside-xor` over the C ABI.

use outside_xor as _;

zarr_plugin::export_plugins!("outside-xor");
