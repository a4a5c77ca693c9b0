//! Copies that are killed and resumed, and copies in several parts.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output};
use std::thread;

use crate::kills::kills;
use crate::kills::trace::{self, End};
use crate::support::{Place, bytes, program, refused, run, text};

/// Creates arrays of several sizes with elements, some of them missing, in a folder `source`.
fn source(place: &Place) -> String {
    let store = place.at("source");
    let arrays = [
        ("/t2m", "12,4,5", "1,4,5", "time,lat,lon"),
        ("/ocean/sst", "12,4,5", "6,2,5", "time,lat,lon"),
        ("/time", "12", "12", "time"),
    ];
    for (path, shape, chunks, names) in arrays {
        let array = ["create", &store, path, "--shape", shape, "--chunks", chunks, "--dtype", "int16"];
        bytes(&[&array[..], &["--dimension-names", names]].concat());
        let count = shape.split(',').map(|length| length.parse::<u16>().unwrap()).product::<u16>();
        // The first row is the fill value.
        let elements: Vec<u8> =
            (0..count).flat_map(|number| if number < 20 { [0; 2] } else { number.to_le_bytes() }).collect();
        bytes(&["put", "--format", "raw", &store, path, &place.file("elements", &elements)]);
    }
    rows(place, &store);
    store
}

/// Adds an array whose rows are chunks. With little memory, it becomes columns in two passes.
fn rows(place: &Place, store: &str) {
    let array = ["create", store, "/rows", "--shape", "64,16384", "--chunks", "1,16384", "--dtype", "int16"];
    bytes(&[&array[..], &["--codec", "none"]].concat());
    let elements: Vec<u8> =
        (0..64 * 16384_u32).flat_map(|number| ((number % 30011) as u16).to_le_bytes()).collect();
    bytes(&["put", "--format", "raw", store, "/rows", &place.file("rows", &elements)]);
}

fn digest(store: &str) -> String {
    text(&["digest", store])
}

/// The options of a copy: without recoding, in one pass, and in two passes.
const COPIES: [&[&str]; 3] = [
    &["copy", "source", "copy", "--exclude", "rows"],
    &["copy", "source", "copy", "--chunks", "time=4", "--codec", "gzip", "--exclude", "rows"],
    &["--memory", "1MiB", "copy", "source", "copy", "--chunks", "/rows=64,256", "--include", "rows"],
];

fn command(arguments: &[&str]) -> Command {
    let mut command = program();
    command.args(arguments);
    command
}

/// Runs a command in the folder of a test.
fn ran(place: &Place, arguments: &[&str]) -> Output {
    command(arguments).current_dir(place.path("")).output().unwrap()
}

fn succeeds(place: &Place, arguments: &[&str]) {
    let output = ran(place, arguments);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && messages.is_empty(), "{arguments:?}: {messages}");
}

/// Kills a command at one of its moments: the starts and ends of system calls that change files.
fn kill(place: &Place, arguments: &[&str], moment: usize) {
    let killed = trace::run(&command(arguments), &place.path(""), Some(moment.max(1)));
    assert_eq!(killed.end, End::Killed, "{arguments:?}");
}

/// Returns the number of moments of a command. The command runs to its end, and its copy is removed afterwards.
fn moments(place: &Place, arguments: &[&str]) -> usize {
    let whole = trace::run(&command(arguments), &place.path(""), None);
    assert_eq!(whole.end, End::Exited(0), "{arguments:?}");
    whole.moments
}

/// Returns the identities of the stored chunks, which change if a chunk is written again.
fn chunks(place: &Place) -> Vec<(String, u64)> {
    let files = place
        .files("copy")
        .into_iter()
        .filter(|file| file.contains("/c/") && !file.contains("__") && !file.contains(".zarr-tmp"));
    let identity = |file: String| {
        let inode = fs::metadata(place.path("copy").join(&file)).unwrap().ino();
        (file, inode)
    };
    files.map(identity).collect()
}

#[test]
fn a_killed_copy_is_resumed_and_reaches_the_same_digest() {
    for arguments in COPIES {
        let place = Place::new();
        source(&place);
        let moments = moments(&place, arguments);
        let expected = digest(&place.at("copy"));
        let files = place.files("copy");
        for number in 0..kills() {
            fs::remove_dir_all(place.path("copy")).unwrap();
            // The kills are spread evenly over the run.
            let moment = moments * (2 * number + 1) / (2 * kills());
            kill(&place, arguments, moment);
            let before = chunks(&place);
            succeeds(&place, &[arguments, &["--resume"]].concat());
            // The kill may have left a temporary file.
            text(&["clean", &place.at("copy"), "--older-than", "0s"]);
            assert_eq!(digest(&place.at("copy")), expected, "{arguments:?} {moment}");
            assert_eq!(place.files("copy"), files, "{arguments:?} {moment}");
            let again = chunks(&place);
            let rewritten = before.iter().filter(|chunk| !again.contains(chunk)).count();
            // Decoded chunks are written in boxes of several chunks, and an incomplete box is written again as a whole.
            assert!(
                arguments != COPIES[0] || rewritten == 0,
                "{arguments:?} {moment}: {rewritten} of {}",
                before.len()
            );
        }
    }
}

#[test]
fn a_killed_copy_starts_again_with_other_options_or_without_resume() {
    let place = Place::new();
    source(&place);
    let [first, second, _] = COPIES;
    let moments = moments(&place, first);
    let expected = digest(&place.at("copy"));
    for more in [&["--resume"][..], &[]] {
        fs::remove_dir_all(place.path("copy")).unwrap();
        kill(&place, first, moments / 2);
        assert!(place.files("copy").iter().any(|file| file.starts_with("__zarrctl/")));
        succeeds(&place, &[second, more].concat());
        assert_eq!(digest(&place.at("copy")), expected, "{more:?}");
        assert!(!place.path("copy/__zarrctl").exists(), "{:?}", place.files("copy"));
    }
    fs::remove_dir_all(place.path("copy")).unwrap();
    kill(&place, first, moments / 2);
    text(&["clean", &place.at("copy"), "--older-than", "0s"]);
    assert!(place.files("copy").is_empty(), "{:?}", place.files("copy"));
}

/// Runs parts at the same time. Part `killed` is killed.
fn run_parts(place: &Place, arguments: &[&str], killed: Option<usize>) -> Vec<Option<Output>> {
    let part = |number: usize| {
        let part = format!("{number}/4");
        let arguments = [arguments, &["--partition", &part]].concat();
        match killed == Some(number) {
            true => {
                let killed = trace::run(&command(&arguments), &place.path(""), Some(2));
                assert_eq!(killed.end, End::Killed);
                None
            }
            false => Some(ran(place, &arguments)),
        }
    };
    thread::scope(|scope| {
        let parts: Vec<_> = (1..=4).map(|number| scope.spawn(move || part(number))).collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    })
}

fn all_succeed(parts: &[Option<Output>]) {
    for output in parts.iter().flatten() {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn four_parts_at_once_reach_the_same_digest_after_one_is_killed() {
    for arguments in &COPIES[..2] {
        let place = Place::new();
        source(&place);
        bytes(&["copy", &place.at("source"), &place.at("whole"), "--exclude", "rows"]);
        let expected = digest(&place.at("whole"));
        for killed in [1, 3] {
            all_succeed(&run_parts(&place, arguments, Some(killed)));
            let message = warned(&["tree", &place.at("copy")], 0);
            let missing = format!("part {killed} of 4 is missing; run it with --partition {killed}/4;");
            assert!(message.contains(&missing), "{message}");
            let again = format!("{killed}/4");
            succeeds(&place, &[arguments, &["--partition", &again, "--consolidate"][..]].concat());
            assert_eq!(digest(&place.at("copy")), expected, "{arguments:?} {killed}");
            assert!(!place.path("copy/__zarrctl").exists(), "{:?}", place.files("copy"));
            assert!(fs::read_to_string(place.path("copy/zarr.json")).unwrap().contains("consolidated"));
            fs::remove_dir_all(place.path("copy")).unwrap();
        }
        all_succeed(&run_parts(&place, arguments, None));
        assert_eq!(digest(&place.at("copy")), expected, "{arguments:?}");
        assert!(!place.path("copy/__zarrctl").exists(), "{:?}", place.files("copy"));
    }
}

/// Runs a command on an unfinished copy, and returns the messages of the command.
fn warned(arguments: &[&str], status: i32) -> String {
    let output = run(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {message}");
    assert!(message.starts_with("warning: "), "{arguments:?}: {message}");
    message
}

#[test]
fn the_first_part_creates_the_metadata_and_verbs_warn_until_the_last_one() {
    for arguments in &COPIES[..2] {
        let place = Place::new();
        source(&place);
        let copy = place.at("copy");
        bytes(&["copy", &place.at("source"), &place.at("whole"), "--exclude", "rows"]);
        let part = |number: u64| {
            succeeds(&place, &[arguments, &["--partition", &format!("{number}/4")][..]].concat());
        };
        part(2);
        for path in ["zarr.json", "t2m/zarr.json", "time/zarr.json", "ocean/zarr.json", "ocean/sst/zarr.json"]
        {
            assert!(place.path("copy").join(path).exists(), "{path}");
        }
        let before = place.files("copy");
        let missing = "a copy is not complete: parts 1, 3 and 4 of 4 are missing; run them with --partition i/4; \
                       elements that are not copied yet read as the fill value\n";
        for verb in
            [&["tree"][..], &["info"], &["digest"], &["get", "/t2m"], &["show", "/t2m"], &["attrs", "/t2m"]]
        {
            let message = warned(&[&verb[..1], &[&copy], &verb[1..]].concat(), 0);
            assert!(message.contains(missing), "{verb:?}: {message}");
        }
        let output = run(&["verify", &copy, "--level", "metadata"]);
        let report = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(3), "{report}");
        assert!(report.starts_with("damage: a copy is not complete: parts 1, 3 and 4"), "{report}");
        // `clean` must keep the markers, without which the copy would look complete.
        let cleaned = text(&["clean", &copy, "--older-than", "0s"]);
        assert!(
            cleaned.contains(": kept: a copy is not complete: parts 1, 3 and 4 of 4 are missing; "),
            "{cleaned}"
        );
        assert!(cleaned.contains("erase its arrays: /ocean/sst, /t2m, /time\n"), "{cleaned}");
        let repaired = run(&["repair", &copy, "--run"]);
        assert_eq!(repaired.status.code(), Some(3));
        let repaired = String::from_utf8(repaired.stdout).unwrap();
        assert!(repaired.starts_with("not repairable: damage: a copy is not complete"), "{repaired}");
        assert_eq!(place.files("copy"), before);
        [4, 1, 3].into_iter().for_each(part);
        assert_eq!(digest(&copy), digest(&place.at("whole")), "{arguments:?}");
        bytes(&["verify", &copy]);
    }
}

#[test]
fn a_copy_in_parts_is_given_up_by_erasing_its_arrays() {
    let place = Place::new();
    source(&place);
    let copy = place.at("copy");
    let first = [COPIES[0], &["--partition", "1/2"]].concat();
    succeeds(&place, &first);
    warned(&["erase", &copy, "/"], 0);
    let cleaned = text(&["clean", &copy, "--older-than", "0s"]);
    assert!(cleaned.contains("a copy that is not complete\n"), "{cleaned}");
    assert!(place.files("copy").is_empty(), "{:?}", place.files("copy"));
    succeeds(&place, &first);
}

#[test]
fn parts_refuse_metadata_that_is_not_that_of_the_first_part() {
    for (path, set) in [("/t2m", "units=1"), ("/ocean", "title=1"), ("/", "title=1")] {
        let place = Place::new();
        let store = source(&place);
        bytes(&["attrs", &store, "/", "--set", "source=1"]);
        bytes(&["attrs", &store, "/ocean", "--set", "source=1"]);
        succeeds(&place, &[COPIES[1], &["--partition", "1/2"]].concat());
        warned(&["attrs", &place.at("copy"), path, "--set", set], 0);
        let before = place.files("copy");
        let output = ran(&place, &[COPIES[1], &["--partition", "2/2"]].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        let reason = format!("  {path}: its metadata in the destination differs from the plan of this part");
        assert!(message.starts_with("error: nothing is copied:\n") && message.contains(&reason), "{message}");
        assert_eq!(place.files("copy"), before);
    }
}

/// Any part creates the documents that a killed part has not created. The killed part runs again, first or last.
#[test]
fn a_part_is_killed_while_it_creates_the_metadata() {
    for format in ["v3", "v2", "v3-draft"] {
        let place = Place::new();
        source(&place);
        bytes(&["copy", &place.at("source"), &place.at("whole"), "--exclude", "rows"]);
        let expected = digest(&place.at("whole"));
        let part = |number: &'static str| [COPIES[1], &["--format", format, "--partition", number]].concat();
        for moment in 1..24 {
            let killed = trace::run(&command(&part("1/2")), &place.path(""), Some(moment));
            assert_eq!(killed.end, End::Killed, "{format} {moment}");
            let order = if moment % 2 == 0 { ["1/2", "2/2"] } else { ["2/2", "1/2"] };
            // Copies to v2 and the draft print what they lose, so their messages are not empty.
            for number in order {
                all_succeed(&[Some(ran(&place, &part(number)))]);
            }
            assert_eq!(digest(&place.at("copy")), expected, "{format} {moment}");
            assert!(!place.path("copy/__zarrctl").exists(), "{format} {moment}: {:?}", place.files("copy"));
            fs::remove_dir_all(place.path("copy")).unwrap();
        }
    }
}

#[test]
fn two_passes_are_two_arrays_of_jobs() {
    let place = Place::new();
    source(&place);
    let copy = COPIES[2];
    let first = [copy, &["--pass", "1"]].concat();
    let second = [copy, &["--pass", "2"]].concat();
    let refusal = |arguments: &[&str], part: &str| {
        let output = ran(&place, &[arguments, &["--partition", part]].concat());
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refusal(copy, "1/4").contains("run all parts with --pass 1"));
    assert!(refusal(&second, "1/4").contains("has not begun"));
    all_succeed(&run_parts(&place, &first, Some(2)));
    let message = refusal(&second, "3/4");
    assert!(
        message.contains("the first pass is not complete: part 2 of 4 is missing; run --pass 1 first"),
        "{message}"
    );
    succeeds(&place, &[&first[..], &["--partition", "2/4"]].concat());
    all_succeed(&run_parts(&place, &second, Some(4)));
    succeeds(&place, &[&second[..], &["--partition", "4/4"]].concat());
    bytes(&["copy", &place.at("source"), &place.at("whole"), "--include", "rows"]);
    assert_eq!(digest(&place.at("copy")), digest(&place.at("whole")));
    assert!(!place.path("copy/__zarrctl").exists(), "{:?}", place.files("copy"));
}

#[test]
fn parts_refuse_another_plan_and_chunks_of_another_copy() {
    let place = Place::new();
    source(&place);
    let [first, second, _] = COPIES;
    succeeds(&place, &[first, &["--partition", "1/2"]].concat());
    for (arguments, more) in [(second, "2/2"), (first, "2/3")] {
        let output = ran(&place, &[arguments, &["--partition", more]].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("another copy has begun in the destination"), "{message}");
        assert!(!message.contains("erase it first"), "{message}");
    }
    for more in [&[][..], &["--overwrite"]] {
        let before = place.files("copy");
        let refused = ran(&place, &[second, more].concat());
        assert!(!refused.status.success(), "{more:?}");
        assert_eq!(place.files("copy"), before, "{more:?}");
    }
    fs::remove_dir_all(place.path("copy/__zarrctl")).unwrap();
    for path in ["t2m", "time", "ocean/sst"] {
        fs::remove_file(place.path("copy").join(path).join("zarr.json")).unwrap();
    }
    let output = ran(&place, &[first, &["--partition", "2/2"]].concat());
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("the destination has chunks of the new arrays"), "{message}");
    for (more, part) in [
        (&["--partition", "0/2"][..], "`0/2` is not a part: expected i/n"),
        (&["--pass", "1"], "--partition"),
        (&["--partition", "1/2", "--overwrite"], "cannot be used with"),
    ] {
        let output = ran(&place, &[first, more].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(part), "{message}");
    }
}

/// Chunks of a copy that change before it is read back: all parts but the last are copied, or the copy is killed.
#[test]
fn a_copy_that_differs_from_its_source_is_not_completed() {
    let place = Place::new();
    source(&place);
    let copy = place.at("copy");
    let recoded = ["copy", "source", "copy", "--exclude", "rows", "--codec", "none"];
    for (arguments, damage) in
        [(COPIES[0], &b"damaged"[..]), (COPIES[1], b"damaged"), (&recoded[..], &[7, 0].repeat(20))]
    {
        let verified = [arguments, &["--verify"]].concat();
        for number in 1..=3 {
            succeeds(&place, &[&verified[..], &["--partition", &format!("{number}/4")]].concat());
        }
        let chunk = place.files("copy").into_iter().rfind(|file| file.starts_with("t2m/c/")).unwrap();
        let index = chunk.strip_prefix("t2m/c/").unwrap().replace('/', ", ");
        let before = fs::read(place.path("copy").join(&chunk)).unwrap();
        let with = |bytes: &[u8]| drop(place.file(&format!("copy/{chunk}"), bytes));
        with(damage);
        let output = ran(&place, &[&verified[..], &["--partition", "4/4"]].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{message}");
        let expected =
            format!("error: /t2m: the copy differs from its source in chunk [{index}] (`{chunk}`): ");
        assert!(message.starts_with(&expected), "{expected}: {message}");
        assert!(message.ends_with("remove the chunk, and run the same copy again, all parts\n"), "{message}");
        assert!(warned(&["tree", &copy], 0).contains("its last part was interrupted"));
        with(&before);
        succeeds(&place, &[&verified[..], &["--partition", "2/4"]].concat());
        assert!(!place.path("copy/__zarrctl").exists());
        fs::remove_dir_all(&copy).unwrap();
    }
    let moments = moments(&place, &recoded);
    fs::remove_dir_all(&copy).unwrap();
    kill(&place, &recoded, moments * 8 / 10);
    let chunk = place.files("copy").into_iter().find(|file| file.starts_with("ocean/sst/c/")).unwrap();
    place.file(&format!("copy/{chunk}"), &[7; 40]);
    let output = ran(&place, &[&recoded[..], &["--resume", "--verify"]].concat());
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains(&format!("(`{chunk}`)")), "{chunk}: {message}");
    fs::remove_file(place.path("copy").join(&chunk)).unwrap();
    succeeds(&place, &[&recoded[..], &["--resume", "--verify"]].concat());
    bytes(&["copy", &place.at("source"), &place.at("whole"), "--exclude", "rows"]);
    assert_eq!(digest(&copy), digest(&place.at("whole")));
}

#[test]
fn existing_arrays_are_replaced_on_request() {
    let place = Place::new();
    let store = source(&place);
    let copy = place.at("copy");
    bytes(&["create", &copy, "/t2m", "--shape", "100", "--chunks", "1", "--dtype", "int8"]);
    bytes(&["put", "--format", "raw", &copy, "/t2m", &place.file("ones", &[1; 100])]);
    bytes(&["create", &copy, "/other", "--shape", "1", "--dtype", "int8"]);
    bytes(&["attrs", &copy, "/", "--set", "old=1"]);
    bytes(&["attrs", &store, "/", "--set", "new=1"]);
    let message = refused(&["copy", &store, &copy], 1);
    assert!(message.contains("/t2m: ") && message.contains("/: the group already exists"), "{message}");
    let plan = text(&["copy", &store, &copy, "--overwrite", "--plan"]);
    assert!(plan.starts_with("/t2m  is erased first\n"), "{plan}");
    bytes(&["copy", &store, &copy, "--overwrite"]);
    for (more, next) in [("--resume", "--overwrite replaces it"), ("--partition=1/2", "erase it first")] {
        let message = refused(&["copy", &store, &copy, more], 1);
        assert!(message.contains(&format!("/t2m: an array already exists; {next}\n")), "{message}");
        assert!(message.contains("the copy may be complete already"), "{message}");
    }
    assert!(run(&["erase", &copy, "/other"]).status.success());
    assert_eq!(digest(&copy), digest(&store));
    let chunks = place.files("copy").into_iter().filter(|file| file.starts_with("t2m/c/")).count();
    assert_eq!(chunks, 11, "{:?}", place.files("copy"));
}

#[test]
fn several_sources_are_copied_into_one_hierarchy() {
    let place = Place::new();
    let store = source(&place);
    let other = place.at("other");
    bytes(&["create", &other, "/ocean/salt", "--shape", "3", "--dtype", "int8", "--format", "v2"]);
    let copy = place.at("copy");
    bytes(&["copy", &store, &other, &copy, "--verify", "--jobs", "2"]);
    let tree = text(&["tree", &copy]);
    assert!(["salt", "sst", "t2m"].iter().all(|name| tree.contains(name)), "{tree}");
    assert!(text(&["info", &copy, "/ocean/salt", "--json"]).contains(r#""format": "v3""#));
    let message = refused(&["copy", &store, &store, &place.at("twice")], 1);
    assert!(message.contains("/t2m: two sources have this node"), "{message}");
    assert!(place.files("twice").is_empty());
}

/// Runs a copy that leaves out what it cannot read, and returns the list.
fn skipping(arguments: &[&str]) -> String {
    let output = run(&[arguments, &["--skip-unreadable"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn unreadable_nodes_and_chunks_are_left_out_and_listed() {
    let place = Place::new();
    let store = source(&place);
    bytes(&["create", &store, "/pickle", "--shape", "1", "--dtype", "int8", "--format", "v3"]);
    let document = fs::read_to_string(place.path("source/pickle/zarr.json")).unwrap();
    place.file("source/pickle/zarr.json", document.replace("\"int8\"", "\"mystery\"").as_bytes());
    place.file("source/t2m/c/3/0/0", b"damaged");
    let copy = place.at("copy");
    let arguments = ["copy", &store, &copy, "--chunks", "time=6", "--exclude", "rows"];
    let message = refused(&arguments, 1);
    assert!(message.contains("/pickle: ") && message.contains("mystery"), "{message}");
    let list = skipping(&arguments);
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 2, "{list}");
    assert!(lines[0].starts_with("/pickle: ") && lines[1].starts_with("/t2m chunk [3, 0, 0]: "), "{list}");
    let elements =
        |store: &str, rows: &str| bytes(&["get", store, "/t2m", "--format", "raw", "--select", rows]);
    for rows in ["0:3", "4:12"] {
        assert_eq!(elements(&copy, rows), elements(&store, rows), "{rows}");
    }
    assert!(elements(&copy, "3").iter().all(|&byte| byte == 0));
    assert!(!place.path("copy/__zarrctl").exists());
}

#[test]
fn a_damaged_inner_chunk_costs_no_other_elements() {
    let place = Place::new();
    let store = place.at("source");
    let array = ["create", &store, "/a", "--shape", "8,8", "--chunks", "2,8", "--shards", "8,8"];
    bytes(&[&array[..], &["--dtype", "uint8", "--codec", "crc32c"]].concat());
    let elements: Vec<u8> = (1..=64).collect();
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("elements", &elements)]);
    let shard = place.path("source/a/c/0/0");
    let mut stored = fs::read(&shard).unwrap();
    let at = stored.iter().position(|&byte| byte == 17).unwrap();
    stored[at] = 99;
    fs::write(&shard, stored).unwrap();
    let copy = place.at("copy");
    let list = skipping(&["copy", &store, &copy, "--shards", "none", "--chunks", "8,4"]);
    assert!(list.starts_with("/a chunk [0, 0]: "), "{list}");
    let mut expected = elements;
    expected[16..32].fill(0);
    assert_eq!(bytes(&["get", &copy, "/a", "--format", "raw"]), expected);
}
