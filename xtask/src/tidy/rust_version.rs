//! Checks that `rust-version` is at least as new as the dependencies of the published crates require.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use serde::Deserialize;
use toml::Value;

use super::{Finding, Measurement};
use crate::workspace::Workspace;

/// The parts of the output of `cargo metadata` that the check reads.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    rust_version: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Debug, Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

/// Prints which dependencies require the newest compiler, and reports dependencies that require a newer compiler than
/// declared.
pub(super) fn check(workspace: &Workspace) -> Result<Measurement, String> {
    let declared = workspace.manifest.get("workspace").and_then(|it| it.get("package"));
    let declared = declared.and_then(|package| package.get("rust-version")).and_then(Value::as_str);
    let declared = declared.ok_or("the root manifest declares no `rust-version`")?;
    let published = workspace.members.iter().filter(|member| member.is_published());
    let published: BTreeSet<&str> = published.map(|member| member.name.as_str()).collect();
    compared(declared, &metadata(workspace)?, &published)
}

fn compared(declared: &str, metadata: &Metadata, published: &BTreeSet<&str>) -> Result<Measurement, String> {
    let reached = reached(metadata, published);
    let is_other = |package: &&Package| reached.contains(&*package.id) && !published.contains(&*package.name);
    let mut by_version: BTreeMap<Version, BTreeSet<&str>> = BTreeMap::new();
    for package in metadata.packages.iter().filter(is_other) {
        if let Some(version) = &package.rust_version {
            by_version.entry(parsed(version)?).or_default().insert(&package.name);
        }
    }
    let mut measurement = Measurement::default();
    let Some((newest, packages)) = by_version.last_key_value() else { return Ok(measurement) };
    let packages = packages.iter().copied().collect::<Vec<_>>().join(", ");
    let Version(major, minor) = newest;
    let line = format!("rust-version {declared}: dependencies require {major}.{minor} ({packages})");
    if *newest > parsed(declared)? {
        measurement.findings.push(Finding::error("Cargo.toml", line.clone()));
    }
    measurement.lines.push(line);
    Ok(measurement)
}

/// Returns the packages that are built with the published crates and all their features.
fn reached<'m>(metadata: &'m Metadata, published: &BTreeSet<&str>) -> BTreeSet<&'m str> {
    let nodes: BTreeMap<&str, &Node> = metadata.resolve.nodes.iter().map(|node| (&*node.id, node)).collect();
    let starts = metadata.packages.iter().filter(|package| published.contains(&*package.name));
    let mut open: Vec<&str> = starts.map(|package| &*package.id).collect();
    let mut reached = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !reached.insert(id) {
            continue;
        }
        let edges = nodes.get(id).into_iter().flat_map(|node| &node.deps);
        let is_built = |edge: &&Edge| edge.dep_kinds.iter().any(|it| it.kind.as_deref() != Some("dev"));
        open.extend(edges.filter(is_built).map(|edge| &*edge.pkg));
    }
    reached
}

/// A major and a minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u64, u64);

fn parsed(version: &str) -> Result<Version, String> {
    let mut parts = version.split('.').map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Ok(Version(major, minor)),
        (Some(Ok(major)), None) => Ok(Version(major, 0)),
        _ => Err(format!("`{version}` is not a version of Rust")),
    }
}

fn metadata(workspace: &Workspace) -> Result<Metadata, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--all-features"]);
    let output = command.current_dir(&workspace.root).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{
        "packages": [
            {"id": "ours", "name": "zarr-spec", "rust_version": "1.95"},
            {"id": "a", "name": "a", "rust_version": "1.85.1"},
            {"id": "b", "name": "b", "rust_version": "1.89"},
            {"id": "dev", "name": "c", "rust_version": "1.99"}
        ],
        "resolve": {"nodes": [
            {"id": "ours", "deps": [
                {"pkg": "a", "dep_kinds": [{"kind": null}]}, {"pkg": "dev", "dep_kinds": [{"kind": "dev"}]}
            ]},
            {"id": "a", "deps": [{"pkg": "b", "dep_kinds": [{"kind": "build"}]}]},
            {"id": "b", "deps": []},
            {"id": "dev", "deps": []}
        ]}
    }"#;

    #[test]
    fn rust_version_must_not_be_older_than_that_of_a_dependency() {
        let metadata: Metadata = serde_json::from_str(METADATA).unwrap();
        let published = BTreeSet::from(["zarr-spec"]);
        let found = |declared| compared(declared, &metadata, &published).unwrap();
        let good = found("1.89");
        assert_eq!(good.lines, ["rust-version 1.89: dependencies require 1.89 (b)"]);
        assert_eq!(good.findings, []);
        assert_eq!(found("1.88").findings.len(), 1);
        assert!(compared("new", &metadata, &published).is_err());
    }
}
