//! Codecs for these tests that reveal how a chain uses them.

use std::sync::Arc;

use zarr_kit::Registry;
use zarr_kit::spec::codec::{ArrayToArrayCodec, ArrayToBytesCodec, BytesToBytesCodec};
use zarr_kit::spec::plugin::PluginKind;
use zarr_kit::spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Elements, Identifiers, Output,
    Representation, Size,
};

pub(super) const NUMBERING: &str = "https://e.org/codecs/numbering/1.0";
pub(super) const ROUNDING: &str = "https://e.org/codecs/rounding/1.0";
pub(super) const CUTTING: &str = "https://e.org/codecs/cutting/1.0";
pub(super) const PICTURE: &str = "https://e.org/codecs/picture/1.0";

/// Registers all codecs of this module.
pub(super) fn register(registry: &mut Registry) {
    let plugins: [(&'static str, &<Codec as PluginKind>::Create); 4] =
        [(NUMBERING, &numbering), (ROUNDING, &rounding), (CUTTING, &cutting), (PICTURE, &picture)];
    for (uri, create) in plugins {
        let identifiers = Identifiers::uri(uri);
        registry.register(CodecPlugin::new(identifiers, create)).unwrap();
    }
}

fn unsupported(what: &str) -> CodecError {
    CodecError::Unsupported(what.to_owned())
}

fn size(array: &ArrayRepresentation) -> usize {
    match array.data_type.elements() {
        Elements::Fixed { size, .. } => size,
        Elements::Variable => 0,
    }
}

/// Adds its position and the length of the last dimension to each byte, which reveals the shape that the
/// codec receives.
#[derive(Debug)]
struct Numbering;

fn numbering(_creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::ArrayToArray(Arc::new(Numbering)))
}

fn number(array: &ArrayRepresentation, position: usize) -> u8 {
    let last = array.shape.last().copied().unwrap_or(0);
    u8::try_from(position).unwrap().wrapping_add(u8::try_from(last).unwrap() << 4)
}

impl ArrayToArrayCodec for Numbering {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        if size(decoded) == 1 {
            Ok(decoded.clone())
        } else {
            Err(unsupported("elements have more than one byte"))
        }
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        from: &[u8],
        to: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let bytes =
            from.iter().enumerate().map(|(position, byte)| byte.wrapping_add(number(array, position)));
        Ok(to.put(&bytes.collect::<Vec<_>>())?)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        from: &[u8],
        to: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let bytes =
            from.iter().enumerate().map(|(position, byte)| byte.wrapping_sub(number(array, position)));
        Ok(to.put(&bytes.collect::<Vec<_>>())?)
    }
}

/// Rounds numbers of two bytes down to multiples of 256.
#[derive(Debug)]
struct Rounding;

fn rounding(_creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::ArrayToArray(Arc::new(Rounding)))
}

impl ArrayToArrayCodec for Rounding {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        if size(decoded) == 2 {
            Ok(decoded.clone())
        } else {
            Err(unsupported("elements must have two bytes"))
        }
    }

    fn encode(
        &self,
        _array: &ArrayRepresentation,
        from: &[u8],
        to: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let mask = 0xff00u16.to_ne_bytes();
        let bytes = from.iter().enumerate().map(|(position, byte)| byte & mask[position % 2]);
        Ok(to.put(&bytes.collect::<Vec<_>>())?)
    }

    fn decode(
        &self,
        _array: &ArrayRepresentation,
        from: &[u8],
        to: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        Ok(to.put(from)?)
    }
}

/// Drops the last byte when it encodes. This is a fault, because decoding cannot restore the byte.
#[derive(Debug)]
struct Cutting;

fn cutting(_creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::BytesToBytes(Arc::new(Cutting)))
}

impl BytesToBytesCodec for Cutting {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(encoded.put(&decoded[..decoded.len().saturating_sub(1)])?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(decoded.put(encoded)?)
    }
}

/// Elements of one byte in two dimensions, preceded by the letter `P`.
#[derive(Debug)]
struct Picture;

fn picture(_creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::ArrayToBytes(Arc::new(Picture)))
}

impl ArrayToBytesCodec for Picture {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        if array.shape.len() != 2 {
            return Err(unsupported("a picture has two dimensions"));
        }
        if size(array) != 1 {
            return Err(unsupported("a picture has one byte for each point"));
        }
        Ok(Size::Unknown)
    }

    fn encode(
        &self,
        _array: &ArrayRepresentation,
        from: &[u8],
        to: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        to.put(b"P")?;
        Ok(to.put(from)?)
    }

    fn decode(
        &self,
        _array: &ArrayRepresentation,
        from: &[u8],
        to: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let points = from.strip_prefix(b"P").ok_or_else(|| CodecError::corrupt("not a picture"))?;
        Ok(to.put(points)?)
    }
}
