//! The HTML page of a report in a browser: scripts run without errors, filters show the right rows, and
//! printing includes everything.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::path::PathBuf;

use tempfile::TempDir;
use zarr_conformance::suite::{Cases, Level, Report, Rule, Subject, Suite, Trial};
use zarr_interop::Browser;
use zarr_kit::spec::host::registry::ExtensionPoint;

const fn rule(id: &'static str, level: Level, sentence: &'static str) -> Rule {
    Rule { id, level, sentence, source: "\"Codecs\" in the Zarr v3 core specification", since: "0.1" }
}

static NAMED: Rule = rule("identifiers", Level::L0, "It has a unique name.");
static ROUND_TRIP: Rule = rule("codec-round-trip", Level::L1, "Encoded bytes decode to the original bytes.");
static DAMAGED: Rule = rule("codec-damaged", Level::L2, "Damaged bytes are an error, never a panic.");
static FIXTURES: Rule = rule("codec-fixtures", Level::L3, "Bytes written by other programs are decoded.");

/// A text longer than any line.
const CASE: &str = "{\"name\":\"example.broken\",\"configuration\":{\"dictionary\":\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/w\"}}";

fn suite(name: &str, broken: bool) -> Suite {
    let subject = Subject {
        point: ExtensionPoint::Codec,
        name: name.to_owned(),
        package: format!("zarr-codec-{}", name.replace('.', "-")),
        version: "0.1.0".to_owned(),
    };
    let holds = |cases: &mut Cases| cases.check("any", Ok(()));
    let fails = move |cases: &mut Cases| match broken {
        true => cases.check(CASE, Err("<script>throw 1</script> came back as 3 other bytes".to_owned())),
        false => cases.check("any", Ok(())),
    };
    let trials = vec![
        Trial::new(&NAMED, holds),
        Trial::new(&ROUND_TRIP, fails),
        Trial::new(&DAMAGED, holds),
        Trial::new(&FIXTURES, |cases| cases.skip("no fixtures")),
    ];
    Suite { subject, trials }
}

/// Writes a page about twelve codecs, two of which break one rule each.
fn page() -> (TempDir, PathBuf) {
    let names = (0..10).map(|number| format!("example.good{number}")).collect::<Vec<_>>();
    let mut suites: Vec<_> = names.iter().map(|name| suite(name, false)).collect();
    suites.push(suite("example.broken", true));
    suites.push(suite("it's", true));
    let report = Report::of(&suites, Level::L4);
    let page = report.to_html("Conformance of codecs", "zarrctl conformance plugin {subject} --level L4");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    (folder, file)
}

/// Returns the distinct verdicts of the visible rows, and the number of visible rows.
fn seen(browser: &Browser) -> (Vec<String>, usize) {
    let rows = browser.value(
        "return [...document.querySelectorAll('tr[data-verdict]')].filter((row) => row.offsetHeight > 0)
            .map((row) => row.dataset.verdict);",
    );
    let mut verdicts: Vec<String> = serde_json::from_value(rows).unwrap();
    let count = verdicts.len();
    verdicts.sort();
    verdicts.dedup();
    (verdicts, count)
}

fn text(browser: &Browser, selector: &str) -> String {
    let value = browser.value(&format!("return document.querySelector('{selector}').innerText;"));
    value.as_str().unwrap().to_owned()
}

#[test]
fn the_page_starts_with_broken_rules_and_how_to_reproduce_them() {
    let (_folder, file) = page();
    let Some(browser) = Browser::start() else { return };
    browser.open(&file, "");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let outcome = text(&browser, ".outcome");
    assert_eq!(outcome, "2 rules broken by 2 of 12 subjects; 34 held, 12 did not apply.");
    let sections =
        browser.value("return [...document.querySelectorAll('h2')].map((title) => title.innerText);");
    assert_eq!(sections, serde_json::json!(["Broken rules", "Summary", "All rules"]));
    let article = text(&browser, "article");
    for part in [
        "codec `example.broken`: L1 codec-round-trip",
        "Encoded bytes decode to the original bytes.",
        "Source: \"Codecs\" in the Zarr v3 core specification.",
        "<script>throw 1</script> came back as 3 other bytes",
        "zarrctl conformance plugin example.broken --level L4",
    ] {
        assert!(article.contains(part), "{part}: {article}");
    }
    // A name with special characters of the shell is quoted.
    assert!(text(&browser, "article:last-of-type").contains(r"plugin 'it'\''s' --level"));
    let first = text(&browser, "#summary tbody tr");
    assert!(first.starts_with("codec `example.broken`"), "{first}");
    // The page loads no other resources.
    let reached = browser.value("return performance.getEntriesByType('resource').length;");
    assert_eq!(reached, 0);
}

#[test]
fn filters_show_the_right_rows_and_are_part_of_the_address() {
    let (_folder, file) = page();
    let Some(browser) = Browser::start() else { return };
    browser.open(&file, "");
    let all = ["failed", "passed", "skipped"].map(str::to_owned).to_vec();
    assert_eq!(seen(&browser), (all.clone(), 48));

    browser.click("[value=passed]");
    browser.click("[value=skipped]");
    assert_eq!(seen(&browser), (vec!["failed".to_owned()], 2));
    assert_eq!(text(&browser, "#count"), "2 of 48 rules");
    assert!(browser.address().ends_with("report.html#failed"), "{}", browser.address());
    // Subjects without a visible row are hidden.
    let titles =
        "return [...document.querySelectorAll('[data-subject]')].filter((it) => it.offsetHeight > 0).length;";
    assert_eq!(browser.value(titles), 2);

    browser.click("[value=skipped]");
    browser.click("#level option[value=L3]");
    browser.type_into("#text", "Good1");
    assert_eq!(seen(&browser), (vec!["skipped".to_owned()], 1));
    assert!(browser.address().ends_with("#failed&skipped&L3&text=Good1"), "{}", browser.address());

    // Opening the address again restores the filters.
    for (address, wanted) in [
        ("failed", (vec!["failed".to_owned()], 2)),
        ("failed&skipped&L3&text=Good1", (vec!["skipped".to_owned()], 1)),
        ("L0", (vec!["passed".to_owned()], 12)),
        ("subject-3", (all, 48)),
    ] {
        browser.open(&PathBuf::from("/dev/null"), "");
        browser.open(&file, address);
        assert_eq!(seen(&browser), wanted, "{address}");
    }
    // A change of the address while the page is open takes effect, too.
    browser.open(&file, "failed");
    assert_eq!(seen(&browser).1, 2);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The width of A4 without margins of 15 mm, in CSS pixels.
const PAPER: u32 = 680;

#[test]
fn printing_ignores_filters_and_cuts_nothing_off() {
    let (_folder, file) = page();
    let Some(browser) = Browser::start() else { return };
    browser.open(&file, "");
    let whole = browser.printed();
    // The first bytes of a PDF, in base64.
    assert!(whole.starts_with("JVBERi"), "{}", &whole[..whole.len().min(60)]);
    browser.open(&file, "failed&text=none");
    assert_eq!(seen(&browser).1, 0);
    let filtered = browser.printed();
    // The two PDFs differ only in their dates, so they have the same size.
    assert_eq!(filtered.len(), whole.len());

    browser.on_paper(Some(PAPER));
    assert_eq!(seen(&browser).1, 48);
    assert_eq!(browser.value("return document.getElementById('filters').offsetHeight;"), 0);
    let wide = "return [...document.querySelectorAll('body, body *')]
        .filter((it) => it.getBoundingClientRect().right > innerWidth + 1 || it.scrollWidth > it.clientWidth + 1
            && getComputedStyle(it).display !== 'inline')
        .map((it) => it.outerHTML.slice(0, 100));";
    assert_eq!(browser.value(wide), serde_json::json!([]));
    browser.on_paper(None);
    assert_eq!(seen(&browser).1, 0);
}
