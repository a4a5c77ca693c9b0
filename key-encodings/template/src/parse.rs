//! Templates: literal text and expressions in braces.

use zarr_spec::Invalid;

/// Maximum width to which an index is padded. The longest index has 20 digits.
const MAX_WIDTH: usize = 255;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text that every key contains.
    Literal(String),
    /// The index of a dimension, which is counted from the end if it is negative.
    Index { dimension: i64, width: usize },
    /// All other indices.
    Rest { width: usize },
}

/// Returns the parts of a template.
pub(crate) fn parts(template: &str) -> Result<Vec<Part>, Invalid> {
    let wrong = |what: &str| Invalid::new(format!("`template` is `{template}`; {what}"));
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = template;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        let is_doubled = after.starts_with(character);
        match character {
            '{' | '}' if is_doubled => {
                literal.push(character);
                rest = &after[1..];
            }
            '{' => {
                let (expression, after) =
                    after.split_once('}').ok_or_else(|| wrong("an expression does not end with `}`"))?;
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                let part = part(expression);
                let expected = "expected an index or `*`, and perhaps a width such as `:04`, in braces";
                parts.push(part.ok_or_else(|| wrong(expected))?);
                rest = after;
            }
            '}' => return Err(wrong("a `}` ends nothing; a brace itself is `}}`")),
            _ => {
                literal.push(character);
                rest = after;
            }
        }
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    let rests = parts.iter().filter(|part| matches!(part, Part::Rest { .. })).count();
    match parts.iter().any(|part| !matches!(part, Part::Literal(_))) {
        true if rests <= 1 => Ok(parts),
        true => Err(wrong("`{*}` occurs twice")),
        false => Err(wrong("it does not have an expression")),
    }
}

/// Reads the text between braces.
fn part(expression: &str) -> Option<Part> {
    let (index, width) = match expression.split_once(':') {
        Some((index, width)) => (index, width_of(width)?),
        None => (expression, 0),
    };
    if index == "*" {
        return Some(Part::Rest { width });
    }
    let digits = index.strip_prefix('-').unwrap_or(index);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let dimension = index.parse().ok().filter(|_| is_number)?;
    Some(Part::Index { dimension, width })
}

/// Reads a width after its colon: a zero and the number of digits.
fn width_of(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('0').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|&width| width <= MAX_WIDTH)
}
