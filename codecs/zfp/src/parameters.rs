//! Modes of zfp, as the two codecs have them.

use serde::Deserialize;
use zarr_spec::Number;
use zarr_spec::{CodecError, Object, Value};

/// What zfp may lose.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ZfpMode {
    /// Nothing.
    Reversible,
    /// So much that no value changes by more than `tolerance`.
    FixedAccuracy {
        /// The largest difference, from 0.
        tolerance: f64,
    },
    /// So much that `rate` bits are left of each value.
    FixedRate {
        /// Bits of a value, from 0.
        rate: f64,
    },
    /// All but the first `precision` bits of the coefficients of a block.
    FixedPrecision {
        /// Bits, up to 64; 0 is all of them.
        precision: u32,
    },
    /// The four parameters that the other modes are made of.
    Expert {
        /// The least bits of a block.
        minbits: u32,
        /// The most bits of a block.
        maxbits: u32,
        /// The most bits of a coefficient.
        maxprec: u32,
        /// The exponent of the smallest bit that is kept.
        minexp: i32,
    },
}

/// Bits of the largest block that zfp has.
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
    /// The mode has all its parameters, and none of another one.
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
            let given = if given.is_empty() { "no parameter".to_owned() } else { given.join(", ") };
            CodecError::configuration(format!("zfp has no mode \"{}\" with {given}", self.mode))
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
    /// Refuses parameters that zfp refuses, and those that would fill the memory.
    fn checked(self) -> Result<Self, CodecError> {
        let problem = match self {
            Self::FixedAccuracy { tolerance } if !tolerance.is_finite() || tolerance < 0.0 => {
                format!("tolerance is {tolerance}, not a number from 0")
            }
            Self::FixedRate { rate } if !rate.is_finite() || rate < 0.0 => {
                format!("rate is {rate}, not a number from 0")
            }
            Self::Expert { minbits, maxbits, maxprec, .. }
                if minbits > maxbits || minbits > MAX_BITS || !(1..=64).contains(&maxprec) =>
            {
                format!("minbits {minbits}, maxbits {maxbits} and maxprec {maxprec} do not go together")
            }
            _ => return Ok(self),
        };
        Err(CodecError::configuration(problem))
    }
}

/// numcodecs has -1 for what is not used, and says everything twice.
#[derive(Deserialize)]
pub(crate) struct ZfpyConfiguration {
    mode: Option<u32>,
    tolerance: Option<Number>,
    rate: Option<Number>,
    precision: Option<Number>,
    compression_kwargs: Option<Object>,
}

impl ZfpyConfiguration {
    /// What numcodecs makes of it: the parameter of the mode alone, and `compression_kwargs` are not looked at.
    pub(crate) fn mode(&self) -> Result<ZfpMode, CodecError> {
        let _said_again = &self.compression_kwargs;
        let (name, parameter) = self.parameter()?;
        let Some(value) = parameter.map_or(Some(-1.0), Number::as_f64) else {
            return Err(CodecError::configuration(format!("{name} is not a number")));
        };
        let mode = match name {
            _ if value < 0.0 => ZfpMode::Reversible,
            "rate" => ZfpMode::FixedRate { rate: value },
            "tolerance" => ZfpMode::FixedAccuracy { tolerance: value },
            _ => {
                let precision = parameter.and_then(Number::as_u64).and_then(|bits| u32::try_from(bits).ok());
                let problem = || CodecError::configuration(format!("precision is {value}, not an integer"));
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
                "mode is {other}, not 2 (rate), 3 (precision) or 4 (tolerance)"
            ))),
        }
    }

    /// All members, as numcodecs writes them.
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
