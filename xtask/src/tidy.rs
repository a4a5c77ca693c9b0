//! `cargo xtask tidy`: checks the rules of the architecture that a program can check.

use std::path::Path;

use crate::Failure;
use crate::workspace::Workspace;

mod arrows;
mod crates;
mod dialect;
mod documents;
mod manifests;
mod modules;
mod names;
mod own_uris;
mod registry;
mod rust_version;
mod shape;
mod sources;
pub(crate) mod spec_pages;

/// A violation of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Whether the violation is only shown, and does not make `tidy` fail.
    is_warning: bool,
    place: String,
    message: String,
}

impl Finding {
    fn error(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { is_warning: false, place: place.into(), message: message.into() }
    }

    fn warning(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { is_warning: true, place: place.into(), message: message.into() }
    }
}

/// Lines with figures that `tidy` prints, and findings about figures above a limit.
#[derive(Debug, Default)]
struct Measurement {
    lines: Vec<String>,
    findings: Vec<Finding>,
}

type Check = fn(&Workspace) -> Result<Vec<Finding>, String>;

const CHECKS: &[(&str, Check)] = &[
    ("arrows between crates", arrows::check),
    ("names of plugins", names::packages),
    ("features of zarr-kit", names::features),
    ("plugin table", names::plugin_table),
    ("files of a plugin", names::rooms),
    ("links of documents", documents::links),
    ("excerpts in documents", documents::excerpts),
    ("length of paragraphs", documents::paragraphs),
    ("tests of guarantees", documents::tests),
    ("pages of our URIs", spec_pages::uris),
    ("prefix of our URIs", own_uris::check),
    ("versions in the root manifest only", manifests::versions),
    ("what a manifest inherits", manifests::inherited),
    ("pages of crates in a registry", registry::pages),
    ("keywords, categories and descriptions", registry::terms),
    ("documentation of features", registry::documentation),
    ("tests without a harness", manifests::harness),
    ("tests that are turned off", manifests::turned_off),
    ("lock file", manifests::lock_file),
    ("unsafe code", sources::unsafe_code),
    ("unfinished code", sources::unfinished),
    ("paths of one machine", sources::machine_paths),
    ("length of files", sources::length),
    ("length of the contracts", sources::contract),
    ("shape of functions", shape::check),
    ("order of modules", modules::check),
    ("dialect", dialect::denied),
];

type Measure = fn(&Workspace) -> Result<Measurement, String>;

const MEASURES: &[(&str, Measure)] = &[
    ("crates of builds", crates::count),
    ("oldest compiler", rust_version::check),
    ("noun clauses", dialect::noun_clauses),
];

pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let mut findings = findings(workspace)?;
    for (name, measure) in MEASURES {
        let measurement = measure(workspace)?;
        measurement.lines.iter().for_each(|line| println!("{line}"));
        findings.extend(measurement.findings.into_iter().map(|finding| (*name, finding)));
    }
    for (name, finding) in &findings {
        let kind = if finding.is_warning { "warning" } else { "error" };
        println!("{kind}: {}: {} ({name})", finding.place, finding.message);
    }
    let errors = findings.iter().filter(|(_, finding)| !finding.is_warning).count();
    println!("tidy: {} checks, {errors} errors", CHECKS.len() + MEASURES.len());
    if errors == 0 { Ok(()) } else { Err(Failure::Checks) }
}

/// Returns the findings of all checks, each with the name of its check.
pub(crate) fn findings(workspace: &Workspace) -> Result<Vec<(&'static str, Finding)>, String> {
    let mut all = Vec::new();
    for (name, check) in CHECKS {
        all.extend(check(workspace)?.into_iter().map(|finding| (*name, finding)));
    }
    Ok(all)
}

/// Returns the code of a Rust file with literals and comments blanked.
fn code_of(workspace: &Workspace, file: &Path) -> Result<String, String> {
    Ok(workspace.rust_source(file)?.code())
}

/// Formats a path for messages, with `/` on every system.
fn shown(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
