//! `plugins probe`: a library is loaded and held to the suite in a process of its own, and what crashes or hangs there is
//! not loaded any more.

use std::fs;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use zarr_conformance::suite::{Level, Report, suites_of};
use zarr_kit::Registry;
use zarr_kit::loaded::{Loader, Lock, Manifest, Policy, Quarantined, Search, sha256};

use super::install::manifest_in;
use super::trust::files;
use crate::failure::Failure;
use crate::loaded::Installed;

/// What the process may use.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) time: Duration,
    /// MiB of address space.
    pub(super) memory: u64,
}

/// What is tried out.
#[derive(Debug)]
struct Subject {
    name: String,
    library: Vec<u8>,
    manifest: Option<Manifest>,
}

/// The file in which the process says how it went. One that ends itself has no such file.
const VERDICT: &str = "verdict";

/// What is in it when all is well; otherwise what is not.
const PASSES: &str = "passes";

pub(super) fn run(plugin: &Path, limits: &Limits, level: Level, to: &mut dyn Write) -> Result<(), Failure> {
    let files = files()?;
    let subject = subject(plugin)?;
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("plugin.so"), &subject.library)?;
    if let Some(manifest) = &subject.manifest {
        let mut manifest = manifest.clone();
        let hash = sha256(&subject.library);
        manifest.library.retain(|_, file| file.sha256 == hash);
        write_manifest(manifest, folder.path())?;
    }
    to.flush()?;
    let ended = in_a_process(folder.path(), limits, level)?;
    let verdict = fs::read_to_string(folder.path().join(VERDICT)).ok();
    let hash = sha256(&subject.library);
    let mut quarantine = Lock::read(&files.quarantine).map_err(|error| Failure::Fault(error.into()))?;
    let crash = match (ended, verdict.as_deref()) {
        (Ended::Of(status), Some(PASSES)) if status.success() => {
            let was_there = quarantine.release(&hash);
            if was_there {
                quarantine.write(&files.quarantine).map_err(|error| Failure::Fault(error.into()))?;
            }
            let more = if was_there { " and is out of quarantine" } else { "" };
            writeln!(to, "{} passes{more}.", subject.name)?;
            return Ok(());
        }
        (Ended::Of(status), Some(failed)) if status.success() => {
            return Err(Failure::fault(format!("{} does not pass: {failed}", subject.name)));
        }
        (Ended::Late, _) => format!("it did not come to an end within {} s", limits.time.as_secs()),
        (Ended::Of(status), _) => in_words(status),
    };
    let reason = format!("when it was tried, {crash}");
    quarantine.quarantine(Quarantined { name: subject.name.clone(), sha256: hash, reason });
    quarantine.write(&files.quarantine).map_err(|error| Failure::Fault(error.into()))?;
    Err(Failure::fault(format!(
        "{}: {crash}; it is in quarantine now ({}) and is not loaded until a probe passes",
        subject.name,
        files.quarantine.display()
    )))
}

/// A library, what its manifest names, or what is installed by that name.
fn subject(plugin: &Path) -> Result<Subject, Failure> {
    let named = |path: &Path, error| Failure::Io(error).while_at(&path.display().to_string());
    let installed = Installed::find();
    let path = match plugin.to_str().filter(|_| !plugin.exists()) {
        Some(name) if !name.contains(['/', '.']) => {
            installed.named(name).ok_or_else(|| installed.nobody_called(name))?.0.path.clone()
        }
        _ if plugin.is_dir() => manifest_in(plugin)?,
        _ => plugin.to_owned(),
    };
    if path.extension().is_some_and(|extension| extension == "toml") {
        let loader = Loader::new(&Search::nowhere().given(&path), Policy::Any, Lock::default());
        let [candidate] = loader.candidates() else {
            return Err(Failure::fault(format!("{}: no such file", path.display())));
        };
        let manifest = candidate.manifest()?.clone();
        let library = loader.pin(candidate, "")?.path;
        let bytes = fs::read(&library).map_err(|error| named(&library, error))?;
        return Ok(Subject { name: manifest.name.clone(), library: bytes, manifest: Some(manifest) });
    }
    let library = fs::read(&path).map_err(|error| named(&path, error))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Subject { name, library, manifest: None })
}

/// How the process ended.
#[derive(Debug, Clone, Copy)]
enum Ended {
    Of(ExitStatus),
    Late,
}

/// Runs this program again, where a crash harms nobody.
fn in_a_process(folder: &Path, limits: &Limits, level: Level) -> io::Result<Ended> {
    // What the shell starts takes its place, and has its limits.
    let mut shell = Command::new("sh");
    let memory = limits.memory.saturating_mul(1024);
    shell.arg("-c").arg(format!("ulimit -c 0; ulimit -v {memory}; exec \"$0\" \"$@\""));
    shell.arg(std::env::current_exe()?).args(["plugins", "probe-here"]).arg(folder).arg(level.to_string());
    let mut child = shell.stdin(Stdio::null()).spawn()?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::Of(status));
        }
        if start.elapsed() > limits.time {
            child.kill()?;
            child.wait()?;
            return Ok(Ended::Late);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn in_words(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(4), _) => "it ran into an instruction that this machine does not have (signal 4)".to_owned(),
        (Some(6), _) => "it ended the whole program with an abort (signal 6)".to_owned(),
        (Some(7 | 11), _) => "it touched memory that is not its own (segmentation fault)".to_owned(),
        (Some(8), _) => "it divided by zero or the like (signal 8)".to_owned(),
        (Some(9), _) => "it was killed (signal 9), perhaps since memory ran out".to_owned(),
        (Some(signal), _) => format!("it ended the whole program with signal {signal}"),
        (None, code) => {
            format!("it ended the whole program itself, with status {}", code.unwrap_or_default())
        }
    }
}

/// What the process does: loads the library that lies in the folder, holds it to the suite, and says how that went.
pub(super) fn here(folder: &Path, level: Level, to: &mut dyn Write) -> Result<(), Failure> {
    let said = match hold(folder, level, to) {
        Ok(()) => PASSES.to_owned(),
        Err(failure) => failure.message().unwrap_or_default(),
    };
    to.flush()?;
    Ok(fs::write(folder.join(VERDICT), said)?)
}

fn hold(folder: &Path, level: Level, to: &mut dyn Write) -> Result<(), Failure> {
    let path = manifest_path(folder);
    if !path.exists() {
        write_manifest(Manifest::of_library(&fs::read(folder.join("plugin.so"))?, "plugin.so")?, folder)?;
    }
    let loader = Loader::new(&Search::nowhere().given(&path), Policy::Any, Lock::default());
    let mut registry = Registry::empty();
    for candidate in loader.candidates() {
        loader.open(candidate)?;
    }
    if let Some(passed_over) = loader.register(&mut registry).into_iter().next() {
        return Err(passed_over.refusal.into());
    }
    let names: Vec<_> =
        loader.candidates().iter().filter_map(|it| Some(it.manifest().ok()?.name.clone())).collect();
    let mut suites = suites_of(&registry);
    suites.retain(|suite| names.contains(&suite.subject.package));
    let report = Report::of(&suites, level);
    write!(to, "{report}")?;
    match report.failures().count() {
        0 => Ok(()),
        1 => Err(Failure::fault("it breaks a rule")),
        count => Err(Failure::fault(format!("it breaks {count} rules"))),
    }
}

fn manifest_path(folder: &Path) -> PathBuf {
    folder.join("plugin.toml")
}

/// The manifest of what lies in the folder.
fn write_manifest(mut manifest: Manifest, folder: &Path) -> Result<(), Failure> {
    manifest.library.values_mut().for_each(|file| file.path = "plugin.so".to_owned());
    Ok(fs::write(manifest_path(folder), manifest.to_toml().map_err(Failure::fault)?)?)
}
