//! A plugin on trial: what it says of itself, and how its examples become what they stand for.

use std::sync::Arc;

use zarr_metadata::parse_entry;
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::registry::DuplicateIdentifier;
use zarr_spec::plugin::{Kind, Plugin};
use zarr_spec::{
    About, ArrayRepresentation, Creation, DataType, Example, Format, Identifiers, Mode, Reading, Registry,
    Value,
};

use super::attempt::record;
use super::{Cases, Rule, Subject, Suite, Trial, documents};

/// How `T` is held to a rule.
pub(super) type CheckOf<T> = fn(&T, &mut Cases);

/// A rule, and how `T` is held to it.
pub(super) type RuleOf<T> = (Rule, CheckOf<T>);

/// Types that a plugin is tried with which says of an example that it takes any.
const ANY_TYPES: [&str; 7] = ["uint8", "int16", "uint32", "int64", "float32", "float64", "complex128"];

/// Shapes of chunks for examples that fit any: without dimensions, one element, odd and even, more than one vector.
const ANY_SHAPES: [&[u64]; 6] = [&[], &[1], &[7], &[4, 6], &[3, 1, 5], &[33, 65]];

/// The shape of arrays for examples that fit any.
const ANY_SHAPE: &[u64] = &[4, 6];

/// What has a suite: plugins that documents name, and stores.
pub(super) trait OnTrial: Send + Sync + Sized + 'static {
    fn subject(&self) -> Subject;

    fn identifiers(&self) -> Identifiers;

    fn about(&self) -> &About;

    /// The formats that there have to be examples for.
    fn formats(&self) -> Vec<Format>;

    /// Makes whatever `entry` stands for in the place of the document of `example`, for all that the example is for.
    fn make(
        &self,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        cases: &mut Cases,
    ) -> Result<(), String>;
}

/// A kind of plugin that documents name.
pub(super) trait Makes: Kind {
    /// As [`OnTrial::make`].
    fn make(
        tried: &Tried<Self>,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        cases: &mut Cases,
    ) -> Result<(), String>;
}

/// A plugin that documents name.
pub(super) struct Tried<K: Kind + ?Sized> {
    pub(super) plugin: Plugin<K>,
    pub(super) registry: Arc<Registry>,
}

/// The suite of one subject: the rules that all are held to, and its own.
pub(super) fn suite<T: OnTrial>(on_trial: T, groups: &[&'static [RuleOf<T>]]) -> Suite {
    let on_trial = Arc::new(on_trial);
    let mut trials = documents::trials(&on_trial);
    for (rule, check) in groups.iter().copied().flatten() {
        let on_trial = Arc::clone(&on_trial);
        trials.push(Trial::new(rule, move |cases| check(&on_trial, cases)));
    }
    Suite { subject: on_trial.subject(), trials }
}

/// The registry, and plain numbers in place of the types that no linked crate has.
pub(super) fn with_stand_ins(registry: &Registry) -> Arc<Registry> {
    let mut registry = registry.clone();
    let reading = Reading::new(Mode::Strict);
    for &plugin in crate::types::PLUGINS {
        // What a linked crate has is better than what stands in for it.
        let document = DataTypeDocument::named(plugin.identifiers.name.unwrap_or_default());
        if registry.data_type_plugin(Format::V3, &document, &reading).is_err() {
            let (Ok(()) | Err(DuplicateIdentifier { .. })) = registry.register(plugin);
        }
    }
    Arc::new(registry)
}

/// The JSON of a document, if that is all right.
pub(super) fn value(document: &str) -> Result<Value, String> {
    let parsed = zarr_json::parse(document.as_bytes(), &zarr_json::ParseOptions::default()).map_err(text)?;
    match parsed.remarks.first() {
        Some(remark) => Err(remark.to_string()),
        None => Ok(parsed.value),
    }
}

/// The message of an error.
pub(super) fn text(error: impl ToString) -> String {
    error.to_string()
}

/// The shape of the array that an example is for.
pub(super) fn shape_of(example: &Example) -> &'static [u64] {
    if example.shape.is_empty() { ANY_SHAPE } else { example.shape }
}

impl<K: Makes + ?Sized> OnTrial for Tried<K> {
    fn subject(&self) -> Subject {
        Subject::of(&self.plugin)
    }

    fn identifiers(&self) -> Identifiers {
        self.plugin.identifiers
    }

    fn about(&self) -> &About {
        &self.plugin.about
    }

    fn formats(&self) -> Vec<Format> {
        let identifiers = self.plugin.identifiers;
        let is_named =
            |format: &Format| K::POINT.is_named_in(*format) && identifiers.in_format(*format).is_some();
        Format::ALL.into_iter().filter(is_named).collect()
    }

    fn make(
        &self,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        cases: &mut Cases,
    ) -> Result<(), String> {
        K::make(self, example, entry, reading, cases)
    }
}

impl<K: Kind + ?Sized> Tried<K> {
    pub(super) fn examples(&self) -> &'static [Example] {
        self.plugin.about.examples
    }

    /// What the document of an example says, read strictly.
    pub(super) fn document(&self, example: &Example) -> Result<ExtensionDocument, String> {
        self.parse(example, &value(example.document)?, &Reading::new(Mode::Strict))
    }

    /// What `entry` says in the place of an example's document, by the name that is written for the plugin.
    pub(super) fn parse(
        &self,
        example: &Example,
        entry: &Value,
        reading: &Reading,
    ) -> Result<ExtensionDocument, String> {
        let format = example.format;
        let document = parse_entry(K::POINT, format, entry, shape_of(example), reading).map_err(text)?;
        let identifiers = self.plugin.identifiers;
        let name = document.identifier.as_str();
        let written = [identifiers.in_format(format), identifiers.name];
        // A codec may have two names in v3: the registered one, and that of numcodecs.
        let is_other_name = !name.contains(':') && identifiers.aliases.contains(&name);
        if !written.contains(&Some(name)) && !is_other_name {
            return Err(format!("`{}` is not what {format} calls it", document.identifier));
        }
        Ok(document)
    }

    /// The examples that something can be made of, and what.
    pub(super) fn made<T, E>(
        &self,
        create: impl Fn(&Creation<'_>) -> Result<T, E>,
    ) -> Vec<(&'static Example, T)> {
        let made = |example: &'static Example| {
            let document = self.document(example).ok()?;
            let reading = Reading::new(Mode::Strict);
            Some((example, create(&self.creation(example.format, &document, &reading)).ok()?))
        };
        self.examples().iter().filter_map(made).collect()
    }

    pub(super) fn creation<'a>(
        &'a self,
        format: Format,
        document: &'a ExtensionDocument,
        reading: &'a Reading,
    ) -> Creation<'a> {
        record(|| format!("creating `{}` in {format} from {}", document.identifier, document.configuration));
        Creation {
            format,
            identifier: &document.identifier,
            configuration: &document.configuration,
            type_name: document.type_name.as_ref(),
            registry: &*self.registry,
            reading,
        }
    }

    /// The arrays that an example is for: its types, or some, in its shape, or in some. What has a type that is not
    /// linked is skipped.
    pub(super) fn arrays(&self, example: &Example, cases: &mut Cases) -> Vec<ArrayRepresentation> {
        let one = [example.shape];
        let shapes = if example.shape.is_empty() { &ANY_SHAPES[..] } else { &one };
        let of_type = |array: ArrayRepresentation| {
            shapes.iter().map(move |shape| ArrayRepresentation { shape: shape.to_vec(), ..array.clone() })
        };
        self.elements(example, cases).into_iter().flat_map(of_type).collect()
    }

    /// Arrays without dimensions of each type that an example is for. A type that is not linked is skipped.
    pub(super) fn elements(&self, example: &Example, cases: &mut Cases) -> Vec<ArrayRepresentation> {
        let types = if example.data_types.is_empty() { &ANY_TYPES[..] } else { example.data_types };
        let mut arrays = Vec::new();
        for name in types {
            match self.array(&[], name) {
                Ok(array) => arrays.push(array),
                Err(error) => cases.skip(format!("data type `{name}`: {error}")),
            }
        }
        arrays
    }

    /// An array of `shape` whose elements are of the type that v3 calls `name`; what has no name without a configuration
    /// is an object.
    pub(super) fn array(&self, shape: &[u64], name: &str) -> Result<ArrayRepresentation, String> {
        let reading = Reading::new(Mode::Strict);
        let json = if name.starts_with('{') { value(name)? } else { Value::from(name) };
        let document = DataTypeDocument::v3(&json, &reading).map_err(text)?;
        let (data_type, byte_order): (Arc<dyn DataType>, _) =
            self.registry.data_type(Format::V3, &document, &reading).map_err(text)?;
        let fill_value = data_type.default_fill_value();
        Ok(ArrayRepresentation { shape: shape.to_vec(), data_type, fill_value, byte_order })
    }
}
