//! Reports about suites, for people and as JSON for programs.

use std::fmt;
use std::time::Duration;

use zarr_spec::{Object, Value};

mod html;
mod junit;

use super::{Level, Outcome, Subject, Suite, VERSION, Verdict};

/// The version of the JSON form of a report.
const FORM: u64 = 1;

/// The results of suites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The version of the rules.
    pub version: &'static str,
    /// The highest level whose rules were checked.
    pub up_to: Level,
    /// The subjects and the outcomes of their rules.
    pub subjects: Vec<(Subject, Vec<Outcome>)>,
}

impl Report {
    /// Runs all trials up to `level`, one after the other.
    #[must_use]
    pub fn of(suites: &[Suite], level: Level) -> Self {
        let outcomes = |suite: &Suite| {
            let trials = suite.trials.iter().filter(|trial| trial.rule().level <= level);
            (suite.subject.clone(), trials.map(super::Trial::run).collect())
        };
        Self { version: VERSION, up_to: level, subjects: suites.iter().map(outcomes).collect() }
    }

    /// Returns the highest level that a subject reached. All rules of that level and of those below must hold or not
    /// apply, and at least one rule of the level must hold. `None` if there is no such level.
    ///
    /// A subject with rules of level L3 needs bytes written by other programs to reach L3 and L4: round trips do not
    /// show that other programs can read its output.
    #[must_use]
    pub fn level(outcomes: &[Outcome]) -> Option<Level> {
        let mut reached = None;
        for level in Level::ALL {
            let mut own = outcomes.iter().filter(|outcome| outcome.rule.level == level).peekable();
            if own.peek().is_none() {
                continue;
            }
            let mut holds = false;
            for outcome in own {
                match outcome.verdict {
                    Verdict::Passed { .. } => holds = true,
                    Verdict::Skipped(_) => {}
                    Verdict::Failed(_) => return reached,
                }
            }
            if !holds && level == Level::L3 {
                return reached;
            }
            if holds {
                reached = Some(level);
            }
        }
        reached
    }

    /// Returns the reason for which a subject without broken rules does not reach L3, if it lacks bytes written by
    /// other programs.
    fn lacks_foreign_bytes(outcomes: &[Outcome]) -> Option<&str> {
        let is_broken = |outcome: &Outcome| matches!(outcome.verdict, Verdict::Failed(_));
        let mut own = outcomes.iter().filter(|outcome| outcome.rule.level == Level::L3);
        let first = own.next()?;
        match &first.verdict {
            Verdict::Skipped(reason) if !outcomes.iter().any(is_broken) => {
                own.all(|outcome| matches!(outcome.verdict, Verdict::Skipped(_))).then_some(reason)
            }
            _ => None,
        }
    }

    /// Returns every broken rule.
    pub fn failures(&self) -> impl Iterator<Item = (&Subject, &Outcome)> {
        let all =
            self.subjects.iter().flat_map(|(subject, outcomes)| outcomes.iter().map(move |it| (subject, it)));
        all.filter(|(_, outcome)| matches!(outcome.verdict, Verdict::Failed(_)))
    }

    /// Returns the deviations from `expected`: rules that are unexpectedly broken, and rules that unexpectedly hold.
    #[must_use]
    pub fn surprises(&self, expected: &Expectations) -> Vec<String> {
        let mut surprises = Vec::new();
        for (subject, outcomes) in &self.subjects {
            for outcome in outcomes {
                let is_expected = expected.has(subject, outcome);
                match (&outcome.verdict, is_expected) {
                    (Verdict::Failed(_), false) => {
                        surprises.push(format!("{subject}: {} is broken", outcome.rule.id));
                    }
                    (Verdict::Passed { .. }, true) => {
                        surprises.push(format!(
                            "{subject}: {} holds, but was expected to be broken",
                            outcome.rule.id
                        ));
                    }
                    _ => {}
                }
            }
        }
        surprises
    }

    /// Returns a badge with the level that a subject reached, as JSON for shields.io.
    #[must_use]
    pub fn badge(outcomes: &[Outcome]) -> Value {
        let broken = outcomes.iter().any(|outcome| matches!(outcome.verdict, Verdict::Failed(_)));
        let (message, color) = match (Self::level(outcomes), broken) {
            (Some(level), false) => (level.to_string(), "brightgreen"),
            (Some(level), true) => (level.to_string(), "orange"),
            (None, _) => ("none".to_owned(), "red"),
        };
        object([
            ("schemaVersion", 1.into()),
            ("label", "zarr conformance".into()),
            ("message", message.into()),
            ("color", color.into()),
        ])
    }

    /// Returns the report as JSON. The member `report` is the version of the form: new members may be added, but
    /// existing ones do not change their meaning within a version.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let subjects = self.subjects.iter().map(|(subject, outcomes)| {
            object([
                ("extension_point", subject.point.to_string().into()),
                ("name", subject.name.as_str().into()),
                ("package", subject.package.as_str().into()),
                ("version", subject.version.as_str().into()),
                ("level", Self::level(outcomes).map_or(Value::Null, |level| level.to_string().into())),
                ("rules", outcomes.iter().map(rule_json).collect()),
            ])
        });
        object([
            ("report", FORM.into()),
            ("suite_version", self.version.into()),
            ("up_to", self.up_to.to_string().into()),
            ("subjects", subjects.collect()),
        ])
    }
}

/// Escapes text for XML and HTML, including attributes. Replaces control characters, which neither can contain.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' => safe.push(character),
            character if character.is_control() => safe.push('\u{fffd}'),
            character => safe.push(character),
        }
    }
    safe
}

fn rule_json(outcome: &Outcome) -> Value {
    let Outcome { rule, verdict, time } = outcome;
    let (name, cases, failures, skipped) = match verdict {
        Verdict::Passed { cases, skipped } => ("passed", *cases, Vec::new(), skipped.clone()),
        Verdict::Failed(failures) => ("failed", failures.len() as u64, failures.clone(), Vec::new()),
        Verdict::Skipped(reason) => ("skipped", 0, Vec::new(), vec![reason.clone()]),
    };
    let failures = failures.into_iter().map(|failure| {
        object([("case", failure.case.as_str().into()), ("what", failure.what.as_str().into())])
    });
    object([
        ("id", rule.id.into()),
        ("level", rule.level.to_string().into()),
        ("sentence", rule.sentence.into()),
        ("source", rule.source.into()),
        ("since", rule.since.into()),
        ("verdict", name.into()),
        ("cases", cases.into()),
        ("failures", failures.collect()),
        ("skipped", skipped.iter().map(String::as_str).collect()),
        ("milliseconds", milliseconds(*time).into()),
    ])
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Object>())
}

/// Prints the subjects with their levels, then the broken rules with their failures.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (subject, outcomes) in &self.subjects {
            let count =
                |is: fn(&Verdict) -> bool| outcomes.iter().filter(|outcome| is(&outcome.verdict)).count();
            let passed = count(|verdict| matches!(verdict, Verdict::Passed { .. }));
            let failed = count(|verdict| matches!(verdict, Verdict::Failed(_)));
            let skipped = count(|verdict| matches!(verdict, Verdict::Skipped(_)));
            let level =
                Self::level(outcomes).map_or_else(|| "no level".to_owned(), |level| level.to_string());
            writeln!(f, "{subject}: {level} ({passed} passed, {failed} failed, {skipped} skipped)")?;
            if let Some(reason) = Self::lacks_foreign_bytes(outcomes) {
                writeln!(f, "  not L3: {reason}")?;
            }
        }
        for (subject, outcome) in self.failures() {
            let Outcome { rule, verdict, .. } = outcome;
            writeln!(f, "\n{subject}: {} {}\n  {} [{}]", rule.level, rule.id, rule.sentence, rule.source)?;
            if let Verdict::Failed(failures) = verdict {
                for failure in failures {
                    writeln!(f, "  - {}: {}", failure.case, failure.what)?;
                }
            }
        }
        Ok(())
    }
}

/// The rules that are expected to be broken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations(Vec<(String, String)>);

/// An error from parsing a list of expectations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ReportError {
    /// The number of the line, starting at 1.
    pub line: usize,
    /// The problem.
    pub what: String,
}

impl Expectations {
    /// Parses a list. Each line has the name of a subject and the id of a rule; `#` starts a comment.
    ///
    /// # Errors
    ///
    /// [`ReportError`] for a malformed line.
    pub fn parse(text: &str) -> Result<Self, ReportError> {
        let mut expected = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            match words[..] {
                [] => {}
                [subject, rule] => expected.push((subject.to_owned(), rule.to_owned())),
                _ => {
                    let what = "expected the name of a subject and the id of a rule".to_owned();
                    return Err(ReportError { line: number + 1, what });
                }
            }
        }
        Ok(Self(expected))
    }

    fn has(&self, subject: &Subject, outcome: &Outcome) -> bool {
        self.0.iter().any(|(name, rule)| *name == subject.name && rule == outcome.rule.id)
    }
}

#[cfg(test)]
mod tests {
    use zarr_spec::host::registry::ExtensionPoint;

    use super::*;
    use crate::suite::{Rule, Trial};

    const fn rule(id: &'static str, level: Level) -> Rule {
        Rule { id, level, sentence: "It holds.", source: "somewhere", since: "0.1" }
    }

    static LOW: Rule = rule("low", Level::L0);
    static MIDDLE: Rule = rule("middle", Level::L1);
    static ELSEWHERE: Rule = rule("elsewhere", Level::L3);
    static HIGH: Rule = rule("high", Level::L4);

    /// Returns the report on a suite with these results: `Ok` for a rule that holds, `Err` with a message for a
    /// broken rule, and `Err("")` for a rule that does not apply.
    fn report(rules: &[(&'static Rule, Result<(), &'static str>)], level: Level) -> Report {
        let subject = Subject {
            point: ExtensionPoint::Codec,
            name: "subject".to_owned(),
            package: "package".to_owned(),
            version: "1.0.0".to_owned(),
        };
        let trials = rules.iter().map(|&(rule, result)| {
            Trial::new(rule, move |cases| match result {
                Err("") => cases.skip("nothing to try"),
                result => cases.check("case", result.map_err(str::to_owned)),
            })
        });
        Report::of(&[Suite { subject, trials: trials.collect() }], level)
    }

    fn reached(rules: &[(&'static Rule, Result<(), &'static str>)]) -> Option<Level> {
        Report::level(&report(rules, Level::L4).subjects[0].1)
    }

    #[test]
    fn a_level_needs_no_broken_rule_below_it_and_a_rule_that_holds() {
        assert_eq!(reached(&[]), None);
        assert_eq!(reached(&[(&LOW, Ok(()))]), Some(Level::L0));
        assert_eq!(reached(&[(&LOW, Ok(())), (&HIGH, Ok(()))]), Some(Level::L4));
        assert_eq!(reached(&[(&LOW, Ok(())), (&MIDDLE, Err("")), (&HIGH, Ok(()))]), Some(Level::L4));
        assert_eq!(reached(&[(&LOW, Ok(())), (&MIDDLE, Err("no")), (&HIGH, Ok(()))]), Some(Level::L0));
        assert_eq!(reached(&[(&LOW, Err("no")), (&HIGH, Ok(()))]), None);
        assert_eq!(reached(&[(&LOW, Ok(())), (&HIGH, Err(""))]), Some(Level::L0));
    }

    #[test]
    fn level_four_needs_bytes_of_other_programs() {
        assert_eq!(reached(&[(&LOW, Ok(())), (&ELSEWHERE, Ok(())), (&HIGH, Ok(()))]), Some(Level::L4));
        let without = [(&LOW, Ok(())), (&MIDDLE, Ok(())), (&ELSEWHERE, Err("")), (&HIGH, Ok(()))];
        assert_eq!(reached(&without), Some(Level::L1));
        let text = report(&without, Level::L4).to_string();
        assert_eq!(text, "codec `subject`: L1 (3 passed, 0 failed, 1 skipped)\n  not L3: nothing to try\n");
    }

    #[test]
    fn rules_above_the_requested_level_are_not_checked() {
        let report = report(&[(&LOW, Ok(())), (&HIGH, Err("no"))], Level::L1);
        assert_eq!(report.subjects[0].1.len(), 1);
        assert_eq!(report.failures().count(), 0);
    }

    #[test]
    fn unexpected_failures_and_unexpected_passes_are_surprises() {
        let report = report(&[(&LOW, Ok(())), (&MIDDLE, Err("no")), (&HIGH, Err(""))], Level::L4);
        let surprises = |text| report.surprises(&Expectations::parse(text).unwrap());
        assert_eq!(surprises(""), ["codec `subject`: middle is broken"]);
        assert_eq!(surprises("subject middle # known\n\n# all"), Vec::<String>::new());
        assert_eq!(
            surprises("subject low\nother middle"),
            [
                "codec `subject`: low holds, but was expected to be broken",
                "codec `subject`: middle is broken"
            ]
        );
        let error = Expectations::parse("subject middle\nsubject").unwrap_err();
        assert_eq!(error.to_string(), "line 2: expected the name of a subject and the id of a rule");
    }

    #[test]
    fn a_report_has_a_text_form_and_a_json_form() {
        let report = report(&[(&LOW, Ok(())), (&MIDDLE, Err("it does not")), (&HIGH, Err(""))], Level::L4);
        assert_eq!(
            report.to_string(),
            "codec `subject`: L0 (1 passed, 1 failed, 1 skipped)\n\n\
             codec `subject`: L1 middle\n  It holds. [somewhere]\n  - case: it does not\n"
        );
        let json = report.to_json();
        let subject = &json.as_object().unwrap().get("subjects").unwrap().as_array().unwrap()[0];
        let member = |name| subject.as_object().unwrap().get(name).unwrap();
        assert_eq!(member("level").as_str(), Some("L0"));
        let verdicts: Vec<_> = member("rules").as_array().unwrap().iter().collect();
        let verdict = |number: usize| verdicts[number].as_object().unwrap().get("verdict").unwrap().as_str();
        assert_eq!([verdict(0), verdict(1), verdict(2)], [Some("passed"), Some("failed"), Some("skipped")]);
    }

    #[test]
    fn foreign_text_is_escaped_in_pages() {
        let report = report(&[(&LOW, Err("<script>\"&\u{1}"))], Level::L4);
        for page in [report.to_html("a < b", "run {subject}"), report.to_junit()] {
            assert!(page.contains("&lt;script&gt;&quot;&amp;\u{fffd}"), "{page}");
            assert!(!page.contains("<script>\""), "{page}");
        }
        assert!(
            report.to_html("a < b", "run {subject}").contains("<code class=\"again\">run subject</code>")
        );
    }

    #[test]
    fn a_badge_shows_the_level_and_whether_a_rule_is_broken() {
        let badge = |rules: &[_]| Report::badge(&report(rules, Level::L4).subjects[0].1).to_string();
        assert!(
            badge(&[(&LOW, Ok(())), (&HIGH, Ok(()))]).contains(r#""message":"L4","color":"brightgreen""#)
        );
        assert!(badge(&[(&LOW, Ok(())), (&HIGH, Err("no"))]).contains(r#""message":"L0","color":"orange""#));
        assert!(badge(&[(&LOW, Err("no"))]).contains(r#""message":"none","color":"red""#));
    }

    #[test]
    fn a_panic_is_a_failure_with_its_message() {
        let outcome = Trial::new(&LOW, |_| panic!("too {}", "bad")).run();
        let Verdict::Failed(failures) = outcome.verdict else { panic!("{outcome:?}") };
        assert_eq!(failures[0].what, "a panic: too bad");
    }
}
