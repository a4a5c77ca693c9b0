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
    match work {
        "parts" => parts(&hierarchy, number),
        "endless parts" => loop {
            parts(&hierarchy, number);
        },
        "on and off" => on_and_off(&hierarchy, number),
        "wholes" => wholes(&hierarchy),
        "element" => element(&hierarchy, number),
        "attributes" => attributes(&hierarchy, number),
        "create" => create(&hierarchy, number),
        "append" => append(&hierarchy, number, ROUNDS),
        "endless append" => append(&hierarchy, number, u64::MAX),
        "endless attributes" => loop {
            attributes(&hierarchy, number);
        },
        "endless wholes" => loop {
            wholes(&hierarchy);
        },
        "endless create" => {
            for round in 0.. {
                create_own(&hierarchy, number, round);
            }
        }
        "endless erase" => {
            for round in 0.. {
                create_own(&hierarchy, number, round % 2);
                hierarchy.erase(&*own_path(number, round % 2)).unwrap();
            }
        }
        "endless resize" => loop {
            resize(&hierarchy);
        },
        "endless consolidate" => loop {
            hierarchy.consolidate("/").unwrap();
        },
        "resize" => resize(&hierarchy),
        "shrink" => shrink(&hierarchy),
        "consolidate" => (0..ROUNDS / 4).for_each(|_| hierarchy.consolidate("/").unwrap()),
        "create and change" => create_and_change(&hierarchy, number),
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

/// Tries to create the same arrays as all other processes, and writes to those that it created.
fn create(hierarchy: &Hierarchy, number: u64) {
    let attributes: Object =
        [("creator".to_owned(), zarr_kit::spec::Value::from(number))].into_iter().collect();
    let builder = ArrayBuilder::new([2], "uint64").chunks([1]).attributes(attributes);
    for round in 0..ROUNDS {
        match hierarchy.create_array(&*format!("/g{}/{round}", round % 3), &builder) {
            Ok(array) => array.write_values(&Selection::All, &[number + 1; 2]).unwrap(),
            Err(Error::InTheWay(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns the path of an array that only this process creates.
pub(crate) fn own_path(number: u64, round: u64) -> String {
    format!("/of{number}/a{round}")
}

/// Creates an array of this process, if it does not exist, and writes to it.
fn create_own(hierarchy: &Hierarchy, number: u64, round: u64) {
    let path = own_path(number, round);
    match hierarchy.create_array(&*path, &ArrayBuilder::new([2], "uint64").chunks([1])) {
        Ok(array) => array.write_values(&Selection::All, &[number + 1; 2]).unwrap(),
        Err(Error::InTheWay(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

fn append(hierarchy: &Hierarchy, number: u64, rounds: u64) {
    let mut array = hierarchy.array("/a").unwrap();
    for round in 0..rounds {
        array.append_values(0, &[number + 1, round % ROUNDS + 1]).unwrap();
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

fn create_and_change(hierarchy: &Hierarchy, number: u64) {
    for round in 0..ROUNDS / 4 {
        hierarchy.create_group(&*format!("/{number}-{round}"), Object::new()).unwrap();
        hierarchy.set_attribute("/a", &format!("{number}-{round}"), round).unwrap();
        hierarchy.set_attribute(&*format!("/{number}-{round}"), "round", round).unwrap();
    }
}
