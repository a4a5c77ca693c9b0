//! The work of each process.

use std::io::Read;

use zarr_kit::spec::Object;
use zarr_kit::{ArrayBuilder, Error, Hierarchy, Selection};

use crate::{READY, ROUNDS, racers};

/// Runs `work` in a hierarchy that `open` opens, when all processes have opened it.
pub(crate) fn run(work: &str, open: &dyn Fn() -> Hierarchy, number: u64) {
    let hierarchy = open();
    // The harness has begun a line with the name of the test.
    println!("\n{READY}");
    assert_eq!(std::io::stdin().read_to_end(&mut Vec::new()).unwrap(), 0);
    match work.strip_prefix("endless ") {
        Some(work) => loop {
            run_once(work, &hierarchy, number);
        },
        None => run_once(work, &hierarchy, number),
    }
}

fn run_once(work: &str, hierarchy: &Hierarchy, number: u64) {
    match work {
        "parts" => parts(hierarchy, number),
        "on and off" => on_and_off(hierarchy, number),
        "wholes" => wholes(hierarchy),
        "fills" => fills(hierarchy),
        "element" => element(hierarchy, number),
        "attributes" => attributes(hierarchy, number),
        "create" => create(hierarchy, number, ROUNDS),
        "create many" => create(hierarchy, number, MANY),
        "create again" => create_again(hierarchy, number),
        "erase" => erase(hierarchy),
        "append" => append(hierarchy, number),
        "resize" => resize(hierarchy),
        "shrink" => shrink(hierarchy),
        "grow" => grow(hierarchy),
        "consolidate" => (0..ROUNDS / 4).for_each(|_| hierarchy.consolidate("/").unwrap()),
        "create and change" => create_and_change(hierarchy, number),
        work => panic!("unknown work `{work}`"),
    }
}

/// Writes the elements of this process one at a time; the elements of all processes alternate.
fn parts(hierarchy: &Hierarchy, number: u64) {
    let array = hierarchy.array("/a").unwrap();
    for round in 0..ROUNDS {
        let at = round * racers() + number;
        array.write_values(Selection::from(at..at + 1), &[at + 1]).unwrap();
    }
}

/// Like [`parts`], but also writes another value and the fill value before the final element.
fn on_and_off(hierarchy: &Hierarchy, number: u64) {
    let array = hierarchy.array("/a").unwrap();
    for round in 0..ROUNDS {
        let at = round * racers() + number;
        for value in [1, 0, at + 1, 0, at + 1] {
            array.write_values(Selection::from(at..at + 1), &[value]).unwrap();
        }
    }
}

/// Writes the only chunk.
fn wholes(hierarchy: &Hierarchy) {
    let array = hierarchy.array("/a").unwrap();
    for round in 1..=ROUNDS {
        let count = usize::try_from(racers()).unwrap();
        array.write_values(&Selection::All, &vec![round; count]).unwrap();
    }
}

/// Writes the only chunk, and then only fill values, so that the chunk is erased.
fn fills(hierarchy: &Hierarchy) {
    let array = hierarchy.array("/a").unwrap();
    let count = usize::try_from(racers()).unwrap();
    for round in 1..=ROUNDS {
        array.write_values(&Selection::All, &vec![round; count]).unwrap();
        array.write_values(&Selection::All, &vec![0_u64; count]).unwrap();
    }
}

/// Writes one element of the only chunk again and again.
fn element(hierarchy: &Hierarchy, number: u64) {
    let array = hierarchy.array("/a").unwrap();
    for round in 1..=ROUNDS {
        let value = 1000 * number + round;
        array.write_values(Selection::from(number..number + 1), &[value]).unwrap();
    }
}

fn attributes(hierarchy: &Hierarchy, number: u64) {
    for round in 0..ROUNDS {
        let change = |attributes: &mut Object| {
            let count = attributes.get("count").and_then(|count| count.as_u64()).unwrap_or(0);
            attributes.insert("count", count + 1);
            attributes.insert(format!("{number}-{round}"), round);
        };
        hierarchy.update_attributes("/a", change).unwrap();
    }
}

/// The number of arrays that processes create while some of them are killed.
pub(crate) const MANY: u64 = 5 * ROUNDS;

/// Returns the path of an array that all processes try to create.
pub(crate) fn path_for_all(round: u64) -> String {
    format!("/g{}/{round}", round % 3)
}

/// Tries to create the same arrays as all other processes, and writes to those that it created.
fn create(hierarchy: &Hierarchy, number: u64, rounds: u64) {
    let attributes: Object =
        [("creator".to_owned(), zarr_kit::spec::Value::from(number))].into_iter().collect();
    let builder = ArrayBuilder::new([2], "uint64").chunks([1]).attributes(attributes);
    for round in 0..rounds {
        match hierarchy.create_array(&*path_for_all(round), &builder) {
            Ok(array) => array.write_values(&Selection::All, &[number + 1; 2]).unwrap(),
            Err(Error::InTheWay(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// An array that processes with even or odd numbers create, and other processes erase.
pub(crate) fn array_to_erase() -> ArrayBuilder {
    ArrayBuilder::new([2], "uint64").chunks([1])
}

/// Returns the paths of the arrays of processes with even numbers, or of processes with odd ones.
pub(crate) fn paths_to_erase(parity: u64) -> impl Iterator<Item = String> {
    (0..3).map(move |place| format!("/e{parity}/a{place}"))
}

/// Creates arrays, reads them and writes to them, while other processes erase them. Only this process creates them, so
/// a new array never has elements of an earlier one.
fn create_again(hierarchy: &Hierarchy, number: u64) {
    for round in 1..=ROUNDS {
        for path in paths_to_erase(number % 2) {
            let array = match hierarchy.create_array(&*path, &array_to_erase()) {
                Ok(array) => array,
                Err(Error::InTheWay(_)) => {
                    erase_if_there(hierarchy, &path);
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            assert_eq!(array.read_values::<u64>(&Selection::All).unwrap().to_vec(), [0, 0], "{path}");
            array.write_values(&Selection::All, &[round; 2]).unwrap();
        }
    }
}

fn erase(hierarchy: &Hierarchy) {
    paths_to_erase(0).chain(paths_to_erase(1)).for_each(|path| erase_if_there(hierarchy, &path));
}

fn erase_if_there(hierarchy: &Hierarchy, path: &str) {
    match hierarchy.erase(path) {
        Ok(_) | Err(Error::NoNode(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

fn append(hierarchy: &Hierarchy, number: u64) {
    let mut array = hierarchy.array("/a").unwrap();
    for round in 1..=ROUNDS {
        array.append_values(0, &[number + 1, round]).unwrap();
    }
}

fn resize(hierarchy: &Hierarchy) {
    let mut array = hierarchy.array("/a").unwrap();
    for round in 0..ROUNDS {
        array.resize(&[[100, 4][usize::from(round % 2 == 1)], 2]).unwrap();
        array.set_attribute("resized", round + 1).unwrap();
    }
}

fn shrink(hierarchy: &Hierarchy) {
    let mut array = hierarchy.array("/a").unwrap();
    for _ in 0..ROUNDS {
        array.resize(&[0, 2]).unwrap();
    }
}

/// Returns the number of rows by which [`grow`] makes an array longer: more than all processes append.
pub(crate) fn growth() -> u64 {
    racers() * ROUNDS + 1
}

/// Makes the array longer. This never cuts off rows that other processes append.
fn grow(hierarchy: &Hierarchy) {
    let mut array = hierarchy.array("/a").unwrap();
    for round in 1..=ROUNDS {
        array.resize(&[round * growth(), 2]).unwrap();
    }
}

fn create_and_change(hierarchy: &Hierarchy, number: u64) {
    for round in 0..ROUNDS / 4 {
        match hierarchy.create_group(&*format!("/{number}-{round}"), Object::new()) {
            // A process with the same number has worked before.
            Ok(_) | Err(Error::InTheWay(_)) => {}
            Err(error) => panic!("{error}"),
        }
        hierarchy.set_attribute("/a", &format!("{number}-{round}"), round).unwrap();
        hierarchy.set_attribute(&*format!("/{number}-{round}"), "round", round).unwrap();
    }
}
