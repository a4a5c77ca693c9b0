//! The permitted dependencies between crates of the workspace.

use super::Finding;
use crate::workspace::{Member, Workspace};

/// The members that a member may depend on.
enum Allowed {
    /// Only the members in the first list; tests may also use the members in the second list.
    Only(&'static [&'static str], &'static [&'static str]),
    /// All members except those in these folders.
    AllBut(&'static [&'static str]),
}

/// Returns the rule for `member`. A crate without a rule is an error, because a new crate needs a decision.
fn allowed(member: &Member) -> Option<Allowed> {
    if member.plugin().is_some() {
        return Some(Allowed::Only(
            &["zarr-json", "zarr-spec", "zarr-metadata", "zarr-plugin-kit"],
            &["zarr-conformance", "zarr-loopback"],
        ));
    }
    Some(match member.folder.as_str() {
        "zarr-json" | "xtask" | "xtask/features" | "conformance/loopback" => Allowed::Only(&[], &[]),
        "zarr-spec" => Allowed::Only(&["zarr-json"], &[]),
        "zarr-metadata" | "zarr-plugin-kit" => Allowed::Only(&["zarr-json", "zarr-spec"], &[]),
        "zarr-plugin" => Allowed::Only(&["zarr-json", "zarr-spec"], &["zarr-metadata", "zarr-plugin-kit"]),
        "zarr-plugin-wasm" => {
            Allowed::Only(&["zarr-json", "zarr-spec", "zarr-plugin"], &["zarr-conformance"])
        }
        "examples/three-ways" => {
            Allowed::Only(&["zarr-spec"], &["zarr-conformance", "zarr-plugin", "zarr-plugin-wasm"])
        }
        // Plugins and the suite are not permitted even in tests: a cycle of published crates cannot be packaged.
        "zarr-engine" => Allowed::Only(&["zarr-json", "zarr-spec", "zarr-metadata", "zarr-plugin"], &[]),
        "zarr-archive" => Allowed::Only(&["zarr-json", "zarr-spec", "zarr-metadata", "zarr-engine"], &[]),
        "conformance" => {
            Allowed::Only(&["zarr-json", "zarr-spec", "zarr-metadata", "zarr-plugin-kit", "zarr-engine"], &[])
        }
        "zarr-kit" => Allowed::AllBut(&[
            "zarrctl",
            "python",
            "xtask",
            "benches",
            "conformance/interop",
            "conformance/library",
        ]),
        "zarrctl" => Allowed::Only(&["zarr-kit", "zarr-conformance"], &[]),
        "python" => Allowed::Only(&["zarr-kit", "zarrctl", "zarr-shared-features"], &[]),
        "benches/instructions" => Allowed::Only(&["zarr-kit"], &[]),
        "benches/peers" => Allowed::Only(&["zarr-kit", "zarr-loopback"], &[]),
        "fuzz" => Allowed::Only(&["zarr-kit", "zarr-conformance"], &[]),
        // Measures zarrs as its users build it: only the line protocol comes from this workspace.
        "benches/peers/zarrs" => Allowed::Only(&["zarr-peers"], &[]),
        "conformance/library" => Allowed::Only(&["zarr-kit", "zarr-plugin"], &[]),
        "benches" => Allowed::Only(&["zarr-kit", "zarr-conformance"], &[]),
        "conformance/interop" => {
            Allowed::Only(&["zarr-kit", "zarr-conformance"], &["zarr-conformance-library", "zarr-loopback"])
        }
        _ => return None,
    })
}

/// Checks the dependencies between members.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        let Some(allowed) = allowed(member) else {
            findings.push(Finding::error(
                member.manifest_file(),
                "no rule defines the permitted dependencies of this crate",
            ));
            continue;
        };
        for dependency in workspace.dependencies(member) {
            let package = dependency.package.as_str();
            let Some(ours) = workspace.member(package) else { continue };
            let may = match &allowed {
                Allowed::Only(always, for_tests) => {
                    always.contains(&package) || (dependency.is_dev && for_tests.contains(&package))
                }
                Allowed::AllBut(folders) => !folders.contains(&ours.folder.as_str()),
            };
            if !may {
                let message = format!("`{}` must not depend on `{package}`", member.name);
                findings.push(Finding::error(member.manifest_file(), message));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::made_up::Tree;

    fn manifest(name: &str, dependencies: &[&str], dev: &[&str]) -> String {
        let lines = |names: &[&str]| {
            names.iter().map(|name| format!("{name}.workspace = true\n")).collect::<String>()
        };
        let dependencies = lines(dependencies);
        let dev = lines(dev);
        format!("[package]\nname = '{name}'\n[dependencies]\n{dependencies}[dev-dependencies]\n{dev}")
    }

    fn messages(files: &[(&str, String)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(file, text)| (*file, text.as_str())).collect();
        let findings = check(&Tree::new(&files).load()).unwrap();
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn permitted_dependencies_are_accepted() {
        let found = messages(&[
            ("zarr-spec/Cargo.toml", manifest("zarr-spec", &["serde"], &[])),
            ("zarr-engine/Cargo.toml", manifest("zarr-engine", &["zarr-spec"], &[])),
            (
                "codecs/gzip/Cargo.toml",
                manifest("zarr-codec-gzip", &["zarr-spec", "flate2"], &["zarr-conformance"]),
            ),
            ("conformance/Cargo.toml", manifest("zarr-conformance", &["zarr-spec", "zarr-engine"], &[])),
            (
                "zarr-kit/Cargo.toml",
                manifest("zarr-kit", &["zarr-engine", "zarr-codec-gzip"], &["zarr-conformance"]),
            ),
            ("zarrctl/Cargo.toml", manifest("zarrctl", &["zarr-kit"], &[])),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn other_dependencies_are_refused() {
        let found = messages(&[
            ("zarr-spec/Cargo.toml", manifest("zarr-spec", &[], &["zarr-conformance"])),
            ("zarr-engine/Cargo.toml", manifest("zarr-engine", &["zarr-spec"], &["zarr-codec-gzip"])),
            ("codecs/gzip/Cargo.toml", manifest("zarr-codec-gzip", &["zarr-conformance"], &["zarr-engine"])),
            ("codecs/zlib/Cargo.toml", manifest("zarr-codec-zlib", &["zarr-codec-gzip"], &[])),
            ("conformance/Cargo.toml", manifest("zarr-conformance", &["zarr-kit"], &[])),
            ("zarr-kit/Cargo.toml", manifest("zarr-kit", &["zarrctl"], &[])),
            ("zarrctl/Cargo.toml", manifest("zarrctl", &["zarr-spec"], &[])),
        ]);
        for refused in [
            ("zarr-spec", "zarr-conformance"),
            ("zarr-engine", "zarr-codec-gzip"),
            ("zarr-codec-gzip", "zarr-conformance"),
            ("zarr-codec-gzip", "zarr-engine"),
            ("zarr-codec-zlib", "zarr-codec-gzip"),
            ("zarr-conformance", "zarr-kit"),
            ("zarr-kit", "zarrctl"),
            ("zarrctl", "zarr-spec"),
        ] {
            let message = format!("`{}` must not depend on `{}`", refused.0, refused.1);
            assert!(found.contains(&message), "{message}: {found:#?}");
        }
        assert_eq!(found.len(), 8);
    }

    #[test]
    fn a_crate_without_a_rule_is_an_error() {
        let tree = Tree::new(&[("other/Cargo.toml", "[package]\nname = 'other'")]);
        tree.write("Cargo.toml", "[workspace]\nmembers = ['other']");
        assert_eq!(check(&tree.load()).unwrap().len(), 1);
    }
}
