//! The workspace that the manifests describe. The manifests are read directly, so checks also work on a tree that
//! `cargo` refuses.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use toml::{Table, Value};

use crate::rust_source::RustSource;

/// The folders of plugins, and the part of their package names between `zarr-` and the name of the plugin.
pub(crate) const PLUGIN_FAMILIES: &[(&str, &str)] = &[
    ("codecs", "codec"),
    ("dtypes", "dtype"),
    ("grids", "grid"),
    ("layouts", "layout"),
    ("key-encodings", "key-encoding"),
    ("metadata-encodings", "metadata-encoding"),
    ("transformers", "transformer"),
    ("extensions", "extension"),
    ("stores", "store"),
];

/// Folders in the tree that are not part of the project.
const FOREIGN_FOLDERS: &[&str] = &["target", ".git", ".venv", "__pycache__", "node_modules"];

/// A virtual manifest and its members.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) manifest: Table,
    pub(crate) members: Vec<Member>,
    /// The Rust files that were parsed: many checks look at each.
    parsed: RefCell<BTreeMap<PathBuf, Rc<RustSource>>>,
}

/// One crate of the workspace.
#[derive(Debug)]
pub(crate) struct Member {
    /// The path relative to the root, with `/` between folders.
    pub(crate) folder: String,
    pub(crate) name: String,
    pub(crate) manifest: Table,
}

/// One entry of a dependency table.
#[derive(Debug)]
pub(crate) struct Dependency {
    /// The package, which differs from the key if the dependency is renamed.
    pub(crate) package: String,
    pub(crate) is_dev: bool,
    pub(crate) value: Value,
}

impl Workspace {
    /// Returns the workspace that contains the current directory.
    pub(crate) fn find() -> Result<Self, String> {
        let start = std::env::current_dir().map_err(|error| format!("no current directory: {error}"))?;
        for folder in start.ancestors() {
            if read_manifest(&folder.join("Cargo.toml"))
                .is_ok_and(|manifest| manifest.contains_key("workspace"))
            {
                return Self::load(folder);
            }
        }
        Err(format!("no workspace at or above {}", start.display()))
    }

    /// Returns the workspace with the root folder `root`.
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        let manifest = read_manifest(&root.join("Cargo.toml"))?;
        let mut members = Vec::new();
        for folder in member_folders(root, &manifest)? {
            members.push(Member::load(root, folder)?);
        }
        Ok(Self { root: root.to_owned(), manifest, members, parsed: RefCell::default() })
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Returns the sorted paths of all files of the project, relative to the root.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, String> {
        files_below(&self.root, Path::new(""))
    }

    /// Returns the files that git tracks, or all files if there is no git repository. Untracked files are not part of the
    /// project.
    pub(crate) fn project_files(&self) -> Result<Vec<PathBuf>, String> {
        let git = Command::new("git").arg("-C").arg(&self.root).args(["ls-files", "-z"]).output();
        match git {
            Ok(output) if output.status.success() && self.root.join(".git").exists() => {
                let names = String::from_utf8_lossy(&output.stdout).into_owned();
                let files = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
                Ok(files.filter(|file| self.root.join(file).is_file()).collect())
            }
            _ => self.files(),
        }
    }

    /// Returns the sorted paths of the Rust sources of all members, relative to the root and without duplicates.
    pub(crate) fn rust_files(&self) -> Result<Vec<PathBuf>, String> {
        let is_rust = |file: &PathBuf| file.extension().is_some_and(|it| it == "rs") && !is_template(file);
        let mut found = BTreeSet::new();
        for member in &self.members {
            let files = files_below(&self.root, Path::new(&member.folder))?;
            found.extend(files.into_iter().filter(is_rust));
        }
        Ok(found.into_iter().collect())
    }

    /// Reads a text file of the project.
    pub(crate) fn read(&self, file: &Path) -> Result<String, String> {
        fs::read_to_string(self.root.join(file)).map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Returns a Rust file, which is read and parsed once.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not a sequence of Rust tokens.
    pub(crate) fn rust_source(&self, file: &Path) -> Result<Rc<RustSource>, String> {
        if let Some(source) = self.parsed.borrow().get(file) {
            return Ok(Rc::clone(source));
        }
        let source = RustSource::new(self.read(file)?);
        let source = Rc::new(source.map_err(|error| format!("{}: {error}", file.display()))?);
        self.parsed.borrow_mut().insert(file.to_owned(), Rc::clone(&source));
        Ok(source)
    }

    /// Returns the package of a dependency key of a member.
    fn package_of(&self, key: &str, value: &Value) -> String {
        let renamed = |value: &Value| Some(value.get("package")?.as_str()?.to_owned());
        let inherited = || renamed(self.manifest.get("workspace")?.get("dependencies")?.get(key)?);
        renamed(value).or_else(inherited).unwrap_or_else(|| key.to_owned())
    }

    /// Returns every dependency of `member`, including dependencies of single targets.
    pub(crate) fn dependencies(&self, member: &Member) -> Vec<Dependency> {
        let mut found = Vec::new();
        let per_target = member.manifest.get("target").and_then(Value::as_table);
        let per_target = per_target.into_iter().flat_map(Table::values).filter_map(Value::as_table);
        for table in per_target.chain([&member.manifest]) {
            for (kind, is_dev) in
                [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
            {
                for (key, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
                    found.push(Dependency {
                        package: self.package_of(key, value),
                        is_dev,
                        value: value.clone(),
                    });
                }
            }
        }
        found
    }
}

impl Member {
    fn load(root: &Path, folder: String) -> Result<Self, String> {
        let file = root.join(&folder).join("Cargo.toml");
        let manifest = read_manifest(&file)?;
        let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        let name = name.ok_or_else(|| format!("{}: no package name", file.display()))?.to_owned();
        Ok(Self { folder, name, manifest })
    }

    /// Returns the value of a key of the `[package]` table.
    pub(crate) fn package(&self, key: &str) -> Option<&Value> {
        self.manifest.get("package")?.get(key)
    }

    pub(crate) fn is_published(&self) -> bool {
        self.package("publish").and_then(Value::as_bool) != Some(false)
    }

    /// Returns the family prefix and the name of the plugin if the member is in a plugin folder.
    pub(crate) fn plugin(&self) -> Option<(&'static str, &str)> {
        let (folder, name) = self.folder.split_once('/')?;
        let (_, prefix) = PLUGIN_FAMILIES.iter().find(|(family, _)| *family == folder)?;
        Some((prefix, name))
    }

    /// Returns the path of the manifest, for messages.
    pub(crate) fn manifest_file(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }
}

fn read_manifest(file: &Path) -> Result<Table, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    text.parse().map_err(|error| format!("{}: {error}", file.display()))
}

/// Returns the member folders in the order of the manifest. `name/*` stands for every folder with a manifest.
fn member_folders(root: &Path, manifest: &Table) -> Result<Vec<String>, String> {
    let members = manifest.get("workspace").and_then(|workspace| workspace.get("members"));
    let members = members.and_then(Value::as_array).ok_or("the root manifest lists no members")?;
    let excluded = manifest.get("workspace").and_then(|workspace| workspace.get("exclude"));
    let excluded = excluded.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let excluded: Vec<&str> = excluded.collect();
    let mut folders = Vec::new();
    for pattern in members.iter().filter_map(Value::as_str) {
        match pattern.strip_suffix("/*") {
            Some(parent) => folders.extend(folders_with_manifest(root, parent)?),
            None => folders.push(pattern.to_owned()),
        }
    }
    folders.retain(|folder| !excluded.contains(&folder.as_str()));
    Ok(folders)
}

fn folders_with_manifest(root: &Path, parent: &str) -> Result<Vec<String>, String> {
    let folder = root.join(parent);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let entry = entry.map_err(|error| format!("{}: {error}", folder.display()))?;
        if entry.path().join("Cargo.toml").is_file() {
            names.push(format!("{parent}/{}", entry.file_name().to_string_lossy()));
        }
    }
    names.sort();
    Ok(names)
}

/// Returns whether a file is a template. Templates contain placeholders, so they are not Rust; generated crates are tested.
fn is_template(file: &Path) -> bool {
    file.strip_prefix("zarrctl/templates").is_ok_and(|rest| rest.components().count() > 1)
}

fn files_below(root: &Path, folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let absolute = root.join(&folder);
        let entries = fs::read_dir(&absolute).map_err(|error| format!("{}: {error}", absolute.display()))?;
        for entry in entries {
            let entry = entry.map_err(|error| format!("{}: {error}", absolute.display()))?;
            let kind = entry.file_type().map_err(|error| format!("{}: {error}", absolute.display()))?;
            let path = folder.join(entry.file_name());
            if kind.is_dir() && !FOREIGN_FOLDERS.iter().any(|name| entry.file_name() == *name) {
                open.push(path);
            } else if kind.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Artificial workspaces for the unit tests of the checks.
#[cfg(test)]
pub(crate) mod made_up {
    use super::{Workspace, fs};

    /// A workspace in a temporary folder, which is removed with this value.
    pub(crate) struct Tree(tempfile::TempDir);

    impl Tree {
        /// Creates a root manifest with the `zarr-*` crates and every plugin family as members, and these files.
        pub(crate) fn new(files: &[(&str, &str)]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            let families = super::PLUGIN_FAMILIES.iter().map(|(folder, _)| format!("\"{folder}/*\""));
            let plain = ["zarr-spec", "zarr-engine", "zarr-kit", "zarrctl", "conformance", "xtask"];
            let present = |name: &str| files.iter().any(|(file, _)| *file == format!("{name}/Cargo.toml"));
            let plain = plain.into_iter().filter(|name| present(name)).map(|name| format!("\"{name}\""));
            let members = plain.chain(families).collect::<Vec<_>>().join(", ");
            tree.write("Cargo.toml", &format!("[workspace]\nmembers = [{members}]\n"));
            for (file, text) in files {
                tree.write(file, text);
            }
            tree
        }

        pub(crate) fn write(&self, file: &str, text: &str) {
            let file = self.0.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }

        pub(crate) fn load(&self) -> Workspace {
            Workspace::load(self.0.path()).unwrap()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::made_up::Tree;

    #[test]
    fn members_are_names_and_globs_and_have_a_manifest() {
        let workspace = Tree::new(&[
            ("zarr-spec/Cargo.toml", "[package]\nname = 'zarr-spec'"),
            ("codecs/gzip/Cargo.toml", "[package]\nname = 'zarr-codec-gzip'"),
            ("codecs/notes/README", "no crate"),
        ])
        .load();
        let folders: Vec<_> = workspace.members.iter().map(|member| member.folder.as_str()).collect();
        assert_eq!(folders, ["zarr-spec", "codecs/gzip"]);
        assert_eq!(workspace.members[1].plugin(), Some(("codec", "gzip")));
        assert_eq!(workspace.members[0].plugin(), None);
    }

    #[test]
    fn without_git_every_file_outside_build_folders_belongs_to_the_project() {
        let tree = Tree::new(&[("docs/a.md", ""), ("target/b", ""), (".ci/run", "")]);
        let files = tree.load().project_files().unwrap();
        assert_eq!(files, [".ci/run", "Cargo.toml", "docs/a.md"].map(std::path::PathBuf::from));
    }

    #[test]
    fn dependencies_are_found_under_their_package_name_in_every_table() {
        let workspace = Tree::new(&[(
            "zarr-spec/Cargo.toml",
            "[package]\nname = 'zarr-spec'\n[dependencies]\na.workspace = true\n[dev-dependencies]\n\
             b = { workspace = true, package = 'bee' }\n[target.'cfg(unix)'.dependencies]\nc.workspace = true",
        )])
        .load();
        let mut found: Vec<_> = workspace
            .dependencies(&workspace.members[0])
            .into_iter()
            .map(|dependency| (dependency.package, dependency.is_dev))
            .collect();
        found.sort();
        assert_eq!(found, [("a".to_owned(), false), ("bee".to_owned(), true), ("c".to_owned(), false)]);
    }
}
