//! `copy --select`: parts of arrays, by dimension name, coordinate and position.

use std::fs;

use crate::showing::data_set;
use crate::support::{Place, bytes, refused, run, text};

/// Returns the elements of an array as JSON on one line.
fn elements(store: &str, path: &str) -> String {
    selected(store, path, "...")
}

fn selected(store: &str, path: &str, selection: &str) -> String {
    let json = text(&["get", store, path, "--format", "json", "--select", selection]);
    json.lines().map(str::trim_start).collect::<Vec<_>>().join(" ")
}

#[test]
fn variables_and_their_coordinates_are_cut_alike() {
    for (format, to) in [("v2", "v2"), ("v2", "v3"), ("v3", "v3"), ("v3", "v2"), ("v3", "v3-draft")] {
        let place = Place::new();
        let store = data_set(&place, format);
        let copy = place.at("copy");
        let select = ["copy", &store, &copy, "--select", "time=2001-02:2001-03,lat=0:45", "--format", to];
        let output = run(&select);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(elements(&copy, "/t2m"), "[[-99, 6], [9, 10]]", "{format} {to}");
        assert_eq!(elements(&copy, "/time"), "[31, 59]", "{format} {to}");
        assert_eq!(elements(&copy, "/lat"), "[30.0, 0.0]", "{format} {to}");
        assert!(text(&["attrs", &copy, "/lat"]).contains("degrees_north"));
    }
}

#[test]
fn the_copy_of_a_selection_is_what_get_reads() {
    for selection in ["lat=[::2]", "lat=[[3,1]]", "lat=[[3,1,1,0]],time=[1:]", "lat=30", "time=[0:0]"] {
        for more in
            [&[][..], &["--chunks", "1,1"], &["--chunks", "2,4", "--shards", "4,4"], &["--codec", "gzip"]]
        {
            let place = Place::new();
            let store = data_set(&place, "v3");
            let copy = place.at("copy");
            let verify = ["copy", &store, &copy, "--select", selection, "--verify"];
            bytes(&[&verify[..], more].concat());
            // A single value keeps its dimension, as a list of one position does.
            let kept = selection.replace("lat=30", "lat=[[1]]");
            assert_eq!(elements(&copy, "/t2m"), selected(&store, "/t2m", &kept), "{selection} {more:?}");
        }
    }
}

#[test]
fn chunks_are_not_longer_than_the_selection_and_shards_stay() {
    let place = Place::new();
    let store = place.at("store");
    let create = |path: &str, more: &[&str]| {
        let array =
            ["create", &store, path, "--shape", "100,8", "--dtype", "uint8", "--dimension-names", "y,x"];
        bytes(&[&array[..], more].concat());
        let elements: Vec<u8> = (0..800_u32).map(|number| (number % 251) as u8).collect();
        bytes(&["put", "--format", "raw", &store, path, &place.file("elements", &elements)]);
    };
    create("/plain", &["--chunks", "100,2"]);
    create("/sharded", &["--chunks", "5,2", "--shards", "50,8"]);
    let copy = place.at("copy");
    bytes(&["copy", &store, &copy, "--select", "y=[7:20]"]);
    let chunk = |path: &str| text(&["info", &copy, path]);
    assert!(chunk("/plain").contains("1 × 4 chunks of 13 × 2"), "{}", chunk("/plain"));
    assert!(
        chunk("/sharded").contains("1 × 1 shards of 50 × 8, inner chunks of 5 × 2"),
        "{}",
        chunk("/sharded")
    );
    for path in ["/plain", "/sharded"] {
        assert_eq!(elements(&copy, path), selected(&store, path, "7:20"), "{path}");
    }
    let plan = text(&["copy", &store, &place.at("other"), "--select", "y=[7:20]", "--plan"]);
    assert!(plan.contains("/plain  13 × 8 of 100 × 8, 104 B"), "{plan}");
}

/// `copy` copies stored chunks unchanged, even damaged ones, if the selection begins at a boundary of chunks, and ends
/// at a boundary or at the end of the array.
#[test]
fn selections_of_whole_chunks_copy_the_encoded_chunks() {
    let sharded = ["--chunks", "5,2", "--shards", "10,8"];
    let plain = ["--chunks", "10,16"];
    for (format, chunks) in [("v3", &plain[..]), ("v2", &plain), ("v3-draft", &plain), ("v3", &sharded)] {
        let place = Place::new();
        let store = place.at("store");
        let array = ["create", &store, "/a", "--shape", "97,8", "--dtype", "uint8", "--format", format];
        bytes(&[&array[..], &["--dimension-names", "y,x"], chunks].concat());
        let elements: Vec<u8> = (0..97 * 8_u32).map(|number| (number % 251) as u8).collect();
        bytes(&["put", "--format", "raw", &store, "/a", &place.file("elements", &elements)]);
        // The third chunk and the last one cannot be decoded.
        let mut written = 0;
        for name in place.files("store") {
            let is_chunk = |number: &str| {
                ["/{}/0", "/{}.0", "/c{}/0"].iter().any(|end| name.ends_with(&end.replace("{}", number)))
            };
            if is_chunk("2") || is_chunk("9") {
                fs::write(place.path("store").join(&name), format!("marked {name}")).unwrap();
                written += 1;
            }
        }
        assert_eq!(written, 2, "{format} {chunks:?}");
        let marked = |copy: &str| {
            let files = place.files(copy).into_iter();
            let texts = files.filter_map(|name| fs::read_to_string(place.path(copy).join(name)).ok());
            texts.filter(|text| text.starts_with("marked")).count()
        };
        let list = "y=[[20,21,22,23,24,25,26,27,28,29]]";
        let selections = [("y=[20:40]", 1), ("y=[20:]", 2), ("y=[80:97]", 1), (list, 1)];
        for (number, (selection, count)) in selections.into_iter().enumerate() {
            let copy = format!("copy{number}");
            let command = ["copy", &store, &place.at(&copy), "--select", selection];
            let plan = text(&[&command[..], &["--plan"]].concat());
            assert!(plan.contains("copies the encoded chunks"), "{format} {chunks:?} {selection}: {plan}");
            bytes(&command);
            assert_eq!(marked(&copy), count, "{format} {chunks:?} {selection}");
        }
        let whole = place.at("whole");
        bytes(&["copy", &store, &whole, "--select", "y=[30:50]"]);
        assert_eq!(elements_of(&whole), elements[240..400], "{format} {chunks:?}");
        for partial in ["y=[21:40]", "y=[20:39]", "y=[20:40:2]", "y=[20:40],x=[0:4]"] {
            let plan = text(&["copy", &store, &place.at("none"), "--select", partial, "--plan", "--lossy"]);
            assert!(!plan.contains("copies the encoded chunks"), "{format} {chunks:?} {partial}: {plan}");
        }
    }
}

/// Returns the bytes of `/a`.
fn elements_of(store: &str) -> Vec<u8> {
    bytes(&["get", store, "/a", "--format", "raw"])
}

#[test]
fn encoded_chunks_of_a_selection_are_copied_in_parts() {
    let place = Place::new();
    let store = place.at("store");
    let array = ["create", &store, "/a", "--shape", "100,4", "--dtype", "uint8", "--chunks", "10,4"];
    bytes(&[&array[..], &["--dimension-names", "y,x"]].concat());
    let elements: Vec<u8> = (0..400_u32).map(|number| (number % 251) as u8).collect();
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("elements", &elements)]);
    let copy = place.at("copy");
    let select = ["--select", "y=[30:90]"];
    for part in ["1/3", "3/3", "1/3", "2/3"] {
        bytes(&[&["copy", &store, &copy, "--partition", part][..], &select].concat());
    }
    assert_eq!(elements_of(&copy), elements[120..360]);
    let verified = place.at("verified");
    bytes(&[&["copy", &store, &verified, "--verify"][..], &select].concat());
    assert_eq!(elements_of(&verified), elements[120..360]);
}

/// The copy has chunks of eight rows, which begin in the middle of chunks of the source. The plan must count two reads
/// for each chunk of the source except the first and the last one.
#[test]
fn the_plan_counts_the_chunks_that_a_selection_cuts() {
    let place = Place::new();
    let store = place.at("store");
    let array = ["create", &store, "/a", "--shape", "64,16384", "--dtype", "int16", "--chunks", "8,16384"];
    bytes(&[&array[..], &["--dimension-names", "y,x"]].concat());
    let plan = |selection: &str| {
        let command = ["--memory", "1MiB", "copy", &store, &place.at("copy"), "--chunks", "8,16384"];
        text(&[&command[..], &["--codec", "gzip", "--plan", "--select", selection]].concat())
    };
    let cut = plan("y=[4:60]");
    assert!(cut.contains("each chunk is read 1.75 times on average"), "{cut}");
    assert!(cut.contains("reads   3.5 MiB of elements, and writes 1.8 MiB"), "{cut}");
    let aligned = plan("y=[8:56]");
    assert!(aligned.contains("each chunk is read 1.00 times on average"), "{aligned}");
    assert!(aligned.contains("reads   1.5 MiB of elements, and writes 1.5 MiB"), "{aligned}");
    let few = plan("y=[::8]");
    assert!(few.contains("reads   2.0 MiB of elements, and writes 256.0 KiB"), "{few}");
}

#[test]
fn paths_limit_a_selection_and_positions_select_in_one_array() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    bytes(&["copy", &store, &place.at("more/g"), "--path", "/t2m"]);
    let copy = place.at("copy");
    bytes(&["copy", &store, &copy, "--select", "/t2m=1:,[0,3]", "--path", "/t2m"]);
    assert_eq!(elements(&copy, "/t2m"), "[[4, 7], [8, 11]]");
    let other = place.at("other");
    bytes(&["copy", &store, &other, "--select", "time=[0]", "--select", "/t2m=time=[2]"]);
    assert_eq!(elements(&other, "/t2m"), "[[8, 9, 10, 11]]");
    assert_eq!(elements(&other, "/time"), "[0]");
}

#[test]
fn selections_that_fit_no_array_are_refused_before_anything_is_written() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    for (selection, part) in [
        ("tme=2001", "no array to copy has a dimension `tme`; did you mean `time`?"),
        ("0:2", "`copy` selects by dimension name"),
        ("/none=0:2", "there is no array to copy at `/none`"),
        ("/lat=time=2001", "no array to copy at or below `/lat` has a dimension `time`"),
        ("lat=31", "/t2m: --select `lat=31`: the coordinate has no 31; the nearest value is 30"),
        ("/t2m=9", "/t2m: "),
        ("time=2001-02,5", "expected NAME=VALUE"),
    ] {
        let message = refused(&["copy", &store, &place.at("copy"), "--select", selection], 1);
        assert!(message.contains(part), "{selection}: {message}");
    }
    assert!(place.files("copy").is_empty());
}

#[test]
fn parts_and_interrupted_copies_of_a_selection_are_completed() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    let select = ["--select", "lat=[[3,1,0]]", "--chunks", "1,1"];
    let copy = place.at("copy");
    for part in ["1/2", "2/2"] {
        bytes(&[&["copy", &store, &copy, "--partition", part][..], &select].concat());
    }
    let expected = "[[3, 1, 0], [7, -99, 4], [11, 9, 8]]";
    assert_eq!(elements(&copy, "/t2m"), expected);
    // The copy compares elements, and finds that the other arrays are complete.
    fs::remove_dir_all(place.path("copy/t2m")).unwrap();
    bytes(&[&["copy", &store, &copy][..], &select].concat());
    assert_eq!(elements(&copy, "/t2m"), expected);
    // A copy with another selection is refused, because the existing arrays have other elements.
    let other = ["copy", &store, &copy, "--select", "lat=[[3,1,2]]", "--chunks", "1,1"];
    assert!(refused(&other, 1).contains("/lat"), "{}", refused(&other, 1));
}

#[test]
fn damaged_chunks_leave_the_fill_value_in_a_selection() {
    let place = Place::new();
    let store = place.at("store");
    let array = ["create", &store, "/a", "--shape", "8,8", "--dtype", "uint8", "--dimension-names", "y,x"];
    bytes(&[&array[..], &["--chunks", "2,2", "--shards", "4,4", "--fill", "255"]].concat());
    let numbers: Vec<u8> = (0..64).collect();
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("elements", &numbers)]);
    fs::write(place.path("store/a/c/0/1"), b"damaged").unwrap();
    for selection in ["y=[1:7:2],x=[3:8]", "y=[[6,1]],x=[[7,0,4]]"] {
        let copy = place.at(&format!("copy{}", selection.len()));
        let output = run(&[
            "copy",
            &store,
            &copy,
            "--select",
            selection,
            "--chunks",
            "8,8",
            "--shards",
            "none",
            "--skip-unreadable",
        ]);
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1, "{selection}");
        let expected = match selection.contains("[[") {
            false => "[[11, 255, 255, 255, 255], [27, 255, 255, 255, 255], [43, 44, 45, 46, 47]]",
            true => "[[55, 48, 52], [255, 8, 255]]",
        };
        assert_eq!(elements(&copy, "/a"), expected);
    }
}
