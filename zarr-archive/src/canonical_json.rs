//! The canonical form of JSON values of RFC 8785.

use std::fmt::Write;

use zarr_json::{Number, Object, Value};

/// Returns the canonical text of `value` (RFC 8785): members sorted by the UTF-16 code units of their names, numbers as
/// ECMAScript prints the nearest `double`.
///
/// RFC 8785 does not allow NaN and infinities. They are written as the strings `"NaN"`, `"Infinity"` and
/// `"-Infinity"`.
///
/// ```
/// let value = zarr_json::json!({"b": [1.50, 1e30], "a": "é"});
/// assert_eq!(zarr_archive::canonical_json(&value), r#"{"a":"é","b":[1.5,1e+30]}"#);
/// ```
#[must_use]
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => write_number(text, number),
        Value::String(string) => write_string(text, string),
        Value::Array(elements) => {
            text.push('[');
            for (position, element) in elements.iter().enumerate() {
                text.push_str(if position == 0 { "" } else { "," });
                write_value(text, element);
            }
            text.push(']');
        }
        Value::Object(object) => write_object(text, object),
    }
}

fn write_object(text: &mut String, object: &Object) {
    let mut members: Vec<(&str, &Value)> = object.iter().collect();
    members.sort_by(|one, other| one.0.encode_utf16().cmp(other.0.encode_utf16()));
    text.push('{');
    for (position, (name, value)) in members.into_iter().enumerate() {
        text.push_str(if position == 0 { "" } else { "," });
        write_string(text, name);
        text.push(':');
        write_value(text, value);
    }
    text.push('}');
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            control if control < ' ' => {
                // Writing to a string does not fail.
                let _always_ok = write!(text, "\\u{:04x}", u32::from(control));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

/// Writes the nearest `double` as `Number.prototype.toString` of ECMAScript does.
fn write_number(text: &mut String, number: &Number) {
    let value = nearest(number);
    if value.is_nan() {
        return text.push_str("\"NaN\"");
    }
    if value.is_infinite() {
        return text.push_str(if value > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" });
    }
    if value == 0.0 {
        return text.push('0');
    }
    text.push_str(if value < 0.0 { "-" } else { "" });
    let shortest = shortest(value.abs());
    let Some((mantissa, exponent)) = shortest.split_once('e') else { return text.push_str(&shortest) };
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    text.push_str(&layout(&digits, exponent + 1));
}

/// Returns the shortest digits that restore a number, and its exponent: `d.ddde-7`. If two such texts are equally near
/// to the number, returns the one whose last digit is even.
fn shortest(value: f64) -> String {
    let shortest = format!("{value:e}");
    let digits = shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    if rounded.parse() == Ok(value) { rounded } else { shortest }
}

/// Returns the nearest `double` of a number, or an infinity if it is too large.
fn nearest(number: &Number) -> f64 {
    number.as_f64().unwrap_or_else(|| number.text().parse().unwrap_or(f64::NAN))
}

/// Writes `0.digits * 10^point` as ECMAScript does.
fn layout(digits: &str, point: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let whole = usize::try_from(point).unwrap_or(0);
    match point {
        _ if (count..=21).contains(&point) => format!("{digits}{}", zeros(point - count)),
        1..=21 => format!("{}.{}", &digits[..whole], &digits[whole..]),
        -5..=0 => format!("0.{}{digits}", zeros(-point)),
        _ => {
            let exponent = point - 1;
            let sign = if exponent < 0 { '-' } else { '+' };
            let rest = if count > 1 { format!(".{}", &digits[1..]) } else { String::new() };
            format!("{}{rest}e{sign}{}", &digits[..1], exponent.abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use zarr_json::{ParseOptions, json, parse};

    use super::*;

    fn canonical(text: &str) -> String {
        let options = ParseOptions { bare_non_finite: true, ..ParseOptions::default() };
        canonical_json(&parse(text.as_bytes(), &options).unwrap().value)
    }

    /// The example of section 3.2.2 of RFC 8785.
    #[test]
    fn the_example_of_the_standard_is_reproduced() {
        let text = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(canonical(text), expected);
    }

    /// The numbers of appendix B of RFC 8785.
    #[test]
    fn numbers_are_written_as_in_the_standard() {
        for (bits, expected) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let value = Value::Number(Number::from_f64(f64::from_bits(bits)).unwrap());
            assert_eq!(canonical_json(&value), expected);
        }
    }

    /// The example of section 3.2.3 of RFC 8785.
    #[test]
    fn members_are_sorted_by_utf_16_code_units() {
        let value =
            json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7});
        let expected =
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
        assert_eq!(canonical_json(&value), expected);
    }

    #[test]
    fn non_finite_numbers_are_strings() {
        assert_eq!(canonical("[NaN, -Infinity, 1e999]"), r#"["NaN","-Infinity","Infinity"]"#);
    }
}
