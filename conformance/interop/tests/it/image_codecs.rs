//! Codecs of imagecodecs: the engine reads the images of other programs bit for bit, and they read the engine's data.

use serde_json::json;
use zarr_interop::book::Book;
use zarr_interop::reading::read_all;
use zarr_interop::{Packages, Writer, python, raw, samples};
use zarr_kit::json::{Value, json as configuration};
use zarr_kit::{ArrayBuilder, Context, Format, Selection};

#[test]
fn reads_lossless_images_of_imagecodecs() {
    read_all(Writer::Images, &Context::linked().unwrap());
}

/// A codec, the shape of its chunks, and a data type in v3 and in v2.
type Case = (&'static str, Value, &'static [u64], (&'static str, &'static str));

fn cases() -> Vec<Case> {
    let szip = |bits: u64, line: u64, mask: u64| {
        configuration!({
            "options_mask": mask, "pixels_per_block": 8, "bits_per_pixel": bits, "pixels_per_scanline": line
        })
    };
    let plain = || configuration!({});
    let checked = configuration!({
        "blocksizeid": 5, "blockchecksum": true, "contentchecksum": true, "contentsize": true
    });
    vec![
        ("imagecodecs_png", configuration!({"level": 9}), &[5, 8], ("uint8", "|u1")),
        ("imagecodecs_png", plain(), &[5, 8, 3], ("uint16", "<u2")),
        ("imagecodecs_webp", plain(), &[5, 8, 3], ("uint8", "|u1")),
        ("imagecodecs_webp", configuration!({"hasalpha": true}), &[5, 8, 4], ("uint8", "|u1")),
        ("imagecodecs_lerc", plain(), &[5, 8], ("int8", "|i1")),
        ("imagecodecs_lerc", plain(), &[5, 8, 3], ("uint16", "<u2")),
        ("imagecodecs_lerc", plain(), &[5, 8], ("int32", "<i4")),
        ("imagecodecs_lerc", configuration!({"level": 0.5}), &[5, 8], ("uint32", "<u4")),
        ("imagecodecs_jpegxl", configuration!({"lossless": true}), &[5, 8], ("uint8", "|u1")),
        ("imagecodecs_jpegxl", plain(), &[5, 8], ("uint16", "<u2")),
        ("imagecodecs_jpegxl", configuration!({"distance": 1.0}), &[5, 8, 3], ("uint8", "|u1")),
        ("imagecodecs_jpegxl", plain(), &[5, 8, 3], ("uint16", "<u2")),
        ("imagecodecs_jpegxl", plain(), &[5, 8, 4], ("uint8", "|u1")),
        ("imagecodecs_wavpack", plain(), &[5, 8], ("int8", "|i1")),
        ("imagecodecs_wavpack", configuration!({"channels": true}), &[5, 8], ("uint8", "|u1")),
        ("imagecodecs_wavpack", configuration!({"channels": true}), &[50, 7, 3], ("int16", "<i2")),
        ("imagecodecs_wavpack", plain(), &[500, 40], ("uint16", "<u2")),
        ("imagecodecs_wavpack", configuration!({"channels": true}), &[9, 301], ("int32", "<i4")),
        ("imagecodecs_wavpack", configuration!({"channels": true}), &[5, 8], ("float32", "<f4")),
        ("imagecodecs_szip", szip(8, 8, 40), &[5, 8], ("uint8", "|u1")),
        ("imagecodecs_szip", szip(16, 16, 12), &[5, 8], ("int16", "<i2")),
        ("imagecodecs_szip", szip(32, 40, 40), &[5, 8], ("int32", "<i4")),
        ("imagecodecs_szip", szip(64, 40, 40), &[5, 8], ("int64", "<i8")),
        ("imagecodecs_lz4f", plain(), &[5, 8], ("uint8", "|u1")),
        ("imagecodecs_lz4f", checked, &[300, 80], ("int32", "<i4")),
        ("imagecodecs_zfp", configuration!({"header": true}), &[5, 8], ("float32", "<f4")),
        ("imagecodecs_zfp", configuration!({"header": true}), &[5, 8, 3], ("int64", "<i8")),
    ]
}

/// Codecs whose configuration in v2 repeats the shape and the data type of the chunk.
fn cases_with_shape(format: Format) -> Vec<Case> {
    let repeated = |shape: Value, dtype: &str, options: Value| match format {
        Format::V2 => {
            let mut members = options;
            if let Some(members) = members.as_object_mut() {
                members.insert("shape", shape);
                members.insert("dtype", dtype);
            }
            members
        }
        _ => options,
    };
    let flat = || configuration!([5, 8]);
    let deep = || configuration!([5, 8, 3]);
    let short = || configuration!({"header": false});
    let plain = || configuration!({});
    vec![
        ("imagecodecs_zfp", repeated(flat(), "<f8", short()), &[5, 8], ("float64", "<f8")),
        ("imagecodecs_zfp", repeated(deep(), "<i4", short()), &[5, 8, 3], ("int32", "<i4")),
        ("imagecodecs_pcodec", repeated(flat(), "<u2", plain()), &[5, 8], ("uint16", "<u2")),
        ("imagecodecs_pcodec", repeated(deep(), "<f8", plain()), &[5, 8, 3], ("float64", "<f8")),
    ]
}

#[test]
fn imagecodecs_reads_images_and_compressed_chunks_of_the_engine() {
    let Some(zarr3) = python(Packages::Zarr3) else { return };
    for format in [Format::V2, Format::V3] {
        let mut book = Book::new(format);
        let mut store = book.store("images");
        let cases = cases().into_iter().chain(cases_with_shape(format));
        for (number, (codec, parameters, chunk, (data_type, descriptor))) in cases.enumerate() {
            let shape: Vec<u64> = chunk
                .iter()
                .enumerate()
                .map(|(place, length)| if place < 2 { length * 2 - 1 } else { *length })
                .collect();
            let builder = ArrayBuilder::new(shape.clone(), data_type)
                .chunks(chunk)
                .uncompressed()
                .codec((codec, parameters));
            let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
            let items = samples::items(descriptor, count, 7);
            let name = format!("/{number}-{codec}-{data_type}");
            store.array(&name, &builder, &json!(descriptor), &json!({}), |array| {
                array.write(&Selection::All, &raw::to_write(&**array.data_type(), &items)).unwrap();
                raw::items(&array.read(&Selection::All).unwrap())
            });
        }
        book.check(&zarr3, "zarr3");
    }
}
