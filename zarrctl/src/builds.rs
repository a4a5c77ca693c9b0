//! The command that runs a build with all features, for messages of builds that lack some.

use std::ffi::OsStr;

/// The manifest, which shows whether this is a clone: in packages for the registry, Cargo replaces everything that is
/// inherited from the workspace.
const MANIFEST: &str = include_str!("../Cargo.toml");

/// Returns advice that ends in the command that repeats this command line in a build with all features.
pub(crate) fn full() -> String {
    let arguments: Vec<_> = std::env::args_os().skip(1).map(|argument| quoted(&argument)).collect();
    advice(MANIFEST, &arguments.join(" "))
}

fn advice(manifest: &str, arguments: &str) -> String {
    match manifest.contains(".workspace = true") {
        true => format!(
            "in a clone of the repository, run: cargo run --release -p zarrctl --features full -- {arguments}"
        ),
        false => "install a build with all features: cargo install zarrctl --features full".to_owned(),
    }
}

/// Quotes an argument for a POSIX shell, if necessary.
fn quoted(argument: &OsStr) -> String {
    let argument = argument.to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    match !argument.is_empty() && argument.bytes().all(is_plain) {
        true => argument.into_owned(),
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_that_of_a_clone_or_of_the_registry() {
        let clone = advice("version.workspace = true", "tree 's3://a b'");
        assert!(
            clone.ends_with(": cargo run --release -p zarrctl --features full -- tree 's3://a b'"),
            "{clone}"
        );
        let packaged = advice("version = \"0.1.0\"", "tree");
        assert!(packaged.ends_with(": cargo install zarrctl --features full"), "{packaged}");
    }

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        let texts = ["s3://a/b.zarr", "", "a b", "it's"].map(|text| quoted(OsStr::new(text)));
        assert_eq!(texts, ["s3://a/b.zarr", "''", "'a b'", r"'it'\''s'"]);
    }
}
