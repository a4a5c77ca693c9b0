//! Collects all reasons why an array cannot be created as described.

use super::building::Building;
use crate::convert::untranslatable_steps;
use crate::error::Error;

impl Building<'_> {
    pub(super) fn problems(&self) -> Vec<Error> {
        let builder = self.builder;
        let mut problems = self.misplaced();
        let ranks = self.wrong_ranks();
        let has_ranks = ranks.is_empty();
        problems.extend(ranks);
        let entries =
            [("extensions", &builder.extensions), ("storage_transformers", &builder.storage_transformers)];
        problems.extend(entries.into_iter().filter_map(|(member, given)| self.entries(member, given).err()));
        problems.extend(self.layout().err());
        let (data_type, declared) = match self.data_type() {
            Ok(created) => created,
            Err(error) => {
                problems.push(error);
                return problems;
            }
        };
        problems.extend(self.data_type_document(&*data_type, &declared).err());
        let fill_value = match self.fill_value(&*data_type, &declared) {
            Ok(fill_value) => fill_value,
            Err(error) => {
                problems.push(error);
                None
            }
        };
        if let Some(element) = &fill_value {
            let json = data_type.fill_value_json(element.bytes(), self.format, &declared);
            problems.extend(json.err().map(Error::from));
        }
        if !has_ranks {
            return problems;
        }
        let (chunk_shape, separator) = match self.grid(&*data_type) {
            Ok((_, chunk_shape, separator)) => (Some(chunk_shape), separator),
            Err(error) => {
                problems.push(error);
                (builder.chunks.clone(), None)
            }
        };
        problems.extend(self.key_encoding(separator).err());
        if let Some(chunk_shape) = chunk_shape {
            let (recipe, refused) = self.recipe(self.chunk(chunk_shape, data_type, declared, fill_value));
            let is_understood = refused.is_empty();
            problems.extend(refused);
            if is_understood {
                problems.extend(untranslatable_steps(self.format, self.registry, &recipe));
            }
        }
        problems
    }
}
