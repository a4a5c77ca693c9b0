//! Redirects: the policy for following them, and the headers that another host receives.

use object_store::client::{HttpRequest, HttpResponse};
use reqwest::header::{
    ACCEPT, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, LOCATION, RANGE,
};
use reqwest::{Method, Url};
use serde::Deserialize;

/// The maximum number of redirects that one request follows.
pub(crate) const MAX_REDIRECTS: usize = 5;

/// The only headers that another host receives: they select bytes, and none of them can hold credentials.
const WITHOUT_SECRETS: [HeaderName; 6] =
    [ACCEPT, RANGE, IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE];

/// The redirects that a store follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Redirects {
    /// A redirect is an error.
    None,
    /// Only redirects to the same host and port.
    SameHost,
    /// Redirects to any host. Other hosts do not receive credentials.
    #[default]
    Any,
}

/// Returns the target of a redirect. Only read requests are redirected: others carry data and credentials.
pub(crate) fn target<'a>(request: &HttpRequest, answer: &'a HttpResponse) -> Option<&'a str> {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let redirects = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = answer.headers().get(LOCATION).filter(|_| reads && redirects);
    location.and_then(|location| location.to_str().ok())
}

/// Makes the request that follows a redirect from `request` to `location`.
///
/// # Errors
///
/// If `redirects` does not allow it, if it would leave HTTPS, or if `location` is not an HTTP URL. The
/// message contains only hosts, since the rest of a URL may contain credentials.
pub(crate) fn follow(
    request: &HttpRequest,
    location: &str,
    redirects: Redirects,
) -> Result<HttpRequest, String> {
    let from = Url::parse(&request.uri().to_string()).map_err(|error| error.to_string())?;
    let to =
        from.join(location).map_err(|error| format!("the server redirects to an invalid URL: {error}"))?;
    let is_same_host = from.host() == to.host() && from.port_or_known_default() == to.port_or_known_default();
    let refused = |reason: &str| Err(format!("the server redirects to `{}`, {reason}", origin(&to)));
    match (from.scheme(), to.scheme()) {
        ("https", "http") => {
            return refused("which is not encrypted; redirects from https to http are refused");
        }
        (_, "http" | "https") => {}
        _ => return refused("which is not an HTTP URL"),
    }
    if !to.username().is_empty() || to.password().is_some() {
        return refused("with a user name or password in the URL, which is refused");
    }
    match redirects {
        Redirects::None => return refused("and the store option `redirects` is `none`"),
        Redirects::SameHost if !is_same_host => {
            return refused("which is another host, and the store option `redirects` is `same-host`");
        }
        _ => {}
    }
    let mut next = request.clone();
    if !is_same_host {
        let headers = std::mem::take(next.headers_mut()).into_iter();
        let kept = headers.filter_map(|(name, value)| Some((name?, value)));
        next.headers_mut().extend(kept.filter(|(name, _)| WITHOUT_SECRETS.contains(name)));
    }
    *next.uri_mut() =
        String::from(to).parse().map_err(|_| "the server redirects to an invalid URL".to_owned())?;
    Ok(next)
}

/// Returns the part of a URL that messages may show.
fn origin(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(
        || format!("{}://{host}", url.scheme()),
        |port| format!("{}://{host}:{port}", url.scheme()),
    )
}

#[cfg(test)]
mod tests {
    use object_store::client::HttpRequestBody;

    use super::*;

    fn request(url: &str) -> HttpRequest {
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = url.parse().unwrap();
        for (name, value) in [
            ("authorization", "secret"),
            ("x-amz-security-token", "secret"),
            ("cookie", "secret"),
            ("range", "bytes=0-9"),
        ] {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        request
    }

    fn names(request: &HttpRequest) -> Vec<&str> {
        request.headers().keys().map(HeaderName::as_str).collect()
    }

    #[test]
    fn another_host_does_not_receive_credentials() {
        let from = request("https://a.example/x/y?sig=secret");
        for location in ["https://b.example/z", "//b.example/z", "https://a.example:444/z"] {
            let next = follow(&from, location, Redirects::Any).unwrap();
            assert_eq!(names(&next), ["range"], "{location}");
            assert!(!next.uri().to_string().contains("secret"), "{location}");
        }
    }

    #[test]
    fn the_same_host_receives_the_same_headers() {
        let from = request("https://a.example/x/y");
        for redirects in [Redirects::Any, Redirects::SameHost] {
            let next = follow(&from, "../z?q#fragment", redirects).unwrap();
            assert_eq!(next.uri(), "https://a.example/z?q");
            assert_eq!(next.headers(), from.headers());
        }
    }

    #[test]
    fn redirects_that_are_not_allowed_name_the_host_and_the_reason() {
        for (from, location, redirects, reason) in [
            (
                "https://a.example/x",
                "http://a.example/x",
                Redirects::Any,
                "redirects from https to http are refused",
            ),
            (
                "https://a.example/x",
                "http://169.254.169.254/latest",
                Redirects::Any,
                "`http://169.254.169.254`",
            ),
            ("https://a.example/x", "/y", Redirects::None, "`redirects` is `none`"),
            (
                "https://a.example/x",
                "https://b.example/y?secret",
                Redirects::SameHost,
                "`https://b.example`, which is another host",
            ),
            (
                "http://a.example/x",
                "http://a.example:8080/y",
                Redirects::SameHost,
                "`http://a.example:8080`, which is another host",
            ),
            ("https://a.example/x", "https://u:secret@b.example/", Redirects::Any, "user name or password"),
            ("https://a.example/x", "file:///etc/passwd", Redirects::Any, "not an HTTP URL"),
            ("https://a.example/x", "https://[", Redirects::Any, "invalid URL"),
        ] {
            let error = follow(&request(from), location, redirects).unwrap_err();
            assert!(error.contains(reason) && !error.contains("secret"), "{location}: {error}");
        }
    }

    #[test]
    fn plain_http_may_become_https() {
        let next = follow(&request("http://a.example/x"), "https://a.example/x", Redirects::Any).unwrap();
        assert_eq!(next.uri(), "https://a.example/x");
        assert_eq!(names(&next), ["range"]);
    }
}
