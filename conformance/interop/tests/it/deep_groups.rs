//! Nested groups: the cost of creating them, and the effect of concurrent changes to the groups above.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_interop::{CountingStore, key, memory};
use zarr_kit::spec::Object;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, NodePath};

/// Returns the path of the nested group at `depth`; the root is at depth 0.
fn deep(depth: usize) -> String {
    if depth == 0 { "/".to_owned() } else { "/g".repeat(depth) }
}

/// Creates nested groups, the outermost one first.
fn create_chain(hierarchy: &Hierarchy, depth: usize) {
    for depth in 0..=depth {
        hierarchy.create_group(deep(depth), Object::new()).unwrap();
    }
}

/// Returns the number of store calls for `depth` nested groups with an array in each of them.
fn calls(format: Format, depth: usize) -> usize {
    let context = Context::linked().unwrap();
    let store = Arc::new(CountingStore::new(memory()));
    let hierarchy = Hierarchy::create(Arc::clone(&store) as _, &context, format).unwrap();
    let builder = ArrayBuilder::new([4], "uint8");
    drop(store.take());
    create_chain(&hierarchy, depth);
    for depth in 1..=depth {
        let path = format!("{}/a", deep(depth));
        let metadata = builder.metadata(format, context.registry()).unwrap();
        let array = hierarchy.prepare_array(&path, metadata).unwrap();
        hierarchy.publish_array(&array).unwrap();
    }
    store.take().into_iter().filter(|(name, _)| *name != "get_many").map(|(_, count)| count).sum()
}

#[test]
fn store_calls_for_nested_groups_grow_in_proportion_to_their_number() {
    for format in Format::ALL {
        let [few, more, many] = [50, 100, 200].map(|depth| calls(format, depth));
        // The first groups take fewer calls than deeper groups, so the first 50 are not compared.
        let next = more - few;
        let last = many - more;
        assert!(last <= 2 * next, "{format}: {next} calls for 50 groups, but {last} for the next 100");
    }
}

/// Creates a hierarchy with nested groups, and a second handle of the same context.
fn two_handles(format: Format, depth: usize) -> (Arc<dyn Store>, Hierarchy, Hierarchy) {
    let context = Context::linked().unwrap();
    let store = memory();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, format).unwrap();
    create_chain(&hierarchy, depth);
    let other = Hierarchy::open(Arc::clone(&store), &context).unwrap();
    (store, hierarchy, other)
}

#[test]
fn creating_a_node_recreates_groups_that_another_handle_erased() {
    for format in [Format::V2, Format::V3] {
        let (store, hierarchy, other) = two_handles(format, 20);
        other.erase(deep(7)).unwrap();
        hierarchy.create_group(deep(21), Object::new()).unwrap();
        let fresh = Hierarchy::open(store, &Context::linked().unwrap()).unwrap();
        for depth in 0..=21 {
            assert!(fresh.exists(deep(depth)).unwrap(), "{format}: {}", deep(depth));
        }
    }
}

/// The store is as an interrupted erasure leaves it: it lacks the document of a group, but has the documents of the
/// groups below that group.
#[test]
fn leftover_groups_below_an_erased_group_do_not_hide_that_it_is_missing() {
    for (format, document) in [(Format::V2, ".zgroup"), (Format::V3, "zarr.json")] {
        let (store, hierarchy, other) = two_handles(format, 20);
        hierarchy.create_group("/other", Object::new()).unwrap();
        store.erase(&key(&format!("{}/{document}", &deep(7)[1..]))).unwrap();
        other.erase("/other").unwrap();
        hierarchy.create_group(deep(21), Object::new()).unwrap();
        assert!(other.exists(deep(7)).unwrap(), "{format}");
    }
}

#[test]
fn consolidated_metadata_of_another_handle_include_new_nodes() {
    for (format, document) in [(Format::V2, ".zmetadata"), (Format::V3, "zarr.json")] {
        let (store, hierarchy, other) = two_handles(format, 20);
        other.consolidate(deep(7)).unwrap();
        hierarchy.create_group(format!("{}/new", deep(20)), Object::new()).unwrap();
        let key = key(&format!("{}/{document}", &deep(7)[1..]));
        let document = get_value(&*store, &key, 1 << 20).unwrap().unwrap();
        let wanted = format!("\"{}/new", &deep(13)[1..]);
        assert!(String::from_utf8_lossy(&document).contains(&wanted), "{format}: {wanted}");
    }
}

#[test]
fn a_group_that_another_handle_replaced_by_an_array_blocks_nodes_below() {
    for format in Format::ALL {
        let (_, hierarchy, other) = two_handles(format, 20);
        other.erase(deep(7)).unwrap();
        other.create_array(deep(7), &ArrayBuilder::new([4], "uint8")).unwrap();
        let refused = hierarchy.create_group(deep(21), Object::new()).unwrap_err();
        assert!(matches!(refused, Error::InTheWay { .. }), "{format}: {refused}");
    }
}

#[test]
fn implicit_groups_of_the_draft_are_listed() {
    let (_, hierarchy, _) = two_handles(Format::V3Draft, 3);
    hierarchy.create_group(format!("{}/x/y/z", deep(3)), Object::new()).unwrap();
    hierarchy.create_group(format!("{}/x/y/w", deep(3)), Object::new()).unwrap();
    let nodes = hierarchy.walk(NodePath::root()).unwrap();
    let paths: Vec<_> = nodes.iter().map(|node| node.path.to_string()).collect();
    let below = ["/x", "/x/y", "/x/y/w", "/x/y/z"].map(|below| format!("{}{below}", deep(3)));
    assert_eq!(paths[4..], below);
}
