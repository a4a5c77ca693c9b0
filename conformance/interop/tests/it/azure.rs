//! Azure Blob Storage, for which Azurite stands in.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use zarr_conformance::stores::{check_rules, rule_names};
use zarr_interop::{azurite, key, zarrctl};
use zarr_kit::spec::store::{Condition, ConditionalWrite, Store, get_value};
use zarr_kit::{Context, open_store};

/// The variable with the URL of an Azurite that is running, whose credentials are in the environment.
const AZURITE: &str = "ZARR_KIT_AZURITE";

/// Runs the test of this name again in another process, which has the credentials of an Azurite. That process calls
/// `test` with the URL of the Azurite.
fn with_azurite(name: &str, test: impl FnOnce(&str)) {
    if let Ok(endpoint) = std::env::var(AZURITE) {
        return test(&endpoint);
    }
    let Some(azurite) = azurite() else { return };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("azure::{name}"), "--exact", "--nocapture"]);
    command.env(AZURITE, azurite.endpoint()).envs(azurite.credentials());
    succeeds(&mut command);
}

fn container(endpoint: &str, url: &str) -> Arc<dyn Store> {
    opened(&json!({"type": "az", "url": url, "endpoint": endpoint}))
}

fn opened(description: &Value) -> Arc<dyn Store> {
    open_store(Context::linked().unwrap().registry(), &description.to_string()).unwrap()
}

#[test]
fn every_rule_for_stores_holds_in_azurite() {
    with_azurite("every_rule_for_stores_holds_in_azurite", |endpoint| {
        let count = AtomicUsize::new(0);
        let make =
            || container(endpoint, &format!("az://rules/{}/é &", count.fetch_add(1, Ordering::Relaxed)));
        assert_eq!(check_rules(&make, &rule_names().collect::<Vec<_>>()), Ok(()));
    });
}

#[test]
fn azurite_applies_conditions() {
    with_azurite("azurite_applies_conditions", |endpoint| {
        let store = container(endpoint, "az://bench/conditions");
        let set_if =
            |value: &[u8], condition: &Condition| store.set_if(&key("k"), value.into(), condition).unwrap();
        let ConditionalWrite::Done(Some(first)) = set_if(b"1", &Condition::Missing) else {
            panic!("a new value has no version")
        };
        assert!(set_if(b"2", &Condition::Missing).is_conflict());
        let ConditionalWrite::Done(Some(_)) = set_if(b"3", &Condition::Unchanged(first.clone())) else {
            panic!("an unchanged value is not replaced")
        };
        assert!(set_if(b"4", &Condition::Unchanged(first)).is_conflict());
        assert!(store.capabilities().conditional_set);
        assert_eq!(&*get_value(&*store, &key("k"), 10).unwrap().unwrap(), b"3");
        // The check whether Azurite applies conditions removed its temporary objects.
        assert_eq!(store.list().unwrap(), [key("k")]);
    });
}

#[test]
fn azurite_applies_the_conditions_of_deletions() {
    with_azurite("azurite_applies_the_conditions_of_deletions", |endpoint| {
        let store = container(endpoint, "az://bench/deletions");
        values_are_deleted_if_they_are_unchanged(&*store);
        // The check whether Azurite applies conditions removed its temporary objects.
        assert!(store.list().unwrap().is_empty());
    });
}

/// Another process has only a shared access signature.
#[test]
fn conditional_deletions_need_only_a_signature() {
    const SIGNATURE: &str = "ZARR_KIT_AZURITE_SIGNATURE";
    if let Ok(endpoint) = std::env::var(SIGNATURE) {
        // Azurite answers 500 to the request that deletes the keys of the check, and it would be repeated for minutes.
        let description =
            json!({"type": "az", "url": "az://bench/signature", "endpoint": endpoint, "retry-seconds": 2});
        return values_are_deleted_if_they_are_unchanged(&*opened(&description));
    }
    let Some(azurite) = azurite() else { return };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["azure::conditional_deletions_need_only_a_signature", "--exact", "--nocapture"]);
    command.env(SIGNATURE, azurite.endpoint());
    command.env("AZURE_STORAGE_ACCOUNT", azurite.account());
    command.env("AZURE_STORAGE_SAS_TOKEN", azurite.signature());
    succeeds(&mut command);
}

fn values_are_deleted_if_they_are_unchanged(store: &dyn Store) {
    let at = key("é &/k");
    let write =
        |value: &[u8], condition: Condition| match store.set_if(&at, value.into(), &condition).unwrap() {
            ConditionalWrite::Done(Some(version)) => version,
            other => panic!("{other:?}"),
        };
    let first = write(b"1", Condition::Missing);
    let second = write(b"2", Condition::Unchanged(first.clone()));
    assert!(store.erase_if(&at, &first).unwrap().is_conflict());
    assert_eq!(&*get_value(store, &at, 10).unwrap().unwrap(), b"2");
    assert_eq!(store.erase_if(&at, &second).unwrap(), ConditionalWrite::Done(None));
    assert_eq!(get_value(store, &at, 10).unwrap(), None);
    assert!(store.erase_if(&at, &second).unwrap().is_conflict());
    assert!(store.capabilities().conditional_erase);
}

/// Runs a test again in another process.
fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Runs `zarrctl` with only these variables of Azure. Returns whether it succeeds, and its output.
fn run(arguments: &[&str], variables: &[(&str, &str)]) -> (bool, String) {
    let output = Command::new(zarrctl()).args(arguments).envs(variables.iter().copied()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn zarrctl_uses_the_variables_of_the_azure_tools() {
    let Some(azurite) = azurite() else { return };
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().join("local.zarr");
    let local = local.to_str().unwrap();
    let created = run(&["create", local, "/a", "--shape", "4", "--dtype", "uint8"], &[]);
    assert!(created.0, "{}", created.1);
    let endpoint = azurite.endpoint();
    let account = azurite.account();
    let key = azurite.key();
    let signature = azurite.signature();
    let with_key = format!("AccountName={account};AccountKey={key};BlobEndpoint={endpoint};");
    let with_signature = format!("BlobEndpoint={endpoint}/;SharedAccessSignature={signature}");
    let url = ("AZURE_STORAGE_ENDPOINT", endpoint);
    let plain = ("AZURE_ALLOW_HTTP", "true");
    let name = ("AZURE_STORAGE_ACCOUNT", account);
    let other_name = ("AZURE_STORAGE_ACCOUNT_NAME", account);
    let is_shown = |url: &str, variables: &[(&str, &str)]| {
        let tree = run(&["tree", url], variables);
        assert!(tree.0 && tree.1.contains("a uint8 [4]"), "{variables:?}: {}", tree.1);
    };
    let with_keys: [&[(&str, &str)]; 3] = [
        &[url, plain, other_name, ("AZURE_STORAGE_ACCOUNT_KEY", key)],
        &[url, plain, name, ("AZURE_STORAGE_KEY", key)],
        &[("AZURE_STORAGE_CONNECTION_STRING", &with_key)],
    ];
    for (number, variables) in with_keys.into_iter().enumerate() {
        let url = format!("az://bench/copied{number}.zarr");
        let copied = run(&["copy", local, &url], variables);
        assert!(copied.0, "{number}: {}", copied.1);
        is_shown(&url, variables);
    }
    // With a shared access signature, Azurite answers 500 to a request that deletes several objects, so nothing is
    // copied.
    let with_signatures: [&[(&str, &str)]; 2] = [
        &[url, plain, name, ("AZURE_STORAGE_SAS_TOKEN", signature)],
        &[("AZURE_STORAGE_CONNECTION_STRING", &with_signature)],
    ];
    for variables in with_signatures {
        is_shown("az://bench/copied0.zarr", variables);
    }
    let wrong = "d3Jvbmcga2V5";
    let of_other = format!("AccountName={account};AccountKey={wrong};BlobEndpoint={endpoint}");
    let refusals: [(&[(&str, &str)], &str); 3] = [
        (&[url, plain, other_name, ("AZURE_STORAGE_ACCOUNT_KEY", wrong)], "403"),
        (&[("AZURE_STORAGE_CONNECTION_STRING", &of_other)], "403"),
        (&[("AZURE_STORAGE_CONNECTION_STRING", "AccountKey=d3Jvbmc")], "`AccountName` in"),
    ];
    for (variables, reason) in refusals {
        let refused = run(&["tree", "az://bench/copied0.zarr"], variables);
        let is_right = !refused.0 && refused.1.contains(reason) && !refused.1.contains("d3Jvbmc");
        assert!(is_right, "{}", refused.1);
    }
}
