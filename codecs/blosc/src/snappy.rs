//! Snappy as an inner format, from the `snap` crate: a build needs no C++ compiler.

use snap::raw::{Decoder, Encoder, max_compress_len};

use crate::frame::InnerFormat;

/// Contexts that are used for one stream after another.
#[derive(Debug)]
pub(crate) struct Snappy {
    encoder: Encoder,
    decoder: Decoder,
    compressed: Vec<u8>,
}

impl Snappy {
    pub(crate) fn new() -> Self {
        Self { encoder: Encoder::new(), decoder: Decoder::new(), compressed: Vec::new() }
    }
}

impl InnerFormat for Snappy {
    const NUMBER: u8 = 2;
    const VERSION: u8 = 1;

    fn compress(&mut self, decoded: &[u8]) -> Option<&[u8]> {
        self.compressed.resize(max_compress_len(decoded.len()), 0);
        let size = self.encoder.compress(decoded, &mut self.compressed).ok()?;
        self.compressed.get(..size)
    }

    fn decompress(&mut self, encoded: &[u8], decoded: &mut [u8]) -> bool {
        self.decoder.decompress(encoded, decoded).is_ok_and(|size| size == decoded.len())
    }
}
