//! Pools of contexts.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use zarr_spec::Pool;

#[test]
fn each_concurrent_caller_has_a_context() {
    let pool = Pool::new();
    let made = AtomicUsize::new(0);
    let meeting = Barrier::new(3);
    let make = || made.fetch_add(1, Ordering::SeqCst);
    assert_eq!(pool.with(make, |number| *number), 0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| pool.with(make, |_| meeting.wait()));
        }
    });
    assert_eq!(made.load(Ordering::SeqCst), 3);
    for _ in 0..5 {
        thread::scope(|scope| drop(scope.spawn(|| pool.with(make, |number| assert!(*number < 3)))));
    }
    assert_eq!(made.load(Ordering::SeqCst), 3);
}
