//! Reads comma-separated values (RFC 4180).

use std::io::{BufRead, BufReader, Read};

use crate::failure::Failure;

/// The longest record, in bytes.
const LONGEST: usize = 64 << 20;

/// Reads records of fields. Records end with a newline, quoted fields may contain newlines, and empty lines are
/// skipped.
pub(crate) struct Records<'r> {
    from: BufReader<Box<dyn Read + 'r>>,
    /// The number of lines that were read.
    line: u64,
}

/// One record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The number of its first line, from 1.
    pub(crate) line: u64,
    pub(crate) fields: Vec<String>,
}

impl<'r> Records<'r> {
    pub(crate) fn new(from: Box<dyn Read + 'r>) -> Self {
        Self { from: BufReader::with_capacity(1 << 16, from), line: 0 }
    }

    /// Returns the next record; `None` at the end.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record>, Failure> {
        loop {
            let first = self.line + 1;
            let mut text = String::new();
            // Quotes are doubled inside of quotes, so that their number is even at the end of a record.
            loop {
                let read = self.read_line(&mut text)?;
                let is_open = text.matches('"').count() % 2 == 1;
                if !is_open {
                    break;
                }
                if !read {
                    return Err(Failure::fault(format!("line {first}: a quoted field does not end")));
                }
            }
            if text.is_empty() {
                return Ok(None);
            }
            let record = text.strip_suffix('\n').unwrap_or(&text);
            let record = record.strip_suffix('\r').unwrap_or(record);
            // A byte order mark may precede the first record.
            let record = if first == 1 { record.trim_start_matches('\u{feff}') } else { record };
            if record.is_empty() {
                continue;
            }
            let fields = fields(record).map_err(|what| Failure::fault(format!("line {first}: {what}")))?;
            return Ok(Some(Record { line: first, fields }));
        }
    }

    /// Appends a line. Returns whether there was a line.
    fn read_line(&mut self, text: &mut String) -> Result<bool, Failure> {
        let left = LONGEST.saturating_sub(text.len()) as u64;
        let mut bytes = Vec::new();
        (&mut self.from).take(left).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return match left {
                0 => Err(Failure::fault(format!("line {}: a record is longer than 64 MiB", self.line))),
                _ => Ok(false),
            };
        }
        self.line += 1;
        let line = std::str::from_utf8(&bytes)
            .map_err(|error| Failure::fault(format!("line {}: {error}", self.line)))?;
        text.push_str(line);
        Ok(true)
    }
}

/// Splits a record at commas outside of quotes.
fn fields(record: &str) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        let Some(quoted) = rest.strip_prefix('"') else {
            let end = rest.find(',').unwrap_or(rest.len());
            if rest[..end].contains('"') {
                return Err(format!("`{}` has a quote inside of an unquoted field", &rest[..end]));
            }
            fields.push(rest[..end].to_owned());
            match rest[end..].strip_prefix(',') {
                Some(next) => rest = next,
                None => return Ok(fields),
            }
            continue;
        };
        let (field, after) = unquoted(quoted);
        fields.push(field);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(fields),
            None => return Err(format!("`{after}` follows a quoted field; expected a comma")),
        }
    }
}

/// Returns the text until the closing quote, and what follows.
fn unquoted(text: &str) -> (String, &str) {
    let mut field = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('"') {
        field.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                field.push('"');
                rest = after;
            }
            None => return (field, rest),
        }
    }
    // The number of quotes is even, so there is a closing quote.
    field.push_str(rest);
    (field, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Record>, String> {
        let mut records = Records::new(Box::new(text.as_bytes()));
        let mut all = Vec::new();
        loop {
            match records.next_record() {
                Ok(Some(record)) => all.push(record),
                Ok(None) => return Ok(all),
                Err(failure) => return Err(failure.message().unwrap()),
            }
        }
    }

    fn fields(text: &str) -> Vec<Vec<String>> {
        read(text).unwrap().into_iter().map(|record| record.fields).collect()
    }

    #[test]
    fn records_are_split_as_rfc_4180_defines() {
        assert_eq!(fields("a,b\r\nc,\n"), [["a", "b"], ["c", ""]]);
        assert_eq!(fields("\"a,\"\"b\"\"\",\"two\nlines\"\n"), [["a,\"b\"", "two\nlines"]]);
        assert_eq!(fields("\u{feff}1\n\n2"), [["1"], ["2"]]);
        assert_eq!(fields("\"\"\n"), [[""]]);
        assert!(fields("").is_empty());
        assert_eq!(read("\"a\nb\"\nc").unwrap()[1].line, 3);
    }

    #[test]
    fn malformed_records_are_refused_with_their_line() {
        for (text, part) in [
            ("1\na\"b\"\n", "line 2: `a\"b\"` has a quote"),
            ("\"a\"b\n", "line 1: `b` follows a quoted field"),
            ("1\n\"a\n", "line 2: a quoted field does not end"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
