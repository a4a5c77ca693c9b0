//! The small hierarchies in `fuzz/peers`, which other programs wrote and which form the initial fuzzing
//! corpus.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use zarr_interop::environment::{bytecode, scripts};
use zarr_interop::{Packages, python};
use zarr_kit::{Context, EntryKind, Hierarchy, Mode, Selection, UndefinedFill, open_store};

/// Maximum number of bytes of one hierarchy, and of all stored hierarchies.
const MOST_OF_ONE: usize = 4096;
const MOST_OF_ALL: u64 = 300_000;

/// A file of `fuzz/peers`.
#[derive(Deserialize)]
struct Written {
    written_by: String,
    hierarchies: BTreeMap<String, Files>,
}

type Files = BTreeMap<String, Content>;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Content {
    Text(String),
    Hex(String),
}

impl Content {
    fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) if text.starts_with('{') => Self::Text(text),
            Ok(text) => Self::hex(text.as_bytes()),
            Err(error) => Self::hex(error.as_bytes()),
        }
    }

    fn hex(bytes: &[u8]) -> Self {
        Self::Hex(bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Hex(text) => zarr_conformance::hex(text),
        }
    }
}

const PROGRAMS: [&str; 4] = ["tensorstore", "zarr-python-2", "zarr-python-3", "zarrs"];

fn file(program: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/peers").join(program).with_extension("json")
}

fn stored(program: &str) -> Written {
    serde_json::from_slice(&fs::read(file(program)).unwrap()).unwrap()
}

/// Writes the hierarchies of a program; returns `None` after a visible skip if the program cannot be
/// installed.
fn write(program: &str, folder: &Path) -> Option<Written> {
    let mut command = if program == "zarrs" {
        Command::new(env!("CARGO_BIN_EXE_write-with-zarrs"))
    } else {
        let packages = if program == "zarr-python-2" { Packages::Zarr2 } else { Packages::Zarr3 };
        let mut command = Command::new(python(packages)?);
        command.arg(scripts().join("small/write.py")).args(["--program", program]);
        command
    };
    let output = command.arg(folder).envs(bytecode()).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    let mut hierarchies = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let mut files = Files::new();
        add_files(&entry.path(), "", &mut files);
        hierarchies.insert(entry.file_name().into_string().unwrap(), files);
    }
    let written_by = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    Some(Written { written_by, hierarchies })
}

fn add_files(folder: &Path, prefix: &str, files: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            add_files(&path, &format!("{prefix}{name}/"), files);
        } else {
            files.insert(format!("{prefix}{name}"), Content::of(fs::read(&path).unwrap()));
        }
    }
}

/// Formats the file, with one line for each hierarchy.
fn text(written: &Written) -> String {
    let by = serde_json::to_string(&written.written_by).unwrap();
    let mut text = format!("{{\"written_by\": {by}, \"hierarchies\": {{\n");
    for (number, (name, files)) in written.hierarchies.iter().enumerate() {
        let comma = if number == 0 { "" } else { ",\n" };
        let name = serde_json::to_string(name).unwrap();
        let files = serde_json::to_string(files).unwrap();
        write!(text, "{comma}{name}: {files}").unwrap();
    }
    text + "\n}}\n"
}

fn keys(written: &Written) -> Vec<(&str, Vec<&String>)> {
    written.hierarchies.iter().map(|(name, files)| (name.as_str(), files.keys().collect())).collect()
}

/// If `ZARR_WRITE_PEERS` is set, the files are written instead of compared.
#[test]
fn each_program_still_writes_its_hierarchies_of_the_fuzzing_corpus() {
    let writes = std::env::var_os("ZARR_WRITE_PEERS").is_some();
    for program in PROGRAMS {
        let folder = tempfile::tempdir().unwrap();
        let Some(written) = write(program, folder.path()) else { continue };
        if writes {
            fs::write(file(program), text(&written)).unwrap();
        }
        let stored = stored(program);
        assert_eq!(written.written_by, stored.written_by, "{program}");
        assert_eq!(keys(&written), keys(&stored), "{program}");
    }
}

#[test]
fn the_fuzzing_corpus_has_many_small_hierarchies() {
    let sizes = PROGRAMS.map(|program| file(program).metadata().unwrap().len());
    assert!(sizes.iter().sum::<u64>() < MOST_OF_ALL, "{sizes:?}");
    for program in PROGRAMS {
        let hierarchies = stored(program).hierarchies;
        assert!(hierarchies.len() >= 50, "{program}: {}", hierarchies.len());
        for (name, files) in hierarchies {
            let size: usize = files.values().map(|content| content.bytes().len()).sum();
            assert!(size < MOST_OF_ONE, "{program} {name}: {size} bytes");
        }
    }
}

/// Fuzzing would find little in a hierarchy whose documents cannot be read.
#[test]
fn all_hierarchies_of_the_fuzzing_corpus_can_be_read() {
    let mut problems = Vec::new();
    for program in PROGRAMS {
        for (name, files) in stored(program).hierarchies {
            let folder = tempfile::tempdir().unwrap();
            for (key, content) in &files {
                let path = folder.path().join(key);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content.bytes()).unwrap();
            }
            if let Err(error) = read_all(folder.path()) {
                problems.push(format!("{program} {name}: {error}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn read_all(folder: &Path) -> Result<(), String> {
    let context = Context::linked().unwrap().with_mode(Mode::Compatibility);
    let context = context.with_undefined_fill(UndefinedFill::Zeros);
    let store = open_store(context.registry(), folder.to_str().unwrap()).unwrap();
    let hierarchy = Hierarchy::open(store, &context).map_err(|error| error.to_string())?;
    let nodes = hierarchy.walk(hierarchy.path("/").unwrap()).map_err(|error| error.to_string())?;
    if nodes.is_empty() {
        return Err("no nodes".to_owned());
    }
    for node in nodes.iter().filter(|node| node.kind == EntryKind::Array) {
        let array = hierarchy.array(&node.path).map_err(|error| format!("{error:?}"))?;
        array.read(&Selection::All).map_err(|error| format!("{error:?}"))?;
    }
    Ok(())
}
