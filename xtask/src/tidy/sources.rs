//! Rules for the text of source files.

use std::fs;
use std::path::Path;

use super::{Finding, code_of, shown};
use crate::rust_source::has_word;
use crate::workspace::Workspace;

/// The files and folders that may contain `unsafe`: copy kernels, their memory, shared outputs, numbers as bytes,
/// codecs that call C, a database and a temporary file that are mapped into memory, the plugin ABI, a counting allocator, test buffers next
/// to guard pages, tests that trace a program, a test of a structure as an element, the memory of Python objects, and
/// calls of C and of zarrs in the comparison with peers.
const UNSAFE_ALLOWED: &[&str] = &[
    "zarr-engine/src/copy",
    "zarr-engine/src/element.rs",
    "zarr-engine/src/memory",
    "zarr-engine/src/reader/output.rs",
    "zarr-spec/src/output.rs",
    "zarr-plugin/src/abi",
    "zarr-plugin/src/ffi",
    "zarr-plugin/src/lib.rs",
    "zarr-plugin-kit/src/planes/lanes.rs",
    "codecs/blosc/src/",
    "codecs/gzip/src/whole.rs",
    "codecs/jpeg2k/src/decoder.rs",
    "stores/lmdb/src/environment.rs",
    "stores/zip/src/scratch/mapped.rs",
    "conformance/src/suite/allocations.rs",
    "conformance/src/suite/guarded.rs",
    "conformance/interop/tests/it/element_types.rs",
    "examples/three-ways/src/lib.rs",
    "benches/benches/codecs.rs",
    "benches/peers/src/memory.rs",
    "benches/peers/src/bin/floors/blosc.rs",
    "benches/peers/zarrs/src/kept.rs",
    "zarrctl/tests/it/kills/trace.rs",
    "python/src/elements.rs",
    "python/src/strided.rs",
    "python/src/strings.rs",
];

/// Markers of unfinished code and ignored tests.
const UNFINISHED: &[&str] = &["todo!(", "unimplemented!(", "#[ignore"];

/// Paths of particular machines. They are split so that this file does not contain them.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/bash", "_jobs"), concat!("/fa", "rm/")];

/// A file with more than this number of lines should be split.
const LONG_FILE: usize = 500;

/// Lists with an entry for each plugin, which are easier to read as one file.
const LISTS: &[&str] = &["zarr-kit/src/catalogue.rs"];

/// Checks that `unsafe` occurs only in the listed files.
pub(super) fn unsafe_code(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let is_allowed = |file: &str| UNSAFE_ALLOWED.iter().any(|allowed| file.starts_with(allowed));
    in_code(workspace, |file, line| {
        (has_word(line, "unsafe") && !is_allowed(file))
            .then(|| "`unsafe` is not allowed in this file".to_owned())
    })
}

/// Checks that there is no unfinished code and no ignored test.
pub(super) fn unfinished(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    in_code(workspace, |_, line| {
        let found = UNFINISHED.iter().find(|word| line.contains(*word))?;
        Some(format!("`{found}` is not allowed"))
    })
}

/// Applies `look` to the lines of all Rust sources, without literals and comments, and returns its findings.
fn in_code(
    workspace: &Workspace,
    look: impl Fn(&str, &str) -> Option<String>,
) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for file in workspace.rust_files()? {
        let place = shown(&file);
        for (line, number) in code_of(workspace, &file)?.lines().zip(1..) {
            findings.extend(
                look(&place, line).map(|message| Finding::error(format!("{place}:{number}"), message)),
            );
        }
    }
    Ok(findings)
}

/// Checks that no file contains a path of the machine on which it was written.
pub(super) fn machine_paths(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for file in workspace.project_files()? {
        let bytes =
            fs::read(workspace.root.join(&file)).map_err(|error| format!("{}: {error}", file.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        for (line, number) in text.lines().zip(1..) {
            if let Some(path) = machine_path_in(line) {
                findings
                    .push(Finding::error(format!("{}:{number}", shown(&file)), format!("names `{path}`")));
            }
        }
    }
    Ok(findings)
}

/// Returns a path of a machine in a line. It must not follow other path characters: early drafts have keys such as
/// `meta/root`.
fn machine_path_in(line: &str) -> Option<&'static str> {
    let is_inside =
        |before: &str| before.ends_with(|it: char| it.is_alphanumeric() || "._-*/})".contains(it));
    let begins = |path: &str| line.match_indices(path).any(|(at, _)| !is_inside(&line[..at]));
    MACHINE_PATHS.iter().copied().find(|path| begins(path))
}

/// Warns about long files. It is only a warning, since some files are better whole.
pub(super) fn length(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for file in workspace.rust_files()? {
        let lines = workspace.read(&file)?.lines().count();
        if lines > LONG_FILE && !LISTS.contains(&shown(Path::new(&file)).as_str()) {
            findings.push(Finding::warning(shown(Path::new(&file)), format!("{lines} lines")));
        }
    }
    Ok(findings)
}

/// The maximum number of lines of `zarr-spec/src`, including tests and comments. Every plugin author depends on this
/// crate.
const CONTRACT_LINES: usize = 7500;

/// Checks that the crate of the contracts stays small enough to be read.
pub(super) fn contract(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut lines = 0;
    for file in workspace.rust_files()? {
        if shown(&file).starts_with("zarr-spec/src/") {
            lines += workspace.read(&file)?.lines().count();
        }
    }
    let message = format!("{lines} lines; the limit is {CONTRACT_LINES}");
    let is_long = lines > CONTRACT_LINES;
    Ok(is_long.then(|| Finding::error("zarr-spec/src", message)).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::made_up::Tree;

    fn places(check: fn(&Workspace) -> Result<Vec<Finding>, String>, file: &str, text: &str) -> Vec<String> {
        let tree = Tree::new(&[
            ("zarr-engine/Cargo.toml", "[package]\nname = 'zarr-engine'"),
            ("codecs/blosc/Cargo.toml", "[package]\nname = 'zarr-codec-blosc'"),
            (file, text),
        ]);
        check(&tree.load()).unwrap().into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn unsafe_occurs_only_in_the_listed_files() {
        let code = "//! Nothing unsafe.\nfn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(places(unsafe_code, "zarr-engine/src/plan.rs", code), ["zarr-engine/src/plan.rs:3"]);
        assert_eq!(places(unsafe_code, "zarr-engine/src/copy/rows.rs", code), [""; 0]);
        assert_eq!(places(unsafe_code, "codecs/blosc/src/lib.rs", code), [""; 0]);
        assert_eq!(places(unsafe_code, "zarr-engine/src/plan.rs", "#![deny(unsafe_code)]"), [""; 0]);
    }

    #[test]
    fn unfinished_code_is_found_but_not_in_comments_and_literals() {
        for code in
            ["fn f() { todo!() }", "fn f() { unimplemented!(\"x\") }", "#[ignore = \"slow\"]\nfn f() {}"]
        {
            assert_eq!(
                places(unfinished, "zarr-engine/src/lib.rs", code),
                ["zarr-engine/src/lib.rs:1"],
                "{code}"
            );
        }
        let harmless = "// todo!() #[ignore]\nconst A: &str = \"unimplemented!()\";";
        assert_eq!(places(unfinished, "zarr-engine/src/lib.rs", harmless), [""; 0]);
    }

    #[test]
    fn a_path_of_one_machine_is_found_in_any_file() {
        for path in MACHINE_PATHS {
            let text = format!("first\nsee {path}x\n");
            assert_eq!(places(machine_paths, "docs/guide.md", &text), ["docs/guide.md:2"], "{path}");
        }
        let harmless = format!("key meta{0}a.array.json, data{0}a", MACHINE_PATHS[1]);
        assert_eq!(places(machine_paths, "docs/guide.md", &harmless), [""; 0]);
        assert_eq!(places(machine_paths, "target/x", &format!("see {}", MACHINE_PATHS[0])), [""; 0]);
    }

    #[test]
    fn a_contract_beyond_its_limit_is_an_error() {
        let half = "\n".repeat(CONTRACT_LINES / 2);
        let tree = Tree::new(&[
            ("zarr-spec/Cargo.toml", "[package]\nname = 'zarr-spec'"),
            ("zarr-spec/src/lib.rs", &half),
            ("zarr-spec/src/codec.rs", &half),
            ("zarr-spec/tests/it.rs", &half),
        ]);
        assert_eq!(contract(&tree.load()).unwrap(), []);
        tree.write("zarr-spec/src/grid.rs", "\n");
        let message = "7501 lines; the limit is 7500";
        assert_eq!(contract(&tree.load()).unwrap(), [Finding::error("zarr-spec/src", message)]);
    }

    #[test]
    fn a_long_file_is_a_warning() {
        let tree = Tree::new(&[
            ("zarr-engine/Cargo.toml", "[package]\nname = 'zarr-engine'"),
            ("zarr-engine/src/lib.rs", &"\n".repeat(LONG_FILE)),
            ("zarr-engine/src/long.rs", &"\n".repeat(LONG_FILE + 1)),
        ]);
        let findings = length(&tree.load()).unwrap();
        assert_eq!(findings, [Finding::warning("zarr-engine/src/long.rs", "501 lines")]);
    }
}
