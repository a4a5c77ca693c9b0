//! `conformance`: plugins of this build held to the rules of their kind, and readers to stored hierarchies.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use zarr_conformance::suite::{Expectations, Report, suites_of};
use zarr_kit::spec::{Value, json};

mod format;

use super::plugins;
use crate::arguments::{ConformancePlugin, ConformanceVerb};
use crate::failure::Failure;
use crate::opening::context;

pub(crate) fn run(verb: &ConformanceVerb) -> Result<(), Failure> {
    match verb {
        ConformanceVerb::Plugin(arguments) => plugin(arguments),
        ConformanceVerb::Format(arguments) => format::run(arguments),
    }
}

fn plugin(arguments: &ConformancePlugin) -> Result<(), Failure> {
    let context = context()?;
    let expected = expected(arguments.expect.as_deref())?;
    let mut suites = suites_of(context.registry());
    if !arguments.ids.is_empty() {
        let mut wanted = Vec::new();
        for id in &arguments.ids {
            wanted.extend(plugins::named(context.registry(), id)?);
        }
        suites.retain(|suite| {
            wanted.iter().any(|(point, name)| (*point, name) == (suite.subject.point, &suite.subject.name))
        });
    }
    if arguments.badge.is_some() && suites.len() != 1 {
        return Err(Failure::fault(format!("a badge is for one plugin, and these are {}", suites.len())));
    }
    let report = Report::of(&suites, arguments.level);
    write!(io::stdout().lock(), "{report}")?;
    write_to(arguments.json.as_deref(), || pretty(&report.to_json()))?;
    write_to(arguments.html.as_deref(), || {
        let command = format!("zarrctl conformance plugin {{subject}} --level {}", arguments.level);
        Ok(report.to_html("Conformance of Zarr plugins", &command).into_bytes())
    })?;
    write_to(arguments.junit.as_deref(), || Ok(report.to_junit().into_bytes()))?;
    if let [(_, outcomes)] = report.subjects.as_slice() {
        write_to(arguments.badge.as_deref(), || pretty(&Report::badge(outcomes)))?;
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
