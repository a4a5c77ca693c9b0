//! `pickle`: chunks that numcodecs wrote with each protocol, and hostile ones.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_pickle as _;
use zarr_conformance::codecs::{check_damaged, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, items, types};
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Representation};

/// Written by numcodecs 0.15.1 with NumPy 2.5.5 and Python 3.13: names and hexadecimal digits.
const PICKLES: &str = include_str!("pickles.tsv");

fn written(name: &str) -> Vec<u8> {
    let row = PICKLES.lines().find_map(|row| row.strip_prefix(name)?.strip_prefix('\t'));
    hex(row.unwrap_or_else(|| panic!("there is no pickle `{name}`")))
}

fn objects(shape: &[u64]) -> ArrayRepresentation {
    array(shape, types::JSON)
}

fn codec() -> Codec {
    let decoded = Representation::Array(objects(&[1]));
    create(Format::V2, "pickle", r#"{"protocol": 5}"#, Mode::Strict, &decoded).unwrap().codec
}

fn decoded(pickle: &[u8], shape: &[u64]) -> Result<Vec<u8>, CodecError> {
    decode(&codec(), &objects(shape), pickle, 1 << 16)
}

fn assert_refused(pickle: &[u8], part: &str) {
    match decoded(pickle, &[1]) {
        Err(error) => assert!(error.to_string().contains(part), "{error}"),
        Ok(_) => panic!("it was decoded instead of: {part}"),
    }
}

#[test]
fn every_protocol_has_the_same_items() {
    let expected = items(&[
        "1",
        "-5",
        "1180591620717411303424",
        "\"é\\\\\\n\"",
        "null",
        "true",
        "1.5",
        "[1,[2]]",
        r#"{"a":[1,"b"],"":{}}"#,
        "[0,1,2]",
        "2.5",
        r#"[["x","yz"],["","日"]]"#,
    ]);
    for protocol in 0..=5 {
        let pickle = written(&format!("protocol-{protocol}"));
        assert_eq!(decoded(&pickle, &[4, 3]).unwrap(), expected, "protocol {protocol}");
        // NumPy 1 has the same functions in another module. Only the text form does not contain the size of the name.
        if protocol == 0 {
            let latin_1: String = pickle.iter().copied().map(char::from).collect();
            let older = latin_1.replace("numpy._core", "numpy.core");
            let older: Vec<u8> = older.chars().map(|character| u8::try_from(character).unwrap()).collect();
            assert_eq!(decoded(&older, &[4, 3]).unwrap(), expected);
        }
    }
}

#[test]
fn arrays_in_order_f_are_in_the_order_of_the_chunk() {
    let transposed = items(&["0", "10", "1", "11", "2", "12"]);
    assert_eq!(decoded(&written("fortran"), &[3, 2]).unwrap(), transposed);
    assert_eq!(decoded(&written("square"), &[2, 2]).unwrap(), items(&["0", "10", "1", "11"]));
    assert_eq!(decoded(&written("innerf"), &[1]).unwrap(), items(&["[[0.0,1.0,2.0],[3.0,4.0,5.0]]"]));
    assert_eq!(decoded(&written("zero"), &[]).unwrap(), items(&["\"lone\""]));
}

#[test]
fn numbers_of_numpy_and_python_keep_their_values() {
    let expected = items(&[
        "true",
        "18446744073709551615",
        "-3",
        "0.5",
        "NaN",
        "-Infinity",
        "-9223372036854775808",
        "2147483648",
    ]);
    assert_eq!(decoded(&written("numbers"), &[8]).unwrap(), expected);
}

#[test]
fn shared_objects_are_written_in_each_place_and_cycles_are_refused() {
    assert_eq!(decoded(&written("shared"), &[2]).unwrap(), items(&["[1]", "[1]"]));
    assert_refused(&written("cycle"), "contains itself");
    // A list of 40 levels with two references each has 2^40 items.
    let result = decoded(&written("laughs"), &[1]);
    assert!(matches!(result, Err(CodecError::TooLarge(_))), "{result:?}");
}

/// Returns a pickle of protocol 0 whose array has one item, which the opcodes create.
fn with_item(opcodes: &[u8]) -> Vec<u8> {
    let head = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n(I1\ntcnumpy\ndtype\n(S'O8'\n\
                 I00\nI01\ntR(I3\nS'|'\nNNNI-1\nI-1\nI63\ntbI00\n(l";
    [&head[..], opcodes, b"atb."].concat()
}

#[test]
fn pickles_of_python_2_are_read() {
    assert_eq!(decoded(&with_item(b"S'a\\\\ text'\n"), &[1]).unwrap(), items(&[r#""a\\ text""#]));
    assert_eq!(decoded(&with_item(b"U\x02xyT\x01\0\0\0z\x86"), &[1]).unwrap(), items(&[r#"["xy","z"]"#]));
    assert_eq!(decoded(&with_item(b"L-012L\n"), &[1]).unwrap(), items(&["-12"]));
    assert_refused(&with_item(b"S'\\xe9'\n"), "not ASCII");
}

#[test]
fn code_and_unknown_objects_are_refused_by_name() {
    for (opcodes, part) in [
        (&b"cos\nsystem\n(S'true'\ntR"[..], "names `os.system`, which is refused"),
        (b"cbuiltins\neval\n(S'1'\ntR", "`builtins.eval`"),
        (b"cnumpy\nload\n", "`numpy.load`"),
        (b"\x8c\x05posix\x8c\x06system\x93", "`posix.system`"),
        (b"ccopyreg\n_reconstructor\n", "`copyreg._reconstructor`"),
        (b"(ios\nsystem\n", "opcode INST"),
        (b"(cos\nsystem\no", "`os.system`"),
        (b"(o", "opcode OBJ"),
        (b"P1\n", "opcode PERSID"),
        (b"NQ", "opcode BINPERSID"),
        (b")\x81", "opcode NEWOBJ "),
        (b")}\x92", "opcode NEWOBJ_EX"),
        (b"\x82\x01", "opcode EXT1"),
        (b"\x83\x01\0", "opcode EXT2"),
        (b"\x84\x01\0\0\0", "opcode EXT4"),
        (b"\x8f", "opcode EMPTY_SET"),
        (b"(\x90", "opcode ADDITEMS"),
        (b"(\x91", "opcode FROZENSET"),
        (b"\x97", "opcode NEXT_BUFFER"),
        (b"\x98", "opcode READONLY_BUFFER"),
        (b"\xff", "unknown opcode 0xff"),
        (b"\x80\x06", "protocol 6"),
        (b"}}b", "sets the state of a dictionary"),
        (b")}R", "calls a tuple"),
        (b"cnumpy\ndtype\n(S'O8'\ntR", "which JSON does not have"),
        (b"C\x01a", "which JSON does not have"),
        (b"}I1\nI2\ns", "keys are text"),
        (b"cnumpy\ndtype\n(S'c16'\ntR", "data type `c16`"),
    ] {
        assert_refused(&with_item(opcodes), part);
    }
}

#[test]
fn pickles_that_python_does_not_write_are_corrupt() {
    for (pickle, part) in [
        (&b""[..], "ends without a result"),
        (b".", "lacks an object"),
        (b"N", "ends without a result"),
        (b"N.", "holds None"),
        (b"]\x94.", "holds a list"),
        (b"a.", "lacks an object"),
        (b"Na.", "lacks an object"),
        (b"NNa.", "not a list"),
        (b"NNNs.", "not a dictionary"),
        (b"t.", "lacks a mark"),
        (b"(Nd.", "without a value"),
        (b"h\x05.", "the memo of the pickle lacks 5"),
        (b"X\xff\xff\xff\xff.", "ends before the argument"),
        (b"\x8e\xff\xff\xff\xff\xff\xff\xff\xff.", "ends before the argument"),
        (b"X\x01\0\0\0\xff.", "not UTF-8"),
        (b"V\\u12\n.", "invalid escape"),
        (b"V\\ud800\n.", "invalid escape"),
        (b"I1x\n.", "digits"),
        (b"Fx\n.", "not a number"),
        (b"Sx\n.", "not a literal"),
        (b"(N0R.", "lacks an object"),
    ] {
        let result = decoded(pickle, &[1]);
        let Err(CodecError::Corrupt(error)) = result else { panic!("{pickle:02x?}: {result:?}") };
        assert!(error.to_string().contains(part), "{pickle:02x?}: {error}");
    }
    let shape = decoded(&written("protocol-4"), &[3, 3]).unwrap_err();
    assert!(shape.to_string().contains("shape [4, 3], expected [3, 3]"), "{shape}");
}

/// An object takes one byte of a pickle, and much more memory.
#[test]
fn the_number_of_objects_is_limited() {
    for opcodes in [&b"]"[..], b"N\x94", b"(", b"2", b"NNN\x87"] {
        let pickle = [b"N", &opcodes.repeat((4 << 20) / opcodes.len())[..]].concat();
        let result = decoded(&with_item(&pickle), &[1]);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{opcodes:02x?}: {result:?}");
    }
    let digits = [b"L", &b"9".repeat(2000)[..], b"L\n"].concat();
    assert_refused(&with_item(&digits), "digits");
    assert_refused(&with_item(&[&b"\x8b\x00\x08\0\0"[..], &[1; 2048]].concat()), "more than 512 bytes");
    let nested = [&b"]".repeat(200)[..], &b"a".repeat(199)].concat();
    assert_refused(&with_item(&nested), "nests deeper");
}

#[test]
fn damage_never_panics() {
    for name in ["protocol-0", "protocol-2", "protocol-4", "protocol-5"] {
        check_damaged(&codec(), &objects(&[4, 3]), &written(name), 1 << 12, 4000).unwrap();
    }
    for name in ["innerf", "numbers", "square"] {
        check_damaged(&codec(), &objects(&[1]), &written(name), 1 << 12, 2000).unwrap();
    }
}

#[test]
fn other_data_types_are_refused_and_nothing_is_encoded() {
    let decoded = Representation::Array(array(&[1], types::INT32));
    let result = create(Format::V2, "pickle", "", Mode::Strict, &decoded).map(|created| created.codec);
    assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    let refused = encode(&codec(), &objects(&[1]), &items(&["1"])).unwrap_err();
    assert!(refused.to_string().contains("only decodes"), "{refused}");
}
