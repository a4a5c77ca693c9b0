//! Counts and sizes of the chunks of an array, and a picture of its chunk grid.

use serde::{Deserialize, Serialize};

/// The largest number of columns of a picture.
const COLUMNS: u64 = 96;

/// The largest number of rows of a picture.
const ROWS: u64 = 32;

/// The chunks of an array.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Census {
    /// The number of chunks per dimension.
    pub grid_shape: Vec<u64>,
    /// The number of chunks in the grid.
    pub chunks: u64,
    /// The number of chunks that are stored.
    pub stored: u64,
    /// The number of stored chunks of which all elements are the fill value; `None` if chunks were not decoded.
    pub fill: Option<u64>,
    /// The number of damaged chunks.
    pub damaged: u64,
    /// The sizes of all stored values together in bytes; `None` if they were not read.
    pub encoded_size: Option<u64>,
    /// The size of the smallest value in bytes.
    pub smallest: Option<u64>,
    /// The size of the largest value in bytes.
    pub largest: Option<u64>,
    /// The hash of the elements, if all chunks were decoded and compared with a manifest.
    pub values: Option<String>,
    /// The chunk grid.
    pub picture: Picture,
}

impl Census {
    pub(super) fn new(grid_shape: &[u64], chunks: u64) -> Self {
        let picture = Picture::new(grid_shape);
        Self { grid_shape: grid_shape.to_vec(), chunks, picture, ..Self::default() }
    }

    /// Returns the number of chunks that are not stored.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.chunks.saturating_sub(self.stored)
    }

    pub(super) fn add_size(&mut self, size: u64) {
        self.encoded_size = Some(self.encoded_size.unwrap_or(0).saturating_add(size));
        self.smallest = Some(self.smallest.map_or(size, |smallest| smallest.min(size)));
        self.largest = Some(self.largest.map_or(size, |largest| largest.max(size)));
    }
}

/// A picture of a chunk grid. Its columns are the last dimension, and its rows are all other dimensions. A cell stands
/// for several chunks of a large grid.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "Vec<String>", from = "Vec<String>")]
pub struct Picture {
    rows: u64,
    columns: u64,
    cells: Vec<Vec<Cell>>,
    lines: Vec<String>,
}

/// The chunks of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Cell {
    stored: u64,
    fill: u64,
    damaged: u64,
}

impl From<Picture> for Vec<String> {
    fn from(picture: Picture) -> Self {
        picture.lines()
    }
}

impl From<Vec<String>> for Picture {
    fn from(lines: Vec<String>) -> Self {
        Self { lines, ..Self::default() }
    }
}

/// The state of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkState {
    Stored,
    Fill,
    Damaged,
}

impl Picture {
    fn new(grid_shape: &[u64]) -> Self {
        let columns = grid_shape.last().copied().unwrap_or(1);
        let outer = &grid_shape[..grid_shape.len().saturating_sub(1)];
        let rows = outer.iter().copied().fold(1, u64::saturating_mul);
        let count = |cells: u64| usize::try_from(cells).unwrap_or(0);
        let cells = vec![vec![Cell::default(); count(columns.min(COLUMNS))]; count(rows.min(ROWS))];
        Self { rows, columns, cells, lines: Vec::new() }
    }

    pub(super) fn add(&mut self, grid_shape: &[u64], index: &[u64], state: ChunkState) {
        let (column, row) = match index.split_last() {
            None => (0, 0),
            Some((&column, outer)) => {
                let row = outer
                    .iter()
                    .zip(grid_shape)
                    .fold(0u64, |row, (at, length)| row.saturating_mul(*length).saturating_add(*at));
                (column, row)
            }
        };
        let row = scaled(row, self.rows, self.cells.len());
        let column = scaled(column, self.columns, self.cells.first().map_or(0, Vec::len));
        let Some(cell) = self.cells.get_mut(row).and_then(|row| row.get_mut(column)) else { return };
        match state {
            ChunkState::Stored => cell.stored += 1,
            ChunkState::Fill => cell.fill += 1,
            // A damaged chunk was also counted as stored before.
            ChunkState::Damaged => cell.damaged += 1,
        }
    }

    /// Returns the rows of the picture: `.` is missing, `#` stored, `+` partly stored, `o` all fill value, `X` damaged.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        if self.cells.is_empty() {
            return self.lines.clone();
        }
        let rows = self.cells.iter().enumerate();
        rows.map(|(row, cells)| {
            let height = share(row, self.cells.len(), self.rows);
            let cell = |(column, cell): (usize, &Cell)| {
                cell.symbol(height.saturating_mul(share(column, cells.len(), self.columns)))
            };
            cells.iter().enumerate().map(cell).collect()
        })
        .collect()
    }
}

impl Cell {
    fn symbol(self, chunks: u64) -> char {
        match self.stored + self.fill {
            _ if self.damaged > 0 => 'X',
            0 => '.',
            present if present < chunks => '+',
            _ if self.stored == 0 => 'o',
            _ => '#',
        }
    }
}

/// Returns the cell for position `at` among `length` positions.
fn scaled(at: u64, length: u64, cells: usize) -> usize {
    let cell = u128::from(at) * cells as u128 / u128::from(length.max(1));
    usize::try_from(cell).unwrap_or(usize::MAX)
}

/// Returns the number of positions in a cell.
fn share(cell: usize, cells: usize, length: u64) -> u64 {
    let first = |cell: usize| (cell as u128 * u128::from(length)).div_ceil(cells.max(1) as u128);
    u64::try_from(first(cell + 1) - first(cell)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_grids_have_a_cell_for_each_chunk() {
        let mut picture = Picture::new(&[2, 3]);
        picture.add(&[2, 3], &[0, 1], ChunkState::Stored);
        picture.add(&[2, 3], &[1, 0], ChunkState::Fill);
        picture.add(&[2, 3], &[1, 2], ChunkState::Stored);
        picture.add(&[2, 3], &[1, 2], ChunkState::Damaged);
        assert_eq!(picture.lines(), [".#.", "o.X"]);
    }

    #[test]
    fn large_grids_are_scaled() {
        let shape = [1000, 960];
        let mut picture = Picture::new(&shape);
        (0..10).for_each(|column| picture.add(&shape, &[0, column], ChunkState::Stored));
        let lines = picture.lines();
        assert_eq!(lines.len(), 32);
        assert!(lines[0].starts_with("+.") && lines[0].len() == 96, "{}", lines[0]);
        assert_eq!((0..32).map(|row| share(row, 32, 1000)).sum::<u64>(), 1000);
        assert!((0..1000).all(|at| {
            let cell = scaled(at, 1000, 32);
            (0..cell).map(|row| share(row, 32, 1000)).sum::<u64>() <= at
        }));
    }

    #[test]
    fn arrays_without_dimensions_have_one_cell() {
        let mut picture = Picture::new(&[]);
        picture.add(&[], &[], ChunkState::Stored);
        assert_eq!(picture.lines(), ["#"]);
        assert!(Picture::new(&[0, 3]).lines().is_empty());
    }
}
