//! Profiles of the AWS tools whose credentials a service or a program issues: roles, single sign-on, and
//! `credential_process`. Servers on this machine stand in for the services, and `zarrctl` has the environment.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use zarr_interop::environment::run_script;
use zarr_interop::{Packages, python};
use zarr_loopback::BUCKET;

use super::cloud_tools::{said, signed_by, tree, tree_of};

const ROLE: &str = "arn:aws:iam::123456789012:role/reader";

/// The settings of a profile with single sign-on, and its section.
const SIGN_ON: &str = "[profile work]\nsso_session = company\nsso_account_id = 123456789012\n\
    sso_role_name = Reader\n[sso-session company]\nsso_region = eu-west-1\n\
    sso_start_url = https://company.example/start\n";

/// The name of the file that has the token of the session `company`: `sha1sum` of the name.
const TOKEN_FILE: &str = "71b21161ffa1e6516bcc072aaf5ef38cbe85b511.json";

/// A request that a service received.
struct Asked {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Asked {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(one, _)| one == name).map_or("", |(_, value)| value)
    }

    /// Returns the parameters of a form.
    fn form(&self) -> Vec<&str> {
        self.body.split('&').collect()
    }
}

/// Starts a service. Returns its URL and a receiver of its requests.
fn service(answer: impl Fn(&Asked) -> (u16, String) + Send + 'static) -> (String, Receiver<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (send, receive) = channel();
    thread::spawn(move || listener.incoming().try_for_each(|client| reply(&client.unwrap(), &answer, &send)));
    (url, receive)
}

fn reply(client: &TcpStream, answer: &impl Fn(&Asked) -> (u16, String), all: &Sender<Asked>) -> Option<()> {
    let mut reader = BufReader::new(client);
    let mut lines =
        reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect::<Vec<_>>();
    let first = lines.remove(0);
    let mut words = first.split(' ').map(str::to_owned);
    let headers = lines.iter().filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    let method = words.next()?;
    let target = words.next()?;
    let mut asked = Asked { method, target, headers, body: String::new() };
    let size = asked.header("content-length").parse().unwrap_or(0);
    reader.take(size).read_to_string(&mut asked.body).ok()?;
    let (status, body) = answer(&asked);
    let size = body.len();
    let text = format!("HTTP/1.1 {status} X\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n{body}");
    let mut client = client;
    let _written = client.write_all(text.as_bytes());
    all.send(asked).ok()
}

/// Returns the answer of the token service with the keys of a role.
fn role_keys(id: &str) -> String {
    format!(
        "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><Credentials>\
         <AccessKeyId>{id}</AccessKeyId><SecretAccessKey>issued</SecretAccessKey><SessionToken>session/{id}\
         </SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult>\
         </AssumeRoleResponse>"
    )
}

/// Writes the files of the AWS tools in a home.
fn home(config: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join(".aws/sso/cache")).unwrap();
    fs::write(home.path().join(".aws/config"), config).unwrap();
    let keys = "[base]\naws_access_key_id = AKIDBASE\naws_secret_access_key = verysecret\n";
    fs::write(home.path().join(".aws/credentials"), keys).unwrap();
    home
}

fn with_profile(endpoint: &str, home: &Path, profile: &str) -> Command {
    let mut command = tree(endpoint);
    command.env("HOME", home).env("AWS_PROFILE", profile);
    command
}

/// Returns the header `Authorization` that botocore computes for a request; `None` without Python.
fn signed_by_botocore(url: &str, asked: &Asked, region: &str, id: &str, secret: &str) -> Option<String> {
    let python = python(Packages::ObjectStores)?;
    let names = asked.header("authorization").split("SignedHeaders=").nth(1).unwrap();
    let names = names.split(',').next().unwrap().split(';');
    let headers: Map<_, _> = names.map(|name| (name.to_owned(), Value::from(asked.header(name)))).collect();
    let request = json!({
        "method": asked.method, "url": format!("{url}{}", asked.target), "headers": headers, "body": asked.body,
        "service": "sts", "region": region, "id": id, "secret": secret
    });
    let script = "object_stores/signature.py";
    let (said, is_done) = run_script(&python, script, &[OsStr::new(&request.to_string())]);
    assert!(is_done, "{said}");
    Some(said.trim().to_owned())
}

/// The signature is the one that botocore computes for the same request.
#[test]
fn a_role_is_assumed_with_the_keys_of_another_profile() {
    let bucket = signed_by("AKIDROLE");
    let (sts, requests) = service(|_| (200, role_keys("AKIDROLE")));
    let home = home(&format!(
        "[profile reader]\nrole_arn = {ROLE}\nsource_profile = base\nrole_session_name = me@here\n\
         external_id = a+b/c\nduration_seconds = 900\nregion = eu-west-3\n"
    ));
    let mut command = with_profile(bucket.endpoint(), home.path(), "reader");
    let (is_done, text) = said(command.env("AWS_ENDPOINT_URL_STS", &sts));
    assert!(is_done, "{text}");
    assert_eq!(bucket.take_log()[0].header("x-amz-security-token"), Some("session/AKIDROLE"));
    let asked = requests.recv().unwrap();
    assert!(requests.try_recv().is_err(), "one request is enough");
    assert_eq!(
        asked.form(),
        [
            "Action=AssumeRole",
            "Version=2011-06-15",
            "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Freader",
            "RoleSessionName=me%40here",
            "ExternalId=a%2Bb%2Fc",
            "DurationSeconds=900"
        ]
    );
    if let Some(expected) = signed_by_botocore(&sts, &asked, "eu-west-3", "AKIDBASE", "verysecret") {
        assert_eq!(asked.header("authorization"), expected);
        let other = signed_by_botocore(&sts, &asked, "eu-west-3", "AKIDBASE", "another").unwrap();
        assert_ne!(asked.header("authorization"), other);
    }
}

/// The second role is assumed with the temporary keys of the first, whose token is part of the signature.
#[test]
fn roles_are_assumed_one_after_another() {
    let bucket = signed_by("AKIDSECOND");
    let (sts, requests) = service(|asked| {
        let is_first = asked.header("authorization").contains("Credential=AKIDBASE/");
        (200, role_keys(if is_first { "AKIDFIRST" } else { "AKIDSECOND" }))
    });
    let home = home(&format!(
        "[profile second]\nrole_arn = {ROLE}\nsource_profile = first\n\
         [profile first]\nrole_arn = {ROLE}/first\nsource_profile = base\n"
    ));
    let mut command = with_profile(bucket.endpoint(), home.path(), "second");
    let (is_done, text) = said(command.env("AWS_ENDPOINT_URL_STS", &sts));
    assert!(is_done, "{text}");
    assert!(requests.recv().unwrap().body.contains("role%2Freader%2Ffirst"));
    let asked = requests.recv().unwrap();
    assert_eq!(asked.header("x-amz-security-token"), "session/AKIDFIRST");
    assert!(asked.body.contains("RoleSessionName=zarr-kit-"), "{}", asked.body);
    if let Some(expected) = signed_by_botocore(&sts, &asked, "us-east-1", "AKIDFIRST", "issued") {
        assert_eq!(asked.header("authorization"), expected);
    }
}

/// The variables of the environment, the service of a machine, and the agent of a container.
#[test]
fn a_role_is_assumed_with_credentials_of_the_machine() {
    let keys = |id: &str| {
        format!(
            r#"{{"AccessKeyId": "{id}", "SecretAccessKey": "secret", "Token": "t", "Code": "Success",
                 "Expiration": "2099-01-01T00:00:00Z"}}"#
        )
    };
    let (machine, _requests) = service(move |asked| match &*asked.target {
        "/latest/api/token" => (200, "token".to_owned()),
        "/latest/meta-data/iam/security-credentials/" => (200, "role".to_owned()),
        "/container" => (200, keys("AKIDCONTAINER")),
        _ => (200, keys("AKIDMACHINE")),
    });
    for (source, id) in [
        ("Environment", "AKIDENV"),
        ("Ec2InstanceMetadata", "AKIDMACHINE"),
        ("EcsContainer", "AKIDCONTAINER"),
    ] {
        let bucket = signed_by("AKIDROLE");
        let (sts, requests) = service(|_| (200, role_keys("AKIDROLE")));
        let home = home(&format!("[profile reader]\nrole_arn = {ROLE}\ncredential_source = {source}\n"));
        let token = home.path().join("token");
        fs::write(&token, "pod").unwrap();
        // The description names the profile, because the variables precede a profile of the environment.
        let url = format!("s3://{BUCKET}/data.zarr");
        let description = json!({"type": "s3", "url": url, "profile": "reader"}).to_string();
        let mut command = tree_of(&description, bucket.endpoint());
        command.env("HOME", home.path()).env("AWS_ENDPOINT_URL_STS", &sts);
        match source {
            "Environment" => {
                command.env("AWS_ACCESS_KEY_ID", id).env("AWS_SECRET_ACCESS_KEY", "secret");
            }
            "EcsContainer" => {
                command.env("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{machine}/container"));
                command.env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &token);
            }
            _ => {
                command.env("AWS_METADATA_ENDPOINT", &machine);
            }
        }
        let (is_done, text) = said(&mut command);
        assert!(is_done, "{source}: {text}");
        let asked = requests.recv().unwrap();
        let signature = asked.header("authorization");
        assert!(signature.contains(&format!("Credential={id}/")), "{source}: {signature}");
    }
}

#[test]
fn a_refused_role_is_an_error_with_the_reason() {
    let bucket = signed_by("AKIDROLE");
    let (sts, _requests) = service(|_| {
        let body = "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User base is not \
            authorized</Message></Error></ErrorResponse>";
        (403, body.to_owned())
    });
    let home = home(&format!("[profile reader]\nrole_arn = {ROLE}\nsource_profile = base\n"));
    let mut command = with_profile(bucket.endpoint(), home.path(), "reader");
    let (is_done, text) = said(command.env("AWS_ENDPOINT_URL_STS", &sts));
    assert!(!is_done && bucket.take_log().is_empty(), "{text}");
    for expected in [ROLE, "profile `reader`", "AccessDenied: User base is not authorized (status 403)"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("verysecret"), "{text}");
}

/// Writes a program that prints credentials, and returns the setting that names it.
#[cfg(unix)]
fn program(home: &Path, script: &str) -> String {
    let file = home.join("my keys.sh");
    fs::write(&file, script).unwrap();
    format!("[profile tool]\ncredential_process = /bin/sh \"{}\" --name 'a b'\n", file.display())
}

#[cfg(unix)]
#[test]
fn a_program_issues_credentials() {
    let bucket = signed_by("AKIDTOOL");
    let home = home("");
    let config = program(
        home.path(),
        "test \"$1 $2\" = '--name a b' || exit 3\n\
         echo '{\"Version\": 1, \"AccessKeyId\": \"AKIDTOOL\", \"SecretAccessKey\": \"issued\",'\n\
         echo ' \"SessionToken\": \"session\", \"Expiration\": \"2099-01-01T00:00:00+00:00\"}'\n",
    );
    fs::write(home.path().join(".aws/config"), config).unwrap();
    let (is_done, text) = said(&mut with_profile(bucket.endpoint(), home.path(), "tool"));
    assert!(is_done, "{text}");
    assert_eq!(bucket.take_log()[0].header("x-amz-security-token"), Some("session"));
}

#[cfg(unix)]
#[test]
fn a_program_that_fails_is_an_error_with_its_messages_and_without_secrets() {
    const KEYS: &str =
        "echo '{\"Version\": 1, \"AccessKeyId\": \"AKIDTOOL\", \"SecretAccessKey\": \"hidden\"";
    let bucket = signed_by("AKIDTOOL");
    for (script, expected) in [
        (
            format!("{KEYS}}}'\necho 'the vault is locked' >&2\nexit 7\n"),
            "(exit status: 7): the vault is locked",
        ),
        (format!("{KEYS}'\n"), "printed something other than one JSON object"),
        (format!("{KEYS}, \"Expiration\": \"2001-01-01T00:00:00Z\"}}'\n"), "already expired"),
        (
            "echo '{\"AccessKeyId\": \"AKIDTOOL\", \"SecretAccessKey\": \"hidden\"}'\n".to_owned(),
            "\"Version\": 1",
        ),
    ] {
        let home = home("");
        let config = program(home.path(), &script);
        fs::write(home.path().join(".aws/config"), config).unwrap();
        let (is_done, text) = said(&mut with_profile(bucket.endpoint(), home.path(), "tool"));
        assert!(!is_done && text.contains(expected), "{expected}: {text}");
        assert!(text.contains("`/bin/sh`, the `credential_process` of the profile `tool`"), "{text}");
        assert!(!text.contains("hidden"), "{text}");
    }
    let home = home("[profile tool]\ncredential_process = /none/keys\n");
    let (is_done, text) = said(&mut with_profile(bucket.endpoint(), home.path(), "tool"));
    assert!(!is_done && text.contains("`/none/keys`") && text.contains("cannot be started"), "{text}");
    assert!(bucket.take_log().is_empty());
}

/// Returns the contents of a file with a token.
fn token(access: &str, expires: &str) -> Value {
    json!({"startUrl": "https://company.example/start", "region": "eu-west-1", "accessToken": access,
        "expiresAt": expires})
}

/// The portal of single sign-on, which accepts one token.
fn portal(asked: &Asked) -> (u16, String) {
    let (target, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
    let later = SystemTime::now() + Duration::from_secs(3600);
    let later = later.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let keys = json!({"roleCredentials": {"accessKeyId": "AKIDSSO", "secretAccessKey": "issued",
        "sessionToken": "session", "expiration": u64::try_from(later).unwrap()}});
    match (target, query, asked.header("x-amz-sso_bearer_token")) {
        ("/federation/credentials", "role_name=Reader&account_id=123456789012", "known") => {
            (200, keys.to_string())
        }
        ("/token", ..) if asked.body.contains(r#""refreshToken":"again""#) => {
            let renewed = json!({"accessToken": "known", "expiresIn": 3600, "refreshToken": "next"});
            (200, renewed.to_string())
        }
        _ => (401, r#"{"message": "Session token not found or invalid"}"#.to_owned()),
    }
}

#[test]
fn a_sign_on_of_the_aws_tools_issues_credentials() {
    let bucket = signed_by("AKIDSSO");
    let (portal, _requests) = service(portal);
    let home = home(SIGN_ON);
    let file = home.path().join(".aws/sso/cache").join(TOKEN_FILE);
    let run = || {
        let mut command = with_profile(bucket.endpoint(), home.path(), "work");
        said(command.env("AWS_ENDPOINT_URL_SSO", &portal).env("AWS_ENDPOINT_URL_SSO_OIDC", &portal))
    };
    let advice = "run `aws sso login --profile work`";
    let (is_done, text) = run();
    assert!(!is_done && text.contains("there is no token") && text.contains(advice), "{text}");
    fs::write(&file, token("known", "2001-01-01T00:00:00Z").to_string()).unwrap();
    let (is_done, text) = run();
    assert!(!is_done && text.contains("expired at 2001-01-01T00:00:00Z") && text.contains(advice), "{text}");
    fs::write(&file, token("unknown", "2099-01-01T00:00:00Z").to_string()).unwrap();
    let (is_done, text) = run();
    assert!(!is_done && text.contains("does not accept the token") && text.contains(advice), "{text}");
    fs::write(&file, token("known", "2099-01-01T00:00:00Z").to_string()).unwrap();
    let (is_done, text) = run();
    assert!(is_done, "{text}");
    assert_eq!(bucket.take_log()[0].header("x-amz-security-token"), Some("session"));
}

/// As the tools do, `zarrctl` renews an old token with the refresh token, and writes the new one to the file.
#[test]
fn an_expired_token_is_renewed() {
    let bucket = signed_by("AKIDSSO");
    let (portal, requests) = service(portal);
    let home = home(SIGN_ON);
    let file = home.path().join(".aws/sso/cache").join(TOKEN_FILE);
    let mut old = token("unknown", "2001-01-01T00:00:00Z");
    for (name, value) in [
        ("clientId", "client"),
        ("clientSecret", "shared"),
        ("registrationExpiresAt", "2099-01-01T00:00:00Z"),
        ("refreshToken", "again"),
    ] {
        old[name] = value.into();
    }
    fs::write(&file, old.to_string()).unwrap();
    for _ in 0..2 {
        let mut command = with_profile(bucket.endpoint(), home.path(), "work");
        command.env("AWS_ENDPOINT_URL_SSO", &portal).env("AWS_ENDPOINT_URL_SSO_OIDC", &portal);
        let (is_done, text) = said(&mut command);
        assert!(is_done, "{text}");
    }
    let targets: Vec<_> = requests.try_iter().map(|asked| asked.target).collect();
    assert_eq!(targets.iter().filter(|target| *target == "/token").count(), 1, "{targets:?}");
    let new: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!([&new["accessToken"], &new["refreshToken"], &new["clientId"]], ["known", "next", "client"]);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
}
