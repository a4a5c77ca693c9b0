//! The chunk grid `{{name}}`: two chunks along each dimension, the first one larger if the length is odd.

use std::ops::Range;
use std::sync::Arc;

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::{Creation, Example, Identifiers};

zarr_spec::register!(
    ChunkGridPlugin::new(Identifiers::name("{{name}}"), &create)
        .configuration::<NoConfiguration>()
        .about("Halves each dimension.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"name": "{{name}}"}"#).with_shape(&[5, 8])];

/// Two chunks along each dimension.
#[derive(Debug)]
struct Halves {
    array_shape: Vec<u64>,
    grid_shape: Vec<u64>,
}

impl Halves {
    fn length(&self, dimension: usize) -> Result<u64, GridError> {
        let length = self.array_shape.get(dimension).copied();
        length.ok_or_else(|| GridError::OutOfBounds(format!("dimension {dimension} does not exist")))
    }
}

impl ChunkGrid for Halves {
    fn grid_shape(&self) -> &[u64] {
        &self.grid_shape
    }

    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        let length = self.length(dimension)?;
        let middle = length.div_ceil(2);
        match chunk {
            0 if length > 0 => Ok(0..middle),
            1 if length > 1 => Ok(middle..length),
            _ => Err(GridError::OutOfBounds(format!("chunk {chunk} does not exist"))),
        }
    }

    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError> {
        let length = self.length(dimension)?;
        match element < length {
            true => Ok(u64::from(element >= length.div_ceil(2))),
            false => Err(GridError::OutOfBounds(format!("element {element} does not exist"))),
        }
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        None
    }

    fn largest_chunk(&self) -> Vec<u64> {
        self.array_shape.iter().map(|length| length.div_ceil(2)).collect()
    }
}

fn create(creation: &Creation<'_>, shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> {
    let NoConfiguration {} = creation.parse()?;
    let chunks = |length: &u64| (*length).min(2);
    Ok(Arc::new(Halves { array_shape: shape.to_vec(), grid_shape: shape.iter().map(chunks).collect() }))
}
