//! Runs a program and kills it at a chosen change of the file system.
#![expect(unsafe_code, reason = "the standard library does not trace programs")]

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use libc::{c_int, c_void, pid_t};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Killed at the requested moment.
    Killed,
    /// Exited with this status.
    Exited(i32),
}

/// A finished run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) end: End,
    /// Number of moments directly before and after file changes.
    pub(crate) moments: usize,
    /// Files and folders that the program synced to the disk.
    pub(crate) synced: BTreeSet<PathBuf>,
}

/// Runs `program` in `folder`, and sends SIGKILL at moment `kill_at`.
///
/// A moment is the start or the end of a system call that changes a file or a folder. Moments are numbered from 1.
pub(crate) fn run(program: &Command, folder: &Path, kill_at: Option<usize>) -> Run {
    // The shell stops itself, so that nothing happens before the program is traced.
    let mut shell = Command::new("sh");
    shell.args(["-c", "kill -STOP $$; exec \"$@\"", "sh"]).arg(program.get_program());
    shell.args(program.get_args()).current_dir(folder);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let child = shell.spawn().unwrap();
    let process = pid_t::try_from(child.id()).unwrap();
    let (_, status) = wait(process, libc::WUNTRACED);
    assert!(libc::WIFSTOPPED(status), "the shell did not stop itself");
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
    trace(libc::PTRACE_SEIZE, process, options).unwrap();
    Traced { child, process, moments: 0, synced: BTreeSet::new(), is_killed: false }.follow(kill_at)
}

struct Traced {
    child: Child,
    process: pid_t,
    moments: usize,
    synced: BTreeSet<PathBuf>,
    is_killed: bool,
}

impl Traced {
    fn follow(mut self, kill_at: Option<usize>) -> Run {
        loop {
            // `__WNOTHREAD` ignores the programs that other test threads have started and wait for.
            let (thread, status) = wait(-1, libc::__WALL | libc::__WNOTHREAD);
            if libc::WIFSTOPPED(status) {
                let signal = libc::WSTOPSIG(status);
                // System calls are reported as SIGTRAP with bit 7 set. Other stops have an event in the upper bits.
                let is_call = signal == libc::SIGTRAP | 0x80;
                if is_call {
                    self.count(thread, kill_at);
                }
                resume(thread, if is_call || status >> 16 != 0 { 0 } else { signal });
            } else if thread == self.process && libc::WIFEXITED(status) {
                return self.over(End::Exited(libc::WEXITSTATUS(status)));
            } else if thread == self.process {
                assert!(self.is_killed, "the program ended by signal {}", libc::WTERMSIG(status));
                return self.over(End::Killed);
            }
        }
    }

    fn over(self, end: End) -> Run {
        Run { end, moments: self.moments, synced: self.synced }
    }

    fn count(&mut self, thread: pid_t, kill_at: Option<usize>) {
        let Some(call) = Call::of(thread).filter(|_| !self.is_killed) else { return };
        self.synced.extend(call.synced(thread));
        if !call.is_change() {
            return;
        }
        self.moments += 1;
        if kill_at == Some(self.moments) {
            self.child.kill().unwrap();
            self.is_killed = true;
        }
    }
}

/// Waits for a process or thread to change state. Returns its id and its status.
fn wait(process: pid_t, flags: c_int) -> (pid_t, c_int) {
    let mut status = 0;
    // SAFETY: the system writes the status to a variable of its type.
    let changed = unsafe { libc::waitpid(process, &raw mut status, flags) };
    assert!(changed > 0, "waiting for {process}: {}", io::Error::last_os_error());
    (changed, status)
}

/// Lets a thread run to its next system call.
fn resume(thread: pid_t, signal: c_int) {
    match trace(libc::PTRACE_SYSCALL, thread, signal) {
        // The thread has ended meanwhile.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
        resumed => resumed.unwrap(),
    }
}

/// Calls a `ptrace` operation that takes a number instead of an address.
fn trace(operation: libc::c_uint, thread: pid_t, number: c_int) -> io::Result<()> {
    let number = usize::try_from(number).unwrap() as *mut c_void;
    // SAFETY: these operations take a number instead of a pointer, and write nothing to this process.
    let done = unsafe { libc::ptrace(operation, thread, std::ptr::null_mut::<c_void>(), number) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The system call that a stopped thread is in.
struct Call {
    number: i64,
    arguments: Vec<u64>,
}

impl Call {
    /// Reads the system call of a stopped thread. Returns `None` if the thread has ended meanwhile.
    fn of(thread: pid_t) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?;
        let mut words = text.split_whitespace();
        let number = words.next()?.parse().ok()?;
        let argument = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        Some(Self { number, arguments: words.map_while(argument).take(6).collect() })
    }

    /// Returns the file or folder that the call syncs, if it does.
    fn synced(&self, thread: pid_t) -> Option<PathBuf> {
        let is_sync = [libc::SYS_fsync, libc::SYS_fdatasync].contains(&self.number);
        let link = format!("/proc/{thread}/fd/{}", self.arguments.first()?);
        is_sync.then(|| std::fs::read_link(link).ok())?
    }

    fn is_change(&self) -> bool {
        let creates = |flags: usize| self.arguments[flags] & u64::from(libc::O_CREAT.unsigned_abs()) != 0;
        match self.number {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => creates(1),
            libc::SYS_openat => creates(2),
            // Standard output and standard error are not files of a store.
            libc::SYS_write => self.arguments[0] > 2,
            number => CHANGING.contains(&number),
        }
    }
}

/// System calls that change files and folders, except those that `is_change` checks by their arguments.
const CHANGING: &[i64] = &[
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_copy_file_range,
    libc::SYS_ftruncate,
    libc::SYS_linkat,
    libc::SYS_mkdirat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
];
