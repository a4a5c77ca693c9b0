//! Exports the plugins of `outside-hilbert` over the C ABI.

use outside_hilbert as _;

zarr_plugin::export_plugins!("outside-hilbert");
