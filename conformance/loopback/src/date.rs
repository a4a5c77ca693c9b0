//! The formats of times in headers and listings.

use std::time::SystemTime;

use chrono::{DateTime, Utc};

/// Formats a time for the header `Last-Modified`.
pub(crate) fn of_header(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Formats a time for a listing.
pub(crate) fn of_listing(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    /// The expected values are from `date --utc --date=@SECONDS`.
    #[test]
    fn times_are_formatted() {
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
