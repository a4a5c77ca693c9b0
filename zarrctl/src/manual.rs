//! Man pages from the definitions of the command line.

use clap::builder::StyledStr;
use clap::{Arg, Command};

/// A man page.
#[derive(Debug)]
pub(crate) struct Page {
    /// The name of the file: `zarrctl-copy.1`.
    pub(crate) file: String,
    /// The source for `man`.
    pub(crate) text: String,
}

/// Returns the pages of a command and all commands below it. Hidden commands have no pages.
pub(crate) fn pages(mut command: Command) -> Vec<Page> {
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, command.get_name(), &mut pages);
    pages
}

fn add_pages(command: &Command, name: &str, pages: &mut Vec<Page>) {
    pages.push(Page { file: format!("{name}.1"), text: page(command, name) });
    for inner in visible(command) {
        add_pages(inner, &format!("{name}-{}", inner.get_name()), pages);
    }
}

/// Returns the commands below a command, except `help`.
fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
}

fn page(command: &Command, name: &str) -> String {
    let version = command.get_version().unwrap_or(env!("CARGO_PKG_VERSION"));
    let about = text(command.get_about());
    let mut page = format!(
        ".TH {} 1 \"\" \"zarrctl {version}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
        escaped(&name.to_uppercase()),
        escaped(name),
        escaped(about.trim_end_matches('.'))
    );
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    page.push_str(&format!(".SH SYNOPSIS\n.nf\n{}.fi\n.SH DESCRIPTION\n", lines(usage)));
    page.push_str(&paragraphs(&text(command.get_long_about().or(command.get_about()))));
    let arguments: Vec<&Arg> = command.get_positionals().filter(|argument| !argument.is_hide_set()).collect();
    add_entries(&mut page, "ARGUMENTS", arguments.iter().map(|argument| entry(argument)));
    let options: Vec<&Arg> = command.get_opts().filter(|option| !option.is_hide_set()).collect();
    let flags = command.get_arguments().filter(|flag| !flag.is_positional() && !flag.is_hide_set());
    let flags = flags.filter(|flag| !options.iter().any(|option| option.get_id() == flag.get_id()));
    add_entries(&mut page, "OPTIONS", options.iter().copied().chain(flags).map(entry));
    let commands = visible(command).map(|inner| {
        format!(
            "\\fB{}\\fR(1)\n{}",
            escaped(&format!("{name}-{}", inner.get_name())),
            escaped(&text(inner.get_about()))
        )
    });
    add_entries(&mut page, "COMMANDS", commands);
    let examples = text(command.get_after_long_help());
    if let Some((_, examples)) = examples.split_once("Examples:\n") {
        page.push_str(&format!(".SH EXAMPLES\n.nf\n{}.fi\n", lines(examples)));
    }
    page
}

/// Adds a section with tagged paragraphs, unless there are none.
fn add_entries(page: &mut String, section: &str, entries: impl Iterator<Item = String>) {
    let entries: Vec<String> = entries.map(|entry| format!(".TP\n{entry}\n")).collect();
    if !entries.is_empty() {
        page.push_str(&format!(".SH {section}\n{}", entries.concat()));
    }
}

/// Formats the names of an argument, and its help below.
fn entry(argument: &Arg) -> String {
    let values = argument.get_value_names().unwrap_or_default();
    let has_values = argument.is_positional() || argument.get_action().takes_values();
    let values: Vec<String> =
        values.iter().filter(|_| has_values).map(|value| format!("\\fI{}\\fR", escaped(value))).collect();
    let short = argument.get_short().map(|short| format!("\\fB\\-{short}\\fR"));
    let long = argument.get_long().map(|long| format!("\\fB{}\\fR", escaped(&format!("--{long}"))));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let head = [names.join(", "), values.join(" ")].join(" ");
    let mut help = text(argument.get_long_help().or(argument.get_help()));
    let possible = argument.get_possible_values();
    let possible: Vec<&str> =
        possible.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
    if !possible.is_empty() && has_values {
        help.push_str(&format!(" [possible values: {}]", possible.join(", ")));
    }
    let default: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !default.is_empty() && has_values {
        help.push_str(&format!(" [default: {}]", default.join(", ")));
    }
    format!("{}\n{}", head.trim(), lines(&help).trim_end())
}

fn text(styled: Option<&StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}

/// Formats text whose empty lines separate paragraphs.
fn paragraphs(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| format!(".PP\n{}", lines(paragraph)));
    paragraphs.collect()
}

/// Escapes each line.
fn lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", escaped(line))).collect()
}

/// Escapes characters with a meaning in roff.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_all_options_and_escape_them() {
        let copy = Command::new("copy")
            .about("Copy it.")
            .arg(Arg::new("path").long("a-path").short('p').value_name("PATH").help(".x\\y"))
            .arg(Arg::new("source").value_name("SRC").help("The source").required(true))
            .after_long_help("Examples:\n  program copy a");
        let pages = pages(Command::new("program").version("1").about("Do it.").subcommand(copy));
        let files: Vec<_> = pages.iter().map(|page| &*page.file).collect();
        assert_eq!(files, ["program.1", "program-copy.1"]);
        let page = &pages[1].text;
        for part in [
            ".SH NAME\nprogram\\-copy \\- Copy it\n",
            "\\fB\\-p\\fR, \\fB\\-\\-a\\-path\\fR \\fIPATH\\fR\n\\&.x\\ey\n",
            ".SH ARGUMENTS\n.TP\n\\fISRC\\fR\nThe source\n",
            ".SH EXAMPLES\n.nf\n  program copy a\n.fi\n",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(
            pages[0].text.contains(".SH COMMANDS\n.TP\n\\fBprogram\\-copy\\fR(1)\nCopy it.\n"),
            "{}",
            pages[0].text
        );
    }
}
