//! Icechunk repositories in S3, Azure and Google Cloud Storage, and on HTTP servers. Servers on this machine stand in for
//! the services. Repositories are exchanged with the Python package, which has its own clients.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use zarr_interop::environment::run_script;
use zarr_interop::{Packages, azurite, icechunk, key, python, with_icechunk, zarrctl};
use zarr_kit::spec::store::Capabilities;
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, open_store};
use zarr_loopback::{Options, Server};

/// The URL of the repository in the bucket of the loopback server, and in a container of Azurite.
const PREFIX: &str = "bench/deep/data.icechunk";

/// A repository that both sides reach.
struct Place {
    python: PathBuf,
    /// The location for the script.
    theirs: String,
    /// The description of the store that contains the repository.
    ours: Value,
}

impl Place {
    fn in_s3(server: &Server, format: u8) -> Option<Self> {
        let endpoint = server.endpoint();
        let url = format!("s3://{PREFIX}{format}");
        Some(Self {
            python: python(Packages::Wild("icechunk"))?,
            theirs: format!("{}|{url}", json!({"endpoint": endpoint})),
            ours: json!({"type": "s3", "url": url, "endpoint": endpoint, "anonymous": true}),
        })
    }

    fn at(&self, version: &str) -> String {
        json!({"type": "icechunk", "store": self.ours, "version": version, "message": "from here"})
            .to_string()
    }

    /// Runs the script, and returns what it prints.
    fn run(&self, action: &str, arguments: &[&str]) -> Value {
        let mut all = vec![OsStr::new(action), OsStr::new(&self.theirs)];
        all.extend(arguments.iter().map(OsStr::new));
        let (output, is_good) = run_script(&self.python, "icechunk/repository.py", &all);
        assert!(is_good, "{output}");
        let last = output.lines().rev().find(|line| line.starts_with(['{', '"']));
        last.map_or(Value::Null, |line| serde_json::from_str(line).unwrap())
    }

    fn arrays(&self, version: &str) -> Value {
        self.run("read", &[version])["arrays"].clone()
    }
}

fn hierarchy(context: &Context, location: &str) -> Result<Hierarchy, Error> {
    Hierarchy::open(open_store(context.registry(), location)?, context)
}

fn numbers(context: &Context, location: &str) -> Result<Vec<i16>, Error> {
    Ok(hierarchy(context, location)?.array("/a")?.read_values::<i16>(..)?.to_vec())
}

/// Exchanges a repository in a version of the format in both directions, and commits of both sides that conflict or do
/// not.
fn exchange(place: &Place, context: &Context, format: u8) {
    let first = place.run("write", &[&format.to_string()]);
    for (version, expected) in [
        ("branch.main", [5, 6, 7, 8]),
        ("branch.dev", [1, 2, 3, 4]),
        ("tag.v1", [1, 2, 3, 4]),
        (first.as_str().unwrap(), [1, 2, 3, 4]),
    ] {
        assert_eq!(numbers(context, &place.at(version)).unwrap(), expected, "{version}");
    }
    let changed = |version: &str, index: u64| {
        let hierarchy = hierarchy(context, &place.at(version)).unwrap();
        hierarchy.array("/a").unwrap().write_values::<i16>(index..index + 1, &[9]).unwrap();
        hierarchy
    };
    // Element 0 is in the same chunk as 1, and not in that of 2.
    let refused = changed("branch.main", 1);
    let merged = changed("branch.dev", 2);
    place.run("change", &[]);
    let error = refused.store().commit().unwrap_err().to_string();
    let part = "another one committed to the branch `main` and changed the same values (`a/c/0`)";
    assert!(error.contains(part), "{error}");
    merged.store().commit().unwrap();
    assert_eq!(place.arrays("branch.main"), json!({"/a": [-1, 6, 7, 8]}));
    assert_eq!(place.arrays("branch.dev"), json!({"/a": [-2, 2, 9, 4]}));

    let hierarchy = hierarchy(context, &place.at("branch.main")).unwrap();
    let large: Vec<i32> = (0..4000).collect();
    let builder = ArrayBuilder::new([4000], "int32").chunks([100]).shards([1000]).uncompressed();
    hierarchy.create_array("/g/large", &builder).unwrap().write_values::<i32>(.., &large).unwrap();
    hierarchy.store().commit().unwrap();
    let read = place.run("read", &["branch.main"]);
    assert_eq!(read["arrays"], json!({"/a": [-1, 6, 7, 8], "/g/large": large}));
    assert_eq!(read["messages"][0], "from here");
    let error = numbers(context, &place.at("tag.none")).unwrap_err().to_string();
    assert!(error.contains("|icechunk:@tag.none") && error.contains("none"), "{error}");
}

#[test]
fn repositories_in_s3_are_exchanged_with_the_python_package() {
    let Some(context) = with_icechunk() else { return };
    let server = Server::start(Options::in_memory().with_page(3)).unwrap();
    for format in [1, 2] {
        let Some(place) = Place::in_s3(&server, format) else { return };
        exchange(&place, &context, format);
        check_on_http(&format!("{}/{PREFIX}{format}", server.endpoint()), &context);
    }
}

/// An HTTP server has the same files, but no listings and no writes.
fn check_on_http(url: &str, context: &Context) {
    for location in [
        format!("{url}|icechunk:"),
        format!("icechunk:{url}"),
        format!("{url}|icechunk:@branch.main|zarr3:"),
        json!({"type": "icechunk", "store": {"type": "http", "url": url}}).to_string(),
    ] {
        assert_eq!(numbers(context, &location).unwrap(), [-1, 6, 7, 8], "{location}");
    }
    assert_eq!(numbers(context, &format!("{url}|icechunk:@tag.v1?message=x")).unwrap(), [1, 2, 3, 4]);
    let error = open_store(context.registry(), "http://127.0.0.1:1/x|icechunk:").unwrap_err().to_string();
    assert!(error.starts_with("opening `icechunk:http://127.0.0.1:1/x`: plugin icechunk"), "{error}");
    let store = open_store(context.registry(), &format!("{url}|icechunk:")).unwrap();
    assert_eq!(store.capabilities(), Capabilities::READ_ONLY);
    assert!(store.list().unwrap().iter().any(|key| key.as_str() == "g/large/zarr.json"));
}

/// Runs the test of this name again in another process with the credentials of a service. That process calls `test`
/// with the endpoint of the service.
fn with_credentials(name: &str, credentials: &[(&str, &str)], endpoint: impl FnOnce() -> String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("icechunk_stores::{name}"), "--exact", "--nocapture"]);
    command.env(SERVICE, endpoint()).envs(credentials.iter().copied());
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// The variable with the endpoint of a service that is running, whose credentials are in the environment.
const SERVICE: &str = "ZARR_KIT_ICECHUNK_SERVICE";

#[test]
fn repositories_in_azure_are_exchanged_with_the_python_package() {
    let name = "repositories_in_azure_are_exchanged_with_the_python_package";
    let Ok(endpoint) = std::env::var(SERVICE) else {
        let Some(azurite) = azurite() else { return };
        return with_credentials(name, &azurite.credentials(), || azurite.endpoint().to_owned());
    };
    let Some(context) = with_icechunk() else { return };
    let Some(python) = python(Packages::Wild("icechunk")) else { return };
    let variable = |name: &str| std::env::var(name).unwrap();
    let [account, key] = ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"].map(variable);
    let url = format!("az://{PREFIX}");
    let theirs = format!("{}|{url}", json!({"endpoint": endpoint, "account": account, "key": key}));
    let ours = json!({"type": "az", "url": url, "endpoint": endpoint});
    exchange(&Place { python, theirs, ours }, &context, 2);
}

/// Writes the file of a service account that names the server and disables authentication. Returns its path.
fn service_account(folder: &Path, server: &Server) -> String {
    let path = folder.join("account.json");
    let text = json!({"client_email": "a", "private_key": "", "private_key_id": "", "disable_oauth": true,
                      "gcs_base_url": server.endpoint()});
    fs::write(&path, text.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The loopback server has generations, as Google Cloud Storage does, and the file of the service account disables
/// authentication.
#[test]
fn a_repository_in_google_cloud_storage_is_changed() {
    let name = "a_repository_in_google_cloud_storage_is_changed";
    if std::env::var_os(SERVICE).is_none() {
        let server = Server::start(Options::in_memory().logged()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let account = service_account(folder.path(), &server);
        with_credentials(name, &[("GOOGLE_SERVICE_ACCOUNT", &account)], || server.endpoint().to_owned());
        let log = server.take_log();
        let conditions = log.iter().filter_map(|request| request.header("x-goog-if-generation-match"));
        assert!(conditions.filter(|generation| *generation != "0").count() >= 2);
        return;
    }
    let Some(context) = with_icechunk() else { return };
    let location = format!("gs://{PREFIX}|icechunk:");
    let store = open_store(context.registry(), &location).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    let array = hierarchy.create_array("/a", &ArrayBuilder::new([4], "int16").chunks([2])).unwrap();
    array.write_values::<i16>(.., &[1, 2, 3, 4]).unwrap();
    hierarchy.store().commit().unwrap();
    assert_eq!(numbers(&context, &location).unwrap(), [1, 2, 3, 4]);
    array.write_values::<i16>(0..1, &[7]).unwrap();
    let other = self::hierarchy(&context, &location).unwrap();
    other.array("/a").unwrap().write_values::<i16>(1..2, &[8]).unwrap();
    other.store().commit().unwrap();
    let error = hierarchy.store().commit().unwrap_err().to_string();
    assert!(error.contains("`a/c/0`"), "{error}");
    assert_eq!(numbers(&context, &location).unwrap(), [1, 8, 3, 4]);
}

/// A repository in a folder whose chunk of `/v` is in a bucket.
struct Virtual {
    folder: TempDir,
    python: PathBuf,
    context: Context,
}

impl Virtual {
    fn new() -> Option<Self> {
        let python = python(Packages::Wild("icechunk"))?;
        let context = with_icechunk()?;
        let virtual_chunks = Self { folder: tempfile::tempdir().unwrap(), python, context };
        virtual_chunks.run("write", &[]);
        Some(virtual_chunks)
    }

    fn path(&self) -> String {
        self.folder.path().join("data.icechunk").to_str().unwrap().to_owned()
    }

    fn run(&self, action: &str, arguments: &[&str]) {
        let path = self.path();
        let mut all = vec![OsStr::new(action), OsStr::new(&path)];
        all.extend(arguments.iter().map(OsStr::new));
        let (output, is_good) = run_script(&self.python, "icechunk/repository.py", &all);
        assert!(is_good, "{output}");
    }

    /// Reads `/v` with permission for these locations.
    fn read(&self, allowed: &[&str]) -> Result<Vec<i16>, Error> {
        let description = json!({"type": "icechunk", "path": self.path(), "virtual_chunks": allowed});
        Ok(hierarchy(&self.context, &description.to_string())?.array("/v")?.read_values::<i16>(..)?.to_vec())
    }

    /// Checks that `/v` is not read without permission for `prefix`, and is read with it.
    fn check(&self, prefix: &str) {
        let other = format!("{prefix}other/");
        for refused in [&[][..], &[&*other]] {
            let error = self.read(refused).unwrap_err().to_string();
            assert!(error.contains(&format!("`{prefix}data.bin`")), "{error}");
            let advice = format!("allow `{prefix}` with the option `virtual_chunks`");
            assert!(error.contains(&advice), "{error}");
        }
        assert_eq!(self.read(&[prefix]).unwrap(), [1, 2, 3]);
    }
}

/// The contents of `virtual/data.bin`, of which `/v` has the elements 1 to 3.
fn virtual_file() -> Vec<u8> {
    (0..5_i16).flat_map(i16::to_le_bytes).collect()
}

#[test]
fn virtual_chunks_in_google_cloud_storage_need_permission() {
    let name = "virtual_chunks_in_google_cloud_storage_need_permission";
    if std::env::var_os(SERVICE).is_none() {
        let server = Server::start(Options::in_memory().logged()).unwrap();
        server.put("virtual/data.bin", virtual_file()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let account = service_account(folder.path(), &server);
        with_credentials(name, &[("GOOGLE_SERVICE_ACCOUNT", &account)], || server.endpoint().to_owned());
        let log = server.take_log();
        // Only the read with permission and the one without credentials reach the server.
        let reads = log.iter().filter(|request| request.path.contains("data.bin"));
        assert_eq!(reads.count(), 2);
        return;
    }
    let Some(repository) = Virtual::new() else { return };
    repository.run("virtual-gs", &[]);
    repository.check("gs://bench/virtual/");
    let Some(other) = Virtual::new() else { return };
    other.run("virtual-gs", &[&std::env::var(SERVICE).unwrap()]);
    assert_eq!(other.read(&["gs://bench/"]).unwrap(), [1, 2, 3]);
}

/// Azurite refuses requests without the key of the account, so a chunk that is read was requested with it.
#[test]
fn virtual_chunks_in_azure_need_permission() {
    let name = "virtual_chunks_in_azure_need_permission";
    let Ok(endpoint) = std::env::var(SERVICE) else {
        let Some(azurite) = azurite() else { return };
        let [account, secret] = azurite.credentials();
        let server = [("AZURE_STORAGE_ENDPOINT", azurite.endpoint()), ("AZURE_ALLOW_HTTP", "true")];
        let variables = [account, secret, server[0], server[1]];
        return with_credentials(name, &variables, || azurite.endpoint().to_owned());
    };
    let Some(repository) = Virtual::new() else { return };
    let files = json!({"type": "az", "url": "az://bench/virtual", "endpoint": endpoint}).to_string();
    let files = open_store(repository.context.registry(), &files).unwrap();
    files.set(&key("data.bin"), virtual_file().as_slice().into()).unwrap();
    let account = std::env::var("AZURE_STORAGE_ACCOUNT_NAME").unwrap();
    repository.run("virtual-az", &[&account]);
    repository.check("az://bench/virtual/");
    // The endpoint of the environment gets the key, and another name of the same server does not.
    for (server, is_read) in [(endpoint.clone(), true), (endpoint.replace("127.0.0.1", "localhost"), false)] {
        let Some(named) = Virtual::new() else { return };
        named.run("virtual-az", &[&account, &server]);
        assert_eq!(named.read(&["az://bench/"]).is_ok(), is_read, "{server}");
    }
    let Some(foreign) = Virtual::new() else { return };
    foreign.run("virtual-az", &["other/account"]);
    let error = foreign.read(&["az://bench/"]).unwrap_err().to_string();
    assert!(error.contains("`az://bench/virtual/` of virtual chunks has no valid `account`"), "{error}");
}

/// All chunks are requested together, although each is found through a manifest.
#[test]
fn chunks_in_a_far_bucket_are_read_together() {
    let Some(context) = with_icechunk() else { return };
    let options = Options::in_memory().with_delay(Duration::from_millis(20));
    let server = Server::start(options).unwrap();
    let ours = json!({"type": "s3", "url": format!("s3://{PREFIX}"), "endpoint": server.endpoint(), "anonymous": true});
    let location = json!({"type": "icechunk", "store": ours}).to_string();
    let store = open_store(context.registry(), &location).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([40, 1000], "uint16").chunks([1, 1000]).uncompressed();
    let elements: Vec<u16> = (0..40_000).collect();
    hierarchy.create_array("/a", &builder).unwrap().write_values::<u16>(.., &elements).unwrap();
    hierarchy.store().commit().unwrap();
    drop(hierarchy);
    let written = server.take_traffic();
    let array = self::hierarchy(&context, &location).unwrap().array("/a").unwrap();
    let _opened = server.take_traffic();
    assert_eq!(array.read_values::<u16>(..).unwrap(), elements);
    let read = server.take_traffic();
    // One more request is that of the manifest.
    assert!(read.requests <= 42 && read.most_at_once >= 20, "{read:?}");
    assert!(written.most_at_once >= 8, "{written:?}");
}

/// A user with a home folder and the plugin.
pub(crate) struct Person(TempDir);

impl Person {
    pub(crate) fn new() -> Option<Self> {
        let library = icechunk()?;
        let person = Self(tempfile::tempdir().unwrap());
        let packed = person.0.path().join("dist").display().to_string();
        person.said(&["plugins", "pack", library.to_str().unwrap(), "--output", &packed], &[]);
        person.said(&["plugins", "install", &packed], &[]);
        person.said(&["plugins", "trust", "icechunk"], &[]);
        Some(person)
    }

    pub(crate) fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut program = Command::new(zarrctl());
        for (name, _) in
            std::env::vars().filter(|(name, _)| name.starts_with("AWS_") || name.starts_with("XDG_"))
        {
            program.env_remove(name);
        }
        program.env_remove("ZARR_PLUGIN_PATH").args(arguments).env("HOME", self.0.path());
        program.envs(environment.iter().copied()).output().unwrap()
    }

    fn said(&self, arguments: &[&str], environment: &[(&str, &str)]) -> String {
        let output = self.run(arguments, environment);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {complaint}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn complaint(&self, arguments: &[&str], environment: &[(&str, &str)]) -> String {
        let output = self.run(arguments, environment);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && !complaint.contains("panicked"), "{arguments:?}: {complaint}");
        complaint
    }
}

/// The variables of the tools of AWS apply: an endpoint, keys, and a certificate authority.
#[test]
fn the_command_line_opens_repositories_in_buckets() {
    let Some(person) = Person::new() else { return };
    let server = Server::start(Options::in_memory().encrypted().logged()).unwrap();
    let authority = person.0.path().join("authority.pem");
    fs::write(&authority, server.certificate().unwrap()).unwrap();
    let environment = [
        ("AWS_ENDPOINT_URL", server.endpoint()),
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "verysecret"),
        ("AWS_CA_BUNDLE", authority.to_str().unwrap()),
    ];
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/wild/icechunk/repository.icechunk");
    let stored = format!("icechunk:{stored}");
    let url = format!("s3://{PREFIX}");
    let ours = format!("{url}|icechunk:");
    person.said(&["copy", &stored, &ours], &environment);
    let digest = person.said(&["digest", &stored], &[]);
    for location in [&*ours, &format!("icechunk:{url}"), &format!("{url}|icechunk:@branch.main/")] {
        assert_eq!(person.said(&["digest", location], &environment), digest, "{location}");
    }
    person.said(&["attrs", &ours, "/small", "--set", "checked=true"], &environment);
    assert!(person.said(&["attrs", &ours, "/small"], &environment).contains("checked"));
    let log = server.take_log();
    let is_signed = |request: &zarr_loopback::Request| {
        request.header("authorization").is_some_and(|it| it.contains("Credential=AKIDEXAMPLE/"))
    };
    assert!(log.iter().all(is_signed));
    for (location, variables, part) in [
        (
            format!("s3://{PREFIX}2|icechunk:@tag.v1"),
            &environment[..],
            "is empty, so it does not have the version",
        ),
        (format!("{url}|icechunk:@tag.v9"), &environment[..], "v9"),
        (format!("{url}|icechunk:?store=x"), &environment[..], "cannot have the option `store`"),
        (format!("{url}|icechunk:"), &environment[..3], "certificate"),
        ("s3://typo/data|icechunk:".to_owned(), &environment[..], "the bucket does not exist"),
        (format!("{}/{PREFIX}/chunks|icechunk:", server.endpoint()), &[], "certificate"),
        (format!(r#"{{"type": "icechunk", "path": "{url}"}}"#), &environment[..], "names it in `store`"),
    ] {
        let complaint = person.complaint(&["tree", &location], variables);
        assert!(complaint.contains(part) && !complaint.contains("verysecret"), "{location}: {complaint}");
    }
}
