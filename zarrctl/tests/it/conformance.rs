//! `conformance`: what it says, writes and ends with.

use crate::support::{Place, run, text};

#[test]
fn a_plugin_is_held_to_the_rules_of_its_kind_and_the_report_is_written_in_each_form() {
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
fn only_rules_up_to_a_level_are_looked_at_and_a_list_may_expect_some_to_be_broken() {
    let place = Place::new();
    let lowest = text(&["conformance", "plugin", "regular", "--level", "L0"]);
    assert!(lowest.starts_with("chunk grid `regular`: L0"), "{lowest}");

    let expect = place.file("expect", b"regular identifiers # wrongly\n");
    let output = run(&["conformance", "plugin", "regular", "--level", "l0", "--expect", &expect]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("identifiers holds, and was expected not to"), "{error}");

    let broken = place.file("broken", b"one\n");
    let output = run(&["conformance", "plugin", "regular", "--expect", &broken]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("line 1: not the name of a subject and the id of a rule"), "{error}");
}

#[test]
fn what_nobody_is_called_and_what_is_no_level_is_named() {
    let output = run(&["conformance", "plugin", "zsdt"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("zstd"));
    let output = run(&["conformance", "plugin", "zstd", "--level", "L9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("there are L0 to L4"));
    let output = run(&["conformance", "plugin", "zstd", "gzip", "--badge", "unwritten", "--level", "L0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("a badge is for one plugin, and these are 2"));
}
