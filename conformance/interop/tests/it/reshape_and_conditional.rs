//! `reshape` and `conditional` combined with other codecs, and in shards.

use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Selection, json, open_store};

/// Tests EX-CODEC-13, EX-CODEC-23.
#[test]
fn reshape_and_conditional_work_in_a_chain_and_in_a_shard() {
    let context = Context::linked().unwrap();
    let memory = open_store(context.registry(), "memory:").unwrap();
    let hierarchy = Hierarchy::create(memory, &context, Format::V3).unwrap();
    let conditional = json!({"codecs": ["unknown_shuffle"]});
    let builder = || ArrayBuilder::new([12, 10], "uint16").chunks([6, 10]).uncompressed();
    let refused = hierarchy.create_array("/unknown", &builder().codec(("conditional", conditional)));
    assert!(refused.unwrap_err().to_string().contains("unknown_shuffle"));

    let gzip = json!({"codecs": [{"name": "gzip", "configuration": {"level": 5}}]});
    let chain = |builder: ArrayBuilder| {
        builder
            .codec(("reshape", json!({"shape": [[0, 1]]})))
            .codec(("numcodecs.delta", json!({"dtype": "<u2"})))
            .codec(("bytes", json!({"endian": "little"})))
            .codec(("conditional", gzip.clone()))
            .codec(("crc32c", json!({})))
    };
    let array = hierarchy.create_array("/a", &chain(builder())).unwrap();
    // gzip can compress the first chunk but not the second one.
    let mut state = 1u64;
    let elements: Vec<u8> = (0..120u64)
        .map(|number| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bytes = if number < 60 { 3 * number } else { state >> 40 }.to_le_bytes();
            u16::from_le_bytes([bytes[0], bytes[1]])
        })
        .flat_map(u16::to_ne_bytes)
        .collect();
    array.write(&Selection::All, &elements).unwrap();
    assert_eq!(array.read(&Selection::All).unwrap().bytes(), elements);
    let stored = |chunk| array.read_encoded_chunk(&[chunk, 0]).unwrap().unwrap();
    assert_eq!((stored(0)[0], stored(1)[0]), (1, 0));
    assert!(stored(0).len() < 60);
    assert_eq!(stored(1).len(), 1 + 120 + 4);

    let sharded = hierarchy.create_array("/sharded", &chain(builder().shards([12, 10]))).unwrap();
    sharded.write(&Selection::All, &elements).unwrap();
    assert_eq!(sharded.read(&Selection::All).unwrap().bytes(), elements);
    let row = Selection::parse("7, 2:5", sharded.shape()).unwrap();
    assert_eq!(sharded.read(&row).unwrap().bytes(), &elements[2 * 72..2 * 75]);
    // The shard contains both inner chunks, with the same bytes as the separate chunks, and an index of two entries
    // with its checksum.
    let shard = sharded.read_encoded_chunk(&[0, 0]).unwrap().unwrap();
    assert_eq!(shard.len(), stored(0).len() + stored(1).len() + 2 * 16 + 4);
}
