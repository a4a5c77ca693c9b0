//! Processes that are killed while others write.
//!
//! `ZARR_KILLS=50` sets the number of kills of each kind of work, 5 by default, and `ZARR_KILLS_SEED` the seed of the
//! random moments, which is printed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use zarr_kit::stores::{FilesystemStore, Locking};
use zarr_kit::{ArrayBuilder, Format, Hierarchy, Node, OpenOptions, Selection};
use zarr_loopback::Options;

use crate::bodies::rows;
use crate::stores::on_s3;
use crate::writers::{MANY, array_to_erase, path_for_all, paths_to_erase};
use crate::{ROUNDS, Race, Racer, context, numbers, racers, start_together};

/// The longest time between the start of the work and a kill, in milliseconds.
const LONGEST_DELAY: u64 = 200;

/// Returns the number of kills of each kind of work.
fn kills() -> u64 {
    std::env::var("ZARR_KILLS").map_or(5, |count| count.parse().unwrap())
}

/// Returns random delays before kills. The same seed gives the same delays.
fn delays(victim: &str) -> impl Iterator<Item = Duration> {
    let mut seed: u64 = std::env::var("ZARR_KILLS_SEED").map_or(20_261_123, |seed| seed.parse().unwrap());
    println!("{victim}: seed {seed}");
    // SplitMix64.
    std::iter::repeat_with(move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Duration::from_millis((mixed ^ (mixed >> 31)) % LONGEST_DELAY)
    })
}

/// Returns the numbers of the processes that are not killed together. One number is even, the other odd.
fn pair(kill: u64) -> [u64; 2] {
    let first = 2 * (kill % ((racers() - 2) / 2));
    [first, first + 1]
}

/// Returns the numbers of all processes that are not killed.
fn survivors() -> std::ops::Range<u64> {
    0..2 * kills().min((racers() - 2) / 2)
}

/// Kills two processes at random moments, while two other processes work. These must complete their work: if they waited
/// for a dead process, they would end with an error.
fn with_kills(race: &Race, victim: &str, work: &str) {
    with_kills_and(race, victim, work, |_survivors| {});
}

/// Like [`with_kills`]. Calls `check` with the numbers of the processes that were not killed after each kill.
fn with_kills_and(race: &Race, victim: &str, work: &str, mut check: impl FnMut([u64; 2])) {
    for (kill, delay) in (0..kills()).zip(delays(victim)) {
        let mut victims = [1, 2].map(|number| race.start(victim, racers() - number));
        let mut survivors = pair(kill).map(|number| race.start(work, number));
        start_together(victims.iter_mut().chain(&mut survivors));
        std::thread::sleep(delay);
        victims.iter_mut().for_each(Racer::kill);
        survivors.into_iter().for_each(Racer::complete);
        check(pair(kill));
    }
}

/// Writers of an object store hold no locks.
#[test]
fn killed_writers_of_parts_in_an_object_store_stop_no_other() {
    killed_writers_of_parts(&on_s3(Options::in_memory()), &numbers(racers() * ROUNDS));
}

#[test]
fn killed_writers_of_parts_stop_no_other() {
    killed_writers_of_parts(&Race::new(Format::V3), &numbers(racers() * ROUNDS));
}

#[test]
fn killed_writers_of_parts_of_a_shard_stop_no_other() {
    killed_writers_of_parts(&Race::new(Format::V3), &numbers(4).shards([racers() * ROUNDS]));
}

fn killed_writers_of_parts(race: &Race, builder: &ArrayBuilder) {
    race.create("/a", builder);
    with_kills(race, "endless parts", "parts");
    for (at, value) in race.read("/a").into_iter().enumerate() {
        let is_written = survivors().contains(&(at as u64 % racers()));
        let whole = at as u64 + 1;
        assert!(value == whole || (!is_written && value == 0), "element {at}: {value}");
    }
}

#[test]
fn killed_appends_leave_whole_rows() {
    let rows = rows_after_killed_appends(&Race::new(Format::V3));
    assert!(rows.iter().all(|row| row[0] > 0 && row[1] > 0), "a row is torn: {rows:?}");
}

/// The new length is written before the rows. An append that is interrupted leaves rows of fill values.
#[test]
fn killed_appends_in_an_object_store_leave_whole_rows_or_fill_values() {
    let rows = rows_after_killed_appends(&on_s3(Options::in_memory()));
    let is_whole = |row: &[u64; 2]| *row == [0, 0] || (row[0] > 0 && row[1] > 0);
    assert!(rows.iter().all(is_whole), "a row is torn: {rows:?}");
}

/// Checks that the rows of all processes that were not killed are there. Returns all rows.
fn rows_after_killed_appends(race: &Race) -> Vec<[u64; 2]> {
    race.create("/a", &ArrayBuilder::new([0, 2], "uint64").chunks([3, 2]));
    let mut expected = Vec::new();
    with_kills_and(race, "endless append", "append", |survivors| {
        expected.extend(
            survivors.into_iter().flat_map(|number| (1..=ROUNDS).map(move |round| [number + 1, round])),
        );
    });
    let rows = rows(race);
    let mut of_survivors = rows.clone();
    of_survivors.retain(|row| row[0] > 0 && survivors().contains(&(row[0] - 1)));
    of_survivors.sort_unstable();
    expected.sort_unstable();
    assert_eq!(of_survivors, expected);
    rows
}

/// The lock files of a killed append stay. The next append fails with their names and the command that removes them.
#[test]
fn a_killed_append_with_lock_files_is_an_error_that_names_the_file_and_the_remedy() {
    let race = Race::with(Format::V3, r#", "locking": "lockfile""#);
    race.create("/a", &ArrayBuilder::new([0, 2], "uint64").chunks([3, 2]));
    // An append holds its lock most of the time.
    for delay in delays("endless append").take(100) {
        let mut victim = race.start("endless append", 0);
        start_together([&mut victim]);
        std::thread::sleep(delay);
        victim.kill();
        if lock_file(&race).is_some() {
            break;
        }
    }
    let left = lock_file(&race).expect("no append was killed while it held its lock");
    let before = rows(&race);
    assert!(before.iter().all(|row| row[0] == 1 && row[1] > 0), "{before:?}");
    let store = FilesystemStore::open_url(&race.open_store().location()).unwrap();
    let store = store.locking(Locking::Lockfile).lock_patience(Duration::from_millis(20));
    let mut array = Hierarchy::open(Arc::new(store), &context()).unwrap().array("/a").unwrap();
    let error = array.append_values(0, &[9_u64, 9]).unwrap_err().to_string();
    let left = left.to_str().unwrap();
    assert!(error.contains("has held this lock for") && error.contains(&format!("rm '{left}'")), "{error}");
    assert_eq!(rows(&race), before);
    race.hidden_files().into_iter().for_each(|file| std::fs::remove_file(file).unwrap());
    array.append_values(0, &[9_u64, 9]).unwrap();
    assert_eq!(rows(&race), [before, vec![[9, 9]]].concat());
}

/// Returns the lock file of an append that was killed.
fn lock_file(race: &Race) -> Option<PathBuf> {
    let is_lock = |file: &PathBuf| {
        file.file_name().is_some_and(|name| name.to_str().unwrap().starts_with(".zarr-tmp-change-"))
    };
    race.hidden_files().into_iter().find(is_lock)
}

#[test]
fn killed_changes_of_attributes_stop_no_other() {
    killed_changes_of_attributes(&Race::new(Format::V3));
}

#[test]
fn killed_changes_of_attributes_in_an_object_store_stop_no_other() {
    killed_changes_of_attributes(&on_s3(Options::in_memory()));
}

fn killed_changes_of_attributes(race: &Race) {
    race.create("/a", &numbers(1));
    with_kills(race, "endless attributes", "attributes");
    let array = race.open().array("/a").unwrap();
    for number in survivors() {
        for round in 0..ROUNDS {
            assert!(array.attributes().contains(&format!("{number}-{round}")), "{number}-{round} is lost");
        }
    }
}

#[test]
fn killed_writers_of_whole_chunks_stop_no_other() {
    let race = Race::new(Format::V3);
    race.create("/a", &ArrayBuilder::new([racers()], "uint64").chunks([racers()]));
    with_kills(&race, "endless wholes", "element");
    for (number, element) in (0..).zip(race.read("/a")) {
        let own = 1000 * number + 1..=1000 * number + ROUNDS;
        assert!(element <= ROUNDS || own.contains(&element), "element {number}: {element}");
    }
}

#[test]
fn killed_creations_leave_whole_arrays() {
    killed_creations(&Race::new(Format::V3));
}

#[test]
fn killed_creations_in_an_object_store_leave_whole_arrays() {
    killed_creations(&on_s3(Options::in_memory()));
}

/// All processes try to create the same arrays.
fn killed_creations(race: &Race) {
    with_kills_and(race, "endless create many", "create many", |survivors| {
        let hierarchy = race.open();
        for path in (0..MANY).map(path_for_all) {
            let array = hierarchy.array(&*path).unwrap();
            let creator = array.attributes().get("creator").and_then(|creator| creator.as_u64()).unwrap();
            let elements = array.read_values::<u64>(&Selection::All).unwrap().to_vec();
            // A process that is killed may have created the array, but not written all of its elements.
            let is_written = survivors.contains(&creator);
            let is_own = |&element: &u64| element == creator + 1 || (!is_written && element == 0);
            assert!(elements.len() == 2 && elements.iter().all(is_own), "{path} of {creator}: {elements:?}");
            hierarchy.erase(&*path).unwrap();
        }
    });
}

/// Some processes create arrays, read and write them, while others erase them and are killed.
#[test]
fn killed_erasures_leave_nothing_that_a_new_array_shows() {
    let race = Race::new(Format::V3);
    with_kills(&race, "endless erase", "create again");
    let hierarchy = race.open();
    for path in paths_to_erase(0).chain(paths_to_erase(1)) {
        // Without an array, an interrupted erasure may have left chunks. The next array erases them.
        if hierarchy.exists(&*path).unwrap() {
            let elements = race.read(&path);
            assert!(elements.iter().all(|&element| element <= ROUNDS), "{path}: {elements:?}");
            hierarchy.erase(&*path).unwrap();
        }
        race.create(&path, &array_to_erase());
        assert_eq!(race.read(&path), [0, 0], "{path}");
    }
    let unreadable = hierarchy
        .walk("/")
        .unwrap()
        .into_iter()
        .find(|node| matches!(hierarchy.node(&node.path), Ok(Node::Unreadable(_)) | Err(_)));
    assert_eq!(unreadable, None);
}

#[test]
fn killed_resizes_leave_whole_rows() {
    let race = Race::new(Format::V3);
    race.create("/a", &ArrayBuilder::new([0, 2], "uint64").chunks([3, 2]));
    with_kills(&race, "endless resize", "append");
    let rows = race.read("/a");
    let is_whole =
        |row: &[u64]| row.iter().all(|&element| element == 0) || row.iter().all(|&element| element > 0);
    assert!(rows.chunks(2).all(is_whole), "a row is torn: {rows:?}");
}

#[test]
fn killed_consolidations_stop_no_other() {
    let race = Race::new(Format::V3);
    race.create("/a", &numbers(1));
    with_kills(&race, "endless consolidate", "create and change");
    let stored = OpenOptions::new().consolidated(false);
    let check = |hierarchy: &Hierarchy| {
        for number in survivors() {
            for round in 0..ROUNDS / 4 {
                let name = format!("{number}-{round}");
                let group = hierarchy.group(&*format!("/{name}")).unwrap();
                assert_eq!(group.attributes().get("round").and_then(|round| round.as_u64()), Some(round));
                assert!(hierarchy.array("/a").unwrap().attributes().contains(&name), "{name} is lost");
            }
        }
    };
    check(&Hierarchy::open_with(race.open_store(), &context(), stored).unwrap());
    // A killed process may leave old consolidated metadata. Another consolidation replaces them.
    race.open().consolidate("/").unwrap();
    check(&race.open());
}
