//! `verify`: checks a store for damage.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zarr_kit::archive::{
    ArrayReport, Caller, Census, Checks, Finding, FindingKind, Level, Manifest, Report, Verification,
};
use zarr_kit::json::{self, ParseOptions, counted};
use zarr_kit::spec::store::Store;
use zarr_kit::spec::{Value, printable, printable_path};
use zarr_kit::{Context, Error, Mode, open_store};

use crate::arguments::{Verify, VerifyLevel};
use crate::failure::{Failure, chain};
use crate::files::write_file;
use crate::hints;
use crate::opening::{check_scheme, context};
use crate::printer::{stdout, write_json};
use crate::terminal::{Progress, size};
use crate::verbs::clean;
use crate::verbs::digest::settings_of;

impl VerifyLevel {
    pub(crate) fn level(self) -> Level {
        match self {
            Self::Metadata => Level::Metadata,
            Self::Present => Level::Present,
            Self::Sizes => Level::Sizes,
            Self::Decode => Level::Decode,
            Self::Checksums => Level::Checksums,
        }
    }
}

pub(crate) fn run(arguments: &Verify) -> Result<(), Failure> {
    let mode = if arguments.strict { Mode::Strict } else { Mode::default() };
    let context = context()?.with_mode(mode);
    check_scheme(&arguments.store, context.registry())?;
    let store = open_store(context.registry(), &arguments.store)?;
    let mut checks = Checks::new(arguments.level.level()).complete(arguments.complete);
    if let Some(file) = &arguments.manifest {
        checks = checks.manifest(read_manifest(file)?);
    }
    let report = check(&store, &context, checks, arguments.resume.as_deref())?;
    let mut output = io::BufWriter::new(stdout());
    if arguments.json {
        write_json(&document(&report)?, &mut output)?;
    } else {
        write(&report, arguments.picture, &mut output)?;
    }
    output.flush()?;
    if report.is_whole() { Ok(()) } else { Err(Failure::Different) }
}

fn read_manifest(file: &Path) -> Result<Manifest, Failure> {
    let place = file.display();
    let text = fs::read(file).map_err(|error| Failure::Io(error).while_at(&format!("reading `{place}`")))?;
    Manifest::parse(&text).map_err(|error| {
        let reason = chain(&error);
        Failure::fault(format!("`{place}` is not a manifest that `digest --manifest` wrote: {reason}"))
    })
}

/// Checks a store. Arrays that the file `resume` has are not checked again.
pub(crate) fn check(
    store: &Arc<dyn Store>,
    context: &Context,
    checks: Checks,
    resume: Option<&Path>,
) -> Result<Report, Failure> {
    let mut record = resume.map(|file| Record::open(file, &**store, &checks)).transpose()?;
    let begun = Progress::unknown("reading metadata");
    let begun_check = Verification::begin(Arc::clone(store), context, checks);
    let mut verification = begun_check.map_err(|error| not_begun(error, &**store))?;
    drop(begun);
    let progress = Progress::of(verification.remaining() as u64, "checking arrays");
    let settings = settings_of(context);
    while let Some(array) = verification.next_array() {
        progress.set_message(&array.path().to_string());
        let name = (array.path().to_string(), array.metadata().format.to_string());
        let report = match record.as_mut().and_then(|record| record.known.remove(&name)) {
            Some(known) => known,
            None => {
                let report = verification.check(&array, &settings)?;
                record.as_mut().map_or(Ok(()), |record| record.add(&report))?;
                report
            }
        };
        verification.add(report);
        progress.add(1);
    }
    let mut report = verification.finish();
    report.findings.extend(temporary_files(&**store)?);
    Ok(report)
}

/// Converts the error of a check that has not begun.
fn not_begun(error: Error, store: &dyn Store) -> Failure {
    match error {
        Error::NotSupported(_) if !store.capabilities().listable => {
            Failure::from(error).with_hint("`verify` takes the path as the end of the location: STORE/PATH")
        }
        error => hints::of_hierarchy(error, store, Caller::Program),
    }
}

/// Returns findings for the temporary files of interrupted writes in a local folder.
fn temporary_files(store: &dyn Store) -> Result<Vec<Finding>, Failure> {
    let files = clean::temporary_files(&store.location())?;
    let finding =
        |file| Finding::new(FindingKind::TemporaryFile, format!("{file}; `zarrctl clean` removes it"));
    Ok(files.into_iter().map(finding).collect())
}

/// The arrays that were checked before.
struct Record {
    file: File,
    path: PathBuf,
    known: BTreeMap<(String, String), ArrayReport>,
}

impl Record {
    /// Opens or creates a file with a line for each array. The first line describes the check.
    fn open(path: &Path, store: &dyn Store, checks: &Checks) -> Result<Self, Failure> {
        let at = |error| Failure::Io(error).while_at(&format!("`{}`", path.display()));
        let head = json::json!({
            "verify": (store.location().as_str()),
            "level": (checks.level.name()),
            "complete": (checks.complete),
            "manifest": (checks.manifest.as_ref().map_or(Value::Null, |manifest| Value::from(manifest.digest())))
        });
        let head = head.to_string();
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(at(error)),
        };
        let mut lines = text.lines();
        if let Some(other) = lines.next().filter(|line| *line != head) {
            return Err(Failure::fault(format!(
                "`{}` belongs to another check: {other}; choose another file for --resume",
                path.display()
            )));
        }
        // An interrupted check may leave the beginning of a line.
        let known = lines.filter_map(|line| {
            let value = json::parse(line.as_bytes(), &ParseOptions::default()).ok()?.value;
            let report: ArrayReport = json::from_value(&value).ok()?;
            Some(((report.path.clone(), report.format.clone()), report))
        });
        let known: BTreeMap<_, _> = known.collect();
        if text.is_empty() {
            write_file(path, format!("{head}\n").as_bytes())?;
        }
        let file = File::options().append(true).open(path).map_err(at)?;
        let mut record = Self { file, path: path.to_owned(), known };
        if !text.is_empty() && !text.ends_with('\n') {
            record.append("\n")?;
        }
        Ok(record)
    }

    fn add(&mut self, report: &ArrayReport) -> Result<(), Failure> {
        let value = json::to_value(report)?;
        self.append(&format!("{value}\n"))
    }

    /// Appends a text. If this fails, nothing of it remains.
    fn append(&mut self, text: &str) -> Result<(), Failure> {
        let before = self.file.metadata().map(|there| there.len());
        let written = self.file.write_all(text.as_bytes());
        if let (Err(_), Ok(before)) = (&written, before) {
            // The first error is more important.
            let _shortened = self.file.set_len(before);
        }
        written.map_err(|error| {
            Failure::Io(error).while_at(&format!("writing `{}`", printable_path(&self.path)))
        })
    }
}

/// Returns the report as a JSON object.
fn document(report: &Report) -> Result<Value, Failure> {
    let mut value = json::to_value(report)?;
    if let Value::Object(members) = &mut value {
        members.insert("whole", report.is_whole());
    }
    Ok(value)
}

fn write(report: &Report, with_pictures: bool, to: &mut dyn Write) -> Result<(), Failure> {
    let mut damage = 0;
    for finding in report.all_findings() {
        writeln!(to, "{}", printable(line(finding)))?;
        damage += u64::from(finding.kind.is_damage());
    }
    if !report.arrays.is_empty() {
        writeln!(to, "{HEAD}")?;
    }
    for array in &report.arrays {
        writeln!(to, "{}  {}", counts(&array.census), printable(&array.path))?;
        for row in array.census.picture.lines().iter().filter(|_| with_pictures) {
            writeln!(to, "  {}", printable(row))?;
        }
    }
    let arrays = counted(report.arrays.len(), "array", "arrays");
    match damage {
        0 => writeln!(to, "whole at the level `{}`: {arrays}", report.level)?,
        _ => writeln!(to, "damaged: {} in {arrays}", counted(damage, "finding", "findings"))?,
    }
    Ok(())
}

pub(crate) fn line(finding: &Finding) -> String {
    let mut line = if finding.kind.is_damage() { "damage" } else { "note" }.to_owned();
    for place in [&finding.path, &finding.key].into_iter().flatten() {
        if !finding.text.contains(place.as_str()) {
            line += &format!(" {place}");
        }
    }
    format!("{line}: {}", finding.text)
}

/// The columns of [`counts`].
const HEAD: &str = " chunks  stored missing    fill damaged       size   smallest    largest  array";

/// Returns the numbers of the chunks of an array and their sizes, as a line of a table. A dash stands for a number that
/// the level of the check does not count.
fn counts(census: &Census) -> String {
    let counts = [
        Some(census.chunks),
        Some(census.stored),
        Some(census.missing()),
        census.fill,
        census.fill.or(census.encoded_size).map(|_| census.damaged),
    ];
    let sizes = [census.encoded_size, census.smallest, census.largest];
    let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let counts = counts.map(|count| format!("{:>7}", text(count.map(|count| count.to_string()))));
    let sizes = sizes.map(|bytes| format!("{:>10}", text(bytes.map(size))));
    [&counts[..], &sizes[..]].concat().join(" ")
}
