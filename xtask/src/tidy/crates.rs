//! Counts the crates of other projects in builds of the library and of `zarrctl`, and compares them with a recorded list,
//! so that a new one is a visible change.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Finding, Measurement};
use crate::workspace::Workspace;

/// A build whose crates are counted.
struct Build {
    name: &'static str,
    /// Arguments of `cargo tree`.
    arguments: &'static [&'static str],
    /// The maximum number of crates of other projects.
    limit: Option<usize>,
}

const BUILDS: &[Build] = &[
    Build {
        name: "minimal library",
        // The features of the smallest library in `docs/extensions.md`. `dtype-core` enables `codec-bytes`.
        arguments: &[
            "--package=zarr-kit",
            "--no-default-features",
            "--features=codec-zstd,dtype-core,grid-regular,key-encoding-default,store-filesystem",
        ],
        limit: Some(40),
    },
    Build { name: "default library", arguments: &["--package=zarr-kit"], limit: Some(60) },
    Build {
        name: "minimal zarrctl",
        arguments: &["--package=zarrctl", "--no-default-features"],
        limit: None,
    },
    Build { name: "default zarrctl", arguments: &["--package=zarrctl"], limit: None },
];

/// The system whose crates are counted and recorded.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The file with the recorded crates of all builds.
const RECORDED: &str = "xtask/crates.txt";

/// The variable that records the crates again.
const UPDATE: &str = "UPDATE_SNAPSHOTS";

const HEAD: &str = "\
# The crates of other projects in builds for x86_64-unknown-linux-gnu, as `cargo xtask tidy` finds them.
# `UPDATE_SNAPSHOTS=1 cargo xtask tidy` writes this file. A new crate needs a reason in the message of the commit.
";

/// Counts the normal and build dependencies of each build, and compares them with the recorded ones.
pub(super) fn count(workspace: &Workspace) -> Result<Measurement, String> {
    let own: BTreeSet<&str> = workspace.members.iter().map(|member| member.name.as_str()).collect();
    let mut measurement = Measurement::default();
    let mut found = HEAD.to_owned();
    for build in BUILDS {
        let tree = tree(&workspace.root, build)?;
        let others = others(&tree, &own);
        let count = others.len();
        let _written = write!(found, "\n[{}]\n", build.name);
        others.iter().for_each(|(name, _)| found += &format!("{name}\n"));
        measurement.lines.push(match build.limit {
            Some(limit) => format!("{}: {count} crates of other projects (at most {limit})", build.name),
            None => format!("{}: {count} crates of other projects", build.name),
        });
        measurement.findings.extend(above_limit(build, count));
    }
    let file = workspace.root.join(RECORDED);
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&file, &found).map_err(|error| format!("{RECORDED}: {error}"))?;
    }
    let recorded = fs::read_to_string(&file).map_err(|error| format!("{RECORDED}: {error}"))?;
    measurement.findings.extend(changes(&recorded, &found));
    Ok(measurement)
}

/// Returns a finding for each crate that is recorded or found, but not both. A crate with two versions is listed twice.
fn changes(recorded: &str, found: &str) -> Vec<Finding> {
    let [recorded, found] = [recorded, found].map(entries);
    let finding = |entry: &Entry<'_>, what: &str| {
        let Entry { build, name, .. } = entry;
        let message =
            format!("crate `{name}` {what}; `{UPDATE}=1 cargo xtask tidy` records the crates again");
        Finding::error(format!("{RECORDED}: {build}"), message)
    };
    let new = found.difference(&recorded).map(|entry| finding(entry, "is new in this build"));
    let gone = recorded.difference(&found).map(|entry| finding(entry, "is no longer in this build"));
    new.chain(gone).collect()
}

/// A line of the list of crates.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<'t> {
    build: &'t str,
    name: &'t str,
    /// The number of equal lines before this one.
    number: usize,
}

fn entries(text: &str) -> BTreeSet<Entry<'_>> {
    let mut build = "";
    let mut entries = BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            build = name;
            continue;
        }
        let equal = |entry: &&Entry<'_>| entry.build == build && entry.name == line;
        let number = entries.iter().filter(equal).count();
        entries.insert(Entry { build, name: line, number });
    }
    entries
}

fn above_limit(build: &Build, count: usize) -> Option<Finding> {
    let limit = build.limit.filter(|limit| count > *limit)?;
    let message = format!(
        "{count} crates of other projects; the limit is {limit}; `cargo tree {} -e normal,build` lists them",
        build.arguments.join(" ")
    );
    Some(Finding::error(build.name, message))
}

/// Returns the output of `cargo tree`, with one line per edge.
fn tree(root: &Path, build: &Build) -> Result<String, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "tree",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--target",
        TARGET,
    ]);
    let output = command.args(build.arguments).current_dir(root).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cargo tree: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the names and versions of crates of other projects.
fn others<'t>(tree: &'t str, own: &BTreeSet<&str>) -> BTreeSet<(&'t str, &'t str)> {
    let lines = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?))
    });
    lines.filter(|(name, _)| !own.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_of_a_crate_of_another_project_counts_once() {
        let tree = "zarr-kit v0.1.0 (/a/zarr-kit)\nserde v1.0.1\nsyn v2.0.1\nsyn v3.0.1\nserde v1.0.1 (*)\n\
                    serde_derive v1.0.1 (proc-macro)\n\nzarr-spec v0.1.0 (/a/zarr-spec)\n";
        let found = others(tree, &["zarr-kit", "zarr-spec"].into());
        let names: Vec<_> = found.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["serde", "serde_derive", "syn", "syn"]);
    }

    #[test]
    fn a_crate_that_is_not_recorded_or_no_longer_found_is_an_error() {
        let recorded = "# A comment.\n\n[default library]\nserde\nsyn\n\n[default zarrctl]\nserde\n";
        assert_eq!(changes(recorded, recorded), []);
        let found = "[default library]\nserde\nsyn\nsyn\n[default zarrctl]\nclap\n";
        let found = changes(recorded, found).into_iter();
        let messages: Vec<_> = found.map(|found| format!("{}: {}", found.place, found.message)).collect();
        for (number, part) in [
            "default library: crate `syn` is new in this build",
            "default zarrctl: crate `clap` is new in this build",
            "default zarrctl: crate `serde` is no longer in this build",
        ]
        .into_iter()
        .enumerate()
        {
            assert!(messages[number].contains(part), "{messages:?}");
        }
        assert_eq!(messages.len(), 3);
    }

    #[test]
    fn more_crates_than_the_limit_are_an_error() {
        let minimal = &BUILDS[0];
        assert_eq!(above_limit(minimal, 40), None);
        let found = above_limit(minimal, 41).unwrap();
        assert!(found.message.starts_with("41 crates of other projects; the limit is 40"), "{found:?}");
        assert_eq!(above_limit(&BUILDS[2], 1000), None);
    }
}
