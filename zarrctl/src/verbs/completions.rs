//! `completions` and `man`: scripts for shells, the nodes that they offer, and man pages.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use zarr_kit::json::counted;
use zarr_kit::spec::{printable, printable_path};

use crate::arguments::{Arguments, Reading};
use crate::failure::Failure;
use crate::files::write_file;
use crate::manual;
use crate::opening::open;
use crate::printer::stdout;
use crate::terminal;

/// The name of the program.
const NAME: &str = "zarrctl";

/// The identifiers of arguments: a store, and the path of a node in it.
const STORE: &str = "store";
const PATH: &str = "path";

/// Completes paths of nodes in Bash, after the generated function.
const BASH: &str = r#"
_zarrctl_nodes() {
    _zarrctl "$@"
    local current="${COMP_WORDS[COMP_CWORD]}" words nodes
    [[ $current == -* ]] && return 0
    read -r -a words <<< "${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
    mapfile -t nodes < <("${words[0]}" complete-node -- "${words[@]:1}" 2> /dev/null)
    if ((${#nodes[@]} > 0)); then
        COMPREPLY=("${nodes[@]}")
        [[ ${#nodes[@]} -eq 1 && ${nodes[0]} != */ ]] || compopt -o nospace 2> /dev/null
    fi
    return 0
}
complete -F _zarrctl_nodes -o nosort -o bashdefault -o default zarrctl
"#;

/// Completes paths of nodes in Zsh. The generated script calls it for arguments that are paths; the first of `words` is
/// then the verb.
const ZSH: &str = r#"
_zarrctl_nodes() {
    local -a nodes
    nodes=(${(f)"$(zarrctl complete-node -- "${(@Q)words[1,CURRENT]}" 2> /dev/null)"})
    if (( ${#nodes} )); then
        compadd -S '' -- $nodes
    else
        _default
    fi
}
"#;

/// Completes paths of nodes in Fish, without files. The condition is evaluated once for each completion.
const FISH: &str = r#"
function __zarrctl_has_nodes
    set -g __zarrctl_nodes (zarrctl complete-node -- (commandline -opc)[2..] (commandline -ct) 2> /dev/null)
    test (count $__zarrctl_nodes) -gt 0
end
complete -c zarrctl -n __zarrctl_has_nodes -f -k -a '$__zarrctl_nodes'
"#;

/// Prints the script for a shell.
pub(crate) fn script(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), NAME, &mut script);
    let script = String::from_utf8_lossy(&script);
    let script = match shell {
        Shell::Bash => format!("{script}{BASH}"),
        Shell::Fish => format!("{script}{FISH}"),
        Shell::Zsh => with_nodes(&script),
        _ => script.into_owned(),
    };
    Ok(io::stdout().write_all(script.as_bytes())?)
}

/// Replaces the completion of the argument PATH, and adds the function for it.
fn with_nodes(script: &str) -> String {
    let completed = script.lines().map(|line| {
        let is_node = line.contains(":path -- ") && line.contains(":_default'");
        let line = if is_node { line.replace(":_default'", ":_zarrctl_nodes'") } else { line.to_owned() };
        line + "\n"
    });
    let script: String = completed.collect();
    // The new function is inserted before `_zarrctl`, which calls it.
    match script.split_once("\n_zarrctl() {") {
        Some((before, after)) => format!("{before}\n{ZSH}\n_zarrctl() {{{after}"),
        None => format!("{script}{ZSH}"),
    }
}

/// Writes a man page for each verb.
pub(crate) fn manual(folder: &Path) -> Result<(), Failure> {
    let at = |error: io::Error| Failure::Io(error).while_at(&format!("writing `{}`", printable_path(folder)));
    fs::create_dir_all(folder).map_err(at)?;
    let pages = manual::pages(Arguments::command());
    pages.iter().try_for_each(|page| write_file(&folder.join(&page.file), page.text.as_bytes()))?;
    let pages = counted(pages.len(), "man page", "man pages");
    terminal::summary(&format!("wrote {pages} to {}", printable_path(folder)));
    Ok(())
}

/// Prints the nodes that complete the last of the words after the name of the program, if it is the path of a node.
pub(crate) fn nodes(words: &[OsString]) -> Result<(), Failure> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let mut command = Arguments::command();
    command.build();
    let Some(Wanted { store, begun }) = wanted(&command, &words) else { return Ok(()) };
    let Ok(hierarchy) = open(&store, &Reading::default()) else { return Ok(()) };
    let (group, name) = begun.rsplit_once('/').map_or(("", &*begun), |(group, name)| (group, name));
    let before = &begun[..begun.len() - name.len()];
    let Ok(children) = hierarchy.path(group).and_then(|group| hierarchy.children(&group)) else {
        return Ok(());
    };
    let mut out = stdout();
    for child in children.iter().filter(|child| child.path.name().starts_with(name)) {
        let slash = if child.kind.is_group() { "/" } else { "" };
        writeln!(out, "{before}{}{slash}", printable(child.path.name()))?;
    }
    Ok(())
}

/// The store, and the beginning of the path of a node in it.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    store: String,
    begun: String,
}

/// Returns the store and the beginning of a path, if the last word is the path of a node in a store that an earlier
/// word names.
fn wanted(command: &Command, words: &[&str]) -> Option<Wanted> {
    let (begun, before) = words.split_last()?;
    let mut command = command;
    let mut values: Vec<&str> = Vec::new();
    let mut words = before.iter();
    while let Some(&word) = words.next() {
        if word.starts_with('-') && word.len() > 1 {
            let option = option_of(command, word)?;
            if option.get_action().takes_values() && !word.contains('=') {
                words.next()?;
            }
        } else if let Some(inner) = command.find_subcommand(word).filter(|_| values.is_empty()) {
            command = inner;
        } else {
            values.push(word);
        }
    }
    let arguments: Vec<&Arg> = command.get_positionals().collect();
    let is_path = arguments.get(values.len())?.get_id() == PATH;
    let store = arguments.iter().position(|argument| argument.get_id() == STORE)?;
    is_path.then_some(Wanted { store: (*values.get(store)?).to_owned(), begun: (*begun).to_owned() })
}

/// Returns the option that a word such as `--format` or `-o` names.
fn option_of<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let name = word.split('=').next().unwrap_or(word);
    command.get_arguments().find(|argument| match name.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => argument.get_short().is_some_and(|short| name[1..].starts_with(short)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted_of(words: &[&str]) -> Option<Wanted> {
        let mut command = Arguments::command();
        command.build();
        wanted(&command, words)
    }

    #[test]
    fn the_path_of_a_node_is_the_argument_after_its_store() {
        let found = |begun: &str| Some(Wanted { store: "a.zarr".to_owned(), begun: begun.to_owned() });
        assert_eq!(wanted_of(&["get", "a.zarr", "x/"]), found("x/"));
        assert_eq!(wanted_of(&["--memory", "1GiB", "tree", "--depth", "2", "a.zarr", ""]), found(""));
        assert_eq!(wanted_of(&["get", "-o", "file", "--select=0", "a.zarr", "b"]), found("b"));
        for words in [
            &["get", "a.zarr"][..],
            &["put", "a.zarr", "x", "file"],
            &["copy", "a.zarr", "b"],
            &["get", "--unknown", "a.zarr", "x"],
            &["ge"],
            &[],
        ] {
            assert_eq!(wanted_of(words), None, "{words:?}");
        }
    }

    #[test]
    fn scripts_of_zsh_complete_nodes() {
        let script = "x\n_zarrctl() {\n':path -- Path of the node:_default' \\\n':file:_default'\n";
        let found = with_nodes(script);
        assert!(
            found.contains("Path of the node:_zarrctl_nodes'") && found.contains("':file:_default'"),
            "{found}"
        );
        assert!(found.find("_zarrctl_nodes() {") < found.find("\n_zarrctl() {"), "{found}");
    }
}
