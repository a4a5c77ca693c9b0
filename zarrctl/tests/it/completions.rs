//! `completions`, tried in the shells.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use crate::showing::data_set;
use crate::support::{Place, bytes, program, text};

#[test]
fn the_nodes_of_a_store_are_completed() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    bytes(&["create", &store, "/g/deep", "--shape", "2", "--dtype", "int8"]);
    let nodes = |words: &[&str]| text(&[&["complete-node", "--"], words].concat());
    assert_eq!(nodes(&["get", &store, "t"]), "t2m\ntime\n");
    assert_eq!(nodes(&["info", &store, ""]), "g/\nlat\nt2m\ntime\n");
    assert_eq!(nodes(&["info", "--json", &store, "/g/"]), "/g/deep\n");
    for words in
        [&["get", &store][..], &["get", "nowhere", "t"], &["copy", &store, "t"], &["get", &store, "none/"]]
    {
        assert_eq!(nodes(words), "", "{words:?}");
    }
}

/// Returns a shell in which `zarrctl` is found, and that does not read files of the user.
fn shell(place: &Place, name: &str) -> Command {
    let folder = Path::new(env!("CARGO_BIN_EXE_zarrctl")).parent().unwrap();
    let mut shell = Command::new(name);
    shell.env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap()));
    shell.env("HOME", place.path("")).env("TERM", "xterm").current_dir(place.path(""));
    shell
}

/// Runs a shell. `None` if it is not installed, which CI does not accept.
fn ran(mut shell: Command) -> Option<String> {
    match shell.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            assert!(std::env::var_os("CI").is_none(), "{shell:?} is not installed");
            None
        }
        output => Some(String::from_utf8(output.unwrap().stdout).unwrap()),
    }
}

/// Completes a line as Bash does.
fn completed_by_bash(place: &Place, line: &str) -> Option<Vec<String>> {
    let script = place.file("zarrctl.bash", &bytes(&["completions", "bash"]));
    let run = format!(
        r#"source '{script}'; COMP_LINE="$1"; COMP_POINT=${{#COMP_LINE}}; read -r -a COMP_WORDS <<< "$1"
        [[ $1 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _zarrctl_nodes zarrctl "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD - 1]}}"
        printf '%s\n' "${{COMPREPLY[@]}}""#
    );
    let mut bash = shell(place, "bash");
    bash.args(["--norc", "-c", &run, "bash", line]);
    Some(ran(bash)?.lines().map(str::to_owned).collect())
}

/// Completes a line as Fish does. Descriptions follow a tab.
fn completed_by_fish(place: &Place, line: &str) -> Option<Vec<String>> {
    let script = place.file("zarrctl.fish", &bytes(&["completions", "fish"]));
    let mut fish = shell(place, "fish");
    fish.args(["--no-config", "-c", "source $argv[1]; complete --do-complete $argv[2]", &script, line]);
    let completed = ran(fish)?;
    Some(completed.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect())
}

/// Completes a line as Zsh does, in a terminal. The function that adds completions also writes them to a file.
fn completed_by_zsh(place: &Place, line: &str) -> Option<Vec<String>> {
    place.file("functions/_zarrctl", &bytes(&["completions", "zsh"]));
    let setup = r#"
        PROMPT=; fpath=($HOME/functions $fpath); autoload -Uz compinit; compinit -u -d $HOME/dump
        compadd() {
            local -a found
            builtin compadd -O found "$@" 2> /dev/null
            (( $#found )) && print -rl -- $found >> $HOME/found
            builtin compadd "$@"
        }
        zle-line-init() { print >> $HOME/ready }; zle -N zle-line-init
        done-completing() { print >> $HOME/done }; zle -N done-completing; bindkey '^X' done-completing
    "#;
    place.file("setup", setup.as_bytes());
    let run = r#"
        zmodload zsh/zpty; zpty shell zsh -f -i
        await() {
            integer left=200
            until [[ -s $HOME/$1 ]] || (( ! left-- )); do zpty -r -t shell read; sleep 0.05; done
        }
        zpty -w shell 'source $HOME/setup'; await ready
        zpty -w -n shell "$1"$'\t'; await found; zpty -w -n shell $'\x18'; await done
        zpty -d shell; cat $HOME/found
    "#;
    let mut zsh = shell(place, "zsh");
    zsh.args(["-f", "-c", run, "zsh", line]);
    let mut found: Vec<String> = ran(zsh)?.lines().map(str::to_owned).collect();
    // Zsh also adds options while it searches for the option that the line has begun, so a name may occur twice.
    found.dedup();
    Some(found)
}

#[test]
fn shells_complete_verbs_options_and_nodes() {
    type Complete = fn(&Place, &str) -> Option<Vec<String>>;
    let shells: [(&str, Complete); 3] =
        [("bash", completed_by_bash), ("fish", completed_by_fish), ("zsh", completed_by_zsh)];
    for (name, complete) in shells {
        let completed = |line: &dyn Fn(&str) -> String| {
            let place = Place::new();
            let store = data_set(&place, "v3");
            bytes(&["create", &store, "/t/deep", "--shape", "2", "--dtype", "int8"]);
            complete(&place, &line(&store))
        };
        let Some(nodes) = completed(&|store| format!("zarrctl info {store} t")) else { continue };
        assert_eq!(nodes, ["t/", "t2m", "time"], "{name}");
        let all = completed(&|store| format!("zarrctl tree {store} ")).unwrap();
        assert_eq!(all, ["lat", "t/", "t2m", "time"], "{name}");
        let below = completed(&|store| format!("zarrctl get --format json {store} t/")).unwrap();
        assert_eq!(below, ["t/deep"], "{name}");
        let verbs = completed(&|_| "zarrctl conso".to_owned()).unwrap();
        assert_eq!(verbs, ["consolidate"], "{name}");
        let options = completed(&|store| format!("zarrctl get {store} t2m --se")).unwrap();
        assert_eq!(options, ["--select"], "{name}");
    }
}

#[test]
fn help_does_not_list_the_helper_of_completions() {
    let output = program().arg("--help").output().unwrap();
    assert!(!String::from_utf8(output.stdout).unwrap().contains("complete-node"));
}
