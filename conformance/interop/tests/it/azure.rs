//! Azure Blob Storage, for which Azurite stands in.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
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
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn container(endpoint: &str, url: &str) -> Arc<dyn Store> {
    let description = json!({"type": "az", "url": url, "endpoint": endpoint});
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
fn zarrctl_uses_the_variables_of_the_azure_tools() {
    let Some(azurite) = azurite() else { return };
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().join("local.zarr");
    let url = "az://bench/copied.zarr";
    let run = |arguments: &[&str], account: &str| {
        let mut command = Command::new(zarrctl());
        command.args(arguments).envs(azurite.credentials());
        command.env("AZURE_STORAGE_ENDPOINT", azurite.endpoint()).env("AZURE_ALLOW_HTTP", "true");
        if !account.is_empty() {
            command.env("AZURE_STORAGE_ACCOUNT_KEY", account);
        }
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    };
    let local = local.to_str().unwrap();
    let created = run(&["create", local, "/a", "--shape", "4", "--dtype", "uint8"], "");
    assert!(created.0, "{}", created.1);
    let copied = run(&["copy", local, url], "");
    assert!(copied.0, "{}", copied.1);
    let tree = run(&["tree", url], "");
    assert!(tree.0 && tree.1.contains("a uint8 [4]"), "{}", tree.1);
    let refused = run(&["tree", url], "d3Jvbmcga2V5");
    assert!(!refused.0 && refused.1.contains("403") && !refused.1.contains("d3Jvbmc"), "{}", refused.1);
}
