//! `conformance format`: checks any program that reads Zarr with the stored examples.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use zarr_conformance::formats::{
    Example, FormatName, Generated, Known, Limits, Reader, Scores, all, is_available,
};

use super::{generated, pretty, write_to};
use crate::arguments::ConformanceFormat;
use crate::failure::Failure;
use crate::opening::context;
use crate::printer::stdout;

pub(super) fn run(arguments: &ConformanceFormat) -> Result<(), Failure> {
    let made = generated(arguments)?;
    let examples = if made.is_empty() { wanted(arguments)? } else { made.iter().map(|it| it.1).collect() };
    if arguments.list {
        return list(&examples);
    }
    if !is_available() {
        return Err(Failure::fault("cannot find `sh`, which runs the reader"));
    }
    let known = known(arguments.expect.as_deref(), &examples)?;
    let temporary = tempfile::tempdir()?;
    let folder = arguments.folder.as_deref().map_or_else(|| Ok(temporary.path().to_owned()), at)?;
    write_all(&made, &folder)?;
    let command = arguments.reader.clone().unwrap_or_default();
    let limits = Limits { time: arguments.time_limit, memory: arguments.memory_limit.saturating_mul(1024) };
    let reader = Reader { limits, ..Reader::new(&arguments.name, command) };
    let threads = available_parallelism().map_or(1, usize::from);
    let readings = reader.read_all(&examples, &folder, threads)?;
    let scores = Scores { reader: reader.name, command: reader.command, readings };
    write!(stdout(), "{scores}")?;
    write_to(arguments.json.as_deref(), || pretty(&scores.to_json()))?;
    write_to(arguments.html.as_deref(), || Ok(scores.to_html().into_bytes()))?;
    write_to(arguments.junit.as_deref(), || Ok(scores.to_junit().into_bytes()))?;
    write_to(arguments.badge.as_deref(), || pretty(&scores.badge()))?;
    match known.surprises(&scores.readings).as_slice() {
        [] => Ok(()),
        surprises => Err(Failure::fault(surprises.join("; "))),
    }
}

fn wanted(arguments: &ConformanceFormat) -> Result<Vec<&'static Example>, Failure> {
    let is_of = |example: &Example| arguments.format.is_empty() || arguments.format.contains(&example.format);
    let is_named = |example: &Example| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| example.id.starts_with(name.as_str()))
    };
    // A complete name selects only that example, not other examples whose names begin like it.
    let whole = |example: &Example| arguments.only.contains(&example.id);
    let mut examples: Vec<_> = all().iter().filter(|it| is_of(it) && is_named(it)).collect();
    if arguments.only.iter().all(|name| all().iter().any(|example| example.id == *name)) {
        examples.retain(|it| arguments.only.is_empty() || whole(it));
    }
    if examples.is_empty() {
        return Err(Failure::fault("no example matches; --list lists all examples"));
    }
    Ok(examples)
}

/// A generated example, and a copy with a static lifetime for the threads that read it.
type Made = (Generated, &'static Example);

/// Generates the requested number of examples for each format, or only the named ones.
fn generated(arguments: &ConformanceFormat) -> Result<Vec<Made>, Failure> {
    let formats = FormatName::ALL.into_iter();
    let formats = formats.filter(|it| arguments.format.is_empty() || arguments.format.contains(it));
    let all: Vec<Generated> = match arguments.generated {
        Some(count) => formats
            .flat_map(|format| (0..count).map(move |number| Generated::new(format, arguments.seed, number)))
            .filter(|it| arguments.only.is_empty() || arguments.only.contains(&it.example.id))
            .collect(),
        None => arguments.only.iter().filter_map(|id| Generated::called(id)).collect(),
    };
    if all.is_empty() && arguments.generated.is_some() {
        return Err(Failure::fault("no generated example matches"));
    }
    let leaked = |it: Generated| {
        let example: &'static Example = Box::leak(Box::new(it.example.clone()));
        (it, example)
    };
    Ok(all.into_iter().map(leaked).collect())
}

fn write_all(made: &[Made], folder: &Path) -> Result<(), Failure> {
    if made.is_empty() {
        return Ok(());
    }
    let context = context()?;
    for (generated, example) in made {
        let store = folder.join(&example.id);
        generated::write(generated, &context, &store).map_err(|failure| failure.while_at(&example.id))?;
    }
    Ok(())
}

fn list(examples: &[&Example]) -> Result<(), Failure> {
    let mut out = stdout();
    for example in examples {
        writeln!(
            out,
            "{}\n    {} [{}; {}]",
            example.id,
            example.about,
            example.rows.join(", "),
            example.origin
        )?;
    }
    Ok(())
}

fn known(file: Option<&Path>, examples: &[&Example]) -> Result<Known, Failure> {
    let Some(file) = file else { return Ok(Known::default()) };
    let named = |what: String| Failure::fault(format!("{}: {what}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| named(error.to_string()))?;
    let examples: Vec<Example> = all().iter().chain(examples.iter().copied()).cloned().collect();
    Known::parse(&text, &examples).map_err(|error| named(error.to_string()))
}

/// Creates the folder if necessary, and returns its absolute path.
fn at(folder: &Path) -> Result<PathBuf, Failure> {
    let made = fs::create_dir_all(folder).and_then(|()| folder.canonicalize());
    made.map_err(|error| Failure::from(error).while_at(&folder.display().to_string()))
}
