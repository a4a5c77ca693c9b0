//! What the engine writes, for other programs to read and compare bit for bit.
#![expect(clippy::unwrap_used, reason = "whatever fails, fails the test that asked for it")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zarr_kit::json as spec_json;
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};

use crate::cases::in_other_words;
use crate::environment::run_script;
use crate::samples::items;
use crate::{Packages, Random, python, raw, reference};

/// JSON of the framework's own.
///
/// # Panics
///
/// If it is none.
#[must_use]
pub fn value(json: &Value) -> spec_json::Value {
    spec_json::to_value(json).unwrap()
}

/// Attributes of the framework's own.
///
/// # Panics
///
/// If `json` is no object.
#[must_use]
pub fn attributes(json: &Value) -> spec_json::Object {
    value(json).as_object().unwrap().clone()
}

/// Hierarchies of one format in a folder, and what must be read from them.
#[derive(Debug)]
pub struct Book {
    /// Where it is.
    pub folder: tempfile::TempDir,
    context: Context,
    format: Format,
    /// What must be read of each node, as `python/read_check.py` has it.
    pub cases: Vec<Value>,
    files: usize,
}

/// One hierarchy of a book.
#[derive(Debug)]
pub struct Store<'b> {
    /// The book that its nodes are entered in.
    pub book: &'b mut Book,
    name: String,
    /// The hierarchy itself.
    pub hierarchy: Hierarchy,
}

impl Book {
    /// In a folder that goes with the book.
    ///
    /// # Panics
    ///
    /// If that fails.
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
    /// If that fails.
    pub fn store(&mut self, name: &str) -> Store<'_> {
        let location = self.folder.path().join(name);
        let store = open_store(self.context.registry(), location.to_str().unwrap()).unwrap();
        let hierarchy = Hierarchy::create(store, &self.context, self.format).unwrap();
        let mut store = Store { hierarchy, name: name.to_owned(), book: self };
        store.group("/", &json!({}), None);
        store
    }

    /// Lets a program read all cases but those of which it is said that it cannot.
    ///
    /// # Panics
    ///
    /// If it reads something else, or not all.
    pub fn check(&self, python: &Path, reader: &str) {
        let index = self.folder.path().join(format!("{reader}.json"));
        let cases = self.cases.iter().filter(|case| reader != "tensorstore" || case["node_type"] == "array");
        let mut cases: Vec<Value> = cases.cloned().collect();
        // zarr-python lists a group by opening what is in it.
        let unreadable = |case: &Value| !case["skip"][reader].is_null();
        let stores: Vec<Value> =
            cases.iter().filter(|case| unreadable(case)).map(|case| case["store"].clone()).collect();
        for case in
            cases.iter_mut().filter(|case| case["node_type"] == "group" && stores.contains(&case["store"]))
        {
            case["skip"] = json!({reader: "there are arrays in it that it cannot open"});
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

    /// The folder of a hierarchy.
    #[must_use]
    pub fn location(&self, store: &str) -> PathBuf {
        self.folder.path().join(store)
    }
}

impl Store<'_> {
    /// Creates a group; `children` are the names of those that it must have at the end.
    ///
    /// # Panics
    ///
    /// If that fails.
    pub fn group(&mut self, path: &str, attributes: &Value, children: Option<&[&str]>) {
        self.hierarchy.create_group(path, self::attributes(attributes)).unwrap();
        self.case(
            json!({"node_type": "group", "path": path, "attributes": attributes, "children": children}),
        );
    }

    /// Notes what must be read of a node.
    ///
    /// # Panics
    ///
    /// If that fails.
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

    /// Creates an array, lets `write` fill it, and notes what it must hold then; `skip` says who cannot read it.
    ///
    /// # Panics
    ///
    /// If that fails.
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

    /// A whole array of samples.
    ///
    /// # Panics
    ///
    /// If that fails.
    pub fn whole(&mut self, path: &str, builder: &ArrayBuilder, descriptor: &str, skip: &Value) {
        self.array(path, builder, &json!(descriptor), skip, |array| {
            let count = array.shape().iter().product::<u64>();
            let items = items(descriptor, usize::try_from(count).unwrap(), count + 3);
            array.write(&Selection::All, &raw::to_write(&**array.data_type(), &items)).unwrap();
            items
        });
    }

    /// An array of which random parts are written, some of them twice, and others not at all.
    ///
    /// # Panics
    ///
    /// If that fails.
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

/// Everybody can read it.
#[must_use]
pub fn no_skip() -> Value {
    json!({})
}

/// Every program that reads the format gets the book.
///
/// # Panics
///
/// If one reads something else, or not all.
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
