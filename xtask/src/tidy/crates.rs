//! Counts the crates of other projects in builds of the library and of `zarrctl`.

use std::collections::BTreeSet;
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
    Build { name: "default zarrctl", arguments: &["--package=zarrctl"], limit: None },
];

/// Counts the normal and build dependencies of each build on this system.
pub(super) fn count(workspace: &Workspace) -> Result<Measurement, String> {
    let own: BTreeSet<&str> = workspace.members.iter().map(|member| member.name.as_str()).collect();
    let mut measurement = Measurement::default();
    for build in BUILDS {
        let count = others(&tree(&workspace.root, build)?, &own).len();
        measurement.lines.push(match build.limit {
            Some(limit) => format!("{}: {count} crates of other projects (at most {limit})", build.name),
            None => format!("{}: {count} crates of other projects", build.name),
        });
        measurement.findings.extend(above_limit(build, count));
    }
    Ok(measurement)
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
    command.args(["tree", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"]);
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
    fn more_crates_than_the_limit_are_an_error() {
        let minimal = &BUILDS[0];
        assert_eq!(above_limit(minimal, 40), None);
        let found = above_limit(minimal, 41).unwrap();
        assert!(found.message.starts_with("41 crates of other projects; the limit is 40"), "{found:?}");
        assert_eq!(above_limit(&BUILDS[2], 1000), None);
    }
}
