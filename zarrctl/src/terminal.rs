//! Sizes, progress bars and warnings.

use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::style::TemplateError;
use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use zarr_kit::archive::CopyProgress;
use zarr_kit::json::counted;
use zarr_kit::spec::printable;

use crate::printer::{self, note};

/// Progress bars appear after this time.
const PATIENCE: Duration = Duration::from_secs(2);

/// The interval between two drawings of a bar.
const TICK: Duration = Duration::from_millis(200);

/// Columns of a terminal whose width is unknown.
const PAGE: u16 = 100;

/// The minimum number of columns for a bar with numbers.
const WIDE: u16 = 72;

/// Formats a size with a unit: `1.5 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let exponent = usize::try_from(bytes.ilog2() / 10).unwrap_or(1).clamp(1, UNITS.len());
    let unit = 1u64 << (10 * exponent);
    format!("{:.1} {}", ratio(bytes, unit), UNITS[exponent - 1])
}

/// Joins the first `most` names with commas, and counts the others: `a, b and 3 more`.
pub(crate) fn first_of<T: fmt::Display>(names: &[T], most: usize) -> String {
    let shown = names.iter().take(most).map(T::to_string).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns the number of columns of the terminal, or `None` if standard output is a file or a pipe.
pub(crate) fn width() -> Option<usize> {
    let terminal = io::stdout().is_terminal().then(|| terminal_size::terminal_size_of(io::stdout()));
    terminal.flatten().map(|(width, _)| usize::from(width.0))
}

/// Divides a text at spaces into lines of at most `width` characters. Longer words have their own lines.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0_usize;
    for (number, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        let space = usize::from(number > 0);
        if used > 0 && used.saturating_add(space + length) > width {
            lines.push(String::new());
            used = 0;
        } else if number > 0
            && let Some(line) = lines.last_mut()
        {
            line.push(' ');
            used += 1;
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
        }
        used += length;
    }
    lines
}

#[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
pub(crate) fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

pub(crate) fn warn(what: &str) {
    note(&format!("warning: {what}"));
}

/// Prints the last line of a verb that succeeded, if standard error is a terminal.
pub(crate) fn summary(line: &str) {
    if io::stderr().is_terminal() {
        note(line);
    }
}

/// Formats the bytes per second: `1.5 MiB/s`.
pub(crate) fn rate(bytes: u64, seconds: f64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "two digits are printed")]
    let rate = bytes as f64 / seconds.max(1e-3);
    format!("{}/s", size(whole(rate)))
}

/// Formats a number of files: `1 file`, `2 files`.
pub(crate) fn files(count: usize) -> String {
    counted(count, "file", "files")
}

/// A progress bar on a terminal for long operations.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The most characters of a message.
    message: usize,
    /// Nothing is sent: dropping it ends the thread that draws the bar.
    done: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

/// A copy whose progress a bar shows.
#[derive(Debug, Clone)]
struct Followed {
    copy: CopyProgress,
    /// The most characters of a message.
    message: usize,
}

impl Followed {
    fn show(&self, bar: &ProgressBar) {
        // The total is unknown until the copy begins.
        bar.set_length(self.copy.total().max(1));
        bar.set_position(self.copy.done());
        let array = self.copy.array();
        if !array.is_empty() {
            bar.set_message(shortened(&printable(array).to_string(), self.message));
        }
    }
}

impl Progress {
    pub(crate) fn of_bytes(total: u64, what: &str) -> Self {
        Self::new(Some(total), what, "{bytes} of {total_bytes}{rate}")
    }

    /// Shows the progress of a copy.
    pub(crate) fn of_copy(copy: &CopyProgress) -> Self {
        Self::following(Some(1), "copying", "{bytes} of {total_bytes}{rate}", Some(copy))
    }

    /// Shows progress over `total` items.
    pub(crate) fn of(total: u64, what: &str) -> Self {
        Self::new(Some(total), what, "{pos} of {len}{left}")
    }

    pub(crate) fn unknown(what: &str) -> Self {
        Self::new(None, what, "")
    }

    fn new(total: Option<u64>, what: &str, numbers: &str) -> Self {
        Self::following(total, what, numbers, None)
    }

    fn following(total: Option<u64>, what: &str, numbers: &str, copy: Option<&CopyProgress>) -> Self {
        let columns = terminal_size::terminal_size_of(io::stderr()).map_or(PAGE, |(width, _)| width.0);
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        if let Ok(style) = style(total.is_some(), numbers, columns) {
            bar.set_style(style);
        }
        let message = usize::from(columns / 3);
        let followed = copy.map(|copy| Followed { copy: copy.clone(), message });
        let (done, watcher) = match io::stderr().is_terminal() && !printer::is_collecting() {
            true => watch(&bar, followed),
            false => (None, None),
        };
        let progress = Self { bar, message, done, watcher };
        progress.set_message(what);
        progress
    }

    pub(crate) fn add(&self, amount: u64) {
        self.bar.inc(amount);
    }

    /// Sets the message. Only the end of a long message is shown.
    pub(crate) fn set_message(&self, what: &str) {
        self.bar.set_message(shortened(&printable(what).to_string(), self.message));
    }
}

/// Returns the style of a bar for a terminal with this number of columns. Narrow terminals show no numbers.
fn style(has_total: bool, numbers: &str, columns: u16) -> Result<ProgressStyle, TemplateError> {
    let template = match (has_total, columns >= WIDE) {
        (true, true) => format!("{{msg}} {{wide_bar}} {numbers}"),
        (true, false) => "{percent:>3}% {wide_msg}".to_owned(),
        (false, _) => "{spinner} {elapsed} {wide_msg}".to_owned(),
    };
    let style = ProgressStyle::with_template(&template)?.progress_chars("━╸─");
    // The speed is unknown at the start.
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

/// Starts a thread that shows the bar after a while and redraws it. Without a thread, no bar is shown.
fn watch(bar: &ProgressBar, followed: Option<Followed>) -> (Option<Sender<()>>, Option<JoinHandle<()>>) {
    let (done, over) = mpsc::channel::<()>();
    let shown = bar.clone();
    let draw = move || {
        if over.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        shown.set_draw_target(ProgressDrawTarget::stderr());
        while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            if let Some(followed) = &followed {
                followed.show(&shown);
            }
            shown.tick();
        }
    };
    match thread::Builder::new().spawn(draw) {
        Ok(watcher) => (Some(done), Some(watcher)),
        Err(_) => (None, None),
    }
}

/// Returns the last `most` characters of a text, preceded by `…` if some are missing.
fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count + 1 - most.max(1)).collect();
    format!("…{end}")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
fn whole(number: f64) -> u64 {
    number as u64
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(watcher) = self.watcher.take() {
            // A failure to draw does not affect the operation.
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

    /// A terminal that records what is written to it.
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
    fn a_bar_follows_a_copy() {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::hidden());
        let followed = Followed { copy: CopyProgress::default(), message: 10 };
        followed.show(&bar);
        assert_eq!((bar.length(), bar.position()), (Some(1), 0));
    }

    #[test]
    fn the_end_of_a_long_message_is_shown() {
        assert_eq!(shortened("/group/array", 12), "/group/array");
        assert_eq!(shortened("/group/array", 6), "…array");
        assert_eq!(shortened("é", 0), "…");
    }

    #[test]
    fn lines_are_wrapped_at_spaces() {
        assert_eq!(wrapped("a bc  def", 4), ["a bc", " def"]);
        assert_eq!(wrapped("abcdef g", 3), ["abcdef", "g"]);
        assert_eq!(wrapped("a b", usize::MAX), ["a b"]);
        assert_eq!(wrapped("", 9), [""]);
    }

    #[test]
    fn sizes_have_a_suitable_unit() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(3 << 30), "3.0 GiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
    }
}
