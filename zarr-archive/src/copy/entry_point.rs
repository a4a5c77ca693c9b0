//! The entry point of a copy in the v3 draft.

use zarr_engine::Hierarchy;
use zarr_metadata::draft::EntryPoint;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{Format, Mode, NodePath, Reading};

use super::losses::Losses;

/// Returns the entry point of a copy in the v3 draft, and adds the losses from the entry point of the source.
pub(super) fn entry_point(
    source: &Hierarchy,
    root: &NodePath,
    format: Format,
    there: Option<EntryPoint>,
    losses: &mut Losses,
) -> Option<EntryPoint> {
    let Some(before) = source.entry_point() else {
        return there.or_else(|| (format == Format::V3Draft).then(EntryPoint::new));
    };
    let registry = source.context().registry();
    let is_known = |document: &&ExtensionDocument| {
        let reading = Reading::new(Mode::default());
        registry.extensions().find(Format::V3Draft, &document.identifier, &reading).is_ok()
    };
    let copy = match (format, there) {
        (Format::V3Draft, Some(there)) => Some(there),
        (Format::V3Draft, None) => Some(
            EntryPoint::new()
                .with_metadata_encoding(before.metadata_encoding.clone(), before.key_suffix.clone())
                .with_extensions(before.extensions.iter().filter(is_known).cloned().collect()),
        ),
        (Format::V2 | Format::V3, _) => None,
    };
    let new = EntryPoint::new();
    let encoding = &before.metadata_encoding.identifier;
    let after = copy.as_ref().unwrap_or(&new);
    if *encoding != after.metadata_encoding.identifier {
        let reason = &after.metadata_encoding.identifier;
        losses.add(root, format!("`metadata_encoding`: encoding `{encoding}`; the copy uses `{reason}`"));
    }
    for (position, document) in before.extensions.iter().enumerate() {
        if !after.extensions.contains(document) {
            let name = &document.identifier;
            let what = format!("extension `{name}` of the entry point is not copied");
            losses.add(root, format!("`extensions[{position}]`: {what}"));
        }
    }
    copy
}
