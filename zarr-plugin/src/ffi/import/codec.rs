//! Codecs of the other side of the ABI: of a loaded library, or of a host.

use std::ops::Range;
use std::sync::Arc;

use zarr_spec::codec::{
    ArrayToArrayCodec, ArrayToBytesCodec, BytesToBytesCodec, Checksum, CompositeCodec, DecodeSubset,
    RunChain, range_within,
};
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecChain, CodecError, CodecResult, Creation, Format, LimitExceeded, Object,
    Output, Reading, Representation, Size, Value,
};

use super::Imported;
use super::data_type::{NO_TYPE, taken};
use super::instance::{EMPTY_INSTANCE, made};
use crate::abi::{self, Array, Chains, CodecVtable};
use crate::ffi::array::{array_of_json, show_array, show_representation, size_of_shown, size_shown};
use crate::ffi::creation::format_number;
use crate::ffi::export::chains::show_chains;
use crate::ffi::io_status::kind_of;
use crate::ffi::lookup::document_of;
use crate::ffi::output::{lend_output, plain_call};
use crate::ffi::{Direction, EMPTY, Failure, Instance, lend, take_json};

impl Imported<CodecVtable> {
    pub(crate) fn create_codec(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
    ) -> CodecResult<Codec> {
        let array = if let Representation::Array(array) = decoded { Some(array) } else { None };
        show_representation(decoded, |shown| self.create(creation, shown, array))
    }

    /// Returns whether the codec has a function to decode, but none to encode.
    pub(crate) fn decodes_only(&self) -> bool {
        self.vtable.decode.is_some() && self.vtable.encode.is_none()
    }

    pub(super) fn create(
        &self,
        creation: &Creation<'_>,
        decoded: *const abi::Representation,
        array: Option<&ArrayRepresentation>,
    ) -> CodecResult<Codec> {
        let mut out = EMPTY_INSTANCE;
        let called = call_item!(self, creation, create(decoded, &mut out));
        // SAFETY: the call filled `out`, and this side owns the new codec.
        let made = unsafe { made(out, called, Some(&self.vtable), &self.origin, creation, array) };
        made.map_err(|failure| codec_error(&self.origin, failure, Direction::Encode))
    }

    pub(crate) fn translate(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        format: Format,
    ) -> CodecResult<Object> {
        if self.vtable.translate.is_none() {
            return Ok(creation.configuration.as_object().cloned().unwrap_or_default());
        }
        let mut json = EMPTY;
        let called = show_representation(decoded, |decoded| {
            call_item!(self, creation, translate(decoded, format_number(format), &mut json))
        });
        // SAFETY: the call filled `json`.
        let json = unsafe { take_json(&mut json) };
        let translated = called.and(json).and_then(|json| match json {
            Value::Object(members) => Ok(members),
            other => Err(Failure::broken(format!("it translated a configuration to {}", other.kind_name()))),
        });
        translated.map_err(|failure| codec_error(&self.origin, failure, Direction::Encode))
    }
}

/// The largest number of chains of a codec.
const MAX_CHAINS: u32 = 64;

/// Returns the error of a failed call. The status determines whether the error is about the configuration, the chunk or
/// the plugin. `origin` is the name of the plugin; it is empty if a library calls its host.
///
/// While encoding, [`abi::INTERNAL`] means that the plugin cannot encode the chunk. While decoding, it means a fault of
/// the plugin.
pub(crate) fn codec_error(origin: &str, failure: Failure, direction: Direction) -> CodecError {
    let Failure { status, message } = failure;
    let by_origin = |message: String| match origin {
        "" => message,
        origin => format!("{origin}: {message}"),
    };
    match (status, direction) {
        (abi::BAD_CONFIGURATION, _) => CodecError::configuration(by_origin(message)),
        (abi::UNSUPPORTED, _) => CodecError::Unsupported(by_origin(message)),
        (abi::CORRUPT, _) => CodecError::Corrupt(by_origin(message).into()),
        (abi::PANICKED, _) => fault(origin, format!("it panicked: {message}")),
        (abi::CANCELLED, _) => fault(origin, format!("it was stopped: {message}")),
        (Failure::BROKEN, _) | (_, Direction::Decode) => fault(origin, message),
        (status, _) if kind_of(status).is_some() => fault(origin, message),
        (_, Direction::Encode) => CodecError::Encode(by_origin(message).into()),
    }
}

fn fault(origin: &str, message: String) -> CodecError {
    let plugin = if origin.is_empty() { "the program that loaded this library" } else { origin };
    CodecError::Plugin { plugin: plugin.to_owned(), message }
}

/// Returns the error like [`codec_error`], for a call that may write at most `limit` bytes.
pub(super) fn run_error(origin: &str, failure: Failure, limit: usize, direction: Direction) -> CodecError {
    match failure.status {
        abi::LIMIT_EXCEEDED => CodecError::TooLarge(LimitExceeded { limit }),
        _ => codec_error(origin, failure, direction),
    }
}

/// A codec of the other side of the ABI.
#[derive(Debug)]
pub(super) struct ForeignCodec {
    pub(super) instance: Instance<CodecVtable>,
    pub(super) origin: Arc<str>,
    pub(super) decodes_subsets: bool,
}

impl ForeignCodec {
    /// Creates the chains that the codec declares, with codecs of the registry.
    pub(super) fn chains(
        &self,
        count: u32,
        creation: &Creation<'_>,
        array: Option<&ArrayRepresentation>,
    ) -> Result<Vec<CodecChain>, Failure> {
        let Some(array) = array.filter(|_| count <= MAX_CHAINS) else {
            return Err(Failure::broken(format!(
                "it returned a codec with {count} chains; the limit is {MAX_CHAINS}"
            )));
        };
        (0..count as usize).map(|number| self.chain(number, creation, array)).collect()
    }

    fn chain(
        &self,
        number: usize,
        creation: &Creation<'_>,
        array: &ArrayRepresentation,
    ) -> Result<CodecChain, Failure> {
        let mut codecs = EMPTY;
        let mut described = EMPTY;
        let mut handle = NO_TYPE;
        let called = call!(self.instance, chain(number, &mut codecs, &mut described, &mut handle));
        // SAFETY: the call filled the buffers and the handle. This side owns the data type.
        let (codecs, described, data_type) = unsafe {
            let left = (take_json(&mut codecs), take_json(&mut described), taken(&handle, &self.origin));
            called?;
            (left.0?, left.1?, left.2?)
        };
        // A data type with the same name is replaced by the type of this side, because calls to the other side are
        // slower.
        let data_type = data_type.filter(|other| other.name() != array.data_type.name());
        let chain_array = array_of_json(&described, data_type.unwrap_or(array.data_type.clone()), array);
        let documents: Option<Vec<_>> =
            codecs.as_array().and_then(|codecs| codecs.iter().map(document_of).collect());
        let (Some(chain_array), Some(documents)) = (chain_array, documents) else {
            return Err(Failure::broken(format!("chain {number} is {codecs} for {described}")));
        };
        let &Creation { format, registry, .. } = creation;
        // The other side reported the warnings when it created the codec: this reading discards the repeated ones.
        let reading =
            Reading::new(creation.reading.mode()).with_document_size(creation.reading.document_size());
        let creation = ChainCreation::new(format, registry, &reading);
        CodecChain::create(&creation, None, &documents, &chain_array)
            .map_err(|error| Failure::new(abi::UNSUPPORTED, error.to_string()))
    }

    fn size(&self, decoded: &Representation) -> CodecResult<Size> {
        let mut size = size_shown(Size::Unknown);
        let called =
            show_representation(decoded, |decoded| call!(self.instance, encoded_size(decoded, &mut size)));
        called.map_err(|failure| codec_error(&self.origin, failure, Direction::Encode))?;
        Ok(size_of_shown(size))
    }

    fn run(
        &self,
        direction: Direction,
        array: *const Array,
        chains: *const Chains,
        from: &[u8],
        to: &mut Output<'_>,
    ) -> CodecResult {
        let limit = to.remaining();
        let call = abi::Call { chains, ..plain_call(limit) };
        let run = lend_output(to, |to| match direction {
            Direction::Encode => call!(self.instance, encode(array, lend(from), &call, to)),
            Direction::Decode => call!(self.instance, decode(array, lend(from), &call, to)),
        });
        run.map_err(|failure| run_error(&self.origin, failure, limit, direction))
    }

    fn run_array(
        &self,
        direction: Direction,
        array: &ArrayRepresentation,
        from: &[u8],
        to: &mut Output<'_>,
    ) -> CodecResult {
        show_array(array, |array| self.run(direction, array, std::ptr::null(), from, to))
    }

    fn run_bytes(&self, direction: Direction, from: &[u8], to: &mut Output<'_>) -> CodecResult {
        self.run(direction, std::ptr::null(), std::ptr::null(), from, to)
    }
}

impl BytesToBytesCodec for ForeignCodec {
    /// Returns an unknown size if the call fails, which is always correct.
    fn encoded_size(&self, decoded: Size) -> Size {
        self.size(&Representation::Bytes(decoded)).unwrap_or(Size::Unknown)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.run_bytes(Direction::Encode, decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.run_bytes(Direction::Decode, encoded, decoded)
    }

    fn decode_range(&self, encoded: &[u8], range: Range<usize>, decoded: &mut Output<'_>) -> CodecResult {
        let before = decoded.written().len();
        let limit = decoded.remaining();
        if self.instance.vtable.decode_range.is_none() {
            self.run_bytes(Direction::Decode, encoded, decoded)?;
        } else {
            let call = plain_call(limit);
            let run = lend_output(decoded, |to| {
                call!(self.instance, decode_range(lend(encoded), range.start, range.end, &call, to))
            });
            run.map_err(|failure| run_error(&self.origin, failure, limit, Direction::Decode))?;
        }
        range_within(&range, decoded.written().len() - before)
    }
}

impl ArrayToBytesCodec for ForeignCodec {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        self.size(&Representation::Array(array.clone()))
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.run_array(Direction::Encode, array, decoded, encoded)
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.run_array(Direction::Decode, array, encoded, decoded)
    }

    fn encodes(&self, _array: &ArrayRepresentation) -> bool {
        self.instance.vtable.encode.is_some()
    }

    fn subsets(&self) -> Option<&dyn DecodeSubset> {
        self.decodes_subsets.then_some(self)
    }
}

impl ArrayToArrayCodec for ForeignCodec {
    fn encoded(&self, decoded: &ArrayRepresentation) -> CodecResult<ArrayRepresentation> {
        let encoded = || {
            let mut json = EMPTY;
            let mut handle = NO_TYPE;
            let called = show_array(decoded, |decoded| {
                call!(self.instance, encoded_array(decoded, &mut json, &mut handle))
            });
            // SAFETY: the call filled the buffer and the handle. This side owns the data type.
            let (json, data_type) = unsafe {
                let left = (take_json(&mut json), taken(&handle, &self.origin));
                called?;
                (left.0?, left.1?.unwrap_or_else(|| decoded.data_type.clone()))
            };
            array_of_json(&json, data_type, decoded).ok_or_else(|| {
                Failure::broken(format!("it returned the invalid description {json} of the encoded array"))
            })
        };
        encoded().map_err(|failure| codec_error(&self.origin, failure, Direction::Encode))
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.run_array(Direction::Encode, array, decoded, encoded)
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.run_array(Direction::Decode, array, encoded, decoded)
    }
}

/// A checksum of the other side of the ABI.
#[derive(Debug)]
pub(super) struct ForeignChecksum {
    pub(super) codec: ForeignCodec,
    pub(super) size: usize,
    pub(super) at_start: bool,
}

impl Checksum for ForeignChecksum {
    fn size(&self) -> usize {
        self.size
    }

    fn at_start(&self) -> bool {
        self.at_start
    }

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> CodecResult {
        let called = if checksum.len() == self.size {
            call!(self.codec.instance, checksum(lend(bytes), checksum.as_mut_ptr()))
        } else {
            let found = checksum.len();
            let expected = self.size;
            Err(Failure::broken(format!("expected {expected} bytes for a checksum, but found {found}")))
        };
        called.map_err(|failure| codec_error(&self.codec.origin, failure, Direction::Decode))
    }
}

/// A codec of the other side of the ABI, whose chains this side runs.
#[derive(Debug)]
pub(super) struct ForeignComposite {
    pub(super) codec: ForeignCodec,
    pub(super) chains: Vec<CodecChain>,
}

impl ForeignComposite {
    fn run(
        &self,
        direction: Direction,
        array: &ArrayRepresentation,
        from: &[u8],
        to: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult {
        show_chains(&self.chains, chains, |chains| {
            show_array(array, |array| self.codec.run(direction, array, chains, from, to))
        })
    }
}

impl CompositeCodec for ForeignComposite {
    fn chains(&self) -> Vec<&CodecChain> {
        self.chains.iter().collect()
    }

    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        ArrayToBytesCodec::encoded_size(&self.codec, array)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult {
        self.run(Direction::Encode, array, decoded, encoded, chains)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult {
        self.run(Direction::Decode, array, encoded, decoded, chains)
    }
}
