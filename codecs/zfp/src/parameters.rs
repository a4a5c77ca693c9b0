//! The modes of zfp in the configurations of both codecs.

use serde::Deserialize;
use zarr_spec::Number;
use zarr_spec::{CodecError, Object, Value, json};

/// How much information zfp may discard.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ZfpMode {
    /// Lossless.
    Reversible,
    /// Limits the error of each value to `tolerance`.
    FixedAccuracy {
        /// The maximum error, at least 0.
        tolerance: f64,
    },
    /// Uses `rate` bits per value.
    FixedRate {
        /// Bits per value, at least 0.
        rate: f64,
    },
    /// Keeps `precision` bits of the coefficients of a block.
    FixedPrecision {
        /// The number of bits, at most 64; 0 keeps all of them.
        precision: u32,
    },
    /// Sets the four parameters that define the other modes.
    Expert {
        /// Minimum number of bits per block.
        minbits: u32,
        /// Maximum number of bits per block.
        maxbits: u32,
        /// Maximum number of bits per coefficient.
        maxprec: u32,
        /// Exponent of the smallest bit that is kept.
        minexp: i32,
    },
}

/// Size of the largest block of zfp in bits.
const MAX_BITS: u32 = 16658;

#[derive(Deserialize)]
pub(crate) struct ZfpConfiguration {
    mode: String,
    tolerance: Option<f64>,
    rate: Option<f64>,
    precision: Option<u32>,
    minbits: Option<u32>,
    maxbits: Option<u32>,
    maxprec: Option<u32>,
    minexp: Option<i32>,
}

impl ZfpConfiguration {
    /// Returns the mode. Refuses parameters that do not belong to the mode, and missing ones.
    pub(crate) fn mode(&self) -> Result<ZfpMode, CodecError> {
        let given: Vec<&str> = [
            ("tolerance", self.tolerance.is_some()),
            ("rate", self.rate.is_some()),
            ("precision", self.precision.is_some()),
            ("minbits", self.minbits.is_some()),
            ("maxbits", self.maxbits.is_some()),
            ("maxprec", self.maxprec.is_some()),
            ("minexp", self.minexp.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_given)| is_given.then_some(name))
        .collect();
        let mode = match (self.mode.as_str(), &given[..]) {
            ("reversible", []) => Some(ZfpMode::Reversible),
            ("fixed_accuracy", ["tolerance"]) => {
                self.tolerance.map(|tolerance| ZfpMode::FixedAccuracy { tolerance })
            }
            ("fixed_rate", ["rate"]) => self.rate.map(|rate| ZfpMode::FixedRate { rate }),
            ("fixed_precision", ["precision"]) => {
                self.precision.map(|precision| ZfpMode::FixedPrecision { precision })
            }
            ("expert", ["minbits", "maxbits", "maxprec", "minexp"]) => self.expert(),
            _ => None,
        };
        let mode = mode.ok_or_else(|| {
            let given = if given.is_empty() { "no parameters".to_owned() } else { given.join(", ") };
            CodecError::configuration(format!("zfp does not have a mode \"{}\" with {given}", self.mode))
        })?;
        mode.checked()
    }

    fn expert(&self) -> Option<ZfpMode> {
        let minbits = self.minbits?;
        let maxbits = self.maxbits?;
        Some(ZfpMode::Expert { minbits, maxbits, maxprec: self.maxprec?, minexp: self.minexp? })
    }
}

impl ZfpMode {
    /// Refuses parameters that zfp refuses or that would exhaust the memory.
    pub(crate) fn checked(self) -> Result<Self, CodecError> {
        let problem = match self {
            Self::FixedAccuracy { tolerance } if !tolerance.is_finite() || tolerance < 0.0 => {
                format!("`tolerance` is {tolerance}; expected a number of at least 0")
            }
            Self::FixedRate { rate } if !rate.is_finite() || rate < 0.0 => {
                format!("`rate` is {rate}; expected a number of at least 0")
            }
            Self::Expert { minbits, maxbits, maxprec, .. }
                if minbits > maxbits || minbits > MAX_BITS || !(1..=64).contains(&maxprec) =>
            {
                format!(
                    "`minbits` {minbits}, `maxbits` {maxbits} and `maxprec` {maxprec} contradict each other"
                )
            }
            _ => return Ok(self),
        };
        Err(CodecError::configuration(problem))
    }

    /// Returns the configuration of `zfp`.
    pub(crate) fn zfp_configuration(self) -> Value {
        match self {
            Self::Reversible => json!({"mode": "reversible"}),
            Self::FixedAccuracy { tolerance } => json!({"mode": "fixed_accuracy", "tolerance": tolerance}),
            Self::FixedRate { rate } => json!({"mode": "fixed_rate", "rate": rate}),
            Self::FixedPrecision { precision } => json!({"mode": "fixed_precision", "precision": precision}),
            Self::Expert { minbits, maxbits, maxprec, minexp } => json!({
                "mode": "expert",
                "minbits": minbits,
                "maxbits": maxbits,
                "maxprec": maxprec,
                "minexp": minexp,
            }),
        }
    }

    /// Returns the configuration of `zfpy`, where a negative tolerance means lossless. `Zfpy` does not have the
    /// expert mode.
    pub(crate) fn zfpy_configuration(self) -> Value {
        match self {
            Self::FixedRate { rate } => json!({"mode": 2, "rate": rate}),
            Self::FixedPrecision { precision } => json!({"mode": 3, "precision": precision}),
            Self::FixedAccuracy { tolerance } => json!({"mode": 4, "tolerance": tolerance}),
            Self::Reversible | Self::Expert { .. } => json!({"mode": 4, "tolerance": -1}),
        }
    }
}

/// The configuration of numcodecs. It contains each value twice; unused values are -1.
#[derive(Deserialize)]
pub(crate) struct ZfpyConfiguration {
    mode: Option<u32>,
    tolerance: Option<Number>,
    rate: Option<Number>,
    precision: Option<Number>,
    compression_kwargs: Option<Object>,
}

impl ZfpyConfiguration {
    /// Returns the mode. Like numcodecs, uses only the parameter of the mode and ignores `compression_kwargs`.
    pub(crate) fn mode(&self) -> Result<ZfpMode, CodecError> {
        let _said_again = &self.compression_kwargs;
        let (name, parameter) = self.parameter()?;
        let Some(value) = parameter.map_or(Some(-1.0), Number::as_f64) else {
            return Err(CodecError::configuration(format!("`{name}` is not a number")));
        };
        let mode = match name {
            _ if value < 0.0 => ZfpMode::Reversible,
            "rate" => ZfpMode::FixedRate { rate: value },
            "tolerance" => ZfpMode::FixedAccuracy { tolerance: value },
            _ => {
                let precision = parameter.and_then(Number::as_u64).and_then(|bits| u32::try_from(bits).ok());
                let problem =
                    || CodecError::configuration(format!("`precision` is {value}; expected an integer"));
                ZfpMode::FixedPrecision { precision: precision.ok_or_else(problem)? }
            }
        };
        mode.checked()
    }

    fn parameter(&self) -> Result<(&'static str, Option<&Number>), CodecError> {
        match self.mode.unwrap_or(4) {
            2 => Ok(("rate", self.rate.as_ref())),
            3 => Ok(("precision", self.precision.as_ref())),
            4 => Ok(("tolerance", self.tolerance.as_ref())),
            other => Err(CodecError::configuration(format!(
                "`mode` is {other}; expected 2 (rate), 3 (precision) or 4 (tolerance)"
            ))),
        }
    }

    /// Writes all members, like numcodecs.
    pub(crate) fn translated(&self) -> Result<Object, CodecError> {
        self.mode()?;
        let number =
            |number: Option<&Number>| number.map_or(Value::from(-1), |number| Value::Number(number.clone()));
        let (name, parameter) = self.parameter()?;
        let mut members = Object::new();
        members.insert("mode", self.mode.unwrap_or(4));
        members.insert("compression_kwargs", [(name, number(parameter))].into_iter().collect::<Value>());
        members.insert("tolerance", number(self.tolerance.as_ref()));
        members.insert("rate", number(self.rate.as_ref()));
        members.insert("precision", number(self.precision.as_ref()));
        Ok(members)
    }
}
