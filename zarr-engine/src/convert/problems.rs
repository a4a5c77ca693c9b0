//! Collects the reasons why an array cannot be converted.

use zarr_metadata::ArrayMetadata;
use zarr_spec::{Format, Mode, Reading, Registry};

use super::recipe::{Recipe, steps_of, untranslatable_steps};
use super::{Conversion, convert_metadata, data_type_document};
use crate::byte_order::stored_order;
use crate::error::Error;

/// Returns every reason why `source` cannot be converted to `target`. [`convert_metadata`] returns only the first one.
#[must_use]
pub fn conversion_problems(source: &ArrayMetadata, target: Format, registry: &Registry) -> Vec<Error> {
    let Err(first) = convert_metadata(source, target, registry) else { return Vec::new() };
    let conversion = Conversion { source, target, registry, reading: &Reading::new(Mode::Lenient) };
    with_each_once(first, conversion.problems())
}

/// Returns the first problem and all others, without duplicate messages.
pub(crate) fn with_each_once(first: Error, all: Vec<Error>) -> Vec<Error> {
    let mut problems = vec![first];
    for problem in all {
        if problems.iter().all(|known| known.to_string() != problem.to_string()) {
            problems.push(problem);
        }
    }
    problems
}

impl Conversion<'_> {
    fn problems(&self) -> Vec<Error> {
        let extensions = self.source.extensions.iter().enumerate();
        let mut problems: Vec<_> =
            extensions.filter_map(|(position, document)| self.names_by(position, document).err()).collect();
        let is_of_several_shapes = self.grid().is_ok_and(|grid| grid.chunk_shape().is_none());
        if is_of_several_shapes && self.kept_grid().is_none() {
            problems.push(self.no_such_grid());
        }
        let Ok(array) = self.chunk() else { return problems };
        let order = stored_order(&self.source.codecs, &array.byte_order);
        problems.extend(data_type_document(&*array.data_type, self.target, &order).err());
        if self.is_fill_defined() {
            let json = array.data_type.fill_value_json(array.fill_value.bytes(), self.target, &order);
            problems.extend(json.err().map(Error::from));
        }
        let steps = self.chain(&array).and_then(|chain| steps_of(self.source.format, self.registry, &chain));
        let Ok(steps) = steps else { return problems };
        let mut recipe = Recipe { array, steps };
        if recipe.take_shards_apart(self.registry, self.target).is_ok() {
            if self.target == Format::V2 {
                recipe.use_an_order_of_v2();
            }
            problems.extend(untranslatable_steps(self.target, self.registry, &recipe));
        }
        problems
    }
}
