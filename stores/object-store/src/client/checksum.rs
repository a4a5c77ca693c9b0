//! Checksums of uploads, which services compare with the bytes that arrive.
//!
//! `object_store` computes those of S3 together with the signature. For Google Cloud Storage and Azure, the client adds
//! them to the requests. A signature with the key of an Azure account covers the headers, so that such requests cannot
//! have another one.
//!
//! Source: `x-goog-hash` in the reference of the XML API of Google Cloud Storage; "Put Blob", "Put Block" and "Put Block
//! List" in the reference of Azure Blob Storage.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body::Body;
use md5::{Digest, Md5};
use object_store::client::{HttpRequest, HttpRequestBody};
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

/// The header with checksums of Google Cloud Storage.
const GOOGLE: HeaderName = HeaderName::from_static("x-goog-hash");

/// The header with the checksum that Azure compares.
const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");

/// Headers of requests that copy an object. They have an empty body.
const COPIES: [&str; 2] = ["x-goog-copy-source", "x-ms-copy-source"];

/// The checksums that the client adds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Checksums {
    #[default]
    None,
    /// CRC32C, as Google recommends.
    Google,
    /// MD5, the only checksum that all versions of the service compare.
    Azure,
}

impl Checksums {
    /// Adds the checksum to a request that uploads bytes.
    pub(super) async fn add(self, request: &mut HttpRequest) {
        let is_copy = COPIES.iter().any(|name| request.headers().contains_key(*name));
        if request.method() != Method::PUT || is_copy {
            return;
        }
        let (name, value) = match self {
            Self::None => return,
            Self::Google => (GOOGLE, format!("crc32c={}", BASE64_STANDARD.encode(crc32c_of(request.body())))),
            Self::Azure if has_account_signature(request) => return,
            Self::Azure => {
                let body = request.body().clone();
                // MD5 is slow, and other requests would wait.
                let Ok(hash) = tokio::task::spawn_blocking(move || md5_of(&body)).await else { return };
                (CONTENT_MD5, BASE64_STANDARD.encode(hash))
            }
        };
        if let Ok(value) = HeaderValue::from_str(&value) {
            request.headers_mut().entry(name).or_insert(value);
        }
    }
}

fn has_account_signature(request: &HttpRequest) -> bool {
    let authorization = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    authorization.is_some_and(|value| value.starts_with(b"SharedKey"))
}

fn crc32c_of(body: &HttpRequestBody) -> [u8; 4] {
    pieces(body).fold(0, |sum, piece| crc32c::crc32c_append(sum, &piece)).to_be_bytes()
}

fn md5_of(body: &HttpRequestBody) -> [u8; 16] {
    pieces(body).fold(Md5::new(), |hash, piece| hash.chain_update(&piece)).finalize().into()
}

/// Returns the bytes of a body, which are in memory, so that it never waits.
fn pieces(body: &HttpRequestBody) -> impl Iterator<Item = Bytes> {
    let mut body = body.clone();
    std::iter::from_fn(move || {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut body).poll_frame(&mut context) {
            Poll::Ready(Some(Ok(frame))) => frame.into_data().ok(),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use object_store::PutPayload;

    use super::*;

    fn header(
        checksums: Checksums,
        authorization: &'static str,
        change: fn(&mut HttpRequest),
    ) -> Option<String> {
        let pieces: PutPayload = [&b"1234"[..], b"56789"].into_iter().map(Bytes::from_static).collect();
        let mut request = HttpRequest::new(pieces.into());
        *request.method_mut() = Method::PUT;
        request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static(authorization));
        change(&mut request);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(checksums.add(&mut request));
        let found = request.headers().get(GOOGLE).or_else(|| request.headers().get(CONTENT_MD5));
        found.map(|value| value.to_str().unwrap().to_owned())
    }

    /// The check value of CRC-32C is e3069283, and `printf 123456789 | md5sum` prints
    /// 25f9e794323b453885f5181f1b624d0b.
    #[test]
    fn an_upload_has_the_checksum_of_its_pieces() {
        let google = header(Checksums::Google, "Bearer t", |_| ());
        assert_eq!(google.as_deref(), Some("crc32c=4waSgw=="));
        let azure = header(Checksums::Azure, "Bearer t", |_| ());
        assert_eq!(azure.as_deref(), Some("JfnnlDI7RTiF9RgfG2JNCw=="));
        assert_eq!(header(Checksums::None, "Bearer t", |_| ()), None);
    }

    #[test]
    fn signed_requests_copies_and_other_methods_have_none() {
        assert_eq!(header(Checksums::Azure, "SharedKey me:c2ln", |_| ()), None);
        let copy = |request: &mut HttpRequest| {
            request.headers_mut().insert("x-goog-copy-source", HeaderValue::from_static("b/o"));
        };
        assert_eq!(header(Checksums::Google, "Bearer t", copy), None);
        assert_eq!(
            header(Checksums::Google, "Bearer t", |request| *request.method_mut() = Method::POST),
            None
        );
    }
}
