//! Credentials that a program provides.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use zarr_spec::store::{Version, get_value};
use zarr_spec::{BoxError, Value, json};
use zarr_store_object_store::{Credential, Credentials, open_with_credentials};

use super::server::{Asked, Reply, Server, value};
use super::{Arc, Store, key};

/// Returns credentials whose texts contain the number of the call.
#[derive(Debug)]
struct Counting {
    calls: AtomicUsize,
    make: fn(usize) -> Result<Credential, BoxError>,
}

impl Credentials for Counting {
    fn get(&self) -> Result<Credential, BoxError> {
        (self.make)(self.calls.fetch_add(1, Ordering::Relaxed))
    }
}

/// Returns a server that has one value, and the requests that it receives.
fn server() -> (Server, Arc<Mutex<Vec<Asked>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&asked);
    let server = Server::start(move |asked| {
        received.lock().unwrap().push(asked.clone());
        match asked.path().ends_with("/v") {
            true => value(asked, b"one").with("last-modified", "Tue, 01 Oct 2024 12:00:00 GMT"),
            false => Reply::new(404, ""),
        }
    });
    (server, asked)
}

fn opened(description: &Value, make: fn(usize) -> Result<Credential, BoxError>) -> Arc<dyn Store> {
    open_with_credentials(description, Arc::new(Counting { calls: AtomicUsize::new(0), make })).unwrap()
}

fn keys(number: usize) -> Result<Credential, BoxError> {
    let token = Some(format!("token{number}"));
    Ok(Credential::Keys { id: format!("id{number}"), secret: "secret".to_owned(), token })
}

fn token(number: usize) -> Result<Credential, BoxError> {
    Ok(Credential::Token(format!("token{number}")))
}

fn s3(server: &Server) -> Value {
    json!({"type": "s3", "url": "s3://b/p", "endpoint": server.url(), "region": "eu-west-1"})
}

/// Returns a server that applies the conditions of deletions, and the deletions under a condition that it receives.
fn deleting() -> (Server, impl Fn() -> Vec<Asked>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&asked);
    let server = Server::start(move |asked| {
        received.lock().unwrap().push(asked.clone());
        match (&*asked.method, asked.path().contains("check")) {
            ("DELETE", true) => Reply::new(412, ""),
            ("PUT", _) => Reply::new(200, "").with("etag", "\"e\""),
            _ => Reply::new(204, ""),
        }
    });
    let is_conditional = |one: &Asked| {
        let names = ["if-match", "x-goog-if-generation-match"];
        one.method == "DELETE" && names.iter().any(|name| one.headers.contains_key(*name))
    };
    let take = move || {
        let all = std::mem::take(&mut *asked.lock().unwrap());
        all.into_iter().filter(is_conditional).collect()
    };
    (server, take)
}

/// The condition is part of the signature of a deletion, and the check of the server is signed, too.
#[test]
fn a_conditional_deletion_is_signed_with_the_current_keys() {
    let (server, deletions) = deleting();
    let description =
        json!({"type": "s3", "url": "s3://c/p", "endpoint": server.url(), "region": "eu-west-1"});
    let store = opened(&description, keys);
    assert!(!store.erase_if(&key("v"), &Version::new("\"e\"")).unwrap().is_conflict());
    let deletions = deletions();
    assert_eq!(deletions.len(), 2);
    for one in &deletions {
        let authorization = &one.headers["authorization"];
        assert!(authorization.contains("SignedHeaders=host;if-match;"), "{one:?}");
        assert!(authorization.contains("/eu-west-1/s3/aws4_request"), "{one:?}");
        assert!(one.headers["x-amz-security-token"].starts_with("token"), "{one:?}");
        assert!(!one.target.contains('?'), "{one:?}");
    }
    assert_eq!(deletions[1].headers["if-match"], "\"e\"");
}

/// Returns whether a request has the credential.
type IsAuthorized = fn(&Asked) -> bool;

/// Makes the credential with a number.
type MakeCredential = fn(usize) -> Result<Credential, BoxError>;

#[test]
fn conditional_deletions_in_google_and_azure_are_authorized() {
    let signature = |_| Ok(Credential::Signature(vec![("sig".to_owned(), "a/b".to_owned())]));
    let account_key = |_| Ok(Credential::AccountKey("QQ==".to_owned()));
    let has_token = |one: &Asked| one.headers["authorization"].starts_with("Bearer token");
    let cases: [(&str, MakeCredential, IsAuthorized); 4] = [
        ("gs", token, has_token),
        ("az", token, has_token),
        ("az", signature, |one| one.target.ends_with("?sig=a%2Fb")),
        ("az", account_key, |one| one.headers["authorization"].starts_with("SharedKey me:")),
    ];
    for (service, make, is_authorized) in cases {
        let (server, deletions) = deleting();
        let mut description =
            json!({"type": service, "url": format!("{service}://b/p"), "endpoint": server.url()});
        if service == "az" {
            description.as_object_mut().unwrap().insert("account", "me");
        }
        let store = opened(&description, make);
        assert!(!store.erase_if(&key("v"), &Version::new("17")).unwrap().is_conflict());
        let deletions = deletions();
        assert_eq!(deletions.len(), 2, "{service}");
        assert!(deletions.iter().all(is_authorized), "{deletions:?}");
        assert!(deletions.iter().all(|one| one.headers.contains_key("x-ms-version") == (service == "az")));
    }
}

#[test]
fn each_request_is_signed_with_the_current_keys() {
    let (server, asked) = server();
    let store = opened(&s3(&server), keys);
    for number in 0..3 {
        assert_eq!(get_value(&*store, &key("v"), 3).unwrap().unwrap(), b"one"[..]);
        let one = asked.lock().unwrap().pop().unwrap();
        assert!(one.headers["authorization"].contains(&format!("Credential=id{number}/")), "{one:?}");
        assert_eq!(one.headers["x-amz-security-token"], format!("token{number}"));
    }
}

#[test]
fn google_and_azure_receive_tokens() {
    let (server, asked) = server();
    let gs = json!({"type": "gs", "url": "gs://b/p", "endpoint": server.url()});
    let az = json!({"type": "az", "url": "az://b/p", "account": "me", "endpoint": server.url()});
    for description in [gs, az] {
        let store = opened(&description, token);
        for number in 0..2 {
            assert_eq!(get_value(&*store, &key("v"), 3).unwrap().unwrap(), b"one"[..]);
            let one = asked.lock().unwrap().pop().unwrap();
            assert_eq!(one.headers["authorization"], format!("Bearer token{number}"), "{description}");
        }
    }
}

#[test]
fn azure_also_receives_signatures_and_keys_of_accounts() {
    let (server, asked) = server();
    let az = json!({"type": "az", "url": "az://b/p", "account": "me", "endpoint": server.url()});
    let signature = |_| Ok(Credential::Signature(vec![("sig".to_owned(), "a/b".to_owned())]));
    let store = opened(&az, signature);
    assert_eq!(get_value(&*store, &key("v"), 3).unwrap().unwrap(), b"one"[..]);
    assert!(asked.lock().unwrap().pop().unwrap().target.ends_with("sig=a%2Fb"));
    let store = opened(&az, |_| Ok(Credential::AccountKey("QQ==".to_owned())));
    assert_eq!(get_value(&*store, &key("v"), 3).unwrap().unwrap(), b"one"[..]);
    assert!(asked.lock().unwrap().pop().unwrap().headers["authorization"].starts_with("SharedKey me:"));
}

#[test]
fn a_source_that_fails_or_has_other_credentials_is_the_error_of_the_request() {
    let (server, asked) = server();
    let store = opened(&s3(&server), |_| Err("the vault is closed".into()));
    let error = get_value(&*store, &key("v"), 3).unwrap_err();
    assert!(error.to_string().contains("the vault is closed"), "{error}");
    let store = opened(&s3(&server), token);
    let error = get_value(&*store, &key("v"), 3).unwrap_err().to_string();
    assert!(error.contains("cannot be used with S3") && !error.contains("token0"), "{error}");
    assert!(asked.lock().unwrap().is_empty());
    let refused = |description: Value| {
        let source = Counting { calls: AtomicUsize::new(0), make: token };
        open_with_credentials(&description, Arc::new(source)).unwrap_err().to_string()
    };
    assert!(refused(json!({"type": "http", "url": server.url()})).contains("takes no credentials"));
    assert!(refused(json!({"type": "s3", "url": "s3://b", "key": "x"})).contains("`key`"));
}
