//! Chains of a codec of the other side of the ABI, which this side runs.

use std::ffi::c_void;

use zarr_spec::CodecChain;
use zarr_spec::codec::RunChain;

use crate::abi::{self, Array, Chains, Str};
use crate::ffi::array::array_of;
use crate::ffi::output::write_output;
use crate::ffi::{Direction, Failure, borrowed};

/// The context of the functions of [`show_chains`].
struct Shown<'a> {
    chains: &'a [CodecChain],
    run: &'a mut dyn RunChain,
}

/// Lends chains to the other side during `call`. `run` encodes and decodes when the other side calls a function of a
/// chain.
pub(crate) fn show_chains<R>(
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

callbacks! {
    fn encode(
        context: *mut c_void,
        chain: usize,
        array: *const Array,
        decoded: Str,
        encoded: *mut abi::Output,
    ) {
        run_shown(Direction::Encode, context, chain, array, decoded, encoded)
    }

    fn decode(
        context: *mut c_void,
        chain: usize,
        array: *const Array,
        encoded: Str,
        decoded: *mut abi::Output,
    ) {
        run_shown(Direction::Decode, context, chain, array, encoded, decoded)
    }
}

/// Runs the codec chain with number `chain` of the chains in `context`.
///
/// # Safety
///
/// All pointers come from one call. `context` is the [`Shown`] of a call that has not ended, and no other code uses it.
unsafe fn run_shown(
    direction: Direction,
    context: *mut c_void,
    chain: usize,
    array: *const Array,
    from: Str,
    to: *mut abi::Output,
) -> Result<(), Failure> {
    // SAFETY: as this function requires.
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
