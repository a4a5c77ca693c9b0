//! `copy` with other chunks, shards and codecs for some arrays, and of some nodes.

use std::collections::BTreeSet;
use std::fs;

use crate::support::{Place, bytes, refused, text};

/// Creates a data set as xarray writes it: variables with dimension names, and their coordinates.
fn data_set(place: &Place, format: &str) -> String {
    let store = place.at("source");
    let arrays = [
        ("/t2m", "6,4,5", "1,4,5", "time,lat,lon"),
        ("/ocean/sst", "6,4,5", "6,2,5", "time,lat,lon"),
        ("/time", "6", "6", "time"),
        ("/lat", "4", "4", "lat"),
        ("/ocean/lat_bnds", "4,2", "4,2", "lat,bnds"),
        ("/crs", "", "", ""),
    ];
    for (path, shape, chunks, names) in arrays {
        let array = ["create", &store, path, "--shape", shape, "--dtype", "int16", "--format", format];
        let more = ["--chunks", chunks, "--dimension-names", names];
        let more = if names.is_empty() { &[][..] } else { &more[..] };
        bytes(&[&array[..], more].concat());
    }
    for path in ["/t2m", "/ocean/sst"] {
        let elements: Vec<u8> = (0..240).collect();
        bytes(&["put", "--format", "raw", &store, path, &place.file("elements", &elements)]);
    }
    store
}

/// Returns the description of the chunks of an array.
fn chunks(store: &str, path: &str) -> String {
    let info = text(&["info", store, path]);
    let line = info.lines().find(|line| line.contains("chunks of") || line.contains("chunk of"));
    line.unwrap_or_else(|| panic!("{info}")).to_owned()
}

#[test]
fn chunks_are_chosen_by_dimension_name_and_the_rest_stays() {
    for format in ["v2", "v3"] {
        let place = Place::new();
        let store = data_set(&place, format);
        let copy = place.at("copy");
        bytes(&["copy", &store, &copy, "--chunks", "time=3,lon=2", "--chunks", "/ocean/sst=-1,1,5"]);
        assert!(chunks(&copy, "/t2m").contains("2 × 1 × 3 chunks of 3 × 4 × 2"), "{}", chunks(&copy, "/t2m"));
        assert!(chunks(&copy, "/ocean/sst").contains("1 × 4 × 1 chunks of 6 × 1 × 5"), "{format}");
        assert!(chunks(&copy, "/time").contains("2 chunks of 3"), "{format}");
        assert!(chunks(&copy, "/lat").contains("of 4"), "{format}");
        for path in ["/t2m", "/ocean/sst"] {
            let raw: Vec<u8> = (0..240).collect();
            assert_eq!(bytes(&["get", &copy, path, "--format", "raw"]), raw, "{format} {path}");
        }
    }
}

#[test]
fn arrays_that_no_option_names_are_copied_byte_by_byte() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    bytes(&["copy", &store, &place.at("copy"), "--chunks", "6,4,5"]);
    for file in ["time/zarr.json", "ocean/lat_bnds/zarr.json", "crs/zarr.json"] {
        let read = |root: &str| fs::read(place.path(root).join(file)).unwrap();
        assert_eq!(read("source"), read("copy"), "{file}");
    }
}

#[test]
fn shards_stay_with_other_chunks_and_can_be_removed() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    let sharded = place.at("sharded");
    bytes(&["copy", &store, &sharded, "--chunks", "time=1", "--shards", "/t2m=time=3"]);
    let shards = chunks(&sharded, "/t2m");
    assert!(shards.contains("shards of 3 × 4 × 5, inner chunks of 1 × 4 × 5"), "{shards}");
    assert!(!chunks(&sharded, "/ocean/sst").contains("shards"));
    let other = place.at("other");
    bytes(&["copy", &sharded, &other, "--chunks", "/t2m=3,2,5"]);
    let shards = chunks(&other, "/t2m");
    assert!(shards.contains("shards of 3 × 4 × 5, inner chunks of 3 × 2 × 5"), "{shards}");
    let message = refused(&["copy", &sharded, &place.at("refused"), "--chunks", "/t2m=2,4,5"], 1);
    assert!(message.contains("/t2m") && message.contains("--shards none"), "{message}");
    let flat = place.at("flat");
    bytes(&["copy", &sharded, &flat, "--shards", "none"]);
    assert!(
        !chunks(&flat, "/t2m").contains("shards") && chunks(&flat, "/t2m").contains("chunks of 1 × 4 × 5")
    );
    for copy in [&sharded, &other, &flat] {
        let raw: Vec<u8> = (0..240).collect();
        assert_eq!(bytes(&["get", copy, "/t2m", "--format", "raw"]), raw);
    }
}

#[test]
fn codecs_are_chosen_by_path() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    let copy = place.at("copy");
    bytes(&[
        "copy",
        &store,
        &copy,
        "--codec",
        "/ocean=gzip",
        "--codec",
        "/ocean/sst=zstd",
        "--codec",
        "/ocean/sst=crc32c",
    ]);
    let codecs = |path: &str| {
        let document = fs::read_to_string(place.path("copy").join(path).join("zarr.json")).unwrap();
        ["gzip", "zstd", "crc32c"].map(|name| document.contains(&format!("\"{name}\"")))
    };
    assert_eq!(codecs("ocean/lat_bnds"), [true, false, false]);
    assert_eq!(codecs("ocean/sst"), [false, true, true]);
    let raw: Vec<u8> = (0..240).collect();
    assert_eq!(bytes(&["get", &copy, "/ocean/sst", "--format", "raw"]), raw);
}

#[test]
fn options_without_effect_are_refused_before_anything_is_written() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    let copy = place.at("copy");
    for (more, part) in [
        (&["--chunks", "tme=3"][..], "no array to copy has a dimension `tme`; did you mean `time`?"),
        (&["--chunks", "3,3,3,3"], "no array to copy has 4 dimensions"),
        (
            &["--chunks", "/lat=3,3"],
            "/lat: --chunks: found lengths for 2 dimensions, but the array has 1 dimension",
        ),
        (&["--chunks", "/salt=3"], "at or below `/salt`"),
        (&["--codec", "/salt=gzip"], "--codec: there is no array to copy at or below `/salt`"),
        (&["--exclude", "*_bounds"], "the pattern `*_bounds` matches no node to copy"),
        (&["--path", "/ocean", "--chunks", "/t2m=3,3,3"], "at or below `/t2m`"),
    ] {
        let message = refused(&[&["copy", &store, &copy], more].concat(), 1);
        assert!(message.contains(part), "{more:?}: {message}");
    }
    assert!(refused(&["copy", &store, &copy, "--chunks", "time=x"], 2).contains("`x` is not a number"));
    assert!(place.files("copy").is_empty());
}

#[test]
fn nodes_are_chosen_by_path_and_by_pattern() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    bytes(&["attrs", &store, "/ocean", "--set", "title=\"o\""]);
    let nodes = |more: &[&str]| {
        let copy = Place::new();
        bytes(&[&["copy", &store, &copy.at("copy")], more].concat());
        let files = copy.files("copy").into_iter();
        let documents = files.filter_map(|file| file.strip_suffix("/zarr.json").map(str::to_owned));
        documents.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(nodes(&["--path", "/t2m", "--path", "/lat"]), ["lat", "t2m"]);
    assert_eq!(
        nodes(&["--path", "/ocean", "--path", "/ocean/sst"]),
        ["ocean", "ocean/lat_bnds", "ocean/sst"]
    );
    assert_eq!(nodes(&["--exclude", "*_bnds", "--exclude", "/t*"]), ["crs", "lat", "ocean", "ocean/sst"]);
    assert_eq!(nodes(&["--include", "sst", "--include", "/time"]), ["ocean", "ocean/sst", "time"]);
    assert_eq!(nodes(&["--include", "/ocean", "--exclude", "sst"]), ["ocean", "ocean/lat_bnds"]);
}

#[test]
fn the_copy_is_consolidated_on_request() {
    for (format, document) in [("v2", "copy/.zmetadata"), ("v3", "copy/zarr.json")] {
        let place = Place::new();
        let store = data_set(&place, format);
        bytes(&["copy", &store, &place.at("copy"), "--consolidate"]);
        let consolidated = fs::read_to_string(place.path(document)).unwrap();
        assert!(consolidated.contains("ocean/sst"), "{consolidated}");
    }
    let place = Place::new();
    let store = data_set(&place, "v3");
    let message = refused(&["copy", &store, &place.at("copy"), "--format", "v3-draft", "--consolidate"], 1);
    assert!(message.contains("no consolidated metadata"), "{message}");
    assert!(place.files("copy").is_empty());
}

/// Creates an array of 2 MiB whose rows are chunks, and returns its elements.
fn rows(store: &str, place: &Place, format: &str) -> Vec<u8> {
    let array =
        ["create", store, "/g/rows", "--shape", "64,16384", "--chunks", "1,16384", "--dtype", "int16"];
    bytes(&[&array[..], &["--format", format, "--codec", "none"]].concat());
    let elements: Vec<u8> =
        (0..64 * 16384_u32).flat_map(|number| ((number % 30011) as u16).to_le_bytes()).collect();
    bytes(&["put", "--format", "raw", store, "/g/rows", &place.file("rows", &elements)]);
    elements
}

#[test]
fn rows_become_columns_in_two_passes_with_little_memory() {
    for format in ["v2", "v3", "v3-draft"] {
        let place = Place::new();
        let store = place.at("source");
        let elements = rows(&store, &place, format);
        let copy = place.at("copy");
        let command = ["--memory", "1MiB", "copy", &store, &copy, "--chunks", "64,256"];
        let plan = text(&[&command[..], &["--plan"]].concat());
        assert!(plan.contains("2, with chunks of 8 × 2048 in between"), "{plan}");
        assert!(plan.contains("space   2.0 MiB") && plan.contains("memory  256.0 KiB"), "{plan}");
        assert!(place.files("copy").is_empty());
        let one = text(&[&command[..], &["--plan", "--max-reads", "8"]].concat());
        assert!(one.contains("1; each chunk is read 8.00 times"), "{one}");
        assert!(!one.contains("--memory"), "{one}");
        // With less memory, the chunks between two passes would be tiny, so one pass is planned.
        let little = ["--memory", "200KiB", "copy", &store, &copy, "--chunks", "64,256", "--plan"];
        assert!(text(&little).contains("this exceeds --max-reads"), "{}", text(&little));
        let parts = text(&[&command[..], &["--plan", "--partition", "1/4"]].concat());
        assert!(parts.contains("all with --pass 1"), "{parts}");
        bytes(&command);
        assert_eq!(bytes(&["get", &copy, "/g/rows", "--format", "raw"]), elements, "{format}");
        assert!(!place.path("copy/__zarrctl").exists(), "{format}");
        assert!(chunks(&copy, "/g/rows").contains("64 chunks of 64 × 256"), "{}", chunks(&copy, "/g/rows"));
    }
}

#[test]
fn strings_and_missing_chunks_take_two_passes_as_well() {
    let place = Place::new();
    let store = place.at("source");
    let array = ["create", &store, "/s", "--shape", "64,4096", "--chunks", "1,4096", "--dtype", "string"];
    bytes(&[&array[..], &["--fill", r#""-""#, "--codec", "none"]].concat());
    // Rows 8 to 63 are missing.
    let items = (0..8 * 4096_u32).flat_map(|number| {
        let text = "x".repeat((number % 7) as usize) + &number.to_string();
        [&u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat()
    });
    let file = place.file("items", &items.collect::<Vec<u8>>());
    bytes(&["put", "--format", "raw", "--select", "0:8", &store, "/s", &file]);
    let copy = place.at("copy");
    let command = ["--memory", "2MiB", "copy", &store, &copy, "--chunks", "64,16"];
    assert!(text(&[&command[..], &["--plan"]].concat()).contains("passes  2,"));
    bytes(&command);
    let elements = |store: &str| bytes(&["get", store, "/s", "--format", "raw"]);
    assert!(elements(&copy) == elements(&store));
    assert!(text(&["info", &copy, "/s", "--json"]).contains(r#""chunks_stored": 256"#));
}

#[test]
fn shards_that_do_not_fit_a_coordinate_are_refused_with_the_options_that_leave_it_out() {
    let place = Place::new();
    let store = place.at("store");
    for (path, shape, chunks, names) in [("/t2m", "48,4", "4,4", "time,lat"), ("/time", "48", "10", "time")] {
        let array = ["create", &store, path, "--shape", shape, "--chunks", chunks, "--dtype", "int8"];
        bytes(&[&array[..], &["--dimension-names", names]].concat());
    }
    let copy = place.at("copy");
    let message = refused(&["copy", &store, &copy, "--shards", "time=24,lat=4"], 1);
    let expected = "  /time: shards of 24 cannot hold chunks of 10: expected a multiple along each dimension; choose others \
                    with --shards, or none with --shards none; `time=` applies to every array with this dimension: \
                    `--shards /PATH=time=...` limits it to an array or a group, and `--shards /time=none` leaves this \
                    array out\n";
    assert_eq!(message, format!("error: nothing is copied:\n{expected}"));
    bytes(&["copy", &store, &copy, "--shards", "time=24,lat=4", "--shards", "/time=none"]);
    assert!(text(&["info", &copy, "/t2m"]).contains("shards of 24 × 4, inner chunks of 4 × 4"));
    assert!(text(&["info", &copy, "/time"]).contains("chunks of 10"));
    bytes(&["copy", &store, &place.at("other"), "--shards", "/t2m=time=24,lat=4"]);
}
