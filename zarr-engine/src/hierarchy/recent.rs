//! What was made for arrays that were opened or created lately: others of the same description share it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use zarr_metadata::ArrayMetadata;
use zarr_spec::Object;

use crate::context::ArrayOptions;
use crate::resolve::Resolved;

/// Descriptions to remember: the arrays of one hierarchy are mostly of few kinds.
const MOST: usize = 4;

/// Data types, grids, codecs by the metadata that they were created from. Nothing that is created depends on anything
/// else, and nothing of it is changed by use.
#[derive(Debug, Default)]
pub(super) struct Recent(RwLock<VecDeque<Described>>);

#[derive(Debug)]
struct Described {
    /// Without attributes and members that were ignored.
    metadata: ArrayMetadata,
    options: ArrayOptions,
    resolved: Arc<Resolved>,
}

impl Recent {
    /// What an array with this description was made of.
    pub(super) fn find(&self, metadata: &ArrayMetadata, options: ArrayOptions) -> Option<Arc<Resolved>> {
        let recent = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found =
            recent.iter().find(|recent| recent.options == options && alike(&recent.metadata, metadata))?;
        Some(Arc::clone(&found.resolved))
    }

    /// Remembers what an array was made of. A transformer is around the chunks of one array alone.
    pub(super) fn keep(&self, metadata: &ArrayMetadata, options: ArrayOptions, resolved: &Arc<Resolved>) {
        if !metadata.storage_transformers.is_empty() {
            return;
        }
        let metadata = ArrayMetadata {
            format: metadata.format,
            shape: metadata.shape.clone(),
            data_type: metadata.data_type.clone(),
            chunk_grid: metadata.chunk_grid.clone(),
            chunk_key_encoding: metadata.chunk_key_encoding.clone(),
            memory_layout: metadata.memory_layout.clone(),
            fill_value: metadata.fill_value.clone(),
            codecs: metadata.codecs.clone(),
            has_compressor: metadata.has_compressor,
            storage_transformers: Vec::new(),
            attributes: Object::new(),
            dimension_names: metadata.dimension_names.clone(),
            extensions: metadata.extensions.clone(),
            ignored: Object::new(),
        };
        let mut recent = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= MOST {
            recent.pop_back();
        }
        recent.push_front(Described { metadata, options, resolved: Arc::clone(resolved) });
    }
}

/// The last of what was made, and from what.
#[derive(Debug)]
pub(super) struct Last<K, V>(Mutex<Option<(K, V)>>);

impl<K, V> Default for Last<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone, V: Clone> Last<K, V> {
    /// What `make` makes of `key`, or made of the last one if that was the same.
    ///
    /// # Errors
    ///
    /// Those of `make`, of which nothing is kept.
    pub(super) fn get_or_make<E>(
        &self,
        key: &K,
        is_same: impl FnOnce(&K, &K) -> bool,
        make: impl FnOnce(&K) -> Result<V, E>,
    ) -> Result<V, E> {
        if let Some((last, made)) = &*self.lock()
            && is_same(last, key)
        {
            return Ok(made.clone());
        }
        // Plugins work without the lock.
        let made = make(key)?;
        *self.lock() = Some((key.clone(), made.clone()));
        Ok(made)
    }

    fn lock(&self) -> MutexGuard<'_, Option<(K, V)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the same is made from both.
fn alike(one: &ArrayMetadata, other: &ArrayMetadata) -> bool {
    // Each by its name, so that a member that is new cannot be forgotten.
    let ArrayMetadata {
        format,
        shape,
        data_type,
        chunk_grid,
        chunk_key_encoding,
        memory_layout,
        fill_value,
        codecs,
        has_compressor,
        storage_transformers,
        attributes: _,
        dimension_names,
        extensions,
        ignored: _,
    } = one;
    *shape == other.shape
        && *format == other.format
        && *data_type == other.data_type
        && *chunk_grid == other.chunk_grid
        && *fill_value == other.fill_value
        && *codecs == other.codecs
        && *has_compressor == other.has_compressor
        && *chunk_key_encoding == other.chunk_key_encoding
        && *memory_layout == other.memory_layout
        && *dimension_names == other.dimension_names
        && *extensions == other.extensions
        && *storage_transformers == other.storage_transformers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_last_is_made_once() {
        let (last, mut calls) = (Last::default(), 0);
        let mut of = |key: i32| {
            last.get_or_make(&key, i32::eq, |key| {
                calls += 1;
                if *key < 0 { Err(()) } else { Ok(key * 2) }
            })
        };
        assert_eq!([1, 1, 2, -1, 2, 1].map(&mut of), [Ok(2), Ok(2), Ok(4), Err(()), Ok(4), Ok(2)]);
        assert_eq!(calls, 4);
    }
}
