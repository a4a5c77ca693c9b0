//! Receiving the bytes of a response.

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use zarr_spec::BoxError;

/// Maximum memory to reserve before any byte arrives: the declared size is not trusted.
const MAX_INITIAL_SIZE: usize = 16 << 20;

/// Collects `size` bytes of `stream` after skipping `skip` bytes. Bytes that arrive in one piece are shared; several
/// pieces are copied once.
///
/// # Errors
///
/// If the stream fails or ends early, or if memory runs out.
pub(crate) async fn collected(
    mut stream: impl Stream<Item = Result<Bytes, object_store::Error>> + Unpin,
    mut skip: u64,
    size: usize,
) -> Result<Bytes, Failed> {
    let mut first = Bytes::new();
    let mut whole = Vec::new();
    let count = |first: &Bytes, whole: &Vec<u8>| first.len().max(whole.len());
    while count(&first, &whole) < size {
        let Some(mut piece) = stream.next().await.transpose().map_err(Failed::Request)? else {
            let received = count(&first, &whole);
            return Err(Failed::Local(format!("the response ended after {received} of {size} bytes").into()));
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
            reserve(&mut whole, size.min(MAX_INITIAL_SIZE))?;
            whole.extend_from_slice(&first);
        }
        reserve(&mut whole, piece.len())?;
        whole.extend_from_slice(&piece);
    }
    Ok(if whole.is_empty() { first } else { whole.into() })
}

/// Why a body could not be received.
pub(crate) enum Failed {
    /// An error of the server or the network.
    Request(object_store::Error),
    /// An error that was found in this process.
    Local(BoxError),
}

fn reserve(whole: &mut Vec<u8>, more: usize) -> Result<(), Failed> {
    whole.try_reserve(more).map_err(|error| Failed::Local(error.into()))
}
