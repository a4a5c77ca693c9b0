//! `show`: a preview of an array, its coordinates, statistics and a picture.

mod png;
mod statistics;

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use zarr_kit::archive::{dimension_names, numbers};
use zarr_kit::spec::{Number, Object, Value, printable};
use zarr_kit::{Array, DimensionSelection, ElementArray, Hierarchy, Node, Selection, json};

use crate::arguments::Show;
use crate::cf::{self, Decoding, TimeUnits};
use crate::decoded::{decoded_texts, short};
use crate::describe::type_name;
use crate::failure::Failure;
use crate::files::write_file;
use crate::forms::summary::summarise_as;
use crate::opening::{open, warn_of_old_copy};
use crate::printer::stdout;
use crate::{conventions, hints, labels, preview, selecting, slabs, terminal};
use statistics::{Statistics, statistics};

/// The largest slice that is drawn, in bytes.
const LARGEST_SLICE: u64 = 1 << 30;

/// The largest sides of an image in pixels.
const PIXELS: u64 = 2048;

/// The attributes that describe an array, in the order of the output.
const DESCRIPTIONS: [&str; 4] = ["long_name", "standard_name", "units", "calendar"];

/// The widest bar of a histogram in characters.
const WIDTH: u64 = 40;

pub(crate) fn run(arguments: &Show) -> Result<(), Failure> {
    let hierarchy = open(&arguments.at.store, &arguments.reading)?;
    let node = hierarchy.node(&arguments.at.path).map_err(|error| hints::of_node(error, &hierarchy))?;
    if let Node::Group(group) = &node {
        return Err(Failure::fault(format!(
            "{} is a group; give the path of an array (`zarrctl tree STORE` lists them)",
            group.path()
        )));
    }
    let array = hierarchy.array(&arguments.at.path).map_err(|error| hints::of_node(error, &hierarchy))?;
    warn_of_old_copy(&hierarchy, &array);
    for problem in cf::unusable(&array) {
        terminal::warn(&format!("{}: {problem}", array.path()));
    }
    let along = selecting::parse(arguments.select.as_deref(), &array, &hierarchy)?;
    let shown = Shown { array: &array, hierarchy: &hierarchy, along: &along };
    if let Some(file) = &arguments.png {
        return shown.write_png(file);
    }
    let decoding = Decoding::of(&array);
    let statistics = statistics(&array, &along, &decoding, arguments.exact)?;
    let mut out = stdout();
    if arguments.json {
        let value = shown.value(statistics.as_ref());
        let text = json::to_printable_pretty(&value).map_err(|error| Failure::Fault(error.into()))?;
        return Ok(writeln!(out, "{text}")?);
    }
    out.write_all(shown.header()?.as_bytes())?;
    let is_cut = shown.write_elements(&decoding, &mut out)?;
    if let Some(statistics) = &statistics {
        out.write_all(shown.describe(statistics).as_bytes())?;
    }
    let has_colours =
        io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    if (arguments.picture || io::stdout().is_terminal())
        && let Some(slice) = shown.slice(preview::SIZE, !has_colours)?
    {
        writeln!(out, "picture  {}", printable(&slice.title))?;
        out.write_own(&preview::drawn(&slice.values, slice.columns, has_colours))?;
    }
    out.flush()?;
    if is_cut {
        terminal::summary("elements are left out; --select chooses a part, and `zarrctl get` reads all");
    }
    Ok(())
}

/// The part of an array that is shown.
struct Shown<'a> {
    array: &'a Array,
    hierarchy: &'a Hierarchy,
    along: &'a [DimensionSelection],
}

/// Numbers in rows.
struct Slice {
    title: String,
    values: Vec<f64>,
    columns: usize,
}

impl Shown<'_> {
    /// Returns the name, type, dimensions and descriptions, and the coordinates of the selected part.
    fn header(&self) -> Result<String, Failure> {
        let array = self.array;
        let names = dimension_names(array);
        let dimensions = names.iter().zip(array.shape()).map(|(name, length)| match name {
            Some(name) => format!("{name}: {length}"),
            None => length.to_string(),
        });
        let dimensions: Vec<String> = dimensions.collect();
        let mut text = format!(
            "{}  {} ({})\n",
            printable(array.path()),
            printable(type_name(array)),
            printable(dimensions.join(", "))
        );
        for name in DESCRIPTIONS {
            if let Some(value) = array.attributes().get(name).and_then(Value::as_str) {
                let _written = writeln!(text, "  {:14}{}", name.replace('_', " "), printable(value));
            }
        }
        for convention in conventions::of_array(self.hierarchy, array)? {
            let _written = writeln!(text, "  {:14}{}", "convention", printable(convention));
        }
        text.push_str(&labels::lines(array, self.hierarchy, self.along)?);
        Ok(text)
    }

    /// Writes the corners of the selection, decoded. Returns whether elements are left out.
    fn write_elements(&self, decoding: &Decoding, out: &mut dyn Write) -> Result<bool, Failure> {
        let texts = |elements: &ElementArray| {
            let texts = decoded_texts(self.array, decoding, elements)?;
            Ok(texts.iter().map(|text| printable(text).to_string()).collect())
        };
        let summary = summarise_as(self.array, self.along, &texts)?;
        out.write_all(summary.text.as_bytes())?;
        Ok(summary.is_cut)
    }

    fn describe(&self, statistics: &Statistics) -> String {
        let Statistics { read, is_exact, missing, least, most, mean, deviation, histogram } = statistics;
        let time = TimeUnits::of(self.array);
        let value = |value: f64| time.as_ref().map_or_else(|| short(value), |time| time.text(value));
        let total = slabs::count(self.along);
        let of = match is_exact {
            true => format!("all {total} elements"),
            false => format!("a sample of {read} of {total} elements; --exact reads all"),
        };
        let mut text = format!(
            "statistics of {of}\n  minimum       {}\n  maximum       {}\n  mean          {}\n",
            value(*least),
            value(*most),
            value(*mean)
        );
        let deviation = match &time {
            Some(time) => time.span(*deviation),
            None => short(*deviation),
        };
        let _written = write!(text, "  deviation     {deviation}\n  missing       {missing}\n");
        let most_counted = histogram.iter().copied().max().unwrap_or(0).max(1);
        let width = (most - least) / f64::from(u32::try_from(histogram.len()).unwrap_or(1).max(1));
        let starts: Vec<String> =
            (0..).map(|number: u32| value(least + width * f64::from(number))).take(histogram.len()).collect();
        let indent = starts.iter().map(String::len).max().unwrap_or(0);
        for (from, count) in starts.iter().zip(histogram) {
            let bar = usize::try_from((count * WIDTH).div_ceil(most_counted)).unwrap_or(0);
            let _written = writeln!(text, "  {from:>indent$}  {}", "█".repeat(bar));
        }
        text
    }

    fn value(&self, statistics: Option<&Statistics>) -> Value {
        let mut members = Object::new();
        members.insert("path", self.array.path().to_string().as_str());
        members.insert("selected", slabs::count(self.along));
        let Some(found) = statistics else { return Value::Object(members) };
        members.insert("read", found.read);
        members.insert("exact", found.is_exact);
        members.insert("missing", found.missing);
        let numbers = [
            ("minimum", found.least),
            ("maximum", found.most),
            ("mean", found.mean),
            ("deviation", found.deviation),
        ];
        for (name, number) in numbers {
            members.insert(name, Number::from_f64(number).map_or(Value::Null, Value::from));
        }
        members.insert("histogram", found.histogram.iter().copied().collect::<Value>());
        Value::Object(members)
    }

    /// Reads a slice of at most `size` columns and rows: every n-th element along the last two dimensions with more
    /// than one selected entry. Along the other dimensions, it has only the first entry. Returns `None` if there is no
    /// such slice, or it is too large.
    fn slice(&self, size: (u64, u64), is_text: bool) -> Result<Option<Slice>, Failure> {
        let long: Vec<usize> =
            (0..self.along.len()).filter(|&at| slabs::length(&self.along[at]) > 1).collect();
        let &[.., row, column] = &long[..] else { return Ok(None) };
        let [height, width] = [row, column].map(|at| slabs::length(&self.along[at]));
        let bytes = height.saturating_mul(width).saturating_mul(slabs::element_size(self.array));
        if bytes > LARGEST_SLICE {
            return Ok(None);
        }
        let lines = if is_text { size.1 } else { 2 * size.1 };
        // A character is about twice as high as it is wide.
        let ratio = if is_text { 2 } else { 1 };
        let step = width.div_ceil(size.0).max(height.div_ceil(ratio * lines)).max(1);
        let mut along: Vec<_> = self.along.iter().map(|along| slabs::slice(along, 0, 1)).collect();
        along[row] = every(&self.along[row], step * ratio);
        along[column] = every(&self.along[column], step);
        let columns = usize::try_from(slabs::length(&along[column])).unwrap_or(1);
        let elements = self.array.read(Selection::Orthogonal(along.clone()))?;
        let Some(values) = numbers(&elements) else { return Ok(None) };
        let decoding = Decoding::of(self.array);
        let values = values.iter().map(|&value| decoding.value(value)).collect();
        Ok(Some(Slice { title: Selection::Orthogonal(along).to_string(), values, columns }))
    }

    fn write_png(&self, file: &Path) -> Result<(), Failure> {
        if file.extension().is_some_and(|extension| !extension.eq_ignore_ascii_case("png")) {
            let what = "the picture is a PNG; choose a name that ends in .png";
            return Err(Failure::Usage(format!("`{}`: {what}", file.display())));
        }
        let slice = self.slice((PIXELS, PIXELS / 2), false)?;
        let slice = slice.ok_or_else(|| {
            Failure::fault(
                "a picture needs numbers in two dimensions, and a slice of at most 1 GiB; use --select",
            )
        })?;
        write_file(file, &png::image(&slice.values, slice.columns))
    }
}

/// Selects every `step`-th entry.
fn every(along: &DimensionSelection, step: u64) -> DimensionSelection {
    match along {
        DimensionSelection::Range { start, stop, step: own } => {
            DimensionSelection::Range { start: *start, stop: *stop, step: own.saturating_mul(step) }
        }
        DimensionSelection::Index(index) => DimensionSelection::Index(*index),
        DimensionSelection::List(list) => {
            let step = usize::try_from(step).unwrap_or(usize::MAX);
            DimensionSelection::List(list.iter().copied().step_by(step.max(1)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_entry_is_selected() {
        let range = DimensionSelection::Range { start: 1, stop: 9, step: 3 };
        assert_eq!(every(&range, 2), DimensionSelection::Range { start: 1, stop: 9, step: 6 });
        let list = DimensionSelection::List(vec![5, 6, 7]);
        assert_eq!(every(&list, 2), DimensionSelection::List(vec![5, 7]));
    }
}
