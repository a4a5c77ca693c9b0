//! Conversion of time counts to the proleptic Gregorian calendar.

/// The count that means "not a time".
pub(crate) const NOT_A_TIME: i64 = i64::MIN;

/// The last year that is printed as a date.
const LAST_YEAR: i128 = 999_999;

/// Formats the point `count` units after 1970-01-01T00:00, to the precision of the unit. `None` for years of
/// more than six digits and for unknown units.
pub(crate) fn format(count: i128, unit: &str) -> Option<String> {
    match unit {
        "Y" => year(1970 + count),
        "M" => Some(format!("{}-{:02}", year(1970 + count.div_euclid(12))?, count.rem_euclid(12) + 1)),
        "W" => date(count * 7),
        "D" => date(count),
        "h" => day_and_time(count, 24, |hours| format!("{hours:02}")),
        "m" => day_and_time(count, 24 * 60, |minutes| format!("{:02}:{:02}", minutes / 60, minutes % 60)),
        "s" => seconds(count, 0),
        "ms" => seconds(count, 3),
        "us" => seconds(count, 6),
        "ns" => seconds(count, 9),
        "ps" => seconds(count, 12),
        "fs" => seconds(count, 15),
        "as" => seconds(count, 18),
        _ => None,
    }
}

/// Formats a year as four digits, or as a sign and six digits.
fn year(year: i128) -> Option<String> {
    match year {
        0..=9999 => Some(format!("{year:04}")),
        _ if year.abs() <= LAST_YEAR => Some(format!("{year:+07}")),
        _ => None,
    }
}

/// Formats the date `days` days after 1970-01-01.
fn date(days: i128) -> Option<String> {
    // Years start on 1 March, so that a leap day is the last day of a year. An era has 400 years.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let next_year = i128::from(month <= 2);
    Some(format!("{}-{month:02}-{day:02}", year(year_of_era + era * 400 + next_year)?))
}

/// Formats the date, and the time of day with `time`.
fn day_and_time(count: i128, per_day: i128, time: impl FnOnce(i128) -> String) -> Option<String> {
    Some(format!("{}T{}", date(count.div_euclid(per_day))?, time(count.rem_euclid(per_day))))
}

/// Formats a count of 10^-`digits` seconds.
fn seconds(count: i128, digits: usize) -> Option<String> {
    let per_second = (0..digits).fold(1i128, |power, _| power * 10);
    day_and_time(count, 86_400 * per_second, |count| {
        let seconds = count / per_second;
        let fraction = count % per_second;
        let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        if digits == 0 { time } else { format!("{time}.{fraction:0digits$}") }
    })
}
