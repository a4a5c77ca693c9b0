//! `digest`, `diff`, `verify` and `repair`.

use std::fs;

use crate::support::{Place, program, refused, run, text};

/// Writes the hierarchies of `demo` to the folder `demo`.
fn demo() -> Place {
    let place = Place::new();
    text(&["demo", &place.at("demo")]);
    place
}

/// Runs a command and returns its status and standard output.
fn ran(arguments: &[&str]) -> (i32, String) {
    let output = run(arguments);
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_digest_is_the_same_in_every_format_and_chunking() {
    let place = demo();
    let digests: Vec<String> = ["demo/v2", "demo/v3", "demo/v3-draft"]
        .iter()
        .map(|name| text(&["digest", &place.at(name)]))
        .collect();
    assert_eq!(digests[0].trim().len(), 64);
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
    let [source, copy] = ["demo/v2", "copy"].map(|name| place.at(name));
    text(&["copy", &source, &copy, "--path", "weather", "--chunks", "time=77"]);
    let digest = text(&["digest", &source, "weather"]);
    assert_eq!(text(&["digest", &copy, "weather"]), digest);
    assert_eq!(text(&["digest", &copy, "weather", "--memory", "8MiB"]), digest);
    assert!(text(&["digest", &source, "weather", "--json"]).contains(digest.trim()));
}

#[test]
fn diff_has_status_3_for_differences() {
    let place = demo();
    let [one, other] = ["demo/v3", "demo/v2"].map(|name| place.at(name));
    assert_eq!(text(&["diff", &one, &other]), "equal: 11 nodes\n");
    text(&["attrs", &other, "weather", "--set", "title=\"new\""]);
    let (status, output) = ran(&["diff", &one, &other]);
    assert_eq!(status, 3);
    assert!(output.starts_with("/weather: attribute `title` "), "{output}");
    assert_eq!(ran(&["diff", &one, &other, "--no-attributes"]).0, 0);
    let (status, output) = ran(&["diff", &one, &other, "--json"]);
    assert_eq!(status, 3);
    assert!(output.contains("\"kind\": \"attribute\""), "{output}");
    refused(&["diff", &one, &place.at("missing")], 1);
    refused(&["diff", &one, &other, "--absolute", "-1"], 2);
}

#[test]
fn diff_compares_parts_of_stores_and_within_tolerances() {
    let place = Place::new();
    let store = place.at("store");
    for (path, value) in [("/a", "100"), ("/g/b", "101")] {
        text(&["create", &store, path, "--shape", "2,3", "--dtype", "float64"]);
        text(&["put", &store, path, "--value", value]);
    }
    let nodes = ["diff", &store, &store, "--path", "a", "--second-path", "g/b"];
    let (status, output) = ran(&nodes);
    let found = "/a: 6 of 6 elements differ, first at [0, 0]: 100 and 101; by at most 1 (relative 9.901e-3)";
    assert_eq!((status, output), (3, format!("{found}\n1 of 1 node differs\n")));
    for (limit, status) in
        [(&["--relative", "0.01"][..], 0), (&["--relative", "0.009"], 3), (&["--absolute", "1"], 0)]
    {
        assert_eq!(ran(&[&nodes[..], limit].concat()).0, status, "{limit:?}");
    }
    assert_eq!(ran(&[&nodes[..], &["--no-values"]].concat()).0, 0);
}

/// `verify` also finds damage of uncompressed chunks in a zip archive, because the members of the archive have
/// checksums.
#[test]
fn damage_in_a_zip_archive_is_found() {
    let place = Place::new();
    let store = place.at("store");
    text(&["create", &store, "/a", "--shape", "8", "--chunks", "4", "--dtype", "uint8", "--codec", "none"]);
    text(&["put", "--format", "raw", &store, "/a", &place.file("elements", b"abcdefgh")]);
    let archive = place.at("a.zip");
    text(&["pack", &store, &archive]);
    text(&["verify", &archive]);
    let whole = fs::read(&archive).unwrap();
    let at = whole.windows(4).position(|window| window == b"efgh").unwrap();
    let mut damaged = whole.clone();
    damaged[at] ^= 1;
    fs::write(&archive, damaged).unwrap();
    let (status, report) = ran(&["verify", &archive]);
    assert_eq!(status, 3, "{report}");
    assert!(report.starts_with("damage: reading ") && report.contains("a/c/1`: the CRC-32 "), "{report}");
    assert!(report.contains("\n      2       2       0       0       1 "), "{report}");
    let at = whole.windows(8).position(|window| window == b"\"uint8\",").unwrap();
    let mut damaged = whole.clone();
    damaged[at + 1] ^= 1;
    fs::write(&archive, damaged).unwrap();
    let (status, report) = ran(&["verify", &archive]);
    assert_eq!(status, 3, "{report}");
    for part in ["/a/zarr.json`: the CRC-32 ", "nothing else was checked"] {
        assert!(report.contains(part), "{report}");
    }
    fs::write(&archive, &whole[..whole.len() - 30]).unwrap();
    assert!(refused(&["verify", &archive], 1).contains("zip"));
}

#[test]
fn verify_has_status_3_for_damage() {
    let place = demo();
    let store = place.at("demo/v3");
    let manifest = place.at("manifest.json");
    let digest = text(&["digest", &store, "--manifest", &manifest]);
    let report = text(&["verify", &store, "--manifest", &manifest, "--picture"]);
    assert!(report.ends_with("whole at the level `decode`: 8 arrays\n"), "{report}");
    let words = "      3       3       0       0       0 ";
    assert!(report.contains(words) && report.contains("  /words\n  ###\n"), "{report}");
    let chunk = place.path("demo/v3/words/c/1");
    let value = fs::read(&chunk).unwrap();
    fs::write(&chunk, b"").unwrap();
    let (status, report) = ran(&["verify", &store, "--level", "sizes"]);
    assert_eq!(status, 3);
    assert!(report.starts_with("damage /words words/c/1: the value is empty\n"), "{report}");
    let (status, report) = ran(&["verify", &store, "--json"]);
    assert_eq!(status, 3);
    for part in ["\"kind\": \"empty-chunk\"", "\"whole\": false", "\"picture\": [\"#X#\"]"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    fs::remove_file(&chunk).unwrap();
    assert_eq!(ran(&["verify", &store]).0, 0);
    assert_eq!(ran(&["verify", &store, "--manifest", &manifest]).0, 3);
    let (status, report) = ran(&["verify", &store, "--complete"]);
    assert_eq!(status, 3);
    assert!(report.contains("      3       2       1       0       0 "), "{report}");
    fs::write(&chunk, value).unwrap();
    assert_eq!(text(&["digest", &store]), digest);
    place.file("demo/v3/words/.zarr-tmp-1-2", b"left");
    assert!(ran(&["verify", &store]).1.starts_with("damage: "));
    refused(&["verify", &place.at("missing")], 1);
    fs::write(&manifest, "{}").unwrap();
    let message = refused(&["verify", &store, "--manifest", &manifest], 1);
    assert!(message.contains("is not a manifest that `digest --manifest` wrote"), "{message}");
}

#[test]
fn an_interrupted_check_is_resumed() {
    let place = demo();
    let store = place.at("demo/v3");
    let record = place.at("record");
    let report = text(&["verify", &store, "--resume", &record]);
    let text_of_record = fs::read_to_string(&record).unwrap();
    assert_eq!(text_of_record.lines().count(), 9);
    // The end of the last line is removed: the array of this line must be checked again, and the other arrays must not.
    fs::write(&record, &text_of_record[..text_of_record.len() - 20]).unwrap();
    fs::write(place.path("demo/v3/image/mandelbrot/c/0/0"), b"damaged").unwrap();
    assert_eq!(text(&["verify", &store, "--resume", &record]), report);
    assert_eq!(ran(&["verify", &store]).0, 3);
    // A check with other options does not count as done.
    let manifest = place.at("manifest.json");
    text(&["digest", &place.at("demo/v2"), "--manifest", &manifest]);
    for more in [&["--level", "sizes"][..], &["--complete"], &["--manifest", &manifest]] {
        let message = refused(&[&["verify", &store, "--resume", &record], more].concat(), 1);
        assert!(message.contains("belongs to another check"), "{message}");
    }
}

/// Damages a hierarchy so that `repair` can repair all of it.
#[cfg(target_os = "linux")]
fn harm(place: &Place) {
    let store = place.at("demo/v3");
    text(&["consolidate", &store]);
    text(&["attrs", &store, "weather", "--set", "k=1"]);
    fs::remove_file(place.path("demo/v3/weather/zarr.json")).unwrap();
    for name in ["a/c/0/0", "a/c/0/1", "b/0.0"] {
        place.file(&format!("demo/v3/old/{name}"), b"left");
    }
}

/// Another repair finishes a repair that was killed at any moment.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_repair_is_finished_by_another_one() {
    use crate::kills::kills;
    use crate::kills::trace::{End, run};

    let command = || {
        let mut command = program();
        command.args(["repair", "demo/v3", "--run"]);
        command
    };
    let harmed = demo();
    harm(&harmed);
    let copy = || {
        let place = Place::new();
        for file in harmed.files("demo/v3") {
            let value = fs::read(harmed.path("demo/v3").join(&file)).unwrap();
            place.file(&format!("demo/v3/{file}"), &value);
        }
        place
    };
    let whole = copy();
    let moments = run(&command(), &whole.path(""), None).moments;
    finish(&whole);
    let expected = text(&["digest", &whole.at("demo/v3")]);
    assert!(moments > 10, "{moments}");
    for number in 1..=kills() {
        let place = copy();
        let killed = run(&command(), &place.path(""), Some(number * moments / (kills() + 1) + 1));
        assert_eq!(killed.end, End::Killed);
        finish(&place);
        assert_eq!(text(&["digest", &place.at("demo/v3")]), expected);
        let quarantine = place.files("demo/v3/__zarrctl/quarantine");
        let left = quarantine.iter().filter(|name| name.starts_with("old")).count();
        assert_eq!(left, 3, "{quarantine:?}");
    }
}

/// Repairs twice, as a user may, and checks that only temporary files remain.
#[cfg(target_os = "linux")]
fn finish(place: &Place) {
    let store = place.at("demo/v3");
    text(&["clean", &store, "--older-than", "0s", "--dry-run"]);
    for _ in 0..2 {
        ran(&["repair", &store, "--run"]);
    }
    let (status, report) = ran(&["verify", &store]);
    let is_only_temporary =
        report.lines().all(|line| !line.starts_with("damage: ") || line.contains(".zarr-tmp-"));
    assert!(status == 0 || is_only_temporary, "{report}");
}

#[test]
fn a_plan_writes_nothing() {
    let place = demo();
    let store = place.at("demo/v3");
    place.file("demo/v3/old/c/0", b"left");
    let before = place.files("demo");
    let (status, plan) = ran(&["repair", &store]);
    assert_eq!(status, 3);
    let expected =
        "move `old/c/0` to the quarantine: array metadata is missing\n1 repair planned; --run repairs\n";
    assert_eq!(plan, expected);
    assert_eq!(place.files("demo"), before);
    assert_eq!(ran(&["repair", &store, "--run"]).0, 0);
    assert_eq!(ran(&["repair", &store]), (0, "nothing to repair\n".to_owned()));
    assert!(ran(&["repair", &store, "--json"]).1.contains("\"repairs\": []"));
}

#[test]
fn damaged_chunks_move_to_the_quarantine_only_on_request() {
    let place = demo();
    let store = place.at("demo/v3");
    let chunk = place.file("demo/v3/words/c/1", b"damaged");
    let (status, plan) = ran(&["repair", &store, "--run"]);
    assert_eq!(status, 3);
    let summary = "nothing repaired, 1 finding not repairable; --quarantine-chunks ";
    assert!(plan.starts_with("not repairable: damage: chunk [1] of /words "), "{plan}");
    assert!(plan.contains(summary), "{plan}");
    assert_eq!(fs::read(&chunk).unwrap(), b"damaged");
    assert_eq!(ran(&["repair", &store, "--run", "--quarantine-chunks"]).0, 0);
    assert!(!fs::exists(&chunk).unwrap());
    let [kept] = &place.files("demo/v3/__zarrctl/quarantine")[..] else { panic!("one value is quarantined") };
    assert_eq!(fs::read(place.path("demo/v3/__zarrctl/quarantine").join(kept)).unwrap(), b"damaged");
    assert_eq!(ran(&["verify", &store]).0, 0);
}

/// Packs an array of bytes, one chunk of which differs from its CRC-32 in the archive.
fn damaged_zip(place: &Place, chunk: &str, number: &str) -> String {
    let store = place.at("folder");
    let array = ["create", &store, "/a", "--shape", "64", "--chunks", chunk, "--dtype", "uint8"];
    text(&[&array[..], &["--codec", "none"]].concat());
    let elements: Vec<u8> = (100..164).collect();
    text(&["put", "--format", "raw", &store, "/a", &place.file("elements", &elements)]);
    let zip = place.at("a.zip");
    assert!(run(&["pack", &store, &zip]).status.success());
    let mut bytes = fs::read(&zip).unwrap();
    // Element 140, which follows the name of its chunk.
    let name = bytes.windows(number.len()).position(|found| found == number.as_bytes()).unwrap();
    let at = name + bytes[name..].iter().position(|&byte| byte == 140).unwrap();
    bytes[at] = 41;
    fs::write(&zip, bytes).unwrap();
    zip
}

#[test]
fn a_value_of_an_archive_with_a_wrong_checksum_moves_to_the_quarantine() {
    let place = Place::new();
    let zip = damaged_zip(&place, "16", "a/c/2");
    let (status, plan) = ran(&["repair", &zip]);
    assert_eq!(status, 3);
    assert!(plan.contains("the CRC-32 of its bytes differs"), "{plan}");
    let (status, plan) = ran(&["repair", &zip, "--quarantine-chunks", "--run"]);
    assert_eq!(status, 0, "{plan}");
    assert!(plan.ends_with("1 repair done\n"), "{plan}");
    assert_eq!(ran(&["verify", &zip]).0, 0);
    // The value is as it was found, and its elements are the fill value.
    let (status, elements) = ran(&["get", &zip, "/a", "--format", "csv"]);
    let elements: Vec<u8> = elements.lines().map(|line| line.parse().unwrap()).collect();
    let expected: Vec<u8> = (0..64).map(|at| if (32..48).contains(&at) { 0 } else { at + 100 }).collect();
    assert_eq!((status, elements), (0, expected));
    let archive = fs::read(&zip).unwrap();
    assert!(archive.windows(3).any(|found| found == [139, 41, 141]));
}

/// Shards are decoded from parts of their values, without a look at the CRC-32 of the whole value.
#[test]
fn a_shard_of_an_archive_with_a_wrong_checksum_is_damaged() {
    let place = Place::new();
    let store = place.at("folder");
    let array =
        ["create", &store, "/a", "--shape", "64", "--chunks", "4", "--shards", "16", "--dtype", "uint8"];
    text(&[&array[..], &["--codec", "none"]].concat());
    let elements: Vec<u8> = (100..164).collect();
    text(&["put", "--format", "raw", &store, "/a", &place.file("elements", &elements)]);
    let zip = place.at("a.zip");
    assert!(run(&["pack", &store, &zip]).status.success());
    assert_eq!(ran(&["verify", &zip]).0, 0);
    let mut bytes = fs::read(&zip).unwrap();
    let at = bytes.windows(3).position(|found| found == [139, 140, 141]).unwrap();
    bytes[at + 1] = 41;
    fs::write(&zip, bytes).unwrap();
    let (status, report) = ran(&["verify", &zip]);
    assert_eq!(status, 3, "{report}");
    assert!(report.contains("a/c/2") && report.contains("the CRC-32 of its bytes differs"), "{report}");
}

/// The store returns a value of one byte only as a whole, and refuses it.
#[test]
fn a_value_that_cannot_be_moved_is_named_before_anything_is_moved() {
    let place = Place::new();
    let zip = damaged_zip(&place, "1", "a/c/40");
    let before = fs::read(&zip).unwrap();
    let (status, plan) = ran(&["repair", &zip, "--quarantine-chunks", "--run"]);
    assert_eq!(status, 3, "{plan}");
    assert!(plan.starts_with("not repairable: damage: "), "{plan}");
    assert!(plan.contains("a/c/40`: ") && plan.contains("; the value cannot be moved: "), "{plan}");
    let advice = "; `zarrctl copy --skip-unreadable` copies everything that can be read to a new store\n";
    assert!(plan.ends_with(advice), "{plan}");
    assert!(fs::read(&zip).unwrap() == before);
    let copied = run(&["copy", &zip, &place.at("copy"), "--skip-unreadable", "--codec", "zstd"]);
    assert_eq!(copied.status.code(), Some(3));
    assert_eq!(ran(&["verify", &place.at("copy")]).0, 0);
}
