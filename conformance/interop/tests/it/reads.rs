//! Everything that other programs wrote, read with the engine and compared bit for bit.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use zarr_interop::reading::{check_all, check_node, read_all};
use zarr_interop::{Case, Writer, written};
use zarr_kit::{Context, Format, Hierarchy, UndefinedFill, open_store};

fn context() -> Context {
    Context::linked().unwrap()
}

#[test]
fn what_zarr_python_3_writes_is_read() {
    read_all(Writer::Zarr3, &context());
}

#[test]
fn what_zarr_python_2_writes_is_read() {
    read_all(Writer::Zarr2, &context());
}

#[test]
fn what_zarr_python_2_writes_in_the_older_draft_is_read() {
    read_all(Writer::Zarr2Draft, &context());
}

#[test]
fn sharded_arrays_of_the_older_draft_are_read() {
    let Some(directory) = written(Writer::Zarr2Draft) else { return };
    check_all(&directory, "cases-sharding.json", &context(), |hierarchy, case| {
        check_node(hierarchy, case, &directory)
    });
}

#[test]
fn what_tensorstore_writes_is_read() {
    read_all(Writer::Tensorstore, &context());
}

#[test]
fn what_numcodecs_writes_is_read() {
    read_all(Writer::Numcodecs, &context());
}

#[test]
fn the_draft_with_codec_lists_is_read() {
    read_all(Writer::Relabelled, &context());
}

#[test]
fn what_gdal_writes_is_read() {
    // GDAL writes `null` for the fill value of most arrays and leaves out chunks of zeros.
    read_all(Writer::Gdal, &context().with_undefined_fill(UndefinedFill::Zeros));
}

#[test]
fn consolidated_metadata_and_the_documents_themselves_say_the_same() {
    for (writer, formats) in [(Writer::Zarr3, &[Format::V2, Format::V3][..]), (Writer::Zarr2, &[Format::V2])]
    {
        let Some(directory) = written(writer) else { return };
        for &format in formats {
            let cases = Case::all(&directory, "cases.json");
            let cases =
                cases.iter().filter(|case| case.store().contains("consolidated") && case.format() == format);
            let cases: Vec<_> = cases.collect();
            let location = directory.join(cases[0].store());
            let context = context();
            let open = |consolidated| {
                let store = open_store(context.registry(), location.to_str().unwrap()).unwrap();
                let options = zarr_kit::OpenOptions::new().consolidated(consolidated);
                Hierarchy::open_with(store, &context, options).unwrap()
            };
            for hierarchy in [open(true), open(false)] {
                for case in &cases {
                    check_node(&hierarchy, case, &directory).unwrap();
                }
            }
            let root = open(true).path("/").unwrap();
            assert_eq!(open(true).walk(&root).unwrap(), open(false).walk(&root).unwrap());
        }
    }
}
