//! Shapes, grids and layouts: the elements of each chunk and their order.

use serde_json::{Value, json};
use zarr_kit::spec::layout::MemoryLayoutPlugin;
use zarr_kit::spec::{Codec, Identifiers};
use zarr_kit::{Error, Hierarchy, Mode, Selection, Values};

use super::support::{
    array, array_document, context, context_with, draft, get, message, one_chunk, open, set, with_array,
};

fn grid(chunk_shape: &[u64], separator: &str) -> Value {
    json!({"type": "regular", "chunk_shape": chunk_shape, "separator": separator})
}

/// Tests D3-SHAPE-02.
#[test]
fn the_number_of_elements_is_the_product_of_the_lengths() {
    for (shape, chunk, count) in [(&[][..], &[][..], 1), (&[0, 5], &[1, 5], 0), (&[3, 4], &[2, 3], 12)] {
        let changes = json!({"shape": shape, "chunk_grid": grid(chunk, "/"), "fill_value": 7});
        let array = array(&with_array(&array_document(changes)), &context()).unwrap();
        let elements = array.read(&Selection::All).unwrap();
        assert_eq!(elements.shape(), shape);
        assert_eq!(elements.count(), count);
        assert_eq!(elements.as_slice::<i32>().unwrap(), vec![7; count]);
        assert!(array.write_values::<i32>(&Selection::All, &vec![1; count + 1]).is_err());
        array.write_values::<i32>(&Selection::All, &vec![1; count]).unwrap();
        assert_eq!(array.stored_chunks().unwrap().is_empty(), count == 0);
    }
}

/// Tests D3-GRID-10, D3-GRID-11, D3-GRID-12, D3-CONTRA-19.
#[test]
fn edge_chunks_are_stored_whole() {
    let document = array_document(json!({"shape": [3], "data_type": "int16", "fill_value": 7}));
    let store = with_array(&document);
    let array = array(&store, &context()).unwrap();
    array.write_values::<i16>(&Selection::All, &[1, 2, 3]).unwrap();
    assert_eq!(get(&*store, "data/a/c0").unwrap(), [1, 0, 2, 0]);
    assert_eq!(get(&*store, "data/a/c1").unwrap(), [3, 0, 7, 0]);

    set(&*store, "data/a/c1", &[3, 0, 0xaa, 0xbb]);
    assert_eq!(array.read_values::<i16>(&Selection::All).unwrap(), [1, 2, 3]);
    set(&*store, "data/a/c1", &[3, 0]);
    let error = message(array.read(&Selection::All));
    assert!(error.contains("chunk [1] of /a (key `data/a/c1`)") && error.contains("2 bytes"), "{error}");

    let document =
        array_document(json!({"shape": [30], "data_type": "uint8", "chunk_grid": grid(&[16], "/")}));
    let store = with_array(&document);
    let array = super::support::array(&store, &context()).unwrap();
    array.write_values::<u8>(&Selection::All, &(1..=30).collect::<Vec<_>>()).unwrap();
    let edge: Vec<u8> = (17..=30).chain([0, 0]).collect();
    assert_eq!(get(&*store, "data/a/c1").unwrap(), edge);
    assert_eq!(zarr_kit::spec::grid::chunk_subset(array.chunk_grid(), &[1]).unwrap().ranges()[0], 16..32);
    assert_eq!(array.chunk_subset(&[1]).unwrap().ranges()[0], 16..30);
}

/// Tests D3-GRID-07, D3-CONTRA-17.
#[test]
fn chunks_count_from_zero_and_begin_at_multiples_of_their_shape() {
    let shape = [10, 200, 3000];
    let changes = json!({"shape": shape, "chunk_grid": grid(&[5, 20, 400], ".")});
    let store = with_array(&array_document(changes));
    let array = array(&store, &context()).unwrap();
    let start = |index: &[u64]| -> Vec<u64> {
        array.chunk_subset(index).unwrap().ranges().iter().map(|range| range.start).collect()
    };
    assert_eq!(start(&[1, 7, 2]), [5, 140, 800]);
    assert_eq!(start(&[0, 0, 0]), [0, 0, 0]);
    assert!(array.chunk_subset(&[2, 0, 0]).is_err());
    let one = [7u64..8, 150..151, 900..901];
    array.write_values::<i32>(&Selection::from(&one[..]), &[5]).unwrap();
    let chunk = get(&*store, "data/a/c1.7.2").unwrap();
    let position = (2 * 20 + 10) * 400 + 100;
    assert_eq!(chunk.iter().position(|&byte| byte == 5), Some(4 * position));
}

/// Tests D3-GRID-15.
#[test]
fn compatibility_mode_tries_an_older_key_of_a_single_chunk() {
    let document = one_chunk(&[], "uint8", json!({"fill_value": 9}));
    let read = |values: &[(&str, u8)], mode| {
        let store = with_array(&document);
        values.iter().for_each(|(key, value)| set(&*store, key, &[*value]));
        let array = array(&store, &context().with_mode(mode)).unwrap();
        (array.read_values::<u8>(&Selection::All).unwrap().into_vec(), array.stored_chunks().unwrap().len())
    };
    for mode in [Mode::Strict, Mode::Lenient] {
        assert_eq!(read(&[("data/a/c0", 1)], mode), (vec![9], 0), "{mode:?}");
        assert_eq!(read(&[("data/a/c", 2)], mode), (vec![2], 1), "{mode:?}");
    }
    assert_eq!(read(&[("data/a/c0", 1)], Mode::Compatibility), (vec![1], 1));
    assert_eq!(read(&[("data/a/c0", 1), ("data/a/c", 2)], Mode::Compatibility), (vec![2], 1));
    let store = with_array(&document);
    let array = array(&store, &context().with_mode(Mode::Compatibility)).unwrap();
    array.write_values::<u8>(&Selection::All, &[3]).unwrap();
    assert_eq!(get(&*store, "data/a/c").unwrap(), [3]);
    assert_eq!(get(&*store, "data/a/c0"), None);
}

/// Tests D3-GRID-19.
#[test]
fn an_unknown_grid_is_not_ignored() {
    let grid = json!({"extension": "https://e.org/grid/1.0", "type": "rectilinear"});
    let store = with_array(&array_document(json!({"chunk_grid": grid})));
    for mode in [Mode::Strict, Mode::Lenient, Mode::Compatibility] {
        let hierarchy = open(&store, &context().with_mode(mode));
        let error = hierarchy.array("/a").unwrap_err();
        let Error::NotUnderstood(error) = error else { panic!("{error}") };
        let problems = &error.problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].place, "chunk_grid");
        assert!(problems[0].reason.contains("https://e.org/grid/1.0"), "{problems:?}");
        assert!(hierarchy.metadata("/a").is_ok(), "the metadata can be read");
    }
    let known = context_with(|registry| {
        let regular =
            registry.chunk_grids().find(zarr_kit::Format::V3, "regular", &Default::default()).unwrap();
        let mut plugin = *regular;
        plugin.identifiers = Identifiers::uri("https://e.org/grid/1.0");
        registry.register(plugin).unwrap();
    });
    let mut document = array_document(json!({}));
    document["chunk_grid"] =
        json!({"extension": "https://e.org/grid/1.0", "type": "x", "configuration": {"chunk_shape": [3]}});
    let array = array(&with_array(&document), &known).unwrap();
    assert_eq!(array.chunk_grid().grid_shape(), [2]);
}

/// Writes 0 to 5 in one chunk of two rows and three columns; returns the stored bytes.
fn six_elements(changes: Value) -> Vec<u8> {
    let store = with_array(&one_chunk(&[2, 3], "uint8", changes));
    let array = array(&store, &context()).unwrap();
    array.write_values::<u8>(&Selection::All, &[0, 1, 2, 3, 4, 5]).unwrap();
    assert_eq!(array.read_values::<u8>(&Selection::All).unwrap(), [0, 1, 2, 3, 4, 5]);
    let name = array.chunk_key(&[0, 0]).unwrap();
    get(&*store, name.as_str()).unwrap()
}

/// Tests D3-LAYOUT-02, D3-LAYOUT-03.
#[test]
fn the_layout_determines_the_fastest_dimension() {
    assert_eq!(six_elements(json!({"chunk_memory_layout": "C"})), [0, 1, 2, 3, 4, 5]);
    assert_eq!(six_elements(json!({"chunk_memory_layout": "F"})), [0, 3, 1, 4, 2, 5]);
}

/// Tests D3-LAYOUT-04.
#[test]
fn layouts_require_elements_of_fixed_size() {
    let text = json!({"extension": "https://zarr-kit.example/spec/data-types/string/1.0", "type": "string"});
    let codecs = json!([{"type": "https://zarr-kit.example/spec/codecs/vlen-utf8/1.0"}]);
    let document = |layout: &str| {
        let changes = json!({"chunk_memory_layout": layout, "fill_value": "", "codecs": codecs});
        one_chunk(&[2, 3], text.clone(), changes)
    };
    let error = message(array(&with_array(&document("F")), &context()));
    assert!(error.contains("chunk_memory_layout") && error.contains("fixed size"), "{error}");
    for layout in ["C", "F"] {
        let fixed = one_chunk(&[2, 3], "uint8", json!({"chunk_memory_layout": layout}));
        assert!(array(&with_array(&fixed), &context()).is_ok());
    }
}

/// Tests D3-LAYOUT-05.
#[test]
fn an_unknown_layout_is_not_ignored() {
    const URI: &str = "https://e.org/l/1.0";
    let layout = json!({"extension": "https://e.org/l/1", "type": "morton"});
    let document = one_chunk(&[2, 3], "uint8", json!({"chunk_memory_layout": layout}));
    for mode in [Mode::Strict, Mode::Lenient, Mode::Compatibility] {
        let error = message(array(&with_array(&document), &context().with_mode(mode)));
        assert!(error.contains("`chunk_memory_layout`") && error.contains("https://e.org/l/1"), "{error}");
    }
    let known = context_with(|registry| {
        let identifiers = Identifiers::uri(URI);
        let reversed = MemoryLayoutPlugin::new(identifiers, &|creation, rank| {
            assert_eq!(creation.type_name.unwrap().as_str(), Some("backwards"));
            Ok(Codec::Permutation((0..rank).rev().collect()))
        });
        registry.register(reversed).unwrap();
    });
    let layout = json!({"extension": URI, "type": "backwards"});
    let store = with_array(&one_chunk(&[2, 3], "uint8", json!({"chunk_memory_layout": layout})));
    let array = array(&store, &known).unwrap();
    array.write_values::<u8>(&Selection::All, &[0, 1, 2, 3, 4, 5]).unwrap();
    assert_eq!(get(&*store, "data/a/c0/0").unwrap(), [0, 3, 1, 4, 2, 5]);
}

/// Tests D3-LAYOUT-06.
#[test]
fn layouts_do_not_differ_in_up_to_one_dimension() {
    for shape in [&[][..], &[3]] {
        let stored = ["C", "F"].map(|layout| {
            let store = with_array(&one_chunk(shape, "int16", json!({"chunk_memory_layout": layout})));
            let array = array(&store, &context()).unwrap();
            let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
            array.write_values::<i16>(&Selection::All, &[258, 2, 3][..count]).unwrap();
            get(&*store, array.chunk_key(&vec![0; shape.len()]).unwrap().as_str()).unwrap()
        });
        assert_eq!(stored[0], stored[1]);
        assert_eq!(stored[0][..2], [2, 1]);
    }
}

/// Tests DX-TRANS-04, DX-URI-04.
#[test]
fn a_layout_is_applied_before_the_transpose_codec() {
    let transpose = |order: Value| json!([{"type": "https://purl.org/zarr/spec/codecs/transpose/1.0", "configuration": {"order": order}}]);
    let both = json!({"chunk_memory_layout": "F", "codecs": transpose(json!("F"))});
    assert_eq!(six_elements(both), [0, 1, 2, 3, 4, 5]);
    let one = json!({"chunk_memory_layout": "C", "codecs": transpose(json!("F"))});
    assert_eq!(six_elements(one), [0, 3, 1, 4, 2, 5]);
    let other = "https://purl.org/zarr/spec/codec/transpose/1.0";
    let document =
        one_chunk(&[2, 3], "uint8", json!({"codecs": [{"type": other, "configuration": {"order": "F"}}]}));
    assert!(message(array(&with_array(&document), &context())).contains(other));
    // In three dimensions, the order of the layout and the codec makes a difference.
    let changes = json!({"chunk_memory_layout": "F", "codecs": transpose(json!([1, 0, 2]))});
    let store = with_array(&one_chunk(&[2, 2, 2], "uint8", changes));
    let array = array(&store, &context()).unwrap();
    array.write_values::<u8>(&Selection::All, &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    // The layout reorders dimensions i, j, k to k, j, i; the codec reorders those to j, k, i.
    assert_eq!(get(&*store, "data/a/c0/0/0").unwrap(), [0, 4, 1, 5, 2, 6, 3, 7]);
}

/// Tests D3-CODEC-21.
#[test]
fn a_missing_chunk_reads_as_the_fill_value() {
    let document = array_document(json!({"shape": [5], "data_type": "float32", "fill_value": "0x7fc00001"}));
    let store = draft(&[("meta/a.array.json", document)]);
    let array = array(&store, &context()).unwrap();
    let bits = |values: Values<f32>| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(array.read_values::<f32>(&Selection::All).unwrap()), [0x7fc0_0001; 5]);
    set(&*store, "data/a/c1", &[0; 8]);
    let wanted = [0x7fc0_0001, 0x7fc0_0001, 0, 0, 0x7fc0_0001];
    assert_eq!(bits(array.read_values::<f32>(&Selection::All).unwrap()), wanted);
    let again = Hierarchy::open(store, &context()).unwrap().array("/a").unwrap();
    assert_eq!(
        bits(again.read_values::<f32>(&Selection::parse("::2", &[5]).unwrap()).unwrap()),
        [0x7fc0_0001, 0, 0x7fc0_0001]
    );
}
