//! The report as JUnit XML, which most build servers can read.

use std::fmt::Write as _;

use super::{Report, escaped};
use crate::suite::Verdict;

impl Report {
    /// Returns the report as JUnit XML, with a suite for each subject and a case for each rule.
    #[must_use]
    pub fn to_junit(&self) -> String {
        let mut xml = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"zarr-conformance\">\n",
        );
        for (subject, outcomes) in &self.subjects {
            let count =
                |is: fn(&Verdict) -> bool| outcomes.iter().filter(|outcome| is(&outcome.verdict)).count();
            let name = escaped(&subject.to_string());
            put(
                &mut xml,
                format_args!(
                    "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
                    outcomes.len(),
                    count(|verdict| matches!(verdict, Verdict::Failed(_))),
                    count(|verdict| matches!(verdict, Verdict::Skipped(_))),
                ),
            );
            for outcome in outcomes {
                let rule = outcome.rule;
                put(
                    &mut xml,
                    format_args!(
                        "    <testcase classname=\"{name}\" name=\"{} {}\" time=\"{:.3}\"",
                        rule.level,
                        escaped(rule.id),
                        outcome.time.as_secs_f64()
                    ),
                );
                match &outcome.verdict {
                    Verdict::Passed { .. } => xml.push_str("/>\n"),
                    Verdict::Skipped(reason) => put(
                        &mut xml,
                        format_args!(
                            ">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                            escaped(reason)
                        ),
                    ),
                    Verdict::Failed(failures) => {
                        put(
                            &mut xml,
                            format_args!(">\n      <failure message=\"{}\">", escaped(rule.sentence)),
                        );
                        for failure in failures {
                            put(
                                &mut xml,
                                format_args!("{}: {}\n", escaped(&failure.case), escaped(&failure.what)),
                            );
                        }
                        xml.push_str("</failure>\n    </testcase>\n");
                    }
                }
            }
            xml.push_str("  </testsuite>\n");
        }
        xml.push_str("</testsuites>\n");
        xml
    }
}

/// Appends text to a `String`, which cannot fail.
fn put(to: &mut String, text: std::fmt::Arguments<'_>) {
    to.write_fmt(text).unwrap_or_default();
}
