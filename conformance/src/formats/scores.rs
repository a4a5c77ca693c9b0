//! Reports about readers, for people and for programs.

use std::fmt::{self, Write as _};

use zarr_spec::{Object, Value};

use super::{FormatName, Outcome, Reading};
use crate::suite::{VERSION, escaped};

/// The version of the JSON form.
const FORM: u64 = 2;

/// The outcomes of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scores {
    /// The name of the reader, with its version if known.
    pub reader: String,
    /// The command line that started the reader.
    pub command: String,
    /// The outcome of each example.
    pub readings: Vec<Reading>,
}

impl Scores {
    /// Returns the readings that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Reading> {
        self.readings.iter().filter(|reading| reading.outcome.is_failure())
    }

    /// Returns the readings of optional examples that the reader does not support.
    pub fn not_supported(&self) -> impl Iterator<Item = &Reading> {
        self.readings.iter().filter(|reading| reading.outcome == Outcome::NotSupported)
    }

    /// Returns the number of right outcomes among the selected readings, and the number of those readings.
    fn counts(&self, of: impl Fn(&Reading) -> bool) -> (usize, usize) {
        let all = || self.readings.iter().filter(|reading| of(reading));
        (all().filter(|reading| reading.outcome.is_right()).count(), all().count())
    }

    /// Returns the counts of the valid or the invalid examples of a format.
    fn counts_of(&self, format: FormatName, is_valid: bool) -> (usize, usize) {
        self.counts(|Reading { example, .. }| {
            example.format == format && example.expectation.is_valid() == is_valid
        })
    }

    /// Returns the command that reads one example again.
    #[must_use]
    pub fn again(&self, reading: &Reading) -> String {
        let command = self.command.replace('\'', r"'\''");
        format!("zarrctl conformance format --reader '{command}' --only {}", reading.example.id)
    }

    /// Returns the scores as JSON. The member `scores` is the version of the form: new members may be added, but
    /// existing ones do not change their meaning within a version.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let readings = self.readings.iter().map(|reading| {
            let example = reading.example;
            object([
                ("id", example.id.as_str().into()),
                ("format", example.format.to_string().into()),
                ("about", example.about.as_str().into()),
                ("rows", example.rows.iter().map(String::as_str).collect()),
                ("origin", example.origin.as_str().into()),
                ("outcome", reading.outcome.to_string().into()),
                ("right", reading.outcome.is_right().into()),
                ("note", reading.note.as_str().into()),
                ("milliseconds", u64::try_from(reading.time.as_millis()).unwrap_or(u64::MAX).into()),
            ])
        });
        object([
            ("scores", FORM.into()),
            ("suite_version", VERSION.into()),
            ("reader", self.reader.as_str().into()),
            ("command", self.command.as_str().into()),
            ("examples", readings.collect()),
        ])
    }

    /// Returns the scores as JUnit XML, with a suite for each format and a case for each example.
    #[must_use]
    pub fn to_junit(&self) -> String {
        let mut xml = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"zarr-conformance format\">\n",
        );
        for format in FormatName::ALL {
            let of_format = |reading: &&Reading| reading.example.format == format;
            let count = self.readings.iter().filter(of_format).count();
            if count == 0 {
                continue;
            }
            let failures = self.failures().filter(of_format).count();
            let skipped = self.not_supported().filter(of_format).count();
            let name = escaped(&format!("{} {format}", self.reader));
            put(
                &mut xml,
                format_args!(
                    "  <testsuite name=\"{name}\" tests=\"{count}\" failures=\"{failures}\" skipped=\"{skipped}\">\n"
                ),
            );
            for reading in self.readings.iter().filter(|reading| reading.example.format == format) {
                let Reading { example, outcome, note, time } = reading;
                let id = escaped(&example.id);
                let seconds = time.as_secs_f64();
                let head = format!("    <testcase classname=\"{name}\" name=\"{id}\" time=\"{seconds:.3}\"");
                if outcome.is_right() {
                    put(&mut xml, format_args!("{head}/>\n"));
                    continue;
                }
                let about = escaped(&example.about);
                let note = escaped(note);
                if !outcome.is_failure() {
                    put(
                        &mut xml,
                        format_args!(
                            "{head}>\n      <skipped message=\"{outcome}: {note}\"/>\n    </testcase>\n"
                        ),
                    );
                    continue;
                }
                put(
                    &mut xml,
                    format_args!(
                        "{head}>\n      <failure message=\"{outcome}\">{about} {note}\n{}</failure>\n    </testcase>\n",
                        escaped(&self.again(reading))
                    ),
                );
            }
            xml.push_str("  </testsuite>\n");
        }
        xml.push_str("</testsuites>\n");
        xml
    }

    /// Returns the scores as a self-contained HTML page: the failures first, then every example.
    #[must_use]
    pub fn to_html(&self) -> String {
        let title = escaped(&format!("Zarr formats as {} reads them", self.reader));
        let (right, count) = self.counts(|_| true);
        let not_supported = self.not_supported().count();
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>\n{}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<p>{right} of {count} examples are right \
             and {not_supported} not supported, of version {VERSION} of the suite.</p>\n</header>\n<section>\n<h2>Failures</h2>\n",
            include_str!("../suite/report/page.css"),
        );
        if self.failures().next().is_none() {
            page.push_str("<p>None.</p>\n");
        }
        for reading in self.failures() {
            put(
                &mut page,
                format_args!(
                    "<article>\n<h3><code>{}</code>: {}</h3>\n<p>{} <small>{}</small></p>\n\
                     <p><code>{}</code></p>\n<p>To reproduce it: <code class=\"again\">{}</code></p>\n</article>\n",
                    escaped(&reading.example.id),
                    reading.outcome.meaning(),
                    escaped(&reading.example.about),
                    escaped(&reading.example.rows.join(", ")),
                    escaped(&reading.note),
                    escaped(&self.again(reading)),
                ),
            );
        }
        page.push_str("</section>\n<section>\n<h2>All examples</h2>\n<table>\n<thead><tr><th>Example</th>");
        page.push_str("<th>Description</th><th>Outcome</th></tr></thead>\n<tbody>\n");
        for Reading { example, outcome, .. } in &self.readings {
            let class = match (outcome.is_right(), outcome.is_failure()) {
                (true, _) => "good",
                (false, true) => "bad",
                (false, false) => "skipped",
            };
            put(
                &mut page,
                format_args!(
                    "<tr><td class=\"short\"><code>{}</code></td><td>{}</td><td class=\"short {class}\">{outcome}</td></tr>\n",
                    escaped(&example.id),
                    escaped(&example.about),
                ),
            );
        }
        page.push_str("</tbody>\n</table>\n</section>\n</body>\n</html>\n");
        page
    }

    /// Returns a badge with the number of right outcomes, as JSON for shields.io.
    #[must_use]
    pub fn badge(&self) -> Value {
        let (right, count) = self.counts(|_| true);
        let color = match self.failures().count() {
            0 => "brightgreen",
            some if some * 10 <= count => "yellow",
            _ => "orange",
        };
        object([
            ("schemaVersion", 1.into()),
            ("label", "zarr formats".into()),
            ("message", format!("{right}/{count}").into()),
            ("color", color.into()),
        ])
    }
}

/// Prints the counts for each format, then the failures with the commands that reproduce them.
impl fmt::Display for Scores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for format in FormatName::ALL {
            let (read, valid) = self.counts_of(format, true);
            let (refused, invalid) = self.counts_of(format, false);
            let counts = [
                (valid > 0).then(|| format!("{read} of {valid} valid examples read")),
                (invalid > 0).then(|| format!("{refused} of {invalid} invalid examples refused")),
            ];
            let counts: Vec<String> = counts.into_iter().flatten().collect();
            if !counts.is_empty() {
                writeln!(f, "{}: {format}: {}", self.reader, counts.join(", "))?;
            }
        }
        for Reading { example, note, .. } in self.not_supported() {
            writeln!(f, "  not supported: {}: {note}", example.id)?;
        }
        for reading in self.failures() {
            let Reading { example, outcome, note, .. } = reading;
            writeln!(f, "\n{}: {outcome} ({})", example.id, outcome.meaning())?;
            writeln!(f, "  {} [{}]", example.about, example.rows.join(", "))?;
            if !note.is_empty() {
                writeln!(f, "  {note}")?;
            }
            writeln!(f, "  to reproduce it: {}", self.again(reading))?;
        }
        Ok(())
    }
}

/// Returns a Markdown page with the scores of several readers. The commands of the readers contain the paths of
/// adapters in the repository.
#[must_use]
pub fn page(all: &[Scores]) -> String {
    let mut page = String::from(HEAD);
    page.push_str("| reader |");
    FormatName::ALL.iter().for_each(|it| put(&mut page, format_args!(" {it} valid | {it} not valid |")));
    put(&mut page, format_args!("\n|---|{}\n", "--:|".repeat(2 * FormatName::ALL.len())));
    for scores in all {
        put(&mut page, format_args!("| {} |", scores.reader));
        for (format, is_valid) in FormatName::ALL.into_iter().flat_map(|it| [(it, true), (it, false)]) {
            match scores.counts_of(format, is_valid) {
                (_, 0) => page.push_str(" – |"),
                (right, count) => put(&mut page, format_args!(" {right} of {count} |")),
            }
        }
        page.push('\n');
    }
    page.push_str("\n## Outcomes\n\n| reader |");
    Outcome::ALL.iter().for_each(|outcome| put(&mut page, format_args!(" {outcome} |")));
    put(&mut page, format_args!("\n|---|{}\n", "--:|".repeat(Outcome::ALL.len())));
    for scores in all {
        put(&mut page, format_args!("| {} |", scores.reader));
        for outcome in Outcome::ALL {
            let count = scores.readings.iter().filter(|reading| reading.outcome == outcome).count();
            put(&mut page, format_args!(" {count} |"));
        }
        page.push('\n');
    }
    page.push('\n');
    for outcome in Outcome::ALL {
        put(&mut page, format_args!("- `{outcome}`: {}\n", outcome.meaning()));
    }
    for scores in all.iter().filter(|scores| scores.failures().next().is_some()) {
        put(
            &mut page,
            format_args!(
                "\n## {}\n\nTo reproduce a line:\n\n```sh\nzarrctl conformance format --reader '{}' --only EXAMPLE\n\
                 ```\n\n| example | outcome | description | rows |\n|---|---|---|---|\n",
                scores.reader, scores.command
            ),
        );
        for Reading { example, outcome, .. } in scores.failures() {
            let about = example.about.replace('|', "\\|");
            put(
                &mut page,
                format_args!("| `{}` | {outcome} | {about} | {} |\n", example.id, example.rows.join(", ")),
            );
        }
    }
    page
}

const HEAD: &str = "\
# Scores of Zarr implementations

Generated by `cargo xtask scores` from a run; a test compares it with one.

The format suite (`conformance/formats`) consists of small stored hierarchies, valid and invalid. Each covers rows of the
requirements (`conformance/requirements`) and comes with the expected elements.

A reader is started once for each example, with limits on time and address space. It writes the elements to a file, which is
compared byte by byte. Any program can be measured:
`zarrctl conformance format --reader 'CMD {store} {array} {out}'`.

Adapters for the readers below are in `conformance/adapters`; `python` has the packages of
`conformance/interop/python/requirements-zarr3.txt`, or of `-zarr2.txt` for zarr-python 2. `conformance/src/formats.rs`
documents the form of the elements and the outcomes.

A score does not judge a project: the examples are hard cases on purpose, and some depend on interpretations of the
specifications, for which the requirements give reasons. A dash marks a format that the reader does not know.

Valid and invalid examples are counted separately: a reader must read the former and report an error for the latter. Support
for some valid examples is optional. If a reader refuses such an example, it counts as not supported, never as read.

## Right outcomes

";

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Object>())
}

/// Appends text to a `String`, which cannot fail.
fn put(to: &mut String, text: fmt::Arguments<'_>) {
    to.write_fmt(text).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::super::{Expectation, all};
    use super::*;

    fn scores() -> Scores {
        let reading =
            |number: usize, outcome, note: &str| Reading::new(&all()[number], outcome, note.to_owned());
        Scores {
            reader: "a <b>".to_owned(),
            command: "read 'x' {store}".to_owned(),
            readings: vec![reading(0, Outcome::Right, ""), reading(1, Outcome::TimedOut, "<script>")],
        }
    }

    #[test]
    fn failures_are_printed_with_the_command_that_reproduces_them() {
        let text = scores().to_string();
        let id = &all()[1].id;
        assert!(text.starts_with("a <b>: v2: 1 of 2 valid examples read\n"), "{text}");
        assert!(text.contains(&format!("\n{id}: timed-out (exceeded the time limit)\n")), "{text}");
        let again = format!(r"zarrctl conformance format --reader 'read '\''x'\'' {{store}}' --only {id}");
        assert!(text.contains(&again), "{text}");
    }

    #[test]
    fn foreign_text_is_escaped_in_pages() {
        for page in [scores().to_html(), scores().to_junit()] {
            assert!(page.contains("&lt;script&gt;") && page.contains("a &lt;b&gt;"), "{page}");
            assert!(!page.contains("<script>"), "{page}");
        }
    }

    #[test]
    fn machine_readable_forms_have_the_outcome_of_each_example() {
        let json = scores().to_json().to_string();
        assert!(json.contains(r#""outcome":"timed-out","right":false"#), "{json}");
        assert!(scores().badge().to_string().contains(r#""message":"1/2","color":"orange""#));
        assert!(scores().to_junit().contains("tests=\"2\" failures=\"1\""));
    }

    #[test]
    fn the_page_has_a_dash_for_a_format_that_was_not_read() {
        let page = page(&[scores()]);
        assert!(page.contains("| a <b> | 1 of 2 | – | – | – | – | – |\n"), "{page}");
        assert!(page.contains(&format!("| `{}` | timed-out |", all()[1].id)), "{page}");
    }

    #[test]
    fn a_reader_that_refuses_everything_reads_no_valid_example() {
        let refused = |example: &'static super::super::Example| {
            let outcome = match &example.expectation {
                Expectation::Values(_) => Outcome::RefusedValid,
                Expectation::Refused => Outcome::Refused,
                Expectation::Either(_) | Expectation::Usual(_) => Outcome::NotSupported,
            };
            Reading::new(example, outcome, String::new())
        };
        let scores = Scores { readings: all().iter().map(refused).collect(), ..scores() };
        for format in FormatName::ALL {
            assert_eq!(scores.counts_of(format, true).0, 0);
            let (right, count) = scores.counts_of(format, false);
            assert_eq!(right, count);
        }
        assert!(scores.not_supported().count() > 0);
        assert!(!scores.failures().any(|reading| reading.outcome == Outcome::NotSupported));
    }
}
