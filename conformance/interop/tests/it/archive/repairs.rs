//! Repairs: nothing is deleted, and nothing is invented.

use std::sync::Arc;

use zarr_kit::archive::{QUARANTINE, Repair, RepairChoices, RepairPlan, plan_repair};
use zarr_kit::spec::store::Store;
use zarr_kit::{Context, Format, Progress};

use super::{decoded, erase, get, keys, manifest, open, sample, set};

fn planned(store: &Arc<dyn Store>, choices: RepairChoices) -> RepairPlan {
    plan_repair(store, &Context::linked().unwrap(), &decoded(store), choices).unwrap()
}

fn run(store: &Arc<dyn Store>, plan: &RepairPlan) {
    plan.run(store, &Context::linked().unwrap(), &Progress::new()).unwrap();
}

fn quarantined(store: &dyn Store) -> Vec<String> {
    keys(store).into_iter().filter(|key| key.starts_with(QUARANTINE)).collect()
}

#[test]
fn leftovers_move_to_the_quarantine() {
    for format in [Format::V2, Format::V3] {
        let store = sample(format);
        let expected = manifest(&store, format).digest();
        set(&*store, "old/0.0", b"left");
        let plan = planned(&store, RepairChoices::default());
        assert_eq!(quarantined(&*store), [""; 0], "a plan writes nothing");
        assert_eq!((plan.repairs.len(), plan.remaining.len()), (1, 0));
        run(&store, &plan);
        assert!(decoded(&store).is_whole());
        assert_eq!(get(&*store, &format!("{QUARANTINE}old%2F0.0.quarantined")), b"left");
        assert_eq!(manifest(&store, format).digest(), expected);
        assert!(planned(&store, RepairChoices::default()).repairs.is_empty());
    }
}

#[test]
fn missing_groups_and_consolidated_metadata_are_written() {
    for format in [Format::V2, Format::V3] {
        let (group, root) = match format {
            Format::V2 => ("g/.zgroup", ".zgroup"),
            _ => ("g/zarr.json", "zarr.json"),
        };
        let store = sample(format);
        let expected = manifest(&store, format);
        open(&store, format).consolidate("/").unwrap();
        erase(&*store, group);
        let plan = planned(&store, RepairChoices::default());
        assert_eq!(plan.remaining, [], "{format}");
        run(&store, &plan);
        let report = decoded(&store);
        assert!(report.is_whole(), "{format}: {:?}", report.findings);
        assert_eq!(manifest(&store, format), expected, "{format}");
        erase(&*store, root);
        if format == Format::V2 {
            erase(&*store, ".zmetadata");
        }
        let plan = planned(&store, RepairChoices::default());
        assert!(
            plan.repairs
                .iter()
                .any(|repair| matches!(repair, Repair::CreateGroup { path, .. } if path == "/"))
        );
        run(&store, &plan);
        assert_eq!(manifest(&store, format).nodes.len(), expected.nodes.len(), "{format}: the root");
    }
}

#[test]
fn the_index_of_an_intact_shard_is_rebuilt() {
    let key = "sharded/c/0/0";
    let size = get(&*sample(Format::V3), key).len();
    // The index has four entries of 16 bytes and a checksum. Damages the last byte of the checksum, a byte of an
    // offset and a byte of a size.
    for place in [size - 1, size - 68 + 16, size - 68 + 24] {
        let store = sample(Format::V3);
        let intact = get(&*store, key);
        let expected = manifest(&store, Format::V3);
        let mut harmed = intact.clone();
        harmed[place] ^= 1;
        set(&*store, key, &harmed);
        let plan = planned(&store, RepairChoices::default());
        assert!(matches!(&plan.repairs[..], [Repair::RebuildIndex { .. }]), "{place}: {plan:?}");
        run(&store, &plan);
        assert_eq!(get(&*store, key), intact);
        assert_eq!(manifest(&store, Format::V3), expected);
        assert_eq!(get(&*store, &quarantined(&*store)[0]), harmed);
    }
}

#[test]
fn an_index_without_proof_is_not_rebuilt() {
    let key = "sharded/c/0/0";
    let store = sample(Format::V3);
    let mut harmed = get(&*store, key);
    let size = harmed.len();
    // Both an entry and the checksum are wrong.
    harmed[size - 1] ^= 1;
    harmed[size - 68] ^= 1;
    set(&*store, key, &harmed);
    let plan = planned(&store, RepairChoices::default());
    assert_eq!(plan.repairs, []);
    assert!(!plan.remaining.is_empty());
}

#[test]
fn damaged_chunks_stay_unless_they_are_to_be_quarantined() {
    let store = sample(Format::V3);
    let key = "gzip/c/0";
    set(&*store, key, b"not gzip");
    let plan = planned(&store, RepairChoices::default());
    assert_eq!((plan.repairs.len(), plan.remaining.len()), (0, 1));
    let plan = planned(&store, RepairChoices::default().quarantine_chunks(true));
    run(&store, &plan);
    assert!(decoded(&store).is_whole());
    assert!(!keys(&*store).contains(&key.to_owned()));
    assert_eq!(get(&*store, &quarantined(&*store)[0]), b"not gzip");
}
