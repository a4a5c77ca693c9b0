//! Leftovers of interrupted and killed programs, and how `clean` removes them.

use crate::support::{Place, bytes, refused, run, text};

fn create(store: &str, path: &str) {
    bytes(&[
        "create", store, path, "--shape", "4,6", "--chunks", "2,3", "--dtype", "int8", "--codec", "none",
    ]);
}

fn fill(place: &Place, store: &str, path: &str) {
    bytes(&["put", "--format", "raw", store, path, &place.file("ones", &[1; 24])]);
}

#[test]
fn chunks_without_a_document_are_found_and_removed() {
    let place = Place::new();
    let store = place.at("store");
    create(&store, "/g/a");
    create(&store, "/g/b");
    fill(&place, &store, "/g/a");
    fill(&place, &store, "/g/b");
    place.file("store/g/notes.txt", b"text");
    std::fs::remove_file(place.path("store/g/a/zarr.json")).unwrap();
    let before = place.files("store");
    let found = text(&["clean", &store, "--older-than", "0s", "--dry-run"]);
    assert!(found.contains("store/g/a/: 4 chunks, 24 B: array metadata is missing\n"), "{found}");
    assert!(found.ends_with("4 files, 24 B, would be removed\n"), "{found}");
    assert_eq!(place.files("store"), before);
    // By default, `clean` keeps the files of the last day, because another program may be writing them.
    assert!(text(&["clean", &store]).contains("4 files, 24 B, kept because"));
    assert_eq!(place.files("store"), before);
    text(&["clean", &store, "--older-than", "0s"]);
    assert!(!place.path("store/g/a").exists() && place.path("store/g/notes.txt").exists());
    assert_eq!(bytes(&["get", &store, "/g/b", "--format", "raw"]), [1; 24]);
}

#[test]
fn a_folder_that_an_interrupted_copy_leaves_is_emptied() {
    for format in ["v2", "v3", "v3-draft"] {
        let place = Place::new();
        let store = place.at("store");
        let copy = place.at("copy");
        bytes(&["create", &store, "/first", "--shape", "", "--dtype", "int8", "--format", format]);
        create(&store, "/g/a");
        fill(&place, &store, "/g/a");
        bytes(&["copy", &store, &copy]);
        let documents = place.files("copy").into_iter().filter(|file| {
            file.starts_with("meta")
                || file.ends_with("zarr.json")
                || file.rsplit('/').next().unwrap().starts_with(".z")
        });
        documents.for_each(|file| std::fs::remove_file(place.path("copy").join(file)).unwrap());
        assert_eq!(place.files("copy").len(), 4, "{format}");
        text(&["clean", &copy, "--older-than", "0s"]);
        assert!(place.files("copy").is_empty(), "{format}");
    }
}

#[test]
fn chunks_outside_the_shape_are_found_and_removed() {
    let place = Place::new();
    let store = place.at("store");
    create(&store, "/a");
    fill(&place, &store, "/a");
    let document = place.path("store/a/zarr.json");
    let shorter = std::fs::read_to_string(&document)
        .unwrap()
        .replacen("4,\n", "2,\n", 1)
        .replacen("[4, 6]", "[2, 6]", 1);
    std::fs::write(&document, shorter).unwrap();
    let found = text(&["clean", &store, "--older-than", "0s"]);
    assert!(found.contains("store/a/: 2 chunks, 12 B: outside of the shape of the array"), "{found}");
    assert_eq!(bytes(&["get", &store, "/a", "--format", "raw"]), [1; 12]);
}

#[test]
fn files_left_by_get_are_found_and_others_are_not() {
    let place = Place::new();
    place.file("out/a.npy.5488.part", b"left");
    place.file("out/film.part", b"kept");
    place.file("out/2024/05/1", b"kept");
    let found = text(&["clean", &place.at("out"), "--older-than", "0s"]);
    assert!(found.contains("a.npy.5488.part\n1 file, 4 B, removed"), "{found}");
    assert_eq!(place.files("out"), ["2024/05/1", "film.part"]);
}

/// Creates a store of this format with a group `/g`, and with chunks of an array `/g/a` whose document is missing.
fn with_chunks_left(format: &str) -> (Place, String) {
    let place = Place::new();
    let store = place.at("store");
    let more =
        ["--shape", "4,6", "--chunks", "2,3", "--dtype", "int8", "--codec", "none", "--format", format];
    for path in ["/g/a", "/g/b"] {
        bytes(&[&["create", &store, path], &more[..]].concat());
        fill(&place, &store, path);
    }
    for document in ["g/a/zarr.json", "g/a/.zarray", "meta/g/a.array.json"] {
        let _other_format = std::fs::remove_file(place.path("store").join(document));
    }
    (place, store)
}

#[test]
fn a_path_with_chunks_and_without_a_node_is_reported_with_the_command_that_removes_them() {
    for format in ["v2", "v3", "v3-draft"] {
        let (_place, store) = with_chunks_left(format);
        let hint = format!(
            "the store has 4 chunks there, which an interrupted operation probably left: `zarrctl clean {store}` removes \
             what is left"
        );
        for verb in ["info", "get", "tree"] {
            let message = refused(&[verb, &store, "/g/a"], 1);
            assert!(message.contains(&hint), "{format} {verb}: {message}");
            let other = refused(&[verb, &store, "/g/x"], 1);
            assert!(!other.contains("clean"), "{format} {verb}: {other}");
        }
        text(&["clean", &store, "--older-than", "0s"]);
        let message = refused(&["info", &store, "/g/a"], 1);
        assert!(!message.contains("clean"), "{format}: {message}");
    }
}

#[test]
fn a_folder_with_chunks_and_without_a_hierarchy_is_reported_with_the_command_that_removes_them() {
    let place = Place::new();
    place.file("store/a/c/0/0", b"left");
    place.file("other/notes.txt", b"text");
    let store = place.at("store");
    let hint = format!(
        "1 chunk, which an interrupted operation probably left: `zarrctl clean {store}` removes what is left"
    );
    for arguments in [&["info", &store][..], &["tree", &store], &["get", &store, "/a"]] {
        let message = refused(arguments, 1);
        assert!(message.contains(&hint), "{message}");
    }
    assert!(!refused(&["info", &place.at("other")], 1).contains("clean"));
}

#[test]
fn info_warns_of_chunks_outside_the_shape() {
    let place = Place::new();
    let store = place.at("store");
    create(&store, "/a");
    fill(&place, &store, "/a");
    text(&["info", &store, "/a"]);
    place.file("store/a/c/0/7", b"left");
    let output = run(&["info", &store, "/a"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{message}");
    let hint = "/a: the store has 1 chunk outside of the shape, which an interrupted operation probably left";
    assert!(message.contains(hint) && message.contains("`zarrctl clean "), "{message}");
}

#[test]
fn create_prints_how_many_chunks_it_removes() {
    for format in ["v2", "v3", "v3-draft"] {
        let (_place, store) = with_chunks_left(format);
        let more = ["--shape", "4,6", "--chunks", "2,3", "--dtype", "int8"];
        let output = run(&[&["create", &store, "/g/a"], &more[..]].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{message}");
        assert!(
            message.contains("/g/a: removed 4 chunks that an interrupted operation left"),
            "{format}: {message}"
        );
        assert_eq!(bytes(&["get", &store, "/g/a", "--format", "raw"]), [0; 24], "{format}");
    }
}

#[test]
fn a_copy_erases_chunks_that_an_earlier_array_left() {
    let place = Place::new();
    let store = place.at("store");
    let copy = place.at("copy");
    create(&store, "/a");
    fill(&place, &store, "/a");
    place.file("copy/a/c/0/0", b"left");
    place.file("copy/a/c/5/7", b"outside of the new shape");
    text(&["copy", &store, &copy]);
    let chunks = place.files("copy").into_iter().filter(|file| file.starts_with("a/c/"));
    assert_eq!(chunks.collect::<Vec<_>>(), ["a/c/0/0", "a/c/0/1", "a/c/1/0", "a/c/1/1"]);
    assert_eq!(bytes(&["get", &copy, "/a", "--format", "raw"]), [1; 24]);
}

#[test]
fn a_copy_that_fails_reports_that_chunks_are_left() {
    let place = Place::new();
    let store = place.at("store");
    let copy = place.at("copy");
    bytes(&[
        "create", &store, "/a", "--shape", "4", "--chunks", "1", "--dtype", "float32", "--codec", "none",
    ]);
    // Only the last chunk has an element that loses bits.
    let elements: Vec<u8> =
        [1.0f32, 1.0, 1.0, 1.1].iter().flat_map(|element| element.to_le_bytes()).collect();
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("elements.raw", &elements)]);
    let message = refused(&["copy", &store, &copy, "--codec", r#"bitround:{"keepbits":1}"#], 1);
    let hint = format!("copied chunks remain in `{copy}` without metadata; `zarrctl clean` removes");
    assert!(message.contains(&hint), "{message}");
    assert!(!place.files("copy").is_empty(), "nothing was copied before: {message}");
}

#[cfg(target_os = "linux")]
mod signals {
    use std::process::{Child, Command, Output, Stdio};
    use std::thread;
    use std::time::Duration;

    use crate::support::{Place, bytes, program};

    /// Sends a signal to a program as soon as the program has a handler for the signal. Waits for the program to end.
    fn interrupted(child: Child, signal: &str, bit: u64) -> Output {
        interrupted_after(child, signal, bit, Duration::ZERO)
    }

    /// Sends a signal to a program `delay` after the program has a handler for the signal. Waits for the program to
    /// end.
    fn interrupted_after(mut child: Child, signal: &str, bit: u64, delay: Duration) -> Output {
        // Standard input stays open, so that only the signal ends the program.
        let _stdin = child.stdin.take();
        let status = format!("/proc/{}/status", child.id());
        let is_caught = || {
            let status = std::fs::read_to_string(&status).unwrap();
            let caught =
                status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_owned();
            u64::from_str_radix(&caught, 16).unwrap() & bit != 0
        };
        while !is_caught() {
            assert_eq!(child.try_wait().unwrap(), None, "it ended before the signal");
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(delay);
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        child.wait_with_output().unwrap()
    }

    fn messages(output: &Output) -> String {
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    #[test]
    fn an_interrupted_get_leaves_no_file() {
        let place = Place::new();
        let store = place.at("store");
        bytes(&["create", &store, "/a", "--shape", "1000000000000", "--dtype", "int8"]);
        for (signal, bit, status) in [("-INT", 1 << 1, 130), ("-TERM", 1 << 14, 143)] {
            let mut command = program();
            command.args(["get", &store, "/a", "-o", &place.at("out.raw")]).stderr(Stdio::piped());
            let output = interrupted(command.spawn().unwrap(), signal, bit);
            assert_eq!(output.status.code(), Some(status), "{}", messages(&output));
            assert!(messages(&output).contains("interrupted; `"), "{}", messages(&output));
            assert!(place.files("").iter().all(|file| file.starts_with("store/")), "{:?}", place.files(""));
        }
    }

    /// Sends signals after several delays. The first comes as soon as the program has a handler.
    fn after_signals(place: &Place, arguments: &[&str]) {
        for delay in [0, 5, 20, 50, 100, 200] {
            let mut command = program();
            let child = command.args(arguments).stderr(Stdio::piped()).spawn().unwrap();
            let output = interrupted_after(child, "-TERM", 1 << 14, Duration::from_millis(delay));
            let code = output.status.code();
            assert!(code == Some(143) || delay > 0 && code == Some(0), "{}", messages(&output));
            let hidden = place.files("").into_iter().filter(|file| file.contains(".zarr-tmp-"));
            assert_eq!(hidden.collect::<Vec<_>>(), [""; 0], "{arguments:?} after {delay} ms");
        }
    }

    #[test]
    fn an_interrupted_put_or_copy_leaves_no_temporary_files() {
        let place = Place::new();
        let store = place.at("store");
        let shape = ["--shape", "3000,1000", "--chunks", "30,100", "--dtype", "float64"];
        bytes(&[&["create", &store, "/a"], &shape[..]].concat());
        // These elements do not compress well, so writing takes long enough for the signals.
        let words = (0..6_000_000_u32).map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes());
        let elements: Vec<u8> = words.flatten().collect();
        let file = place.file("elements.raw", &elements);
        let put = ["put", &store, "/a", &file, "--format", "raw"];
        bytes(&put);
        after_signals(&place, &put);
        let copy = ["copy", &store, &place.at("copy"), "--chunks", "7,90", "--codec", "gzip"];
        after_signals(&place, &copy);
    }

    #[test]
    fn an_interrupted_put_without_elements_reports_that_nothing_was_written() {
        let place = Place::new();
        let store = place.at("store");
        bytes(&["create", &store, "/a", "--shape", "10", "--dtype", "int8"]);
        let mut command = program();
        command.args(["put", &store, "/a", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let output = interrupted(command.spawn().unwrap(), "-INT", 1 << 1);
        assert_eq!(output.status.code(), Some(130), "{}", messages(&output));
        assert_eq!(messages(&output), "interrupted; nothing was written\n");
        assert_eq!(place.files("store/a"), ["zarr.json"]);
    }

    #[test]
    fn an_interrupted_copy_reports_whether_files_remain() {
        let place = Place::new();
        let store = place.at("store");
        bytes(&["create", &store, "/a", "--shape", "4000", "--chunks", "1", "--dtype", "int8"]);
        bytes(&["put", &store, "/a", &place.file("elements.raw", &[1; 4000]), "--format", "raw"]);
        for (number, delay) in [0, 0, 20, 50].into_iter().enumerate() {
            let copy = format!("copy{number}");
            let mut command = program();
            command.args(["copy", &store, &place.at(&copy), "--codec", "gzip"]).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            let output = interrupted_after(child, "-TERM", 1 << 14, Duration::from_millis(delay));
            if output.status.code() == Some(0) {
                continue;
            }
            let expected =
                if place.files(&copy).is_empty() { "nothing was written" } else { "chunks remain" };
            assert!(messages(&output).contains(expected), "{}: {:?}", messages(&output), place.files(&copy));
        }
    }

    /// Runs a command in the folder of a test, and sends SIGINT when the folder `to` has at least `count` files. Returns
    /// whether it was interrupted.
    fn is_interrupted_at(place: &Place, arguments: &[&str], to: &str, count: usize) -> bool {
        let mut command = program();
        command.args(arguments).current_dir(place.path("")).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let has_handler = || {
            let status = std::fs::read_to_string(&status).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            caught.is_some_and(|caught| u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << 1) != 0)
        };
        while (!has_handler() || place.seen(to) < count) && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        let process = child.id().to_string();
        let _too_late = Command::new("kill").args(["-INT", &process]).stderr(Stdio::null()).status().unwrap();
        let output = child.wait_with_output().unwrap();
        let messages = messages(&output);
        if output.status.code() != Some(130) {
            // A copy that was complete already is refused.
            let is_over = output.status.success() || messages.contains("may be complete already");
            assert!(is_over, "{arguments:?} at {count}: {messages}");
            return false;
        }
        let next = ["with --resume to continue it", "run it again to finish it", "nothing was written"];
        assert!(messages.starts_with("interrupted; "), "{messages}");
        assert!(next.iter().any(|next| messages.contains(next)), "{messages}");
        true
    }

    /// Copies without recoding, with other chunks, and in two passes.
    #[test]
    fn an_interrupted_copy_is_resumed_and_reaches_the_same_digest() {
        let place = Place::new();
        let store = place.at("store");
        let array =
            ["create", &store, "/a", "--shape", "1000,1024", "--chunks", "1,1024", "--dtype", "int32"];
        bytes(&[&array[..], &["--codec", "gzip"]].concat());
        let words = (0..1_024_000_u32).map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes());
        let elements: Vec<u8> = words.flatten().collect();
        bytes(&["put", "--format", "raw", &store, "/a", &place.file("elements", &elements)]);
        let expected = bytes(&["digest", &store]);
        for options in [
            &[][..],
            &["--chunks", "10,16", "--codec", "gzip", "--verify"],
            &["--memory", "4MiB", "--chunks", "1000,16", "--codec", "gzip"],
        ] {
            let copy = [&["copy", "store", "copy"], options].concat();
            let mut interrupted = 0;
            for count in [2, 30, 150] {
                // The same copy is interrupted twice.
                interrupted += usize::from(is_interrupted_at(&place, &copy, "copy", count));
                let resumed = [&copy[..], &["--resume"]].concat();
                if interrupted > 0 {
                    is_interrupted_at(&place, &resumed, "copy", count + 20);
                }
                let output = program().args(&resumed).current_dir(place.path("")).output().unwrap();
                let is_complete = messages(&output).contains("may be complete already");
                assert!(output.status.success() || is_complete, "{}", messages(&output));
                assert_eq!(bytes(&["digest", &place.at("copy")]), expected, "{options:?} {count}");
                assert!(!place.path("copy/__zarrctl").exists(), "{options:?} {count}");
                std::fs::remove_dir_all(place.path("copy")).unwrap();
            }
            assert!(interrupted > 0, "{options:?}: the copies ended before the signals");
        }
    }

    #[test]
    fn an_interrupted_repair_is_run_again() {
        const LEFT: usize = 1500;
        let place = Place::new();
        let store = place.at("store");
        bytes(&["create", &store, "/a", "--shape", "4", "--dtype", "int8"]);
        bytes(&["put", &store, "/a", "--value", "3"]);
        let expected = bytes(&["digest", &store]);
        for number in 0..LEFT {
            place.file(&format!("store/old/c/{number}"), b"left");
        }
        let repair = ["repair", "store", "--run"];
        let mut interrupted = 0;
        for count in [3, 300, 900] {
            interrupted +=
                usize::from(is_interrupted_at(&place, &repair, "store/__zarrctl/quarantine", count));
        }
        assert!(interrupted > 0, "the repairs ended before the signals");
        let output = program().args(repair).current_dir(place.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", messages(&output));
        assert_eq!(place.files("store/__zarrctl/quarantine").len(), LEFT);
        assert_eq!(bytes(&["digest", &store]), expected);
        bytes(&["verify", &store]);
    }
}
