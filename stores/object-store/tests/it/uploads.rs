//! Large values, and long listings.

use std::process::Command;
use std::sync::{Arc, Mutex};

use zarr_loopback::{Fault, Options, Request, Server as S3};
use zarr_spec::store::Condition;
use zarr_spec::{BoxError, Prefix, Value, json};
use zarr_store_object_store::{Credential, Credentials, open_with_credentials};

use super::server::{Reply, Server};
use super::{bucket, described, key, refused};

/// The minimum size of a value that is uploaded in parts.
const LARGE: usize = 64 << 20;

fn value(size: usize) -> Vec<u8> {
    (0..size).map(|number| (number >> 12).to_le_bytes()[0]).collect()
}

#[test]
fn a_large_value_is_uploaded_in_parts() {
    let server = S3::start(Options::in_memory().logged()).unwrap();
    let store = bucket(&server, "");
    let large = value(LARGE + 5);
    store.set(&key("large"), (&large).into()).unwrap();
    store.set(&key("small"), (&large[..100]).into()).unwrap();
    let log = server.take_log();
    let parts = log.iter().filter(|one| one.asked("partNumber").is_some()).count();
    // The requests of the large value begin the upload, send five parts, and end it. The small value takes one request.
    assert_eq!((log.len(), parts), (8, 5));
    assert!(server.values().unwrap()["large"] == large);
}

#[test]
fn a_failed_upload_changes_nothing_and_is_aborted() {
    let faults = |asked: &Request| (asked.asked("partNumber") == Some("3")).then_some(Fault::Refuse(403));
    let server = S3::start(Options::in_memory().with_faults(faults).logged()).unwrap();
    server.put("large", "old").unwrap();
    let store = bucket(&server, "");
    let error = refused(store.set(&key("large"), (&value(LARGE)).into()));
    let host = server.endpoint().strip_prefix("http://").unwrap().to_owned();
    for part in ["writing `s3://bench/large`", "403", &host, "attempt 1)"] {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
    assert_eq!(server.values().unwrap()["large"], b"old");
    assert!(server.take_log().iter().any(|one| one.method == "DELETE" && one.asked("uploadId").is_some()));
}

/// Each signed request that stores bytes has a checksum, which the service compares. The variable is that of the tools of
/// the service.
#[test]
fn signed_uploads_have_checksums_unless_the_environment_turns_them_off() {
    const SETTING: &str = "AWS_REQUEST_CHECKSUM_CALCULATION";
    const NAME: &str = "uploads::signed_uploads_have_checksums_unless_the_environment_turns_them_off";
    let Ok(setting) = std::env::var(SETTING) else {
        for setting in ["when_supported", "when_required"] {
            let mut again = Command::new(std::env::current_exe().unwrap());
            again.args([NAME, "--exact", "--nocapture"]).env(SETTING, setting);
            let ended = again.env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "secret").output();
            let text = String::from_utf8_lossy(&ended.unwrap().stdout).into_owned();
            assert!(text.contains("1 passed"), "{setting}: {text}");
        }
        return;
    };
    let server = S3::start(Options::in_memory().logged()).unwrap();
    let endpoint = server.endpoint();
    let description = zarr_spec::json!({"type": "s3", "url": "s3://bench/", "endpoint": endpoint});
    let store = described(&description).unwrap();
    let large = value(LARGE);
    store.set(&key("large"), (&large).into()).unwrap();
    store.set(&key("small"), b"v".into()).unwrap();
    assert!(!store.set_if(&key("new"), b"v".into(), &Condition::Missing).unwrap().is_conflict());
    let log = server.take_log();
    let puts: Vec<_> = log.iter().filter(|one| one.method == "PUT").collect();
    assert_eq!(puts.iter().filter(|one| one.asked("partNumber").is_some()).count(), 4);
    for one in puts {
        let has_checksum = one.header("x-amz-checksum-sha256").is_some();
        assert_eq!(has_checksum, setting == "when_supported", "{one:?}");
    }
    assert!(server.values().unwrap()["large"] == large);
}

#[test]
fn a_long_listing_is_streamed() {
    const KEYS: usize = 20_000;
    let server = S3::start(Options::in_memory().logged()).unwrap();
    for number in 0..KEYS {
        server.put(&format!("a/c/{number:06}"), "v").unwrap();
    }
    let store = bucket(&server, "a");
    let mut listed = store.list_prefix(&Prefix::root()).unwrap();
    assert!(listed.by_ref().take(500).all(|key| key.is_ok()));
    // Pages are requested when the keys of preceding pages are taken.
    assert!(server.take_log().len() <= 3);
    assert_eq!(listed.filter(|key| key.is_ok()).count(), KEYS - 500);
}

/// Returns the value of a header in the upload of `123456789` with these credentials.
fn checksum(description: impl Fn(String) -> Value, credential: Credential, header: &str) -> Option<String> {
    let received = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&received);
    let name = header.to_owned();
    let server = Server::start(move |asked| {
        if asked.method == "PUT" {
            *seen.lock().unwrap() = Some(asked.headers.get(&name).cloned());
        }
        Reply::new(201, "").with("etag", "\"e\"").with("x-goog-generation", "1")
    });
    let source = Arc::new(Fixed(credential));
    let store = open_with_credentials(&description(server.url()), source).unwrap();
    store.set(&key("v"), (&b"123456789"[..]).into()).unwrap();
    received.lock().unwrap().take().unwrap()
}

#[derive(Debug)]
struct Fixed(Credential);

impl Credentials for Fixed {
    fn get(&self) -> Result<Credential, BoxError> {
        Ok(self.0.clone())
    }
}

/// The check value of CRC-32C is e3069283, and `printf 123456789 | md5sum` prints 25f9e794323b453885f5181f1b624d0b. The
/// key of an account of Azure signs the headers, so that none can be added.
#[test]
fn uploads_to_google_and_azure_have_checksums() {
    let gs = |endpoint| json!({"type": "gs", "url": "gs://b/p", "endpoint": endpoint});
    let az = |endpoint| json!({"type": "az", "url": "az://b/p", "account": "me", "endpoint": endpoint});
    let token = || Credential::Token("token".to_owned());
    let signature = Credential::Signature(vec![("sig".to_owned(), "a".to_owned())]);
    assert_eq!(checksum(gs, token(), "x-goog-hash").as_deref(), Some("crc32c=4waSgw=="));
    assert_eq!(checksum(az, token(), "content-md5").as_deref(), Some("JfnnlDI7RTiF9RgfG2JNCw=="));
    assert_eq!(checksum(az, signature, "content-md5").as_deref(), Some("JfnnlDI7RTiF9RgfG2JNCw=="));
    assert_eq!(checksum(az, Credential::AccountKey("QQ==".to_owned()), "content-md5"), None);
}
