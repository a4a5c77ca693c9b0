//! The CF conventions: times, scale factors and missing values.

pub(crate) mod calendar;

use zarr_kit::archive::{dimension_names, element_as_number};
use zarr_kit::spec::{Object, Value};
use zarr_kit::{Array, Format};

use calendar::{Calendar, DAY, Date};

use crate::decoded::short;

/// The units of times, such as `days since 2001-01-01`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeUnits {
    /// Seconds per unit.
    seconds: f64,
    /// The seconds from the first day of the calendar to the reference.
    reference: f64,
    calendar: Calendar,
}

/// The maximum length of a date that is parsed, in bytes.
const LONGEST: usize = 40;

impl TimeUnits {
    /// Formats a span of time that is a number of these units: `1.5 days`.
    pub(crate) fn span(&self, count: f64) -> String {
        const UNITS: [(f64, &str); 4] =
            [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "seconds")];
        let name = UNITS.iter().find(|(seconds, _)| *seconds == self.seconds).map(|(_, name)| name);
        match name {
            Some(name) => format!("{} {name}", short(count)),
            None => format!("{} seconds", short(count * self.seconds)),
        }
    }

    /// Returns the units in the attributes of an array, or of the NumPy data type.
    pub(crate) fn of(array: &Array) -> Option<Self> {
        let text = |name: &str| array.attributes().get(name).and_then(Value::as_str);
        if let Some(units) = numpy_units(&array.data_type().name()) {
            return Some(units);
        }
        Self::parse(text("units")?, text("calendar").unwrap_or("standard"))
    }

    /// Parses units such as `hours since 1900-01-01 00:00:00`.
    pub(crate) fn parse(units: &str, calendar: &str) -> Option<Self> {
        let calendar = Calendar::parse(calendar)?;
        let (unit, reference) = units.split_once(" since ")?;
        let seconds = match unit.trim().to_ascii_lowercase().as_str() {
            "days" | "day" | "d" => 86_400.0,
            "hours" | "hour" | "hr" | "hrs" | "h" => 3600.0,
            "minutes" | "minute" | "min" | "mins" => 60.0,
            "seconds" | "second" | "sec" | "secs" | "s" => 1.0,
            "milliseconds" | "millisecond" | "msec" | "msecs" | "ms" => 1e-3,
            "microseconds" | "microsecond" => 1e-6,
            "nanoseconds" | "nanosecond" => 1e-9,
            _ => return None,
        };
        let reference = Date::parse(reference.trim())?.start(calendar)?;
        Some(Self { seconds, reference, calendar })
    }

    /// Formats a time as a date, with the time of day and fractions of a second unless they are zero.
    pub(crate) fn text(&self, value: f64) -> String {
        // Seconds are counted from the day of the reference: as seconds since the first day of the calendar, a float
        // would lose fractions.
        let first = (self.reference / DAY).floor();
        let seconds = value * self.seconds + (self.reference - first * DAY);
        if seconds.is_finite() { self.calendar.text(first, seconds) } else { "NaT".to_owned() }
    }

    /// Returns the first time of a date, and the first time after the date. For `2001-02`, these are the beginnings of
    /// February and March.
    pub(crate) fn bounds(&self, text: &str) -> Option<(f64, f64)> {
        let date = Date::parse(text)?;
        let value = |seconds: f64| (seconds - self.reference) / self.seconds;
        Some((value(date.start(self.calendar)?), value(date.end(self.calendar)?)))
    }
}

/// Returns the units of `numpy.datetime64[unit]`.
fn numpy_units(name: &str) -> Option<TimeUnits> {
    let unit = name.strip_prefix("numpy.datetime64[")?.strip_suffix(']')?;
    let digits = unit.bytes().take_while(u8::is_ascii_digit).count();
    let count: f64 = if digits == 0 { 1.0 } else { unit[..digits].parse().ok()? };
    let seconds = match &unit[digits..] {
        "W" => 604_800.0,
        "D" => 86_400.0,
        "h" => 3600.0,
        "m" => 60.0,
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "μs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    let calendar = Calendar::Proleptic;
    let reference = Date::parse("1970-01-01")?.start(calendar)?;
    Some(TimeUnits { seconds: seconds * count, reference, calendar })
}

/// How stored numbers become values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decoding {
    scale: f64,
    offset: f64,
    /// Stored numbers that stand for missing values.
    missing: Vec<f64>,
    /// Integers that are read with or without a sign, other than their data type.
    sign: Option<Sign>,
}

/// The range of integers after the attribute `_Unsigned` changes whether they have a sign.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sign {
    least: f64,
    /// The number of integers of the size of the data type.
    count: f64,
}

impl Decoding {
    /// Returns the scale factor, the offset, the sign and the missing values of an array, for overviews.
    ///
    /// They do not take a fill value of zero for a missing value as xarray does: it is the default of most programs, and
    /// coordinates contain zeros.
    pub(crate) fn of(array: &Array) -> Self {
        let has_attribute = array.attributes().contains("_FillValue");
        Self::with_fill(array, missing_fill(array).filter(|fill| *fill != 0.0 && !has_attribute))
    }

    /// Returns how xarray decodes an array.
    pub(crate) fn of_xarray(array: &Array) -> Self {
        Self::with_fill(array, missing_fill(array))
    }

    /// Returns the decoding of an array in which `fill`, if it is given, is missing instead of the attribute
    /// `_FillValue`.
    fn with_fill(array: &Array, fill: Option<f64>) -> Self {
        let attributes = array.attributes();
        let name = array.data_type().name();
        let is_real = name.contains("float");
        let listed = |attribute: &str| numbers(attributes, attribute, is_real);
        let mut missing = fill.map_or_else(|| listed("_FillValue"), |fill| vec![fill]);
        missing.extend(listed("missing_value"));
        let sign = Sign::of(attributes, &name);
        missing.iter_mut().for_each(|number| *number = Sign::apply(sign, *number));
        Self {
            scale: single(attributes, "scale_factor").unwrap_or(1.0),
            offset: single(attributes, "add_offset").unwrap_or(0.0),
            missing,
            sign,
        }
    }

    /// Returns whether values are stored as other numbers.
    pub(crate) fn is_packed(&self) -> bool {
        self.scale != 1.0 || self.offset != 0.0 || self.sign.is_some()
    }

    /// Describes how stored numbers become values; `None` if the stored numbers are the values.
    pub(crate) fn text(&self) -> Option<String> {
        let Self { scale, offset, missing, sign } = self;
        let mut parts = Vec::new();
        if self.is_packed() {
            let stored = sign.map_or("stored", Sign::text);
            let scaled = if *scale == 1.0 { stored.to_owned() } else { format!("{stored} × {scale}") };
            parts.push(match *offset {
                0.0 => scaled,
                offset if offset < 0.0 => format!("{scaled} − {}", -offset),
                offset => format!("{scaled} + {offset}"),
            });
        }
        // NaN is missing in any case, so it is not listed.
        let mut missing: Vec<String> =
            missing.iter().filter(|number| !number.is_nan()).map(f64::to_string).collect();
        missing.dedup();
        if !missing.is_empty() {
            parts.push(format!("{} is missing", missing.join(", ")));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Returns the value of a stored number; NaN if it is missing.
    pub(crate) fn value(&self, stored: f64) -> f64 {
        let stored = Sign::apply(self.sign, stored);
        if self.missing.contains(&stored) { f64::NAN } else { stored * self.scale + self.offset }
    }

    /// Returns whether a stored number stands for a missing value.
    pub(crate) fn is_missing(&self, stored: f64) -> bool {
        self.missing.contains(&Sign::apply(self.sign, stored))
    }
}

impl Sign {
    /// Returns the range if the attribute `_Unsigned` contradicts the data type.
    fn of(attributes: &Object, data_type: &str) -> Option<Self> {
        let is_unsigned = match attributes.get("_Unsigned")?.as_str()? {
            "true" => true,
            "false" => false,
            _ => return None,
        };
        let (stored_unsigned, bits) = match data_type.strip_prefix("uint") {
            Some(bits) => (true, bits),
            None => (false, data_type.strip_prefix("int")?),
        };
        let count = f64::exp2(bits.parse().ok()?);
        let least = if is_unsigned { 0.0 } else { -count / 2.0 };
        (is_unsigned != stored_unsigned).then_some(Self { least, count })
    }

    fn apply(sign: Option<Self>, stored: f64) -> f64 {
        match sign {
            Some(Self { least, count }) if stored < least => stored + count,
            Some(Self { least, count }) if stored >= least + count => stored - count,
            _ => stored,
        }
    }

    fn text(self) -> &'static str {
        if self.least < 0.0 { "stored as signed" } else { "stored as unsigned" }
    }
}

/// Returns the fill value of an array of v2 with dimension names, which replaces the attribute `_FillValue`: xarray writes
/// the attribute of a variable as the fill value. In v3, it writes the attribute.
///
/// Source: `ZarrStore.open_store_variable` in `xarray/backends/zarr.py` of xarray 2026.9.
fn missing_fill(array: &Array) -> Option<f64> {
    let metadata = array.metadata();
    let has_names = match array.shape().is_empty() {
        true => array.attributes().contains("_ARRAY_DIMENSIONS"),
        false => dimension_names(array).iter().all(Option::is_some),
    };
    // Both booleans are values.
    let is_bool = array.data_type().name() == "bool";
    let is_missing = metadata.format == Format::V2 && has_names && !metadata.fill_value.is_null() && !is_bool;
    element_as_number(&**array.data_type(), array.fill_value().bytes()).filter(|_| is_missing)
}

/// Describes the attributes of an array that look like those of CF, but cannot be decoded.
pub(crate) fn unusable(array: &Array) -> Vec<String> {
    let attributes = array.attributes();
    let mut problems = Vec::new();
    for name in ["scale_factor", "add_offset"] {
        if let Some(value) = attributes.get(name).filter(|_| single(attributes, name).is_none()) {
            problems.push(format!("the attribute `{name}` is ignored: {value} is not a number"));
        }
    }
    let text = |name: &str| attributes.get(name).and_then(Value::as_str);
    if let Some(units) = text("units").filter(|units| units.contains(" since "))
        && TimeUnits::of(array).is_none()
    {
        let calendar =
            text("calendar").map_or_else(String::new, |calendar| format!(" in the calendar `{calendar}`"));
        problems.push(format!("times are printed as numbers: `{units}`{calendar} is not understood"));
    }
    problems
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Returns the number in an attribute, which some writers store as a list of one number.
fn single(attributes: &Object, name: &str) -> Option<f64> {
    match attributes.get(name)? {
        Value::Array(values) => match values.as_slice() {
            [value] => number(value),
            _ => None,
        },
        value => number(value),
    }
}

/// Returns the numbers in an attribute. For arrays of real numbers in v3, xarray writes the base64 of eight bytes.
fn numbers(attributes: &Object, name: &str, is_real: bool) -> Vec<f64> {
    let encoded = |value: &Value| value.as_str().filter(|_| is_real).and_then(of_base64);
    match attributes.get(name) {
        Some(Value::Array(values)) => values.iter().filter_map(number).collect(),
        Some(value) => number(value).or_else(|| encoded(value)).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Decodes the base64 of a 64-bit number in little-endian order.
fn of_base64(text: &str) -> Option<f64> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.strip_suffix('=').filter(|digits| digits.len() == 11)?;
    let mut bits = 0_u128;
    for digit in digits.bytes() {
        let value = DIGITS.iter().position(|known| *known == digit)?;
        bits = (bits << 6) | u128::try_from(value).ok()?;
    }
    // Eleven digits have 66 bits, and the last two are not used.
    let bytes = u64::try_from(bits >> 2).ok()?;
    Some(f64::from_le_bytes(bytes.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_decoded_as_xarray_decodes_them() {
        // The expected texts are the output of cftime and pandas.
        for (units, calendar, value, text) in [
            ("days since 2001-01-01", "standard", 31.0, "2001-02-01"),
            ("days since 2001-01-01", "standard", 0.5, "2001-01-01T12:00"),
            ("hours since 1900-01-01 00:00:00.0", "gregorian", 1_051_896.0, "2020-01-01"),
            ("seconds since 1970-01-01T00:00:00Z", "proleptic_gregorian", 1e9, "2001-09-09T01:46:40"),
            ("days since 2000-02-28", "noleap", 1.0, "2000-03-01"),
            ("days since 2001-02-28", "all_leap", 1.0, "2001-02-29"),
            ("days since 2000-02-30", "360_day", 1.0, "2000-03-01"),
            ("days since 1582-10-04", "standard", 1.0, "1582-10-15"),
            ("days since 1582-10-04", "julian", 1.0, "1582-10-05"),
            ("days since 1-1-1", "standard", 730_000.0, "1999-09-02"),
            ("milliseconds since 2000-01-01", "standard", 1.0, "2000-01-01T00:00:00.001"),
        ] {
            let time = TimeUnits::parse(units, calendar).unwrap_or_else(|| panic!("{units}"));
            assert_eq!(time.text(value), text, "{units} {calendar}");
        }
        for (units, calendar) in [
            ("K", "standard"),
            ("months since 2000-01-01", "standard"),
            ("days since x", "standard"),
            ("days since 2000-01-01", "lunar"),
        ] {
            assert_eq!(TimeUnits::parse(units, calendar), None, "{units}");
        }
    }

    #[test]
    fn partial_dates_have_a_beginning_and_an_end() {
        let time = TimeUnits::parse("days since 2001-01-01", "standard").unwrap();
        assert_eq!(time.span(1.5), "1.5 days");
        let weeks = TimeUnits { seconds: 604_800.0, ..time };
        assert_eq!(weeks.span(2.0), "1209600 seconds");
        assert_eq!(time.bounds("2001-02"), Some((31.0, 59.0)));
        assert_eq!(time.bounds("2001"), Some((0.0, 365.0)));
        assert_eq!(time.bounds("2001-12"), Some((334.0, 365.0)));
        assert_eq!(time.bounds("2001-01-02"), Some((1.0, 2.0)));
        assert_eq!(time.bounds("2001-01-02T06"), Some((1.25, 1.25 + 1.0 / 24.0)));
        for text in ["", "2001-13", "2001-02-30", "x", "2001-02-01T25", &"2".repeat(LONGEST + 1)] {
            assert_eq!(time.bounds(text), None, "{text}");
        }
    }

    #[test]
    fn numpy_times_have_units() {
        assert_eq!(numpy_units("numpy.datetime64[s]").unwrap().text(1e9), "2001-09-09T01:46:40");
        assert_eq!(numpy_units("numpy.datetime64[2D]").unwrap().text(1.0), "1970-01-03");
        assert_eq!(numpy_units("numpy.datetime64[Y]"), None);
        assert_eq!(numpy_units("int64"), None);
    }

    /// The texts are those of `xarray.backends.zarr.FillValueCoder` in xarray 2026.9.
    #[test]
    fn missing_values_that_xarray_encodes_are_numbers() {
        assert_eq!(of_base64("AAAAAAA4j8A="), Some(-999.0));
        assert_eq!(of_base64("mpmZmZmZuT8="), Some(0.1));
        assert!(of_base64("AAAAAAAA+H8=").unwrap().is_nan());
        for text in ["", "=", "AAAAAAA4j8A", "AAAAAAA4j8!=", "AAAAAAAAAA4j8A="] {
            assert_eq!(of_base64(text), None, "{text}");
        }
    }

    #[test]
    fn signs_are_changed_by_an_attribute() {
        let sign = |unsigned: &str, data_type: &str| {
            let attributes: Object = [("_Unsigned", Value::from(unsigned))].into_iter().collect();
            Sign::of(&attributes, data_type)
        };
        for (unsigned, data_type, stored, read) in [
            ("true", "int8", -1.0, 255.0),
            ("true", "int8", 7.0, 7.0),
            ("true", "int16", -32768.0, 32768.0),
            ("false", "uint8", 255.0, -1.0),
            ("false", "uint8", 127.0, 127.0),
        ] {
            let sign = sign(unsigned, data_type);
            assert_eq!(Sign::apply(sign, stored), read, "{unsigned} {data_type} {stored}");
            assert!(sign.is_some());
        }
        for (unsigned, data_type) in
            [("true", "uint8"), ("false", "int8"), ("yes", "int8"), ("true", "float32")]
        {
            assert_eq!(sign(unsigned, data_type), None, "{unsigned} {data_type}");
        }
        let decoding = Decoding { scale: 2.0, offset: 0.0, missing: vec![255.0], sign: sign("true", "int8") };
        assert_eq!((decoding.value(-2.0), decoding.is_missing(-1.0)), (508.0, true));
        assert_eq!(decoding.text().unwrap(), "stored as unsigned × 2; 255 is missing");
    }

    #[test]
    fn missing_values_are_compared_before_scaling() {
        let decoding = Decoding { scale: 0.5, offset: 10.0, missing: vec![-999.0], sign: None };
        assert!(decoding.value(-999.0).is_nan());
        assert_eq!(decoding.value(4.0), 12.0);
        assert!(decoding.is_packed());
        assert_eq!(decoding.text().unwrap(), "stored × 0.5 + 10; -999 is missing");
        let plain = Decoding { scale: 1.0, offset: 0.0, missing: Vec::new(), sign: None };
        assert_eq!(plain.text(), None);
        assert!(!plain.is_missing(0.0));
    }
}
