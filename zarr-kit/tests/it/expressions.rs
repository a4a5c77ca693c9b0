//! Expressions that users write, with the names of this crate only.

use std::sync::Arc;

use zarr_kit::data_types::Time;
use zarr_kit::json::{Object, Value};
use zarr_kit::ndarray::{Array2, Ix1, Ix2, IxDyn, s};
use zarr_kit::prelude::*;
use zarr_kit::stores::object_store::memory::InMemory;
use zarr_kit::stores::{CacheStore, MemoryStore, ReadOnlyStore, RemoteStore, StatisticsStore};
use zarr_kit::{
    Bytes, Complex, DimensionSelection, EntryKind, Error, ErrorKind, IntoSelection, Limits, Order, Progress,
    bf16, f16,
};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn hierarchy() -> Outcome<Hierarchy> {
    Ok(Hierarchy::create_location("memory:", &Context::linked()?, Format::default())?)
}

/// Creates an array of 4 × 6 elements that count up from 0.
fn counting() -> Outcome<Array> {
    let array = hierarchy()?.create_array("/a", &ArrayBuilder::new([4, 6], "int32").chunks([2, 3]))?;
    array.write_values(.., &(0..24).collect::<Vec<i32>>())?;
    Ok(array)
}

#[test]
fn selections_are_ranges_indices_tuples_and_text() -> Outcome {
    let array = counting()?;
    let rows = 1..3;
    assert_eq!(array.read_values::<i32>(3)?, [18, 19, 20, 21, 22, 23]);
    assert_eq!(array.read_values::<i32>(1..2)?, [6, 7, 8, 9, 10, 11]);
    assert_eq!(array.read_values::<i32>(3..)?, array.read_values::<i32>(3..=3)?);
    assert_eq!(array.read_values::<i32>(..1)?, [0, 1, 2, 3, 4, 5]);
    assert_eq!(array.read_values::<i32>([0..2, 0..1])?, [0, 6]);
    assert_eq!(array.read_values::<i32>(&[0..2, 0..1])?, [0, 6]);
    assert_eq!(array.read_values::<i32>(vec![0..2, 0..1])?, [0, 6]);
    assert_eq!(array.read_values::<i32>((rows, 1))?, [7, 13]);
    assert_eq!(array.read_values::<i32>((.., vec![5, 0]))?.shape(), [4, 2]);
    assert_eq!(array.read_values::<i32>("::2, -1".parse::<Selection>()?)?, [5, 17]);
    let along = [DimensionSelection::from(0..2), 5.into(), vec![1, 0].into()];
    assert_eq!(along[0], DimensionSelection::Range { start: 0, stop: 2, step: 1 });
    // The subset of a chunk is clipped to the array.
    let subset = array.chunk_subset(&[1, 1])?;
    assert_eq!(array.read_values::<i32>(&subset)?, [15, 16, 17, 21, 22, 23]);
    array.write_values((0, 0), &[7])?;
    assert_eq!(array.read_values::<i32>(Selection::from((0, 0)))?, [7]);
    fn takes_any<'s>(selection: impl IntoSelection<'s>) -> String {
        selection.into_selection().to_string()
    }
    assert_eq!(takes_any((1..3, .., 7)), "[1:3, :, 7]");
    Ok(())
}

#[test]
fn elements_are_values_bytes_and_ndarrays() -> Outcome {
    let array = counting()?;
    let mut matrix: Array2<i32> = array.read_ndarray::<i32, Ix2>(..)?;
    let row = array.read_ndarray::<i32, Ix1>(2)?;
    assert_eq!((matrix[[2, 1]], row[1]), (13, 13));
    let error = array.read_ndarray::<i32, Ix1>(..).expect_err("two dimensions").to_string();
    assert_eq!(error, "the selection has 2 dimensions; expected 1");
    assert_eq!(array.read_ndarray::<i32, IxDyn>((0, 0))?.ndim(), 0);
    array.read_ndarray_into((.., 0..3), &mut matrix.slice_mut(s![.., ..;2]))?;
    assert_eq!(matrix.row(1).to_vec(), [6, 7, 7, 9, 8, 11]);
    let values = array.read_values::<i32>(..)?;
    assert_eq!((values.view()?[[3, 5]], values.iter().sum::<i32>()), (23, 276));
    assert_eq!(values.into_vec().len(), 24);
    let elements = array.read((0, 0..2))?;
    assert_eq!(elements.as_ref(), [0, 1].map(i32::to_ne_bytes).concat());
    assert_eq!(elements.as_slice::<i32>()?[..], [0, 1]);
    assert_eq!(elements.offsets_and_payload(), None);
    let bytes = Bytes::from(elements);
    assert_eq!(bytes[4..], 1i32.to_ne_bytes());
    Ok(())
}

#[test]
fn elements_of_variable_size_are_offsets_and_a_payload() -> Outcome {
    let words = hierarchy()?.create_array("/words", &ArrayBuilder::new([3], "string"))?;
    words.write_values(.., &["red", "", "blue"])?;
    let elements = words.read(..)?;
    let (offsets, payload) = elements.offsets_and_payload().ok_or("a variable size")?;
    assert_eq!((&offsets[..], payload), (&[0, 3, 3, 7][..], &b"redblue"[..]));
    assert_eq!(elements.into_values::<String>()?, ["red", "", "blue"]);
    Ok(())
}

#[test]
fn every_kind_of_value_is_read_and_written() -> Outcome {
    let hierarchy = hierarchy()?;
    let create =
        |name: &str, data_type: &str| hierarchy.create_array(name, &ArrayBuilder::new([2], data_type));
    let mut array = create("/bool", "bool")?;
    array.write_values(.., &[true, false])?;
    array.append_values(0, &[true])?;
    assert_eq!(array.read_values::<bool>(..)?, [true, false, true]);
    let array = create("/half", "bfloat16")?;
    array.write_values(.., &[bf16::ONE, bf16::ZERO])?;
    assert_eq!(array.read_values::<bf16>(0)?, [bf16::ONE]);
    create("/f16", "float16")?.write_values(.., &[f16::ONE, f16::ZERO])?;
    let complex = Complex::new(1.0, -1.0);
    create("/complex", "complex128")?.write_values(.., &[complex, complex])?;
    create("/bytes", "bytes")?.write_values(.., &[&b"a"[..], b"bc"])?;
    let time = create("/time", "numpy.datetime64[10ms]")?;
    time.write_values(.., &[0_i64, 100])?;
    let unit = time.data_type().downcast_ref::<Time>().ok_or("a time")?;
    assert_eq!((unit.unit(), unit.scale(), unit.is_point()), ("ms", 10, true));
    Ok(())
}

#[test]
fn attributes_and_names_are_plain_values() -> Outcome {
    let hierarchy = hierarchy()?;
    let level = 1;
    let key = "name";
    let attributes = json!({"level": level + 1, key: 1});
    assert_eq!(attributes.as_object().ok_or("an object")?["name"], 1.into());
    let pairs = Object::from([("units", "K")]);
    let collected: Object = ["a", "b"].into_iter().map(|name| (name, 1)).collect();
    assert_eq!((pairs["units"].as_str(), collected["b"].as_u64()), (Some("K"), Some(1)));
    let mut group = hierarchy.create_group("/g", attributes)?;
    group.set_attribute("level", 3)?;
    group.update_attributes(|attributes| drop(attributes.insert("more", true)))?;
    assert_eq!(group.attributes()["more"], Value::Bool(true));
    let builder = ArrayBuilder::new([4, 6], "int32").dimension_names(["y", "x"]).attributes(pairs);
    let array = group.open_or_create_array("a", &builder)?;
    assert_eq!(array.dimension_names().ok_or("names")?[1].as_deref(), Some("x"));
    assert_eq!((array.ndim(), array.len(), array.chunk_indices().count()), (2, 24, 1));
    let path: NodePath = "/g/a".parse()?;
    assert_eq!(hierarchy.array(&path)?.shape(), hierarchy.array("/g/a")?.shape());
    assert_eq!(hierarchy.walk("/")?.len(), hierarchy.walk(NodePath::root())?.len());
    assert_eq!(hierarchy.children("/g")?[0].kind.to_string(), "array");
    assert_eq!(hierarchy.require_group("/g")?.array("a")?.path(), &path);
    assert!(matches!(hierarchy.node("/g")?, Node::Group(_)) && EntryKind::Group.is_group());
    let formats =
        ["v2", "v3-draft", "v3"].map(|name| name.parse::<Format>().map(|format| format.to_string()));
    assert_eq!(formats.into_iter().collect::<Result<Vec<_>, _>>()?, ["v2", "v3-draft", "v3"]);
    assert_eq!("F".parse::<Order>()?.to_string(), "F");
    assert!(
        "f".parse::<Order>().expect_err("letters are upper case").to_string().contains("expected C or F")
    );
    Ok(())
}

#[test]
fn errors_have_a_kind_and_name_missing_plugins() -> Outcome {
    let hierarchy = hierarchy()?;
    let error = hierarchy.array("/a").expect_err("there is no array");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let builder = ArrayBuilder::new([4], "uint8").codec("codec-of-nobody");
    let error = hierarchy.create_array("/a", &builder).expect_err("the codec is unknown");
    let missing: Vec<_> = error.missing_plugins().map(|plugin| plugin.identifier.as_str()).collect();
    assert_eq!(missing, ["codec-of-nobody"]);
    let progress = Progress::new();
    progress.cancel();
    let cancelled = counting()?.with_progress(&progress).read(..).expect_err("it was cancelled");
    assert!(matches!(cancelled, Error::Cancelled));
    Ok(())
}

#[test]
fn stores_are_values_and_wrap_each_other_and_a_client_of_the_caller() -> Outcome {
    let limits = Limits::new().with_memory(64 << 20).with_requests(Some(8));
    let context = Context::linked()?.with_limits(limits);
    let client = RemoteStore::new(Arc::new(InMemory::new()), "memory of the test", "data")?;
    let remote = Hierarchy::create(Arc::new(client), &context, Format::V3)?;
    let array = remote.create_array("/a", &ArrayBuilder::new([2], "uint8"))?;
    array.write_values(.., &[1u8, 2])?;
    let cached = CacheStore::new(Arc::clone(remote.store()), 1 << 20);
    let statistics = StatisticsStore::new(Arc::new(ReadOnlyStore::new(Arc::new(cached))));
    let read_only = Hierarchy::open(Arc::new(statistics), &context)?;
    assert_eq!(read_only.array("/a")?.read_values::<u8>(..)?, [1, 2]);
    // A program with its own requests decodes chunks itself, or lets the array read from another store.
    let value = array.encode_chunk(&[0], &[3, 4])?.ok_or("a value")?;
    assert_eq!(array.decode_chunk(&[0], Some(&value))?.bytes(), [3, 4]);
    let other: Arc<dyn zarr_kit::spec::store::Store> = Arc::new(MemoryStore::new());
    other.set(&array.chunk_key(&[0])?, (&value[..]).into())?;
    assert_eq!(array.with_store(other)?.read_values::<u8>(..)?, [3, 4]);
    Ok(())
}
