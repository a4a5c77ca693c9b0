//! `file:` URLs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use zarr_spec::Invalid;

/// Returns the path that a `file:` URL names; `None` if the text is not such a URL.
///
/// # Errors
///
/// For a host other than this machine, a relative path, a query, a fragment, or invalid escapes.
pub(crate) fn path_of(text: &str) -> Result<Option<PathBuf>, Invalid> {
    let Some(rest) = after_scheme(text) else { return Ok(None) };
    let refused = |what: &str| Invalid::new(format!("`{text}`: {what}"));
    let path = decode(rest, cfg!(windows)).map_err(refused)?;
    native(path).map(Some).map_err(refused)
}

/// Returns the URL of an absolute path.
pub(crate) fn url_of(path: &Path) -> String {
    encode(path.as_os_str().as_encoded_bytes(), cfg!(windows))
}

fn after_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    scheme.eq_ignore_ascii_case("file").then_some(rest)
}

/// Decodes the path. With `drives`, as on Windows, the `/` before `C:` is not part of it.
fn decode(rest: &str, drives: bool) -> Result<Vec<u8>, &'static str> {
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(authority) => {
            let (host, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(
                    "cannot read files of another host; the URL of a local path begins with `file:///`",
                );
            }
            path
        }
    };
    if !path.starts_with('/') {
        return Err("the path is relative; a file URL has an absolute path and begins with `file:///`");
    }
    if path.contains(['?', '#']) {
        return Err(
            "a file URL cannot have a query or a fragment; write `?` as `%3F` and `#` as `%23` in names",
        );
    }
    let mut bytes = unescape(path)?;
    let is_drive = matches!(bytes[..], [b'/', letter, b':' | b'|', ..] if letter.is_ascii_alphabetic());
    if drives && is_drive && matches!(bytes.get(3), None | Some(b'/')) {
        bytes.remove(0);
        bytes[1] = b':';
        if bytes.len() == 2 {
            bytes.push(b'/');
        }
    }
    Ok(bytes)
}

fn unescape(path: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let mut digit =
                    || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                match (digit(), digit()) {
                    (Some(high), Some(low)) => high << 4 | low,
                    _ => return Err("expected two hexadecimal digits after `%`"),
                }
            }
            byte => byte,
        };
        if byte == 0 {
            return Err("a path cannot contain `%00`");
        }
        bytes.push(byte);
    }
    Ok(bytes)
}

/// Encodes a path as a URL. With `backslashes`, as on Windows, `\` separates names.
fn encode(path: &[u8], backslashes: bool) -> String {
    let mut url = String::with_capacity(path.len() + 8);
    url.push_str("file://");
    if path.first() != Some(&b'/') && !(backslashes && path.first() == Some(&b'\\')) {
        url.push('/');
    }
    for &byte in path {
        match byte {
            b'\\' if backslashes => url.push('/'),
            _ if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) => {
                url.push(char::from(byte))
            }
            _ => write!(url, "%{byte:02X}").unwrap_or_default(),
        }
    }
    url
}

#[cfg(unix)]
fn native(path: Vec<u8>) -> Result<PathBuf, &'static str> {
    use std::os::unix::ffi::OsStringExt;
    Ok(std::ffi::OsString::from_vec(path).into())
}

#[cfg(not(unix))]
fn native(path: Vec<u8>) -> Result<PathBuf, &'static str> {
    portable(path)
}

/// Converts the path on systems where paths are Unicode.
#[cfg(any(not(unix), test))]
fn portable(path: Vec<u8>) -> Result<PathBuf, &'static str> {
    String::from_utf8(path).map(PathBuf::from).map_err(|_| "the path is not valid UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(url: &str, drives: bool) -> Result<String, &'static str> {
        let bytes = decode(after_scheme(url).unwrap(), drives)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    /// Tests V3-STORE-04.
    #[test]
    fn file_urls_are_percent_decoded_and_have_drives_on_windows() {
        for drives in [false, true] {
            assert_eq!(decoded("file:///my%20data", drives).unwrap(), "/my data");
            assert_eq!(decoded("file:/a/b", drives).unwrap(), "/a/b");
            assert_eq!(decoded("FILE://LocalHost/a%2Bb+c%c3%A9", drives).unwrap(), "/a+b+cé");
            for refused in ["file://host/a", "file:a", "file:", "file://", "file:///a?b", "file:///a#b"] {
                assert!(decoded(refused, drives).is_err(), "{refused}");
            }
            for refused in ["file:///%", "file:///%2", "file:///%zz", "file:///%+1", "file:///a%00"] {
                assert!(decoded(refused, drives).is_err(), "{refused}");
            }
        }
        assert_eq!(decoded("file:///c:/my%20data", true).unwrap(), "c:/my data");
        assert_eq!(decoded("file:///C|/x", true).unwrap(), "C:/x");
        assert_eq!(decoded("file:///c:", true).unwrap(), "c:/");
        assert_eq!(decoded("file:///c:x", true).unwrap(), "/c:x");
        assert_eq!(decoded("file:///c:/my%20data", false).unwrap(), "/c:/my data");
        assert_eq!(path_of("relative/path"), Ok(None));
        assert_eq!(path_of("/a%20b"), Ok(None));
        assert_eq!(path_of("file:///my%20data"), Ok(Some("/my data".into())));
        assert_eq!(encode(b"/my data", false), "file:///my%20data");
        assert_eq!(encode(b"c:\\my data", true), "file:///c:/my%20data");
        assert_eq!(encode(b"\\\\server\\x", true), "file:////server/x");
        assert_eq!(encode(b"/a\\b%?#\xff", false), "file:///a%5Cb%25%3F%23%FF");
    }

    #[test]
    fn paths_that_are_not_unicode_depend_on_the_system() {
        assert_eq!(portable(b"/a".to_vec()), Ok("/a".into()));
        assert!(portable(b"/\xff".to_vec()).is_err());
        assert_eq!(native(b"/\xff".to_vec()).is_ok(), cfg!(unix));
    }
}
