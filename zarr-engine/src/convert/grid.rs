//! Conversion of chunk grids between formats.

use std::sync::Arc;

use zarr_spec::extension::ExtensionDocument;
use zarr_spec::grid::ChunkGrid;
use zarr_spec::host::registry::split_version;
use zarr_spec::{Creation, Format, Value};

use super::Conversion;
use super::members::{invalid, not_in_format, unknown};
use crate::error::Error;

impl Conversion<'_> {
    pub(super) fn grid(&self) -> Result<Arc<dyn ChunkGrid>, Error> {
        let document = &self.source.chunk_grid;
        let plugin = self.registry.chunk_grids().find(self.source.format, &document.identifier, self.reading);
        let plugin = plugin.map_err(|error| unknown("chunk_grid", error))?;
        let grid = (plugin.create)(&self.creation(document), &self.source.shape);
        grid.map_err(|error| invalid("chunk_grid", error))
    }

    pub(super) fn largest_chunk(&self) -> Result<Vec<u64>, Error> {
        // In the draft, a chunk may have length 0 along a dimension of length 0. The copy has chunks of length 1 there.
        Ok(self.grid()?.largest_chunk().iter().map(|&length| length.max(1)).collect())
    }

    /// Returns the document of the same grid in the target format, if the format supports the grid. Every format
    /// supports the regular grid.
    pub(super) fn kept_grid(&self) -> Option<ExtensionDocument> {
        let Self { source, target, registry, reading } = *self;
        let document = &source.chunk_grid;
        let plugin = registry.chunk_grids().find(source.format, &document.identifier, reading).ok()?;
        let identifiers = &plugin.identifiers;
        if identifiers.id.is_some() || target == Format::V2 {
            return None;
        }
        // v3 allows a URI as a name.
        let identifier = identifiers.in_format(target).or(identifiers.uri)?;
        let type_name = (target == Format::V3Draft)
            .then(|| type_name(document, identifiers.name.unwrap_or_default(), identifier));
        let kept =
            ExtensionDocument::new(identifier, document.configuration.clone()).with_type_name(type_name);
        let made = (plugin.create)(&Creation::of(&kept, target, registry, reading), &source.shape);
        let before = self.grid().ok()?;
        let is_same = made.ok()?.grid_shape() == before.grid_shape();
        is_same.then_some(kept)
    }

    pub(super) fn no_such_grid(&self) -> Error {
        let name = &self.source.chunk_grid.identifier;
        not_in_format(self.target, format!("chunk grid `{name}`, whose chunks do not have one shape"))
    }
}

/// Returns the `type` of an extension grid in the draft: the type in the document, else the name of the plugin, else
/// the last part of the URI.
fn type_name(document: &ExtensionDocument, name: &str, uri: &str) -> Value {
    let last = split_version(uri).and_then(|(path, _)| path.rsplit('/').next()).unwrap_or_default();
    let own = Value::from(if name.is_empty() { last } else { name });
    document.type_name.clone().unwrap_or(own)
}
