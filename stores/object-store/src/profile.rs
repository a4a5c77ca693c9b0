//! Profiles in the files of the AWS tools: `~/.aws/config` and `~/.aws/credentials`.
//!
//! Source: "Configuration and credential file settings" in the reference of AWS SDKs and tools.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use zarr_spec::Invalid;

/// The maximum size of a file in bytes.
const LARGEST: u64 = 1 << 20;

/// Settings with which the AWS tools obtain credentials in ways that this store does not have.
const UNSUPPORTED: [&str; 5] =
    ["credential_process", "credential_source", "source_profile", "sso_session", "sso_start_url"];

/// The settings of a profile.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    name: String,
    settings: BTreeMap<String, String>,
    /// Whether the description names the profile. Such a profile takes precedence over the environment.
    is_named: bool,
}

/// The settings of all sections of a file. A nested setting has the name `OUTER.INNER`.
type Sections = BTreeMap<String, BTreeMap<String, String>>;

impl Profile {
    /// Reads the profile `name`, or that of `AWS_PROFILE`, or `default`. `variable` returns a variable of the
    /// environment.
    ///
    /// # Errors
    ///
    /// If a profile with a given name does not exist, or if a file cannot be read or is too large.
    pub(crate) fn read(
        name: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Invalid> {
        let given =
            name.map(str::to_owned).or_else(|| variable("AWS_PROFILE")).filter(|name| !name.is_empty());
        let home = variable("HOME").or_else(|| variable("USERPROFILE"));
        let file = |name: &str, place: &str| {
            let default = home.as_ref().map(|home| Path::new(home).join(place));
            variable(name).map(PathBuf::from).or(default)
        };
        let config = file("AWS_CONFIG_FILE", ".aws/config");
        let credentials = file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
        let texts =
            [&config, &credentials].map(|file| file.as_deref().map_or_else(|| Ok(String::new()), text_of));
        let [config_text, credentials_text] = texts;
        let wanted = given.as_deref().unwrap_or("default");
        let settings = settings(wanted, &sections(&config_text?), &sections(&credentials_text?));
        if settings.is_none() && given.is_some() {
            let files =
                [config, credentials].into_iter().flatten().map(|file| format!("`{}`", file.display()));
            let files = files.collect::<Vec<_>>().join(" or ");
            return Err(Invalid::new(format!("the profile `{wanted}` is not in {files}")));
        }
        Ok(Self { name: wanted.to_owned(), settings: settings.unwrap_or_default(), is_named: name.is_some() })
    }

    /// Returns a setting.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// Adds the settings that the environment does not have to `builder`.
    ///
    /// # Errors
    ///
    /// If the profile has credentials of a kind that is not supported.
    pub(crate) fn apply(
        &self,
        builder: AmazonS3Builder,
        is_anonymous: bool,
    ) -> Result<AmazonS3Builder, Invalid> {
        use AmazonS3ConfigKey as To;
        let has = |key| builder.get_config_value(&key).is_some();
        let has_region = has(To::Region) || has(To::DefaultRegion);
        let has_endpoint = has(To::S3Endpoint) || has(To::Endpoint);
        let has_credentials = has(To::AccessKeyId) || has(To::WebIdentityTokenFile);
        let mut given: Vec<(To, &str)> = Vec::new();
        if !is_anonymous && (self.is_named || !has_credentials) {
            given.extend(self.credentials()?);
        }
        if self.is_named || !has_region {
            given.extend(self.get("region").map(|region| (To::Region, region)));
        }
        if !has_endpoint {
            let endpoint = self.get("s3.endpoint_url").or(self.get("endpoint_url"));
            given.extend(endpoint.map(|endpoint| (To::S3Endpoint, endpoint)));
        }
        Ok(given.into_iter().fold(builder, |builder, (key, value)| builder.with_config(key, value)))
    }

    fn credentials(&self) -> Result<Vec<(AmazonS3ConfigKey, &str)>, Invalid> {
        use AmazonS3ConfigKey as To;
        let found = |names: &[(&str, To)]| {
            let setting = |(name, key): &(&str, To)| Some((*key, self.get(name)?));
            names.iter().filter_map(setting).collect::<Vec<_>>()
        };
        if self.get("aws_access_key_id").is_some() {
            return Ok(found(&[
                ("aws_access_key_id", To::AccessKeyId),
                ("aws_secret_access_key", To::SecretAccessKey),
                ("aws_session_token", To::Token),
            ]));
        }
        if self.get("web_identity_token_file").is_some() {
            return Ok(found(&[
                ("web_identity_token_file", To::WebIdentityTokenFile),
                ("role_arn", To::RoleArn),
                ("role_session_name", To::RoleSessionName),
            ]));
        }
        match UNSUPPORTED.iter().find(|name| self.get(name).is_some()) {
            Some(setting) => Err(Invalid::new(format!(
                "the profile `{name}` has `{setting}`, which this store cannot use; run `aws configure \
                 export-credentials --profile {name} --format env` and set the variables that it prints",
                name = self.name
            ))),
            None => Ok(Vec::new()),
        }
    }
}

/// Returns the text of a file; an empty text if it does not exist.
fn text_of(file: &Path) -> Result<String, Invalid> {
    let wrong = |reason: String| Invalid::new(format!("`{}`: {reason}", file.display()));
    let mut text = String::new();
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(text),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let size =
        opened.take(LARGEST + 1).read_to_string(&mut text).map_err(|error| wrong(error.to_string()))?;
    match size as u64 > LARGEST {
        true => Err(wrong(format!("the file has more than {LARGEST} bytes"))),
        false => Ok(text),
    }
}

/// Returns the settings of a profile, with those of its services; `None` if no file has it. Settings in `credentials`
/// take precedence.
fn settings(name: &str, config: &Sections, credentials: &Sections) -> Option<BTreeMap<String, String>> {
    let in_config = match name {
        "default" => config.get("default").or_else(|| config.get("profile default")),
        name => config.get(&format!("profile {name}")),
    };
    let in_credentials = credentials.get(name);
    if in_config.is_none() && in_credentials.is_none() {
        return None;
    }
    let mut settings = in_config.cloned().unwrap_or_default();
    if let Some(services) = settings.get("services").and_then(|name| config.get(&format!("services {name}")))
    {
        settings.extend(services.clone());
    }
    settings.extend(in_credentials.cloned().unwrap_or_default());
    Some(settings)
}

/// Parses a file. Lines that are not settings are ignored, as the AWS tools do.
fn sections(text: &str) -> Sections {
    let mut sections = Sections::new();
    let mut section = None;
    let mut outer = String::new();
    for line in text.lines() {
        let content = line.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = content.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            section = Some(sections.entry(name).or_default());
            continue;
        }
        let (Some(section), Some((name, value))) = (&mut section, content.split_once('=')) else { continue };
        let name = name.trim().to_ascii_lowercase();
        // A comment within a value begins after a space.
        let value =
            value.split(" #").next().unwrap_or_default().split(" ;").next().unwrap_or_default().trim();
        if line.starts_with([' ', '\t']) {
            section.insert(format!("{outer}.{name}"), value.to_owned());
        } else {
            outer.clone_from(&name);
            section.insert(name, value.to_owned());
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process;

    use super::*;

    const CONFIG: &str = "
[default]
region = eu-central-1

# A comment.
[profile  work]
region=eu-west-1   # a comment
services = local
role_arn = arn:aws:iam::1:role/r
web_identity_token_file = /run/token

[services local]
s3 =
  endpoint_url = https://s3.example
dynamodb =
  endpoint_url = https://other.example

[profile sso]
sso_session = company
";

    const CREDENTIALS: &str = "
[default]
aws_access_key_id = AKIDEXAMPLE
aws_secret_access_key = a/b+c==
[keys]
AWS_ACCESS_KEY_ID = AKID2
aws_secret_access_key = secret
aws_session_token = token
";

    /// Returns a profile of these two files, with `variables` in the environment.
    fn profile(name: Option<&str>, variables: &[(&str, &str)]) -> Result<Profile, Invalid> {
        let folder = std::env::temp_dir().join(format!(
            "zarr-profile-{}-{:?}",
            process::id(),
            std::thread::current().id()
        ));
        fs::create_dir_all(folder.join(".aws")).unwrap();
        fs::write(folder.join(".aws/config"), CONFIG).unwrap();
        fs::write(folder.join(".aws/credentials"), CREDENTIALS).unwrap();
        let home = folder.to_str().unwrap().to_owned();
        let read = Profile::read(name, |asked| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| (*value).to_owned()).or_else(|| (asked == "HOME").then(|| home.clone()))
        });
        fs::remove_dir_all(folder).unwrap();
        read
    }

    fn applied(profile: Profile, builder: AmazonS3Builder) -> impl Fn(AmazonS3ConfigKey) -> Option<String> {
        let builder = profile.apply(builder, false).unwrap();
        move |key| builder.get_config_value(&key)
    }

    #[test]
    fn the_default_profile_has_keys_and_a_region() {
        let value = applied(profile(None, &[]).unwrap(), AmazonS3Builder::new());
        assert_eq!(value(AmazonS3ConfigKey::AccessKeyId).as_deref(), Some("AKIDEXAMPLE"));
        assert_eq!(value(AmazonS3ConfigKey::SecretAccessKey).as_deref(), Some("a/b+c=="));
        assert_eq!(value(AmazonS3ConfigKey::Region).as_deref(), Some("eu-central-1"));
    }

    #[test]
    fn a_named_profile_has_an_endpoint_and_a_token_file() {
        let value = applied(profile(None, &[("AWS_PROFILE", "work")]).unwrap(), AmazonS3Builder::new());
        assert_eq!(value(AmazonS3ConfigKey::Region).as_deref(), Some("eu-west-1"));
        assert_eq!(value(AmazonS3ConfigKey::S3Endpoint).as_deref(), Some("https://s3.example"));
        assert_eq!(value(AmazonS3ConfigKey::WebIdentityTokenFile).as_deref(), Some("/run/token"));
        assert_eq!(value(AmazonS3ConfigKey::AccessKeyId), None);
    }

    #[test]
    fn the_environment_precedes_a_profile_that_no_description_names() {
        let builder = || AmazonS3Builder::new().with_access_key_id("AKID0").with_region("us-east-2");
        let value = applied(profile(None, &[("AWS_PROFILE", "keys")]).unwrap(), builder());
        assert_eq!(value(AmazonS3ConfigKey::AccessKeyId).as_deref(), Some("AKID0"));
        assert_eq!(value(AmazonS3ConfigKey::Token), None);
        let value = applied(profile(Some("keys"), &[]).unwrap(), builder());
        assert_eq!(value(AmazonS3ConfigKey::AccessKeyId).as_deref(), Some("AKID2"));
        assert_eq!(value(AmazonS3ConfigKey::Token).as_deref(), Some("token"));
        assert_eq!(value(AmazonS3ConfigKey::Region).as_deref(), Some("us-east-2"));
    }

    #[test]
    fn a_missing_or_unsupported_profile_is_an_error_with_advice() {
        let missing = profile(Some("none"), &[]).unwrap_err().to_string();
        assert!(
            missing.contains("the profile `none` is not in") && missing.contains(".aws/config"),
            "{missing}"
        );
        let sso = profile(Some("sso"), &[]).unwrap();
        let refused = sso.apply(AmazonS3Builder::new(), false).unwrap_err().to_string();
        assert!(refused.contains("`sso_session`") && refused.contains("export-credentials"), "{refused}");
        assert!(sso.apply(AmazonS3Builder::new(), true).is_ok());
        let nothing =
            profile(None, &[("AWS_CONFIG_FILE", "/none"), ("AWS_SHARED_CREDENTIALS_FILE", "/none")]);
        assert!(nothing.unwrap().settings.is_empty());
    }
}
