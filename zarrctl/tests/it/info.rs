//! `info` for people: coordinates, conventions, children and sizes.

use crate::showing::data_set;
use crate::support::{Place, bytes, text};

#[test]
fn an_array_is_described_with_its_coordinates_and_units() {
    for format in ["v2", "v3"] {
        let place = Place::new();
        let store = data_set(&place, format);
        bytes(&["attrs", &store, "/t2m", "--set-text", "long_name=Air temperature"]);
        let info = text(&["info", &store, "/t2m"]);
        for part in [
            "  name              Air temperature\n",
            "  units             K\n",
            "  shape             3 × 4 (time, lat)\n",
            "  data type         int16\n",
            "  values            stored × 0.5 + 10; -99 is missing\n",
            "  coordinates       time  2001-01-01 to 2001-03-01\n",
            "                    lat   60 to -30 degrees_north, step -30\n",
            "  chunks            1 × 1 chunks of 3 × 4; 24 B per chunk\n",
            "  chunks stored     1 of 1\n",
            " of 24 B raw",
            "  attributes        scale_factor: 0.5\n",
            "  metadata          a document for each node\n",
        ] {
            assert!(info.contains(part), "{format}: {part} in\n{info}");
        }
        assert!(!info.contains("_ARRAY_DIMENSIONS") && !info.contains("zarr-codec-"), "{info}");
        let time = text(&["info", &store, "/time"]);
        assert!(time.contains("coordinates       time  2001-01-01 to 2001-03-01\n"), "{time}");
    }
}

#[test]
fn a_group_lists_its_children_and_conventions() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    bytes(&["attrs", &store, "/", "--set-text", "Conventions=CF-1.8, ACDD-1.3"]);
    bytes(&["create", &store, "/g/a", "--shape", "2", "--dtype", "int8"]);
    let info = text(&["info", &store]);
    for part in [
        "  kind              group\n",
        "  children          1 group, 3 arrays\n",
        "                    g/\n",
        "                    lat   float64 4 (lat)  [degrees_north]\n",
        "                    t2m   int16 3 × 4 (time, lat)  [K]\n",
        "  conventions       CF 1.8\n                    ACDD 1.3\n",
    ] {
        assert!(info.contains(part), "{part} in\n{info}");
    }
    // Arrays have the conventions of the groups above them.
    let array = text(&["info", &store, "/g/a"]);
    assert!(array.contains("conventions       CF 1.8\n"), "{array}");
    let json = text(&["info", &store, "--json"]);
    for part in [r#""children": ["g", "lat", "t2m", "time"]"#, r#""name": "CF""#, r#""version": "1.8""#] {
        assert!(json.contains(part), "{part} in {json}");
    }
    bytes(&["consolidate", &store]);
    assert!(text(&["info", &store]).contains("  metadata          consolidated\n"));
}

#[test]
fn an_image_of_ome_zarr_is_described_and_its_attributes_are_shortened() {
    let place = Place::new();
    let store = place.at("store");
    let datasets = r#"[{"path":"s0","coordinateTransformations":[{"type":"scale","scale":[1,0.5,0.5]}]},
        {"path":"s1","coordinateTransformations":[{"type":"scale","scale":[1,1,1]}]}]"#;
    let image = format!(
        r#"ome={{"version":"0.5","multiscales":[{{"axes":[{{"name":"z"}},{{"name":"y","unit":"micrometer"}},
            {{"name":"x","unit":"micrometer"}}],"datasets":{datasets}}}]}}"#
    );
    bytes(&["create", &store, "/", "--group", "--attr", &image]);
    bytes(&["create", &store, "/s1", "--shape", "2,4,4", "--dtype", "uint8"]);
    let info = text(&["info", &store]);
    let expected = "OME-Zarr 0.5: an image with axes z, y (micrometer), x (micrometer), 2 levels: s0, s1\n";
    assert!(info.contains(expected), "{info}");
    assert!(info.contains("characters; `zarrctl attrs` prints all)"), "{info}");
    assert!(info.lines().all(|line| line.chars().count() < 200), "{info}");
    let level = text(&["info", &store, "/s1"]);
    assert!(level.contains("OME-Zarr 0.5: level 2 of 2 of the image /\n"), "{level}");
}

#[test]
fn only_some_children_are_listed() {
    let place = Place::new();
    let store = place.at("store");
    for number in 0..22 {
        bytes(&["create", &store, &format!("/a{number:02}"), "--shape", "1", "--dtype", "int8"]);
    }
    let info = text(&["info", &store]);
    assert!(info.contains("children          22 arrays\n"), "{info}");
    assert!(info.contains("a19") && !info.contains("a20"), "{info}");
    assert!(info.contains("and 2 more; `zarrctl ls` lists all\n"), "{info}");
}

#[test]
fn an_unreadable_coordinate_does_not_hide_the_rest() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    std::fs::write(place.path("store/lat/c/0"), b"damaged").unwrap();
    let info = text(&["info", &store, "/t2m"]);
    assert!(info.contains("lat   unreadable: ") && info.contains("chunks stored     1 of 1\n"), "{info}");
}

#[test]
fn unsorted_coordinates_and_texts_are_described() {
    let place = Place::new();
    let store = place.at("store");
    let coordinate = |name: &str, dtype: &str, table: &str| {
        let length = table.lines().count().to_string();
        let array = ["create", &store, name, "--shape", &length, "--dtype", dtype];
        bytes(&[&array[..], &["--dimension-names", &name[1..]]].concat());
        bytes(&["put", &store, name, &place.file("table.csv", table.as_bytes())]);
        let info = text(&["info", &store, name]);
        let line = info.lines().find(|line| line.starts_with("  coordinates")).unwrap_or_default();
        line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(coordinate("/number", "float64", "3\n1.5\n2\n"), "1.5 to 3, not sorted");
    assert_eq!(coordinate("/word", "string", "b\na\n"), r#""b", "a""#);
    assert_eq!(coordinate("/many", "string", "a\nb\nc\nd\ne\n"), r#""a", …, "e""#);
    assert_eq!(coordinate("/one", "int8", "7\n"), "7");
    assert_eq!(coordinate("/day", "<M8[D]", "2001-02-03\n2001-02-05\n"), "2001-02-03 to 2001-02-05");
}

/// `tree` and `show` name the conventions of data that other programs wrote.
#[test]
fn conventions_of_other_programs_are_named() {
    let wild = |store: &str| format!("{}/../conformance/formats/wild/{store}", env!("CARGO_MANIFEST_DIR"));
    for (store, lines) in [
        ("ome-zarr/image-04.zarr", &["(v2, OME-Zarr 0.4)", "cells (OME-Zarr 0.4)"][..]),
        ("ome-zarr/image-05.zarr", &["(v3, OME-Zarr 0.5)", "cells (OME-Zarr 0.5)"]),
        ("ome-zarr/plate-05.zarr", &["(v3, OME-Zarr 0.5)", " 1 (OME-Zarr 0.5)"]),
        ("anndata/v3.zarr", &["(v3, AnnData 0.1.0)", "obs (AnnData 0.2.0)"]),
        ("anndata/v2.zarr", &["(v2, AnnData 0.1.0)", "obs (AnnData 0.2.0)"]),
    ] {
        let tree = text(&["tree", &wild(store)]);
        for line in lines {
            assert!(tree.contains(line), "{line} in\n{tree}");
        }
        let json = text(&["tree", &wild(store), "--json"]);
        assert!(json.contains(r#""conventions": ["#), "{json}");
    }
    let level = text(&["show", &wild("ome-zarr/image-05.zarr"), "/s1"]);
    assert!(level.contains("  convention    OME-Zarr 0.5: level 2 of 2 of the image /\n"), "{level}");
}
