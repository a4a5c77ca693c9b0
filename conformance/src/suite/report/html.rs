//! The report as a single HTML page that needs no other files or network access.

use std::fmt::Write as _;

use zarr_json::counted;

use super::{Report, escaped};
use crate::suite::{Level, Outcome, Subject, Verdict};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

impl Report {
    /// Returns the report as an HTML page: the result, the broken rules, then every rule. `command` reproduces the
    /// run of one subject; `{subject}` in it stands for its name.
    #[must_use]
    pub fn to_html(&self, title: &str, command: &str) -> String {
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<p>Rules of version {}, up to {}: \
             {}.</p>\n",
            escaped(self.version),
            self.up_to,
            self.up_to.meaning(),
            title = escaped(title),
        );
        self.outcome(&mut page);
        page.push_str("</header>\n");
        self.broken(command, &mut page);
        self.summary(&mut page);
        self.all(&mut page);
        page.push_str("<script>\n");
        page.push_str(SCRIPT);
        page.push_str("</script>\n</body>\n</html>\n");
        page
    }

    /// Writes the result in one sentence, and links to the sections.
    fn outcome(&self, page: &mut String) {
        let [passed, failed, skipped] =
            self.subjects.iter().fold([0; 3], |[passed, failed, skipped], (_, outcomes)| {
                let counts = counts(outcomes);
                [passed + counts[0], failed + counts[1], skipped + counts[2]]
            });
        let subjects = self.subjects.len();
        let wrong = self.subjects.iter().filter(|(_, outcomes)| counts(outcomes)[1] > 0).count();
        let outcome = if wrong == 0 {
            format!("<span class=\"good\">No rule is broken</span>: {}", of_several(subjects, "subject"))
        } else {
            let rules = of_several(failed, "rule");
            format!(
                "<span class=\"bad\">{rules} broken</span> by {wrong} of {}",
                of_several(subjects, "subject")
            )
        };
        put(
            page,
            format_args!(
                "<p class=\"outcome\">{outcome}; {passed} held, {skipped} did not apply.</p>\n\
                 <nav><a href=\"#broken\">Broken rules</a> · <a href=\"#summary\">Summary</a> · \
                 <a href=\"#all\">All rules</a></nav>\n",
            ),
        );
    }

    /// Writes the table of subjects. Subjects with broken rules come first.
    fn summary(&self, page: &mut String) {
        page.push_str(
            "<section id=\"summary\">\n<h2>Summary</h2>\n<table>\n<thead><tr><th>Subject</th><th>From</th>",
        );
        page.push_str("<th>Level</th>");
        for count in ["Held", "Broken", "Skipped"] {
            put(page, format_args!("<th class=\"number\">{count}</th>"));
        }
        page.push_str("</tr></thead>\n<tbody>\n");
        let mut all: Vec<_> = self.subjects.iter().enumerate().collect();
        all.sort_by_key(|(_, (_, outcomes))| counts(outcomes)[1] == 0);
        for (number, (subject, outcomes)) in all {
            let [passed, failed, skipped] = counts(outcomes);
            let level = Self::level(outcomes).map_or_else(|| "–".to_owned(), |level| level.to_string());
            let class = if failed > 0 { "bad" } else { "good" };
            put(
                page,
                format_args!(
                    "<tr><td><a href=\"#subject-{number}\">{}</a></td><td>{}</td><td class=\"{class}\">{level}</td>\
                     <td class=\"number\">{passed}</td><td class=\"number {class}\">{failed}</td>\
                     <td class=\"number\">{skipped}</td></tr>\n",
                    escaped(&subject.to_string()),
                    escaped(&from(subject)),
                ),
            );
        }
        page.push_str("</tbody>\n</table>\n</section>\n");
    }

    fn broken(&self, command: &str, page: &mut String) {
        page.push_str("<section id=\"broken\">\n<h2>Broken rules</h2>\n");
        if self.failures().next().is_none() {
            page.push_str("<p>None.</p>\n");
        }
        for (subject, outcome) in self.failures() {
            let Verdict::Failed(failures) = &outcome.verdict else { continue };
            let rule = outcome.rule;
            put(
                page,
                format_args!(
                    "<article>\n<h3>{}: {} <code>{}</code></h3>\n<p>{} <small>Source: {}.</small></p>\n<ul>\n",
                    escaped(&subject.to_string()),
                    rule.level,
                    escaped(rule.id),
                    escaped(rule.sentence),
                    escaped(rule.source),
                ),
            );
            for failure in failures {
                put(
                    page,
                    format_args!(
                        "<li><code>{}</code><br>{}</li>\n",
                        escaped(&failure.case),
                        escaped(&failure.what)
                    ),
                );
            }
            let command = command.replace("{subject}", &word(&subject.name));
            put(
                page,
                format_args!(
                    "</ul>\n<p>To reproduce it: <code class=\"again\">{}</code></p>\n</article>\n",
                    escaped(&command)
                ),
            );
        }
        page.push_str("</section>\n");
    }

    fn all(&self, page: &mut String) {
        page.push_str("<section id=\"all\">\n<h2>All rules</h2>\n<form id=\"filters\" hidden>\n");
        page.push_str("<label>Text <input type=\"search\" id=\"text\"></label>\n");
        for (verdict, label) in [("passed", "held"), ("failed", "broken"), ("skipped", "skipped")] {
            put(
                page,
                format_args!(
                    "<label><input type=\"checkbox\" name=\"verdict\" value=\"{verdict}\" checked> {label}</label>\n"
                ),
            );
        }
        page.push_str("<label>Level <select id=\"level\"><option value=\"\">all</option>");
        for level in Level::ALL {
            put(page, format_args!("<option value=\"{level}\">{level}: {}</option>", level.meaning()));
        }
        page.push_str("</select></label>\n<output id=\"count\"></output>\n</form>\n");
        for (number, (subject, outcomes)) in self.subjects.iter().enumerate() {
            let name = escaped(&subject.to_string());
            put(
                page,
                format_args!(
                    "<section data-subject=\"{name}\">\n<h3 id=\"subject-{number}\">{name} <small>{}</small></h3>\n\
                     <table>\n<thead><tr><th>Level</th><th>Rule</th><th>Verdict</th><th class=\"number\">Cases</th></tr>\
                     </thead>\n<tbody>\n",
                    escaped(&from(subject)),
                ),
            );
            for outcome in outcomes {
                row(outcome, page);
            }
            page.push_str("</tbody>\n</table>\n</section>\n");
        }
        page.push_str("</section>\n");
    }
}

fn row(outcome: &Outcome, page: &mut String) {
    let rule = outcome.rule;
    let (verdict, [label, class], cases, note) = match &outcome.verdict {
        Verdict::Passed { cases, skipped } => {
            ("passed", ["held", "good"], cases.to_string(), skipped.join("; "))
        }
        Verdict::Failed(failures) => ("failed", ["broken", "bad"], failures.len().to_string(), String::new()),
        Verdict::Skipped(reason) => ("skipped", ["skipped", "none"], String::new(), reason.clone()),
    };
    let note =
        if note.is_empty() { note } else { format!("<br><small>Not checked: {}</small>", escaped(&note)) };
    put(
        page,
        format_args!(
            "<tr class=\"{verdict}\" data-level=\"{level}\" data-verdict=\"{verdict}\"><td>{level}</td><td><code>{}</code> \
             {}{note}</td><td class=\"short {class}\">{label}</td><td class=\"number\">{cases}</td></tr>\n",
            escaped(rule.id),
            escaped(rule.sentence),
            level = rule.level,
        ),
    );
}

/// Quotes text for a shell if necessary.
fn word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-/:".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn of_several(count: usize, what: &str) -> String {
    counted(count, what, &format!("{what}s"))
}

/// Returns the numbers of rules that hold, are broken and do not apply.
fn counts(outcomes: &[Outcome]) -> [usize; 3] {
    outcomes.iter().fold([0; 3], |[passed, failed, skipped], outcome| match outcome.verdict {
        Verdict::Passed { .. } => [passed + 1, failed, skipped],
        Verdict::Failed(_) => [passed, failed + 1, skipped],
        Verdict::Skipped(_) => [passed, failed, skipped + 1],
    })
}

/// Returns the origin of a subject. It is empty for a store that was opened by the user.
fn from(subject: &Subject) -> String {
    format!("{} {}", subject.package, subject.version).trim().to_owned()
}

/// Appends text to a `String`, which cannot fail.
fn put(to: &mut String, text: std::fmt::Arguments<'_>) {
    to.write_fmt(text).unwrap_or_default();
}
