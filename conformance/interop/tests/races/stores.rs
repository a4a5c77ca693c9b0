//! The races of `main.rs` over an object store and through the C ABI, and races without protection.

use std::process::Command;

use zarr_interop::{azurite, key};
use zarr_kit::loaded::Loader;
use zarr_kit::{Context, Format, Registry, Selection};
use zarr_loopback::{Fault, Options, Request, Server};

use crate::{CARELESS, LOADED, ROUNDS, Race, bodies, numbers, racers};

// The library with all plugins, which Cargo places next to the tests.
use zarr_conformance_library as _;

/// The number of unprotected races. At least one of them must lose a change; with eight processes, more than half of
/// them do.
const CARELESS_RACES: usize = 20;

/// Returns a context with the plugins of the loaded library.
pub(crate) fn loaded_context() -> Context {
    let library = std::env::current_exe().unwrap().with_file_name("libzarr_conformance_library.so");
    let mut registry = Registry::empty();
    assert_eq!(Loader::of_one(&library).unwrap().register(&mut registry), []);
    Context::new(registry).with_one_thread()
}

/// Starts an object store in this process. It applies conditions unless `options` turn them off.
pub(crate) fn on_s3(options: Options) -> Race {
    let server = Server::start(options).unwrap();
    let race = at_s3(&server);
    Race { _place: Box::new(server), ..race }
}

fn at_s3(server: &Server) -> Race {
    let store = format!(
        r#"{{"type": "s3", "url": "s3://bench/data.zarr", "endpoint": "{}", "anonymous": true}}"#,
        server.endpoint()
    );
    Race::at((), store, Format::V3)
}

/// The variable with the URL of a service, whose credentials are in the environment, too.
const SERVICE: &str = "ZARR_KIT_RACE_SERVICE";

/// Runs this program again with only the test of this name, and with the credentials of a service in the environment.
fn run_again<'v>(test: &str, endpoint: &str, credentials: impl IntoIterator<Item = (&'v str, &'v str)>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("stores::{test}"), "--exact", "--nocapture"]);
    let output = command.env(SERVICE, endpoint).envs(credentials).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Runs `races` in a container of Azurite.
fn in_azurite(test: &str, races: impl FnOnce(Race)) {
    if let Ok(endpoint) = std::env::var(SERVICE) {
        let url = format!("az://bench/{test}");
        let store = format!(r#"{{"type": "az", "url": "{url}", "endpoint": "{endpoint}"}}"#);
        return races(Race::at((), store, Format::V3));
    }
    let Some(azurite) = azurite() else { return };
    run_again(test, azurite.endpoint(), azurite.credentials());
}

/// Runs all races in a remote store.
fn all_changes_are_there(race: &Race) {
    bodies::all(race);
    bodies::consolidations(race);
    // A first consolidation at the same time as a change may leave an old copy. Another one replaces it.
    race.open().consolidate("/").unwrap();
    bodies::copies_are_current(race);
}

#[test]
fn all_changes_are_there_in_an_object_store() {
    all_changes_are_there(&on_s3(Options::in_memory()));
}

/// Conditions of Google Cloud Storage compare generations. The loopback server has generations, and the file of the
/// service account disables authentication.
#[test]
fn all_changes_are_there_in_a_store_with_generations() {
    if std::env::var_os(SERVICE).is_some() {
        let store = r#"{"type": "gs", "url": "gs://bench/data.zarr"}"#;
        return all_changes_are_there(&Race::at((), store.to_owned(), Format::V3));
    }
    let server = Server::start(Options::in_memory().logged()).unwrap();
    let endpoint = server.endpoint();
    let account = format!(
        r#"{{"client_email": "a", "private_key": "", "private_key_id": "", "gcs_base_url": "{endpoint}",
             "disable_oauth": true}}"#
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("account.json");
    std::fs::write(&file, account).unwrap();
    let test = "all_changes_are_there_in_a_store_with_generations";
    run_again(test, endpoint, [("GOOGLE_SERVICE_ACCOUNT", file.to_str().unwrap())]);
    let conditions = server.take_log();
    let conditions = conditions.iter().filter_map(|request| request.header("x-goog-if-generation-match"));
    // 0 is the generation of a missing object.
    assert!(conditions.filter(|generation| *generation != "0").count() as u64 > racers() * ROUNDS);
}

#[test]
fn all_changes_are_there_in_azurite() {
    in_azurite("all_changes_are_there_in_azurite", |race| all_changes_are_there(&race));
}

/// Checks that chunks of the array are deleted, and only under the condition in `header`.
fn fill_values_are_deleted(store: impl Fn(&Server) -> Race, header: &str) {
    let server = Server::start(Options::in_memory().logged()).unwrap();
    let race = store(&server);
    let _before = server.take_log();
    bodies::on_and_off(&race);
    let log = server.take_log();
    let is_deletion = |request: &&Request| request.method == "DELETE" && request.path.contains("/c/");
    let deletions: Vec<_> = log.iter().filter(is_deletion).collect();
    assert!(!deletions.is_empty());
    assert!(deletions.iter().all(|request| request.header(header).is_some()));
}

/// The chunk has the fill value again and again.
#[test]
fn chunks_of_fill_values_are_deleted_under_a_condition_in_s3() {
    fill_values_are_deleted(at_s3, "if-match");
}

#[test]
fn chunks_of_fill_values_are_deleted_under_a_condition_in_a_store_with_generations() {
    let at_gs = |server: &Server| {
        let store = format!(
            r#"{{"type": "gs", "url": "gs://bench/data.zarr", "endpoint": "{}", "anonymous": true}}"#,
            server.endpoint()
        );
        Race::at((), store, Format::V3)
    };
    fill_values_are_deleted(at_gs, "x-goog-if-generation-match");
}

#[test]
fn chunks_of_fill_values_are_deleted_under_a_condition_in_azurite() {
    in_azurite("chunks_of_fill_values_are_deleted_under_a_condition_in_azurite", |race| {
        bodies::on_and_off(&race);
        let array = race.open().array("/a").unwrap();
        array
            .write_values(&Selection::All, &vec![0_u64; usize::try_from(racers() * ROUNDS).unwrap()])
            .unwrap();
        array.write_values(Selection::from(0..1), &[1_u64]).unwrap();
        let store = race.open_store();
        let size = || store.size(&key("a/c/0")).unwrap();
        assert!(size().is_some());
        array.write_values(Selection::from(0..1), &[0_u64]).unwrap();
        assert_eq!(size(), None);
        assert!(store.capabilities().conditional_erase);
    });
}

#[test]
fn chunks_of_fill_values_are_replaced_in_an_object_store_without_conditional_deletions() {
    let faults = |request: &Request| (request.method == "DELETE").then_some(Fault::Refuse(501));
    let server = Server::start(Options::in_memory().logged().with_faults(faults)).unwrap();
    let race = at_s3(&server);
    race.create("/a", &numbers(racers() * ROUNDS));
    let _before = server.take_log();
    race.run("on and off");
    assert_eq!(race.read("/a"), (1..=racers() * ROUNDS).collect::<Vec<_>>());
    let log = server.take_log();
    let is_chunk = |request: &&Request| request.path.contains("/c/");
    let chunks: Vec<_> = log.iter().filter(is_chunk).collect();
    assert!(chunks.iter().any(|request| request.method == "PUT" && request.header("if-match").is_some()));
    assert!(!chunks.iter().any(|request| request.method == "DELETE"));
    // A request that deletes several keys has the method POST. Each process makes two, for the keys with which it checks
    // that the server applies conditions.
    let deletions = log.iter().filter(|request| request.method == "POST").count() as u64;
    assert!(deletions <= 2 * racers(), "{deletions}");
}

/// The write of a whole chunk needs no condition, also if it deletes the chunk.
#[test]
fn whole_chunks_of_fill_values_are_deleted_without_a_condition_in_an_object_store() {
    let faults = |request: &Request| (request.method == "DELETE").then_some(Fault::Refuse(501));
    let server = Server::start(Options::in_memory().logged().with_faults(faults)).unwrap();
    bodies::serial_orders_with_fill_values(&at_s3(&server));
    let log = server.take_log();
    let deletions: Vec<_> = log.iter().filter(|request| request.method == "POST").collect();
    assert!(deletions.len() as u64 >= 2 * ROUNDS, "{}", deletions.len());
    assert!(deletions.iter().all(|request| request.header("if-match").is_none()));
}

#[test]
fn all_changes_are_there_with_a_loaded_store() {
    let race = Race::new(Format::V3).variable(LOADED);
    bodies::all(&race);
    bodies::consolidations(&race);
    bodies::copies_are_current(&race);
}

/// Returns whether a race without protection loses an element.
fn loses(race: &Race) -> bool {
    race.create("/a", &numbers(racers() * ROUNDS));
    race.run("parts");
    race.read("/a").contains(&0)
}

/// The checks of the races find lost changes.
#[test]
fn races_without_conditions_lose_changes() {
    let without_locks = || Race::with(Format::V3, r#", "locking": "none""#).variable(CARELESS);
    assert!((0..CARELESS_RACES).any(|_| loses(&without_locks())), "no race on files lost an element");
    let without_conditions = || on_s3(Options::in_memory().ignoring_conditions()).variable(CARELESS);
    assert!((0..CARELESS_RACES).any(|_| loses(&without_conditions())), "no race on S3 lost an element");
}
