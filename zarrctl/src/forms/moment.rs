//! NumPy's times: whole counts of a unit since 1970.

/// The attoseconds of a second, the shortest unit of NumPy.
const SECOND: i128 = 1_000_000_000_000_000_000;

/// Splits a unit into its scale and its name: `10us` into 10 and `us`.
pub(crate) fn unit(unit: &str) -> Option<(i64, &str)> {
    let digits = unit.bytes().take_while(u8::is_ascii_digit).count();
    let scale = if digits == 0 { 1 } else { unit[..digits].parse().ok().filter(|scale| *scale > 0)? };
    Some((scale, &unit[digits..]))
}

/// Parses a time such as `2001-02-03T04:05:06.789`, with missing parts at its end, or `NaT`. `None` if it is not a
/// whole number of `unit`s.
pub(crate) fn parse(text: &str, unit_name: &str) -> Option<i64> {
    if text == "NaT" {
        return Some(i64::MIN);
    }
    let (scale, name) = unit(unit_name)?;
    let moment = Moment::parse(text)?;
    let count = match name {
        "Y" | "M" => {
            let months = moment.whole_months()?;
            let size = if name == "Y" { 12 } else { 1 };
            (months % size == 0).then_some(months / size)?
        }
        name => {
            let size = attoseconds(name)?;
            let all = i128::from(moment.days()).checked_mul(86_400 * SECOND)?.checked_add(moment.of_day)?;
            (all % size == 0).then_some(all / size)?
        }
    };
    let scale = i128::from(scale);
    // The smallest number stands for missing times.
    (count % scale == 0)
        .then(|| i64::try_from(count / scale).ok())
        .flatten()
        .filter(|&count| count != i64::MIN)
}

fn attoseconds(unit: &str) -> Option<i128> {
    Some(match unit {
        "W" => 604_800 * SECOND,
        "D" => 86_400 * SECOND,
        "h" => 3600 * SECOND,
        "m" => 60 * SECOND,
        "s" => SECOND,
        "ms" => SECOND / 1000,
        "us" | "μs" => SECOND / 1_000_000,
        "ns" => SECOND / 1_000_000_000,
        "ps" => 1_000_000,
        "fs" => 1000,
        "as" => 1,
        _ => return None,
    })
}

/// A time in the proleptic Gregorian calendar.
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    /// Attoseconds since midnight.
    of_day: i128,
}

impl Moment {
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('Z').unwrap_or(text);
        let (date, time) = match text.split_once(['T', ' ']) {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        let (sign, date) = date.strip_prefix('-').map_or((1, date), |date| (-1, date));
        let mut parts = date.split('-');
        let mut next = |default: Option<i64>| match parts.next() {
            Some(part) => digits(part),
            None => default,
        };
        let year = sign * next(None)?;
        let month = next(Some(1))?;
        let day = next(Some(1))?;
        let is_valid = parts.next().is_none()
            && year.abs() < 1 << 40
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day);
        let of_day = time.map_or(Some(0), time_of_day)?;
        is_valid.then_some(Self { year, month, day, of_day })
    }

    /// Returns the months since 1970, if the time is the beginning of a month.
    fn whole_months(&self) -> Option<i128> {
        let is_first = self.day == 1 && self.of_day == 0;
        is_first.then(|| i128::from((self.year - 1970) * 12 + self.month - 1))
    }

    /// Returns the days since 1970.
    fn days(&self) -> i64 {
        // Years begin in March, so that the leap day is the last day.
        let year = if self.month <= 2 { self.year - 1 } else { self.year };
        let month = (self.month + 9) % 12;
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let of_year = (153 * month + 2) / 5 + self.day - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }
}

fn digits(text: &str) -> Option<i64> {
    let are_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if are_digits { text.parse().ok() } else { None }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let is_leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Parses `HH[:MM[:SS[.FRACTION]]]`.
fn time_of_day(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut seconds = 0;
    let mut unit = 3600;
    for (part, most) in whole.splitn(3, ':').zip([23, 59, 59]) {
        seconds += digits(part).filter(|number| *number <= most && part.len() <= 2)? * unit;
        unit /= 60;
    }
    let has_seconds = whole.matches(':').count() == 2;
    if fraction.len() > 18 || (fraction != "0" && !has_seconds) {
        return None;
    }
    let digits_of_fraction = i128::from(digits(fraction)?);
    let scale = 10_i128.pow(18 - u32::try_from(fraction.len()).ok()?);
    Some(i128::from(seconds) * SECOND + digits_of_fraction * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected counts are the results of `np.datetime64(text, unit).astype(int)` of NumPy 2.
    #[test]
    fn times_are_parsed_as_numpy_parses_them() {
        for (text, unit, count) in [
            ("1970-01-01", "s", 0),
            ("2001-01-01T00:00:05", "ns", 978_307_205_000_000_000),
            ("2001-02", "M", 373),
            ("1969", "Y", -1),
            ("0000-02-29", "D", -719_469),
            ("-0001-12-31T23", "h", -17_268_673),
            ("2000-02-29 12:34:56.789", "ms", 951_827_696_789),
            ("2001-01-01T00:00:00.00001", "10us", 97_830_720_000_001),
            ("NaT", "s", i64::MIN),
        ] {
            assert_eq!(parse(text, unit), Some(count), "{text} {unit}");
        }
        for (text, unit) in [
            ("2001-02-30", "D"),
            ("2001-01-01T12", "D"),
            ("2001-01-02", "M"),
            ("2001-13", "s"),
            ("", "s"),
            ("soon", "s"),
            ("2001-01-01T25", "s"),
            ("2001-01-01T00:00.5", "ms"),
            ("99999-01-01", "ns"),
            ("2001-01-01", "generic"),
        ] {
            assert_eq!(parse(text, unit), None, "{text} {unit}");
        }
    }
}
