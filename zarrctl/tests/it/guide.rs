//! Runs every command of `docs/plugins.md` in order, as a reader would type it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::new::shared_target;
use crate::support::Place;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A fenced code block.
struct Block<'t> {
    kind: &'t str,
    text: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let text =
                lines.by_ref().take_while(|line| !line.starts_with("```")).map(|line| format!("{line}\n"));
            blocks.push(Block { kind, text: text.collect() });
        }
    }
    blocks
}

/// Returns all blocks as one script. Cargo uses the target folder of other tests and the lock file of the workspace.
fn script(blocks: &[Block<'_>]) -> String {
    let mut script = "set -e\ncargo() {\n  [ -e target ] || ln -s \"$SHARED_TARGET\" target\n  \
        [ -e Cargo.lock ] || cp \"$LOCK_FILE\" Cargo.lock\n  command cargo \"$@\"\n}\n"
        .to_owned();
    for (number, Block { kind, text }) in blocks.iter().enumerate() {
        match *kind {
            "sh" => script.push_str(text),
            "sh fails" => {
                script.push_str(&format!("if\n{text}then echo \"block {number} succeeds\"; exit 1; fi\n"))
            }
            "rust" => script.push_str(&format!("cat > src/lib.rs <<'END_OF_BLOCK'\n{text}END_OF_BLOCK\n")),
            // `sh skip`: commands that need another compiler or folder. `python`: the tests of the Python package run it.
            "text" | "sh skip" | "python" => {}
            other => panic!("a block of kind `{other}`"),
        }
    }
    script
}

#[test]
fn the_commands_of_the_guide_print_what_it_shows() {
    let page = fs::read_to_string(format!("{ROOT}/docs/plugins.md")).unwrap();
    let blocks = blocks(&page);
    let place = Place::new();
    let home = std::env::var("HOME").unwrap_or_default();
    let kept = |name: &str, folder: &str| std::env::var(name).unwrap_or_else(|_| format!("{home}/{folder}"));
    let program = Path::new(env!("CARGO_BIN_EXE_zarrctl")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let target = shared_target();
    fs::create_dir_all(&target).unwrap();

    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script(&blocks)).current_dir(place.path(""));
    shell.env("CARGO_HOME", kept("CARGO_HOME", ".cargo")).env("RUSTUP_HOME", kept("RUSTUP_HOME", ".rustup"));
    shell.env("PATH", path).env("HOME", place.path("")).env("CARGO_NET_OFFLINE", "true");
    // The speed of the plugin does not matter here.
    shell.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    shell
        .env("SHARED_TARGET", target)
        .env("LOCK_FILE", Path::new(ROOT).canonicalize().unwrap().join("Cargo.lock"));
    for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZARR_PLUGIN_PATH", "CARGO_TARGET_DIR"] {
        shell.env_remove(variable);
    }
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    // The output has every line that the page shows; `…` stands for any text.
    for Block { text, .. } in blocks.iter().filter(|block| block.kind == "text") {
        for line in text.lines() {
            let found = said.lines().any(|other| line.split('…').all(|part| other.contains(part)));
            assert!(found, "the page shows\n{line}\nbut the output is\n{said}");
        }
    }
    assert!(blocks.iter().filter(|block| block.kind == "text").count() >= 4);
}

/// Runs the commands of each page about a kind of plugin. The conformance tests of `plugins new` build the results.
#[test]
fn the_commands_on_the_pages_of_plugin_kinds_work() {
    let program = Path::new(env!("CARGO_BIN_EXE_zarrctl")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut count = 0;
    for entry in fs::read_dir(format!("{ROOT}/docs/plugins")).unwrap() {
        let page = fs::read_to_string(entry.unwrap().path()).unwrap();
        let blocks = blocks(&page);
        for Block { text, .. } in blocks.iter().filter(|block| block.kind == "sh") {
            let place = Place::new();
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(text).current_dir(place.path("")).env("PATH", &path);
            let output = shell.output().unwrap();
            assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
            count += 1;
        }
    }
    assert!(count >= 8, "{count} commands");
}

/// Parses every command of the documents. `--help` at the end of a command prevents it from running.
#[test]
fn the_commands_of_the_documents_have_valid_options() {
    let program = Path::new(env!("CARGO_BIN_EXE_zarrctl")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let pages = fs::read_dir(format!("{ROOT}/docs")).unwrap().map(|entry| entry.unwrap().path());
    let others = ["README.md", "CONTRIBUTING.md", "python/README.md"].map(|name| Path::new(ROOT).join(name));
    let mut count = 0;
    for page in pages.filter(|page| page.extension().is_some_and(|kind| kind == "md")).chain(others) {
        let text = fs::read_to_string(&page).unwrap();
        let blocks = blocks(&text);
        let lines =
            blocks.iter().filter(|block| block.kind == "sh").flat_map(|Block { text, .. }| text.lines());
        let commands = lines.flat_map(|line| line.split("  #").next().unwrap_or_default().split(" && "));
        for command in commands.filter(|command| command.starts_with("zarrctl ")) {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(format!("{command} --help")).env("PATH", &path);
            let output = shell.output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {command}\n{errors}", page.display());
            count += 1;
        }
    }
    assert!(count >= 30, "{count} commands");
}
