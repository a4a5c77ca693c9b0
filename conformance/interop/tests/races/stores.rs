//! The races of `main.rs` over an object store and through the C ABI, and races without protection.

use std::process::Command;

use zarr_interop::azurite;
use zarr_kit::loaded::Loader;
use zarr_kit::{ArrayBuilder, Context, Format, Registry, Selection};
use zarr_loopback::{Options, Server};

use crate::{CARELESS, LOADED, ROUNDS, Race, numbers, racers};

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
fn on_s3(options: Options) -> Race {
    let server = Server::start(options).unwrap();
    let store = format!(
        r#"{{"type": "s3", "url": "s3://bench/data.zarr", "endpoint": "{}", "anonymous": true}}"#,
        server.endpoint()
    );
    Race::at(server, store, Format::V3)
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

/// Runs the races of parts of a chunk, parts of a shard and attributes.
fn all_changes_are_there(race: &Race) {
    race.create("/a", &numbers(racers() * ROUNDS));
    race.run("parts");
    let whole: Vec<u64> = (1..=racers() * ROUNDS).collect();
    assert_eq!(race.read("/a"), whole);
    race.run("attributes");
    let array = race.open().array("/a").unwrap();
    assert_eq!(array.attributes().get("count").and_then(|count| count.as_u64()), Some(racers() * ROUNDS));
    race.open().erase("/a").unwrap();
    race.create("/a", &numbers(4).shards([racers() * ROUNDS]));
    race.run("parts");
    assert_eq!(race.read("/a"), whole);
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

#[test]
fn appended_rows_are_all_there_in_azurite() {
    in_azurite("appended_rows_are_all_there_in_azurite", |race| {
        race.create("/a", &ArrayBuilder::new([0, 2], "uint64").chunks([3, 2]));
        race.run("append");
        rows_are_all_there(&race);
    });
}

#[test]
fn one_process_creates_each_array_in_an_object_store() {
    let race = on_s3(Options::in_memory());
    race.run("create");
    let hierarchy = race.open();
    for round in 0..ROUNDS {
        let array = hierarchy.array(&*format!("/g{}/{round}", round % 3)).unwrap();
        let creator = array.attributes().get("creator").and_then(|creator| creator.as_u64()).unwrap();
        assert!(creator < racers());
        // Without locks, another program that tries to create the array may erase its first chunks.
        let elements = array.read_values::<u64>(&Selection::All).unwrap().to_vec();
        assert!(elements.iter().all(|element| [0, creator + 1].contains(element)), "{elements:?}");
    }
}

/// `docs/promises.md` states that an append adds its own rows in a store without locks, unless it is interrupted.
#[test]
fn appended_rows_are_all_there_in_an_object_store() {
    let race = on_s3(Options::in_memory());
    race.create("/a", &ArrayBuilder::new([0, 2], "uint64").chunks([3, 2]));
    race.run("append");
    rows_are_all_there(&race);
}

fn rows_are_all_there(race: &Race) {
    let rows = race.read("/a");
    let mut rows: Vec<[u64; 2]> = rows.chunks(2).map(|row| [row[0], row[1]]).collect();
    rows.sort_unstable();
    let all = (0..racers()).flat_map(|number| (0..ROUNDS).map(move |round| [number + 1, round + 1]));
    assert_eq!(rows, all.collect::<Vec<_>>());
}

#[test]
fn all_changes_are_there_with_a_loaded_store() {
    all_changes_are_there(&Race::new(Format::V3).variable(LOADED));
    let race = Race::new(Format::V3).variable(LOADED);
    race.create("/a", &ArrayBuilder::new([0, 2], "uint64").chunks([3, 2]));
    race.run("append");
    rows_are_all_there(&race);
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
