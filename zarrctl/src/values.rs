//! Parsers for option values.

use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use zarr_kit::Format;
use zarr_kit::json::{self, ParseOptions};
use zarr_kit::spec::Value;

/// The largest number of threads.
const MOST_JOBS: usize = 1024;

/// Elements per dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape(pub(crate) Vec<u64>);

/// Elements to add or remove per dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) Vec<i64>);

/// The name of a codec, and its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Codec {
    pub(crate) name: String,
    pub(crate) configuration: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) value: Value,
}

pub(crate) fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(["v2", "v3", "v3-draft"]).try_map(|name| name.parse::<Format>())
}

/// Parses a number of seconds, which may have decimals.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| format!("invalid duration `{text}`: expected a number of seconds, 0 or more"))
}

/// Parses seconds, minutes, hours or days: `90s`, `10m`, `2h`, `7d`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let units = [('s', 1), ('m', 60), ('h', 3600), ('d', 24 * 3600)];
    let in_unit = |(unit, seconds)| text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(seconds);
    let seconds = units.into_iter().find_map(in_unit);
    seconds.map(Duration::from_secs).ok_or_else(|| {
        format!(
            "invalid duration `{text}`: expected a number with a \
         unit, such as 90s, 10m, 2h or 7d"
        )
    })
}

/// Parses a number of times, at least once.
pub(crate) fn times(text: &str) -> Result<f64, String> {
    let times = text.parse().ok().filter(|times: &f64| *times >= 1.0);
    times.ok_or_else(|| format!("invalid number `{text}`: expected 1 or more"))
}

/// Parses a number of threads.
pub(crate) fn jobs(text: &str) -> Result<usize, String> {
    let jobs = text.parse().ok().filter(|jobs| (1..=MOST_JOBS).contains(jobs));
    jobs.ok_or_else(|| format!("invalid number of threads `{text}`: expected 1 to {MOST_JOBS}"))
}

/// Parses a size in bytes: `512MiB`, `2GB`, `1073741824`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 8] = [
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
        ("kb", 1000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("tb", 1_000_000_000_000),
    ];
    let wrong =
        || format!("invalid size `{text}`: expected a number of bytes, such as 512MiB, 2GB or 1073741824");
    let lower = text.trim().to_ascii_lowercase();
    let with_unit = UNITS.iter().find_map(|&(unit, size)| Some((lower.strip_suffix(unit)?, size)));
    let (number, unit) = with_unit.unwrap_or((lower.strip_suffix('b').unwrap_or(&lower), 1));
    let (whole, decimals) = number.trim_end().split_once('.').unwrap_or((number.trim_end(), "0"));
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let rest = fraction(decimals, unit).ok_or_else(wrong)?;
    let size = whole.checked_mul(unit).and_then(|size| size.checked_add(rest));
    size.filter(|&size| size > 0).ok_or_else(wrong)
}

/// Multiplies the digits after a decimal point by a unit, rounded down.
fn fraction(decimals: &str, unit: u64) -> Option<u64> {
    let is_number = !decimals.is_empty() && decimals.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || decimals.len() > 9 {
        return None;
    }
    let numerator = u128::from(decimals.parse::<u32>().ok()?) * u128::from(unit);
    let denominator = 10_u128.pow(u32::try_from(decimals.len()).ok()?);
    u64::try_from(numerator / denominator).ok()
}

/// Parses numbers separated by commas, also in brackets or parentheses.
pub(crate) fn shape(text: &str) -> Result<Shape, String> {
    numbers(text).map(Shape)
}

/// Parses numbers as [`shape`] does, including negative ones.
pub(crate) fn counts(text: &str) -> Result<Counts, String> {
    numbers(text).map(Counts)
}

fn numbers<T: FromStr>(text: &str) -> Result<Vec<T>, String> {
    list(text, |number| number.parse().map_err(|_| format!("`{number}` is not a number of elements")))
}

pub(crate) fn list<T>(text: &str, entry: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let bare = text.trim();
    let bracketed = [('(', ')'), ('[', ']')]
        .into_iter()
        .find_map(|(open, close)| bare.strip_prefix(open)?.strip_suffix(close));
    let list = bracketed.unwrap_or(bare).trim();
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let list = list.strip_suffix(',').unwrap_or(list);
    list.split(',').map(|part| entry(part.trim())).collect()
}

pub(crate) fn json(text: &str) -> Result<Value, String> {
    let parsed = json::parse(text.as_bytes(), &ParseOptions::default());
    let parsed = parsed.map_err(|error| format!("invalid JSON: {error}"))?;
    match parsed.remarks.first() {
        Some(remark) => Err(remark.to_string()),
        None => Ok(parsed.value),
    }
}

pub(crate) fn text_or_json(text: &str) -> Result<Value, String> {
    if text.starts_with(['{', '[', '"']) {
        return json(text);
    }
    Ok(json(text).unwrap_or_else(|_| Value::from(text)))
}

/// Parses `NAME` or `NAME:{…}`. A name may be a URI, which contains colons.
pub(crate) fn codec(text: &str) -> Result<Codec, String> {
    if text.trim_start().starts_with('{') {
        return Err(
            r#"found a JSON object, expected NAME or NAME:{configuration}, such as gzip:{"level":5}"#
                .to_owned(),
        );
    }
    let (name, configuration) = match text.find(":{") {
        Some(colon) => (&text[..colon], json(&text[colon + 1..])?),
        None => (text, Value::Null),
    };
    if name.is_empty() {
        return Err("the name is missing".to_owned());
    }
    if name.contains(':') && !name.contains("://") {
        return Err(r#"expected a JSON object after the colon, such as gzip:{"level":5}"#.to_owned());
    }
    Ok(Codec { name: name.to_owned(), configuration })
}

/// Parses `NAME=TEXT`.
pub(crate) fn text_member(text: &str) -> Result<Member, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            Ok(Member { name: name.to_owned(), value: Value::from(value) })
        }
        _ => Err("expected NAME=TEXT".to_owned()),
    }
}

pub(crate) fn member(text: &str) -> Result<Member, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=JSON")?;
    if name.is_empty() {
        return Err("the name is missing".to_owned());
    }
    let value = json(value).map_err(|error| {
        format!(r#"{error}; quote a string twice, such as 'title="text"', or use `attrs --set-text`"#)
    })?;
    Ok(Member { name: name.to_owned(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_numbers_between_commas() {
        assert_eq!(shape("100,200"), Ok(Shape(vec![100, 200])));
        assert_eq!(shape(" (3,) "), Ok(Shape(vec![3])));
        assert_eq!(shape("[4, 5]"), Ok(Shape(vec![4, 5])));
        assert_eq!(shape(""), Ok(Shape(Vec::new())));
        assert_eq!(shape("()"), Ok(Shape(Vec::new())));
        for wrong in ["-1", "a", "1,,2", "1.5", "(1", "1x2", "18446744073709551616"] {
            assert!(shape(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_are_whole_numbers_with_a_unit() {
        for (text, seconds) in [("0s", 0), ("90s", 90), ("10m", 600), ("2h", 7200), ("7d", 604_800)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        for wrong in ["", "s", "5", "1.5h", "-1s", "1w", "1 d", "9999999999999999999d", "1é"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_of_bytes_may_have_decimals_and_a_unit() {
        let sizes =
            [("512MiB", 512 << 20), ("1.5GiB", 3 << 29), ("2.25 kB", 2250), ("7", 7), ("0.5KiB", 512)];
        for (text, size) in sizes {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for wrong in ["", "0", "0.2", ".5GiB", "1.GiB", "1.5.5GiB", "1e9", "-1MiB", "99999999999999999999"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_may_be_negative() {
        assert_eq!(counts("-3,0,+2"), Ok(Counts(vec![-3, 0, 2])));
        assert!(counts("-").is_err() && counts("9223372036854775808").is_err());
    }

    #[test]
    fn codecs_are_names_with_or_without_a_configuration() {
        let gzip = codec(r#"gzip:{"level":5}"#).unwrap();
        assert_eq!(
            (gzip.name.as_str(), gzip.configuration.to_string()),
            ("gzip", r#"{"level":5}"#.to_owned())
        );
        let uri = "https://purl.org/zarr/spec/codecs/gzip/1.0";
        assert_eq!(codec(uri).unwrap(), Codec { name: uri.to_owned(), configuration: Value::Null });
        assert_eq!(codec(&format!(r#"{uri}:{{"level":1}}"#)).unwrap().name, uri);
        let object = codec(r#"{"name": "gzip", "configuration": {"level": 5}}"#).unwrap_err();
        assert!(object.contains("expected NAME or NAME:{configuration}"), "{object}");
        for wrong in ["", "gzip:5", r#"gzip:{"level":}"#, r#":{"level":5}"#] {
            assert!(codec(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn text_that_is_not_json_is_a_string() {
        assert_eq!(text_or_json("NaN"), Ok(Value::from("NaN")));
        assert_eq!(text_or_json("-5"), Ok(Value::from(-5)));
        assert_eq!(text_or_json("\"5\""), Ok(Value::from("5")));
        assert_eq!(text_or_json("uint16"), Ok(Value::from("uint16")));
        assert!(text_or_json("[1,").is_err());
    }

    #[test]
    fn attributes_have_a_name_and_json() {
        assert_eq!(member("a=1"), Ok(Member { name: "a".to_owned(), value: Value::from(1) }));
        assert_eq!(member("a=\"b=c\"").unwrap().value, Value::from("b=c"));
        assert_eq!(text_member("a=1").unwrap().value, Value::from("1"));
        assert!(text_member("=1").is_err() && text_member("a").is_err());
        for wrong in ["a", "=1", "a=text", "a="] {
            assert!(member(wrong).is_err(), "{wrong}");
        }
    }
}
