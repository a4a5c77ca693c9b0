//! `plugins probe`: checks a library in separate processes, and quarantines it if it crashes or hangs.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use zarr_conformance::suite::{
    Again, Crash, End, Level, Outcome, Report, Suite, VERSION, WorkerOptions, Workers, add_fixtures,
    fixtures_in, serve, suites_of,
};
use zarr_kit::Registry;
use zarr_kit::json::counted;
use zarr_kit::loaded::{Loader, Lock, LockFiles, Manifest, Policy, Quarantined, Search, sha256};

use super::install::manifest_in;
use super::trust::files;
use crate::failure::Failure;
use crate::loaded::{Installed, PluginId};
use crate::verbs::conformance::fixtures_next_to;

/// Limits of the processes, and the rules to check.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) time: Duration,
    /// Limit of the address space, in MiB.
    pub(super) memory: u64,
    pub(super) level: Level,
    pub(super) fixtures: Option<PathBuf>,
}

#[derive(Debug)]
struct Subject {
    name: String,
    library: Vec<u8>,
    manifest: Option<Manifest>,
    /// The fixtures next to the library.
    fixtures: Option<PathBuf>,
}

pub(super) fn run(plugin: &Path, options: Options, to: &mut dyn Write) -> Result<(), Failure> {
    let files = files()?;
    let subject = subject(plugin)?;
    let options = Options { fixtures: options.fixtures.or_else(|| subject.fixtures.clone()), ..options };
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("plugin.so"), &subject.library)?;
    if let Some(manifest) = &subject.manifest {
        let mut manifest = manifest.clone();
        let hash = sha256(&subject.library);
        manifest.library.retain(|_, file| file.sha256 == hash);
        write_manifest(manifest, folder.path())?;
    }
    match checked(folder.path(), &options)? {
        Probed::Report(report) => {
            write!(to, "{report}")?;
            match report.failures().count() {
                0 => release(&subject, &files, to),
                count => {
                    let rules = counted(count, "rule", "rules");
                    Err(Failure::fault(format!("{} fails: it violates {rules}", subject.name)))
                }
            }
        }
        Probed::Refused(why) => Err(Failure::fault(format!("{} fails: {why}", subject.name))),
        Probed::Crashed { crash, during } => quarantine(&subject, &files, &crash, &during, options.time),
    }
}

enum Probed {
    Report(Report),
    /// The library has no plugins to check.
    Refused(String),
    Crashed {
        crash: Crash,
        /// The activity of the process.
        during: String,
    },
}

/// Checks one rule after another, up to the first crash.
fn checked(folder: &Path, options: &Options) -> io::Result<Probed> {
    let workers = Workers::new(again(folder, options.fixtures.as_deref())?, options.workers());
    let listed = match workers.list() {
        Ok(listed) => listed,
        Err(Crash { end: End::Refused(why), .. }) => return Ok(Probed::Refused(why)),
        Err(crash) => return Ok(Probed::Crashed { crash, during: "while loading it".to_owned() }),
    };
    let mut subjects = Vec::new();
    for (number, it) in listed.iter().enumerate() {
        let mut outcomes = Vec::new();
        for (trial, rule) in it.rules.iter().enumerate().filter(|(_, rule)| rule.level <= options.level) {
            let start = Instant::now();
            match workers.check(number, trial, it.subject.point) {
                Ok(verdict) => outcomes.push(Outcome { rule, verdict, time: start.elapsed() }),
                Err(crash) => {
                    let during =
                        format!("rule {} {} of {}: {}", rule.level, rule.id, it.subject, crash.tried());
                    return Ok(Probed::Crashed { crash, during });
                }
            }
        }
        subjects.push((it.subject.clone(), outcomes));
    }
    Ok(Probed::Report(Report { version: VERSION, up_to: options.level, subjects }))
}

impl Options {
    fn workers(&self) -> WorkerOptions {
        WorkerOptions {
            time: self.time,
            deadline: Instant::now().checked_add(self.time),
            memory: Some(self.memory.saturating_mul(1024)),
            is_thorough: true,
        }
    }
}

fn again(folder: &Path, fixtures: Option<&Path>) -> io::Result<Again> {
    let folder = folder.to_string_lossy();
    let fixtures = fixtures.map(Path::to_string_lossy);
    let mut arguments = vec!["plugins", "probe-here", &folder];
    if let Some(fixtures) = &fixtures {
        arguments.extend(["--fixtures", fixtures]);
    }
    Again::with(&arguments)
}

fn release(subject: &Subject, files: &LockFiles, to: &mut dyn Write) -> Result<(), Failure> {
    let hash = sha256(&subject.library);
    let quarantine = Lock::read(&files.quarantine)?;
    // The file is only rewritten if the library is in it.
    let was_quarantined = quarantine.quarantined.iter().any(|found| found.sha256 == hash)
        && Lock::update(&files.quarantine, |quarantine| quarantine.release(&hash))?;
    let more = if was_quarantined { " and is out of quarantine" } else { "" };
    Ok(writeln!(to, "{} passes{more}.", subject.name)?)
}

/// Quarantines a library that crashed or hung: it is not loaded until it passes.
fn quarantine(
    subject: &Subject,
    files: &LockFiles,
    crash: &Crash,
    during: &str,
    time: Duration,
) -> Result<(), Failure> {
    let what = match &crash.end {
        End::Late(_) => format!("it did not finish within {} s", time.as_secs()),
        end => end.to_string(),
    };
    let name = subject.name.clone();
    let sha256 = sha256(&subject.library);
    let quarantined = Quarantined { name, sha256, reason: format!("in a probe, {what}") };
    Lock::update(&files.quarantine, |quarantine| quarantine.quarantine(quarantined))?;
    Err(Failure::fault(format!(
        "{}: {what}; it is quarantined ({}) and not loaded until a probe passes; {during}",
        subject.name,
        files.quarantine.display()
    )))
}

/// Finds a library by its path, its manifest or the name of an installed plugin.
fn subject(plugin: &Path) -> Result<Subject, Failure> {
    let named = |path: &Path, error| Failure::Io(error).while_at(&path.display().to_string());
    let installed = Installed::find();
    let path = match plugin.to_str().filter(|_| !plugin.exists()) {
        Some(name) if !PluginId::of(name).name.contains(['/', '.']) => {
            installed.named(name).ok_or_else(|| installed.no_plugin_named(name))?.0.path.clone()
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
        let name = manifest.name.clone();
        let fixtures = fixtures_next_to(&path);
        return Ok(Subject { name, library: bytes, manifest: Some(manifest), fixtures });
    }
    let library = fs::read(&path).map_err(|error| named(&path, error))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Subject { name, library, manifest: None, fixtures: fixtures_next_to(&path) })
}

/// Runs in the process of a probe: loads the library in the folder and checks the requested rules.
pub(super) fn here(folder: &Path, fixtures: Option<&Path>) -> Result<(), Failure> {
    let suites = suites(folder, fixtures).map_err(|failure| failure.message().unwrap_or_default());
    serve(suites).map_err(Failure::fault)
}

fn suites(folder: &Path, fixtures: Option<&Path>) -> Result<Vec<Suite>, Failure> {
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
    if let Some(folder) = fixtures {
        add_fixtures(&registry, fixtures_in(folder)?, &mut suites);
    }
    Ok(suites)
}

fn manifest_path(folder: &Path) -> PathBuf {
    folder.join("plugin.toml")
}

fn write_manifest(mut manifest: Manifest, folder: &Path) -> Result<(), Failure> {
    manifest.library.values_mut().for_each(|file| file.path = "plugin.so".to_owned());
    Ok(fs::write(manifest_path(folder), manifest.to_toml().map_err(Failure::fault)?)?)
}
