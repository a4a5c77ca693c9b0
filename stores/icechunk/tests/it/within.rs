//! Repositories in other stores.

use zarr_conformance::stores::MinimalStore;
use zarr_conformance::stores::around::holds_every_rule;
use zarr_kit::spec::store::{
    Capabilities, Condition, ConditionalWrite, GetOptions, GetResult, IoKind, Keys, Payload, Request,
    StoreError, StoreResult,
};
use zarr_kit::spec::{ByteRange, Output};

use super::*;

fn within(store: &Arc<dyn Store>, version: &str) -> Result<Arc<dyn Store>, StoreError> {
    let options = Options::new().version(version.parse()?);
    Ok(Arc::new(IcechunkStore::within(Arc::clone(store), options)?))
}

fn array(store: &Arc<dyn Store>) -> zarr_kit::Array {
    Hierarchy::open(Arc::clone(store), &context()).unwrap().array("/a").unwrap()
}

/// Commits 5,000 bytes in a file, and 50 bytes in a manifest.
fn write_chunks(place: &Arc<dyn Store>) -> Vec<u8> {
    let store = within(place, "branch.main").unwrap();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context(), Format::V3).unwrap();
    let numbers: Vec<u8> = (0..5000_u16).map(|number| number.to_le_bytes()[0]).collect();
    for (name, size) in [("/a", 5000), ("/small", 50)] {
        let array = hierarchy.create_array(name, &ArrayBuilder::new([size], "uint8").uncompressed()).unwrap();
        array.write_values::<u8>(.., &numbers[..usize::try_from(size).unwrap()]).unwrap();
    }
    store.commit().unwrap();
    numbers
}

/// Returns the files of the repository of the Python package, in a store with these capabilities.
fn files_of_python(capabilities: Capabilities) -> Arc<dyn Store> {
    let files = opened(&format!(r#"{{"type": "filesystem", "path": "{STORED}"}}"#)).unwrap();
    let keys = files.list().unwrap();
    let value = |key: &Key| (key.to_string(), get_value(&*files, key, 1 << 20).unwrap().unwrap());
    let values: Vec<_> = keys.iter().map(value).collect();
    let values: Vec<(&str, &[u8])> = values.iter().map(|(key, value)| (&**key, &value[..])).collect();
    Arc::new(MinimalStore::with_values(capabilities, &values))
}

/// Tests D3-STORE-09, D3-STORE-10, D3-STORE-12, D3-STORE-13.
#[test]
fn a_session_in_a_folder_and_in_another_store_holds_every_rule() {
    let folder = TempDir::new().unwrap();
    let number = std::cell::Cell::new(0);
    holds_every_rule("a repository in a folder", &|| {
        number.set(number.get() + 1);
        store(&folder.path().join(number.get().to_string()))
    });
    holds_every_rule("a repository in memory", &|| {
        within(&opened("memory:").unwrap(), "branch.main").unwrap()
    });
}

#[test]
fn a_repository_in_another_store_is_created_changed_and_read() {
    let place = opened("memory:").unwrap();
    let unchanged = within(&place, "branch.main").unwrap();
    assert_eq!(listed(&*unchanged), [""; 0]);
    unchanged.commit().unwrap();
    assert_eq!(place.list().unwrap(), [], "reading creates nothing");
    let numbers = write_chunks(&place);
    let chunks: Vec<Key> = place.list_sorted(&Prefix::new("chunks/").unwrap()).unwrap();
    assert_eq!(chunks.len(), 1, "a small chunk is in a manifest");
    assert_eq!(place.size(&chunks[0]).unwrap(), Some(5000));
    let store = within(&place, "branch.main").unwrap();
    assert_eq!(array(&store).read_values::<u8>(..).unwrap(), numbers);
    assert_eq!(store.location(), "icechunk:memory:");
    assert_eq!(store.read_hints(), place.read_hints());
}

#[test]
fn many_parts_are_read_together() {
    let place = opened("memory:").unwrap();
    let numbers = write_chunks(&place);
    let store = within(&place, "branch.main").unwrap();
    let part = ByteRange::Range { offset: 4990, size: 100 };
    let requests = [
        ("a/c/0", part, 4990..5000),
        ("small/c/0", ByteRange::Last(4), 46..50),
        ("a/c/0", ByteRange::Last(0), 0..0),
        ("a/c/0", ByteRange::Full, 0..5000),
    ];
    let asked = requests.iter().map(|(at, range, _)| Request::new(key(at), *range, 5000));
    let missing = ["a/c/1", "b/c/0", "x"].map(|at| Request::new(key(at), ByteRange::Full, 9));
    let too_large = Request::new(key("a/c/0"), ByteRange::Full, 4999);
    let asked = asked.chain(missing).chain([too_large]).collect();
    let mut answered = 0;
    for (number, response) in store.get_many(asked, 1) {
        answered += 1;
        match requests.get(number) {
            Some((at, range, expected)) => {
                let response = response.unwrap().unwrap();
                assert_eq!(response.bytes, numbers[expected.clone()], "{at}, {range:?}");
                assert_eq!(Some(response.size), store.size(&key(at)).unwrap());
            }
            None if number == 7 => assert!(matches!(response, Err(StoreError::TooLarge { .. }))),
            None => assert_eq!(response.unwrap(), None),
        }
    }
    assert_eq!(answered, 8);
}

#[test]
fn sessions_in_another_store_merge_and_conflict() {
    let place = opened("memory:").unwrap();
    write_chunks(&place);
    let [first, second, third] = [(); 3].map(|()| within(&place, "branch.main").unwrap());
    array(&first).write_values::<u8>(0..1, &[77]).unwrap();
    let small = Hierarchy::open(Arc::clone(&second), &context()).unwrap().array("/small").unwrap();
    small.write_values::<u8>(0..1, &[78]).unwrap();
    array(&third).write_values::<u8>(1..2, &[79]).unwrap();
    first.commit().unwrap();
    second.commit().unwrap();
    let error = third.commit().unwrap_err().to_string();
    assert!(
        error.contains("another one committed to the branch `main`") && error.contains("`a/c/0`"),
        "{error}"
    );
    drop(third);
    let store = within(&place, "branch.main").unwrap();
    assert_eq!(array(&store).read_values::<u8>(0..2).unwrap(), [77, 1]);
    assert_eq!(get_value(&*store, &key("small/c/0"), 50).unwrap().unwrap()[..2], [78, 1]);
}

#[test]
fn commits_at_the_same_time_lose_nothing_in_another_store() {
    let place = opened("memory:").unwrap();
    let first = within(&place, "branch.main").unwrap();
    let hierarchy = Hierarchy::create(Arc::clone(&first), &context(), Format::V3).unwrap();
    hierarchy.create_array("/a", &ArrayBuilder::new([8], "int16").chunks([1])).unwrap();
    first.commit().unwrap();
    std::thread::scope(|scope| {
        for number in 0..8_i16 {
            let place = &place;
            scope.spawn(move || {
                let store = within(place, "branch.main").unwrap();
                let at = number.unsigned_abs().into();
                array(&store).write_values::<i16>(at..at + 1, &[number + 1]).unwrap();
                store.commit().unwrap();
            });
        }
    });
    let store = within(&place, "branch.main").unwrap();
    assert_eq!(array(&store).read_values::<i16>(..).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
}

/// As on an HTTP server, and in a bucket whose server ignores conditions.
#[test]
fn a_repository_is_only_read_where_a_commit_could_be_lost() {
    for capabilities in [Capabilities::READ_ONLY, Capabilities::READ_ONLY.unlistable(), Capabilities::ALL] {
        let place = files_of_python(capabilities);
        let store = within(&place, "branch.main").unwrap();
        assert_eq!(store.capabilities(), Capabilities::READ_ONLY);
        assert_eq!(listed(&*store), listed(&*opened(STORED).unwrap()));
        let hierarchy = Hierarchy::open(Arc::clone(&store), &context()).unwrap();
        assert_eq!(hierarchy.array("/small").unwrap().read_values::<i32>(..).unwrap(), [1, 20, 3]);
        let error = store.set(&key("zarr.json"), b"{}".into()).unwrap_err().to_string();
        assert!(error.contains("is not writeable"), "{error}");
        let empty: Arc<dyn Store> = Arc::new(MinimalStore::new(capabilities));
        let error = within(&empty, "branch.main").unwrap_err().to_string();
        assert!(
            error.contains("`minimal:` is not an Icechunk repository (expected the key `repo`"),
            "{error}"
        );
    }
}

/// A store that claims to have conditions until they are needed, as a bucket does before its server is asked.
#[derive(Debug)]
struct Promising(Arc<dyn Store>);

impl Store for Promising {
    fn location(&self) -> String {
        self.0.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        self.0.get(key, options, to)
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        self.0.set(key, value)
    }

    fn set_if(
        &self,
        key: &Key,
        _value: Payload<'_>,
        _condition: &Condition,
    ) -> StoreResult<ConditionalWrite> {
        assert_eq!(key.as_str(), "repo", "only this file is replaced");
        Err(StoreError::not_supported(self, "not conditional"))
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        self.0.erase(key)
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        self.0.list_prefix(prefix)
    }
}

#[test]
fn a_commit_without_conditions_is_refused() {
    let place = opened("memory:").unwrap();
    write_chunks(&place);
    let promising: Arc<dyn Store> = Arc::new(Promising(Arc::clone(&place)));
    let store = within(&promising, "branch.main").unwrap();
    array(&store).write_values::<u8>(0..1, &[9]).unwrap();
    let error = store.commit().unwrap_err().to_string();
    assert!(
        error.contains("does not have conditional writes, without which a commit could be lost"),
        "{error}"
    );
    drop(store);
    let store = within(&place, "branch.main").unwrap();
    assert_eq!(array(&store).read_values::<u8>(0..1).unwrap(), [0]);
}

#[test]
fn a_chunk_whose_file_is_missing_or_short_is_damaged() {
    let (folder, path) = scratch();
    let files = opened(&format!(r#"{{"type": "filesystem", "path": {path:?}}}"#)).unwrap();
    let memory = opened("memory:").unwrap();
    write_chunks(&memory);
    for key in memory.list().unwrap() {
        files.set(&key, get_value(&*memory, &key, 1 << 20).unwrap().unwrap().into()).unwrap();
    }
    let file = files.list_sorted(&Prefix::new("chunks/").unwrap()).unwrap().remove(0);
    for damage in [false, true] {
        match damage {
            false => files.set(&file, (&[1; 4999]).into()).unwrap(),
            true => files.erase(&file).unwrap(),
        }
        for store in [store(&path), within(&files, "branch.main").unwrap()] {
            let chunk = key("a/c/0");
            let mut output = Output::at_most(5000);
            let one = store.get(&chunk, GetOptions::new(ByteRange::Full), &mut output).map(drop);
            let many = store.get_many(vec![Request::new(chunk, ByteRange::Full, 5000)], 1).next().unwrap().1;
            for error in [one.unwrap_err(), many.unwrap_err()] {
                assert!(matches!(error, StoreError::Io { kind: IoKind::Damaged, .. }), "{error:?}");
                let expected = format!("`{file}` of the repository does not have the 5000 bytes");
                assert!(error.to_string().contains(&expected), "{error}");
            }
        }
    }
    drop(folder);
}
