//! Inputs that claim large sizes, so that a codec that trusts them allocates too much memory.

use std::fmt;

use super::claims::{UNDECLARED, by_hand, claiming, places};
use super::robustness::{PLACES, encoded_samples, largest};
use super::{CodecOnTrial, Use};
use crate::codecs::Random;
use crate::suite::Cases;
use crate::suite::elements::noise;

/// The memory that decoding may use in addition to its output, in bytes: for windows and tables.
const WORKING_MEMORY: usize = 64 << 20;

/// A use of a codec, and hostile input for it.
pub(in crate::suite) struct Hostile<'a> {
    used: Use<'a>,
    /// The size of the chunk in bytes.
    limit: usize,
    valid: Vec<Vec<u8>>,
    inputs: Vec<Input>,
    /// Inputs that claim large sizes, for decoding without a declared size.
    claims: Vec<Input>,
}

/// Encoded bytes that no codec wrote.
pub(in crate::suite) struct Input(Vec<u8>);

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = &self.0[..self.0.len().min(16)];
        write!(f, "{} bytes starting with {start:02x?}", self.0.len())
    }
}

impl fmt::Display for Hostile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.used.fmt(f)
    }
}

impl Hostile<'static> {
    /// Returns the hostile input for each example of a codec.
    pub(in crate::suite) fn all(trial: &CodecOnTrial, cases: &mut Cases) -> Vec<Self> {
        largest(trial, cases).into_iter().map(Self::of).collect()
    }

    fn of(used: Use<'static>) -> Self {
        let size = used.array.size().limit().and_then(|size| usize::try_from(size).ok());
        let limit = size.unwrap_or(1 << 16);
        let mut inputs: Vec<Vec<u8>> = [3, 64, 1000].map(noise).into_iter().chain([vec![0xff; 64]]).collect();
        let valid: Vec<Vec<u8>> = encoded_samples(&used).map(|(_, encoded)| encoded).collect();
        if let Some(encoded) = valid.last() {
            let mut random = Random::default();
            inputs.extend((0..PLACES).map(|_| {
                let mut bytes = encoded.clone();
                random.damage(&mut bytes);
                bytes
            }));
            // Sizes usually are whole words at the start or the end.
            for place in places(encoded) {
                let mut bytes = encoded.clone();
                let end = bytes.len().min(place + 4);
                bytes[place..end].fill(0xff);
                inputs.push(bytes);
            }
        }
        let claims =
            by_hand().into_iter().chain(valid.last().into_iter().flat_map(|encoded| claiming(encoded)));
        let claims = claims.map(Input).collect();
        Self { used, limit, inputs: inputs.into_iter().map(Input).collect(), claims, valid }
    }
}

impl Hostile<'_> {
    /// Returns the number of bytes that decoding may allocate.
    pub(in crate::suite) fn allowed(&self) -> usize {
        self.limit.saturating_add(WORKING_MEMORY)
    }

    pub(in crate::suite) fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Returns the inputs for [`Hostile::decode_undeclared`].
    pub(in crate::suite) fn undeclared_inputs(&self) -> impl Iterator<Item = &Input> {
        self.inputs.iter().chain(&self.claims)
    }

    /// Decodes without a declared size, as for elements of variable size. Returns the size of the output.
    pub(in crate::suite) fn decode_undeclared(&self, input: &Input) -> usize {
        match self.used.decode(&input.0, UNDECLARED) {
            Ok(Ok(decoded)) => decoded.len(),
            _ => 0,
        }
    }

    /// Returns the number of bytes that [`Hostile::decode_undeclared`] may allocate for an output of `written` bytes.
    pub(in crate::suite) fn allowed_undeclared(&self, input: &Input, written: usize) -> usize {
        let largest = self.limit.max(written);
        largest.saturating_mul(3).saturating_add(input.0.len()).saturating_add(WORKING_MEMORY)
    }

    /// Decodes an input. Other rules check the result.
    pub(in crate::suite) fn decode(&self, input: &Input) {
        drop(self.used.decode(&input.0, self.limit));
    }

    /// Decodes valid input, so that the codec completes its one-time setup.
    pub(in crate::suite) fn set_up(&self) {
        for encoded in &self.valid {
            drop(self.used.decode(encoded, self.limit));
        }
    }
}
