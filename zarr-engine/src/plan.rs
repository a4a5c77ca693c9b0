//! Planning: which chunks a region touches, and where the elements of each chunk go.
//!
//! A chunk of a plan is a chunk of the array or an inner chunk of a shard. Planning does no I/O. If arithmetic suffices, it does
//! not store a list of chunks: the `i`-th chunk is computed on demand.

mod dimension;
mod lookup;
mod points;

use zarr_spec::grid::GridError;

use crate::copy::MAX_RANK;
use crate::grid::{Axis, Extent};
use crate::per_dimension::PerDimension;

pub(crate) use dimension::Run;
use dimension::{DimensionPlan, Runs};
use points::{Points, PointsPlan};

#[derive(Debug)]
pub(crate) struct Plan<'a> {
    chunks: PlanChunks<'a>,
    len: usize,
}

#[derive(Debug)]
enum PlanChunks<'a> {
    Box(Vec<DimensionPlan>),
    Points(Box<PointsPlan<'a>>),
}

#[derive(Debug, Clone)]
pub(crate) struct Piece<'p> {
    chunk: PerDimension<u64>,
    elements: PieceElements<'p>,
    chunks: &'p PlanChunks<'p>,
    number: usize,
}

#[derive(Debug, Clone)]
enum PieceElements<'p> {
    Box(PerDimension<Runs<'p>>),
    Points(Points<'p>),
}

impl<'a> Plan<'a> {
    /// Plans a box: one axis with its runs per dimension. Fails if a run is not inside of the array, or the number of
    /// chunks does not fit into a `usize`.
    pub(crate) fn new<R: AsRef<[Run]>>(
        axes: impl IntoIterator<Item = (Axis<'a>, R)>,
    ) -> Result<Self, GridError> {
        let dimensions: Result<Vec<_>, _> =
            axes.into_iter().map(|(axis, runs)| DimensionPlan::new(axis, runs.as_ref())).collect();
        let dimensions = dimensions?;
        let len =
            dimensions.iter().try_fold(1usize, |product, dimension| product.checked_mul(dimension.len()));
        let len = len.filter(|_| dimensions.len() <= MAX_RANK).ok_or_else(too_many)?;
        Ok(Self { chunks: PlanChunks::Box(dimensions), len })
    }

    /// Plans single elements, given the coordinates of each element in turn. There must be at least one axis. In the
    /// output, the elements are numbered along the last dimension. Fails if an element is outside of the array.
    pub(crate) fn of_points(axes: Vec<Axis<'a>>, coordinates: &'a [u64]) -> Result<Self, GridError> {
        if axes.len() > MAX_RANK {
            return Err(too_many());
        }
        Ok(PointsPlan::of_list(axes, coordinates)?.into())
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns chunk number `number`, in C order.
    pub(crate) fn piece(&self, number: usize) -> Result<Piece<'_>, GridError> {
        let rank = self.chunks.rank();
        let mut chunk = PerDimension::new(rank, 0);
        let elements = match &self.chunks {
            PlanChunks::Box(dimensions) => {
                let mut elements = PerDimension::new(rank, Runs::One(Run::ONE));
                let mut rest = number;
                for (place, dimension) in dimensions.iter().enumerate().rev() {
                    (chunk[place], elements[place]) = dimension.piece(rest % dimension.len())?;
                    rest /= dimension.len();
                }
                PieceElements::Box(elements)
            }
            PlanChunks::Points(points) => PieceElements::Points(points.piece(number, &mut chunk)?),
        };
        Ok(Piece { chunk, elements, chunks: &self.chunks, number })
    }
}

impl PlanChunks<'_> {
    fn rank(&self) -> usize {
        match self {
            Self::Box(dimensions) => dimensions.len(),
            Self::Points(points) => points.rank(),
        }
    }
}

impl<'a> From<PointsPlan<'a>> for Plan<'a> {
    fn from(points: PointsPlan<'a>) -> Self {
        Self { len: points.len(), chunks: PlanChunks::Points(Box::new(points)) }
    }
}

fn too_many() -> GridError {
    GridError::OutOfBounds("too many chunks or dimensions".to_owned())
}

impl<'p> Piece<'p> {
    pub(crate) fn chunk(&self) -> &[u64] {
        &self.chunk
    }

    /// Returns all elements of the chunk, per dimension, as the grid returned them when the plan was made.
    pub(crate) fn extents(&self) -> Result<PerDimension<Extent>, GridError> {
        let mut extents = PerDimension::new(self.chunk.len(), Extent::EMPTY);
        match self.chunks {
            PlanChunks::Box(dimensions) => {
                let mut rest = self.number;
                for (extent, dimension) in extents.iter_mut().zip(dimensions).rev() {
                    *extent = dimension.chunk(rest % dimension.len())?.extent;
                    rest /= dimension.len();
                }
            }
            PlanChunks::Points(points) => {
                for (dimension, extent) in extents.iter_mut().enumerate() {
                    *extent = points.chunk(self.number, dimension)?.extent;
                }
            }
        }
        Ok(extents)
    }

    /// Plans the inner chunks of a shard. Dimension `i` of the inner chunks is dimension `order[i]` of the shard.
    pub(crate) fn divided<'s>(
        &self,
        order: &[usize],
        axes: impl IntoIterator<Item = Axis<'s>>,
    ) -> Result<Plan<'s>, GridError> {
        match &self.elements {
            PieceElements::Box(runs) => {
                Plan::new(axes.into_iter().zip(order.iter().map(|&dimension| runs[dimension].as_slice())))
            }
            PieceElements::Points(points) => {
                Ok(PointsPlan::of_points(axes.into_iter().collect(), points, order)?.into())
            }
        }
    }

    /// Returns the strided box of the selected elements; `None` if they form several boxes.
    pub(crate) fn only(&self) -> Option<StridedBox> {
        let mut only = StridedBox::new(self.chunk.len());
        let is_only = match &self.elements {
            PieceElements::Points(points) => {
                let mut points = points.clone();
                points.take_run(&mut only) && points.is_empty()
            }
            PieceElements::Box(runs) => {
                let is_only = runs.iter().all(|runs| runs.as_slice().len() == 1);
                if is_only {
                    only.choose(runs, 0);
                }
                is_only
            }
        };
        is_only.then_some(only)
    }

    /// Calls `work` with every combination of runs. Each is one strided box of the chunk.
    pub(crate) fn each_strided_box<E>(
        &self,
        mut work: impl FnMut(&StridedBox) -> Result<(), E>,
    ) -> Result<(), E> {
        // One box is reused: it has a fixed capacity for many dimensions, and moving it takes longer than copying an
        // element.
        let mut strided_box = StridedBox::new(self.chunk.len());
        match &self.elements {
            PieceElements::Points(points) => {
                let mut points = points.clone();
                while points.take_run(&mut strided_box) {
                    work(&strided_box)?;
                }
            }
            PieceElements::Box(runs) => {
                let count: usize = runs.iter().map(|runs| runs.as_slice().len()).product();
                for number in 0..count {
                    strided_box.choose(runs, number);
                    work(&strided_box)?;
                }
            }
        }
        Ok(())
    }

    /// Returns whether every element of a chunk of `shape` is selected, in order.
    pub(crate) fn covers(&self, mut shape: impl Iterator<Item = u64>) -> bool {
        let is_whole = |run: &Run, length| {
            run.start == 0 && run.count as u64 == length && (length == 1 || run.step == 1)
        };
        match &self.elements {
            PieceElements::Points(_) => self
                .only()
                .is_some_and(|only| only.runs().iter().zip(shape).all(|(run, length)| is_whole(run, length))),
            PieceElements::Box(runs) => runs.iter().all(
                |runs| matches!((runs.as_slice(), shape.next()), ([run], Some(length)) if is_whole(run, length)),
            ),
        }
    }
}

/// One run per dimension: a strided box of a chunk.
#[derive(Debug, Clone)]
pub(crate) struct StridedBox {
    runs: PerDimension<Run>,
}

impl StridedBox {
    fn new(rank: usize) -> Self {
        Self { runs: PerDimension::new(rank, Run::ONE) }
    }

    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Selects combination number `number` of the runs per dimension. The last dimension varies fastest.
    fn choose(&mut self, runs: &[Runs<'_>], number: usize) {
        let mut rest = number;
        for (run, runs) in self.runs.iter_mut().zip(runs).rev() {
            let runs = runs.as_slice();
            *run = runs[rest % runs.len()];
            rest /= runs.len();
        }
    }

    pub(crate) fn set_run(&mut self, dimension: usize, run: Run) {
        self.runs[dimension] = run;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::ops::Range;
    use std::sync::Arc;

    use zarr_spec::grid::ChunkGrid;

    use super::*;
    use crate::grid::Grid;

    /// A grid with arbitrary chunk lengths.
    #[derive(Debug)]
    struct Lengths(Vec<u64>, [u64; 1]);

    impl ChunkGrid for Lengths {
        fn grid_shape(&self) -> &[u64] {
            &self.1
        }

        fn chunk_range(&self, _: usize, chunk: u64) -> Result<Range<u64>, GridError> {
            let index = usize::try_from(chunk).unwrap();
            let start = self.0[..index].iter().sum();
            Ok(start..start + self.0[index])
        }

        fn chunk_of(&self, _: usize, element: u64) -> Result<u64, GridError> {
            let mut end = 0;
            self.0
                .iter()
                .position(|length| {
                    end += length;
                    element < end
                })
                .map(|chunk| chunk as u64)
                .ok_or_else(|| GridError::OutOfBounds(element.to_string()))
        }

        fn chunk_shape(&self) -> Option<&[u64]> {
            None
        }

        fn largest_chunk(&self) -> Vec<u64> {
            vec![self.0.iter().copied().max().unwrap()]
        }
    }

    fn grid(lengths: &[u64]) -> Grid {
        let grid = Lengths(lengths.to_vec(), [lengths.len() as u64]);
        Grid::new(Arc::new(grid), "chunk grid `lengths`", &[lengths.iter().sum()]).unwrap()
    }

    fn combinations(piece: &Piece<'_>) -> Vec<StridedBox> {
        let mut all = Vec::new();
        let Ok(()) = piece.each_strided_box(|strided_box| {
            all.push(strided_box.clone());
            Ok::<_, Infallible>(())
        });
        assert_eq!(piece.only().is_some(), all.len() == 1);
        all
    }

    /// Returns the elements of the array and their positions in memory, as a plan returns them.
    fn elements(axis: Axis<'_>, runs: &[Run]) -> Vec<(u64, usize)> {
        let plan = Plan::new([(axis, runs)]).unwrap();
        let mut all = Vec::new();
        for number in 0..plan.len() {
            let piece = plan.piece(number).unwrap();
            let extent = piece.extents().unwrap()[0];
            for strided_box in combinations(&piece) {
                let run = strided_box.runs()[0];
                assert!(run.count > 0);
                for number in 0..run.count {
                    assert!(extent.contains(extent.start + run.element(number)));
                    all.push((extent.start + run.element(number), run.out + number));
                }
            }
        }
        all.sort_by_key(|&(_, out)| out);
        all
    }

    #[test]
    fn each_selected_element_is_in_exactly_one_piece() {
        let grid = grid(&[3, 1, 4, 1, 5]);
        for axis in [grid.axis(0), Axis::even(4, 14), Axis::even(1, 14)] {
            for start in 0..14 {
                for step in 1..15 {
                    for count in 1..=(13 - start) / step + 1 {
                        let run = Run {
                            start,
                            count: usize::try_from(count).unwrap(),
                            step: step.cast_signed(),
                            out: 7,
                        };
                        let wanted: Vec<_> =
                            (0..run.count).map(|number| (run.element(number), 7 + number)).collect();
                        assert_eq!(elements(axis, &[run]), wanted, "{run:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn lists_may_repeat_and_go_backwards() {
        let axis = Axis::even(4, 14);
        let runs = [
            Run { start: 13, count: 14, step: -1, out: 0 },
            Run { start: 5, count: 3, step: 0, out: 14 },
            Run { start: 2, count: 1, step: 1, out: 17 },
        ];
        let wanted: Vec<_> = (0..14u64).rev().chain([5, 5, 5, 2]).zip(0..).collect();
        assert_eq!(elements(axis, &runs), wanted);
    }

    #[test]
    fn an_array_without_dimensions_has_one_chunk() {
        let plan = Plan::new::<&[Run]>([]).unwrap();
        assert_eq!(plan.len(), 1);
        assert!(plan.piece(0).unwrap().covers(std::iter::empty()));
    }

    /// A chunk, and the starts, counts and output positions of its runs.
    type CellPoints = (Vec<u64>, Vec<(u64, usize, usize)>);

    fn points(plan: &Plan<'_>) -> Vec<CellPoints> {
        let piece = |number| {
            let piece = plan.piece(number).unwrap();
            let last = |strided_box: StridedBox| {
                let run = *strided_box.runs().last().unwrap();
                (run.start, run.count, run.out)
            };
            (piece.chunk().to_vec(), combinations(&piece).into_iter().map(last).collect())
        };
        (0..plan.len()).map(piece).collect()
    }

    #[test]
    fn groups_points_by_cell_and_merges_neighbours_into_runs() {
        let axes = vec![Axis::even(4, 8), Axis::even(4, 8)];
        let coordinates = [7, 7, 0, 1, 0, 2, 0, 3, 0, 4, 7, 7, 0, 2];
        let plan = Plan::of_points(axes, &coordinates).unwrap();
        let wanted = vec![
            (vec![0, 0], vec![(1, 3, 1), (2, 1, 6)]),
            (vec![0, 1], vec![(0, 1, 4)]),
            (vec![1, 1], vec![(3, 1, 0), (3, 1, 5)]),
        ];
        assert_eq!(points(&plan), wanted);
    }

    #[test]
    fn divides_the_points_of_a_cell_with_permuted_dimensions() {
        let axes = vec![Axis::even(4, 8), Axis::even(6, 12)];
        let coordinates = [4, 11, 7, 6, 5, 7];
        let plan = Plan::of_points(axes, &coordinates).unwrap();
        let piece = plan.piece(0).unwrap();
        assert_eq!((plan.len(), piece.chunk()), (1, &[1, 1][..]));
        let inner = [Axis::even(3, 6), Axis::even(2, 4)];
        let inner = piece.divided(&[1, 0], inner).unwrap();
        let wanted =
            vec![(vec![0, 0], vec![(1, 1, 2)]), (vec![0, 1], vec![(1, 1, 1)]), (vec![1, 0], vec![(0, 1, 0)])];
        assert_eq!(points(&inner), wanted);
    }

    #[test]
    fn a_point_covers_a_cell_of_one_element() {
        let plan = Plan::of_points(vec![Axis::even(1, 3)], &[2, 0, 0]).unwrap();
        let covers = |number| plan.piece(number).unwrap().covers([1].into_iter());
        // An element of the first chunk is selected twice, so the chunk does not count as covered.
        assert_eq!((plan.len(), covers(0), covers(1)), (2, false, true));
    }
}
