//! Data types with one fault each.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_conformance::types::FLOAT64;
use zarr_spec::data_type::{DataTypeDocument, FillContext, Kind};
use zarr_spec::{
    ByteOrder, DataType, DataTypeError, DataTypePlugin, Elements, FillValue, Format, Invalid, Mode, Units,
    Value,
};

use crate::{Wrong, each_breaks_its_rules, example, examples, named};

const WRONG: &[Wrong] = &[
    ("nothing", &[]),
    ("is-written-as-another", &["data-type-document"]),
    ("has-a-shorter-fallback", &["data-type-fallback"]),
    ("has-units-of-three", &["data-type-elements"]),
    ("forgets-signs-of-zeros", &["data-type-fill-value"]),
    ("settles-and-does-not-say", &["data-type-settle"]),
    ("settles-again-and-again", &["data-type-settle"]),
    ("prints-nothing-for-nan", &["data-type-print"]),
    ("wants-no-lists", &["data-type-foreign"]),
    ("takes-any-size", &["data-type-foreign"]),
];

#[test]
fn data_types_with_one_fault_break_the_matching_rule() {
    each_breaks_its_rules(WRONG, |registry, name| {
        let plugin = DataTypePlugin::new(named(name), &|creation| {
            if !creation.configuration.is_null() {
                return Err(Invalid::new("there is no configuration").into());
            }
            Ok((Arc::new(Float(creation.identifier.to_owned())), ByteOrder::Little))
        });
        registry.register(plugin.about("Does one thing wrong.", examples([example(name)]))).unwrap();
    });
}

/// A number of eight bytes, which documents represent as a list of bytes.
#[derive(Debug)]
struct Float(String);

impl Float {
    fn is(&self, wrong: &str) -> bool {
        self.0 == wrong
    }
}

impl DataType for Float {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }

    fn elements(&self) -> Elements {
        let unit = if self.is("has-units-of-three") { 3 } else { 8 };
        Elements::Fixed { size: 8, units: Units::Uniform(unit) }
    }

    fn kind(&self) -> Option<Kind> {
        FLOAT64.kind()
    }

    fn document(&self, format: Format, _order: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
        let name = if self.is("is-written-as-another") { "int32" } else { &self.0 };
        if self.is("has-a-shorter-fallback") && format == Format::V3Draft {
            let mut document = DataTypeDocument::named(name);
            document.fallback = vec![DataTypeDocument::named("int32")];
            return Ok(document);
        }
        if format != Format::V3 {
            return Err(DataTypeError::NotInFormat { name: self.0.clone(), format, hint: String::new() });
        }
        Ok(DataTypeDocument::named(name))
    }

    fn fill_value(&self, json: &Value, _context: &FillContext<'_>) -> Result<FillValue, DataTypeError> {
        let refused = || DataTypeError::FillValue("not eight bytes".to_owned());
        let bytes = json.as_array().ok_or_else(refused)?.iter();
        let bytes = bytes.map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok()));
        let bytes: Vec<u8> = match self.0.as_str() {
            "wants-no-lists" => bytes.map(Option::unwrap).collect(),
            _ => bytes.collect::<Option<_>>().ok_or_else(refused)?,
        };
        if bytes.len() == 8 { Ok(FillValue::new(bytes)) } else { Err(refused()) }
    }

    fn fill_value_json(
        &self,
        element: &[u8],
        _format: Format,
        _order: &ByteOrder,
    ) -> Result<Value, DataTypeError> {
        if element.len() != 8 && !self.is("takes-any-size") {
            return Err(DataTypeError::FillValue("not eight bytes".to_owned()));
        }
        if self.is("forgets-signs-of-zeros") && element == (-0.0_f64).to_ne_bytes() {
            return Ok([0; 8].into_iter().collect());
        }
        Ok(element.iter().map(|byte| u64::from(*byte)).collect())
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        let number = element.try_into().map_or(f64::NAN, f64::from_ne_bytes);
        if self.is("prints-nothing-for-nan") && number.is_nan() { Ok(()) } else { write!(to, "{number}") }
    }

    fn settle(&self, elements: &mut [u8], _mode: Mode) -> Result<(), Invalid> {
        match self.0.as_str() {
            "settles-and-does-not-say" => elements.iter_mut().for_each(|byte| *byte = (*byte).min(0xfe)),
            "settles-again-and-again" => elements.iter_mut().for_each(|byte| *byte /= 2),
            _ => {}
        }
        Ok(())
    }

    fn settles(&self) -> bool {
        self.is("settles-again-and-again")
    }
}
