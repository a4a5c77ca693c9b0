//! The `conditional` codec of Zarr: applies codecs of a list only to the chunks that they make smaller, and records
//! which ones it applied.
//!
//! Bytes to bytes. A chunk starts with `header_bits / 8` bytes, little endian: bit `i` is set if codec `i` of
//! the list was applied. Decoding applies the inverses in reverse order.
//!
//! The specification lets the writer choose. This implementation applies the prefix of the list that gives the
//! fewest bytes, and always applies checksums. A chunk therefore grows at most by the header and its checksums.
//!
//! Source: `codecs/conditional` in the Zarr extension registry.

use std::sync::Arc;

use serde::Deserialize;
use zarr_metadata::v3;
use zarr_spec::codec::{BytesToBytesCodec, Checksum};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output, Representation,
    Size, Value,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("conditional"), &create)
        .configuration::<ConditionalConfiguration>()
        .about("Applies codecs only to the chunks that they make smaller.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "conditional", "configuration": {"codecs": []}}"#),
    Example::v3(r#"{"name": "conditional", "configuration": {"codecs": [], "header_bits": 16}}"#),
];

/// Maximum number of header bits, far more than any list needs.
const MAX_HEADER_BITS: u64 = 1 << 16;

/// A codec of the list.
#[derive(Debug)]
enum Inner {
    Computed(Arc<dyn BytesToBytesCodec>),
    Checksum(Arc<dyn Checksum>),
}

/// Applies codecs to the chunks that they make smaller.
#[derive(Debug)]
struct Conditional {
    codecs: Vec<Inner>,
    header: usize,
}

#[derive(Deserialize)]
struct ConditionalConfiguration {
    codecs: Value,
    header_bits: Option<u64>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let ConditionalConfiguration { codecs, header_bits } = creation.parse()?;
    let documents = v3::extensions("codecs", &codecs, creation.reading)
        .map_err(|error| CodecError::configuration(error.to_string()))?;
    let least = (documents.len() as u64).max(1).next_multiple_of(8);
    let bits = header_bits.unwrap_or(least);
    if bits % 8 != 0 || bits < least || bits > MAX_HEADER_BITS {
        return Err(CodecError::configuration(format!(
            "`header_bits` is {bits}; expected a multiple of 8 from {least} to {MAX_HEADER_BITS} for {} codecs",
            documents.len()
        )));
    }
    let inner = |(position, document): (usize, &ExtensionDocument)| {
        inner(creation, document, decoded).map_err(|error| at(position, document, &error))
    };
    let codecs = documents.iter().enumerate().map(inner).collect::<Result<_, _>>()?;
    let header =
        usize::try_from(bits / 8).map_err(|_| CodecError::configuration("`header_bits` is too large"))?;
    Ok(Codec::BytesToBytes(Arc::new(Conditional { codecs, header })))
}

fn at(position: usize, document: &ExtensionDocument, error: &CodecError) -> CodecError {
    CodecError::configuration(format!(
        "codec `{}` at position {position} of `codecs`: {error}",
        document.identifier
    ))
}

fn inner(
    creation: &Creation<'_>,
    document: &ExtensionDocument,
    decoded: &Representation,
) -> CodecResult<Inner> {
    let creation = creation.inner(document);
    match creation.registry.codec(&creation, decoded)? {
        Codec::BytesToBytes(codec) => Ok(Inner::Computed(codec)),
        Codec::Checksum(checksum) => Ok(Inner::Checksum(checksum)),
        _ => Err(CodecError::Unsupported("expected a bytes-to-bytes codec".to_owned())),
    }
}

impl Conditional {
    /// Applies the first `count` codecs and all checksums to `decoded`. Returns `None` if the result exceeds
    /// `limit` bytes.
    fn apply(&self, count: usize, decoded: &[u8], limit: usize) -> CodecResult<Option<Vec<u8>>> {
        let mut bytes = decoded.to_vec();
        for (_, inner) in self.used(count) {
            let mut encoded = Output::at_most(limit);
            match inner.encode(&bytes, &mut encoded) {
                Err(CodecError::TooLarge(_)) => return Ok(None),
                result => result?,
            }
            bytes = encoded.into_written();
        }
        Ok(Some(bytes))
    }

    /// Returns the codecs to apply, with their index in the list: the first `count`, and all checksums.
    fn used(&self, count: usize) -> impl DoubleEndedIterator<Item = (usize, &Inner)> {
        let codecs = self.codecs.iter().enumerate();
        codecs.filter(move |(position, inner)| *position < count || matches!(inner, Inner::Checksum(_)))
    }

    /// Returns the lengths of the prefixes to try: zero, and the length of each prefix that ends with a codec other
    /// than a checksum.
    fn choices(&self) -> impl Iterator<Item = usize> {
        let computed = |position: &usize| matches!(self.codecs[*position], Inner::Computed(_));
        std::iter::once(0).chain((0..self.codecs.len()).filter(computed).map(|position| position + 1))
    }

    /// Returns the number of bytes that the checksums add.
    fn checksums(&self) -> usize {
        self.used(0).map(|(_, inner)| inner.added()).sum()
    }
}

impl Inner {
    /// Returns the size of a checksum.
    fn added(&self) -> usize {
        match self {
            Self::Computed(_) => 0,
            Self::Checksum(checksum) => checksum.size(),
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let checksum = match self {
            Self::Computed(codec) => return codec.encode(decoded, encoded),
            Self::Checksum(checksum) => checksum,
        };
        let mut sum = vec![0; checksum.size()];
        checksum.checksum(decoded, &mut sum)?;
        let parts = if checksum.at_start() { [&sum, decoded] } else { [decoded, &sum] };
        Ok(parts.into_iter().try_for_each(|part| encoded.put(part))?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let checksum = match self {
            Self::Computed(codec) => return codec.decode(encoded, decoded),
            Self::Checksum(checksum) => checksum,
        };
        let Some(rest) = encoded.len().checked_sub(checksum.size()) else {
            return Err(CodecError::corrupt(format!("{} bytes are too few for a checksum", encoded.len())));
        };
        let (inside, stored) = match checksum.at_start() {
            true => (&encoded[checksum.size()..], &encoded[..checksum.size()]),
            false => encoded.split_at(rest),
        };
        let mut sum = vec![0; checksum.size()];
        checksum.checksum(inside, &mut sum)?;
        if sum != stored {
            return Err(CodecError::corrupt("the checksum does not match the bytes"));
        }
        Ok(decoded.put(inside)?)
    }

    /// Returns the maximum encoded size of `decoded` bytes. If the codec does not declare a maximum, assumes twice the
    /// size and a margin.
    fn max_encoded_size(&self, decoded: usize) -> usize {
        let declared = match self {
            Self::Computed(codec) => codec.encoded_size(Size::AtMost(decoded as u64)),
            Self::Checksum(checksum) => return decoded.saturating_add(checksum.size()),
        };
        match declared {
            Size::Exact(size) | Size::AtMost(size) => usize::try_from(size).unwrap_or(usize::MAX),
            Size::Unknown => decoded.saturating_mul(2).saturating_add(1 << 16),
        }
    }
}

impl BytesToBytesCodec for Conditional {
    fn encoded_size(&self, decoded: Size) -> Size {
        let more = (self.header + self.checksums()) as u64;
        match decoded {
            Size::Exact(size) | Size::AtMost(size) => {
                size.checked_add(more).map_or(Size::Unknown, Size::AtMost)
            }
            Size::Unknown => Size::Unknown,
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let mut best = None;
        for count in self.choices() {
            // A codec may produce a longer form that later codecs make smaller.
            let limit = decoded.len().saturating_mul(2).saturating_add(1 << 16);
            let Some(bytes) = self.apply(count, decoded, limit)? else { continue };
            if best.as_ref().is_none_or(|(_, shortest): &(usize, Vec<u8>)| bytes.len() < shortest.len()) {
                best = Some((count, bytes));
            }
        }
        let Some((count, bytes)) = best else {
            return Err(CodecError::encode("the checksums do not fit into the limit"));
        };
        let mut header = vec![0; self.header];
        for (position, _) in self.used(count) {
            header[position / 8] |= 1 << (position % 8);
        }
        encoded.put(&header)?;
        Ok(encoded.put(&bytes)?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let Some((header, bytes)) = encoded.split_at_checked(self.header) else {
            return Err(CodecError::corrupt(format!("{} bytes are too few for the header", encoded.len())));
        };
        let is_set = |position: usize| header[position / 8] >> (position % 8) & 1 == 1;
        if let Some(position) = (self.codecs.len()..self.header * 8).find(|&position| is_set(position)) {
            return Err(CodecError::corrupt(format!(
                "bit {position} of the header is set, but there are {} codecs",
                self.codecs.len()
            )));
        }
        let apply: Vec<&Inner> = self
            .codecs
            .iter()
            .enumerate()
            .filter(|(position, _)| is_set(*position))
            .map(|(_, inner)| inner)
            .collect();
        let Some((first, others)) = apply.split_first() else { return Ok(decoded.put(bytes)?) };
        // The maximum encoded size of each codec, starting with the first one, whose input is the chunk.
        let mut limits = vec![first.max_encoded_size(decoded.remaining())];
        for inner in others {
            let before = limits.last().copied().unwrap_or_default();
            limits.push(inner.max_encoded_size(before));
        }
        let mut bytes = std::borrow::Cow::Borrowed(bytes);
        for (inner, limit) in others.iter().zip(&limits).rev() {
            let mut before = Output::at_most(*limit);
            inner.decode(&bytes, &mut before)?;
            bytes = before.into_written().into();
        }
        first.decode(&bytes, decoded)
    }
}
