//! Codecs and memory layouts of a library, as the engine sees them.

use std::sync::Arc;

use zarr_spec::codec::{ArrayToArrayCodec, ArrayToBytesCodec, BytesToBytesCodec};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, Creation, DataType, FillValue, Format, LimitExceeded,
    Object, Output, Representation, Size, Value,
};

use super::{Imported, lengths};
use crate::abi::{self, CodecInstance, CodecVtable, DataTypeHandle};
use crate::ffi::array::{show_array, show_representation, size_of_shown, size_shown};
use crate::ffi::creation::{format_number, show_creation};
use crate::ffi::data_type::{Foreign, bytes_of, crosses, order_of_json};
use crate::ffi::output::{lend_output, plain_call};
use crate::ffi::{EMPTY, Failure, Instance, lend, outcome, parse, read, required, take, take_json};

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
