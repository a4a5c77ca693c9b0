//! Computes the digest of a hierarchy.

use zarr_engine::{Array, ElementArray, EntryKind, Error, Hierarchy, Node};
use zarr_json::Object;
use zarr_spec::{ArraySubset, NodePath};

use crate::boxes::Boxes;
use crate::elements::Stream;
use crate::logical::Named;
use crate::manifest::{Manifest, ManifestNode, hex};
use crate::settings::Settings;
use crate::sums::{BoxPlace, ValueSum};

/// The size in bytes of the portions in which elements are converted and hashed, small enough for the cache of a
/// processor.
const PORTION: usize = 64 << 10;

/// The size in bytes of the elements that a thread hashes before it takes the next part.
const PER_THREAD: usize = 1 << 20;

/// Computes the manifest of the node at `root` and all nodes below it. Chunks are decoded once, on all threads of the
/// context. Missing chunks are not read.
///
/// Open the hierarchy without consolidated metadata, which may be out of date.
///
/// # Errors
///
/// [`Error::NoNode`]; the error of a node or of a chunk that cannot be read; [`Error::Cancelled`].
pub fn digest(hierarchy: &Hierarchy, root: &NodePath, settings: &Settings) -> Result<Manifest, Error> {
    let mut manifest = Manifest::default();
    for entry in hierarchy.walk(root)? {
        settings.progress.check()?;
        let path = below(&entry.path, root);
        let node = match hierarchy.node(&entry.path)? {
            Node::Group(_) if entry.kind == EntryKind::ImplicitGroup => {
                ManifestNode::Group { attributes: Object::new() }
            }
            Node::Group(group) => ManifestNode::Group { attributes: group.attributes().clone() },
            Node::Array(array) => array_node(&array, settings)?,
            Node::Unreadable(unreadable) => {
                return Err(hierarchy
                    .array(&unreadable.path)
                    .err()
                    .unwrap_or_else(|| Error::NoNode(unreadable.path.clone())));
            }
        };
        manifest.nodes.insert(path, node);
    }
    Ok(manifest)
}

/// Returns the path of a node relative to `root`, as text that begins with `/`.
pub(crate) fn below(path: &NodePath, root: &NodePath) -> String {
    let names = &path.names()[root.names().len().min(path.names().len())..];
    format!("/{}", names.join("/"))
}

/// Returns the node of an array, with the hash of its elements.
pub(crate) fn array_node(array: &Array, settings: &Settings) -> Result<ManifestNode, Error> {
    let stream = Stream::of(array);
    let values = values_of(array, &stream, settings)?;
    Ok(described(array, &stream, values))
}

/// Returns the node of an array whose elements have this hash.
pub(crate) fn described(array: &Array, stream: &Stream, values: ValueSum) -> ManifestNode {
    let named = Named::of(array);
    ManifestNode::Array {
        shape: array.shape().to_vec(),
        data_type: array.data_type().name().into_owned(),
        fill_value: hex(stream.fill()),
        dimension_names: named.names,
        attributes: named.attributes,
        values: values.to_hex(),
    }
}

/// Returns the hash of all elements. Missing chunks hold the fill value, which does not contribute.
pub(crate) fn values_of(array: &Array, stream: &Stream, settings: &Settings) -> Result<ValueSum, Error> {
    let mut boxes = Boxes::stored(array, settings)?;
    let mut sum = ValueSum::default();
    loop {
        settings.progress.check()?;
        let group = boxes.next_group()?;
        if group.is_empty() {
            return Ok(sum);
        }
        let mut read = boxes.read(&group)?;
        sum += hash(array, stream, &group, &mut read);
    }
}

/// A part of the elements of a box.
struct Portion<'a> {
    place: &'a BoxPlace,
    /// The number of elements of the box before this part.
    skipped: usize,
    bytes: &'a mut [u8],
}

/// Returns the hash of the elements of boxes. Elements of fixed size are converted in place.
pub(crate) fn hash(
    array: &Array,
    stream: &Stream,
    boxes: &[ArraySubset],
    read: &mut [ElementArray],
) -> ValueSum {
    let context = array.hierarchy().context();
    let places: Vec<_> = boxes.iter().map(|subset| BoxPlace::new(array.shape(), subset.ranges())).collect();
    let sums = if array.data_type().elements().size().is_some() {
        let size = stream.size().max(1);
        let per_thread = (PER_THREAD / size).max(1);
        let mut portions = Vec::new();
        for (place, elements) in places.iter().zip(read) {
            let parts = elements.bytes_mut().chunks_mut(per_thread * size).enumerate();
            portions.extend(parts.map(|(number, bytes)| Portion {
                place,
                skipped: number * per_thread,
                bytes,
            }));
        }
        context.map_each(portions, |portion| portion.hash(stream))
    } else {
        let boxes = places.iter().zip(&*read).collect();
        context.map_each(boxes, |(place, elements)| hash_variable(stream, place, elements))
    };
    let mut sum = ValueSum::default();
    sums.into_iter().for_each(|part| sum += part);
    sum
}

impl Portion<'_> {
    fn hash(self, stream: &Stream) -> ValueSum {
        let size = stream.size().max(1);
        let count = (PORTION / size).max(1);
        let mut sum = ValueSum::default();
        for (number, bytes) in self.bytes.chunks_mut(count * size).enumerate() {
            stream.convert(bytes);
            self.place.add(self.skipped + number * count, size, bytes, &mut sum);
        }
        sum
    }
}

fn hash_variable(stream: &Stream, place: &BoxPlace, elements: &ElementArray) -> ValueSum {
    let mut sum = ValueSum::default();
    for (number, element) in elements.iter().enumerate() {
        place.add(number, stream.size(), &stream.of_variable(element), &mut sum);
    }
    sum
}
