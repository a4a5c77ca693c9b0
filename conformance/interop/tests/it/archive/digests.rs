//! The digest: independent of the format, chunks and codecs, and equal to the digest of another implementation.

use std::sync::Arc;

use zarr_interop::environment::{Packages, python, run_script};
use zarr_interop::memory;
use zarr_kit::archive::{Settings, digest};
use zarr_kit::json::json;
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, NodePath};

use super::{manifest, sample};

/// Returns the digest of an array of this builder with NaNs, missing chunks and a negative zero.
fn digest_of(format: Format, builder: &ArrayBuilder, nan: f32) -> String {
    let store = memory();
    let context = Context::linked().unwrap();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, format).unwrap();
    hierarchy.create_group("/", json!({"n": 1.50})).unwrap();
    let array = hierarchy.create_array("/a", &builder.clone().fill_value("NaN")).unwrap();
    let values: Vec<f32> = (0..35u8).map(f32::from).chain([nan, -0.0]).collect();
    array.write_values::<f32>((3, 5..42), &values).unwrap();
    array.write_values::<f32>((20, 0..37), &values).unwrap();
    manifest(&store, format).digest()
}

#[test]
fn it_does_not_depend_on_format_chunks_and_codecs() {
    let builder = ArrayBuilder::new([31, 47], "float32");
    let expected = digest_of(Format::V3, &builder, f32::NAN);
    for format in Format::ALL {
        for chunks in [[31, 47], [1, 47], [31, 1], [4, 5], [64, 64]] {
            let builder = builder.clone().chunks(chunks);
            for builder in [builder.clone().uncompressed(), builder.codec("gzip")] {
                assert_eq!(digest_of(format, &builder, -f32::NAN), expected, "{format} {chunks:?}");
            }
        }
    }
    let sharded = builder.clone().shards([12, 20]).chunks([4, 5]);
    assert_eq!(digest_of(Format::V3, &sharded, f32::from_bits(0x7f80_0001)), expected);
    assert_ne!(digest_of(Format::V3, &builder, 1.0), expected);
}

#[test]
fn memory_for_one_element_is_enough() {
    let store = sample(Format::V3);
    let small = digest(&super::open(&store, Format::V3), &NodePath::root(), &Settings::new().memory(1));
    assert_eq!(small.unwrap().digest(), manifest(&store, Format::V3).digest());
}

#[test]
fn every_change_changes_it() {
    let store = sample(Format::V3);
    let mut known = vec![manifest(&store, Format::V3).digest()];
    let hierarchy = super::open(&store, Format::V3);
    let mut check = |what: &str| {
        let new = manifest(&store, Format::V3).digest();
        assert!(!known.contains(&new), "{what}");
        known.push(new);
    };
    hierarchy.array("/g/plain").unwrap().write_values::<i16>((0, 0..2), &[2, 1]).unwrap();
    check("an exchange of two elements");
    hierarchy.array("/gzip").unwrap().write_values::<f64>((0,), &[-0.0]).unwrap();
    check("the sign of zero");
    hierarchy.set_attributes("/g", json!({"a": null})).unwrap();
    check("an attribute");
    hierarchy.array("/g/x").unwrap().resize(&[7]).unwrap();
    check("a shape");
    hierarchy.create_group("/new", json!({})).unwrap();
    check("a group");
}

/// zarr-python 3 writes hierarchies of v2 and v3, and an implementation in Python computes the digests.
#[test]
fn another_implementation_computes_the_same_digests() {
    let Some(python) = python(Packages::Zarr3) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (messages, is_good) = run_script(&python, "digest/write.py", &[folder.path().as_os_str()]);
    assert!(is_good, "{messages}");
    let stores = [("v2", Format::V2), ("v3", Format::V3)];
    let paths: Vec<_> = stores.iter().map(|(name, _)| folder.path().join(name)).collect();
    let arguments: Vec<_> = paths.iter().map(|path| path.as_os_str()).collect();
    let (printed, is_good) = run_script(&python, "digest/zarr_digest.py", &arguments);
    assert!(is_good, "{printed}");
    let digests: Vec<&str> = printed.lines().filter(|line| line.len() == 64).collect();
    let context = Context::linked().unwrap();
    let ours = paths.iter().map(|path| {
        let hierarchy = Hierarchy::open_location(path.to_str().unwrap(), &context).unwrap();
        digest(&hierarchy, &NodePath::root(), &Settings::new()).unwrap().digest()
    });
    assert_eq!(ours.collect::<Vec<_>>(), digests);
}
