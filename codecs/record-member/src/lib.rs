//! The `record_member` codec: reads one field of stored structures.
//!
//! Bytes to bytes; only decodes. The encoded bytes are structures with the fields of `dtype`, the decoded bytes are
//! field `member` of each. The data type of the array determines how they are read, also their byte order.
//!
//! `dtype` is a list of fields as in the `dtype` of v2, an object with `names`, `formats`, `offsets` and `itemsize`, or
//! typestrings separated by commas, whose fields are `f0`, `f1` and so on.
//!
//! v2 has the codec as `record_member`.
//!
//! Source: `RecordArrayMember` in kerchunk.

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numpy::Dtype;
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output, Representation,
    Size, Value,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::id("record_member"), &create)
        .configuration::<MemberConfiguration>()
        .about("Reads one field of stored structures.", EXAMPLES)
        .decodes_only()
);

const EXAMPLES: &[Example] = &[
    Example::v2(r#"{"id": "record_member", "member": "x", "dtype": [["n", "<i4"], ["x", "<f4"]]}"#)
        .with_data_types(&["float32"])
        .with_shape(&[4]),
    Example::v2(
        r#"{"id": "record_member", "member": "x",
            "dtype": {"names": ["n", "x"], "formats": ["<i4", "<f4"]}}"#,
    )
    .with_data_types(&["float32"])
    .with_shape(&[4]),
];

/// Reads one field of each structure.
#[derive(Debug)]
struct Member {
    /// The size of a structure in bytes.
    structure: usize,
    offset: usize,
    /// The size of the field in bytes.
    size: usize,
}

impl BytesToBytesCodec for Member {
    fn encoded_size(&self, decoded: Size) -> Size {
        let encoded = |size: u64| (size / self.size as u64).saturating_mul(self.structure as u64);
        match decoded {
            Size::Exact(size) => Size::Exact(encoded(size)),
            Size::AtMost(size) => Size::AtMost(encoded(size)),
            Size::Unknown => Size::Unknown,
        }
    }

    fn encode(&self, _decoded: &[u8], _encoded: &mut Output<'_>) -> CodecResult {
        Err(CodecError::decodes_only())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let structures = encoded.chunks_exact(self.structure);
        if !structures.remainder().is_empty() {
            let size = self.structure;
            let found = encoded.len();
            return Err(CodecError::corrupt(format!(
                "{found} bytes are not whole structures of {size} bytes"
            )));
        }
        // The field is a part of the structure, so the size is at most that of the encoded bytes.
        let size = structures.len() * self.size;
        let fields = decoded.spare(size)?[..size].chunks_exact_mut(self.size);
        for (field, structure) in fields.zip(structures) {
            field.copy_from_slice(&structure[self.offset..][..self.size]);
        }
        decoded.advance(size);
        Ok(())
    }
}

#[derive(Deserialize)]
struct MemberConfiguration {
    member: String,
    dtype: Value,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let MemberConfiguration { member, dtype } = creation.parse()?;
    let dtype =
        Dtype::parse(&dtype).map_err(|error| CodecError::configuration(format!("`dtype`: {error}")))?;
    let field = dtype.fields().unwrap_or_default().iter().find(|field| field.name == member);
    let field = field
        .ok_or_else(|| CodecError::configuration(format!("`dtype` does not have a field `{member}`")))?;
    if field.size == 0 {
        return Err(CodecError::configuration(format!("field `{member}` is empty")));
    }
    let member = Member { structure: dtype.size(), offset: field.offset, size: field.size };
    Ok(Codec::BytesToBytes(Arc::new(member)))
}
