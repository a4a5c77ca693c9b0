//! Changes that are interrupted after each of their writes. A program that opens the store afterwards finds
//! the old state, the new state or no node; it never finds fill values instead of elements, or elements of
//! another array.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_interop::{StoppingStore, memory};
use zarr_kit::spec::store::Store;
use zarr_kit::spec::{Key, Object, Prefix};
use zarr_kit::{
    Array, ArrayBuilder, Context, Error, FallbackPolicy, Format, Hierarchy, OpenOptions, Selection, json,
};

const FORMATS: [Format; 3] = [Format::V2, Format::V3Draft, Format::V3];

/// Exceeds the number of writes of every change in this file.
const MANY: usize = 60;

/// A format with or without consolidated metadata and shards.
#[derive(Debug, Clone, Copy)]
struct Layout {
    format: Format,
    is_consolidated: bool,
    is_sharded: bool,
}

fn layouts() -> Vec<Layout> {
    let mut layouts = Vec::new();
    for format in FORMATS {
        for is_consolidated in [false, true] {
            for is_sharded in [false, true] {
                if (is_consolidated && format == Format::V3Draft) || (is_sharded && format != Format::V3) {
                    continue;
                }
                layouts.push(Layout { format, is_consolidated, is_sharded });
            }
        }
    }
    layouts
}

impl Layout {
    /// Creates a hierarchy with only a root group.
    fn started(self) -> (Arc<dyn Store>, Hierarchy) {
        let store = memory();
        let hierarchy = Hierarchy::create(Arc::clone(&store), &context(), self.format).unwrap();
        hierarchy.create_group("/", Object::new()).unwrap();
        (store, hierarchy)
    }

    fn finished(self, hierarchy: &Hierarchy) {
        if self.is_consolidated {
            hierarchy.consolidate("/").unwrap();
        }
    }

    fn builder(self, length: u64) -> ArrayBuilder {
        let builder = ArrayBuilder::new([length], "int16").chunks([2]).uncompressed();
        if self.is_sharded { builder.shards([4]) } else { builder }
    }

    /// Creates a hierarchy with an array `/a` of these elements.
    fn with_array(self, elements: &[i16]) -> Arc<dyn Store> {
        let (store, hierarchy) = self.started();
        filled(&hierarchy, "/a", self.builder(elements.len() as u64), elements);
        self.finished(&hierarchy);
        store
    }

    /// Makes a store with `make`, runs `change` on a handle that stops after a number of writes, and passes the store
    /// to `check`. Repeats this with each number of writes, up to the first one with which `change` succeeds.
    fn interrupt(
        self,
        make: impl Fn() -> Arc<dyn Store>,
        change: impl Fn(&Hierarchy) -> Result<(), Error>,
        check: impl Fn(&Arc<dyn Store>),
    ) {
        for is_reversed in [false, true] {
            let mut was_interrupted = false;
            for writes in 0..MANY {
                let store = make();
                let stopping = Arc::new(StoppingStore::new(Arc::clone(&store), writes, is_reversed));
                let hierarchy =
                    Hierarchy::open_with(stopping, &context(), OpenOptions::new().format(self.format))
                        .unwrap();
                let changed = change(&hierarchy);
                check(&store);
                if changed.is_ok() {
                    break;
                }
                was_interrupted = true;
                assert!(writes + 1 < MANY, "{self:?}: the change never ends");
            }
            assert!(was_interrupted, "{self:?}: the change writes nothing");
        }
    }
}

fn context() -> Context {
    Context::linked().unwrap().with_one_thread().with_fallback(FallbackPolicy::Deny)
}

fn filled(hierarchy: &Hierarchy, path: &str, builder: ArrayBuilder, elements: &[i16]) {
    let array = hierarchy.create_array(path, &builder).unwrap();
    array.write_values(&Selection::All, elements).unwrap();
}

/// Opens the hierarchy as another program would.
fn opened(store: &Arc<dyn Store>, format: Format, consolidated: bool) -> Hierarchy {
    let options = OpenOptions::new().format(format).consolidated(consolidated);
    Hierarchy::open_with(Arc::clone(store), &context(), options).unwrap()
}

fn array(hierarchy: &Hierarchy, path: &str) -> Option<Array> {
    match hierarchy.array(path) {
        Err(Error::NoNode(_)) => None,
        array => Some(array.unwrap()),
    }
}

/// Reads an array through its document and through consolidated metadata. Returns the elements of each reading that
/// finds the array.
fn found(store: &Arc<dyn Store>, format: Format, path: &str) -> Vec<Vec<i16>> {
    let arrays = [false, true].map(|consolidated| array(&opened(store, format, consolidated), path));
    let values = |array: Array| array.read_values::<i16>(&Selection::All).unwrap().to_vec();
    arrays.into_iter().flatten().map(values).collect()
}

/// Grows the array and returns its elements.
fn grown(store: &Arc<dyn Store>, format: Format, path: &str, length: u64) -> Vec<i16> {
    // A new node may still be missing from consolidated metadata.
    let copied = array(&opened(store, format, true), path);
    let mut array = copied.unwrap_or_else(|| opened(store, format, false).array(path).unwrap());
    array.resize(&[length]).unwrap();
    let all = found(store, format, path);
    assert!(all.iter().all(|values| *values == all[0]), "{all:?}");
    all[0].clone()
}

fn with_zeros(elements: &[i16], length: usize) -> Vec<i16> {
    let mut elements = elements.to_vec();
    elements.resize(length, 0);
    elements
}

/// Returns all keys of a node and below it, in any format.
fn keys_of(store: &Arc<dyn Store>, name: &str) -> Vec<Key> {
    let folder = format!("{name}/");
    let document = format!("{name}.");
    let mut keys = store.list().unwrap();
    keys.retain(|key| {
        let key = key.as_str();
        let key =
            ["meta/root/", "data/root/"].iter().find_map(|begin| key.strip_prefix(begin)).unwrap_or(key);
        let key = ["meta/", "data/"].iter().find_map(|begin| key.strip_prefix(begin)).unwrap_or(key);
        key.starts_with(&folder) || key.starts_with(&document)
    });
    keys
}

/// Erases the documents of `/a` and leaves its chunks.
fn lose_documents(store: &Arc<dyn Store>) {
    for key in keys_of(store, "a") {
        if [".zarray", ".zattrs", "zarr.json"].contains(&key.name()) || key.name().contains(".array.") {
            store.erase(&key).unwrap();
        }
    }
}

#[test]
fn a_new_array_never_shows_leftover_chunks() {
    for layout in layouts() {
        let format = layout.format;
        let make = || {
            let (store, hierarchy) = layout.started();
            filled(&hierarchy, "/a", layout.builder(6), &[1, 2, 3, 4, 5, 6]);
            lose_documents(&store);
            assert!(!keys_of(&store, "a").is_empty(), "{layout:?}");
            layout.finished(&opened(&store, format, false));
            store
        };
        let change = |hierarchy: &Hierarchy| hierarchy.create_array("/a", &layout.builder(3)).map(drop);
        layout.interrupt(make, change, |store| {
            for values in found(store, format, "/a") {
                assert_eq!(values, [0; 3], "{layout:?}");
                assert_eq!(grown(store, format, "/a", 7), [0; 7], "{layout:?}");
            }
        });
        let many = |hierarchy: &Hierarchy| {
            let builder = layout.builder(3);
            hierarchy.create_arrays([("/a", &builder), ("/b", &builder)]).map(drop)
        };
        layout.interrupt(make, many, |store| {
            assert!(found(store, format, "/a").iter().all(|values| values == &[0; 3]), "{layout:?}");
        });
    }
}

#[test]
fn an_append_is_atomic_and_leftover_rows_never_reappear() {
    for layout in layouts() {
        let format = layout.format;
        let old = [1i16, 2, 3];
        let added = [4i16, 5, 6, 7, 8, 9];
        let new = [&old[..], &added].concat();
        let append = |hierarchy: &Hierarchy| hierarchy.array("/a").unwrap().append_values(0, &added);
        layout.interrupt(
            || layout.with_array(&old),
            append,
            |store| {
                for values in found(store, format, "/a") {
                    assert!(values == old || values == new, "{layout:?}: {values:?}");
                }
                let stored = opened(store, format, false).array("/a").unwrap();
                let now = stored.read_values::<i16>(&Selection::All).unwrap().to_vec();
                let mut again = opened(store, format, true).array("/a").unwrap();
                again.append_values(0, &[-1i16]).unwrap();
                let wanted = [&now[..], &[-1]].concat();
                assert_eq!(grown(store, format, "/a", 14), with_zeros(&wanted, 14), "{layout:?}");
            },
        );
    }
}

#[test]
fn an_array_that_shrinks_and_grows_again_holds_fill_values() {
    for layout in layouts() {
        let format = layout.format;
        let old = [1i16, 2, 3, 4, 5, 6, 7, 8, 9];
        let shrink = |hierarchy: &Hierarchy| hierarchy.array("/a").unwrap().resize(&[3]);
        layout.interrupt(
            || layout.with_array(&old),
            shrink,
            |store| {
                for values in found(store, format, "/a") {
                    assert!(values == old || values == old[..3], "{layout:?}: {values:?}");
                }
                let now = opened(store, format, false).array("/a").unwrap().shape()[0];
                let kept = if now == 9 { &old[..] } else { &old[..3] };
                assert_eq!(grown(store, format, "/a", 11), with_zeros(kept, 11), "{layout:?}");
            },
        );
    }
}

#[test]
fn growing_after_an_interrupted_shrink_never_shows_leftover_elements() {
    for layout in layouts() {
        let format = layout.format;
        let old = [1i16, 2, 3, 4, 5, 6, 7, 8, 9];
        let make = || {
            let store = layout.with_array(&old);
            // Interrupts the shrink after the new shape is written and before chunks are erased.
            let stopping = |writes| {
                let stopping = Arc::new(StoppingStore::new(Arc::clone(&store), writes, false));
                let hierarchy =
                    Hierarchy::open_with(stopping, &context(), OpenOptions::new().format(format)).unwrap();
                let _interrupted = hierarchy.array("/a").unwrap().resize(&[3]);
                opened(&store, format, false).array("/a").unwrap().shape()[0]
            };
            assert!((0..MANY).any(|writes| stopping(writes) == 3), "{layout:?}");
            store
        };
        let grow = |hierarchy: &Hierarchy| hierarchy.array("/a").unwrap().resize(&[8]);
        layout.interrupt(make, grow, |store| {
            for values in found(store, format, "/a") {
                let is_right = values == old[..3] || values == with_zeros(&old[..3], 8);
                assert!(is_right, "{layout:?}: {values:?}");
            }
            assert_eq!(grown(store, format, "/a", 11), with_zeros(&old[..3], 11), "{layout:?}");
        });
    }
}

#[test]
fn erasing_an_array_leaves_it_whole_or_missing_and_can_be_repeated() {
    for layout in layouts() {
        let format = layout.format;
        let old = [1i16, 2, 3, 4, 5];
        let erase = |hierarchy: &Hierarchy| hierarchy.erase("/a");
        layout.interrupt(
            || layout.with_array(&old),
            erase,
            |store| {
                assert!(found(store, format, "/a").iter().all(|values| values == &old), "{layout:?}");
                match opened(store, format, true).erase("/a") {
                    Err(Error::NoNode(_)) => {}
                    erased => erased.unwrap(),
                }
                assert_eq!(keys_of(store, "a"), [], "{layout:?}");
                assert!(found(store, format, "/a").is_empty(), "{layout:?}");
            },
        );
        layout.interrupt(
            || layout.with_array(&old),
            erase,
            |store| {
                let hierarchy = opened(store, format, true);
                match hierarchy.create_array("/a", &layout.builder(9)) {
                    Err(Error::InTheWay { .. }) => return,
                    created => drop(created.unwrap()),
                }
                let all = found(store, format, "/a");
                assert!(all.iter().all(|values| values == &[0; 9]), "{layout:?}: {all:?}");
            },
        );
    }
}

#[test]
fn erasing_a_group_leaves_its_arrays_whole_or_missing_and_can_be_repeated() {
    for layout in layouts() {
        let format = layout.format;
        let old = [1i16, 2, 3];
        let paths = ["/g/a", "/g/h/b", "/g/h/i/c"];
        let make = || {
            let (store, hierarchy) = layout.started();
            for path in paths {
                filled(&hierarchy, path, layout.builder(3), &old);
            }
            hierarchy.set_attribute("/g/h", "unit", "K").unwrap();
            layout.finished(&hierarchy);
            store
        };
        layout.interrupt(
            make,
            |hierarchy| hierarchy.erase("/g"),
            |store| {
                for path in paths {
                    let all = found(store, format, path);
                    assert!(all.iter().all(|values| values == &old), "{layout:?} {path}: {all:?}");
                }
                match opened(store, format, true).erase("/g") {
                    Err(Error::NoNode(_)) => {}
                    erased => erased.unwrap(),
                }
                assert_eq!(keys_of(store, "g"), [], "{layout:?}");
            },
        );
    }
}

/// The removed elements are in chunks at the edges of a 2-dimensional array, and in chunks that are erased without a
/// listing.
#[test]
fn elements_removed_by_a_shrink_do_not_reappear_in_any_dimension() {
    for format in FORMATS {
        let hierarchy = Hierarchy::create(memory(), &context(), format).unwrap();
        for (path, data_type) in [("/number", "uint16"), ("/text", "string")] {
            if format == Format::V3Draft && data_type == "string" {
                continue;
            }
            let data_type = if format == Format::V2 && data_type == "string" { "|O" } else { data_type };
            let builder = ArrayBuilder::new([7, 9], data_type).chunks([3, 4]);
            let builder = match path {
                "/text" => builder.codec(("vlen-utf8", json!({}))).fill_value(""),
                _ => builder.fill_value(7),
            };
            let mut array = hierarchy.create_array(path, &builder).unwrap();
            let is_text = path == "/text";
            match is_text {
                true => array.write_values(&Selection::All, &vec!["x"; 63]).unwrap(),
                false => array.write_values(&Selection::All, &[1u16; 63]).unwrap(),
            }
            for (shape, grown) in [([5, 6], [6, 6]), ([4, 5], [8, 5]), ([2, 5], [7, 9]), ([2, 2], [2, 70])] {
                array.resize(&shape).unwrap();
                array.resize(&grown).unwrap();
                let elements = array.read(&Selection::All).unwrap();
                for (position, element) in elements.iter().enumerate() {
                    let at = position as u64;
                    let is_inside = at / grown[1] < shape[0] && at % grown[1] < shape[1];
                    let is_old = match is_text {
                        true => element == b"x",
                        false => element == 1u16.to_ne_bytes(),
                    };
                    if !is_inside {
                        assert!(!is_old, "{format} {path} {shape:?} {grown:?} {position}");
                    }
                }
                let first = elements.element(0);
                assert!(first == b"x" || first == 1u16.to_ne_bytes(), "{format} {path}");
            }
        }
    }
}

#[test]
fn unrelated_values_survive_the_creation_of_an_array_and_a_failed_erase() {
    for format in [Format::V2, Format::V3] {
        let (store, hierarchy) = Layout { format, is_consolidated: false, is_sharded: false }.started();
        let notes = Key::new("a/notes.txt").unwrap();
        store.set(&notes, b"mine".into()).unwrap();
        assert!(matches!(hierarchy.erase("/a"), Err(Error::NoNode(_))), "{format}");
        hierarchy.create_array("/a", &ArrayBuilder::new([4], "uint8")).unwrap();
        assert_eq!(store.list_sorted(&Prefix::new("a/").unwrap()).unwrap().len(), 2, "{format}");
        assert!(store.size(&notes).unwrap().is_some(), "{format}");
    }
}

#[test]
fn an_array_cannot_be_created_above_existing_nodes() {
    for format in FORMATS {
        let (_, hierarchy) = Layout { format, is_consolidated: false, is_sharded: false }.started();
        hierarchy.create_array("/a/b", &ArrayBuilder::new([4], "uint8")).unwrap();
        if format != Format::V3Draft {
            let document = if format == Format::V2 { "a/.zgroup" } else { "a/zarr.json" };
            hierarchy.store().erase(&Key::new(document).unwrap()).unwrap();
        }
        let error = hierarchy.create_array("/a", &ArrayBuilder::new([4], "uint8")).unwrap_err();
        assert!(matches!(error, Error::InTheWay { .. }), "{format}: {error}");
        assert!(hierarchy.array("/a/b").is_ok(), "{format}");
    }
}
