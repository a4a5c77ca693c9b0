//! Node names and the paths they form.

use std::fmt;
use std::str::FromStr;

use crate::format::{Format, Invalid};

/// The path of a node in its hierarchy: `/` for the root, otherwise `/` and the node names joined by `/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NodePath(Vec<String>);

impl NodePath {
    /// Returns the path of the root.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses a path by the rules of `format`. The empty text and `/` are the root.
    ///
    /// v2 normalises the path first: `\` becomes `/`; leading, trailing and repeated `/` are removed. The other
    /// formats require a `/` at the start, and none at the end or repeated.
    ///
    /// # Errors
    ///
    /// For a path of another form, and for names that [`NodePath::child`] refuses.
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

    /// Returns the path of the node `name` below this one.
    ///
    /// # Errors
    ///
    /// If `format` does not allow the name. All formats refuse an empty name and `/`. v2 refuses `.` and `..`;
    /// the others refuse names that consist only of periods. The draft allows only ASCII letters, digits and
    /// `-_.`. v3 refuses `zarr.json` and names that start with `__`. Control characters are allowed in v2 and
    /// v3 (V2-STORE-01, V3-NAME-01).
    pub fn child(&self, name: &str, format: Format) -> Result<Self, Invalid> {
        check_name(name, format)?;
        Ok(self.listed_child(name))
    }

    /// Returns the path of a folder `name` below this one, even if the name is not valid for a node. Listings
    /// use it to report the folder; [`NodePath::in_format`] explains why it is not a node.
    #[must_use]
    pub fn listed_child(&self, name: &str) -> Self {
        let mut names = self.0.clone();
        names.push(name.to_owned());
        Self(names)
    }

    /// Returns the name of the node; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// Returns the names from the root down; empty for the root itself.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns the parent; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    /// Returns the ancestor with `depth` names, the root for 0; `None` if this path has at most `depth` names.
    #[must_use]
    pub fn ancestor(&self, depth: usize) -> Option<Self> {
        let names = self.0.get(..depth).filter(|_| depth < self.0.len())?;
        Some(Self(names.to_vec()))
    }

    /// Iterates over all ancestors, starting at the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> + '_ {
        (0..self.0.len()).map(|depth| Self(self.0[..depth].to_vec()))
    }

    /// Returns whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path without its leading `/`, as in keys.
    #[must_use]
    pub fn relative(&self) -> String {
        self.0.join("/")
    }

    /// Returns the path of this node in a hierarchy of `format`.
    ///
    /// # Errors
    ///
    /// Those of [`NodePath::check`].
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

/// Parses a path with the node names of v3. The leading `/` is optional. [`NodePath::parse`] accepts the
/// names of any format.
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
        return refuse("it contains `/`".to_owned());
    }
    let only_periods = name.bytes().all(|byte| byte == b'.');
    if if format == Format::V2 { matches!(name, "." | "..") } else { only_periods } {
        return refuse("it consists only of periods".to_owned());
    }
    if let Some(character) = name.chars().find(|&character| !is_name_character(character, format)) {
        let allowed = if format == Format::V3Draft { "; letters, digits and `-_.` are allowed" } else { "" };
        return refuse(format!("it contains the character {character:?}{allowed}"));
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
        // v2 requires ASCII, but its writers use any text. The reading mode of the hierarchy decides.
        Format::V2 | Format::V3 => character != '/',
    }
}
