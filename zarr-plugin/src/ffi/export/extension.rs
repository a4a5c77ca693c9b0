//! Generic extensions of this library for its host.

use std::ffi::c_void;

use zarr_spec::extension::{ExtensionPlace, ExtensionPlugin};
use zarr_spec::{Object, Value};

use super::data_type::linked;
use crate::abi::{Buf, Creation, ExtensionVtable};
use crate::ffi::creation::with_creation;
use crate::ffi::{borrowed_items, put};

/// The functions of a generic extension of this library. `context` is an [`ExtensionPlugin`].
pub(crate) static EXTENSIONS: ExtensionVtable =
    ExtensionVtable { struct_size: size_of::<ExtensionVtable>(), create: Some(create_extension) };

callbacks! {
    fn create_extension(
        context: *const c_void,
        creation: *const Creation,
        is_array: u32,
        shape: *const u64,
        rank: usize,
        json: *mut Buf,
    ) {
        let plugin = &*context.cast::<ExtensionPlugin>();
        let place = match is_array {
            0 => ExtensionPlace::EntryPoint,
            _ => ExtensionPlace::Array(borrowed_items(shape, rank)),
        };
        let extension =
            with_creation(creation, linked()?, |creation| Ok((plugin.create)(creation, place)?))?;
        let mut members = Object::new();
        if let Some(names) = extension.dimension_names() {
            let name = |name: &Option<String>| name.as_deref().map_or(Value::Null, Value::from);
            members.insert("dimension_names", names.iter().map(name).collect::<Vec<_>>());
        }
        if let Some(key) = extension.node_index() {
            members.insert("node_index", key);
        }
        put(json, Value::Object(members).to_string().into_bytes());
        Ok(())
    }
}
