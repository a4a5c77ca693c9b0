//! Whole hierarchies: the input is the keys and values of a store.

use std::io;
use std::sync::{Arc, LazyLock};

use zarr_conformance::fuzz::within;
use zarr_kit::spec::store::Store;
use zarr_kit::spec::{Key, NodePath};
use zarr_kit::{
    Array, Context, DimensionSelection, EntryKind, Hierarchy, Limits, Mode, Selection, UndefinedFill,
    open_store,
};

use crate::far::Far;
use crate::formats::{self, Files};
use crate::peers;

/// The limits of the engine, and the memory limit of the whole target in bytes.
const MEMORY: usize = 160 << 20;

/// The maximum numbers of arrays that are read, of elements per dimension, and of elements per array.
const ARRAYS: usize = 8;
const ALONG: u64 = 9;
const ELEMENTS: u64 = 1 << 12;

/// The largest element that is read, in bytes. Reading larger elements could exceed the memory limit without a fault.
const ELEMENT_SIZE: usize = 1 << 12;

static CONTEXTS: LazyLock<[Context; 3]> = LazyLock::new(|| {
    [Mode::Strict, Mode::Lenient, Mode::Compatibility].map(|mode| context().with_mode(mode))
});

/// Returns the context of all targets, with little memory and one thread.
#[expect(clippy::expect_used, reason = "the plugins of `zarr-kit` are tested")]
pub(crate) fn context() -> Context {
    let context = Context::linked().expect("the identifiers of plugins are unique");
    let limits = Limits::new().with_document_size(1 << 16).with_memory(1 << 22);
    let context = context.with_limits(limits).with_one_thread().with_buffer_pool(0);
    context.with_undefined_fill(UndefinedFill::Zeros)
}

/// Opens a new store in memory.
#[expect(clippy::expect_used, reason = "`zarr-kit` has this store")]
pub(crate) fn memory(context: &Context) -> Arc<dyn Store> {
    open_store(context.registry(), "memory:").expect("a store in memory")
}

/// Reads a hierarchy. The input is one byte for the mode, then keys and values. The length of a key has one byte, and
/// the length of a value has two.
pub(crate) fn run(input: &[u8]) {
    let Some((&mode, mut rest)) = input.split_first() else { return };
    let context = &CONTEXTS[usize::from(mode) % CONTEXTS.len()];
    let store = memory(context);
    while let Some((key, value, after)) = entry(rest) {
        if let Some(key) = str::from_utf8(key).ok().and_then(|key| Key::new(key).ok()) {
            let set = store.set(&key, value.into());
            assert!(set.is_ok(), "{key}: {set:?}");
        }
        rest = after;
    }
    within(MEMORY, "a hierarchy", || look_at(store, context));
}

/// Returns the first key, the first value and the rest. If less input is left than the length of the value, the value
/// is the rest.
fn entry(input: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (&length, rest) = input.split_first()?;
    let (key, rest) = rest.split_at_checked(length.into())?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (value, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into()).unwrap_or((rest, &[]));
    Some((key, value, rest))
}

fn look_at(store: Arc<dyn Store>, context: &Context) {
    let Ok(hierarchy) = Hierarchy::open(store, context) else { return };
    let root = NodePath::root();
    let _children = hierarchy.children(&root);
    let Ok(nodes) = hierarchy.walk(&root) else { return };
    for node in &nodes {
        let exists = hierarchy.node(&node.path);
        assert!(exists.is_ok(), "{} is listed, and then {exists:?}", node.path);
    }
    let arrays = nodes.iter().filter(|node| node.kind == EntryKind::Array).take(ARRAYS);
    let far = Hierarchy::open(Arc::new(Far(Arc::clone(hierarchy.store()))), context);
    for array in arrays.filter_map(|node| hierarchy.array(&node.path).ok()) {
        let far = far.as_ref().ok().and_then(|far| far.array(array.path()).ok());
        assert!(far.is_some(), "{} can be opened, but not through the remote store", array.path());
        if let Some(far) = far {
            read(&array, &far);
        }
    }
    let _warnings = hierarchy.warnings();
}

/// Reads the first and the last elements of an array along all dimensions. Checks that the remote store gives the same
/// first elements, and that reading a single element gives the same element.
fn read(array: &Array, far: &Array) {
    let size = array.data_type().elements().size().unwrap_or(16);
    let asked: u64 = array.shape().iter().map(|&length| length.min(ALONG)).product();
    if size > ELEMENT_SIZE || asked > ELEMENTS || array.shape().len() > 12 {
        return;
    }
    let range = |start: u64, stop: u64| DimensionSelection::Range { start, stop, step: 1 };
    let first = array.shape().iter().map(|&length| range(0, length.min(ALONG))).collect();
    let last = array.shape().iter().map(|&length| range(length.saturating_sub(2), length)).collect();
    let first = Selection::Orthogonal(first);
    let whole = array.read(&first);
    let from_far = far.read(&first);
    let _end = array.read(Selection::Orthogonal(last));
    let (whole, from_far) = match (whole, from_far) {
        (Ok(whole), Ok(from_far)) => (whole, from_far),
        (Err(_), Err(_)) => return,
        (near, far) => panic!("{}: {near:?} directly, but {far:?} through the remote store", array.path()),
    };
    assert_eq!(whole.bytes(), from_far.bytes(), "{} from far", array.path());
    assert_eq!(whole.count() as u64, asked, "elements of {}", array.path());
    if whole.count() == 0 {
        return;
    }
    let one = array
        .read(Selection::Orthogonal(array.shape().iter().map(|_| DimensionSelection::Index(0)).collect()));
    match one {
        Ok(one) => assert_eq!(one.element(0), whole.element(0), "the first element of {}", array.path()),
        Err(error) => panic!("{}: all elements can be read, but not a single one: {error}", array.path()),
    }
    let _stored = array.chunk_exists(&vec![0; array.shape().len()]);
}

pub(crate) fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let mut all = formats::hierarchies()?;
    all.extend(peers::hierarchies()?);
    let seed = |files: &Files| {
        let mut seed = vec![1];
        for (key, value) in files {
            let (Ok(key_length), Ok(length)) = (u8::try_from(key.len()), u16::try_from(value.len())) else {
                continue;
            };
            seed.push(key_length);
            seed.extend_from_slice(key.as_bytes());
            seed.extend_from_slice(&length.to_le_bytes());
            seed.extend_from_slice(value);
        }
        seed
    };
    Ok(all.iter().map(seed).filter(|seed| seed.len() <= 4096).collect())
}
