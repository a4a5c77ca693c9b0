//! Raw bits in v3.

use zarr_spec::{ByteOrder, Format, Mode};

use crate::{lenient, refuses, strict, subject, warns};

/// Tests DT-R-01, DT-R-02, DT-R-03, DT-CONTRA-01.
#[test]
fn raw_fill_values_are_lists_of_bytes() {
    let r16 = strict("r16");
    let element = r16.fill("[1,2]").unwrap();
    assert_eq!(r16.stored(&element, &ByteOrder::Big), [1, 2]);
    assert_eq!(r16.fill("[0,255]").unwrap(), [0, 255]);
    assert_eq!(strict("r8").fill("[7]").unwrap(), [7]);
    assert_eq!(strict("r24").fill("[1,2,3]").unwrap(), [1, 2, 3]);
    assert_eq!(strict("r24").json(&[1, 2, 3]).unwrap(), "[1,2,3]");
    let refused =
        ["[0,256]", "[0,-1]", "[0,1.0]", "[\"0\",\"1\"]", "0", "\"AP8=\"", "null", "[1]", "[1,2,3]"];
    refuses(&r16, &refused);
    refuses(&r16, &["[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"]);
}

/// Tests DT-R-04.
#[test]
fn strings_are_tolerated_for_raw_bits() {
    warns(&lenient("r16"), &[("\"0x00ff\"", "[0,255]"), ("\"AP8=\"", "[0,255]")]);
    refuses(&lenient("r16"), &["\"0xff\"", "\"AP8\"", "\"AA==\"", "0"]);
    refuses(&strict("r16"), &["\"0x00ff\"", "\"AP8=\""]);
}

/// Tests DT-ID-03.
#[test]
fn bits_are_a_positive_multiple_of_8() {
    for (name, size) in [("r8", 1), ("r16", 2), ("r24", 3), ("r4096", 512)] {
        assert_eq!(strict(name).data_type.elements().size(), Some(size));
        assert_eq!(strict(name).data_type.name(), name);
    }
    for name in ["r0", "r1", "r12", "r", "r016", "R16", "r-8", "r8.0", "r 8", "r+8", "r*"] {
        for format in [Format::V3, Format::V3Draft] {
            subject(format, Mode::Lenient, &format!("\"{name}\"")).unwrap_err();
        }
    }
    subject(Format::V3, Mode::Lenient, "\"r99999999999999999999999992\"").unwrap_err();
    subject(Format::V3, Mode::Lenient, "\"r8000000000\"").unwrap_err();
}
