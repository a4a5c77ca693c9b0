//! Codecs as values: an array that is created with such a value equals an array that is created from the JSON
//! configuration of the codec.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_interop::memory;
use zarr_kit::codecs::*;
use zarr_kit::data_types::{CoreType, Text};
use zarr_kit::spec::codec::CodecEntry;
use zarr_kit::spec::{FillValue, Value};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, json};

/// A data type with a configuration.
const RAGGED: &str = r#"{"name": "ndarray", "configuration": {"dtype": "int32", "shape": [null, 2]}}"#;

/// A codec for chunks of a data type, as a value and by name.
struct Case {
    data_type: &'static str,
    value: CodecEntry,
    by_name: CodecEntry,
}

fn case(
    data_type: &'static str,
    value: impl Into<CodecEntry>,
    name: &'static str,
    configuration: Value,
) -> Case {
    Case { data_type, value: value.into(), by_name: (name, configuration).into() }
}

fn all_cases() -> impl Iterator<Item = Case> {
    [numeric_array_to_array(), other_array_to_array(), array_to_bytes(), bytes_to_bytes(), checksums()]
        .into_iter()
        .flatten()
}

fn numeric_array_to_array() -> Vec<Case> {
    use CoreType::{Float32, Float64, Int16, Int32, UInt8};
    let element = |value: f64| Some(FillValue::new(value.to_ne_bytes()));
    let nan = FillValue::new(f32::NAN.to_ne_bytes());
    let cast = CastValue::new(&Float32, Arc::new(UInt8), Rounding::TowardsZero, Some(OutOfRange::Clamp));
    let cast = cast.unwrap().with_scalar_map(&[(nan.clone(), FillValue::new([255]))], &[]).unwrap();
    let types = json!({"dtype": "<i4", "astype": "<i2"});
    let offset = Parameter::Whole(10);
    let scale = Parameter::Real(0.5);
    let scaled = FixedScaleOffset::new(&Float64, Arc::new(Int16), offset, scale).unwrap();
    let scaling = json!({"offset": 10, "scale": 0.5, "dtype": "<f8", "astype": "<i2"});
    vec![
        case("int32", Delta::new(&Int32, Arc::new(Int16)).unwrap(), "delta", types),
        case(
            "int32",
            AsType::new(&Int32, Arc::new(Int16)).unwrap(),
            "astype",
            json!({"decode_dtype": "<i4", "encode_dtype": "<i2"}),
        ),
        case("float64", BitRound::new(20, Arc::new(Float64)).unwrap(), "bitround", json!({"keepbits": 20})),
        case(
            "float64",
            Quantize::new(3, &Float64, Arc::new(Float32)).unwrap(),
            "quantize",
            json!({"digits": 3, "dtype": "<f8", "astype": "<f4"}),
        ),
        case("float64", scaled, "fixedscaleoffset", scaling),
        case(
            "float64",
            ScaleOffset::new(Arc::new(Float64), element(273.15), element(0.5)).unwrap(),
            "scale_offset",
            json!({"offset": 273.15, "scale": 0.5}),
        ),
        case(
            "float32",
            cast,
            "cast_value",
            json!({"data_type": "uint8", "rounding": "towards-zero", "out_of_range": "clamp",
                   "scalar_map": {"encode": [["NaN", 255]], "decode": []}}),
        ),
    ]
}

fn other_array_to_array() -> Vec<Case> {
    use CoreType::{Float64, Int32, UInt8};
    let shape = [ReshapeDimension::Of(vec![0, 1]), ReshapeDimension::Size(1)];
    vec![
        case(
            "string",
            Categorize::new(["a", "b"], &Text, Arc::new(UInt8)).unwrap(),
            "categorize",
            json!({"labels": ["a", "b"], "dtype": "|O", "astype": "|u1"}),
        ),
        case("bool", PackBooleans::new(Arc::new(UInt8)).unwrap(), "numcodecs.packbits", Value::Null),
        case("int32", Reshape::new(shape).unwrap(), "reshape", json!({"shape": [[0, 1], 1]})),
        case("int32", Squeeze, "zarrs.squeeze", json!({})),
        case("int32", Transpose::new([1, 0]).unwrap(), "transpose", json!({"order": [1, 0]})),
        case(
            "int32",
            ImagecodecsDelta::new(&Int32, -1).unwrap(),
            "imagecodecs_delta",
            json!({"dtype": "<i4", "axis": -1}),
        ),
        case(
            "float64",
            Floatpred::new(&Float64, -1, 1).unwrap(),
            "imagecodecs_floatpred",
            json!({"dtype": "<f8", "axis": -1, "dist": 1}),
        ),
    ]
}

fn array_to_bytes() -> Vec<Case> {
    let bits = PackBits::new(&CoreType::Int16, PaddingEncoding::FirstByte, Some(0), Some(9)).unwrap();
    let packing = json!({"padding_encoding": "first_byte", "first_bit": 0, "last_bit": 9});
    let elements = BitshuffleElements::new(&CoreType::Int32, 8).unwrap();
    let indented = Json2::default().with_indent(2).unwrap().with_separators(", ", ": ").unwrap();
    let differences = PcodecDifferences::Consecutive(2);
    let accuracy = ZfpMode::FixedAccuracy { tolerance: 0.5 };
    let expert = ZfpMode::Expert { minbits: 1, maxbits: 16658, maxprec: 64, minexp: -1074 };
    vec![
        case("int16", Bytes::big_endian(), "bytes", json!({"endian": "big"})),
        case("int16", Bytes::little_endian(), "bytes", json!({"endian": "little"})),
        case("int16", bits, "packbits", packing),
        case("int32", elements, "imagecodecs_bitshuffle", json!({"blocksize": 8})),
        case("zarr-kit.json", Json2::default(), "json2", json!({})),
        case("zarr-kit.json", indented, "json2", json!({"indent": 2})),
        case("zarr-kit.json", Msgpack2::default(), "msgpack2", json!({})),
        case("float64", Pcodec::default(), "pcodec", json!({})),
        case(
            "float64",
            Pcodec::new(4).unwrap().with_differences(differences).unwrap().with_page_size(64).unwrap(),
            "pcodec",
            json!({"level": 4, "delta_spec": "try_consecutive", "delta_encoding_order": 2,
                   "equal_pages_up_to": 64}),
        ),
        case("uint8", Png::new(9).unwrap(), "imagecodecs_png", json!({"level": 9})),
        case("float32", Lerc::new(0.5).unwrap(), "imagecodecs_lerc", json!({"level": 0.5})),
        case("string", VlenUtf8, "vlen-utf8", Value::Null),
        case("bytes", VlenBytes, "vlen-bytes", Value::Null),
        case("string", VlenV2, "zarrs.vlen_v2", Value::Null),
        case(RAGGED, VlenNdarray, "vlen-ndarray", Value::Null),
        case("uint8", Jpegxl::default(), "imagecodecs_jpegxl", json!({"lossless": true})),
        case("int16", Wavpack::default(), "wavpack", json!({})),
        case("int16", Wavpack::imagecodecs(true), "imagecodecs_wavpack", json!({"channels": true})),
        case("int16", Wavpack::imagecodecs(false), "imagecodecs_wavpack", json!({})),
        case("uint8", Webp::default(), "imagecodecs_webp", json!({"lossless": true})),
        case("float64", Zfp::new(ZfpMode::Reversible).unwrap(), "zfp", json!({"mode": "reversible"})),
        case(
            "float64",
            Zfp::new(expert).unwrap(),
            "zfp",
            json!({"mode": "expert", "minbits": 1, "maxbits": 16658, "maxprec": 64, "minexp": -1074}),
        ),
        case("float64", Zfpy::new(accuracy).unwrap(), "zfpy", json!({"mode": 4, "tolerance": 0.5})),
        case("float64", Zfpy::new(ZfpMode::Reversible).unwrap(), "zfpy", json!({})),
    ]
}

fn bytes_to_bytes() -> Vec<Case> {
    let delta = LzmaFilter { id: 3, dist: Some(4), ..LzmaFilter::default() };
    let lzma = LzmaFilter { id: 33, preset: Some(6), ..LzmaFilter::default() };
    let filters = LzmaConfiguration { filters: Some(vec![delta, lzma]), ..LzmaConfiguration::default() };
    let blosc = Blosc::new(BloscCompressor::Zstd, 5, BloscShuffle::Bit, 4, 0).unwrap();
    let brotli = Brotli::new(4, 20, BrotliMode::Generic).unwrap();
    vec![
        case("int32", Base64, "base64", Value::Null),
        case(
            "int32",
            Bitshuffle::new(4, 0).unwrap(),
            "numcodecs.imagecodecs_bitshuffle",
            json!({"itemsize": 4, "blocksize": 0}),
        ),
        case(
            "int32",
            blosc,
            "blosc",
            json!({"cname": "zstd", "clevel": 5, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0}),
        ),
        case("int32", brotli, "imagecodecs_brotli", json!({"level": 4, "mode": "GENERIC", "lgwin": 20})),
        case("int32", Bz2::new(1).unwrap(), "bz2", json!({"level": 1})),
        case("int32", Gdeflate::new(3).unwrap(), "zarrs.gdeflate", json!({"level": 3})),
        case("int32", Gzip::new(2).unwrap(), "gzip", json!({"level": 2})),
        case("int32", ImagecodecsPackbits, "imagecodecs_packbits", Value::Null),
        case("int32", Lz4::new(), "lz4", Value::Null),
        case("int32", Lz4f::new(), "imagecodecs_lz4f", Value::Null),
        case("int32", Lz4h5::new(16).unwrap(), "imagecodecs_lz4h5", json!({"blocksize": 16})),
        case("int32", N5Lz4::new(1024).unwrap(), "n5.lz4", json!({"blockSize": 1024})),
        case(
            "int32",
            Aec::new(32, 9, 16, 2).unwrap(),
            "imagecodecs_aec",
            json!({"bitspersample": 32, "flags": 9, "blocksize": 16, "rsi": 2}),
        ),
        case("int32", Lzf { header: false }, "imagecodecs_lzf", json!({"header": false})),
        case("int32", Lzma::new(&LzmaConfiguration::default()).unwrap(), "lzma", json!({})),
        case(
            "int32",
            Lzma::new(&filters).unwrap(),
            "lzma",
            json!({"filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 6}]}),
        ),
        case("int32", Lzw, "imagecodecs_lzw", Value::Null),
        case("int32", Shuffle::new(4).unwrap(), "shuffle", json!({"elementsize": 4})),
        case(
            "int32",
            Szip::new(40, 8, 32, 12).unwrap(),
            "imagecodecs_szip",
            json!({"options_mask": 40, "pixels_per_block": 8, "bits_per_pixel": 32, "pixels_per_scanline": 12,
                   "header": true}),
        ),
        case("int32", Snappy::default(), "imagecodecs_snappy", Value::Null),
        case("int32", Zlib::new(4).unwrap(), "zlib", json!({"level": 4})),
        case("int32", Zstd::new(3, true).unwrap(), "zstd", json!({"level": 3, "checksum": true})),
    ]
}

fn checksums() -> Vec<Case> {
    vec![
        case("int32", Adler32::at_end(), "adler32", json!({"location": "end"})),
        case("int32", Crc32::at_start(), "crc32", json!({"location": "start"})),
        case("int32", Crc32c::at_end(), "crc32c", Value::Null),
        case("int32", Fletcher32, "fletcher32", Value::Null),
        case("int32", JenkinsLookup3::new(7, []), "jenkins_lookup3", json!({"initval": 7})),
    ]
}

/// Returns the codecs in the metadata of an array with this codec, or the error.
fn created(format: Format, data_type: &str, codec: &CodecEntry) -> Result<String, String> {
    let hierarchy = Hierarchy::create(memory(), &Context::linked().unwrap(), format).unwrap();
    // Images of this format have three samples.
    let shape = if codec.identifier == "imagecodecs_webp" { &[4, 6, 3][..] } else { &[4, 6] };
    let data_type = match data_type.starts_with('{') {
        true => json::parse(data_type.as_bytes(), &json::ParseOptions::default()).unwrap().value,
        false => Value::from(data_type),
    };
    let builder = ArrayBuilder::new(shape, data_type).chunks(shape).codec(codec.clone());
    let array = hierarchy.create_array("/a", &builder).map_err(|error| error.to_string())?;
    let codecs = array.metadata().codecs.iter();
    Ok(codecs.map(|codec| format!("{} {}\n", codec.identifier, codec.configuration)).collect())
}

#[test]
fn arrays_with_a_typed_codec_equal_those_with_its_configuration() {
    let formats = [Format::V2, Format::V3Draft, Format::V3];
    for Case { data_type, value, by_name } in all_cases() {
        // Some identifiers name different codecs in different formats, so both entries must have the same format.
        let mut by_name = by_name;
        by_name.format = value.format;
        let arrays = formats.map(|format| {
            let array = created(format, data_type, &value);
            assert_eq!(array, created(format, data_type, &by_name), "{value:?} in {format}");
            array
        });
        assert!(arrays.iter().any(Result::is_ok), "{value:?}: {arrays:?}");
    }
}

#[test]
fn every_codec_that_does_not_contain_codecs_has_a_type() {
    let containers = ["conditional", "n5_default", "sharding_indexed", "zarrs.optional", "zarrs.vlen"];
    // Further names of codecs, whose values have other names.
    let further = [
        "blosc", "bz2", "deflate", "isal", "lz4", "lzma", "pcodec", "spng", "zfp", "zlib", "zlibng",
        "zopfli", "zstd",
    ];
    let further = further.map(|name| format!("imagecodecs_{name}"));
    let cases: Vec<_> = all_cases().collect();
    let registry = zarr_kit::Registry::linked().unwrap();
    let named: Vec<_> = cases
        .iter()
        .flat_map(|case| [&case.value.identifier, &case.by_name.identifier].map(String::as_str))
        .collect();
    let missing: Vec<_> = registry
        .codecs()
        .iter()
        .filter(|plugin| !plugin.about.decodes_only)
        .map(|plugin| plugin.identifiers)
        .filter(|identifiers| {
            let all = [identifiers.name, identifiers.id, identifiers.uri];
            let mut all = all.into_iter().flatten().chain(identifiers.aliases.iter().copied());
            let is_further = |name: &str| further.iter().any(|known| known == name);
            !all.any(|name| named.contains(&name) || containers.contains(&name) || is_further(name))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn parameters_outside_of_their_range_are_errors() {
    let errors = [
        Zfp::new(ZfpMode::FixedAccuracy { tolerance: -1.0 }).unwrap_err(),
        Zfpy::new(ZfpMode::Expert { minbits: 1, maxbits: 2, maxprec: 3, minexp: 4 }).unwrap_err(),
        Pcodec::new(13).unwrap_err(),
        Pcodec::default().with_differences(PcodecDifferences::Consecutive(8)).unwrap_err(),
        Pcodec::default().with_page_size(0).unwrap_err(),
        Reshape::new([ReshapeDimension::Size(0)]).unwrap_err(),
        Reshape::new([ReshapeDimension::Rest, ReshapeDimension::Rest]).unwrap_err(),
        Reshape::new([ReshapeDimension::Of(vec![1, 0])]).unwrap_err(),
        Transpose::new([0, 2]).unwrap_err(),
        Bitshuffle::new(0, 0).unwrap_err(),
        Lz4h5::new(0).unwrap_err(),
        Png::new(10).unwrap_err(),
        Lerc::new(-1.0).unwrap_err(),
        Lzma::new(&LzmaConfiguration { preset: Some(10), ..LzmaConfiguration::default() }).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, zarr_kit::spec::CodecError::InvalidConfiguration(_)), "{error}");
    }
    // A document cannot contain the prefix.
    let prefixed = CodecEntry::from(JenkinsLookup3::new(0, *b"abc"));
    let error = created(Format::V3, "uint8", &prefixed).unwrap_err();
    assert!(error.contains("a document cannot contain bytes"), "{error}");
    // In v2, the identifiers of these two codecs name other codecs.
    let bits = PackBits::new(&CoreType::Bool, PaddingEncoding::None, None, None).unwrap();
    let elements = BitshuffleElements::new(&CoreType::Int32, 0).unwrap();
    for (data_type, codec) in [("bool", CodecEntry::from(bits)), ("int32", elements.into())] {
        let error = created(Format::V2, data_type, &codec).unwrap_err();
        assert!(error.contains("v2"), "{error}");
    }
}
