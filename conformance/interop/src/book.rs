//! Hierarchies written by the engine, which other programs read and compare bit for bit.
#![expect(clippy::unwrap_used, reason = "a failure must fail the calling test")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zarr_kit::json as spec_json;
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};

use crate::cases::in_other_words;
use crate::environment::run_script;
use crate::samples::items;
use crate::{Packages, Random, python, raw, reference};

/// Converts to the JSON type of the framework.
///
/// # Panics
///
/// If the conversion fails.
#[must_use]
pub fn value(json: &Value) -> spec_json::Value {
    spec_json::to_value(json).unwrap()
}

/// Converts to attributes of the framework's JSON type.
///
/// # Panics
///
/// If `json` is not an object.
#[must_use]
pub fn attributes(json: &Value) -> spec_json::Object {
    value(json).as_object().unwrap().clone()
}

/// Hierarchies of one format in a folder, and the expected content of their nodes.
#[derive(Debug)]
pub struct Book {
    /// The folder.
    pub folder: tempfile::TempDir,
    context: Context,
    format: Format,
    /// The expected content of each node, in the form that `python/read_check.py` reads.
    pub cases: Vec<Value>,
    files: usize,
}

/// One hierarchy of a book.
#[derive(Debug)]
pub struct Store<'b> {
    /// The book that records the nodes of this hierarchy.
    pub book: &'b mut Book,
    name: String,
    /// The hierarchy.
    pub hierarchy: Hierarchy,
}

impl Book {
    /// Creates a book in a temporary folder, which is deleted with the book.
    ///
    /// # Panics
    ///
    /// If the folder cannot be created.
    #[must_use]
    pub fn new(format: Format) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("expected")).unwrap();
        Self { folder, context: Context::linked().unwrap(), format, cases: Vec::new(), files: 0 }
    }

    /// Creates a hierarchy.
    ///
    /// # Panics
    ///
    /// If the hierarchy cannot be created.
    pub fn store(&mut self, name: &str) -> Store<'_> {
        let location = self.folder.path().join(name);
        let store = open_store(self.context.registry(), location.to_str().unwrap()).unwrap();
        let hierarchy = Hierarchy::create(store, &self.context, self.format).unwrap();
        let mut store = Store { hierarchy, name: name.to_owned(), book: self };
        store.group("/", &json!({}), None);
        store
    }

    /// Reads all cases with another program, except those marked as unreadable for it.
    ///
    /// # Panics
    ///
    /// If the program reads different content or does not read every case.
    pub fn check(&self, python: &Path, reader: &str) {
        let index = self.folder.path().join(format!("{reader}.json"));
        let cases = self.cases.iter().filter(|case| reader != "tensorstore" || case["node_type"] == "array");
        let mut cases: Vec<Value> = cases.cloned().collect();
        // zarr-python opens all children of a group to list them, so it fails if it cannot open one of them.
        let unreadable = |case: &Value| !case["skip"][reader].is_null();
        let stores: Vec<Value> =
            cases.iter().filter(|case| unreadable(case)).map(|case| case["store"].clone()).collect();
        for case in
            cases.iter_mut().filter(|case| case["node_type"] == "group" && stores.contains(&case["store"]))
        {
            case["skip"] = json!({reader: "contains arrays that this reader cannot open"});
        }
        std::fs::write(&index, serde_json::to_vec(&cases).unwrap()).unwrap();
        let arguments = [index.as_os_str(), "--reader".as_ref(), reader.as_ref()];
        let (output, good) = run_script(python, "read_check.py", &arguments);
        println!("{reader}: {}", output.lines().last().unwrap_or_default());
        let shown = output
            .lines()
            .take(30)
            .map(|line| line.chars().take(400).collect::<String>())
            .collect::<Vec<_>>();
        assert!(good, "{reader} of {}:\n{}", self.format, shown.join("\n"));
        let skipped = cases.iter().filter(|case| unreadable(case)).count();
        let read = cases.len() - skipped;
        let wanted = format!("{read} read, {read} equal, 0 different, {skipped} refused");
        assert_eq!(output.trim().lines().last(), Some(wanted.as_str()), "{output}");
        assert!(read > 0 || reader == "tensorstore");
    }

    /// Returns the folder of a hierarchy.
    #[must_use]
    pub fn location(&self, store: &str) -> PathBuf {
        self.folder.path().join(store)
    }
}

impl Store<'_> {
    /// Creates a group; `children` lists the names of all its children once the book is complete.
    ///
    /// # Panics
    ///
    /// If the group cannot be created.
    pub fn group(&mut self, path: &str, attributes: &Value, children: Option<&[&str]>) {
        self.hierarchy.create_group(path, self::attributes(attributes)).unwrap();
        self.case(
            json!({"node_type": "group", "path": path, "attributes": attributes, "children": children}),
        );
    }

    /// Records the expected content of a node.
    ///
    /// # Panics
    ///
    /// If `case` does not have a path.
    pub fn case(&mut self, case: Value) {
        let mut case = case;
        let path = case["path"].as_str().unwrap().to_owned();
        case["case"] = json!(format!("{}{path}", self.name));
        case["store"] = json!(self.name);
        case["format"] = json!(match self.book.format {
            Format::V2 => "v2",
            Format::V3 => "v3",
            Format::V3Draft => "v3-draft-b",
        });
        self.book.cases.push(case);
    }

    /// Creates an array, fills it with `write` and records the elements that `write` returns; `skip` names
    /// the readers that cannot read it.
    ///
    /// # Panics
    ///
    /// If the array cannot be created or written.
    pub fn array(
        &mut self,
        path: &str,
        builder: &ArrayBuilder,
        descriptor: &Value,
        skip: &Value,
        write: impl FnOnce(&Array) -> Vec<Vec<u8>>,
    ) {
        let array = self.hierarchy.create_array(path, builder);
        let array = array.unwrap_or_else(|error| panic!("{}{path}: {error}", self.name));
        let expected = write(&array);
        let file = format!("expected/{:04}.raw", self.book.files);
        self.book.files += 1;
        std::fs::write(self.book.folder.path().join(&file), expected.concat()).unwrap();
        let attributes = in_other_words(array.attributes()).unwrap();
        self.case(json!({
            "node_type": "array", "path": path, "shape": array.shape(), "dtype": descriptor, "raw": file,
            "skip": skip, "attributes": attributes,
        }));
    }

    /// Creates an array and writes samples to all of it.
    ///
    /// # Panics
    ///
    /// If the array cannot be created or written.
    pub fn whole(&mut self, path: &str, builder: &ArrayBuilder, descriptor: &str, skip: &Value) {
        self.array(path, builder, &json!(descriptor), skip, |array| {
            let count = array.shape().iter().product::<u64>();
            let items = items(descriptor, usize::try_from(count).unwrap(), count + 3);
            array.write(&Selection::All, &raw::to_write(&**array.data_type(), &items)).unwrap();
            items
        });
    }

    /// Creates an array and writes random parts of it: some elements twice, others not at all.
    ///
    /// # Panics
    ///
    /// If the array cannot be created or written.
    pub fn parts(&mut self, path: &str, builder: &ArrayBuilder, descriptor: &str, skip: &Value) {
        self.array(path, builder, &json!(descriptor), skip, |array| {
            let mut random = Random::new(path.len() as u64);
            let count = usize::try_from(array.shape().iter().product::<u64>()).unwrap();
            let mut expected = vec![raw::item(&**array.data_type(), array.fill_value().bytes()); count];
            for round in 0..4 {
                let selection = random.selection(array.shape(), false);
                let positions = reference::positions(&selection, array.shape());
                let items = items(descriptor, positions.len(), round);
                array.write(&selection, &raw::to_write(&**array.data_type(), &items)).unwrap();
                for (position, item) in positions.into_iter().zip(items) {
                    expected[position] = item;
                }
            }
            expected
        });
    }
}

/// Returns a `skip` value for cases that every program can read.
#[must_use]
pub fn no_skip() -> Value {
    json!({})
}

/// Checks a book with every program that reads its format.
///
/// # Panics
///
/// If a program reads different content or does not read every case.
pub fn check_all(book: &Book) {
    let zarr3 = python(Packages::Zarr3);
    match book.format {
        Format::V3Draft => {
            let Some(zarr3) = zarr3 else { return };
            book.check(&zarr3, "draft");
        }
        Format::V3 | Format::V2 => {
            if let Some(zarr3) = &zarr3 {
                book.check(zarr3, "zarr3");
                book.check(zarr3, "tensorstore");
            }
            if book.format == Format::V2
                && let Some(zarr2) = python(Packages::Zarr2)
            {
                book.check(&zarr2, "zarr2");
            }
        }
    }
}
