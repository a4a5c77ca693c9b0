//! Stored hierarchies, damaged, through the whole program: `zarrctl` opens, lists, describes, reads and copies them.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::formats::{self, Files};

/// Address space of the program: what a process of one thread takes, and what the README allows for small chunks.
const MEMORY: u64 = 512 << 20;

/// How long one verb may take.
const TIME: Duration = Duration::from_secs(30);

/// Elements of arrays that are read: more of them take long because they were asked for.
const ELEMENTS: u64 = 1 << 20;

/// Of the hierarchies of the format suite, one in this many is a seed.
const SEEDS: usize = 25;

/// Bytes of one change: a file, what to do, where, and a value.
const CHANGE: usize = 5;

#[expect(clippy::expect_used, reason = "the files are those of the repository")]
static HIERARCHIES: LazyLock<Vec<Files>> =
    LazyLock::new(|| formats::hierarchies().expect("the hierarchies of the format suite"));

/// The program, which is built if need be.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(build);

/// The input is two bytes for the hierarchy, and then changes to its files.
#[expect(clippy::expect_used, reason = "a finding would be hidden otherwise")]
pub(crate) fn run(input: &[u8]) {
    let Some((number, changes)) = input.split_first_chunk::<2>() else { return };
    let number = usize::from(u16::from_le_bytes(*number)) % HIERARCHIES.len();
    let mut files = HIERARCHIES[number].clone();
    changes.chunks_exact(CHANGE).for_each(|change| damage(&mut files, change));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    write(&store, &files).expect("files of a store");
    run_verb(["tree".as_ref(), store.as_os_str()]);
    let arrays = files.iter().filter_map(|(key, document)| array(key, document));
    for path in arrays {
        for verb in ["info", "get"] {
            run_verb([verb.as_ref(), store.as_os_str(), path.as_ref()]);
        }
    }
    if files.iter().all(|(_, document)| element_count(document) <= ELEMENTS) {
        let copy = folder.path().join("copy");
        run_verb(["copy".as_ref(), store.as_os_str(), copy.as_os_str()]);
    }
}

/// Changes one file: a byte, a word, its length, or what is in its middle.
fn damage(files: &mut Files, change: &[u8]) {
    let &[file, what, low, high, value] = change else { return };
    let count = files.len();
    let Some((_, bytes)) = files.get_mut(usize::from(file) % count.max(1)) else { return };
    let place = usize::from(u16::from_le_bytes([low, high])) % bytes.len().max(1);
    match what % 8 {
        0 => bytes.truncate(place),
        1 => bytes.insert(place, value),
        2 if !bytes.is_empty() => drop(bytes.remove(place)),
        3 => {
            let end = bytes.len().min(place + usize::from(value));
            bytes.extend_from_within(place..end);
        }
        4 => {
            let end = bytes.len().min(place + 4);
            bytes[place..end].fill(value);
        }
        5 if !bytes.is_empty() => bytes[place] ^= 1 << (value % 8),
        // Digits, so that numbers in documents become others.
        6 => bytes.insert(place, b'0' + value % 10),
        _ if !bytes.is_empty() => bytes[place] = value,
        _ => bytes.push(value),
    }
}

fn write(store: &Path, files: &Files) -> io::Result<()> {
    for (key, bytes) in files {
        let path = store.join(key);
        fs::create_dir_all(path.parent().unwrap_or(store))?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

/// The path of an array that is small enough to be read, if this is its document.
fn array(key: &str, document: &[u8]) -> Option<String> {
    let path = ["/zarr.json", "/.zarray"].into_iter().find_map(|name| {
        let file = name.trim_start_matches('/');
        if key == file { Some("") } else { key.strip_suffix(name) }
    })?;
    (element_count(document) <= ELEMENTS).then(|| format!("/{path}"))
}

/// How many elements a document says that its array has; 0 for one that is damaged.
fn element_count(document: &[u8]) -> u64 {
    let document: serde_json::Value = serde_json::from_slice(document).unwrap_or_default();
    let lengths =
        document["shape"].as_array().into_iter().flatten().map(|length| length.as_u64().unwrap_or(0));
    lengths.fold(1, u64::saturating_mul)
}

/// Runs the program with a limit of memory and time. Errors are well; crashes are not.
fn run_verb<const N: usize>(arguments: [&OsStr; N]) {
    let mut command = Command::new("prlimit");
    command.arg(format!("--as={MEMORY}")).arg("--core=0").arg(&*PROGRAM).args(arguments);
    command.env("RAYON_NUM_THREADS", "1").env("MALLOC_ARENA_MAX", "1").env("RUST_BACKTRACE", "0");
    match ended(&mut command, &arguments) {
        Ok((Some(0..=2), _)) => {}
        Ok((code, said)) => panic!("zarrctl {arguments:?} ended with {code:?}: {said}"),
        Err(error) => panic!("`prlimit`, which limits memory: {error}"),
    }
}

/// The status of the program and what it said; no status for a signal.
fn ended(command: &mut Command, arguments: &[&OsStr]) -> io::Result<(Option<i32>, String)> {
    let mut messages = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages.try_clone()?);
    let mut child = command.spawn()?;
    let end = Instant::now() + TIME;
    while child.try_wait()?.is_none() {
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            panic!("zarrctl {arguments:?} did not end in {} seconds", TIME.as_secs());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut said = Vec::new();
    messages.rewind()?;
    messages.read_to_end(&mut said)?;
    Ok((child.wait()?.code(), String::from_utf8_lossy(&said).into_owned()))
}

/// Builds the program as the tests of `zarr-interop` do, unless `ZARR_FUZZ_PROGRAM` names it.
#[expect(clippy::expect_used, reason = "nothing can be tried without the program")]
fn build() -> PathBuf {
    if let Some(program) = std::env::var_os("ZARR_FUZZ_PROGRAM") {
        return program.into();
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "zarrctl", "--all-features"]);
    command.args(["--message-format", "json-render-diagnostics"]).env_remove("RUSTFLAGS");
    let built = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let messages = String::from_utf8_lossy(&built.stdout).into_owned();
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut executables = messages.filter(|message| message["target"]["name"] == "zarrctl");
    let executable = executables.find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
    executable.expect("the path of zarrctl")
}

/// Some hierarchies as they are, and with a byte that is another one.
pub(crate) fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let numbers = (0..HIERARCHIES.len()).step_by(SEEDS).filter_map(|number| u16::try_from(number).ok());
    let seed = |number: u16| [&number.to_le_bytes()[..], &[0, 7, 40, 0, b'9']].concat();
    Ok(numbers.map(seed).collect())
}
