//! Threads that change one hierarchy at the same time through handles of one context: no change is lost.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rayon::prelude::*;
use zarr_interop::memory;
use zarr_kit::spec::Object;
use zarr_kit::spec::store::Store;
use zarr_kit::{
    Array, ArrayBuilder, Context, Error, Format, Hierarchy, OpenOptions, Selection, ThreadPool, open_store,
};

const FORMATS: [Format; 3] = [Format::V2, Format::V3Draft, Format::V3];
const THREADS: u64 = 8;

fn context() -> Context {
    Context::linked().unwrap()
}

/// Runs `work` in each format, on a store in memory and on the file system, with and without consolidated
/// metadata.
fn everywhere(work: impl Fn(&Hierarchy, bool)) {
    for format in FORMATS {
        for is_consolidated in [false, true] {
            if is_consolidated && format == Format::V3Draft {
                continue;
            }
            let context = context();
            let folder = tempfile::tempdir().unwrap();
            let files = open_store(context.registry(), folder.path().to_str().unwrap()).unwrap();
            for store in [memory(), files] {
                let hierarchy = Hierarchy::create(store, &context, format).unwrap();
                hierarchy.create_group("/", Object::new()).unwrap();
                hierarchy.create_group("/g", Object::new()).unwrap();
                if is_consolidated {
                    hierarchy.consolidate("/").unwrap();
                }
                work(&hierarchy, is_consolidated);
            }
        }
    }
}

/// Opens another handle of the same store and context.
fn opened_again(hierarchy: &Hierarchy, consolidated: bool) -> Hierarchy {
    let options = OpenOptions::new().format(hierarchy.format()).consolidated(consolidated);
    Hierarchy::open_with(Arc::clone(hierarchy.store()), hierarchy.context(), options).unwrap()
}

/// Runs `work` on numbered threads; every second thread opens its own handle.
fn on_threads(hierarchy: &Hierarchy, work: impl Fn(&Hierarchy, u64) + Sync) {
    let work = &work;
    thread::scope(|scope| {
        for number in 0..THREADS {
            scope.spawn(move || match number % 2 {
                0 => work(hierarchy, number),
                _ => work(&opened_again(hierarchy, number % 4 == 1), number),
            });
        }
    });
}

fn sorted(array: &Array) -> Vec<u32> {
    let mut values = array.read_values::<u32>(&Selection::All).unwrap().to_vec();
    values.sort_unstable();
    values
}

#[test]
fn rows_appended_by_many_threads_are_each_stored_once() {
    const EACH: u64 = 20;
    everywhere(|hierarchy, is_consolidated| {
        let mut builders = vec![ArrayBuilder::new([0], "uint32").chunks([7])];
        if hierarchy.format() == Format::V3 {
            builders.push(ArrayBuilder::new([0], "uint32").chunks([2]).shards([6]));
        }
        for (number, builder) in builders.iter().enumerate() {
            let path = format!("/g/appended-{number}");
            let array = hierarchy.create_array(&path, builder).unwrap();
            on_threads(hierarchy, |opened, thread| {
                // Some threads clone one handle, others open separate handles.
                let mut mine = if thread % 4 == 0 { array.clone() } else { opened.array(&path).unwrap() };
                for round in 0..EACH {
                    let value = u32::try_from(thread * EACH + round).unwrap();
                    mine.append_values(0, &vec![value; 1 + usize::from(value % 3 == 0)]).unwrap();
                }
            });
            let mut wanted: Vec<u32> = (0..u32::try_from(THREADS * EACH).unwrap()).collect();
            wanted.extend(wanted.clone().iter().filter(|value| *value % 3 == 0));
            wanted.sort_unstable();
            for consolidated in [false, is_consolidated] {
                let array = opened_again(hierarchy, consolidated).array(&path).unwrap();
                assert_eq!(sorted(&array), wanted, "{}", hierarchy.format());
            }
        }
    });
}

/// While a rayon thread waits for its own work, it may run other work. That work must not wait for a lock that the
/// thread holds.
#[test]
fn appends_on_rayon_threads_do_not_deadlock() {
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3).unwrap();
    for (path, builder) in [
        ("/chunks", ArrayBuilder::new([0, 1024], "uint32").chunks([16, 1024])),
        ("/shards", ArrayBuilder::new([0, 1024], "uint32").chunks([16, 64]).shards([128, 1024])),
    ] {
        let array = hierarchy.create_array(path, &builder).unwrap();
        (0u32..24).into_par_iter().with_max_len(1).for_each(|number| {
            array.clone().append_values(0, &vec![number; 256 * 1024]).unwrap();
        });
        let array = hierarchy.array(path).unwrap();
        assert_eq!(array.shape(), [24 * 256, 1024]);
        let column = Selection::parse(":, 5", array.shape()).unwrap();
        let mut values = array.read_values::<u32>(&column).unwrap().to_vec();
        assert!(values.chunks(256).all(|rows| rows.iter().all(|value| *value == rows[0])));
        values.sort_unstable();
        values.dedup();
        assert_eq!(values, (0..24).collect::<Vec<_>>());
    }
}

#[test]
fn attributes_set_by_many_threads_are_all_stored() {
    const EACH: u64 = 10;
    everywhere(|hierarchy, is_consolidated| {
        hierarchy.create_array("/g/a", &ArrayBuilder::new([4], "uint8")).unwrap();
        on_threads(hierarchy, |opened, thread| {
            let mut group = opened.group("/g").unwrap();
            let mut array = opened.array("/g/a").unwrap();
            for round in 0..EACH {
                let name = format!("{thread}-{round}");
                group.set_attribute(&name, round).unwrap();
                array.set_attribute(&name, round).unwrap();
                opened.set_attribute("/", &name, round).unwrap();
                opened
                    .update_attributes("/g", |attributes| {
                        let count = attributes.get("count").and_then(|count| count.as_i64()).unwrap_or(0);
                        attributes.insert("count", count + 1);
                    })
                    .unwrap();
                assert_eq!(group.attributes().get(&name).unwrap().as_i64(), i64::try_from(round).ok());
            }
        });
        let all = usize::try_from(THREADS * EACH).unwrap();
        for consolidated in [false, is_consolidated] {
            let again = opened_again(hierarchy, consolidated);
            let group = again.group("/g").unwrap();
            assert_eq!(group.attributes().len(), all + 1, "{}", hierarchy.format());
            assert_eq!(group.attributes().get("count").unwrap().as_i64(), i64::try_from(all).ok());
            assert_eq!(again.group("/").unwrap().attributes().len(), all);
            assert_eq!(again.array("/g/a").unwrap().attributes().len(), all);
        }
    });
}

#[test]
fn exactly_one_of_many_threads_creates_a_node() {
    everywhere(|hierarchy, is_consolidated| {
        let builder = ArrayBuilder::new([4], "uint8");
        for round in 0..10 {
            let path = format!("/g/new-{round}");
            let created = AtomicUsize::new(0);
            on_threads(hierarchy, |opened, thread| {
                let done = match thread % 3 {
                    0 => opened.create_group(&path, Object::new()).map(drop),
                    1 => opened.create_array(&path, &builder).map(drop),
                    _ => opened.create_arrays([(path.as_str(), &builder)]).map(drop),
                };
                match done {
                    Ok(()) => drop(created.fetch_add(1, Ordering::Relaxed)),
                    Err(Error::InTheWay { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            });
            assert_eq!(created.into_inner(), 1, "{}", hierarchy.format());
            assert!(opened_again(hierarchy, is_consolidated).exists(&path).unwrap());
        }
    });
}

/// Many arrays of one call are created on several threads in a local store.
#[test]
fn many_arrays_of_one_call_are_created_with_the_groups_above_them() {
    everywhere(|hierarchy, is_consolidated| {
        let builder = ArrayBuilder::new([4], "uint8");
        let paths: Vec<String> = (0..90).map(|number| format!("/g/m{}/n/a{number}", number % 3)).collect();
        let arrays =
            |paths: &[String]| hierarchy.create_arrays(paths.iter().map(|path| (path.as_str(), &builder)));
        let created = arrays(&paths).unwrap();
        assert!(created.iter().map(|array| array.path().to_string()).eq(paths.iter().cloned()));
        let opened = opened_again(hierarchy, is_consolidated);
        for path in &paths {
            assert_eq!(opened.array(path).unwrap().shape(), [4], "{path}");
        }
        assert_eq!(opened.group("/g").unwrap().children().unwrap().len(), 3);

        // An array that exists is reported, and stays as it is.
        let first = hierarchy.array(&paths[0]).unwrap();
        first.write_values(&Selection::All, &[7_u8; 4]).unwrap();
        let again: Vec<String> = (0..80).map(|number| format!("/g/m0/n/a{}", 790 - 10 * number)).collect();
        let error = arrays(&again).unwrap_err();
        assert!(matches!(&error, Error::InTheWay(_)), "{error}");
        assert_eq!(first.read_values::<u8>(&Selection::All).unwrap().to_vec(), [7; 4]);
    });
}

#[test]
fn new_arrays_that_exclude_each_other_are_refused_before_any_is_created() {
    let pool = ThreadPool::new(4).unwrap();
    let context = context().with_thread_pool(&pool);
    let hierarchy = Hierarchy::create(memory(), &context, Format::V3).unwrap();
    hierarchy.create_group("/", Object::new()).unwrap();
    let builder = ArrayBuilder::new([4], "uint8");
    // Few arrays are created by one thread, and refused alike.
    let refused = [
        (100, "/a0", "it occurs twice"),
        (100, "/a0/b", "/a0"),
        (2, "/a0", "it occurs twice"),
        (2, "/a0/b", "/a0"),
    ];
    for (count, last, message) in refused {
        let mut paths: Vec<String> = (0..count).map(|number| format!("/a{number}")).collect();
        paths.push(last.to_owned());
        let error = hierarchy.create_arrays(paths.iter().map(|path| (path.as_str(), &builder)));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert_eq!(hierarchy.group("/").unwrap().children().unwrap(), []);
    }
}

#[test]
fn consolidated_metadata_contain_all_nodes_created_by_many_threads() {
    const EACH: u64 = 6;
    everywhere(|hierarchy, is_consolidated| {
        on_threads(hierarchy, |opened, thread| {
            for round in 0..EACH {
                // The groups between `/g` and the array are missing.
                let path = format!("/g/{round}/{thread}/a");
                opened.create_array(&path, &ArrayBuilder::new([4], "uint8")).unwrap();
                if thread % 4 == 0 {
                    opened.erase(&path).unwrap();
                }
            }
        });
        let root = hierarchy.path("/g").unwrap();
        for consolidated in [false, is_consolidated] {
            let nodes = opened_again(hierarchy, consolidated).walk(&root).unwrap();
            let arrays = nodes.iter().filter(|node| node.kind == zarr_kit::EntryKind::Array).count();
            assert_eq!(arrays as u64, EACH * (THREADS - THREADS / 4), "{}", hierarchy.format());
        }
    });
}

#[test]
fn creating_nodes_below_a_group_keeps_its_attributes() {
    for round in 0..20 {
        let context = context();
        let hierarchy = Hierarchy::create(memory(), &context, Format::V3).unwrap();
        let path = format!("/g-{round}");
        thread::scope(|scope| {
            scope.spawn(|| {
                if hierarchy.create_group(&path, [("unit", "K")]).is_err() {
                    hierarchy.set_attribute(&path, "unit", "K").unwrap();
                }
            });
            scope.spawn(|| {
                hierarchy.create_array(format!("{path}/a"), &ArrayBuilder::new([4], "uint8")).unwrap();
            });
        });
        assert_eq!(hierarchy.group(&path).unwrap().attributes().len(), 1);
        let store: &Arc<dyn Store> = hierarchy.store();
        assert_eq!(store.list().unwrap().len(), 3);
    }
}
