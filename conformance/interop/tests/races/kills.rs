//! Processes that are killed while others write.
//!
//! `ZARR_KILLS=50` sets the number of kills of each kind of work, 5 by default, and `ZARR_KILLS_SEED` the seed of the
//! random moments, which is printed.

use std::time::Duration;

use zarr_kit::{ArrayBuilder, Format, Hierarchy, Node, OpenOptions, Selection};
use zarr_loopback::Options;

use crate::stores::on_s3;
use crate::writers::own_path;
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

/// Kills processes at random moments, while another process works. That one must complete its work: if it waited for a
/// dead process, it would end with an error.
fn with_kills(race: &Race, victim: &str, work: &str) {
    for (kill, delay) in (0..kills()).zip(delays(victim)) {
        let mut victims: Vec<_> = (0..2).map(|number| race.start(victim, racers() - 1 - number)).collect();
        let mut survivor = race.start(work, kill % (racers() - 2));
        start_together(victims.iter_mut().chain([&mut survivor]));
        std::thread::sleep(delay);
        victims.iter_mut().for_each(Racer::kill);
        survivor.complete();
    }
}

/// Writers of an object store hold no locks.
#[test]
fn killed_writers_of_parts_in_an_object_store_stop_no_other() {
    let race = on_s3(Options::in_memory());
    race.create("/a", &numbers(racers() * ROUNDS));
    parts_of_survivors_are_there(&race, "endless parts");
}

#[test]
fn killed_writers_of_parts_stop_no_other() {
    let race = Race::new(Format::V3);
    race.create("/a", &numbers(racers() * ROUNDS));
    parts_of_survivors_are_there(&race, "endless parts");
}

#[test]
fn killed_writers_of_parts_of_a_shard_stop_no_other() {
    let race = Race::new(Format::V3);
    race.create("/a", &numbers(4).shards([racers() * ROUNDS]));
    parts_of_survivors_are_there(&race, "endless parts");
}

fn parts_of_survivors_are_there(race: &Race, victim: &str) {
    with_kills(race, victim, "parts");
    for (at, value) in race.read("/a").into_iter().enumerate() {
        let is_written = (at as u64) % racers() < kills().min(racers() - 2);
        let whole = at as u64 + 1;
        assert!(value == whole || (!is_written && value == 0), "element {at}: {value}");
    }
}

#[test]
fn killed_appends_leave_whole_rows() {
    let race = Race::new(Format::V3);
    race.create("/a", &ArrayBuilder::new([0, 2], "uint64").chunks([3, 2]));
    with_kills(&race, "endless append", "append");
    let rows = race.read("/a");
    assert!(rows.chunks(2).all(|row| row[0] > 0 && row[1] > 0), "a row is torn: {rows:?}");
    let of_survivors = rows.chunks(2).filter(|row| row[0] <= kills().min(racers() - 2)).count() as u64;
    assert_eq!(of_survivors, kills() * ROUNDS);
}

/// Returns the numbers of the processes that are not killed.
fn survivors() -> impl Iterator<Item = u64> {
    0..kills().min(racers() - 2)
}

#[test]
fn killed_changes_of_attributes_stop_no_other() {
    let race = Race::new(Format::V3);
    race.create("/a", &numbers(1));
    with_kills(&race, "endless attributes", "attributes");
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

/// Checks that each array can be read, and that its elements are 0 or the value of a single process.
fn own_arrays_are_whole(hierarchy: &Hierarchy) {
    for node in hierarchy.walk("/").unwrap() {
        match hierarchy.node(&node.path).unwrap() {
            Node::Array(array) if node.path.names().len() == 2 => {
                let elements = array.read_values::<u64>(&Selection::All).unwrap().to_vec();
                let of = |number: u64| elements.iter().all(|&element| element == 0 || element == number + 1);
                assert!((0..racers()).any(of), "{}: {elements:?}", node.path);
            }
            Node::Array(_) | Node::Group(_) => {}
            Node::Unreadable(_) => panic!("{} is unreadable", node.path),
        }
    }
}

#[test]
fn killed_creations_leave_whole_arrays() {
    let race = Race::new(Format::V3);
    race.create("/a", &numbers(racers() * ROUNDS));
    parts_of_survivors_are_there(&race, "endless create");
    own_arrays_are_whole(&race.open());
}

#[test]
fn killed_erasures_leave_nothing_that_a_new_array_shows() {
    let race = Race::new(Format::V3);
    race.create("/a", &numbers(racers() * ROUNDS));
    parts_of_survivors_are_there(&race, "endless erase");
    let hierarchy = race.open();
    own_arrays_are_whole(&hierarchy);
    for number in [racers() - 2, racers() - 1] {
        let path = own_path(number, 0);
        if hierarchy.exists(&*path).unwrap() {
            hierarchy.erase(&*path).unwrap();
        }
        race.create(&path, &ArrayBuilder::new([2], "uint64").chunks([1]));
        assert_eq!(race.read(&path), [0, 0]);
    }
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
