//! Virtual chunks are read only with permission.

use icechunk::format::manifest::{VirtualChunkLocation, VirtualChunkRef};
use icechunk::virtual_chunks::VirtualChunkContainer;
use icechunk::{ObjectStoreConfig, Repository, RepositoryConfig, new_local_filesystem_storage};
use tokio::runtime::Runtime;
use tokio::sync::RwLock;

use super::*;

/// Writes a file with the second chunk of `/a`, a repository with a virtual chunk that refers to it, and a third one in
/// a file outside of its container. Returns the URL of the container.
fn write_virtual(folder: &Path, path: &Path) -> String {
    let url = format!("file://{}/data/", folder.canonicalize().unwrap().display());
    fs::create_dir(folder.join("data")).unwrap();
    fs::write(folder.join("data/file.bin"), [9, 9, 3, 0, 4, 0]).unwrap();
    fs::write(folder.join("secret"), [1, 1, 1, 1]).unwrap();
    write_uncompressed(path);
    Runtime::new().unwrap().block_on(async {
        let storage = new_local_filesystem_storage(path).await.unwrap();
        let mut config = RepositoryConfig::default();
        let container = ObjectStoreConfig::LocalFileSystem(folder.to_owned());
        let container = VirtualChunkContainer::new(url.clone(), container).unwrap();
        config.set_virtual_chunk_container(container).unwrap();
        let repository = Repository::open(storage).config(config).execute().await.unwrap();
        repository.save_config().await.unwrap();
        let session = Arc::new(RwLock::new(repository.writable_session("main").await.unwrap()));
        let store = icechunk::Store::from_session(Arc::clone(&session)).await;
        for (name, file, offset) in
            [("a/c/1", "file.bin", 2), ("a/c/2", "..%2Fsecret", 0), ("a/c/3", "../secret", 0)]
        {
            let reference = VirtualChunkRef {
                location: VirtualChunkLocation::from_url(&format!("{url}{file}")).unwrap(),
                offset,
                length: 4,
                checksum: None,
            };
            store.set_virtual_ref(name, reference, false).await.unwrap();
        }
        session.write().await.commit("virtual").execute().await.unwrap();
    });
    url
}

fn write_uncompressed(path: &Path) {
    let store = store(path);
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context(), Format::V3).unwrap();
    let builder = ArrayBuilder::new([8], "int16").chunks([2]).uncompressed();
    hierarchy.create_array("/a", &builder).unwrap().write_values::<i16>(0..2, &[1, 2]).unwrap();
    store.commit().unwrap();
}

fn read(location: &str, from: u64) -> Result<Vec<i16>, Error> {
    Ok(hierarchy(location)?.array("/a")?.read_values::<i16>(from..from + 2)?.to_vec())
}

#[test]
fn virtual_chunks_are_refused_without_permission() {
    let (folder, path) = scratch();
    let url = write_virtual(folder.path(), &path);
    let plain = path.to_str().unwrap();
    assert_eq!(read(plain, 0).unwrap(), [1, 2], "other chunks are read");
    assert!(listed(&*opened(plain).unwrap()).contains(&"a/c/1".to_owned()));
    let other = format!("{plain}|icechunk:?virtual_chunks=file:///other/");
    let beside = format!("{plain}|icechunk:?virtual_chunks={}", url.trim_end_matches("ta/"));
    for location in [plain, &other, &beside] {
        let error = read(location, 2).unwrap_err().to_string();
        assert!(error.contains(&format!("`{url}file.bin`")), "{error}");
        assert!(error.contains(&format!("allow `{url}` with the option `virtual_chunks`")), "{error}");
    }
}

#[test]
fn virtual_chunks_are_read_with_permission_and_never_outside_of_it() {
    let (folder, path) = scratch();
    let url = write_virtual(folder.path(), &path);
    let above = url.trim_end_matches("data/");
    for location in [
        format!("{}|icechunk:@branch.main?virtual_chunks={url}", path.display()),
        format!("{}|icechunk:?virtual_chunks=file:///x/&virtual_chunks={above}", path.display()),
        format!(r#"{{"type": "icechunk", "path": {path:?}, "virtual_chunks": "{url}"}}"#),
        format!(r#"{{"type": "icechunk", "path": {path:?}, "virtual_chunks": ["{url}"]}}"#),
    ] {
        assert_eq!(read(&location, 2).unwrap(), [3, 4], "{location}");
        for outside in [4, 6] {
            assert!(read(&location, outside).is_err(), "{location}: {outside}");
        }
    }
    fs::remove_file(folder.path().join("data/file.bin")).unwrap();
    let location = format!("{}|icechunk:?virtual_chunks={url}", path.display());
    let error = read(&location, 2).unwrap_err().to_string();
    assert!(error.contains("virtual"), "a missing file is not a missing chunk: {error}");
}
