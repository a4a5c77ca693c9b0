//! Rules about reading values.

use zarr_spec::store::{Request, StoreError};
use zarr_spec::{ByteRange, Key, Output};

use super::trial::{Trial, fails, key, same};
use super::{Needs, StoreRule, rule};
use crate::suite::Level;

pub(super) const RULES: &[StoreRule] = &[
    (
        rule("D3-STORE-09", Level::L0, "A store reports its missing capabilities."),
        Needs::Nothing,
        what_a_store_cannot_do_it_says,
    ),
    (
        rule("D3-STORE-10", Level::L1, "A value is read as it was set."),
        Needs::Values,
        a_value_is_read_as_it_was_set,
    ),
    (
        rule("D3-STORE-11", Level::L1, "A missing key is neither an error nor an empty value."),
        Needs::Values,
        a_missing_key_is_neither_an_error_nor_an_empty_value,
    ),
    (
        rule("D3-STORE-12", Level::L4, "Each of several requests is answered exactly once."),
        Needs::Values,
        many_parts_are_answered_once_each,
    ),
    (
        rule("D3-STORE-13", Level::L1, "A byte range is an offset and a size."),
        Needs::Values,
        a_range_is_a_start_and_a_length,
    ),
    (
        rule("D3-STORE-14", Level::L1, "A byte range is cut at the end of the value."),
        Needs::Values,
        a_range_is_cut_to_what_exists,
    ),
    (
        rule("D3-STORE-15", Level::L4, "A byte range has the same bytes as that part of the whole value."),
        Needs::Values,
        parts_are_the_same_as_of_the_whole_value,
    ),
    (
        rule("store-too-large", Level::L2, "A value that exceeds the limit of the output is an error."),
        Needs::Values,
        more_than_the_output_takes_is_an_error,
    ),
    (
        rule("store-size", Level::L1, "The size of a byte range's response is the size of the whole value."),
        Needs::Values,
        the_size_is_that_of_the_whole_value,
    ),
    (
        rule("store-version", Level::L1, "Different values of a key have different versions."),
        Needs::Values,
        a_version_tells_states_of_a_value_apart,
    ),
];

const DIGITS: &[u8] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

fn what_a_store_cannot_do_it_says(trial: &Trial) -> Result<(), String> {
    let store = &trial.0;
    let can = trial.0.capabilities();
    let key = key("a/k")?;
    let prefix = key.parent();
    let says = |quality| move |error: &StoreError| matches!(error, StoreError::NotSupported { quality: is, .. } if *is == quality);
    if !can.readable {
        let says = says("not readable");
        fails("get", store.get(&key, ByteRange::Full.into(), &mut Output::at_most(9)), says)?;
        fails("size", store.size(&key), says)?;
        let request = Request::new(key.clone(), ByteRange::Full, 9);
        let delivered: Result<Vec<_>, _> = store.get_many(vec![request], 9).map(|(_, got)| got).collect();
        fails("get_many", delivered, says)?;
    }
    if !can.writeable {
        let says = says("not writeable");
        fails("set", store.set(&key, b"v".into()), says)?;
        if can.readable {
            fails("set_partial_values", store.set_partial_values(&[(key.clone(), 0, b"v")]), says)?;
        }
    }
    if !can.listable {
        let says = says("not listable");
        fails("list", store.list(), says)?;
        fails("list_prefix", store.list_prefix(&prefix).map(drop), says)?;
        fails("list_dir", store.list_dir(&prefix), says)?;
    }
    if !can.erasable {
        let says = says("not erasable");
        fails("erase", store.erase(&key), says)?;
        fails("erase_values", store.erase_values(std::slice::from_ref(&key)), says)?;
    }
    Ok(())
}

fn a_value_is_read_as_it_was_set(trial: &Trial) -> Result<(), String> {
    trial.set("a", b"\x00\xff")?;
    trial.has("a", b"\x00\xff")
}

fn a_missing_key_is_neither_an_error_nor_an_empty_value(trial: &Trial) -> Result<(), String> {
    trial.lacks("a")?;
    trial.set("d/a", b"")?;
    trial.has("d/a", b"")?;
    for missing in ["a", "d/b", "d/a/x", "e/a"] {
        trial.lacks(missing)?;
        for range in [ByteRange::Range { offset: 0, size: 1 }, ByteRange::From(1), ByteRange::Last(1)] {
            same(missing, trial.get_range(missing, range)?, None)?;
        }
        let size = trial.0.size(&key(missing)?).map_err(|error| error.to_string())?;
        same(&format!("size of `{missing}`"), size, None)?;
    }
    Ok(())
}

fn many_parts_are_answered_once_each(trial: &Trial) -> Result<(), String> {
    trial.set("k", DIGITS)?;
    trial.set("l", b"whole")?;
    let request = |at: &str, range, limit| Ok(Request::new(key(at)?, range, limit));
    let requests: Vec<Request> = [
        ("k", ByteRange::Range { offset: 2, size: 3 }, 3),
        ("x", ByteRange::Range { offset: 0, size: 1 }, 1),
        ("k", ByteRange::From(0), 10),
        ("l", ByteRange::Full, 100),
        ("k", ByteRange::Last(2), 2),
        ("k", ByteRange::Full, 9),
    ]
    .into_iter()
    .map(|(at, range, limit)| request(at, range, limit))
    .collect::<Result<_, String>>()?;
    // The expected bytes, and the size of the whole value.
    let wanted: &[Option<(&[u8], u64)>] =
        &[Some((&[2, 3, 4], 10)), None, Some((DIGITS, 10)), Some((b"whole", 5)), Some((&[8, 9], 10))];
    for budget in [0, 1, 1 << 20] {
        let mut answers = vec![None; wanted.len()];
        let mut refused = 0;
        for (number, answer) in trial.0.get_many(requests.clone(), budget) {
            match (answers.get_mut(number), answer) {
                (None, answer) if number == wanted.len() => {
                    fails("get_many past its limit", answer, is_too_large)?;
                    refused += 1;
                }
                (Some(place @ None), Ok(fetched)) => *place = Some(fetched),
                (Some(_), Ok(_)) => return Err(format!("request {number} was answered twice")),
                (None, _) => return Err(format!("a response to request {number}, which does not exist")),
                (_, Err(error)) => return Err(format!("request {number}: {error}")),
            }
        }
        same("responses past the limit", refused, 1)?;
        for (number, (answer, wanted)) in answers.iter().zip(wanted).enumerate() {
            let answer = answer.as_ref().ok_or(format!("request {number} was not answered"))?;
            let answer = answer.as_ref().map(|fetched| (&fetched.bytes[..], fetched.size));
            same(&format!("answer {number}"), answer, *wanted)?;
        }
    }
    same("responses without a request", trial.0.get_many(Vec::new(), 1).count(), 0)?;
    // A caller may drop the iterator after the first answer.
    same("first answer", trial.0.get_many(requests, 1).take(1).count(), 1)
}

fn a_range_is_a_start_and_a_length(trial: &Trial) -> Result<(), String> {
    holds_ranges(
        trial,
        &[
            (ByteRange::Range { offset: 2, size: 3 }, &[2, 3, 4]),
            (ByteRange::Range { offset: 0, size: 10 }, DIGITS),
            (ByteRange::Range { offset: 9, size: 1 }, &[9]),
            (ByteRange::From(2), &DIGITS[2..]),
            (ByteRange::From(0), DIGITS),
            (ByteRange::Last(3), &[7, 8, 9]),
        ],
    )
}

/// Checks ranges that exceed the value. Negative offsets and sizes cannot occur, because both are unsigned.
fn a_range_is_cut_to_what_exists(trial: &Trial) -> Result<(), String> {
    holds_ranges(
        trial,
        &[
            (ByteRange::Range { offset: 8, size: 5 }, &[8, 9]),
            (ByteRange::Range { offset: 20, size: 1 }, &[]),
            (ByteRange::Range { offset: 10, size: 1 }, &[]),
            (ByteRange::Range { offset: 3, size: 0 }, &[]),
            (ByteRange::Range { offset: 1, size: u64::MAX }, &DIGITS[1..]),
            (ByteRange::Range { offset: u64::MAX, size: u64::MAX }, &[]),
            (ByteRange::From(10), &[]),
            (ByteRange::From(u64::MAX), &[]),
            (ByteRange::Last(0), &[]),
            (ByteRange::Last(11), DIGITS),
            (ByteRange::Last(u64::MAX), DIGITS),
        ],
    )
}

fn holds_ranges(trial: &Trial, ranges: &[(ByteRange, &[u8])]) -> Result<(), String> {
    trial.set("d/k", DIGITS)?;
    for (range, wanted) in ranges {
        let found = trial.get_range("d/k", *range)?;
        same(&format!("{range:?} of ten bytes"), found.as_deref(), Some(*wanted))?;
    }
    Ok(())
}

fn parts_are_the_same_as_of_the_whole_value(trial: &Trial) -> Result<(), String> {
    let value: Vec<u8> = (0..=255).cycle().take(70_001).collect();
    trial.set("k", &value)?;
    for offset in [0, 1, 4095, 4096, 65_536, 70_000] {
        for size in [1, 4096, 65_537, 70_001] {
            let range = ByteRange::Range { offset, size };
            let part = range.within(value.len() as u64);
            let [start, end] = [part.start, part.end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
            same(&format!("{range:?}"), trial.get_range("k", range)?.as_deref(), value.get(start..end))?;
        }
    }
    Ok(())
}

fn more_than_the_output_takes_is_an_error(trial: &Trial) -> Result<(), String> {
    trial.set("k", DIGITS)?;
    let key = key("k")?;
    let get = |range, destination: &mut [u8]| {
        let mut output = Output::to(destination);
        let got = trial.0.get(&key, range, &mut output).map(|got| got.is_some());
        got.map(|there| (there, output.written().len()))
    };
    fails("ten bytes into nine", get(ByteRange::Full.into(), &mut [0; 9]), is_too_large)?;
    fails("two bytes into one", get(ByteRange::Last(2).into(), &mut [0; 1]), is_too_large)?;
    let range = ByteRange::Range { offset: 9, size: 2 };
    let (there, _) = get(range.into(), &mut [0; 1]).map_err(|error| format!("one byte into one: {error}"))?;
    same("presence of the last byte", there, true)?;
    // The output retains its existing bytes, and the value follows them.
    let mut output = Output::at_most(12);
    output.put(b"ab").map_err(|error| error.to_string())?;
    let got = trial.0.get(&key, ByteRange::Full.into(), &mut output).map_err(|error| error.to_string())?;
    match got.map(|got| got.contents) {
        Some(zarr_spec::store::Contents::Written) => {
            same("the output", output.written(), [b"ab".as_slice(), DIGITS].concat().as_slice())
        }
        Some(zarr_spec::store::Contents::Shared(_)) => same("the output", output.written(), b"ab"),
        None => Err("the value is missing".to_owned()),
    }
}

fn is_too_large(error: &StoreError) -> bool {
    matches!(error, StoreError::TooLarge { .. })
}

fn the_size_is_that_of_the_whole_value(trial: &Trial) -> Result<(), String> {
    for value in [DIGITS, b""] {
        trial.set("d/k", value)?;
        let wanted = value.len() as u64;
        let size = |key: &Key| trial.0.size(key).map_err(|error| error.to_string());
        same("size", size(&key("d/k")?)?, Some(wanted))?;
        for range in [ByteRange::Full, ByteRange::Last(1), ByteRange::Range { offset: 2, size: 2 }] {
            let got = trial.got("d/k", range)?.map(|(_, got)| got.size);
            same(&format!("size in the response for {range:?}"), got, Some(wanted))?;
        }
    }
    Ok(())
}

fn a_version_tells_states_of_a_value_apart(trial: &Trial) -> Result<(), String> {
    let version = |range| trial.got("k", range).map(|got| got.and_then(|(_, got)| got.version));
    trial.set("k", b"one")?;
    let Some(one) = version(ByteRange::Full)? else { return Ok(()) };
    trial.set("other", b"value")?;
    same("version of an unchanged value", version(ByteRange::Last(1))?.as_ref(), Some(&one))?;
    trial.set("k", b"two")?;
    let two = version(ByteRange::Full)?;
    if two.as_ref() == Some(&one) { Err("two values have the same version".to_owned()) } else { Ok(()) }
}
