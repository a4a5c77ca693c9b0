//! The chunk memory layout `hilbert`: the elements of a chunk follow a Hilbert curve, so that elements that are near to one
//! another in the chunk are mostly near to one another in its bytes.
//!
//! The curve goes through the smallest cube whose edge is a power of two and that holds the chunk; positions outside of
//! the chunk leave no gaps. It begins at the first element. With one dimension it is `C`; more than three are refused.
//!
//! Source: J. Skilling, "Programming the Hilbert curve", 2004, with the bits of the first dimension before those of the
//! next one. With two dimensions that is the curve that everybody knows.

mod curve;

use std::sync::{Arc, Mutex, PoisonError};

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, Creation, Elements, Example, Identifiers, Output, Value,
};

use curve::places;

zarr_spec::register!(
    MemoryLayoutPlugin::new(IDENTIFIERS, &create)
        .configuration::<NoConfiguration>()
        .about("The elements of a chunk follow one another along a Hilbert curve.", EXAMPLES)
);

const IDENTIFIERS: Identifiers = Identifiers {
    uri: Some("https://outside.example/layouts/hilbert/1.0"),
    name: None,
    id: None,
    aliases: &[],
};

const DOCUMENT: &str = r#"{"extension": "https://outside.example/layouts/hilbert/1.0", "type": "hilbert"}"#;

const EXAMPLES: &[Example] = &[
    Example::draft(DOCUMENT).with_shape(&[8, 8]),
    Example::draft(DOCUMENT).with_shape(&[5, 12]),
    Example::draft(DOCUMENT).with_shape(&[4, 4, 4]),
    Example::draft(DOCUMENT).with_shape(&[3, 1, 6]),
];

/// Puts the elements of chunks in the order of the curve.
#[derive(Debug, Default)]
struct Hilbert {
    /// That of the shape that was met last: most chunks of an array have one shape.
    kept: Mutex<Option<Order>>,
}

/// The places in C order of the elements of a chunk, along the curve.
#[derive(Debug)]
struct Order {
    shape: Vec<u64>,
    places: Arc<[usize]>,
}

impl Hilbert {
    /// The places of elements that have `bytes` bytes together, and the bytes of each.
    fn order(&self, array: &ArrayRepresentation, bytes: usize) -> Result<(Arc<[usize]>, usize), String> {
        let Elements::Fixed { size, .. } = array.data_type.elements() else {
            return Err("elements of variable size have no places in a chunk".to_owned());
        };
        // Nothing is kept for a chunk whose elements are not there.
        if array.element_count().and_then(|count| count.checked_mul(size)) != Some(bytes) {
            return Err(format!("{bytes} bytes are not all of a chunk of shape {:?}", array.shape));
        }
        if bytes == 0 {
            return Ok((Arc::new([]), 1));
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let order = match kept.take() {
            Some(order) if order.shape == array.shape => order,
            _ => Order { shape: array.shape.clone(), places: places(&array.shape).into() },
        };
        Ok((Arc::clone(&kept.insert(order).places), size))
    }
}

impl ArrayToArrayCodec for Hilbert {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        match decoded.data_type.elements() {
            Elements::Fixed { .. } => Ok(decoded.clone()),
            Elements::Variable => {
                let name = decoded.data_type.name();
                Err(CodecError::Unsupported(format!("elements of `{name}` are of variable size")))
            }
        }
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let (places, size) = self.order(array, decoded.len()).map_err(CodecError::encode)?;
        let room = &mut encoded.spare(decoded.len())?[..decoded.len()];
        for (to, place) in room.chunks_exact_mut(size).zip(&*places) {
            to.copy_from_slice(&decoded[place * size..][..size]);
        }
        encoded.advance(decoded.len());
        Ok(())
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let (places, size) = self.order(array, encoded.len()).map_err(CodecError::corrupt)?;
        let room = &mut decoded.spare(encoded.len())?[..encoded.len()];
        for (from, place) in encoded.chunks_exact(size).zip(&*places) {
            room[place * size..][..size].copy_from_slice(from);
        }
        decoded.advance(encoded.len());
        Ok(())
    }
}

/// The draft names the layout beside the extension.
fn create(creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    match creation.type_name.and_then(Value::as_str) {
        Some("hilbert") => {}
        _ => return Err(CodecError::configuration("`type` is not \"hilbert\"")),
    }
    match rank {
        0 | 1 => Ok(Codec::Permutation((0..rank).collect())),
        2 | 3 => Ok(Codec::ArrayToArray(Arc::new(Hilbert::default()))),
        _ => Err(CodecError::Unsupported(format!("a curve through {rank} dimensions"))),
    }
}
