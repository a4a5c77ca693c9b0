//! Exports what `outside-sqlite` registers over the C ABI.

use outside_sqlite as _;

zarr_plugin::export_plugins!("outside-sqlite");
