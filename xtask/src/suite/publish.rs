//! A publication of all crates without the upload. It asks the registry, so it needs the network.

use super::{Outcome, Run, shown};

/// Parts of the messages of cargo about a registry that it cannot reach.
const UNREACHABLE: &[&str] = &[
    "Could not resolve host",
    "Couldn't connect to server",
    "Connection refused",
    "Timeout was reached",
    "failed to download from",
];

pub(super) fn step(run: &mut Run<'_>) -> Result<Outcome, String> {
    let mut command = run.cargo(&["publish", "--workspace", "--dry-run", "--allow-dirty", "--quiet"]);
    if !run.is_verifying {
        command.arg("--no-verify");
    }
    command.arg("--target-dir").arg(&run.target);
    let output = command.output().map_err(|error| format!("{}: {error}", shown(&command)))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    let others = messages.lines().filter(|line| !line.contains("aborting upload due to dry run"));
    let others: Vec<&str> = others.filter(|line| !line.is_empty()).collect();
    others.iter().for_each(|line| eprintln!("{line}"));
    Ok(match output.status.success() {
        true if has_warning(&others) => Outcome::Failed(format!("{}: warnings", shown(&command))),
        true => Outcome::Passed,
        false => failure(&messages, &shown(&command)),
    })
}

/// Returns whether a package has warnings. Other checks may miss them, because they compile the package with all
/// features that the rest of the workspace needs.
fn has_warning(messages: &[&str]) -> bool {
    messages.iter().any(|line| line.starts_with("warning: "))
}

fn failure(messages: &str, command: &str) -> Outcome {
    match UNREACHABLE.iter().any(|part| messages.contains(part)) {
        true => Outcome::Skipped("the registry cannot be reached".to_owned()),
        false => Outcome::Failed(command.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_found_by_its_first_line() {
        assert!(has_warning(&["warning: unused variable: `a`", "  --> src/a.rs:1:2"]));
        assert!(!has_warning(&["   Compiling a v0.1.0", "  = note: the warning: is off"]));
    }

    #[test]
    fn only_a_registry_that_cannot_be_reached_is_a_skip() {
        let unreachable =
            "error: failed to update registry\n\nCaused by:\n  [6] Could not resolve host: example.org";
        let skipped = Outcome::Skipped("the registry cannot be reached".to_owned());
        assert_eq!(failure(unreachable, "cargo publish"), skipped);
        let failed = Outcome::Failed("cargo publish".to_owned());
        assert_eq!(failure("error: crate `a` has no description", "cargo publish"), failed);
    }
}
