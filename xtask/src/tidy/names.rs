//! One name per plugin: the folder, the package, the feature of `zarr-kit` and the row in the plugin table agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::Value;

use super::{Finding, code_of};
use crate::workspace::{PLUGIN_FAMILIES, Workspace};

/// Checks the names of packages: `codecs/gzip` is the package `zarr-codec-gzip`.
pub(super) fn packages(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        if let Some((prefix, name)) = member.plugin() {
            let expected = format!("zarr-{prefix}-{name}");
            if member.name != expected {
                let message = format!("the package is called `{}`, not `{expected}`", member.name);
                findings.push(Finding::error(member.manifest_file(), message));
            }
        }
    }
    Ok(findings)
}

/// Features that only a program that needs them selects. Python runs what such data names, so no build reads it by default.
const OPT_IN: [&str; 1] = ["codec-pickle"];

/// Checks that `zarr-kit` has a feature and a `use … as _` for each plugin, and that `full` contains all of them.
pub(super) fn features(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let Some(umbrella) = workspace.member("zarr-kit") else {
        return Ok(vec![Finding::error("zarr-kit", "the crate is missing")]);
    };
    let place = umbrella.manifest_file();
    let features = features_of(&umbrella.manifest);
    let code = umbrella_code(workspace)?;
    let full = reached_from("full", &features);
    let mut findings = Vec::new();
    let mut expected = BTreeSet::new();
    for (prefix, name) in workspace.members.iter().filter_map(|member| member.plugin()) {
        let feature = format!("{prefix}-{name}");
        let package = format!("zarr-{prefix}-{name}");
        let link = format!("use {} as _;", package.replace('-', "_"));
        match features.get(&feature) {
            None => findings.push(Finding::error(&place, format!("there is no feature `{feature}`"))),
            Some(parts) if !parts.contains(&format!("dep:{package}")) => {
                findings.push(Finding::error(&place, format!("feature `{feature}` lacks `dep:{package}`")));
            }
            Some(_) if OPT_IN.contains(&&*feature) == full.contains(&feature) => {
                let what = if full.contains(&feature) { "must not contain" } else { "lacks" };
                findings.push(Finding::error(&place, format!("feature `full` {what} `{feature}`")));
            }
            Some(_) => {}
        }
        if !code.contains(&link) {
            findings.push(Finding::error(
                "zarr-kit/src",
                format!("the plugin is not linked: `{link}` is missing"),
            ));
        }
        expected.insert(feature);
    }
    let is_plugin = |feature: &&String| PLUGIN_FAMILIES.iter().any(|(_, prefix)| belongs(feature, prefix));
    for feature in features.keys().filter(is_plugin).filter(|feature| !expected.contains(*feature)) {
        findings.push(Finding::error(&place, format!("feature `{feature}` does not have a plugin")));
    }
    Ok(findings)
}

fn belongs(feature: &str, prefix: &str) -> bool {
    feature.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('-'))
}

fn features_of(manifest: &toml::Table) -> BTreeMap<String, Vec<String>> {
    let table = manifest.get("features").and_then(Value::as_table).into_iter().flatten();
    let strings = |value: &Value| {
        let values = value.as_array().into_iter().flatten();
        values.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    table.map(|(feature, parts)| (feature.clone(), strings(parts))).collect()
}

/// Returns `start` and every feature that it enables, directly or indirectly.
fn reached_from(start: &str, features: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start.to_owned()];
    while let Some(feature) = open.pop() {
        open.extend(
            features.get(&feature).into_iter().flatten().filter(|it| !reached.contains(*it)).cloned(),
        );
        reached.insert(feature);
    }
    reached
}

fn umbrella_code(workspace: &Workspace) -> Result<String, String> {
    let mut code = String::new();
    for file in workspace.rust_files()?.iter().filter(|file| file.starts_with("zarr-kit/src")) {
        code.push_str(&code_of(workspace, file)?);
    }
    Ok(code)
}

/// The document that has the plugin table.
const TABLE: &str = "docs/extensions.md";

/// Checks that the plugin table has one row for each plugin and no other rows.
pub(super) fn plugin_table(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let Ok(page) = workspace.read(Path::new(TABLE)) else {
        return Ok(vec![Finding::error(TABLE, "the file is missing")]);
    };
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).filter_map(plugin_in).collect();
    let plugins = workspace.members.iter().filter(|member| member.plugin().is_some());
    let plugins: BTreeSet<&str> = plugins.map(|member| member.name.as_str()).collect();
    let mut findings = Vec::new();
    for plugin in &plugins {
        let count = rows.iter().filter(|row| row == &plugin).count();
        if count != 1 {
            findings.push(Finding::error(TABLE, format!("`{plugin}` has {count} rows in the plugin table")));
        }
    }
    for row in rows.iter().filter(|row| !plugins.contains(*row)) {
        findings.push(Finding::error(TABLE, format!("the plugin table names `{row}`, which is not a crate")));
    }
    Ok(findings)
}

/// Returns the first plugin package that a table row names in backticks.
fn plugin_in(row: &str) -> Option<&str> {
    let quoted = row.split('`').skip(1).step_by(2);
    let is_plugin = |name: &str| {
        let rest = name.strip_prefix("zarr-");
        rest.is_some_and(|rest| PLUGIN_FAMILIES.iter().any(|(_, prefix)| belongs(rest, prefix)))
    };
    quoted.into_iter().find(|name| is_plugin(name))
}

/// Checks that all plugin crates have the same files: `src/lib.rs` and `tests/it.rs`.
pub(super) fn rooms(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for member in workspace.members.iter().filter(|member| member.plugin().is_some()) {
        for room in ["src/lib.rs", "tests/it.rs"] {
            if !workspace.root.join(&member.folder).join(room).is_file() {
                findings.push(Finding::error(&member.folder, format!("`{room}` is missing")));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::made_up::Tree;

    const GZIP: (&str, &str) = ("codecs/gzip/Cargo.toml", "[package]\nname = 'zarr-codec-gzip'");

    fn messages(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_package_is_named_after_its_folder() {
        let wrong = ("metadata-encodings/json/Cargo.toml", "[package]\nname = 'zarr-metadata-json'");
        let found = messages(packages(&Tree::new(&[GZIP, wrong]).load()).unwrap());
        assert_eq!(found, ["the package is called `zarr-metadata-json`, not `zarr-metadata-encoding-json`"]);
    }

    fn umbrella(features: &str, code: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = 'zarr-kit'\n[features]\n{features}");
        let files = [GZIP, ("zarr-kit/Cargo.toml", &manifest), ("zarr-kit/src/lib.rs", code)];
        messages(features_check(&Tree::new(&files).load()))
    }

    fn features_check(workspace: &Workspace) -> Vec<Finding> {
        super::features(workspace).unwrap()
    }

    #[test]
    fn a_plugin_has_a_feature_and_a_link_in_zarr_kit() {
        let link = "#[cfg(feature = \"codec-gzip\")]\nuse zarr_codec_gzip as _;";
        let feature = "codec-gzip = ['dep:zarr-codec-gzip']";
        assert_eq!(umbrella(&format!("{feature}\npure = ['codec-gzip']\nfull = ['pure']"), link), [""; 0]);
        assert_eq!(umbrella(&format!("{feature}\nfull = []"), link), ["feature `full` lacks `codec-gzip`"]);
        assert_eq!(umbrella("full = []", link), ["there is no feature `codec-gzip`"]);
        assert_eq!(
            umbrella("codec-gzip = []\nfull = ['codec-gzip']", link),
            ["feature `codec-gzip` lacks `dep:zarr-codec-gzip`"]
        );
        assert_eq!(
            umbrella(&format!("{feature}\nfull = ['codec-gzip', 'codec-old']\ncodec-old = []"), link),
            ["feature `codec-old` does not have a plugin"]
        );
        assert_eq!(
            umbrella(&format!("{feature}\nfull = ['codec-gzip']"), "// use zarr_codec_gzip as _;"),
            ["the plugin is not linked: `use zarr_codec_gzip as _;` is missing"]
        );
    }

    #[test]
    fn the_plugin_table_has_one_row_for_each_plugin_and_no_other_rows() {
        let row = "| gzip | `zarr-codec-gzip` | `codec-gzip` |\n";
        let found = |text: &str| messages(plugin_table(&Tree::new(&[GZIP, (TABLE, text)]).load()).unwrap());
        assert_eq!(found(row), [""; 0]);
        assert_eq!(found("see `zarr-codec-gzip`\n"), ["`zarr-codec-gzip` has 0 rows in the plugin table"]);
        assert_eq!(found(&row.repeat(2)), ["`zarr-codec-gzip` has 2 rows in the plugin table"]);
        assert_eq!(
            found(&format!("{row}| `zarr-store-zip` |\n| `zarr-kit` |\n")),
            ["the plugin table names `zarr-store-zip`, which is not a crate"]
        );
        assert_eq!(messages(plugin_table(&Tree::new(&[GZIP]).load()).unwrap()), ["the file is missing"]);
    }

    #[test]
    fn a_plugin_has_its_two_files() {
        let tree = Tree::new(&[GZIP, ("codecs/gzip/src/lib.rs", "")]);
        assert_eq!(messages(rooms(&tree.load()).unwrap()), ["`tests/it.rs` is missing"]);
        tree.write("codecs/gzip/tests/it.rs", "");
        assert_eq!(messages(rooms(&tree.load()).unwrap()), [""; 0]);
    }
}
