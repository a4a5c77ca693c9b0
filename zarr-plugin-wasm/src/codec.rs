//! Adapts the codecs of a module to the codec traits.

use std::sync::{Arc, Mutex, PoisonError};

use wasmi::TypedFunc;
use zarr_plugin::Failure;
use zarr_plugin::abi::{self, Buf, Call, CodecInstance, CodecVtable, DataTypeHandle, Item, Str};
use zarr_plugin::convert::{array_of_json, format_number, parse, value_codec};
use zarr_spec::codec::{ArrayToArrayCodec, ArrayToBytesCodec, BytesToBytesCodec, Checksum};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecResult, Creation, Format, LimitExceeded, Object, Output,
    Representation, Size, Value,
};

use crate::entry;
use crate::failure::codec_error;
use crate::guest::{Address, Guest};
use crate::library::Module;
use crate::shown::{Entry, put_array, put_representation, size_at};
use crate::{ENCODED_PER_BYTE, GUEST_MEMORY};

/// The maximum size of a plugin's checksum, in bytes.
const MAX_CHECKSUM: u32 = 1 << 16;

/// An item of a module.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) module: Arc<Module>,
    /// The index of the item.
    pub(crate) item: u32,
    /// The name and version of the plugin in messages, such as "plugin example-runs 1.2.0".
    pub(crate) origin: Arc<str>,
}

type Function<P> = Option<TypedFunc<P, i32>>;

/// The arguments of a codec's function: the codec, an array, a `zarr_str`, a `zarr_call`, a `zarr_output`, and a
/// buffer for the error message.
type Step = (u32, u32, u32, u32, u32, u32);

/// The functions of a codec.
#[derive(Debug)]
struct Functions {
    encoded_array: Function<(u32, u32, u32, u32, u32)>,
    encoded_size: Function<(u32, u32, u32, u32)>,
    encode: Function<Step>,
    decode: Function<Step>,
    checksum: Function<(u32, u32, u32, u32)>,
}

/// A guest with a created codec.
#[derive(Debug)]
struct Made {
    guest: Guest,
    functions: Functions,
    this: Address,
    form: u32,
    /// The size of a checksum in bytes, and whether it precedes the content.
    checksum: (u32, bool),
    /// The value of a codec that consists only of data.
    value: Vec<u8>,
    warnings: Vec<String>,
}

impl Recipe {
    /// Returns a new guest, and the addresses of the item's vtable and context.
    fn start(&self) -> Result<(Guest, Address, Address), Failure> {
        let (guest, plugin) = entry::start(&self.module)?;
        let item = entry::item(&guest, plugin, self.item)?;
        let vtable = guest.get_u32::<Item>(item, "vtable")?;
        let context = guest.get_u32::<Item>(item, "context")?;
        Ok((guest, vtable, context))
    }

    fn make(&self, entry: &Entry, decoded: &Representation) -> Result<Made, Failure> {
        let (mut guest, vtable, context) = self.start()?;
        let pointer = |member| guest.get_u32::<CodecVtable>(vtable, member);
        let create = guest.function::<(u32, u32, u32, u32, u32), i32>(pointer("create")?, "create")?;
        let functions = Functions {
            encoded_array: guest.function(pointer("encoded_array")?, "encoded_array")?,
            encoded_size: guest.function(pointer("encoded_size")?, "encoded_size")?,
            encode: guest.function(pointer("encode")?, "encode")?,
            decode: guest.function(pointer("decode")?, "decode")?,
            checksum: guest.function(pointer("checksum")?, "checksum")?,
        };
        guest.begin(0);
        let creation = entry.put(&mut guest)?;
        let decoded = put_representation(&mut guest, decoded)?;
        let out = guest.put::<CodecInstance>(&[])?;
        let err = guest.put::<Buf>(&[])?;
        let status = guest.call(required(&create, "create")?, (context, creation, decoded, out, err))?;
        guest.outcome(status, err)?;
        let value = guest.take(Guest::inside::<CodecInstance>(out, "value")?)?;
        let member = |member| guest.get_u32::<CodecInstance>(out, member);
        let checksum = (member("checksum_size")?, member("checksum_at_start")? != 0);
        let this = member("self")?;
        let form = member("form")?;
        let warnings = guest.warnings();
        Ok(Made { guest, functions, this, form, checksum, value, warnings })
    }
}

fn required<'f, P>(function: &'f Function<P>, name: &str) -> Result<&'f TypedFunc<P, i32>, Failure> {
    function.as_ref().ok_or_else(|| Failure::broken(format!("it has no function `{name}`")))
}

/// Creates the codec of an item.
pub(crate) fn create(
    recipe: &Recipe,
    creation: &Creation<'_>,
    decoded: &Representation,
) -> CodecResult<Codec> {
    let entry = Entry::of(creation);
    let codec = || {
        let mut made = recipe.make(&entry, decoded)?;
        for warning in std::mem::take(&mut made.warnings) {
            creation.reading.warn(warning);
        }
        if made.form == abi::FORM_VALUE {
            return value_codec(&parse(&made.value)?);
        }
        let form = made.form;
        let (size, at_start) = made.checksum;
        let codec = WasmCodec {
            recipe: recipe.clone(),
            entry: entry.clone(),
            decoded: decoded.clone(),
            idle: Mutex::new(vec![made]),
        };
        match form {
            abi::FORM_ARRAY_TO_ARRAY => Ok(Codec::ArrayToArray(Arc::new(codec))),
            abi::FORM_ARRAY_TO_BYTES => Ok(Codec::ArrayToBytes(Arc::new(codec))),
            abi::FORM_BYTES_TO_BYTES => Ok(Codec::BytesToBytes(Arc::new(codec))),
            abi::FORM_CHECKSUM if size > MAX_CHECKSUM => Err(Failure::broken(format!(
                "it declared a checksum of {size} bytes; the limit is {MAX_CHECKSUM}"
            ))),
            abi::FORM_CHECKSUM => {
                Ok(Codec::Checksum(Arc::new(WasmChecksum { codec, size: size as usize, at_start })))
            }
            other => Err(Failure::broken(format!("it returned a codec of the unknown form {other}"))),
        }
    };
    codec().map_err(|failure| codec_error(failure, &recipe.origin, true))
}

/// Returns the configuration of the codec in another format.
pub(crate) fn translate(
    recipe: &Recipe,
    creation: &Creation<'_>,
    decoded: &Representation,
    format: Format,
) -> CodecResult<Object> {
    let same = || creation.configuration.as_object().cloned().unwrap_or_default();
    let translated = || {
        let (mut guest, vtable, context) = recipe.start()?;
        let pointer = guest.get_u32::<CodecVtable>(vtable, "translate")?;
        let translate = guest.function::<(u32, u32, u32, u32, u32, u32), i32>(pointer, "translate")?;
        let Some(translate) = translate else { return Ok(same()) };
        guest.begin(0);
        let shown = Entry::of(creation).put(&mut guest)?;
        let decoded = put_representation(&mut guest, decoded)?;
        let json = guest.put::<Buf>(&[])?;
        let err = guest.put::<Buf>(&[])?;
        let status = guest.call(&translate, (context, shown, decoded, format_number(format), json, err))?;
        guest.outcome(status, err)?;
        match parse(&guest.take(json)?)? {
            Value::Object(members) => Ok(members),
            other => Err(Failure::broken(format!("it translated a configuration to {}", other.kind_name()))),
        }
    };
    translated().map_err(|failure: Failure| codec_error(failure, &recipe.origin, true))
}

/// Returns the maximum encoded size for `decoded` bytes. Nothing else limits the output of an encoder.
fn most_encoded(decoded: usize) -> usize {
    GUEST_MEMORY.saturating_add(decoded.saturating_mul(ENCODED_PER_BYTE))
}

/// A codec of a module, with a pool of idle guests.
#[derive(Debug)]
struct WasmCodec {
    recipe: Recipe,
    entry: Entry,
    decoded: Representation,
    idle: Mutex<Vec<Made>>,
}

impl WasmCodec {
    /// Runs `call` in a guest that no other thread uses. The limits of the call depend on `given`, the size of its
    /// input in bytes.
    fn with<R>(
        &self,
        given: usize,
        call: impl FnOnce(&mut Made) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut made = match idle {
            Some(made) => made,
            None => self.recipe.make(&self.entry, &self.decoded)?,
        };
        made.guest.begin(given);
        let result = call(&mut made);
        if !made.guest.is_dead() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(made);
        }
        result
    }

    fn size(&self, decoded: &Representation) -> Result<Size, Failure> {
        self.with(0, |made| {
            let encoded_size = required(&made.functions.encoded_size, "encoded_size")?;
            let guest = &mut made.guest;
            let decoded = put_representation(guest, decoded)?;
            let size = guest.put::<abi::Size>(&[])?;
            let err = guest.put::<Buf>(&[])?;
            let status = guest.call(encoded_size, (made.this, decoded, size, err))?;
            guest.outcome(status, err)?;
            size_at(guest, size)
        })
    }

    /// Encodes or decodes `from`. `array` describes the decoded side.
    fn run(
        &self,
        array: Option<&ArrayRepresentation>,
        from: &[u8],
        to: &mut Output<'_>,
        is_encoding: bool,
    ) -> CodecResult {
        let limit = if is_encoding { to.remaining().min(most_encoded(from.len())) } else { to.remaining() };
        let run = self.with(from.len(), |made| {
            let step = if is_encoding { &made.functions.encode } else { &made.functions.decode };
            let step = required(step, if is_encoding { "encode" } else { "decode" })?;
            let guest = &mut made.guest;
            let array = array.map(|array| put_array(guest, array)).transpose()?.unwrap_or(0);
            let text = guest.put_text(from)?;
            let text = guest.put::<Str>(&[("ptr", text & 0xffff_ffff), ("len", text >> 32)])?;
            let call = guest.put::<Call>(&[("max_out_bytes", limit as u64), ("threads", 1)])?;
            let err = guest.put::<Buf>(&[])?;
            let output = guest.lend(limit, from.len().saturating_mul(2))?;
            let status = guest.call(step, (made.this, array, text, call, output, err))?;
            guest.outcome(status, err)?;
            Ok(to.put(guest.written()?)?)
        });
        run.map_err(|failure| match failure.status {
            abi::LIMIT_EXCEEDED => CodecError::TooLarge(LimitExceeded { limit }),
            _ => codec_error(failure, &self.recipe.origin, is_encoding),
        })
    }
}

impl BytesToBytesCodec for WasmCodec {
    /// Returns `Unknown` if the guest fails, which is always correct.
    fn encoded_size(&self, decoded: Size) -> Size {
        self.size(&Representation::Bytes(decoded)).unwrap_or(Size::Unknown)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.run(None, decoded, encoded, true)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.run(None, encoded, decoded, false)
    }
}

impl ArrayToBytesCodec for WasmCodec {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        let size = self.size(&Representation::Array(array.clone()));
        size.map_err(|failure| codec_error(failure, &self.recipe.origin, true))
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.run(Some(array), decoded, encoded, true)
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.run(Some(array), encoded, decoded, false)
    }
}

impl ArrayToArrayCodec for WasmCodec {
    fn encoded(&self, decoded: &ArrayRepresentation) -> CodecResult<ArrayRepresentation> {
        let encoded = self.with(0, |made| {
            let encoded_array = required(&made.functions.encoded_array, "encoded_array")?;
            let guest = &mut made.guest;
            let shown = put_array(guest, decoded)?;
            let json = guest.put::<Buf>(&[])?;
            let err = guest.put::<Buf>(&[])?;
            let data_type = guest.put::<DataTypeHandle>(&[])?;
            let status = guest.call(encoded_array, (made.this, shown, json, data_type, err))?;
            guest.outcome(status, err)?;
            if guest.get_u32::<DataTypeHandle>(data_type, "vtable")? != 0 {
                let what = "it changes the data type, which is not supported for codecs in WebAssembly";
                return Err(Failure::new(abi::UNSUPPORTED, what));
            }
            let json = parse(&guest.take(json)?)?;
            array_of_json(&json, decoded.data_type.clone(), decoded).ok_or_else(|| {
                Failure::broken(format!("it returned the invalid description {json} of the encoded array"))
            })
        });
        encoded.map_err(|failure| codec_error(failure, &self.recipe.origin, true))
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.run(Some(array), decoded, encoded, true)
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.run(Some(array), encoded, decoded, false)
    }
}

/// A checksum of a module.
#[derive(Debug)]
struct WasmChecksum {
    codec: WasmCodec,
    size: usize,
    at_start: bool,
}

impl Checksum for WasmChecksum {
    fn size(&self) -> usize {
        self.size
    }

    fn at_start(&self) -> bool {
        self.at_start
    }

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> CodecResult {
        let computed = self.codec.with(bytes.len(), |made| {
            let function = required(&made.functions.checksum, "checksum")?;
            let guest = &mut made.guest;
            let text = guest.put_text(bytes)?;
            let text = guest.put::<Str>(&[("ptr", text & 0xffff_ffff), ("len", text >> 32)])?;
            let at = guest.put_bytes(&vec![0; self.size])?;
            let err = guest.put::<Buf>(&[])?;
            let status = guest.call(function, (made.this, text, at, err))?;
            guest.outcome(status, err)?;
            checksum.copy_from_slice(guest.bytes(at, self.size)?);
            Ok(())
        });
        computed.map_err(|failure| codec_error(failure, &self.codec.recipe.origin, false))
    }
}
