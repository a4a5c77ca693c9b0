//! Libraries that return invalid numbers and descriptions.

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::{Codec, Output, Representation, Size, Value, json};

use super::{creating, words};
use crate::abi::{
    self, Array, Buf, Call, CodecInstance, CodecVtable, Creation, DataTypeHandle, DataTypeVtable, Str,
};
use crate::ffi::export::codec::CODECS;
use crate::ffi::export::data_type::SHOWN;
use crate::ffi::import::data_type::taken;
use crate::ffi::import::instance::{EMPTY_INSTANCE, made};
use crate::ffi::{Failure, put};

/// The type of `this` of [`SAYS`]: a description as JSON.
type Said = &'static str;

/// A data type that contains itself, with the description in `this`.
static SAYS: DataTypeVtable =
    DataTypeVtable { retain: None, release: None, describe: Some(describe), inner: Some(inner), ..SHOWN };

unsafe extern "C" fn describe(this: *const c_void, json: *mut Buf, _: *mut Buf) -> i32 {
    // SAFETY: `this` points to a `Said`, as in `refusal`, and the buffer can be filled.
    unsafe { put(json, (*this.cast::<Said>()).as_bytes().to_vec()) };
    abi::OK
}

unsafe extern "C" fn inner(this: *const c_void, _: usize, out: *mut DataTypeHandle, _: *mut Buf) -> i32 {
    // SAFETY: `out` points to memory for a handle.
    unsafe { out.write(DataTypeHandle { vtable: &SAYS, this: this.cast_mut() }) };
    abi::OK
}

fn refusal(said: &Said) -> String {
    let handle = DataTypeHandle { vtable: &SAYS, this: std::ptr::from_ref(said).cast_mut().cast() };
    // SAFETY: the data type lives longer than the call, and does not release anything.
    unsafe { taken(&handle, &Arc::from("plugin hostile 1.0.0")) }.unwrap_err().message
}

#[test]
fn invalid_descriptions_of_types_are_refused() {
    for said in [
        r#"{"name": "x", "size": 4, "unit_size": 3}"#,
        r#"{"name": "x", "size": 4, "unit_size": 0}"#,
        r#"{"name": "x", "size": 18446744073709551615, "unit_size": 1}"#,
        r#"{"name": "x", "size": 4, "units": [[3, 2]]}"#,
        r#"{"name": "x", "size": 4, "units": [[18446744073709551615, 2]]}"#,
        r#"{"name": "x", "size": 4, "unit_size": 1, "default_fill_value": [1]}"#,
        r#"{"name": "x", "size": 4, "unit_size": 1, "fields": 3}"#,
        r#"{"name": "x", "size": 4, "unit_size": 1, "optional": true}"#,
        r#"{"name": "x", "size": null, "fields": []}"#,
    ] {
        let message = refusal(&said);
        assert!(message.starts_with("it returned the invalid description "), "{said}: {message}");
    }
}

#[test]
fn a_type_that_contains_itself_is_refused() {
    for said in [
        r#"{"name": "x", "size": null, "optional": true}"#,
        r#"{"name": "x", "size": 1, "unit_size": 1, "fields": [{"name": "a", "offset": 0}]}"#,
    ] {
        assert_eq!(refusal(&said), "data types are nested deeper than 128 levels");
    }
}

/// Creates the codec that `instance` describes with the functions of `vtable`.
fn codec_of(instance: CodecInstance, vtable: CodecVtable) -> Result<Codec, Failure> {
    creating(&Value::Null, |creation| {
        let origin = Arc::from("plugin hostile 1.0.0");
        // SAFETY: there is nothing in the instance but its value.
        unsafe { made(instance, Ok(()), Some(&vtable), &origin, creation, Some(&words(4))) }
    })
    .0
}

const NOTHING: CodecVtable = CodecVtable {
    create: None,
    destroy: None,
    encoded_array: None,
    encoded_size: None,
    encode: None,
    decode: None,
    checksum: None,
    translate: None,
    decode_range: None,
    chain: None,
    index_range: None,
    subset_ranges: None,
    decode_subset: None,
    ..CODECS
};

fn with_value(form: u32, value: &Value) -> CodecInstance {
    let mut instance = CodecInstance { form, ..EMPTY_INSTANCE };
    // SAFETY: the value is a local variable of this function.
    unsafe { put(&mut instance.value, value.to_string().into_bytes()) };
    instance
}

#[test]
fn invalid_codecs_are_refused() {
    let chains = |n_chains| CodecInstance { form: abi::FORM_COMPOSITE, n_chains, ..EMPTY_INSTANCE };
    for (instance, message) in [
        (CodecInstance { form: 99, ..EMPTY_INSTANCE }, "it returned a codec of the unknown form 99"),
        (
            with_value(abi::FORM_VALUE, &json!({"shape": []})),
            r#"it returned a codec with the invalid value {"shape":[]}"#,
        ),
        (
            CodecInstance { form: abi::FORM_CHECKSUM, checksum_size: u32::MAX, ..EMPTY_INSTANCE },
            "it declared a checksum of 4294967295 bytes; the limit is 65536",
        ),
        (chains(u32::MAX), "it returned a codec with 4294967295 chains; the limit is 64"),
        (chains(1), "it has no function `chain`"),
        (
            with_value(abi::FORM_SHARD, &json!({"inner_shape": [1], "index_at_start": true})),
            r#"it returned the invalid shard {"inner_shape":[1],"index_at_start":true} with 0 chains"#,
        ),
    ] {
        assert_eq!(codec_of(instance, NOTHING).unwrap_err().message, message);
    }
}

#[test]
fn missing_functions_are_errors_or_have_a_fallback() {
    let instance = CodecInstance { form: abi::FORM_BYTES_TO_BYTES, ..EMPTY_INSTANCE };
    let vtable = CodecVtable { decode: Some(copy), ..NOTHING };
    let Codec::BytesToBytes(codec) = codec_of(instance, vtable).unwrap() else {
        panic!("unexpected kind of codec")
    };
    let error = codec.encode(&[1], &mut Output::at_most(1)).unwrap_err().to_string();
    assert_eq!(error, "plugin hostile 1.0.0 failed: it has no function `encode`");
    assert_eq!(codec.encoded_size(Size::Exact(1)), Size::Unknown);
    let mut output = Output::at_most(9);
    codec.decode_range(&[1, 2, 3], 1..2, &mut output).unwrap();
    assert_eq!(output.written(), [1, 2, 3]);
    assert!(codec.decode_range(&[1, 2, 3], 1..4, &mut Output::at_most(9)).is_err());
}

unsafe extern "C" fn copy(
    _: *const c_void,
    _: *const Array,
    from: Str,
    _: *const Call,
    to: *mut abi::Output,
    _: *mut Buf,
) -> i32 {
    // SAFETY: the host lends these pointers for the call, and the function writes only reserved bytes.
    unsafe {
        if (*to).capacity < from.len && ((*to).reserve.unwrap())(to, from.len) != abi::OK {
            return abi::LIMIT_EXCEEDED;
        }
        std::ptr::copy_nonoverlapping(from.ptr, (*to).start, from.len);
        (*to).len = from.len;
    }
    abi::OK
}

/// Writes less than the requested range.
unsafe extern "C" fn too_few(
    _: *const c_void,
    _: Str,
    _: usize,
    _: usize,
    _: *const Call,
    to: *mut abi::Output,
    _: *mut Buf,
) -> i32 {
    // SAFETY: the host lends `to` for this call.
    unsafe { (*to).len = 0 };
    abi::OK
}

#[test]
fn an_incomplete_range_is_an_error() {
    let instance = CodecInstance { form: abi::FORM_BYTES_TO_BYTES, ..EMPTY_INSTANCE };
    let vtable = CodecVtable { decode_range: Some(too_few), ..NOTHING };
    let Codec::BytesToBytes(codec) = codec_of(instance, vtable).unwrap() else {
        panic!("unexpected kind of codec")
    };
    let error = codec.decode_range(&[1, 2, 3], 1..2, &mut Output::at_most(9)).unwrap_err().to_string();
    assert_eq!(error, "chunk is corrupt: requested bytes 1 to 2, but the decoded size is 0");
}

unsafe extern "C" fn create_nothing(
    _: *const c_void,
    _: *const Creation,
    _: *const abi::Representation,
    _: *mut CodecInstance,
    _: *mut Buf,
) -> i32 {
    abi::UNSUPPORTED
}

#[test]
fn a_failure_without_a_text_is_a_failure() {
    let item = abi::Item {
        struct_size: size_of::<abi::Item>(),
        kind: abi::CODEC,
        reserved: 0,
        context: std::ptr::null(),
        uri: crate::ffi::lend(b""),
        name: crate::ffi::lend(b"hostile"),
        id: crate::ffi::lend(b""),
        aliases: std::ptr::null(),
        n_aliases: 0,
        summary: crate::ffi::lend(b""),
        examples_json: crate::ffi::lend(b""),
        vtable: std::ptr::from_ref(&CodecVtable { create: Some(create_nothing), ..NOTHING }).cast(),
        configuration_schema_json: crate::ffi::lend(b""),
    };
    // SAFETY: the item has the layout of the ABI, and its texts are static.
    let imported =
        unsafe { crate::ffi::import::Imported::<CodecVtable>::new(&item, Arc::from("plugin hostile 1.0.0")) };
    let decoded = Representation::Bytes(Size::Unknown);
    let imported = imported.unwrap();
    let error = creating(&Value::Null, |creation| imported.create_codec(creation, &decoded)).0.unwrap_err();
    assert_eq!(error.to_string(), "plugin hostile 1.0.0: it gives no reason");
}
