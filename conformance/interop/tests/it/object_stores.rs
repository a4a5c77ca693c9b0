//! Hierarchies in S3 and on HTTP servers: the engine reads hierarchies that zarr-python wrote, and zarr-python reads
//! hierarchies that the engine wrote. moto, a Python server that holds objects in memory, stands in for S3. Failures
//! are tested with the program `zarrctl`.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zarr_interop::environment::{bytecode, scripts};
use zarr_interop::{Packages, key, python, zarrctl};
use zarr_kit::spec::Prefix;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::stores::pack;
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};
use zarr_loopback::{Options, Server};

/// The servers, which run until the tests end.
struct Served {
    urls: Value,
    talk: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    _program: Child,
}

static SERVED: LazyLock<Option<Served>> = LazyLock::new(|| {
    let python = python(Packages::ObjectStores)?;
    let mut program = Command::new(python)
        .arg(scripts().join("object_stores/serve.py"))
        .envs(bytecode())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut answers = BufReader::new(program.stdout.take().unwrap());
    let urls = line(&mut answers);
    let talk = Mutex::new((program.stdin.take().unwrap(), answers));
    Some(Served { urls, talk, _program: program })
});

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(zarrctl);

fn line(answers: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    answers.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

impl Served {
    fn url(&self, name: &str) -> &str {
        self.urls[name].as_str().unwrap()
    }

    /// Reads an array at a path of the bucket `public` with zarr-python.
    fn read_by_python(&self, path: &str) -> Value {
        let (asks, answers) = &mut *self.talk.lock().unwrap();
        writeln!(asks, "{path}").unwrap();
        line(answers)
    }

    fn bucket(&self, url: &str) -> Value {
        json!({"type": "s3", "url": url, "endpoint": self.url("s3"), "anonymous": true})
    }

    /// Runs `zarrctl` with credentials that moto accepts.
    fn zarrctl(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        Command::new(&*PROGRAM)
            .args(arguments)
            .envs([("AWS_ACCESS_KEY_ID", "known"), ("AWS_SECRET_ACCESS_KEY", "verysecret")])
            .envs([("AWS_ENDPOINT_URL", self.url("s3")), ("AWS_ALLOW_HTTP", "true")])
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }

    fn printed(&self, arguments: &[&str], environment: &[(&str, &str)]) -> String {
        let output = self.zarrctl(arguments, environment);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn refused(&self, arguments: &[&str], environment: &[(&str, &str)]) -> String {
        LazyLock::force(&PROGRAM);
        let begun = Instant::now();
        let output = self.zarrctl(arguments, environment);
        assert!(begun.elapsed() < Duration::from_secs(30), "{arguments:?}: {:?}", begun.elapsed());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && !said.contains("panicked"), "{arguments:?}: {said}");
        assert!(!said.contains("verysecret"), "{arguments:?}: {said}");
        said
    }
}

fn opened(description: &Value) -> Arc<dyn Store> {
    let context = Context::linked().unwrap();
    open_store(context.registry(), &description.to_string()).unwrap()
}

/// Checks both hierarchies that `serve.py` wrote.
fn check(data: Arc<dyn Store>, old: Arc<dyn Store>) {
    let context = Context::linked().unwrap();
    let hierarchy = Hierarchy::open(data, &context).unwrap();
    let chunked = hierarchy.array("/chunked").unwrap();
    assert_eq!(chunked.read_values::<u16>(&Selection::All).unwrap(), (0..600).collect::<Vec<u16>>());
    let sharded = hierarchy.array("/deep/sharded").unwrap();
    let part = Selection::parse("31:33,62:", sharded.shape()).unwrap();
    assert_eq!(sharded.read_values::<f32>(&part).unwrap(), [2046., 2047., 2110., 2111.]);
    let all = sharded.read_values::<f32>(&Selection::All).unwrap();
    assert!(
        all.iter().zip(0u16..).all(|(element, number)| *element == f32::from(number)) && all.len() == 4096
    );
    let empty = hierarchy.array("/empty").unwrap();
    assert_eq!(empty.read_values::<i32>(&Selection::All).unwrap(), [7; 10]);
    let old = Hierarchy::open(old, &context).unwrap().array("/").unwrap();
    assert_eq!(old.read_values::<i64>(&Selection::All).unwrap(), (0..100).collect::<Vec<i64>>());
}

#[test]
fn hierarchies_of_zarr_python_are_read_from_s3_and_http() {
    let Some(served) = &*SERVED else { return };
    let bucket = |name: &str| opened(&served.bucket(&format!("s3://public/{name}")));
    check(bucket("data.zarr"), bucket("old.zarr"));
    let http = |name: &str| opened(&json!({"type": "http", "url": format!("{}/{name}", served.url("http"))}));
    check(http("data.zarr"), http("old.zarr"));
    // Wrapping stores work with S3 as with any other store.
    let inner = json!({"type": "prefix", "prefix": "data.zarr", "store": served.bucket("s3://public")});
    let inner = json!({"type": "statistics", "store": {"type": "read-only", "store": inner}});
    let cached = opened(&json!({"type": "cache", "bytes": 1_000_000, "chunks": "decoded", "store": inner}));
    assert_eq!(cached.read_hints().max_concurrency, 128);
    for _ in 0..2 {
        check(Arc::clone(&cached), bucket("old.zarr"));
    }
}

#[test]
fn archives_in_buckets_are_read_by_ranges() {
    let Some(served) = &*SERVED else { return };
    let bucket = opened(&served.bucket("s3://public"));
    for name in ["data", "old"] {
        let mut archive = Vec::new();
        let root = Prefix::new(format!("{name}.zarr/")).unwrap();
        pack(&*bucket, &root, &mut archive, "", &mut |_| ()).unwrap();
        bucket.set(&key(&format!("archives/{name}.zip")), archive.into()).unwrap();
    }
    let within = |name: &str| {
        let key = format!("{name}.zip");
        opened(&json!({"type": "zip", "key": key, "store": served.bucket("s3://public/archives")}))
    };
    check(within("data"), within("old"));
    assert_eq!(within("data").location(), "s3://public/archives/data.zip|zip:");
    let tree = served.printed(&["tree", "s3://public/archives/data.zip|zip:|zarr3:"], &[]);
    assert!(tree.contains("sharded"), "{tree}");
    let tree = served.printed(&["tree", "s3://public/archives/data.zip|zip:deep"], &[]);
    assert!(tree.contains("sharded") && !tree.contains("chunked"), "{tree}");
}

/// The references name whole objects of a server, and byte ranges of objects in a bucket.
#[test]
fn references_to_buckets_and_servers_are_read() {
    let Some(served) = &*SERVED else { return };
    let references = |name: &str, is_ranged: bool| {
        let data = opened(&served.bucket(&format!("s3://public/{name}")));
        let mut references = serde_json::Map::new();
        for key in data.list().unwrap() {
            let size = data.size(&key).unwrap();
            let reference = match is_ranged {
                true => json!([format!("s3://public/{name}/{key}"), 0, size]),
                false => json!([format!("{}/{name}/{key}", served.url("http"))]),
            };
            references.insert(key.to_string(), reference);
        }
        Value::Object(references)
    };
    let folder = tempfile::tempdir().unwrap();
    let stored = json!({"type": "filesystem", "path": folder.path()});
    let targets =
        json!([served.bucket("s3://public"), {"type": "http", "url": format!("{}/", served.url("http"))}]);
    for is_ranged in [true, false] {
        for name in ["data.zarr", "old.zarr"] {
            fs::write(folder.path().join(name), references(name, is_ranged).to_string()).unwrap();
        }
        let open = |name: &str, targets: &Value| {
            opened(&json!({"type": "reference", "key": name, "store": stored, "targets": targets}))
        };
        check(open("data.zarr", &targets), open("old.zarr", &targets));
        let refused = get_value(&*open("data.zarr", &json!([])), &key("zarr.json"), 10_000).unwrap_err();
        assert!(refused.to_string().contains("is not below"), "{refused}");
    }
}

#[test]
fn zarr_python_reads_hierarchies_written_to_s3() {
    let Some(served) = &*SERVED else { return };
    let context = Context::linked().unwrap();
    for (format, name) in [(Format::V3, "ours3.zarr"), (Format::V2, "ours2.zarr")] {
        let store = opened(&served.bucket(&format!("s3://public/{name}")));
        let hierarchy = Hierarchy::create(Arc::clone(&store), &context, format).unwrap();
        let builder = ArrayBuilder::new(vec![20, 30], "uint16").chunks([7, 8]);
        let array = hierarchy.create_array("/a", &builder).unwrap();
        let elements: Vec<u16> = (0..600).collect();
        array.write_values(&Selection::All, &elements).unwrap();
        let read = served.read_by_python(&format!("{name}/a"));
        assert_eq!(read, json!({"shape": [20, 30], "data_type": "uint16", "elements": elements}));
        let copy = format!("s3://public/copied-{name}");
        served.printed(&["copy", &format!("s3://public/{name}"), &copy], &[]);
        assert_eq!(served.read_by_python(&format!("copied-{name}/a")), read);
        let tree = served.printed(&["tree", &copy], &[]);
        assert!(tree.contains("a uint16 [20 × 30]"), "{tree}");
        store.erase_prefix(&zarr_kit::spec::Prefix::root()).unwrap();
        assert_eq!(store.list().unwrap(), []);
        assert!(served.read_by_python(&format!("{name}/a"))["error"].is_string());
    }
}

#[test]
fn errors_of_unreachable_stores_explain_what_to_do() {
    let Some(served) = &*SERVED else { return };
    let tree =
        |location: &str, environment: &[(&str, &str)]| served.refused(&["tree", location], environment);
    let private = "s3://private/data.zarr";
    assert!(served.printed(&["tree", private], &[]).contains("chunked uint16"));
    assert!(tree(private, &[("AWS_SKIP_SIGNATURE", "true")]).contains("403 Forbidden"));
    assert!(tree("s3://typo/data.zarr", &[]).contains("the bucket does not exist"));
    assert!(tree("s3://private/typo", &[]).contains("no Zarr hierarchy in s3://private/typo"));
    assert!(tree(private, &[("AWS_ALLOW_HTTP", "false")]).contains("AWS_ALLOW_HTTP=true"));
    assert!(tree(private, &[("AWS_ENDPOINT_URL", "")]).contains("endpoint ``: expected"));
    let http = format!("{}/data.zarr", served.url("http"));
    assert!(served.refused(&["copy", private, &format!("{http}2")], &[]).contains("is not writeable"));
    let https = format!("{}/data.zarr", served.url("https"));
    assert!(tree(&https, &[]).contains("certificate"));
    let trusted = served.printed(&["tree", &https], &[("SSL_CERT_FILE", served.url("certificate"))]);
    assert_eq!(trusted, served.printed(&["tree", &http], &[]));
    // `REQUESTS_CA_BUNDLE` adds certificates to the certificates of the system.
    let also = served.printed(&["tree", &https], &[("REQUESTS_CA_BUNDLE", served.url("certificate"))]);
    assert_eq!(trusted, also);
    assert!(tree(&https, &[("REQUESTS_CA_BUNDLE", "/none.pem")]).contains("the certificates in `/none.pem`"));
}

/// The loopback server, which the tests of conditions use, behaves as boto3 expects of S3.
#[test]
fn boto3_uses_the_loopback_server_like_s3() {
    let Some(python) = python(Packages::ObjectStores) else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = scripts().join("object_stores/s3_client.py");
    let server = Server::start(Options::in_memory()).unwrap();
    let mut client = Command::new(python);
    let output =
        client.arg(script).arg(server.endpoint()).envs(bytecode()).current_dir(&folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(server.values().unwrap().len(), 0);
}

/// `AWS_ENDPOINT_URL` also replaces the token service, as in the tools of AWS.
#[test]
fn a_role_is_assumed_at_the_token_service_of_moto() {
    let Some(served) = &*SERVED else { return };
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".aws")).unwrap();
    let profiles = "[profile reader]\nrole_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = base\n\
        [profile base]\naws_access_key_id = known\naws_secret_access_key = verysecret\n";
    fs::write(home.path().join(".aws/config"), profiles).unwrap();
    let description = json!({"type": "s3", "url": "s3://private/data.zarr", "profile": "reader"}).to_string();
    let home = ("HOME", home.path().to_str().unwrap());
    assert!(served.printed(&["tree", &description], &[home]).contains("chunked uint16"));
}
