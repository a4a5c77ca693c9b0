//! Exports the plugins of `outside-sqlite` over the C ABI.

use outside_sqlite as _;

zarr_plugin::export_plugins!("outside-sqlite");
