//! Exports the plugins of `{{package}}` over the C ABI.

use {{crate}} as _;

zarr_plugin::export_plugins!("{{package}}");
