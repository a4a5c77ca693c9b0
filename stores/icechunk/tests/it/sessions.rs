//! Versions, commits and conflicts.

use std::sync::Arc;
use std::thread;

use icechunk::repository::VersionInfo;
use icechunk::{Repository, new_local_filesystem_storage};
use tokio::runtime::Runtime;

use super::*;

/// Tags the last commit as `v1`, and begins the branch `dev` at it. Returns the id of its snapshot.
fn tag(path: &Path) -> String {
    Runtime::new().unwrap().block_on(async {
        let storage = new_local_filesystem_storage(path).await.unwrap();
        let repository = Repository::open(storage).execute().await.unwrap();
        let main = VersionInfo::BranchTipRef("main".to_owned());
        let snapshot = repository.resolve_version(&main).await.unwrap();
        repository.create_tag("v1", &snapshot).await.unwrap();
        repository.create_branch("dev", &snapshot).await.unwrap();
        snapshot.to_string()
    })
}

fn at(path: &Path, version: &str) -> String {
    format!("{}|icechunk:@{version}/", path.display())
}

#[test]
fn branches_tags_and_snapshots_are_read_and_only_branches_changed() {
    let (_folder, path) = scratch();
    write_numbers(&path, [1, 2, 3, 4]);
    let snapshot = tag(&path);
    write_numbers(&path, [5, 6, 7, 8]);
    assert_eq!(numbers(path.to_str().unwrap()), [5, 6, 7, 8]);
    for version in ["tag.v1", "branch.dev", &snapshot] {
        assert_eq!(numbers(&at(&path, version)), [1, 2, 3, 4], "{version}");
        let description = format!(r#"{{"type": "icechunk", "path": {path:?}, "version": "{version}"}}"#);
        assert_eq!(numbers(&description), [1, 2, 3, 4], "{version}");
    }
    for version in ["tag.v1", &snapshot] {
        let store = opened(&at(&path, version)).unwrap();
        assert!(!store.capabilities().writeable && !store.capabilities().erasable);
        for refused in [
            store.set(&key("a/c/0"), b"x".into()),
            store.erase(&key("a/c/0")),
            store.erase_prefix(&Prefix::root()),
        ] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains(&format!("|icechunk:@{version} is not ")), "{error}");
        }
    }
    let branch = opened(&at(&path, "branch.dev")).unwrap();
    branch.erase(&key("a/c/0")).unwrap();
    branch.commit().unwrap();
    assert_eq!(numbers(&at(&path, "branch.dev")), [0, 0, 3, 4]);
    assert_eq!(numbers(&at(&path, "branch.main")), [5, 6, 7, 8]);
}

#[test]
fn changes_are_visible_to_others_after_the_commit() {
    let (_folder, path) = scratch();
    let first = store(&path);
    assert_eq!(listed(&*first), [""; 0]);
    assert!(!path.exists(), "reading creates nothing");
    first.commit().unwrap();
    assert!(!path.exists(), "a commit without changes creates nothing");
    let context = context();
    let hierarchy = Hierarchy::create(Arc::clone(&first), &context, Format::V3).unwrap();
    hierarchy.create_group("/g", zarr_kit::json!({})).unwrap();
    assert_eq!(listed(&*first), ["g/zarr.json", "zarr.json"]);
    assert_eq!(listed(&*store(&path)), [""; 0]);
    first.commit().unwrap();
    assert_eq!(listed(&*store(&path)), ["g/zarr.json", "zarr.json"]);
    // The session continues after its commit, and dropping it commits.
    let later = store(&path);
    hierarchy.create_array("/a", &ArrayBuilder::new([4], "int16")).unwrap();
    drop((hierarchy, first));
    assert_eq!(listed(&*later), ["g/zarr.json", "zarr.json"], "a session does not change when others commit");
    assert_eq!(listed(&*store(&path)), ["a/zarr.json", "g/zarr.json", "zarr.json"]);
}

#[test]
fn commits_have_the_message_of_the_description() {
    let (_folder, path) = scratch();
    let description = format!(r#"{{"type": "icechunk", "path": {path:?}, "message": "the first group"}}"#);
    for (number, location) in
        [description, format!("{}|icechunk:?message=the%20second", path.display())].iter().enumerate()
    {
        let store = opened(location).unwrap();
        let document =
            format!(r#"{{"zarr_format": 3, "node_type": "group", "attributes": {{"n": {number}}}}}"#);
        store.set(&key("zarr.json"), document.as_bytes().into()).unwrap();
        store.commit().unwrap();
    }
    let messages: Vec<String> = Runtime::new().unwrap().block_on(async {
        use futures_util::TryStreamExt as _;
        let storage = new_local_filesystem_storage(&path).await.unwrap();
        let repository = Repository::open(storage).execute().await.unwrap();
        let main = repository.lookup_branch("main").await.unwrap();
        let ancestry = repository.ancestry(&VersionInfo::SnapshotId(main)).await.unwrap();
        ancestry.map_ok(|snapshot| snapshot.message).try_collect().await.unwrap()
    });
    assert_eq!(messages[..2], ["the second", "the first group"]);
}

#[test]
fn sessions_that_change_different_chunks_both_commit() {
    let (_folder, path) = scratch();
    write_numbers(&path, [1, 2, 3, 4]);
    let stores = [store(&path), store(&path)];
    let context = context();
    for (number, store) in stores.iter().enumerate() {
        let array = Hierarchy::open(Arc::clone(store), &context).unwrap().array("/a").unwrap();
        let at = 2 * number as u64;
        array.write_values::<i16>(at..at + 2, &[10, 20]).unwrap();
    }
    stores.iter().for_each(|store| store.commit().unwrap());
    assert_eq!(numbers(path.to_str().unwrap()), [10, 20, 10, 20]);
}

#[test]
fn a_conflict_is_an_error_with_the_keys_and_nothing_is_committed() {
    let (_folder, path) = scratch();
    write_numbers(&path, [1, 2, 3, 4]);
    let first = store(&path);
    let second = store(&path);
    let context = context();
    let array =
        |store: &Arc<dyn Store>| Hierarchy::open(Arc::clone(store), &context).unwrap().array("/a").unwrap();
    array(&first).write_values::<i16>(.., &[5, 6, 7, 8]).unwrap();
    array(&second).write_values::<i16>(1..2, &[9]).unwrap();
    first.commit().unwrap();
    for _ in 0..2 {
        let error = second.commit().unwrap_err().to_string();
        let part = "another one committed to the branch `main` and changed the same values (`a/c/0`)";
        assert!(error.contains(part) && error.contains("open the repository again"), "{error}");
    }
    drop(second);
    assert_eq!(numbers(path.to_str().unwrap()), [5, 6, 7, 8]);

    // Documents conflict, too.
    let first = store(&path);
    let second = store(&path);
    array(&first).resize(&[6]).unwrap();
    first.commit().unwrap();
    array(&second).write_values::<i16>(1..2, &[9]).unwrap();
    let mut other = array(&second);
    other.resize(&[3]).unwrap();
    let error = second.commit().unwrap_err().to_string();
    assert!(error.contains("`a/zarr.json`"), "{error}");
    assert_eq!(hierarchy(path.to_str().unwrap()).unwrap().array("/a").unwrap().shape(), [6]);
}

#[test]
fn commits_at_the_same_time_lose_nothing() {
    let (_folder, path) = scratch();
    let context = context();
    let first = store(&path);
    let hierarchy = Hierarchy::create(Arc::clone(&first), &context, Format::V3).unwrap();
    hierarchy.create_array("/a", &ArrayBuilder::new([8], "int16").chunks([1])).unwrap();
    first.commit().unwrap();
    thread::scope(|scope| {
        for number in 0..8_i16 {
            let store = store(&path);
            scope.spawn(move || {
                let context = super::context();
                let array = Hierarchy::open(Arc::clone(&store), &context).unwrap().array("/a").unwrap();
                let at = number.unsigned_abs().into();
                array.write_values::<i16>(at..at + 1, &[number + 1]).unwrap();
                store.commit().unwrap();
            });
        }
    });
    assert_eq!(numbers(path.to_str().unwrap()), [1, 2, 3, 4, 5, 6, 7, 8]);
}

/// Copies write chunks before documents, and markers that a repository cannot hold.
#[test]
fn values_without_a_place_in_the_repository_wait_and_are_not_committed() {
    let (_folder, path) = scratch();
    write_numbers(&path, [1, 2, 3, 4]);
    let store = store(&path);
    let document = get_value(&*store, &key("a/zarr.json"), 9999).unwrap().unwrap();
    let chunk = get_value(&*store, &key("a/c/0"), 9999).unwrap().unwrap();
    let large = vec![7; 5000];
    store.set(&key("b/c/0"), (&chunk).into()).unwrap();
    store.set(&key("b/c/1"), (&large).into()).unwrap();
    store.set(&key("__zarrctl/x/plan.json"), b"{}".into()).unwrap();
    assert_eq!(get_value(&*store, &key("b/c/0"), 9999).unwrap().unwrap(), chunk);
    assert_eq!(get_value(&*store, &key("b/c/1"), 9999).unwrap().unwrap(), large);
    assert_eq!(store.list_dir(&Prefix::root()).unwrap().prefixes.len(), 3);
    let error = store.commit().unwrap_err().to_string();
    assert!(error.contains("`__zarrctl/x/plan.json` is not part of a Zarr hierarchy"), "{error}");
    store.erase_prefix(&Prefix::new("__zarrctl/").unwrap()).unwrap();
    assert!(store.commit().unwrap_err().to_string().contains("`b/c/0`"));
    store.set(&key("b/zarr.json"), (&document).into()).unwrap();
    store.commit().unwrap();
    let keys = ["a/c/0", "a/c/1", "a/zarr.json", "b/c/0", "b/c/1", "b/zarr.json", "zarr.json"];
    assert_eq!(listed(&*super::store(&path)), keys);
    assert_eq!(get_value(&*super::store(&path), &key("b/c/1"), 9999).unwrap().unwrap(), large);
}
