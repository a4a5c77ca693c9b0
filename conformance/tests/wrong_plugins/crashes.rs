//! Codecs that end the process or never return.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use zarr_conformance::suite::{
    Again, End, Level, Listed, Suite, Verdict, WorkerOptions, Workers, is_worker, serve, suites_of,
};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{Codec, CodecError, CodecPlugin, Output, Registry, Size};

use crate::{example, named};

/// The names of codecs. Each fails in its own way when it decodes three bytes, except `leaks`, which leaks memory when
/// it is created.
const NAMES: [&str; 6] = ["aborts", "exits", "leaks", "never-returns", "overflows-its-stack", "panics"];

#[derive(Debug)]
struct Faulty(String);

impl BytesToBytesCodec for Faulty {
    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(encoded.put(decoded)?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        if encoded.len() == 3 {
            fail(&self.0);
        }
        Ok(decoded.put(encoded)?)
    }
}

fn fail(how: &str) {
    match how {
        "aborts" => std::process::abort(),
        "exits" => std::process::exit(3),
        "never-returns" => loop {
            thread::sleep(Duration::from_secs(1));
        },
        "overflows-its-stack" => {
            std::hint::black_box(deeper(&[0; 1024]));
        }
        "leaks" => {}
        _ => panic!("on purpose"),
    }
}

#[expect(unconditional_recursion, reason = "the stack has to overflow")]
fn deeper(room: &[u8; 1024]) -> u8 {
    let next = std::hint::black_box([room[0]; 1024]);
    deeper(&next) | next[1]
}

fn suites() -> Vec<Suite> {
    let mut registry = Registry::empty();
    for name in NAMES {
        let plugin = CodecPlugin::new(named(name), &|creation, _| {
            if creation.identifier == "leaks" {
                Vec::<u8>::with_capacity(1 << 20).leak();
            }
            Ok(Codec::BytesToBytes(Arc::new(Faulty(creation.identifier.to_owned()))))
        });
        let examples = vec![example(name).with_data_types(&["uint8"])].leak();
        registry.register(plugin.about("Fails in one way.", examples)).unwrap();
    }
    let mut suites = suites_of(&registry);
    suites.retain(|suite| NAMES.contains(&&*suite.subject.name));
    suites
}

/// Returns workers: processes of this program that run the test below.
fn workers(time: Duration) -> Workers {
    let test = "crashes::a_crash_fails_the_current_rule_and_names_the_input";
    let again = Again::with(&[test, "--exact", "--nocapture"]).unwrap();
    Workers::new(again, WorkerOptions { time, ..WorkerOptions::default() })
}

fn place(suites: &[Suite], name: &str, rule: &str) -> (usize, usize) {
    let suite = suites.iter().position(|suite| suite.subject.name == name).unwrap();
    (suite, suites[suite].trials.iter().position(|trial| trial.rule().id == rule).unwrap())
}

#[test]
fn a_crash_fails_the_current_rule_and_names_the_input() {
    if is_worker() {
        return serve(Ok(suites())).unwrap();
    }
    let suites = suites();
    let workers = workers(Duration::from_secs(100));
    let foreign = |name: &str| {
        let (suite, trial) = place(&suites, name, "codec-foreign");
        let outcome = workers.outcome(suite, trial, &Listed::of(&suites[suite]));
        let Verdict::Failed(failures) = outcome.verdict else { panic!("{outcome:?}") };
        failures[0].clone()
    };
    for (name, what) in [
        ("aborts", "it aborted the process (signal 6)"),
        ("exits", "it exited the process with status 3"),
        ("overflows-its-stack", "has overflowed its stack"),
    ] {
        let failure = foreign(name);
        assert!(failure.case.starts_with("decoding 3 bytes, "), "{failure:?}");
        assert!(failure.case.contains(&format!("{{\"name\": \"{name}\"}} in v3, uint8 ")), "{failure:?}");
        assert!(failure.what.contains(what), "{failure:?}");
    }
    #[cfg(target_os = "linux")]
    {
        let (suite, trial) = place(&suites, "leaks", "codec-leaks");
        let outcome = workers.outcome(suite, trial, &Listed::of(&suites[suite]));
        let Verdict::Failed(failures) = outcome.verdict else { panic!("{outcome:?}") };
        assert!(failures[0].what.starts_with("creating and dropping 64 codecs leaked "), "{failures:?}");
        let (suite, trial) = place(&suites, "panics", "codec-leaks");
        let outcome = workers.outcome(suite, trial, &Listed::of(&suites[suite]));
        assert!(matches!(outcome.verdict, Verdict::Passed { .. }), "{outcome:?}");
    }
    let panic = foreign("panics");
    assert!(panic.what.starts_with("3 bytes starting with "), "{panic:?}");
    assert!(panic.what.contains("a panic at conformance/tests/wrong_plugins/crashes.rs:"), "{panic:?}");
}

#[test]
fn an_endless_rule_is_stopped_and_names_the_input() {
    let suites = suites();
    let (suite, trial) = place(&suites, "never-returns", "codec-foreign");
    let point = suites[suite].subject.point;
    let crash = workers(Duration::from_secs(2)).check(suite, trial, point).unwrap_err();
    assert!(matches!(crash.end, End::Late(_)), "{crash:?}");
    assert!(crash.attempt.starts_with("decoding 3 bytes, "), "{crash:?}");
}

#[test]
fn the_report_contains_all_rules_although_some_crash() {
    let suites = suites();
    let workers = workers(Duration::from_secs(100));
    let number = suites.iter().position(|suite| suite.subject.name == "aborts").unwrap();
    // Checks only the subjects up to this one, because later subjects would hang or take too long.
    let listed: Vec<Listed> = suites.iter().map(Listed::of).take(number + 1).collect();
    let report = workers.report(&listed, Level::L4);
    let (_, outcomes) = report.subjects.last().unwrap();
    assert_eq!(outcomes.len(), suites[number].trials.len());
    let broken: Vec<&str> = report
        .failures()
        .filter(|(subject, _)| subject.name == "aborts")
        .map(|(_, outcome)| outcome.rule.id)
        .collect();
    assert!(broken.contains(&"codec-foreign") && broken.contains(&"codec-allocation"), "{broken:?}");
    assert!(!broken.contains(&"codec-round-trip") && !broken.contains(&"codec-threads"), "{broken:?}");
}

#[test]
fn a_worker_has_the_same_rules_as_this_process() {
    let listed = workers(Duration::from_secs(100)).list().unwrap();
    let own: Vec<Listed> = suites().iter().map(Listed::of).collect();
    assert_eq!(format!("{listed:?}"), format!("{own:?}"));
}
