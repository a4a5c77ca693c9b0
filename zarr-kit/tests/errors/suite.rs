//! The messages about lists and tables that the conformance suite reads.

use std::fs;
use std::path::Path;

use expect_test::expect_file;
use zarr_conformance::formats::{Known, all};
use zarr_conformance::suite::{Expectations, fixtures_in};

use super::Messages;

const HEADER: &str = "format\tcodec\tdata type\tshape\tdecoded\tencoded\tprogram\n";

#[test]
fn messages_of_the_suite_are_in_the_snapshot() {
    let mut messages = Messages::new(|_| None);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("errors-fixtures");
    for (what, table) in [
        ("a table without columns", ""),
        ("a row with three columns", "v3\t{}\tuint8"),
        ("a row of an unknown format", "v4\t{}\tuint8\t2\t00\t00\ta"),
        ("a row with a shape that is not a list", "v3\t{}\tuint8\tx\t00\t00\ta"),
        ("a row with half of a byte", "v3\t{}\tuint8\t1\t0\t00\ta"),
        ("a row with a file outside of the folder", "v3\t{}\tuint8\t1\t@../a\t00\ta"),
        ("a row with a missing file", "v3\t{}\tuint8\t1\t@none\t00\ta"),
    ] {
        let header = if table.is_empty() { "" } else { HEADER };
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.tsv"), format!("{header}{table}")).unwrap();
        messages.add(what, fixtures_in(&folder));
    }
    fs::remove_file(folder.join("a.tsv")).unwrap();
    messages.add("a folder without tables", fixtures_in(&folder));
    messages.add("a folder that does not exist", fixtures_in(&folder.join("none")));
    messages.add("an expectation with one word", Expectations::parse("# known\ngzip"));
    let example = &all()[0].id;
    messages.add("a known failure without an outcome", Known::parse(example, all()));
    messages.add("a known failure of an unknown example", Known::parse("none right", all()));
    messages.add("a known failure with an unknown outcome", Known::parse(&format!("{example} lucky"), all()));
    expect_file!["../snapshots/zarr-conformance.txt"].assert_eq(&messages.text);
}
