//! Times as headers and listings have them.

use std::time::{SystemTime, UNIX_EPOCH};

/// A moment in the calendar, in UTC.
struct Moment {
    year: u64,
    month: usize,
    day: u64,
    weekday: usize,
    /// Hour, minute and second.
    clock: [u64; 3],
}

impl Moment {
    /// Of a time after 1970.
    fn of(time: SystemTime) -> Self {
        let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut days = seconds / 86_400;
        let second = seconds % 86_400;
        let weekday = usize::try_from((days + 4) % 7).unwrap_or_default();
        let mut year = 1970;
        while days >= days_of(year) {
            days -= days_of(year);
            year += 1;
        }
        let february = days_of(year) - 337;
        let mut month = 0;
        for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
            if days < length {
                break;
            }
            days -= length;
            month += 1;
        }
        Self { year, month, day: days + 1, weekday, clock: [second / 3600, second / 60 % 60, second % 60] }
    }
}

fn days_of(year: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    365 + u64::from(is_leap)
}

/// As in the header `Last-Modified`.
pub(super) fn of_header(time: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let Moment { year, month, day, weekday, clock: [hour, minute, second] } = Moment::of(time);
    let weekday = DAYS[weekday];
    let month = MONTHS[month];
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

/// As in a listing.
pub(super) fn of_listing(time: SystemTime) -> String {
    let Moment { year, month, day, clock: [hour, minute, second], .. } = Moment::of(time);
    format!("{year}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z", month + 1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// As `date --utc --date=@SECONDS` has them.
    #[test]
    fn times_are_those_of_the_calendar() {
        let times = [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00.000Z"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT", "2000-02-29T00:00:00.000Z"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT", "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT", "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, header, listing) in times {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!((of_header(time), of_listing(time)), (header.to_owned(), listing.to_owned()));
        }
    }
}
