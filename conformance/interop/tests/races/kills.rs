//! Processes that are killed while others write.

use std::time::{Duration, Instant};

use zarr_kit::{ArrayBuilder, Format};

use crate::{ROUNDS, Race, numbers, racers};

/// The time that all other processes may take after a kill, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of kills of each kind of work.
const KILLS: u64 = 5;

/// Kills processes at different moments. The rest do their work, and nothing hinders them.
fn with_kills(race: &Race, victim: &str, work: &str) {
    for kill in 0..KILLS {
        let start = Instant::now();
        let mut victims: Vec<_> = (0..2).map(|number| race.start(victim, racers() - 1 - number)).collect();
        std::thread::sleep(Duration::from_millis(150 + 13 * kill));
        victims.iter_mut().for_each(|victim| victim.kill().unwrap());
        for victim in &mut victims {
            victim.wait().unwrap();
        }
        let child = race.start(work, kill % (racers() - 2));
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        assert!(start.elapsed() < PATIENCE, "a process waits for a dead one");
    }
}

#[test]
fn killed_writers_of_parts_stop_no_other() {
    let race = Race::new(Format::V3);
    race.create("/a", &numbers(racers() * ROUNDS));
    with_kills(&race, "endless parts", "parts");
    for (at, value) in race.read("/a").into_iter().enumerate() {
        let is_written = (at as u64) % racers() < KILLS.min(racers() - 2);
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
    let of_survivors = rows.chunks(2).filter(|row| row[0] <= KILLS.min(racers() - 2)).count() as u64;
    assert_eq!(of_survivors, KILLS * ROUNDS);
}
