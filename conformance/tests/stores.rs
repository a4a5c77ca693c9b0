//! The rules for stores, checked with a store that implements only the required methods and with faulty stores.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use zarr_conformance::stores::{
    MinimalStore, check_reopened, check_rules, check_store, cited_rows, rule_names,
};
use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Contents, Directory, GetOptions, GetResult, Keys, Payload,
    ReadHints, Request, Responses, Store, StoreError, StoreLock, Version, get_value,
};
use zarr_spec::{ByteRange, Key, Output, Prefix};

const ALL: Capabilities = Capabilities::ALL;

fn minimal(capabilities: Capabilities) -> impl Fn() -> Arc<dyn Store> {
    move || Arc::new(MinimalStore::new(capabilities))
}

/// Tests D3-STORE-33, D3-STORE-32, D3-STORE-15.
#[test]
fn missing_methods_are_derived_from_the_required_ones() {
    check_rules(&minimal(ALL), &["D3-STORE-33", "D3-STORE-32", "D3-STORE-15"]).unwrap();
    for (rule, verdict) in check_store(&minimal(ALL)) {
        assert_eq!(verdict, Ok(()), "{rule}");
    }
}

/// Tests D3-STORE-09, D3-STORE-24.
#[test]
fn a_store_reports_its_missing_capabilities() {
    let read_only = ALL.read_only();
    let write_only = ALL.unreadable().unlistable();
    let like_zip = ALL.unerasable();
    let unlisted = ALL.unlistable();
    let conditional = Capabilities::ALL_AND_CONDITIONAL;
    let like_s3 = conditional.without_conditional_erase();
    for capabilities in [read_only, write_only, like_zip, unlisted, conditional, like_s3] {
        for (rule, verdict) in check_store(&minimal(capabilities)) {
            assert_eq!(verdict, Ok(()), "{rule}, {capabilities:?}");
        }
    }
    let store = MinimalStore::with_values(read_only, &[("k", b"v")]);
    let key = Key::new("k").unwrap();
    let error = store.set(&key, b"w".into()).unwrap_err();
    assert_eq!(error.to_string(), "the store minimal: is not writeable");
    assert!(store.set_partial_values(&[(key.clone(), 0, b"w")]).is_err());
    assert_eq!(
        store.erase_prefix(&Prefix::root()).unwrap_err().to_string(),
        "the store minimal: is not erasable"
    );
    assert_eq!(store.size(&key).unwrap(), Some(1));
}

#[test]
fn rule_names_are_unique_and_unknown_names_are_refused() {
    let mut names: Vec<_> = rule_names().collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rule_names().count());
    assert!(names.len() > 35, "{} rules", names.len());
    let error = check_rules(&minimal(ALL), &["D3-STORE-99"]).unwrap_err();
    assert_eq!(error, "D3-STORE-99: unknown rule");
    assert_eq!(cited_rows(" Tests D3-STORE-04, D3-STORE-05."), ["D3-STORE-04", "D3-STORE-05"]);
    assert!(check_rules(&minimal(ALL), &cited_rows(" Values are set.")).is_err());
}

/// The faults of stores, and the rules that detect them.
const FAULTS: &[(Fault, &[&str])] = &[
    (Fault::MissingIsEmpty, &["D3-STORE-11", "D3-STORE-19", "D3-STORE-12"]),
    (Fault::RangesPastTheEndAreMissing, &["D3-STORE-14"]),
    (Fault::LimitIsIgnored, &["store-too-large", "D3-STORE-12"]),
    (Fault::SizeIsThatOfThePart, &["store-size"]),
    (Fault::SetKeepsTheFirstValue, &["D3-STORE-05"]),
    (Fault::KeysAreFolded, &["D3-STORE-06"]),
    (Fault::ErasesNeighbours, &["D3-STORE-22"]),
    (Fault::EraseDoesNothing, &["D3-STORE-19", "D3-STORE-21", "D3-STORE-24", "store-own-values-under-load"]),
    (Fault::ListsTwice, &["D3-STORE-25", "store-listing-while-erasing"]),
    (Fault::ListsTooMuch, &["D3-STORE-26", "D3-STORE-27"]),
    (Fault::DirectoryIsDeep, &["D3-STORE-29"]),
    (Fault::DropsRequests, &["D3-STORE-12"]),
    (Fault::ClaimsToLackEverything, &["D3-STORE-09", "D3-STORE-24"]),
    (Fault::WritesInHalves, &["store-whole-values-under-load"]),
    (
        Fault::IgnoresConditions,
        &["store-create-if-missing", "store-replace-if-unchanged", "store-create-race"],
    ),
    (Fault::IgnoresVersions, &["store-replace-if-unchanged", "store-versions", "store-update-race"]),
    (Fault::ErasesAnyVersion, &["store-erase-if-unchanged"]),
    (Fault::ComparesThenErases, &["store-erase-race"]),
    (Fault::VersionIsTheSize, &["store-versions"]),
    (Fault::OmitsVersions, &["store-replace-if-unchanged", "store-versions"]),
    (Fault::ComparesThenWrites, &["store-update-race", "store-whole-and-conditional-race"]),
    (Fault::SetBypassesConditions, &["store-whole-and-conditional-race"]),
    (Fault::LocksNothing, &["store-locks"]),
    (Fault::WritesWithoutTheCapability, &["store-unconditional"]),
    (Fault::CommitDropsChanges, &["store-commit"]),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    MissingIsEmpty,
    RangesPastTheEndAreMissing,
    LimitIsIgnored,
    SizeIsThatOfThePart,
    SetKeepsTheFirstValue,
    KeysAreFolded,
    ErasesNeighbours,
    EraseDoesNothing,
    ListsTwice,
    ListsTooMuch,
    DirectoryIsDeep,
    DropsRequests,
    ClaimsToLackEverything,
    WritesInHalves,
    IgnoresConditions,
    IgnoresVersions,
    ErasesAnyVersion,
    ComparesThenErases,
    VersionIsTheSize,
    OmitsVersions,
    ComparesThenWrites,
    SetBypassesConditions,
    LocksNothing,
    WritesWithoutTheCapability,
    CommitDropsChanges,
}

#[test]
fn every_fault_breaks_its_rules() {
    for &(fault, rules) in FAULTS {
        let make = move || -> Arc<dyn Store> {
            let store = MinimalStore::new(Capabilities::ALL_AND_CONDITIONAL);
            Arc::new(Faulty { store, fault, comparing: Mutex::default() })
        };
        for rule in rules {
            assert!(check_rules(&make, &[rule]).is_err(), "{rule} holds despite {fault:?}");
        }
    }
}

/// A store with one fault.
#[derive(Debug)]
struct Faulty {
    store: MinimalStore,
    fault: Fault,
    /// Serializes conditional writes, but not unconditional ones.
    comparing: Mutex<()>,
}

impl Faulty {
    fn key(&self, key: &Key) -> Key {
        match self.fault {
            Fault::KeysAreFolded => Key::new(key.as_str().to_lowercase()).unwrap_or_else(|_| key.clone()),
            _ => key.clone(),
        }
    }

    fn version(&self, key: &Key) -> Result<Option<Version>, StoreError> {
        let mut output = Output::at_most(1 << 20);
        let found = self.get(key, GetOptions::for_update(ByteRange::Full), &mut output)?;
        Ok(found.and_then(|found| found.version))
    }

    /// Compares, waits and writes.
    fn compare_then_set(
        &self,
        key: &Key,
        value: Payload<'_>,
        condition: &Condition,
    ) -> Result<ConditionalWrite, StoreError> {
        if !condition.holds(self.version(key)?.as_ref()) {
            return Ok(ConditionalWrite::Conflict);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        self.store.set(key, value).map(|()| ConditionalWrite::Done(None))
    }
}

impl Store for Faulty {
    fn location(&self) -> String {
        "faulty:".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        match self.fault {
            Fault::ClaimsToLackEverything => ALL.unlistable().unerasable(),
            Fault::WritesWithoutTheCapability => ALL,
            _ => self.store.capabilities(),
        }
    }

    fn read_hints(&self) -> ReadHints {
        self.store.read_hints()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let limit = to.remaining();
        let mut got = self.store.get(&self.key(key), options, to);
        match (self.fault, &mut got) {
            (Fault::MissingIsEmpty, Ok(None)) => {
                return Ok(Some(GetResult::new(Contents::Written, 0, None)));
            }
            (Fault::RangesPastTheEndAreMissing, Ok(Some(_))) if to.written().is_empty() => return Ok(None),
            (Fault::VersionIsTheSize, Ok(Some(got))) => {
                got.version = Some(Version::new(got.size.to_le_bytes()));
            }
            (Fault::OmitsVersions, Ok(Some(got))) => got.version = None,
            (Fault::SizeIsThatOfThePart, Ok(Some(got))) => got.size = to.written().len() as u64,
            (Fault::LimitIsIgnored, Err(StoreError::TooLarge { .. })) => {
                to.put(&vec![0; limit])
                    .map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
                return Ok(Some(GetResult::new(Contents::Written, limit as u64, None)));
            }
            _ => {}
        }
        got
    }

    fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        let delivered =
            requests.len() - usize::from(self.fault == Fault::DropsRequests && requests.len() > 1);
        let answer = move |(number, request): (usize, Request)| {
            let mut output = Output::at_most(request.limit);
            let got = self.get(&request.key, request.options, &mut output);
            (number, got.map(|got| got.map(|got| got.into_response(output))))
        };
        assert!(budget <= 1 << 20);
        Box::new(requests.into_iter().enumerate().take(delivered).map(answer))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        let key = self.key(key);
        match self.fault {
            Fault::SetKeepsTheFirstValue if self.store.size(&key)?.is_some() => Ok(()),
            Fault::WritesInHalves => {
                self.store.set(&key, (&value[..value.len() / 2]).into())?;
                std::thread::sleep(std::time::Duration::from_millis(1));
                self.store.set(&key, value)
            }
            _ => self.store.set(&key, value),
        }
    }

    fn set_if(
        &self,
        key: &Key,
        value: Payload<'_>,
        condition: &Condition,
    ) -> Result<ConditionalWrite, StoreError> {
        match (self.fault, condition) {
            (Fault::IgnoresConditions, _) | (Fault::IgnoresVersions, Condition::Unchanged(_)) => {
                // Other threads write between the read and the write of this one.
                std::thread::sleep(std::time::Duration::from_millis(1));
                self.store.set(key, value).map(|()| ConditionalWrite::Done(None))
            }
            (Fault::VersionIsTheSize | Fault::ComparesThenWrites, _) => {
                self.compare_then_set(key, value, condition)
            }
            (Fault::SetBypassesConditions, _) => {
                let _one_at_a_time = self.comparing.lock().unwrap_or_else(PoisonError::into_inner);
                self.compare_then_set(key, value, condition)
            }
            _ => self.store.set_if(key, value, condition),
        }
    }

    fn commit(&self) -> Result<(), StoreError> {
        match self.fault {
            Fault::CommitDropsChanges => self.store.erase_prefix(&Prefix::root()),
            _ => Ok(()),
        }
    }

    fn lock(&self, _key: &Key) -> Result<Option<StoreLock>, StoreError> {
        Ok((self.fault == Fault::LocksNothing).then(|| Box::new(()) as StoreLock))
    }

    fn erase_if(&self, key: &Key, version: &Version) -> Result<ConditionalWrite, StoreError> {
        match self.fault {
            Fault::ErasesAnyVersion => self.store.erase(key).map(|()| ConditionalWrite::Done(None)),
            Fault::ComparesThenErases => {
                if self.version(key)?.as_ref() != Some(version) {
                    return Ok(ConditionalWrite::Conflict);
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
                self.store.erase(key).map(|()| ConditionalWrite::Done(None))
            }
            _ => self.store.erase_if(key, version),
        }
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        match self.fault {
            Fault::EraseDoesNothing => Ok(()),
            _ => self.store.erase(&self.key(key)),
        }
    }

    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        let begins = prefix.as_str().trim_end_matches('/');
        let is_erased = |key: &Key| match self.fault {
            Fault::ErasesNeighbours => key.as_str().starts_with(begins),
            _ => prefix.strip(key.as_str()).is_some(),
        };
        let store: &dyn Store = &self.store;
        let keys = store.list()?;
        keys.iter().filter(|key| is_erased(key)).try_for_each(|key| self.erase(key))
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        match self.fault {
            Fault::ListsTooMuch => self.store.list_prefix(&Prefix::root()),
            Fault::ListsTwice => {
                Ok(Box::new(self.store.list_prefix(prefix)?.chain(self.store.list_prefix(prefix)?)))
            }
            _ => self.store.list_prefix(prefix),
        }
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        match self.fault {
            Fault::DirectoryIsDeep => {
                let keys = self.store.list_prefix(prefix)?.collect::<Result<_, _>>()?;
                Ok(Directory::new(keys, self.store.list_dir(prefix)?.prefixes))
            }
            _ => self.store.list_dir(prefix),
        }
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.store.size(&self.key(key))
    }
}

/// Copies the values of `from` to `to`, and removes all others.
fn copy(from: &dyn Store, to: &dyn Store) {
    to.erase_prefix(&Prefix::root()).unwrap();
    for key in from.list().unwrap() {
        let value = get_value(from, &key, 1 << 20).unwrap().unwrap();
        to.set(&key, Payload::from(&value[..])).unwrap();
    }
}

/// A store that collects changes in memory until they are committed to a disk.
#[derive(Debug)]
struct Collecting {
    disk: Arc<MinimalStore>,
    memory: MinimalStore,
    commits: AtomicUsize,
    /// The number of commits that reach the disk.
    kept: usize,
}

impl Collecting {
    fn open(disk: &Arc<MinimalStore>, kept: usize) -> Self {
        let memory = MinimalStore::new(ALL);
        copy(&**disk, &memory);
        Self { disk: Arc::clone(disk), memory, commits: AtomicUsize::new(0), kept }
    }
}

impl Drop for Collecting {
    fn drop(&mut self) {
        self.commit().unwrap();
    }
}

impl Store for Collecting {
    fn location(&self) -> String {
        "collecting:".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        ALL
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.memory.get(key, options, to)
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.memory.set(key, value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.memory.erase(key)
    }

    fn commit(&self) -> Result<(), StoreError> {
        if self.commits.fetch_add(1, Ordering::SeqCst) < self.kept {
            copy(&self.memory, &*self.disk);
        }
        Ok(())
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        self.memory.list_prefix(prefix)
    }
}

#[test]
fn a_store_that_loses_a_finished_commit_is_found_when_it_is_opened_again() {
    let verdict = |kept: usize| {
        let disk = Arc::new(MinimalStore::new(ALL));
        check_reopened(&|| Ok(Arc::new(Collecting::open(&disk, kept))))
    };
    assert_eq!(verdict(usize::MAX), Ok(()));
    for kept in 0..2 {
        assert!(verdict(kept).unwrap_err().starts_with("value of `a`"), "{kept}");
    }
    // The first store is committed twice and when it is dropped.
    let opened = AtomicUsize::new(0);
    let disk = Arc::new(MinimalStore::new(ALL));
    let loses_drops = check_reopened(&|| {
        let kept = if opened.fetch_add(1, Ordering::SeqCst) == 1 { 0 } else { usize::MAX };
        Ok(Arc::new(Collecting::open(&disk, kept)))
    });
    assert!(loses_drops.unwrap_err().starts_with("value of `e`"));
}
