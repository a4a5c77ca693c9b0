use super::*;
use crate::rust_source::RustSource;
use crate::workspace::made_up::Tree;

/// Returns the denied phrases in a comment.
fn phrases(comment: &str) -> Vec<String> {
    let text = comment.lines().map(|line| format!("// {line}\n")).collect::<String>();
    let passages = prose::of_rust(&RustSource::new(text).unwrap());
    passages.iter().flat_map(denied_in).map(|(_, phrase)| phrase).collect()
}

#[test]
fn denied_words_are_found_in_any_case_and_across_lines() {
    for text in ["Whoever", "nobody", "Somebody", "for\never", "There is to be", "what goes on here."] {
        assert_eq!(phrases(&format!("Read {text} twice")).len(), 1, "{text}");
    }
    let fine = "the forever loop, for every chunk; antibody, what goes on there, there is to the left";
    assert_eq!(phrases(fine), [""; 0]);
}

#[test]
fn a_number_needs_a_comparison() {
    assert_eq!(phrases("so many bytes"), ["so many"]);
    assert_eq!(phrases("it takes as many. As here"), ["as many"]);
    assert_eq!(phrases("as many bytes as this; so many chunks of it as there are"), [""; 0]);
}

#[test]
fn is_no_is_denied_unless_it_is_a_comparison_or_follows_there() {
    assert_eq!(phrases("a group is no array, and there are none"), ["is no"]);
    assert_eq!(phrases("Those are none. It is none. It is None."), ["are none", "is none"]);
    let fine =
        "There is no key. It is no longer than that, and is no more; where there are none: it is, no doubt";
    assert_eq!(phrases(fine), [""; 0]);
    assert_eq!(phrases("it is `None`"), [""; 0]);
}

#[test]
fn has_not_is_denied_before_a_noun() {
    assert_eq!(phrases("it has not the key; they have not enough"), ["has not the", "have not enough"]);
    assert_eq!(phrases("it has not been read, has not yet, have not changed, has not"), [""; 0]);
}

#[test]
fn a_documentation_comment_does_not_begin_with_a_noun_clause() {
    let text = "/// What it is.\n///\n/// What is fine here.\nfn f() {}\n\n// Who is fine too.\n/// Who\n/// asks.\nfn g() {}\n";
    let tree = Tree::new(&[("zarr-spec/Cargo.toml", "[package]\nname = 'zarr-spec'"), ("a.rs", text)]);
    let places: Vec<_> = denied(&tree.load()).unwrap().into_iter().map(|finding| finding.place).collect();
    assert_eq!(places, ["a.rs:1", "a.rs:7"]);
}

#[test]
fn messages_and_documents_are_read_and_quotations_and_fixtures_are_not() {
    let files = [
        ("docs/a.md", "One\nnobody.\n> nobody\n\"nobody\" and `nobody`\n"),
        ("b.rs", "fn f() { g(\"a\\nnobody\") } // \"nobody\"\n"),
        ("c.toml", "d = \"nobody\" # nobody\n"),
        ("conformance/requirements/v2.md", "nobody"),
        ("conformance/formats/write.py", "# nobody"),
    ];
    let tree = Tree::new(&files);
    let found: Vec<_> = denied(&tree.load()).unwrap().into_iter().map(|finding| finding.place).collect();
    assert_eq!(found, ["b.rs:1", "c.toml:1", "c.toml:1", "docs/a.md:2"]);
}

#[test]
fn noun_clauses_are_counted_at_the_start_of_sentences_and_questions_are_not() {
    let clauses = |text: &str| {
        let passages = prose::of_file(Path::new("a.md"), text);
        passages.iter().map(|passage| clauses_of(&passage.words)).sum::<usize>()
    };
    assert_eq!(clauses("What is stored is read. What is `v1.0`? It is what it is. Whoever\nasks, waits."), 2);
    assert_eq!(clauses("# What to do\n\nWho"), 2);
}

#[test]
fn a_rate_above_the_limit_is_an_error() {
    let words = "word ".repeat(PER_WORDS - 3 * LIMIT);
    let measured = |sentences: usize| {
        let text = format!("{}{words}", "What is. ".repeat(sentences));
        let tree = Tree::new(&[("docs/a.md", text.as_str())]);
        noun_clauses(&tree.load()).unwrap()
    };
    let good = measured(2);
    assert_eq!((good.lines.len(), good.findings.len()), (2, 0), "{good:?}");
    assert_eq!(measured(LIMIT + 2).findings.len(), 1);
}
