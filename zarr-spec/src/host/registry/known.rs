//! Identifiers that other programs provide.

use super::ExtensionPoint;

/// Identifiers that other programs provide, so that errors can name the program.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct KnownIdentifiers {
    /// A line for each identifier: the extension point as it is displayed, the identifier and its provider, such as
    /// "Python package kerchunk 0.2.10", separated by tabs. A store has a line for each form in which locations name it:
    /// its type, a scheme with `:` or `://`, and a step of a pipeline with `|` and `:`.
    pub table: &'static str,
}

impl KnownIdentifiers {
    /// Creates a table for `inventory::submit!`.
    #[must_use]
    pub const fn new(table: &'static str) -> Self {
        Self { table }
    }
}

inventory::collect!(KnownIdentifiers);

/// Returns the clause that follows "is" in the message about an identifier that another program provides.
pub(super) fn known_elsewhere(point: ExtensionPoint, identifier: &str) -> Option<String> {
    let start = format!("{point}\t{identifier}\t");
    let lines = inventory::iter::<KnownIdentifiers>.into_iter().flat_map(|known| known.table.lines());
    let providers: Vec<&str> = lines.filter_map(|line| line.strip_prefix(start.as_str())).collect();
    (!providers.is_empty()).then(|| format!("unknown; {} has it", providers.join(", ")))
}
