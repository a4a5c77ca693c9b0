//! The environment that the tools of the services read: profiles, roles of machines, proxies. Servers on this machine
//! stand in for the services, and the program `zarrctl` has the environment.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use zarr_interop::zarrctl;
use zarr_loopback::{BUCKET, Fault, Options, Request, Server};

const GROUP: &str = r#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#;

/// Starts a server that answers only requests that were signed with this key.
pub(crate) fn signed_by(key: &'static str) -> Server {
    let faults = move |asked: &Request| {
        let authorization = asked.header("authorization").unwrap_or_default();
        (!authorization.contains(&format!("Credential={key}/"))).then_some(Fault::Refuse(403))
    };
    let server = Server::start(Options::in_memory().with_faults(faults).logged()).unwrap();
    server.put("data.zarr/zarr.json", GROUP).unwrap();
    server
}

/// Returns `zarrctl tree` of the hierarchy on a server, without the credentials of this machine.
pub(crate) fn tree(endpoint: &str) -> Command {
    tree_of(&format!("s3://{BUCKET}/data.zarr"), endpoint)
}

/// Like [`tree`], with another URL or description of the hierarchy.
pub(crate) fn tree_of(description: &str, endpoint: &str) -> Command {
    let mut command = Command::new(zarrctl());
    command.args(["tree", description]);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.env("AWS_ENDPOINT_URL", endpoint).env("AWS_ALLOW_HTTP", "true");
    command
}

pub(crate) fn said(command: &mut Command) -> (bool, String) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn a_profile_of_the_aws_tools_signs_requests() {
    let server = signed_by("AKIDPROFILE");
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".aws")).unwrap();
    fs::write(home.path().join(".aws/config"), "[profile work]\nregion = eu-west-3\n").unwrap();
    let keys = "[work]\naws_access_key_id = AKIDPROFILE\naws_secret_access_key = secret\n";
    fs::write(home.path().join(".aws/credentials"), keys).unwrap();
    let (is_done, text) = said(tree(server.endpoint()).env("HOME", home.path()).env("AWS_PROFILE", "work"));
    assert!(is_done, "{text}");
    let log = server.take_log();
    let signature = log[0].header("authorization").unwrap();
    assert!(signature.contains("/eu-west-3/s3/"), "{signature}");
    let (is_done, text) = said(tree(server.endpoint()).env("HOME", home.path()).env("AWS_PROFILE", "none"));
    assert!(!is_done && text.contains("the profile `none` is not in"), "{text}");
}

/// Starts a server. `answer` returns the body of a response, given the first line of the request. Returns the URL of
/// the server, and a receiver of these first lines.
fn answering(answer: impl Fn(&str) -> String + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (send, receive) = channel();
    thread::spawn(move || listener.incoming().try_for_each(|client| reply(&client.unwrap(), &answer, &send)));
    (url, receive)
}

fn reply(client: &TcpStream, answer: &impl Fn(&str) -> String, lines: &Sender<String>) -> Option<()> {
    let mut head = BufReader::new(client).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let first = head.next().unwrap_or_default();
    head.for_each(drop);
    let body = answer(&first);
    let size = body.len();
    let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n{body}");
    let mut client = client;
    // The client may have disconnected, or the test may have ended.
    let _written = client.write_all(text.as_bytes());
    lines.send(first).ok()
}

/// `zarrctl` asks the metadata service of a machine for the machine's role and its temporary keys.
#[test]
fn the_role_of_a_machine_signs_requests() {
    let server = signed_by("AKIDROLE");
    let (metadata, _lines) = answering(|line| {
        match line {
        line if line.starts_with("PUT /latest/api/token ") => "token".to_owned(),
        line if line.starts_with("GET /latest/meta-data/iam/security-credentials/ ") => "role".to_owned(),
        _ => r#"{"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "AKIDROLE", "SecretAccessKey": "secret",
                 "Token": "session", "Expiration": "2099-01-01T00:00:00Z", "LastUpdated": "2026-01-01T00:00:00Z"}"#
            .to_owned(),
    }
    });
    let home = tempfile::tempdir().unwrap();
    let (is_done, text) =
        said(tree(server.endpoint()).env("HOME", home.path()).env("AWS_METADATA_ENDPOINT", metadata));
    assert!(is_done, "{text}");
    assert_eq!(server.take_log()[0].header("x-amz-security-token"), Some("session"));
}

/// `zarrctl` asks the service of temporary credentials, which accepts only encrypted connections.
#[test]
fn a_web_identity_signs_requests() {
    const CREDENTIALS: &str = "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
        <AccessKeyId>AKIDWEB</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>session\
        </SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>\
        </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
    let server = signed_by("AKIDWEB");
    let reply = |_: &Request| Some(Fault::Reply(CREDENTIALS));
    let identities = Server::start(Options::in_memory().encrypted().with_faults(reply).logged()).unwrap();
    let home = tempfile::tempdir().unwrap();
    let token = home.path().join("token");
    fs::write(&token, "identity").unwrap();
    let certificate = home.path().join("certificate.pem");
    fs::write(&certificate, identities.certificate().unwrap()).unwrap();
    let role = "arn:aws:iam::123456789012:role/reader";
    for is_in_profile in [false, true] {
        let mut command = tree(server.endpoint());
        command.env("HOME", home.path()).env("AWS_ENDPOINT_URL_STS", identities.endpoint());
        if is_in_profile {
            let [token, certificate] = [&token, &certificate].map(|file| file.display());
            let text = format!(
                "[default]\nregion = eu-west-3\nweb_identity_token_file = {token}\nrole_arn = {role}\n\
                 ca_bundle = {certificate}\n"
            );
            fs::create_dir(home.path().join(".aws")).unwrap();
            fs::write(home.path().join(".aws/config"), text).unwrap();
        } else {
            command.env("AWS_WEB_IDENTITY_TOKEN_FILE", &token).env("AWS_ROLE_ARN", role);
            command.env("AWS_CA_BUNDLE", &certificate);
        }
        let (is_done, text) = said(&mut command);
        assert!(is_done, "{text}");
        assert_eq!(server.take_log()[0].header("x-amz-security-token"), Some("session"));
        let log = identities.take_log();
        let asked = ["Action", "RoleArn", "WebIdentityToken"].map(|name| log[0].asked(name).unwrap());
        assert_eq!(asked, ["AssumeRoleWithWebIdentity", role, "identity"]);
    }
}

/// `zarrctl` asks the agent of a container for the container's temporary keys.
#[test]
fn the_role_of_a_container_signs_requests() {
    let server = signed_by("AKIDPOD");
    let (agent, lines) = answering(|_| {
        r#"{"AccessKeyId": "AKIDPOD", "SecretAccessKey": "secret", "Token": "session",
            "Expiration": "2099-01-01T00:00:00Z"}"#
            .to_owned()
    });
    let home = tempfile::tempdir().unwrap();
    let token = home.path().join("token");
    fs::write(&token, "pod").unwrap();
    let mut command = tree(server.endpoint());
    command.env("HOME", home.path()).env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &token);
    let (is_done, text) =
        said(command.env("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{agent}/v1/credentials")));
    assert!(is_done, "{text}");
    assert_eq!(lines.recv().unwrap(), "GET /v1/credentials HTTP/1.1");
    assert_eq!(server.take_log()[0].header("x-amz-security-token"), Some("session"));
}

#[test]
fn a_certificate_of_the_environment_is_trusted() {
    let server = Server::start(Options::in_memory().encrypted()).unwrap();
    server.put("data.zarr/zarr.json", GROUP).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("certificate.pem");
    fs::write(&file, server.certificate().unwrap()).unwrap();
    let tree = || {
        let mut command = tree(server.endpoint());
        command.env("AWS_SKIP_SIGNATURE", "true").env_remove("AWS_ALLOW_HTTP");
        command
    };
    let (is_done, text) = said(&mut tree());
    assert!(!is_done && text.contains("certificate"), "{text}");
    for (variable, value) in [
        ("AWS_CA_BUNDLE", &*file),
        ("REQUESTS_CA_BUNDLE", &*file),
        ("SSL_CERT_FILE", &*file),
        ("SSL_CERT_DIR", folder.path()),
    ] {
        let (is_done, text) = said(tree().env(variable, value));
        assert!(is_done, "{variable}: {text}");
    }
}

#[test]
fn encrypted_requests_pass_through_a_proxy_as_a_tunnel() {
    let (proxy, lines) = answering(|_| String::new());
    let mut command = tree("https://storage.invalid");
    command.env("AWS_SKIP_SIGNATURE", "true").env("HTTPS_PROXY", &proxy).env("https_proxy", &proxy);
    let mut program = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let line = lines.recv_timeout(Duration::from_secs(20));
    // The server is not a real proxy, so `zarrctl` would repeat its request.
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(line.unwrap(), "CONNECT storage.invalid:443 HTTP/1.1");
}

#[test]
fn hosts_without_a_proxy_are_reached_directly() {
    let server = Server::start(Options::in_memory()).unwrap();
    server.put("data.zarr/zarr.json", GROUP).unwrap();
    // Nothing listens at this port.
    let proxy = "http://127.0.0.1:9";
    let mut command = tree(server.endpoint());
    command.env("AWS_SKIP_SIGNATURE", "true").env("HTTP_PROXY", proxy).env("http_proxy", proxy);
    let (is_done, text) = said(command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1"));
    assert!(is_done, "{text}");
}

#[test]
fn requests_pass_through_a_proxy() {
    let (proxy, lines) = answering(|_| GROUP.to_owned());
    let mut command = tree("http://storage.invalid");
    command.env("AWS_SKIP_SIGNATURE", "true").env("HTTP_PROXY", &proxy).env("http_proxy", &proxy);
    // The proxy does not answer like S3, so only the request matters.
    let _output = said(&mut command);
    let line = lines.recv().unwrap();
    assert!(line.contains(" http://storage.invalid/bench"), "{line}");
}

#[test]
fn the_requester_pays_if_the_environment_says_so() {
    let faults = |asked: &Request| {
        (asked.header("x-amz-request-payer") != Some("requester")).then_some(Fault::Refuse(403))
    };
    let server = Server::start(Options::in_memory().with_faults(faults)).unwrap();
    server.put("data.zarr/zarr.json", GROUP).unwrap();
    let keys = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    assert!(!said(tree(server.endpoint()).envs(keys)).0);
    let (is_done, text) = said(tree(server.endpoint()).envs(keys).env("AWS_REQUEST_PAYER", "true"));
    assert!(is_done, "{text}");
    let endpoint = server.endpoint();
    let description = format!(
        r#"{{"type": "s3", "url": "s3://{BUCKET}/data.zarr", "endpoint": "{endpoint}", "requester-pays": true}}"#
    );
    let mut command = Command::new(zarrctl());
    let (is_done, text) = said(command.args(["tree", &description]).envs(keys));
    assert!(is_done, "{text}");
}

/// The file of a service account may name a server that does not check signatures, such as an emulator.
#[test]
fn a_service_account_of_google_is_read_from_its_file() {
    let server = Server::start(Options::in_memory()).unwrap();
    server.put("data.zarr/zarr.json", GROUP).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("account.json");
    let endpoint = server.endpoint();
    let account = format!(
        r#"{{"client_email": "reader@project", "private_key": "none", "private_key_id": "none",
             "gcs_base_url": "{endpoint}", "disable_oauth": true}}"#
    );
    fs::write(&file, account).unwrap();
    let mut command = Command::new(zarrctl());
    command.args(["tree", &format!("gs://{BUCKET}/data.zarr")]).env("GOOGLE_SERVICE_ACCOUNT", &file);
    let (is_done, text) = said(&mut command);
    assert!(is_done, "{text}");
}

/// Returns `zarrctl tree` of a hierarchy, without credentials of this machine.
fn tree_without_credentials(description: &str, home: &std::path::Path) -> Command {
    let mut command = Command::new(zarrctl());
    command.args(["tree", description]).env("HOME", home);
    for (name, _) in std::env::vars() {
        if ["GOOGLE_", "GCE_", "AZURE_", "IDENTITY_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}

/// `zarrctl` asks the metadata service of a machine of Google for a token of the machine's account.
#[test]
fn the_account_of_a_google_machine_signs_requests() {
    let faults = |asked: &Request| {
        (asked.header("authorization") != Some("Bearer machine")).then_some(Fault::Refuse(403))
    };
    let server = Server::start(Options::in_memory().with_faults(faults)).unwrap();
    server.put("data.zarr/zarr.json", GROUP).unwrap();
    let (metadata, lines) = answering(|_| {
        r#"{"access_token": "machine", "expires_in": 3600, "token_type": "Bearer"}"#.to_owned()
    });
    let endpoint = server.endpoint();
    let description =
        format!(r#"{{"type": "gs", "url": "gs://{BUCKET}/data.zarr", "endpoint": "{endpoint}"}}"#);
    let home = tempfile::tempdir().unwrap();
    let mut command = tree_without_credentials(&description, home.path());
    let host = metadata.strip_prefix("http://").unwrap();
    let (is_done, text) = said(command.env("GCE_METADATA_HOST", host).env("GCE_METADATA_IP", host));
    assert!(is_done, "{text}");
    let line = lines.recv().unwrap();
    assert!(line.starts_with("GET /computeMetadata/v1/instance/service-accounts/default/token"), "{line}");
}

/// Starts a server that stands in for a container of Azure, and for the services that issue its tokens. Returns its URL
/// and a receiver of the requests for tokens: the first line, and the body.
fn azure() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (send, receive) = channel();
    thread::spawn(move || {
        listener.incoming().try_for_each(|client| azure_answer(&client.unwrap(), &send));
    });
    (url, receive)
}

fn azure_answer(client: &TcpStream, tokens: &Sender<String>) -> Option<()> {
    const LISTING: &str =
        "<?xml version=\"1.0\"?><EnumerationResults><Blobs/><NextMarker/></EnumerationResults>";
    const TOKEN: &str = r#"{"access_token": "issued", "expires_in": 3600, "expires_on": "4102444800",
        "token_type": "Bearer"}"#;
    let mut reader = BufReader::new(client);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).is_err() || line.trim().is_empty() {
            break;
        }
        head.push(line.trim_end().to_ascii_lowercase());
    }
    let header = |name: &str| head.iter().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let mut body = vec![0; header("content-length: ").parse().unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let first = head.first().cloned().unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default();
    let (status, answer) = if path.contains("/oauth2/") {
        tokens.send(format!("{first} {}", String::from_utf8_lossy(&body))).ok()?;
        (200, TOKEN)
    } else if header("authorization: ") != "bearer issued" {
        (403, "")
    } else if path.contains("comp=list") {
        (200, LISTING)
    } else if path.ends_with("/data.zarr/zarr.json") {
        (200, GROUP)
    } else {
        (404, "")
    };
    let size = answer.len();
    let text = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {size}\r\nconnection: close\r\netag: \"e\"\r\n\
         last-modified: Tue, 01 Oct 2024 12:00:00 GMT\r\n\r\n{answer}"
    );
    let mut client = client;
    let _written = client.write_all(text.as_bytes());
    Some(())
}

/// `zarrctl` asks the service of identities of an Azure machine, or the login service with the secret of a client.
#[test]
fn identities_of_azure_sign_requests() {
    for is_managed in [true, false] {
        let (url, tokens) = azure();
        let description = format!(
            r#"{{"type": "az", "url": "az://{BUCKET}/data.zarr", "account": "me", "endpoint": "{url}"}}"#
        );
        let home = tempfile::tempdir().unwrap();
        let mut command = tree_without_credentials(&description, home.path());
        if is_managed {
            command.env("IDENTITY_ENDPOINT", format!("{url}/metadata/identity/oauth2/token"));
        } else {
            command.env("AZURE_TENANT_ID", "tenant").env("AZURE_CLIENT_ID", "client");
            command.env("AZURE_CLIENT_SECRET", "secret").env("AZURE_AUTHORITY_HOST", &url);
        }
        let (is_done, text) = said(&mut command);
        assert!(is_done, "{is_managed}: {text}");
        let asked = tokens.recv().unwrap();
        let expected: &[&str] = match is_managed {
            true => &["get /metadata/identity/oauth2/token?", "resource=https%3a%2f%2fstorage.azure.com"],
            false => &["post /tenant/oauth2/v2.0/token", "client_id=client", "client_secret=secret"],
        };
        assert!(expected.iter().all(|part| asked.contains(part)), "{asked}");
    }
}
