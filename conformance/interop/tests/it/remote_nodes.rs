//! Opening, listing and creating nodes in a remote store: the number of requests and round trips.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use zarr_interop::{CountingStore, FarStore, key};
use zarr_kit::metadata::v3::array_document;
use zarr_kit::spec::Object;
use zarr_kit::spec::store::{ReadHints, Store};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, OpenOptions, open_store};

const DELAY: Duration = Duration::from_millis(5);

/// The time limit for requests that must be in flight at the same time.
const PATIENCE: Duration = Duration::from_secs(20);
const IN_FLIGHT: usize = 32;
const HINTS: ReadHints = ReadHints::new(IN_FLIGHT, 0);

/// Creates a far store with a root of 8 groups, each with 4 arrays and a group that holds one array.
fn nested(format: Format) -> Arc<FarStore> {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), "memory:").unwrap();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, format).unwrap();
    let array = ArrayBuilder::new([4], "uint8").chunks([2]);
    if format != Format::V3Draft {
        hierarchy.create_group("", Object::new()).unwrap();
    }
    for group in 0..8 {
        hierarchy.create_group(format!("g{group}"), Object::new()).unwrap();
        (0..4).for_each(|number| {
            drop(hierarchy.create_array(format!("g{group}/a{number}"), &array).unwrap());
        });
        hierarchy.create_array(format!("g{group}/inner/b"), &array).unwrap();
    }
    Arc::new(FarStore::new(store, DELAY, HINTS))
}

#[test]
fn nodes_are_listed_opened_and_created_in_few_round_trips() {
    let context = Context::linked().unwrap();
    // The number of requests in each batch, and of requests outside of batches.
    type Asked = (Vec<usize>, usize);
    let all: [(Format, [Asked; 3]); 3] = [
        (Format::V2, [(vec![15], 3), (vec![16, 80, 16], 19), (vec![4, 2], 1)]),
        (Format::V3Draft, [(vec![2; 4], 3), (vec![], 3), (vec![], 6)]),
        // The documents of the new array are not read, because they are written under a condition.
        (Format::V3, [(vec![5], 2), (vec![8, 40, 8], 18), (vec![2], 1)]),
    ];
    for (format, [of_arrays, of_walk, of_create]) in all {
        let far = nested(format);
        let hierarchy = Hierarchy::open(Arc::<FarStore>::clone(&far), &context).unwrap();
        assert_eq!(asked(&far), (vec![4], 0), "{format}");
        let group = hierarchy.group("/g3").unwrap();
        let _opened = far.take();
        // One round trip has the requests that check whether `/g3` is still a group, and the requests that list this
        // group.
        far.gather_alone(if format == Format::V3Draft { 1 } else { of_arrays.1 });
        assert_eq!(group.arrays().unwrap().len(), 4);
        let trips = far.take();
        assert!(format == Format::V3Draft || trips.alone_at_once == of_arrays.1, "{format}: {trips:?}");
        assert_eq!((trips.batches, trips.alone), of_arrays, "{format}");
        assert_eq!(hierarchy.walk(hierarchy.path("").unwrap()).unwrap().len(), 1 + 8 * 7);
        let trips = far.take();
        assert_eq!((trips.batches.clone(), trips.alone), of_walk, "{format}");
        // The groups of one level are listed at the same time.
        assert!(format == Format::V3Draft || trips.alone_at_once > 1, "{format}: {trips:?}");
        drop(hierarchy.create_array("/g5/new", &ArrayBuilder::new([4], "uint8")).unwrap());
        let trips = far.take();
        assert_eq!((trips.batches, trips.alone, trips.written), (of_create.0, of_create.1, 1), "{format}");
    }
}

/// Returns the number of requests in each batch, and of requests outside of batches.
fn asked(far: &FarStore) -> (Vec<usize>, usize) {
    let trips = far.take();
    (trips.batches, trips.alone)
}

#[test]
fn an_array_that_is_a_root_is_opened_in_one_round_trip() {
    let context = Context::linked().unwrap();
    let any = OpenOptions::new();
    for (format, options, batches) in [
        (Format::V3, any, vec![5]),
        (Format::V3, any.format(Format::V3), vec![1]),
        (Format::V2, any, vec![5]),
        (Format::V2, any.format(Format::V2), vec![4]),
    ] {
        let near = open_store(context.registry(), "memory:").unwrap();
        let hierarchy = Hierarchy::create(Arc::clone(&near), &context, format).unwrap();
        let attributes = Object::from([("title", "a root")]);
        let builder = ArrayBuilder::new([4], "uint8").attributes(attributes.clone());
        drop(hierarchy.create_array("/", &builder).unwrap());
        let far = Arc::new(FarStore::new(near, DELAY, HINTS));
        let array = Hierarchy::open_root_array(Arc::<FarStore>::clone(&far), &context, options).unwrap();
        assert_eq!((array.shape(), array.attributes()), (&[4][..], &attributes));
        assert_eq!(asked(&far), (batches, 0), "{format}");
    }
}

#[test]
fn a_root_is_opened_with_its_arrays_in_two_round_trips() {
    let context = Context::linked().unwrap();
    for (format, batches, alone) in [
        (Format::V2, vec![4, 3, 9 * 3 + 2 * 3], 1),
        (Format::V3Draft, vec![4, 2, 2, 2], 3),
        (Format::V3, vec![4, 9 + 2], 1),
    ] {
        let near = open_store(context.registry(), "memory:").unwrap();
        let hierarchy = Hierarchy::create(Arc::clone(&near), &context, format).unwrap();
        let attributes = Object::from([("title", "two arrays")]);
        hierarchy.create_group("", attributes.clone()).unwrap();
        for name in ["b", "a"] {
            drop(hierarchy.create_array(name, &ArrayBuilder::new([4], "uint8")).unwrap());
        }
        (0..9).for_each(|number| drop(hierarchy.create_group(format!("g{number}"), Object::new()).unwrap()));

        let counted = Arc::new(CountingStore::new(Arc::clone(&near)));
        let far = Arc::new(FarStore::new(Arc::<CountingStore>::clone(&counted), DELAY, HINTS));
        // The documents that reveal the format are delivered only after the listing was requested.
        let start = Instant::now();
        let is_listed = AtomicBool::new(false);
        far.spoil(move |_, batch, delivery| {
            while batch == 0 && !is_listed.load(Ordering::SeqCst) && start.elapsed() < PATIENCE {
                is_listed.store(counted.take().contains_key("list_prefix"), Ordering::SeqCst);
                thread::sleep(Duration::from_millis(1));
            }
            vec![delivery]
        });
        let (root, arrays) = Hierarchy::open_with_arrays(Arc::<FarStore>::clone(&far), &context).unwrap();
        assert!(start.elapsed() < PATIENCE, "{format}");
        let paths: Vec<_> = arrays.iter().map(|array| array.path().to_string()).collect();
        assert_eq!(paths, ["/a", "/b"], "{format}");
        assert_eq!(root.attributes(), &attributes, "{format}");
        let trips = far.take();
        assert_eq!((trips.batches, trips.alone), (batches, alone), "{format}");

        // A near store and consolidated metadata give the same result.
        for store in [near, far as Arc<dyn Store>] {
            if format != Format::V3Draft {
                hierarchy.consolidate("").unwrap();
            }
            let (root, arrays) = Hierarchy::open_with_arrays(store, &context).unwrap();
            assert_eq!((arrays.len(), root.attributes()), (2, &attributes), "{format}");
        }
    }
}

#[test]
fn the_arrays_of_a_root_are_opened_in_few_round_trips() {
    let context = Context::linked().unwrap();
    for (format, batches, alone) in [
        (Format::V2, vec![4, 3, 9 * 3 + 2 * 3], 3),
        (Format::V3Draft, vec![4, 2, 2, 2], 2),
        (Format::V3, vec![4, 9 + 2], 3),
    ] {
        let near = open_store(context.registry(), "memory:").unwrap();
        let hierarchy = Hierarchy::create(Arc::clone(&near), &context, format).unwrap();
        hierarchy.create_group("", Object::new()).unwrap();
        for name in ["b", "a"] {
            drop(hierarchy.create_array(name, &ArrayBuilder::new([4], "uint8")).unwrap());
        }
        (0..9).for_each(|number| drop(hierarchy.create_group(format!("g{number}"), Object::new()).unwrap()));
        let far = Arc::new(FarStore::new(near, DELAY, HINTS));
        let store: Arc<dyn Store> = Arc::<FarStore>::clone(&far);
        let arrays = Hierarchy::open(store, &context).unwrap().group("").unwrap().arrays().unwrap();
        let paths: Vec<_> = arrays.iter().map(|array| array.path().to_string()).collect();
        assert_eq!(paths, ["/a", "/b"], "{format}");
        let trips = far.take();
        assert_eq!((trips.batches, trips.alone), (batches, alone), "{format}");
    }
}

#[test]
fn many_arrays_of_v2_are_created_in_three_round_trips() {
    let far = nested(Format::V2);
    let open = || Hierarchy::open(Arc::<FarStore>::clone(&far), &Context::linked().unwrap()).unwrap();
    let hierarchy = open();
    let _before = far.take();
    far.gather(IN_FLIGHT);
    let array = ArrayBuilder::new([4], "uint8").chunks([2]);
    let titled = array.clone().attributes(Object::from([("title", "new")]));
    let create = |hierarchy: &Hierarchy, paths: &[String], array: &ArrayBuilder| {
        hierarchy.create_arrays(paths.iter().map(|path| (path.as_str(), array))).map(|arrays| arrays.len())
    };
    let paths = |group: &str| (0..40).map(|number| format!("{group}/x{number}")).collect::<Vec<_>>();
    assert_eq!(create(&hierarchy, &paths("/g6"), &array).unwrap(), 40);
    let trips = far.take();
    // The group is listed while the documents of the groups above it are fetched, and `.zmetadata` is looked for at the
    // end.
    assert_eq!((trips.batches, trips.alone, trips.written, trips.writes), (vec![4, 2], 1, 40, IN_FLIGHT));
    assert_eq!(hierarchy.group("/g6").unwrap().arrays().unwrap().len(), 44);

    // Missing groups and attributes are written, and consolidated metadata are updated.
    hierarchy.consolidate("").unwrap();
    let consolidated = open();
    assert!(consolidated.is_consolidated());
    assert_eq!(create(&consolidated, &paths("/g7/y/z"), &titled).unwrap(), 40);
    for hierarchy in [open(), consolidated] {
        let arrays = hierarchy.group("/g7/y/z").unwrap().arrays().unwrap();
        assert!(arrays.iter().all(|array| array.attributes().len() == 1), "{arrays:?}");
        assert_eq!(arrays.len(), 40);
    }

    // Chunks and attributes that an interrupted call left are removed.
    let chunk = key("g5/left/0");
    far.set(&chunk, b"old".into()).unwrap();
    far.set(&key("g5/left/.zattrs"), br#"{"old": 1}"#.into()).unwrap();
    let hierarchy = open();
    assert_eq!(create(&hierarchy, &["/g5/left".to_owned(), "/g5/other".to_owned()], &array).unwrap(), 2);
    assert_eq!(far.size(&chunk).unwrap(), None);
    assert!(hierarchy.array("/g5/left").unwrap().attributes().is_empty());

    // Nothing is written if one of the arrays cannot be created.
    let _before = far.take();
    for (second, reason) in [
        ("/g6/x0", "an array already exists"),
        ("/g7/y/z", "a group already exists"),
        ("/g1/new", "it occurs twice among the new arrays"),
        ("/g1/new/below", "/g1/new is an array"),
        ("/g2/a1/below", "/g2/a1 is an array"),
    ] {
        let error = create(&hierarchy, &["/g1/new".to_owned(), second.to_owned()], &array).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(far.take().written, 0);
    }
}

#[test]
fn many_arrays_of_v3_are_created_in_two_round_trips() {
    let far = nested(Format::V3);
    let hierarchy = Hierarchy::open(Arc::<FarStore>::clone(&far), &Context::linked().unwrap()).unwrap();
    hierarchy.consolidate("/g7").unwrap();
    let _before = far.take();
    far.gather(IN_FLIGHT);
    let array = ArrayBuilder::new([4], "uint8").chunks([2]);
    let paths: Vec<_> = (0..40).map(|number| format!("/g6/x{number}")).collect();
    let create = |paths: &[String]| {
        hierarchy.create_arrays(paths.iter().map(|path| (path.as_str(), &array))).map(|arrays| arrays.len())
    };
    assert_eq!(create(&paths).unwrap(), 40);
    let trips = far.take();
    // The group is listed while the documents of the groups above it are fetched. The documents of the arrays are
    // written under a condition.
    assert_eq!((trips.batches, trips.alone, trips.written, trips.writes), (vec![2], 1, 40, IN_FLIGHT));
    assert_eq!(hierarchy.group("/g6").unwrap().arrays().unwrap().len(), 44);

    // Missing groups are written, and consolidated metadata are updated.
    assert_eq!(create(&["/g7/y/z/a".to_owned(), "/g7/y/b".to_owned()]).unwrap(), 2);
    let again = Hierarchy::open(Arc::<FarStore>::clone(&far), &Context::linked().unwrap()).unwrap();
    assert_eq!(again.group("/g7/y").unwrap().children().unwrap().len(), 2);
    let metadata = again.group("/g7").unwrap().metadata().consolidated.clone().unwrap();
    assert!(
        ["y", "y/z", "y/z/a", "y/b", "a0"].iter().all(|path| metadata.get(path).is_some()),
        "{metadata:?}"
    );

    // Nothing is written if one of the arrays cannot be created.
    let _before = far.take();
    for (second, reason) in [
        ("/g6/x0", "cannot create /g6/x0"),
        ("/g1/new", "it occurs twice among the new arrays"),
        ("/g1/new/below", "/g1/new is an array"),
        ("/g2/a1/below", "/g2/a1 is an array"),
    ] {
        let error = create(&["/g1/new".to_owned(), second.to_owned()]).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert_eq!(far.take().written, 0);
    }
}

#[test]
fn the_first_arrays_of_v3_are_created_with_their_groups_in_one_batch() {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), "memory:").unwrap();
    let far = Arc::new(FarStore::new(store, DELAY, HINTS));
    far.gather(IN_FLIGHT);
    let hierarchy = Hierarchy::create(Arc::<FarStore>::clone(&far), &context, Format::V3).unwrap();
    let array = ArrayBuilder::new([4], "uint8").chunks([2]);
    let paths: Vec<_> = (2..IN_FLIGHT).map(|number| format!("/g/x{number}")).collect();
    hierarchy.create_arrays(paths.iter().map(|path| (path.as_str(), &array))).unwrap();
    let trips = far.take();
    // The store is listed first. The root and the group are written together with the arrays.
    assert_eq!((trips.batches, trips.alone, trips.writes), (vec![], 1, IN_FLIGHT));
    assert_eq!(hierarchy.group("/g").unwrap().arrays().unwrap().len(), IN_FLIGHT - 2);
}

/// Creates two arrays in a new group while `meanwhile` creates a node at the path of that group. Returns the error of
/// the first program and the stored hierarchy. If the arrays are created, the first program sees the stored group.
fn arrays_while_another_program_writes(
    meanwhile: impl Fn(&Hierarchy) + Send + Sync + 'static,
) -> (Option<String>, Hierarchy) {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), "memory:").unwrap();
    let other = Hierarchy::create(Arc::clone(&store), &context, Format::V3).unwrap();
    other.create_group("", Object::new()).unwrap();
    other.consolidate("").unwrap();
    let far = Arc::new(FarStore::new(Arc::clone(&store), DELAY, HINTS));
    let hierarchy = Hierarchy::open(Arc::<FarStore>::clone(&far), &Context::linked().unwrap()).unwrap();
    let array = ArrayBuilder::new([4], "uint8").chunks([2]);
    let was_called = AtomicBool::new(false);
    far.spoil_set(move |_, key| {
        if key.as_str() == "new/zarr.json" && !was_called.swap(true, Ordering::SeqCst) {
            meanwhile(&other);
        }
        Ok(())
    });
    let created = hierarchy.create_arrays([("/new/a", &array), ("/new/b", &array)]);
    let found = Hierarchy::open_with(store, &context, OpenOptions::new().consolidated(false)).unwrap();
    if created.is_ok() {
        assert!(hierarchy.is_consolidated());
        let attributes = |hierarchy: &Hierarchy| hierarchy.group("/new").unwrap().attributes().clone();
        assert_eq!(attributes(&hierarchy), attributes(&found));
    }
    (created.err().map(|error| error.to_string()), found)
}

#[test]
fn a_group_that_another_program_creates_meanwhile_is_kept() {
    let titled = || Object::from([("title", "other")]);
    let (error, found) = arrays_while_another_program_writes(move |other| {
        drop(other.create_group("/new", titled()).unwrap());
    });
    assert_eq!(error, None);
    let group = found.group("/new").unwrap();
    assert_eq!((group.attributes(), group.arrays().unwrap().len()), (&titled(), 2));

    // Consolidated metadata of that group get the new arrays.
    let (error, found) = arrays_while_another_program_writes(|other| {
        other.create_group("/new", Object::new()).unwrap();
        other.consolidate("/new").unwrap();
    });
    assert_eq!(error, None);
    let metadata = found.group("/new").unwrap().metadata().consolidated.clone().unwrap();
    assert!(["a", "b"].iter().all(|path| metadata.get(path).is_some()), "{metadata:?}");

    // Another program that does not look for nodes below the array.
    let (error, found) = arrays_while_another_program_writes(|other| {
        let array = ArrayBuilder::new([9], "uint16").chunks([3]);
        let metadata = array.metadata(Format::V3, other.context().registry()).unwrap();
        let document = array_document(&metadata).unwrap().to_string();
        other.store().set(&key("new/zarr.json"), document.as_bytes().into()).unwrap();
    });
    let error = error.unwrap();
    assert!(error.contains("cannot create /new/a: /new is an array"), "{error}");
    assert_eq!(found.array("/new").unwrap().shape(), [9]);
}
