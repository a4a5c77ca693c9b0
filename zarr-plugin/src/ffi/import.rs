//! Extensions of a library that was loaded, as the engine sees them: the traits, over C.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

use zarr_spec::codec::{ArrayToArrayCodec, ArrayToBytesCodec, BytesToBytesCodec};
use zarr_spec::extension::{Extension, ExtensionPlace};
use zarr_spec::grid::{ChunkGrid, GridError};
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::{
    ArrayRepresentation, BoxError, ByteOrder, Codec, CodecError, Creation, DataType, FillValue, Format,
    Invalid, LimitExceeded, Mode, Object, Output, Reading, Representation, Size, Value,
};

use super::array::{show_array, show_representation, size_of_shown, size_shown};
use super::creation::{format_number, show_creation, show_reading};
use super::data_type::{Foreign, bytes_of, crosses, order_of_json};
use super::output::{lend_output, plain_call};
use super::{EMPTY, Failure, Instance, lend, outcome, parse, read, required, take, take_json, take_text};
use crate::abi::{
    self, ChunkGridVtable, ChunkKeyEncodingVtable, CodecInstance, CodecVtable, DataTypeHandle,
    ExtensionVtable, MetadataEncodingVtable,
};

/// One item of a library: where its functions are, and what they are called with.
#[derive(Debug, Clone)]
pub(crate) struct Imported<V> {
    vtable: V,
    context: *const c_void,
    /// "plugin example-xor 1.2.0": what messages say.
    pub(crate) origin: Arc<str>,
}

// SAFETY: a library is never unloaded, and the ABI has `create` called on any thread.
unsafe impl<V: Send> Send for Imported<V> {}
// SAFETY: as above.
unsafe impl<V: Sync> Sync for Imported<V> {}

impl<V: super::Growing> Imported<V> {
    /// # Safety
    ///
    /// `item` is one of a library that was loaded, and of the kind that has this vtable.
    pub(crate) unsafe fn new(item: &abi::Item, origin: Arc<str>) -> Result<Self, Failure> {
        // SAFETY: as this function asks.
        let vtable = unsafe { read(item.vtable.cast::<V>()) }?;
        Ok(Self { vtable, context: item.context, origin })
    }
}

impl Imported<abi::DataTypeVtable> {
    pub(crate) fn create(
        &self,
        creation: &Creation<'_>,
    ) -> Result<zarr_spec::data_type::Created, zarr_spec::DataTypeError> {
        // SAFETY: both are of one item of a library.
        unsafe { super::data_type::create_foreign(&self.vtable, self.context, &self.origin, creation) }
    }
}

/// Says who failed, and what a reader has to know of it.
fn codec_error(origin: &str, failure: Failure, is_encoding: bool) -> CodecError {
    let message = format!("{origin}: {}", failure.message);
    match failure.status {
        abi::BAD_CONFIGURATION => CodecError::configuration(message),
        abi::UNSUPPORTED => CodecError::Unsupported(message),
        abi::CORRUPT => CodecError::Corrupt(message.into()),
        abi::PANICKED => failed(format!("{origin} panicked: {}", failure.message), is_encoding),
        abi::CANCELLED => failed(format!("{origin} was stopped: {}", failure.message), is_encoding),
        _ => failed(message, is_encoding),
    }
}

fn failed(message: String, is_encoding: bool) -> CodecError {
    if is_encoding { CodecError::Encode(message.into()) } else { CodecError::Corrupt(message.into()) }
}

fn invalid(origin: &str, failure: &Failure) -> Invalid {
    let verb = if failure.status == abi::PANICKED { " panicked" } else { "" };
    Invalid::new(format!("{origin}{verb}: {}", failure.message))
}

impl Imported<CodecVtable> {
    pub(crate) fn create_codec(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
    ) -> Result<Codec, CodecError> {
        let made = show_representation(decoded, |shown| self.create(creation, shown));
        let codec = made.map_err(|failure| codec_error(&self.origin, failure, true))?;
        if let (Codec::ArrayToArray(_) | Codec::ArrayToBytes(_), Representation::Array(array)) =
            (&codec, decoded)
        {
            crosses(&*array.data_type).map_err(|failure| codec_error(&self.origin, failure, true))?;
        }
        Ok(codec)
    }

    pub(crate) fn create_layout(&self, creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
        let shown = abi::Representation {
            struct_size: size_of::<abi::Representation>(),
            kind: abi::FOR_RANK,
            rank: u32::try_from(rank).unwrap_or(u32::MAX),
            size: size_shown(Size::Unknown),
            array: std::ptr::null(),
        };
        self.create(creation, &shown).map_err(|failure| codec_error(&self.origin, failure, true))
    }

    fn create(&self, creation: &Creation<'_>, decoded: *const abi::Representation) -> Result<Codec, Failure> {
        let create = required(self.vtable.create, "create")?;
        let mut out = CodecInstance {
            struct_size: size_of::<CodecInstance>(),
            form: abi::FORM_VALUE,
            checksum_size: 0,
            checksum_at_start: 0,
            reserved: 0,
            this: std::ptr::null_mut(),
            value: EMPTY,
        };
        let mut err = EMPTY;
        let status = show_creation(creation, |creation| {
            // SAFETY: a function of the library, called with its own context and with places that it may fill.
            unsafe { create(self.context, creation, decoded, &mut out, &mut err) }
        });
        // SAFETY: all is as the call left it; what was made belongs to this side now.
        let (value, instance) = unsafe {
            let value = take(&mut out.value);
            outcome(status, &mut err)?;
            (value?, Instance::new(self.vtable, out.this, self.vtable.destroy))
        };
        if out.form == abi::FORM_VALUE {
            return value_codec(&parse(&value)?);
        }
        let codec = LoadedCodec { instance, origin: self.origin.clone() };
        match out.form {
            abi::FORM_ARRAY_TO_ARRAY => Ok(Codec::ArrayToArray(Arc::new(codec))),
            abi::FORM_ARRAY_TO_BYTES => Ok(Codec::ArrayToBytes(Arc::new(codec))),
            abi::FORM_BYTES_TO_BYTES => Ok(Codec::BytesToBytes(Arc::new(codec))),
            abi::FORM_CHECKSUM => {
                let size = out.checksum_size as usize;
                if size > MAX_CHECKSUM {
                    return Err(Failure::broken(format!("its checksum would have {size} bytes")));
                }
                Ok(Codec::BytesToBytes(Arc::new(LoadedChecksum {
                    codec,
                    size,
                    at_start: out.checksum_at_start != 0,
                })))
            }
            other => Err(Failure::broken(format!("it made a codec of the unknown form {other}"))),
        }
    }

    pub(crate) fn translate(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        format: Format,
    ) -> Result<Object, CodecError> {
        let Some(translate) = self.vtable.translate else {
            return Ok(creation.configuration.as_object().cloned().unwrap_or_default());
        };
        let (mut json, mut err) = (EMPTY, EMPTY);
        let status = show_representation(decoded, |decoded| {
            show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe {
                    translate(self.context, creation, decoded, format_number(format), &mut json, &mut err)
                }
            })
        });
        // SAFETY: both are as the call left them.
        let translated = unsafe {
            let json = take_json(&mut json);
            outcome(status, &mut err).and(json)
        };
        match translated.map_err(|failure| codec_error(&self.origin, failure, true))? {
            Value::Object(members) => Ok(members),
            other => {
                let failure =
                    Failure::broken(format!("it translated a configuration to {}", other.kind_name()));
                Err(codec_error(&self.origin, failure, true))
            }
        }
    }
}

/// The longest checksum of a plugin, in bytes.
const MAX_CHECKSUM: usize = 1 << 16;

/// A codec that is data alone.
fn value_codec(value: &Value) -> Result<Codec, Failure> {
    let wrong = || Failure::broken(format!("it made a codec of the unknown value {value}"));
    let members = value.as_object().filter(|members| members.len() == 1).ok_or_else(wrong)?;
    let (name, content) = members.iter().next().ok_or_else(wrong)?;
    match name {
        "permutation" => {
            let order = content.as_array().ok_or_else(wrong)?.iter();
            let order = order.map(|dimension| usize::try_from(dimension.as_u64()?).ok());
            Ok(Codec::Permutation(order.collect::<Option<_>>().ok_or_else(wrong)?))
        }
        "binary" => match order_of_json(content).ok_or_else(wrong)? {
            ByteOrder::Mixed(_) => Err(wrong()),
            order => Ok(Codec::Binary(order)),
        },
        _ => Err(wrong()),
    }
}

/// A codec of a library.
#[derive(Debug)]
struct LoadedCodec {
    instance: Instance<CodecVtable>,
    origin: Arc<str>,
}

impl LoadedCodec {
    fn size(&self, decoded: &Representation) -> Result<Size, Failure> {
        let mut size = size_shown(Size::Unknown);
        self.instance.call(|vtable, this, err| {
            let encoded_size = required(vtable.encoded_size, "encoded_size")?;
            // SAFETY: a function of the library, called with what it made and with places that it may fill.
            Ok(show_representation(decoded, |decoded| unsafe { encoded_size(this, decoded, &mut size, err) }))
        })?;
        Ok(size_of_shown(size))
    }

    fn run_encode(
        &self,
        array: *const abi::Array,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let call = plain_call(encoded.remaining());
        let limit = encoded.remaining();
        let run = lend_output(encoded, |output| {
            self.instance.call(|vtable, this, err| {
                let encode = required(vtable.encode, "encode")?;
                // SAFETY: a function of the library, called with what it made and with memory that is lent to it.
                Ok(unsafe { encode(this, array, lend(decoded), &call, output, err) })
            })
        });
        run.map_err(|failure| self.error(failure, limit, true))
    }

    fn run_decode(
        &self,
        array: *const abi::Array,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let call = plain_call(decoded.remaining());
        let limit = decoded.remaining();
        let run = lend_output(decoded, |output| {
            self.instance.call(|vtable, this, err| {
                let decode = required(vtable.decode, "decode")?;
                // SAFETY: a function of the library, called with what it made and with memory that is lent to it.
                Ok(unsafe { decode(this, array, lend(encoded), &call, output, err) })
            })
        });
        run.map_err(|failure| self.error(failure, limit, false))
    }

    fn error(&self, failure: Failure, limit: usize, is_encoding: bool) -> CodecError {
        if failure.status == abi::LIMIT_EXCEEDED {
            return CodecError::TooLarge(LimitExceeded { limit });
        }
        codec_error(&self.origin, failure, is_encoding)
    }
}

impl BytesToBytesCodec for LoadedCodec {
    /// Unknown is always right, also when the library does not answer.
    fn encoded_size(&self, decoded: Size) -> Size {
        self.size(&Representation::Bytes(decoded)).unwrap_or(Size::Unknown)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.run_encode(std::ptr::null(), decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.run_decode(std::ptr::null(), encoded, decoded)
    }
}

impl ArrayToBytesCodec for LoadedCodec {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        let size = crosses(&*array.data_type).and_then(|()| self.size(&Representation::Array(array.clone())));
        size.map_err(|failure| codec_error(&self.origin, failure, true))
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        show_array(array, |array| self.run_encode(array, decoded, encoded))
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        show_array(array, |array| self.run_decode(array, encoded, decoded))
    }
}

impl ArrayToArrayCodec for LoadedCodec {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        let encoded = || {
            crosses(&*decoded.data_type)?;
            let mut json = EMPTY;
            let mut handle = DataTypeHandle { vtable: std::ptr::null(), this: std::ptr::null() };
            let called = self.instance.call(|vtable, this, err| {
                let encoded_array = required(vtable.encoded_array, "encoded_array")?;
                // SAFETY: a function of the library, called with what it made and with places that it may fill.
                Ok(show_array(decoded, |decoded| unsafe {
                    encoded_array(this, decoded, &mut json, &mut handle, err)
                }))
            });
            // SAFETY: both are as the call left them; a type that it left belongs to this side now.
            let (json, data_type) = unsafe {
                let json = take_json(&mut json);
                called?;
                let data_type: Arc<dyn DataType> = if handle.vtable.is_null() {
                    decoded.data_type.clone()
                } else {
                    Arc::new(Foreign::owned(read(handle.vtable)?, handle.this, self.origin.clone())?)
                };
                (json?, data_type)
            };
            encoded_of(&json, data_type, decoded)
                .ok_or_else(|| Failure::broken(format!("it describes the encoded array as {json}")))
        };
        encoded().map_err(|failure| codec_error(&self.origin, failure, true))
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        show_array(array, |array| self.run_encode(array, decoded, encoded))
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        show_array(array, |array| self.run_decode(array, encoded, decoded))
    }
}

/// The array that a library describes. What it does not say stays as it was; a fill value has to fit.
fn encoded_of(
    json: &Value,
    data_type: Arc<dyn DataType>,
    decoded: &ArrayRepresentation,
) -> Option<ArrayRepresentation> {
    let members = json.as_object()?;
    let shape = match members.get("shape") {
        Some(shape) => lengths(shape)?,
        None => decoded.shape.clone(),
    };
    let fill_value = match members.get("fill_value") {
        Some(bytes) => FillValue::new(bytes_of(bytes)?),
        None => decoded.fill_value.clone(),
    };
    let byte_order = match members.get("byte_order") {
        Some(order) => order_of_json(order)?,
        None => decoded.byte_order.clone(),
    };
    let fits = data_type.elements().size().is_none_or(|size| size == fill_value.bytes().len());
    fits.then_some(ArrayRepresentation { shape, data_type, fill_value, byte_order })
}

fn lengths(json: &Value) -> Option<Vec<u64>> {
    json.as_array()?.iter().map(Value::as_u64).collect()
}

/// A checksum of a library. Not a [`zarr_spec::codec::Checksum`], which cannot fail.
#[derive(Debug)]
struct LoadedChecksum {
    codec: LoadedCodec,
    size: usize,
    at_start: bool,
}

impl LoadedChecksum {
    fn checksum(&self, bytes: &[u8], is_encoding: bool) -> Result<Vec<u8>, CodecError> {
        let mut checksum = vec![0; self.size];
        let called = self.codec.instance.call(|vtable, this, err| {
            let function = required(vtable.checksum, "checksum")?;
            // SAFETY: a function of the library, called with what it made and as many bytes as it asked for.
            Ok(unsafe { function(this, lend(bytes), checksum.as_mut_ptr(), err) })
        });
        called.map_err(|failure| codec_error(&self.codec.origin, failure, is_encoding))?;
        Ok(checksum)
    }
}

impl BytesToBytesCodec for LoadedChecksum {
    fn encoded_size(&self, decoded: Size) -> Size {
        let more = |size: u64| size.checked_add(self.size as u64);
        match decoded {
            Size::Exact(size) => more(size).map_or(Size::Unknown, Size::Exact),
            Size::AtMost(size) => more(size).map_or(Size::Unknown, Size::AtMost),
            Size::Unknown => Size::Unknown,
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        let checksum = self.checksum(decoded, true)?;
        let (first, second) = if self.at_start { (&checksum[..], decoded) } else { (decoded, &checksum[..]) };
        encoded.put(first)?;
        Ok(encoded.put(second)?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        let Some(content) = encoded.len().checked_sub(self.size) else {
            return Err(CodecError::corrupt(format!(
                "{} bytes are too few for a checksum of {}",
                encoded.len(),
                self.size
            )));
        };
        let (stored, content) = if self.at_start {
            encoded.split_at(self.size)
        } else {
            let (content, stored) = encoded.split_at(content);
            (stored, content)
        };
        if self.checksum(content, false)? != stored {
            return Err(CodecError::corrupt("the checksum is not that of the bytes"));
        }
        Ok(decoded.put(content)?)
    }
}

/// A chunk grid of a library. What does not depend on a chunk is asked for once.
#[derive(Debug)]
struct LoadedGrid {
    instance: Instance<ChunkGridVtable>,
    origin: Arc<str>,
    grid_shape: Vec<u64>,
    largest_chunk: Vec<u64>,
    chunk_shape: Option<Vec<u64>>,
    shape: Vec<u64>,
}

impl Imported<ChunkGridVtable> {
    pub(crate) fn create(
        &self,
        creation: &Creation<'_>,
        shape: &[u64],
    ) -> Result<Arc<dyn ChunkGrid>, GridError> {
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let (mut this, mut json, mut err) = (std::ptr::null_mut(), EMPTY, EMPTY);
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe {
                    create(
                        self.context,
                        creation,
                        shape.as_ptr(),
                        shape.len(),
                        &mut this,
                        &mut json,
                        &mut err,
                    )
                }
            });
            // SAFETY: all is as the call left it; what was made belongs to this side now.
            let (json, instance) = unsafe {
                let json = take(&mut json);
                outcome(status, &mut err)?;
                (parse(&json?), Instance::new(self.vtable, this, self.vtable.destroy))
            };
            let json = json?;
            let wrong = || Failure::broken(format!("it describes its chunk grid as {json}"));
            let list = |name: &str| json.as_object()?.get(name).map(lengths);
            let fits = |lengths: &Vec<u64>| lengths.len() == shape.len();
            let grid_shape = list("grid_shape").flatten().filter(fits).ok_or_else(wrong)?;
            let largest_chunk = list("largest_chunk").flatten().filter(fits).ok_or_else(wrong)?;
            let chunk_shape = match list("chunk_shape") {
                Some(lengths) => Some(lengths.filter(fits).ok_or_else(wrong)?),
                None => None,
            };
            Ok(LoadedGrid {
                instance,
                origin: self.origin.clone(),
                grid_shape,
                largest_chunk,
                chunk_shape,
                shape: shape.to_vec(),
            })
        };
        match made() {
            Ok(grid) => Ok(Arc::new(grid)),
            Err(failure) => Err(GridError::InvalidConfiguration(invalid(&self.origin, &failure))),
        }
    }
}

impl LoadedGrid {
    fn error(&self, failure: &Failure) -> GridError {
        GridError::OutOfBounds(invalid(&self.origin, failure).to_string())
    }

    fn in_bounds(of: &[u64], dimension: usize, index: u64, what: &str) -> Result<(), GridError> {
        match of.get(dimension) {
            Some(&length) if index < length => Ok(()),
            Some(length) => Err(GridError::OutOfBounds(format!(
                "there is no {what} {index} along dimension {dimension}, which has {length}"
            ))),
            None => Err(GridError::OutOfBounds(format!("there is no dimension {dimension}"))),
        }
    }
}

impl ChunkGrid for LoadedGrid {
    fn grid_shape(&self) -> &[u64] {
        &self.grid_shape
    }

    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        let (mut start, mut end) = (0, 0);
        let called = self.instance.call(|vtable, this, err| {
            let chunk_range = required(vtable.chunk_range, "chunk_range")?;
            // SAFETY: a function of the library, called with what it made and with places that it may fill.
            Ok(unsafe { chunk_range(this, dimension, chunk, &mut start, &mut end, err) })
        });
        called.map_err(|failure| self.error(&failure))?;
        let most = self.largest_chunk.get(dimension).copied().unwrap_or(0);
        if start >= end || end - start > most {
            let what = format!(
                "chunk {chunk} along dimension {dimension} is {start} to {end}, and the largest has {most}"
            );
            return Err(self.error(&Failure::broken(what)));
        }
        Ok(start..end)
    }

    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError> {
        Self::in_bounds(&self.shape, dimension, element, "element")?;
        let mut chunk = 0;
        let called = self.instance.call(|vtable, this, err| {
            let chunk_of = required(vtable.chunk_of, "chunk_of")?;
            // SAFETY: a function of the library, called with what it made and with a place that it may fill.
            Ok(unsafe { chunk_of(this, dimension, element, &mut chunk, err) })
        });
        called.map_err(|failure| self.error(&failure))?;
        // The chunk must exist and have the element: what follows is computed from it. One that ends past 2^64 has no range.
        Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        if self.chunk_range(dimension, chunk).is_ok_and(|range| !range.contains(&element)) {
            let what = format!("element {element} along dimension {dimension} is not in chunk {chunk}");
            return Err(self.error(&Failure::broken(what)));
        }
        Ok(chunk)
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        self.chunk_shape.as_deref()
    }

    fn largest_chunk(&self) -> Vec<u64> {
        self.largest_chunk.clone()
    }
}

/// A chunk key encoding of a library.
#[derive(Debug)]
struct LoadedKeyEncoding {
    instance: Instance<ChunkKeyEncodingVtable>,
    origin: Arc<str>,
}

impl Imported<ChunkKeyEncodingVtable> {
    pub(crate) fn create(&self, creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let (mut this, mut err) = (std::ptr::null_mut(), EMPTY);
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe { create(self.context, creation, &mut this, &mut err) }
            });
            // SAFETY: all is as the call left it; what was made belongs to this side now.
            unsafe {
                outcome(status, &mut err)?;
                Ok(Instance::new(self.vtable, this, self.vtable.destroy))
            }
        };
        let instance = made().map_err(|failure| invalid(&self.origin, &failure))?;
        Ok(Arc::new(LoadedKeyEncoding { instance, origin: self.origin.clone() }))
    }
}

/// Bytes that the key of a chunk may have.
const MAX_KEY: usize = 1 << 12;

impl ChunkKeyEncoding for LoadedKeyEncoding {
    /// A key cannot be refused here: one that no store has says what went wrong, so that no other chunk is taken.
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        let mut output = Output::at_most(MAX_KEY);
        let written = lend_output(&mut output, |output| {
            self.instance.call(|vtable, this, err| {
                let encode = required(vtable.encode, "encode")?;
                // SAFETY: a function of the library, called with what it made and with memory that is lent to it.
                Ok(unsafe { encode(this, chunk_index.as_ptr(), chunk_index.len(), output, err) })
            })
        });
        let text = written.and_then(|()| {
            String::from_utf8(output.into_written()).map_err(|_| Failure::broken("its key is not UTF-8"))
        });
        match text {
            Ok(text) => key.push_str(&text),
            Err(failure) => {
                key.push('\0');
                key.push_str(&invalid(&self.origin, &failure).to_string());
            }
        }
    }

    fn decode(&self, key: &str, rank: usize) -> Option<Vec<u64>> {
        let (mut index, mut found) = (vec![0; rank], 0);
        let called = self.instance.call(|vtable, this, err| {
            let decode = required(vtable.decode, "decode")?;
            // SAFETY: a function of the library, called with what it made and room for as many numbers as it is told.
            Ok(unsafe { decode(this, lend(key.as_bytes()), index.as_mut_ptr(), rank, &mut found, err) })
        });
        (called.is_ok() && found != 0).then_some(index)
    }
}

/// A metadata encoding of a library.
#[derive(Debug)]
struct LoadedMetadataEncoding {
    instance: Instance<MetadataEncodingVtable>,
    origin: Arc<str>,
    key_suffix: String,
}

impl Imported<MetadataEncodingVtable> {
    pub(crate) fn create(&self, creation: &Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> {
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let (mut this, mut suffix, mut err) = (std::ptr::null_mut(), EMPTY, EMPTY);
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe { create(self.context, creation, &mut this, &mut suffix, &mut err) }
            });
            // SAFETY: all is as the call left it; what was made belongs to this side now.
            unsafe {
                let key_suffix = take_text(&mut suffix);
                outcome(status, &mut err)?;
                Ok((Instance::new(self.vtable, this, self.vtable.destroy), key_suffix?))
            }
        };
        let (instance, key_suffix) = made().map_err(|failure| invalid(&self.origin, &failure))?;
        Ok(Arc::new(LoadedMetadataEncoding { instance, origin: self.origin.clone(), key_suffix }))
    }
}

impl LoadedMetadataEncoding {
    fn error(&self, failure: &Failure) -> BoxError {
        invalid(&self.origin, failure).into()
    }
}

impl MetadataEncoding for LoadedMetadataEncoding {
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError> {
        let mut json = EMPTY;
        let called = self.instance.call(|vtable, this, err| {
            let decode = required(vtable.decode, "decode")?;
            // SAFETY: a function of the library, called with what it made and with a place that it may fill.
            Ok(show_reading(Format::V3Draft, reading, |reading| unsafe {
                decode(this, lend(bytes), reading, &mut json, err)
            }))
        });
        // SAFETY: it is as the call left it.
        let json = unsafe { take_json(&mut json) };
        let value = called.and(json).map_err(|failure| self.error(&failure))?;
        match value.find_non_finite().filter(|_| reading.mode() == Mode::Strict) {
            Some(path) => Err(self.error(&Failure::broken(format!("the number at {path} is not finite")))),
            None => Ok(value),
        }
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        let (text, mut bytes) = (document.to_string(), EMPTY);
        let called = self.instance.call(|vtable, this, err| {
            let encode = required(vtable.encode, "encode")?;
            // SAFETY: a function of the library, called with what it made and with a place that it may fill.
            Ok(unsafe { encode(this, lend(text.as_bytes()), &mut bytes, err) })
        });
        // SAFETY: it is as the call left it.
        let bytes = unsafe { take(&mut bytes) };
        called.and(bytes).map_err(|failure| self.error(&failure))
    }

    fn key_suffix(&self) -> &str {
        &self.key_suffix
    }
}

/// A generic extension of a library: what it brings.
#[derive(Debug)]
struct LoadedExtension {
    dimension_names: Option<Vec<Option<String>>>,
    node_index: Option<String>,
}

impl Imported<ExtensionVtable> {
    pub(crate) fn create(
        &self,
        creation: &Creation<'_>,
        place: ExtensionPlace<'_>,
    ) -> Result<Arc<dyn Extension>, Invalid> {
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let (is_array, shape) = match place {
                ExtensionPlace::EntryPoint => (0, &[][..]),
                ExtensionPlace::Array(shape) => (1, shape),
            };
            let (mut json, mut err) = (EMPTY, EMPTY);
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe {
                    create(self.context, creation, is_array, shape.as_ptr(), shape.len(), &mut json, &mut err)
                }
            });
            // SAFETY: all is as the call left it.
            let json = unsafe {
                let json = take_json(&mut json);
                outcome(status, &mut err).and(json)?
            };
            extension_of(&json)
                .ok_or_else(|| Failure::broken(format!("it describes its extension as {json}")))
        };
        match made() {
            Ok(extension) => Ok(Arc::new(extension)),
            Err(failure) => Err(invalid(&self.origin, &failure)),
        }
    }
}

fn extension_of(json: &Value) -> Option<LoadedExtension> {
    let members = json.as_object()?;
    let name = |name: &Value| match name {
        Value::Null => Some(None),
        name => Some(Some(name.as_str()?.to_owned())),
    };
    let dimension_names = match members.get("dimension_names") {
        None => None,
        Some(names) => Some(names.as_array()?.iter().map(name).collect::<Option<_>>()?),
    };
    let node_index = match members.get("node_index") {
        None => None,
        Some(key) => Some(key.as_str()?.to_owned()),
    };
    Some(LoadedExtension { dimension_names, node_index })
}

impl Extension for LoadedExtension {
    fn dimension_names(&self) -> Option<&[Option<String>]> {
        self.dimension_names.as_deref()
    }

    fn node_index(&self) -> Option<&str> {
        self.node_index.as_deref()
    }
}
