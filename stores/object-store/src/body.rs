//! The bytes of an answer, as they come in.

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use zarr_spec::BoxError;

/// Memory that is asked for before anything has come, at most: what a server promises is not believed.
const BEFORE: usize = 16 << 20;

/// `size` bytes of `stream`, after `skip` others. What comes in one piece is shared, and what comes in several is put
/// together once.
///
/// # Errors
///
/// Those of the stream; when it ends before that, and when the machine has no memory for it.
pub(crate) async fn collected(
    mut stream: impl Stream<Item = Result<Bytes, object_store::Error>> + Unpin,
    mut skip: u64,
    size: usize,
) -> Result<Bytes, Failed> {
    let mut first = Bytes::new();
    let mut whole = Vec::new();
    let count = |first: &Bytes, whole: &Vec<u8>| first.len().max(whole.len());
    while count(&first, &whole) < size {
        let Some(mut piece) = stream.next().await.transpose().map_err(Failed::Asking)? else {
            let came = count(&first, &whole);
            return Err(Failed::Here(format!("the answer ends after {came} of {size} bytes").into()));
        };
        let skipped = usize::try_from(skip).unwrap_or(usize::MAX).min(piece.len());
        skip -= skipped as u64;
        let piece = piece.split_off(skipped);
        let piece = piece.slice(..piece.len().min(size - count(&first, &whole)));
        if first.is_empty() && whole.is_empty() {
            first = piece;
            continue;
        }
        if whole.is_empty() {
            reserve(&mut whole, size.min(BEFORE))?;
            whole.extend_from_slice(&first);
        }
        reserve(&mut whole, piece.len())?;
        whole.extend_from_slice(&piece);
    }
    Ok(if whole.is_empty() { first } else { whole.into() })
}

/// Where a body went wrong.
pub(crate) enum Failed {
    /// What the server or the network did.
    Asking(object_store::Error),
    /// What was found here.
    Here(BoxError),
}

fn reserve(whole: &mut Vec<u8>, more: usize) -> Result<(), Failed> {
    whole.try_reserve(more).map_err(|error| Failed::Here(error.into()))
}
