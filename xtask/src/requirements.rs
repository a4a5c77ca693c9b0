//! `cargo xtask requirements`: reports which rows of the ledgers in `conformance/requirements` are tested.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use citation::Citation;
use clap::builder::PossibleValuesParser;
use excuse::Excuse;
use ledger::{Ledger, Row};
use serde::Serialize;

use crate::workspace::Workspace;
use crate::{Failure, say};

mod citation;
mod excuse;
mod ledger;

/// The folder of the ledgers and `excuses.toml`.
const FOLDER: &str = "conformance/requirements";

/// A test that names more rows than this cannot exercise the examples of each.
const MAX_ROWS_PER_TEST: usize = 5;

/// The input of the report.
#[derive(Debug, Default)]
struct Requirements {
    ledgers: Vec<Ledger>,
    citations: Vec<Citation>,
    excuses: Vec<Excuse>,
}

/// The state of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Tested,
    Excused,
    Open,
}

/// The options of `cargo xtask requirements`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// List open requirements: of the named ledgers, or of all
    #[arg(long, value_name = "LEDGER", num_args = 0..)]
    open: Option<Vec<String>>,
    /// List only open requirements of this level; MUST includes MUST NOT, and likewise SHOULD
    #[arg(long, value_parser = PossibleValuesParser::new(ledger::LEVELS))]
    level: Option<String>,
    /// Print counts, requirements, tests and excuses as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), Failure> {
    let mut errors = Vec::new();
    let requirements = Requirements::read(workspace, &mut errors)?;
    requirements.check(&mut errors);
    if let Some(unknown) = requirements.unknown_ledger(options) {
        return Err(Failure::Usage(format!("unknown ledger `{unknown}`")));
    }
    if options.json {
        let json = serde_json::to_string_pretty(&requirements.report()).map_err(|error| error.to_string())?;
        say(&format!("{json}\n"))?;
    } else {
        say(&requirements.text(options))?;
    }
    for error in &errors {
        eprintln!("error: {error}");
    }
    if errors.is_empty() { Ok(()) } else { Err(Failure::Checks) }
}

impl Options {
    /// Returns the ledgers whose open requirements are listed. An empty list means all ledgers.
    fn open_ledgers(&self) -> Option<&[String]> {
        self.open.as_deref().or(self.level.is_some().then_some(&[]))
    }

    /// Returns whether a row has the selected level. `MUST` includes `MUST NOT`.
    fn wants(&self, row: &Row) -> bool {
        self.level.as_ref().is_none_or(|level| {
            row.level
                .strip_prefix(level.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    }
}

impl Requirements {
    fn read(workspace: &Workspace, errors: &mut Vec<String>) -> Result<Self, String> {
        let mut found = Self::default();
        for file in workspace.files()?.iter().filter(|file| file.parent() == Some(Path::new(FOLDER))) {
            if file.extension().is_some_and(|it| it == "md") {
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                found.ledgers.push(Ledger::parse(&name, &workspace.read(file)?, errors));
            }
        }
        if found.ledgers.is_empty() {
            return Err(format!("there is no ledger in {FOLDER}"));
        }
        for file in workspace.rust_files()? {
            found.citations.extend(citation::find(&file, &workspace.read(&file)?, errors));
        }
        let excuses = Path::new(FOLDER).join("excuses.toml");
        if workspace.root.join(&excuses).is_file() {
            found.excuses = excuse::parse(&workspace.read(&excuses)?)?;
        }
        Ok(found)
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.ledgers.iter().flat_map(|ledger| &ledger.rows)
    }

    /// Reports everything that makes the counts wrong.
    fn check(&self, errors: &mut Vec<String>) {
        let mut rows = BTreeMap::new();
        for row in self.rows() {
            if rows.insert(row.id.as_str(), row).is_some() {
                errors.push(format!("{}: two rows have this id", row.id));
            }
        }
        for citation in &self.citations {
            if citation.ids.len() > MAX_ROWS_PER_TEST {
                let count = citation.ids.len();
                errors
                    .push(format!("{}: names {count} rows, more than {MAX_ROWS_PER_TEST}", citation.place()));
            }
            for id in citation.ids.iter().filter(|id| !rows.contains_key(id.as_str())) {
                errors.push(format!("{}: {id} is not in a ledger", citation.place()));
            }
        }
        let tested = self.tested();
        let mut excused = BTreeSet::new();
        for Excuse { id, reason, .. } in &self.excuses {
            let mut error = |message: &str| errors.push(format!("excuses.toml: {id} {message}"));
            if !excused.insert(id.as_str()) {
                error("is excused twice");
            }
            match rows.get(id.as_str()) {
                None => error("is not in a ledger"),
                Some(row) if !reason.excuses(&row.level) => {
                    error(&format!("is a {} row, which this reason does not excuse", row.level));
                }
                Some(_) if tested.contains_key(id.as_str()) => {
                    error("is tested, so it does not need an excuse")
                }
                Some(_) => {}
            }
        }
        for row in self.rows().filter(|row| row.level == "MUST" || row.level == "MUST NOT") {
            if !tested.contains_key(row.id.as_str()) && !excused.contains(row.id.as_str()) {
                errors.push(format!("{}: a {} row that is neither tested nor excused", row.id, row.level));
            }
        }
    }

    /// Returns the tests that cite each row.
    fn tested(&self) -> BTreeMap<&str, Vec<&Citation>> {
        let mut tested: BTreeMap<&str, Vec<&Citation>> = BTreeMap::new();
        for citation in &self.citations {
            for id in &citation.ids {
                tested.entry(id).or_default().push(citation);
            }
        }
        tested
    }

    fn unknown_ledger<'a>(&self, options: &'a Options) -> Option<&'a String> {
        let is_known = |name: &&String| self.ledgers.iter().any(|ledger| ledger.name == **name);
        options.open.iter().flatten().find(|name| !is_known(name))
    }

    fn report(&self) -> Vec<LedgerReport<'_>> {
        let tested = self.tested();
        let excuses: BTreeMap<_, _> =
            self.excuses.iter().map(|excuse| (excuse.id.as_str(), excuse)).collect();
        let row_report = |row| RowReport::new(row, &tested, &excuses);
        let ledgers = self.ledgers.iter();
        ledgers
            .map(|ledger| LedgerReport::new(&ledger.name, ledger.rows.iter().map(row_report).collect()))
            .collect()
    }

    fn text(&self, options: &Options) -> String {
        let report = self.report();
        let mut lines: Vec<String> = report.iter().map(LedgerReport::line).collect();
        if let Some(only) = options.open_ledgers() {
            let chosen = report
                .iter()
                .filter(|ledger| only.is_empty() || only.iter().any(|name| name == ledger.ledger));
            for row in chosen.flat_map(|ledger| &ledger.rows) {
                if row.state == State::Open && options.wants(row.row) {
                    lines.push(format!(
                        "{}  {}  {}",
                        row.row.id,
                        row.row.level,
                        shortened(&row.row.requirement)
                    ));
                }
            }
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

/// One ledger of the report, as `--json` prints it.
#[derive(Debug, Serialize)]
struct LedgerReport<'a> {
    ledger: &'a str,
    tested: usize,
    excused: usize,
    open: usize,
    rows: Vec<RowReport<'a>>,
}

#[derive(Debug, Serialize)]
struct RowReport<'a> {
    #[serde(flatten)]
    row: &'a Row,
    state: State,
    /// The tests that name the row, as `file:line: name`.
    tests: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excuse: Option<&'a Excuse>,
}

impl<'a> LedgerReport<'a> {
    fn new(ledger: &'a str, rows: Vec<RowReport<'a>>) -> Self {
        let count = |state| rows.iter().filter(|row| row.state == state).count();
        let tested = count(State::Tested);
        let excused = count(State::Excused);
        let open = count(State::Open);
        Self { ledger, tested, excused, open, rows }
    }

    fn line(&self) -> String {
        let Self { ledger, tested, excused, open, rows } = self;
        format!("{ledger}: {} rows, {tested} tested, {excused} excused, {open} open", rows.len())
    }
}

impl<'a> RowReport<'a> {
    fn new(
        row: &'a Row,
        tested: &BTreeMap<&str, Vec<&Citation>>,
        excuses: &BTreeMap<&str, &'a Excuse>,
    ) -> Self {
        let tests: Vec<_> =
            tested.get(row.id.as_str()).into_iter().flatten().map(|test| test.place()).collect();
        let excuse = excuses.get(row.id.as_str()).copied();
        let state = match (tests.is_empty(), excuse) {
            (false, _) => State::Tested,
            (true, Some(_)) => State::Excused,
            (true, None) => State::Open,
        };
        Self { row, state, tests, excuse }
    }
}

fn shortened(text: &str) -> String {
    const LENGTH: usize = 100;
    if text.chars().count() <= LENGTH {
        return text.to_owned();
    }
    text.chars().take(LENGTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;
    use crate::workspace::made_up::Tree;

    const LEDGER: &str = "# Ledger\n\nRows: 3 (FACT 1, MUST 1, MUST NOT 1).\n\n\
        | ID | Level | Requirement | Accept | Reject |\n|---|---|---|---|---|\n\
        | XX-A-01 | MUST | A thing. | `a` | `b` |\n\
        | XX-A-02 | MUST NOT | Another. | — | — |\n\
        | XX-A-03 | FACT | It does so. | — | — |\n";

    /// The error that the ledger above causes in most tests.
    const OPEN: &str = "XX-A-02: a MUST NOT row that is neither tested nor excused";

    const EXCUSE: &str = "[[excuse]]\nid = 'XX-A-03'\nreason = 'other-program'\nnote = 'Its own doing.'\n";

    fn tree(source: &str, excuses: &str) -> (Requirements, Vec<String>) {
        let tree = Tree::new(&[
            ("zarr-spec/Cargo.toml", "[package]\nname = 'zarr-spec'"),
            ("zarr-spec/tests/it.rs", source),
            ("conformance/requirements/xx.md", LEDGER),
            ("conformance/requirements/excuses.toml", excuses),
        ]);
        let mut errors = Vec::new();
        let requirements = Requirements::read(&tree.load(), &mut errors).unwrap();
        requirements.check(&mut errors);
        (requirements, errors)
    }

    fn parse(arguments: &[&str]) -> Result<Options, clap::Error> {
        let command = Options::augment_args(clap::Command::new("requirements").no_binary_name(true));
        Options::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }

    #[test]
    fn each_ledger_is_one_line_and_open_rows_follow_on_request() {
        let (requirements, errors) = tree("/// Tests XX-A-01.\n#[test]\nfn a() {}\n", EXCUSE);
        assert_eq!(errors, [OPEN]);
        let line = "xx: 3 rows, 1 tested, 1 excused, 1 open\n";
        assert_eq!(requirements.text(&Options::default()), line);
        let open = format!("{line}XX-A-02  MUST NOT  Another.\n");
        assert_eq!(requirements.text(&parse(&["--open"]).unwrap()), open);
        assert_eq!(requirements.text(&parse(&["--open", "xx", "--level", "MUST"]).unwrap()), open);
        assert_eq!(requirements.text(&parse(&["--level", "FACT"]).unwrap()), line);
    }

    #[test]
    fn json_holds_counts_rows_tests_and_excuses() {
        let (requirements, _) = tree("/// Tests XX-A-01.\n#[test]\nfn a() {}\n", EXCUSE);
        let json = serde_json::to_value(requirements.report()).unwrap();
        assert_eq!(json[0]["open"], 1);
        assert_eq!(json[0]["rows"][0]["id"], "XX-A-01");
        assert_eq!(json[0]["rows"][0]["state"], "tested");
        assert_eq!(json[0]["rows"][0]["tests"][0], "zarr-spec/tests/it.rs:3: a");
        assert_eq!(json[0]["rows"][2]["excuse"]["reason"], "other-program");
    }

    #[test]
    fn a_citation_of_an_unknown_row_and_of_too_many_rows_are_errors() {
        let (_, errors) = tree("/// Tests XX-A-09.\n#[test]\nfn a() {}\n", EXCUSE);
        assert_eq!(errors[0], "zarr-spec/tests/it.rs:3: a: XX-A-09 is not in a ledger");
        let ids = "XX-A-01, XX-A-02, XX-A-04, XX-A-05, XX-A-06, XX-A-07";
        let (_, errors) = tree(&format!("/// Tests {ids}.\n#[test]\nfn a() {{}}\n"), EXCUSE);
        assert_eq!(errors[0], "zarr-spec/tests/it.rs:3: a: names 6 rows, more than 5");
    }

    #[test]
    fn a_false_excuse_is_an_error() {
        let tested = "/// Tests XX-A-03.\n#[test]\nfn a() {}\n";
        let cases = [
            (tested, EXCUSE.to_owned(), "XX-A-03 is tested, so it does not need an excuse"),
            ("", EXCUSE.repeat(2), "XX-A-03 is excused twice"),
            ("", EXCUSE.replace("A-03", "A-09"), "XX-A-09 is not in a ledger"),
            (
                "",
                EXCUSE.replace("A-03", "A-02"),
                "XX-A-02 is a MUST NOT row, which this reason does not excuse",
            ),
        ];
        for (source, excuses, message) in cases {
            assert_eq!(tree(source, &excuses).1[0], format!("excuses.toml: {message}"));
        }
    }

    #[test]
    fn every_must_is_tested_or_excused() {
        let (_, errors) = tree("", EXCUSE);
        assert_eq!(errors, ["XX-A-01: a MUST row that is neither tested nor excused", OPEN]);
        let (_, errors) = tree("/// Tests XX-A-01, XX-A-02.\n#[test]\nfn a() {}\n", "");
        assert_eq!(errors, [""; 0]);
    }

    #[test]
    fn an_id_in_two_rows_is_an_error() {
        let mut errors = Vec::new();
        let ledgers = vec![Ledger::parse("a", LEDGER, &mut errors), Ledger::parse("b", LEDGER, &mut errors)];
        Requirements { ledgers, ..Requirements::default() }.check(&mut errors);
        assert_eq!(errors.iter().filter(|error| error.ends_with("two rows have this id")).count(), 3);
    }

    #[test]
    fn an_invalid_command_line_is_refused() {
        for arguments in [&["--opne"][..], &["--level"], &["--level", "WILL"], &["v2"]] {
            assert!(parse(arguments).is_err(), "{arguments:?}");
        }
        let parsed = parse(&["--open", "v2", "v3-draft", "--json"]).unwrap();
        assert_eq!(parsed.open.unwrap(), ["v2", "v3-draft"]);
        assert!(parsed.json);
    }
}
