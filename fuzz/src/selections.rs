//! Selections as text.

use std::io;
use std::sync::LazyLock;

use zarr_conformance::fuzz::within;
use zarr_kit::{Array, ArrayBuilder, Context, DimensionSelection, Format, Hierarchy, Selection};

use crate::hierarchies::{context, memory};

/// The maximum memory of a small selection of a small array, in bytes.
const MEMORY: usize = 16 << 20;

/// Selections of more elements are parsed but not read.
const MOST: usize = 1 << 12;

const SHAPE: [u64; 2] = [7, 5];

static ARRAY: LazyLock<Array> = LazyLock::new(array);

#[expect(clippy::expect_used, reason = "a small array in memory")]
fn array() -> Array {
    let context: Context = context();
    let hierarchy = Hierarchy::create(memory(&context), &context, Format::V3).expect("a hierarchy");
    let builder = ArrayBuilder::new(SHAPE, "uint8").chunks([3, 2]);
    let array = hierarchy.create_array("/a", &builder).expect("an array");
    array.write_values::<u8>(&Selection::All, &(0..35).collect::<Vec<_>>()).expect("all of its elements");
    array
}

/// Parses the input as a selection for arrays of several shapes.
pub(crate) fn run(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    within(MEMORY, text, || {
        for shape in [&[][..], &[0], &[u64::MAX, 3], &[1; 32]] {
            if let Ok(selection) = Selection::parse(text, shape) {
                let _shape = selection.shape(shape);
            }
        }
        let Ok(selection) = Selection::parse(text, &SHAPE) else { return };
        let shape = match selection.shape(&SHAPE) {
            Ok(shape) => shape,
            Err(error) => panic!("{selection:?} is parsed, and then {error}"),
        };
        let count = shape.iter().product::<u64>();
        if count > MOST as u64 {
            return;
        }
        let read = ARRAY.read_values::<u8>(&selection);
        let wanted: Vec<_> = naive(&selection, &SHAPE);
        assert_eq!(wanted.len() as u64, count, "{selection:?} has the shape {shape:?}");
        let read = read.map(|read| read.iter().copied().map(usize::from).collect::<Vec<_>>());
        assert!(read.as_ref().is_ok_and(|read| *read == wanted), "{selection:?}: {read:?} for {wanted:?}");
    });
}

/// Returns the positions of the selected elements in a small array, in C order.
pub(crate) fn naive(selection: &Selection, shape: &[u64]) -> Vec<usize> {
    let along: Vec<Vec<u64>> = match selection {
        Selection::Orthogonal(dimensions) => dimensions.iter().map(indices).collect(),
        _ => shape.iter().map(|length| (0..*length).collect()).collect(),
    };
    let start = vec![0_u64];
    let places = along.iter().zip(shape).fold(start, |places, (indices, length)| {
        places.iter().flat_map(|place| indices.iter().map(move |index| place * length + index)).collect()
    });
    places.into_iter().map(|place| usize::try_from(place).unwrap_or(usize::MAX)).collect()
}

fn indices(along: &DimensionSelection) -> Vec<u64> {
    match along {
        DimensionSelection::Range { start, stop, step } => {
            let next = |index: &u64| index.checked_add(*step).filter(|index| index < stop);
            std::iter::successors((start < stop).then_some(*start), next).collect()
        }
        DimensionSelection::Index(index) => vec![*index],
        DimensionSelection::List(list) => list.clone(),
    }
}

pub(crate) fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let texts = ["0:3, ::2", "...", "-1, [3,1,2]", "[2:, 4]", "1:6:3", "..., 0", "[[0, 0, 6], 1]", ""];
    Ok(texts.map(|text| text.as_bytes().to_vec()).to_vec())
}
