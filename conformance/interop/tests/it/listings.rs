//! Listings of hierarchies that contain unreadable documents.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use zarr_interop::{FarStore, created, warnings};
use zarr_kit::spec::store::{ReadHints, Store};
use zarr_kit::spec::{NodePath, Object};
use zarr_kit::{ArrayBuilder, Context, EntryKind, Error, Format, Hierarchy, OpenOptions, open_store};

/// Returns the paths and kinds of all nodes below the root.
fn walked(hierarchy: &Hierarchy) -> Vec<(String, EntryKind)> {
    let nodes = hierarchy.walk(NodePath::root()).unwrap();
    nodes.into_iter().skip(1).map(|node| (node.path.to_string(), node.kind)).collect()
}

#[test]
fn an_unreadable_document_is_listed_as_an_unreadable_node() {
    for (format, document) in [(Format::V2, ".zgroup"), (Format::V3, "zarr.json")] {
        let folder = tempfile::tempdir().unwrap();
        let context = Context::linked().unwrap();
        let store = open_store(context.registry(), folder.path().to_str().unwrap()).unwrap();
        let hierarchy = Hierarchy::create(Arc::clone(&store), &context, format).unwrap();
        hierarchy.create_group("/a", Object::new()).unwrap();
        hierarchy.create_array("/c/d", &ArrayBuilder::new([4], "uint8")).unwrap();
        std::fs::create_dir(folder.path().join("b")).unwrap();
        let _socket = UnixListener::bind(folder.path().join("b").join(document)).unwrap();
        let hints = ReadHints::new(4, 0);
        let far: Arc<dyn Store> =
            Arc::new(FarStore::new(Arc::clone(&store), std::time::Duration::ZERO, hints));
        for store in [store, far] {
            let hierarchy = Hierarchy::open_with(store, &context, OpenOptions::new().format(format)).unwrap();
            let wanted = [
                ("/a", EntryKind::Group),
                ("/b", EntryKind::Unreadable),
                ("/c", EntryKind::Group),
                ("/c/d", EntryKind::Array),
            ];
            assert_eq!(walked(&hierarchy), wanted.map(|(path, kind)| (path.to_owned(), kind)), "{format}");
            assert_eq!(hierarchy.children(NodePath::root()).unwrap().len(), 3, "{format}");
            let told = warnings(&hierarchy);
            assert!(told.iter().any(|warning| warning.contains("found a socket")), "{told:?}");
            assert!(matches!(hierarchy.node("/b"), Err(Error::Store(_))), "{format}");
        }
        // Consolidation fails if one of the documents cannot be read.
        assert!(hierarchy.consolidate("/").is_err(), "{format}");
    }
}

#[test]
fn an_unreadable_document_of_v2_affects_only_its_own_node() {
    let folder = tempfile::tempdir().unwrap();
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.path().to_str().unwrap()).unwrap();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, Format::V2).unwrap();
    for name in ["/a", "/c"] {
        hierarchy.create_array(name, &ArrayBuilder::new([4], "uint8")).unwrap();
    }
    let socket = |node: &str, document: &str| {
        std::fs::create_dir(folder.path().join(node)).unwrap();
        UnixListener::bind(folder.path().join(node).join(document)).unwrap()
    };
    let _group = socket("b", ".zgroup");
    let hints = ReadHints::new(4, 0);
    let far: Arc<dyn Store> = Arc::new(FarStore::new(Arc::clone(&store), std::time::Duration::ZERO, hints));
    let open = |store: &Arc<dyn Store>| Hierarchy::open(Arc::clone(store), &context).unwrap();
    for store in [&store, &far] {
        let hierarchy = open(store);
        let arrays = hierarchy.group("/").unwrap().arrays().unwrap();
        let paths: Vec<_> = arrays.iter().map(|array| array.path().to_string()).collect();
        assert_eq!(paths, ["/a", "/c"]);
        let told = warnings(&hierarchy);
        assert!(told.iter().any(|warning| warning.contains("found a socket")), "{told:?}");
    }
    let _array = socket("d", ".zarray");
    for store in [&store, &far] {
        let error = open(store).group("/").unwrap().arrays().unwrap_err().to_string();
        assert!(error.contains("d/.zarray"), "{error}");
    }
}

#[test]
fn cyclic_links_are_not_nodes() {
    for format in [Format::V2, Format::V3Draft, Format::V3] {
        let folder = tempfile::tempdir().unwrap();
        let context = Context::linked().unwrap();
        let store = open_store(context.registry(), folder.path().to_str().unwrap()).unwrap();
        let hierarchy = Hierarchy::create(store, &context, format).unwrap();
        hierarchy.create_array("/g/a", &ArrayBuilder::new([4], "uint8")).unwrap();
        let below = match format {
            Format::V3Draft => folder.path().join("meta/g"),
            Format::V2 | Format::V3 => folder.path().join("g"),
        };
        symlink("x", folder.path().join("x")).unwrap();
        symlink("two", below.join("one")).unwrap();
        symlink("one", below.join("two")).unwrap();
        let group = if format == Format::V3Draft { EntryKind::ImplicitGroup } else { EntryKind::Group };
        let wanted = [("/g".to_owned(), group), ("/g/a".to_owned(), EntryKind::Array)];
        assert_eq!(walked(&hierarchy), wanted, "{format}");
        assert!(matches!(hierarchy.array("/x"), Err(Error::NoNode(_))), "{format}");
        if format != Format::V3Draft {
            hierarchy.consolidate("/").unwrap();
        }
    }
}

#[test]
fn listing_the_arrays_of_a_group_fails_if_one_cannot_be_read() {
    let array = created(Format::V3, &ArrayBuilder::new([4], "uint8"));
    assert_eq!(array.hierarchy().group("/").unwrap().arrays().unwrap().len(), 1);
    let folder = tempfile::tempdir().unwrap();
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.path().to_str().unwrap()).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    hierarchy.create_array("/a", &ArrayBuilder::new([4], "uint8")).unwrap();
    std::fs::create_dir(folder.path().join("b")).unwrap();
    let _socket = UnixListener::bind(folder.path().join("b/zarr.json")).unwrap();
    assert!(hierarchy.group("/").unwrap().arrays().is_err());
}
