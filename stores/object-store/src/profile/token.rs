//! The tokens of `aws sso login`, and their renewal.
//!
//! A token lasts an hour. The tools of AWS renew it with the refresh token in its file, until the sign-on ends, and
//! write the new one to the file. So does this module.
//!
//! Source: "SSO token provider" in the reference of AWS SDKs and tools; `CreateToken` in the reference of the service.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Url};
use serde::Deserialize;
use zarr_json::{ParseOptions, Value, from_value, json, parse, to_vec};
use zarr_spec::BoxError;

use super::issued::time;
use super::service::{Answer, Sender, request};

/// A token is renewed this time before it expires, as botocore does.
const EARLY: Duration = Duration::from_secs(15 * 60);

/// A file with a token.
#[derive(Debug)]
pub(super) struct TokenFile {
    path: PathBuf,
}

/// The contents of a file, of which this program uses these members.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Token {
    access_token: String,
    expires_at: String,
    refresh_token: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
    registration_expires_at: Option<String>,
}

/// The answer to a renewal.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Renewed {
    access_token: String,
    /// Seconds.
    expires_in: u32,
    refresh_token: Option<String>,
}

impl TokenFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the token. Renews it shortly before it expires, if the file allows it.
    ///
    /// # Errors
    ///
    /// If there is no valid token. Messages contain nothing of the file.
    pub(super) async fn token(&self, sender: &Sender, service: &Url) -> Result<String, BoxError> {
        let mut document = self.document()?;
        let token: Token =
            from_value(&document).map_err(|_| format!("`{}` is not a token", self.path.display()))?;
        let now = SystemTime::now();
        let Some(expires) = time(&token.expires_at) else {
            return Err(format!("`{}` has no time `expiresAt`", self.path.display()).into());
        };
        if expires > now + EARLY {
            return Ok(token.access_token);
        }
        if let Some(renewed) = token.renew(sender, service).await {
            renewed.change(&mut document, now);
            // Without the permission to write, the next program renews the token, too.
            let _written = to_vec(&document).map_err(io::Error::other).and_then(|text| self.write(&text));
            return Ok(renewed.access_token);
        }
        match expires > now {
            true => Ok(token.access_token),
            false => Err(format!("the sign-on expired at {}", token.expires_at).into()),
        }
    }

    fn document(&self) -> Result<Value, BoxError> {
        let place = self.path.display();
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err("there is no token of a sign-on".into());
            }
            Err(error) => return Err(format!("`{place}`: {error}").into()),
        };
        let parsed = parse(&text, &ParseOptions::default()).map_err(|_| format!("`{place}` is not JSON"))?;
        Ok(parsed.value)
    }

    /// Replaces the file. Only its owner may read it.
    fn write(&self, text: &[u8]) -> io::Result<()> {
        let temporary = self.path.with_extension(format!("{}.tmp", process::id()));
        let written = private(&temporary).and_then(|mut file| file.write_all(text));
        let replaced = written.and_then(|()| fs::rename(&temporary, &self.path));
        if replaced.is_err() {
            // The error of the write matters more.
            let _removed = fs::remove_file(&temporary);
        }
        replaced
    }
}

fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl Token {
    /// Returns a new token; `None` if the file does not allow it or the service refuses it.
    async fn renew(&self, sender: &Sender, service: &Url) -> Option<Renewed> {
        let is_registered = time(self.registration_expires_at.as_deref()?)? > SystemTime::now();
        let id = self.client_id.as_deref()?;
        let secret = self.client_secret.as_deref()?;
        let token = self.refresh_token.as_deref().filter(|_| is_registered)?;
        let body = json!({
            "clientId": id, "clientSecret": secret, "refreshToken": token, "grantType": "refresh_token"
        });
        let url = Url::parse(&format!("{}/token", service.as_str().trim_end_matches('/'))).ok()?;
        let kind = HeaderValue::from_static("application/json");
        let request = request(Method::POST, &url, (CONTENT_TYPE, kind), body.to_string().into()).ok()?;
        let answer = sender.send(request).await.ok().filter(Answer::is_success)?;
        from_value(&answer.json()?).ok()
    }
}

impl Renewed {
    fn change(&self, document: &mut Value, now: SystemTime) {
        let Some(members) = document.as_object_mut() else { return };
        let expires = DateTime::<Utc>::from(now + Duration::from_secs(self.expires_in.into()));
        members.insert("accessToken", self.access_token.as_str());
        members.insert("expiresAt", expires.to_rfc3339_opts(SecondsFormat::Secs, true));
        match &self.refresh_token {
            Some(token) => members.insert("refreshToken", token.as_str()),
            None => members.remove("refreshToken"),
        };
    }
}
