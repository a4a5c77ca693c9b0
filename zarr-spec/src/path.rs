//! Node names and the paths they form.

use std::fmt;
use std::str::FromStr;

use crate::format::{Format, Invalid};

/// The path of a node in its hierarchy: `/` for the root, else `/` and the node names joined by `/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NodePath(Vec<String>);

impl NodePath {
    /// The root of every hierarchy.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses a path as `format` has it. The empty text and `/` are the root.
    ///
    /// v2 normalises first: `\` becomes `/`, and `/` at the ends or repeated is dropped. The other formats want
    /// a `/` at the start, and none at the end or repeated.
    ///
    /// # Errors
    ///
    /// For a path that is not of that form, and for names as [`NodePath::child`] says.
    pub fn parse(text: &str, format: Format) -> Result<Self, Invalid> {
        if format == Format::V2 {
            let text = text.replace('\\', "/");
            return Self::of_names(text.split('/').filter(|name| !name.is_empty()), format);
        }
        if text.is_empty() || text == "/" {
            return Ok(Self::root());
        }
        let Some(names) = text.strip_prefix('/') else {
            return Err(Invalid::new(format!("path `{text}` does not begin with `/`")));
        };
        if names.ends_with('/') {
            return Err(Invalid::new(format!("path `{text}` ends in `/`")));
        }
        Self::of_names(names.split('/'), format)
    }

    fn of_names<'n>(names: impl Iterator<Item = &'n str>, format: Format) -> Result<Self, Invalid> {
        let checked = |name: &'n str| check_name(name, format).map(|()| name.to_owned());
        Ok(Self(names.map(checked).collect::<Result<_, _>>()?))
    }

    /// The path of the node called `name` below this one.
    ///
    /// # Errors
    ///
    /// If `format` has no such node name: empty, with `/`, of periods alone; in v2 only `.` and `..` are refused
    /// of the latter; in the draft any character but ASCII letters, digits and `-_.`; in v3 `zarr.json` and
    /// names that begin with `__`. Control characters are allowed in v2 and v3 (V2-STORE-01, V3-NAME-01).
    pub fn child(&self, name: &str, format: Format) -> Result<Self, Invalid> {
        check_name(name, format)?;
        Ok(self.listed_child(name))
    }

    /// The path of a folder called `name` below this one, whether or not a format has such node names. A listing
    /// shows with it that there is something; [`NodePath::in_format`] tells why it is not a node.
    #[must_use]
    pub fn listed_child(&self, name: &str) -> Self {
        let mut names = self.0.clone();
        names.push(name.to_owned());
        Self(names)
    }

    /// The name of the node; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// The names from the root down; none for the root itself.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The node above; the root has none.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    /// The node above that has so many names: the root for 0. `None` if there is no such node above.
    #[must_use]
    pub fn ancestor(&self, depth: usize) -> Option<Self> {
        let names = self.0.get(..depth).filter(|_| depth < self.0.len())?;
        Some(Self(names.to_vec()))
    }

    /// Every node above, the root first.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> + '_ {
        (0..self.0.len()).map(|depth| Self(self.0[..depth].to_vec()))
    }

    /// Whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path without its leading `/`: what keys begin with.
    #[must_use]
    pub fn relative(&self) -> String {
        self.0.join("/")
    }

    /// The path of this node in a hierarchy of `format`.
    ///
    /// # Errors
    ///
    /// As [`NodePath::check`].
    pub fn in_format(&self, format: Format) -> Result<Self, Invalid> {
        self.check(format).map(|()| self.clone())
    }

    /// Checks that `format` allows every name of the path.
    ///
    /// # Errors
    ///
    /// For the first name that [`NodePath::child`] refuses.
    pub fn check(&self, format: Format) -> Result<(), Invalid> {
        self.0.iter().try_for_each(|name| check_name(name, format))
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.relative())
    }
}

/// Parses a path with the node names of v3. The leading `/` may be left out. [`NodePath::parse`] takes the names of any
/// format.
impl FromStr for NodePath {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.starts_with('/') || text.is_empty() {
            true => Self::parse(text, Format::V3),
            false => Self::of_names(text.split('/'), Format::V3),
        }
    }
}

fn check_name(name: &str, format: Format) -> Result<(), Invalid> {
    let refuse =
        |reason: String| Err(Invalid::new(format!("`{name}` is not a node name in {format}: {reason}")));
    if name.is_empty() {
        return refuse("it is empty".to_owned());
    }
    if name.contains('/') {
        return refuse("it has a `/`".to_owned());
    }
    let only_periods = name.bytes().all(|byte| byte == b'.');
    if if format == Format::V2 { matches!(name, "." | "..") } else { only_periods } {
        return refuse("periods alone would lead elsewhere".to_owned());
    }
    if let Some(character) = name.chars().find(|&character| !is_name_character(character, format)) {
        let allowed = if format == Format::V3Draft { "; there are letters, digits and `-_.`" } else { "" };
        return refuse(format!("it has the character {character:?}{allowed}"));
    }
    if format == Format::V3 && name == "zarr.json" {
        return refuse("it is the key of metadata documents".to_owned());
    }
    if format == Format::V3 && name.starts_with("__") {
        return refuse("names that begin with `__` are reserved".to_owned());
    }
    Ok(())
}

fn is_name_character(character: char, format: Format) -> bool {
    match format {
        Format::V3Draft => character.is_ascii_alphanumeric() || "-_.".contains(character),
        // v2 says ASCII, yet its writers emit any text: the hierarchy decides, by its reading mode.
        Format::V2 | Format::V3 => character != '/',
    }
}
