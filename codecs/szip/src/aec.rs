//! The codec `imagecodecs_aec`: a stream without lines.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::data_type::Kind;
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Format, Identifiers, Output,
    Representation, Size, json,
};

use crate::parameters::Parameters;
use crate::{check_limit, check_size, decode, encode, known_size};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_aec")
            .with_id("imagecodecs_aec")
            .with_aliases(&["numcodecs.imagecodecs_aec"]),
        &create,
    )
    .configuration::<AecConfiguration>()
    .about("Compresses samples by adaptive entropy coding.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "imagecodecs_aec", "configuration": {"bitspersample": 8, "flags": 8, "blocksize": 16, "rsi": 64}}"#,
    ),
    Example::v2(
        r#"{"id": "imagecodecs_aec", "bitspersample": null, "flags": null, "blocksize": null, "rsi": null}"#,
    )
    .with_data_types(&["uint8", "int16", "uint32", "float32"]),
];

/// Differences are those of signed samples.
const SIGNED: u32 = 1;
/// The most significant byte of a sample comes first.
const MSB: u32 = 4;
/// Differences of samples are encoded.
const PREPROCESS: u32 = 8;
/// Permits other sizes of blocks than 8, 16, 32 and 64.
const NOT_ENFORCE: u32 = 64;

/// Compresses each chunk to one stream of samples, which does not contain the size of the chunk: all chunks have the same
/// size.
///
/// | member | meaning |
/// |---|---|
/// | `bitspersample` | bits of a sample, up to 32; by default those of an element in v2, and 8 in v3 |
/// | `flags` | a sum of 1 (signed), 4 (most significant byte first), 8 (differences of samples) and 64, which has no effect; by default 8 |
/// | `blocksize` | samples of a block, an even number up to 64; by default 8 |
/// | `rsi` | blocks of a segment, which begins with a sample that is not a difference; by default 2 |
///
/// In v2, elements of several bytes that are signed integers or floats are also signed samples, as in imagecodecs.
#[derive(Debug, Clone, Copy)]
pub struct Aec {
    parameters: Parameters,
    flags: u32,
}

impl Aec {
    /// Creates the codec.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for parameters beyond the ranges in the table, and for signed samples that do
    /// not fill their bytes.
    pub fn new(bits: u32, flags: u32, block: usize, segment: usize) -> CodecResult<Self> {
        let wrong = |what: String| Err(CodecError::configuration(what));
        if !(1..=32).contains(&bits) {
            return wrong(format!("`bitspersample` is {bits}; expected 1 to 32"));
        }
        if !(2..=64).contains(&block) || block % 2 == 1 {
            return wrong(format!("`blocksize` is {block}; expected an even number up to 64"));
        }
        if !(1..=4096).contains(&segment) {
            return wrong(format!("`rsi` is {segment}; expected 1 to 4096"));
        }
        if flags & !(SIGNED | MSB | PREPROCESS | NOT_ENFORCE) != 0 {
            return wrong(format!("`flags` is {flags}; only 1, 4, 8, 64 and their sums are supported"));
        }
        let parameters = Parameters {
            bits,
            block,
            segment,
            is_msb_first: flags & MSB != 0,
            has_differences: flags & PREPROCESS != 0,
            is_signed: flags & SIGNED != 0,
        };
        if parameters.is_signed && u32::try_from(8 * parameters.sample_size()) != Ok(bits) {
            return wrong(format!("signed samples have {bits} bits; expected 8, 16 or 32"));
        }
        Ok(Self { parameters, flags })
    }

    /// Returns the size of a block in bytes.
    fn block_size(&self) -> usize {
        self.parameters.block * self.parameters.sample_size()
    }
}

impl From<Aec> for CodecEntry {
    fn from(codec: Aec) -> Self {
        Self::new(
            "imagecodecs_aec",
            json!({
                "bitspersample": codec.parameters.bits,
                "flags": codec.flags,
                "blocksize": codec.parameters.block,
                "rsi": codec.parameters.segment,
            }),
        )
    }
}

/// The codec for chunks of one size in bytes.
#[derive(Debug)]
struct Stream {
    aec: Aec,
    size: usize,
}

impl BytesToBytesCodec for Stream {
    fn encoded_size(&self, decoded: Size) -> Size {
        let Parameters { bits, block, .. } = self.aec.parameters;
        let blocks = decoded.limit().map(|limit| limit.div_ceil(self.aec.block_size() as u64));
        // Each block has a form and its samples; a run of zeros has at most three more bits and a sample.
        let block_bits =
            (block as u64 + 1) * u64::from(bits) + u64::from(self.aec.parameters.option_bits()) + 3;
        match blocks.and_then(|blocks| blocks.checked_mul(block_bits)) {
            Some(bits) => Size::AtMost(bits / 8 + 1),
            None => Size::Unknown,
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        check_size(self.size, decoded)?;
        let size = self.aec.parameters.sample_size();
        if !decoded.len().is_multiple_of(size) {
            return Err(CodecError::encode(format!(
                "{} bytes are not samples of {size} bytes",
                decoded.len()
            )));
        }
        let mut padded = decoded.to_vec();
        let last = decoded.get(decoded.len().saturating_sub(size)..).unwrap_or_default();
        while !padded.len().is_multiple_of(self.aec.block_size()) {
            padded.extend_from_slice(last);
        }
        encode::encode(&self.aec.parameters, &padded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        check_limit(self.size, decoded)?;
        let padded = self.size.checked_next_multiple_of(self.aec.block_size());
        let padded =
            padded.ok_or_else(|| CodecError::corrupt(format!("{} bytes are too many", self.size)))?;
        let mut samples = decode::decode(&self.aec.parameters, encoded, padded)?;
        samples.truncate(self.size);
        Ok(decoded.put(&samples)?)
    }
}

#[derive(Deserialize)]
struct AecConfiguration {
    bitspersample: Option<u32>,
    flags: Option<u32>,
    blocksize: Option<usize>,
    rsi: Option<usize>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let AecConfiguration { bitspersample, flags, blocksize, rsi } = creation.parse()?;
    let (element_bits, sign) = match decoded {
        Representation::Array(array) if creation.format == Format::V2 => {
            let size = array.data_type.elements().size().unwrap_or(1);
            let is_signed = size > 1 && matches!(array.data_type.kind(), Some(Kind::Int | Kind::Float));
            (u32::try_from(size.saturating_mul(8)).unwrap_or(u32::MAX), if is_signed { SIGNED } else { 0 })
        }
        _ => (8, 0),
    };
    let flags = flags.unwrap_or(PREPROCESS) | sign;
    let aec =
        Aec::new(bitspersample.unwrap_or(element_bits), flags, blocksize.unwrap_or(8), rsi.unwrap_or(2))?;
    Ok(Codec::BytesToBytes(Arc::new(Stream { aec, size: known_size(decoded)? })))
}
