//! Divides work among the threads of a pool.
//!
//! Work is split in halves until it is small, and an idle thread can take over a half that has not started. `rayon-core`
//! provides the pools. The parallel iterators of `rayon` do the same, but these three functions are faster to compile.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon_core::join;

/// Calls `work` with every number in `range`, in portions of at least `portion` numbers. No call starts after an error.
/// Returns one of the errors of `work`.
pub(crate) fn try_each<E: Send>(
    range: Range<usize>,
    portion: usize,
    work: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let has_failed = AtomicBool::new(false);
    let work = |number| match has_failed.load(Ordering::Relaxed) {
        true => Ok(()),
        false => work(number).inspect_err(|_| has_failed.store(true, Ordering::Relaxed)),
    };
    in_halves(range, portion, &work)
}

fn in_halves<E: Send>(
    mut range: Range<usize>,
    portion: usize,
    work: &(impl Fn(usize) -> Result<(), E> + Sync),
) -> Result<(), E> {
    if !is_divisible(range.len(), portion) {
        return range.try_for_each(work);
    }
    let middle = range.start + range.len() / 2;
    let (first, second) = join(
        || in_halves(range.start..middle, portion, work),
        || in_halves(middle..range.end, portion, work),
    );
    first.and(second)
}

/// Returns the result of `work` for each item, in the order of the items. A portion has at least `portion` items.
pub(crate) fn map<T: Send, R: Send>(
    mut items: Vec<T>,
    portion: usize,
    work: &(impl Fn(T) -> R + Sync),
) -> Vec<R> {
    if !is_divisible(items.len(), portion) {
        return items.into_iter().map(work).collect();
    }
    let rest = items.split_off(items.len() / 2);
    let (mut results, others) = join(|| map(items, portion, work), || map(rest, portion, work));
    results.extend(others);
    results
}

/// Copies `source` to `destination`, which has the same size, in portions of at least `portion` bytes.
pub(crate) fn copy(source: &[u8], destination: &mut [u8], portion: usize) {
    if !is_divisible(source.len(), portion) {
        return destination.copy_from_slice(source);
    }
    // The middle is a multiple of the portion, so that the pieces are aligned like the whole.
    let middle = (source.len() / 2).next_multiple_of(portion);
    let (first, second) = source.split_at(middle);
    let (to_first, to_second) = destination.split_at_mut(middle);
    join(|| copy(first, to_first, portion), || copy(second, to_second, portion));
}

/// Returns whether each half has at least the size of a portion.
fn is_divisible(size: usize, portion: usize) -> bool {
    size / 2 >= portion.max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn calls_work_once_for_each_number() {
        for portion in [0, 1, 7, 100] {
            let counts: Vec<_> = (0..50).map(|_| AtomicUsize::new(0)).collect();
            let done = try_each(3..50, portion, |number| {
                counts[number].fetch_add(1, Ordering::Relaxed);
                Ok::<_, ()>(())
            });
            assert_eq!(done, Ok(()));
            let counts: Vec<_> = counts.into_iter().map(AtomicUsize::into_inner).collect();
            assert_eq!(counts, [&[0; 3][..], &[1; 47]].concat(), "{portion}");
        }
    }

    #[test]
    fn no_call_starts_after_an_error() {
        let calls = AtomicUsize::new(0);
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let done = pool.install(|| {
            try_each(0..1000, 10, |number| {
                calls.fetch_add(1, Ordering::Relaxed);
                if number == 4 { Err("four") } else { Ok(()) }
            })
        });
        assert_eq!((done, calls.into_inner()), (Err("four"), 5));
    }

    #[test]
    fn results_have_the_order_of_the_items() {
        for (count, portion) in [(0, 1), (1, 1), (1000, 0), (1000, 3), (1000, 2000)] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = (0..count).map(|number| 2 * number).collect();
            assert_eq!(map(items, portion, &|number| 2 * number), doubled);
        }
    }

    #[test]
    fn copies_any_number_of_bytes() {
        for size in [0, 1, 15, 16, 33, 100] {
            let source: Vec<u8> = (0..size).collect();
            let mut destination = vec![255; source.len()];
            copy(&source, &mut destination, 8);
            assert_eq!(destination, source);
        }
    }
}
