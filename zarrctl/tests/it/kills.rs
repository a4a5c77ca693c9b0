//! Commands that are killed with SIGKILL while they write.
//!
//! Each command is killed at five moments that are spread over its run. A moment is directly before or after a system
//! call that changes a file or a folder. The formats take turns, with and without consolidated metadata.
//!
//! | variable | meaning |
//! |---|---|
//! | `ZARR_KILLS` | kills per command, 5 by default |
//! | `ZARR_KILLS_SEED` | seed of the random choice of moments; it is printed |
//!
//! ```sh
//! ZARR_KILLS=50 cargo test -p zarrctl --all-features --test it kills -- --nocapture
//! ```

#[path = "kills/case.rs"]
mod case;
#[path = "kills/fixture.rs"]
mod fixture;
#[path = "kills/readers.rs"]
mod readers;
#[path = "kills/trace.rs"]
pub(crate) mod trace;

use std::collections::BTreeSet;

use zarr_kit::Format;

use crate::support::{Place, program};
use case::{Case, Figures, Killer, Writes};
use readers::Mixing;

const KILLS: u64 = 5;

/// Returns the number of kills per command.
pub(crate) fn kills() -> usize {
    usize::try_from(number("ZARR_KILLS", KILLS)).unwrap()
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// A generator of random numbers from 0 to 1 (SplitMix64). The same seed gives the same numbers.
struct Random(u64);

impl Random {
    fn of(verb: &str) -> Self {
        let seed = number("ZARR_KILLS_SEED", 20_261_123);
        eprintln!("{verb}: seed {seed}");
        Self(seed)
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits remain")]
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns one number in each of `count` equal parts of the range from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    fn spread(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|number| (number as f64 + self.fraction()) / count as f64).collect()
    }
}

/// Kills the commands of one verb, and prints how many kills there were.
fn kill(verb: &str, cases: &[Case]) {
    let mut random = Random::of(verb);
    let kills = kills();
    let mut sum = Figures::default();
    for (position, case) in cases.iter().enumerate() {
        let mut killer = Killer::new(*case);
        for (number, fraction) in random.spread(kills).into_iter().enumerate() {
            killer.kill(number + position, fraction);
        }
        sum.kills += killer.figures.kills;
        sum.too_late += killer.figures.too_late;
        sum.repaired += killer.figures.repaired;
    }
    eprintln!("{verb}: {sum:?}");
    assert!(sum.too_late * 2 < sum.kills, "most commands ended before they were killed: {sum:?}");
}

const CREATE: &[&str] = &[
    "create",
    "store",
    "/x/y/left",
    "--shape",
    "4,6",
    "--chunks",
    "2,3",
    "--dtype",
    "int16",
    "--codec",
    "none",
    "--attr",
    "k=1",
    "--format",
    "FORMAT",
];

const CREATE_NEW: &[&str] =
    &["create", "new", "/x/y/z", "--shape", "4,6", "--dtype", "int16", "--attr", "k=1", "--format", "FORMAT"];

const CREATE_OVER_LEFTOVERS: &[&str] = &[
    "create", "store", "/left", "--shape", "6,8", "--chunks", "2,2", "--dtype", "int16", "--codec", "none",
    "--format", "FORMAT",
];

#[test]
fn a_killed_create_leaves_no_array_or_an_empty_one() {
    kill(
        "create",
        &[
            Case::of(CREATE),
            Case::of(CREATE_NEW).writing(Writes::Store("new")),
            Case::of(CREATE_OVER_LEFTOVERS).after(fixture::leave_chunks),
        ],
    );
}

#[test]
fn a_killed_put_leaves_old_chunks_and_new_ones() {
    let put = |arguments| Case { mixing: Mixing::Chunks, ..Case::of(arguments) };
    kill(
        "put",
        &[
            put(&["put", "store", "/a", "in.raw", "--format", "raw"]),
            put(&["put", "store", "/a", "part.raw", "--format", "raw", "--select", "1:5,1:7"]),
        ],
    );
}

#[test]
fn a_killed_copy_leaves_whole_arrays_or_none() {
    kill(
        "copy",
        &[
            Case::of(&["copy", "store", "new"]).writing(Writes::Store("new")),
            Case::of(&["copy", "store", "new", "--format", "OTHER"]).writing(Writes::Store("new")),
            Case::of(&["copy", "store", "new", "--chunks", "3,3"]).writing(Writes::Store("new")),
            Case::of(&["copy", "other", "store"]),
            Case::of(&["--memory", "1MiB", "copy", "store", "new", "--chunks", "/rows=64,256"])
                .writing(Writes::Store("new"))
                .after(fixture::add_rows),
        ],
    );
}

#[test]
fn a_killed_pack_leaves_no_archive_or_a_whole_one() {
    let pack = Case::of(&["pack", "store", "out/store.zip"]);
    kill("pack", &[pack.writing(Writes::File("store.zip"))]);
}

#[test]
fn a_killed_erase_leaves_whole_nodes_or_none() {
    kill(
        "erase",
        &[
            Case::of(&["erase", "store", "/a"]),
            Case::of(&["erase", "store", "/g"]),
            Case::of(&["erase", "store", "/g", "--all"]),
            Case::of(&["erase", "store", "/g", "--format", "FORMAT"]),
        ],
    );
}

#[test]
fn a_killed_resize_leaves_the_old_shape_or_the_new_one() {
    kill(
        "resize",
        &[
            Case::of(&["resize", "store", "/a", "--shape", "3,3"]),
            Case::of(&["resize", "store", "/a", "--shape", "9,11"]),
            Case::of(&["resize", "store", "/a", "--shape", "12,14"]).after(fixture::leave_chunks),
            Case {
                between: Some(&["resize", "store", "/a", "--shape", "3,8"]),
                ..Case::of(&["resize", "store", "/a", "--shape", "3,12"])
            },
        ],
    );
}

#[test]
fn a_killed_change_of_attributes_leaves_the_old_ones_or_the_new_ones() {
    kill(
        "attrs",
        &[
            Case::of(&["attrs", "store", "/a", "--set", "k=[1,2]"]),
            Case::of(&["attrs", "store", "/g", "--unset", "unit"]),
            Case::of(&["attrs", "store", "/", "--set", "k=1"]),
        ],
    );
}

#[test]
fn a_killed_consolidation_leaves_the_old_copies_or_the_new_ones() {
    let consolidate = Case::of(&["consolidate", "store"]);
    let has_copies: fn(_) -> bool = |layout: fixture::Layout| layout.format != Format::V3Draft;
    kill("consolidate", &[Case { layouts: has_copies, ..consolidate }]);
}

#[test]
fn a_killed_clean_can_be_run_again() {
    let clean = Case::of(&["clean", "store", "--older-than", "0s"]);
    kill("clean", &[clean.after(fixture::leave_chunks)]);
}

#[test]
fn a_killed_get_leaves_the_old_file_or_a_whole_one() {
    let get = |arguments, name| Case::of(arguments).writing(Writes::File(name));
    kill(
        "get",
        &[
            get(&["get", "store", "/a", "-o", "out/a.npy"], "a.npy"),
            get(&["get", "store", "/a", "-o", "out/a.json"], "a.json"),
            get(&["get", "store", "/a", "-o", "out/a.raw"], "a.raw").after(fixture::write_old_output),
        ],
    );
}

/// The files contain the path of the folder, so the contents that readers find are compared.
#[test]
fn killed_references_are_missing_or_whole() {
    let layout = fixture::Layout { format: Format::V2, is_consolidated: false };
    let original = Place::new();
    fixture::make(&original.path(""), layout);
    let mut random = Random::of("references");
    for (arguments, written, last) in [
        (["references", "store", "-o", "refs.json"], "refs.json", "refs.json"),
        (["references", "store", "--parquet", "refs.parq"], "refs.parq", "refs.parq/.zmetadata"),
    ] {
        let command = || {
            let mut command = program();
            command.args(arguments);
            command
        };
        let copied = || {
            let place = Place::new();
            fixture::copy(&original.path(""), &place.path(""));
            place
        };
        let digest = |place: &Place, location: &str| {
            let output = program().args(["digest", location]).current_dir(place.path("")).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let expected = digest(&original, "store");
        let moments = trace::run(&command(), &copied().path(""), None).moments;
        let mut complete = 0;
        for fraction in random.spread(kills()) {
            let place = copied();
            let moment = case::moment(fraction, moments);
            let run = trace::run(&command(), &place.path(""), Some(moment));
            let is_complete = place.path(last).exists();
            complete += usize::from(is_complete);
            assert!(is_complete || run.end == trace::End::Killed);
            if !is_complete {
                let _incomplete = std::fs::remove_dir_all(place.path(written));
                assert!(command().current_dir(place.path("")).status().unwrap().success());
            }
            assert_eq!(digest(&place, &format!("reference:{written}")), expected, "moment {moment}");
        }
        assert!(complete < kills(), "{arguments:?} always ended before it was killed");
    }
}

/// A copy into an archive that exists replaces it in one step.
#[test]
fn a_killed_copy_into_an_archive_leaves_the_old_archive_or_the_new_one() {
    let layout = fixture::Layout { format: Format::V3, is_consolidated: false };
    let original = Place::new();
    fixture::make(&original.path(""), layout);
    let ran = |place: &Place, arguments: &[&str]| {
        let output = program().args(arguments).current_dir(place.path("")).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    ran(&original, &["pack", "store", "out/store.zip"]);
    let copied = || {
        let place = Place::new();
        fixture::copy(&original.path(""), &place.path(""));
        place
    };
    let mut copy = program();
    copy.args(["copy", "other", "out/store.zip"]);
    let whole = copied();
    let moments = trace::run(&copy, &whole.path(""), None).moments;
    let old = std::fs::read(original.path("out/store.zip")).unwrap();
    let digest = |place: &Place| ran(place, &["digest", "out/store.zip"]);
    let [before, after] = [&original, &whole].map(digest);
    assert_ne!(before, after);
    let mut unchanged = 0;
    for fraction in Random::of("copy into an archive").spread(kills()) {
        let place = copied();
        let moment = case::moment(fraction, moments);
        let run = trace::run(&copy, &place.path(""), Some(moment));
        let is_old = std::fs::read(place.path("out/store.zip")).unwrap() == old;
        unchanged += usize::from(is_old);
        assert_eq!(digest(&place), if is_old { before.clone() } else { after.clone() }, "moment {moment}");
        if is_old {
            assert_eq!(run.end, trace::End::Killed, "moment {moment}");
            ran(&place, &["copy", "other", "out/store.zip"]);
            assert_eq!(digest(&place), after, "moment {moment}");
            // The next change removes what the killed one left.
            assert_eq!(place.files("out"), ["store.zip"], "moment {moment}");
        }
    }
    assert!(unchanged > 0, "the copy always ended before it was killed");
}

/// `demo` writes only to new folders, so there is no earlier state to compare with.
#[test]
fn a_killed_demo_leaves_arrays_that_can_be_read() {
    let demo = || {
        let mut command = program();
        command.args(["demo", "demo"]);
        command
    };
    let moments = trace::run(&demo(), &Place::new().path(""), None).moments;
    let mut counts = BTreeSet::new();
    for fraction in Random::of("demo").spread(kills()) {
        let place = Place::new();
        let run = trace::run(&demo(), &place.path(""), Some(case::moment(fraction, moments)));
        assert_eq!(run.end, trace::End::Killed);
        let folder = |format: &Format| place.path("demo").join(format.name());
        let count = || {
            Format::ALL.iter().map(|format| readers::check_readable(&folder(format), *format)).sum::<usize>()
        };
        let before = count();
        counts.insert(before);
        for format in Format::ALL {
            case::clean(&place.path("demo"), format.name());
        }
        assert_eq!(count(), before, "`clean` removes arrays");
        let files = place.files("demo");
        assert!(!files.iter().any(|file| file.contains(".zarr-tmp-")), "{files:?}");
    }
    assert!(counts.len() > 1, "no kill came while arrays were written: {counts:?}");
}
