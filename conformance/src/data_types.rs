//! Checks that apply to every data type, and conversions between documents and elements.

use std::fmt::Write as _;
use std::sync::Arc;

use zarr_spec::data_type::{DataTypeDocument, FillContext};
use zarr_spec::{
    ByteOrder, DataType, DataTypeError, Elements, Format, Mode, Reading, Registry, Units, Value,
};

/// The `dtype` in the configuration of an object codec, for data types that depend on it.
pub(crate) const OBJECT_ELEMENTS: &str = "<i4";

/// A data type, read from the member of an array document.
#[derive(Debug)]
pub struct Subject {
    /// The type.
    pub data_type: Arc<dyn DataType>,
    /// The byte order that the document declares.
    pub order: ByteOrder,
    /// The warnings from reading the member.
    pub warnings: Vec<String>,
    format: Format,
    mode: Mode,
}

impl Subject {
    /// Reads the JSON text of a data type. In v2, objects are strings with the codec `vlen-utf8`.
    ///
    /// # Errors
    ///
    /// The problem with the member.
    ///
    /// # Panics
    ///
    /// If `text` is not JSON.
    pub fn new(registry: &Registry, format: Format, mode: Mode, text: &str) -> Result<Self, DataTypeError> {
        Self::with_object_codec(registry, format, mode, text, Some("vlen-utf8"))
    }

    /// Reads the JSON text of a data type; `codec` is the id of the first filter, if there is one.
    ///
    /// # Errors
    ///
    /// The problem with the member.
    ///
    /// # Panics
    ///
    /// If `text` is not JSON.
    pub fn with_object_codec(
        registry: &Registry,
        format: Format,
        mode: Mode,
        text: &str,
        codec: Option<&str>,
    ) -> Result<Self, DataTypeError> {
        let reading = Reading::new(mode);
        let json = value(text);
        let document = match format {
            Format::V2 => DataTypeDocument::v2(&json, codec, &reading)?
                .with_object_elements(Some(&Value::from(OBJECT_ELEMENTS))),
            Format::V3Draft => DataTypeDocument::draft(&json, &reading)?,
            Format::V3 => DataTypeDocument::v3(&json, &reading)?,
        };
        let (data_type, order) = registry.data_type(format, &document, &reading)?;
        Ok(Self { data_type, order, warnings: reading.take_warnings(), format, mode })
    }

    /// Returns the bytes of a fill value, given as JSON text, in native byte order.
    ///
    /// # Errors
    ///
    /// The problem with the fill value.
    ///
    /// # Panics
    ///
    /// If `text` is not JSON.
    pub fn fill(&self, text: &str) -> Result<Vec<u8>, DataTypeError> {
        self.fill_and_warnings(text).map(|(bytes, _)| bytes)
    }

    /// Returns the bytes of a fill value and the warnings; see [`fill`](Self::fill).
    ///
    /// # Errors
    ///
    /// The problem with the fill value.
    ///
    /// # Panics
    ///
    /// If `text` is not JSON.
    pub fn fill_and_warnings(&self, text: &str) -> Result<(Vec<u8>, Vec<String>), DataTypeError> {
        let reading = Reading::new(self.mode);
        let context = FillContext::new(self.format, &reading).with_byte_order(&self.order);
        let fill = self.data_type.fill_value(&value(text), &context)?;
        Ok((fill.bytes().to_vec(), reading.take_warnings()))
    }

    /// Returns the JSON text of an element in the format that the type was read from.
    ///
    /// # Errors
    ///
    /// The error of the data type.
    pub fn json(&self, element: &[u8]) -> Result<String, DataTypeError> {
        self.data_type.fill_value_json(element, self.format, &self.order).map(|json| json.to_string())
    }

    /// Returns the bytes of an element as stored in byte order `order`.
    #[must_use]
    pub fn stored(&self, element: &[u8], order: &ByteOrder) -> Vec<u8> {
        let mut stored = element.to_vec();
        let foreign = |big: bool| big != cfg!(target_endian = "big");
        let is_big = |unit: usize| match order {
            ByteOrder::Little => false,
            ByteOrder::Big => true,
            ByteOrder::Mixed(flags) => flags.get(unit).copied().unwrap_or_default(),
        };
        match self.data_type.elements() {
            Elements::Fixed { units: Units::Uniform(unit), .. } if unit > 1 && foreign(is_big(0)) => {
                stored.chunks_mut(unit).for_each(<[u8]>::reverse);
            }
            Elements::Fixed { units: Units::Fields(units), .. } => {
                for (_, unit) in units.iter().enumerate().filter(|(number, _)| foreign(is_big(*number))) {
                    stored[unit.offset..unit.offset + unit.size].reverse();
                }
            }
            _ => {}
        }
        stored
    }

    /// Returns the printed form of an element.
    #[must_use]
    pub fn print(&self, element: &[u8]) -> String {
        let mut text = String::new();
        match self.data_type.print(element, &mut text) {
            Ok(()) => text,
            // If printing fails, `text` is the reason.
            Err(_) => format!("({text})"),
        }
    }

    /// Checks the rules for every type. Fill values and the document of the type are written in a form that strict
    /// mode reads back to the same bits and the same type. Foreign bytes never cause a panic.
    ///
    /// # Errors
    ///
    /// All violations, one per line.
    ///
    /// # Panics
    ///
    /// If one of `fills` is not JSON.
    pub fn check(&self, registry: &Registry, fills: &[&str]) -> Result<(), String> {
        let mut wrong = String::new();
        let mut complain = |what: String| writeln!(wrong, "{what}").unwrap_or_default();
        let strict = match self.data_type.document(self.format, &self.order) {
            Ok(document) => Self::with_object_codec(
                registry,
                self.format,
                Mode::Strict,
                &document.json.to_string(),
                document.identifier.strip_prefix("O/"),
            )
            .map_err(|error| format!("the written document {} cannot be read: {error}", document.json)),
            Err(error) => Err(format!("the document cannot be written: {error}")),
        };
        let strict = strict?;
        if (strict.data_type.name(), &strict.order) != (self.data_type.name(), &self.order) {
            complain(format!(
                "{} was written, but is read as {}",
                self.data_type.name(),
                strict.data_type.name()
            ));
        }
        for text in fills {
            let again = self.fill(text).and_then(|bytes| Ok((strict.fill(&self.json(&bytes)?)?, bytes)));
            match again {
                Ok((again, bytes)) if again == bytes => {
                    let _text = self.print(&bytes);
                }
                Ok((again, bytes)) => {
                    complain(format!("{text} is read as {bytes:?}, but after writing as {again:?}"))
                }
                Err(error) => complain(format!("{text}: {error}")),
            }
        }
        self.check_foreign_bytes(&mut complain);
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    fn check_foreign_bytes(&self, complain: &mut dyn FnMut(String)) {
        let size = self.data_type.elements().size();
        for byte in 0..=0xff {
            let stored = vec![byte; size.filter(|&size| size <= 64).unwrap_or(0)];
            let mut element = stored.clone();
            let settled = self.data_type.settle(&mut element, Mode::Lenient);
            if settled.is_err() || (element != stored && !self.data_type.settles()) {
                complain(format!("{stored:?} unexpectedly settles to {element:?} ({settled:?})"));
            }
        }
        for length in [0, 1, size.unwrap_or(7), size.unwrap_or(7) + 1] {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let element = vec![byte; length];
                let _text = (self.print(&element), self.data_type.check(&element));
                let written = self.data_type.fill_value_json(&element, self.format, &self.order);
                if size.is_some_and(|size| size != length) && written.is_ok() {
                    complain(format!("{length} bytes are written as {written:?}"));
                }
            }
        }
    }
}

/// Parses JSON text.
#[expect(clippy::expect_used, reason = "the text is part of a test")]
fn value(text: &str) -> Value {
    let options = zarr_json::ParseOptions { bare_non_finite: true, ..zarr_json::ParseOptions::default() };
    zarr_json::parse(text.as_bytes(), &options).expect("the text is JSON").value
}
