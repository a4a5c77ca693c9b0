//! The rules for chunk key encodings.

use std::sync::Arc;

use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::{Example, Key, Reading, Registry, Value};

use super::tried::{Makes, RuleOf, Tried, suite, text};
use super::{Cases, Level, Rule, Suite};

type EncodingOnTrial = Tried<dyn ChunkKeyEncoding>;

const RULES: &[RuleOf<EncodingOnTrial>] = &[
    (
        Rule {
            id: "key-round-trip",
            level: Level::L1,
            sentence: "The key of a chunk decodes to that chunk, so different chunks have different keys.",
            source: "`zarr_spec::key_encoding::ChunkKeyEncoding`",
            since: "0.1",
        },
        round_trip,
    ),
    (
        Rule {
            id: "key-appended",
            level: Level::L1,
            sentence: "Encoding appends to the text before it without changing that text, and the result is a valid key.",
            source: "`ChunkKeyEncoding::encode`; D3-STORE-01",
            since: "0.1",
        },
        appended,
    ),
    (
        Rule {
            id: "key-foreign",
            level: Level::L2,
            sentence: "Text that is not exactly the key of a chunk decodes to no chunk, without an error: no leading zeros, no \
                       signs, no empty parts, no other number of dimensions.",
            source: "`ChunkKeyEncoding::decode`",
            since: "0.1",
        },
        foreign,
    ),
];

/// Chunk indices with one digit and with many, up to the maximum.
const INDICES: [u64; 6] = [0, 1, 9, 10, 4_294_967_296, u64::MAX];

/// Encodings are tried with grids of at most this number of dimensions.
const MAX_RANK: usize = 32;

/// Text that replaces numbers or separators of a key.
const PARTS: [&str; 17] = [
    "",
    "0",
    "00",
    "01",
    "+1",
    "-1",
    " 1",
    "1 ",
    "0x1",
    "1e3",
    "1.0",
    "c",
    "C",
    "٣",
    "18446744073709551616",
    ".",
    "/",
];

pub(super) fn add(registry: &Arc<Registry>, suites: &mut Vec<Suite>) {
    for &plugin in registry.chunk_key_encodings().iter() {
        suites.push(suite(Tried { plugin, registry: Arc::clone(registry) }, &[RULES]));
    }
}

impl Makes for dyn ChunkKeyEncoding {
    fn make(
        tried: &EncodingOnTrial,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        _cases: &mut Cases,
    ) -> Result<(), String> {
        let document = tried.parse(example, entry, reading)?;
        (tried.plugin.create)(&tried.creation(example.format, &document, reading)).map(drop).map_err(text)
    }
}

impl EncodingOnTrial {
    fn uses(&self) -> Vec<(&'static Example, Arc<dyn ChunkKeyEncoding>)> {
        self.made(|creation| (self.plugin.create)(creation))
    }
}

/// Returns whether an encoding has keys for grids of `rank` dimensions.
pub(super) fn has_keys(encoding: &dyn ChunkKeyEncoding, rank: usize) -> bool {
    encoding.decode("", rank).is_ok()
}

/// Returns chunk indices with up to four dimensions, for which the encoding has keys.
fn chunks(encoding: &dyn ChunkKeyEncoding) -> Vec<Vec<u64>> {
    let mut chunks = vec![vec![]];
    for (number, &index) in INDICES.iter().enumerate() {
        let next = INDICES[(number + 1) % INDICES.len()];
        chunks.extend([
            vec![index],
            vec![index, next],
            vec![next, index],
            vec![0, index, next],
            vec![index, 0, 0, next],
        ]);
    }
    chunks.retain(|chunk| has_keys(encoding, chunk.len()));
    chunks
}

fn key_of(encoding: &dyn ChunkKeyEncoding, chunk: &[u64]) -> String {
    let mut key = String::new();
    encoding.encode(chunk, &mut key);
    key
}

fn round_trip(trial: &EncodingOnTrial, cases: &mut Cases) {
    for (example, encoding) in trial.uses() {
        for chunk in chunks(&*encoding) {
            let key = key_of(&*encoding, &chunk);
            let result = match encoding.decode(&key, chunk.len()) {
                Ok(again) if again.as_ref() == Some(&chunk) => Ok(()),
                Ok(again) => Err(format!("its key {key:?} decodes to chunk {again:?}")),
                Err(error) => Err(format!("its key {key:?} cannot be decoded: {error}")),
            };
            cases.check(format!("{}, chunk {chunk:?}", example.document), result);
        }
    }
}

fn appended(trial: &EncodingOnTrial, cases: &mut Cases) {
    for (example, encoding) in trial.uses() {
        for chunk in chunks(&*encoding) {
            let mut key = "array/".to_owned();
            encoding.encode(&chunk, &mut key);
            let is_there = key == format!("array/{}", key_of(&*encoding, &chunk));
            let result = match Key::new(key.as_str()) {
                Ok(_) if is_there => Ok(()),
                Ok(_) => Err(format!("appended to `array/`, the key becomes {key:?}")),
                Err(error) => Err(format!("{key:?} is not a valid key: {error}")),
            };
            cases.check(format!("{}, chunk {chunk:?}", example.document), result);
        }
    }
}

fn foreign(trial: &EncodingOnTrial, cases: &mut Cases) {
    for (example, encoding) in trial.uses() {
        // An encoding that fails for each foreign key would look like one without keys.
        if !(0..=MAX_RANK).any(|rank| has_keys(&*encoding, rank)) {
            let reason = format!("decoding an empty key fails for 0 to {MAX_RANK} dimensions");
            cases.check(example.document, Err(reason));
        }
        for text in foreign_keys(&*encoding) {
            for rank in (0..4).filter(|&rank| has_keys(&*encoding, rank)) {
                let result = match encoding.decode(&text, rank) {
                    Ok(None) => continue,
                    Ok(Some(chunk)) => match key_of(&*encoding, &chunk) {
                        key if chunk.len() == rank && key == text => Ok(()),
                        key => Err(format!("it decodes to chunk {chunk:?}, which has the key {key:?}")),
                    },
                    Err(error) => Err(format!("decoding fails: {error}")),
                };
                cases.check(format!("{}, {text:?} with {rank} dimensions", example.document), result);
            }
            cases.check("all", Ok(()));
        }
    }
}

/// Returns keys with parts inserted, removed or replaced, and the parts by themselves.
fn foreign_keys(encoding: &dyn ChunkKeyEncoding) -> Vec<String> {
    let mut texts: Vec<String> = PARTS.iter().map(|part| (*part).to_owned()).collect();
    let chunks = [vec![], vec![7], vec![1, 20], vec![3, 0, 5]];
    for chunk in chunks.into_iter().filter(|chunk| has_keys(encoding, chunk.len())) {
        let key = key_of(encoding, &chunk);
        let places: Vec<usize> = key.char_indices().map(|(place, _)| place).chain([key.len()]).collect();
        for pair in places.windows(2) {
            for part in PARTS {
                texts.push(format!("{}{part}{}", &key[..pair[0]], &key[pair[0]..]));
                texts.push(format!("{}{part}{}", &key[..pair[0]], &key[pair[1]..]));
            }
        }
        texts.extend(PARTS.map(|part| format!("{key}{part}")));
    }
    texts
}
