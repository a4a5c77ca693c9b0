//! `diff`: compares two hierarchies.

use std::io::Write;

use zarr_kit::NodePath;
use zarr_kit::archive::{self, Compared, Difference, Side, Tolerance, ValueDifferences};
use zarr_kit::json::counted;
use zarr_kit::spec::{Value, printable};

use crate::arguments::Diff;
use crate::describe::shape;
use crate::failure::Failure;
use crate::hints;
use crate::opening::{context, open_nodes};
use crate::printer::{stdout, write_json};
use crate::terminal::Progress;
use crate::verbs::digest::settings;

pub(crate) fn run(arguments: &Diff) -> Result<(), Failure> {
    let second_path = arguments.second_path.as_ref().unwrap_or(&arguments.path);
    let first = open_nodes(&arguments.first, &[&arguments.path], &arguments.reading, context()?)?;
    let second = open_nodes(&arguments.second, &[second_path], &arguments.reading, context()?)?;
    let one = Side { hierarchy: &first, root: first.path(&arguments.path)? };
    let other = Side { hierarchy: &second, root: second.path(second_path)? };
    let mut compared =
        Compared::everything().values(!arguments.no_values).attributes(!arguments.no_attributes);
    if arguments.absolute.is_some() || arguments.relative.is_some() {
        let [absolute, relative] = [arguments.absolute, arguments.relative].map(Option::unwrap_or_default);
        compared = compared.tolerance(Tolerance::new(absolute, relative));
    }
    let progress = Progress::unknown("comparing");
    let diff = archive::diff(&one, &other, compared, &settings(&first));
    let diff = diff.map_err(|error| hints::of_node(error, &first))?;
    drop(progress);
    let mut output = stdout();
    if arguments.json {
        write_json(&diff.to_json(), &mut output)?;
    } else {
        write(&diff, &one.root, &mut output)?;
    }
    if diff.is_equal() { Ok(()) } else { Err(Failure::Different) }
}

/// Prints the differences. Each node is named by its path in the first hierarchy.
fn write(diff: &archive::Diff, root: &NodePath, to: &mut dyn Write) -> Result<(), Failure> {
    for node in &diff.nodes {
        let path = match (root.is_root(), node.path.as_str()) {
            (true, path) => path.to_owned(),
            (false, "/") => root.to_string(),
            (false, below) => format!("{root}{below}"),
        };
        for difference in &node.differences {
            writeln!(to, "{}: {}", printable(&path), printable(text(difference)))?;
        }
    }
    let differ = diff.nodes.len();
    let compared = counted(diff.compared, "node", "nodes");
    match differ {
        0 => writeln!(to, "equal: {compared}")?,
        1 => writeln!(to, "1 of {compared} differs")?,
        _ => writeln!(to, "{differ} of {compared} differ")?,
    }
    Ok(())
}

fn text(difference: &Difference) -> String {
    match difference {
        Difference::OnlyInFirst => "only in the first".to_owned(),
        Difference::OnlyInSecond => "only in the second".to_owned(),
        Difference::Kind { first, second } => format!("{first} and {second}"),
        Difference::Shape { first, second } => format!("shape {} and {}", shape(first), shape(second)),
        Difference::DataType { first, second } => format!("data type {first} and {second}"),
        Difference::FillValue { first, second } => format!("fill value {first} and {second}"),
        Difference::DimensionNames { first, second } => {
            format!("dimension names {} and {}", names(first.as_deref()), names(second.as_deref()))
        }
        Difference::Attribute { name, first, second } => {
            format!("attribute `{name}` {} and {}", value(first.as_ref()), value(second.as_ref()))
        }
        Difference::Values(values) => of_values(values),
        _ => difference.name().to_owned(),
    }
}

fn of_values(values: &ValueDifferences) -> String {
    let ValueDifferences { count, different, first, second, .. } = values;
    let index = values.index.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let differ = if *different == 1 { "differs" } else { "differ" };
    let all = counted(*count, "element", "elements");
    let mut text = format!("{different} of {all} {differ}, first at [{index}]: {first} and {second}");
    if let (Some(largest), Some(relative)) = (values.largest, values.largest_relative) {
        text += &format!("; by at most {largest} (relative {relative:.3e})");
    }
    text
}

fn names(names: Option<&[Option<String>]>) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "(none)".to_owned());
    names.map_or("(none)".to_owned(), |names| names.iter().map(name).collect::<Vec<_>>().join(", "))
}

fn value(value: Option<&Value>) -> String {
    value.map_or("(missing)".to_owned(), Value::to_string)
}
