//! Chunk grids, chunk key encodings, metadata encodings, storage transformers and generic extensions of this library, as
//! C sees them.

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::extension::{ExtensionPlace, ExtensionPlugin};
use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin};
use zarr_spec::metadata_encoding::{MetadataEncoding, MetadataEncodingPlugin};
use zarr_spec::transformer::{StorageTransformer, StorageTransformerPlugin, WrappingTransformer};
use zarr_spec::{BoxError, Object, Prefix, Registry, Value, json};

use super::creation::with_creation;
use super::data_type::linked;
use super::output::write_output;
use super::store::{foreign, hand_over};
use super::{Failure, borrowed, borrowed_items, borrowed_text, contained, guarded, parse, put};
use crate::abi::{
    self, Buf, ChunkGridVtable, ChunkKeyEncodingVtable, Creation, ExtensionVtable, MetadataEncodingVtable,
    Output, StorageTransformerVtable, StoreHandle, Str,
};

/// `this` is an `Arc<dyn ChunkGrid>`, `context` a [`ChunkGridPlugin`].
pub(crate) static CHUNK_GRIDS: ChunkGridVtable = ChunkGridVtable {
    struct_size: size_of::<ChunkGridVtable>(),
    create: Some(create_grid),
    destroy: Some(destroy::<Arc<dyn ChunkGrid>>),
    chunk_range: Some(chunk_range),
    chunk_of: Some(chunk_of),
    key_index: Some(key_index),
    chunk_of_key: Some(chunk_of_key),
    moved: Some(moved),
};

/// `this` is an `Arc<dyn ChunkKeyEncoding>`, `context` a [`ChunkKeyEncodingPlugin`].
pub(crate) static CHUNK_KEY_ENCODINGS: ChunkKeyEncodingVtable = ChunkKeyEncodingVtable {
    struct_size: size_of::<ChunkKeyEncodingVtable>(),
    create: Some(create_key_encoding),
    destroy: Some(destroy::<Arc<dyn ChunkKeyEncoding>>),
    encode: Some(encode_key),
    decode: Some(decode_key),
};

/// `this` is an `Arc<dyn MetadataEncoding>`, `context` a [`MetadataEncodingPlugin`].
pub(crate) static METADATA_ENCODINGS: MetadataEncodingVtable = MetadataEncodingVtable {
    struct_size: size_of::<MetadataEncodingVtable>(),
    create: Some(create_metadata_encoding),
    destroy: Some(destroy::<Arc<dyn MetadataEncoding>>),
    decode: Some(decode_document),
    encode: Some(encode_document),
};

/// `this` is an `Arc<dyn WrappingTransformer>`, `context` a [`StorageTransformerPlugin`].
pub(crate) static STORAGE_TRANSFORMERS: StorageTransformerVtable = StorageTransformerVtable {
    struct_size: size_of::<StorageTransformerVtable>(),
    create: Some(create_transformer),
    destroy: Some(destroy::<Arc<dyn WrappingTransformer>>),
    wrap: Some(wrap),
};

/// `context` is an [`ExtensionPlugin`].
pub(crate) static EXTENSIONS: ExtensionVtable =
    ExtensionVtable { struct_size: size_of::<ExtensionVtable>(), create: Some(create_extension) };

/// Ends what was made of a `T`.
unsafe extern "C" fn destroy<T>(this: *mut c_void) {
    // SAFETY: `create` of the same table has made it of a `T`, and the other side is done with it.
    let held = unsafe { Box::from_raw(this.cast::<T>()) };
    contained(|| drop(held));
}

/// What `this` is.
///
/// # Safety
///
/// It was made of a `T`.
unsafe fn held<'a, T>(this: *const c_void) -> &'a T {
    // SAFETY: as this function asks.
    unsafe { &*this.cast::<T>() }
}

impl From<GridError> for Failure {
    fn from(error: GridError) -> Self {
        let status = if matches!(error, GridError::InvalidConfiguration(_)) {
            abi::BAD_CONFIGURATION
        } else {
            abi::UNSUPPORTED
        };
        Self::new(status, error.to_string())
    }
}

impl Failure {
    fn corrupt(error: &BoxError) -> Self {
        Self::new(abi::CORRUPT, error.to_string())
    }
}

unsafe extern "C" fn create_grid(
    context: *const c_void,
    creation: *const Creation,
    shape: *const u64,
    rank: usize,
    this: *mut *mut c_void,
    json: *mut Buf,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call; `context` is a plugin of this library.
    unsafe {
        guarded(err, || {
            let plugin = &*context.cast::<ChunkGridPlugin>();
            let shape = borrowed_items(shape, rank);
            let grid = with_creation(creation, linked()?, |creation| Ok((plugin.create)(creation, shape)?))?;
            let lengths = |lengths: &[u64]| -> Value { lengths.iter().copied().collect() };
            let mut members = Object::new();
            members.insert("grid_shape", lengths(grid.grid_shape()));
            members.insert("largest_chunk", lengths(&grid.largest_chunk()));
            if let Some(shape) = grid.chunk_shape() {
                members.insert("chunk_shape", lengths(shape));
            }
            // Chunks follow one another: no other than the first can lie before the array.
            let counts = grid.grid_shape().iter().enumerate();
            let before =
                counts.map(|(along, &count)| if count == 0 { 0 } else { grid.before_array(along, 0) });
            let before: Vec<u64> = before.collect();
            if before.iter().any(|&elements| elements > 0) {
                members.insert("before_array", lengths(&before));
            }
            put(json, Value::Object(members).to_string().into_bytes());
            this.write(Box::into_raw(Box::new(grid)).cast());
            Ok(())
        })
    }
}

unsafe extern "C" fn chunk_range(
    this: *const c_void,
    dimension: usize,
    chunk: u64,
    start: *mut u64,
    end: *mut u64,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let range = held::<Arc<dyn ChunkGrid>>(this).chunk_range(dimension, chunk)?;
            start.write(range.start);
            end.write(range.end);
            Ok(())
        })
    }
}

unsafe extern "C" fn chunk_of(
    this: *const c_void,
    dimension: usize,
    element: u64,
    chunk: *mut u64,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            chunk.write(held::<Arc<dyn ChunkGrid>>(this).chunk_of(dimension, element)?);
            Ok(())
        })
    }
}

unsafe extern "C" fn key_index(
    this: *const c_void,
    dimension: usize,
    chunk: u64,
    key_index: *mut u64,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            key_index.write(held::<Arc<dyn ChunkGrid>>(this).key_index(dimension, chunk)?);
            Ok(())
        })
    }
}

unsafe extern "C" fn chunk_of_key(
    this: *const c_void,
    dimension: usize,
    key_index: u64,
    chunk: *mut u64,
    found: *mut u32,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            if let Some(number) = held::<Arc<dyn ChunkGrid>>(this).chunk_of_key(dimension, key_index)? {
                chunk.write(number);
                found.write(1);
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn moved(
    this: *const c_void,
    start: *const i64,
    rank: usize,
    configuration_json: *mut Buf,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let moved = held::<Arc<dyn ChunkGrid>>(this).moved(borrowed_items(start, rank))?;
            if let Some(configuration) = moved {
                put(configuration_json, configuration.to_string().into_bytes());
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn create_transformer(
    context: *const c_void,
    creation: *const Creation,
    shape: *const u64,
    rank: usize,
    this: *mut *mut c_void,
    shard_json: *mut Buf,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call; `context` is a plugin of this library.
    unsafe {
        guarded(err, || {
            let plugin = &*context.cast::<StorageTransformerPlugin>();
            let shape = borrowed_items(shape, rank);
            let made = with_creation(creation, linked()?, |creation| Ok((plugin.create)(creation, shape)?))?;
            match made {
                StorageTransformer::Wrap(transformer) => {
                    this.write(Box::into_raw(Box::new(transformer)).cast());
                }
                // What is in the chain without an entry of its own, the host's has, too.
                StorageTransformer::Shard(shard)
                    if shard.index_codecs.links().iter().all(|link| link.document.is_none()) =>
                {
                    let chunks: Value = shard.chunks_per_shard.iter().copied().collect();
                    put(shard_json, json!({"chunks_per_shard": chunks}).to_string().into_bytes());
                }
                StorageTransformer::Shard(_) => {
                    let what = "shards cross with the draft's index, which has no codecs";
                    return Err(Failure::new(abi::UNSUPPORTED, what));
                }
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn wrap(
    this: *const c_void,
    next: *const StoreHandle,
    array: Str,
    wrapped: *mut StoreHandle,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call, and `next` belongs to this side from now on.
    unsafe {
        guarded(err, || {
            let next = foreign::owned(&next.read(), "the host".into())?;
            let array =
                Prefix::new(borrowed_text(array)?).map_err(|error| Failure::broken(error.to_string()))?;
            wrapped.write(hand_over(held::<Arc<dyn WrappingTransformer>>(this).wrap(next, &array)));
            Ok(())
        })
    }
}

unsafe extern "C" fn create_key_encoding(
    context: *const c_void,
    creation: *const Creation,
    this: *mut *mut c_void,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call; `context` is a plugin of this library.
    unsafe {
        guarded(err, || {
            let plugin = &*context.cast::<ChunkKeyEncodingPlugin>();
            let encoding = with_creation(creation, linked()?, |creation| Ok((plugin.create)(creation)?))?;
            this.write(Box::into_raw(Box::new(encoding)).cast());
            Ok(())
        })
    }
}

unsafe extern "C" fn encode_key(
    this: *const c_void,
    index: *const u64,
    rank: usize,
    key: *mut Output,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let mut text = String::new();
            held::<Arc<dyn ChunkKeyEncoding>>(this).encode(borrowed_items(index, rank), &mut text);
            write_output(key, |key| Ok(key.put(text.as_bytes())?))
        })
    }
}

unsafe extern "C" fn decode_key(
    this: *const c_void,
    key: Str,
    index: *mut u64,
    rank: usize,
    found: *mut u32,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call, and room for `rank` numbers at `index`.
    unsafe {
        guarded(err, || {
            let decoded = held::<Arc<dyn ChunkKeyEncoding>>(this).decode(borrowed_text(key)?, rank);
            match decoded.map_err(|error| Failure::new(abi::INTERNAL, error.to_string()))? {
                None => {}
                Some(decoded) if decoded.len() == rank => {
                    std::ptr::copy_nonoverlapping(decoded.as_ptr(), index, rank);
                    found.write(1);
                }
                Some(decoded) => {
                    let what = format!("it has chunk {decoded:?} in a grid of {rank} dimensions");
                    return Err(Failure::broken(what));
                }
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn create_metadata_encoding(
    context: *const c_void,
    creation: *const Creation,
    this: *mut *mut c_void,
    key_suffix: *mut Buf,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call; `context` is a plugin of this library.
    unsafe {
        guarded(err, || {
            let plugin = &*context.cast::<MetadataEncodingPlugin>();
            let encoding = with_creation(creation, linked()?, |creation| Ok((plugin.create)(creation)?))?;
            put(key_suffix, encoding.key_suffix().as_bytes().to_vec());
            this.write(Box::into_raw(Box::new(encoding)).cast());
            Ok(())
        })
    }
}

unsafe extern "C" fn decode_document(
    this: *const c_void,
    bytes: Str,
    reading: *const Creation,
    json: *mut Buf,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let document = with_creation(reading, &Registry::empty(), |creation| {
                let encoding = held::<Arc<dyn MetadataEncoding>>(this);
                encoding.decode(borrowed(bytes), creation.reading).map_err(|error| Failure::corrupt(&error))
            })?;
            put(json, document.to_string().into_bytes());
            Ok(())
        })
    }
}

unsafe extern "C" fn encode_document(this: *const c_void, json: Str, bytes: *mut Buf, err: *mut Buf) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe {
        guarded(err, || {
            let encoding = held::<Arc<dyn MetadataEncoding>>(this);
            let encoded = encoding.encode(&parse(borrowed(json))?);
            put(bytes, encoded.map_err(|error| Failure::corrupt(&error))?);
            Ok(())
        })
    }
}

unsafe extern "C" fn create_extension(
    context: *const c_void,
    creation: *const Creation,
    is_array: u32,
    shape: *const u64,
    rank: usize,
    json: *mut Buf,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call; `context` is a plugin of this library.
    unsafe {
        guarded(err, || {
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
        })
    }
}
