//! Calendars of the CF conventions.

use super::LONGEST;

/// The seconds of a day.
pub(super) const DAY: f64 = 86_400.0;

/// The Julian day number of 1582-10-15, the first day of the Gregorian calendar.
const REFORM: i64 = 2_299_161;

/// The number of days in the months of a year without a leap day.
const MONTHS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// A calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calendar {
    /// Julian until 1582-10-04, then Gregorian.
    Standard,
    /// Gregorian in all years.
    Proleptic,
    Julian,
    NoLeap,
    AllLeap,
    Days360,
}

impl Calendar {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "standard" | "gregorian" => Self::Standard,
            "proleptic_gregorian" => Self::Proleptic,
            "julian" => Self::Julian,
            "noleap" | "365_day" => Self::NoLeap,
            "all_leap" | "366_day" => Self::AllLeap,
            "360_day" => Self::Days360,
            _ => return None,
        })
    }

    /// Returns the number of a day. Numbers of two calendars cannot be compared.
    fn day_number(self, year: i64, month: i64, day: i64) -> i64 {
        match self {
            Self::Days360 => year * 360 + (month - 1) * 30 + day - 1,
            Self::NoLeap => year * 365 + days_before(month, false) + day - 1,
            Self::AllLeap => year * 366 + days_before(month, true) + day - 1,
            Self::Julian => julian(year, month, day),
            Self::Proleptic => gregorian(year, month, day),
            Self::Standard => {
                let day_number = gregorian(year, month, day);
                if day_number >= REFORM { day_number } else { julian(year, month, day) }
            }
        }
    }

    fn days_in_month(self, year: i64, month: i64) -> i64 {
        let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        self.day_number(next.0, next.1, 1) - self.day_number(year, month, 1)
    }

    /// Returns the year, the month and the day of the month for the number of a day.
    fn date(self, number: i64) -> [i64; 3] {
        // Years have at most 366 days, so the first estimate and each step stay at or before the wanted year.
        let first = self.day_number(0, 1, 1);
        let mut year = (number - first).div_euclid(366);
        while self.day_number(year + 1, 1, 1) <= number {
            let step = (number - self.day_number(year + 1, 1, 1)) / 366;
            year += step.max(1);
        }
        while self.day_number(year, 1, 1) > number {
            year -= 1;
        }
        let month = (1..=12).rev().find(|&month| self.day_number(year, month, 1) <= number).unwrap_or(1);
        let mut day = number - self.day_number(year, month, 1) + 1;
        // Ten days are missing in the month of the reform.
        if self == Self::Standard && (year, month) == (1582, 10) && day > 4 {
            day += 10;
        }
        [year, month, day]
    }

    /// Formats a time as a date, with the time of day and fractions of a second unless they are zero. The time is
    /// `seconds` after the beginning of day number `first`.
    #[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate")]
    pub(super) fn text(self, first: f64, seconds: f64) -> String {
        let micros = (seconds * 1e6).round();
        let mut days = (micros / (DAY * 1e6)).floor();
        let mut rest = (micros - days * DAY * 1e6).round() as i64;
        if days.abs() > 1e9 {
            return format!("{seconds} s");
        }
        if rest >= 86_400_000_000 {
            days += 1.0;
            rest = 0;
        }
        let [year, month, day] = self.date((first + days) as i64);
        let date = format!("{year:04}-{month:02}-{day:02}");
        let [hour, minute, second] = [rest / 3_600_000_000, rest / 60_000_000 % 60, rest / 1_000_000 % 60];
        match (rest % 1_000_000, second, rest) {
            (_, _, 0) => date,
            (0, 0, _) => format!("{date}T{hour:02}:{minute:02}"),
            (0, ..) => format!("{date}T{hour:02}:{minute:02}:{second:02}"),
            (fraction, ..) => {
                let fraction = format!("{fraction:06}");
                format!("{date}T{hour:02}:{minute:02}:{second:02}.{}", fraction.trim_end_matches('0'))
            }
        }
    }
}

fn days_before(month: i64, is_leap: bool) -> i64 {
    let months = MONTHS.iter().zip(1..month).map(|(days, _)| days).sum::<i64>();
    months + i64::from(is_leap && month > 2)
}

/// Returns the Julian day number of a date in the Gregorian calendar.
fn gregorian(year: i64, month: i64, day: i64) -> i64 {
    let shifted = (14 - month) / 12;
    let years = year + 4800 - shifted;
    let months = month + 12 * shifted - 3;
    day + (153 * months + 2).div_euclid(5) + 365 * years + years.div_euclid(4) - years.div_euclid(100)
        + years.div_euclid(400)
        - 32_045
}

/// Returns the Julian day number of a date in the Julian calendar.
fn julian(year: i64, month: i64, day: i64) -> i64 {
    let shifted = (14 - month) / 12;
    let years = year + 4800 - shifted;
    let months = month + 12 * shifted - 3;
    day + (153 * months + 2).div_euclid(5) + 365 * years + years.div_euclid(4) - 32_083
}

/// A date, or a part of it: missing parts are `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Date {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<f64>,
}

impl Date {
    /// Parses `2001`, `2001-02`, `2001-02-03`, `2001-02-03T04:05:06.7` and parts of it. Time zones other than UTC are
    /// not supported.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let text = text.trim().trim_end_matches(" UTC").trim_end_matches('Z').trim_end_matches("+00:00");
        let (date, time) = match text.split_once(['T', ' ']) {
            Some((date, time)) => (date, Some(time.trim())),
            None => (text, None),
        };
        let (sign, digits) = date.strip_prefix('-').map_or((1, date), |rest| (-1, rest));
        let mut parts = digits.split('-').map(number);
        let year = sign * parts.next()??;
        let month = parts.next().map(|month| month.filter(|month| (1..=12).contains(month))).transposed()?;
        let day = parts.next().map(|day| day.filter(|day| (1..=31).contains(day))).transposed()?;
        if parts.next().is_some() || (time.is_some() && day.is_none()) || year.abs() > 1_000_000 {
            return None;
        }
        let mut found = Self { year, month, day, hour: None, minute: None, second: None };
        let mut times = time.into_iter().flat_map(|time| time.split(':'));
        found.hour = times.next().map(|hour| number(hour).filter(|hour| *hour < 24)).transposed()?;
        found.minute =
            times.next().map(|minute| number(minute).filter(|minute| *minute < 60)).transposed()?;
        let second = |text: &str| text.parse::<f64>().ok().filter(|second| (0.0..61.0).contains(second));
        found.second = times.next().map(second).transposed()?;
        times.next().is_none().then_some(found)
    }

    /// Returns the first moment of the date, in seconds since the first day of the calendar.
    pub(crate) fn start(&self, calendar: Calendar) -> Option<f64> {
        let month = self.month.unwrap_or(1);
        let day = self.day.unwrap_or(1);
        let is_in_reform = calendar == Calendar::Standard && (self.year, month) == (1582, 10);
        if day > calendar.days_in_month(self.year, month) && !is_in_reform {
            return None;
        }
        let days = calendar.day_number(self.year, month, day);
        let seconds = 3600 * self.hour.unwrap_or(0) + 60 * self.minute.unwrap_or(0);
        Some(float(days) * DAY + float(seconds) + self.second.unwrap_or(0.0))
    }

    /// Returns the first moment after the date.
    pub(crate) fn end(&self, calendar: Calendar) -> Option<f64> {
        let start = self.start(calendar)?;
        let year = |year, month| Self { year, month, day: None, hour: None, minute: None, second: None };
        Some(match *self {
            Self { second: Some(_), .. } => start + 1.0,
            Self { minute: Some(_), .. } => start + 60.0,
            Self { hour: Some(_), .. } => start + 3600.0,
            Self { day: Some(_), .. } => start + DAY,
            Self { month: Some(12) | None, .. } => year(self.year + 1, None).start(calendar)?,
            Self { month: Some(month), .. } => year(self.year, Some(month + 1)).start(calendar)?,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of dates have fewer than 53 bits")]
fn float(number: i64) -> f64 {
    number as f64
}

fn number(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// Separates a missing part of a date, `Some(None)`, from a part that is not valid, `None`.
trait Transposed<T> {
    fn transposed(self) -> Option<Option<T>>;
}

impl<T> Transposed<T> for Option<Option<T>> {
    fn transposed(self) -> Option<Option<T>> {
        match self {
            Some(Some(part)) => Some(Some(part)),
            Some(None) => None,
            None => Some(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_one_date() {
        for calendar in [
            Calendar::Standard,
            Calendar::Proleptic,
            Calendar::Julian,
            Calendar::NoLeap,
            Calendar::AllLeap,
            Calendar::Days360,
        ] {
            let first = calendar.day_number(-5, 1, 1);
            for number in (first..first + 730_000).step_by(97) {
                let [year, month, day] = calendar.date(number);
                assert_eq!(
                    calendar.day_number(year, month, day),
                    number,
                    "{calendar:?} {year}-{month}-{day}"
                );
            }
        }
    }

    #[test]
    fn known_day_numbers() {
        assert_eq!(gregorian(2000, 1, 1), 2_451_545);
        assert_eq!(julian(1582, 10, 4) + 1, gregorian(1582, 10, 15));
        assert_eq!(Calendar::Standard.date(REFORM), [1582, 10, 15]);
        assert_eq!(Calendar::Standard.date(REFORM - 1), [1582, 10, 4]);
    }
}
