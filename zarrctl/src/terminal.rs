//! What people see: sizes, progress, warnings.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar is shown for what takes longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is drawn anew.
const TICK: Duration = Duration::from_millis(200);

/// Bytes as people read them: `1.5 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let exponent = usize::try_from(bytes.ilog2() / 10).unwrap_or(1).clamp(1, UNITS.len());
    let unit = 1u64 << (10 * exponent);
    format!("{:.1} {}", ratio(bytes, unit), UNITS[exponent - 1])
}

/// Columns of the terminal that standard output is, or those of a page where it is none.
pub(crate) fn width() -> usize {
    let terminal =
        io::stdout().is_terminal().then(|| terminal_size::terminal_size_of(io::stdout())).flatten();
    terminal.map_or(100, |(width, _)| usize::from(width.0))
}

/// `a` over `b`.
#[expect(clippy::cast_precision_loss, reason = "what people read has three digits")]
pub(crate) fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

/// Says something that a user should know, and that is no error.
pub(crate) fn warn(what: &str) {
    // Where nobody reads them, warnings are of no use.
    let _unread = writeln!(io::stderr(), "warning: {what}");
}

/// How much of something is done: shown on a terminal when it takes long.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Nothing is ever sent: the watcher sees that it is gone.
    done: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

impl Progress {
    /// Of so many bytes.
    pub(crate) fn of_bytes(total: u64, what: &str) -> Self {
        Self::new(Some(total), what, "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left")
    }

    /// Of so many things.
    pub(crate) fn of(total: u64, what: &str) -> Self {
        Self::new(Some(total), what, "{msg} {wide_bar} {pos} of {len}, {eta} left")
    }

    /// Of nobody knows how much.
    pub(crate) fn unknown(what: &str) -> Self {
        Self::new(None, what, "{spinner} {msg}, {elapsed}")
    }

    fn new(total: Option<u64>, what: &str, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar.set_message(what.to_owned());
        if !io::stderr().is_terminal() {
            return Self { bar, done: None, watcher: None };
        }
        let (done, over) = mpsc::channel();
        let shown = bar.clone();
        let watch = move || {
            if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        };
        Self { bar, done: Some(done), watcher: Some(thread::spawn(watch)) }
    }

    /// So much more is done.
    pub(crate) fn add(&self, amount: u64) {
        self.bar.inc(amount);
    }

    /// What is being done now.
    pub(crate) fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(watcher) = self.watcher.take() {
            // A bar that could not be drawn takes nothing from what was done.
            let _undrawn = watcher.join();
        }
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_that_fits() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(3 << 30), "3.0 GiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
    }
}
