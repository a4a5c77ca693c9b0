//! A report as one page that a person reads: no other file, no address that it would have to reach.

use std::fmt::Write as _;

use super::{Report, escaped};
use crate::suite::{Level, Outcome, Subject, Verdict};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

impl Report {
    /// As a page of HTML: what it comes to, what is broken, and then every rule. `command` reproduces the run of one
    /// subject; `{subject}` in it stands for its name.
    #[must_use]
    pub fn to_html(&self, title: &str, command: &str) -> String {
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<p>Rules of version {}, up to {}: \
             {}.</p>\n</header>\n",
            escaped(self.version),
            self.up_to,
            self.up_to.meaning(),
            title = escaped(title),
        );
        self.summary(&mut page);
        self.broken(command, &mut page);
        self.all(&mut page);
        page.push_str("<script>\n");
        page.push_str(SCRIPT);
        page.push_str("</script>\n</body>\n</html>\n");
        page
    }

    fn summary(&self, page: &mut String) {
        page.push_str(
            "<section>\n<h2>Summary</h2>\n<table>\n<thead><tr><th>Subject</th><th>From</th><th>Level</th>",
        );
        page.push_str("<th>Held</th><th>Broken</th><th>Skipped</th></tr></thead>\n<tbody>\n");
        for (number, (subject, outcomes)) in self.subjects.iter().enumerate() {
            let [passed, failed, skipped] = counts(outcomes);
            let level = Self::level(outcomes).map_or_else(|| "–".to_owned(), |level| level.to_string());
            let class = if failed > 0 { "failed" } else { "passed" };
            put(
                page,
                format_args!(
                    "<tr class=\"{class}\"><td><a href=\"#subject-{number}\">{}</a></td><td>{}</td><td>{level}</td>\
                 <td>{passed}</td><td>{failed}</td><td>{skipped}</td></tr>\n",
                    escaped(&subject.to_string()),
                    escaped(&from(subject)),
                ),
            );
        }
        page.push_str("</tbody>\n</table>\n</section>\n");
    }

    fn broken(&self, command: &str, page: &mut String) {
        page.push_str("<section>\n<h2>Broken rules</h2>\n");
        if self.failures().next().is_none() {
            page.push_str("<p>None.</p>\n");
        }
        for (subject, outcome) in self.failures() {
            let Verdict::Failed(failures) = &outcome.verdict else { continue };
            let rule = outcome.rule;
            put(
                page,
                format_args!(
                    "<article class=\"failed\">\n<h3>{}: {} <code>{}</code></h3>\n<p>{} <small>Source: {}</small></p>\n<ul>\n",
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
            let command = command.replace("{subject}", &subject.name);
            put(page, format_args!("</ul>\n<p>Again: <code>{}</code></p>\n</article>\n", escaped(&command)));
        }
        page.push_str("</section>\n");
    }

    fn all(&self, page: &mut String) {
        page.push_str("<section>\n<h2>All rules</h2>\n<form id=\"filters\">\n");
        page.push_str("<label>Text <input type=\"search\" id=\"text\"></label>\n");
        for verdict in ["passed", "failed", "skipped"] {
            put(
                page,
                format_args!(
                    "<label><input type=\"checkbox\" name=\"verdict\" value=\"{verdict}\" checked> {verdict}</label>\n"
                ),
            );
        }
        page.push_str("<label>Level <select id=\"level\"><option value=\"\">all</option>");
        for level in Level::ALL {
            put(page, format_args!("<option>{level}</option>"));
        }
        page.push_str("</select></label>\n<output id=\"count\"></output>\n</form>\n");
        for (number, (subject, outcomes)) in self.subjects.iter().enumerate() {
            put(
                page,
                format_args!(
                    "<h3 id=\"subject-{number}\">{} <small>{}</small></h3>\n<table class=\"rules\">\n<thead><tr><th>Level</th>\
                 <th>Rule</th><th>Verdict</th><th>Cases</th></tr></thead>\n<tbody>\n",
                    escaped(&subject.to_string()),
                    escaped(&from(subject)),
                ),
            );
            for outcome in outcomes {
                row(outcome, page);
            }
            page.push_str("</tbody>\n</table>\n");
        }
        page.push_str("</section>\n");
    }
}

fn row(outcome: &Outcome, page: &mut String) {
    let rule = outcome.rule;
    let (verdict, cases, note) = match &outcome.verdict {
        Verdict::Passed { cases, skipped } => ("passed", cases.to_string(), skipped.join("; ")),
        Verdict::Failed(failures) => ("failed", failures.len().to_string(), String::new()),
        Verdict::Skipped(reason) => ("skipped", String::new(), reason.clone()),
    };
    let note =
        if note.is_empty() { note } else { format!("<br><small>Not tried: {}</small>", escaped(&note)) };
    put(
        page,
        format_args!(
            "<tr class=\"{verdict}\" data-level=\"{level}\" data-verdict=\"{verdict}\"><td>{level}</td><td><code>{}</code> \
         {}{note}</td><td>{verdict}</td><td>{cases}</td></tr>\n",
            escaped(rule.id),
            escaped(rule.sentence),
            level = rule.level,
        ),
    );
}

/// How many rules hold, are broken, and do not apply.
fn counts(outcomes: &[Outcome]) -> [usize; 3] {
    outcomes.iter().fold([0; 3], |[passed, failed, skipped], outcome| match outcome.verdict {
        Verdict::Passed { .. } => [passed + 1, failed, skipped],
        Verdict::Failed(_) => [passed, failed + 1, skipped],
        Verdict::Skipped(_) => [passed, failed, skipped + 1],
    })
}

fn from(subject: &Subject) -> String {
    format!("{} {}", subject.package, subject.version)
}

/// Writing to a `String` cannot fail.
fn put(to: &mut String, text: std::fmt::Arguments<'_>) {
    to.write_fmt(text).unwrap_or_default();
}
