//! Reads as values of a Rust type: the owner of the memory, the shape, and copies.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_interop::{created, memory};
use zarr_kit::ndarray::IxDyn;
use zarr_kit::{
    Array, ArrayBuilder, Context, Element, Error, Format, Hierarchy, Selection, ThreadPool, Values,
};

const LENGTH: u64 = 700;

/// Creates an array large enough that all threads take part in a copy, with chunks narrower than its rows.
/// One chunk is not stored.
fn array(context: &Context) -> Array {
    let hierarchy = Hierarchy::create(memory(), context, Format::V3).unwrap();
    let builder =
        ArrayBuilder::new([LENGTH; 2], "float32").chunks([100, 350]).fill_value(-1.5).uncompressed();
    let array = hierarchy.create_array("/a", &builder).unwrap();
    array.write_values(&Selection::All, &written()).unwrap();
    assert!(!array.chunk_exists(&[6, 1]).unwrap());
    array
}

fn written() -> Vec<f32> {
    let value = |y, x| if y >= 600 && x >= 350 { -1.5 } else { (y * LENGTH + x) as f32 };
    (0..LENGTH).flat_map(|y| (0..LENGTH).map(move |x| value(y, x))).collect()
}

fn contexts() -> [Context; 3] {
    let context = Context::linked().unwrap();
    let pool = ThreadPool::new(3).unwrap();
    [context.clone(), context.clone().with_one_thread(), context.with_thread_pool(&pool)]
}

#[test]
fn slices_vectors_and_ndarrays_hold_the_written_values() {
    for context in contexts() {
        let array = array(&context);
        let values = array.read_values::<f32>(&Selection::All).unwrap();
        assert_eq!(values.shape(), [LENGTH, LENGTH]);
        assert!(values == written() && written() == values);
        let view = values.view().unwrap();
        assert_eq!((view.shape(), view[[5, 7]]), (&[700, 700][..], 5.0 * 700.0 + 7.0));
        assert_eq!(view.as_ptr(), values.as_ptr());
        let copy = values.to_ndarray().unwrap();
        let ndarray = array.read_ndarray::<f32, IxDyn>(&Selection::All).unwrap();
        assert!(copy == ndarray && ndarray.is_standard_layout());
        assert_eq!(ndarray.as_ptr().addr() % 64, 0, "a large array begins at a cache line");
        assert!(copy == array.read(&Selection::All).unwrap().to_ndarray::<f32>().unwrap());
        assert!(copy == values.view().unwrap());
        assert!(values.into_vec() == written());
    }
}

#[test]
fn a_part_has_the_shape_of_its_selection() {
    let array = array(&Context::linked().unwrap());
    let part = Selection::parse("1:700:300, 5", array.shape()).unwrap();
    let values = array.read_values::<f32>(&part).unwrap();
    let wanted = [705.0, 301.0 * 700.0 + 5.0, 601.0 * 700.0 + 5.0];
    assert_eq!(values.shape(), array.read(&part).unwrap().shape());
    assert_eq!(values, wanted);
    assert_eq!(values, wanted[..]);
    assert_eq!(values, &wanted);
    assert_eq!(array.read_ndarray::<f32, IxDyn>(&part).unwrap().into_raw_vec_and_offset().0, wanted);
    assert_eq!(format!("{values:?}"), format!("{wanted:?}"));
    assert_eq!(values.iter().sum::<f32>(), (&values).into_iter().sum::<f32>());
    let nothing = Selection::parse("3:3, :", array.shape()).unwrap();
    let values = array.read_values::<f32>(&nothing).unwrap();
    assert_eq!((values.shape(), values.len()), (&[0, LENGTH][..], 0));
    assert_eq!(values.view().unwrap().shape(), [0, 700]);
    assert_eq!(array.read_ndarray::<f32, IxDyn>(&nothing).unwrap().shape(), [0, 700]);
    assert_eq!(values.into_vec(), [0.0f32; 0]);
}

#[test]
fn elements_become_values_without_a_copy_and_their_memory_is_reused() {
    let array = array(&Context::linked().unwrap());
    let elements = array.read(&Selection::All).unwrap();
    let start = elements.bytes().as_ptr();
    let mut values: Values<f32> = elements.into_values::<f32>().unwrap();
    assert_eq!(values.as_ptr().cast(), start);
    values[0] = 9.0;
    assert_eq!(values.as_ref()[..2], [9.0, 1.0]);
    drop(values);
    assert_eq!(array.read_values::<f32>(&Selection::All).unwrap().as_ptr().cast(), start);
}

#[test]
fn values_outlive_their_array_and_can_be_sent_to_other_threads() {
    let values = array(&Context::linked().unwrap()).read_values::<f32>(&Selection::All).unwrap();
    let sent = std::thread::spawn(move || Vec::from(values)).join().unwrap();
    assert!(sent == written());
}

#[test]
fn the_error_of_a_wrong_type_names_the_data_type() {
    let array = array(&Context::linked().unwrap());
    let errors = [
        array.read_values::<f64>(&Selection::All).unwrap_err(),
        array.read_ndarray::<f64, IxDyn>(&Selection::All).unwrap_err(),
        array.read(&Selection::All).unwrap().into_values::<u32>().unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Elements(_)), "{error}");
        assert!(error.to_string().contains("float32"), "{error}");
    }
    let strings = created(Format::V3, &ArrayBuilder::new([3], "string"));
    assert!(strings.read(&Selection::All).unwrap().into_values::<u8>().is_err());
    assert!(strings.read_ndarray::<u8, IxDyn>(&Selection::All).is_err());
}

#[test]
fn memory_is_aligned_for_every_type_and_size() {
    fn is_aligned<T: Element>(name: &str, length: u64) -> bool {
        let array = created(Format::V3, &ArrayBuilder::new([length], name));
        array.read_values::<T>(&Selection::All).is_ok_and(|values| values.len() as u64 == length)
    }
    for length in [1, 3, 5000, 300_001] {
        assert!(is_aligned::<i8>("int8", length), "{length}");
        assert!(is_aligned::<u16>("uint16", length), "{length}");
        assert!(is_aligned::<f32>("float32", length), "{length}");
        assert!(is_aligned::<i64>("int64", length), "{length}");
        assert!(is_aligned::<[u8; 3]>("r24", length), "{length}");
    }
}
