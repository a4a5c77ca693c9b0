//! The engine reads everything that other programs wrote; the elements are compared bit for bit.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_interop::reading::{check_all, check_node, read_all};
use zarr_interop::{Case, Writer, written};
use zarr_kit::{Context, Format, Hierarchy, UndefinedFill, open_store};

fn context() -> Context {
    Context::linked().unwrap()
}

#[test]
fn reads_hierarchies_of_zarr_python_3() {
    read_all(Writer::Zarr3, &context());
}

#[test]
fn reads_hierarchies_of_zarr_python_2() {
    read_all(Writer::Zarr2, &context());
}

#[test]
fn reads_hierarchies_of_zarr_python_2_in_the_older_draft() {
    read_all(Writer::Zarr2Draft, &context());
}

#[test]
fn reads_sharded_arrays_of_the_older_draft() {
    let Some(directory) = written(Writer::Zarr2Draft) else { return };
    check_all(&directory, "cases-sharding.json", &context(), |hierarchy, case| {
        check_node(hierarchy, case, &directory)
    });
}

#[test]
fn reads_hierarchies_of_tensorstore() {
    read_all(Writer::Tensorstore, &context());
}

#[test]
fn reads_hierarchies_of_numcodecs() {
    read_all(Writer::Numcodecs, &context());
}

#[test]
fn reads_hierarchies_of_the_draft_with_codec_lists() {
    read_all(Writer::Relabelled, &context());
}

#[test]
fn reads_hierarchies_of_gdal() {
    // GDAL writes `null` as the fill value of most arrays and omits chunks of zeros.
    read_all(Writer::Gdal, &context().with_undefined_fill(UndefinedFill::Zeros));
}

#[test]
fn consolidated_metadata_and_documents_describe_the_same_nodes() {
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
