//! Small floats compared with `ml_dtypes`, the library that other programs use for them, and their bytes in
//! stored chunks.

use serde_json::Value;
use zarr_conformance::data_types::Subject;
use zarr_interop::environment::{Packages, python, run_script};
use zarr_interop::raw;
use zarr_kit::spec::Mode;
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Registry, Selection, json, open_store};

/// Tests EX-NUM-06, EX-NUM-09, EX-NUM-12, EX-NUM-15, EX-NUM-20.
#[test]
fn codes_and_rounding_equal_those_of_ml_dtypes() {
    let Some(python) = python(Packages::Zarr3) else { return };
    let (output, good) = run_script(&python, "small_floats.py", &[]);
    assert!(good, "{output}");
    let registry = Registry::linked().unwrap();
    let lines: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 10);
    for line in lines {
        let name = line["name"].as_str().unwrap();
        let subject = Subject::new(&registry, Format::V3, Mode::Strict, &format!("\"{name}\"")).unwrap();
        for (code, value) in (0u8..=255).zip(line["values"].as_array().unwrap()) {
            let value: f64 = value.as_str().unwrap().parse().unwrap();
            let printed: f64 = subject.print(&[code]).parse().unwrap();
            assert!(
                printed.total_cmp(&value).is_eq() || printed.is_nan() && value.is_nan(),
                "{name} {code:#x}"
            );
        }
        let rounded = line["rounded"].as_array().unwrap();
        assert!(rounded.len() >= 30, "{name}");
        for pair in rounded {
            let number = pair[0].as_str().unwrap();
            let code = pair[1].as_u64().unwrap();
            assert_eq!(subject.fill(number).unwrap(), [u8::try_from(code).unwrap()], "{name} {number}");
        }
    }
}

/// A data type, codecs, elements, and the chunk that holds them.
type Case = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Tests EX-NUM-18, EX-NUM-19, EX-CODEC-18, EX-CODEC-27.
#[test]
fn small_floats_are_stored_in_bytes_or_packed() {
    let context = Context::linked().unwrap();
    let cases: [Case; 5] = [
        ("float8_e5m2", "bytes", &[0x3c, 0x7e], &[0x3c, 0x7e]),
        ("complex_float8_e4m3", "bytes", &[0x38, 0x40], &[0x38, 0x40]),
        ("float4_e2m1fn", "packbits", &[1, 2, 0xf], &[0x21, 0x0f]),
        ("float6_e3m2fn", "packbits", &[1, 2, 3, 0x3f], &[0x81, 0x30, 0xfc]),
        ("complex_float4_e2m1fn", "packbits", &[1, 2, 3, 4], &[0x21, 0x43]),
    ];
    for (data_type, codec, elements, stored) in cases {
        let registry = context.registry();
        let hierarchy =
            Hierarchy::create(open_store(registry, "memory:").unwrap(), &context, Format::V3).unwrap();
        let parts = if data_type.starts_with("complex") { 2 } else { 1 };
        let length = u64::try_from(elements.len() / parts).unwrap();
        let builder = ArrayBuilder::new([length], data_type).chunks([length]).uncompressed();
        let array = hierarchy.create_array("/a", &builder.codec((codec, json!({})))).unwrap();
        array.write(&Selection::All, elements).unwrap();
        assert_eq!(*array.read_encoded_chunk(&[0]).unwrap().unwrap(), *stored, "{data_type}");
        assert_eq!(raw::of(&array.read(&Selection::All).unwrap()), elements, "{data_type}");
    }
}
