//! `show`, selections by coordinate, `ls`, `cat`, `du`, and options of `tree`.

use std::fs;

use crate::support::{Place, bytes, refused, text};

/// Creates a packed variable of three months and its coordinates, as xarray writes them.
pub(crate) fn data_set(place: &Place, format: &str) -> String {
    let store = place.at("store");
    let create = |path: &str, shape: &str, dtype: &str, names: &str, attributes: &[&str]| {
        let array = ["create", &store, path, "--shape", shape, "--dtype", dtype, "--format", format];
        let attributes: Vec<&str> = attributes.iter().flat_map(|attribute| ["--attr", attribute]).collect();
        bytes(&[&array[..], &["--dimension-names", names], &attributes].concat());
    };
    let packed = ["scale_factor=0.5", "add_offset=10", "_FillValue=-99", r#"units="K""#];
    create("/t2m", "3,4", "int16", "time,lat", &packed);
    create("/time", "3", "int32", "time", &[r#"units="days since 2001-01-01""#, r#"calendar="standard""#]);
    create("/lat", "4", "float64", "lat", &[r#"units="degrees_north""#]);
    let put = |path: &str, elements: Vec<u8>| {
        bytes(&["put", "--format", "raw", &store, path, &place.file("elements", &elements)]);
    };
    put(
        "/t2m",
        (0..12_i16).flat_map(|number| if number == 5 { -99 } else { number }.to_le_bytes()).collect(),
    );
    put("/time", [0_i32, 31, 59].iter().flat_map(|day| day.to_le_bytes()).collect());
    put("/lat", [60.0_f64, 30.0, 0.0, -30.0].iter().flat_map(|lat| lat.to_le_bytes()).collect());
    store
}

#[test]
fn show_decodes_values_and_prints_coordinates_and_statistics() {
    for format in ["v2", "v3"] {
        let place = Place::new();
        let store = data_set(&place, format);
        let shown = text(&["show", &store, "/t2m"]);
        for part in [
            "/t2m  int16 (time: 3, lat: 4)",
            "units         K",
            "time          2001-01-01, 2001-02-01, 2001-03-01",
            "lat           60, 30, 0, -30  degrees_north",
            "[[  10 10.5   11 11.5]\n [  12  NaN   13 13.5]",
            "statistics of all 12 elements",
            "minimum       10\n",
            "maximum       15.5\n",
            "missing       1\n",
        ] {
            assert!(shown.contains(part), "{format}: {part} in\n{shown}");
        }
        let times = text(&["show", &store, "/time", "--select", "1:"]);
        assert!(times.contains("[2001-02-01 2001-03-01]"), "{times}");
        let json = text(&["show", &store, "/t2m", "--json", "--select", "time=2001-02"]);
        assert!(json.contains(r#""missing": 1"#) && json.contains(r#""mean": 12.8333"#), "{json}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn get_prints_coordinates_on_a_terminal_only() {
    use crate::messages::in_a_terminal;
    let place = Place::new();
    let store = data_set(&place, "v3");
    let command = format!("get {store} /t2m --select time=2001-02:2001-03");
    let Some(shown) = in_a_terminal(&command) else { return };
    let time = "time          2001-02-01, 2001-03-01\r\n";
    let lat = "lat           60, 30, 0, -30  degrees_north\r\n";
    assert!(shown.contains(time) && shown.contains(lat) && shown.contains("[[  4 -99   6   7]"), "{shown}");
    assert!(!in_a_terminal(&format!("get {store} /lat")).unwrap().contains("degrees"));
    assert!(!text(&["get", &store, "/t2m", "--format", "json"]).contains("2001"));
    // The elements are readable without the coordinate.
    fs::write(place.path("store/time/c/0"), b"damaged").unwrap();
    let shown = in_a_terminal(&format!("get {store} /t2m")).unwrap();
    assert!(
        shown.contains("the coordinates of /t2m are not printed: chunk [0] of /time")
            && shown.contains("[[  0"),
        "{shown}"
    );
}

#[test]
fn parts_are_selected_by_coordinate() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    let get = |select: &str| text(&["get", &store, "/t2m", "--format", "json", "--select", select]);
    assert_eq!(get("time=2001-02,lat=0:45"), "[[-99, 6]]\n");
    // The latitudes descend, so a range may begin with the larger end.
    assert_eq!(get("time=2001-02,lat=45:0"), "[[-99, 6]]\n");
    assert_eq!(get("time=2001-02,lat=45:"), "[[4]]\n");
    assert_eq!(get("time=2001-02,lat=:0"), "[[6, 7]]\n");
    assert_eq!(get("lat=30"), "[1, -99, 9]\n");
    assert_eq!(get("time=[0]"), "[0, 1, 2, 3]\n");
    assert_eq!(get("time=2001-02-01:2001-12,lat=[[0,3]]"), "[[4, 7],\n [8, 11]]\n");
    for (select, part) in [
        ("time=2005", "no value of the coordinate is in this range; it has 2001-01-01 to 2001-03-01"),
        ("time=2001-03:2001-01", "no value of the coordinate is in this range"),
        ("lat=31", "the nearest value is 30, at position [1]"),
        ("lta=30", "has no dimension `lta`, only time, lat; did you mean `lat`?"),
        ("time=2001-02,5", "expected NAME=VALUE"),
        ("time=soon", "expected a date"),
    ] {
        let message = refused(&["get", &store, "/t2m", "--select", select], 1);
        assert!(message.contains(part), "{select}: {message}");
    }
}

#[test]
fn a_picture_is_drawn_or_written() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    let shown = text(&["show", &store, "/t2m", "--picture"]);
    let picture = shown.split_once("picture  ").unwrap().1;
    assert_eq!(picture.lines().count(), 1 + 2, "{shown}");
    assert!(picture.contains('@') && !picture.contains('\x1b'), "{shown}");
    let file = place.at("t2m.png");
    bytes(&["show", &store, "/t2m", "--png", &file]);
    let png = fs::read(&file).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    // Width and height are big endian numbers in the first section.
    assert_eq!(png[16..24], [0, 0, 0, 4, 0, 0, 0, 3]);
    let message = refused(&["show", &store, "/t2m", "--png", &place.at("t2m.jpg")], 2);
    assert!(message.contains("the picture is a PNG"), "{message}");
    let message = refused(&["show", &store, "/time", "--png", &file], 1);
    assert!(message.contains("two dimensions"), "{message}");
    assert!(refused(&["show", &store, "/"], 1).contains("is a group"));
}

#[test]
fn children_documents_and_sizes_are_listed() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    bytes(&["create", &store, "/g/deep/a", "--shape", "2", "--dtype", "int8"]);
    assert_eq!(text(&["ls", &store]), "g/\nlat\nt2m\ntime\n");
    let long = text(&["ls", &store, "--long"]);
    assert!(long.contains("t2m   int16 [3 × 4]\n"), "{long}");
    assert_eq!(text(&["ls", &store, "t2m"]), "/t2m\n");
    let document = fs::read_to_string(place.path("store/t2m/zarr.json")).unwrap();
    assert_eq!(text(&["cat", &store, "t2m"]).trim_end(), document.trim_end());
    assert!(refused(&["cat", &store, "none"], 1).contains("there is no node at /none"));
    let tree = text(&["tree", &store, "--depth", "1", "--sizes"]);
    assert!(tree.contains("g\n") && !tree.contains("deep"), "{tree}");
    assert!(tree.contains(" of 24 B stored"), "{tree}");
    let sizes = text(&["du", &store, "--bytes"]);
    let lines: Vec<Vec<&str>> = sizes.lines().map(|line| line.split_whitespace().collect()).collect();
    let stored = |path: &str| {
        let line = lines.iter().find(|line| line[2] == path).unwrap_or_else(|| panic!("{sizes}"));
        (line[0].parse::<u64>().unwrap(), line[1].parse::<u64>().unwrap())
    };
    let arrays = ["/t2m", "/lat", "/time"].map(stored);
    assert_eq!(stored("/"), (arrays.iter().map(|array| array.0).sum(), 3));
    assert_eq!(stored("/g/deep/a"), (0, 0));
    assert_eq!(text(&["du", &store, "--depth", "0"]).lines().count(), 1);
}

#[test]
fn v2_documents_are_printed_with_their_keys() {
    let place = Place::new();
    let store = data_set(&place, "v2");
    let documents = text(&["cat", &store, "t2m"]);
    assert!(documents.starts_with("t2m/.zarray:\n") && documents.contains("\nt2m/.zattrs:\n"), "{documents}");
}
