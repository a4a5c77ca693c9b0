//! Memory that codecs and stores write to.

use zarr_spec::output::LentMemory;
use zarr_spec::{Buffer, LimitExceeded, Output};

#[test]
fn a_destination_accepts_only_bytes_that_fit() {
    let mut memory = [0; 4];
    let mut output = Output::to(&mut memory);
    output.put(&[1, 2, 3]).unwrap();
    assert_eq!(output.put(&[4, 5]), Err(LimitExceeded { limit: 4 }));
    assert_eq!(output.written(), [1, 2, 3]);
    assert_eq!(output.remaining(), 1);
}

#[test]
fn a_buffer_grows_up_to_the_limit_and_reuses_its_memory() {
    let mut buffer = Buffer::new();
    let mut output = buffer.output(1 << 20);
    for byte in 0..=255 {
        output.put(&[byte; 100]).unwrap();
    }
    assert_eq!(output.written().len(), 25_600);
    assert_eq!(output.spare(1 << 20).unwrap_err(), LimitExceeded { limit: 1 << 20 });
    let len = output.written().len();
    assert_eq!(buffer.bytes(len)[100], 1);
    assert_eq!(buffer.output(10).spare(1).unwrap().len(), 10);
}

#[test]
fn a_buffer_stays_aligned_and_keeps_its_bytes_when_it_moves() {
    let mut others = Vec::new();
    let mut buffer = Buffer::new();
    let mut written = Vec::new();
    let mut output = buffer.output(usize::MAX);
    for size in [1, 7, 100, 5000, 70_000, 600_000, 3_000_000] {
        let piece: Vec<u8> = (0..=u8::MAX).cycle().take(size).collect();
        output.put(&piece).unwrap();
        written.extend(piece);
        // Another allocation prevents the buffer from growing in place.
        others.push(vec![1_u8; size]);
        assert_eq!(output.written().as_ptr().addr() % 64, 0);
        assert_eq!(output.written(), written);
    }
}

#[derive(Debug)]
struct Lent(Vec<u8>);

impl LentMemory for Lent {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn grow(&mut self, size: usize) -> bool {
        let may = size <= 8;
        self.0.resize(if may { size } else { self.0.len() }, 0);
        may
    }
}

#[test]
fn lent_memory_grows_as_far_as_its_owner_allows() {
    let mut memory = Lent(vec![0; 2]);
    let mut output = Output::lent(&mut memory, 100);
    output.put(&[1, 2, 3]).unwrap();
    output.put(&[4, 5]).unwrap();
    assert_eq!(output.written(), [1, 2, 3, 4, 5]);
    assert_eq!(output.put(&[0; 4]), Err(LimitExceeded { limit: 100 }));
    assert_eq!(memory.0, [1, 2, 3, 4, 5]);
}

#[test]
fn a_huge_request_is_refused_as_out_of_memory() {
    let mut output = Output::at_most(usize::MAX);
    assert!(output.spare(usize::MAX).is_err());
    assert_eq!(output.out_of_memory(), Some(usize::MAX));
    let mut output = Output::at_most(5);
    assert!(output.spare(6).is_err());
    assert_eq!(output.out_of_memory(), None);
}
