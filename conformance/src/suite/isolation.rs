//! Hostile input in a process of its own, whose address space is limited.
//!
//! [`CountingAllocator`](super::CountingAllocator) sees what Rust code asks for on the thread that decodes. Libraries in other
//! languages have allocators of their own, and other threads have other counts. So the program is started once more for each
//! codec; that process creates the codec, decodes what is valid once (so that whatever a library sets up is there), and has
//! its address space limited to what it has then, what a chunk may take, and [`ROOM`]. Under that limit it decodes hostile
//! input: a codec that trusts a size and gets no memory ends the process, or says that there is none. The latter looks like
//! any error; so it all is decoded again under a limit that is [`FURTHER`] away, and the address space must not have grown
//! past the first one. Both are needed: the first keeps the machine safe from what is touched, the second sees what was only
//! asked for.
//!
//! Addresses are not memory: a thread of a library takes 8 MiB of them for its stack, and glibc's allocator 64 MiB for each
//! thread that allocates. The latter is turned off in that process (`MALLOC_ARENA_MAX`), the former is [`STACK`]. A process of
//! ours begins with 26 to 46 MB of addresses, and hostile input takes none of our codecs past what valid input took.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;
use std::time::Duration;

use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::{CodecPlugin, Registry};

use super::codec::Hostile;
use super::tried::{Tried, with_stand_ins};
use super::{Cases, Subject, Suite};
use crate::child::{Ended, ended, is_out_of_memory};

/// The rule that input in a process of its own belongs to.
const RULE: &str = "codec-allocation";

/// Names the codec that a process is started for.
const VARIABLE: &str = "ZARR_CONFORMANCE_HOSTILE_INPUT_FOR";

/// Address space beside what is allocated: what an allocator asks for ahead, code that is loaded at its first use.
const ROOM: u64 = 64 << 20;

/// The stack of a thread that a library starts: one for each processor.
const STACK: u64 = 8 << 20;

/// How far away the second limit is: sizes that have four bytes.
const FURTHER: u64 = 5 << 30;

/// For all hostile input of one codec. It takes a second at most.
const TIME: Duration = Duration::from_secs(120);

/// How this program is started again with the same plugins, for what may end a process.
///
/// A program that uses it calls [`Again::serve`] before anything else, if [`Again::is_asked_for`].
#[derive(Debug, Clone)]
pub struct Again {
    program: PathBuf,
    arguments: Vec<String>,
}

impl Again {
    /// This program with other arguments: those that make it come to [`Again::serve`].
    ///
    /// # Errors
    ///
    /// Where the system does not say what program this is.
    pub fn with(arguments: &[&str]) -> io::Result<Self> {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Ok(Self { program: env::current_exe()?, arguments })
    }

    /// Starts this program with those arguments.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    /// Whether this process was started to decode hostile input.
    #[must_use]
    pub fn is_asked_for() -> bool {
        env::var_os(VARIABLE).is_some()
    }

    /// Decodes hostile input with the codec from `registry` that this process was started for. The program then ends.
    ///
    /// # Errors
    ///
    /// Why that cannot be done. The process that started this one has been told.
    pub fn serve(registry: &Registry) -> Result<(), String> {
        let name = env::var(VARIABLE).unwrap_or_default();
        decode_all(registry, &name).inspect_err(|reason| tell(&Line::Not(reason.clone())))
    }

    /// Also lets the codecs among `suites` decode hostile input in processes of their own.
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

    /// Starts the process and notes what came of it.
    fn hold(&self, name: &str, cases: &mut Cases) {
        if let Err(reason) = self.held(name, cases) {
            cases.lack(reason);
        }
    }

    /// The error is why the rule cannot be looked at here.
    fn held(&self, name: &str, cases: &mut Cases) -> Result<(), String> {
        if !cfg!(target_os = "linux") {
            return Err("address space is limited on Linux alone".to_owned());
        }
        let failed = |error: io::Error| format!("a process of its own: {error}");
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

/// What such a process says, a line each, behind a mark that tells it from what a library may print.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    /// What is decoded now.
    At(String),
    /// A use of the codec that went well.
    Well(String),
    /// A use that did not, and what happened.
    Bad(String, String),
    /// Why nothing is decoded.
    Not(String),
    /// The end of it all.
    End,
}

const MARK: &str = "zarr-conformance\t";

impl Line {
    fn parse(line: &str) -> Option<Self> {
        // A library may print without a line end before it.
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
    // Nobody is left to tell where this fails; that the end is missing is noticed.
    let mut out = io::stdout().lock();
    let _told = writeln!(out, "{MARK}{text}").and_then(|()| out.flush());
}

/// What a process said and how it ended, as cases of the rule.
fn note(said: &str, complaints: &str, ended: Ended, cases: &mut Cases) -> Result<(), String> {
    let mut at = "before anything was decoded".to_owned();
    let mut has_ended = false;
    for line in said.lines().filter_map(Line::parse) {
        match line {
            Line::At(case) => at = case,
            Line::Well(case) => cases.check(format!("{case}, in a process of its own"), Ok(())),
            Line::Bad(case, what) => cases.check(format!("{case}, in a process of its own"), Err(what)),
            Line::Not(reason) => return Err(reason),
            Line::End => has_ended = true,
        }
    }
    let why = complaints.lines().find(|line| is_out_of_memory(line));
    let last = || complaints.lines().map(str::trim).rfind(|line| !line.is_empty());
    let why = why.or_else(last).unwrap_or("it said nothing");
    let what = match ended {
        Ended::Late => format!("the process did not end in {} seconds", TIME.as_secs()),
        Ended::Signal(signal) => format!("signal {signal} ended the process: {why}"),
        Ended::Status(status) => format!("the process ended with status {status}: {why}"),
        Ended::Well if has_ended => return Ok(()),
        Ended::Well => format!("the process ended early: {why}"),
    };
    cases.check(format!("{at}, in a process of its own"), Err(what));
    Ok(())
}

fn decode_all(registry: &Registry, name: &str) -> Result<(), String> {
    let all = registry.codecs();
    let plugin: CodecPlugin = *all
        .iter()
        .find(|&plugin| Subject::of(plugin).name == name)
        .ok_or_else(|| format!("the process that was started has no codec `{name}`"))?;
    let tried = Tried { plugin, registry: with_stand_ins(registry) };
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

/// Decodes all again; the first input for which the address space grew by more than is allowed.
fn grown(hostile: &Hostile<'_>, allowed: u64) -> Result<Option<String>, String> {
    for input in hostile.inputs() {
        let (_, before) = address_space()?;
        tell(&Line::At(format!("{hostile}, {input}")));
        hostile.decode(input);
        let (_, after) = address_space()?;
        let more = after.saturating_sub(before);
        if more > allowed {
            return Ok(Some(format!("{more} bytes of address space for {input}, and {allowed} are allowed")));
        }
    }
    Ok(None)
}

/// As [`grown`], behind a limit that nothing declares.
fn grown_undeclared(hostile: &Hostile<'_>, room: u64) -> Result<Option<String>, String> {
    for input in hostile.undeclared_inputs() {
        let (_, before) = address_space()?;
        tell(&Line::At(format!("{hostile}, {input}, where nothing declares a size")));
        let written = hostile.decode_undeclared(input);
        let (_, after) = address_space()?;
        let more = after.saturating_sub(before);
        let allowed = room.saturating_add(hostile.allowed_undeclared(input, written) as u64);
        if more > allowed {
            return Ok(Some(format!(
                "{more} bytes of address space for {input} where nothing declares a size, and {allowed} are allowed"
            )));
        }
    }
    Ok(None)
}

/// Bytes of address space that this process has, and the most that it ever had.
pub(super) fn address_space() -> Result<(u64, u64), String> {
    let status =
        fs::read_to_string("/proc/self/status").map_err(|error| format!("/proc/self/status: {error}"))?;
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    };
    let both = bytes("VmSize:").zip(bytes("VmPeak:"));
    both.ok_or_else(|| "/proc/self/status says nothing of the address space".to_owned())
}

/// Limits the address space of this process, so that it can be moved further away later.
fn limit(bytes: u64) -> Result<(), String> {
    let process = std::process::id().to_string();
    let limit = format!("--as={bytes}:");
    let mut command = Command::new("prlimit");
    // What ends by a signal leaves no file.
    let run = command.args(["--pid", &process, &limit, "--core=0"]).stdin(Stdio::null()).output();
    match run {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("prlimit: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("`prlimit`, which limits address space, cannot be run: {error}")),
    }
}
