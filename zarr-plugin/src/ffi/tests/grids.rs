//! Chunk grids with padding, and tables of older versions.

use std::ops::Range;
use std::sync::Arc;

use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::{Identifiers, Value, inventory};

use super::creating;
use crate::abi;
use crate::ffi::export::grid::CHUNK_GRIDS;
use crate::ffi::import::Imported;
use crate::ffi::lend;

zarr_spec::register!(ChunkGridPlugin::new(Identifiers::name("test.padded"), &|_, _| Ok(Arc::new(Padded))));

/// Two chunks of three elements; the second one is stored at a length of five.
#[derive(Debug)]
struct Padded;

impl ChunkGrid for Padded {
    fn grid_shape(&self) -> &[u64] {
        &[2]
    }

    fn chunk_range(&self, _: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        Ok(3 * chunk..3 * chunk + 3)
    }

    fn chunk_of(&self, _: usize, element: u64) -> Result<u64, GridError> {
        Ok(element / 3)
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        None
    }

    fn largest_chunk(&self) -> Vec<u64> {
        vec![5]
    }

    fn padding(&self, _: usize, chunk: u64) -> Result<u64, GridError> {
        Ok(2 * chunk)
    }
}

/// The size of the table in version 2.2, which does not have `padding`.
const SIZE_IN_2_2: usize = 64;

/// Returns the grid of a table of this size.
fn grid(struct_size: usize) -> Arc<dyn ChunkGrid> {
    let vtable = abi::ChunkGridVtable { struct_size, ..CHUNK_GRIDS };
    let plugin = inventory::iter::<ChunkGridPlugin>().find(|it| it.identifiers.name == Some("test.padded"));
    let item = abi::Item {
        struct_size: size_of::<abi::Item>(),
        kind: abi::CHUNK_GRID,
        reserved: 0,
        context: std::ptr::from_ref(plugin.unwrap()).cast(),
        uri: lend(b""),
        name: lend(b"test.padded"),
        id: lend(b""),
        aliases: std::ptr::null(),
        n_aliases: 0,
        summary: lend(b""),
        examples_json: lend(b""),
        vtable: std::ptr::from_ref(&vtable).cast(),
        configuration_schema_json: lend(b""),
    };
    // SAFETY: the item has the layout of the ABI, and its texts are static. The table is copied.
    let imported = unsafe { Imported::<abi::ChunkGridVtable>::new(&item, Arc::from("plugin old 1.0.0")) };
    let imported = imported.unwrap();
    creating(&Value::Null, |creation| imported.create(creation, &[6])).0.unwrap()
}

#[test]
fn a_library_of_version_2_2_has_no_padding() {
    for (size, padding) in [(size_of::<abi::ChunkGridVtable>(), [0, 2]), (SIZE_IN_2_2, [0, 0])] {
        let grid = grid(size);
        assert_eq!([0, 1].map(|chunk| grid.padding(0, chunk).unwrap()), padding);
        assert_eq!(grid.chunk_range(0, 1).unwrap(), 3..6);
        assert!(grid.moved(&[0]).unwrap().is_none());
    }
}
