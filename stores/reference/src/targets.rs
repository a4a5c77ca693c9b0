//! The files that references point to, and the locations where they may be.

use std::sync::Arc;

use zarr_spec::Key;
use zarr_spec::store::Store;

/// The stores whose files references may point to.
#[derive(Debug)]
pub(crate) struct Allowed(Vec<Root>);

/// The number of the store that relative targets are in.
const BASE: usize = 0;

#[derive(Debug)]
struct Root {
    /// The normalized URL of the store, with a `/` at its end.
    url: String,
    store: Arc<dyn Store>,
}

/// A file in an allowed store.
#[derive(Debug)]
pub(crate) struct Target {
    /// The number of the store.
    pub(crate) root: usize,
    pub(crate) key: Key,
}

impl Target {
    pub(crate) fn store<'a>(&self, allowed: &'a Allowed) -> &'a dyn Store {
        allowed.store(self.root)
    }
}

impl Allowed {
    /// Allows targets in `base`, which contains all relative targets, and in `others`.
    pub(crate) fn new(base: Arc<dyn Store>, others: Vec<Arc<dyn Store>>) -> Self {
        let root = |store: Arc<dyn Store>| Root { url: normalized_folder(&store.location()), store };
        Self([base].into_iter().chain(others).map(root).collect())
    }

    /// Returns a store by its number, which is `Target::root`.
    pub(crate) fn store(&self, root: usize) -> &dyn Store {
        &*self.0[root].store
    }

    /// Returns the store that relative targets are in.
    #[cfg(feature = "parquet")]
    pub(crate) fn base(&self) -> &dyn Store {
        self.store(BASE)
    }

    pub(crate) fn stores(&self) -> impl Iterator<Item = &Arc<dyn Store>> {
        self.0.iter().map(|root| &root.store)
    }

    /// Returns the file that a reference names: a path relative to the folder of the reference file, an absolute path,
    /// or a URL.
    ///
    /// # Errors
    ///
    /// The reason why the target is not allowed.
    pub(crate) fn find(&self, target: &str) -> Result<Target, String> {
        let Some(url) = normalized(target) else {
            let path = target.strip_prefix("./").unwrap_or(target);
            let key = Key::new(path).map_err(|error| format!("its target: {error}"))?;
            return Ok(Target { root: BASE, key });
        };
        let roots = self.0.iter().enumerate().filter(|(_, root)| url.starts_with(&root.url));
        let Some((number, root)) = roots.max_by_key(|(_, root)| root.url.len()) else {
            let allowed: Vec<_> = self.0.iter().map(|root| format!("`{}`", root.url)).collect();
            return Err(format!(
                "its target `{target}` is not below {}; to allow it, open the references with `|reference:?target=URL`, \
                 or add a store to `targets` of the description",
                allowed.join(" or ")
            ));
        };
        let key =
            Key::new(&url[root.url.len()..]).map_err(|error| format!("its target `{target}`: {error}"))?;
        Ok(Target { root: number, key })
    }
}

/// Returns the URL of an absolute target with a canonical scheme, without percent escapes where URLs have them; `None`
/// for a relative path.
fn normalized(target: &str) -> Option<String> {
    if target.starts_with('/') {
        return Some(format!("file://{target}"));
    }
    let (scheme, rest) = target.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    Some(match scheme.as_str() {
        "file" | "local" => format!("file://{}", unescaped(rest)),
        "http" | "https" => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            format!("{scheme}://{}{}", host.to_ascii_lowercase(), unescaped(path))
        }
        "s3a" => format!("s3://{rest}"),
        "gcs" => format!("gs://{rest}"),
        "azure" | "abfs" | "abfss" => format!("az://{rest}"),
        scheme => format!("{scheme}://{rest}"),
    })
}

fn normalized_folder(location: &str) -> String {
    let url = normalized(location).unwrap_or_else(|| location.to_owned());
    format!("{}/", url.trim_end_matches('/'))
}

/// Removes percent escapes. Text with an invalid escape is unchanged: kerchunk writes file names without escapes.
fn unescaped(text: &str) -> String {
    let decoded = || {
        let mut parts = text.split('%');
        let mut bytes = parts.next()?.as_bytes().to_vec();
        for part in parts {
            let (digits, rest) = part.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            bytes.extend_from_slice(rest.as_bytes());
        }
        String::from_utf8(bytes).ok()
    };
    decoded().unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use zarr_conformance::stores::MinimalStore;
    use zarr_spec::store::Capabilities;

    use super::*;

    /// A store with another location.
    #[derive(Debug)]
    struct At(&'static str, MinimalStore);

    zarr_spec::delegate_store! {
        impl Store for At {
            forward(self.1): capabilities, read_hints, read, cache, write, remove, list;

            fn location(&self) -> String {
                self.0.to_owned()
            }
        }
    }

    fn found(target: &str) -> Result<(String, String), String> {
        let at = |url| Arc::new(At(url, MinimalStore::new(Capabilities::ALL))) as Arc<dyn Store>;
        let others = vec![at("s3://bucket/data"), at("https://Host"), at("s3://bucket/data/deep")];
        let allowed = Allowed::new(at("file:///d%C3%A9/f"), others);
        allowed.find(target).map(|target| (target.store(&allowed).location(), target.key.to_string()))
    }

    #[test]
    fn targets_are_found_in_the_deepest_allowed_store() {
        for (target, store, key) in [
            ("a/b.nc", "file:///d%C3%A9/f", "a/b.nc"),
            ("./a%20b.nc", "file:///d%C3%A9/f", "a%20b.nc"),
            ("/dé/f/a%20b.nc", "file:///d%C3%A9/f", "a%20b.nc"),
            ("file:///dé/f/a b.nc", "file:///d%C3%A9/f", "a b.nc"),
            ("file:///d%C3%A9/f/a%20b.nc", "file:///d%C3%A9/f", "a b.nc"),
            ("s3a://bucket/data/x", "s3://bucket/data", "x"),
            ("s3://bucket/data/deep/x", "s3://bucket/data/deep", "x"),
            ("HTTPS://host/a%20b", "https://Host", "a b"),
        ] {
            assert_eq!(found(target).unwrap(), (store.to_owned(), key.to_owned()), "{target}");
        }
    }

    #[test]
    fn targets_outside_of_the_allowed_stores_are_refused() {
        for target in [
            "../a",
            "a/../../b",
            "/etc/passwd",
            "file:///dé/fx/a",
            "file:///dé/f/../a",
            "file:///dé/f/%2e%2e/a",
            "file:///dé/f/..%2fa",
            "s3://bucket/datax",
            "s3://other/a",
            "gs://bucket/data/x",
            "https://host.evil/a",
            "http://host/a",
            "https://host/a/%2E%2e/../b",
            "https://user@host/a",
            "file://host/dé/f/a",
            "",
            ".",
            "/",
            "s3://bucket/data/",
            "memory://a",
        ] {
            assert!(found(target).is_err(), "{target}: {:?}", found(target));
        }
    }
}
