//! Hierarchies on nginx are read, whatever it is configured to do; and `zarrctl serve` is read by zarrita.js and xarray.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use zarr_interop::nginx::{Nginx, nginx};
use zarr_interop::zarrctl;
use zarr_kit::spec::Value;
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, Selection, open_store};

/// The formats with the names of their folders.
const FORMATS: [(Format, &str); 3] = [(Format::V2, "v2"), (Format::V3, "v3"), (Format::V3Draft, "draft")];

fn elements() -> Vec<i32> {
    (0..4000).map(|element| element * 7 - 3).collect()
}

/// Runs a command of `zarrctl`. Returns whether it succeeds, and what it prints.
fn said(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(zarrctl()).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

/// Runs a command of `zarrctl`, which must succeed.
fn done(arguments: &[&str]) -> String {
    let (is_done, text) = said(arguments);
    assert!(is_done, "{arguments:?}: {text}");
    text
}

/// Writes a hierarchy of each format, with shards in v3; an archive of the one of v3; references to the one of v2; and
/// consolidated metadata. Incompressible elements make ranges of values visible in the log.
fn write(folder: &Path) {
    let context = Context::linked().unwrap();
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    for (format, name) in FORMATS {
        let store = open_store(context.registry(), &at(&format!("{name}.zarr"))).unwrap();
        let hierarchy = Hierarchy::create(store, &context, format).unwrap();
        hierarchy.create_group("/", [("n", 5)]).unwrap();
        let builder = ArrayBuilder::new([4000], "int32").uncompressed();
        let builder = match format {
            Format::V3 => builder.shards([2000]).chunks([100]),
            _ => builder.chunks([500]),
        };
        hierarchy.create_array("/g/a_b", &builder).unwrap().write_values(.., &elements()).unwrap();
    }
    done(&["pack", &at("v3.zarr"), &at("v3.zip")]);
    done(&["references", &at("v2.zarr"), "-o", &at("v2.json")]);
    for (_, name) in &FORMATS[..2] {
        done(&["copy", &at(&format!("{name}.zarr")), &at(&format!("{name}-consolidated.zarr"))]);
        done(&["consolidate", &at(&format!("{name}-consolidated.zarr"))]);
    }
}

fn served() -> Option<(tempfile::TempDir, Nginx)> {
    let folder = tempfile::tempdir().unwrap();
    let nginx = nginx(folder.path())?;
    write(folder.path());
    Some((folder, nginx))
}

fn open(location: &str) -> Result<Hierarchy, Error> {
    let context = Context::linked().unwrap();
    Hierarchy::open(open_store(context.registry(), location)?, &context)
}

/// Reads all elements, and a few in the middle.
fn check(location: &str) {
    let hierarchy = open(location).unwrap_or_else(|error| panic!("{location}: {error}"));
    let root = hierarchy.group("/").unwrap();
    assert_eq!(root.attributes().get("n").and_then(Value::as_u64), Some(5), "{location}");
    let array = hierarchy.array("/g/a_b").unwrap();
    assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), elements(), "{location}");
    assert_eq!(array.read_values::<i32>(2110..2113).unwrap(), elements()[2110..2113], "{location}");
}

/// Tests every kind of store on every kind of server that answers: with compression for others, redirects, without
/// ranges, and with pages for folders.
#[test]
fn nginx_serves_every_kind_of_store() {
    let Some((_folder, nginx)) = served() else { return };
    for server in ["plain", "gzip", "moved", "gone", "whole", "listed"] {
        let url = format!("{}/{server}", nginx.url());
        for (_, name) in FORMATS {
            check(&format!("{url}/{name}.zarr"));
        }
        check(&format!("{url}/v3.zip|zip:"));
        check(&format!("zip:{url}/v3.zip"));
        for location in [format!("reference:{url}/v2.json"), format!("{url}/v2.json|reference:|zarr2:")] {
            // The file has absolute paths of this machine, which are not below its folder on the server.
            let error = open(&location).unwrap().array("/g/a_b").unwrap().read_values::<i32>(..).unwrap_err();
            assert!(error.to_string().contains("target"), "{location}: {error}");
        }
        for (_, name) in &FORMATS[..2] {
            let location = format!("{url}/{name}-consolidated.zarr");
            let hierarchy = open(&location).unwrap();
            assert!(hierarchy.is_consolidated(), "{location}");
            let paths: Vec<String> =
                hierarchy.walk("/").unwrap().iter().map(|node| node.path.to_string()).collect();
            assert_eq!(paths, ["/", "/g", "/g/a_b"], "{location}");
            check(&location);
        }
    }
}

/// The document of an array names all keys of its chunks, so an array is copied and checked without a listing.
#[test]
fn an_array_is_copied_and_checked_without_a_listing() {
    let Some((folder, nginx)) = served() else { return };
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (_, name) in FORMATS {
        let local = at(&format!("{name}.zarr"));
        // Missing chunks and shards are answered by 404, and hold the fill value.
        let erased = match name {
            "v2" => "v2.zarr/g/a_b/3",
            "v3" => "v3.zarr/g/a_b/c/1",
            _ => "draft.zarr/data/g/a_b/c3",
        };
        fs::remove_file(at(erased)).unwrap();
        let url = format!("{}/plain/{name}.zarr", nginx.url());
        let digest = done(&["digest", &local, "/g/a_b"]);
        assert_eq!(done(&["digest", &url, "/g/a_b"]), digest, "{url}");
        done(&["diff", &url, &local, "--path", "/g/a_b"]);
        for more in [&[][..], &["--chunks", "200", "--verify"]] {
            let copy = at(&format!("{name}-copy-{}", more.len()));
            done(&[&["copy", &url, &copy, "--path", "/g/a_b"], more].concat());
            assert_eq!(done(&["digest", &copy, "/g/a_b"]), digest, "{url} {more:?}");
            let stored = Path::new(&copy).join(erased.split_once('/').unwrap().1).exists();
            assert_eq!(stored, name != "v3" && !more.is_empty(), "{url} {more:?}");
        }
    }
    for (name, counts) in [("v2", "      8       7       1"), ("v3", "      2       1       1")] {
        let found = done(&["verify", &format!("{}/plain/{name}.zarr/g/a_b", nginx.url())]);
        let expected = [
            "note: the store is not listable: keys that belong to no node are not looked for\n",
            counts,
            "whole at the level `decode`: 1 array",
        ];
        assert!(expected.iter().all(|part| found.contains(part)), "{name}: {found}");
    }
}

/// Damage is found without a listing.
#[test]
fn damaged_chunks_are_found_without_a_listing() {
    let Some((folder, nginx)) = served() else { return };
    fs::write(folder.path().join("v2.zarr/g/a_b/3"), "short").unwrap();
    fs::write(folder.path().join("v2-consolidated.zarr/g/a_b/5"), "short").unwrap();
    for (path, key) in [("v2.zarr/g/a_b", "3"), ("v2-consolidated.zarr", "g/a_b/5")] {
        let (is_whole, text) = said(&["verify", &format!("{}/plain/{path}", nginx.url())]);
        let expected = format!("{key}: the value has 5 bytes, expected 2000\n");
        assert!(!is_whole && text.contains(&expected), "{path}: {text}");
    }
}

/// Without a listing, the nodes below a group are those of the consolidated metadata.
#[test]
fn a_hierarchy_is_copied_and_checked_by_its_consolidated_metadata() {
    let Some((folder, nginx)) = served() else { return };
    for (_, name) in &FORMATS[..2] {
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let [local, copy] = [format!("{name}.zarr"), format!("{name}-copy")].map(|name| at(&name));
        let url = format!("{}/plain/{name}-consolidated.zarr", nginx.url());
        let digest = done(&["digest", &local]);
        let note = "so the nodes are those of the consolidated metadata, which may be outdated\n";
        let said = done(&["digest", &url]);
        assert!(said.contains(note) && said.starts_with(&digest), "{url}: {said}");
        assert!(done(&["copy", &url, &copy]).contains(note), "{url}");
        assert_eq!(done(&["digest", &copy]), digest, "{url}");
        let found = done(&["verify", &url]);
        let note = "not looked for, nor nodes that the consolidated metadata does not list\n";
        assert!(found.contains(note) && found.contains("whole at the level"), "{url}: {found}");
    }
}

/// A single array is read by its own document, which may be newer than its copy in the consolidated metadata.
#[test]
fn an_array_without_a_listing_is_read_by_its_own_document() {
    let Some((folder, nginx)) = served() else { return };
    let url = format!("{}/plain/v2-consolidated.zarr", nginx.url());
    assert!(!done(&["digest", &url, "/g/a_b", "--json"]).contains("kelvin"));
    fs::write(folder.path().join("v2-consolidated.zarr/g/a_b/.zattrs"), r#"{"unit": "kelvin"}"#).unwrap();
    assert!(done(&["digest", &url, "/g/a_b", "--json"]).contains("kelvin"));
    assert!(!done(&["digest", &url, "/g", "--json"]).contains("kelvin"));
    let (is_whole, text) = said(&["verify", &url]);
    let expected = "the consolidated metadata differ from the document of /g/a_b";
    assert!(!is_whole && text.contains(expected), "{text}");
}

/// The message names the reason, and what helps.
#[test]
fn a_group_without_a_listing_is_refused_with_advice() {
    let Some((folder, nginx)) = served() else { return };
    let copy = folder.path().join("copy");
    let copy = copy.to_str().unwrap();
    for (_, name) in FORMATS {
        let url = format!("{}/plain/{name}.zarr", nginx.url());
        for verb in [&["digest", &url][..], &["copy", &url, copy], &["verify", &url], &["tree", &url]] {
            let (is_done, text) = said(verb);
            let reason = "is not listable, but finding the nodes below a group needs a list of its keys: give the \
                          path of an array, or consolidate the metadata where the data come from (v2 and v3)";
            assert!(!is_done && text.contains(reason), "{verb:?}: {text}");
            let is_verify = verb[0] == "verify";
            assert_eq!(
                text.contains("as the end of the location: STORE/PATH"),
                is_verify,
                "{verb:?}: {text}"
            );
        }
    }
    assert!(!Path::new(copy).exists());
}

/// References with targets next to them are read by ranges of the same server.
#[test]
fn references_next_to_their_targets_are_read_from_nginx() {
    let Some((folder, nginx)) = served() else { return };
    let text = fs::read_to_string(folder.path().join("v2.json")).unwrap();
    let below = format!("{}/", folder.path().to_str().unwrap());
    assert!(text.contains(&below), "{text}");
    fs::write(
        folder.path().join("relative.json"),
        text.replace(&format!("file://{below}"), "").replace(&below, ""),
    )
    .unwrap();
    for server in ["plain", "gzip", "moved", "whole", "listed"] {
        check(&format!("reference:{}/{server}/relative.json", nginx.url()));
        check(&format!("{}/{server}/relative.json|reference:", nginx.url()));
    }
}

/// Errors name the host and the key, and what the server answered.
#[test]
fn errors_of_nginx_name_the_host_and_the_key() {
    let Some((folder, nginx)) = served() else { return };
    let host = nginx.host();
    for (path, part) in [
        ("locked/v3.zarr", "403"),
        ("failing/v3.zarr", "501"),
        ("plain/none.zarr", "none.zarr"),
        ("listed", "listed"),
        ("plain/none.zip|zip:", "none.zip"),
        ("locked/v3.zip|zip:", "403"),
        ("plain/v2.zarr/.zgroup|zip:", ".zgroup"),
        ("plain/none.json|reference:", "none.json"),
    ] {
        let (is_done, text) = said(&["info", &format!("{}/{path}", nginx.url())]);
        assert!(!is_done && text.contains(&host) && text.contains(part), "{path}: {text}");
        assert!(text.starts_with("error: ") && !text.contains("panicked"), "{path}: {text}");
    }
    // A chunk that the server refuses to send.
    fs::remove_file(folder.path().join("v2.zarr/g/a_b/3")).unwrap();
    fs::create_dir(folder.path().join("v2.zarr/g/a_b/3")).unwrap();
    let array = open(&format!("{}/plain/v2.zarr", nginx.url())).unwrap().array("/g/a_b").unwrap();
    let error = array.read_values::<i32>(..).unwrap_err().to_string();
    assert!(error.contains("v2.zarr/g/a_b/3") && error.contains(&host), "{error}");
    assert_eq!(array.read_values::<i32>(0..500).unwrap(), elements()[..500]);
}

/// A server that compresses files which the client did not ask to be compressed sends other bytes than the value. They
/// are not taken for the value.
#[test]
fn bytes_with_a_content_encoding_are_an_error() {
    let Some((folder, nginx)) = served() else { return };
    let compress = |name: &str| {
        let done = Command::new("gzip").arg("--keep").arg(folder.path().join(name)).status().unwrap();
        assert!(done.success());
    };
    compress("v3.zarr/zarr.json");
    let (is_done, text) = said(&["info", &format!("{}/encoded/v3.zarr", nginx.url())]);
    assert!(!is_done && text.contains(&nginx.host()) && text.contains("zarr.json"), "{text}");
    assert!(text.contains("content encoding `gzip`"), "{text}");
}

/// The number of elements of the large array, in one shard of 20 MB.
const MANY: u64 = 5_000_000;

/// The number of elements of an inner chunk of 200 kB.
const INNER: u64 = 50_000;

/// Reads a part of one inner chunk of the large array.
fn check_inner_chunk(location: &str) {
    let array = open(location).unwrap().array("/large").unwrap();
    let wanted = 40 * INNER + 7..40 * INNER + 10;
    let expected: Vec<u32> = wanted.clone().map(|element| u32::try_from(element).unwrap()).collect();
    assert_eq!(array.read_values::<u32>(wanted).unwrap(), expected, "{location}");
}

/// Returns the status and the number of sent bytes of each request for the shard below a path. nginx writes its log
/// after the answers, so this function waits for one that sends at least `size` bytes.
fn shards(nginx: &Nginx, path: &str, size: u64) -> Vec<(u16, u64)> {
    for _ in 0..100 {
        let requests = logged(nginx, path);
        if requests.iter().any(|(_, sent)| *sent >= size) {
            return requests;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("{}", nginx.log());
}

fn logged(nginx: &Nginx, path: &str) -> Vec<(u16, u64)> {
    let log = nginx.log();
    let of_shard = log.lines().filter(|line| line.ends_with(&format!(" {path}large.zarr/large/c/0")));
    let number = |line: &str| -> Option<(u16, u64)> {
        let (status, rest) = line.split_once(" \"")?;
        let (_, sent) = rest.split_once("\" ")?;
        Some((status.parse().ok()?, sent.split(' ').next()?.parse().ok()?))
    };
    of_shard.map(|line| number(line).unwrap()).collect()
}

/// A server with ranges sends the index of a shard and one inner chunk. A server without ranges sends the shard from its
/// start, and the elements are the same.
#[test]
fn an_inner_chunk_of_a_large_shard_is_read_by_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let Some(nginx) = nginx(folder.path()) else { return };
    let context = Context::linked().unwrap();
    let path = folder.path().join("large.zarr");
    let store = open_store(context.registry(), path.to_str().unwrap()).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([MANY], "uint32").shards([MANY]).chunks([INNER]).uncompressed();
    let elements: Vec<u32> = (0..5_000_000).collect();
    hierarchy.create_array("/large", &builder).unwrap().write_values(.., &elements).unwrap();
    assert!(fs::metadata(path.join("large/c/0")).unwrap().len() > 20_000_000);

    check_inner_chunk(&format!("{}/plain/large.zarr", nginx.url()));
    let requests = shards(&nginx, "/plain/", 4 * INNER);
    assert!(requests.iter().all(|(status, _)| *status == 206) && requests.len() <= 2, "{requests:?}");
    let sent: u64 = requests.iter().map(|(_, bytes)| bytes).sum();
    assert!((4 * INNER..2 * 4 * INNER).contains(&sent), "{requests:?}");

    check_inner_chunk(&format!("{}/whole/large.zarr", nginx.url()));
    let requests = shards(&nginx, "/whole/", 20_000_000);
    assert!(requests.iter().all(|(status, _)| *status == 200) && !requests.is_empty(), "{requests:?}");
    // The index is at the end of the shard.
    assert!(requests.iter().any(|(_, bytes)| *bytes > 20_000_000), "{requests:?}");
}
