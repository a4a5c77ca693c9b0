//! Damaged hierarchies and the whole program: `zarrctl` opens, lists, describes, reads and copies them.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::damage::damage;
use crate::formats::{self, Files};
use crate::peers;

/// The address space of the program in bytes: the needs of a process with one thread, plus the documented memory for
/// small chunks.
const MEMORY: u64 = 512 << 20;

/// The time limit of one verb.
const TIME: Duration = Duration::from_secs(30);

/// The maximum number of elements of arrays that are read. Reading larger arrays could exceed the time limit without a
/// fault.
const ELEMENTS: u64 = 1 << 20;

/// Only one in `STEP` hierarchies is a seed, because every test run replays the seeds.
const STEP: u16 = 25;

#[expect(clippy::expect_used, reason = "the files are part of the repository")]
static HIERARCHIES: LazyLock<Vec<Files>> = LazyLock::new(|| {
    let mut all = formats::hierarchies().expect("the hierarchies of the format suite");
    all.extend(peers::hierarchies().expect("the hierarchies of other programs"));
    all
});

/// The path of the program, which is built if necessary.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(build);

/// Runs all verbs on a hierarchy. The input is two bytes for the hierarchy, then changes to its files.
#[expect(clippy::expect_used, reason = "a finding would be hidden otherwise")]
pub(crate) fn run(input: &[u8]) {
    let Some((number, changes)) = input.split_first_chunk::<2>() else { return };
    let number = usize::from(u16::from_le_bytes(*number)) % HIERARCHIES.len();
    let mut files = HIERARCHIES[number].clone();
    changes.as_chunks().0.iter().for_each(|change| damage(&mut files, change));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    write(&store, &files).expect("files of a store");
    run_verb(["tree".as_ref(), store.as_os_str()]);
    let is_small = files.iter().all(|(_, document)| most_elements(document) <= ELEMENTS);
    for path in files.iter().filter_map(|(key, _)| array(key)) {
        run_verb(["info".as_ref(), store.as_os_str(), path.as_ref()]);
        if is_small {
            run_verb(["get".as_ref(), store.as_os_str(), path.as_ref()]);
        }
    }
    if is_small {
        let copy = folder.path().join("copy");
        run_verb(["copy".as_ref(), store.as_os_str(), copy.as_os_str()]);
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

/// Returns the path of an array if `key` is the key of its document.
fn array(key: &str) -> Option<String> {
    let path = ["/zarr.json", "/.zarray"].into_iter().find_map(|name| {
        let file = name.trim_start_matches('/');
        if key == file { Some("") } else { key.strip_suffix(name) }
    })?;
    Some(format!("/{path}"))
}

/// Returns the number of elements of the largest array that a document describes, including consolidated metadata.
/// Returns 0 for a damaged document.
fn most_elements(document: &[u8]) -> u64 {
    serde_json::from_slice(document).map_or(0, |document| most_elements_in(&document))
}

fn most_elements_in(value: &serde_json::Value) -> u64 {
    let lengths = value["shape"].as_array().into_iter().flatten();
    let own = lengths.map(|length| length.as_u64().unwrap_or(0)).fold(1, u64::saturating_mul);
    let members = value.as_object().into_iter().flat_map(serde_json::Map::values);
    let items = value.as_array().into_iter().flatten();
    members.chain(items).map(most_elements_in).fold(own, u64::max)
}

/// Runs the program with limits of memory and time. Panics if it crashes or exceeds them; errors are permitted.
fn run_verb<const N: usize>(arguments: [&OsStr; N]) {
    let mut command = Command::new("prlimit");
    command.arg(format!("--as={MEMORY}")).arg("--core=0").arg(&*PROGRAM).args(arguments);
    command.env("RAYON_NUM_THREADS", "1").env("MALLOC_ARENA_MAX", "1").env("RUST_BACKTRACE", "0");
    match ended(&mut command, &arguments) {
        Ok((Some(0..=2), _)) => {}
        Ok((code, said)) => panic!("zarrctl {arguments:?} ended with {code:?}: {said}"),
        Err(error) => panic!("cannot run `prlimit`, which limits memory: {error}"),
    }
}

/// Waits for the program. Returns its status, which is `None` after a signal, and its messages.
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

/// Returns the path in `ZARR_FUZZ_PROGRAM`, or builds the program like the tests of `zarr-interop`.
#[expect(clippy::expect_used, reason = "nothing can be tried without the program")]
fn build() -> PathBuf {
    if let Some(program) = std::env::var_os("ZARR_FUZZ_PROGRAM") {
        return program.into();
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--workspace", "--exclude", "zarr-peers-zarrs"]);
    command.args(["--all-features", "--bin", "zarrctl"]);
    command.args(["--message-format", "json-render-diagnostics"]).env_remove("RUSTFLAGS");
    // These variables describe the package that is tested. If they differed between calls, dependencies would be
    // rebuilt.
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"]
            .iter()
            .any(|prefix| name.to_string_lossy().starts_with(prefix))
        {
            command.env_remove(name);
        }
    }
    let built = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let messages = String::from_utf8_lossy(&built.stdout).into_owned();
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut executables = messages.filter(|message| message["target"]["name"] == "zarrctl");
    let executable = executables.find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
    executable.expect("the path of zarrctl")
}

/// Returns some hierarchies, without changes and with one kind of change each.
pub(crate) fn seeds() -> io::Result<Vec<Vec<u8>>> {
    // Builds the program now, so that the time of the build does not count for the first input.
    LazyLock::force(&PROGRAM);
    let count = u16::try_from(HIERARCHIES.len()).unwrap_or(u16::MAX);
    let seed = |number: u16| {
        let [what, _] = (number / STEP).to_le_bytes();
        [&number.to_le_bytes()[..], &[0, what, 40, 0, b'9']].concat()
    };
    Ok((0..count).step_by(usize::from(STEP)).map(seed).collect())
}
