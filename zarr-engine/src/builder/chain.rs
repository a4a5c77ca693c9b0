//! Builds the codec chain from the codecs that a user names.

use zarr_spec::codec::{CodecEntry, CodecPlugin};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::chain::encoded;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, Creation, Elements, Format, Representation, Value,
    json,
};

use super::building::Building;
use crate::convert::{
    self, BYTES, RecipeStep, SourceCodec, invalid, missing_plugins, not_in_format, translate_codec, unknown,
};
use crate::error::Error;

struct Growing<'s> {
    steps: &'s mut Vec<RecipeStep>,
    now: Representation,
    /// The array that the preceding step encoded to bytes, if that step was an array-to-bytes codec. The next codec may
    /// need a property of its data type, such as the size of an element.
    elements: Option<ArrayRepresentation>,
    /// Errors for codecs that the format does not support. The chain continues after them.
    refused: Vec<Error>,
}

impl Building<'_> {
    /// Adds the given codecs or the default ones, and the array-to-bytes codec. Returns the errors, up to the first
    /// unknown codec, because its output is unknown.
    pub(super) fn add_codecs(&self, array: &ArrayRepresentation, steps: &mut Vec<RecipeStep>) -> Vec<Error> {
        let now = Representation::Array(array.clone());
        let mut growing = Growing { steps, now, elements: None, refused: Vec::new() };
        let added = self.add_all(&mut growing, array);
        growing.refused.extend(added.err());
        growing.refused
    }

    fn add_all(&self, growing: &mut Growing<'_>, array: &ArrayRepresentation) -> Result<(), Error> {
        for step in &*growing.steps {
            if let RecipeStep::Permutation(order) = step {
                let permuted = encoded(&Codec::Permutation(order.clone()), &growing.now);
                growing.now = permuted.map_err(|error| invalid("order", error))?;
            }
        }
        match &self.builder.codecs {
            Some(requests) => {
                for (position, request) in requests.iter().enumerate() {
                    self.add(growing, &format!("codecs[{position}]"), request)?;
                }
                self.finish(growing, array)
            }
            None => {
                self.finish(growing, array)?;
                self.add(growing, "codecs", &self.default_compression()?)
            }
        }
    }

    /// Returns the default compression: `gzip` in the draft, whose specification defines it, otherwise `zstd`, which is
    /// better and widely supported. The default is the same in every build: in a build without this codec, the caller
    /// must choose another one.
    fn default_compression(&self) -> Result<CodecEntry, Error> {
        let (identifier, level) = if self.format == Format::V3Draft { ("gzip", 5) } else { ("zstd", 3) };
        if let Err(unknown) = self.registry.codecs().find(Format::V2, identifier, self.reading) {
            let reason = format!(
                "{unknown}; new arrays are compressed with it by default: link it, name another codec, or ask for \
                 uncompressed chunks"
            );
            return Err(missing_plugins("codecs", vec![unknown], reason));
        }
        Ok((identifier, [("level", level)]).into())
    }

    fn add(&self, growing: &mut Growing<'_>, member: &str, request: &CodecEntry) -> Result<(), Error> {
        if self.is_plain_bytes(request) {
            match growing.now.clone() {
                Representation::Array(array) if array.data_type.elements().size().is_some() => {
                    return self.finish(growing, &array);
                }
                Representation::Array(_) => {}
                Representation::Bytes(_) => return Err(wants_an_array(member, request)),
            }
        }
        let source = self.understand_next(growing, member, request)?;
        let wants_bytes = takes_bytes(&source.codec);
        if let (true, Representation::Array(array)) = (wants_bytes, growing.now.clone()) {
            self.finish(growing, &array)?;
            return self.add(growing, member, request);
        }
        growing.refused.extend(self.untranslatable(member, &source));
        if !wants_bytes && matches!(growing.now, Representation::Bytes(_)) {
            return Err(wants_an_array(member, request));
        }
        let next = encoded(&source.codec, &growing.now);
        let next =
            next.map_err(|error| invalid(member, format!("codec `{}`: {error}", request.identifier)))?;
        let before = std::mem::replace(&mut growing.now, next);
        growing.elements = match (&source.codec, before) {
            (Codec::Binary(_), Representation::Array(array)) => Some(array),
            _ => None,
        };
        growing.steps.push(match &source.codec {
            Codec::Permutation(order) => RecipeStep::Permutation(order.clone()),
            Codec::Binary(order) => RecipeStep::Binary(order.clone()),
            _ => RecipeStep::Codec(Box::new(source)),
        });
        Ok(())
    }

    /// Returns whether a request names the `bytes` codec without a byte order. Then the data type determines the order;
    /// the default is little endian.
    fn is_plain_bytes(&self, request: &CodecEntry) -> bool {
        let is_silent = match &request.configuration {
            Value::Null => true,
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        let find = |format| self.registry.codecs().find(format, &request.identifier, self.reading);
        is_silent
            && self
                .formats()
                .find_map(|format| find(format).ok())
                .is_some_and(|plugin| plugin.identifiers.name == Some(BYTES))
    }

    /// Creates the requested codec for the elements whose bytes the preceding codec produced, if it did. A codec that
    /// would encode these elements, and takes bytes too, is created again for the bytes.
    fn understand_next(
        &self,
        growing: &Growing<'_>,
        member: &str,
        request: &CodecEntry,
    ) -> Result<SourceCodec, Error> {
        let decoded = growing.elements.clone().map_or_else(|| growing.now.clone(), Representation::Array);
        let source = self.understand(member, request, decoded)?;
        if takes_bytes(&source.codec) || matches!(growing.now, Representation::Array(_)) {
            return Ok(source);
        }
        let of_bytes = self.understand(member, request, growing.now.clone()).ok();
        Ok(of_bytes.filter(|of_bytes| takes_bytes(&of_bytes.codec)).unwrap_or(source))
    }

    /// Creates the requested codec. The configuration may be in the notation of any format; the target format is tried
    /// first.
    fn understand(
        &self,
        member: &str,
        request: &CodecEntry,
        decoded: Representation,
    ) -> Result<SourceCodec, Error> {
        let mut refused = None;
        for format in self.formats().filter(|format| request.format.is_none_or(|only| only == *format)) {
            let found = self.registry.codecs().find(format, &request.identifier, self.reading);
            let Ok(plugin) = found else { continue };
            match self.create(plugin, request, format, &decoded) {
                Ok(codec) => {
                    let document = ExtensionDocument::new(&request.identifier, request.configuration.clone());
                    return Ok(SourceCodec { codec, plugin: *plugin, format, document, decoded });
                }
                Err(error) => drop(refused.get_or_insert(error)),
            }
        }
        Err(match refused {
            Some(error) => {
                let unknown: Vec<_> = error.unknown().into_iter().cloned().collect();
                let reason = format!("codec `{}`: {error}", request.identifier);
                if unknown.is_empty() {
                    invalid(member, reason)
                } else {
                    missing_plugins(member, unknown, reason)
                }
            }
            None => unknown(member, self.registry.codecs().unknown(&request.identifier)),
        })
    }

    fn create(
        &self,
        plugin: &CodecPlugin,
        request: &CodecEntry,
        format: Format,
        decoded: &Representation,
    ) -> Result<Codec, CodecError> {
        let creation =
            Creation::new(&request.identifier, &request.configuration, format, self.registry, self.reading);
        (plugin.create)(&creation, decoded)
    }

    /// Returns an error, with the position of the codec, if the format does not support it.
    fn untranslatable(&self, member: &str, source: &SourceCodec) -> Option<Error> {
        if matches!(source.codec, Codec::Permutation(_) | Codec::Binary(_)) {
            return None;
        }
        Some(match translate_codec(self.registry, source, self.format).err()? {
            Error::NotInFormat(error) => not_in_format(error.format, format!("`{member}`: {}", error.reason)),
            error => error,
        })
    }

    fn finish(&self, growing: &mut Growing<'_>, array: &ArrayRepresentation) -> Result<(), Error> {
        let Representation::Array(now) = growing.now.clone() else { return Ok(()) };
        if matches!(now.data_type.elements(), Elements::Variable) {
            let request = self.object_codec(array)?;
            return self.add(growing, "codecs", &request);
        }
        // An array-to-array codec may change the data type, so the default order is used after it.
        let is_computed = growing.steps.iter().any(|step| matches!(step, RecipeStep::Codec(_)));
        let order =
            if is_computed && self.format != Format::V2 { ByteOrder::Little } else { now.byte_order.clone() };
        growing.steps.push(RecipeStep::Binary(order));
        growing.now = Representation::Bytes(now.size());
        growing.elements = Some(now);
        Ok(())
    }

    /// Returns the codec for elements of variable size. If v2 stores the type as objects, it is the codec of these
    /// objects; otherwise, it has the name of the data type, or `vlen-` and this name.
    fn object_codec(&self, array: &ArrayRepresentation) -> Result<CodecEntry, Error> {
        let in_format = |format| array.data_type.document(format, &ByteOrder::Little).ok();
        let of_objects = in_format(Format::V2).and_then(|document| {
            let identifier = document.identifier.strip_prefix("O/")?.to_owned();
            Some(match document.type_name {
                None => CodecEntry::new(identifier, Value::Null),
                Some(dtype) => {
                    let mut entry = CodecEntry::new(identifier, json!({"dtype": dtype}));
                    entry.format = Some(Format::V2);
                    entry
                }
            })
        });
        // A codec of elements that may be missing has parameters without defaults, so its name is not enough.
        let is_plain = array.data_type.optional().is_none();
        let by_name = || in_format(Format::V3).map(|document| self.codec_of_type(document.identifier));
        of_objects.or_else(|| by_name().filter(|_| is_plain)).ok_or_else(|| {
            let name = array.data_type.name().into_owned();
            invalid("codecs", format!("elements of data type {name} have a variable size and need a codec"))
        })
    }

    fn codec_of_type(&self, name: String) -> CodecEntry {
        let is_known = |name: &str| self.registry.codecs().find(Format::V3, name, self.reading).is_ok();
        let prefixed = format!("vlen-{name}");
        let is_prefixed = !is_known(&name) && is_known(&prefixed);
        CodecEntry::new(if is_prefixed { prefixed } else { name }, Value::Null)
    }
}

fn wants_an_array(member: &str, request: &CodecEntry) -> Error {
    let name = &request.identifier;
    invalid(member, format!("codec `{name}` expects an array, but the preceding codec produces bytes"))
}

pub(super) fn sharding(chunk_shape: &[u64], inner: &[ExtensionDocument]) -> ExtensionDocument {
    let index_codecs = [convert::little_endian(), ExtensionDocument::new("crc32c", Value::Null)];
    convert::sharding(chunk_shape, inner, &index_codecs)
}

fn takes_bytes(codec: &Codec) -> bool {
    matches!(codec, Codec::BytesToBytes(_) | Codec::Checksum(_))
}
