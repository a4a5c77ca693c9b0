//! The rules for generic extensions.

use std::sync::Arc;

use zarr_spec::extension::{Extension, ExtensionPlace};
use zarr_spec::{Example, Key, Mode, Reading, Registry, Value};

use super::tried::{Makes, RuleOf, Tried, shape_of, suite, text, value};
use super::{Cases, Level, Rule, Suite};

type ExtensionOnTrial = Tried<dyn Extension>;

const RULES: &[RuleOf<ExtensionOnTrial>] = &[
    (
        Rule {
            id: "extension-brings",
            level: Level::L1,
            sentence: "An extension of an array provides either a name for each dimension or no names, and an index of nodes \
                       has a valid key.",
            source: "`zarr_spec::extension::Extension`",
            since: "0.1",
        },
        brings,
    ),
    (
        Rule {
            id: "extension-place",
            level: Level::L2,
            sentence: "In another place, or for an array of another shape, an extension is refused or provides only what fits there.",
            source: "`zarr_spec::extension::ExtensionPlace`",
            since: "0.1",
        },
        place,
    ),
];

pub(super) fn add(registry: &Arc<Registry>, suites: &mut Vec<Suite>) {
    for &plugin in registry.extensions().iter() {
        suites.push(suite(Tried { plugin, registry: Arc::clone(registry) }, &[RULES]));
    }
}

impl Makes for dyn Extension {
    fn make(
        tried: &ExtensionOnTrial,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        _cases: &mut Cases,
    ) -> Result<(), String> {
        tried.create(example, entry, place_of(example), reading).map(drop)
    }
}

/// Returns the place of an example. An example without a shape is not about an array.
fn place_of(example: &Example) -> ExtensionPlace<'static> {
    match example.shape {
        [] => ExtensionPlace::EntryPoint,
        shape => ExtensionPlace::Array(shape),
    }
}

impl ExtensionOnTrial {
    fn create(
        &self,
        example: &Example,
        entry: &Value,
        place: ExtensionPlace<'_>,
        reading: &Reading,
    ) -> Result<Arc<dyn Extension>, String> {
        let document = self.parse(example, entry, reading)?;
        (self.plugin.create)(&self.creation(example.format, &document, reading), place).map_err(text)
    }

    fn of(&self, example: &Example, place: ExtensionPlace<'_>) -> Result<Arc<dyn Extension>, String> {
        self.create(example, &value(example.document)?, place, &Reading::new(Mode::Strict))
    }
}

/// Checks that the parts of an extension fit its place.
pub(super) fn fits(extension: &dyn Extension, place: ExtensionPlace<'_>) -> Result<(), String> {
    match (extension.dimension_names(), place) {
        (Some(names), ExtensionPlace::Array(shape)) if names.len() != shape.len() => {
            return Err(format!("{} names for {} dimensions", names.len(), shape.len()));
        }
        (Some(_), ExtensionPlace::EntryPoint) => return Err("an entry point has no dimensions".to_owned()),
        _ => {}
    }
    match extension.node_index().map(Key::new) {
        Some(Err(error)) => Err(format!("the index of nodes: {error}")),
        _ => Ok(()),
    }
}

fn brings(trial: &ExtensionOnTrial, cases: &mut Cases) {
    for example in trial.examples() {
        let place = place_of(example);
        if let Ok(extension) = trial.of(example, place) {
            cases.check(example.document, fits(&*extension, place));
        }
    }
}

fn place(trial: &ExtensionOnTrial, cases: &mut Cases) {
    for example in trial.examples() {
        let own = shape_of(example);
        let longer = [own, &[1]].concat();
        let arrays = [&[][..], own, &own[1..], &longer].map(ExtensionPlace::Array);
        for place in arrays.into_iter().chain([ExtensionPlace::EntryPoint]) {
            let result = trial.of(example, place).map_or(Ok(()), |extension| fits(&*extension, place));
            cases.check(format!("{} in {place:?}", example.document), result);
        }
    }
}
