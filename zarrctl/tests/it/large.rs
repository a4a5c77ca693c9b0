//! Archives with many chunks, many arrays, deep groups and large sparse arrays, in a process with 512 MiB of address
//! space and 64 file handles. With `ZARR_LONG=1`, the numbers are those of large archives.

use std::fs;
use std::time::{Duration, Instant};

use crate::memory::limited;
use crate::support::{Place, bytes};

/// The limits of the process.
const LIMITS: &str = "ulimit -v 524288; ulimit -n 64; export RAYON_NUM_THREADS=2";

/// Returns `full` for long tests, else `short`.
fn count(short: u64, full: u64) -> u64 {
    if std::env::var_os("ZARR_LONG").is_some_and(|long| long == "1") { full } else { short }
}

/// Runs a command within the limits, and returns what it prints.
fn text(arguments: &[&str]) -> String {
    let output = limited(LIMITS, arguments);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {messages}");
    String::from_utf8(output.stdout).unwrap()
}

/// Copies a store with more options, and checks that the copy has the same content and is whole.
fn copy_and_check(place: &Place, store: &str, more: &[&str]) -> String {
    let copy = place.at("copy");
    text(&[&["--memory", "64MiB", "copy", store, &copy][..], more].concat());
    let digest = |store: &str| text(&["--memory", "64MiB", "digest", store]);
    assert_eq!(digest(store), digest(&copy));
    let report = text(&["--memory", "64MiB", "verify", &copy, "--json"]);
    assert!(report.contains(r#""findings": []"#), "{report}");
    text(&["--memory", "64MiB", "diff", store, &copy]);
    copy
}

#[test]
fn an_array_of_many_chunks_is_copied_verified_and_compared() {
    let place = Place::new();
    let store = place.at("store");
    let chunks = count(2000, 100_000);
    let length = (2 * chunks).to_string();
    let create =
        ["create", &store, "/a", "--shape", &length, "--chunks", "2", "--dtype", "uint8", "--codec", "none"];
    bytes(&create);
    let elements: Vec<u8> = (0..2 * chunks).map(|number| (number % 251) as u8).collect();
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("elements", &elements)]);
    let copy = copy_and_check(&place, &store, &[]);
    assert_eq!(place.files("copy/a").len() as u64, chunks + 1);
    fs::remove_dir_all(&copy).unwrap();
    copy_and_check(&place, &store, &["--chunks", "1000"]);
    let du = text(&["du", &store, "--depth", "0"]);
    assert!(du.contains(&format!(" {chunks}  /")), "{du}");
}

#[test]
fn many_arrays_are_copied_verified_and_compared() {
    let place = Place::new();
    let store = place.at("store");
    let arrays = count(200, 10_000);
    bytes(&["create", &store, "/a0", "--shape", "4", "--dtype", "int16"]);
    bytes(&["put", &store, "/a0", "--value", "7"]);
    for number in 1..arrays {
        let folder = place.path(&format!("store/a{number}"));
        fs::create_dir_all(folder.join("c")).unwrap();
        for file in ["zarr.json", "c/0"] {
            fs::copy(place.path("store/a0").join(file), folder.join(file)).unwrap();
        }
    }
    copy_and_check(&place, &store, &["--consolidate"]);
    let info = text(&["info", &place.at("copy")]);
    assert!(info.contains(&format!("{arrays} arrays")) && info.contains("consolidated"), "{info}");
    assert_eq!(text(&["tree", &place.at("copy")]).lines().count() as u64, arrays + 1);
}

#[test]
fn an_array_in_deep_groups_is_copied_verified_and_compared() {
    let place = Place::new();
    let store = place.at("store");
    let depth = count(100, 900);
    let path = "/g".repeat(usize::try_from(depth).unwrap()) + "/a";
    bytes(&["create", &store, &path, "--shape", "4", "--dtype", "int16", "--dimension-names", "x"]);
    bytes(&["put", &store, &path, "--value", "7"]);
    copy_and_check(&place, &store, &["--chunks", "2"]);
    assert!(text(&["info", &place.at("copy"), &path]).contains("2 chunks of 2"));
}

#[test]
fn the_missing_chunks_of_a_huge_array_take_no_time() {
    let place = Place::new();
    let store = place.at("store");
    // 1 TB in chunks of 1 MiB, or of 16 MiB with short tests.
    let length = (1_u64 << 40).to_string();
    let chunk = count(1 << 24, 1 << 20).to_string();
    let create = ["create", &store, "/a", "--shape", &length, "--chunks", &chunk, "--dtype", "uint8"];
    bytes(&[&create[..], &["--fill", "9"]].concat());
    bytes(&["put", &store, "/a", "--value", "7", "--select", "5:1000"]);
    bytes(&["put", &store, "/a", "--value", "8", "--select", "-10:"]);
    let start = Instant::now();
    let copy = copy_and_check(&place, &store, &["--chunks", "2097152"]);
    assert_eq!(text(&["get", &copy, "/a", "--select", "3:7", "--format", "json"]), "[9, 9, 7, 7]\n");
    assert_eq!(place.files("copy/a").len(), 3);
    let seconds = start.elapsed();
    assert!(seconds < Duration::from_secs(60), "{seconds:?}");
}
