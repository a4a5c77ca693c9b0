//! Hostile input in a separate process with limited address space.
//!
//! [`CountingAllocator`](super::CountingAllocator) counts only the allocations of Rust code on the decoding thread.
//! Libraries in other languages have their own allocators, and other threads have other counts. Therefore the program
//! starts another process of itself for each codec.
//!
//! That process creates the codec and decodes valid input once, so that libraries complete their setup. It then
//! limits its address space to the current size, plus the size that a chunk may need, plus [`ROOM`]. Under that limit
//! it decodes hostile input. A codec that trusts a size and gets no memory either ends the process or returns an
//! error.
//!
//! Such an error looks like any other. Therefore the process decodes all input again under a limit that is larger by
//! [`FURTHER`], and the address space must not grow past the first limit. Both passes are necessary: the first
//! protects the machine from memory that is used, the second detects memory that is only reserved.
//!
//! Address space is not memory: a library's thread reserves 8 MiB for its stack, and glibc's allocator 64 MiB for each
//! thread that allocates. The process prevents the reservations of the allocator (`MALLOC_ARENA_MAX`), and [`STACK`]
//! accounts for the stacks. Our processes start with 26 to 46 MB of address space, and with our codecs hostile input
//! never needs more than valid input does.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;
use std::time::Duration;

use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::{CodecPlugin, Registry};

use super::codec::{CodecOnTrial, Hostile};
use super::tried::with_stand_ins;
use super::{Cases, Subject, Suite};
use crate::child::{Ended, ended, is_out_of_memory};

/// The rule that includes hostile input in a separate process.
const RULE: &str = "codec-allocation";

/// The environment variable with the name of the codec that a process is started for.
const VARIABLE: &str = "ZARR_CONFORMANCE_HOSTILE_INPUT_FOR";

/// The environment variable with the program that starts processes, if it is a script and not the executable of this
/// process.
const PROGRAM: &str = "ZARR_CONFORMANCE_PROGRAM";

/// The address space in addition to allocated memory, in bytes: for memory that allocators request in advance, and
/// for code that is loaded at its first use.
const ROOM: u64 = 64 << 20;

/// The stack of a library's thread, in bytes; one thread per processor is allowed.
const STACK: u64 = 8 << 20;

/// The difference between the first and the second limit in bytes. It is larger than every size that four bytes
/// represent.
const FURTHER: u64 = 5 << 30;

/// The time limit for all hostile input of one codec. Decoding it usually takes at most a second.
const TIME: Duration = Duration::from_secs(120);

/// The command that starts this program again with the same plugins, for operations that may end the process.
///
/// A program that uses it must call [`Again::serve`] before anything else if [`Again::is_asked_for`] returns true.
#[derive(Debug, Clone)]
pub struct Again {
    program: PathBuf,
    arguments: Vec<String>,
}

impl Again {
    /// Returns the command that starts this program again with `arguments`, which must make the program call
    /// [`Again::serve`]. If the program is a script that another executable interprets, the variable
    /// `ZARR_CONFORMANCE_PROGRAM` must have the path of the script.
    ///
    /// # Errors
    ///
    /// If the system does not report the path of this program.
    pub fn with(arguments: &[&str]) -> io::Result<Self> {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let script = env::var_os(PROGRAM).map(PathBuf::from);
        Ok(Self { program: script.map_or_else(env::current_exe, Ok)?, arguments })
    }

    /// Returns the command that starts the program with its arguments.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    /// Checks whether this process was started to decode hostile input.
    #[must_use]
    pub fn is_asked_for() -> bool {
        env::var_os(VARIABLE).is_some()
    }

    /// Decodes hostile input with the codec from `registry` that this process was started for. The program ends after
    /// that.
    ///
    /// # Errors
    ///
    /// The reason why nothing was decoded. The parent process has received this reason, too.
    pub fn serve(registry: &Registry) -> Result<(), String> {
        let name = env::var(VARIABLE).unwrap_or_default();
        decode_all(registry, &name).inspect_err(|reason| tell(&Line::Not(reason.clone())))
    }

    /// Adds hostile input in separate processes to the suites of codecs.
    pub fn isolate(&self, suites: &mut [Suite]) {
        for suite in suites.iter_mut().filter(|suite| suite.subject.point == ExtensionPoint::Codec) {
            let again = self.clone();
            let name = suite.subject.name.clone();
            for trial in suite.trials.iter_mut().filter(|trial| trial.rule.id == RULE) {
                let again = again.clone();
                let name = name.clone();
                trial.also(move |cases| again.hold(&name, cases));
            }
        }
    }

    /// Runs the process and records the results.
    fn hold(&self, name: &str, cases: &mut Cases) {
        if let Err(reason) = self.held(name, cases) {
            cases.lack(reason);
        }
    }

    /// Returns an error if the rule cannot be checked on this machine.
    fn held(&self, name: &str, cases: &mut Cases) -> Result<(), String> {
        if !cfg!(target_os = "linux") {
            return Err("address space can be limited only on Linux".to_owned());
        }
        let failed = |error: io::Error| format!("a separate process: {error}");
        let folder = tempfile::tempdir().map_err(failed)?;
        let said = folder.path().join("said");
        let complaints = folder.path().join("complaints");
        let file = |path: &Path| fs::File::create(path).map_err(failed);
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env(VARIABLE, name).env("MALLOC_ARENA_MAX", "1");
        command.env_remove("RUST_BACKTRACE").env_remove(super::worker::VARIABLE);
        command.stdin(Stdio::null()).stdout(file(&said)?).stderr(file(&complaints)?);
        let ended = ended(&mut command, TIME).map_err(failed)?;
        let read = |path: &Path| -> Result<String, String> {
            Ok(String::from_utf8_lossy(&fs::read(path).map_err(failed)?).into_owned())
        };
        note(&read(&said)?, &read(&complaints)?, ended, cases)
    }
}

/// A line that the process prints, after a mark that distinguishes it from the output of libraries.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    /// The current operation.
    At(String),
    /// This use of the codec passed.
    Well(String),
    /// This use of the codec failed, with this problem.
    Bad(String, String),
    /// The reason for which nothing is decoded.
    Not(String),
    /// The end of the output.
    End,
}

const MARK: &str = "zarr-conformance\t";

impl Line {
    fn parse(line: &str) -> Option<Self> {
        // A library may print text before the mark without ending the line.
        let (_, line) = line.split_once(MARK)?;
        let mut parts = line.split('\t');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        Some(match next().as_str() {
            "at" => Self::At(next()),
            "well" => Self::Well(next()),
            "bad" => Self::Bad(next(), next()),
            "not" => Self::Not(next()),
            "end" => Self::End,
            _ => return None,
        })
    }
}

fn tell(line: &Line) {
    let one_line = |text: &str| text.replace(['\t', '\n'], " ");
    let text = match line {
        Line::At(case) => format!("at\t{}", one_line(case)),
        Line::Well(case) => format!("well\t{}", one_line(case)),
        Line::Bad(case, what) => format!("bad\t{}\t{}", one_line(case), one_line(what)),
        Line::Not(reason) => format!("not\t{}", one_line(reason)),
        Line::End => "end".to_owned(),
    };
    // A failed write cannot be reported, but the parent process notices that the line `End` is missing.
    let mut out = io::stdout().lock();
    let _told = writeln!(out, "{MARK}{text}").and_then(|()| out.flush());
}

/// Converts the output and the end of a process to cases of the rule.
fn note(said: &str, complaints: &str, ended: Ended, cases: &mut Cases) -> Result<(), String> {
    let mut at = "before the first input".to_owned();
    let mut has_ended = false;
    for line in said.lines().filter_map(Line::parse) {
        match line {
            Line::At(case) => at = case,
            Line::Well(case) => cases.check(format!("{case}, in a separate process"), Ok(())),
            Line::Bad(case, what) => cases.check(format!("{case}, in a separate process"), Err(what)),
            Line::Not(reason) => return Err(reason),
            Line::End => has_ended = true,
        }
    }
    let why = complaints.lines().find(|line| is_out_of_memory(line));
    let last = || complaints.lines().map(str::trim).rfind(|line| !line.is_empty());
    let why = why.or_else(last).unwrap_or("it printed no error");
    let what = match ended {
        Ended::Late => format!("the process did not end within {} seconds", TIME.as_secs()),
        Ended::Signal(signal) => format!("signal {signal} ended the process: {why}"),
        Ended::Status(status) => format!("the process ended with status {status}: {why}"),
        Ended::Well if has_ended => return Ok(()),
        Ended::Well => format!("the process ended early: {why}"),
    };
    cases.check(format!("{at}, in a separate process"), Err(what));
    Ok(())
}

fn decode_all(registry: &Registry, name: &str) -> Result<(), String> {
    let all = registry.codecs();
    let plugin: CodecPlugin = *all
        .iter()
        .find(|&plugin| Subject::of(plugin).name == name)
        .ok_or_else(|| format!("the separate process does not have codec `{name}`"))?;
    let tried = CodecOnTrial::new(plugin, &with_stand_ins(registry));
    let threads = available_parallelism().map_or(1, |count| count.get() as u64);
    let room = ROOM + STACK * threads;
    for hostile in &Hostile::all(&tried, &mut Cases::default()) {
        hostile.set_up();
        let (size, _) = address_space()?;
        let allowed = hostile.allowed() as u64 + room;
        limit(size.saturating_add(allowed))?;
        decode(hostile);
        limit(size.saturating_add(allowed).saturating_add(FURTHER))?;
        let grown = match grown(hostile, allowed)? {
            None => grown_undeclared(hostile, room)?,
            grown => grown,
        };
        tell(&match grown {
            None => Line::Well(hostile.to_string()),
            Some(what) => Line::Bad(hostile.to_string(), what),
        });
    }
    tell(&Line::End);
    Ok(())
}

fn decode(hostile: &Hostile<'_>) {
    for input in hostile.inputs() {
        tell(&Line::At(format!("{hostile}, {input}")));
        hostile.decode(input);
    }
}

/// Decodes all inputs again. Returns the first input for which the address space grows by more than is allowed.
fn grown(hostile: &Hostile<'_>, allowed: u64) -> Result<Option<String>, String> {
    for input in hostile.inputs() {
        let (_, before) = address_space()?;
        tell(&Line::At(format!("{hostile}, {input}")));
        hostile.decode(input);
        let (_, after) = address_space()?;
        let more = after.saturating_sub(before);
        if more > allowed {
            return Ok(Some(format!("{input} needs {more} bytes of address space, the limit is {allowed}")));
        }
    }
    Ok(None)
}

/// Decodes all inputs as [`grown`] does, but without a declared size.
fn grown_undeclared(hostile: &Hostile<'_>, room: u64) -> Result<Option<String>, String> {
    for input in hostile.undeclared_inputs() {
        let (_, before) = address_space()?;
        tell(&Line::At(format!("{hostile}, {input}, without a declared size")));
        let written = hostile.decode_undeclared(input);
        let (_, after) = address_space()?;
        let more = after.saturating_sub(before);
        let allowed = room.saturating_add(hostile.allowed_undeclared(input, written) as u64);
        if more > allowed {
            return Ok(Some(format!(
                "{input} without a declared size needs {more} bytes of address space, the limit is {allowed}"
            )));
        }
    }
    Ok(None)
}

/// Returns the current and the maximum address space of this process in bytes.
pub(super) fn address_space() -> Result<(u64, u64), String> {
    let status =
        fs::read_to_string("/proc/self/status").map_err(|error| format!("/proc/self/status: {error}"))?;
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    };
    let both = bytes("VmSize:").zip(bytes("VmPeak:"));
    both.ok_or_else(|| "/proc/self/status does not contain the address space".to_owned())
}

/// Limits the address space of this process. The limit can be raised later.
fn limit(bytes: u64) -> Result<(), String> {
    let process = std::process::id().to_string();
    let limit = format!("--as={bytes}:");
    let mut command = Command::new("prlimit");
    // Prevents core dumps of processes that a signal ends.
    let run = command.args(["--pid", &process, &limit, "--core=0"]).stdin(Stdio::null()).output();
    match run {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("prlimit: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("`prlimit`, which limits address space, cannot be run: {error}")),
    }
}
