//! What people see: sizes, progress, warnings.

use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::style::TemplateError;
use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use zarr_kit::spec::printable;

use crate::printer::note;

/// A bar is shown for what takes longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is drawn anew.
const TICK: Duration = Duration::from_millis(200);

/// Columns of a line for a terminal that does not tell how wide it is.
const PAGE: u16 = 100;

/// Columns of a terminal that a bar and numbers fit on.
const WIDE: u16 = 72;

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

/// Columns of the terminal that standard output is; nothing for a file or a pipe.
pub(crate) fn width() -> Option<usize> {
    let terminal = io::stdout().is_terminal().then(|| terminal_size::terminal_size_of(io::stdout()));
    terminal.flatten().map(|(width, _)| usize::from(width.0))
}

/// `a` over `b`.
#[expect(clippy::cast_precision_loss, reason = "what people read has three digits")]
pub(crate) fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

/// Prints a warning to standard error.
pub(crate) fn warn(what: &str) {
    note(&format!("warning: {what}"));
}

/// A number of files: `1 file`, `2 files`.
pub(crate) fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// How much of something is done: shown on a terminal when it takes long.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Characters of a message at most.
    message: usize,
    /// Nothing is ever sent: the watcher sees that it is gone.
    done: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

impl Progress {
    /// Of so many bytes.
    pub(crate) fn of_bytes(total: u64, what: &str) -> Self {
        Self::new(Some(total), what, "{bytes} of {total_bytes}{rate}")
    }

    /// Of so many things.
    pub(crate) fn of(total: u64, what: &str) -> Self {
        Self::new(Some(total), what, "{pos} of {len}{left}")
    }

    /// Of nobody knows how much.
    pub(crate) fn unknown(what: &str) -> Self {
        Self::new(None, what, "")
    }

    fn new(total: Option<u64>, what: &str, numbers: &str) -> Self {
        let columns = terminal_size::terminal_size_of(io::stderr()).map_or(PAGE, |(width, _)| width.0);
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        if let Ok(style) = style(total.is_some(), numbers, columns) {
            bar.set_style(style);
        }
        let (done, watcher) = match io::stderr().is_terminal() {
            true => watch(&bar),
            false => (None, None),
        };
        let progress = Self { bar, message: usize::from(columns / 3), done, watcher };
        progress.say(what);
        progress
    }

    /// So much more is done.
    pub(crate) fn add(&self, amount: u64) {
        self.bar.inc(amount);
    }

    /// What is being done now. Of a long message, the end is shown.
    pub(crate) fn say(&self, what: &str) {
        self.bar.set_message(shortened(&printable(what).to_string(), self.message));
    }
}

/// What a line of progress looks like on a terminal that is so wide: on a narrow one, without numbers.
fn style(has_total: bool, numbers: &str, columns: u16) -> Result<ProgressStyle, TemplateError> {
    let template = match (has_total, columns >= WIDE) {
        (true, true) => format!("{{msg}} {{wide_bar}} {numbers}"),
        (true, false) => "{percent:>3}% {wide_msg}".to_owned(),
        (false, _) => "{spinner} {elapsed} {wide_msg}".to_owned(),
    };
    let style = ProgressStyle::with_template(&template)?.progress_chars("━╸─");
    // Nothing is known of the speed before something is done.
    let rate = |state: &ProgressState, to: &mut dyn fmt::Write| {
        if state.pos() > 0 {
            let speed = HumanBytes(whole(state.per_sec()));
            let _unwritten = write!(to, ", {speed}/s, {:#} left", HumanDuration(state.eta()));
        }
    };
    let left = |state: &ProgressState, to: &mut dyn fmt::Write| {
        if state.pos() > 0 {
            let _unwritten = write!(to, ", {:#} left", HumanDuration(state.eta()));
        }
    };
    Ok(style.with_key("rate", rate).with_key("left", left))
}

/// A thread that shows the bar after a while, and draws it anew from time to time. Without a thread, no bar is shown.
fn watch(bar: &ProgressBar) -> (Option<Sender<()>>, Option<JoinHandle<()>>) {
    let (done, over) = mpsc::channel::<()>();
    let shown = bar.clone();
    let draw = move || {
        if over.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        shown.set_draw_target(ProgressDrawTarget::stderr());
        while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            shown.tick();
        }
    };
    match thread::Builder::new().spawn(draw) {
        Ok(watcher) => (Some(done), Some(watcher)),
        Err(_) => (None, None),
    }
}

/// The end of a text, with `…` before it, if it has more characters than `most`.
fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count + 1 - most.max(1)).collect();
    format!("…{end}")
}

/// A float as a number of bytes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
fn whole(number: f64) -> u64 {
    number as u64
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
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// A terminal that remembers what is written to it.
    #[derive(Debug, Clone)]
    struct Recorded {
        columns: u16,
        text: Arc<Mutex<String>>,
    }

    impl TermLike for Recorded {
        fn width(&self) -> u16 {
            self.columns
        }

        fn move_cursor_up(&self, _lines: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _lines: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _columns: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _columns: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)?;
            self.write_str("\n")
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.text.lock().unwrap().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn drawn(has_total: bool, columns: u16, position: u64) -> String {
        let text = Arc::default();
        let terminal = Recorded { columns, text: Arc::clone(&text) };
        let target = ProgressDrawTarget::term_like(Box::new(terminal));
        let bar = ProgressBar::with_draw_target(has_total.then_some(1 << 30), target);
        bar.set_style(style(has_total, "{bytes} of {total_bytes}{rate}", columns).unwrap());
        bar.set_message(shortened("/a/long/path/of/an/array/in/a/group", usize::from(columns / 3)));
        bar.set_position(position);
        text.lock().unwrap().clear();
        bar.force_draw();
        text.lock().unwrap().trim_end().to_owned()
    }

    #[test]
    fn progress_takes_one_line_on_any_terminal() {
        for columns in [10, 30, 71, 72, 80, 200] {
            for (has_total, position) in [(true, 0), (true, 1 << 29), (false, 5)] {
                let lines = drawn(has_total, columns, position);
                assert!(
                    !lines.is_empty() && lines.chars().count() <= usize::from(columns),
                    "{columns}: {lines}"
                );
            }
        }
    }

    #[test]
    fn no_speed_is_shown_before_something_is_done() {
        let first = drawn(true, 100, 0);
        assert!(first.ends_with("0 B of 1.00 GiB"), "{first}");
        assert!(drawn(true, 100, 1 << 29).ends_with(" left"));
    }

    #[test]
    fn of_a_long_message_the_end_is_shown() {
        assert_eq!(shortened("/group/array", 12), "/group/array");
        assert_eq!(shortened("/group/array", 6), "…array");
        assert_eq!(shortened("é", 0), "…");
    }

    #[test]
    fn sizes_have_a_unit_that_fits() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(3 << 30), "3.0 GiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
    }
}
