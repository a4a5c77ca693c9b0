//! Digests, comparisons, checks and repairs of hierarchies. Reports are JSON texts.

use std::sync::Arc;

use pyo3::prelude::*;
use zarr_kit::archive::{
    self, Checks, Compared, Level, Manifest, RepairChoices, Report, Settings, Side, Tolerance,
};
use zarr_kit::json::{to_item, to_value};
use zarr_kit::spec::store::Store;
use zarr_kit::{Context, Error, Warning};

use crate::calls::watched;
use crate::credentials::CredentialSource;
use crate::failure::{exception, raise, warn};
use crate::hierarchy::Opening;
use crate::progress::ProgressHandle;

/// The parts of a comparison, from Python.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Comparison {
    path: String,
    second_path: String,
    absolute: Option<f64>,
    relative: Option<f64>,
    values: bool,
    attributes: bool,
}

/// The parts of a check, from Python.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Check {
    level: String,
    complete: bool,
    manifest: Option<String>,
}

/// Returns the manifest of a node and all nodes below it.
#[pyfunction]
pub(crate) fn digest(
    py: Python<'_>,
    options: &Bound<'_, PyAny>,
    path: &str,
    progress: &ProgressHandle,
) -> PyResult<String> {
    let opening: Opening = options.extract()?;
    let opened = opening.documents()?;
    let settings = Settings::new().progress(&progress.progress);
    let result = watched(py, &progress.progress, progress.report.as_ref(), || {
        let hierarchy = opened.open()?;
        let manifest = archive::digest(&hierarchy, &hierarchy.path(path)?, &settings)?;
        Ok((manifest, hierarchy.warnings()))
    })?;
    let (manifest, warnings) = result.map_err(|error: Error| exception(&error))?;
    issue(&warnings)?;
    Ok(to_item(&manifest.to_json()))
}

/// Returns the differences between two hierarchies.
#[pyfunction]
pub(crate) fn diff(
    py: Python<'_>,
    first: &Bound<'_, PyAny>,
    second: &Bound<'_, PyAny>,
    how: &Bound<'_, PyAny>,
    progress: &ProgressHandle,
) -> PyResult<String> {
    let first = first.extract::<Opening>()?.documents()?;
    let second = second.extract::<Opening>()?.documents()?;
    let how: Comparison = how.extract()?;
    let mut compared = Compared::everything().values(how.values).attributes(how.attributes);
    if how.absolute.is_some() || how.relative.is_some() {
        let [absolute, relative] = [how.absolute, how.relative].map(Option::unwrap_or_default);
        compared = compared.tolerance(Tolerance::new(absolute, relative));
    }
    let settings = Settings::new().progress(&progress.progress);
    let result = watched(py, &progress.progress, progress.report.as_ref(), || {
        let [first, second] = [first.open()?, second.open()?];
        let one = Side { hierarchy: &first, root: first.path(&how.path)? };
        let other = Side { hierarchy: &second, root: second.path(&how.second_path)? };
        let diff = archive::diff(&one, &other, compared, &settings)?;
        Ok((diff, [first.warnings(), second.warnings()].concat()))
    })?;
    let (diff, warnings) = result.map_err(|error: Error| exception(&error))?;
    issue(&warnings)?;
    Ok(to_item(&diff.to_json()))
}

/// Returns the report of a check of a store.
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    options: &Bound<'_, PyAny>,
    check: &Bound<'_, PyAny>,
    progress: &ProgressHandle,
) -> PyResult<String> {
    let place = options.extract::<Opening>()?.place()?;
    let checks = check.extract::<Check>()?.checks()?;
    let settings = Settings::new().progress(&progress.progress);
    let work = || place.verified(checks, &settings);
    let report = watched(py, &progress.progress, progress.report.as_ref(), work)?
        .map_err(|error| exception(&error))?;
    Ok(to_item(&report_json(&report)?))
}

/// Plans a repair, and runs it if `run` is true. Returns the plan.
#[pyfunction]
pub(crate) fn repair(
    py: Python<'_>,
    options: &Bound<'_, PyAny>,
    check: &Bound<'_, PyAny>,
    choices: (bool, bool),
    progress: &ProgressHandle,
) -> PyResult<String> {
    let place = options.extract::<Opening>()?.place()?;
    let checks = check.extract::<Check>()?.checks()?;
    let settings = Settings::new().progress(&progress.progress);
    let quarantine = RepairChoices::default().quarantine_chunks(choices.0);
    let plan = watched(py, &progress.progress, progress.report.as_ref(), || {
        let report = place.verified(checks, &settings)?;
        let store = place.store()?;
        let plan = archive::plan_repair(&store, &place.context, &report, quarantine)?;
        if choices.1 {
            plan.run(&store, &place.context, &settings.progress)?;
        }
        Ok::<_, Error>(plan)
    })?;
    let plan = to_value(&plan.map_err(|error| exception(&error))?);
    Ok(to_item(&plan.map_err(|error| raise("ZarrError", &error.to_string()))?))
}

fn issue(warnings: &[Warning]) -> PyResult<()> {
    warnings.iter().try_for_each(|warning| warn(&warning.to_string()))
}

/// A store that may not have a hierarchy.
pub(crate) struct Place {
    pub(crate) location: String,
    pub(crate) credentials: Option<CredentialSource>,
    pub(crate) context: Context,
}

impl Place {
    fn store(&self) -> Result<Arc<dyn Store>, Error> {
        CredentialSource::open(self.credentials.as_ref(), self.context.registry(), &self.location)
    }

    fn verified(&self, checks: Checks, settings: &Settings) -> Result<Report, Error> {
        archive::verify(self.store()?, &self.context, checks, settings)
    }
}

impl Check {
    fn checks(&self) -> PyResult<Checks> {
        let level = Level::ALL.into_iter().find(|level| level.name() == self.level).ok_or_else(|| {
            let names = Level::ALL.map(Level::name).join(", ");
            raise("InvalidInputError", &format!("unknown level {:?} (expected one of {names})", self.level))
        })?;
        let checks = Checks::new(level).complete(self.complete);
        let Some(manifest) = &self.manifest else { return Ok(checks) };
        let manifest = Manifest::parse(manifest.as_bytes());
        let manifest = manifest
            .map_err(|error| raise("InvalidInputError", &format!("the manifest cannot be used: {error}")))?;
        Ok(checks.manifest(manifest))
    }
}

fn report_json(report: &Report) -> PyResult<zarr_kit::spec::Value> {
    let mut value = to_value(report).map_err(|error| raise("ZarrError", &error.to_string()))?;
    if let Some(members) = value.as_object_mut() {
        members.insert("whole", report.is_whole());
    }
    Ok(value)
}
