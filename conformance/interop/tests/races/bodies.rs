//! The races that run in each kind of store. Each of them removes its array at the end, so that others may follow.

use zarr_kit::{ArrayBuilder, Hierarchy, Node, OpenOptions, Selection};

use crate::writers::{growth, path_for_all};
use crate::{ROUNDS, Race, context, numbers, racers};

/// Runs all races but those of consolidated metadata.
pub(crate) fn all(race: &Race) {
    parts_of_a_chunk(race);
    parts_of_a_shard(race);
    serial_orders(race);
    serial_orders_with_fill_values(race);
    attributes(race);
    appends(race);
    growths(race);
    resizes(race);
    shrinks(race);
    creations(race);
}

pub(crate) fn parts_of_a_chunk(race: &Race) {
    parts(race, &numbers(racers() * ROUNDS));
}

pub(crate) fn parts_of_a_shard(race: &Race) {
    parts(race, &numbers(4).shards([racers() * ROUNDS]));
}

fn parts(race: &Race, builder: &ArrayBuilder) {
    race.create("/a", builder);
    race.run("parts");
    assert_eq!(race.read("/a"), (1..=racers() * ROUNDS).collect::<Vec<_>>());
    race.open().erase("/a").unwrap();
}

/// While other processes write, chunks are erased because they hold only the fill value, and created again.
pub(crate) fn on_and_off(race: &Race) {
    race.create("/a", &numbers(racers() * ROUNDS));
    race.run("on and off");
    assert_eq!(race.read("/a"), (1..=racers() * ROUNDS).collect::<Vec<_>>());
}

/// The first process writes the whole chunk, the others write single elements of it.
pub(crate) fn serial_orders(race: &Race) {
    let array = ArrayBuilder::new([racers()], "uint64");
    for builder in [array.clone().chunks([racers()]), array.chunks([1]).shards([racers()])] {
        race.create("/a", &builder);
        race.run_each(|number| if number == 0 { "wholes" } else { "element" });
        let elements = race.read("/a");
        assert_eq!(elements[0], ROUNDS, "the last whole chunk");
        for (number, &element) in elements.iter().enumerate() {
            let last = 1000 * number as u64 + ROUNDS;
            assert!(element == ROUNDS || element == last, "element {number}: {element}");
        }
        race.open().erase("/a").unwrap();
    }
}

/// The first process writes the whole chunk, and in turns only fill values, the others write single elements of it. The
/// last whole chunk has only fill values.
pub(crate) fn serial_orders_with_fill_values(race: &Race) {
    let array = ArrayBuilder::new([racers()], "uint64");
    for builder in [array.clone().chunks([racers()]), array.chunks([1]).shards([racers()])] {
        race.create("/a", &builder);
        race.run_each(|number| if number == 0 { "fills" } else { "element" });
        let elements = race.read("/a");
        assert_eq!(elements[0], 0, "the last whole chunk");
        for (number, &element) in elements.iter().enumerate() {
            let last = 1000 * number as u64 + ROUNDS;
            assert!(element == 0 || element == last, "element {number}: {element}");
        }
        race.open().erase("/a").unwrap();
    }
}

pub(crate) fn attributes(race: &Race) {
    race.create("/a", &numbers(1));
    race.run("attributes");
    let array = race.open().array("/a").unwrap();
    let attributes = array.attributes();
    assert_eq!(attributes.get("count").and_then(|count| count.as_u64()), Some(racers() * ROUNDS));
    assert_eq!(attributes.len() as u64, 1 + racers() * ROUNDS);
    race.open().erase("/a").unwrap();
}

pub(crate) fn creations(race: &Race) {
    race.run("create");
    let hierarchy = race.open();
    for round in 0..ROUNDS {
        let path = path_for_all(round);
        let array = hierarchy.array(&*path).unwrap();
        let creator = array.attributes().get("creator").and_then(|creator| creator.as_u64()).unwrap();
        let elements = array.read_values::<u64>(&Selection::All).unwrap().to_vec();
        assert_eq!(elements, [creator + 1; 2], "{path}: the elements of the process that created it");
        hierarchy.erase(&*path).unwrap();
    }
}

fn create_rows(race: &Race) {
    race.create("/a", &ArrayBuilder::new([0, 2], "uint64").chunks([3, 2]));
}

/// Returns the rows in their order.
pub(crate) fn rows(race: &Race) -> Vec<[u64; 2]> {
    race.read("/a").chunks(2).map(|row| [row[0], row[1]]).collect()
}

fn sorted(mut rows: Vec<[u64; 2]>) -> Vec<[u64; 2]> {
    rows.sort_unstable();
    rows
}

/// Returns the rows that processes append, sorted.
fn appended_by(processes: impl Iterator<Item = u64>) -> Vec<[u64; 2]> {
    processes.flat_map(|number| (1..=ROUNDS).map(move |round| [number + 1, round])).collect()
}

/// Checks that each of the rows was appended by one of the processes, at most once.
fn are_appended(rows: &[[u64; 2]]) {
    let mut distinct = sorted(rows.to_vec());
    distinct.dedup();
    assert_eq!(rows.len(), distinct.len(), "a row is there twice: {rows:?}");
    assert!(rows.iter().all(|row| row[0] > 1 && row[1] > 0), "{rows:?}");
}

/// Checks that no row is lost of those that were appended after the last resize, given the rows that are there: if one
/// row of a process is, so are the later ones of this process.
fn later_rows_are_there(rows: &[[u64; 2]]) {
    for number in 1..racers() {
        let rounds: Vec<u64> = rows.iter().filter(|row| row[0] == number + 1).map(|row| row[1]).collect();
        let first = ROUNDS + 1 - rounds.len() as u64;
        assert_eq!(rounds, (first..=ROUNDS).collect::<Vec<_>>(), "rows of process {number}");
    }
}

pub(crate) fn appends(race: &Race) {
    create_rows(race);
    race.run("append");
    assert_eq!(sorted(rows(race)), appended_by(0..racers()), "{:?}", race.format);
    race.open().erase("/a").unwrap();
}

/// The first process makes the array longer, which must not remove rows that the others append.
pub(crate) fn growths(race: &Race) {
    create_rows(race);
    race.run_each(|number| if number == 0 { "grow" } else { "append" });
    let mut rows = rows(race);
    assert!(rows.len() as u64 >= ROUNDS * growth(), "{}", rows.len());
    // Rows that a resize added have the fill value.
    rows.retain(|row| *row != [0, 0]);
    assert_eq!(sorted(rows), appended_by(1..racers()), "{:?}", race.format);
    race.open().erase("/a").unwrap();
}

/// The first process makes the array longer and shorter.
pub(crate) fn resizes(race: &Race) {
    create_rows(race);
    race.run_each(|number| if number == 0 { "resize" } else { "append" });
    let rows = rows(race);
    let is_appended = |row: &&[u64; 2]| **row != [0, 0];
    are_appended(&rows.iter().filter(is_appended).copied().collect::<Vec<_>>());
    if race.has_locks() {
        // The last resize left four rows.
        later_rows_are_there(&rows[4..]);
    }
    let array = race.open().array("/a").unwrap();
    assert_eq!(array.attributes().get("resized").and_then(|count| count.as_u64()), Some(ROUNDS));
    race.open().erase("/a").unwrap();
}

/// The first process removes all rows, again and again. The remaining rows were appended after that, so none of them
/// may have the fill value.
pub(crate) fn shrinks(race: &Race) {
    create_rows(race);
    race.run_each(|number| if number == 0 { "shrink" } else { "append" });
    let rows = rows(race);
    are_appended(&rows);
    if race.has_locks() {
        later_rows_are_there(&rows);
    }
    race.open().erase("/a").unwrap();
}

/// Some processes consolidate the metadata while others create nodes and change attributes. Checks the stored
/// documents.
pub(crate) fn consolidations(race: &Race) {
    race.create("/a", &numbers(1));
    race.run_each(|number| if number % 4 == 0 { "consolidate" } else { "create and change" });
    let hierarchy = stored(race);
    let array = hierarchy.array("/a").unwrap();
    for number in (0..racers()).filter(|number| number % 4 != 0) {
        for round in 0..ROUNDS / 4 {
            let name = format!("{number}-{round}");
            let group = hierarchy.group(&*format!("/{name}")).unwrap();
            assert_eq!(group.attributes().get("round").and_then(|round| round.as_u64()), Some(round));
            assert!(array.attributes().contains(&name), "{name} is lost");
        }
    }
}

/// Opens the hierarchy without its consolidated metadata.
fn stored(race: &Race) -> Hierarchy {
    let without = OpenOptions::new().consolidated(false);
    Hierarchy::open_with(race.open_store(), &context(), without).unwrap()
}

/// Checks that consolidated metadata are those of the documents.
pub(crate) fn copies_are_current(race: &Race) {
    let hierarchy = race.open();
    let stored = stored(race);
    let nodes = |hierarchy: &Hierarchy| hierarchy.walk("/").unwrap();
    assert_eq!(nodes(&hierarchy), nodes(&stored), "{:?}", race.format);
    for node in nodes(&stored) {
        let attributes = |hierarchy: &Hierarchy| match hierarchy.node(&node.path).unwrap() {
            Node::Array(array) => array.attributes().clone(),
            Node::Group(group) => group.attributes().clone(),
            Node::Unreadable(_) => panic!("{:?} is unreadable", node.path),
        };
        assert_eq!(attributes(&hierarchy), attributes(&stored), "{:?}: {}", race.format, node.path);
    }
}
