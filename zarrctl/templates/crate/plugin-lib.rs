//! Exports what `{{package}}` registers over the C ABI.

use {{crate}} as _;

zarr_plugin::export_plugins!("{{package}}");
