//! The example of the README.

/// Runs the example.
pub(crate) fn run() -> Result<(), Box<dyn std::error::Error>> {
    main()
}

// The following lines are in the README.
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Selection, json, open_store};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::linked()?;
    let store = open_store(context.registry(), "memory:")?;
    let hierarchy = Hierarchy::create(store, &context, Format::V3)?;

    let array =
        ArrayBuilder::new([1000, 1000], "float32").chunks([100, 100]).codec(("zstd", json!({"level": 3})));
    let array = hierarchy.create_array("/temperature", &array)?;

    let values: Vec<f32> = (0..1_000_000).map(|i| i as f32).collect();
    array.write_values(.., &values)?;
    let column = array.read_values::<f32>((0..100, 7))?;
    assert_eq!(column[1], 1007.0);
    let column = array.read_values::<f32>("0:100:2, 7".parse::<Selection>()?)?;
    assert_eq!(column[1], 2007.0);
    Ok(())
}
