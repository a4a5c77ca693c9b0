//! The role of a profile: `role_arn` with `source_profile` or `credential_source`.
//!
//! Source: `AssumeRole` in the reference of the AWS Security Token Service.

use std::time::SystemTime;

use async_trait::async_trait;
use object_store::aws::{AwsAuthorizer, AwsCredential, AwsCredentialProvider};
use reqwest::Url;
use serde::Deserialize;
use zarr_spec::{BoxError, Invalid};

use super::file::Settings;
use super::issued::{Issuer, Temporary, time};
use super::service::{Answer, Sender, form};

/// The settings of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Role {
    profile: String,
    arn: String,
    session_name: Option<String>,
    external_id: Option<String>,
    duration_seconds: Option<u32>,
}

/// Requests the temporary credentials of a role.
#[derive(Debug)]
pub(super) struct AssumeRole {
    pub(super) role: Role,
    /// The credentials that may assume the role.
    pub(super) source: AwsCredentialProvider,
    pub(super) sender: Sender,
    pub(super) url: Url,
    pub(super) region: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Response {
    assume_role_result: AssumeRoleResult,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AssumeRoleResult {
    credentials: Credentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Credentials {
    access_key_id: String,
    secret_access_key: String,
    session_token: String,
    expiration: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Refusal {
    error: RefusalError,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RefusalError {
    code: String,
    message: Option<String>,
}

impl Role {
    /// # Errors
    ///
    /// If the duration is not a number.
    pub(super) fn parse(profile: &str, arn: &str, settings: &Settings) -> Result<Self, Invalid> {
        let duration = settings.get("duration_seconds").map(|text| {
            text.parse().map_err(|_| {
                let reason = format!("`{text}`, which is not a number of seconds");
                Invalid::new(format!("the profile `{profile}` has `duration_seconds` {reason}"))
            })
        });
        Ok(Self {
            profile: profile.to_owned(),
            arn: arn.to_owned(),
            session_name: settings.get("role_session_name").cloned(),
            external_id: settings.get("external_id").cloned(),
            duration_seconds: duration.transpose()?,
        })
    }

    fn wrong(&self, reason: &str) -> BoxError {
        let Self { profile, arn, .. } = self;
        format!("cannot assume the role `{arn}` of the profile `{profile}`: {reason}").into()
    }

    fn temporary(&self, answer: &Answer) -> Result<Temporary, BoxError> {
        let text = String::from_utf8_lossy(&answer.body);
        if !answer.is_success() {
            let refusal: Option<Refusal> = quick_xml::de::from_str(&text).ok();
            let message = refusal.map(|Refusal { error }| match error.message {
                Some(message) => format!("{}: {message}", error.code),
                None => error.code,
            });
            return Err(self.wrong(&answer.refusal(message.as_deref())));
        }
        // Errors of the parser could show secrets.
        let response: Result<Response, _> = quick_xml::de::from_str(&text);
        let response = response.map_err(|_| self.wrong("the answer has no credentials"))?;
        let credentials = response.assume_role_result.credentials;
        let Some(expires) = time(&credentials.expiration) else {
            return Err(self.wrong("the answer has an `Expiration` that is not a time"));
        };
        let credential = AwsCredential {
            key_id: credentials.access_key_id,
            secret_key: credentials.secret_access_key,
            token: Some(credentials.session_token.trim().to_owned()),
        };
        Temporary::new(credential, Some(expires)).map_err(|error| self.wrong(&error.to_string()))
    }
}

#[async_trait]
impl Issuer for AssumeRole {
    async fn issue(&self) -> Result<Temporary, BoxError> {
        let Self { role, source, .. } = self;
        let credential = source.get_credential().await.map_err(|error| role.wrong(&cause(&error)))?;
        let duration = role.duration_seconds.map(|seconds| seconds.to_string());
        let session_name = role.session_name.clone().unwrap_or_else(default_session_name);
        let mut parameters = vec![
            ("Action", "AssumeRole"),
            ("Version", "2011-06-15"),
            ("RoleArn", role.arn.as_str()),
            ("RoleSessionName", session_name.as_str()),
        ];
        parameters.extend(role.external_id.as_deref().map(|id| ("ExternalId", id)));
        parameters.extend(duration.as_deref().map(|seconds| ("DurationSeconds", seconds)));
        let mut request = form(&self.url, &parameters)?;
        AwsAuthorizer::new(&credential, "sts", &self.region).try_authorize(&mut request, None)?;
        let answer = self.sender.send(request).await.map_err(|error| role.wrong(&error.to_string()))?;
        role.temporary(&answer)
    }
}

/// Returns the message of an error of `object_store` without its prefix.
fn cause(error: &object_store::Error) -> String {
    match error {
        object_store::Error::Generic { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// Returns a name that logs of the role show.
fn default_session_name() -> String {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("zarr-kit-{}", time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role() -> Role {
        Role::parse("p", "arn:aws:iam::123456789012:role/reader", &Settings::new()).unwrap()
    }

    fn refused(status: u16, body: &'static str) -> String {
        role().temporary(&Answer { status, body: body.into() }).unwrap_err().to_string()
    }

    /// The document of the reference of the service, with another time.
    #[test]
    fn the_answer_of_the_reference_is_read() {
        const ANSWER: &str = r#"<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleResult>
  <SourceIdentity>Alice</SourceIdentity>
    <AssumedRoleUser>
      <Arn>arn:aws:sts::123456789012:assumed-role/demo/TestAR</Arn>
      <AssumedRoleId>ARO123EXAMPLE123:TestAR</AssumedRoleId>
    </AssumedRoleUser>
    <Credentials>
      <AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId>
      <SecretAccessKey>wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY</SecretAccessKey>
      <SessionToken>
       AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGd
      </SessionToken>
      <Expiration>2099-11-09T13:34:41Z</Expiration>
    </Credentials>
    <PackedPolicySize>6</PackedPolicySize>
  </AssumeRoleResult>
  <ResponseMetadata>
    <RequestId>c6104cbe-af31-11e0-8154-cbc7ccf896c7</RequestId>
  </ResponseMetadata>
</AssumeRoleResponse>"#;
        let issued = role().temporary(&Answer { status: 200, body: ANSWER.into() }).unwrap();
        let shown = format!("{issued:?}");
        assert!(shown.contains("ASIAIOSFODNN7EXAMPLE") && !shown.contains("wJalr"), "{shown}");
    }

    #[test]
    fn refusals_name_the_role_the_profile_and_the_reason() {
        let denied = refused(
            403,
            r#"<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
               <Code>AccessDenied</Code><Message>User: x is not authorized</Message></Error>
               <RequestId>1</RequestId></ErrorResponse>"#,
        );
        assert_eq!(
            denied,
            "cannot assume the role `arn:aws:iam::123456789012:role/reader` of the profile `p`: \
             AccessDenied: User: x is not authorized (status 403)"
        );
        assert!(refused(502, "<html>secret</html>").ends_with("status 502"));
        let other = refused(200, "<A><SecretAccessKey>secret</SecretAccessKey></A>");
        assert!(other.contains("no credentials") && !other.contains("secret"), "{other}");
    }
}
