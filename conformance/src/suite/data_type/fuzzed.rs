//! Fuzz targets for data types.

use std::sync::Arc;

use zarr_spec::data_type::FillContext;
use zarr_spec::{Mode, Reading, Registry};

use super::{TypeOnTrial, Use};
use crate::fuzz::{Aspect, Target};
use crate::suite::fuzzed::{configurations, document, is_of, name_of};
use crate::suite::tried::Tried;

/// The maximum size of the elements of one input, in bytes.
const ELEMENTS_SIZE: usize = 1 << 12;

pub(in crate::suite) fn add(
    registry: &Arc<Registry>,
    linked: &Registry,
    package: Option<&str>,
    targets: &mut Vec<Target>,
) {
    for &plugin in linked.data_types().iter().filter(|plugin| is_of(**plugin, package)) {
        let trial = Arc::new(TypeOnTrial { plugin, registry: Arc::clone(registry) });
        let own = |example: &zarr_spec::Example| example.document.to_owned();
        configurations(&trial, targets, own, |trial: &Tried<_>, example, entry| {
            let reading = Reading::new(Mode::Lenient);
            let Ok((data_type, order)) = trial.create(example.format, entry, &reading) else { return };
            let Ok(written) = data_type.document(example.format, &order) else { return };
            let again = trial.create(example.format, &written.json, &Reading::new(Mode::Strict));
            let name = again.as_ref().map(|(again, _)| again.name());
            assert_eq!(name.as_deref(), Ok(&*data_type.name()), "{entry} is written as {}", written.json);
        });
        for used in trial.uses() {
            let label = format!("data type `{}`: {}", name_of(&plugin), used.label);
            let used = Arc::new(used);
            let runs = Arc::clone(&used);
            let seeds = Arc::clone(&used);
            targets.push(Target {
                aspect: Aspect::DataType,
                name: format!("elements of {label}"),
                run: Box::new(move |input| runs.any_elements(&input[..input.len().min(ELEMENTS_SIZE)])),
                seeds: Box::new(move || seeds.elements().into_iter().take(4).collect()),
            });
            let runs = Arc::clone(&used);
            let seeds = used;
            targets.push(Target {
                aspect: Aspect::DataType,
                name: format!("fill values of {label}"),
                run: Box::new(move |input| runs.any_fill_value(input)),
                seeds: Box::new(move || {
                    let elements = seeds.elements().into_iter().take(4);
                    let json = |element: Vec<u8>| {
                        seeds.data_type.fill_value_json(&element, seeds.format, &seeds.order).ok()
                    };
                    elements.filter_map(json).map(|json| json.to_string().into_bytes()).collect()
                }),
            });
        }
    }
}

impl Use {
    /// Checks bytes that settle to elements: the elements can be printed, and documents represent them exactly.
    fn any_elements(&self, stored: &[u8]) {
        let mut settled = match self.data_type.elements().size() {
            Some(size) => stored[..stored.len() - stored.len() % size.max(1)].to_vec(),
            None => stored.to_vec(),
        };
        let _any = (self.data_type.check(stored), self.printed(stored));
        let _any = self.data_type.fill_value_json(stored, self.format, &self.order);
        if self.data_type.settle(&mut settled, Mode::Lenient).is_err() {
            return;
        }
        let mut twice = settled.clone();
        assert!(self.data_type.settle(&mut twice, Mode::Lenient).is_ok(), "{}: settled once", self.label);
        assert_eq!(twice, settled, "{}: settled again", self.label);
        let size = self.data_type.elements().size().unwrap_or(settled.len());
        for element in settled.chunks(size.max(1)) {
            if self.data_type.check(element).is_ok() {
                self.element_and_back(element);
            }
        }
    }

    fn element_and_back(&self, element: &[u8]) {
        assert!(self.printed(element).is_some(), "{}: {element:02x?} cannot be printed", self.label);
        let written = self.data_type.fill_value_json(element, self.format, &self.order);
        if self.data_type.elements().size().is_none() && written.is_err() {
            // Documents cannot represent some elements, such as JSON with `Infinity`.
            return;
        }
        match self.again(element, self.format) {
            Ok(Some(again)) if again == element => {}
            // Different texts may have the same value in a document, such as JSON with and without spaces.
            Ok(Some(again)) if self.data_type.elements().size().is_none() => {
                assert_eq!(
                    self.again(&again, self.format),
                    Ok(Some(again)),
                    "{}: {element:02x?}",
                    self.label
                );
            }
            Ok(Some(again)) => panic!("{}: {element:02x?} is read back as {again:02x?}", self.label),
            Ok(None) => {}
            Err(error) => panic!("{}: {element:02x?}: {error}", self.label),
        }
    }

    /// Checks that JSON accepted as a fill value is an element.
    fn any_fill_value(&self, text: &[u8]) {
        let Some(json) = document(text) else { return };
        // `null` may mean that there is no fill value, so it is not passed to the type.
        if json.is_null() {
            return;
        }
        let reading = Reading::new(Mode::Lenient);
        let context = FillContext::new(self.format, &reading).with_byte_order(&self.order);
        let Ok(fill) = self.data_type.fill_value(&json, &context) else { return };
        let size = self.data_type.elements().size();
        assert!(size.is_none_or(|size| size == fill.bytes().len()), "{}: {json} is {fill:?}", self.label);
        let checked = self.data_type.check(fill.bytes());
        assert!(checked.is_ok(), "{}: {json} is {fill:?}, but `check` returns {checked:?}", self.label);
        self.element_and_back(fill.bytes());
    }
}
