//! A plugin under test, with its examples and the objects that they create.

use std::sync::Arc;

use zarr_metadata::parse_entry;
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::registry::DuplicateIdentifier;
use zarr_spec::plugin::{Plugin, PluginKind};
use zarr_spec::{
    About, ArrayRepresentation, Creation, DataType, Example, Format, Identifiers, Mode, Reading, Registry,
    Value,
};

use super::attempt::record;
use super::{Cases, Rule, Subject, Suite, Trial, documents};

/// A function that checks `T` against a rule.
pub(super) type CheckOf<T> = fn(&T, &mut Cases);

/// A rule and its check for `T`.
pub(super) type RuleOf<T> = (Rule, CheckOf<T>);

/// The data types for examples that do not restrict them.
const ANY_TYPES: [&str; 7] = ["uint8", "int16", "uint32", "int64", "float32", "float64", "complex128"];

/// The chunk shapes for examples that do not restrict them: no dimensions, one element, odd and even sizes, more than
/// a vector register holds.
const ANY_SHAPES: [&[u64]; 6] = [&[], &[1], &[7], &[4, 6], &[3, 1, 5], &[33, 65]];

/// The array shape for examples that do not restrict it.
const ANY_SHAPE: &[u64] = &[4, 6];

/// A subject of a suite: a plugin that metadata documents refer to by name, or a store.
pub(super) trait OnTrial: Send + Sync + Sized + 'static {
    fn subject(&self) -> Subject;

    fn identifiers(&self) -> Identifiers;

    fn about(&self) -> &About;

    /// Returns the formats that need an example.
    fn formats(&self) -> Vec<Format>;

    /// Creates the object that `entry` describes, for all data types and shapes of the example. `entry` replaces the
    /// document of `example`.
    fn make(
        &self,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        cases: &mut Cases,
    ) -> Result<(), String>;
}

/// A kind of plugin that metadata documents refer to by name.
pub(super) trait Makes: PluginKind {
    /// Creates an object; see [`OnTrial::make`].
    fn make(
        tried: &Tried<Self>,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        cases: &mut Cases,
    ) -> Result<(), String>;
}

/// A plugin that metadata documents refer to by name.
pub(super) struct Tried<K: PluginKind + ?Sized> {
    pub(super) plugin: Plugin<K>,
    pub(super) registry: Arc<Registry>,
}

/// Returns the suite of a subject: the common rules, followed by the rules of its kind.
pub(super) fn suite<T: OnTrial>(on_trial: T, groups: &[&'static [RuleOf<T>]]) -> Suite {
    let on_trial = Arc::new(on_trial);
    let mut trials = documents::trials(&on_trial);
    for (rule, check) in groups.iter().copied().flatten() {
        let on_trial = Arc::clone(&on_trial);
        trials.push(Trial::new(rule, move |cases| check(&on_trial, cases)));
    }
    Suite { subject: on_trial.subject(), trials }
}

/// Returns the registry with plain numbers added for the types that no linked crate provides.
pub(super) fn with_stand_ins(registry: &Registry) -> Arc<Registry> {
    let mut registry = registry.clone();
    let reading = Reading::new(Mode::Strict);
    for &plugin in crate::types::PLUGINS {
        // A linked type takes precedence over its stand-in.
        let document = DataTypeDocument::named(plugin.identifiers.name.unwrap_or_default());
        if registry.data_type_plugin(Format::V3, &document, &reading).is_err() {
            let (Ok(()) | Err(DuplicateIdentifier { .. })) = registry.register(plugin);
        }
    }
    Arc::new(registry)
}

/// Parses the JSON of a document. Remarks of the parser are errors.
pub(super) fn value(document: &str) -> Result<Value, String> {
    let parsed = zarr_json::parse(document.as_bytes(), &zarr_json::ParseOptions::default()).map_err(text)?;
    match parsed.remarks.first() {
        Some(remark) => Err(remark.to_string()),
        None => Ok(parsed.value),
    }
}

/// Returns the message of an error.
pub(super) fn text(error: impl ToString) -> String {
    error.to_string()
}

/// Returns the array shape for an example.
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

impl<K: PluginKind + ?Sized> Tried<K> {
    pub(super) fn examples(&self) -> &'static [Example] {
        self.plugin.about.examples
    }

    /// Parses the document of an example in strict mode.
    pub(super) fn document(&self, example: &Example) -> Result<ExtensionDocument, String> {
        self.parse(example, &value(example.document)?, &Reading::new(Mode::Strict))
    }

    /// Parses `entry`, which replaces the document of `example`. `entry` must name the plugin as the format does.
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
        // A codec may have two names in v3: its registered name and the name in numcodecs.
        let is_other_name = !name.contains(':') && identifiers.aliases.contains(&name);
        if !written.contains(&Some(name)) && !is_other_name {
            return Err(format!("`{}` is not its identifier in {format}", document.identifier));
        }
        Ok(document)
    }

    /// Returns the examples for which `create` succeeds, with the created objects.
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
        Creation::of(document, format, &*self.registry, reading)
    }

    /// Returns the arrays for an example, with all its data types and shapes. Data types that are not linked are
    /// skipped.
    pub(super) fn arrays(&self, example: &Example, cases: &mut Cases) -> Vec<ArrayRepresentation> {
        let one = [example.shape];
        let shapes = if example.shape.is_empty() { &ANY_SHAPES[..] } else { &one };
        let of_type = |array: ArrayRepresentation| {
            shapes.iter().map(move |shape| array.clone().with_shape(shape.to_vec()))
        };
        self.elements(example, cases).into_iter().flat_map(of_type).collect()
    }

    /// Returns arrays without dimensions for each data type of an example. Data types that are not linked are
    /// skipped.
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

    /// Returns an array of `shape` with the v3 data type `name`, which is a name or a JSON object.
    pub(super) fn array(&self, shape: &[u64], name: &str) -> Result<ArrayRepresentation, String> {
        let reading = Reading::new(Mode::Strict);
        let json = if name.starts_with('{') { value(name)? } else { Value::from(name) };
        let document = DataTypeDocument::v3(&json, &reading).map_err(text)?;
        let (data_type, byte_order): (Arc<dyn DataType>, _) =
            self.registry.data_type(Format::V3, &document, &reading).map_err(text)?;
        let fill_value = data_type.default_fill_value();
        Ok(ArrayRepresentation::new(shape.to_vec(), data_type, fill_value).with_byte_order(byte_order))
    }
}
