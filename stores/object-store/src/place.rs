//! Where a store is: its URL, and the prefix of its objects.

use object_store::path::Path;
use zarr_spec::{Invalid, Key, KeyError, Prefix};

/// What a store is called, and what all of its objects begin with.
#[derive(Debug)]
pub(crate) struct Place {
    /// Without a `/` at the end.
    location: String,
    prefix: Prefix,
}

impl Place {
    /// # Errors
    ///
    /// For a prefix that no key may have.
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

    /// What messages call the value of a key, or what is below a prefix.
    pub(crate) fn url_of(&self, key: &str) -> String {
        format!("{}/{key}", self.location)
    }

    /// The object that is the value of `key`.
    ///
    /// # Errors
    ///
    /// For a key that no object can have.
    pub(crate) fn of_key(&self, key: &Key) -> Result<Path, KeyError> {
        path(&format!("{}{key}", self.prefix), "key")
    }

    /// What the objects below `prefix` begin with; `None` for all there are.
    ///
    /// # Errors
    ///
    /// As [`Place::of_key`].
    pub(crate) fn of_prefix(&self, prefix: &Prefix) -> Result<Option<Path>, KeyError> {
        match format!("{}{prefix}", self.prefix).strip_suffix('/') {
            None => Ok(None),
            Some(text) => path(text, "prefix").map(Some),
        }
    }

    /// The key of an object, if it is below the prefix and its name is a key.
    pub(crate) fn key(&self, path: &Path) -> Option<Key> {
        Key::new(self.prefix.strip(path.as_ref())?).ok()
    }

    /// The prefix of what is in a folder of objects, in the same way.
    pub(crate) fn folder(&self, path: &Path) -> Option<Prefix> {
        Prefix::new(format!("{}/", self.prefix.strip(path.as_ref())?)).ok()
    }
}

/// Never encoded: what is written is what is there.
fn path(text: &str, what: &'static str) -> Result<Path, KeyError> {
    let refused = |reason: String| KeyError { text: text.to_owned(), what, reason };
    let path = Path::parse(text).map_err(|error| refused(error.to_string()))?;
    match path.as_ref() == text {
        true => Ok(path),
        false => Err(refused("an object store would change it".to_owned())),
    }
}

/// A URL of one of the services.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BucketUrl<'a> {
    /// In the case that it was written in.
    pub(crate) scheme: &'a str,
    /// The bucket; of Azure the container, with or without `@` and a host behind it.
    pub(crate) bucket: &'a str,
    /// Without `/` at either end, and just as it is written: nothing in it is an escape.
    pub(crate) prefix: &'a str,
}

/// Takes apart `SCHEME://BUCKET/PREFIX`.
///
/// # Errors
///
/// For another form, a bucket that none can be called, and a scheme that is not among `schemes`.
pub(crate) fn bucket_url<'a>(url: &'a str, schemes: &[&str]) -> Result<BucketUrl<'a>, Invalid> {
    let wrong = |reason: &str| {
        let form = schemes.first().copied().unwrap_or_default();
        Invalid::new(format!("`{url}`: {reason}; its form is `{form}://BUCKET/PREFIX`"))
    };
    let (scheme, rest) = url.split_once(':').ok_or_else(|| wrong("it is no URL"))?;
    if !schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(wrong("it is of another scheme"));
    }
    let rest = rest.strip_prefix("//").ok_or_else(|| wrong("there is no `//` behind the scheme"))?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return Err(wrong("it names no bucket"));
    }
    if let Some(other) = bucket.chars().find(|one| !one.is_ascii_alphanumeric() && !"-._@".contains(*one)) {
        return Err(wrong(&format!("no bucket has {other:?} in its name")));
    }
    Ok(BucketUrl { scheme, bucket, prefix: prefix.strip_suffix('/').unwrap_or(prefix) })
}

/// Checks a URL of a server, and leaves out what is at its end and means nothing.
///
/// # Errors
///
/// Without a host, and with what could be a secret (a user, a query) or is none of a value's address (a fragment).
pub(crate) fn http_url(url: &str) -> Result<&str, Invalid> {
    let wrong = |reason: &str| Invalid::new(format!("`{}`: {reason}", without_secrets(url)));
    let rest = url.split_once("://").map(|(_, rest)| rest);
    let rest = rest.ok_or_else(|| wrong("its form is `https://HOST/PATH`"))?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() {
        return Err(wrong("it names no host; its form is `https://HOST/PATH`"));
    }
    if host.contains('@') {
        return Err(wrong("a user or a password in a URL would be shown in every message"));
    }
    if rest.contains(['?', '#']) {
        return Err(wrong(
            "the keys of a store are put behind its URL, which has no place for a query or a fragment; in names, \
             `?` is written `%3F` and `#` is written `%23`",
        ));
    }
    Ok(url.trim_end_matches('/'))
}

/// A URL for messages: without a user and a query.
fn without_secrets(url: &str) -> String {
    let (start, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    if start.is_empty() { format!("{host}{path}") } else { format!("{start}://{host}{path}") }
}
