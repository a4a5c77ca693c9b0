//! `conformance`: checks plugins, stores and other programs with the conformance suite.

use std::fs;
use std::io::Write;
use std::path::Path;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
use std::path::PathBuf;

use zarr_conformance::stores::suite_of;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
use zarr_conformance::suite::End;
use zarr_conformance::suite::{
    Again, Expectations, Listed, Report, Suite, WorkerOptions, Workers, add_fixtures, fixtures_in, is_worker,
    serve, suites_of,
};
#[cfg(all(feature = "dynamic", target_os = "linux"))]
use zarr_kit::Registry;
use zarr_kit::json;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
use zarr_kit::loaded::Loader;
use zarr_kit::open_store;
use zarr_kit::spec::{Prefix, Value};

mod format;
mod generated;
mod inside;

use super::plugins;
use crate::arguments::{ConformancePlugin, ConformanceStore, ConformanceVerb, ReportArguments};
use crate::failure::Failure;
use crate::opening::{check_scheme, context};
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
        return library(Path::new(file), arguments);
    }
    let context = context()?;
    if Again::is_asked_for() {
        return Again::serve(context.registry()).map_err(Failure::fault);
    }
    let mut suites = suites_of(context.registry());
    if let Some(folder) = &arguments.fixtures {
        add_fixtures(context.registry(), fixtures_in(folder)?, &mut suites);
    }
    let again = again(&arguments.ids, arguments.fixtures.as_deref())?;
    again.isolate(&mut suites);
    if !arguments.ids.is_empty() {
        let mut wanted = Vec::new();
        for id in &arguments.ids {
            wanted.extend(plugins::named(context.registry(), id)?);
        }
        suites.retain(|suite| {
            wanted.iter().any(|(point, name)| (*point, name) == (suite.subject.point, &suite.subject.name))
        });
    }
    if is_worker() {
        return serve(Ok(suites)).map_err(Failure::fault);
    }
    let expected = expected(&arguments.report, suites.len())?;
    let report = match cfg!(unix) {
        true => {
            let listed: Vec<_> = suites.iter().map(Listed::of).collect();
            Workers::new(again, WorkerOptions::default()).report(&listed, arguments.report.level)
        }
        false => Report::of(&suites, arguments.report.level),
    };
    write_report(&report, &arguments.report, &expected, "Conformance of Zarr plugins", "plugin {subject}")
}

/// Returns the command that starts this program again for the same plugins.
fn again(ids: &[String], fixtures: Option<&Path>) -> Result<Again, Failure> {
    let mut arguments = vec!["conformance", "plugin"];
    arguments.extend(ids.iter().map(String::as_str));
    let fixtures = fixtures.map(Path::to_string_lossy);
    if let Some(fixtures) = &fixtures {
        arguments.extend(["--fixtures", fixtures]);
    }
    Ok(Again::with(&arguments)?)
}

/// Checks a library, directly or through its manifest, over the C ABI. It is loaded only in other processes,
/// because it may crash.
#[cfg(all(feature = "dynamic", target_os = "linux"))]
fn library(file: &Path, arguments: &ConformancePlugin) -> Result<(), Failure> {
    let fixtures = arguments.fixtures.clone().or_else(|| fixtures_next_to(file));
    let again = again(&arguments.ids, fixtures.as_deref())?;
    if Again::is_asked_for() {
        return Again::serve(&registry_of(file)?.0).map_err(Failure::fault);
    }
    if is_worker() {
        let suites = suites_of_library(file, fixtures.as_deref(), &again);
        return serve(suites.map_err(|failure| failure.message().unwrap_or_default()))
            .map_err(Failure::fault);
    }
    let workers = Workers::new(again, WorkerOptions { is_thorough: true, ..WorkerOptions::default() });
    let report_arguments = &arguments.report;
    let listed = workers.list().map_err(|crash| match crash.end {
        End::Refused(why) => Failure::fault(why),
        end => Failure::fault(format!("loading {}: {end}", file.display())),
    })?;
    let expected = expected(report_arguments, listed.len())?;
    let report = workers.report(&listed, report_arguments.level);
    let verb = format!("plugin {}", file.display());
    write_report(&report, report_arguments, &expected, "Conformance of a loaded library", &verb)
}

/// Returns a registry of the linked plugins and those of a library, and the names of the library's plugins.
/// The linked plugins are omitted if the library replaces one of them.
#[cfg(all(feature = "dynamic", target_os = "linux"))]
fn registry_of(file: &Path) -> Result<(Registry, Vec<String>), Failure> {
    let loader = Loader::of_one(file)?;
    let mut registry = Registry::linked()?;
    if !loader.register(&mut registry).is_empty() {
        registry = Registry::empty();
        if let Some(passed_over) = loader.register(&mut registry).into_iter().next() {
            return Err(passed_over.refusal.into());
        }
    }
    let manifests = loader.candidates().iter().filter_map(|candidate| candidate.manifest().ok());
    Ok((registry, manifests.map(|manifest| manifest.name.clone()).collect()))
}

#[cfg(all(feature = "dynamic", target_os = "linux"))]
fn suites_of_library(file: &Path, fixtures: Option<&Path>, again: &Again) -> Result<Vec<Suite>, Failure> {
    let (registry, names) = registry_of(file)?;
    let mut suites = suites_of(&registry);
    suites.retain(|suite| names.contains(&suite.subject.package));
    if let Some(folder) = fixtures {
        add_fixtures(&registry, fixtures_in(folder)?, &mut suites);
    }
    again.isolate(&mut suites);
    Ok(suites)
}

/// Returns the folder `fixtures` next to a library or manifest, if it exists.
#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub(crate) fn fixtures_next_to(file: &Path) -> Option<PathBuf> {
    let folder = file.with_file_name("fixtures");
    folder.is_dir().then_some(folder)
}

/// Checks a store. The store is emptied after each rule, so it must be empty.
fn store(arguments: &ConformanceStore) -> Result<(), Failure> {
    let location = &arguments.store;
    let context = context()?;
    check_scheme(location, context.registry())?;
    let store = open_store(context.registry(), location)?;
    let can = store.capabilities();
    if !(can.readable && can.writeable && can.listable && can.erasable) {
        return Err(Failure::fault(format!(
            "`{location}`: the check needs a store that can be read, written, listed and erased"
        )));
    }
    if arguments.inside {
        return inside::run(arguments, store);
    }
    if let Some(key) = store.any_key(&Prefix::root())? {
        return Err(Failure::fault(format!(
            "`{location}` is not empty (it contains `{key}`); use --inside to check it below a new prefix"
        )));
    }
    let suite = suite_of(location, store);
    run_and_report(&[suite], &arguments.report, "Conformance of a Zarr store", "store {subject}")
}

fn run_and_report(
    suites: &[Suite],
    arguments: &ReportArguments,
    title: &str,
    again: &str,
) -> Result<(), Failure> {
    let expected = expected(arguments, suites.len())?;
    write_report(&Report::of(suites, arguments.level), arguments, &expected, title, again)
}

/// Prints and writes a report; `again` is the command for one of its subjects.
fn write_report(
    report: &Report,
    arguments: &ReportArguments,
    expected: &Expectations,
    title: &str,
    again: &str,
) -> Result<(), Failure> {
    write!(stdout(), "{report}")?;
    write_to(arguments.json.as_deref(), || pretty(&report.to_json()))?;
    write_to(arguments.html.as_deref(), || {
        let command = format!("zarrctl conformance {again} --level {}", arguments.level);
        Ok(report.to_html(title, &command).into_bytes())
    })?;
    write_to(arguments.junit.as_deref(), || Ok(report.to_junit().into_bytes()))?;
    if let [(_, outcomes)] = report.subjects.as_slice() {
        write_to(arguments.badge.as_deref(), || pretty(&Report::badge(outcomes)))?;
    }
    match report.surprises(expected).as_slice() {
        [] => Ok(()),
        surprises => Err(Failure::fault(surprises.join("; "))),
    }
}

/// Reads the rules that are known to be violated. Refuses `--badge` unless `count`, the number of subjects,
/// is 1.
fn expected(arguments: &ReportArguments, count: usize) -> Result<Expectations, Failure> {
    if arguments.badge.is_some() && count != 1 {
        return Err(Failure::fault(format!("--badge needs a single plugin, but {count} are selected")));
    }
    let Some(file) = arguments.expect.as_deref() else { return Ok(Expectations::default()) };
    let named = |what: String| Failure::fault(format!("{}: {what}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| named(error.to_string()))?;
    Expectations::parse(&text).map_err(|error| named(error.to_string()))
}

fn pretty(value: &Value) -> Result<Vec<u8>, Failure> {
    Ok(json::to_vec_pretty(value)?)
}

fn write_to(file: Option<&Path>, bytes: impl FnOnce() -> Result<Vec<u8>, Failure>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let bytes = bytes()?;
    fs::write(file, bytes).map_err(|error| Failure::from(error).while_at(&file.display().to_string()))
}
