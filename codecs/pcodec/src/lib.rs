//! The `pcodec` codec of Zarr: compresses the numbers of a chunk to one standalone pco file.
//!
//! Array to bytes, lossless, for integers and floats of 16, 32 and 64 bits; the payload of NaN and the sign of zero are
//! preserved. zarrs also stores times as `int64` and complex numbers as pairs of floats; they are read with a warning,
//! except in strict mode, and never created. The encoded size depends on the numbers.
//!
//! The configuration affects only encoding: `level` is 0 to 12; `mode_spec` is `auto` or `classic`;
//! `delta_spec` is `auto`, `no_op` (formerly `none`), `try_consecutive` with its `delta_encoding_order`, or
//! `try_lookback`; `equal_pages_up_to` is the maximum number of numbers in a page. `paging_spec` has only one
//! value.
//!
//! Damaged bytes can make pco allocate a window of twice 2^24 numbers, 256 MiB, besides the chunk, but only the
//! used part is touched. Everything else of that size must be present in the file.
//!
//! imagecodecs has the same files as `imagecodecs_pcodec`, in v2 and final v3; `numcodecs.imagecodecs_pcodec` is also read.
//!
//! Source: `PCodec` of numcodecs, in v2 as `pcodec`, in final v3 as `numcodecs.pcodec`; `Pcodec` in imagecodecs; the format
//! of pco.

mod imagecodecs;
mod numbers;

use std::sync::Arc;

use pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec};
use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Format, Identifiers, Object,
    Output, Representation, Size, Value, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.pcodec")
            .with_id("pcodec")
            .with_uri("https://zarr-kit.example/spec/codecs/pcodec/1.0")
            .with_aliases(&["https://codec.zarrs.dev/array_to_bytes/pcodec"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<PcodecConfiguration>()
    .about("Compresses numbers with pco.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "numcodecs.pcodec",
            "configuration": {"level": 8, "mode_spec": "auto", "delta_spec": "auto",
            "paging_spec": "equal_pages_up_to", "delta_encoding_order": null,
            "equal_pages_up_to": 262144}}"#,
    )
    .with_data_types(&["int16", "uint32", "int64", "float16", "float32", "float64"]),
    Example::v3(
        r#"{"name": "numcodecs.pcodec",
            "configuration": {"level": 12, "mode_spec": "classic", "delta_spec": "no_op",
            "equal_pages_up_to": 8}}"#,
    )
    .with_data_types(&["int16", "uint32", "int64", "float16", "float32", "float64"]),
    Example::v3(
        r#"{"name": "numcodecs.pcodec",
            "configuration": {"level": 4, "delta_spec": "try_consecutive",
            "delta_encoding_order": 1}}"#,
    )
    .with_data_types(&["int16", "uint32", "int64", "float16", "float32", "float64"]),
    Example::v2(
        r#"{"id": "pcodec", "level": 8, "mode_spec": "auto", "delta_spec": "auto",
            "paging_spec": "equal_pages_up_to", "delta_encoding_order": null,
            "equal_pages_up_to": 262144}"#,
    )
    .with_data_types(&["int16", "uint32", "int64", "float16", "float32", "float64"]),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/pcodec/1.0",
            "configuration": {"level": 8, "mode_spec": "auto", "delta_spec": "auto",
            "paging_spec": "equal_pages_up_to", "delta_encoding_order": null,
            "equal_pages_up_to": 262144}}"#,
    )
    .with_data_types(&["int16", "uint32", "int64", "float16", "float32", "float64"]),
];

/// Compresses the numbers of a chunk to a standalone pco file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pcodec {
    level: usize,
    is_classic: bool,
    differences: Differences,
    page_size: usize,
}

/// The differences that are compressed instead of the numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Differences {
    /// The differences that are expected to give the fewest bytes.
    #[default]
    Auto,
    /// No differences: the numbers themselves are compressed.
    NoOp,
    /// Differences between consecutive numbers, calculated the given number of times: up to 7.
    Consecutive(usize),
    /// Differences from an earlier number of the page.
    Lookback,
}

impl Default for Pcodec {
    /// Returns the defaults of numcodecs: level 8, pages of 2^18 numbers.
    fn default() -> Self {
        Self { level: 8, is_classic: false, differences: Differences::Auto, page_size: 1 << 18 }
    }
}

impl Pcodec {
    /// Compresses at `level`, from 0 (fastest) to 12 (smallest).
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for another level.
    pub fn new(level: usize) -> Result<Self, CodecError> {
        if level > 12 {
            return Err(CodecError::configuration(format!("`level` is {level}; expected 0 to 12")));
        }
        Ok(Self { level, ..Self::default() })
    }

    /// Does not search for a common factor or base of the numbers.
    #[must_use]
    pub const fn classic(self) -> Self {
        Self { is_classic: true, ..self }
    }

    /// Sets the differences.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] if they are calculated more than 7 times.
    pub fn with_differences(self, differences: Differences) -> Result<Self, CodecError> {
        match differences {
            Differences::Consecutive(order @ 8..) => {
                Err(CodecError::configuration(format!("`delta_encoding_order` is {order}; expected 0 to 7")))
            }
            differences => Ok(Self { differences, ..self }),
        }
    }

    /// Sets the maximum number of numbers in a page, up to 2^24.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for another number.
    pub fn with_page_size(self, page_size: usize) -> Result<Self, CodecError> {
        if !(1..=MAX_PAGE).contains(&page_size) {
            return Err(CodecError::configuration(format!(
                "`equal_pages_up_to` is {page_size}; expected 1 to {MAX_PAGE}"
            )));
        }
        Ok(Self { page_size, ..self })
    }

    fn configuration(&self) -> ChunkConfig {
        let differences = match self.differences {
            Differences::Auto => DeltaSpec::Auto,
            Differences::NoOp => DeltaSpec::NoOp,
            Differences::Consecutive(order) => DeltaSpec::TryConsecutive(order),
            Differences::Lookback => DeltaSpec::TryLookback,
        };
        ChunkConfig::default()
            .with_compression_level(self.level)
            .with_mode_spec(if self.is_classic { ModeSpec::Classic } else { ModeSpec::Auto })
            .with_delta_spec(differences)
            .with_paging_spec(PagingSpec::EqualPagesUpTo(self.page_size))
    }
}

impl From<Pcodec> for CodecEntry {
    fn from(codec: Pcodec) -> Self {
        let (differences, order) = match codec.differences {
            Differences::Auto => ("auto", Value::Null),
            Differences::NoOp => ("no_op", Value::Null),
            Differences::Consecutive(order) => ("try_consecutive", order.into()),
            Differences::Lookback => ("try_lookback", Value::Null),
        };
        let configuration = json!({
            "level": codec.level,
            "mode_spec": if codec.is_classic { "classic" } else { "auto" },
            "delta_spec": differences,
            "delta_encoding_order": order,
            "equal_pages_up_to": codec.page_size,
        });
        Self::new("pcodec", configuration)
    }
}

impl ArrayToBytesCodec for Pcodec {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        numbers::numbers(array).map(|_| Size::Unknown)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        numbers::encode(&self.configuration(), array, decoded, encoded)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        numbers::decode(array, encoded, decoded)
    }
}

/// Maximum number of numbers in a page of pco.
const MAX_PAGE: usize = 1 << 24;

#[derive(Deserialize)]
struct PcodecConfiguration {
    level: Option<usize>,
    mode_spec: Option<String>,
    delta_spec: Option<String>,
    paging_spec: Option<String>,
    delta_encoding_order: Option<usize>,
    equal_pages_up_to: Option<usize>,
}

impl PcodecConfiguration {
    fn codec(&self) -> Result<Pcodec, CodecError> {
        let codec = Pcodec::new(self.level.unwrap_or(8))?;
        let codec = match self.mode_spec.as_deref() {
            None | Some("auto") => codec,
            Some("classic") => codec.classic(),
            Some(other) => return Err(unknown("mode_spec", other, "auto or classic")),
        };
        match self.paging_spec.as_deref() {
            None | Some("equal_pages_up_to") => {}
            Some(other) => return Err(unknown("paging_spec", other, "equal_pages_up_to")),
        }
        let codec = codec.with_page_size(self.equal_pages_up_to.unwrap_or(codec.page_size))?;
        codec.with_differences(self.differences()?)
    }

    /// Returns the differences to use. An order without `delta_spec` means consecutive differences: some
    /// configurations predate `delta_spec`.
    fn differences(&self) -> Result<Differences, CodecError> {
        match (self.delta_spec.as_deref(), self.delta_encoding_order) {
            (None | Some("auto" | "try_consecutive"), Some(order)) => Ok(Differences::Consecutive(order)),
            (None | Some("auto"), None) => Ok(Differences::Auto),
            (Some("no_op" | "none"), None) => Ok(Differences::NoOp),
            (Some("try_lookback"), None) => Ok(Differences::Lookback),
            (Some("try_consecutive"), None) => {
                Err(CodecError::configuration("`try_consecutive` requires a `delta_encoding_order`"))
            }
            (Some(other @ ("no_op" | "none" | "try_lookback")), Some(_)) => {
                Err(CodecError::configuration(format!("`{other}` cannot have a `delta_encoding_order`")))
            }
            (Some(other), _) => {
                Err(unknown("delta_spec", other, "auto, no_op, try_consecutive or try_lookback"))
            }
        }
    }
}

fn unknown(member: &str, value: &str, known: &str) -> CodecError {
    CodecError::configuration(format!("`{member}` is \"{value}\"; expected {known}"))
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let codec = creation.parse::<PcodecConfiguration>()?.codec()?;
    let array = array(decoded)?;
    if numbers::numbers(array)?.is_of_zarrs {
        let name = array.data_type.name();
        let what = format!("elements of data type `{name}` are compressed, which only zarrs does");
        creation.reading.tolerate(what).map_err(|invalid| CodecError::Unsupported(invalid.to_string()))?;
    }
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}

/// Writes all members, like numcodecs.
fn translate(creation: &Creation<'_>, _decoded: &Representation, _to: Format) -> Result<Object, CodecError> {
    let configuration: PcodecConfiguration = creation.parse()?;
    configuration.codec()?;
    let text =
        |member: Option<String>, default: &str| Value::String(member.unwrap_or_else(|| default.to_owned()));
    let mut members = Object::new();
    members.insert("level", configuration.level.unwrap_or(8));
    members.insert("mode_spec", text(configuration.mode_spec, "auto"));
    members.insert("delta_spec", text(configuration.delta_spec, "auto"));
    members.insert("paging_spec", text(configuration.paging_spec, "equal_pages_up_to"));
    members
        .insert("delta_encoding_order", configuration.delta_encoding_order.map_or(Value::Null, Value::from));
    members.insert("equal_pages_up_to", configuration.equal_pages_up_to.unwrap_or(1 << 18));
    Ok(members)
}
