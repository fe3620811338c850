//! Transaction numbers, timestamps, and points in a store's history.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of a transaction: a total order inside one store, without meaning in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TxId(pub i64);

impl fmt::Display for TxId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Wall-clock time in milliseconds since 1970-01-01 UTC.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Reads an ISO 8601 date (`2026-11-21`, its first moment) or date and time (`2026-11-21T10:00`, with seconds,
    /// fraction and `Z` or an offset such as `+01:00` where given); UTC without an offset. Digits beyond the millisecond are
    /// dropped. `None` for any other text, the empty one included.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = match text.split_once('T') {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let in_month = civil_from_days(days_from_civil(year, month, day)) == (year, month, day);
        if !in_month {
            return None;
        }
        let ms = time.map_or(Some(0), time_of_day)?;
        Some(Self(days_from_civil(year, month, day) * 86_400_000 + ms))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with milliseconds.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.div_euclid(86_400_000);
        let ms = self.0.rem_euclid(86_400_000);
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
        let milli = ms % 1_000;
        write!(
            formatter,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
        )
    }
}

/// A point in a store's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// The newest version.
    Latest,
    /// The newest version at or before a transaction.
    Tx(TxId),
    /// The newest version at or before a system time.
    Time(Timestamp),
}

impl fmt::Display for AsOf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => formatter.write_str("at present"),
            Self::Tx(tx) => write!(formatter, "as of transaction {tx}"),
            Self::Time(time) => write!(formatter, "as of {time}"),
        }
    }
}

/// Days since 1970-01-01 to a proleptic Gregorian date (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days from 1970-01-01 of a proleptic Gregorian date (same source); a month beyond 12 or a day beyond its month runs on.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Milliseconds since midnight UTC of `10:00`, `10:00:07`, `10:00:07.25`, with `Z`, `+01:00` or nothing behind; before 0 or
/// after a day where the offset leads there.
fn time_of_day(text: &str) -> Option<i64> {
    let (text, offset_minutes) = match text.strip_suffix('Z') {
        Some(text) => (text, 0),
        None => match text.rfind(['+', '-']) {
            Some(sign) => {
                let [hour, minute] = numbers(&text[sign + 1..], ':', [2, 2])?;
                let minutes = (hour < 24 && minute < 60).then_some(hour * 60 + minute)?;
                (&text[..sign], if text[sign..].starts_with('-') { -minutes } else { minutes })
            }
            None => (text, 0),
        },
    };
    let (text, fraction) = match text.split_once('.') {
        Some((text, digits)) => (text, Some(digits)),
        None => (text, None),
    };
    let [hour, minute, second] = match text.len() {
        5 if fraction.is_none() => {
            let [hour, minute] = numbers(text, ':', [2, 2])?;
            [hour, minute, 0]
        }
        _ => numbers(text, ':', [2, 2, 2])?,
    };
    let milli = match fraction {
        Some("") => return None,
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            format!("{digits:0<3}")[..3].parse().ok()?
        }
        Some(_) => return None,
        None => 0,
    };
    let valid = hour < 24 && minute < 60 && second < 60;
    valid.then_some(((hour * 60 + minute - offset_minutes) * 60 + second) * 1_000 + milli)
}

/// Numbers of as many digits as given, with a separator between.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, width) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        let plain = part.len() == width && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = plain.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_time_is_read_with_and_without_its_parts() {
        let read = |text: &str| Timestamp::parse(text).map(|time| time.to_string());
        for (text, time) in [
            ("1970-01-01", "1970-01-01T00:00:00.000Z"),
            ("2024-02-29T12:30", "2024-02-29T12:30:00.000Z"),
            ("2024-02-29T12:30:45Z", "2024-02-29T12:30:45.000Z"),
            ("2024-02-29T12:30:45.0079Z", "2024-02-29T12:30:45.007Z"),
            ("2024-03-01T00:30+01:00", "2024-02-29T23:30:00.000Z"),
            ("2023-12-31T23:30:00.5-01:00", "2024-01-01T00:30:00.500Z"),
        ] {
            assert_eq!(read(text).as_deref(), Some(time), "{text}");
        }
        for text in [
            "",
            "2024",
            "2024-2-29",
            "2023-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-01-00",
            "2024-02-29T",
            "2024-02-29T1",
            "2024-02-29T24:00",
            "2024-02-29T12:60",
            "2024-02-29T12:30:45.",
            "2024-02-29T12:30.5",
            "2024-02-29T12:30+1",
            "2024-02-29T12:30:45.é",
            "+024-02-29",
            "2024-02-29 12:30",
            "2024-02-29Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_time_of_four_digit_years_reads_back(ms in -62_167_219_200_000_i64..253_402_300_800_000) {
            prop_assert_eq!(Timestamp::parse(&Timestamp(ms).to_string()), Some(Timestamp(ms)));
        }

        #[test]
        fn no_text_makes_reading_a_time_panic(text in "[0-9TZ:.+é-]{0,26}") {
            let _ = Timestamp::parse(&text);
        }
    }

    #[test]
    fn timestamp_shows_rfc_3339() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(1_709_209_845_007).to_string(), "2024-02-29T12:30:45.007Z");
        assert_eq!(Timestamp(-1).to_string(), "1969-12-31T23:59:59.999Z");
    }
}
