//! All plugins of the workspace as one library that is loaded at run time, for tests of the C ABI.

use zarr_kit as _;

zarr_plugin::export_plugins!();
