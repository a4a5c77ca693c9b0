//! The `gribberish` codec: reads chunks that are GRIB messages, which contain fields of weather models.
//!
//! Array to bytes, for `float32` and `float64`; only decodes. A chunk is a message of edition 2 with one field. The
//! chunk has as many elements as the grid has points, in the order of the message; missing points are NaN. Packing
//! can be simple, complex with or without differences, CCSDS or PNG. JPEG 2000 as packing, and edition 1, are not
//! supported.
//!
//! The sizes in the message are compared with the chunk before it is decoded.
//!
//! | member | meaning |
//! |---|---|
//! | `var` | `latitude` or `longitude`: the coordinate of the grid instead of the field |
//! | `adjust_longitude_range` | true: a grid around the globe begins at −180° |
//! | `north_up` | true: the first row is the northernmost |
//!
//! A coordinate of a grid of latitudes and longitudes has one element for each row or column. A coordinate of another
//! grid has one element for each point.
//!
//! Final v3 has the codec as `gribberish`.
//!
//! Source: `GribberishCodec` in gribberish; "Manual on Codes" of the World Meteorological Organization, volume I.2.

mod bits;
mod message;
mod packing;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gribberish::error::GribberishError;
use gribberish::message::Message as Decoder;
use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_plugin_kit::numbers::Number;
use zarr_spec::codec::{ArrayToBytesCodec, CodecResult};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output,
    Representation, Size,
};

use message::Message;

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("gribberish"), &create)
        .configuration::<GribberishConfiguration>()
        .about("Reads chunks that are GRIB messages.", EXAMPLES)
        .decodes_only()
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "gribberish"}"#).with_data_types(&["float32", "float64"]).with_shape(&[1, 4, 6]),
    Example::v3(r#"{"name": "gribberish", "configuration": {"var": "latitude"}}"#)
        .with_data_types(&["float64"])
        .with_shape(&[4]),
    Example::v3(
        r#"{"name": "gribberish", "configuration": {"adjust_longitude_range": true, "north_up": true}}"#,
    )
    .with_data_types(&["float64"])
    .with_shape(&[4, 6]),
];

/// Reads chunks that are GRIB messages.
#[derive(Debug, Clone, Copy)]
struct Gribberish {
    variable: Variable,
    adjust_longitude_range: bool,
    north_up: bool,
}

/// The values in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variable {
    Field,
    Latitude,
    Longitude,
}

/// The elements of a chunk.
#[derive(Debug, Clone, Copy)]
struct Expected {
    number: Number,
    count: usize,
}

impl Gribberish {
    fn expected(array: &ArrayRepresentation) -> CodecResult<Expected> {
        let number = match Number::of(&*array.data_type) {
            Some(number @ (Number::F32 | Number::F64)) => number,
            _ => {
                let name = array.data_type.name();
                return Err(CodecError::Unsupported(format!(
                    "elements are `{name}`; expected `float32` or `float64`"
                )));
            }
        };
        match array.element_count().filter(|count| count.checked_mul(number.size()).is_some()) {
            Some(count) => Ok(Expected { number, count }),
            None => Err(CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape))),
        }
    }

    /// Compares the sizes in a message with the chunk.
    fn check(self, message: &Message<'_>, count: usize) -> CodecResult {
        if self.variable != Variable::Field {
            return message.grid()?.check_coordinates(self.variable == Variable::Latitude, count);
        }
        if self.adjust_longitude_range || self.north_up {
            message.grid()?.check_points(count)?;
        }
        message.check_field(count)
    }

    /// Decodes a message whose sizes are those of the chunk.
    fn values(self, message: &[u8]) -> Result<Vec<f64>, GribberishError> {
        let not_read = || GribberishError::MessageError("it is not a message of edition 2".to_owned());
        let message = Decoder::from_data(message, 0).ok_or_else(not_read)?;
        let Self { adjust_longitude_range, north_up, .. } = self;
        if self.variable == Variable::Field {
            let field = message.data()?;
            if !adjust_longitude_range && !north_up {
                return Ok(field);
            }
            return Ok(message.latlng_projector()?.adjust_data(field, adjust_longitude_range, north_up));
        }
        let (latitudes, longitudes) =
            message.latlng_projector()?.lat_lng_adjusted(adjust_longitude_range, north_up);
        Ok(if self.variable == Variable::Latitude { latitudes } else { longitudes })
    }
}

impl ArrayToBytesCodec for Gribberish {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        Self::expected(array)?;
        Ok(Size::Unknown)
    }

    fn encode(&self, _: &ArrayRepresentation, _decoded: &[u8], _encoded: &mut Output<'_>) -> CodecResult {
        Err(CodecError::decodes_only())
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let Expected { number, count } = Self::expected(array)?;
        let size = count * number.size();
        let room = &mut decoded.spare(size)?[..size];
        let message = Message::of(encoded)?;
        self.check(&message, count)?;
        // The library indexes slices with numbers of the message.
        let values = catch_unwind(AssertUnwindSafe(|| self.values(message.bytes)))
            .map_err(|_| CodecError::corrupt("the GRIB message cannot be decoded"))?
            .map_err(CodecError::corrupt)?;
        if values.len() != count {
            let found = values.len();
            return Err(CodecError::corrupt(format!(
                "the GRIB message has {found} values; expected {count}"
            )));
        }
        if number == Number::F64 {
            for (element, value) in room.chunks_exact_mut(8).zip(values) {
                element.copy_from_slice(&value.to_ne_bytes());
            }
        } else {
            #[expect(clippy::cast_possible_truncation, reason = "the nearest number, or infinity")]
            for (element, value) in room.chunks_exact_mut(4).zip(values) {
                element.copy_from_slice(&(value as f32).to_ne_bytes());
            }
        }
        decoded.advance(size);
        Ok(())
    }
}

#[derive(Deserialize)]
struct GribberishConfiguration {
    var: Option<String>,
    adjust_longitude_range: Option<bool>,
    north_up: Option<bool>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let GribberishConfiguration { var, adjust_longitude_range, north_up } = creation.parse()?;
    let codec = Gribberish {
        variable: match var.as_deref() {
            Some("latitude") => Variable::Latitude,
            Some("longitude") => Variable::Longitude,
            // The name of the field, which has no effect.
            _ => Variable::Field,
        },
        adjust_longitude_range: adjust_longitude_range.unwrap_or(false),
        north_up: north_up.unwrap_or(false),
    };
    Gribberish::expected(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}
