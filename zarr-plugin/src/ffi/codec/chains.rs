//! Chains inside of a codec, which the host runs: shown by the host, and as a codec of a library calls them.

use std::ffi::c_void;

use zarr_spec::codec::RunChain;
use zarr_spec::{ArrayRepresentation, CodecChain, CodecError, Output};

use super::Direction;
use super::foreign::run_error;
use crate::abi::{self, Array, Buf, Chains, Str};
use crate::ffi::array::{array_of, show_array};
use crate::ffi::output::{lend_output, write_output};
use crate::ffi::{EMPTY, Failure, borrowed, guarded, lend, outcome, read, required};

/// What the functions of [`show_chains`] are called with.
struct Shown<'a> {
    chains: &'a [CodecChain],
    run: &'a mut dyn RunChain,
}

/// Shows chains to the other side during `call`, and what runs them.
pub(super) fn show_chains<R>(
    chains: &[CodecChain],
    run: &mut dyn RunChain,
    call: impl FnOnce(*const Chains) -> R,
) -> R {
    let mut shown = Shown { chains, run };
    call(&Chains {
        struct_size: size_of::<Chains>(),
        context: (&raw mut shown).cast(),
        encode: Some(encode),
        decode: Some(decode),
    })
}

unsafe extern "C" fn encode(
    context: *mut c_void,
    chain: usize,
    array: *const Array,
    decoded: Str,
    encoded: *mut abi::Output,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe { guarded(err, || run_shown(Direction::Encode, context, chain, array, decoded, encoded)) }
}

unsafe extern "C" fn decode(
    context: *mut c_void,
    chain: usize,
    array: *const Array,
    encoded: Str,
    decoded: *mut abi::Output,
    err: *mut Buf,
) -> i32 {
    // SAFETY: the ABI has the pointers right for this call.
    unsafe { guarded(err, || run_shown(Direction::Decode, context, chain, array, encoded, decoded)) }
}

/// # Safety
///
/// The pointers are those of one call; `context` is the [`Shown`] of a call that still runs, in which nobody else is.
unsafe fn run_shown(
    direction: Direction,
    context: *mut c_void,
    chain: usize,
    array: *const Array,
    from: Str,
    to: *mut abi::Output,
) -> Result<(), Failure> {
    // SAFETY: as this function asks.
    unsafe {
        let shown = &mut *context.cast::<Shown<'_>>();
        let chain =
            shown.chains.get(chain).ok_or_else(|| Failure::broken(format!("there is no chain {chain}")))?;
        let array = array_of(array)?;
        write_output(to, |to| {
            match direction {
                Direction::Encode => shown.run.encode(chain, &array, borrowed(from), to)?,
                Direction::Decode => shown.run.decode(chain, &array, borrowed(from), to)?,
            }
            Ok(())
        })
    }
}

/// Runs the chains of a codec of this library by its host, during one call.
pub(super) struct HostChains<'a> {
    shown: Chains,
    chains: Vec<&'a CodecChain>,
}

impl<'a> HostChains<'a> {
    /// # Safety
    ///
    /// `shown` is what the host shows for this call.
    pub(super) unsafe fn new(shown: *const Chains, chains: Vec<&'a CodecChain>) -> Result<Self, Failure> {
        // SAFETY: as this function asks.
        Ok(Self { shown: unsafe { read(shown) }?, chains })
    }

    fn run(
        &self,
        direction: Direction,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        from: &[u8],
        to: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let limit = to.remaining();
        let mut run = || {
            let number = self.chains.iter().position(|known| std::ptr::eq(*known, chain));
            let number = number.ok_or_else(|| Failure::broken("a chain that the codec has not named"))?;
            let function = match direction {
                Direction::Encode => required(self.shown.encode, "encode")?,
                Direction::Decode => required(self.shown.decode, "decode")?,
            };
            show_array(array, |array| {
                lend_output(to, |to| {
                    let mut err = EMPTY;
                    // SAFETY: a function of the host, called during the call that shows it.
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
    ) -> Result<(), CodecError> {
        self.run(Direction::Encode, chain, array, decoded, encoded)
    }

    fn decode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        self.run(Direction::Decode, chain, array, encoded, decoded)
    }
}
