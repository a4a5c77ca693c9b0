//! `pack`, and archives as stores of all commands.

use std::fs;

use crate::support::{Place, bytes, refused, run, text};

/// Creates the hierarchy `a.zarr` with an array `/g/a` of the numbers 0 to 5.
fn filled(place: &Place, format: &str) -> String {
    let store = place.at("a.zarr");
    let elements = place.file("elements", &[0, 1, 2, 3, 4, 5]);
    let create = ["create", &store, "/g/a", "--shape", "6", "--chunks", "4", "--dtype", "uint8"];
    text(&[&create[..], &["--format", format]].concat());
    text(&["put", "--format", "raw", &store, "/g/a", &elements]);
    store
}

#[test]
fn a_packed_hierarchy_is_read_like_a_folder() {
    for format in ["v2", "v3-draft", "v3"] {
        let place = Place::new();
        let store = filled(&place, format);
        let archive = place.at("a.zip");
        text(&["pack", &store, &archive]);
        for location in [archive.clone(), format!("zip:{archive}"), format!("file://{archive}")] {
            assert_eq!(bytes(&["get", &location, "/g/a"]), [0, 1, 2, 3, 4, 5], "{location}");
        }
        let tree = |location: &str| text(&["tree", location]);
        assert_eq!(tree(&archive), tree(&store));
        // The archive can be copied back to a folder.
        let copy = place.at("copy.zarr");
        text(&["copy", &archive, &copy]);
        assert_eq!(bytes(&["get", &copy, "/g/a"]), [0, 1, 2, 3, 4, 5]);
        // An archive can be packed like any other store.
        let again = place.at("again.ozx");
        text(&["pack", &archive, &again]);
        assert!(fs::read(&again).unwrap() == fs::read(&archive).unwrap());
    }
}

#[test]
fn a_part_of_a_hierarchy_is_packed_as_a_root() {
    let place = Place::new();
    let store = filled(&place, "v3");
    let archive = place.at("a.zip");
    text(&["pack", &store, &archive, "--path", "/g"]);
    assert_eq!(bytes(&["get", &archive, "/a"]), [0, 1, 2, 3, 4, 5]);
    assert!(refused(&["pack", &store, &place.at("b.zip"), "--path", "/h"], 1).contains("no node at /h"));
    let draft = Place::new();
    let message = refused(&["pack", &filled(&draft, "v3-draft"), &draft.at("b.zip"), "--path", "/g"], 1);
    assert!(
        message.contains("--path is not supported for the v3 draft") && !draft.path("b.zip").exists(),
        "{message}"
    );
}

#[test]
fn the_ome_zarr_version_is_the_comment_of_the_archive() {
    let place = Place::new();
    let store = filled(&place, "v3");
    let archive = place.at("a.ozx");
    text(&["attrs", &store, "/", "--set", r#"ome={"version":"0.5"}"#]);
    text(&["pack", &store, &archive]);
    assert!(fs::read(archive).unwrap().ends_with(br#"{"ome":{"version":"0.5"}}"#));
}

#[test]
fn an_archive_is_written_atomically_and_never_replaces_a_file() {
    let place = Place::new();
    let store = filled(&place, "v3");
    let there = place.file("there.zip", b"mine");
    assert!(refused(&["pack", &store, &there], 1).contains("already exists"));
    assert_eq!(fs::read(&there).unwrap(), b"mine");
    assert!(
        refused(&["pack", &store, &place.at("a.zarr/inside.zip")], 1).contains("is inside the packed folder")
    );
    assert!(refused(&["pack", &store, &place.at("none/a.zip")], 1).contains("none"));
    assert!(refused(&["pack", &place.at("nothing"), &place.at("b.zip")], 1).contains("no Zarr hierarchy"));
    // A failed read leaves no files.
    let broken = place.file("broken.zip", &broken());
    assert!(refused(&["pack", &broken, &place.at("b.zip")], 1).contains("CRC-32"));
    let files = place.files("");
    assert!(!files.iter().any(|file| file.contains(".zarr-tmp-") || file == "b.zip"), "{files:?}");
}

/// Returns a packed hierarchy with one bit of a chunk flipped.
fn broken() -> Vec<u8> {
    let place = Place::new();
    let store = filled(&place, "v3");
    let archive = place.at("a.zip");
    text(&["pack", &store, &archive]);
    let mut bytes = fs::read(archive).unwrap();
    let name = b"g/a/c/0";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at + name.len()] ^= 1;
    bytes
}

#[test]
fn an_archive_is_created_and_changed_like_a_folder() {
    for format in ["v2", "v3-draft", "v3"] {
        let place = Place::new();
        let store = filled(&place, format);
        let archive = place.at("new.zip");
        text(&["copy", &store, &archive]);
        assert_eq!(text(&["digest", &archive]), text(&["digest", &store]), "{format}");
        let elements = place.file("more", &[9; 4]);
        for at in [&store, &archive] {
            text(&["create", at, "/g/b", "--shape", "4", "--dtype", "uint8"]);
            text(&["put", "--format", "raw", at, "/g/b", &elements]);
            text(&["resize", at, "/g/a", "--shape", "3"]);
            text(&["attrs", at, "/g", "--set", "n=1"]);
            text(&["create", at, "/gone", "--shape", "4", "--dtype", "int8"]);
            assert!(run(&["erase", at, "/gone"]).status.success());
        }
        assert_eq!(text(&["tree", &archive]), text(&["tree", &store]), "{format}");
        assert_eq!(text(&["digest", &archive]), text(&["digest", &store]), "{format}");
        assert_eq!(bytes(&["get", &archive, "/g/a"]), [0, 1, 2]);
        assert!(run(&["verify", &archive]).status.success(), "{format}");
        let hidden = place.files("").into_iter().filter(|file| file.contains(".zarr-tmp-"));
        assert_eq!(hidden.count(), 0, "{format}");
    }
}

/// Returns an archive in an archive, which do not exist.
fn nested(place: &Place) -> String {
    format!("{}|zip:d/inner.zip|zip:", place.at("outer.zip"))
}

#[test]
fn an_archive_in_an_archive_is_created_and_changed_like_a_folder() {
    let place = Place::new();
    let store = filled(&place, "v3");
    let inner = nested(&place);
    assert!(refused(&["tree", &inner], 1).contains("inner.zip` does not exist"));
    assert!(!place.path("outer.zip").exists(), "reading creates nothing");
    text(&["copy", &store, &inner]);
    assert_eq!(text(&["digest", &inner]), text(&["digest", &store]));
    let other = format!("{}|zip:other.zarr/", place.at("outer.zip"));
    text(&["copy", &store, &other]);
    let elements = place.file("more", &[9; 4]);
    for at in [&store, &inner] {
        text(&["create", at, "/g/b", "--shape", "4", "--dtype", "uint8"]);
        text(&["put", "--format", "raw", at, "/g/b", &elements]);
        text(&["resize", at, "/g/a", "--shape", "3"]);
        text(&["attrs", at, "/g", "--set", "n=1"]);
        text(&["create", at, "/gone", "--shape", "4", "--dtype", "int8"]);
        assert!(run(&["erase", at, "/gone"]).status.success());
        text(&["consolidate", at]);
    }
    assert_eq!(text(&["tree", &inner]), text(&["tree", &store]));
    assert_eq!(text(&["digest", &inner]), text(&["digest", &store]));
    assert_eq!(bytes(&["get", &other, "/g/a"]), [0, 1, 2, 3, 4, 5]);
    assert!(run(&["verify", &inner]).status.success());
    text(&["--durable", "attrs", &inner, "/g", "--set", "n=2"]);
    assert!(text(&["attrs", &inner, "/g"]).contains("\"n\": 2"));
    assert!(!place.files("").iter().any(|file| file.contains(".zarr-tmp-")));
}

#[test]
fn an_archive_in_a_folder_of_another_store_is_created_and_changed() {
    let place = Place::new();
    let store = filled(&place, "v3");
    for inside in [
        format!(r#"{{"type": "filesystem", "path": "{}"}}"#, place.at("folder")),
        format!(r#"{{"type": "lmdb", "path": "{}"}}"#, place.at("a.lmdb")),
    ] {
        let archive = format!(r#"{{"type": "zip", "key": "a.zip", "store": {inside}}}"#);
        text(&["copy", &store, &archive]);
        text(&["attrs", &archive, "/g", "--set", "n=1"]);
        assert!(text(&["attrs", &archive, "/g"]).contains("\"n\": 1"), "{archive}");
        assert_eq!(bytes(&["get", &archive, "/g/a"]), [0, 1, 2, 3, 4, 5], "{archive}");
    }
    assert_eq!(place.files("folder"), ["a.zip"]);
    // The archive in the folder is like any other one.
    let local = place.at("folder/a.zip");
    assert_eq!(bytes(&["get", &local, "/g/a"]), [0, 1, 2, 3, 4, 5]);
    let pipeline = format!("{}|lmdb:a.zip|zip:", place.at("a.lmdb"));
    let message = refused(&["--durable", "attrs", &pipeline, "/g", "--set", "n=2"], 1);
    assert!(message.contains("--durable needs the description of the store"), "{message}");
}

#[test]
fn an_archive_in_a_store_that_is_read_only_is_not_changed() {
    let place = Place::new();
    let store = filled(&place, "v3");
    fs::create_dir(place.path("folder")).unwrap();
    text(&["pack", &store, &place.at("folder/a.zip")]);
    let before = fs::read(place.path("folder/a.zip")).unwrap();
    let inside = format!(r#"{{"type": "filesystem", "path": "{}"}}"#, place.at("folder"));
    let archive = |key: &str| {
        format!(r#"{{"type": "zip", "key": "{key}", "store": {{"type": "read-only", "store": {inside}}}}}"#)
    };
    let there = archive("a.zip");
    assert_eq!(bytes(&["get", &there, "/g/a"]), [0, 1, 2, 3, 4, 5]);
    for arguments in [
        &["create", &there, "/b", "--shape", "4", "--dtype", "int8"][..],
        &["attrs", &there, "/", "--set", "n=1"],
        &["copy", &store, &there],
    ] {
        let message = refused(arguments, 1);
        assert!(message.contains("the store that contains it is read only"), "{arguments:?}: {message}");
    }
    assert!(refused(&["copy", &store, &archive("none.zip")], 1).contains("none.zip` does not exist"));
    assert_eq!(place.files("folder"), ["a.zip"]);
    assert!(fs::read(place.path("folder/a.zip")).unwrap() == before);
}

#[test]
fn an_archive_in_a_store_without_conditions_is_changed_with_a_warning_or_refused() {
    let place = Place::new();
    let store = filled(&place, "v3");
    let inside = format!(r#"{{"type": "filesystem", "path": "{}", "locking": "none"}}"#, place.at("folder"));
    let archive = format!(r#"{{"type": "zip", "key": "a.zip", "store": {inside}}}"#);
    text(&["copy", &store, &archive]);
    let set = ["attrs", &archive, "/g", "--set", "n=1"];
    let messages = String::from_utf8(run(&set).stderr).unwrap();
    assert_eq!(messages.matches("does not have conditional writes").count(), 1, "{messages}");
    assert!(messages.starts_with("warning: "), "{messages}");
    let before = fs::read(place.path("folder/a.zip")).unwrap();
    let requiring = archive.replace("\"none\"", "\"none\", \"conditional\": \"require\"");
    for arguments in [
        &[&["--require-conditional"][..], &set[..]].concat()[..],
        &["attrs", &requiring, "/g", "--set", "n=2"],
        &["create", &requiring, "/b", "--shape", "4", "--dtype", "int8"],
    ] {
        let message = refused(arguments, 1);
        assert!(message.contains("conditional writes, which are required"), "{message}");
    }
    assert!(fs::read(place.path("folder/a.zip")).unwrap() == before);
}

/// Kills `set`, which sets the attribute `k` to 1, at each of its steps, and changes the archive again after each kill.
/// Returns how often the archive, which `file` contains, was the old one and the new one.
#[cfg(target_os = "linux")]
fn kills_at_each_step(
    place: &Place,
    set: &std::process::Command,
    file: &str,
    archive: &str,
    check: impl Fn(usize),
) -> [usize; 2] {
    use crate::kills::trace::{self, End};

    let before = fs::read(file).unwrap();
    let mut kills = [0, 0];
    for moment in 1.. {
        fs::write(file, &before).unwrap();
        let run = trace::run(set, &place.path(""), Some(moment));
        if run.end == End::Exited(0) {
            break;
        }
        let is_new = fs::read(file).unwrap() != before;
        kills[usize::from(is_new)] += 1;
        let attributes = text(&["attrs", archive, "/g/a"]);
        assert_eq!(attributes.contains("\"k\": 1"), is_new, "{moment}: {attributes}");
        assert_eq!(bytes(&["get", archive, "/g/a"]), [0, 1, 2, 3, 4, 5], "{moment}");
        text(&["attrs", archive, "/g/a", "--set", "other=2"]);
        check(moment);
    }
    kills
}

/// Kills a command at each of its changes of the file system. The next command must work with the files that the killed
/// command left.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_command_leaves_the_old_archive_or_the_new_one() {
    let place = Place::new();
    let archive = place.at("a.zip");
    text(&["pack", &filled(&place, "v3"), &archive]);
    let mut set = crate::support::program();
    set.args(["attrs", &archive, "/g/a", "--set", "k=1"]);
    let kills = kills_at_each_step(&place, &set, &archive, &archive, |moment| {
        let hidden: Vec<_> = place.files("").into_iter().filter(|file| file.contains(".zarr-tmp-")).collect();
        assert!(hidden.is_empty(), "{moment}: {hidden:?}");
    });
    assert!(kills[0] > 5 && kills[1] > 0, "{kills:?}");
}

/// Kills a command that changes an archive in another store. The temporary file of the archive disappears with it.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_command_leaves_the_old_archive_in_another_store_or_the_new_one() {
    let place = Place::new();
    for folder in ["folder", "temporary"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    let file = place.at("folder/a.zip");
    text(&["pack", &filled(&place, "v3"), &file]);
    let inside = format!(r#"{{"type": "filesystem", "path": "{}"}}"#, place.at("folder"));
    let archive = format!(r#"{{"type": "zip", "key": "a.zip", "store": {inside}}}"#);
    let mut set = crate::support::program();
    set.args(["attrs", &archive, "/g/a", "--set", "k=1"]).env("TMPDIR", place.path("temporary"));
    let kills = kills_at_each_step(&place, &set, &file, &archive, |_| ());
    assert!(kills[0] > 2, "{kills:?}");
    assert!(place.files("temporary").is_empty());
}

#[test]
fn invalid_archives_are_named() {
    let place = Place::new();
    let tree = |location: &str| refused(&["tree", location], 1);
    let empty = place.file("empty.zip", b"");
    assert!(tree(&empty).contains("cannot be read as a zip archive"));
    assert!(tree(&format!("zip:{empty}")).contains("it is empty"));
    assert!(tree(&place.file("text.zip", b"some text")).contains("cannot be read as a zip archive"));
    assert!(tree(&place.at("nowhere.zip")).contains("nowhere.zip` does not exist"));
    assert!(tree(&format!("zip:{}", place.at("nowhere.zip"))).contains("nowhere.zip"));
    let without_entries = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    assert!(tree(&place.file("none.zip", without_entries)).contains("the store is empty"));

    let store = filled(&place, "v3");
    let archive = place.at("a.zip");
    text(&["pack", &store, &archive]);
    let whole = fs::read(&archive).unwrap();
    assert!(tree(&place.file("cut.zip", &whole[..whole.len() - 30])).contains("truncated"));
    // A folder may have the extension of an archive.
    fs::rename(&store, place.path("folder.zip")).unwrap();
    assert_eq!(bytes(&["get", &place.at("folder.zip"), "/g/a"]), [0, 1, 2, 3, 4, 5]);
}
