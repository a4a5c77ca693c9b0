//! Rows of a selection: its parts along the slowest dimension of the result.

use std::ops::Range;

use super::ElementSelection;
use crate::plan::Run;

impl ElementSelection {
    /// Returns the dimension of the array that varies slowest in the result, among those with several elements. `None` for
    /// points, and if no dimension has several elements.
    pub(crate) fn dimension_of_rows(&self) -> Option<usize> {
        match self {
            Self::Box { counts, .. } => counts.iter().position(|&count| count != 1),
            Self::Points(_) => None,
        }
    }

    /// Returns the index in the array of a row of the result, along [`Self::dimension_of_rows`].
    pub(crate) fn index_of_row(&self, dimension: usize, row: usize) -> Option<u64> {
        let Self::Box { runs, .. } = self else { return None };
        let run = runs
            .get(dimension)?
            .iter()
            .find(|run| row.checked_sub(run.out).is_some_and(|n| n < run.count))?;
        Some(run.element(row - run.out))
    }

    /// Returns the selection of some rows of the result, for an array of `rank` dimensions.
    pub(crate) fn rows(&self, rows: &Range<usize>, rank: usize) -> Self {
        match self {
            Self::Points(points) => Self::Points(points[rows.start * rank..rows.end * rank].to_vec()),
            Self::Box { runs, counts } => {
                let mut runs = runs.clone();
                let mut counts = counts.clone();
                if let Some(dimension) = self.dimension_of_rows() {
                    runs[dimension] = runs[dimension].iter().filter_map(|run| clipped(run, rows)).collect();
                    counts[dimension] = rows.len();
                }
                Self::Box { runs, counts }
            }
        }
    }
}

/// Returns the part of `run` in `rows`, counted from the first of these rows.
fn clipped(run: &Run, rows: &Range<usize>) -> Option<Run> {
    let start = run.out.max(rows.start);
    let end = run.out.saturating_add(run.count).min(rows.end);
    let count = end.checked_sub(start).filter(|&count| count > 0)?;
    Some(Run { start: run.element(start - run.out), count, step: run.step, out: start - rows.start })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> ElementSelection {
        let runs = vec![
            vec![Run { start: 7, count: 1, step: 1, out: 0 }],
            vec![Run { start: 3, count: 3, step: 1, out: 0 }, Run { start: 9, count: 2, step: -2, out: 3 }],
        ];
        ElementSelection::Box { runs, counts: vec![1, 5] }
    }

    #[test]
    fn rows_are_those_of_the_first_dimension_with_several_elements() {
        let list = list();
        assert_eq!(list.dimension_of_rows(), Some(1));
        let indices: Vec<_> = (0..6).map(|row| list.index_of_row(1, row)).collect();
        assert_eq!(indices, [Some(3), Some(4), Some(5), Some(9), Some(7), None]);
        let ElementSelection::Box { runs, counts } = list.rows(&(2..4), 2) else { panic!("a box") };
        assert_eq!(counts, [1, 2]);
        let found: Vec<_> = runs[1].iter().map(|run| (run.start, run.count, run.out)).collect();
        assert_eq!(found, [(5, 1, 0), (9, 1, 1)]);
        let points = ElementSelection::Points(vec![0, 1, 2, 3, 4, 5]);
        let ElementSelection::Points(points) = points.rows(&(1..3), 2) else { panic!("points") };
        assert_eq!(points, [2, 3, 4, 5]);
    }

    #[test]
    fn strides_skip_dimensions_with_one_element() {
        assert_eq!(list().spread_strides(2, &[40]), [0, 40]);
        assert_eq!(ElementSelection::Points(vec![0, 0, 1, 1]).spread_strides(2, &[24]), [24, 24]);
    }
}
