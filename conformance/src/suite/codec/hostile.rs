//! Bytes that make a codec which believes them ask for too much memory.

use std::fmt;

use super::claims::{UNDECLARED, by_hand, claiming, places};
use super::robustness::{PLACES, encoded_samples, largest};
use super::{CodecOnTrial, Use};
use crate::codecs::Random;
use crate::suite::Cases;
use crate::suite::elements::noise;

/// Bytes that decoding may take beside what it decodes to: windows and tables of all that there is.
const WORKING_MEMORY: usize = 64 << 20;

/// One use of a codec, and hostile input for it.
pub(in crate::suite) struct Hostile<'a> {
    used: Use<'a>,
    /// Bytes of the chunk.
    limit: usize,
    valid: Vec<Vec<u8>>,
    inputs: Vec<Input>,
    /// Inputs that claim sizes which only a limit that nothing declares lets through.
    claims: Vec<Input>,
}

/// Encoded bytes that nobody wrote.
pub(in crate::suite) struct Input(Vec<u8>);

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = &self.0[..self.0.len().min(16)];
        write!(f, "{} bytes that begin with {start:02x?}", self.0.len())
    }
}

impl fmt::Display for Hostile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.used.fmt(f)
    }
}

impl Hostile<'static> {
    /// One for each example of a codec.
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
            // Sizes stand at the beginning or the end, and there in whole words.
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
    /// Bytes that decoding may take.
    pub(in crate::suite) fn allowed(&self) -> usize {
        self.limit.saturating_add(WORKING_MEMORY)
    }

    pub(in crate::suite) fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Inputs for [`Hostile::decode_undeclared`].
    pub(in crate::suite) fn undeclared_inputs(&self) -> impl Iterator<Item = &Input> {
        self.inputs.iter().chain(&self.claims)
    }

    /// Decodes behind a limit that nothing declares, as of elements of variable size; the bytes that came out.
    pub(in crate::suite) fn decode_undeclared(&self, input: &Input) -> usize {
        match self.used.decode(&input.0, UNDECLARED) {
            Ok(Ok(decoded)) => decoded.len(),
            _ => 0,
        }
    }

    /// Bytes that [`Hostile::decode_undeclared`] may take, `written` bytes having come out.
    pub(in crate::suite) fn allowed_undeclared(&self, input: &Input, written: usize) -> usize {
        let largest = self.limit.max(written);
        largest.saturating_mul(3).saturating_add(input.0.len()).saturating_add(WORKING_MEMORY)
    }

    /// Decodes; what comes of it is for other rules.
    pub(in crate::suite) fn decode(&self, input: &Input) {
        drop(self.used.decode(&input.0, self.limit));
    }

    /// Decodes what is valid, so that whatever a codec sets up once is there.
    pub(in crate::suite) fn set_up(&self) {
        for encoded in &self.valid {
            drop(self.used.decode(encoded, self.limit));
        }
    }
}
