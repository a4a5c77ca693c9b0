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
//! Final v3 has the codec as `gribberish`. v2 has it under the same name in references that older versions of gribberish
//! wrote, with `var` and `dtype`, which repeats the data type of the elements.
//!
//! References of kerchunk have the same messages as chunks of `grib`; `numcodecs.grib` is also read. Its members are
//! `var` and `dtype`, the data type of the array. Elements of 9999, the number that stands for missing points, are NaN,
//! also where a field has it. A coordinate has one element for each point of the grid. Longitudes are from 0° to 360°.
//!
//! References of gribscan have them as chunks of `gribscan.rawgrib`, without members. Missing points are 9999.
//!
//! Source: `GribberishCodec` in gribberish; `GRIBCodec` in kerchunk; `RawGribCodec` in gribscan; "Manual on Codes" of the
//! World Meteorological Organization, volume I.2.

mod bits;
mod message;
mod packing;

use std::iter::repeat_n;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gribberish::error::GribberishError;
use gribberish::message::Message as Decoder;
use serde::Deserialize;
use zarr_plugin_kit::numbers::Number;
use zarr_plugin_kit::numpy::Dtype;
use zarr_plugin_kit::{NoConfiguration, array};
use zarr_spec::codec::{ArrayToBytesCodec, CodecResult};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Format, Identifiers, Object,
    Output, Representation, Size, Value,
};

use message::{Grid, Message};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("gribberish").with_id("gribberish"), &create)
        .translated_by(&translate)
        .configuration_in::<GribberishConfiguration>(Format::V3)
        .configuration_in::<OlderConfiguration>(Format::V2)
        .about("Reads chunks that are GRIB messages.", EXAMPLES)
        .decodes_only()
);

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("grib").with_id("grib").with_aliases(&["numcodecs.grib"]),
        &create_kerchunk,
    )
    .configuration::<KerchunkConfiguration>()
    .about("Reads chunks that are GRIB messages, as kerchunk does.", KERCHUNK_EXAMPLES)
    .decodes_only()
);

zarr_spec::register!(
    CodecPlugin::new(Identifiers::id("gribscan.rawgrib"), &create_gribscan)
        .configuration::<NoConfiguration>()
        .about("Reads chunks that are GRIB messages, as gribscan does.", GRIBSCAN_EXAMPLES)
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
    Example::v2(r#"{"id": "gribberish", "var": "t2m", "dtype": "float32"}"#)
        .with_data_types(&["float32"])
        .with_shape(&[4, 6]),
    Example::v2(r#"{"id": "gribberish", "var": "longitude", "dtype": "<f8"}"#)
        .with_data_types(&["float64"])
        .with_shape(&[6]),
];

const KERCHUNK_EXAMPLES: &[Example] = &[
    Example::v2(r#"{"id": "grib", "var": "t", "dtype": "float64"}"#)
        .with_data_types(&["float64"])
        .with_shape(&[4, 6]),
    Example::v3(r#"{"name": "grib", "configuration": {"var": "t", "dtype": "float64"}}"#)
        .with_data_types(&["float64"])
        .with_shape(&[4, 6]),
];

const GRIBSCAN_EXAMPLES: &[Example] =
    &[Example::v2(r#"{"id": "gribscan.rawgrib"}"#).with_data_types(&["float64"]).with_shape(&[4, 6])];

/// The number for missing points in ecCodes, which kerchunk and gribscan call.
const MISSING: f64 = 9999.0;

/// Reads chunks that are GRIB messages.
#[derive(Debug, Clone, Copy)]
struct Gribberish {
    reader: Reader,
    variable: Variable,
    adjust_longitude_range: bool,
    north_up: bool,
}

/// The program whose elements a chunk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Gribberish,
    Kerchunk,
    Gribscan,
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
            let grid = message.grid()?;
            return match self.reader {
                Reader::Gribberish => grid.check_coordinates(self.variable == Variable::Latitude, count),
                Reader::Kerchunk | Reader::Gribscan => grid.check_points(count),
            };
        }
        if self.adjust_longitude_range || self.north_up {
            message.grid()?.check_points(count)?;
        }
        message.check_field(count)
    }

    /// Decodes a message whose sizes are those of the chunk.
    fn values(self, message: &Message<'_>) -> Result<Vec<f64>, GribberishError> {
        let is_of_latitudes = message.grid().is_ok_and(Grid::is_of_latitudes);
        let not_read = || GribberishError::MessageError("it is not a message of edition 2".to_owned());
        let message = Decoder::from_data(message.bytes, 0).ok_or_else(not_read)?;
        let Self { adjust_longitude_range, north_up, .. } = self;
        if self.variable == Variable::Field {
            let field = message.data()?;
            if !adjust_longitude_range && !north_up {
                return Ok(self.with_missing(field));
            }
            return Ok(message.latlng_projector()?.adjust_data(field, adjust_longitude_range, north_up));
        }
        let (latitudes, longitudes) =
            message.latlng_projector()?.lat_lng_adjusted(adjust_longitude_range, north_up);
        let is_by_point = self.reader == Reader::Kerchunk && is_of_latitudes;
        Ok(match self.variable {
            Variable::Latitude if is_by_point => {
                latitudes.iter().flat_map(|it| repeat_n(*it, longitudes.len())).collect()
            }
            Variable::Latitude => latitudes,
            _ if is_by_point => turned(&longitudes.repeat(latitudes.len())),
            _ if self.reader == Reader::Kerchunk => turned(&longitudes),
            _ => longitudes,
        })
    }

    /// Replaces missing points, which are NaN, or the number for them by the element that the reader has there.
    fn with_missing(self, mut field: Vec<f64>) -> Vec<f64> {
        for value in &mut field {
            match self.reader {
                Reader::Kerchunk if *value == MISSING => *value = f64::NAN,
                Reader::Gribscan if value.is_nan() => *value = MISSING,
                _ => {}
            }
        }
        field
    }
}

/// Returns longitudes from 0° to 360°.
fn turned(longitudes: &[f64]) -> Vec<f64> {
    longitudes.iter().map(|longitude| longitude.rem_euclid(360.0)).collect()
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
        let values = catch_unwind(AssertUnwindSafe(|| self.values(&message)))
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

/// The configuration in v2. NumPy converts the values to `dtype`, by default 64-bit floats.
#[derive(Deserialize)]
struct OlderConfiguration {
    var: String,
    dtype: Option<Value>,
}

/// Returns the configuration in the form of v3, and the type of the elements.
fn parse(
    creation: &Creation<'_>,
    decoded: &Representation,
) -> CodecResult<(GribberishConfiguration, Number)> {
    let Expected { number, .. } = Gribberish::expected(array(decoded)?)?;
    let configuration = match creation.format {
        Format::V3 => creation.parse()?,
        Format::V2 | Format::V3Draft => {
            let OlderConfiguration { var, dtype } = creation.parse()?;
            check_dtype(dtype.as_ref(), number)?;
            GribberishConfiguration { var: Some(var), adjust_longitude_range: None, north_up: None }
        }
    };
    Ok((configuration, number))
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let (configuration, _) = parse(creation, decoded)?;
    let GribberishConfiguration { var, adjust_longitude_range, north_up } = configuration;
    let codec = Gribberish {
        reader: Reader::Gribberish,
        variable: Variable::of(var.as_deref()),
        adjust_longitude_range: adjust_longitude_range.unwrap_or(false),
        north_up: north_up.unwrap_or(false),
    };
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}

impl Variable {
    /// Returns the coordinate with this name. Other names are those of fields, and are ignored.
    fn of(name: Option<&str>) -> Self {
        match name {
            Some("latitude") => Self::Latitude,
            Some("longitude") => Self::Longitude,
            _ => Self::Field,
        }
    }
}

#[derive(Deserialize)]
struct KerchunkConfiguration {
    var: String,
    dtype: Option<String>,
}

fn create_kerchunk(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let KerchunkConfiguration { var, dtype } = creation.parse()?;
    let variable = Variable::of(Some(&var));
    let number = Gribberish::expected(array(decoded)?)?.number;
    let dtype = dtype.as_deref().unwrap_or(if variable == Variable::Field { "float32" } else { "float64" });
    let names = if number == Number::F64 { ["float64", "<f8", "f8"] } else { ["float32", "<f4", "f4"] };
    if !names.contains(&dtype) {
        return Err(CodecError::Unsupported(format!(
            "`dtype` is `{dtype}`, but the elements are `{}`",
            names[0]
        )));
    }
    Ok(of_eccodes(Reader::Kerchunk, variable))
}

fn create_gribscan(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let NoConfiguration {} = creation.parse()?;
    Gribberish::expected(array(decoded)?)?;
    Ok(of_eccodes(Reader::Gribscan, Variable::Field))
}

fn of_eccodes(reader: Reader, variable: Variable) -> Codec {
    let codec = Gribberish { reader, variable, adjust_longitude_range: false, north_up: false };
    Codec::ArrayToBytes(Arc::new(codec))
}

/// Writes the members of the format `to`. v2 has no grids that are adjusted.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    let (configuration, number) = parse(creation, decoded)?;
    let mut members = Object::new();
    if to == Format::V3 {
        if let Some(var) = configuration.var {
            members.insert("var", var);
        }
        for (name, value) in [
            ("adjust_longitude_range", configuration.adjust_longitude_range),
            ("north_up", configuration.north_up),
        ] {
            if let Some(value) = value {
                members.insert(name, value);
            }
        }
        return Ok(members);
    }
    if configuration.adjust_longitude_range == Some(true) || configuration.north_up == Some(true) {
        return Err(CodecError::Unsupported("grids are not adjusted in v2".to_owned()));
    }
    members.insert("var", configuration.var.unwrap_or_else(|| "values".to_owned()));
    members.insert("dtype", if number == Number::F32 { "<f4" } else { "<f8" });
    Ok(members)
}

/// Checks that `dtype` has the size of the elements, as whose bytes Python reads the values.
fn check_dtype(dtype: Option<&Value>, number: Number) -> CodecResult {
    let size = match dtype {
        None | Some(Value::Null) => Number::F64.size(),
        Some(dtype) => {
            let parsed = Dtype::parse(dtype);
            let parsed = parsed.map_err(|error| CodecError::configuration(format!("`dtype`: {error}")))?;
            if parsed.kind() == 'f' { parsed.size() } else { 0 }
        }
    };
    if size == number.size() {
        return Ok(());
    }
    let dtype = dtype.map_or_else(|| "missing".to_owned(), Value::to_string);
    Err(CodecError::configuration(format!(
        "`dtype` is {dtype}; elements are floats of {} bits",
        8 * number.size()
    )))
}
