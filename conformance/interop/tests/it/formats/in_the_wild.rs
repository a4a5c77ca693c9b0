//! The table "data in the wild": the families of `conformance/formats/wild` and the programs that read them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::thread::{self, available_parallelism};

use zarr_conformance::formats::{Expectation, Limits, Outcome, Reader, Stored};
use zarr_conformance::hex;
use zarr_interop::environment::{ZARRITA, gdal, node_package};
use zarr_interop::wild::{Family, WildArray, families, folder};
use zarr_interop::{Forks, Packages, icechunk, python, skip};

use super::{Script, adapters, locked, pinned};

/// The page was written with this version of GDAL, which is a package of the system.
const GDAL: &str = "3.6";

/// A program that reads the families.
pub(super) struct Program {
    reader: Reader,
    /// Whether the program takes locations with the scheme of this framework, instead of paths.
    takes_scheme: bool,
    /// The process that runs the command's script.
    _forks: Option<Forks>,
}

impl Program {
    fn new(name: String, command: String) -> Self {
        Self { reader: Reader::new(name, command), takes_scheme: false, _forks: None }
    }

    fn script(name: String, script: Script) -> Self {
        Self { _forks: script.forks, ..Self::new(name, script.command) }
    }
}

/// Returns the programs, this framework first; `None` after a visible skip if some of them cannot be installed.
pub(super) fn programs() -> Option<Vec<Program>> {
    let new = python(Packages::Wild("readers"))?;
    let old = python(Packages::Wild("readers-2"))?;
    let tensorstore = python(Packages::Zarr3)?;
    let gdal = available(gdal())?;
    let zarrita = available(node_package(ZARRITA))?;
    if !gdal.1.starts_with(GDAL) {
        skip(&format!("GDAL is {}, not {GDAL}", gdal.1));
        return None;
    }
    let ours = format!(
        "'{}' {{store}} {{array}} {{out}} --default --plugin '{}'",
        env!("CARGO_BIN_EXE_read-with-zarr-kit"),
        icechunk()?.display()
    );
    let zarrs = format!("'{}' {{store}} {{array}} {{out}}", env!("CARGO_BIN_EXE_read-with-zarrs"));
    let script = adapters().join("zarrita_read.mjs");
    let node = format!("node '{}' '{}' {{store}} {{array}} {{out}}", script.display(), zarrita.display());
    let older_helpers = ["zarr", "imagecodecs.numcodecs", "fsspec.implementations.reference"];
    let helpers = [&older_helpers[..], &["imagecodecs.zarr", "zarr_n5"]].concat();
    let mut zarrita = Program::new(ZARRITA.replace("zarrita@", "zarrita.js "), node);
    // Node reserves more address space than the other programs.
    zarrita.reader.limits = Limits { memory: 1 << 30, ..Limits::default() };
    Some(vec![
        Program {
            takes_scheme: true,
            ..Program::new(format!("zarr-kit {}", env!("CARGO_PKG_VERSION")), ours)
        },
        Program::script(
            format!("zarr-python {}", pinned("zarr3", "zarr==")),
            Script::new(&new, "zarr_python.py", &helpers),
        ),
        Program::script(
            format!("zarr-python {}", pinned("zarr2", "zarr==")),
            Script::new(&old, "zarr_python.py", &older_helpers),
        ),
        Program::script(
            format!("TensorStore {}", pinned("zarr3", "tensorstore==")),
            Script::new(&tensorstore, "tensorstore_read.py", &["tensorstore"]),
        ),
        Program::new(format!("zarrs {}", locked("zarrs")), zarrs),
        Program::script(
            format!("GDAL {}", gdal.1),
            Script::new(&gdal.0, "gdal_read.py", &["osgeo.gdal_array"]),
        ),
        zarrita,
    ])
}

fn available<T>(found: Result<T, String>) -> Option<T> {
    found.map_err(|reason| skip(&reason)).ok()
}

/// The result of reading one array.
struct Attempt<'a> {
    family: &'a str,
    array: &'a WildArray,
    outcome: Outcome,
    note: String,
}

/// Reads every array of every family with every program; returns the part of the page with the results.
pub(super) fn section(programs: &[Program]) -> String {
    let families = families(&folder());
    let attempts: Vec<Vec<Attempt<'_>>> =
        programs.iter().map(|program| attempts(program, &families)).collect();
    let mut text = HEAD.to_owned();
    put_table(&mut text, programs, &families, &attempts);
    text.push_str("\n### Families\n\n| family | contents | written by |\n|---|---|---|\n");
    for family in &families {
        writeln!(text, "| `{}` | {} | {} |", family.name, family.about, family.written_by).unwrap();
    }
    put_refused(&mut text, &attempts[0]);
    put_wrong(&mut text, programs, &attempts);
    text
}

fn attempts<'a>(program: &Program, families: &'a [Family]) -> Vec<Attempt<'a>> {
    let all: Vec<(&str, &WildArray)> = families
        .iter()
        .flat_map(|family| family.arrays.iter().map(|array| (family.name.as_str(), array)))
        .collect();
    let scratch = tempfile::tempdir().unwrap();
    let share = all.len().div_ceil(available_parallelism().map_or(1, usize::from));
    thread::scope(|scope| {
        let attempt = |(number, (family, array)): (usize, &(&'a str, &'a WildArray))| {
            let (scheme, path) = array.location();
            let path = folder().join(family).join(path);
            let store =
                if program.takes_scheme { format!("{scheme}{}", path.display()).into() } else { path };
            let expectation = Expectation::Values(hex(&array.elements));
            let stored = Stored { store: &store, array: &array.array, expectation: &expectation };
            let name = format!("{:?}-{number}", thread::current().id());
            let (outcome, note) = program.reader.read_stored(&stored, &scratch.path().join(name)).unwrap();
            Attempt { family, array, outcome, note }
        };
        let parts: Vec<_> = all
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().enumerate().map(attempt).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

fn put_table(text: &mut String, programs: &[Program], families: &[Family], attempts: &[Vec<Attempt<'_>>]) {
    text.push_str("| family | arrays |");
    programs.iter().for_each(|program| write!(text, " {} | refused |", program.reader.name).unwrap());
    writeln!(text, "\n|---|--:|{}", "--:|".repeat(2 * programs.len())).unwrap();
    for family in families {
        write!(text, "| `{}` | {} |", family.name, family.arrays.len()).unwrap();
        for attempts in attempts {
            let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
            for attempt in attempts.iter().filter(|attempt| attempt.family == family.name) {
                *counts.entry(attempt.outcome).or_default() += 1;
            }
            let mut take = |outcome| counts.remove(&outcome).unwrap_or(0);
            let refused = take(Outcome::RefusedValid);
            let right = match take(Outcome::Right) {
                count if count == family.arrays.len() => "all".to_owned(),
                count => count.to_string(),
            };
            let others: String =
                counts.iter().map(|(outcome, count)| format!(", {count} {outcome}")).collect();
            write!(text, " {right}{others} | {refused} |").unwrap();
        }
        text.push('\n');
    }
}

/// Lists what this framework refuses, with its messages.
fn put_refused(text: &mut String, ours: &[Attempt<'_>]) {
    text.push_str("\n### Refused by zarr-kit\n\n");
    let refused = ours.iter().filter(|attempt| attempt.outcome == Outcome::RefusedValid);
    let refused: Vec<&Attempt<'_>> = refused.collect();
    if refused.is_empty() {
        text.push_str("Nothing.\n");
        return;
    }
    text.push_str("| array | message |\n|---|---|\n");
    let here = folder().display().to_string();
    for attempt in refused {
        let note = attempt.note.replace(&format!("{here}/"), "").replace('|', "\\|");
        writeln!(text, "| {} | {note} |", place(attempt)).unwrap();
    }
}

/// Lists the arrays for which a program returns wrong elements, crashes or does not end.
fn put_wrong(text: &mut String, programs: &[Program], attempts: &[Vec<Attempt<'_>>]) {
    text.push_str("\n### Not right, and not refused\n\n| reader | array | outcome |\n|---|---|---|\n");
    for (program, attempts) in programs.iter().zip(attempts) {
        let is_listed = |outcome| !matches!(outcome, Outcome::Right | Outcome::RefusedValid);
        for attempt in attempts.iter().filter(|attempt| is_listed(attempt.outcome)) {
            writeln!(text, "| {} | {} | {} |", program.reader.name, place(attempt), attempt.outcome).unwrap();
        }
    }
}

fn place(attempt: &Attempt<'_>) -> String {
    format!("`{}/{}` `{}`", attempt.family, attempt.array.location().1, attempt.array.array)
}

const HEAD: &str = "
## Data in the wild

Real programs wrote the hierarchies in `conformance/formats/wild`; `conformance/interop/python/wild` has the scripts and the
versions. A cell counts the arrays whose elements a reader returns as the library of the writer does; the column after
it counts the arrays that the reader refuses with an error.

This framework reads in its default mode, with the feature `full` and the plugin `icechunk`. The readers zarr-python have
the packages of `readers.txt` and `readers-2.txt` in that folder, such as fsspec, imagecodecs and Icechunk. zarrs is built
with the features of `conformance/interop/Cargo.toml`, and zarrita.js runs under Node.

The other direction is a test, `conformance/interop/tests/it/read_back.rs`: this framework copies each store and encodes
every chunk again, and the library of the family compares the copy with the original.

";
