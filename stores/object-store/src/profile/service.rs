//! Requests to the services that issue credentials.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use object_store::client::{HttpClient, HttpErrorKind, HttpRequest, HttpRequestBody};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use tokio::time::sleep;
use zarr_json::{ParseOptions, Value, parse, printable};
use zarr_spec::{BoxError, Invalid};

use super::file::Settings;
use crate::body::document;
use crate::client::is_repeated;
use crate::conditions::pause;
use crate::failure::whole_text;

/// The maximum number of characters to show of the message of a service.
const MAX_SHOWN: usize = 300;

/// A service that issues credentials or tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Service {
    /// The Security Token Service.
    Sts,
    /// The portal of IAM Identity Center.
    Sso,
    /// The service that renews tokens of IAM Identity Center.
    SsoOidc,
}

impl Service {
    const ALL: [Self; 3] = [Self::Sts, Self::Sso, Self::SsoOidc];

    /// Returns the name in variables and in sections `services`.
    fn name(self) -> &'static str {
        match self {
            Self::Sts => "sts",
            Self::Sso => "sso",
            Self::SsoOidc => "sso_oidc",
        }
    }

    fn host(self) -> &'static str {
        match self {
            Self::Sts => "sts",
            Self::Sso => "portal.sso",
            Self::SsoOidc => "oidc",
        }
    }
}

/// The endpoints that replace those of AWS.
#[derive(Debug, Clone, Default)]
pub(super) struct Endpoints(BTreeMap<Service, String>);

impl Endpoints {
    /// Reads the endpoints from the environment, then from the settings of a profile.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>, settings: &Settings) -> Self {
        let of_service = |service: &Service| {
            let name = service.name();
            let found = [
                variable(&format!("AWS_ENDPOINT_URL_{}", name.to_uppercase())),
                variable("AWS_ENDPOINT_URL"),
                settings.get(&format!("{name}.endpoint_url")).cloned(),
                settings.get("endpoint_url").cloned(),
            ];
            Some((*service, found.into_iter().flatten().find(|url| !url.is_empty())?))
        };
        Self(Service::ALL.iter().filter_map(of_service).collect())
    }

    /// Returns the URL of a service in a region.
    ///
    /// # Errors
    ///
    /// If the endpoint or the region is not valid in a URL.
    pub(super) fn url(&self, service: Service, region: &str) -> Result<Url, Invalid> {
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let default = || format!("https://{}.{region}.{suffix}", service.host());
        let text = self.0.get(&service).cloned().unwrap_or_else(default);
        let wrong =
            |reason: &str| Invalid::new(format!("the endpoint `{text}` of {}: {reason}", service.name()));
        let url = Url::parse(&text).map_err(|error| wrong(&error.to_string()))?;
        match url.scheme() {
            "https" | "http" => Ok(url),
            _ => Err(wrong("expected a URL that begins with `https://` or `http://`")),
        }
    }
}

/// Sends requests to services.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    pub(super) client: HttpClient,
    /// The time during which failed requests are repeated.
    pub(super) window: Duration,
}

/// The answer of a service.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Bytes,
}

impl Sender {
    /// Sends a request until there is an answer other than that of a busy server.
    pub(super) async fn send(&self, request: HttpRequest) -> Result<Answer, BoxError> {
        let begun = Instant::now();
        let mut attempts = 0;
        loop {
            let is_last = begun.elapsed() >= self.window;
            match self.client.execute(request.clone()).await {
                Ok(answer) if is_last || !is_repeated(answer.status().as_u16()) => {
                    let status = answer.status().as_u16();
                    let body = document(answer.into_body()).await;
                    let body = body.map_err(|error| format!("{}: {error}", host(&request)))?;
                    return Ok(Answer { status, body });
                }
                Err(error) if is_last || matches!(error.kind(), HttpErrorKind::Unknown) => {
                    return Err(format!("{}: {}", host(&request), whole_text(&error)).into());
                }
                _ => {}
            }
            attempts += 1;
            sleep(pause(attempts)).await;
        }
    }
}

fn host(request: &HttpRequest) -> &str {
    request.uri().authority().map_or("", |authority| authority.as_str())
}

impl Answer {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the object in the body. The message of an error contains nothing of it.
    pub(super) fn json(&self) -> Option<Value> {
        parse(&self.body, &ParseOptions::default()).ok().map(|parsed| parsed.value)
    }

    /// Returns the message of a service that refused a request: the elements or members that have it, and the status.
    pub(super) fn refusal(&self, message: Option<&str>) -> String {
        let message = message.unwrap_or_default();
        let end = message.char_indices().nth(MAX_SHOWN).map_or(message.len(), |(index, _)| index);
        let message = message.get(..end).unwrap_or_default();
        match message.is_empty() {
            true => format!("status {}", self.status),
            false => format!("{} (status {})", printable(message), self.status),
        }
    }
}

/// Creates a request.
///
/// # Errors
///
/// If the URL is not valid in a request.
pub(super) fn request(
    method: Method,
    url: &Url,
    header: (HeaderName, HeaderValue),
    body: HttpRequestBody,
) -> Result<HttpRequest, BoxError> {
    let mut request = HttpRequest::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = url.as_str().parse()?;
    request.headers_mut().insert(header.0, header.1);
    Ok(request)
}

/// Creates a request with the parameters of a form.
///
/// # Errors
///
/// Those of [`request`].
pub(super) fn form(url: &Url, parameters: &[(&str, &str)]) -> Result<HttpRequest, BoxError> {
    let mut encoded = url.clone();
    encoded.set_query(None);
    encoded.query_pairs_mut().extend_pairs(parameters);
    let body = encoded.query().unwrap_or_default().to_owned();
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded; charset=utf-8");
    request(Method::POST, url, (CONTENT_TYPE, kind), body.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(variables: &[(&str, &str)], settings: &[(&str, &str)], service: Service, region: &str) -> String {
        let variable = |asked: &str| {
            variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
        };
        let settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let found = Endpoints::read(variable, &settings).url(service, region);
        found.map_or_else(|error| error.to_string(), String::from)
    }

    /// The order is that of the AWS tools: the variable of the service, the variable of all services, then the profile.
    #[test]
    fn endpoints_come_from_the_environment_then_from_the_profile() {
        let all = [("AWS_ENDPOINT_URL_STS", "https://a"), ("AWS_ENDPOINT_URL", "https://b")];
        let settings = [("sts.endpoint_url", "https://c"), ("endpoint_url", "https://d")];
        assert_eq!(url(&all, &settings, Service::Sts, "eu-west-1"), "https://a/");
        assert_eq!(url(&all, &settings, Service::Sso, "eu-west-1"), "https://b/");
        assert_eq!(url(&[], &settings, Service::Sts, "eu-west-1"), "https://c/");
        assert_eq!(url(&[], &settings, Service::SsoOidc, "eu-west-1"), "https://d/");
        let oidc = [("AWS_ENDPOINT_URL_SSO_OIDC", "http://127.0.0.1:9")];
        assert_eq!(url(&oidc, &[], Service::SsoOidc, "eu-west-1"), "http://127.0.0.1:9/");
    }

    #[test]
    fn the_default_endpoint_is_that_of_the_region() {
        assert_eq!(url(&[], &[], Service::Sts, "eu-west-1"), "https://sts.eu-west-1.amazonaws.com/");
        assert_eq!(url(&[], &[], Service::Sso, "us-east-2"), "https://portal.sso.us-east-2.amazonaws.com/");
        assert_eq!(
            url(&[], &[], Service::SsoOidc, "cn-north-1"),
            "https://oidc.cn-north-1.amazonaws.com.cn/"
        );
        let wrong = url(&[("AWS_ENDPOINT_URL_STS", "ftp://a")], &[], Service::Sts, "eu-west-1");
        assert!(wrong.contains("`ftp://a` of sts: expected a URL"), "{wrong}");
        assert!(url(&[], &[], Service::Sts, "not a region").contains("of sts"));
    }
}
