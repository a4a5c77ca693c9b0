//! Which preceding codecs preserve the element size.

use std::sync::Arc;

use zarr_conformance::array;
use zarr_conformance::codecs::encode;
use zarr_conformance::types::{FLOAT64, INT32, Number};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::{
    ByteOrder, Codec, CodecChain, CodecError, CodecPlugin, Format, Identifiers, Mode, Output, Reading,
    Registry, Representation, Value,
};

use super::DRAFT;

/// Returns the element size in a chain in which `binary` only sets the byte order and `pass` does not change
/// bytes.
fn typesize_in_chain(format: Format, codecs: &[&str], number: Number) -> u8 {
    #[derive(Debug)]
    struct Pass;
    impl BytesToBytesCodec for Pass {
        fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
            Ok(encoded.put(decoded)?)
        }
        fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
            Ok(decoded.put(encoded)?)
        }
    }
    let names = |uri: &'static str, name: &'static str| Identifiers::name(name).with_id(name).with_uri(uri);
    let mut registry = Registry::linked().unwrap();
    let pass = CodecPlugin::new(names("https://e.org/pass/1.0", "pass"), &|_, _| {
        Ok(Codec::BytesToBytes(Arc::new(Pass)))
    });
    let binary = CodecPlugin::new(names("https://e.org/binary/1.0", "binary"), &|_, _| {
        Ok(Codec::Binary(ByteOrder::Big))
    });
    registry.register(pass).unwrap();
    registry.register(binary).unwrap();
    let document = |name: &&str| {
        let uri = if *name == "blosc" { DRAFT.to_owned() } else { format!("https://e.org/{name}/1.0") };
        let name = if format == Format::V3Draft { uri } else { (*name).to_owned() };
        ExtensionDocument::new(name, Value::Null)
    };
    let documents: Vec<_> = codecs.iter().map(document).collect();
    let reading = Reading::new(Mode::Strict);
    let creation = ChainCreation::new(format, &registry, &reading);
    let chunk = array(&[4], number);
    let chain = CodecChain::create(&creation, None, &documents, &chunk).unwrap();
    let last = chain.links().len() - 1;
    assert!(matches!(chain.links()[last].decoded, Representation::Bytes(_)));
    let codec = &chain.links()[last].codec;
    let again = codec_for_translation(&chain, last);
    let header = encode(codec, &chunk, &[0; 64]).unwrap()[3];
    assert_eq!(usize::from(header), again);
    header
}

/// Returns the element size in the translated configuration.
fn codec_for_translation(chain: &CodecChain, position: usize) -> usize {
    match chain.created_for(position) {
        Representation::Array(array) => array.data_type.elements().size().unwrap(),
        Representation::Bytes(_) => 1,
    }
}

/// Tests DX-BLOSC-07.
#[test]
fn only_a_preceding_binary_step_preserves_the_element_size() {
    for format in [Format::V3Draft, Format::V2] {
        assert_eq!(typesize_in_chain(format, &["blosc"], INT32), 4);
        assert_eq!(typesize_in_chain(format, &["binary", "blosc"], FLOAT64), 8);
        assert_eq!(typesize_in_chain(format, &["pass", "blosc"], INT32), 1);
        assert_eq!(typesize_in_chain(format, &["binary", "pass", "blosc"], INT32), 1);
    }
}
