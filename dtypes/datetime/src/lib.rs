//! `numpy.datetime64` and `numpy.timedelta64`: points and spans of time as counts of a unit, like in NumPy.
//!
//! Elements are 64-bit two's complement integers; the smallest one means "not a time". A point of time counts
//! from 1970-01-01T00:00, without a time zone.
//!
//! | format | point of time | span of time |
//! |---|---|---|
//! | v2 | `<M8[ns]`, `<M8[10us]` | `<m8[ns]` |
//! | v3 | `numpy.datetime64` with `unit` and `scale_factor` | `numpy.timedelta64` |
//! | draft | the datetime extension, type `<M8[ns]` | the same, type `<m8[ns]` |
//!
//! Source: `data-types/numpy.datetime64` in the Zarr extension registry; the datetime draft of 2022.

mod civil;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::decimals;
use zarr_spec::data_type::{
    Created, DataTypeDocument, FillContext, GENERIC_UNIT, Kind, TIME_UNITS, Typestring,
};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example,
    FillValue, Format, Identifiers, Invalid, Number, Units, Value,
};

/// The URI of the extension in the draft.
const URI: &str = "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0";

zarr_spec::register!(
    DataTypePlugin::new(
        // The aliases are older URIs of the extension, which also has spans of time: `type` of the draft
        // distinguishes them.
        Identifiers::name("numpy.datetime64").with_id("M8").with_uri(URI).with_aliases(&[
            "https://purl.org/zarr/spec/extensions/datetime-dtypes/1.0",
            "https://zarr-specs.readthedocs.io/en/latest/extensions/data-types/datetime/v1.0.html",
        ]),
        &create,
    )
    .configuration_in::<TimeConfiguration>(Format::V3)
    .about("Points of time as 64-bit counts of a unit since 1970, like in NumPy.", POINT_EXAMPLES)
);

const POINT_EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}}"#),
    Example::v3(r#"{"name": "numpy.datetime64", "configuration": {"unit": "us", "scale_factor": 10}}"#),
    Example::v2(r#""<M8[ns]""#),
    Example::v2(r#"">M8[10us]""#),
    Example::draft(
        r#"{"extension": "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0",
            "type": "<M8[ns]", "fallback": ["int64"]}"#,
    ),
    Example::draft(
        r#"{"extension": "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0",
            "type": ">m8[s]", "fallback": ["int64"]}"#,
    ),
];
zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name("numpy.timedelta64").with_id("m8"), &create,)
        .configuration_in::<TimeConfiguration>(Format::V3)
        .about("Spans of time as 64-bit counts of a unit, like in NumPy.", SPAN_EXAMPLES)
);

const SPAN_EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numpy.timedelta64", "configuration": {"unit": "s", "scale_factor": 1}}"#),
    Example::v2(r#""<m8[s]""#),
    Example::v2(r#"">m8[10us]""#),
];

/// The data type of points or spans of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Time {
    is_point: bool,
    /// One of [`TIME_UNITS`], or [`GENERIC_UNIT`].
    unit: &'static str,
    /// The number of units per count.
    scale: u32,
}

impl Time {
    /// Creates a type of points of time, as counts of `scale` times `unit`: `Y`, `M`, `W`, `D`, `h`, `m`, `s`,
    /// `ms`, `us`, `ns`, `ps`, `fs`, `as` or `generic`.
    ///
    /// # Errors
    ///
    /// For an unknown unit, and if `scale` is not 1 to 2147483647.
    pub fn point(unit: &str, scale: u32) -> Result<Self, Invalid> {
        Self::new(true, unit, i64::from(scale))
    }

    /// Creates a type of spans of time; see [`point`](Self::point).
    ///
    /// # Errors
    ///
    /// Those of [`point`](Self::point).
    pub fn span(unit: &str, scale: u32) -> Result<Self, Invalid> {
        Self::new(false, unit, i64::from(scale))
    }

    /// Returns whether elements are points of time, rather than spans.
    #[must_use]
    pub fn is_point(self) -> bool {
        self.is_point
    }

    /// Returns the unit of a count, in the form that [`point`](Self::point) accepts.
    #[must_use]
    pub fn unit(self) -> &'static str {
        self.unit
    }

    /// Returns the number of units per count.
    #[must_use]
    pub fn scale(self) -> u32 {
        self.scale
    }

    fn new(is_point: bool, unit: &str, scale: i64) -> Result<Self, Invalid> {
        let unit = if matches!(unit, "\u{3bc}s" | "\u{b5}s") { "us" } else { unit };
        let known = TIME_UNITS.into_iter().chain([GENERIC_UNIT]).find(|&known| known == unit);
        let unit = known.ok_or_else(|| {
            Invalid::new(format!(
                "`unit` is `{unit}`; expected one of {}, {GENERIC_UNIT}",
                TIME_UNITS.join(", ")
            ))
        })?;
        let scale = u32::try_from(scale).ok().filter(|&scale| scale >= 1 && i32::try_from(scale).is_ok());
        let scale = scale.ok_or_else(|| {
            Invalid::new(format!("`scale_factor` must be an integer from 1 to {}", i32::MAX))
        })?;
        Ok(Self { is_point, unit, scale })
    }

    /// Returns `M8[10us]`, or `M8` without a unit.
    fn typestring(self, order: &ByteOrder) -> String {
        let sign = if *order == ByteOrder::Big { '>' } else { '<' };
        let kind = if self.is_point { 'M' } else { 'm' };
        match self.scale {
            1 => format!("{sign}{kind}8[{}]", self.unit),
            scale => format!("{sign}{kind}8[{scale}{}]", self.unit),
        }
    }

    fn identifier(self) -> &'static str {
        if self.is_point { "numpy.datetime64" } else { "numpy.timedelta64" }
    }

    fn not_in(self, format: Format, hint: &str) -> DataTypeError {
        DataTypeError::NotInFormat { name: self.name().into_owned(), format, hint: format!("; {hint}") }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TimeConfiguration {
    unit: String,
    scale_factor: i64,
}

fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    let (time, order) = match creation.format {
        Format::V2 => from_v2(creation)?,
        Format::V3Draft => from_draft(creation.type_name)?,
        Format::V3 => {
            let TimeConfiguration { unit, scale_factor } = creation.parse()?;
            let is_point = creation.identifier != "numpy.timedelta64";
            (Time::new(is_point, &unit, scale_factor)?, ByteOrder::Little)
        }
    };
    Ok((Arc::new(time), order))
}

fn from_v2(creation: &Creation<'_>) -> Result<(Time, ByteOrder), Invalid> {
    let text = creation.configuration.as_str().unwrap_or_default();
    let typestring = Typestring::parse(text, creation.reading)?;
    let (scale, unit) = typestring.unit.unwrap_or((1, GENERIC_UNIT));
    Ok((Time::new(typestring.kind == 'M', unit, i64::from(scale))?, typestring.order.unwrap_or_default()))
}

/// Requires byte order, kind and unit, but not a multiplier (DX-DT-02, DX-DT-03).
fn from_draft(type_name: Option<&Value>) -> Result<(Time, ByteOrder), Invalid> {
    let wrong = || {
        let what = type_name.map_or_else(|| "missing".to_owned(), ToString::to_string);
        Invalid::new(format!("`type` is {what}; expected e.g. `<M8[ns]` or `<m8[s]`"))
    };
    let text = type_name.and_then(Value::as_str).ok_or_else(wrong)?;
    let (order, rest) = match text.split_at_checked(1) {
        Some(("<", rest)) => (ByteOrder::Little, rest),
        Some((">", rest)) => (ByteOrder::Big, rest),
        _ => return Err(wrong()),
    };
    let (kind, unit) = rest.strip_suffix(']').and_then(|rest| rest.split_once("8[")).ok_or_else(wrong)?;
    let is_point = match kind {
        "M" => true,
        "m" => false,
        _ => return Err(wrong()),
    };
    if !TIME_UNITS.contains(&unit) {
        return Err(wrong());
    }
    Ok((Time::new(is_point, unit, 1)?, order))
}

impl DataType for Time {
    fn name(&self) -> Cow<'_, str> {
        let Self { unit, scale, .. } = self;
        Cow::Owned(match scale {
            1 => format!("{}[{unit}]", self.identifier()),
            _ => format!("{}[{scale}{unit}]", self.identifier()),
        })
    }

    fn elements(&self) -> Elements {
        Elements::Fixed { size: 8, units: Units::Uniform(8) }
    }

    /// Returns the kind of integers, since codecs calculate with the counts.
    fn kind(&self) -> Option<Kind> {
        Some(Kind::Int)
    }

    fn document(&self, format: Format, order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        if self.unit == GENERIC_UNIT && format != Format::V3 {
            return Err(self.not_in(format, "the format requires a unit"));
        }
        Ok(match format {
            Format::V2 => {
                let id = if self.is_point { "M8" } else { "m8" };
                DataTypeDocument::in_v2(id, Value::from(self.typestring(order)))
            }
            Format::V3Draft if self.scale != 1 => {
                return Err(self.not_in(format, "the format requires a scale factor of 1"));
            }
            Format::V3Draft => {
                let type_name = Value::from(self.typestring(order));
                DataTypeDocument::in_draft(URI, type_name, Some("int64"))
            }
            Format::V3 => {
                let members = [("unit", Value::from(self.unit)), ("scale_factor", Value::from(self.scale))];
                DataTypeDocument::configured(self.identifier(), members.into_iter().collect())
            }
        })
    }

    /// Reads the count as an integer, or `"NaT"`.
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        let count = match json {
            Value::String(text) if text == "NaT" => Some(civil::NOT_A_TIME),
            json => match in_text(json, context)? {
                Some(number) => number.as_i64(),
                None => json.as_i64(),
            },
        };
        let count = count.ok_or_else(|| {
            DataTypeError::FillValue(format!("{json} is neither an integer of 64 bits nor \"NaT\""))
        })?;
        Ok(FillValue::new(count.to_ne_bytes()))
    }

    /// Writes the count, which all readers support.
    fn fill_value_json(&self, element: &[u8], _format: Format, _order: &ByteOrder) -> DataTypeResult<Value> {
        let count = count(element).ok_or_else(|| {
            DataTypeError::FillValue(format!("{} bytes are not an element of {}", element.len(), self.name()))
        })?;
        Ok(Value::from(count))
    }

    /// Prints points of time in ISO 8601, if the date is in range, and spans as count and unit.
    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        match count(element) {
            None => element.iter().try_for_each(|byte| write!(to, "{byte:02x}")),
            Some(civil::NOT_A_TIME) => to.write_str("NaT"),
            Some(count) if self.unit == GENERIC_UNIT => write!(to, "{count}"),
            Some(count) => {
                let count = i128::from(count) * i128::from(self.scale);
                match civil::format(count, self.unit).filter(|_| self.is_point) {
                    Some(text) => to.write_str(&text),
                    None => write!(to, "{count} {}", self.unit),
                }
            }
        }
    }
}

fn in_text(json: &Value, context: &FillContext<'_>) -> DataTypeResult<Option<Number>> {
    decimals::in_text(json, context).map_err(|invalid| DataTypeError::FillValue(invalid.to_string()))
}

fn count(element: &[u8]) -> Option<i64> {
    element.try_into().ok().map(i64::from_ne_bytes)
}
