//! Which crate of the workspace may depend on which.

use super::Finding;
use crate::workspace::{Member, Workspace};

/// Whom a member may depend on, of our own crates.
enum Allowed {
    /// These; and for its tests also those.
    Only(&'static [&'static str], &'static [&'static str]),
    /// All but those in these folders.
    AllBut(&'static [&'static str]),
}

/// The rule for `member`. A crate that no rule names is an error: a new room needs a decision.
fn allowed(member: &Member) -> Option<Allowed> {
    if member.plugin().is_some() {
        return Some(Allowed::Only(
            &["zarr-json", "zarr-spec", "zarr-metadata", "zarr-plugin-kit"],
            &["zarr-conformance"],
        ));
    }
    Some(match member.folder.as_str() {
        "zarr-json" | "xtask" => Allowed::Only(&[], &[]),
        "zarr-spec" => Allowed::Only(&["zarr-json"], &[]),
        "zarr-metadata" | "zarr-plugin-kit" => Allowed::Only(&["zarr-json", "zarr-spec"], &[]),
        "zarr-plugin" => Allowed::Only(&["zarr-json", "zarr-spec"], &["zarr-metadata", "zarr-plugin-kit"]),
        "zarr-plugin-wasm" => {
            Allowed::Only(&["zarr-json", "zarr-spec", "zarr-plugin"], &["zarr-conformance"])
        }
        "examples/three-ways" => {
            Allowed::Only(&["zarr-spec"], &["zarr-conformance", "zarr-plugin", "zarr-plugin-wasm"])
        }
        // No plugin even for its tests, and not the suite: a ring of published crates cannot be packaged.
        "zarr-engine" => Allowed::Only(&["zarr-json", "zarr-spec", "zarr-metadata", "zarr-plugin"], &[]),
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
        "python" => Allowed::Only(&["zarr-kit"], &[]),
        "benches/instructions" | "benches/peers" => Allowed::Only(&["zarr-kit"], &[]),
        "fuzz" => Allowed::Only(&["zarr-kit", "zarr-conformance"], &[]),
        // It shows what its users get: nothing of ours is built into it but the questions and answers.
        "benches/peers/zarrs" => Allowed::Only(&["zarr-peers"], &[]),
        "conformance/library" => Allowed::Only(&["zarr-kit", "zarr-plugin"], &[]),
        "benches" => Allowed::Only(&["zarr-kit", "zarr-conformance"], &[]),
        "conformance/interop" => {
            Allowed::Only(&["zarr-kit", "zarr-conformance"], &["zarr-conformance-library"])
        }
        _ => return None,
    })
}

/// Dependencies between members follow the arrows.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        let Some(allowed) = allowed(member) else {
            findings
                .push(Finding::error(member.manifest_file(), "no rule says what this crate may depend on"));
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
    fn the_arrows_of_the_architecture_are_accepted() {
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
    fn every_arrow_that_is_not_there_is_refused() {
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
