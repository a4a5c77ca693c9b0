//! Checks that the pages of `docs/spec` match the plugins: the examples conform to the schemas of their
//! pages, the plugins of this build accept them, and the plugins produce the documented elements and bytes.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod entry;
mod page;
mod run;

use zarr_conformance::schema::problems;
use zarr_kit::Format;
use zarr_kit::spec::{Representation, Value};

use entry::{Entry, Linked};
use page::{Example, Page};

/// The member of rectilinear grids that is a proposal for final v3. The page, which is for the draft, does not describe it.
const PROPOSED: &str = "encoded_chunk_shapes";

/// Calls `with` for every entry of every example that names the extension of its page. An example without elements uses
/// the array of the first example.
fn each_entry(mut with: impl FnMut(&Linked, &Page, &Example, &Entry, &Representation)) {
    let linked = Linked::new();
    for page in Page::all() {
        let identifiers = linked.identifiers(&page);
        let decoded = page.examples.first().map(|example| run::decoded_side(&linked, example));
        let decoded = decoded.unwrap_or_else(|| panic!("{}: no examples", page.name));
        for example in &page.examples {
            // A codec and a data type may have the same name.
            let other = if page.kind() == "codecs" { "data_type" } else { "codecs" };
            let members = example.document.as_object().unwrap().iter().filter(|(name, _)| *name != other);
            let entries: Vec<_> = members.flat_map(|(_, value)| Entry::all(&identifiers, value)).collect();
            assert!(!entries.is_empty(), "{}: {} is not used in {}", page.name, page.uri, example.document);
            let decoded =
                if example.runs.is_empty() { &decoded } else { &run::decoded_side(&linked, example) };
            for entry in entries {
                with(&linked, &page, example, &entry, decoded);
            }
        }
    }
}

/// Checks whether the plugin accepts an entry.
fn created(
    linked: &Linked,
    page: &Page,
    example: &Example,
    entry: &Entry,
    decoded: &Representation,
) -> Result<(), String> {
    match page.kind() {
        "codecs" => linked.codec(entry, decoded).map(drop),
        "data-types" => linked.data_type(entry).map(drop),
        "extensions" => linked.extension(entry, run::shape(example).as_deref()).map(drop),
        "grids" => linked.grid(entry, &run::shape(example).unwrap()).map(drop),
        "layouts" => linked.layout(entry, 2).map(drop),
        _ => linked.metadata_encoding(entry).map(drop),
    }
}

/// Tests EX-RULE-02, EX-RULE-04.
#[test]
fn every_example_conforms_to_its_schema_and_is_accepted_by_its_plugin() {
    let mut drafts = 0;
    each_entry(|linked, page, example, entry, decoded| {
        let name = &page.name;
        let document = &example.document;
        assert_eq!(problems(&page.schema, &entry.described(page)), [""; 0], "{name}: {document}");
        if let Some(schema) = linked.about(page).configuration_schema(entry.format) {
            assert_eq!(problems(&schema, &entry.configuration), [""; 0], "{name}: {document}");
        }
        let result = created(linked, page, example, entry, decoded);
        assert!(result.is_ok(), "{name}: {document}: {result:?}");
        drafts += usize::from(entry.format == Format::V3Draft);
    });
    assert!(drafts >= Page::all().len(), "every page needs an example of the draft");
}

/// Tests EX-RULE-02, EX-RULE-04.
#[test]
fn plugins_reject_what_their_schemas_reject() {
    let mut count = 0;
    each_entry(|linked, page, example, entry, decoded| {
        let mut both = |entry: &Entry, is_valid: bool| {
            let described = entry.described(page);
            assert_eq!(problems(&page.schema, &described).is_empty(), is_valid, "{}: {described}", page.name);
            let result = created(linked, page, example, entry, decoded);
            assert_eq!(result.is_ok(), is_valid, "{}: {described}: {result:?}", page.name);
            count += 1;
        };
        both(&entry.with(page, "unheard-of", &Value::Bool(true)), false);
        if entry.format != Format::V3Draft {
            return;
        }
        for name in page.required() {
            // If the schema describes the whole entry, the reader of the document checks members such as
            // `type`, not the plugin.
            if page.is_about_the_configuration() {
                both(&entry.without(name), false);
            }
        }
        for (name, bound, beyond) in page.bounds() {
            if entry.described(page).as_object().unwrap().contains(name) {
                both(&entry.with(page, name, &Value::from(bound)), true);
                both(&entry.with(page, name, &Value::from(beyond)), false);
            }
        }
    });
    assert!(count > 150, "{count}");
}

#[test]
fn a_page_lists_all_names_of_its_extension() {
    let linked = Linked::new();
    for page in Page::all() {
        let identifiers = linked.identifiers(&page);
        // Objects of v2 are named by the codec after the slash.
        let id = identifiers.id.map(|id| id.strip_prefix("O/").unwrap_or(id));
        let names = identifiers.aliases.iter().copied().chain(identifiers.name).chain(id);
        for name in names.filter(|name| !name.is_empty()) {
            let is_there =
                page.text.contains(&format!("`{name}`")) || page.text.contains(&format!("`\"{name}\"`"));
            assert!(is_there, "{}: `{name}` is missing", page.name);
        }
    }
}

#[test]
fn the_examples_of_plugins_conform_to_the_schemas_of_their_pages() {
    let linked = Linked::new();
    let mut count = 0;
    for page in Page::all() {
        let identifiers = linked.identifiers(&page);
        let described = |document: &&&str| !document.contains(PROPOSED);
        for document in linked.examples(&page).iter().filter(described) {
            let entries = Entry::all(&identifiers, &page::parsed(document));
            for entry in entries.iter().filter(|entry| entry.is_described(&page)) {
                assert_eq!(
                    problems(&page.schema, &entry.described(&page)),
                    [""; 0],
                    "{}: {document}",
                    page.name
                );
                count += 1;
            }
        }
    }
    assert!(count > 50, "{count}");
}

/// Checks the code in `conformance/requirements/extensions.md` that names an extension with a page: code in
/// the last column must be rejected, other code accepted.
///
/// Tests EX-RULE-02.
#[test]
fn examples_of_the_ledger_conform_to_the_schemas_of_the_pages() {
    let ledger = concat!(env!("CARGO_MANIFEST_DIR"), "/../requirements/extensions.md");
    let ledger = std::fs::read_to_string(ledger).unwrap();
    let linked = Linked::new();
    let pages = Page::all();
    let mut counts = [0, 0];
    for row in ledger.lines().filter(|line| line.starts_with("| EX-")) {
        let columns: Vec<&str> = row.trim_end_matches('|').split(" | ").collect();
        for (number, column) in columns.iter().enumerate() {
            let is_refused = number + 1 == columns.len();
            for text in column.split('`').skip(1).step_by(2).filter(|text| text.starts_with("{\"name\":")) {
                if text.contains('…') {
                    continue;
                }
                for page in pages.iter().filter(|page| page.is_about_the_configuration()) {
                    for entry in Entry::all(&linked.identifiers(page), &page::parsed(text)) {
                        let found = problems(&page.schema, &entry.described(page));
                        assert_eq!(found.is_empty(), !is_refused, "{row}: {found:?}");
                        counts[usize::from(is_refused)] += 1;
                    }
                }
            }
        }
    }
    assert!(counts[0] > 3 && counts[1] > 0, "{counts:?}");
}

#[test]
fn plugins_produce_the_documented_elements_and_bytes() {
    let mut without: Vec<String> = Page::all().into_iter().map(|page| page.name).collect();
    each_entry(|linked, page, example, entry, _| {
        if run::check(linked, page, example, entry) > 0 {
            without.retain(|name| *name != page.name);
        }
    });
    without.retain(|name| !name.starts_with("extensions-"));
    assert_eq!(without, [""; 0], "pages without an executed example");
}
