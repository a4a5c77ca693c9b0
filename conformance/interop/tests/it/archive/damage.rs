//! Each kind of damage, in each format, is found.

use zarr_interop::memory;
use zarr_kit::archive::{Checks, FindingKind, Level};
use zarr_kit::spec::Value;
use zarr_kit::spec::store::Store;
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, json};

use super::{checked, damage, decoded, erase, get, key_with, keys, manifest, open, sample, set};

/// Returns the key of the document of an array.
fn document(store: &dyn Store, format: Format, path: &str) -> String {
    match format {
        Format::V2 => format!("{path}/.zarray"),
        Format::V3 => format!("{path}/zarr.json"),
        Format::V3Draft => key_with(store, &format!("{path}.array.json")),
    }
}

/// Returns the key of the first chunk of an array.
fn chunk(format: Format, path: &str) -> String {
    let index: &[&str] = if path == "g/plain" { &["0", "0"] } else { &["0"] };
    match format {
        Format::V2 => format!("{path}/{}", index.join(".")),
        Format::V3 => format!("{path}/c/{}", index.join("/")),
        Format::V3Draft => format!("data/{path}/c{}", index.join("/")),
    }
}

/// Damages a sample in every format. Returns the kinds that were found at a level.
fn found(level: Level, harm: impl Fn(&dyn Store, Format)) -> Vec<Vec<FindingKind>> {
    let found = Format::ALL.into_iter().map(|format| {
        let store = sample(format);
        assert_eq!(damage(&decoded(&store)), [], "{format}");
        harm(&*store, format);
        damage(&checked(&store, Checks::new(level)))
    });
    found.collect()
}

fn everywhere(kind: FindingKind) -> Vec<Vec<FindingKind>> {
    vec![vec![kind]; Format::ALL.len()]
}

#[test]
fn empty_and_truncated_documents_are_found() {
    for text in ["", "{\"zarr_format\": ", "[]", "{}"] {
        let kinds = found(Level::Metadata, |store, format| {
            set(store, &document(store, format, "gzip"), text.as_bytes());
        });
        assert!(kinds.iter().all(|kinds| !kinds.is_empty()), "{text}: {kinds:?}");
    }
}

#[test]
fn an_empty_chunk_is_found() {
    let kinds = found(Level::Sizes, |store, format| set(store, &chunk(format, "gzip"), b""));
    assert_eq!(kinds, everywhere(FindingKind::EmptyChunk));
}

#[test]
fn chunks_of_wrong_sizes_are_found() {
    for size in [1, 11, 13] {
        let kinds =
            found(Level::Sizes, |store, format| set(store, &chunk(format, "g/plain"), &vec![0; size]));
        assert_eq!(kinds, everywhere(FindingKind::ChunkSize), "{size}");
    }
}

#[test]
fn truncated_and_changed_compressed_chunks_are_found() {
    type Harm<'a> = &'a dyn Fn(&mut Vec<u8>);
    let harms: [Harm<'_>; 3] =
        [&|value| value.truncate(value.len() - 3), &|value| *value.last_mut().unwrap() ^= 1, &|value| {
            value[0] = 0
        }];
    for harm in harms {
        let kinds = found(Level::Decode, |store, format| {
            let key = chunk(format, "gzip");
            let mut value = get(store, &key);
            harm(&mut value);
            set(store, &key, &value);
        });
        assert_eq!(kinds, everywhere(FindingKind::Chunk));
    }
}

/// The chunk is a whole chunk of another array, as an interrupted rechunking by another program leaves it.
#[test]
fn chunks_that_decode_to_another_size_are_found() {
    for length in [8, 17] {
        let kinds = found(Level::Decode, |store, format| {
            let hierarchy = Hierarchy::create(memory(), &Context::linked().unwrap(), format).unwrap();
            let other = ArrayBuilder::new([length], "float64").chunks([length]).codec("gzip");
            let other = hierarchy.create_array("/gzip", &other).unwrap();
            other.write_values::<f64>(.., &vec![2.5; usize::try_from(length).unwrap()]).unwrap();
            let key = chunk(format, "gzip");
            set(store, &key, &get(&**hierarchy.store(), &key));
        });
        assert_eq!(kinds, everywhere(FindingKind::Chunk), "{length}");
    }
}

#[test]
fn a_missing_chunk_is_found_if_all_must_be_stored() {
    for format in Format::ALL {
        let store = sample(format);
        erase(&*store, &chunk(format, "g/plain"));
        let report = decoded(&store);
        assert!(report.is_whole());
        let census = &report.arrays.iter().find(|array| array.path == "/g/plain").unwrap().census;
        assert_eq!((census.chunks, census.stored, census.missing()), (4, 3, 1));
        assert_eq!(census.picture.lines(), [".#", "##"]);
        let kinds = damage(&checked(&store, Checks::new(Level::Present).complete(true)));
        assert_eq!(kinds, [FindingKind::MissingChunk], "{format}");
    }
}

#[test]
fn chunks_outside_of_arrays_are_leftovers() {
    let kinds = found(Level::Present, |store, format| {
        let key = chunk(format, "g/plain");
        let other = if key.contains("c0") { key.replace("c0", "c7") } else { key.replacen('0', "7", 1) };
        set(store, &other, b"12 bytes....");
    });
    assert_eq!(kinds, everywhere(FindingKind::Leftover));
}

#[test]
fn chunks_without_a_document_are_leftovers() {
    let kinds = found(Level::Present, |store, format| {
        let key = document(store, format, "g/plain");
        erase(store, &key);
        if format == Format::V2 {
            erase(store, "g/plain/.zattrs");
        }
    });
    assert_eq!(kinds, vec![vec![FindingKind::Leftover; 4]; 3]);
}

#[test]
fn nodes_without_a_parent_group_are_found() {
    for (format, key) in [(Format::V2, "g/.zgroup"), (Format::V3, "g/zarr.json")] {
        let store = sample(format);
        erase(&*store, key);
        let report = checked(&store, Checks::new(Level::Metadata));
        assert_eq!(damage(&report), vec![FindingKind::MissingGroup; damage(&report).len()], "{format}");
        assert!(!report.is_whole());
        let store = sample(format);
        erase(&*store, if format == Format::V2 { ".zgroup" } else { "zarr.json" });
        assert!(damage(&decoded(&store)).contains(&FindingKind::MissingGroup), "{format}: no root");
    }
}

#[test]
fn outdated_consolidated_metadata_is_found() {
    type Harm<'a> = &'a dyn Fn(&dyn Store);
    for format in [Format::V2, Format::V3] {
        let harms: [Harm<'_>; 3] = [
            &|store| {
                let document = document(store, format, "gzip");
                let text = String::from_utf8(get(store, &document)).unwrap();
                set(store, &document, text.replace("40", "41").as_bytes());
            },
            &|store| {
                erase(store, if format == Format::V2 { "gzip/.zarray" } else { "gzip/zarr.json" });
                let chunks = keys(store).into_iter().filter(|key| key.starts_with("gzip/"));
                chunks.for_each(|key| erase(store, &key));
            },
            &|store| {
                let from = document(store, format, "gzip");
                set(store, &from.replace("gzip", "new"), &get(store, &from));
            },
        ];
        for (number, harm) in harms.into_iter().enumerate() {
            let store = sample(format);
            open(&store, format).consolidate("/").unwrap();
            assert_eq!(damage(&decoded(&store)), [], "{format}");
            harm(&*store);
            let kinds = damage(&checked(&store, Checks::new(Level::Metadata)));
            assert_eq!(kinds, [FindingKind::Consolidated], "{format} {number}");
        }
    }
}

#[test]
fn wrong_dimension_names_and_coordinates_are_found() {
    let store = sample(Format::V2);
    set(&*store, "g/plain/.zattrs", br#"{"_ARRAY_DIMENSIONS": ["y"]}"#);
    assert_eq!(damage(&decoded(&store)), [FindingKind::Convention]);
    for format in Format::ALL {
        let store = sample(format);
        open(&store, format).array("/g/x").unwrap().resize(&[5]).unwrap();
        assert_eq!(damage(&decoded(&store)), [FindingKind::Convention], "{format}");
    }
}

/// Returns the messages of the findings about conventions.
fn contradictions(hierarchy: &Hierarchy) -> Vec<String> {
    let report = checked(hierarchy.store(), Checks::new(Level::Metadata));
    let found = report.all_findings().filter(|finding| finding.kind == FindingKind::Convention);
    found.map(|finding| finding.text.clone()).collect()
}

#[test]
fn images_without_their_levels_and_plates_without_their_wells_are_found() {
    for is_member in [false, true] {
        let hierarchy = open(&sample(Format::V3), Format::V3);
        let metadata = json!({
            "multiscales": [{"axes": ["y", "x"], "datasets": [{"path": "0"}, {"path": "1"}, {"path": "2"}]}],
            "plate": {"wells": [{"path": "A/1"}, {"path": "g"}]},
            "well": {"images": [{"path": "9"}]},
        });
        let attributes = if is_member { json!({"ome": metadata}) } else { metadata };
        hierarchy.create_group("/image", attributes).unwrap();
        hierarchy.create_group("/image/g", json!({})).unwrap();
        hierarchy.create_array("/image/0", &ArrayBuilder::new([4, 4], "uint8")).unwrap();
        hierarchy.create_array("/image/1", &ArrayBuilder::new([2, 2, 2], "uint16")).unwrap();
        assert_eq!(
            contradictions(&hierarchy),
            [
                "level `1` of the OME-Zarr image has 3 dimensions, but the image has 2 axes",
                "level `1` of the OME-Zarr image has data type uint16, and the first level uint8",
                "level `2` of the OME-Zarr image is not an array",
                "`A/1` in the OME-Zarr list `wells` is not a group",
                "`9` in the OME-Zarr list `images` is not a group",
            ]
        );
    }
}

#[test]
fn incomplete_encodings_of_anndata_are_found() {
    let hierarchy = open(&sample(Format::V3), Format::V3);
    let create = |path: &str, attributes| hierarchy.create_group(path, attributes).unwrap();
    let vector =
        |path: &str, length| hierarchy.create_array(path, &ArrayBuilder::new([length], "int32")).unwrap();
    create("/frame", json!({"encoding-type": "dataframe", "_index": "i", "column-order": ["a", "b"]}));
    vector("/frame/b", 3);
    create("/matrix", json!({"encoding-type": "csr_matrix", "shape": [4, 9]}));
    vector("/matrix/data", 3);
    vector("/matrix/indices", 2);
    vector("/matrix/indptr", 4);
    create("/mask", json!({"encoding-type": "nullable-integer"}));
    vector("/mask/values", 3);
    vector("/mask/mask", 4);
    create("/classes", json!({"encoding-type": "categorical"}));
    vector("/classes/codes", 3);
    let mut found = contradictions(&hierarchy);
    found.sort();
    assert_eq!(
        found,
        [
            "`a` of AnnData encoding `dataframe` is missing",
            "`categories` of AnnData encoding `categorical` is missing",
            "`i` of AnnData encoding `dataframe` is missing",
            "the mask and the values of AnnData have different shapes",
            "the sparse matrix has 3 numbers, but 2 indices",
            "the sparse matrix has 4 rows, but `indptr` has 4 elements",
        ]
    );
}

#[test]
fn attributes_that_contradict_cf_are_found() {
    let hierarchy = open(&sample(Format::V3), Format::V3);
    let create = |path: &str, shape: &[u64], names: &[&str], attributes| {
        let builder =
            ArrayBuilder::new(shape, "int32").dimension_names(names.iter().copied()).attributes(attributes);
        hierarchy.create_array(path, &builder).unwrap();
    };
    create("/cf_scale", &[4], &["n"], json!({"scale_factor": "half", "add_offset": [1, 2]}));
    create(
        "/cf_right",
        &[4],
        &["n"],
        json!({"scale_factor": "0.5", "add_offset": [1], "units": "months since 2000"}),
    );
    create("/cf_time", &[4], &["n"], json!({"units": "days since ever", "calendar": "lunar"}));
    create("/cf_lat", &[4], &["cf_lat"], json!({"bounds": "cf_lat_bounds"}));
    create("/cf_lat_bounds", &[4], &["cf_lat"], json!({}));
    create("/cf_far", &[2], &["m"], json!({"grid_mapping": "crs: cf_lat", "coordinates": "none /cf_time"}));
    assert_eq!(
        contradictions(&hierarchy),
        [
            "the bounds `cf_lat_bounds` have shape [4], but the variable has [4] and each value needs one row of \
             bounds",
            "the CF attribute `scale_factor` is \"half\", but it must be a number",
            "the CF attribute `add_offset` is [1,2], but it must be a number",
            "the units count from `ever`, which is not a date such as 2000-01-01",
            "`lunar` is not a calendar of CF, such as `standard` or `noleap`",
        ]
    );
    let report = checked(hierarchy.store(), Checks::new(Level::Metadata));
    let notes = report.all_findings().filter(|finding| finding.kind == FindingKind::Tolerated);
    assert_eq!(
        notes.map(|note| &*note.text).collect::<Vec<_>>(),
        [
            "the CF attribute `coordinates` names `none`, which does not exist",
            "the CF attribute `grid_mapping` names `crs`, which does not exist",
        ]
    );
}

#[test]
fn attributes_that_contradict_geozarr_are_found() {
    let hierarchy = open(&sample(Format::V3), Format::V3);
    let builder = ArrayBuilder::new([4, 6], "uint8").dimension_names(["y", "x"]).attributes(json!({
        "spatial:dimensions": ["y", "lon"], "spatial:shape": [5, 6], "spatial:transform": [1, 2, 3],
        "spatial:bbox": "all", "proj:code": 4326, "proj:wkt2": Value::Null}));
    hierarchy
        .create_group(
            "/geo",
            json!({"proj:projjson": "EPSG", "multiscales": {"layout": [
        {"asset": "0"}, {"asset": "1", "derived_from": "0"}, {"asset": 2}]}}),
        )
        .unwrap();
    hierarchy.create_array("/geo/0", &builder).unwrap();
    let mut found = contradictions(&hierarchy);
    found.sort();
    assert_eq!(
        found,
        [
            "`proj:code` is 4326, but it must be a code such as EPSG:4326",
            "`proj:projjson` is \"EPSG\", but it must be an object",
            "`spatial:bbox` is \"all\", but it must be four numbers",
            "`spatial:dimensions` names `lon`, which is not a dimension of the array",
            "`spatial:shape` is 5 along `y`, but the array has 4",
            "`spatial:transform` is [1,2,3], but it must be six numbers",
            "the level `1` of `multiscales` is neither an array nor a group",
        ]
    );
}

#[test]
fn nodes_that_contradict_the_members_of_nczarr_are_found() {
    // Two versions of netCDF-C: attributes with long names, and members in upper case with short ones.
    for (group, array, names) in [
        ("_nczarr_group", "_nczarr_array", ["dimensions", "arrays", "dimension_references"]),
        ("_NCZARR_GROUP", "_NCZARR_ARRAY", ["dims", "vars", "dimrefs"]),
    ] {
        let hierarchy = open(&sample(Format::V2), Format::V2);
        let [dimensions, arrays, references] = names;
        let of_group = json!({(dimensions): {"x": 4, "t": {"size": 6, "unlimited": 1}},
            (arrays): ["a", "none"], "groups": ["g", "gone"]});
        let root = hierarchy.create_group("/nc", json!({(group): (of_group)})).unwrap();
        hierarchy.create_group("/nc/g", json!({})).unwrap();
        let create = |path: &str, shape: &[u64], dimensions: Value| {
            let builder =
                ArrayBuilder::new(shape, "int32").attributes(json!({(array): {(references): (dimensions)}}));
            hierarchy.create_array(path, &builder).unwrap();
        };
        create("/nc/a", &[6, 4], json!(["/nc/t", "/nc/x"]));
        create("/nc/g/short", &[5], json!(["/nc/t"]));
        create("/nc/long", &[7], json!(["/nc/t"]));
        create("/nc/other", &[5], json!(["/nc/x"]));
        create("/nc/undeclared", &[5], json!(["/nc/z"]));
        create("/nc/flat", &[5], json!(["/nc/t", "/nc/x"]));
        drop(root);
        let mut found = contradictions(&hierarchy);
        found.sort();
        assert_eq!(
            found,
            [
                "NCZarr declares 4 elements along `/nc/x`, but the array has 5",
                "NCZarr declares 6 elements along `/nc/t`, but the array has 7",
                "NCZarr does not declare the dimension `/nc/z` of the array",
                "NCZarr lists 2 dimensions, but the array has 1",
                "NCZarr lists the array `none`, which does not exist",
                "NCZarr lists the group `gone`, which does not exist",
            ]
        );
    }
}

#[test]
fn documents_of_two_formats_that_disagree_are_found() {
    let store = sample(Format::V2);
    let context = Context::linked().unwrap();
    let hierarchy = Hierarchy::create(memory(), &context, Format::V3).unwrap();
    let encoding = zarr_kit::json::json!({"name": "v2", "configuration": {"separator": "."}});
    let builder = ArrayBuilder::new([41], "float64").chunks([16]).codec("gzip").chunk_key_encoding(encoding);
    hierarchy.create_group("/", zarr_kit::json::json!({})).unwrap();
    hierarchy.create_array("/gzip", &builder).unwrap();
    for key in ["zarr.json", "gzip/zarr.json"] {
        set(&*store, key, &get(&**hierarchy.store(), key));
    }
    assert!(damage(&decoded(&store)).contains(&FindingKind::Disagreement));
}

#[test]
fn nodes_below_an_array_are_found() {
    for format in [Format::V2, Format::V3] {
        let store = sample(format);
        let from = document(&*store, format, "gzip");
        set(&*store, &from.replace("gzip", "gzip/inner"), &get(&*store, &from));
        let report = checked(&store, Checks::new(Level::Metadata));
        let texts: Vec<&str> = report.findings.iter().map(|finding| finding.text.as_str()).collect();
        assert_eq!(texts, ["/gzip/inner is below /gzip, which is not a group"], "{format}");
        assert_eq!(damage(&report), [FindingKind::Disagreement], "{format}");
    }
}

#[test]
fn a_node_that_is_a_group_and_an_array_is_found() {
    let store = sample(Format::V2);
    set(&*store, "gzip/.zgroup", br#"{"zarr_format": 2}"#);
    assert_eq!(damage(&decoded(&store)), [FindingKind::Disagreement]);
    let store = sample(Format::V3Draft);
    let key = document(&*store, Format::V3Draft, "gzip").replace(".array.", ".group.");
    set(&*store, &key, br#"{"extensions": [], "attributes": {}}"#);
    assert_eq!(damage(&decoded(&store)), [FindingKind::Disagreement]);
}

#[test]
fn damage_in_shards_names_the_inner_chunk() {
    let store = sample(Format::V3);
    let key = "sharded/c/0/0";
    let value = get(&*store, key);
    let mut harmed = value.clone();
    harmed[2] ^= 1;
    set(&*store, key, &harmed);
    let report = decoded(&store);
    let array = report.arrays.iter().find(|array| array.path == "/sharded").unwrap();
    let inner: Vec<_> = array.findings.iter().map(|finding| finding.inner.clone()).collect();
    assert_eq!(inner.len(), 1, "{:?}", array.findings);
    assert!(inner[0].is_some());
    assert_eq!((array.census.damaged, array.census.picture.lines()), (1, vec!["X".into(), "#".into()]));
    // The index is at the end of the shard, so this damages the index.
    let mut harmed = value;
    *harmed.last_mut().unwrap() ^= 1;
    set(&*store, key, &harmed);
    assert_eq!(damage(&checked(&store, Checks::new(Level::Sizes))), [FindingKind::Chunk]);
    assert!(damage(&decoded(&store)).contains(&FindingKind::Chunk));
}

#[test]
fn changes_that_no_codec_detects_are_found_with_a_manifest() {
    for format in Format::ALL {
        let store = sample(format);
        let manifest = manifest(&store, format);
        let checks = || Checks::new(Level::Decode).manifest(manifest.clone());
        assert_eq!(damage(&checked(&store, checks())), [], "{format}");
        let key = chunk(format, "g/plain");
        let mut value = get(&*store, &key);
        value[5] ^= 8;
        set(&*store, &key, &value);
        assert!(decoded(&store).is_whole());
        assert_eq!(damage(&checked(&store, checks())), [FindingKind::Manifest], "{format}");
        erase(&*store, &key);
        assert_eq!(damage(&checked(&store, checks())), [FindingKind::Manifest], "{format}: missing");
    }
}
