//! The source of the credentials of a profile. Nothing is requested here.

use object_store::aws::AwsCredential;
use zarr_spec::Invalid;

use super::file::{Files, Settings};
use super::process::Process;
use super::role::Role;
use super::sign_on::SignOn;

/// The maximum number of roles that are assumed one after another.
const MAX_ROLES: usize = 16;

/// Where credentials come from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Keys in the files.
    Keys(AwsCredential),
    WebIdentity(WebIdentity),
    /// Keys in the environment.
    Environment,
    /// The role of the machine.
    Instance,
    /// The role of the container.
    Container,
    Process(Process),
    SignOn(SignOn),
    /// A role, and the credentials that may assume it.
    Role(Role, Box<Source>),
}

/// The role of a web identity.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WebIdentity {
    pub(super) profile: String,
    pub(super) token_file: String,
    pub(super) role_arn: Option<String>,
    pub(super) session_name: Option<String>,
}

impl Source {
    /// Returns the source of a profile, in the order of the AWS tools: a role, a web identity, single sign-on, keys,
    /// and a program. `None` if the profile has none of them.
    ///
    /// # Errors
    ///
    /// If the settings are incomplete, contradict each other, or are not supported.
    pub(super) fn of(profile: &str, files: &Files) -> Result<Option<Self>, Invalid> {
        Chain { files, profiles: vec![profile.to_owned()] }.source(profile)
    }
}

/// The profiles from the first one to the one whose source is determined.
struct Chain<'f> {
    files: &'f Files,
    profiles: Vec<String>,
}

impl Chain<'_> {
    fn source(&mut self, profile: &str) -> Result<Option<Source>, Invalid> {
        let settings = self.files.profile(profile).unwrap_or_default();
        match settings.get("role_arn") {
            Some(arn) if !settings.contains_key("web_identity_token_file") => {
                let source = self.source_of_role(profile, &settings)?;
                Ok(Some(Source::Role(Role::parse(profile, arn, &settings)?, Box::new(source))))
            }
            _ => without_role(profile, &settings, self.files),
        }
    }

    fn source_of_role(&mut self, profile: &str, settings: &Settings) -> Result<Source, Invalid> {
        let wrong = |reason: String| Invalid::new(format!("the profile `{profile}` {reason}"));
        if let Some(serial) = settings.get("mfa_serial") {
            return Err(unsupported(profile, &format!("`mfa_serial` ({serial})")));
        }
        match (settings.get("source_profile"), settings.get("credential_source").map(String::as_str)) {
            (Some(source), None) => self.source_profile(profile, source),
            (None, Some("Environment")) => Ok(Source::Environment),
            (None, Some("Ec2InstanceMetadata")) => Ok(Source::Instance),
            (None, Some("EcsContainer")) => Ok(Source::Container),
            (None, Some(other)) => Err(wrong(format!(
                "has the unknown `credential_source` `{other}` (expected Environment, Ec2InstanceMetadata or \
                 EcsContainer)"
            ))),
            (Some(_), Some(_)) => {
                Err(wrong("has both `source_profile` and `credential_source`; remove one of them".to_owned()))
            }
            (None, None) => Err(wrong(
                "has `role_arn`, and needs `source_profile`, `credential_source` or `web_identity_token_file`"
                    .to_owned(),
            )),
        }
    }

    fn source_profile(&mut self, profile: &str, source: &str) -> Result<Source, Invalid> {
        let wrong = |reason: &str| {
            Invalid::new(format!("the profile `{profile}` has the `source_profile` `{source}`, {reason}"))
        };
        let Some(settings) = self.files.profile(source) else {
            return Err(wrong("which does not exist"));
        };
        // A profile with keys ends the chain, even if it also has a role. It may name itself.
        let found = if settings.contains_key("aws_access_key_id") {
            without_role(source, &settings, self.files)?
        } else if self.profiles.iter().any(|visited| visited == source) {
            return Err(wrong("so that the profiles need each other; one of them needs credentials"));
        } else if self.profiles.len() >= MAX_ROLES {
            return Err(wrong(&format!("but a chain has at most {MAX_ROLES} profiles")));
        } else {
            self.profiles.push(source.to_owned());
            self.source(source)?
        };
        found.ok_or_else(|| wrong("which has no credentials"))
    }
}

/// Returns the source of a profile, apart from roles.
fn without_role(profile: &str, settings: &Settings, files: &Files) -> Result<Option<Source>, Invalid> {
    let has = |name| settings.contains_key(name);
    let setting = |name: &str| settings.get(name).cloned();
    let sign_on = || SignOn::parse(profile, settings, files).map(|found| Some(Source::SignOn(found)));
    if let Some(token_file) = setting("web_identity_token_file") {
        let role_arn = setting("role_arn");
        let session_name = setting("role_session_name");
        let profile = profile.to_owned();
        return Ok(Some(Source::WebIdentity(WebIdentity { profile, token_file, role_arn, session_name })));
    }
    if has("sso_account_id") || has("sso_role_name") {
        return sign_on();
    }
    if let Some(key_id) = setting("aws_access_key_id") {
        let Some(secret_key) = setting("aws_secret_access_key") else {
            let reason = "has `aws_access_key_id`, and needs `aws_secret_access_key`";
            return Err(Invalid::new(format!("the profile `{profile}` {reason}")));
        };
        return Ok(Some(Source::Keys(AwsCredential {
            key_id,
            secret_key,
            token: setting("aws_session_token"),
        })));
    }
    if has("login_session") {
        return Err(unsupported(profile, "`login_session`"));
    }
    if let Some(command) = settings.get("credential_process") {
        return Process::parse(profile, command).map(|process| Some(Source::Process(process)));
    }
    if has("sso_session") || has("sso_start_url") { sign_on() } else { Ok(None) }
}

fn unsupported(profile: &str, setting: &str) -> Invalid {
    Invalid::new(format!(
        "the profile `{profile}` has {setting}, which this store cannot use; run `aws configure \
         export-credentials --profile {profile} --format env` and set the variables that it prints"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "
[profile keys]
aws_access_key_id = AKID
aws_secret_access_key = secret
[profile reader]
role_arn = arn:aws:iam::1:role/reader
source_profile = writer
external_id = 42
duration_seconds = 900
[profile writer]
role_arn = arn:aws:iam::1:role/writer
source_profile = keys
[profile self]
role_arn = arn:aws:iam::1:role/self
source_profile = self
aws_access_key_id = AKID
aws_secret_access_key = secret
[profile one]
role_arn = arn:aws:iam::1:role/one
source_profile = two
[profile two]
role_arn = arn:aws:iam::1:role/two
source_profile = one
[profile alone]
role_arn = arn:aws:iam::1:role/alone
source_profile = alone
[profile environment]
role_arn = arn:aws:iam::1:role/r
credential_source = Environment
[profile container]
role_arn = arn:aws:iam::1:role/r
credential_source = EcsContainer
[profile machine]
role_arn = arn:aws:iam::1:role/r
credential_source = Ec2InstanceMetadata
[profile unknown]
role_arn = arn:aws:iam::1:role/r
credential_source = Elsewhere
[profile both]
role_arn = arn:aws:iam::1:role/r
credential_source = Environment
source_profile = keys
[profile neither]
role_arn = arn:aws:iam::1:role/r
[profile absent]
role_arn = arn:aws:iam::1:role/r
source_profile = nothing
[profile empty]
role_arn = arn:aws:iam::1:role/r
source_profile = region
[profile region]
region = eu-west-1
[profile code]
role_arn = arn:aws:iam::1:role/r
source_profile = keys
mfa_serial = arn:aws:iam::1:mfa/me
[profile long]
role_arn = arn:aws:iam::1:role/r
source_profile = keys
duration_seconds = an hour
[profile login]
login_session = arn:aws:iam::1:user/me
[profile half]
aws_access_key_id = AKID
[profile program]
credential_process = keys --print
[profile web]
role_arn = arn:aws:iam::1:role/r
web_identity_token_file = /run/token
source_profile = keys
[profile session]
sso_session = company
";

    fn source(profile: &str) -> Result<Option<Source>, String> {
        Source::of(profile, &Files::parse(CONFIG, "")).map_err(|error| error.to_string())
    }

    fn keys() -> Source {
        let key_id = "AKID".to_owned();
        Source::Keys(AwsCredential { key_id, secret_key: "secret".to_owned(), token: None })
    }

    /// Returns the credentials that assume the first role of a chain.
    fn innermost(profile: &str) -> Source {
        let mut found = source(profile).unwrap().unwrap();
        while let Source::Role(_, inner) = found {
            found = *inner;
        }
        found
    }

    #[test]
    fn a_chain_of_roles_ends_with_keys() {
        assert_eq!(innermost("reader"), keys());
        assert_eq!(innermost("self"), keys());
    }

    #[test]
    fn a_role_is_assumed_with_the_credentials_of_a_machine() {
        assert_eq!(innermost("environment"), Source::Environment);
        assert_eq!(innermost("container"), Source::Container);
        assert_eq!(innermost("machine"), Source::Instance);
    }

    #[test]
    fn programs_and_web_identities_are_sources() {
        assert!(matches!(source("program"), Ok(Some(Source::Process(_)))));
        assert!(matches!(source("web"), Ok(Some(Source::WebIdentity(_)))));
        assert_eq!(source("region"), Ok(None));
    }

    #[test]
    fn a_profile_that_cannot_be_used_is_an_error_with_its_reason() {
        for (profile, expected) in [
            ("one", "the profile `two` has the `source_profile` `one`, so that the profiles need each other"),
            ("alone", "has the `source_profile` `alone`, so that"),
            ("unknown", "has the unknown `credential_source` `Elsewhere`"),
            ("both", "has both `source_profile` and `credential_source`"),
            ("neither", "needs `source_profile`, `credential_source` or `web_identity_token_file`"),
            ("absent", "has the `source_profile` `nothing`, which does not exist"),
            ("empty", "has the `source_profile` `region`, which has no credentials"),
            (
                "code",
                "has `mfa_serial` (arn:aws:iam::1:mfa/me), which this store cannot use; run `aws configure",
            ),
            ("long", "has `duration_seconds` `an hour`, which is not a number of seconds"),
            ("login", "`login_session`, which this store cannot use; run `aws configure export-credentials"),
            ("half", "needs `aws_secret_access_key`"),
            ("session", "needs the section `[sso-session company]`"),
        ] {
            let error = source(profile).unwrap_err();
            assert!(error.contains(expected), "{profile}: {error}");
        }
    }

    #[test]
    fn a_long_chain_is_refused() {
        let mut config = "[profile 100]\naws_access_key_id = a\naws_secret_access_key = b\n".to_owned();
        for number in 0..100 {
            let next = number + 1;
            config.push_str(&format!("[profile {number}]\nrole_arn = r\nsource_profile = {next}\n"));
        }
        let files = Files::parse(&config, "");
        let error = Source::of("0", &files).unwrap_err().to_string();
        assert!(error.contains("a chain has at most 16 profiles"), "{error}");
        assert!(Source::of("85", &files).is_ok());
    }
}
