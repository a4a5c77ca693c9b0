//! Templates of kerchunk: text with expressions in double braces, such as `{{u}}/{{'%03d' % i}}.nc`.
//!
//! kerchunk renders templates with Jinja. Only its expressions are supported: names, integers, strings,
//! `+ - * // %`, parentheses, the formats `%d`, `%i` and `%s` with a width, and calls of other templates with named
//! arguments, such as `f(c='text')`. Nothing else is executed.

use std::cell::Cell;
use std::collections::HashMap;

/// The maximum size of rendered text in bytes.
const MAX_TEXT: usize = 64 << 10;

/// The maximum nesting of parentheses and calls.
const MAX_DEPTH: usize = 16;

/// The maximum number of operands that one rendering evaluates, including the operands of called templates.
const MAX_OPERANDS: usize = 10_000;

/// The maximum width in a format, in characters.
const MAX_WIDTH: usize = 100;

/// The value of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Integer(i64),
    Text(String),
}

/// The names that a template can use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) variables: &'a HashMap<String, Value>,
    pub(crate) templates: &'a HashMap<String, String>,
}

/// Renders a template.
///
/// # Errors
///
/// A description of the first expression that cannot be evaluated.
pub(crate) fn render(template: &str, scope: Scope<'_>) -> Result<String, String> {
    render_at(template, scope, 0, &Cell::new(MAX_OPERANDS))
}

fn render_at(template: &str, scope: Scope<'_>, depth: usize, left: &Cell<usize>) -> Result<String, String> {
    if depth > MAX_DEPTH {
        return Err(format!("templates are nested more than {MAX_DEPTH} deep"));
    }
    let mut rendered = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (expression, after) = after.split_once("}}").ok_or("`}}` is missing after `{{`")?;
        rendered.push_str(before);
        let mut parser = Parser { rest: expression, scope, depth, left };
        let value =
            parser.whole().map_err(|reason| format!("expression `{}`: {reason}", expression.trim()))?;
        match value {
            Value::Integer(number) => rendered.push_str(&number.to_string()),
            Value::Text(text) => rendered.push_str(&text),
        }
        if rendered.len() > MAX_TEXT {
            return Err(format!("the rendered text is longer than {MAX_TEXT} bytes"));
        }
        rest = after;
    }
    rendered.push_str(rest);
    if template.contains("{%") {
        return Err("statements (`{% … %}`) are not supported, only expressions (`{{ … }}`)".to_owned());
    }
    Ok(rendered)
}

/// A parser that evaluates an expression while it reads the text.
struct Parser<'t> {
    rest: &'t str,
    scope: Scope<'t>,
    depth: usize,
    /// The number of operands that may still be evaluated.
    left: &'t Cell<usize>,
}

impl<'t> Parser<'t> {
    fn whole(&mut self) -> Result<Value, String> {
        let value = self.sum()?;
        match self.rest.trim_start() {
            "" => Ok(value),
            rest => Err(format!("`{rest}` is not supported")),
        }
    }

    fn sum(&mut self) -> Result<Value, String> {
        let mut value = self.product()?;
        loop {
            value = if self.takes("+") {
                match (value, self.product()?) {
                    (Value::Text(one), Value::Text(other)) => text(one + &other)?,
                    (one, other) => integer(one, other, i64::checked_add)?,
                }
            } else if self.takes("-") {
                integer(value, self.product()?, i64::checked_sub)?
            } else {
                return Ok(value);
            };
        }
    }

    fn product(&mut self) -> Result<Value, String> {
        let mut value = self.operand()?;
        loop {
            value = if self.takes("//") {
                integer(value, self.operand()?, floor_division)?
            } else if self.takes("*") {
                integer(value, self.operand()?, i64::checked_mul)?
            } else if self.takes("%") {
                match (value, self.operand()?) {
                    (Value::Text(format), value) => formatted(&format, &value)?,
                    (one, other) => integer(one, other, floor_remainder)?,
                }
            } else {
                return Ok(value);
            };
        }
    }

    fn operand(&mut self) -> Result<Value, String> {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.ok_or_else(|| format!("it has more than {MAX_OPERANDS} operands"))?);
        if self.takes("-") {
            return self.nested(Self::negated);
        }
        if self.takes("(") {
            return self.nested(Self::in_parentheses);
        }
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            Some(quote @ ('\'' | '"')) => self.quoted(quote),
            Some('0'..='9') => {
                let digits = self.word(|one| one.is_ascii_digit());
                digits.parse().map(Value::Integer).map_err(|_| format!("`{digits}` is too large"))
            }
            Some(first) if first.is_alphabetic() || first == '_' => self.named(),
            _ => Err(format!("expected a name, a number or a string, found `{}`", self.rest)),
        }
    }

    fn nested(&mut self, inside: fn(&mut Self) -> Result<Value, String>) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        let value = inside(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn negated(&mut self) -> Result<Value, String> {
        integer(Value::Integer(0), self.operand()?, i64::checked_sub)
    }

    fn in_parentheses(&mut self) -> Result<Value, String> {
        let value = self.sum()?;
        if self.takes(")") { Ok(value) } else { Err("`)` is missing".to_owned()) }
    }

    fn quoted(&mut self, quote: char) -> Result<Value, String> {
        let (inside, rest) = self.rest[1..].split_once(quote).ok_or("the end of a string is missing")?;
        if inside.contains('\\') {
            return Err("escapes in strings are not supported".to_owned());
        }
        self.rest = rest;
        text(inside.to_owned())
    }

    /// Evaluates a variable, a template, or a call of a template.
    fn named(&mut self) -> Result<Value, String> {
        let name = self.word(|one| one.is_alphanumeric() || one == '_');
        let mut variables = HashMap::new();
        if self.takes("(") {
            while !self.takes(")") {
                self.rest = self.rest.trim_start();
                let argument = self.word(|one| one.is_alphanumeric() || one == '_');
                if argument.is_empty() || !self.takes("=") {
                    return Err(format!("arguments of `{name}` need names, such as `{name}(c='text')`"));
                }
                variables.insert(argument.to_owned(), self.sum()?);
                if !self.takes(",") && !self.rest.trim_start().starts_with(')') {
                    return Err(format!("expected `,` or `)` after an argument of `{name}`"));
                }
            }
        } else if let Some(value) = self.scope.variables.get(name) {
            return Ok(value.clone());
        }
        let template = self.scope.templates.get(name).ok_or_else(|| format!("`{name}` is not defined"))?;
        let scope = Scope { variables: &variables, templates: self.scope.templates };
        render_at(template, scope, self.depth + 1, self.left).map(Value::Text)
    }

    /// Skips spaces and `token`; returns whether it is there.
    fn takes(&mut self, token: &str) -> bool {
        match self.rest.trim_start().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|one| !belongs(one)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
}

fn text(text: String) -> Result<Value, String> {
    match text.len() {
        0..=MAX_TEXT => Ok(Value::Text(text)),
        _ => Err(format!("the text is longer than {MAX_TEXT} bytes")),
    }
}

fn integer(one: Value, other: Value, operation: fn(i64, i64) -> Option<i64>) -> Result<Value, String> {
    match (one, other) {
        (Value::Integer(one), Value::Integer(other)) => {
            let result =
                operation(one, other).ok_or("the result of the operation does not exist or is too large")?;
            Ok(Value::Integer(result))
        }
        _ => Err("expected integers on both sides of the operator".to_owned()),
    }
}

/// Divides as Python does: the result is rounded down.
fn floor_division(one: i64, other: i64) -> Option<i64> {
    let quotient = one.checked_div(other)?;
    if one % other != 0 && (one < 0) != (other < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}

fn floor_remainder(one: i64, other: i64) -> Option<i64> {
    one.checked_sub(floor_division(one, other)?.checked_mul(other)?)
}

/// Formats a value as Python's `format % value` does.
fn formatted(format: &str, value: &Value) -> Result<Value, String> {
    let unsupported = || format!("the format `{format}` is not supported; expected one `%d`, `%i` or `%s`");
    let (before, after) = format.split_once('%').ok_or_else(unsupported)?;
    let end = after.find(|one: char| !one.is_ascii_digit()).ok_or_else(unsupported)?;
    let (digits, rest) = after.split_at(end);
    let width: usize = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| unsupported())? };
    if width > MAX_WIDTH || rest.contains('%') {
        return Err(unsupported());
    }
    let shown = match (rest.chars().next(), value) {
        (Some('d' | 'i'), Value::Integer(number)) if digits.starts_with('0') => format!("{number:0width$}"),
        (Some('d' | 'i' | 's'), Value::Integer(number)) => format!("{number:width$}"),
        (Some('s'), Value::Text(text)) => format!("{text:>width$}"),
        _ => return Err(unsupported()),
    };
    text(format!("{before}{shown}{}", &rest[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(template: &str) -> Result<String, String> {
        let variables = HashMap::from([
            ("i".to_owned(), Value::Integer(7)),
            ("name".to_owned(), Value::Text("t2m".to_owned())),
        ]);
        let templates = [("u", "s3://bucket/path"), ("f", "{{c}}-{{c}}"), ("loop", "{{loop()}}")];
        let templates = templates.map(|(name, template)| (name.to_owned(), template.to_owned())).into();
        render(template, Scope { variables: &variables, templates: &templates })
    }

    /// The results are those of Jinja 3.1 with these variables.
    #[test]
    fn expressions_have_the_results_of_jinja() {
        for (template, result) in [
            ("plain", "plain"),
            ("{{u}}/{{ name }}_{{i}}.nc", "s3://bucket/path/t2m_7.nc"),
            ("{{ (i + 1) * 1000 }}", "8000"),
            ("{{ -i // 2 }} {{ -i % 4 }} {{ i - 9 }}", "-4 1 -2"),
            ("{{ '%04d' % i }}|{{ \"%3i\" % i }}|{{'<%s>' % name}}", "0007|  7|<t2m>"),
            ("{{ f(c='text') }} {{f(c=i+1)}}", "text-text 8-8"),
            ("{{ name + '.nc' }}", "t2m.nc"),
        ] {
            assert_eq!(rendered(template).unwrap(), result, "{template}");
        }
    }

    #[test]
    fn other_expressions_are_refused() {
        for template in [
            "{{ i ",
            "{{ x }}",
            "{{ i / 2 }}",
            "{{ i.real }}",
            "{{ f('x') }}",
            "{{ i // 0 }}",
            "{{ loop }}",
            "{{ 99999999999999999999 }}",
            "{{ 9223372036854775807 + 1 }}",
            "{% for x in y %}",
            "{{ 'a }}",
            "{{ '%999d' % i }}",
            "{{ '%' % i }}",
            "{{ 'a' * 3 }}",
            "{{ é",
            "{{ 'é'% }}",
            "{{ }}",
            "{{ name|upper }}",
        ] {
            assert!(rendered(template).is_err(), "{template}");
        }
        assert!(rendered(&format!("{{{{ {}1 }}}}", "(".repeat(100))).unwrap_err().contains("nested"));
        assert!(rendered(&format!("{{{{ {}1 }}}}", "-".repeat(100_000))).is_err());
    }
}
