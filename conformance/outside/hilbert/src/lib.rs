//! The chunk memory layout `hilbert`: the elements of a chunk follow a Hilbert curve. Elements that are close to each
//! other in the chunk are usually close in its bytes.
//!
//! The curve starts at the first element. It fills the smallest cube that contains the chunk and whose edge is a
//! power of two; positions outside the chunk leave no gaps. With one dimension the layout equals `C`. More than three
//! dimensions are refused.
//!
//! Source: J. Skilling, "Programming the Hilbert curve", 2004, with the bits of each dimension before those of the
//! next. With two dimensions this is the well-known curve.

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
        .about("Orders the elements of a chunk along a Hilbert curve.", EXAMPLES)
);

const IDENTIFIERS: Identifiers = Identifiers::uri("https://outside.example/layouts/hilbert/1.0");

const DOCUMENT: &str = r#"{"extension": "https://outside.example/layouts/hilbert/1.0", "type": "hilbert"}"#;

const EXAMPLES: &[Example] = &[
    Example::draft(DOCUMENT).with_shape(&[8, 8]),
    Example::draft(DOCUMENT).with_shape(&[5, 12]),
    Example::draft(DOCUMENT).with_shape(&[4, 4, 4]),
    Example::draft(DOCUMENT).with_shape(&[3, 1, 6]),
];

/// Orders the elements of chunks along the curve.
#[derive(Debug, Default)]
struct Hilbert {
    /// The order for the last shape, cached because most chunks of an array have the same shape.
    kept: Mutex<Option<Order>>,
}

/// The elements of a chunk along the curve, as positions in C order.
#[derive(Debug)]
struct Order {
    shape: Vec<u64>,
    places: Arc<[usize]>,
}

impl Hilbert {
    /// Returns the order of the elements, and the size of an element. The elements must have `bytes` bytes in total.
    fn order(&self, array: &ArrayRepresentation, bytes: usize) -> Result<(Arc<[usize]>, usize), String> {
        let Elements::Fixed { size, .. } = array.data_type.elements() else {
            return Err("elements of variable size are not supported".to_owned());
        };
        // Fails before caching the order of a chunk with the wrong size.
        if array.element_count().and_then(|count| count.checked_mul(size)) != Some(bytes) {
            return Err(format!("{bytes} bytes are not a whole chunk of shape {:?}", array.shape));
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
                Err(CodecError::Unsupported(format!(
                    "`{name}` has elements of variable size, which are not supported"
                )))
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

/// Creates the layout, which the member `type` names in the draft.
fn create(creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    match creation.type_name.and_then(Value::as_str) {
        Some("hilbert") => {}
        _ => return Err(CodecError::configuration("`type` is not \"hilbert\"")),
    }
    match rank {
        0 | 1 => Ok(Codec::Permutation((0..rank).collect())),
        2 | 3 => Ok(Codec::ArrayToArray(Arc::new(Hilbert::default()))),
        _ => Err(CodecError::Unsupported(format!(
            "a Hilbert curve in {rank} dimensions (at most 3 are supported)"
        ))),
    }
}
