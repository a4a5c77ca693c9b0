//! Divides work among the threads of a context.
//!
//! Work is split in halves until it is small, and an idle thread can take over a half that has not started. The
//! parallel iterators of `rayon` do the same, but these three functions are faster to compile.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::threads::{PARALLEL, PORTION, Threads};
use crate::unpoisoned::Unpoisoned;

/// Calls `work` with every number in `range`, in portions of at least `portion` numbers. No call starts after an error.
/// Returns one of the errors of `work`.
pub(crate) fn try_each<E: Send>(
    threads: &Threads,
    range: Range<usize>,
    portion: usize,
    work: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let has_failed = AtomicBool::new(false);
    let failure = Mutex::new(None);
    threads.divide(range, portion, &|mut part| {
        let done = part.try_for_each(|number| match has_failed.load(Ordering::Relaxed) {
            true => Ok(()),
            false => work(number),
        });
        if let Err(error) = done {
            has_failed.store(true, Ordering::Relaxed);
            failure.lock().unpoisoned().get_or_insert(error);
        }
    });
    failure.into_inner().unpoisoned().map_or(Ok(()), Err)
}

/// Returns the result of `work` for each item, in the order of the items. A portion has at least `portion` items.
pub(crate) fn map<T: Send, R: Send>(
    threads: &Threads,
    items: Vec<T>,
    portion: usize,
    work: &(impl Fn(T) -> R + Sync),
) -> Vec<R> {
    let slots: Vec<_> = items.into_iter().map(|item| Mutex::new((Some(item), None))).collect();
    threads.divide(0..slots.len(), portion, &|part| {
        for slot in &slots[part] {
            let (item, result) = &mut *slot.lock().unpoisoned();
            *result = item.take().map(work);
        }
    });
    slots.into_iter().filter_map(|slot| slot.into_inner().unpoisoned().1).collect()
}

/// Copies `source` to `destination`, which has the same size, on all threads if it is large. The caller must not hold a
/// lock, because a thread that waits for others runs other jobs.
pub(crate) fn copy(threads: &Threads, source: &[u8], destination: &mut [u8]) {
    if source.len() < PARALLEL || matches!(threads.usable(), Threads::Caller | Threads::Scoped(_)) {
        return destination.copy_from_slice(source);
    }
    let portions: Vec<_> = destination.chunks_mut(PORTION).map(Mutex::new).collect();
    threads.divide(0..portions.len(), 1, &|part| {
        for number in part {
            let to = &mut *portions[number].lock().unpoisoned();
            let size = to.len();
            to.copy_from_slice(&source[number * PORTION..][..size]);
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::threads::ThreadPool;

    #[test]
    fn calls_work_once_for_each_number() {
        for portion in [0, 1, 7, 100] {
            let counts: Vec<_> = (0..50).map(|_| AtomicUsize::new(0)).collect();
            let done = try_each(&Threads::Global, 3..50, portion, |number| {
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
        let pool = ThreadPool::new(1).unwrap();
        let done = try_each(&Threads::Pool(pool), 0..1000, 10, |number| {
            calls.fetch_add(1, Ordering::Relaxed);
            if number == 4 { Err("four") } else { Ok(()) }
        });
        assert_eq!((done, calls.into_inner()), (Err("four"), 5));
    }

    #[test]
    fn results_have_the_order_of_the_items() {
        for (count, portion) in [(0, 1), (1, 1), (1000, 0), (1000, 3), (1000, 2000)] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = (0..count).map(|number| 2 * number).collect();
            assert_eq!(map(&Threads::Global, items, portion, &|number| 2 * number), doubled);
        }
    }

    #[test]
    fn copies_any_number_of_bytes() {
        for size in [0, 1, PARALLEL - 1, PARALLEL, PARALLEL + 1, 3 * PARALLEL - 7] {
            let source: Vec<u8> = (0..251).cycle().take(size).collect();
            let mut destination = vec![255; source.len()];
            copy(&Threads::Global, &source, &mut destination);
            assert!(destination == source, "{size}");
        }
    }
}
