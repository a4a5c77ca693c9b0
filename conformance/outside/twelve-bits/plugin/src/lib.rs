//! Exports the plugins of `outside-twelve-bits` over the C ABI.

use outside_twelve_bits as _;

zarr_plugin::export_plugins!("outside-twelve-bits");
