//! Receiving the bytes of a response.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http_body::Body;
use object_store::client::HttpResponseBody;
use zarr_spec::BoxError;

/// Maximum memory to reserve before any byte arrives: the declared size is not trusted.
const MAX_INITIAL_SIZE: usize = 16 << 20;

/// Maximum size of a body that is a document of a service, such as credentials or the reason of a refusal.
const MAX_DOCUMENT: usize = 1 << 20;

/// Returns a body that is a document of a service.
///
/// # Errors
///
/// If the body ends early, or exceeds 1 MiB.
pub(crate) async fn document(mut body: HttpResponseBody) -> Result<Bytes, BoxError> {
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.transpose()? {
        // Other frames have headers that follow the body.
        let Ok(piece) = frame.into_data() else { continue };
        if piece.len() > MAX_DOCUMENT - whole.len() {
            return Err(format!("the response has more than {MAX_DOCUMENT} bytes").into());
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_a_maximum_size() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let received = |size| runtime.block_on(document(vec![7; size].into()));
        assert_eq!(received(0).unwrap(), Bytes::new());
        assert_eq!(received(MAX_DOCUMENT).unwrap().len(), MAX_DOCUMENT);
        let error = received(MAX_DOCUMENT + 1).unwrap_err().to_string();
        assert_eq!(error, "the response has more than 1048576 bytes");
    }
}
