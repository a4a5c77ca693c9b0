//! Bytes that make a codec which believes them ask for too much memory.

use std::fmt;

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
            for place in (0..encoded.len().min(32)).chain(encoded.len().saturating_sub(16)..encoded.len()) {
                let mut bytes = encoded.clone();
                let end = bytes.len().min(place + 4);
                bytes[place..end].fill(0xff);
                inputs.push(bytes);
            }
        }
        Self { used, limit, valid, inputs: inputs.into_iter().map(Input).collect() }
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
