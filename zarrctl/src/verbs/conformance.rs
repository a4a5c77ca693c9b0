//! `conformance`: plugins of this build and stores held to the rules of their kind, and readers to stored hierarchies.

use std::fs;
use std::io::Write;
use std::path::Path;

use zarr_conformance::stores::suite_of;
use zarr_conformance::suite::{Again, Expectations, Report, Suite, suites_of};
#[cfg(all(feature = "dynamic", target_os = "linux"))]
use zarr_kit::Registry;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
use zarr_kit::loaded::Loader;
use zarr_kit::open_store;
use zarr_kit::spec::{Value, json};

mod format;
mod generated;
mod inside;

use super::plugins;
use crate::arguments::{ConformancePlugin, ConformanceStore, ConformanceVerb, Told};
use crate::failure::Failure;
use crate::opening::context;
use crate::printer::stdout;

pub(crate) fn run(verb: &ConformanceVerb) -> Result<(), Failure> {
    match verb {
        ConformanceVerb::Plugin(arguments) => plugin(arguments),
        ConformanceVerb::Store(arguments) => store(arguments),
        ConformanceVerb::Format(arguments) => format::run(arguments),
    }
}

fn plugin(arguments: &ConformancePlugin) -> Result<(), Failure> {
    #[cfg(all(feature = "dynamic", target_os = "linux"))]
    if let [file] = arguments.ids.as_slice()
        && Path::new(file).is_file()
        && Path::new(file)
            .extension()
            .is_some_and(|extension| ["so", "toml", "wasm"].iter().any(|it| extension == *it))
    {
        return library(file, &arguments.told);
    }
    let context = context()?;
    if Again::is_asked_for() {
        return Again::serve(context.registry()).map_err(Failure::fault);
    }
    let mut suites = suites_of(context.registry());
    Again::with(&["conformance", "plugin"])?.isolate(&mut suites);
    if !arguments.ids.is_empty() {
        let mut wanted = Vec::new();
        for id in &arguments.ids {
            wanted.extend(plugins::named(context.registry(), id)?);
        }
        suites.retain(|suite| {
            wanted.iter().any(|(point, name)| (*point, name) == (suite.subject.point, &suite.subject.name))
        });
    }
    run_and_tell(&suites, &arguments.told, "Conformance of Zarr plugins", "plugin {subject}")
}

/// A library that is loaded, or the one that a manifest names: every rule again, through the C ABI. Examples may name what is
/// linked, unless the library has the same itself.
#[cfg(all(feature = "dynamic", target_os = "linux"))]
fn library(file: &str, told: &Told) -> Result<(), Failure> {
    let loader = Loader::of_one(Path::new(file))?;
    let mut registry = Registry::linked().map_err(|error| Failure::Fault(error.into()))?;
    if !loader.register(&mut registry).is_empty() {
        registry = Registry::empty();
        if let Some(passed_over) = loader.register(&mut registry).into_iter().next() {
            return Err(passed_over.refusal.into());
        }
    }
    if Again::is_asked_for() {
        return Again::serve(&registry).map_err(Failure::fault);
    }
    let manifests = loader.candidates().iter().filter_map(|candidate| candidate.manifest().ok());
    let names: Vec<_> = manifests.map(|manifest| manifest.name.as_str()).collect();
    let mut suites = suites_of(&registry);
    suites.retain(|suite| names.contains(&suite.subject.package.as_str()));
    Again::with(&["conformance", "plugin", file])?.isolate(&mut suites);
    run_and_tell(&suites, told, "Conformance of a loaded library", &format!("plugin {file}"))
}

/// The rules are held to the store itself, which is emptied after each of them: so nothing may be in it.
fn store(arguments: &ConformanceStore) -> Result<(), Failure> {
    let location = &arguments.store;
    let store = open_store(context()?.registry(), location)?;
    let can = store.capabilities();
    if !(can.readable && can.writeable && can.listable && can.erasable) {
        return Err(Failure::fault(format!(
            "`{location}` is not a store that can be written, listed and emptied, as the rules need it"
        )));
    }
    if arguments.inside {
        return inside::run(arguments, store);
    }
    let keys = store.list().map_err(zarr_kit::Error::from)?;
    if let Some(key) = keys.first() {
        return Err(Failure::fault(format!(
            "`{location}` is not empty: there is `{key}`; with --inside, the rules are looked at below a new prefix"
        )));
    }
    let suite = suite_of(location, store);
    run_and_tell(&[suite], &arguments.told, "Conformance of a Zarr store", "store {subject}")
}

/// Holds `suites` to their rules and says what came of it; `again` is the verb for one of them.
fn run_and_tell(suites: &[Suite], told: &Told, title: &str, again: &str) -> Result<(), Failure> {
    let expected = expected(told.expect.as_deref())?;
    if told.badge.is_some() && suites.len() != 1 {
        return Err(Failure::fault(format!("a badge is for one plugin, and these are {}", suites.len())));
    }
    let report = Report::of(suites, told.level);
    write!(stdout(), "{report}")?;
    write_to(told.json.as_deref(), || pretty(&report.to_json()))?;
    write_to(told.html.as_deref(), || {
        let command = format!("zarrctl conformance {again} --level {}", told.level);
        Ok(report.to_html(title, &command).into_bytes())
    })?;
    write_to(told.junit.as_deref(), || Ok(report.to_junit().into_bytes()))?;
    if let [(_, outcomes)] = report.subjects.as_slice() {
        write_to(told.badge.as_deref(), || pretty(&Report::badge(outcomes)))?;
    }
    match report.surprises(&expected).as_slice() {
        [] => Ok(()),
        surprises => Err(Failure::fault(surprises.join("; "))),
    }
}

fn expected(file: Option<&Path>) -> Result<Expectations, Failure> {
    let Some(file) = file else { return Ok(Expectations::default()) };
    let named = |what: String| Failure::fault(format!("{}: {what}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| named(error.to_string()))?;
    Expectations::parse(&text).map_err(|error| named(error.to_string()))
}

fn pretty(value: &Value) -> Result<Vec<u8>, Failure> {
    json::to_vec_pretty(value).map_err(|error| Failure::fault(error.to_string()))
}

fn write_to(file: Option<&Path>, bytes: impl FnOnce() -> Result<Vec<u8>, Failure>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let bytes = bytes()?;
    fs::write(file, bytes).map_err(|error| Failure::from(error).while_at(&file.display().to_string()))
}
