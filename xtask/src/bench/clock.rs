//! Estimates the remaining time from earlier durations of cases.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// The durations of cases, in a file that remains after the comparison.
#[derive(Debug)]
pub(crate) struct Clock {
    file: PathBuf,
    /// Seconds of one run of all programs, by the name of the case.
    known: BTreeMap<String, f64>,
    started: Instant,
}

impl Clock {
    /// Reads the durations of earlier comparisons from a file, if it exists.
    pub(crate) fn new(file: PathBuf) -> Self {
        let text = fs::read_to_string(&file).ok();
        let known = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Self { file, known, started: Instant::now() }
    }

    /// Starts the clock of a case.
    pub(crate) fn start(&mut self) {
        self.started = Instant::now();
    }

    /// Stores the duration of a case after one uncounted run and `rounds` rounds.
    pub(crate) fn stop(&mut self, case: &str, rounds: usize) -> Result<(), String> {
        let seconds = self.started.elapsed().as_secs_f64() / (rounds + 1) as f64;
        self.known.insert(case.to_owned(), seconds);
        let text = serde_json::to_string_pretty(&self.known).map_err(|error| error.to_string())?;
        fs::write(&self.file, text).map_err(|error| format!("{}: {error}", self.file.display()))
    }

    /// Describes the remaining time. An unknown case is assumed to take the average time of the others.
    pub(crate) fn left<'c>(&self, cases: impl Iterator<Item = &'c str>, rounds: usize) -> String {
        if self.known.is_empty() {
            return "time unknown".to_owned();
        }
        let mean = self.known.values().sum::<f64>() / self.known.len() as f64;
        let runs: f64 = cases.map(|case| self.known.get(case).copied().unwrap_or(mean)).sum();
        let minutes = runs * (rounds + 1) as f64 / 60.0;
        if minutes < 1.0 {
            "less than a minute left".to_owned()
        } else {
            format!("about {minutes:.0} min left")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_estimated_from_earlier_durations() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("durations.json");
        fs::write(&file, r#"{"a": 20.0, "b": 40.0}"#).unwrap();
        let mut clock = Clock::new(file.clone());
        assert_eq!(clock.left(["a", "b"].into_iter(), 2), "about 3 min left");
        assert_eq!(clock.left(["unknown", "unknown"].into_iter(), 2), "about 3 min left");
        assert_eq!(clock.left([].into_iter(), 2), "less than a minute left");
        assert_eq!(Clock::new(folder.path().join("none")).left(["a"].into_iter(), 2), "time unknown");
        clock.start();
        clock.stop("a", 2).unwrap();
        assert!(Clock::new(file).known["a"] < 1.0);
    }
}
