//! The order of elements along the curve.

/// Returns the elements of a chunk of `shape` in the order of the curve, as their positions in C order. The chunk
/// must fit into memory.
pub(crate) fn places(shape: &[u64]) -> Vec<usize> {
    let longest = shape.iter().copied().max().unwrap_or(1);
    let bits = u64::BITS - longest.saturating_sub(1).leading_zeros();
    let mut positions = vec![0; shape.len()];
    let mut numbers: Vec<(u128, usize)> = (0..shape.iter().product::<u64>())
        .zip(0..)
        .map(|(mut place, number)| {
            for (position, length) in positions.iter_mut().zip(shape).rev() {
                (*position, place) = (place % length, place / length);
            }
            (along_the_curve(&positions, bits), number)
        })
        .collect();
    numbers.sort_unstable();
    numbers.into_iter().map(|(_, place)| place).collect()
}

/// Returns the distance along the curve of a position in a cube with `bits` bits per dimension.
fn along_the_curve(position: &[u64], bits: u32) -> u128 {
    let mut axes = position.to_vec();
    // Undoes the turns of the curve, from the coarsest cube to the finest.
    for bit in (1..bits).rev().map(|bit| 1 << bit) {
        for axis in 0..axes.len() {
            if axes[axis] & bit != 0 {
                axes[0] ^= bit - 1;
            } else {
                let swapped = (axes[0] ^ axes[axis]) & (bit - 1);
                axes[0] ^= swapped;
                axes[axis] ^= swapped;
            }
        }
    }
    // The result is a Gray code whose bits are spread across the axes.
    for axis in 1..axes.len() {
        axes[axis] ^= axes[axis - 1];
    }
    let last = axes.last().copied().unwrap_or(0);
    let ones =
        (1..bits).map(|bit| 1 << bit).filter(|bit| last & bit != 0).fold(0, |ones, bit| ones ^ (bit - 1));
    (0..bits).rev().fold(0, |number, bit| {
        axes.iter().fold(number, |number, axis| number << 1 | u128::from((axis ^ ones) >> bit & 1))
    })
}

#[cfg(test)]
mod tests {
    use super::places;

    /// Compares the order on squares of 2 by 2 and 4 by 4 elements with the drawings of D. Hilbert.
    #[test]
    fn a_square_is_traversed_in_the_form_of_a_u() {
        assert_eq!(places(&[2, 2]), [0, 1, 3, 2]);
        assert_eq!(places(&[4, 4]), [0, 4, 5, 1, 2, 3, 7, 6, 10, 11, 15, 14, 13, 9, 8, 12]);
    }

    /// Checks that neighbors on the curve are neighbors in the cube, and that every element occurs once.
    #[test]
    fn each_step_goes_to_a_neighbor() {
        for (edge, rank) in [(2, 2), (16, 2), (2, 3), (4, 3), (8, 3)] {
            let order = places(&vec![edge; rank]);
            let edge = usize::try_from(edge).unwrap();
            let axis = |place: usize, axis: u32| place / edge.pow(axis) % edge;
            for pair in order.windows(2) {
                let steps = (0..3).map(|it| axis(pair[0], it).abs_diff(axis(pair[1], it)));
                assert_eq!(steps.sum::<usize>(), 1, "{pair:?} in {edge}^{rank}");
            }
            let mut sorted = order;
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..edge.pow(u32::try_from(rank).unwrap())));
        }
    }

    #[test]
    fn positions_outside_the_chunk_are_skipped() {
        let whole = places(&[4, 4]);
        let part = places(&[3, 4]);
        let within: Vec<usize> = whole.into_iter().filter(|place| *place < 12).collect();
        assert_eq!(part, within);
    }
}
