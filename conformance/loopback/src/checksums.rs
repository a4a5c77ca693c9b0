//! Compares the checksums in the headers and trailers of an upload with its body.

use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha2::{Digest, Sha256};

use crate::http::{Answer, Request};
use crate::xml;

/// Returns an error if the body of a request differs from one of its checksums.
pub(crate) fn check(request: &Request) -> Result<(), Answer> {
    let body = &request.body;
    if let Some(hash) = request.header("x-amz-content-sha256").filter(|hash| hash.len() == 64)
        && hash != hexadecimal(&Sha256::digest(body))
    {
        let message = "the hash in x-amz-content-sha256 is not that of the body";
        return Err(xml::error(400, "XAmzContentSHA256Mismatch", message, &request.path));
    }
    let google = || format!("crc32c={}", STANDARD.encode(crc32c::crc32c(body).to_be_bytes()));
    if request.header("x-goog-hash").is_some_and(|declared| declared != google()) {
        let message = "the checksum in x-goog-hash is not that of the body";
        return Err(xml::error(400, "BadDigest", message, &request.path));
    }
    let sums: [(&str, &dyn Fn() -> Vec<u8>); 4] = [
        ("content-md5", &|| Md5::digest(body).to_vec()),
        ("x-amz-checksum-crc32", &|| crc32fast::hash(body).to_be_bytes().to_vec()),
        ("x-amz-checksum-crc32c", &|| crc32c::crc32c(body).to_be_bytes().to_vec()),
        ("x-amz-checksum-sha256", &|| Sha256::digest(body).to_vec()),
    ];
    for (name, sum) in sums {
        if request.header(name).is_some_and(|declared| declared != STANDARD.encode(sum())) {
            let message = format!("the checksum in {name} is not that of the body");
            return Err(xml::error(400, "BadDigest", &message, &request.path));
        }
    }
    Ok(())
}

/// Returns the ETag of a value that was written with one request.
pub(crate) fn tag(value: &[u8]) -> String {
    format!("\"{}\"", hexadecimal(&Md5::digest(value)))
}

/// Returns the ETag of a value that was uploaded in parts: the MD5 of the MD5s of its parts, and their number.
pub(crate) fn tag_of_parts<'p>(parts: impl Iterator<Item = &'p [u8]>) -> String {
    let mut all = Md5::new();
    let mut count = 0;
    for part in parts {
        all.update(Md5::digest(part));
        count += 1;
    }
    format!("\"{}-{count}\"", hexadecimal(&all.finalize()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _written = write!(text, "{byte:02x}");
        text
    })
}
