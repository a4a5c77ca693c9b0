//! Reads and writes of `ndarray` views with any strides.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::sync::Arc;
use std::time::Duration;

use zarr_interop::{FarStore, created, memory};
use zarr_kit::ndarray::{Array1, Array2, Array3, Axis, Ix1, Ix2, Ix3, s};
use zarr_kit::spec::store::{ReadHints, Store};
use zarr_kit::{
    Array, ArrayBuilder, Context, DimensionSelection, Error, Format, Hierarchy, Selection, StridedMemory,
    json,
};

/// Creates an array of 12 × 10 × 6 elements in chunks of 5 × 4 × 6.
fn array(codecs: &[&str]) -> Array {
    let mut builder = ArrayBuilder::new([12, 10, 6], "uint16").chunks([5, 4, 6]).fill_value(0);
    for codec in codecs {
        builder = builder.codec((*codec, json!({})));
    }
    created(Format::V3, &builder)
}

fn counted() -> Array3<u16> {
    Array3::from_shape_fn((12, 10, 6), |(z, y, x)| u16::try_from(z * 60 + y * 6 + x).unwrap())
}

fn filled(codecs: &[&str]) -> Array {
    let array = array(codecs);
    array.write_ndarray(.., &counted()).unwrap();
    array
}

#[test]
fn a_selection_is_read_into_every_other_element_of_a_larger_array() {
    for codecs in [&[][..], &["gzip"], &["zstd"]] {
        let array = filled(codecs);
        let mut around = Array3::from_elem((24, 22, 18), u16::MAX);
        let mut view = around.slice_mut(s![1..24;2, 2..22;2, ..;3]);
        array.read_ndarray_into(.., &mut view).unwrap();
        assert_eq!(view, counted());
        view.fill(u16::MAX);
        assert!(
            around.iter().all(|&element| element == u16::MAX),
            "elements between those of the view changed"
        );
    }
}

#[test]
fn transposed_reversed_and_contiguous_views_are_read() {
    let array = filled(&[]);
    let mut transposed = Array3::<u16>::zeros((6, 10, 12));
    array.read_ndarray_into(.., &mut transposed.view_mut().reversed_axes()).unwrap();
    assert_eq!(transposed.reversed_axes(), counted());
    let mut reversed = Array3::<u16>::zeros((12, 10, 6));
    let mut view = reversed.view_mut();
    view.invert_axis(Axis(1));
    array.read_ndarray_into(.., &mut view).unwrap();
    assert_eq!(view, counted());
    let mut whole = Array3::<u16>::zeros((12, 10, 6));
    array.read_ndarray_into(.., &mut whole).unwrap();
    assert_eq!(whole, counted());
}

#[test]
fn selections_of_every_kind_are_read_into_a_column_of_a_view() {
    let array = filled(&[]);
    let mut around = Array2::from_elem((10, 3), 7u16);
    array.read_ndarray_into((3, .., 5), &mut around.column_mut(1)).unwrap();
    assert_eq!(around.column(1), counted().slice(s![3, .., 5]));
    assert!(around.column(0).iter().chain(&around.column(2)).all(|&element| element == 7));
    let points = Selection::Coordinates(vec![vec![11, 0, 5], vec![9, 0, 4], vec![5, 0, 2]]);
    let mut found = Array1::from_elem(6, 7u16);
    array.read_ndarray_into(&points, &mut found.slice_mut(s![..;2])).unwrap();
    assert_eq!(found.to_vec(), [719, 7, 0, 7, 326, 7]);
    let lists = Selection::Orthogonal(vec![
        DimensionSelection::List(vec![7, 2]),
        DimensionSelection::Index(4),
        DimensionSelection::Range { start: 0, stop: 6, step: 5 },
    ]);
    let mut found = Array2::from_elem((4, 2), 7u16);
    array.read_ndarray_into(&lists, &mut found.slice_mut(s![..;2, ..])).unwrap();
    assert_eq!(found.slice(s![..;2, ..]), zarr_kit::ndarray::arr2(&[[444, 449], [144, 149]]));
}

#[test]
fn missing_chunks_read_as_the_fill_value_and_empty_views_are_accepted() {
    let array = array(&[]);
    let mut around = Array3::from_elem((12, 10, 12), 7u16);
    array.read_ndarray_into(.., &mut around.slice_mut(s![.., .., ..;2])).unwrap();
    assert!(around.slice(s![.., .., ..;2]).iter().all(|&element| element == 0));
    assert!(around.slice(s![.., .., 1..;2]).iter().all(|&element| element == 7));
    let mut empty = Array3::<u16>::zeros((0, 10, 6));
    array.read_ndarray_into([0..0, 0..10, 0..6], &mut empty).unwrap();
}

#[test]
fn elements_with_several_stored_forms_are_read_into_views() {
    let array = created(Format::V3, &ArrayBuilder::new([4], "bool").chunks([2]).uncompressed());
    array.write_encoded_chunk(&[0], &[2, 0]).unwrap();
    let mut found = Array1::from_elem(8, 9u8);
    array.read_ndarray_into(.., &mut found.slice_mut(s![..;2])).unwrap();
    assert_eq!(found.to_vec(), [1, 9, 0, 9, 0, 9, 0, 9]);
}

#[test]
fn rejects_views_of_another_shape_or_type() {
    let array = filled(&[]);
    let mut other = Array3::<u16>::zeros((12, 10, 5));
    assert!(matches!(array.read_ndarray_into(.., &mut other), Err(Error::Elements(_))));
    assert!(matches!(array.write_ndarray(.., &other), Err(Error::Elements(_))));
    let mut other = Array3::<u32>::zeros((12, 10, 6));
    assert!(matches!(array.read_ndarray_into(.., &mut other), Err(Error::Elements(_))));
}

#[test]
fn views_of_any_strides_are_written() {
    let around =
        Array3::from_shape_fn((24, 20, 12), |(z, y, x)| u16::try_from(z * 240 + y * 12 + x).unwrap());
    let view = around.slice(s![..;2, ..;2, ..;-2]);
    let array = array(&[]);
    array.write_ndarray(.., &view).unwrap();
    assert_eq!(array.read_ndarray::<u16, Ix3>(..).unwrap(), view);
    let column = around.slice(s![3, ..10, 7]);
    array.write_ndarray((.., 2, 1), &around.slice(s![..12, 0, 0])).unwrap();
    array.write_ndarray((4, .., 3), &column).unwrap();
    assert_eq!(array.read_ndarray::<u16, Ix1>((4, .., 3)).unwrap(), column);
}

/// The view is larger than the scratch memory, so it is written in parts. Each chunk is written once.
#[test]
fn a_large_view_is_written_in_parts_of_whole_chunks() {
    let builder = ArrayBuilder::new([5000, 4096], "uint32").chunks([300, 4096]).uncompressed();
    let store = Arc::new(FarStore::new(memory(), Duration::ZERO, ReadHints::MEMORY));
    let counted: Arc<dyn Store> = Arc::<FarStore>::clone(&store);
    let hierarchy = Hierarchy::create(counted, &Context::linked().unwrap(), Format::V3).unwrap();
    let array = hierarchy.create_array("/a", &builder).unwrap();
    let _creating = store.take();
    let around = Array2::from_shape_fn((5000, 8192), |(y, x)| u32::try_from(y * 8192 + x + 1).unwrap());
    let view = around.slice(s![.., ..;2]);
    array.write_ndarray(.., &view).unwrap();
    assert_eq!(store.take().written, 17);
    assert_eq!(array.read_ndarray::<u32, Ix2>(..).unwrap(), view);
}

#[test]
fn many_selections_are_read_into_parts_of_one_memory() {
    for codecs in [&[][..], &["gzip"], &["zstd"]] {
        let array = filled(codecs);
        let expected = counted();
        let range = |start, stop| DimensionSelection::Range { start, stop, step: 1 };
        let first = Selection::Orthogonal(vec![range(0, 7), range(2, 10), DimensionSelection::Index(3)]);
        let second = Selection::Orthogonal(vec![range(11, 12), range(0, 4), range(1, 6)]);
        let mut columns = vec![9u8; 7 * 8 * 6];
        let mut rows = vec![9u8; 4 * 5 * 2];
        // Two unused elements follow each element of the first selection.
        let columns_of = StridedMemory::of_slice(&mut columns, &[7, 8], &[48, 6], 2).unwrap();
        let rows_of = StridedMemory::of_slice(&mut rows, &[1, 4, 5], &[0, 10, 2], 2).unwrap();
        array.read_many_into(&mut [(first, columns_of), (second, rows_of)]).unwrap();
        let elements: Vec<_> = columns.chunks(6).map(|six| u16::from_ne_bytes([six[0], six[1]])).collect();
        assert_eq!(elements, expected.slice(s![0..7, 2..10, 3]).iter().copied().collect::<Vec<_>>());
        assert!(columns.chunks(6).all(|six| six[2..] == [9; 4]), "bytes between the elements changed");
        let elements: Vec<_> = rows.chunks(2).map(|two| u16::from_ne_bytes([two[0], two[1]])).collect();
        assert_eq!(elements, expected.slice(s![11..12, 0..4, 1..6]).iter().copied().collect::<Vec<_>>());
    }
}

#[test]
fn memory_that_does_not_match_its_selection_is_refused() {
    let array = filled(&[]);
    let mut bytes = vec![0u8; 100];
    assert!(StridedMemory::of_slice(&mut bytes, &[51], &[2], 2).is_none());
    assert!(StridedMemory::of_slice(&mut bytes, &[2], &[-2], 2).is_none());
    assert!(StridedMemory::of_slice(&mut bytes, &[2, 2], &[2], 2).is_none());
    for (shape, size) in [([4usize, 1, 1], 2), ([3, 1, 1], 4), ([1, 1, 3], 2)] {
        let memory = StridedMemory::of_slice(&mut bytes, &shape, &[8, 8, 8], size).unwrap();
        let selection = Selection::Orthogonal(vec![
            DimensionSelection::Range { start: 0, stop: 3, step: 1 },
            DimensionSelection::Range { start: 0, stop: 1, step: 1 },
            DimensionSelection::Range { start: 0, stop: 1, step: 1 },
        ]);
        let read = array.read_many_into(&mut [(selection, memory)]);
        assert!(matches!(read, Err(Error::Elements(_))), "{read:?}");
    }
    let flags = created(Format::V3, &ArrayBuilder::new([4], "bool").chunks([2]));
    let memory = StridedMemory::of_slice(&mut bytes, &[4], &[1], 1).unwrap();
    let read = flags.read_many_into(&mut [(Selection::All, memory)]);
    assert!(matches!(read, Err(Error::NotSupported(_))), "{read:?}");
}
