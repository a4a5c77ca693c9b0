//! Parses one member of a document and discards the others.

use std::borrow::Cow;

use super::parse::{Fault, ParseOptions, Parser, ValuePath, read};
use super::{ParseError, Value};

/// A member of a document.
#[derive(Debug)]
#[non_exhaustive]
pub struct Member {
    /// `None` if the document does not have the member or is not an object.
    pub value: Option<Value>,
    /// Whether [`parse()`](super::parse()) has no remarks on the document. If it has remarks, the member in its result
    /// may differ from `value`.
    pub is_plain: bool,
}

/// Reads a document as [`parse()`](super::parse()) does, but retains only the member `name`. This takes a fraction of
/// the time.
///
/// # Errors
///
/// The error of [`parse()`](super::parse()).
pub fn parse_member(bytes: &[u8], options: &ParseOptions, name: &str) -> Result<Member, ParseError> {
    let mut value = None;
    let mut names = Names::default();
    let ((), remarks) = read(bytes, options, |parser| {
        if parser.next() != Some(b'{') {
            return skip(parser, &mut names, 0);
        }
        skip_members(parser, &mut names, 1, |parser, names, found| {
            if found != name {
                return skip(parser, names, 1);
            }
            value = Some(parser.value(ValuePath::Member(&ValuePath::Document, name), 1)?);
            Ok(())
        })
    })?;
    Ok(Member { value, is_plain: remarks.is_empty() && !names.occur_twice })
}

/// Consumes the next value, which is inside `depth` arrays and objects.
fn skip<'t>(parser: &mut Parser<'t>, names: &mut Names<'t>, depth: usize) -> Result<(), Fault> {
    match parser.next() {
        Some(b'{') => {
            skip_members(parser, names, depth + 1, |parser, names, _| skip(parser, names, depth + 1))
        }
        Some(b'[') => parser.elements(depth + 1, |parser| skip(parser, names, depth + 1)),
        Some(b'"') => parser.string().map(drop),
        Some(b'0'..=b'9') => parser.number_text().map(drop),
        _ => parser.value(ValuePath::Document, depth).map(drop),
    }
}

fn skip_members<'t>(
    parser: &mut Parser<'t>,
    names: &mut Names<'t>,
    depth: usize,
    mut member: impl FnMut(&mut Parser<'t>, &mut Names<'t>, &str) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let first = names.open.len();
    parser.members(depth, |parser, name| {
        member(parser, names, &name)?;
        parser.counted(|memory| memory.take(2 * size_of::<Cow<'_, str>>()))?;
        names.open.push(name);
        Ok(())
    })?;
    let closed = names.close(first);
    parser.counted(|memory| {
        memory.give(2 * size_of::<Cow<'_, str>>() * closed);
        Ok(())
    })
}

/// The names of the members of all open objects.
#[derive(Default)]
struct Names<'t> {
    open: Vec<Cow<'t, str>>,
    /// Whether an object had two members with the same name.
    occur_twice: bool,
}

/// Up to this number of names, comparing all pairs is faster than sorting.
const FEW: usize = 16;

impl Names<'_> {
    /// Removes the names of the innermost object, which start at `first`, and returns their number.
    fn close(&mut self, first: usize) -> usize {
        let closed = self.open.len() - first;
        let mut names = &mut self.open[first..];
        if names.len() > FEW {
            names.sort_unstable();
            self.occur_twice |= names.windows(2).any(|pair| matches!(pair, [one, other] if one == other));
        } else {
            while let [name, others @ ..] = names {
                self.occur_twice |= others.contains(name);
                names = others;
            }
        }
        self.open.truncate(first);
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, parse};
    use super::*;

    fn is_alike(text: &str) -> Option<Value> {
        let limits = Limits { bytes: 3000, depth: 4 };
        let options = ParseOptions { limits, bare_non_finite: text.contains("bare") };
        let whole = parse(text.as_bytes(), &options);
        match (parse_member(text.as_bytes(), &options, "m"), whole) {
            (Ok(member), Ok(whole)) => {
                assert_eq!(member.is_plain, whole.remarks.is_empty(), "{text}");
                if member.is_plain {
                    let members = whole.value.as_object();
                    assert_eq!(member.value.as_ref(), members.and_then(|members| members.get("m")), "{text}");
                }
                member.value
            }
            (Err(alone), Err(whole)) => {
                assert_eq!(alone, whole, "{text}");
                None
            }
            (alone, whole) => panic!("{text}: {alone:?}, but the whole document: {whole:?}"),
        }
    }

    #[test]
    fn discarded_members_cause_the_same_errors_and_remarks() {
        let many = |last: usize| {
            let names: Vec<_> = (0..=last).map(|name| format!("\"{}\": {name}", name % 300)).collect();
            format!("{{\"x\": [{{{}}}], \"m\": 7}}", names.join(", "))
        };
        assert_eq!(is_alike(&many(200)), Some(Value::from(7)));
        for text in [
            r#"{"a": {"m": 1}, "m": [1, {"b": 2}], "c": [[[]]]}"#,
            r#"{"a": 1, "m": {"m": 2, "m": 3}}"#,
            r#"{"a": {"x": [], "y": {}, "x": 1}, "m": 1}"#,
            r#"{"x": {"b": 1}, "y": {"b": 1}, "m": {"b": 1, "\u0062": 2}}"#,
            r#"{"m": 1, "a": 2, "\u006d": 3}"#,
            r#"{"bare": [-Infinity, NaN]}"#,
            r#"{"a": NaN, "m": 1}"#,
            "\u{feff}{\"m\": 1}",
            r#"{"a": [[[[1]]]], "m": 1}"#,
            r#"{"a": [[[1]]], "m": 1} x"#,
            r#"{"a": [1, 2,], "m": 1}"#,
            r#"{"a": {"b": 1,}, "m": 1}"#,
            r#"{"a": 01, "m": 1}"#,
            r#"{"a": "\ud800", "m": 1}"#,
            r#"{"a": tru, "m": 1}"#,
            r#"{"a": {"b"}, "m": 1}"#,
            r#"{"m": [1"#,
            r#"[{"m": 1}]"#,
            "7",
            "",
            "{\"a\": \"\t\"}",
            &many(320),
        ] {
            is_alike(text);
        }
    }
}
