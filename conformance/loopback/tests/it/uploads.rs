//! Uploads in parts, and checksums: "Uploading and copying objects using multipart upload" and "Checking object
//! integrity" in the user guide of S3.

use zarr_loopback::{Options, Server};

use crate::client::Client;

/// The minimum size in bytes of every part but the last one.
const PART: usize = 5 << 20;

fn started() -> Server {
    Server::start(Options::in_memory()).unwrap()
}

fn code(text: &str) -> &str {
    text.split("<Code>").nth(1).unwrap().split('<').next().unwrap()
}

/// Begins an upload, sends parts and returns the query of the upload and the document that names all parts.
fn upload(client: &mut Client, parts: &[Vec<u8>]) -> (String, String) {
    let begun = client.ask("POST", "/bench/k?uploads", &[], b"");
    let id = begun.text().split("<UploadId>").nth(1).unwrap().split('<').next().unwrap().to_owned();
    let mut document = "<CompleteMultipartUpload>".to_owned();
    for (number, part) in (1..).zip(parts) {
        let put = client.ask("PUT", &format!("/bench/k?partNumber={number}&uploadId={id}"), &[], part);
        assert_eq!(put.status, 200);
        let tag = put.header("ETag").replace('"', "&quot;");
        document.push_str(&format!("<Part><ETag>{tag}</ETag><PartNumber>{number}</PartNumber></Part>"));
    }
    (id, document + "</CompleteMultipartUpload>")
}

#[test]
fn parts_become_visible_together() {
    let server = started();
    let mut client = Client::new(&server);
    let parts = [vec![1; PART], vec![2; PART + 1], vec![3; 7]];
    let (id, document) = upload(&mut client, &parts);
    assert_eq!(client.get("/bench/k").status, 404);
    let target = format!("/bench/k?uploadId={id}");
    let complete = client.ask("POST", &target, &[], document.as_bytes());
    assert_eq!(complete.status, 200, "{}", complete.text());
    let got = client.get("/bench/k");
    assert!(got.body == parts.concat());
    // The ETag of an upload ends with the number of its parts.
    assert!(got.header("ETag").ends_with("-3\""), "{}", got.header("ETag"));
    assert_eq!(code(client.ask("POST", &target, &[], document.as_bytes()).text()), "NoSuchUpload");
}

#[test]
fn an_aborted_upload_leaves_nothing() {
    let server = started();
    let mut client = Client::new(&server);
    let (id, document) = upload(&mut client, &[vec![1; 7]]);
    let target = format!("/bench/k?uploadId={id}");
    assert_eq!(client.ask("DELETE", &target, &[], b"").status, 204);
    assert_eq!(client.ask("POST", &target, &[], document.as_bytes()).status, 404);
    assert!(server.values().unwrap().is_empty());
}

#[test]
fn the_condition_of_an_upload_is_checked_when_it_is_completed() {
    let server = started();
    let mut client = Client::new(&server);
    let (id, document) = upload(&mut client, &[vec![1; 7]]);
    client.ask("PUT", "/bench/k", &[], b"other");
    let target = format!("/bench/k?uploadId={id}");
    assert_eq!(client.ask("POST", &target, &["If-None-Match: *"], document.as_bytes()).status, 412);
    assert_eq!(client.get("/bench/k").body, b"other");
}

#[test]
fn wrong_parts_are_refused() {
    let server = started();
    let mut client = Client::new(&server);
    let (id, document) = upload(&mut client, &[vec![1; PART - 1], vec![2; 7]]);
    let mut complete = |document: &str| {
        let answer = client.ask("POST", &format!("/bench/k?uploadId={id}"), &[], document.as_bytes());
        assert_eq!(answer.status, 400);
        code(answer.text()).to_owned()
    };
    assert_eq!(complete(&document), "EntityTooSmall");
    assert_eq!(complete(&document.replace("<PartNumber>2", "<PartNumber>1")), "InvalidPartOrder");
    assert_eq!(complete(&document.replace("<PartNumber>1", "<PartNumber>3")), "InvalidPart");
    assert_eq!(complete("<CompleteMultipartUpload/>"), "MalformedXML");
}

/// The checksums of `abc` are from `printf abc | sha256sum`, `crc32` and RFC 1321; CRC32C is computed with Python's
/// `google-crc32c`.
#[test]
fn a_body_that_differs_from_its_checksum_is_refused() {
    let server = started();
    let mut client = Client::new(&server);
    for (header, wanted) in [
        ("Content-MD5: kAFQmDzST7DWlj99KOF/cg==", "BadDigest"),
        ("x-amz-checksum-crc32: NSRBwg==", "BadDigest"),
        ("x-amz-checksum-crc32c: Nks/tw==", "BadDigest"),
        ("x-amz-checksum-sha256: ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", "BadDigest"),
        (
            "x-amz-content-sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "XAmzContentSHA256Mismatch",
        ),
    ] {
        let right = client.ask("PUT", "/bench/right", &[header], b"abc");
        assert_eq!(right.status, 200, "{header}");
        // The ETag of a value that was written with one request is its MD5, from RFC 1321.
        assert_eq!(right.header("ETag"), "\"900150983cd24fb0d6963f7d28e17f72\"");
        let wrong = client.ask("PUT", "/bench/wrong", &[header], b"abd");
        assert_eq!((wrong.status, code(wrong.text())), (400, wanted), "{header}");
    }
    let trailer = b"3\r\nabd\r\n0\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n";
    let streaming = ["x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER"];
    assert_eq!(code(client.ask("PUT", "/bench/wrong", &streaming, trailer).text()), "BadDigest");
    assert_eq!(client.get("/bench/wrong").status, 404);
}

#[test]
fn pages_have_at_most_a_thousand_keys() {
    let server = started();
    for number in 0..2500 {
        server.put(&format!("a/{number:04}/x y"), "").unwrap();
    }
    server.put("b", "").unwrap();
    let mut client = Client::new(&server);
    let mut keys = Vec::new();
    let mut pages = 0;
    let mut next = String::new();
    loop {
        let page = client.get(&format!("/bench?list-type=2&prefix=a/&encoding-type=url{next}"));
        let text = page.text();
        let of = |name: &str| -> Vec<String> {
            let begin = format!("<{name}>");
            let contents = text.split(&*begin).skip(1).map(|rest| rest.split('<').next().unwrap());
            contents.map(str::to_owned).collect()
        };
        keys.extend(of("Key"));
        pages += 1;
        match of("NextContinuationToken").first() {
            Some(token) => next = format!("&continuation-token={}", token.replace(' ', "%20")),
            None => break,
        }
    }
    let wanted: Vec<_> = (0..2500).map(|number| format!("a/{number:04}/x%20y")).collect();
    assert_eq!((keys, pages), (wanted, 3));
    let folders = client.get("/bench?list-type=2&prefix=a/&delimiter=/&max-keys=2");
    assert_eq!(folders.text().matches("<CommonPrefixes>").count(), 2);
}
