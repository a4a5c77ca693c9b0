//! Single sign-on: the token of `aws sso login`, and the credentials of a role in IAM Identity Center.
//!
//! Source: "IAM Identity Center credential provider" in the reference of AWS SDKs and tools; `GetRoleCredentials` in
//! the reference of the portal.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use object_store::aws::AwsCredential;
use object_store::client::HttpRequestBody;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::Deserialize;
use zarr_json::{Value, from_value};
use zarr_spec::{BoxError, Invalid};

use super::file::{Files, Settings};
use super::issued::{Issuer, Temporary};
use super::service::{Answer, Sender, request};
use super::token::TokenFile;

/// The header that has the token.
const TOKEN: HeaderName = HeaderName::from_static("x-amz-sso_bearer_token");

/// The settings of a profile with single sign-on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SignOn {
    profile: String,
    /// The name of the section, or the URL at which the user signs on. The name of the token's file depends on it.
    session: String,
    pub(super) region: String,
    account: String,
    role: String,
}

/// Requests the credentials of a role for a user that is signed on.
#[derive(Debug)]
pub(super) struct Portal {
    pub(super) sign_on: SignOn,
    /// The folder of the tokens.
    pub(super) cache: PathBuf,
    pub(super) sender: Sender,
    pub(super) url: Url,
    /// The service that renews tokens.
    pub(super) tokens: Url,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    role_credentials: RoleCredentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleCredentials {
    access_key_id: String,
    secret_access_key: String,
    session_token: String,
    /// Milliseconds since 1970.
    expiration: u64,
}

impl SignOn {
    /// # Errors
    ///
    /// If a setting is missing, or has one value in the profile and another one in the section `sso-session`.
    pub(super) fn parse(profile: &str, settings: &Settings, files: &Files) -> Result<Self, Invalid> {
        let wrong = |reason: String| Invalid::new(format!("the profile `{profile}` {reason}"));
        let mut all = settings.clone();
        let session = settings.get("sso_session");
        if let Some(session) = session {
            let section = files.session(session);
            let section =
                section.ok_or_else(|| wrong(format!("needs the section `[sso-session {session}]`")))?;
            let differs = |name: &&String| settings.get(*name).is_some_and(|value| value != &section[*name]);
            if let Some(name) = section.keys().find(differs) {
                return Err(wrong(format!("and its `sso-session` have different values of `{name}`")));
            }
            all.extend(section.clone());
        }
        let setting = |name: &str| {
            all.get(name).cloned().ok_or_else(|| wrong(format!("uses single sign-on and needs `{name}`")))
        };
        let start = setting("sso_start_url")?;
        Ok(Self {
            profile: profile.to_owned(),
            session: session.cloned().unwrap_or(start),
            region: setting("sso_region")?,
            account: setting("sso_account_id")?,
            role: setting("sso_role_name")?,
        })
    }

    /// Returns the name of the file that has the token.
    fn file_name(&self) -> String {
        let hash = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, self.session.as_bytes());
        let mut name = String::new();
        for byte in hash.as_ref() {
            // Writing to a text cannot fail.
            let _written = write!(name, "{byte:02x}");
        }
        name + ".json"
    }

    /// Returns an error with the advice to sign on.
    fn wrong(&self, reason: &str) -> BoxError {
        let profile = &self.profile;
        format!("the profile `{profile}` uses single sign-on, but {reason}; run `aws sso login --profile {profile}`")
            .into()
    }

    fn temporary(&self, answer: &Answer) -> Result<Temporary, BoxError> {
        let Self { profile, account, role, .. } = self;
        let failed = |reason: &str| -> BoxError {
            format!(
                "no credentials of the role `{role}` in the account {account} (profile `{profile}`): {reason}"
            )
            .into()
        };
        let body = answer.json();
        if !answer.is_success() {
            let members = body.as_ref().and_then(Value::as_object);
            let message = members.and_then(|members| members.get("message").and_then(Value::as_str));
            return Err(match answer.status {
                401 => self.wrong("the service does not accept the token"),
                _ => failed(&answer.refusal(message)),
            });
        }
        let response: Option<Response> = body.and_then(|body| from_value(&body).ok());
        let Some(Response { role_credentials: found }) = response else {
            return Err(failed("the answer has no credentials"));
        };
        let expires = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(found.expiration));
        let credential = AwsCredential {
            key_id: found.access_key_id,
            secret_key: found.secret_access_key,
            token: Some(found.session_token),
        };
        Temporary::new(credential, expires).map_err(|error| failed(&error.to_string()))
    }
}

#[async_trait]
impl Issuer for Portal {
    async fn issue(&self) -> Result<Temporary, BoxError> {
        let Self { sign_on, .. } = self;
        let file = TokenFile::new(self.cache.join(sign_on.file_name()));
        let token = file.token(&self.sender, &self.tokens).await;
        let token = token.map_err(|error| sign_on.wrong(&error.to_string()))?;
        let mut token = HeaderValue::from_str(&token).map_err(|_| sign_on.wrong("its token is not valid"))?;
        token.set_sensitive(true);
        let mut url =
            Url::parse(&format!("{}/federation/credentials", self.url.as_str().trim_end_matches('/')))?;
        url.query_pairs_mut()
            .append_pair("role_name", &sign_on.role)
            .append_pair("account_id", &sign_on.account);
        let request = request(Method::GET, &url, (TOKEN, token), HttpRequestBody::empty())?;
        let answer = self.sender.send(request).await;
        sign_on.temporary(&answer.map_err(|error| format!("profile `{}`: {error}", sign_on.profile))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "
[profile new]
sso_session = company
sso_account_id = 123456789012
sso_role_name = Reader

[sso-session company]
sso_region = eu-west-1
sso_start_url = https://company.example/start

[profile old]
sso_account_id = 123456789012
sso_role_name = Reader
sso_region = eu-west-1
sso_start_url = https://company.example/start

[profile other]
sso_session = company
sso_region = us-east-1

[profile missing]
sso_session = unknown

[profile role]
sso_session = company
sso_account_id = 123456789012
";

    fn sign_on(profile: &str) -> Result<SignOn, String> {
        let files = Files::parse(CONFIG, "");
        let settings = files.profile(profile).unwrap();
        SignOn::parse(profile, &settings, &files).map_err(|error| error.to_string())
    }

    /// The names are those that botocore 1.44 computes, with its `SSOTokenLoader`.
    #[test]
    fn tokens_are_in_the_files_of_the_aws_tools() {
        assert_eq!(sign_on("new").unwrap().file_name(), "71b21161ffa1e6516bcc072aaf5ef38cbe85b511.json");
        assert_eq!(sign_on("old").unwrap().file_name(), "6de5429f0b053f08cede2b3ac6756f2de80f894e.json");
    }

    #[test]
    fn incomplete_settings_are_refused_with_their_names() {
        for (profile, expected) in [
            ("other", "and its `sso-session` have different values of `sso_region`"),
            ("missing", "needs the section `[sso-session unknown]`"),
            ("role", "uses single sign-on and needs `sso_role_name`"),
        ] {
            let error = sign_on(profile).unwrap_err();
            assert!(error.contains(&format!("the profile `{profile}` {expected}")), "{error}");
        }
    }

    #[test]
    fn refusals_advise_to_sign_on_or_name_the_role() {
        let refused = |status, body: &'static str| {
            let answer = Answer { status, body: body.into() };
            sign_on("new").unwrap().temporary(&answer).unwrap_err().to_string()
        };
        let expired = refused(401, r#"{"message": "Session token not found or invalid"}"#);
        assert!(expired.ends_with("run `aws sso login --profile new`"), "{expired}");
        let forbidden = refused(403, r#"{"message": "No access", "__type": "ForbiddenException"}"#);
        assert_eq!(
            forbidden,
            "no credentials of the role `Reader` in the account 123456789012 (profile `new`): \
             No access (status 403)"
        );
        let strange = refused(200, r#"{"roleCredentials": {"secretAccessKey": "hidden"}}"#);
        assert!(
            strange.contains("the answer has no credentials") && !strange.contains("hidden"),
            "{strange}"
        );
    }
}
