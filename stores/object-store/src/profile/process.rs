//! Credentials of a program: `credential_process`.
//!
//! Source: "Sourcing credentials with an external process" in the guide of the AWS command line interface.

use std::process::{Command, Stdio};

use async_trait::async_trait;
use object_store::aws::AwsCredential;
use zarr_json::{ParseOptions, Value, parse, printable};
use zarr_spec::{BoxError, Invalid};

use super::issued::{Issuer, Temporary, time};

/// The maximum number of characters to show of the messages of a program: the last ones.
const MAX_SHOWN: usize = 400;

/// A program that prints credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    profile: String,
    program: String,
    arguments: Vec<String>,
}

impl Process {
    /// # Errors
    ///
    /// If `command` is empty or has an open quotation.
    pub(super) fn parse(profile: &str, command: &str) -> Result<Self, Invalid> {
        let words = if cfg!(windows) { Some(words_on_windows(command)) } else { shlex::split(command) };
        let mut words = words.unwrap_or_default().into_iter();
        let Some(program) = words.next() else {
            return Err(Invalid::new(format!(
                "the `credential_process` of the profile `{profile}` is not a command; check its quotation marks"
            )));
        };
        Ok(Self { profile: profile.to_owned(), program, arguments: words.collect() })
    }

    /// Runs the program, without a shell, and waits for its output. The input of this process is not for the program.
    fn run(&self) -> Result<Temporary, BoxError> {
        let mut command = Command::new(&self.program);
        let output = command.args(&self.arguments).stdin(Stdio::null()).output();
        let output = output.map_err(|error| self.wrong(&format!("cannot be started: {error}")))?;
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr);
            return Err(self.wrong(&format!("failed ({}): {}", output.status, end_of(messages.trim()))));
        }
        // Errors of the parser could show secrets.
        let parsed = parse(&output.stdout, &ParseOptions::default());
        let parsed = parsed.map_err(|_| self.wrong("printed something other than one JSON object"))?;
        self.temporary(&parsed.value)
    }

    fn temporary(&self, output: &Value) -> Result<Temporary, BoxError> {
        let members = output.as_object();
        let member = |name| members.and_then(|members| members.get(name));
        let text = |name| member(name).and_then(Value::as_str).map(str::to_owned);
        if member("Version").and_then(Value::as_u64) != Some(1) {
            return Err(self.wrong("printed an object without `\"Version\": 1`"));
        }
        let required = |name| text(name).ok_or_else(|| self.wrong(&format!("printed no text `{name}`")));
        let credential = AwsCredential {
            key_id: required("AccessKeyId")?,
            secret_key: required("SecretAccessKey")?,
            token: text("SessionToken"),
        };
        let expires = match member("Expiration").filter(|value| !value.is_null()) {
            None => None,
            Some(value) => {
                let time = value.as_str().and_then(time);
                Some(time.ok_or_else(|| self.wrong("printed an `Expiration` that is not a time"))?)
            }
        };
        Temporary::new(credential, expires).map_err(|error| self.wrong(&format!("failed: {error}")))
    }

    fn wrong(&self, reason: &str) -> BoxError {
        let Self { profile, program, .. } = self;
        format!("`{}`, the `credential_process` of the profile `{profile}`, {reason}", printable(program))
            .into()
    }
}

#[async_trait]
impl Issuer for Process {
    async fn issue(&self) -> Result<Temporary, BoxError> {
        let process = self.clone();
        tokio::task::spawn_blocking(move || process.run()).await?
    }
}

/// Returns the last characters of a text, without control characters.
fn end_of(text: &str) -> String {
    let begin = text.char_indices().rev().nth(MAX_SHOWN - 1).map_or(0, |(index, _)| index);
    printable(text.get(begin..).unwrap_or_default()).to_string()
}

/// Splits a command at white space outside of quotation marks. A backslash is part of a path.
fn words_on_windows(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    for character in command.chars() {
        match character {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            space if space.is_whitespace() && !is_quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use zarr_spec::json;

    use super::*;

    #[test]
    fn a_command_is_split_at_spaces_outside_of_quotation_marks() {
        let command = r#""C:\Program Files\keys.exe" --name "a b" "" c"#;
        assert_eq!(words_on_windows(command), [r"C:\Program Files\keys.exe", "--name", "a b", "", "c"]);
        assert!(words_on_windows("  ").is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_command_has_the_quotations_of_a_shell_and_no_expansions() {
        let process = Process::parse("p", r#"'/opt/my tools/keys' --name "a \"b\"" $HOME c\ d"#).unwrap();
        assert_eq!(process.program, "/opt/my tools/keys");
        assert_eq!(process.arguments, ["--name", r#"a "b""#, "$HOME", "c d"]);
        for command in ["", "  ", "keys 'open"] {
            let error = Process::parse("p", command).unwrap_err().to_string();
            assert!(error.contains("profile `p` is not a command"), "{command}: {error}");
        }
    }

    #[test]
    fn the_output_has_version_1_and_keys() {
        let process = Process::parse("p", "keys").unwrap();
        let error = |output: Value| process.temporary(&output).unwrap_err().to_string();
        assert!(error(json!({"AccessKeyId": "a", "SecretAccessKey": "hidden"})).contains("\"Version\": 1"));
        assert!(error(json!({"Version": 2, "AccessKeyId": "a", "SecretAccessKey": "s"})).contains("Version"));
        assert!(error(json!({"Version": 1, "AccessKeyId": "a"})).contains("no text `SecretAccessKey`"));
        let mut output = json!({"Version": 1, "AccessKeyId": "a", "SecretAccessKey": "hidden"});
        assert!(process.temporary(&output).is_ok());
        output.as_object_mut().unwrap().insert("Expiration", "tomorrow");
        let wrong = error(output);
        assert!(
            wrong.contains("`keys`, the `credential_process` of the profile `p`, printed an `Expiration`")
        );
        assert!(!wrong.contains("hidden"));
    }

    #[test]
    fn the_end_of_a_long_message_is_shown() {
        let text = format!("{}\u{1b}[31mend", "ä".repeat(1000));
        let shown = end_of(&text);
        assert!(shown.ends_with(r"ä\u{1b}[31mend") && shown.starts_with('ä'), "{shown}");
        assert_eq!(shown.matches('ä').count(), MAX_SHOWN - 8);
    }
}
