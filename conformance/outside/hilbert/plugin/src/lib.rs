//! Exports what `outside-hilbert` registers over the C ABI.

use outside_hilbert as _;

zarr_plugin::export_plugins!("outside-hilbert");
