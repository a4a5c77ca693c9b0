//! Partial reads and writes of chunks, which some codecs can decode in part, compared with the whole array.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use serde_json::{Value, json};
use zarr_interop::Random;
use zarr_kit::spec::Key;
use zarr_kit::{Array, Context, DimensionSelection, Hierarchy, Selection, open_store};

const SHAPE: [u64; 3] = [70, 50, 90];

/// Returns chains whose last codec can skip some of its work, and some chains in which an earlier codec needs
/// all bytes.
fn chains() -> Vec<Vec<Value>> {
    let zstd = |checksum: bool| json!({"name": "zstd", "configuration": {"level": 3, "checksum": checksum}});
    let blosc = |compressor: &str, shuffle: &str, blocksize: u64| {
        json!({"name": "blosc", "configuration": {
            "cname": compressor, "clevel": 5, "shuffle": shuffle, "typesize": 2, "blocksize": blocksize,
        }})
    };
    let bytes = json!({"name": "bytes", "configuration": {"endian": "big"}});
    let crc32c = json!({"name": "crc32c"});
    let transpose = json!({"name": "transpose", "configuration": {"order": [2, 0, 1]}});
    let shard = json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": [16, 16, 16],
        "codecs": [transpose, bytes, zstd(false), crc32c],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, crc32c],
    }});
    let mut chains = vec![
        vec![bytes.clone(), zstd(false)],
        vec![bytes.clone(), zstd(true)],
        vec![transpose.clone(), bytes.clone(), zstd(false), crc32c.clone()],
        vec![bytes.clone(), crc32c, zstd(false)],
        vec![bytes.clone(), blosc("lz4", "noshuffle", 0), zstd(false)],
        vec![bytes.clone(), json!({"name": "gzip", "configuration": {"level": 1}})],
        vec![shard],
        vec![json!({"name": "packbits"})],
        vec![
            transpose.clone(),
            json!({"name": "packbits", "configuration": {"padding_encoding": "last_byte"}}),
        ],
    ];
    for (compressor, shuffle, blocksize) in [
        ("lz4", "shuffle", 0),
        ("lz4", "bitshuffle", 1 << 12),
        ("zstd", "noshuffle", 1 << 10),
        ("snappy", "shuffle", 1 << 12),
        ("zlib", "shuffle", 1 << 12),
        ("blosclz", "shuffle", 1 << 12),
    ] {
        chains.push(vec![transpose.clone(), bytes.clone(), blosc(compressor, shuffle, blocksize)]);
    }
    chains
}

fn array(context: &Context, chain: &[Value]) -> Array {
    let store = open_store(context.registry(), "memory:").unwrap();
    let document = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": SHAPE,
        "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [32, 48, 64]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 7,
        "codecs": chain,
        "attributes": {},
    });
    store.set(&Key::new("zarr.json").unwrap(), document.to_string().as_bytes().into()).unwrap();
    Hierarchy::open(store, context).unwrap().array("/").unwrap()
}

/// Returns a random selection of one dimension: a range, a range with a step or a list.
fn places(random: &mut Random, length: u64) -> (DimensionSelection, Vec<u64>) {
    let start = random.below(length);
    let stop = random.between(start + 1, length);
    match random.below(6) {
        0 => {
            let list: Vec<u64> = (0..random.between(1, 5)).map(|_| random.below(length)).collect();
            (DimensionSelection::List(list.clone()), list)
        }
        1 => {
            let step = random.between(1, 5);
            (
                DimensionSelection::Range { start, stop, step },
                (start..stop).step_by(usize::try_from(step).unwrap()).collect(),
            )
        }
        _ => (DimensionSelection::Range { start, stop, step: 1 }, (start..stop).collect()),
    }
}

/// All reads of an array reuse the same buffers, so that leftovers of one read would show in the next.
#[test]
fn parts_of_chunks_equal_the_same_parts_of_the_whole_array() {
    let context = Context::linked().unwrap().with_one_thread();
    let mut random = Random::new(0x7061_7274);
    let [depth, height, width] = SHAPE;
    for chain in chains() {
        let array = array(&context, &chain);
        let noise = (0..depth * height * width).map(|place| place / 5 + random.below(4));
        let whole: Vec<u16> = noise.map(|element| u16::try_from(element).unwrap()).collect();
        array.write_values(&Selection::All, &whole).unwrap();
        for _ in 0..60 {
            let [(z, zs), (y, ys), (x, xs)] = SHAPE.map(|length| places(&mut random, length));
            let mut wanted = Vec::new();
            for z in &zs {
                for y in &ys {
                    let row = (z * height + y) * width;
                    wanted.extend(xs.iter().map(|x| whole[usize::try_from(row + x).unwrap()]));
                }
            }
            let selection = Selection::Orthogonal(vec![z, y, x]);
            let read = array.read_values::<u16>(&selection).unwrap();
            assert!(read == wanted, "{selection:?} of {chain:?}");
        }
    }
}

/// If the codec works in parts, completely covered chunks are written and read in parts; partially covered
/// chunks are processed as a whole.
#[test]
fn chunks_written_in_parts_or_as_a_whole_hold_the_same_bytes() {
    let context = Context::linked().unwrap().with_one_thread();
    let [depth, height, width] = SHAPE;
    for chain in chains() {
        let [at_once, bit_by_bit] = [array(&context, &chain), array(&context, &chain)];
        // The first chunk holds only fill values, and another chunk begins with fill values.
        let filled = |z: u64, y: u64, x: u64| x < 64 && y < 48 && z <= 32;
        let mut random = Random::new(0x696e_7061);
        let mut whole = Vec::new();
        for z in 0..depth {
            for y in 0..height {
                let row = (0..width).map(|x| if filled(z, y, x) { 7 } else { z * y + random.below(4) });
                whole.extend(row.map(|element| u16::try_from(element).unwrap()));
            }
        }
        at_once.write_values(&Selection::All, &whole).unwrap();
        // Each of these selections covers a part of every chunk that it touches.
        let plane = usize::try_from(height * width).unwrap();
        let mut rest = whole.as_slice();
        for (start, stop) in [(0, 20), (20, 40), (40, depth)] {
            let elements = rest.split_off(..usize::try_from(stop - start).unwrap() * plane).unwrap();
            let along = [(start, stop), (0, height), (0, width)];
            let along = along.map(|(start, stop)| DimensionSelection::Range { start, stop, step: 1 });
            bit_by_bit.write_values(Selection::Orthogonal(along.to_vec()), elements).unwrap();
        }
        for index in [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1], [2, 1, 1]] {
            let [one, other] = [&at_once, &bit_by_bit].map(|array| array.read_encoded_chunk(&index).unwrap());
            assert_eq!(one.is_none(), index == [0, 0, 0], "{index:?} of {chain:?}");
            assert!(one == other, "{index:?} of {chain:?}");
        }
        assert!(at_once.read_values::<u16>(&Selection::All).unwrap() == whole, "{chain:?}");
    }
}
