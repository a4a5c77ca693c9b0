//! Denies words and phrases that the project does not use, in comments, literals and documents.
//!
//! A phrase is found across line breaks. Quotations are not searched (`prose`).

use std::path::Path;

use super::{Finding, Measurement, shown};
use crate::prose::{self, End, Kind, Passage, Word};
use crate::workspace::Workspace;

/// Phrases that are denied everywhere.
const PHRASES: &[&[&str]] = &[
    &["whoever"],
    &["nobody"],
    &["somebody"],
    &["for", "ever"],
    &["goes", "on", "here"],
    &["there", "is", "to", "be"],
];

/// The words between `has not` and a noun. `has not been`, `has not yet` and `has not changed` are allowed.
const BEFORE_NOUNS: &[&str] =
    &["a", "an", "the", "its", "their", "any", "enough", "one", "that", "this", "these", "those"];

/// The words after `no` in comparisons such as `is no longer`.
const COMPARISONS: &[&str] = &["longer", "more", "less", "fewer"];

/// In comparisons, `as` follows `as many` within this number of words.
const REACH_OF_AS: usize = 6;

/// The first words of noun clauses.
const NOUN_CLAUSES: &[&str] = &["What", "Who", "Whoever"];

/// The maximum number of noun clauses at the start of sentences, per [`PER_WORDS`] words.
const LIMIT: usize = 3;
const PER_WORDS: usize = 10_000;

/// Files that are not prose of the project, and files that name the denied words.
const OTHERS: &[(&str, &str)] = &[
    ("conformance/requirements/", "quotes the specifications"),
    ("conformance/formats/", "stored fixtures"),
    ("zarr-plugin/tests/v1.0/", "stored fixtures"),
    ("docs/conformance.md", "generated; quotes the stored fixtures"),
    ("xtask/src/tidy/dialect", "names the denied words"),
];

/// Exceptions: a file, the phrase as messages show it, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

/// Finds denied words and phrases.
pub(super) fn denied(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    each_passage(workspace, |file, passage| {
        for (line, phrase) in denied_in(&passage) {
            if !EXCEPTIONS.iter().any(|(place, excepted, _)| *place == file && *excepted == phrase) {
                findings.push(Finding::error(format!("{file}:{line}"), format!("`{phrase}` is denied")));
            }
        }
    })?;
    Ok(findings)
}

/// Measures how many sentences begin with a noun clause.
pub(super) fn noun_clauses(workspace: &Workspace) -> Result<Measurement, String> {
    let mut comments = Rate::default();
    let mut documents = Rate::default();
    each_passage(workspace, |_, passage| match passage.kind {
        Kind::Comment | Kind::DocComment => comments.add(&passage),
        Kind::Document => documents.add(&passage),
        Kind::Literal => {}
    })?;
    let mut measurement = Measurement::default();
    for (rate, place) in [(comments, "comments"), (documents, "documents")] {
        let Rate { words, clauses } = rate;
        let line = format!(
            "noun clauses at the start of a sentence in {place}: {clauses} in {words} words, {:.1} per {PER_WORDS}",
            rate.per_words()
        );
        if rate.is_above_limit() {
            let message = format!("{line}; the limit is {LIMIT}");
            measurement.findings.push(Finding::error(place, message));
        }
        measurement.lines.push(line);
    }
    Ok(measurement)
}

/// Sentences that begin with a noun clause, and all words.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Rate {
    words: usize,
    clauses: usize,
}

impl Rate {
    fn add(&mut self, passage: &Passage) {
        self.words += passage.words.iter().filter(|word| !word.text.is_empty()).count();
        self.clauses += clauses_of(&passage.words);
    }

    #[expect(clippy::cast_precision_loss, reason = "a text of the project has fewer than 2^52 words")]
    fn per_words(self) -> f64 {
        (self.clauses * PER_WORDS) as f64 / self.words.max(1) as f64
    }

    fn is_above_limit(self) -> bool {
        self.clauses * PER_WORDS > LIMIT * self.words
    }
}

/// Calls `look` with every passage and its file.
fn each_passage(workspace: &Workspace, mut look: impl FnMut(&str, Passage)) -> Result<(), String> {
    for file in workspace.project_files()? {
        let place = shown(&file);
        if OTHERS.iter().any(|(start, _)| place.starts_with(start)) {
            continue;
        }
        passages(workspace, &file)?.into_iter().for_each(|passage| look(&place, passage));
    }
    Ok(())
}

fn passages(workspace: &Workspace, file: &Path) -> Result<Vec<Passage>, String> {
    if !prose::has_prose(file) {
        return Ok(Vec::new());
    }
    let text = workspace.read(file)?;
    Ok(match prose::is_rust(file, &text) {
        true => prose::of_rust(&*workspace.rust_source(file)?),
        false => prose::of_file(file, &text),
    })
}

/// Returns the denied phrases in a passage, with their lines.
fn denied_in(passage: &Passage) -> Vec<(usize, String)> {
    let words = &passage.words;
    // `None`, a value of Rust and Python, must not be confused with the word.
    let in_lower_case =
        |word: &Word| if word.text == "None" { "None".to_owned() } else { word.text.to_lowercase() };
    let lower: Vec<_> = words.iter().map(in_lower_case).collect();
    let text = Text { lower: &lower, words };
    let mut found: Vec<_> =
        (0..words.len()).filter_map(|at| Some((words[at].line, text.denied_at(at)?))).collect();
    if passage.kind == Kind::DocComment && ["What", "Who"].contains(&words[0].text.as_str()) {
        found.push((words[0].line, format!("{} at the start of a documentation comment", words[0].text)));
    }
    found
}

/// The words of a passage.
struct Text<'w> {
    /// The words in lower case, except for `None`.
    lower: &'w [String],
    words: &'w [Word],
}

impl Text<'_> {
    /// Returns the denied phrase that begins at word `at`.
    fn denied_at(&self, at: usize) -> Option<String> {
        let phrase = PHRASES.iter().find(|phrase| self.is_at(at, phrase));
        if let Some(phrase) = phrase {
            return Some(phrase.join(" "));
        }
        let length = self.length_of_pattern(at)?;
        Some(self.lower[at..at + length].join(" "))
    }

    fn length_of_pattern(&self, at: usize) -> Option<usize> {
        let is_many = self.is_at(at, &["so", "many"]) || self.is_at(at, &["as", "many"]);
        if is_many && !self.has_as_after(at + 2) {
            return Some(2);
        }
        let is_none = |verb: &str| self.is_at(at, &[verb, "no"]) || self.is_at(at, &[verb, "none"]);
        if (is_none("is") || is_none("are")) && !self.follows(at, "there") && !self.is_comparison(at + 1) {
            return Some(2);
        }
        let lacks = self.is_at(at, &["has", "not"]) || self.is_at(at, &["have", "not"]);
        let noun = self.word_after(at + 1).is_some_and(|word| BEFORE_NOUNS.contains(&word));
        (lacks && noun).then_some(3)
    }

    /// Returns whether `phrase` begins at word `at`, without punctuation between its words.
    fn is_at(&self, at: usize, phrase: &[&str]) -> bool {
        let is_joined = |(number, word): (usize, &&str)| {
            let is_last = number + 1 == phrase.len();
            self.lower.get(at + number).is_some_and(|found| found == word)
                && (is_last || self.words[at + number].end == End::Blank)
        };
        phrase.iter().enumerate().all(is_joined)
    }

    /// Returns the word after word `at`, if there is no punctuation between them.
    fn word_after(&self, at: usize) -> Option<&str> {
        let is_joined = self.words.get(at)?.end == End::Blank;
        self.lower.get(at + 1).filter(|_| is_joined).map(String::as_str)
    }

    fn follows(&self, at: usize, word: &str) -> bool {
        at.checked_sub(1)
            .is_some_and(|before| self.lower[before] == word && self.word_after(before).is_some())
    }

    fn is_comparison(&self, at: usize) -> bool {
        self.word_after(at).is_some_and(|word| COMPARISONS.contains(&word))
    }

    /// Returns whether `as` follows word `at` in the same sentence.
    fn has_as_after(&self, at: usize) -> bool {
        let near = (at..self.words.len()).take(REACH_OF_AS);
        let mut in_sentence = near.take_while(|place| self.words[place - 1].end < End::Sentence);
        in_sentence.any(|place| self.lower[place] == "as")
    }
}

/// Counts the sentences that begin with a noun clause. Questions do not count.
fn clauses_of(words: &[Word]) -> usize {
    let sentences = words.split_inclusive(|word| word.end >= End::Sentence);
    let is_clause = |sentence: &&[Word]| {
        let ends = sentence.last().map(|word| word.end);
        ends != Some(End::Question)
            && sentence.first().is_some_and(|word| NOUN_CLAUSES.contains(&word.text.as_str()))
    };
    sentences.filter(is_clause).count()
}

#[cfg(test)]
mod tests;
