//! Runs the format suite with this framework and other implementations: each behaves as recorded, and the
//! page of scores is up to date.
#![expect(clippy::unwrap_used, reason = "a failed setup must fail the test")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use zarr_conformance::formats::{
    Example, FormatName, Generated, Known, Limits, Outcome, Reader, Reading, Scores, all, page,
};
use zarr_interop::{Forks, Packages, environment, python};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Order, Selection, open_store};

mod in_the_wild;

/// A reader, and its recorded behaviour.
struct Measured {
    /// The file in `conformance/adapters` that lists its known failures.
    known: &'static str,
    /// Its name with its version.
    name: String,
    /// The command line for this machine.
    command: String,
    /// The command line for people, with paths in the repository.
    shown: &'static str,
    formats: &'static [FormatName],
    /// The process that runs the command's script.
    _forks: Option<Forks>,
}

const BOTH: &[FormatName] = &[FormatName::V2, FormatName::V3];

/// Returns the readers; `None` after a visible skip if some of them cannot be installed.
fn measured() -> Option<Vec<Measured>> {
    let new = python(Packages::Zarr3)?;
    let old = python(Packages::Zarr2)?;
    let new_zarr_python =
        Script::new(&new, "zarr_python.py", &["zarr", "imagecodecs.numcodecs", "imagecodecs.zarr"]);
    let old_zarr_python = Script::new(&old, "zarr_python.py", &["zarr"]);
    let tensorstore = Script::new(&new, "tensorstore_read.py", &["tensorstore"]);
    let program = |file: &str| format!("'{file}' {{store}} {{array}} {{out}}");
    Some(vec![
        Measured {
            known: "zarr_kit.known",
            name: format!("zarr-kit {}, strict", env!("CARGO_PKG_VERSION")),
            command: program(env!("CARGO_BIN_EXE_read-with-zarr-kit")),
            shown: "target/debug/read-with-zarr-kit {store} {array} {out}",
            formats: &FormatName::ALL,
            _forks: None,
        },
        Measured {
            known: "zarr_python.known",
            name: format!("zarr-python {}", pinned("zarr3", "zarr==")),
            _forks: new_zarr_python.forks,
            command: new_zarr_python.command,
            shown: "python conformance/adapters/zarr_python.py {store} {array} {out}",
            formats: BOTH,
        },
        Measured {
            known: "zarr_python_2.known",
            name: format!("zarr-python {}", pinned("zarr2", "zarr==")),
            _forks: old_zarr_python.forks,
            command: old_zarr_python.command,
            shown: "python conformance/adapters/zarr_python.py {store} {array} {out}",
            formats: &[FormatName::V2],
        },
        Measured {
            known: "tensorstore.known",
            name: format!("TensorStore {}", pinned("zarr3", "tensorstore==")),
            _forks: tensorstore.forks,
            command: tensorstore.command,
            shown: "python conformance/adapters/tensorstore_read.py {store} {array} {out}",
            formats: BOTH,
        },
        Measured {
            known: "zarrs.known",
            name: format!("zarrs {}", locked("zarrs")),
            _forks: None,
            command: program(env!("CARGO_BIN_EXE_read-with-zarrs")),
            shown: "target/debug/read-with-zarrs {store} {array} {out}",
            formats: BOTH,
        },
    ])
}

/// A script of the folder `adapters`, which reads with the packages `modules`.
struct Script {
    command: String,
    forks: Option<Forks>,
}

impl Script {
    /// The packages take longer to import than to read with, so forks of one process run the script where the system
    /// can fork.
    fn new(python: &Path, name: &str, modules: &[&str]) -> Self {
        let script = adapters().join(name);
        let mut command = scripted(python, &script);
        let mut forks = None;
        if cfg!(target_os = "linux") {
            let modules = [&["numpy"], modules].concat();
            let started = Forks::start(python, &modules, Limits::default()).unwrap();
            command = started.command(&script);
            forks = Some(started);
        }
        Self { command: format!("{command} {{store}} {{array}} {{out}}"), forks }
    }
}

/// Returns the shell command that runs a script with this interpreter.
fn scripted(python: &Path, script: &Path) -> String {
    let variables = environment::bytecode();
    let variables = variables.iter().map(|(name, value)| format!("{name}='{}'", value.display()));
    let variables: Vec<_> = variables.collect();
    format!("{} '{}' '{}'", variables.join(" "), python.display(), script.display())
}

fn adapters() -> PathBuf {
    environment::scripts().join("../../adapters").canonicalize().unwrap()
}

/// Returns the version that the requirements of an environment specify.
fn pinned(environment: &str, package: &str) -> String {
    let file = environment::scripts().join(format!("requirements-{environment}.txt"));
    let text = fs::read_to_string(file).unwrap();
    text.lines().find_map(|line| line.strip_prefix(package)).unwrap().to_owned()
}

/// Returns the version of a crate in this build.
fn locked(package: &str) -> String {
    let lock = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock")).unwrap();
    let (_, behind) = lock.split_once(&format!("\nname = \"{package}\"\nversion = \"")).unwrap();
    behind.split('"').next().unwrap().to_owned()
}

fn read(reader: &Measured) -> Vec<Reading> {
    let examples: Vec<&Example> = all().iter().filter(|it| reader.formats.contains(&it.format)).collect();
    let folder = tempfile::tempdir().unwrap();
    let threads = available_parallelism().map_or(1, usize::from);
    Reader::new(&reader.name, &reader.command).read_all(&examples, folder.path(), threads).unwrap()
}

/// Returns the failures of a reader as a list of expectations.
fn list(reader: &Measured, readings: &[Reading]) -> String {
    let mut text = format!("# What {} gets wrong. Written by `cargo xtask scores`.\n", reader.name);
    for Reading { example, outcome, .. } in readings.iter().filter(|reading| reading.outcome.is_failure()) {
        writeln!(text, "{} {outcome}", example.id).unwrap();
    }
    text
}

/// If `ZARR_WRITE_SCORES` is set, the lists and the page are written instead of compared: `cargo xtask
/// scores` sets it.
#[test]
fn every_reader_behaves_as_recorded_and_the_page_is_up_to_date() {
    let (Some(measured), Some(programs)) = (measured(), in_the_wild::programs()) else { return };
    let writes = std::env::var_os("ZARR_WRITE_SCORES").is_some();
    let mut scores = Vec::new();
    let mut surprises = Vec::new();
    for reader in &measured {
        let readings = read(reader);
        let file = adapters().join(reader.known);
        if writes {
            fs::write(&file, list(reader, &readings)).unwrap();
        }
        let known = Known::parse(&fs::read_to_string(&file).unwrap(), all()).unwrap();
        let notes = known.surprises(&readings).into_iter().map(|what| format!("{}: {what}", reader.name));
        surprises.extend(notes);
        scores.push(Scores { reader: reader.name.clone(), command: reader.shown.to_owned(), readings });
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    assert_eq!(scores[0].failures().count(), 0, "{}", scores[0]);
    for peer in &scores[1..] {
        assert!(peer.failures().next().is_some(), "{} does not fail any more", peer.reader);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let page = page(&scores) + &in_the_wild::section(&programs);
    if writes {
        fs::write(&file, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), page, "run `cargo xtask scores` to update the page");
}

/// Writes a generated example below a folder with this engine.
fn write(generated: &Generated, folder: &Path) {
    let context = Context::linked().unwrap();
    let store = folder.join(&generated.example.id);
    let store = open_store(context.registry(), store.to_str().unwrap()).unwrap();
    let format = if generated.example.format == FormatName::V2 { Format::V2 } else { Format::V3 };
    let mut builder = ArrayBuilder::new(generated.shape.clone(), generated.data_type.as_str())
        .chunks(generated.chunk_shape.clone())
        .fill_value(generated.fill_value.clone())
        .order(if generated.is_column_major { Order::F } else { Order::C })
        .separator(generated.separator)
        .uncompressed();
    if let Some(shape) = &generated.shard_shape {
        builder = builder.shards(shape.clone());
    }
    for (name, configuration) in &generated.codecs {
        builder = builder.codec((*name, configuration.clone()));
    }
    let hierarchy = Hierarchy::create(store, &context, format).unwrap();
    let array = hierarchy.create_array(&generated.example.array, &builder).unwrap();
    for cell in &generated.cells {
        array.write(Selection::from(cell.ranges.as_slice()), &cell.elements).unwrap();
    }
}

#[test]
fn zarr_python_reads_generated_examples_as_intended() {
    let Some(python) = python(Packages::Zarr3) else { return };
    let folder = tempfile::tempdir().unwrap();
    let examples: Vec<&Example> = BOTH
        .iter()
        .flat_map(|format| (0..4).map(|number| Generated::new(*format, 11, number)))
        .map(|generated| {
            write(&generated, folder.path());
            // Examples must be `'static`; leaking a few in a test is harmless.
            &*Box::leak(Box::new(generated.example))
        })
        .collect();
    let script = scripted(&python, &adapters().join("zarr_python.py"));
    let command = format!("{script} {{store}} {{array}} {{out}}");
    let threads = available_parallelism().map_or(1, usize::from);
    let reader = Reader::new("zarr-python", command);
    let readings = reader.read_all(&examples, folder.path(), threads).unwrap();
    for Reading { example, outcome, note, .. } in readings {
        assert_eq!(outcome, Outcome::Right, "{}: {} {note}", example.id, example.about);
    }
}
