//! Help texts: a snapshot of all of them, and the examples, which are run.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Place, program, snapshot, text};

/// A verb and the arguments that select it, such as `plugins show`.
type Verb = Vec<String>;

/// Every verb, with the verbs below it, in the order of the help texts.
fn verbs() -> Vec<Verb> {
    let mut found = vec![Verb::new()];
    let mut next = 0;
    while next < found.len() {
        let verb = found[next].clone();
        let inner: Vec<Verb> = inner_verbs(&help(&verb)).map(|name| [&verb[..], &[name]].concat()).collect();
        next += 1;
        found.splice(next..next, inner);
    }
    found
}

/// The verbs that a help text lists, except `help`.
fn inner_verbs(help: &str) -> impl Iterator<Item = String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned)
}

fn help(verb: &Verb) -> String {
    let mut arguments: Vec<&str> = verb.iter().map(String::as_str).collect();
    arguments.push("--help");
    text(&arguments)
}

fn examples(help: &str) -> Vec<&str> {
    let after = help.split_once("\nExamples:\n").map_or("", |(_, examples)| examples);
    after.lines().map(str::trim_start).filter(|line| !line.is_empty()).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn help_texts_match_the_snapshot() {
    let texts = verbs().into_iter().map(|verb| {
        let command = [&["zarrctl".to_owned()], &verb[..], &["--help".to_owned()]].concat().join(" ");
        format!("$ {command}\n{}\n", help(&verb))
    });
    snapshot("help.txt", &texts.collect::<String>());
}

#[test]
fn each_help_text_has_examples_and_begins_with_a_verb() {
    for verb in verbs() {
        let help = help(&verb);
        assert!(!examples(&help).is_empty(), "{verb:?}");
        let first = help.split_whitespace().next().unwrap();
        assert!(!first.ends_with('s') || first == "Process", "{verb:?} begins with {first}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_examples_of_all_help_texts_work() {
    let place = Place::new();
    text(&["demo", &place.at("template/demo")]);
    fs::create_dir(place.path("template/empty")).unwrap();
    compile_plugin(&place.path("template/libxor.so"));
    let folder = Path::new(env!("CARGO_BIN_EXE_zarrctl")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    for (number, verb) in verbs().iter().enumerate() {
        let work = place.path(&number.to_string());
        let copied = Command::new("cp").arg("-r").arg(place.path("template")).arg(&work).status().unwrap();
        assert!(copied.success());
        for example in examples(&help(verb)) {
            let is_server = example.starts_with("zarrctl serve ");
            let example = if is_server { format!("exec {example}") } else { example.to_owned() };
            let mut shell = Command::new("sh");
            shell.args(["-c", &example]).current_dir(&work).env("PATH", &path).env("HOME", &work);
            for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZARR_PLUGIN_PATH"] {
                shell.env_remove(variable);
            }
            if is_server {
                assert_serves(&mut shell);
                continue;
            }
            let output = shell.output().unwrap();
            let messages = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{example}: {messages}");
        }
    }
}

/// Starts a server, and ends it after it has printed its URL.
#[cfg(target_os = "linux")]
fn assert_serves(command: &mut Command) {
    let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(line.starts_with("http://127.0.0.1:"), "{command:?} printed `{line}`");
}

/// Compiles the codec `example.xor` of plugin `xor-c`.
#[cfg(target_os = "linux")]
fn compile_plugin(library: &Path) {
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zarr-plugin");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o"]).arg(library);
    compiler.arg(plugin.join("tests/plugins/xor.c")).arg("-I").arg(plugin.join("include"));
    assert!(compiler.status().unwrap().success());
}

#[test]
fn a_misspelt_verb_or_option_gets_a_suggestion() {
    for (wrong, right) in [("tre", "'tree'"), ("inof", "'info'"), ("consolidat", "'consolidate'")] {
        let output = program().arg(wrong).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(message.contains("similar subcommand exists") && message.contains(right), "{message}");
    }
}
