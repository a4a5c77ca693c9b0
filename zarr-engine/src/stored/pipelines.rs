//! Planning the chunks of a selection, and the codec pipelines that decode and encode them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, OnceLock};

use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::pipeline::Pipeline;
use zarr_spec::{Registry, Value};

use super::StoredArray;
use crate::error::Error;
use crate::per_dimension::PerDimension;
use crate::plan::{Piece, Plan};
use crate::selection::ElementSelection;
use crate::unpoisoned::Unpoisoned;

/// Maximum number of cached pipelines for uncommon chunk shapes. In some grids, every chunk has a different shape.
const CACHED_PIPELINES: usize = 256;

/// Pipelines by chunk shape. The pipeline of the most common shape is read without a lock.
#[derive(Debug, Default)]
pub(super) struct Pipelines {
    common: OnceLock<Arc<Pipeline>>,
    others: Mutex<HashMap<Vec<u64>, Arc<Pipeline>>>,
    decoding: OnceLock<Arc<str>>,
}

impl StoredArray {
    /// Plans which chunks hold the elements. Fails if the grid does not have an element, or there are too many chunks.
    pub(crate) fn plan<'s>(&'s self, wanted: &'s ElementSelection) -> Result<Plan<'s>, Error> {
        let axes = (0..self.metadata.shape.len()).map(|dimension| self.resolved.grid.axis(dimension));
        Ok(match wanted {
            ElementSelection::Box { runs, .. } => Plan::new(axes.zip(runs))?,
            ElementSelection::Points(points) => Plan::of_points(axes.collect(), points)?,
        })
    }

    pub(crate) fn pipeline_of(&self, index: &[u64], piece: &Piece<'_>) -> Result<Arc<Pipeline>, Error> {
        let extents = piece.extents()?;
        let mut shape = PerDimension::new(extents.len(), 0);
        for (length, extent) in shape.iter_mut().zip(&*extents) {
            *length = extent.length;
        }
        self.pipeline(index, &shape)
    }

    /// Returns the pipeline of the chunk at `index`, which has this shape. Fails if a codec does not support the shape.
    pub(crate) fn pipeline(&self, index: &[u64], shape: &[u64]) -> Result<Arc<Pipeline>, Error> {
        let resolve = || {
            let chunk = self.resolved.chunk.clone().with_shape(shape.to_vec());
            let pipeline = self.resolved.chain.resolve(&chunk);
            pipeline.map(Arc::new).map_err(|error| self.chunk_error(index, error))
        };
        let Pipelines { common, others, .. } = &self.pipelines;
        if shape == self.resolved.chunk.shape {
            if let Some(pipeline) = common.get() {
                return Ok(Arc::clone(pipeline));
            }
            let pipeline = resolve()?;
            return Ok(Arc::clone(common.get_or_init(|| pipeline)));
        }
        let mut others = others.lock().unpoisoned();
        if let Some(pipeline) = others.get(shape) {
            return Ok(Arc::clone(pipeline));
        }
        let pipeline = resolve()?;
        if others.len() == CACHED_PIPELINES {
            others.clear();
        }
        others.insert(shape.to_vec(), Arc::clone(&pipeline));
        Ok(pipeline)
    }

    /// Returns a description of everything, besides the stored bytes, on which decoded chunks depend. Arrays with equal
    /// descriptions share cached chunks.
    pub(crate) fn decoding(&self) -> &Arc<str> {
        self.pipelines.decoding.get_or_init(|| self.described_decoding().to_string().into())
    }

    fn described_decoding(&self) -> Value {
        let Self { metadata, context, resolved, .. } = self;
        let documents = |documents: &[ExtensionDocument]| documents.iter().map(described).collect::<Value>();
        // If all chunks have the same shape, their elements do not depend on the shape of the array.
        let shape = if resolved.grid.chunk_shape().is_some() { &[][..] } else { &metadata.shape };
        let parts = [
            Value::from(metadata.format.to_string()),
            context.mode.name().into(),
            plugins(&context.registry).into(),
            resolved.fallback.as_ref().map_or(Value::Null, |fallback| fallback.used.as_str().into()),
            shape.iter().copied().collect(),
            metadata.data_type.identifier.as_str().into(),
            metadata.data_type.json.clone(),
            metadata.data_type.configuration.clone(),
            metadata.fill_value.clone(),
            described(&metadata.chunk_grid),
            described(&metadata.chunk_key_encoding),
            metadata.memory_layout.as_ref().map_or(Value::Null, described),
            documents(&metadata.codecs),
            metadata.has_compressor.into(),
            documents(&metadata.storage_transformers),
            documents(&metadata.extensions),
        ];
        parts.into_iter().collect()
    }
}

fn described(document: &ExtensionDocument) -> Value {
    let ExtensionDocument { identifier, configuration, type_name, .. } = document;
    let type_name = type_name.clone().unwrap_or(Value::Null);
    [identifier.as_str().into(), configuration.clone(), type_name].into_iter().collect()
}

/// Returns a hash of the plugins. It distinguishes registries whose plugins have the same names.
fn plugins(registry: &Registry) -> u64 {
    let mut hasher = DefaultHasher::new();
    registry.codecs().iter().for_each(|plugin| std::ptr::hash(plugin.create, &mut hasher));
    registry.data_types().iter().for_each(|plugin| std::ptr::hash(plugin.create, &mut hasher));
    registry.chunk_grids().iter().for_each(|plugin| std::ptr::hash(plugin.create, &mut hasher));
    registry.memory_layouts().iter().for_each(|plugin| std::ptr::hash(plugin.create, &mut hasher));
    registry.storage_transformers().iter().for_each(|plugin| std::ptr::hash(plugin.create, &mut hasher));
    hasher.finish()
}
