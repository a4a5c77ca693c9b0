//! Times: documents, fill values and printed forms.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::data_types::Subject;
use zarr_conformance::hex;
use zarr_dtype_datetime as _;
use zarr_spec::{ByteOrder, DataTypeError, Format, Mode, Registry};

const URI: &str = "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0";
const UNITS: [&str; 13] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

fn subject(format: Format, mode: Mode, json: &str) -> Result<Subject, DataTypeError> {
    Subject::new(&Registry::linked().unwrap(), format, mode, json)
}

fn v2(mode: Mode, dtype: &str) -> Result<Subject, DataTypeError> {
    subject(Format::V2, mode, &format!("\"{dtype}\""))
}

fn v3(name: &str, unit: &str, scale: &str) -> Result<Subject, DataTypeError> {
    let configuration = format!(r#"{{"unit":"{unit}","scale_factor":{scale}}}"#);
    subject(Format::V3, Mode::Strict, &format!(r#"{{"name":"{name}","configuration":{configuration}}}"#))
}

fn draft(uri: &str, type_name: &str) -> Result<Subject, DataTypeError> {
    let json = format!(r#"{{"extension":"{uri}","type":"{type_name}","fallback":"int64"}}"#);
    subject(Format::V3Draft, Mode::Strict, &json)
}

fn refuses(subject: &Subject, fills: &[&str]) {
    for fill in fills {
        assert!(matches!(subject.fill(fill), Err(DataTypeError::FillValue(_))), "{fill}");
    }
}

/// Tests V2-DT-11, V2-DT-12, V2-DT-13, V2-DT-14, V2-DT-15.
#[test]
fn typestrings_have_a_unit_and_an_optional_multiplier() {
    for unit in UNITS {
        for (kind, name) in [('M', "numpy.datetime64"), ('m', "numpy.timedelta64")] {
            let time = v2(Mode::Strict, &format!(">{kind}8[{unit}]")).unwrap();
            assert_eq!(time.data_type.name(), format!("{name}[{unit}]"));
            assert_eq!(time.order, ByteOrder::Big);
            time.check(&Registry::linked().unwrap(), &["0", "\"NaT\"", "5"]).unwrap();
        }
    }
    for wrong in
        ["<M4[s]", "<M8[foo]", "<M8[min]", "<M8[sec]", "<M8[0s]", "<M8[2147483648s]", "<M8[]", "<M8[s"]
    {
        v2(Mode::Lenient, wrong).unwrap_err();
    }
    for (dtype, name) in [("<M8[10us]", "numpy.datetime64[10us]"), ("<M8[25s]", "numpy.datetime64[25s]")] {
        let time = v2(Mode::Strict, dtype).unwrap();
        assert_eq!(time.data_type.name(), name);
        time.check(&Registry::linked().unwrap(), &["7"]).unwrap();
    }
    for tolerated in ["<M8", "<m8", "<M8[2generic]", "<M8[\u{3bc}s]", "<M8[\u{b5}s]"] {
        v2(Mode::Strict, tolerated).unwrap_err();
        assert_eq!(v2(Mode::Lenient, tolerated).unwrap().warnings.len(), 1);
    }
    let micro = v2(Mode::Lenient, "<M8[\u{3bc}s]").unwrap();
    let document = micro.data_type.document(Format::V2, &micro.order).unwrap();
    assert_eq!(document.json.as_str(), Some("<M8[us]"));
    let ticks = v2(Mode::Lenient, "<M8").unwrap();
    assert_eq!(ticks.print(&5i64.to_ne_bytes()), "5");
    assert!(ticks.data_type.document(Format::V2, &ticks.order).is_err());
}

/// Tests V2-DT-16, V2-DT-17, DX-DT-04, DX-DT-05, D3-DTX-12.
#[test]
fn elements_are_counts_since_1970() {
    let nano = v2(Mode::Strict, "<M8[ns]").unwrap();
    let day = v2(Mode::Strict, "<M8[D]").unwrap();
    let element = nano.fill("978307200000000000").unwrap();
    assert_eq!(nano.stored(&element, &nano.order), hex("0000351137a5930d"));
    assert_eq!(nano.print(&element), "2001-01-01T00:00:00.000000000");
    assert_eq!(day.stored(&day.fill("11323").unwrap(), &day.order), hex("3b2c000000000000"));
    assert_eq!(day.print(&11323i64.to_ne_bytes()), "2001-01-01");
    let draft = draft(URI, "<M8[D]").unwrap();
    assert_eq!(draft.stored(&draft.fill("11323").unwrap(), &draft.order), hex("3b2c000000000000"));
    for time in [&nano, &day, &draft] {
        let not_a_time = time.fill("\"NaT\"").unwrap();
        assert_eq!(time.stored(&not_a_time, &time.order), hex("0000000000000080"));
        assert_eq!(not_a_time, time.fill("-9223372036854775808").unwrap());
        assert_eq!(time.print(&not_a_time), "NaT");
        time.fill("0").unwrap();
        refuses(time, &["null", "\"2001-01-01\"", "\"nat\""]);
    }
}

/// Tests V2-FILL-14, V2-FILL-15.
#[test]
fn fill_values_of_v2_are_counts() {
    let nano = v2(Mode::Lenient, "<M8[ns]").unwrap();
    let element = nano.fill("946684800000000000").unwrap();
    assert_eq!(nano.json(&element).unwrap(), "946684800000000000");
    assert_eq!(nano.print(&element), "2000-01-01T00:00:00.000000000");
    let seconds = v2(Mode::Strict, "<m8[s]").unwrap();
    assert_eq!(seconds.print(&seconds.fill("5").unwrap()), "5 s");
    assert_eq!(seconds.json(&seconds.fill("\"NaT\"").unwrap()).unwrap(), "-9223372036854775808");
    refuses(&nano, &["\"2000-01-01\"", "1.0", "9223372036854775808", "true"]);
}

/// Tests EX-TYPE-01, EX-TYPE-02, EX-TYPE-04.
#[test]
fn v3_has_unit_and_scale_factor() {
    for name in ["numpy.datetime64", "numpy.timedelta64"] {
        for unit in UNITS.into_iter().chain(["generic"]) {
            let time = v3(name, unit, "1").unwrap();
            assert_eq!(time.data_type.name(), format!("{name}[{unit}]"));
            time.check(&Registry::linked().unwrap(), &["5", "\"NaT\""]).unwrap();
        }
        v3(name, "s", "2147483647").unwrap();
        for scale in ["0", "-1", "2147483648", "1.0", "\"1\""] {
            v3(name, "s", scale).unwrap_err();
        }
        v3(name, "min", "1").unwrap_err();
        for configuration in
            [r#"{"unit":"s"}"#, r#"{"scale_factor":1}"#, r#"{"unit":"s","scale_factor":1,"x":1}"#, "{}"]
        {
            let json = format!(r#"{{"name":"{name}","configuration":{configuration}}}"#);
            subject(Format::V3, Mode::Lenient, &json).unwrap_err();
        }
        subject(Format::V3, Mode::Lenient, &format!("\"{name}\"")).unwrap_err();
        for micro in ["\u{3bc}s", "\u{b5}s"] {
            let time = v3(name, micro, "1").unwrap();
            assert_eq!(time.data_type.name(), v3(name, "us", "1").unwrap().data_type.name());
            let document = time.data_type.document(Format::V3, &time.order).unwrap();
            assert!(document.json.to_string().contains("\"us\""));
        }
    }
    let tens = v3("numpy.datetime64", "us", "10").unwrap();
    assert_eq!(tens.stored(&tens.fill("5").unwrap(), &tens.order), hex("0500000000000000"));
    assert_eq!(tens.print(&5i64.to_ne_bytes()), "1970-01-01T00:00:00.000050");
}

/// Tests EX-TYPE-03, EX-TYPE-05.
#[test]
fn v3_fill_values_are_integers_or_not_a_time() {
    let time = v3("numpy.datetime64", "s", "1").unwrap();
    let not_a_time = time.fill("\"NaT\"").unwrap();
    assert_eq!(not_a_time, time.fill("-9223372036854775808").unwrap());
    assert_eq!(time.stored(&not_a_time, &ByteOrder::Big), hex("8000000000000000"));
    assert_eq!(time.json(&not_a_time).unwrap(), "-9223372036854775808");
    assert_eq!(time.data_type.kind(), Some(zarr_spec::data_type::Kind::Int));
    refuses(&time, &["1.0", "\"2001-01-01\"", "null", "9223372036854775808"]);
}

/// Tests DX-DT-01, DX-DT-02, DX-DT-03, DX-A-17.
#[test]
fn the_draft_declares_order_kind_and_unit() {
    for uri in [
        URI,
        "https://purl.org/zarr/spec/extensions/datetime-dtypes/1.0",
        "https://zarr-specs.readthedocs.io/en/latest/extensions/data-types/datetime/v1.0.html",
    ] {
        for unit in UNITS {
            let point = draft(uri, &format!("<M8[{unit}]")).unwrap();
            assert_eq!(point.data_type.name(), format!("numpy.datetime64[{unit}]"));
            let span = draft(uri, &format!(">m8[{unit}]")).unwrap();
            assert_eq!(span.data_type.name(), format!("numpy.timedelta64[{unit}]"));
            assert_eq!(span.order, ByteOrder::Big);
            span.check(&Registry::linked().unwrap(), &["1", "\"NaT\""]).unwrap();
        }
        for wrong in ["M8[ns]", "<M8", "|M8[s]", "<M8[]", "<M8[min]", "<M8[Ms]", "<M8[10s]", "<M4[s]", "<f8"]
        {
            draft(uri, wrong).unwrap_err();
        }
    }
    subject(Format::V3Draft, Mode::Lenient, "\"numpy.datetime64\"").unwrap_err();
}

#[test]
fn the_draft_is_written_with_the_fallback_int64() {
    let nano = v2(Mode::Strict, "<M8[ns]").unwrap();
    let document = nano.data_type.document(Format::V3Draft, &nano.order).unwrap();
    assert_eq!(
        document.json.to_string(),
        format!(r#"{{"extension":"{URI}","type":"<M8[ns]","fallback":["int64"]}}"#)
    );
    assert_eq!(document.fallback[0].identifier, "int64");
    let tens = v2(Mode::Strict, "<M8[10us]").unwrap();
    let error = tens.data_type.document(Format::V3Draft, &tens.order).unwrap_err();
    assert!(matches!(error, DataTypeError::NotInFormat { .. }), "{error}");
}

/// ISO 8601 requires a sign and more digits for years outside of 0000 to 9999.
#[test]
fn points_of_time_are_printed_to_the_precision_of_their_unit() {
    for (unit, count, printed) in [
        ("Y", 30, "2000"),
        ("M", -1, "1969-12"),
        ("W", 1, "1970-01-08"),
        ("D", 19782, "2024-02-29"),
        ("D", -719_528, "0000-01-01"),
        ("h", -1, "1969-12-31T23"),
        ("m", 61, "1970-01-01T01:01"),
        ("s", 951_868_799, "2000-02-29T23:59:59"),
        ("ms", -1, "1969-12-31T23:59:59.999"),
        ("ns", i64::MAX, "2262-04-11T23:47:16.854775807"),
        ("as", 1, "1970-01-01T00:00:00.000000000000000001"),
        ("D", -719_529, "-000001-12-31"),
        ("Y", 8030, "+010000"),
        ("Y", i64::MAX, "9223372036854775807 Y"),
        ("W", i64::MIN + 1, "-9223372036854775807 W"),
    ] {
        let time = v2(Mode::Strict, &format!("<M8[{unit}]")).unwrap();
        assert_eq!(time.print(&i64::to_ne_bytes(count)), printed, "{count} {unit}");
    }
    for unit in UNITS {
        for scale in [1, 2_147_483_647] {
            let time = v2(Mode::Strict, &format!("<M8[{scale}{unit}]")).unwrap();
            for count in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX] {
                assert!(!time.print(&count.to_ne_bytes()).is_empty());
            }
        }
    }
    let span = v2(Mode::Strict, "<m8[25s]").unwrap();
    assert_eq!(span.print(&(-2i64).to_ne_bytes()), "-50 s");
}

/// Compares each day since 1 January 1600 with the rule for leap years.
#[test]
fn dates_follow_the_gregorian_calendar() {
    let time = v2(Mode::Strict, "<M8[D]").unwrap();
    let mut year = 1600;
    let mut month = 1;
    let mut day = 1;
    for count in -135_140i64..300_000 {
        assert_eq!(time.print(&count.to_ne_bytes()), format!("{year:04}-{month:02}-{day:02}"));
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 => 28 + i32::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        day += 1;
        if day > days {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
}

#[test]
fn a_count_in_a_string_causes_one_warning_and_is_refused_in_strict_mode() {
    let (element, warnings) = v2(Mode::Lenient, "<M8[ns]").unwrap().fill_and_warnings("\"-5\"").unwrap();
    assert_eq!(element, (-5_i64).to_ne_bytes());
    assert_eq!(warnings, ["fill value \"-5\" is a number in a string"]);
    assert!(v2(Mode::Strict, "<M8[ns]").unwrap().fill("\"-5\"").is_err());
    assert!(v2(Mode::Lenient, "<M8[ns]").unwrap().fill("\"1.5\"").is_err());
}
