//! The files `~/.aws/config` and `~/.aws/credentials`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use zarr_spec::Invalid;

/// The maximum size of a file in bytes.
const LARGEST: u64 = 1 << 20;

/// The settings of a section. A nested setting has the name `OUTER.INNER`.
pub(super) type Settings = BTreeMap<String, String>;

type Sections = BTreeMap<String, Settings>;

/// The sections of both files.
#[derive(Debug, Default)]
pub(super) struct Files {
    config: Sections,
    credentials: Sections,
}

impl Files {
    /// Reads the files. A file that does not exist has no sections.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or is too large.
    pub(super) fn read(config: Option<&Path>, credentials: Option<&Path>) -> Result<Self, Invalid> {
        let read = |file: Option<&Path>| file.map_or_else(|| Ok(String::new()), text_of);
        Ok(Self::parse(&read(config)?, &read(credentials)?))
    }

    /// Parses the texts of both files.
    pub(super) fn parse(config: &str, credentials: &str) -> Self {
        Self { config: sections(config), credentials: sections(credentials) }
    }

    /// Returns the settings of a profile, with those of its services; `None` if no file has it. Settings in
    /// `credentials` take precedence.
    pub(super) fn profile(&self, name: &str) -> Option<Settings> {
        let config = &self.config;
        let in_config = match name {
            "default" => config.get("default").or_else(|| config.get("profile default")),
            name => config.get(&format!("profile {name}")),
        };
        let in_credentials = self.credentials.get(name);
        if in_config.is_none() && in_credentials.is_none() {
            return None;
        }
        let mut settings = in_config.cloned().unwrap_or_default();
        let services = settings.get("services").and_then(|name| config.get(&format!("services {name}")));
        if let Some(services) = services {
            settings.extend(services.clone());
        }
        settings.extend(in_credentials.cloned().unwrap_or_default());
        Some(settings)
    }

    /// Returns the settings of a section `sso-session`.
    pub(super) fn session(&self, name: &str) -> Option<&Settings> {
        self.config.get(&format!("sso-session {name}"))
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
