//! `bench`: measures how fast an array can be read, and suggests chunks.

mod advice;
mod boxes;
mod measure;
mod tape;

use std::error::Error as _;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use zarr_kit::Array;
use zarr_kit::spec::codec::Codec;
use zarr_kit::spec::{CodecChain, Number, Object, Value, printable};

use crate::arguments;
use crate::describe::{self, Describer, chunk_shape};
use crate::failure::Failure;
use crate::hints;
use crate::opening::{Opened, open_through, warn_of_old_copy};
use crate::printer::{stdout, write_json};
use crate::slabs;
use crate::terminal::{self, Progress, size};

use advice::{Limit, Measured, Subject, advice, factor};
use boxes::{Access, Geometry};
use measure::Bench;
use tape::Tape;

const LEGEND: &str = "\
decoded  decoded elements per requested element; fetched elements if nothing is decoded
calls    requests to the store
store    share of the time for fetching; the system may cache files
codec    share of the time for decoding
copy     the rest, usually copying elements";

#[derive(Debug)]
struct Report {
    path: String,
    type_name: String,
    shape: Vec<u64>,
    subject: Subject,
    /// Number of stored chunks or shards; `None` if the store cannot list.
    stored: Option<u64>,
    all: Option<u64>,
    threads: usize,
    measured: Vec<Measured>,
    advice: Vec<String>,
}

pub(crate) fn run(arguments: &arguments::Bench) -> Result<(), Failure> {
    start_threads()?;
    let mut tape = None;
    let hierarchy = open_through(&arguments.at.store, &arguments.reading, |store| {
        let around = Arc::new(Tape::new(store));
        tape = Some(Arc::clone(&around));
        around
    })?;
    let tape = tape.ok_or_else(|| Failure::fault("the store was not opened"))?;
    let report = report(hierarchy, tape, arguments)?;
    let mut output = io::BufWriter::new(stdout());
    if arguments.json {
        write_json(&value(&report), &mut output)?;
    } else {
        write(&report, &mut output)?;
    }
    Ok(output.flush()?)
}

fn report(hierarchy: Opened, tape: Arc<Tape>, arguments: &arguments::Bench) -> Result<Report, Failure> {
    let array = hierarchy.array(&arguments.at.path).map_err(|error| hints::of_node(error, &hierarchy))?;
    warn_of_old_copy(&hierarchy, &array);
    let inner = array.inner_chunk_shape()?;
    let geometry = Geometry {
        shape: array.shape().to_vec(),
        chunk: inner.clone().unwrap_or_else(|| chunk_shape(&array)),
        element: slabs::element_size(&array),
    };
    let stored = match hierarchy.store().capabilities().listable {
        true => Some(array.stored_chunks()?),
        false => None,
    };
    let mut report = Report {
        path: array.path().to_string(),
        type_name: describe::type_name(&array),
        shape: array.shape().to_vec(),
        subject: subject(&array, &geometry, inner.is_some()),
        stored: stored.as_ref().map(|stored| stored.len() as u64),
        all: describe::product(array.chunk_grid().grid_shape()),
        threads: hierarchy.context().thread_count(),
        measured: Vec::new(),
        advice: Vec::new(),
    };
    if geometry.shape.contains(&0) {
        report.advice.push("nothing to measure: the array does not have elements".to_owned());
        return Ok(report);
    }
    if stored.as_ref().is_some_and(Vec::is_empty) {
        let sentence = "nothing to measure: no chunk is stored, so all elements are the fill value";
        report.advice.push(sentence.to_owned());
        return Ok(report);
    }
    let bench = Bench {
        hierarchy,
        tape,
        path: arguments.at.path.clone(),
        geometry,
        has_shards: report.subject.has_shards,
        is_raw: report.subject.is_raw,
        stored,
        // The reads of a small array are not timed, so one read is enough.
        seconds: if report.subject.is_little() { Duration::ZERO } else { arguments.seconds },
    };
    let accesses = Access::all(report.shape.len());
    let progress = Progress::of(accesses.len() as u64, "");
    for access in accesses {
        progress.set_message(&access.name());
        report.measured.extend(bench.measure(access)?);
        progress.add(1);
    }
    drop(progress);
    report.advice = match report.measured.is_empty() {
        true => vec!["nothing to measure: no stored chunk was found".to_owned()],
        false => advice(&report.subject, &report.measured),
    };
    Ok(report)
}

fn subject(array: &Array, geometry: &Geometry, has_shards: bool) -> Subject {
    Subject {
        format: array.metadata().format,
        size: slabs::size(array),
        chunk: geometry.chunk.clone(),
        chunk_size: geometry.chunk_size(),
        has_shards,
        compressors: Describer::of(array.hierarchy()).compressors(array.codecs()),
        is_raw: is_raw(array.codecs()),
    }
}

/// Returns whether elements are stored without encoding, so that parts of a chunk can be fetched.
fn is_raw(chain: &CodecChain) -> bool {
    chain.links().iter().all(|link| match &link.codec {
        Codec::Permutation(_) | Codec::Binary(_) => true,
        Codec::Shard(shard) => is_raw(&shard.inner_codecs),
        _ => false,
    })
}

fn write(report: &Report, to: &mut dyn Write) -> Result<(), Failure> {
    let subject = &report.subject;
    let shape = describe::shape(&report.shape);
    writeln!(to, "{}  {} [{shape}]", printable(&report.path), printable(&report.type_name))?;
    let (kind, outer) = if subject.has_shards { ("inner chunk", "shards") } else { ("chunk", "chunks") };
    let stored = match (report.stored, report.all) {
        (Some(stored), Some(all)) => format!("{stored} of {all} {outer} are stored"),
        (Some(stored), None) => format!("{stored} {outer} are stored"),
        (None, _) => format!("the store cannot list its {outer}"),
    };
    let chunk = match subject.chunk.as_slice() {
        [] => "one element".to_owned(),
        lengths => format!("{} elements", describe::shape(lengths)),
    };
    writeln!(
        to,
        "{kind}s of {chunk}, {} each; {stored}; on {} threads\n",
        size(subject.chunk_size),
        report.threads
    )?;
    if !report.measured.is_empty() {
        writeln!(
            to,
            "{:<23}{:>6}{:>13}{:>9}{:>8}{:>12}{:>7}{:>7}{:>7}  limit",
            "access", "reads", "bytes/s", "decoded", "calls", "bytes/call", "store", "codec", "copy"
        )?;
        report.measured.iter().try_for_each(|measured| write_row(subject, measured, to))?;
        writeln!(to, "\n{LEGEND}")?;
        for measured in report.measured.iter().filter(|measured| is_cut(measured, &report.shape)) {
            let part = describe::shape(&measured.shape);
            writeln!(to, "{} were read in parts, such as {part}.", measured.access.name())?;
        }
        writeln!(to)?;
    }
    let width = terminal::width().unwrap_or(PAGE);
    Ok(report.advice.iter().try_for_each(|sentence| {
        writeln!(to, "- {}", in_lines(&printable(sentence).to_string(), 2, width))
    })?)
}

fn write_row(subject: &Subject, measured: &Measured, to: &mut dyn Write) -> io::Result<()> {
    let rate = measured.rate().filter(|_| !subject.is_little());
    let rate = rate.map_or_else(|| "-".to_owned(), |rate| format!("{}/s", size(rate)));
    let each = measured.stored.checked_div(measured.calls).map_or_else(|| "-".to_owned(), size);
    let limit = if subject.is_little() { "-" } else { measured.times.limit().name() };
    let decoded = format!("{} ×", factor(measured.amplification()));
    write!(
        to,
        "{:<23}{:>6}{rate:>13}{decoded:>9}{:>8}{each:>12}",
        measured.access.name(),
        measured.reads,
        measured.calls
    )?;
    for (_, share) in measured.times.shares() {
        let share = if subject.is_little() { "-".to_owned() } else { format!("{:.0}%", share * 100.0) };
        write!(to, "{share:>7}")?;
    }
    writeln!(to, "  {limit}")
}

fn start_threads() -> Result<(), Failure> {
    match rayon::ThreadPoolBuilder::new().build_global() {
        Err(error) if error.source().is_some() => Err(Failure::fault(format!("starting threads: {error}"))),
        // An error without a source means that the threads are already running.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The width of lines if standard output is not a terminal.
const PAGE: usize = 100;

/// Wraps words in lines of at most `width` columns, indented except for the first.
fn in_lines(sentence: &str, indent: usize, width: usize) -> String {
    let mut text = String::new();
    let mut column = indent;
    for word in sentence.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > indent {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

/// Returns whether the reads were smaller than the name of the access pattern suggests.
fn is_cut(measured: &Measured, shape: &[u64]) -> bool {
    let along = match measured.access {
        Access::Plane(along) => along,
        Access::Slab => 0,
        Access::Chunk | Access::Box => return false,
    };
    let mut lengths = measured.shape.iter().zip(shape).enumerate();
    lengths.any(|(dimension, (length, all))| dimension != along && length < all)
}

fn value(report: &Report) -> Value {
    let lengths = |lengths: &[u64]| lengths.iter().copied().collect::<Value>();
    let subject = &report.subject;
    let mut object = Object::new();
    object.insert("path", report.path.as_str());
    object.insert("data_type", report.type_name.as_str());
    object.insert("shape", lengths(&report.shape));
    object.insert("chunk_shape", lengths(&subject.chunk));
    object.insert("chunk_size", subject.chunk_size);
    object.insert("is_sharded", subject.has_shards);
    object.insert("chunks_stored", report.stored.map_or(Value::Null, Value::from));
    object.insert("chunks", report.all.map_or(Value::Null, Value::from));
    object.insert("threads", report.threads as u64);
    object.insert("is_too_little", report.measured.is_empty() || subject.is_little());
    object.insert("accesses", report.measured.iter().map(access_value).collect::<Value>());
    object.insert("advice", report.advice.iter().map(String::as_str).collect::<Value>());
    Value::Object(object)
}

fn access_value(measured: &Measured) -> Value {
    let number = |number: f64| Number::from_f64(number).map_or(Value::Null, Value::from);
    let (kind, dimension) = match measured.access {
        Access::Plane(dimension) => ("plane", Value::from(dimension as u64)),
        Access::Slab => ("slab", Value::Null),
        Access::Chunk => ("chunk", Value::Null),
        Access::Box => ("box", Value::Null),
    };
    let times = &measured.times;
    let limit: Limit = times.limit();
    let members = [
        ("access", Value::from(kind)),
        ("dimension", dimension),
        ("shape", measured.shape.iter().copied().collect()),
        ("reads", Value::from(measured.reads)),
        ("elements", Value::from(measured.elements)),
        ("bytes", Value::from(measured.bytes)),
        ("bytes_per_second", measured.rate().map_or(Value::Null, Value::from)),
        ("chunks_decoded", Value::from(measured.chunks)),
        ("elements_decoded", Value::from(measured.elements_decoded)),
        ("amplification", number(measured.amplification())),
        ("store_calls", Value::from(measured.calls)),
        ("store_bytes", Value::from(measured.stored)),
        ("seconds", number(times.all)),
        ("store_seconds", number(times.store)),
        ("codec_seconds", number(times.codec)),
        ("copy_seconds", number(times.copy())),
        ("limit", Value::from(limit.name())),
    ];
    members.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_between_words() {
        assert_eq!(in_lines("a bb ccc", 2, 100), "a bb ccc");
        assert_eq!(in_lines("a bb ccc", 2, 6), "a bb\n  ccc");
        assert_eq!(in_lines("a very-long-word b", 2, 4), "a\n  very-long-word\n  b");
        assert_eq!(in_lines("", 2, 4), "");
    }
}
