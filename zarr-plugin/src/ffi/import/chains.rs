//! Chains of a codec of this library that its host runs.

use zarr_spec::codec::RunChain;
use zarr_spec::{ArrayRepresentation, CodecChain, CodecResult, Output};

use super::codec::run_error;
use crate::abi::Chains;
use crate::ffi::array::show_array;
use crate::ffi::output::lend_output;
use crate::ffi::{Direction, EMPTY, Failure, lend, outcome, read, required};

/// Runs the chains of a codec of this library in its host, during one call.
pub(crate) struct HostChains<'a> {
    shown: Chains,
    chains: Vec<&'a CodecChain>,
}

impl<'a> HostChains<'a> {
    /// Reads the functions that run `chains`.
    ///
    /// # Safety
    ///
    /// The host lends `shown` for this call.
    pub(crate) unsafe fn new(shown: *const Chains, chains: Vec<&'a CodecChain>) -> Result<Self, Failure> {
        // SAFETY: as this function requires.
        Ok(Self { shown: unsafe { read(shown) }?, chains })
    }

    fn run(
        &self,
        direction: Direction,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        from: &[u8],
        to: &mut Output<'_>,
    ) -> CodecResult {
        let limit = to.remaining();
        let mut run = || {
            let number = self.chains.iter().position(|known| std::ptr::eq(*known, chain));
            let number = number.ok_or_else(|| Failure::broken("the codec did not declare this chain"))?;
            let function = match direction {
                Direction::Encode => required(self.shown.encode, "encode")?,
                Direction::Decode => required(self.shown.decode, "decode")?,
            };
            show_array(array, |array| {
                lend_output(to, |to| {
                    let mut err = EMPTY;
                    // SAFETY: a function of the host, called during the call that lends it.
                    unsafe {
                        let status = function(self.shown.context, number, array, lend(from), to, &mut err);
                        outcome(status, &mut err)
                    }
                })
            })
        };
        run().map_err(|failure| run_error("", failure, limit, direction))
    }
}

impl RunChain for HostChains<'_> {
    fn encode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> CodecResult {
        self.run(Direction::Encode, chain, array, decoded, encoded)
    }

    fn decode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> CodecResult {
        self.run(Direction::Decode, chain, array, encoded, decoded)
    }
}
