//! The stores that killed programs write to.

use std::fs;
use std::path::Path;

use zarr_kit::spec::{Object, Value};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};

/// A format, with or without consolidated metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) format: Format,
    pub(super) is_consolidated: bool,
}

/// All layouts. The draft does not have consolidated metadata.
pub(super) const LAYOUTS: [Layout; 5] = [
    Layout { format: Format::V2, is_consolidated: false },
    Layout { format: Format::V3Draft, is_consolidated: false },
    Layout { format: Format::V3, is_consolidated: true },
    Layout { format: Format::V2, is_consolidated: true },
    Layout { format: Format::V3, is_consolidated: false },
];

/// A file that is not part of Zarr, in the folder of a group.
const NOTES: &str = "store/g/notes.txt";

/// Creates everything that the commands of the tests read and change.
pub(super) fn make(folder: &Path, layout: Layout) {
    let hierarchy = hierarchy(&folder.join("store"), layout.format);
    hierarchy.create_group("/", attributes("title", "numbers")).unwrap();
    hierarchy.create_group("/g", attributes("unit", "K")).unwrap();
    hierarchy.create_group("/g/h", attributes("unit", "m")).unwrap();
    for (path, shape, first) in [("/a", [6, 8], 1), ("/g/b", [4, 4], 201), ("/g/h/c", [4, 4], 301)] {
        fill(&hierarchy, path, shape, first);
    }
    if layout.is_consolidated {
        hierarchy.consolidate("/").unwrap();
    }
    if layout.format != Format::V3Draft {
        fs::write(folder.join(NOTES), "notes").unwrap();
    }
    let other = self::hierarchy(&folder.join("other"), layout.format);
    fill(&other, "/x/y", [4, 4], 401);
    fill(&other, "/x/z", [4, 4], 501);
    fs::write(folder.join("in.raw"), bytes(601, 48)).unwrap();
    fs::write(folder.join("part.raw"), bytes(601, 24)).unwrap();
    fs::create_dir(folder.join("out")).unwrap();
}

/// Adds leftovers of interrupted commands to the store: chunks of `/left` without a document, chunks outside the shape
/// of `/a`, and hidden files.
pub(super) fn leave_chunks(folder: &Path, layout: Layout) {
    let hierarchy = hierarchy(&folder.join("store"), layout.format);
    fill(&hierarchy, "/left", [6, 8], 701);
    let (documents, chunks) = match layout.format {
        Format::V3Draft => ("meta", "data/a"),
        _ => (".", "a"),
    };
    for name in ["left/zarr.json", "left/.zarray", "left/.zattrs", "left.array.json"] {
        let _other_format = fs::remove_file(folder.join("store").join(documents).join(name));
    }
    if layout.is_consolidated {
        hierarchy.consolidate("/").unwrap();
    }
    for index in 0..8 {
        let name = match layout.format {
            Format::V2 => format!("{index}.9"),
            Format::V3Draft => format!("c{index}/9"),
            Format::V3 => format!("c/{index}/9"),
        };
        let chunk = folder.join("store").join(chunks).join(name);
        fs::create_dir_all(chunk.parent().unwrap()).unwrap();
        fs::write(chunk, bytes(801, 4)).unwrap();
        fs::write(folder.join(format!("store/.zarr-tmp-{index}")), "left").unwrap();
    }
}

/// Adds an array whose rows are chunks. Its copy with columns as chunks takes two passes if there is little memory.
pub(super) fn add_rows(folder: &Path, layout: Layout) {
    let hierarchy = hierarchy(&folder.join("store"), layout.format);
    let builder = ArrayBuilder::new([64, 16384], "int16").chunks([1, 16384]).uncompressed();
    let array = hierarchy.create_array("/rows", &builder).unwrap();
    let elements: Vec<i16> = (0..64).flat_map(|row| (0..16384).map(move |column| row + column)).collect();
    array.write_values(&Selection::All, &elements).unwrap();
    if layout.is_consolidated {
        hierarchy.consolidate("/").unwrap();
    }
}

/// Writes an older output file of `get`.
pub(super) fn write_old_output(folder: &Path, _layout: Layout) {
    fs::write(folder.join("out/a.raw"), "old").unwrap();
}

/// Changes nothing.
pub(super) fn leave_as_it_is(_folder: &Path, _layout: Layout) {}

fn hierarchy(folder: &Path, format: Format) -> Hierarchy {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.to_str().unwrap()).unwrap();
    Hierarchy::create(store, &context, format).unwrap()
}

fn attributes(name: &str, value: &str) -> Object {
    [(name.to_owned(), Value::from(value))].into_iter().collect()
}

fn fill(hierarchy: &Hierarchy, path: &str, shape: [u64; 2], first: i16) {
    let builder = ArrayBuilder::new(shape, "int16").chunks([2, 2]).uncompressed();
    let array = hierarchy.create_array(path, &builder.attributes(attributes("name", path))).unwrap();
    let count = i16::try_from(shape[0] * shape[1]).unwrap();
    let elements: Vec<i16> = (first..first + count).collect();
    array.write_values(&Selection::All, &elements).unwrap();
}

fn bytes(first: i16, count: i16) -> Vec<u8> {
    (first..first + count).flat_map(i16::to_le_bytes).collect()
}

/// Copies a folder with everything in it.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            fs::copy(&path, &copied).unwrap();
        }
    }
}
