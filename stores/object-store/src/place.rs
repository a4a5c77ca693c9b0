//! The URL of a store and the prefix of its objects.

use object_store::path::Path;
use zarr_spec::{Invalid, Key, KeyError, Prefix};

/// The location of a store, and the prefix of all of its objects.
#[derive(Debug)]
pub(crate) struct StoreLocation {
    /// The URL without a trailing `/`.
    location: String,
    prefix: Prefix,
}

impl StoreLocation {
    /// Creates a place from a URL for messages and the prefix of the objects.
    ///
    /// # Errors
    ///
    /// If `prefix` is not a valid prefix of keys.
    pub(crate) fn new(location: String, prefix: &str) -> Result<Self, KeyError> {
        let prefix = match prefix.trim_end_matches('/') {
            "" => Prefix::root(),
            prefix => Prefix::new(format!("{prefix}/"))?,
        };
        Ok(Self { location: location.trim_end_matches('/').to_owned(), prefix })
    }

    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    /// Returns the URL of a key or a prefix, for messages.
    pub(crate) fn url_of(&self, key: &str) -> String {
        format!("{}/{key}", self.location)
    }

    /// Returns the path of the object that holds the value of `key`.
    ///
    /// # Errors
    ///
    /// If `key` is not a valid name of an object.
    pub(crate) fn of_key(&self, key: &Key) -> Result<Path, KeyError> {
        path(&format!("{}{key}", self.prefix), "key")
    }

    /// Returns the common path of the objects below `prefix`; `None` for all objects.
    ///
    /// # Errors
    ///
    /// Those of [`StoreLocation::of_key`].
    pub(crate) fn of_prefix(&self, prefix: &Prefix) -> Result<Option<Path>, KeyError> {
        match format!("{}{prefix}", self.prefix).strip_suffix('/') {
            None => Ok(None),
            Some(text) => path(text, "prefix").map(Some),
        }
    }

    /// Returns the key of an object; `None` if it is outside of the prefix or its name is not a key.
    pub(crate) fn key(&self, path: &Path) -> Option<Key> {
        Key::new(self.prefix.strip(path.as_ref())?).ok()
    }

    /// Returns the prefix of a folder of objects, like [`StoreLocation::key`].
    pub(crate) fn folder(&self, path: &Path) -> Option<Prefix> {
        Prefix::new(format!("{}/", self.prefix.strip(path.as_ref())?)).ok()
    }
}

/// Creates a path without encoding: the name of the object is exactly `text`.
fn path(text: &str, what: &'static str) -> Result<Path, KeyError> {
    let refused = |reason: String| KeyError::new(text, what, reason);
    let path = Path::parse(text).map_err(|error| refused(error.to_string()))?;
    match path.as_ref() == text {
        true => Ok(path),
        false => Err(refused("it is not a valid name of an object".to_owned())),
    }
}

/// The parts of a URL of a cloud service.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BucketUrl<'a> {
    /// The scheme, in its original case.
    pub(crate) scheme: &'a str,
    /// The bucket; for Azure the container, with `@` and a host if the URL has them.
    pub(crate) bucket: &'a str,
    /// The prefix without `/` at either end. It is not unescaped.
    pub(crate) prefix: &'a str,
}

/// Parses `SCHEME://BUCKET/PREFIX`.
///
/// # Errors
///
/// If the URL has another form, the name of the bucket is invalid, or the scheme is not one of `schemes`.
pub(crate) fn bucket_url<'a>(url: &'a str, schemes: &[&str]) -> Result<BucketUrl<'a>, Invalid> {
    let wrong = |reason: &str| {
        let form = schemes.first().copied().unwrap_or_default();
        Invalid::new(format!("`{url}`: {reason}; expected `{form}://BUCKET/PREFIX`"))
    };
    let (scheme, rest) = url.split_once(':').ok_or_else(|| wrong("it is not a URL"))?;
    if !schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(wrong("it has another scheme"));
    }
    let rest = rest.strip_prefix("//").ok_or_else(|| wrong("`//` is missing after the scheme"))?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return Err(wrong("the bucket is missing"));
    }
    if let Some(other) = bucket.chars().find(|one| !one.is_ascii_alphanumeric() && !"-._@".contains(*one)) {
        return Err(wrong(&format!("the name of a bucket cannot contain {other:?}")));
    }
    Ok(BucketUrl { scheme, bucket, prefix: prefix.strip_suffix('/').unwrap_or(prefix) })
}

/// Checks the URL of an HTTP server and removes trailing slashes.
///
/// # Errors
///
/// If the host is missing, or if the URL has a user, a query or a fragment: the first two may be secrets.
pub(crate) fn http_url(url: &str) -> Result<&str, Invalid> {
    let wrong = |reason: &str| Invalid::new(format!("`{}`: {reason}", without_secrets(url)));
    let rest = url.split_once("://").map(|(_, rest)| rest);
    let rest = rest.ok_or_else(|| wrong("expected `https://HOST/PATH`"))?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() {
        return Err(wrong("the host is missing; expected `https://HOST/PATH`"));
    }
    if host.contains('@') {
        return Err(wrong("the URL contains a user or a password, which every message would show"));
    }
    if rest.contains(['?', '#']) {
        return Err(wrong(
            "the URL has a query or a fragment, but keys are appended to it; in names, write \
             `?` as `%3F` and `#` as `%23`",
        ));
    }
    Ok(url.trim_end_matches('/'))
}

/// Returns a URL for messages, without user and query.
fn without_secrets(url: &str) -> String {
    let (start, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    if start.is_empty() { format!("{host}{path}") } else { format!("{start}://{host}{path}") }
}
