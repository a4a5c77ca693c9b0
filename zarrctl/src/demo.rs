//! `demo`: writes and reads example hierarchies.

mod items;

use std::fs;
use std::io::{self, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};

use zarr_kit::spec::{Elements, Object, Value};
use zarr_kit::{Array, Context, Format, Hierarchy, NodePath, Selection, open_store};

use crate::describe::{Describer, Stored, codec_names};
use crate::durable;
use crate::failure::Failure;
use crate::opening::context;
use crate::preview;
use crate::printer::{Printer, stdout};
use crate::terminal::size;
use crate::verbs::tree;
use items::{Content, Item};

/// The maximum width of a line of keys.
const WIDTH: usize = 98;

/// The array that the demo draws.
const PICTURE: &str = "/image/mandelbrot";

pub(crate) fn run(folder: Option<PathBuf>) -> Result<(), Failure> {
    let folder = match folder {
        Some(folder) if fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) => {
            let what = format!("`{}` is not empty; give a new folder", folder.display());
            return Err(Failure::fault(what));
        }
        Some(folder) if folder.exists() && !folder.is_dir() => {
            let what = format!("`{}` is not a folder; give a new folder", folder.display());
            return Err(Failure::fault(what));
        }
        Some(folder) => folder,
        None => temporary_folder()?,
    };
    let context = context()?;
    let mut output = stdout();
    writeln!(output, "Three hierarchies in {}, one for each format", folder.display())?;
    let mut differing = Vec::new();
    for (number, format) in [Format::V3, Format::V2, Format::V3Draft].into_iter().enumerate() {
        let place = folder.join(format.name());
        differing.extend(show(&place, &context, format, number == 0, &mut output)?);
    }
    match differing.is_empty() {
        true => writeln!(output, "\nAll elements were read back equal.")?,
        false => {
            return Err(Failure::fault(format!(
                "elements differ after reading them back: {}",
                differing.join(", ")
            )));
        }
    }
    let store = folder.join("v3");
    let command = "zarrctl";
    writeln!(output, "Try:  {command} info {} {PICTURE}", store.display())?;
    writeln!(
        output,
        "      {command} copy {} {} --format v2",
        store.display(),
        folder.join("copy").display()
    )?;
    Ok(output.flush()?)
}

/// Creates a new folder.
fn temporary_folder() -> Result<PathBuf, Failure> {
    let base = std::env::temp_dir();
    for number in 0..1000 {
        let folder = base.join(format!("zarrctl-demo-{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(Failure::from(error).while_doing(&format!("creating `{}`", folder.display())));
            }
        }
    }
    Err(Failure::fault(format!("no unused folder name in `{}`", base.display())))
}

/// Writes a hierarchy, reads it with another handle and prints its nodes. Returns the arrays that differ.
fn show(
    place: &Path,
    context: &Context,
    format: Format,
    is_first: bool,
    output: &mut Printer<StdoutLock<'static>>,
) -> Result<Vec<String>, Failure> {
    let location = place.display().to_string();
    let items = items::all(format);
    write(&location, context, format, &items).map_err(|error| error.while_doing(&location))?;
    let hierarchy = Hierarchy::open(open_store(context.registry(), &location)?, context)?;
    writeln!(output, "\n── {location}\n")?;
    tree::write(&hierarchy, &hierarchy.walk(NodePath::root())?, output)?;
    writeln!(output, "\nIts metadata documents:")?;
    for line in wrapped(&documents(&hierarchy)?) {
        writeln!(output, "  {line}")?;
    }
    writeln!(output)?;
    let mut differing = Vec::new();
    for item in &items {
        let array = hierarchy.array(item.path)?;
        let is_equal = is_equal(&array, &item.content)?;
        if !is_equal {
            differing.push(format!("{} in {location}", item.path));
        }
        writeln!(output, "{}", line(&array, is_equal)?)?;
    }
    if is_first {
        let colours = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        writeln!(output, "\n{PICTURE}, read from its shards:\n")?;
        output.write_own(&preview::draw(&hierarchy.array(PICTURE)?, colours)?)?;
    }
    Ok(differing)
}

fn write(location: &str, context: &Context, format: Format, items: &[Item]) -> Result<(), Failure> {
    let hierarchy = Hierarchy::create(durable::open(location, context)?, context, format)?;
    let mut attributes = Object::new();
    attributes.insert("title", Value::from("A small hierarchy with formulas for data"));
    hierarchy.create_group("/", attributes)?;
    for item in items {
        let array = hierarchy.create_array(item.path, &item.builder)?;
        match &item.content {
            Content::Fixed(bytes) => array.write(&Selection::All, bytes)?,
            Content::Text(text) => array.write_values(&Selection::All, text)?,
        }
    }
    Ok(())
}

fn is_equal(array: &Array, content: &Content) -> Result<bool, Failure> {
    let elements = array.read(&Selection::All)?;
    Ok(match (content, array.data_type().elements()) {
        (Content::Fixed(bytes), Elements::Fixed { .. }) => elements.bytes() == bytes.as_slice(),
        (Content::Text(text), Elements::Variable) => {
            elements.iter().eq(text.iter().map(|text| text.as_bytes()))
        }
        _ => false,
    })
}

fn documents(hierarchy: &Hierarchy) -> Result<Vec<String>, Failure> {
    let keys = hierarchy.store().list()?;
    let is_document = |key: &&zarr_kit::spec::Key| {
        let name = key.name();
        name.ends_with(".json") || [".zarray", ".zgroup", ".zattrs"].contains(&name)
    };
    Ok(keys.iter().filter(is_document).map(|key| key.as_str().to_owned()).collect())
}

fn wrapped(keys: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for key in keys {
        match lines.last_mut() {
            Some(line) if line.len() + key.len() < WIDTH => line.extend(["  ", key]),
            _ => lines.push(key.clone()),
        }
    }
    lines
}

fn line(array: &Array, is_equal: bool) -> Result<String, Failure> {
    let stored = Stored::of(array, |_, _| {})?;
    let codecs = codec_names(&Describer::of(array.hierarchy()).parts(array.metadata(), Some(array)));
    let ratio = stored.ratio().map_or_else(String::new, |ratio| format!("{ratio:.1}×"));
    let verdict = if is_equal { "equal" } else { "DIFFERENT" };
    let path = array.path().to_string();
    Ok(format!("{path:22} {:>10} stored  {ratio:>7}  {verdict}  {codecs}", size(stored.size)))
}
