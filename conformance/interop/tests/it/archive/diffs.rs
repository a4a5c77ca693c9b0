//! Comparisons across formats and chunks.

use std::sync::Arc;

use zarr_kit::archive::{Compared, Diff, Difference, Settings, Side, Tolerance, ValueDifferences, diff};
use zarr_kit::json::json;
use zarr_kit::spec::store::Store;
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, NodePath};

use super::{open, sample};

fn compared(one: (&Arc<dyn Store>, Format), other: (&Arc<dyn Store>, Format), how: Compared) -> Diff {
    let first = open(one.0, one.1);
    let second = open(other.0, other.1);
    let side = |hierarchy| Side { hierarchy, root: NodePath::root() };
    let small = Settings::new().memory(20);
    diff(&side(&first), &side(&second), how, &small).unwrap()
}

/// Creates a hierarchy with an array of float64.
fn floats(format: Format, chunks: [u64; 2], values: &[f64]) -> Arc<dyn Store> {
    let store = zarr_interop::memory();
    let context = Context::linked().unwrap();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, format).unwrap();
    hierarchy.create_group("/", json!({})).unwrap();
    let array = ArrayBuilder::new([3, 4], "float64").chunks(chunks);
    hierarchy.create_array("/a", &array).unwrap().write_values::<f64>(.., values).unwrap();
    store
}

const VALUES: [f64; 12] = [0.0, 1.0, 2.0, f64::NAN, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 0.0, 0.0];

#[test]
fn equal_hierarchies_of_different_formats_are_equal() {
    let [v2, draft] = [Format::V2, Format::V3Draft].map(|format| (sample(format), format));
    let diff = compared((&v2.0, v2.1), (&draft.0, draft.1), Compared::everything());
    assert!(diff.is_equal(), "{diff:?}");
    assert_eq!(diff.compared, 5);
    for chunks in [[1, 4], [3, 1], [2, 3]] {
        let other = floats(Format::V3, chunks, &VALUES);
        let one = floats(Format::V2, [3, 2], &VALUES);
        assert!(compared((&one, Format::V2), (&other, Format::V3), Compared::everything()).is_equal());
    }
}

fn values_of(diff: &Diff) -> &ValueDifferences {
    match &diff.nodes[..] {
        [node] => match &node.differences[..] {
            [Difference::Values(values)] => values,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn elements_that_differ_are_counted() {
    let mut changed = VALUES;
    changed[2] = 2.5;
    changed[9] = 8.0;
    changed[10] = -0.0;
    let one = floats(Format::V2, [1, 4], &VALUES);
    let other = floats(Format::V3, [2, 3], &changed);
    let run = |how| compared((&one, Format::V2), (&other, Format::V3), how);
    let diff = run(Compared::everything());
    let values = values_of(&diff);
    assert_eq!((values.count, values.different, &values.index[..]), (12, 3, &[0, 2][..]));
    assert_eq!((values.first.as_str(), values.second.as_str()), ("2", "2.5"));
    assert_eq!((values.largest, values.largest_relative), (Some(1.0), Some(0.2)));
    let tolerant =
        |absolute, relative| run(Compared::everything().tolerance(Tolerance::new(absolute, relative)));
    assert_eq!(values_of(&tolerant(0.5, 0.0)).different, 1);
    assert_eq!(values_of(&tolerant(0.0, 0.15)).different, 1);
    assert!(tolerant(1.0, 0.0).is_equal());
    assert!(run(Compared::everything().values(false)).is_equal());
}

#[test]
fn structure_and_metadata_are_compared() {
    let one = sample(Format::V3);
    let other = sample(Format::V3);
    let hierarchy = open(&other, Format::V3);
    hierarchy.erase("/gzip").unwrap();
    hierarchy.create_group("/gzip", json!({})).unwrap();
    hierarchy.create_group("/new", json!({})).unwrap();
    hierarchy.set_attributes("/g", json!({"a": [1, {"b": 1.0}]})).unwrap();
    hierarchy.array("/g/x").unwrap().resize(&[7]).unwrap();
    let diff = compared((&one, Format::V3), (&other, Format::V3), Compared::everything());
    let names: Vec<_> = diff
        .nodes
        .iter()
        .map(|node| (node.path.as_str(), node.differences.iter().map(Difference::name).collect::<Vec<_>>()))
        .collect();
    let expected = [
        ("/g", vec!["attribute"]),
        ("/g/x", vec!["shape"]),
        ("/gzip", vec!["kind"]),
        ("/new", vec!["only-in-second"]),
    ];
    assert_eq!(names, expected);
    assert!(diff.to_json().to_string().contains(r#""kind":"only-in-second""#));
}

#[test]
fn numbers_of_different_types_are_compared() {
    let store = floats(Format::V3, [3, 4], &VALUES.map(|value| if value.is_nan() { 3.0 } else { value }));
    let other = zarr_interop::memory();
    let context = Context::linked().unwrap();
    let hierarchy = Hierarchy::create(Arc::clone(&other), &context, Format::V3).unwrap();
    hierarchy.create_group("/", json!({})).unwrap();
    let array = ArrayBuilder::new([3, 4], "int16").chunks([2, 2]);
    let array = hierarchy.create_array("/a", &array).unwrap();
    array.write_values::<i16>(.., &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]).unwrap();
    let diff = compared((&store, Format::V3), (&other, Format::V3), Compared::everything());
    let [Difference::DataType { .. }, Difference::Values(values)] = &diff.nodes[0].differences[..] else {
        panic!("{diff:?}")
    };
    assert_eq!((values.different, values.largest), (1, Some(1.0)));
}
