//! Python literals, as in headers of npy files.

use zarr_kit::spec::Value;

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Literal {
    Text(String),
    Number(u64),
    Bool(bool),
    None,
    /// Tuples and lists.
    Sequence(Vec<Literal>),
    Dictionary(Vec<(Literal, Literal)>),
}

impl Literal {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { rest: text };
        let literal = parser.literal(0)?;
        parser.skip();
        if parser.rest.is_empty() { Ok(literal) } else { Err(parser.unexpected()) }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        let Self::Dictionary(members) = self else { return None };
        members.iter().find_map(|(key, value)| matches!(key, Self::Text(key) if key == name).then_some(value))
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl Parser<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn unexpected(&self) -> String {
        match self.rest.chars().next() {
            Some(character) => format!("unexpected {character:?} in the header"),
            None => "the header is incomplete".to_owned(),
        }
    }

    fn literal(&mut self, depth: usize) -> Result<Literal, String> {
        if depth > MAX_DEPTH {
            return Err("the header is nested too deeply".to_owned());
        }
        self.skip();
        for (word, literal) in
            [("True", Literal::Bool(true)), ("False", Literal::Bool(false)), ("None", Literal::None)]
        {
            if self.take(word) {
                return Ok(literal);
            }
        }
        if self.take("(") {
            return self.tuple(depth);
        }
        if self.take("[") {
            return Ok(Literal::Sequence(self.sequence("]", depth)?.0));
        }
        if self.take("{") {
            return self.dictionary(depth);
        }
        let is_text = self.rest.trim_start_matches(['u', 'b']).starts_with(['\'', '"']);
        if is_text { self.text().map(Literal::Text) } else { self.number() }
    }

    /// Parses a tuple. A literal in parentheses without a comma is that literal.
    fn tuple(&mut self, depth: usize) -> Result<Literal, String> {
        let (mut entries, comma) = self.sequence(")", depth)?;
        match entries.pop() {
            Some(only) if entries.is_empty() && !comma => Ok(only),
            last => {
                entries.extend(last);
                Ok(Literal::Sequence(entries))
            }
        }
    }

    /// Parses entries up to `end`. Also returns whether a comma follows the last entry.
    fn sequence(&mut self, end: &str, depth: usize) -> Result<(Vec<Literal>, bool), String> {
        let mut entries = Vec::new();
        let mut comma = true;
        while !self.take(end) {
            if !comma {
                return Err(self.unexpected());
            }
            entries.push(self.literal(depth + 1)?);
            comma = self.take(",");
        }
        Ok((entries, comma))
    }

    fn dictionary(&mut self, depth: usize) -> Result<Literal, String> {
        let mut members = Vec::new();
        let mut comma = true;
        while !self.take("}") {
            if !comma {
                return Err(self.unexpected());
            }
            let name = self.literal(depth + 1)?;
            if !self.take(":") {
                return Err(self.unexpected());
            }
            members.push((name, self.literal(depth + 1)?));
            comma = self.take(",");
        }
        Ok(Literal::Dictionary(members))
    }

    /// Parses a number. Python 2 wrote long integers as `3L`.
    fn number(&mut self) -> Result<Literal, String> {
        let end = self.rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let number = digits.parse().map_err(|_| self.unexpected())?;
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        Ok(Literal::Number(number))
    }

    fn text(&mut self) -> Result<String, String> {
        let mut characters = self.rest.trim_start_matches(['u', 'b']).chars();
        let quote = characters.next();
        let mut text = String::new();
        loop {
            match characters.next() {
                None => return Err("a string in the header is not terminated".to_owned()),
                character if character == quote => break,
                Some('\\') => text.push(escaped(&mut characters)?),
                Some(character) => text.push(character),
            }
        }
        self.rest = characters.as_str();
        Ok(text)
    }
}

fn escaped(characters: &mut std::str::Chars<'_>) -> Result<char, String> {
    let digits = match characters.next() {
        Some('n') => return Ok('\n'),
        Some('r') => return Ok('\r'),
        Some('t') => return Ok('\t'),
        Some(same @ ('\\' | '\'' | '"')) => return Ok(same),
        Some('x') => 2,
        Some('u') => 4,
        Some('U') => 8,
        other => return Err(format!("unknown escape {other:?} in the header")),
    };
    let code: String = characters.take(digits).collect();
    let code = u32::from_str_radix(&code, 16).ok().filter(|_| code.len() == digits);
    code.and_then(char::from_u32).ok_or_else(|| "an escape in the header is not a character".to_owned())
}

/// Converts a `descr` to a v2 `dtype`.
pub(crate) fn dtype(descr: &Literal) -> Result<Value, String> {
    match descr {
        Literal::Text(typestring) => Ok(Value::from(typestring.as_str())),
        Literal::Sequence(fields) => fields.iter().map(field).collect(),
        _ => Err("`descr` is neither a string nor a list of fields".to_owned()),
    }
}

/// Converts a field: a name, or a title and a name; a type; and an optional shape.
fn field(field: &Literal) -> Result<Value, String> {
    let wrong = || "a field in `descr` is not a name, a type and an optional shape".to_owned();
    let Literal::Sequence(entries) = field else { return Err(wrong()) };
    let (name, of, shape) = match entries.as_slice() {
        [name, of] => (name, of, None),
        [name, of, shape] => (name, of, Some(shape)),
        _ => return Err(wrong()),
    };
    let name = match name {
        Literal::Text(name) => name,
        Literal::Sequence(title_and_name) => match title_and_name.as_slice() {
            [_, Literal::Text(name)] => name,
            _ => return Err(wrong()),
        },
        _ => return Err(wrong()),
    };
    let mut entries = vec![Value::from(name.as_str()), dtype(of)?];
    if let Some(shape) = shape {
        entries.push(Value::Array(lengths(shape).ok_or_else(wrong)?.into_iter().map(Value::from).collect()));
    }
    Ok(Value::Array(entries))
}

/// Converts a shape. A single number is one dimension.
pub(crate) fn lengths(shape: &Literal) -> Option<Vec<u64>> {
    match shape {
        Literal::Number(length) => Some(vec![*length]),
        Literal::Sequence(lengths) => lengths
            .iter()
            .map(|length| if let Literal::Number(length) = length { Some(*length) } else { None })
            .collect(),
        _ => None,
    }
}

/// Converts a v2 `dtype` to a `descr`.
pub(crate) fn descr(dtype: &Value) -> String {
    match dtype {
        Value::Array(fields) => {
            let fields: Vec<_> = fields.iter().map(descr_of_field).collect();
            format!("[{}]", fields.join(", "))
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn descr_of_field(field: &Value) -> String {
    let entries = field.as_array().unwrap_or_default();
    let entries = entries.iter().enumerate().map(|(place, entry)| match (place, entry.as_array()) {
        (2, Some(lengths)) => tuple(lengths.iter().map(ToString::to_string)),
        _ => descr(entry),
    });
    tuple(entries)
}

/// Formats a tuple. A comma follows a single entry.
pub(crate) fn tuple(entries: impl Iterator<Item = String>) -> String {
    let entries: Vec<_> = entries.collect();
    let comma = if entries.len() == 1 { "," } else { "" };
    format!("({}{comma})", entries.join(", "))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for character in text.chars() {
        match character {
            '\'' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => quoted.push_str(&format!("\\U{:08x}", u32::from(control))),
            character => quoted.push(character),
        }
    }
    quoted + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_that_numpy_writes_are_read() {
        let header =
            Literal::parse("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }      \n").unwrap();
        assert_eq!(header.member("descr"), Some(&Literal::Text("<f8".to_owned())));
        assert_eq!(header.member("fortran_order"), Some(&Literal::Bool(false)));
        assert_eq!(lengths(header.member("shape").unwrap()), Some(vec![3]));
        let shape = |text: &str| lengths(&Literal::parse(text).unwrap());
        assert_eq!(shape("()"), Some(vec![]));
        assert_eq!(shape("(3L, 4L)"), Some(vec![3, 4]));
    }

    #[test]
    fn structures_become_lists_of_fields_and_back() {
        for text in [
            "[('a', '<i4'), ('b', '|S3', (2, 3))]",
            "[('x', [('y', '<f4'), ('', '|V4')]), ('z', '|u1', (5,))]",
            "[('it\\'s', '<M8[ns]')]",
        ] {
            let dtype = dtype(&Literal::parse(text).unwrap()).unwrap();
            assert_eq!(descr(&dtype), text);
        }
        let titled = dtype(&Literal::parse("[(('title', 'a'), '<i4')]").unwrap()).unwrap();
        assert_eq!(titled.to_string(), r#"[["a","<i4"]]"#);
        let unicode = dtype(&Literal::parse(r"[('\xe9\u00e9', '<i4')]").unwrap()).unwrap();
        assert_eq!(unicode.to_string(), r#"[["éé","<i4"]]"#);
    }

    #[test]
    fn invalid_literals_are_refused() {
        for wrong in
            ["", "{", "{'a'}", "{'a': 1 'b': 2}", "(1 2)", "'a", "__import__('os')", "-1", "[1,,2]", "{} x"]
        {
            assert!(Literal::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Literal::parse(&"(".repeat(100_000)).is_err());
        assert!(dtype(&Literal::parse("[('a',)]").unwrap()).is_err());
        assert!(dtype(&Literal::Number(3)).is_err());
    }
}
