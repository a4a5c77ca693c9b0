//! `conformance`: its output, its report files and its exit status.

use crate::support::{Place, run, text};

#[test]
fn a_plugin_is_checked_and_the_report_is_written_in_each_form() {
    let place = Place::new();
    let [json, html, junit, badge] = ["a.json", "a.html", "a.xml", "badge.json"].map(|name| place.at(name));
    let said = text(&[
        "conformance",
        "plugin",
        "crc32c",
        "--json",
        &json,
        "--html",
        &html,
        "--junit",
        &junit,
        "--badge",
        &badge,
    ]);
    assert!(said.starts_with("codec `crc32c`: L"), "{said}");
    assert!(said.contains(" 0 failed"), "{said}");
    let read = |file: &str| std::fs::read_to_string(file).unwrap();
    assert!(read(&json).contains("\"suite_version\""));
    assert!(read(&html).contains("<h2>Broken rules</h2>\n<p>None.</p>"));
    assert!(read(&junit).contains("<testsuite name=\"codec `crc32c`\""));
    assert!(read(&badge).contains("brightgreen"));
}

#[test]
fn rules_above_the_level_are_skipped_and_expected_failures_are_listed() {
    let place = Place::new();
    let lowest = text(&["conformance", "plugin", "regular", "--level", "L0"]);
    assert!(lowest.starts_with("chunk grid `regular`: L0"), "{lowest}");

    let expect = place.file("expect", b"regular identifiers # wrongly\n");
    let output = run(&["conformance", "plugin", "regular", "--level", "l0", "--expect", &expect]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("identifiers holds, but was expected to be broken"), "{error}");

    let broken = place.file("broken", b"one\n");
    let output = run(&["conformance", "plugin", "regular", "--expect", &broken]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("line 1: expected the name of a subject and the id of a rule"), "{error}");
}

#[test]
fn unknown_plugins_and_levels_are_named() {
    let output = run(&["conformance", "plugin", "zsdt"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("zstd"));
    let output = run(&["conformance", "plugin", "zstd", "--level", "L9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("L0 to L4"));
    let output = run(&["conformance", "plugin", "zstd", "gzip", "--badge", "unwritten", "--level", "L0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("--badge needs a single plugin, but 2 are selected")
    );
}

#[test]
fn a_store_is_checked_only_if_it_is_empty() {
    let place = Place::new();
    let store = place.at("new");
    let json = place.at("a.json");
    let said = text(&["conformance", "store", &store, "--json", &json]);
    assert!(said.starts_with(&format!("store `{store}`: L")), "{said}");
    assert!(said.contains(" 0 failed, 0 skipped"), "{said}");
    assert!(std::fs::read_to_string(&json).unwrap().contains("\"extension_point\": \"store\""));
    assert_eq!(place.files("new"), Vec::<String>::new());

    place.file("taken/a/b", b"kept");
    let output = run(&["conformance", "store", &place.at("taken")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("is not empty (it contains `a/b`)"));
    assert_eq!(std::fs::read(place.path("taken/a/b")).unwrap(), b"kept");
}

#[test]
fn a_store_with_values_is_checked_below_a_temporary_prefix() {
    let place = Place::new();
    place.file("taken/a/b", b"kept");
    let store = place.at("taken");
    let html = place.at("a.html");
    let output = run(&["conformance", "store", &store, "--inside", "--html", &html]);
    let said = String::from_utf8(output.stdout).unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}{told}");
    assert!(said.contains(" 0 failed, 0 skipped"), "{said}");
    assert!(told.starts_with("checking below `zarr-conformance-"), "{told}");
    assert!(told.ends_with("; its 1 other values are not changed\n"), "{told}");
    assert_eq!(place.files("taken"), ["a/b"]);
    assert_eq!(std::fs::read_dir(place.path("taken")).unwrap().count(), 1, "no empty folder is left");
    assert_eq!(std::fs::read(place.path("taken/a/b")).unwrap(), b"kept");

    // A check with a violated rule leaves no files either.
    let expect = place.file("expect", format!("{store} store-size # wrongly\n").as_bytes());
    let output = run(&["conformance", "store", &store, "--inside", "--expect", &expect]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(place.files("taken"), ["a/b"]);
}

#[test]
fn codecs_decode_hostile_input_in_a_separate_process_without_other_output() {
    let place = Place::new();
    let json = place.at("a.json");
    let output = run(&["conformance", "plugin", "zstd", "statistics", "--level", "L2", "--json", &json]);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(output.status.success());
    let report = std::fs::read_to_string(&json).unwrap();
    let rule = report.split("\"codec-allocation\"").nth(1).unwrap();
    let rule = &rule[..rule.find("\"milliseconds\"").unwrap()];
    let cases: u32 = rule.split("\"cases\": ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    // There is one case for each example of the codec.
    assert!(cases >= 3, "{rule}");
    assert!(rule.contains("\"verdict\": \"passed\""), "{rule}");
}

/// Returns the command that makes this program the reader under test.
fn own_reader() -> String {
    format!(
        "'{}' get {{store}} {{array}} --strict --format raw --output {{out}}",
        env!("CARGO_BIN_EXE_zarrctl")
    )
}

#[test]
fn this_program_reads_every_stored_hierarchy_as_it_should() {
    let place = Place::new();
    let [json, html, junit, badge] = ["a.json", "a.html", "a.xml", "badge.json"].map(|name| place.at(name));
    let reports = ["--json", &json, "--html", &html, "--junit", &junit, "--badge", &badge];
    let reader = own_reader();
    let said =
        text(&[&["conformance", "format", "--name", "zarrctl", "--reader", &reader], &reports[..]].concat());
    let not_supported: Vec<_> = said.lines().filter(|line| line.starts_with("  not supported: ")).collect();
    for format in ["v2", "draft", "v3"] {
        let line = said.lines().find(|line| line.starts_with(&format!("zarrctl: {format}: "))).unwrap();
        let (read, refused) = line.rsplit_once(": ").unwrap().1.split_once(", ").unwrap();
        let counts = |text: &str, end: &str| {
            let (right, count) = text.strip_suffix(end).unwrap().split_once(" of ").unwrap();
            (right.parse::<usize>().unwrap(), count.parse::<usize>().unwrap())
        };
        let start = format!("  not supported: {format}/");
        let unsupported = not_supported.iter().filter(|line| line.starts_with(&start)).count();
        let (read, valid) = counts(read, " valid examples read");
        assert_eq!(read + unsupported, valid, "{said}");
        let (refused, others) = counts(refused, " invalid examples refused");
        assert_eq!(refused, others, "{said}");
    }
    // These are examples of features that this program does not support, such as chunks of several GiB.
    assert!(not_supported.len() <= 5, "{said}");
    let read = |file: &str| std::fs::read_to_string(file).unwrap();
    assert!(read(&json).contains("\"outcome\": \"refused\""));
    assert!(read(&html).contains("<h2>Failures</h2>\n<p>None.</p>"));
    assert!(read(&junit).contains("<testsuite name=\"zarrctl draft\""));
    assert!(read(&badge).contains("brightgreen"));
}

#[test]
fn generated_hierarchies_are_read_as_expected() {
    let place = Place::new();
    let reader = own_reader();
    let folder = place.at("kept");
    let generated = [
        "conformance",
        "format",
        "--name",
        "zarrctl",
        "--reader",
        &reader,
        "--generated",
        "12",
        "--seed",
        "3",
    ];
    let said = text(&[&generated[..], &["--folder", &folder]].concat());
    let lines =
        ["v2", "draft", "v3"].map(|format| format!("zarrctl: {format}: 12 of 12 valid examples read\n"));
    assert_eq!(said, lines.concat());
    assert!(place.files("kept/v3/generated/3/0").contains(&"zarr.json".to_owned()));

    // A reader that refuses everything is wrong only where the specification defines the result; the report separates
    // these cases.
    let refusing = [
        "conformance",
        "format",
        "--reader",
        "echo what is this >&2; exit 1",
        "--generated",
        "12",
        "--format",
        "v3",
    ];
    let output = run(&refusing);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("\n  not supported: v3/generated/1/"), "{said}");
    let failed =
        said.lines().find(|line| line.ends_with(": refused-valid (an error for a valid example)")).unwrap();
    let id = failed.split(':').next().unwrap();
    // The name is enough to generate the hierarchy again.
    assert!(said.contains(&format!("--only {id}\n")), "{said}");
    let again = text(&["conformance", "format", "--reader", &reader, "--only", id]);
    assert_eq!(again, "reader: v3: 1 of 1 valid examples read\n");
}

#[test]
fn wrong_results_of_a_reader_are_reported_unless_they_are_expected() {
    let place = Place::new();
    let wrong = ["conformance", "format", "--reader", "echo no >&2; exit 1", "--only", "v3/edge-chunks"];
    let output = run(&wrong);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("v3/edge-chunks: refused-valid (an error for a valid example)\n"), "{said}");
    assert!(
        said.contains("\n  no\n  to reproduce it: zarrctl conformance format --reader 'echo no"),
        "{said}"
    );

    let known = place.file("known", b"v3/edge-chunks refused-valid # always\n");
    text(&[&wrong[..], &["--expect", &known]].concat());
    let known = place.file("otherwise", b"v3/edge-chunks timed-out\n");
    let output = run(&[&wrong[..], &["--expect", &known]].concat());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("v3/edge-chunks: refused-valid, but listed as timed-out"), "{error}");
}

#[test]
fn the_stored_hierarchies_are_listed_and_copied_to_a_folder() {
    let place = Place::new();
    let listed = text(&["conformance", "format", "--list", "--format", "draft"]);
    assert!(listed.starts_with("draft/plain\n    An array with one chunk. ["), "{listed}");
    assert!(!listed.contains("v3/"), "{listed}");
    let folder = place.at("kept");
    text(&["conformance", "format", "--reader", &own_reader(), "--only", "draft/plain", "--folder", &folder]);
    assert_eq!(place.files("kept/draft/plain"), ["data/a/c0", "meta/a.array.json", "zarr.json"]);
    let output = run(&["conformance", "format", "--reader", "true", "--only", "v4/none"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(run(&["conformance", "format"]).status.code(), Some(2));
}
