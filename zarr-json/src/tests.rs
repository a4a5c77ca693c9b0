//! Tests of parsing and writing JSON text.

use std::time::{Duration, Instant};

use super::*;

mod numbers;

fn read(text: &str) -> Value {
    parse(text.as_bytes(), &ParseOptions::default()).unwrap().value
}

fn refuse(text: impl AsRef<[u8]>) -> ParseError {
    let text = text.as_ref();
    match parse(text, &ParseOptions::default()) {
        Err(error) => error,
        Ok(parsed) => panic!("{:?} was read as {parsed:?}", String::from_utf8_lossy(text)),
    }
}

fn read_bare(text: &str) -> Parsed {
    parse(text.as_bytes(), &ParseOptions { bare_non_finite: true, ..Default::default() }).unwrap()
}

fn array(elements: impl IntoIterator<Item = &'static str>) -> Value {
    Value::Array(elements.into_iter().map(|text| Value::Number(Number::parse(text).unwrap())).collect())
}

#[test]
fn every_kind_of_value_is_read() {
    assert_eq!(read(" null "), Value::Null);
    assert_eq!(read("true"), Value::Bool(true));
    assert_eq!(read("\r\n\tfalse"), Value::Bool(false));
    assert_eq!(read("\"a\""), Value::from("a"));
    assert_eq!(read("[ ]"), Value::Array(Vec::new()));
    assert_eq!(read("{ }"), Value::Object(Object::new()));
    assert_eq!(read("[1,-2.5e+7 , 0]"), array(["1", "-2.5e+7", "0"]));
    let nested = read(r#"{"a": [{"b": null}, "c"], "": {}}"#);
    assert_eq!(nested.to_string(), r#"{"a":[{"b":null},"c"],"":{}}"#);
}

#[test]
fn the_kind_of_a_value_has_a_name_and_an_accessor() {
    let names = ["null", "a boolean", "a number", "a string", "an array", "an object"];
    let values: Vec<_> = ["null", "true", "7", "\"x\"", "[]", "{}"].map(read).into();
    for (value, name) in values.iter().zip(names) {
        assert_eq!(value.kind_name(), name);
        assert_eq!(value.is_null(), name == "null");
        assert_eq!(value.as_bool().is_some(), name == "a boolean");
        assert_eq!(
            (value.as_u64(), value.as_i64()),
            if name == "a number" { (Some(7), Some(7)) } else { (None, None) }
        );
        assert_eq!(value.as_f64().is_some(), name == "a number");
        assert_eq!(value.as_str().is_some(), name == "a string");
        assert_eq!(value.as_array().is_some(), name == "an array");
        assert_eq!(value.clone().as_object_mut().is_some(), value.as_object().is_some());
        assert_eq!(value.as_object().is_some(), name == "an object");
    }
}

#[test]
fn strings_are_read_with_their_escapes() {
    let table = [
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\u0000\u001f\u00e9\u20AC""#, "\0\u{1f}é€"),
        (r#""\ud83d\ude00\uD834\uDD1E""#, "😀𝄞"),
        (r#""\uffff\ue000""#, "\u{ffff}\u{e000}"),
        ("\"é€😀\u{7f}\u{2028}\u{feff}\"", "é€😀\u{7f}\u{2028}\u{feff}"),
        (r#""\\u0041""#, "\\u0041"),
        ("\"\"", ""),
    ];
    for (text, string) in table {
        assert_eq!(read(text).as_str(), Some(string), "{text}");
    }
}

/// Tests D3-DOC-02, D3-GRP-07, D3-CONTRA-05.
#[test]
fn a_document_is_one_json_value_in_utf_8() {
    assert_eq!(read("{\"größe\": \"€\"}").as_object().unwrap().get("größe").unwrap().as_str(), Some("€"));
    let utf16 =
        |text: &str, order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<_>>();
    for text in ["{\"a\":1}", "\u{feff}{\"a\":1}", "\u{feff}\"€\""] {
        assert_eq!(refuse(utf16(text, u16::to_le_bytes)).kind, ParseErrorKind::WideText);
        assert_eq!(refuse(utf16(text, u16::to_be_bytes)).kind, ParseErrorKind::WideText);
    }
    assert_eq!(refuse(b"\0\0\0{\0\0\0}").kind, ParseErrorKind::WideText);
    for text in ["{\"a\":1,}", "{\"attributes\":{\"spam\":\"ham\",\"eggs\":42,}}", "[1, ]", "[[],]"] {
        assert_eq!(refuse(text).kind, ParseErrorKind::TrailingComma, "{text}");
    }
    for text in ["// a\n{}", "{} // a", "{/* a */}", "[1 /* a */]", "{\"a\": // b\n1}"] {
        assert_eq!(refuse(text).kind, ParseErrorKind::Comment, "{text}");
    }
    for text in ["{}{}", "{} {}", "1 2", "[]]", "\"a\"b", "nullnull", "{},", "1\u{b}"] {
        assert_eq!(refuse(text).kind, ParseErrorKind::AfterDocument, "{text}");
    }
    for text in ["", " \n", "\u{feff}"] {
        assert_eq!(refuse(text).kind, ParseErrorKind::Empty, "{text:?}");
    }
}

#[test]
fn invalid_json_is_refused_with_a_reason() {
    let table: &[(&[u8], &str)] = &[
        (b"[1,\n 2,\n]", "line 2, column 3: trailing comma"),
        (b"[,1]", "line 1, column 2: unexpected character ',', expected a value"),
        (b"[1,,2]", "line 1, column 4: unexpected character ',', expected a value"),
        (b"[1 2]", "line 1, column 4: unexpected character '2', expected ',' or ']'"),
        (b"[1}", "line 1, column 3: unexpected character '}', expected ',' or ']'"),
        (b"{\"a\":1]", "line 1, column 7: unexpected character ']', expected ',' or '}'"),
        (b"{\"a\" 1}", "line 1, column 6: unexpected character '1', expected ':'"),
        (b"{\"a\":}", "line 1, column 6: unexpected character '}', expected a value"),
        (b"{,}", "line 1, column 2: unexpected character ',', expected a member name in double quotes"),
        (b"{1:2}", "line 1, column 2: unexpected character '1', expected a member name in double quotes"),
        (b"{a:1}", "line 1, column 2: unexpected character 'a', expected a member name in double quotes"),
        (b"{'a':1}", "line 1, column 2: unexpected character '\\'', expected a member name in double quotes"),
        (b"{\"a\":1,", "line 1, column 8: unexpected end, expected a member name in double quotes"),
        (b"[", "line 1, column 2: unexpected end, expected a value"),
        (b"[1", "line 1, column 3: unexpected end, expected ',' or ']'"),
        (b"{\"a\"", "line 1, column 5: unexpected end, expected ':'"),
        (b"\"abc", "line 1, column 5: unexpected end, expected the end of a string"),
        (b"\"\\", "line 1, column 2: unexpected end, expected an escape"),
        (b"\"a\nb\"", "line 1, column 3: control character '\\n' in a string"),
        (b"[\"\x1f\"]", "line 1, column 3: control character '\\u{1f}' in a string"),
        (b"\"\xc3\xa9\\x\"", "line 1, column 3: invalid escape in a string"),
        (br#""\u12g4""#, "line 1, column 2: invalid escape in a string"),
        (br#""\u+123""#, "line 1, column 2: invalid escape in a string"),
        (br#""\u12"#, "line 1, column 2: invalid escape in a string"),
        (b"\"\\u12\xc3\xa9\xc3\xa9\"", "line 1, column 2: invalid escape in a string"),
        (br#""\ud800""#, "line 1, column 2: lone surrogate in a string"),
        (br#""\ude00\ud83d""#, "line 1, column 2: lone surrogate in a string"),
        (br#""\ud800\u0041""#, "line 1, column 2: lone surrogate in a string"),
        (br#""\ud800\n""#, "line 1, column 2: lone surrogate in a string"),
        (b"\"\xff\"", "line 1, column 2: invalid UTF-8"),
        (b"\n[\"\xed\xa0\x80\"]", "line 2, column 3: invalid UTF-8"),
        (b"\"\xc0\xaf\"", "line 1, column 2: invalid UTF-8"),
        (b"nul", "line 1, column 1: unexpected character 'n', expected a value"),
        (b"True", "line 1, column 1: unexpected character 'T', expected a value"),
        (b"[truex]", "line 1, column 6: unexpected character 'x', expected ',' or ']'"),
        (b"\xef\xbb\xbf[x", "line 1, column 2: unexpected character 'x', expected a value"),
        (b"\xc2\xa0[]", "line 1, column 1: unexpected character '\\u{a0}', expected a value"),
        (b"\0", "line 1, column 1: unexpected character '\\0', expected a value"),
        (b" ", "the document is empty"),
        (b"\xff\xfe{\0", "the document is UTF-16 or UTF-32 text, not UTF-8"),
    ];
    for (text, message) in table {
        assert_eq!(refuse(text).to_string(), *message, "{:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn errors_have_an_offset_a_line_and_a_column() {
    let error = refuse("{\n  \"é\": 01\n}");
    assert_eq!((error.offset, error.line, error.column), (10, 2, 8));
    assert_eq!(error.kind, ParseErrorKind::LeadingZero);
}

#[test]
fn the_last_of_two_members_with_the_same_name_wins_with_a_remark() {
    let options = ParseOptions::default();
    let text = r#"{"shape":[1],"a":[{"x":1,"\u0078":2}],"shape":[2],"shape":[3]}"#;
    let parsed = parse(text.as_bytes(), &options).unwrap();
    assert_eq!(parsed.value.to_string(), r#"{"shape":[3],"a":[{"x":2}]}"#);
    let remark = |path: &str| Remark::DuplicateMember { path: path.to_owned() };
    assert_eq!(parsed.remarks, [remark("/a/0/x"), remark("/shape"), remark("/shape")]);
}

#[test]
fn long_names_are_truncated_in_paths() {
    let parsed = read_bare(&format!("{{\"a{}\":{{\"b\":NaN}}}}", "é".repeat(1000)));
    let path = format!("/a{}…/b", "é".repeat(99));
    assert_eq!(parsed.remarks, [Remark::BareNonFinite { path, token: "NaN" }]);
}

#[test]
fn only_the_first_remarks_are_retained() {
    let parsed = read_bare(&format!("[{}0]", "NaN,".repeat(1000)));
    assert_eq!(parsed.remarks.len(), MAX_REMARKS);
    assert_eq!(parsed.value.as_array().unwrap().len(), 1001);
}

/// Tests D3-DOC-08.
#[test]
fn a_byte_order_mark_is_skipped_and_not_written() {
    let parsed = parse(b"\xef\xbb\xbf{\"a\":1}", &ParseOptions::default()).unwrap();
    assert_eq!(parsed.remarks, [Remark::ByteOrderMark]);
    assert_eq!(to_vec(&parsed.value).unwrap(), b"{\"a\":1}");
    assert!(parse(b"\xef\xbb\xbf\xef\xbb\xbf{}", &ParseOptions::default()).is_err());
}

#[test]
fn a_depth_bomb_is_an_error() {
    for open in ["[", "{\"a\":", "[{\"\":"] {
        let bomb = open.repeat(1_000_000);
        assert_eq!(refuse(&bomb).kind, ParseErrorKind::TooDeep { limit: 128 });
        let limits = Limits { depth: usize::MAX, ..Default::default() };
        let error = parse(bomb.as_bytes(), &ParseOptions { limits, ..Default::default() }).unwrap_err();
        assert_eq!(error.kind, ParseErrorKind::TooDeep { limit: MAX_DEPTH });
    }
}

#[test]
fn values_at_the_depth_limit_are_supported_everywhere() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    read(&nested(128));
    assert_eq!(refuse(nested(129)).offset, 128);
    let limits = Limits { depth: MAX_DEPTH, ..Default::default() };
    let options = ParseOptions { limits, ..Default::default() };
    let value = parse(nested(MAX_DEPTH).as_bytes(), &options).unwrap().value;
    assert_eq!(to_value(&value).unwrap(), value);
    assert_eq!(from_value::<Value>(&value).unwrap(), value);
    assert_eq!(to_vec(&value).unwrap(), nested(MAX_DEPTH).as_bytes());
    let pretty = to_vec_pretty(&value).unwrap();
    assert_eq!(parse(&pretty, &options).unwrap().value, value);
    let deeper = Value::Array(vec![value]);
    assert!(to_value(&deeper).unwrap_err().message.contains("nested deeper than 512 levels"));
}

#[test]
fn a_document_over_the_size_limit_is_an_error() {
    let limits = Limits { bytes: 4, ..Default::default() };
    let options = ParseOptions { limits, ..Default::default() };
    assert!(parse(b"1234", &options).is_ok());
    let error = parse(b"12345", &options).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::TooLong { size: 5, limit: 4 });
    assert_eq!(error.to_string(), "the document has 5 bytes, more than the limit of 4");
}

#[test]
fn values_over_the_memory_limit_are_an_error() {
    for (part, end) in [("[],", "0]"), ("{},", "0]"), ("0,", "0]"), ("[0],", "0]"), ("{\"a\":0},", "0]")] {
        let text = format!("[{}{end}", part.repeat(1 << 18));
        let limits = Limits { bytes: text.len(), ..Default::default() };
        let error = parse(text.as_bytes(), &ParseOptions { limits, ..Default::default() }).unwrap_err();
        let limit = 4 * text.len() + (1 << 20);
        assert_eq!(error.kind, ParseErrorKind::TooMuchMemory(TooMuchMemory { limit }), "{part}");
        assert!(error.to_string().contains(&limit.to_string()), "{error}");
    }
}

/// The documents are consolidated metadata as zarr-python writes it, an array of numbers, and a short document of small
/// values.
#[test]
fn typical_documents_stay_within_the_memory_limit() {
    let array = r#"{"shape":[1000,1000],"data_type":"float64","chunk_grid":{"name":"regular","configuration":
        {"chunk_shape":[100,100]}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},
        "fill_value":0.0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd",
        "configuration":{"level":0,"checksum":false}}],"attributes":{},"zarr_format":3,"node_type":"array",
        "storage_transformers":[]}"#;
    let members: Vec<_> = (0..30_000).map(|number| format!("\"group/array_{number}\":{array}")).collect();
    let numbers: Vec<_> = (0..500_000).map(|number| format!("{}.{number}", number % 90)).collect();
    for text in [
        format!("{{{}}}", members.join(",")),
        format!("[{}]", numbers.join(",")),
        format!("[{}0]", "0,".repeat(10_000)),
    ] {
        let parsed = parse(text.as_bytes(), &ParseOptions::default());
        assert!(parsed.is_ok(), "{} bytes: {}", text.len(), parsed.unwrap_err());
    }
}

/// A linear search for each member would take minutes.
#[test]
fn an_object_of_many_members_is_read_in_linear_time() {
    let start = Instant::now();
    let members: Vec<_> =
        (0..200_000).map(|i| format!("\"group/array_{}/.zarray\":{i}", i % 100_000)).collect();
    let parsed = parse(format!("{{{}}}", members.join(",")).as_bytes(), &ParseOptions::default()).unwrap();
    let object = parsed.value.as_object().unwrap();
    assert_eq!(object.len(), 100_000);
    assert!(object.keys().all(|name| object.get(name).unwrap().as_u64().unwrap() >= 100_000));
    assert_eq!(parsed.value, parsed.value.clone());
    assert_eq!(parsed.remarks.len(), MAX_REMARKS);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Tests D3-DOC-05.
#[test]
fn the_order_of_members_is_preserved_but_has_no_meaning() {
    let one = read(r#"{"b":1,"a":{"x":1,"y":2}}"#);
    let other = read(r#"{"a":{"y":2,"x":1},"b":1}"#);
    assert_eq!(one, other);
    assert_eq!(one.as_object().unwrap().keys().collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(other.as_object().unwrap().keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_ne!(one, read(r#"{"a":{"y":2,"x":1},"c":1}"#));
    assert_ne!(one, read(r#"{"a":{"y":2,"x":1},"b":2}"#));
    assert_ne!(one, read(r#"{"a":{"y":2,"x":1},"b":1,"c":1}"#));
    assert_ne!(read("[1,2]"), read("[2,1]"));
}

/// Applies the same changes to an object and to a list of pairs, with few and with many members.
#[test]
fn objects_behave_like_lists_of_pairs() {
    for names in [8, 100] {
        let mut object = Object::new();
        let mut model = Vec::<(String, Value)>::new();
        for bits in random().take(4000) {
            let name = format!("n{}", bits % names);
            let position = model.iter().position(|(other, _)| *other == name);
            assert_eq!(object.contains(&name), position.is_some());
            assert_eq!(object.get(&name), position.map(|position| &model[position].1));
            if bits >> 32 & 3 == 0 {
                assert_eq!(object.remove(&name), position.map(|position| model.remove(position).1));
            } else {
                let value = Value::from(bits);
                let old = position.map(|position| std::mem::replace(&mut model[position].1, value.clone()));
                if old.is_none() {
                    model.push((name.clone(), value.clone()));
                }
                assert_eq!(object.insert(name, value), old);
            }
            assert!(object.iter().eq(model.iter().map(|(name, value)| (name.as_str(), value))));
        }
        assert_eq!(object, model.iter().rev().cloned().collect::<Object>());
        assert_eq!(object.len(), model.len());
        assert_eq!(object.into_iter().collect::<Vec<_>>(), model);
    }
}

#[test]
fn members_change_in_place() {
    let mut value = read(r#"{"a":1,"b":2}"#);
    let object = value.as_object_mut().unwrap();
    *object.get_mut("a").unwrap() = Value::Null;
    object.values_mut().filter(|value| !value.is_null()).for_each(|value| *value = true.into());
    assert_eq!(object.insert("c", "d"), None);
    assert_eq!(value.to_string(), r#"{"a":null,"b":true,"c":"d"}"#);
}

#[test]
fn values_are_collected_from_elements_and_members() {
    assert_eq!([1_u64, u64::MAX].into_iter().collect::<Value>().to_string(), "[1,18446744073709551615]");
    let object =
        Value::from_iter([("a", Value::from(-1_i64)), ("b", "é".into()), ("a", vec![Value::Null].into())]);
    assert_eq!(object.to_string(), r#"{"a":[null],"b":"é"}"#);
}

#[test]
fn strings_are_written_with_the_escapes_they_need() {
    let string = "\0\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f} \"\\/\u{7f}é€😀";
    let text = String::from_utf8(to_vec(&Value::from(string)).unwrap()).unwrap();
    assert_eq!(text, "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\u{7f}é€😀\"");
    assert_eq!(read(&text).as_str(), Some(string));
    let every: String = ('\0'..='\u{ffff}').collect();
    assert_eq!(read(&Value::from(every.as_str()).to_string()).as_str(), Some(every.as_str()));
}

/// Stored documents contain unprintable characters unescaped. Messages and `to_printable_pretty` escape them.
#[test]
fn text_for_people_escapes_unprintable_characters() {
    let value = crate::json!({"\u{9b}31m": ["\u{7f}", "\u{202e}é", "\u{e0041}", "\n"]});
    let escaped = r#"{"\u009b31m":["\u007f","\u202eé","\udb40\udc41","\n"]}"#;
    assert_eq!(value.to_string(), escaped);
    assert_eq!(value.as_object().unwrap().to_string(), escaped);
    let pretty = to_printable_pretty(&value).unwrap();
    assert_eq!(pretty, "{\n  \"\\u009b31m\": [\"\\u007f\", \"\\u202eé\", \"\\udb40\\udc41\", \"\\n\"]\n}");
    assert_eq!(read(&pretty), value);
    let stored = String::from_utf8(to_vec_pretty(&value).unwrap()).unwrap();
    assert!(stored.contains("\u{9b}31m") && stored.contains("\u{202e}é"), "{stored}");
}

#[test]
fn pretty_text_has_short_rows_and_an_indent_of_two() {
    let compact =
        r#"{"shape":[10000,1000],"a":[],"o":{},"g":{"name":"regular","n":[[1,2],[]]},"e":[{"k":null}]}"#;
    let pretty = r#"{
  "shape": [10000, 1000],
  "a": [],
  "o": {},
  "g": {
    "name": "regular",
    "n": [
      [1, 2],
      []
    ]
  },
  "e": [
    {
      "k": null
    }
  ]
}"#;
    assert_eq!(String::from_utf8(to_vec_pretty(&read(compact)).unwrap()).unwrap(), pretty);
    assert_eq!(to_vec(&read(pretty)).unwrap(), compact.as_bytes());
}

#[test]
fn a_row_that_does_not_fit_on_a_line_gets_a_line_for_each_element() {
    let lines = |width: usize| {
        let value = Value::from_iter([("é", vec![Value::from("é".repeat(width)), true.into()])]);
        String::from_utf8(to_vec_pretty(&value).unwrap()).unwrap()
    };
    // Besides the repeated character, the line has two characters of indent, five for the name, the colon and a space,
    // and ten for the rest of the row. One more is reserved for a comma.
    assert_eq!(lines(82).lines().map(|line| line.chars().count()).max(), Some(99));
    assert_eq!(lines(82).lines().count(), 3);
    assert_eq!(lines(83).lines().count(), 6);
}

#[test]
fn random_values_survive_writing_and_reading() {
    let mut random = random();
    for _ in 0..500 {
        let value = random_value(&mut random, 0);
        for text in [to_vec(&value).unwrap(), to_vec_pretty(&value).unwrap()] {
            let parsed = parse(&text, &ParseOptions::default()).unwrap();
            assert_eq!((&parsed.value, parsed.remarks.len()), (&value, 0));
            assert_eq!(parsed.value.to_string(), value.to_string());
        }
        assert_eq!(from_value::<Value>(&value).unwrap().to_string(), value.to_string());
        assert_eq!(to_value(&value).unwrap().to_string(), value.to_string());
    }
}

/// Damaged text is parsed or refused without a panic, and all parsed values can be written.
#[test]
fn random_damage_never_panics() {
    let text =
        r#"{"zarr_format":3,"é":[-0.0,1e5,{"\ud83d\ude00":"\n"}],"attributes":{"a":NaN,"b":[true,null]}}"#;
    let options = ParseOptions { bare_non_finite: true, ..Default::default() };
    assert!(parse(text.as_bytes(), &options).is_ok());
    for end in 0..text.len() {
        assert!(parse(&text.as_bytes()[..end], &options).is_err());
    }
    let interesting = b"\0\x1f \"'+,-./09:E[\\]{}aeu\x7f\x80\xc3\xed\xff";
    let mut random = random();
    let mut below = |limit: usize| usize::try_from(random.next().unwrap() % 1_000_003).unwrap() % limit;
    for _ in 0..50_000 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=below(3) {
            let at = below(bytes.len());
            bytes[at] = interesting[below(interesting.len())];
        }
        if let Ok(parsed) = parse(&bytes, &options) {
            assert_eq!(read_bare(&parsed.value.to_string()).value, parsed.value);
        }
    }
}

/// Returns the same numbers in every run (xorshift64*).
fn random() -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    })
}

fn random_value(random: &mut impl Iterator<Item = u64>, depth: usize) -> Value {
    let mut bits = || random.next().unwrap();
    match (bits() >> 20) % if depth < 5 { 8 } else { 6 } {
        0 => Value::Null,
        1 => Value::Bool(bits() & 1 == 0),
        2 => Value::from(bits()),
        3 => Number::from_f64(f64::from_bits(bits())).map_or(Value::Null, Value::Number),
        4 => Value::Number(Number::parse(&format!("-{}.{}E+{}", bits() >> 5, bits(), bits())).unwrap()),
        5 => Value::String(random_string(bits())),
        6 => (0..bits() % 50).map(|_| random_value(random, depth + 2)).collect(),
        _ => {
            let members = bits() % 50;
            Value::Object(
                (0..members)
                    .map(|_| (random_string(random.next().unwrap()), random_value(random, depth + 2)))
                    .collect(),
            )
        }
    }
}

fn random_string(bits: u64) -> String {
    let parts = ["\0", "\"", "\\", "/", "~", "é", "😀", "\n", "abc", "\u{7f}"];
    (0..bits % 7).map(|at| parts[usize::try_from((bits >> (8 * at + 3)) % 10).unwrap()]).collect()
}

#[test]
fn values_are_made_from_expressions_pairs_and_indices() {
    let name = "level";
    let level = -7_i8;
    let value = crate::json!({
        (name): level, "sum": 1 + 1, "none": null, "empty": {}, "list": [level, [null], {"a": level.abs()}, -1.5],
    });
    let text = r#"{"level":-7,"sum":2,"none":null,"empty":{},"list":[-7,[null],{"a":7},-1.5]}"#;
    assert_eq!(value.to_string(), text);
    let object = Object::from([("a", 1), ("b", 2), ("a", 3)]);
    assert_eq!(Value::Object(object.clone()).to_string(), r#"{"a":3,"b":2}"#);
    assert_eq!([("a", 3), ("b", 2)].into_iter().collect::<Object>(), object);
    assert_eq!((&object["b"], &object["c"]), (&Value::from(2), &Value::Null));
}
