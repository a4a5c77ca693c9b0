//! The account that the variables of the Azure tools describe: `AZURE_STORAGE_CONNECTION_STRING`, or
//! `AZURE_STORAGE_ACCOUNT` and `AZURE_STORAGE_KEY`.
//!
//! `object_store` does not read these variables. It reads `AZURE_STORAGE_SAS_TOKEN` itself.
//!
//! Source: "Configure Azure Storage connection strings" in the documentation of Azure Storage; "Azure CLI environment
//! variables for Azure Storage" in that of the Azure CLI.

use std::collections::BTreeMap;

use object_store::azure::{AzureAccessKey, AzureConfigKey, MicrosoftAzureBuilder, split_sas};
use zarr_spec::Invalid;

use super::{Endpoint, is_true};

const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";
const KEY: &str = "AZURE_STORAGE_KEY";

/// The settings of `object_store` with which it obtains credentials. They take precedence over those of the account.
const CREDENTIALS: [AzureConfigKey; 5] = [
    AzureConfigKey::Token,
    AzureConfigKey::AccessKey,
    AzureConfigKey::SasKey,
    AzureConfigKey::ClientSecret,
    AzureConfigKey::FederatedTokenFile,
];

/// The account of the emulator of Azure Storage, whose key is published in its documentation.
const EMULATOR: [&str; 3] = [
    "devstoreaccount1",
    "http://127.0.0.1:10000/devstoreaccount1",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
];

/// An account, as far as the variables describe it.
#[derive(Default)]
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(super) struct AzureAccount {
    name: Option<String>,
    /// The URL of its Blob Storage.
    endpoint: Option<String>,
    secret: Option<Secret>,
}

#[cfg_attr(test, derive(Debug, PartialEq))]
enum Secret {
    Key(String),
    Signature(String),
}

impl AzureAccount {
    /// Reads the connection string, or the other variables if there is none. `variable` returns a variable of the
    /// environment; an empty one counts as missing.
    ///
    /// # Errors
    ///
    /// If the connection string or the key is invalid. The message has the name of the field, and no value.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Invalid> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(text) = variable(CONNECTION_STRING) {
            return Self::parse(&text);
        }
        let key = variable(KEY).map(|key| checked_key(key, KEY)).transpose()?;
        Ok(Self { name: variable("AZURE_STORAGE_ACCOUNT"), endpoint: None, secret: key.map(Secret::Key) })
    }

    /// Adds the settings that `builder` lacks. `named` is the account that other settings name: if it is another one,
    /// nothing is added.
    pub(super) fn apply(
        self,
        mut builder: MicrosoftAzureBuilder,
        named: Option<&str>,
    ) -> MicrosoftAzureBuilder {
        if named.zip(self.name.as_deref()).is_some_and(|(named, name)| named != name) {
            return builder;
        }
        let is_set = |key: &AzureConfigKey| builder.get_config_value(key).is_some();
        let has_endpoint = is_set(&AzureConfigKey::Endpoint);
        let uses_tool = is_true(builder.get_config_value(&AzureConfigKey::UseAzureCli));
        let has_credentials = uses_tool || CREDENTIALS.iter().any(is_set);
        if let Some(name) = self.name.filter(|_| named.is_none()) {
            builder = builder.with_account(name);
        }
        if let Some(url) = self.endpoint.filter(|_| !has_endpoint) {
            // The scheme in the connection string permits an unencrypted connection.
            if url.starts_with("http:") {
                builder = builder.with_allow_http(true);
            }
            builder = builder.with_endpoint(url);
        }
        match self.secret.filter(|_| !has_credentials) {
            Some(Secret::Key(key)) => builder.with_access_key(key),
            Some(Secret::Signature(text)) => builder.with_config(AzureConfigKey::SasKey, text),
            None => builder,
        }
    }

    fn parse(text: &str) -> Result<Self, Invalid> {
        let fields = Fields::parse(text)?;
        match fields.get("UseDevelopmentStorage").map(str::to_ascii_lowercase).as_deref() {
            Some("true") => return Ok(Self::emulator()),
            None | Some("false") => {}
            Some(_) => return Err(wrong("UseDevelopmentStorage", "expected `true`")),
        }
        let endpoint = fields.endpoint()?;
        let of_endpoint = || account_in(endpoint.as_deref()?);
        let Some(name) = fields.get("AccountName").or_else(of_endpoint) else {
            return Err(wrong("AccountName", "it is missing"));
        };
        let name = Some(name.to_owned());
        Ok(Self { name, secret: fields.secret()?, endpoint })
    }

    fn emulator() -> Self {
        let [name, endpoint, key] = EMULATOR.map(str::to_owned);
        Self { name: Some(name), endpoint: Some(endpoint), secret: Some(Secret::Key(key)) }
    }
}

/// The fields of a connection string by their names in lower case.
struct Fields<'t>(BTreeMap<String, &'t str>);

impl<'t> Fields<'t> {
    fn parse(text: &'t str) -> Result<Self, Invalid> {
        let mut fields = BTreeMap::new();
        for (number, field) in
            text.split(';').map(str::trim).enumerate().filter(|(_, field)| !field.is_empty())
        {
            let Some((name, value)) = field.split_once('=') else {
                let number = number + 1;
                let reason = format!("field {number} of {CONNECTION_STRING}: expected the form `NAME=VALUE`");
                return Err(Invalid::new(reason));
            };
            fields.insert(name.trim().to_ascii_lowercase(), value.trim());
        }
        Ok(Self(fields))
    }

    fn get(&self, name: &str) -> Option<&'t str> {
        self.0.get(&name.to_ascii_lowercase()).copied().filter(|value| !value.is_empty())
    }

    /// Returns the URL of Blob Storage; `None` for the default.
    fn endpoint(&self) -> Result<Option<String>, Invalid> {
        if let Some(url) = self.get("BlobEndpoint") {
            let reason = "expected a URL that begins with `https://` or `http://`, without a query";
            return checked_endpoint(url).map(Some).ok_or_else(|| wrong("BlobEndpoint", reason));
        }
        let protocol = self.get("DefaultEndpointsProtocol");
        let protocol = protocol.unwrap_or("https").to_ascii_lowercase();
        if !matches!(&*protocol, "https" | "http") {
            return Err(wrong("DefaultEndpointsProtocol", "expected `https` or `http`"));
        }
        let suffix = self.get("EndpointSuffix");
        if suffix.is_none() && protocol == "https" {
            return Ok(None);
        }
        let name = self.get("AccountName").ok_or_else(|| wrong("AccountName", "it is missing"))?;
        let suffix = suffix.unwrap_or("core.windows.net");
        let url = checked_endpoint(&format!("{protocol}://{name}.blob.{suffix}"));
        url.map(Some).ok_or_else(|| wrong("EndpointSuffix", "expected a domain, such as `core.windows.net`"))
    }

    /// Returns the key, or the signature without a key.
    fn secret(&self) -> Result<Option<Secret>, Invalid> {
        if let Some(key) = self.get("AccountKey") {
            let place = format!("`AccountKey` in {CONNECTION_STRING}");
            return checked_key(key.to_owned(), &place).map(|key| Some(Secret::Key(key)));
        }
        let Some(text) = self.get("SharedAccessSignature") else { return Ok(None) };
        match split_sas(text) {
            Ok(_) => Ok(Some(Secret::Signature(text.to_owned()))),
            Err(_) => {
                Err(wrong("SharedAccessSignature", "expected a query of the form `NAME=VALUE&NAME=VALUE`"))
            }
        }
    }
}

fn checked_endpoint(url: &str) -> Option<String> {
    Endpoint::new(Some(url)).ok().flatten().map(|endpoint| endpoint.url.to_owned())
}

fn checked_key(key: String, place: &str) -> Result<String, Invalid> {
    match AzureAccessKey::try_new(&key) {
        Ok(_) => Ok(key),
        Err(_) => Err(Invalid::new(format!("{place}: expected the key of the account in base64"))),
    }
}

/// Returns the account in the URL of its Blob Storage: the host begins with it, or the path of the URL.
fn account_in(endpoint: &str) -> Option<&str> {
    let (_, rest) = endpoint.split_once("://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let of_host = host.split_once(".blob.").map(|(name, _)| name);
    of_host.or_else(|| path.split('/').next()).filter(|name| !name.is_empty())
}

fn wrong(field: &str, reason: &str) -> Invalid {
    Invalid::new(format!("`{field}` in {CONNECTION_STRING}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<AzureAccount, String> {
        let value = |name: &str| Some(variables.iter().find(|(known, _)| *known == name)?.1.to_owned());
        AzureAccount::read(value).map_err(|error| error.to_string())
    }

    fn parsed(text: &str) -> AzureAccount {
        read(&[(CONNECTION_STRING, text)]).unwrap()
    }

    fn account(name: &str, endpoint: Option<&str>, secret: Option<Secret>) -> AzureAccount {
        AzureAccount { name: Some(name.to_owned()), endpoint: endpoint.map(str::to_owned), secret }
    }

    fn key(text: &str) -> Option<Secret> {
        Some(Secret::Key(text.to_owned()))
    }

    /// The first three have the form of the examples in the documentation of Azure Storage.
    #[test]
    fn connection_strings_name_an_account_its_endpoint_and_its_secret() {
        let text = "DefaultEndpointsProtocol=https;AccountName=storagesample;AccountKey=QUJD";
        assert_eq!(parsed(text), account("storagesample", None, key("QUJD")));
        let text = "DefaultEndpointsProtocol=https;AccountName=storagesample;AccountKey=QUI=;\
                    EndpointSuffix=core.chinacloudapi.cn;";
        let url = "https://storagesample.blob.core.chinacloudapi.cn";
        assert_eq!(parsed(text), account("storagesample", Some(url), key("QUI=")));
        let signature = "sv=2015-07-08&sig=iCvQmdZngZNW%2F4vw43j6%2BVz6fndHF5LI639QJba4r8o%3D&spr=https";
        let text = format!(
            "BlobEndpoint=https://storagesample.blob.core.windows.net/;SharedAccessSignature={signature}"
        );
        let url = "https://storagesample.blob.core.windows.net";
        let secret = Some(Secret::Signature(signature.to_owned()));
        assert_eq!(parsed(&text), account("storagesample", Some(url), secret));
        let text = " accountname = a ;ACCOUNTKEY=QQ==;DefaultEndpointsProtocol=HTTP;QueueEndpoint=https://q;";
        assert_eq!(parsed(text), account("a", Some("http://a.blob.core.windows.net"), key("QQ==")));
        let text =
            "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;AccountKey=QQ==;SharedAccessSignature=a=b";
        let url = "http://127.0.0.1:10000/devstoreaccount1";
        assert_eq!(parsed(text), account("devstoreaccount1", Some(url), key("QQ==")));
        assert_eq!(parsed("UseDevelopmentStorage=true"), AzureAccount::emulator());
        assert_eq!(parsed("UseDevelopmentStorage=false;AccountName=a"), account("a", None, None));
    }

    #[test]
    fn the_connection_string_replaces_the_other_variables() {
        let others = [("AZURE_STORAGE_ACCOUNT", "other"), (KEY, "QQ==")];
        assert_eq!(read(&others).unwrap(), account("other", None, key("QQ==")));
        let both = [others[0], others[1], (CONNECTION_STRING, "AccountName=a")];
        assert_eq!(read(&both).unwrap(), account("a", None, None));
        let empty = [others[0], others[1], (CONNECTION_STRING, "")];
        assert_eq!(read(&empty).unwrap(), account("other", None, key("QQ==")));
        assert_eq!(read(&[]).unwrap(), AzureAccount::default());
    }

    #[test]
    fn errors_name_the_field_and_no_value() {
        for (text, field) in [
            ("AccountKey=c2VjcmV0", "`AccountName` in"),
            ("AccountName=a;AccountKey=secret!", "`AccountKey` in"),
            ("AccountName=a;AccountKey=c2VjcmV0;secret", "field 3 of"),
            ("AccountName=a;SharedAccessSignature=secret", "`SharedAccessSignature` in"),
            ("AccountName=a;BlobEndpoint=https://a.example/?sig=secret", "`BlobEndpoint` in"),
            ("AccountName=a;BlobEndpoint=secret", "`BlobEndpoint` in"),
            ("AccountName=a;DefaultEndpointsProtocol=secret", "`DefaultEndpointsProtocol` in"),
            ("AccountName=a;EndpointSuffix=?secret", "`EndpointSuffix` in"),
            ("EndpointSuffix=core.windows.net", "`AccountName` in"),
            ("UseDevelopmentStorage=secret", "`UseDevelopmentStorage` in"),
        ] {
            let error = read(&[(CONNECTION_STRING, text)]).unwrap_err();
            assert!(error.starts_with(field) && error.contains(CONNECTION_STRING), "{text}: {error}");
            assert!(!error.contains("secret") && !error.contains("c2VjcmV0"), "{error}");
        }
        let error = read(&[(KEY, "secret!")]).unwrap_err();
        assert_eq!(error, "AZURE_STORAGE_KEY: expected the key of the account in base64");
    }

    fn applied(text: &str, builder: MicrosoftAzureBuilder, named: Option<&str>) -> [Option<String>; 4] {
        let builder = parsed(text).apply(builder, named);
        let keys = [
            AzureConfigKey::AccountName,
            AzureConfigKey::Endpoint,
            AzureConfigKey::AccessKey,
            AzureConfigKey::SasKey,
        ];
        keys.map(|key| builder.get_config_value(&key))
    }

    #[test]
    fn other_settings_take_precedence() {
        let text = "AccountName=a;AccountKey=QQ==;EndpointSuffix=core.example";
        let own = || Some("own".to_owned());
        let name = || Some("a".to_owned());
        let url = || Some("https://a.blob.core.example".to_owned());
        let secret = || Some("QQ==".to_owned());
        let builder = MicrosoftAzureBuilder::new;
        assert_eq!(applied(text, builder(), None), [name(), url(), secret(), None]);
        let named = builder().with_account("a");
        assert_eq!(applied(text, named, Some("a")), [name(), url(), secret(), None]);
        // The key and the endpoint of another account are not used.
        let other = builder().with_account("own");
        assert_eq!(applied(text, other, Some("own")), [own(), None, None, None]);
        let with_endpoint = builder().with_endpoint("own".to_owned());
        assert_eq!(applied(text, with_endpoint, None), [name(), own(), secret(), None]);
        let with_signature = builder().with_config(AzureConfigKey::SasKey, "own");
        assert_eq!(applied(text, with_signature, None), [name(), url(), None, own()]);
        let with_tool = builder().with_use_azure_cli(true);
        assert_eq!(applied(text, with_tool, None), [name(), url(), None, None]);
    }
}
