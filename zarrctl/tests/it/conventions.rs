//! Conventions of stored data: each verb names them, and `verify` checks them; broken ones do not prevent reading.

use crate::support::{Place, bytes, run, text};

/// Returns the location of a store that another program wrote.
fn stored(store: &str) -> String {
    format!("{}/../conformance/formats/{store}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs a command that succeeds, perhaps with warnings, and returns its standard output.
fn shown(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `tree`, `info` and `show` name CF, GeoZarr and NCZarr in data of xarray, rioxarray and netCDF-C, and `verify` finds
/// that nothing contradicts them.
#[test]
fn each_verb_recognizes_the_conventions_of_real_writers() {
    for (store, array, tree, info, show) in [
        (
            "wild/xarray/v2.zarr",
            "/t2m",
            "(v2, CF 1.8)",
            "conventions       CF 1.8\n",
            "convention    CF 1.8\n",
        ),
        (
            "wild/xarray/v3.zarr",
            "/t2m",
            "(v3, CF 1.8)",
            "conventions       CF 1.8\n",
            "convention    CF 1.8\n",
        ),
        (
            "wild/netcdf-c/nczarr.zarr",
            "/t",
            "(v2, CF 1.10, NCZarr 2.0.0)",
            "conventions       CF 1.10\n                    NCZarr 2.0.0\n",
            "convention    CF 1.10\n  convention    NCZarr\n",
        ),
        (
            "wild/rioxarray/geozarr.zarr",
            "/raster",
            "(v3, GeoZarr)",
            "conventions       GeoZarr: proj, WGS 84 / UTM zone 33N\n",
            "convention    GeoZarr: proj, spatial, WGS 84 / UTM zone 33N, dimensions y, x, bounds [500000.0,",
        ),
    ] {
        let store = stored(store);
        let printed = shown(&["tree", &store]);
        assert!(printed.contains(tree), "{tree} in\n{printed}");
        let printed = shown(&["tree", &store, "--json"]);
        assert!(printed.contains(r#""conventions": ["#), "{printed}");
        let printed = shown(&["info", &store]);
        assert!(printed.contains(info), "{info} in\n{printed}");
        let printed = shown(&["info", &store, array]);
        assert!(printed.contains("  conventions  "), "{printed}");
        let printed = shown(&["show", &store, array]);
        assert!(printed.contains(show), "{show} in\n{printed}");
        let printed = shown(&["verify", &store]);
        assert!(printed.contains("whole at the level `decode`"), "{printed}");
        assert!(!printed.contains("damage /") && !printed.contains("CF attribute"), "{printed}");
    }
    let printed = shown(&["tree", &stored("wild/rioxarray/geozarr.zarr")]);
    assert!(printed.contains("raster uint16") && printed.contains(" (GeoZarr)\n"), "{printed}");
}

/// All forms of consolidated metadata: of v2, and of v3 by zarr-python.
#[test]
fn each_verb_reads_consolidated_metadata_of_real_writers() {
    for store in
        ["wild/xarray/v2.zarr", "wild/xarray/v3.zarr", "wild/gdal/raster.zarr", "wild/rioxarray/cf-v2.zarr"]
    {
        let printed = text(&["info", &stored(store)]);
        assert!(printed.contains("  metadata          consolidated\n"), "{store}: {printed}");
        assert!(text(&["verify", &stored(store)]).contains("whole at the level"), "{store}");
    }
}

/// `get --cf` decodes what xarray, netCDF-C and rioxarray wrote. The expected numbers are those that they read.
#[test]
fn packed_numbers_and_times_of_real_writers_are_decoded() {
    for (store, array, select, expected) in [
        ("wild/xarray/v2.zarr", "/snow", "0,:3", r#"["NaN", 1.0, 2.0]"#),
        ("wild/xarray/v2.zarr", "/t2m", "1,2,:2", r#"["NaN", "NaN"]"#),
        ("wild/xarray/v2.zarr", "/mask", "1,3:6", r#"["NaN", 10.0, 11.0]"#),
        ("wild/xarray/v3.zarr", "/snow", "0,:3", r#"["NaN", 1.0, 2.0]"#),
        ("wild/xarray/v3.zarr", "/t2m", "1,2,:2", r#"["NaN", "NaN"]"#),
        ("wild/xarray/v3.zarr", "/mask", "1,3:6", r#"["NaN", 10.0, 11.0]"#),
        ("wild/xarray/v3.zarr", "/time", "1:3", r#"["2020-02-28T06:00", "2020-02-28T12:00"]"#),
        ("wild/netcdf-c/zarr.zarr", "/time", ":", r#"["2001-01-01", "2001-02-01", "2001-03-01"]"#),
    ] {
        let read = shown(&["get", &stored(store), array, "--cf", "--format", "json", "--select", select]);
        let compact = read.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(compact, expected, "{store} {array}");
    }
}

/// Overviews show the missing values of xarray in v2, and zeros that are only the default fill value.
#[test]
fn overviews_of_v2_show_missing_values_and_zeros() {
    let printed = shown(&["info", &stored("wild/xarray/v2.zarr"), "/t2m"]);
    assert!(printed.contains("values            stored × 0.01 + 273.15; -32768 is missing\n"), "{printed}");
    let printed = shown(&["show", &stored("wild/xarray/v2.zarr"), "/snow"]);
    assert!(printed.contains("NaN") && !printed.contains("255"), "{printed}");
    let place = Place::new();
    let store = place.at("store");
    let array = ["create", &store, "/lat", "--shape", "3", "--dtype", "int16", "--format", "v2"];
    bytes(&[&array[..], &["--dimension-names", "lat"]].concat());
    assert!(!shown(&["show", &store, "/lat"]).contains("NaN"));
    assert_eq!(shown(&["get", &store, "/lat", "--cf", "--format", "csv"]), "NaN\r\nNaN\r\nNaN\r\n");
}

/// An attribute of a convention, and what `verify` prints about it.
const BROKEN: &[(&str, &str)] = &[
    (
        "scale_factor=\"half\"",
        "damage /a: the CF attribute `scale_factor` is \"half\", but it must be a number",
    ),
    ("add_offset={}", "damage /a: the CF attribute `add_offset` is {}, but it must be a number"),
    ("units=\"days since ever\"", "damage /a: the units count from `ever`"),
    ("coordinates=\"lat lon\"", "note /a: the CF attribute `coordinates` names `lat`, which does not exist"),
    ("grid_mapping=\"crs\"", "note /a: the CF attribute `grid_mapping` names `crs`, which does not exist"),
    ("Conventions=[1, null]", "whole"),
    ("_FillValue=[\"x\", {}]", "whole"),
    ("spatial:transform=[1]", "damage /a: `spatial:transform` is [1], but it must be six numbers"),
    ("spatial:dimensions=[\"z\"]", "damage /a: `spatial:dimensions` names `z`"),
    ("proj:code=4", "damage /a: `proj:code` is 4, but it must be a code such as EPSG:4326"),
    ("zarr_conventions=\"proj\"", "whole"),
    (
        "_nczarr_array={\"dimension_references\": [\"/x\"]}",
        "damage /a: NCZarr lists 1 dimension, but the array has 2",
    ),
    ("_nczarr_attr=5", "whole"),
    ("_NCZARR_SUPERBLOCK={\"version\": 2}", "whole"),
    ("encoding-type=[\"array\"]", "whole"),
    ("ome={\"multiscales\": 3}", "whole"),
    ("multiscales=[{\"datasets\": \"0\"}]", "whole"),
];

#[test]
fn broken_attributes_of_conventions_are_findings_and_do_not_prevent_reading() {
    for format in ["v2", "v3"] {
        for (attribute, finding) in BROKEN {
            let place = Place::new();
            let store = place.at("store");
            let array = ["create", &store, "/a", "--shape", "2,2", "--dtype", "int16", "--format", format];
            bytes(&[&array[..], &["--dimension-names", "y,x", "--attr", attribute]].concat());
            bytes(&["create", &store, "/g", "--group", "--attr", attribute]);
            bytes(&["put", &store, "/a", "--format", "raw", &place.file("raw", &[1, 0, 2, 0, 3, 0, 4, 0])]);
            assert_eq!(text(&["get", &store, "/a", "--format", "csv"]), "1,2\r\n3,4\r\n", "{attribute}");
            for verb in [&["tree", &store][..], &["info", &store, "/a"], &["info", &store, "/g", "--json"]] {
                let output = run(verb);
                assert!(output.status.success(), "{attribute}: {}", String::from_utf8_lossy(&output.stderr));
            }
            for verb in [&["show", &store, "/a"][..], &["get", &store, "/a", "--cf", "--format", "csv"]] {
                let output = run(verb);
                assert!(output.status.success(), "{attribute}: {}", String::from_utf8_lossy(&output.stderr));
                let printed = String::from_utf8(output.stdout).unwrap();
                assert!(printed.contains('4'), "{attribute}: {printed}");
            }
            let output = run(&["verify", &store]);
            let printed = String::from_utf8(output.stdout).unwrap();
            assert!(printed.contains(finding), "{attribute}: {finding} in\n{printed}");
            assert_eq!(output.status.success(), !finding.starts_with("damage"), "{attribute}: {printed}");
        }
    }
}

#[test]
fn what_cf_cannot_decode_is_a_warning() {
    let place = Place::new();
    let store = place.at("store");
    let attributes = ["--attr", "scale_factor=\"half\"", "--attr", "units=\"days since ever\""];
    bytes(&[&["create", &store, "/a", "--shape", "2", "--dtype", "int16"][..], &attributes].concat());
    let output = run(&["get", &store, "/a", "--cf", "--format", "csv"]);
    let messages = String::from_utf8(output.stderr).unwrap();
    for part in [
        "warning: /a: the attribute `scale_factor` is ignored: \"half\" is not a number\n",
        "warning: /a: times are printed as numbers: `days since ever` is not understood\n",
    ] {
        assert!(messages.contains(part), "{part} in\n{messages}");
    }
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "0\r\n0\r\n");
}
