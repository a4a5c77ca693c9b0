//! The `jenkins_lookup3` codec: appends Bob Jenkins' lookup3 hash, four bytes in little endian.
//!
//! Bytes to bytes. The encoded size is four bytes larger. The codec is a [`Checksum`]: decoding verifies the
//! hash and returns a prefix of the same buffer.
//!
//! `initval` is the initial value of the hash; the default is 0. `prefix` is bytes that are hashed before those
//! of the chunk but not stored. A JSON document cannot contain them, so only `null` is read.
//!
//! The v3 draft does not define the codec; there it has a URI of this project.
//!
//! Source: `JenkinsLookup3` of numcodecs, in v2 as `jenkins_lookup3`, in final v3 as
//! `numcodecs.jenkins_lookup3`; the metadata checksum of the HDF5 file format.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{Checksum, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Format, Identifiers, Object,
    Representation, Value, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.jenkins_lookup3")
            .with_id("jenkins_lookup3")
            .with_uri("https://zarr-kit.example/spec/codecs/jenkins-lookup3/1.0"),
        &create,
    )
    .translated_by(&translate)
    .configuration::<JenkinsLookup3Configuration>()
    .about("Appends a Jenkins lookup3 checksum, as in the metadata of HDF5.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.jenkins_lookup3", "configuration": {"initval": 0, "prefix": null}}"#),
    Example::v3(r#"{"name": "numcodecs.jenkins_lookup3", "configuration": {"initval": 51966}}"#),
    Example::v2(r#"{"id": "jenkins_lookup3", "initval": 0, "prefix": null}"#),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/jenkins-lookup3/1.0",
            "configuration": {"initval": 0, "prefix": null}}"#,
    ),
];

/// Appends a lookup3 hash to the bytes of each chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JenkinsLookup3 {
    initval: u32,
    prefix: Vec<u8>,
}

impl JenkinsLookup3 {
    /// Creates a codec that hashes `prefix` before the bytes of the chunk. `initval` is the initial value of the hash.
    #[must_use]
    pub fn new(initval: u32, prefix: impl Into<Vec<u8>>) -> Self {
        Self { initval, prefix: prefix.into() }
    }
}

/// A prefix becomes a list of bytes. Arrays with such an entry cannot be created.
impl From<JenkinsLookup3> for CodecEntry {
    fn from(codec: JenkinsLookup3) -> Self {
        let prefix = if codec.prefix.is_empty() { Value::Null } else { codec.prefix.into_iter().collect() };
        Self::new("jenkins_lookup3", json!({"initval": codec.initval, "prefix": prefix}))
    }
}

impl Checksum for JenkinsLookup3 {
    fn size(&self) -> usize {
        4
    }

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> CodecResult {
        checksum.copy_from_slice(&lookup3(&self.prefix, bytes, self.initval).to_le_bytes());
        Ok(())
    }
}

/// The number of bytes that are mixed in at a time.
const BLOCK: usize = 12;

/// Returns the hash of `prefix` followed by `bytes`.
fn lookup3(prefix: &[u8], bytes: &[u8], initval: u32) -> u32 {
    // Completes the last block of the prefix with the first bytes of the chunk. The other bytes need not be copied.
    let (filling, bytes) =
        bytes.split_at(bytes.len().min(prefix.len().next_multiple_of(BLOCK) - prefix.len()));
    let head = [prefix, filling].concat();
    #[expect(clippy::cast_possible_truncation, reason = "the hash takes the length modulo 2^32")]
    let length = head.len().wrapping_add(bytes.len()) as u32;
    let mut state = [0xdead_beef_u32.wrapping_add(length).wrapping_add(initval); 3];
    let mut blocks = head.chunks(BLOCK).chain(bytes.chunks(BLOCK)).peekable();
    while let Some(block) = blocks.next() {
        for (word, number) in state.iter_mut().zip(numbers(block)) {
            *word = word.wrapping_add(number);
        }
        state = if blocks.peek().is_some() { mixed(state) } else { finished(state) };
    }
    state[2]
}

/// Reads three little-endian numbers; missing bytes are zero.
fn numbers(block: &[u8]) -> [u32; 3] {
    let mut numbers = [[0; 4]; 3];
    numbers.as_flattened_mut()[..block.len()].copy_from_slice(block);
    numbers.map(u32::from_le_bytes)
}

/// Mixes the state between two blocks.
fn mixed(mut state: [u32; 3]) -> [u32; 3] {
    for (step, rotation) in [4, 6, 8, 16, 19, 4].into_iter().enumerate() {
        let [changed, next, last] = [step % 3, (step + 1) % 3, (step + 2) % 3];
        state[changed] = state[changed].wrapping_sub(state[last]) ^ state[last].rotate_left(rotation);
        state[last] = state[last].wrapping_add(state[next]);
    }
    state
}

/// Mixes the state after the last block.
fn finished(mut state: [u32; 3]) -> [u32; 3] {
    for (step, rotation) in [14, 11, 25, 16, 4, 14, 24].into_iter().enumerate() {
        let [changed, by] = [(step + 2) % 3, (step + 1) % 3];
        state[changed] = (state[changed] ^ state[by]).wrapping_sub(state[by].rotate_left(rotation));
    }
    state
}

#[derive(Deserialize)]
struct JenkinsLookup3Configuration {
    initval: Option<u32>,
    prefix: Option<Value>,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::Checksum(Arc::new(configured(creation)?)))
}

fn configured(creation: &Creation<'_>) -> CodecResult<JenkinsLookup3> {
    let configuration: JenkinsLookup3Configuration = creation.parse()?;
    if let Some(prefix) = configuration.prefix.filter(|prefix| !prefix.is_null()) {
        return Err(CodecError::configuration(format!(
            "`prefix` is {}; expected null, since a document cannot contain bytes",
            prefix.kind_name()
        )));
    }
    Ok(JenkinsLookup3::new(configuration.initval.unwrap_or(0), []))
}

fn translate(creation: &Creation<'_>, _decoded: &Representation, _to: Format) -> CodecResult<Object> {
    let mut configuration = Object::new();
    configuration.insert("initval", configured(creation)?.initval);
    configuration.insert("prefix", Value::Null);
    Ok(configuration)
}
